#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""An HTTP server that lies in the way that the first directory of the URL names.

liar.py DIRECTORY [CERTIFICATE KEY]: writes DIRECTORY/ports: those for http and https, and that of a trap,
to which only a client that follows a redirect connects. DIRECTORY/log has a line of JSON for each
request and each connection to the trap. If there is DIRECTORY/honest, it does not lie, and DIRECTORY/kept
has a line of JSON for each body that it accepted. The lie "as" is the one in DIRECTORY/lie. It ends
after five minutes.
"""
import gzip
import json
import os
import signal
import socket
import ssl
import sys
import threading
import time
import zlib

directory = sys.argv[1]
lock = threading.Lock()
ports = []


def note(name, **what):
    with lock, open(os.path.join(directory, name), "a", encoding="utf-8") as file:
        file.write(json.dumps(what) + "\n")


def head(status="200 OK", *headers):
    return "\r\n".join((f"HTTP/1.1 {status}", "Connection: close", *headers, "", "")).encode()


def whole(body, status="200 OK", *headers):
    return head(status, f"Content-Length: {len(body)}", *headers) + body


def moved(location):
    return lambda lie: [whole(b"", "302 Found", f"Location: {location(lie)}")]


def repeat(first, data):
    yield first
    while True:
        yield data


def bomb(_):
    """A gzip stream of zeros without end: each block is the same 16 MB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(16 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    yield head("200 OK", "Content-Encoding: gzip", "Content-Type: application/json")
    yield b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"
    for _ in range(256):
        yield block


def slow(_):
    for byte in whole(b"x" * 200):
        yield bytes([byte])
        time.sleep(1)


def endless_lines(line):
    """Lines of JSON, each of them small."""
    return lambda _: repeat(head("200 OK", "X-ClickHouse-Format: JSONEachRow"), line * 8000)


PAGE = b"<!DOCTYPE html><html><body>Welcome to our portal</body></html>"
LIES = {
    "silent": lambda _: (time.sleep(1) for _ in range(300)),
    "slow": slow,
    "endless": lambda _: repeat(head(), b"x" * 65536),
    "lines": endless_lines(b'{"a":1}\n'),
    "jobs": endless_lines(b'{"jobid":1,"op":[]}\n'),
    "huge": lambda _: repeat(head("200 OK", "Content-Length: 999999999999999"), b"x" * 65536),
    "headers": lambda _: repeat(b"HTTP/1.1 200 OK\r\n", b"X-More: " + b"x" * 8000 + b"\r\n"),
    "header": lambda _: repeat(b"HTTP/1.1 200 OK\r\nX-Long: ", b"x" * 8000),
    "wide": lambda _: [whole(b"", "200 OK", *[f"X-More: {'x' * 1000}"] * 100)],
    "trailers": lambda _: repeat(head("200 OK", "Transfer-Encoding: chunked") + b"0\r\n",
                                 b"X-More: " + b"x" * 800 + b"\r\n"),
    "continue": lambda _: repeat(b"", b"HTTP/1.1 100 Continue\r\nX: " + b"x" * 800 + b"\r\n\r\n"),
    "garbage": lambda _: [b"\x00\xff\x16\x03\x01 lies, lies\x1b[31m\r\n" * 20],
    "half": lambda _: [head("200 OK", "Content-Length: 1000") + b"half"],
    "hangup": lambda _: [],
    "page": lambda _: [whole(PAGE, "200 OK", "Content-Type: text/html")],
    "binary": lambda _: [whole(bytes(range(256)) * 4)],
    "bomb": bomb,
    "chunks": lambda _: [head("200 OK", "Transfer-Encoding: chunked") + b"fffffffffffffffff\r\nx"],
    "later": lambda _: [whole(b"", "503 Service Unavailable", "Retry-After: 99999999999999999999")],
    "deep": lambda _: [whole(b"[" * 200000, "200 OK", "X-ClickHouse-Summary: {}")],
    "many": lambda _: [whole(b'{"errors":true,"items":[' + b'{"index":{"status":201}},' * 20000 +
                             b'{"index":{"status":201}}]}')],
    "more": lambda _: [whole(b'{"errors":false,"items":[{},[],null,5,"x"]}')],
    "moved": moved(lambda _: f"http://127.0.0.1:{ports[2]}/"),
    "there": moved(lambda _: f"http://127.0.0.2:{ports[2]}/"),
    "file": moved(lambda _: "file:///etc/passwd"),
    "loop": moved(lambda lie: lie),
}


def judged(path, body):
    """What the server that the path is of would answer."""
    if "/_bulk" in path:
        items = ['{"index":{"status":201}}' for line in body.split(b"\n") if b'"index"' in line[:10]]
        return whole(f'{{"errors":false,"items":[{",".join(items)}]}}'.encode())
    return whole(b"", "200 OK", "X-ClickHouse-Summary: {}") if "query=" in path else whole(b"")


def read_request(peer):
    data = b""
    while b"\r\n\r\n" not in data:
        data += peer.recv(65536) or sys.exit()
    top, body = data.split(b"\r\n\r\n", 1)
    lines = top.decode("latin-1").split("\r\n")
    fields = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
    while len(body) < int(fields.get("content-length", 0)):
        body += peer.recv(65536) or sys.exit()
    method, path = lines[0].split(" ")[:2]
    if fields.get("content-encoding") == "gzip":
        body = gzip.decompress(body)
    return method, path, body


def chosen(path):
    lie = path.split("/")[1].split("?")[0]
    if os.path.exists(os.path.join(directory, "honest")):
        return "honest"
    if lie == "as":
        with open(os.path.join(directory, "lie"), encoding="utf-8") as file:
            lie = file.read().strip()
    return lie


def answer(peer):
    sent = 0
    method, path, body = read_request(peer)
    lie = chosen(path)
    if lie == "honest":
        note("kept", method=method, path=path, body=body.decode())
        peer.sendall(judged(path, body))
        return
    note("log", lie=lie, method=method, path=path, state="asked")
    try:
        for part in LIES[lie](path):
            sent += len(part)
            peer.sendall(part)
    finally:
        note("log", lie=lie, method=method, path=path, state="done", sent=sent)


def serve(peer, tls):
    try:
        with tls.wrap_socket(peer, server_side=True) if tls else peer as stream:
            stream.settimeout(60)
            answer(stream)
    except (OSError, SystemExit):
        pass


def trap(peer, _):
    note("log", lie="trap", request=peer.recv(65536).decode("latin-1"))
    peer.close()


def listen(address, port, how, tls=None):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, port))
    listener.listen(64)

    def accept():
        while True:
            threading.Thread(target=how, args=(listener.accept()[0], tls), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def main():
    tls = None
    signal.alarm(300)
    if len(sys.argv) > 2:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(sys.argv[2], sys.argv[3])
    ports.extend((listen("127.0.0.1", 0, serve), listen("127.0.0.1", 0, serve, tls),
                  listen("0.0.0.0", 0, trap)))
    path = os.path.join(directory, "ports")
    with open(path + ".new", "w", encoding="utf-8") as out:
        out.write(" ".join(map(str, ports)))
    os.rename(path + ".new", path)
    signal.pause()


main()
