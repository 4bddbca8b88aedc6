#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""bad_collector.py ANSWER DIRECTORY: takes traces by OTLP/HTTP, and answers all of them in one way (see ANSWERS).
DIRECTORY/port gets its port, and DIRECTORY/requests a line for each request: how many spans it has."""
import gzip
import http.server
import json
import os
import sys

PARTIAL = '{"partialSuccess": {"rejectedSpans": "7", "errorMessage": "no room for 7"}}'
# Status, headers and body; None: no answer, until the client goes away.
ANSWERS = {
    "hang": None,
    "busy": (503, {}, ""),
    "full": (429, {"Retry-After": "1"}, ""),
    "garbage": (200, {"Content-Type": "text/html"}, "<html>It works!</html>"),
    "refuse": (400, {"Content-Type": "application/json"}, '{"code": 3, "message": "bad spans"}'),
    "partial": (200, {"Content-Type": "application/json"}, PARTIAL),
}


def count_spans(document):
    return sum(len(scope["spans"]) for resource in document["resourceSpans"] for scope in resource["scopeSpans"])


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open(sys.argv[2] + "/requests", "a", encoding="utf-8") as file:
            print(count_spans(json.loads(gzip.decompress(body))), file=file)
        answer = ANSWERS[sys.argv[1]]
        if not answer:
            self.connection.recv(1)
            self.close_connection = True
            return
        status, headers, text = answer
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[2] + "/port.new", "w", encoding="utf-8") as port:
    print(server.server_port, file=port)
os.rename(sys.argv[2] + "/port.new", sys.argv[2] + "/port")
server.serve_forever()
