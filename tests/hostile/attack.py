#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Attacks of an unprivileged user, each for some seconds; "on" is printed when the attack has begun.

attack.py local SOCKET KIND SECONDS [JOBID]       jobiod's socket; JOBID is a job of another user
attack.py net ADDRESS PORT KIND SECONDS           a port of jobiod
attack.py subuids SOCKET USERS SECONDS            jobiod's socket, as that many subordinate uids
"""
import ctypes
import itertools
import os
import random
import socket
import sys
import time


TYPES = {
    "root": ("tag", "task-exit", "end", "report", "job", "job-end", "retire"),
    "user": ("query-job", "query-history", "query-array", "query-top", "status", "run-begin", "run-end", "lies"),
}
KEYS = ("JOBID", "RESTART", "HET", "STEP", "UID", "CGROUP", "CGROUP_ID", "CGROUP_LEVEL", "CGROUP_VERSION", "TAGGED_AT",
        "TAGGED_BOOT", "NODES", "NODE", "NODELIST", "GATHER", "RUN", "PID", "SUMMARY", "ALL", "STEPS", "TIMELINE",
        "USER", "ACCOUNT", "SINCE", "UNTIL", "LIMIT", "SORT", "GROUP", "STATE", "FROM", "ARRAY_TASK", "COMMAND")


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
    end = time.monotonic() + patience
    while True:
        try:
            peer.connect(path)
            return peer
        except BlockingIOError:  # the listening socket's queue is full
            if time.monotonic() > end:
                raise
            time.sleep(0.005)


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


def value(pick, key, job):
    number = pick.choice((job, 0, 1, 2**31, 2**32 - 1, 2**64 - 1, -1, os.getppid(), pick.getrandbits(32)))
    word = pick.choice(("", "x" * 5000, "%s%n", "../../../..", "/", "\x1b[31m", "node1," * 1000, "' OR 1=1 --"))
    return word if key in ("NODELIST", "USER", "CGROUP") or pick.random() < 0.2 else number


def requests(path, seconds, job):
    """Every kind of request, about the job of another user and with random values."""
    pick = random.Random(16)
    begun()
    for kind in TYPES["root"]:
        answer = ask(path, message(kind, f"JOBID={job}", "STEP=0", "RESTART=0"))
        if b"only root may send" not in answer:
            sys.exit(f"{kind} was accepted: {answer[:80]}")
    for kind in ("query-job", "query-array", "query-history", "query-top"):
        for fields in ((f"JOBID={job}", "ALL=1", "STEPS=1"), ("UID=0", f"JOBS={job}"), ("SERVICES=1",)):
            answer = ask(path, message(kind, *fields))
            if f'"jobid":{job}'.encode() in answer or f'"number":{job}'.encode() in answer:
                sys.exit(f"{kind} shows job {job}")
    for _ in until(seconds):
        kind = pick.choice(TYPES["root"] + TYPES["user"])
        keys = pick.sample(KEYS, pick.randrange(len(KEYS)))
        answer = ask(path, message(kind, *(f"{key}={value(pick, key, job)}" for key in keys)))
        if kind in TYPES["root"] and b"STATUS=ok" in answer:
            sys.exit(f"{kind} was accepted: {answer[:80]}")


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


def drip(address, seconds):
    """A hundred connections, each with a request that never ends; what is closed is opened again."""
    held = []
    begun()
    for _ in until(seconds):
        held = [peer for peer in held if dripped(peer)]
        while len(held) < 100:
            try:
                held.append(dial(address))
                held[-1].sendall(b"POST /v1/accounts HTTP/1.1\r\nHost: x\r\n")
            except OSError:
                break
        time.sleep(0.2)


def dripped(peer):
    """False: it has been closed."""
    try:
        peer.sendall(b"X-A: a\r\n")
        return True
    except OSError:
        peer.close()
        return False


NET = {
    "drip": drip,
    "posts": lambda address, seconds: posts(
        address, seconds, (b"", b"MUNGE:", b"MUNGE:" + b"A" * 100000 + b":", bytes(range(256)) * 4000, b"{}", b"\0" * 2000000)),
}
LOCAL = {"flood": flood, "hold": hold, "malformed": malformed, "requests": requests, "vanish": vanish}


# --- subordinate uids ----------------------------------------------------------------------------

def hold_as(uid, path, seconds):
    """15 connections of this uid without a request, of which the oldest is replaced all the time."""
    held = []
    os.setuid(uid)
    for _ in until(seconds):
        held = held[-14:] + [connect(path)]
        time.sleep(0.005)


def subuids(path, users, seconds):
    """In a new user namespace whose uid_map another process writes."""
    if ctypes.CDLL(None).unshare(0x10000000):  # CLONE_NEWUSER
        sys.exit("unshare failed")
    for _ in until(10):
        if os.getuid() == 0:
            break
        time.sleep(0.05)
    children = []
    for uid in range(1, users + 1):
        children.append(os.fork())
        if not children[-1]:
            hold_as(uid, path, seconds)
            os._exit(0)
    begun()
    statuses = [os.waitpid(child, 0)[1] for child in children]
    sys.exit(f"{statuses}" if any(statuses) else 0)


def main():
    what, where, *rest = sys.argv[1:]
    if what == "local":
        LOCAL[rest[0]](where, float(rest[1]), *map(int, rest[2:]))
    elif what == "subuids":
        subuids(where, int(rest[0]), float(rest[1]))
    else:
        NET[rest[1]]((where, int(rest[0])), float(rest[2]))


main()
