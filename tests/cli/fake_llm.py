#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A fake of an endpoint that speaks OpenAI's chat completions: it understands nothing, but it refuses
with 400 what OpenAI's documented schema of a request does not allow, and answers in the documented
form, or, by the first folder of the address, as no real one can be brought to.

fake_llm.py FOLDER [CERTIFICATE KEY]: writes FOLDER/port, and what it was sent to FOLDER/request.
"""
import http.server
import json
import os
import ssl
import sys
import time

import jsonschema

# As in OpenAI's API reference, "Create chat completion", of the fields that jobio may send.
TEXT = {"type": "string", "minLength": 1}
REQUEST = {
    "type": "object",
    "required": ["model", "messages"],
    "additionalProperties": False,
    "properties": {
        "model": TEXT,
        "stream": {"type": ["boolean", "null"]},
        "messages": {"type": "array", "minItems": 1, "items": {"oneOf": [
            {"type": "object", "required": ["role", "content"], "additionalProperties": False,
             "properties": {"role": {"const": role}, "content": TEXT, "name": {"type": "string"}}}
            for role in ("developer", "system", "user", "assistant")]}},
    },
}

folder = sys.argv[1]


def completion(text, reason="stop"):
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1795000000, "model": "fake",
            "choices": [{"index": 0, "finish_reason": reason, "logprobs": None,
                         "message": {"role": "assistant", "content": text, "refusal": None}}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}


def failure(text, code):
    return {"error": {"message": text, "type": "invalid_request_error", "param": None, "code": code}}


ANSWERS = {
    "evil": (200, completion("first\n\033]0;evil\007\033[31mred\x9b2J\tend \u202eabc\n\n")),
    "cut": (200, completion("half an ans", "length")),
    "empty": (200, b""),
    "broken": (200, b'{"choices": [{"message": {"content": "half'),
    "html": (200, b"<!DOCTYPE html><html><body>Welcome to our portal</body></html>"),
    "none": (200, {"choices": []}),
    "number": (200, {"choices": [{"message": {"content": 5}}]}),
    "array": (200, ["choices"]),
    "401": (401, failure("Incorrect API key provided: sk-x\033[31m\nsecond line", "invalid_api_key")),
    "404": (404, {"error": "model 'fake' not found"}),
    "429": (429, failure("You exceeded your current quota", "insufficient_quota")),
    "502": (502, b"<html><body>Bad Gateway</body></html>"),
    "teapot": (418, b""),
}


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, code, body, **headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def drip(self):
        """An answer that never ends."""
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        while True:
            self.wfile.write(b" " * 65536)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with open(os.path.join(folder, "request"), "wb") as file:
            file.write(body)
        with open(os.path.join(folder, "headers"), "w", encoding="utf-8") as file:
            file.write(f"{self.command} {self.path}\n{self.headers}")
        how = self.path.split("/")[1]
        if how == "silent":
            time.sleep(600)
        elif how == "endless":
            self.drip()
        elif how == "moved":
            self.answer(308, b"", Location="/ok/v1/chat/completions")
        elif how in ANSWERS:
            self.answer(*ANSWERS[how])
        elif not self.path.endswith("/v1/chat/completions"):
            self.answer(404, failure(f"Unknown request URL: {self.path}", "unknown_url"))
        else:
            self.speak(body)

    def speak(self, body):
        try:
            request = json.loads(body)
            jsonschema.validate(request, REQUEST)
            context = json.loads(request["messages"][-1]["content"])
        except (ValueError, jsonschema.ValidationError) as error:
            self.answer(400, failure(str(error)[:200], None))
            return
        job = context["job"]
        self.answer(200, completion(f"Job {job['job']['jobid']} of {job['job']['user']} waited "
                                    f"{job['wait']['longest_thread_ns']} ns.\n\n- mounts: "
                                    f"{len(job['mounts'])}\n"))


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


server = Server(("127.0.0.1", 0), Handler)
if len(sys.argv) > 2:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(sys.argv[2], sys.argv[3])
    server.socket = tls.wrap_socket(server.socket, server_side=True)
with open(os.path.join(folder, "port.new"), "w", encoding="utf-8") as out:
    out.write(str(server.server_port))
os.rename(os.path.join(folder, "port.new"), os.path.join(folder, "port"))
server.serve_forever()
