/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counters of NFS requests. Shared with the BPF programs: this header includes nothing. */
#ifndef JOBIO_COMMON_RPC_CLASS_H
#define JOBIO_COMMON_RPC_CLASS_H

/* X(number, name): the name is the one in JSON and in the store. common/rpc.c has the procedures of
 * each class. */
#define RPC_CLASSES(X)              \
    X(RPC_READ, "read")             \
    X(RPC_WRITE, "write")           \
    X(RPC_COMMIT, "commit")         \
    X(RPC_OPEN, "open")             \
    X(RPC_CLOSE, "close")           \
    X(RPC_LOCK, "lock")             \
    X(RPC_GETATTR, "getattr")       \
    X(RPC_SETATTR, "setattr")       \
    X(RPC_LOOKUP, "lookup")         \
    X(RPC_ACCESS, "access")         \
    X(RPC_READDIR, "readdir")       \
    X(RPC_CREATE, "create")         \
    X(RPC_REMOVE, "remove")         \
    X(RPC_RENAME, "rename")         \
    X(RPC_STATFS, "statfs")         \
    X(RPC_XATTR, "xattr")           \
    X(RPC_COPY, "copy")             \
    X(RPC_ALLOCATE, "allocate")     \
    X(RPC_LAYOUT, "layout")         \
    X(RPC_DELEGATION, "delegation") \
    X(RPC_OTHER, "other")

#define RPC_CLASS_NUMBER(number, name) number,
enum rpc_class { RPC_CLASSES(RPC_CLASS_NUMBER) RPC_CLASS_COUNT };
#undef RPC_CLASS_NUMBER

/* The sums of a class, X(member). They are those of /proc/self/mountstats:
 * calls: requests that have ended.
 * errors: those that failed.
 * retransmissions: a request that was sent n times has n - 1.
 * sent_bytes, received_bytes: with the headers of RPC.
 * queued_ns: from the start of the request until it was sent (the last time).
 * server_ns: from then until the reply: the network and the server.
 * time_ns: from the start to the end. */
#define RPC_SUMS(X)    \
    X(calls)           \
    X(errors)          \
    X(retransmissions) \
    X(sent_bytes)      \
    X(received_bytes)  \
    X(queued_ns)       \
    X(server_ns)       \
    X(time_ns)

#endif
