/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <stdlib.h>

#include "collector/deliver/outbox.h"
#include "common/cleanup.h"

static const char *const urls[] = {"http://a", "http://b:9091/x"};

static struct job_key job(uint32_t jobid, uint32_t restart)
{
    return (struct job_key){.cluster = (char *)"c", .jobid = jobid, .restart = restart};
}

static struct outbox_job *add(struct outbox *outbox, uint32_t jobid, uint64_t ended_ns)
{
    struct job_key key = job(jobid, 0);
    struct outbox_job *added = outbox_add(outbox, &key, ended_ns);

    assert_non_null(added);
    return added;
}

static void check_order(const struct outbox *outbox, const uint32_t *ids, size_t n)
{
    const struct outbox_job *at = outbox_first(outbox);

    assert_int_equal(outbox_count(outbox), n);
    for (size_t i = 0; i < n; i++, at = outbox_next(at)) {
        assert_non_null(at);
        assert_int_equal(at->key.jobid, ids[i]);
    }
    assert_null(at);
}

static void test_order_and_find(void **state)
{
    struct outbox *outbox = outbox_create(urls, 2);
    struct job_key again = job(2, 1), none = job(9, 0), other = job(2, 0);

    (void)state;
    add(outbox, 1, 100);
    add(outbox, 3, 300);
    add(outbox, 2, 200); /* the clock was set back */
    assert_non_null(outbox_add(outbox, &again, 400));
    check_order(outbox, (uint32_t[]){1, 2, 3, 2}, 4);
    assert_int_equal(outbox_find(outbox, &again)->ended_ns, 400);
    assert_int_equal(outbox_find(outbox, &other)->ended_ns, 200);
    assert_null(outbox_find(outbox, &none));
    other.cluster = (char *)"d";
    assert_null(outbox_find(outbox, &other));
    outbox_remove(outbox, outbox_find(outbox, &again));
    check_order(outbox, (uint32_t[]){1, 2, 3}, 3);
    outbox_destroy(outbox);
    outbox_destroy(NULL);
}

static void test_expire_counts_from_the_acknowledgement(void **state)
{
    struct outbox *outbox = outbox_create(urls, 2);
    struct outbox_job *j = add(outbox, 1, 100);

    (void)state;
    outbox_expire(outbox, 0, 1000000, 50);
    assert_int_equal(j->slots[0].state, OUTBOX_PENDING);
    j->slots[0] = (struct outbox_slot){.state = OUTBOX_LINGERING, .acked_ns = 1000};
    outbox_expire(outbox, 0, 1049, 50);
    assert_int_equal(j->slots[0].state, OUTBOX_LINGERING);
    outbox_expire(outbox, 1, 1050, 50);
    assert_int_equal(j->slots[0].state, OUTBOX_LINGERING);
    outbox_expire(outbox, 0, 1050, 50);
    assert_int_equal(j->slots[0].state, OUTBOX_DONE);
    assert_false(outbox_is_done(outbox, j));
    /* Acknowledged "later" than now: the clock was set back. */
    j->slots[1] = (struct outbox_slot){.state = OUTBOX_LINGERING, .acked_ns = 5000};
    outbox_expire(outbox, 1, 2000, 50);
    assert_int_equal(j->slots[1].state, OUTBOX_LINGERING);
    outbox_expire(outbox, 1, 2050, 50);
    assert_true(outbox_is_done(outbox, j));
    outbox_destroy(outbox);
}

static void test_ended_again_is_pending_again(void **state)
{
    struct outbox *outbox = outbox_create(urls, 2);
    struct outbox_job *j = add(outbox, 1, 100);

    (void)state;
    j->slots[0] = (struct outbox_slot){.state = OUTBOX_DONE, .sent = true};
    assert_ptr_equal(add(outbox, 1, 200), j);
    assert_int_equal(j->slots[0].state, OUTBOX_PENDING);
    assert_false(j->slots[0].sent);
    assert_int_equal(j->ended_ns, 100); /* it keeps its name */
    assert_int_equal(outbox_count(outbox), 1);
    outbox_destroy(outbox);
}

static void test_keep_and_restore(void **state)
{
    static const char *const others[] = {"http://new", "http://b:9091/x"};
    struct outbox *outbox = outbox_create(urls, 2), *later = outbox_create(others, 2);
    struct job_key key = {.cluster = (char *)"c \"q\" /\n", .jobid = UINT32_MAX, .restart = 3};
    struct outbox_job *j = outbox_add(outbox, &key, INT64_MAX);
    _free_ char *value = NULL, *name = NULL, *name2 = NULL;

    (void)state;
    j->slots[0] = (struct outbox_slot){.state = OUTBOX_DONE};
    j->slots[1] = (struct outbox_slot){.state = OUTBOX_LINGERING, .acked_ns = 1700000000123456789};
    value = outbox_value(outbox, j);
    name = outbox_key("deliver/", j);
    assert_string_equal(name, "deliver/09223372036854775807.4294967295.3");
    assert_int_equal(outbox_restore(later, value, NULL), 0);
    j = outbox_find(later, &key);
    assert_non_null(j);
    assert_int_equal(j->slots[0].state, OUTBOX_PENDING); /* a URL that it has not seen */
    assert_int_equal(j->slots[1].state, OUTBOX_LINGERING);
    assert_int_equal(j->slots[1].acked_ns, 1700000000123456789);
    name2 = outbox_key("deliver/", j);
    assert_string_equal(name2, name);
    outbox_destroy(outbox);
    outbox_destroy(later);
}

static void test_garbage_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "x",
        "[]",
        "{}",
        "{\"cluster\":\"c\",\"jobid\":1,\"restart\":0,\"ended_ns\":1}",
        "{\"cluster\":\"c\",\"jobid\":-1,\"restart\":0,\"ended_ns\":1,\"acked_ns\":{}}",
        "{\"cluster\":\"c\",\"jobid\":4294967296,\"restart\":0,\"ended_ns\":1,\"acked_ns\":{}}",
        "{\"cluster\":7,\"jobid\":1,\"restart\":0,\"ended_ns\":1,\"acked_ns\":{}}",
        "{\"cluster\":\"c\",\"jobid\":\"1\",\"restart\":0,\"ended_ns\":1,\"acked_ns\":{}}",
        "{\"cluster\":\"c\",\"jobid\":1,\"restart\":0,\"ended_ns\":1,\"acked_ns\":[]}",
    };
    struct outbox *outbox = outbox_create(urls, 2);
    struct error error;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        assert_int_equal(outbox_restore(outbox, bad[i], &error), -EBADMSG);
        assert_int_equal(outbox_count(outbox), 0);
    }
    outbox_destroy(outbox);
}

static void test_many(void **state)
{
    struct outbox *outbox = outbox_create(urls, 2);

    (void)state;
    for (uint32_t i = 0; i < 20000; i++)
        add(outbox, i * 2654435761u, i);
    for (uint32_t i = 0; i < 20000; i += 2) {
        struct job_key key = job(i * 2654435761u, 0);

        outbox_remove(outbox, outbox_find(outbox, &key));
    }
    assert_int_equal(outbox_count(outbox), 10000);
    for (uint32_t i = 1; i < 20000; i += 2) {
        struct job_key key = job(i * 2654435761u, 0);

        assert_int_equal(outbox_find(outbox, &key)->ended_ns, i);
    }
    outbox_destroy(outbox);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_and_find),
        cmocka_unit_test(test_expire_counts_from_the_acknowledgement),
        cmocka_unit_test(test_ended_again_is_pending_again),
        cmocka_unit_test(test_keep_and_restore),
        cmocka_unit_test(test_garbage_is_refused),
        cmocka_unit_test(test_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
