/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/users.h"

#include "common/numbers.h"

static const struct {
    const char *name;
    uint64_t ops;
} kinds[IO_USER_KINDS] = {
    [IO_READERS] = {"readers", IO_READS},
    [IO_WRITERS] = {"writers", IO_WRITES},
};

const char *io_user_kind_name(enum io_user_kind kind)
{
    return kinds[kind].name;
}

uint64_t io_user_kind_ops(enum io_user_kind kind)
{
    return kinds[kind].ops;
}

/* There were requests, but it is not known of whom. */
static bool is_unknown(const struct io_usage *usage)
{
    return usage->any && !usage->users.processes;
}

struct io_users io_users_add(const struct io_usage *a, const struct io_usage *b)
{
    struct io_users sum = {0};
    const struct io_usage *parts[] = {a, b};

    for (int i = 0; i < 2; i++) {
        if (!parts[i]->any)
            continue;
        add_saturating(&sum.processes, parts[i]->users.processes);
        add_saturating(&sum.threads, parts[i]->users.threads);
        sum.at_least |= parts[i]->users.at_least;
    }
    sum.at_least = sum.processes && (sum.at_least || is_unknown(a) || is_unknown(b));
    return sum;
}

struct io_users io_users_merge(const struct io_usage *a, const struct io_usage *b)
{
    struct io_users merged;

    if (!a->any || !b->any)
        return io_users_add(a, b);
    merged = a->users;
    raise_to(&merged.processes, b->users.processes);
    raise_to(&merged.threads, b->users.threads);
    merged.at_least = merged.processes;
    return merged;
}
