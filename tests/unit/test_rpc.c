/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accounts of NFS requests: classes, and sums that are complete, incomplete or counted twice. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>

#include "common/account.h"
#include "common/cleanup.h"

static void test_classes(void **state)
{
    (void)state;
    for (int i = 0; i < RPC_CLASS_COUNT; i++)
        assert_int_equal(rpc_class_parse(rpc_class_name(i)), i);
    assert_int_equal(rpc_class_parse("reads"), -EINVAL);
    assert_string_equal(rpc_class_name(RPC_CLASS_COUNT), "unknown");
    assert_int_equal(rpc_class_of("GETATTR"), RPC_GETATTR);
    assert_int_equal(rpc_class_of("READDIRPLUS"), RPC_READDIR);
    assert_int_equal(rpc_class_of("OPEN_NOATTR"), RPC_OPEN);
    assert_int_equal(rpc_class_of("SERVER_CAPS"), RPC_OTHER);
    assert_int_equal(rpc_class_of(""), RPC_OTHER);
}

/* An account with n reads of its own and n / 2 shared writes. */
static struct rpc_account make(uint64_t n)
{
    struct rpc_account a = {.known = true};

    a.own[RPC_READ] = (struct rpc_counter){
        n, 1, 2, 100 * n, 1000 * n, 10 * n, 20 * n, 40 * n,
    };
    a.shared[RPC_WRITE].calls = n / 2;
    return a;
}

static struct rpc_account sum_of(const struct rpc_account *a, bool a_any,
                                 const struct rpc_account *b, bool b_any)
{
    static const struct rpc_account nothing;
    _free_ struct rpc_account *to = NULL;

    assert_int_equal(rpc_account_reserve(&to, a), 0);
    if (a)
        rpc_account_add(to, false, a, a_any);
    assert_int_equal(rpc_account_reserve(&to, b), 0);
    rpc_account_add(to, a_any, b, b_any);
    return to ? *to : nothing;
}

static void test_sums(void **state)
{
    const struct rpc_account a = make(10), b = make(6), alone = make(1);
    struct rpc_account sum = sum_of(&a, true, &b, true);
    const struct rpc_counter all = rpc_classes_sum(sum.own);

    (void)state;
    assert_true(sum.known);
    assert_false(sum.incomplete);
    assert_int_equal(all.calls, 16);
    assert_int_equal(all.errors, 2);
    assert_int_equal(all.retransmissions, 4);
    assert_int_equal(all.sent_bytes, 1600);
    assert_int_equal(all.received_bytes, 16000);
    assert_int_equal(all.queued_ns, 160);
    assert_int_equal(all.server_ns, 320);
    assert_int_equal(all.time_ns, 640);
    assert_int_equal(sum.shared[RPC_WRITE].calls, 8);
    assert_true(sum.shared_at_most);
    sum = sum_of(&a, true, &alone, true);
    assert_false(sum.shared_at_most);
}

/* A part that has requests but no account makes the sum incomplete. */
static void test_incomplete(void **state)
{
    struct rpc_account a = make(10), b = make(6);

    (void)state;
    assert_false(sum_of(&a, true, NULL, false).incomplete);
    assert_true(sum_of(&a, true, NULL, true).incomplete);
    assert_false(sum_of(NULL, false, &a, true).incomplete);
    assert_true(sum_of(NULL, true, &a, true).incomplete);
    assert_false(sum_of(NULL, true, NULL, true).known);
    b.incomplete = true;
    assert_true(sum_of(&a, true, &b, true).incomplete);
    assert_true(sum_of(&b, true, &a, true).incomplete);
}

/* The account of a mount is part of its sums and copies. */
static void test_mounts(void **state)
{
    struct io_mounts jobs = {0}, copy = {0}, local = {0};
    struct io_mount *m = io_mounts_get(&jobs, "/nfs", "nfs4", "srv:/", false);

    (void)state;
    m->rpc = malloc(sizeof(*m->rpc));
    assert_non_null(m->rpc);
    *m->rpc = make(10);
    io_account_op(&m->io, IO_READ)->requests = 1;
    m = io_mounts_get(&local, "/nfs", "nfs4", "srv:/", false);
    io_account_op(&m->io, IO_READ)->requests = 1;
    assert_int_equal(io_mounts_copy(&jobs, &copy), 0);
    assert_memory_equal(copy.items[0].rpc, jobs.items[0].rpc, sizeof(*m->rpc));
    assert_int_equal(io_mounts_add(&copy, &local), 0);
    assert_true(copy.items[0].rpc->incomplete);
    assert_int_equal(copy.items[0].rpc->own[RPC_READ].calls, 10);
    io_mounts_clear(&jobs);
    io_mounts_clear(&copy);
    io_mounts_clear(&local);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_incomplete),
        cmocka_unit_test(test_mounts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
