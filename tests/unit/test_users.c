/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of readers and writers: exact, at least, or unknown. */
#include "tests/unit/test.h"

#include <stdlib.h>

#include "common/account.h"
#include "common/cleanup.h"

#define MANY UINT64_MAX

static void check_users(const struct io_users *got, uint64_t processes, uint64_t threads,
                        bool at_least)
{
    assert_int_equal(got->processes, processes);
    assert_int_equal(got->threads, threads);
    assert_int_equal(got->at_least, at_least);
}

struct usage {
    struct io_users users;
    bool any; /* there are requests */
};

static const struct usage nothing, unknown = {.any = true}, four = {{4, 8, false}, true},
                                   two = {{2, 2, false}, true}, at_least_3 = {{3, 5, true}, true},
                                   stray = {{7, 7, false}, false};

static uint64_t reads(const struct usage *usage)
{
    return usage->any ? 1 << IO_READ : 0;
}

static struct io_users sum_of(const struct usage *a, const struct usage *b)
{
    struct io_users to[IO_USER_KINDS] = {a->users};

    io_users_add(to, reads(a), (struct io_users[IO_USER_KINDS]){b->users}, reads(b));
    check_users(&to[IO_WRITERS], 0, 0, false);
    return to[IO_READERS];
}

static struct io_users merged(const struct usage *a, const struct usage *b)
{
    struct io_users to[IO_USER_KINDS] = {a->users};

    io_users_merge(to, reads(a), (struct io_users[IO_USER_KINDS]){b->users}, reads(b));
    return to[IO_READERS];
}

static void test_add(void **state)
{
    static const struct {
        const struct usage *a, *b;
        struct io_users want;
    } cases[] = {
        {&nothing, &nothing, {0, 0, false}}, {&nothing, &four, {4, 8, false}},
        {&four, &nothing, {4, 8, false}},    {&four, &two, {6, 10, false}},
        {&four, &at_least_3, {7, 13, true}}, {&nothing, &at_least_3, {3, 5, true}},
        {&unknown, &four, {4, 8, true}},     {&four, &unknown, {4, 8, true}},
        {&unknown, &unknown, {0, 0, false}}, {&unknown, &nothing, {0, 0, false}},
        {&stray, &two, {2, 2, false}}, /* its requests are counted on the other mounts */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct io_users got = sum_of(cases[i].a, cases[i].b);

        check_users(&got, cases[i].want.processes, cases[i].want.threads, cases[i].want.at_least);
    }
}

static void test_add_saturates(void **state)
{
    const struct usage huge = {{MANY, MANY, false}, true};
    const struct io_users got = sum_of(&huge, &four);

    (void)state;
    check_users(&got, MANY, MANY, false);
}

/* The processes of two super blocks of one step may be the same ones. */
static void test_merge(void **state)
{
    struct io_users got = merged(&four, &two);

    (void)state;
    check_users(&got, 4, 8, true);
    got = merged(&two, &at_least_3);
    check_users(&got, 3, 5, true);
    got = merged(&nothing, &two);
    check_users(&got, 2, 2, false);
    got = merged(&two, &nothing);
    check_users(&got, 2, 2, false);
    got = merged(&unknown, &two);
    check_users(&got, 2, 2, true);
    got = merged(&unknown, &unknown);
    check_users(&got, 0, 0, false);
}

/* A list of one mount with requests of an operation, and its users. */
static struct io_mounts mounts_of(const char *name, enum io_op op, struct io_users users)
{
    struct io_mounts mounts = {0};
    struct io_mount *m = io_mounts_get(&mounts, name, "ext4", "/dev/vda", false);

    assert_non_null(m);
    io_account_op(&m->io, op)->requests = 5;
    m->users[IO_READS & 1ull << op ? IO_READERS : IO_WRITERS] = users;
    return mounts;
}

static void add(struct io_mounts *to, const char *name, enum io_op op, struct io_users users)
{
    struct io_mounts more = mounts_of(name, op, users);

    assert_int_equal(io_mounts_add(to, &more), 0);
    io_mounts_clear(&more);
}

/* Steps and nodes add up; "at least" stays. */
static void test_mounts(void **state)
{
    struct io_mounts sum CLEANUP(io_mounts_clear) = {0};
    const struct io_users *users;

    (void)state;
    add(&sum, "/scratch", IO_WRITE, (struct io_users){4, 8, false});
    add(&sum, "/scratch", IO_MMAP_WRITE, (struct io_users){1, 1, false});
    users = sum.items[0].users;
    check_users(&users[IO_WRITERS], 5, 9, false);
    check_users(&users[IO_READERS], 0, 0, false);
    add(&sum, "/scratch", IO_COPY_READ, (struct io_users){2, 3, false}); /* the first reads */
    check_users(&users[IO_READERS], 2, 3, false);
    add(&sum, "/scratch", IO_WRITE, (struct io_users){0}); /* of an older release */
    check_users(&users[IO_WRITERS], 5, 9, true);
    add(&sum, "/scratch", IO_WRITE, (struct io_users){1, 1, false});
    check_users(&users[IO_WRITERS], 6, 10, true);
    add(&sum, "/scratch", IO_CLONE, (struct io_users){0}); /* neither */
    check_users(&users[IO_READERS], 2, 3, false);
}

/* A process may use several of the other mounts. */
static void test_other_mounts(void **state)
{
    struct io_mounts sum CLEANUP(io_mounts_clear) = {0};

    (void)state;
    add(&sum, IO_OTHER_MOUNTS, IO_READ, (struct io_users){4, 4, false});
    add(&sum, IO_OTHER_MOUNTS, IO_READ, (struct io_users){4, 4, false});
    check_users(&sum.items[0].users[IO_READERS], 0, 0, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_add),          cmocka_unit_test(test_add_saturates),
        cmocka_unit_test(test_merge),        cmocka_unit_test(test_mounts),
        cmocka_unit_test(test_other_mounts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
