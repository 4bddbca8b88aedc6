/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readings of a node, and the I/O between two of them. */
#include "tests/unit/test.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/top/top.h"

#define S 1000000000ull

/* Add reads of 4096 bytes on a mount. */
static void do_reads(struct top_who *who, const char *mount, bool labelled, uint64_t requests)
{
    struct io_mounts mounts = {0};
    struct io_mount *m = io_mounts_get(&mounts, mount, "ext4", "/dev/x", !labelled);
    struct io_counter *c = io_account_op(&m->io, IO_READ);

    m->labelled = labelled;
    c->requests = requests;
    c->bytes = requests * 4096;
    c->time_ns = requests * 1000;
    c->size_log2[12] = requests;
    assert_int_equal(top_add_mounts(who, &mounts), 0);
    io_mounts_clear(&mounts);
}

static void add_total(struct top_reading *r, const char *mount, bool labelled, uint64_t requests)
{
    struct io_mounts mounts = {0};
    struct io_mount *m = io_mounts_get(&mounts, mount, "ext4", "/dev/x", !labelled);

    m->labelled = labelled;
    io_account_op(&m->io, IO_READ)->requests = requests;
    io_account_op(&m->io, IO_READ)->bytes = requests * 4096;
    assert_int_equal(top_add_totals(r, &mounts), 0);
    io_mounts_clear(&mounts);
}

static struct top_reading *reading(uint64_t at_s)
{
    struct top_reading *r = calloc(1, sizeof(*r));

    assert_non_null(r);
    r->node = strdup("n1");
    r->at_ns = at_s * S;
    return r;
}

static struct top_who *job(struct top_reading *r, uint32_t jobid, const char *user)
{
    struct top_who *who = top_add(r, TOP_JOB, jobid, user, "name");

    assert_non_null(who);
    who->uid = jobid;
    return who;
}

static const struct top_row *row_of(const struct top_rows *rows, uint64_t number, const char *mount)
{
    for (size_t i = 0; i < rows->n; i++) {
        const struct top_row *row = &rows->items[i];

        if (row->who && row->who->number == number && (!mount || !strcmp(row->mount, mount)))
            return row;
    }
    return NULL;
}

static void test_json_and_back(void **state)
{
    struct top_reading *r = reading(7), *back = NULL;
    struct top_who *who = job(r, 4294967295u, "ann\xff");
    struct json_object *document;
    struct error error;

    (void)state;
    who->restart = 3;
    who->since_ns = 5;
    who->steps = 2;
    do_reads(who, "/a", true, 10);
    do_reads(who, "/b", false, 1);
    add_total(r, "/a", true, 100);
    r->lost = 9;
    r->hidden = 4;
    r->ns_per_event = 300;
    r->not_counted = strdup("no BTF");
    document = top_json(r, UINT32_MAX, true);
    assert_int_equal(top_parse(document, &back, &error), 0);
    json_object_put(document);
    assert_string_equal(back->node, "n1");
    assert_string_equal(back->not_counted, "no BTF");
    assert_int_equal(back->at_ns, 7 * S);
    assert_int_equal(back->lost + back->hidden + back->ns_per_event, 313);
    assert_int_equal(back->n, 1);
    assert_string_equal(back->all[0].user, "ann?");
    assert_int_equal(back->all[0].number, 4294967295u);
    assert_int_equal(back->all[0].uid, 4294967295u);
    assert_int_equal(back->all[0].restart + back->all[0].since_ns + back->all[0].steps, 10);
    assert_int_equal(back->all[0].n, 2);
    assert_memory_equal(&back->all[0].mounts[0].sums, &r->all[0].mounts[0].sums,
                        sizeof(struct top_sums));
    assert_false(back->all[0].mounts[1].labelled);
    assert_int_equal(back->totals[0].sums.read_requests, 100);
    top_reading_destroy(r);
    top_reading_destroy(back);
}

static void test_what_is_no_reading(void **state)
{
    static const char *const texts[] = {"[]", "{}", "{\"at_ns\":\"x\"}", "{\"at_ns\":0}"};
    struct top_reading *back = NULL;
    struct error error;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct json_object *document = json_tokener_parse(texts[i]);

        assert_int_equal(top_parse(document, &back, &error), -EBADMSG);
        json_object_put(document);
    }
    /* From a newer jobiod: another kind of account, and fields of other types. */
    {
        struct json_object *document =
            json_tokener_parse("{\"at_ns\":1,\"all\":[{\"kind\":\"pod\"},{\"kind\":\"run\","
                               "\"mounts\":[{\"read_bytes\":[]}]}]}");

        assert_int_equal(top_parse(document, &back, &error), 0);
        assert_int_equal(back->n, 1);
        assert_int_equal(back->all[0].mounts[0].sums.read_bytes, 0);
        top_reading_destroy(back);
        json_object_put(document);
    }
}

static void test_differences(void **state)
{
    struct top_reading *before = reading(10), *now = reading(12);
    struct top_rows rows = {0};
    struct top_who *who;

    (void)state;
    do_reads(job(before, 1, "ann"), "/a", true, 100);
    who = job(now, 1, "ann");
    do_reads(who, "/a", true, 150);
    do_reads(who, "/b", true, 7); /* used in between */
    /* One started in between; one is missing in the first reading although it started before it. */
    who = job(now, 2, "bob");
    who->since_ns = 11 * S;
    do_reads(who, "/a", true, 30);
    who = job(now, 3, "bob");
    who->since_ns = 9 * S;
    do_reads(who, "/a", true, 1000);
    /* The same number, but another run. */
    who = job(now, 1, "ann");
    who->restart = 1;
    who->since_ns = 11 * S;
    do_reads(who, "/c", true, 3);
    assert_int_equal(top_rows(before, now, &rows), 0);
    assert_int_equal(rows.interval_ns, 2 * S);
    assert_int_equal(rows.n, 4);
    assert_int_equal(row_of(&rows, 1, "/a")->sums.read_requests, 50);
    assert_int_equal(row_of(&rows, 1, "/a")->sums.read_bytes, 50 * 4096);
    assert_int_equal(row_of(&rows, 1, "/a")->sums.wait_ns, 50000);
    assert_int_equal(row_of(&rows, 1, "/a")->sums.sizes[12], 50);
    assert_int_equal(row_of(&rows, 1, "/b")->sums.read_requests, 7);
    assert_int_equal(row_of(&rows, 2, "/a")->sums.read_requests, 30);
    assert_int_equal(row_of(&rows, 1, "/c")->sums.read_requests, 3);
    assert_null(row_of(&rows, 3, NULL));
    top_rows_clear(&rows);
    top_reading_destroy(before);
    top_reading_destroy(now);
}

/* "(unknown)" got its name: its earlier I/O is not counted as new. */
static void test_a_mount_that_got_its_name(void **state)
{
    struct top_reading *before = reading(10), *now = reading(12);
    struct top_rows rows = {0};
    struct top_who *who = job(before, 1, "ann");

    (void)state;
    do_reads(who, "(unknown)", false, 1000);
    do_reads(who, "/a", true, 5);
    who = job(now, 1, "ann");
    do_reads(who, "/late", true, 1001);
    do_reads(who, "/a", true, 6);
    assert_int_equal(top_rows(before, now, &rows), 0);
    assert_int_equal(rows.n, 1);
    assert_int_equal(row_of(&rows, 1, "/a")->sums.read_requests, 1);
    top_rows_clear(&rows);
    top_reading_destroy(before);
    top_reading_destroy(now);
}

/* The I/O in the totals that is not of the listed jobs. */
static void test_the_rest_closes_the_sum(void **state)
{
    struct top_reading *before = reading(10), *now = reading(11);
    struct top_rows rows = {0};
    struct top_who *who;
    struct top_sums sum;

    (void)state;
    do_reads(job(before, 1, "ann"), "/a", true, 10);
    do_reads(job(before, 2, "bob"), "/a", true, 20);
    add_total(before, "/a", true, 1030);
    who = job(now, 1, "ann");
    do_reads(who, "/a", true, 15);
    do_reads(who, "/secret", false, 4);
    /* Job 2 has ended after 3 more; runs are in no total. */
    who = top_add(now, TOP_RUN, 1, "ann", "jobio run");
    who->since_ns = 11 * S;
    do_reads(who, "/a", true, 50);
    add_total(now, "/a", true, 1038);
    add_total(now, "/secret", false, 4);
    assert_string_equal(now->totals[1].mount, "(private)");
    assert_int_equal(top_rows(before, now, &rows), 0);
    assert_int_equal(rows.n, 4);
    assert_int_equal(rows.items[3].who->kind, TOP_REST);
    assert_string_equal(rows.items[3].mount, "/a");
    assert_int_equal(rows.items[3].sums.read_requests, 3);
    sum = top_sum(&rows);
    assert_int_equal(sum.read_requests, 5 + 4 + 3 + 50);
    top_rows_clear(&rows);
    top_reading_destroy(before);
    top_reading_destroy(now);
}

static void test_others_are_hidden(void **state)
{
    struct top_reading *r = reading(1), *seen = NULL;
    struct json_object *document;
    struct error error;

    (void)state;
    do_reads(job(r, 1000, "ann"), "/a", true, 1);
    do_reads(job(r, 1001, "bob"), "/b", true, 1);
    do_reads(job(r, 1000, "ann"), "/c", true, 1);
    (void)top_add(r, TOP_RUN, 1, "bob", NULL);
    (void)top_add(r, TOP_SERVICE, 1, NULL, "cron");
    r->all[3].uid = 1001;
    r->all[4].uid = 1000;
    add_total(r, "/b", true, 1);
    document = top_json(r, 1000, true);
    assert_int_equal(top_parse(document, &seen, &error), 0);
    json_object_put(document);
    assert_int_equal(seen->n, 2);
    assert_int_equal(seen->hidden, 1);
    assert_string_equal(seen->all[0].mounts[0].mount, "/a");
    assert_string_equal(seen->all[1].mounts[0].mount, "/c");
    assert_int_equal(seen->n_totals, 1);
    top_reading_destroy(seen);
    top_reading_destroy(r);
}

/* Two jobs of ann, one of bob, on three mounts. */
static void test_groups(void **state)
{
    struct top_reading *before = reading(1), *now = reading(2);
    struct top_rows rows = {0}, g = {0};

    (void)state;
    for (uint32_t id = 1; id <= 3; id++) {
        struct top_who *who = job(now, id, id == 3 ? "bob" : "ann");

        who->since_ns = 1 * S;
        do_reads(who, "/a", true, id);
        do_reads(who, id == 3 ? "/b" : "/c", true, 10 * id);
    }
    assert_int_equal(top_rows(before, now, &rows), 0);
    assert_int_equal(top_group(&rows, TOP_BY_JOB_MOUNT, NULL, &g), 0);
    assert_int_equal(g.n, 6);
    top_rows_clear(&g);

    assert_int_equal(top_group(&rows, TOP_BY_JOB, NULL, &g), 0);
    assert_int_equal(g.n, 3);
    assert_int_equal(g.items[1].sums.read_requests, 22);
    assert_int_equal(g.items[1].mounts, 2);
    assert_null(g.items[1].mount);
    assert_int_equal(g.items[1].who->number, 2);
    top_rows_clear(&g);

    assert_int_equal(top_group(&rows, TOP_BY_MOUNT, NULL, &g), 0);
    assert_int_equal(g.n, 3);
    top_sort(&g, TOP_READ);
    assert_string_equal(g.items[0].mount, "/b");
    assert_int_equal(g.items[0].jobs, 1);
    assert_int_equal(g.items[0].who->number, 3);
    assert_string_equal(g.items[1].mount, "/c");
    assert_int_equal(g.items[1].jobs, 2);
    assert_null(g.items[1].who);
    assert_string_equal(g.items[1].user, "ann");
    assert_null(g.items[2].user);
    top_rows_clear(&g);

    assert_int_equal(top_group(&rows, TOP_BY_USER, NULL, &g), 0);
    assert_int_equal(g.n, 2);
    assert_int_equal(g.items[0].jobs, 2);
    assert_int_equal(g.items[0].mounts, 2);
    assert_int_equal(g.items[0].sums.read_requests, 33);
    assert_int_equal(g.items[1].jobs, 1);
    top_rows_clear(&g);

    assert_int_equal(top_group(&rows, TOP_BY_MOUNT, "ann", &g), 0);
    assert_int_equal(g.n, 2);
    top_rows_clear(&g);
    assert_int_equal(top_group(&rows, TOP_BY_JOB, "eve", &g), 0);
    assert_int_equal(g.n, 0);
    top_rows_clear(&g);
    top_rows_clear(&rows);
    top_reading_destroy(before);
    top_reading_destroy(now);
}

static void test_order(void **state)
{
    struct top_who who[3] = {{.number = 9}, {.number = 7}, {.number = 8}};
    struct top_row items[] = {
        {.who = &who[0], .mount = "/z"},
        {.who = &who[1], .mount = "/z", .sums = {.read_bytes = 5, .events = 1}},
        {.who = &who[2], .mount = "/z", .sums = {.write_bytes = 9, .events = 1, .wait_ns = 4}},
        {.who = &who[2], .mount = "/a", .sums = {.meta_requests = 2, .events = 2, .errors = 1}},
    };
    static const struct {
        enum top_key key;
        const char *order;
    } cases[] = {{TOP_READ, "7z8a8z9z"},
                 {TOP_WRITE, "8z7z8a9z"},
                 {TOP_META, "8a7z8z9z"},
                 {TOP_WAIT, "8z7z8a9z"},
                 {TOP_ERRORS, "8a7z8z9z"}};
    struct top_rows rows = {.items = items, .n = 4};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char order[16] = "";

        top_sort(&rows, cases[i].key);
        for (size_t j = 0; j < rows.n; j++)
            (void)sprintf(order + 2 * j, "%u%c", (unsigned)items[j].who->number, items[j].mount[1]);
        assert_string_equal(order, cases[i].order);
    }
}

static void test_names(void **state)
{
    (void)state;
    for (int by = 0; by < TOP_BY_COUNT; by++)
        assert_int_equal(top_by_parse(top_by_name((enum top_by)by)), by);
    for (int key = 0; key < TOP_KEY_COUNT; key++)
        assert_int_equal(top_key_parse(top_key_name((enum top_key)key)), key);
    assert_int_equal(top_by_parse("disk"), -EINVAL);
    assert_int_equal(top_key_parse(""), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_and_back),
        cmocka_unit_test(test_what_is_no_reading),
        cmocka_unit_test(test_differences),
        cmocka_unit_test(test_a_mount_that_got_its_name),
        cmocka_unit_test(test_the_rest_closes_the_sum),
        cmocka_unit_test(test_others_are_hidden),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
