#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Attacks of an unprivileged user, each for some seconds; "on" is printed when the attack has begun.

attack.py local SOCKET KIND SECONDS                jobiod's socket
attack.py net ADDRESS PORT KIND SECONDS           a port of jobiod
"""
import itertools
import os
import random
import socket
import sys
import time


def begun():
    print("on", flush=True)


def until(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield


def message(kind, *fields):
    return b"".join(field.encode() + b"\0" for field in ("VERSION=1", f"TYPE={kind}", *fields))


# --- the local socket ----------------------------------------------------------------------------

def connect(path, patience=5):
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    peer.settimeout(patience)
    peer.connect(path)
    return peer


def ask(path, data):
    """The complete answer, or b"" if the connection was closed."""
    answer = b""
    with connect(path) as peer:
        try:
            peer.send(data)
            while True:
                part = peer.recv(1 << 17)
                answer += part
                if not part or b"\0MORE=1\0" not in part:
                    return answer
        except OSError:
            return answer


def flood(path, seconds):
    """Connections without a request, from eight processes."""
    children = []
    for _ in range(7):
        children.append(os.fork())
        if not children[-1]:
            children = []
            break
    else:
        begun()
    for _ in until(seconds):
        try:
            connect(path).close()
        except OSError:
            pass
    for child in children:
        os.waitpid(child, 0)


def hold(path, seconds):
    """As many open connections as possible, most of which jobiod has to refuse."""
    held = []
    for _ in until(seconds):
        if len(held) == 900:
            held = held[450:]
        try:
            held.append(connect(path))
        except OSError:
            pass
        if len(held) == 100:
            begun()


BAD = (b"", b"V", b"VERSION=1", b"VERSION=1\0TYPE=status", b"VERSION=2\0TYPE=status\0", b"TYPE=status\0", b"\0" * 60000,
       b"VERSION=1\0TYPE=\0", b"VERSION=1\0TYPE=status\0=\0", b"VERSION=x\0TYPE=status\0", b"VERSION=1\0\0\0",
       b"A=" * 30000, b"VERSION=1\0TYPE=" + b"q" * 60000 + b"\0", bytes(range(256)) * 200, b"x" * 65536, b"x" * 150000)


def malformed(path, seconds):
    """Messages that are cut, too long or not messages at all."""
    begun()
    for _ in until(seconds):
        for data in BAD:
            answer = ask(path, data)
            if b"STATUS=ok" in answer:
                sys.exit(f"{data[:40]} was accepted: {answer[:80]}")


def vanish(path, seconds):
    """Requests whose sender does not wait for the answer, or does not read it."""
    kinds = itertools.cycle(("status", "query-history", "query-top", "query-job", "query-array", "run-begin"))
    held = []
    begun()
    for _ in until(seconds):
        try:
            peer = connect(path, 1)
            peer.send(message(next(kinds), "JOBID=1"))
            held.append(peer)
        except OSError:
            pass
        if len(held) > 12:
            held.pop(random.randrange(12)).close()


# --- ports ---------------------------------------------------------------------------------------

def dial(address):
    peer = socket.socket()
    peer.settimeout(5)
    peer.connect(address)
    return peer


def posts(address, seconds, bodies):
    """Complete requests with bodies that no other node would send."""
    begun()
    for _ in until(seconds):
        for path in ("accounts", "job", "record", "nothing"):
            for body in bodies:
                try:
                    with dial(address) as peer:
                        peer.sendall(f"POST /v1/{path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
                        if b" 200 " in peer.recv(4096).split(b"\n")[0]:
                            sys.exit(f"accepted: {body[:80]}")
                except OSError:
                    pass


NET = {
    "posts": lambda address, seconds: posts(
        address, seconds, (b"", b"MUNGE:", b"MUNGE:" + b"A" * 100000 + b":", bytes(range(256)) * 4000, b"{}", b"\0" * 2000000)),
}
LOCAL = {"flood": flood, "hold": hold, "malformed": malformed, "vanish": vanish}


def main():
    what, where, *rest = sys.argv[1:]
    if what == "local":
        LOCAL[rest[0]](where, float(rest[1]))
    else:
        NET[rest[1]]((where, int(rest[0])), float(rest[2]))


main()
