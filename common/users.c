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

/* Users of a kind, and whether there were requests of this kind at all. */
struct usage {
    struct io_users users;
    bool any;
};

static struct usage usage_of(const struct io_users *users, uint64_t ops, enum io_user_kind kind)
{
    return (struct usage){.users = users[kind], .any = ops & kinds[kind].ops};
}

/* There were requests, but it is not known of whom. */
static bool is_unknown(const struct usage *usage)
{
    return usage->any && !usage->users.processes;
}

static struct io_users add(const struct usage *a, const struct usage *b)
{
    const struct usage *parts[] = {a, b};
    struct io_users sum = {0};

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

static struct io_users merge(const struct usage *a, const struct usage *b)
{
    struct io_users merged;

    if (!a->any || !b->any)
        return add(a, b);
    merged = a->users;
    raise_to(&merged.processes, b->users.processes);
    raise_to(&merged.threads, b->users.threads);
    merged.at_least = merged.processes;
    return merged;
}

void io_users_add(struct io_users to[IO_USER_KINDS], uint64_t ops,
                  const struct io_users from[IO_USER_KINDS], uint64_t from_ops)
{
    for (enum io_user_kind kind = 0; kind < IO_USER_KINDS; kind++) {
        const struct usage a = usage_of(to, ops, kind), b = usage_of(from, from_ops, kind);

        to[kind] = add(&a, &b);
    }
}

void io_users_merge(struct io_users to[IO_USER_KINDS], uint64_t ops,
                    const struct io_users from[IO_USER_KINDS], uint64_t from_ops)
{
    for (enum io_user_kind kind = 0; kind < IO_USER_KINDS; kind++) {
        const struct usage a = usage_of(to, ops, kind), b = usage_of(from, from_ops, kind);

        to[kind] = merge(&a, &b);
    }
}
