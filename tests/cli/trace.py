#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Facts about a trace of `jobio run` in OTLP, one a line, and the same of its account.
    trace.py trace FILE      fault TEXT; root KEY VALUE; sum MOUNT OP REQUESTS BYTES ERRORS NS; call NAME CALLS NS BYTES;
                             process PROGRAM RANK; below MOUNT OP PARENT RANK REQUESTS; offsets MOUNT OP STEP|-;
                             slowest NS; requests N; calls N
    trace.py account FILE    sum, slowest and requests; calls N NS
A create is a part of an open. A flush that no release follows is time of a close, but no request: no times of closes."""
import collections
import json
import sys


def attributes(span):
    return {a["key"]: next(iter(a["value"].values())) for a in span["attributes"]}


def read_spans(path):
    with open(path, encoding="utf-8") as file:
        (resource,) = json.load(file)["resourceSpans"]
    (scope,) = resource["scopeSpans"]
    for span in scope["spans"]:
        span["a"] = attributes(span)
        span["start"], span["end"] = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
    return scope["spans"]


def is_call(span):
    return span["name"].startswith("MPI_")


def is_request(span):
    return "jobio.mount" in span["a"]


def faults(spans, by_id):
    if len(by_id) != len(spans):
        yield "ids are not unique"
    if len({span["traceId"] for span in spans}) != 1:
        yield "several traces"
    if [span["name"] for span in spans].count("jobio run") != 1 or spans[0]["name"] != "jobio run":
        yield "not one root"
    for span in spans[1:]:
        parent = by_id.get(span.get("parentSpanId"))
        if not parent:
            yield f"no parent: {span}"
        elif not parent["start"] <= span["start"] <= span["end"] <= parent["end"]:
            yield f"outside of its parent: {span}"
        elif is_call(parent) and parent["a"]["thread.id"] != span["a"]["thread.id"]:
            yield f"in another thread: {span}"


def rank_of(span, by_id):
    while span:
        if "process.pid" in span["a"]:
            return span["a"].get("jobio.rank", "-")
        span = by_id.get(span.get("parentSpanId"))
    return "-"


def print_groups(spans, by_id):
    sums, below, offsets = {}, collections.Counter(), collections.defaultdict(list)
    for span in filter(is_request, spans):
        a, key = span["a"], (span["a"]["jobio.mount"], span["name"])
        sum_ = sums.setdefault(key, [0, 0, 0, 0])
        sum_[0] += 1
        sum_[1] += int(a.get("jobio.bytes", 0))
        sum_[2] += "error.type" in a
        sum_[3] += span["end"] - span["start"]
        below[key + (by_id[span["parentSpanId"]]["name"], rank_of(span, by_id))] += 1
        offsets[key].append(int(a.get("jobio.offset", -1)))
    for key, (n, size, errors, ns) in sums.items():
        print("sum", *key, n, size, errors, "-" if key[1] == "close" else ns)
        steps = {b - a for a, b in zip(offsets[key], offsets[key][1:])}
        print("offsets", *key, steps.pop() if len(steps) == 1 and offsets[key][0] == 0 else "-")
    for key, n in below.items():
        print("below", *key, n)


def print_calls(spans):
    sums = {}
    for span in filter(is_call, spans):
        sum_ = sums.setdefault(span["name"], [0, 0, 0])
        sum_[0] += 1
        sum_[1] += span["end"] - span["start"]
        sum_[2] += int(span["a"].get("jobio.bytes", 0))
    for name, sum_ in sums.items():
        print("call", name, *sum_)


def print_trace(path):
    spans = read_spans(path)
    by_id = {span["spanId"]: span for span in spans}
    requests = [span["end"] - span["start"] for span in spans if is_request(span)]
    for fault in list(faults(spans, by_id))[:20]:
        print("fault", fault)
    for key, value in spans[0]["a"].items():
        print("root", key, value)
    print("root trace", spans[0]["traceId"], spans[0].get("parentSpanId", "-"))
    for span in spans:
        if "process.pid" in span["a"]:
            print("process", span["name"], span["a"].get("jobio.rank", "-"))
    print_groups(spans, by_id)
    print_calls(spans)
    print("slowest", max(requests, default=0))
    print("requests", len(requests))
    print("calls", sum(map(is_call, spans)))


def print_account(path):
    with open(path, encoding="utf-8") as file:
        account = json.load(file)
    requests = slowest = 0
    for mount in account["mounts"]:
        for op, c in mount["ops"].items():
            if op == "create":
                continue
            print("sum", mount["mount"], op, c["requests"], c["bytes"], c["errors"], "-" if op == "close" else c["time_ns"])
            requests += c["requests"]
            slowest = max(slowest, c["max_ns"])
    print("slowest", slowest)
    print("requests", requests)
    for name, c in account.get("mpi", {}).get("calls", {}).items():
        print("call", name, c["calls"], c["time_ns"])
    # both functions of a split call
    print("calls", sum(c["calls"] * (2 if name.endswith("_split") else 1)
                       for name, c in account.get("mpi", {}).get("calls", {}).items()))


{"trace": print_trace, "account": print_account}[sys.argv[1]](sys.argv[2])
