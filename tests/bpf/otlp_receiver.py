#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""otlp_receiver.py ADDRESS FILE: takes traces by OTLP/HTTP, and appends each document to FILE as a line. It answers 503
to the first request, and 400 to what is not a document of spans: it knows no other members."""
import gzip
import http.server
import json
import re
import sys

HEX = {"traceId": "[0-9a-f]{32}", "spanId": "[0-9a-f]{16}", "parentSpanId": "[0-9a-f]{16}"}


def check(condition, what):
    if not condition:
        raise ValueError(what)


def check_attributes(attributes):
    for attribute in attributes:
        check(set(attribute) == {"key", "value"} and len(attribute["value"]) == 1, attribute)
        (kind, value), = attribute["value"].items()
        types = {"stringValue": str, "intValue": str, "boolValue": bool}
        check(isinstance(value, types[kind]), attribute)
        check(kind != "intValue" or re.fullmatch("[0-9]+", value), attribute)


def check_span(span):
    check(set(span) - {"parentSpanId", "status"} == {"traceId", "spanId", "name", "kind", "startTimeUnixNano",
                                                     "endTimeUnixNano", "attributes"}, span)
    for key, pattern in HEX.items():
        check(re.fullmatch(pattern, span.get(key, "0" * 32 if key == "traceId" else "0" * 16)), span)
    check(int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]), span)
    check(span.get("status", {"code": 2}) == {"code": 2} and span["kind"] == 1 and span["name"], span)
    check_attributes(span["attributes"])


def check_document(document):
    check(set(document) == {"resourceSpans"}, document)
    for resource in document["resourceSpans"]:
        check(set(resource) == {"resource", "scopeSpans"} and set(resource["resource"]) == {"attributes"}, resource)
        check_attributes(resource["resource"]["attributes"])
        for scope in resource["scopeSpans"]:
            check(set(scope) == {"scope", "spans"} and set(scope["scope"]) == {"name"}, scope["scope"])
            for span in scope["spans"]:
                check_span(span)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    requests = 0

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Handler.requests += 1
        if Handler.requests == 1:
            self.answer(503, {"message": "starting"})
            return
        try:
            check(self.path == "/v1/traces" and self.headers["Content-Type"] == "application/json", self.headers)
            check(self.headers["Content-Encoding"] == "gzip", self.headers)
            document = json.loads(gzip.decompress(body))
            check_document(document)
        except (ValueError, KeyError) as error:
            self.answer(400, {"message": repr(error)})
            return
        with open(sys.argv[2], "a", encoding="utf-8") as file:
            print(json.dumps(document), file=file)
        self.answer(200, {"partialSuccess": {}})

    def answer(self, status, document):
        text = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


host, port = sys.argv[1].rsplit(":", 1)
http.server.ThreadingHTTPServer((host, int(port)), Handler).serve_forever()
