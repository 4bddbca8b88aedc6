/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/rpc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/numbers.h"

#define CLASS_NAME(number, name) [number] = (name),
static const char *const class_names[RPC_CLASS_COUNT] = {RPC_CLASSES(CLASS_NAME)};

/* The kernel's names of the procedures of NFS 2 to 4.2. Their numbers differ between kernels. All
 * others are RPC_OTHER. */
static const struct {
    const char *name;
    enum rpc_class class;
} procedures[] = {
    {"READ", RPC_READ},
    {"READ_PLUS", RPC_READ},
    {"WRITE", RPC_WRITE},
    {"COMMIT", RPC_COMMIT},
    {"OPEN", RPC_OPEN},
    {"OPEN_NOATTR", RPC_OPEN},
    {"OPEN_CONFIRM", RPC_OPEN},
    {"CLOSE", RPC_CLOSE},
    {"OPEN_DOWNGRADE", RPC_CLOSE},
    {"LOCK", RPC_LOCK},
    {"LOCKT", RPC_LOCK},
    {"LOCKU", RPC_LOCK},
    {"RELEASE_LOCKOWNER", RPC_LOCK},
    {"GETATTR", RPC_GETATTR},
    {"SETATTR", RPC_SETATTR},
    {"LOOKUP", RPC_LOOKUP},
    {"LOOKUP_ROOT", RPC_LOOKUP},
    {"LOOKUPP", RPC_LOOKUP},
    {"READLINK", RPC_LOOKUP},
    {"ACCESS", RPC_ACCESS},
    {"READDIR", RPC_READDIR},
    {"READDIRPLUS", RPC_READDIR},
    {"CREATE", RPC_CREATE},
    {"MKDIR", RPC_CREATE},
    {"SYMLINK", RPC_CREATE},
    {"MKNOD", RPC_CREATE},
    {"LINK", RPC_CREATE},
    {"REMOVE", RPC_REMOVE},
    {"RMDIR", RPC_REMOVE},
    {"RENAME", RPC_RENAME},
    {"STATFS", RPC_STATFS},
    {"FSSTAT", RPC_STATFS},
    {"FSINFO", RPC_STATFS},
    {"PATHCONF", RPC_STATFS},
    {"GETACL", RPC_XATTR},
    {"SETACL", RPC_XATTR},
    {"GETXATTR", RPC_XATTR},
    {"SETXATTR", RPC_XATTR},
    {"LISTXATTRS", RPC_XATTR},
    {"REMOVEXATTR", RPC_XATTR},
    {"COPY", RPC_COPY},
    {"COPY_NOTIFY", RPC_COPY},
    {"OFFLOAD_CANCEL", RPC_COPY},
    {"CLONE", RPC_COPY},
    {"ALLOCATE", RPC_ALLOCATE},
    {"DEALLOCATE", RPC_ALLOCATE},
    {"ZERO_RANGE", RPC_ALLOCATE},
    {"SEEK", RPC_ALLOCATE},
    {"LAYOUTGET", RPC_LAYOUT},
    {"GETDEVICEINFO", RPC_LAYOUT},
    {"LAYOUTCOMMIT", RPC_LAYOUT},
    {"LAYOUTRETURN", RPC_LAYOUT},
    {"LAYOUTSTATS", RPC_LAYOUT},
    {"LAYOUTERROR", RPC_LAYOUT},
    {"DELEGRETURN", RPC_DELEGATION},
};

const char *rpc_class_name(enum rpc_class class)
{
    return (unsigned)class < RPC_CLASS_COUNT ? class_names[class] : "unknown";
}

int rpc_class_parse(const char *name)
{
    for (int i = 0; i < RPC_CLASS_COUNT; i++)
        if (!strcmp(class_names[i], name))
            return i;
    return -EINVAL;
}

enum rpc_class rpc_class_of(const char *procedure)
{
    for (size_t i = 0; i < ARRAY_SIZE(procedures); i++)
        if (!strcmp(procedures[i].name, procedure))
            return procedures[i].class;
    return RPC_OTHER;
}

bool rpc_counter_is_empty(const struct rpc_counter *counter)
{
    return !counter->calls;
}

void rpc_counter_add(struct rpc_counter *to, const struct rpc_counter *from)
{
#define ADD_SUM(member) add_saturating(&to->member, from->member);
    RPC_SUMS(ADD_SUM)
#undef ADD_SUM
}

struct rpc_counter rpc_classes_sum(const struct rpc_counter classes[RPC_CLASS_COUNT])
{
    struct rpc_counter sum = {0};

    for (int i = 0; i < RPC_CLASS_COUNT; i++)
        rpc_counter_add(&sum, &classes[i]);
    return sum;
}

int rpc_account_reserve(struct rpc_account **to, const struct rpc_account *from)
{
    if (from && !*to)
        *to = calloc(1, sizeof(**to));
    return from && !*to ? -ENOMEM : 0;
}

static bool has_shared(const struct rpc_account *account)
{
    for (int i = 0; i < RPC_CLASS_COUNT; i++)
        if (account->shared[i].calls)
            return true;
    return false;
}

void rpc_account_add(struct rpc_account *to, bool to_has_requests, const struct rpc_account *from,
                     bool from_has_requests)
{
    if (!to)
        return;
    to->incomplete |=
        (to_has_requests && !to->known) || (from ? from->incomplete : from_has_requests);
    to->known = true;
    if (!from)
        return;
    to->shared_at_most |= from->shared_at_most || (has_shared(to) && has_shared(from));
    for (int i = 0; i < RPC_CLASS_COUNT; i++) {
        rpc_counter_add(&to->own[i], &from->own[i]);
        rpc_counter_add(&to->shared[i], &from->shared[i]);
    }
}
