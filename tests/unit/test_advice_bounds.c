/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a rule of advice may not do, and what it may cost. */
#define _GNU_SOURCE
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "report/advice/advice.h"

#define SECOND UINT64_C(1000000000)

static struct advice *advice;
static struct advice_notes notes;
static struct job_account *job;
static struct error error;
static char said[4096];

static void say(const char *text, void *arg)
{
    (void)arg;
    (void)snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s\n", text);
}

/* Write the text to a file; returns the result of advice_read(). */
static int read_rules(const char *text)
{
    char path[] = "/tmp/jobio-advice-XXXXXX";
    int fd = mkstemp(path), r;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    r = advice_read(advice, path, say, NULL, &error);
    unlink(path);
    return r;
}

static void add_mount(const char *name)
{
    struct io_mount *m = io_mounts_get(&job->mounts, name, "lustre", "fs", false);

    io_account_op(&m->io, IO_READ)->requests = 1;
}

static void ask(void)
{
    assert_int_equal(advice_give(advice, job, 3, &notes, &error), 0);
}

static int setup(void **state)
{
    (void)state;
    said[0] = '\0';
    if (advice_create(&advice, &error) < 0)
        fail_msg("%s", error.text);
    job = job_account_create();
    job->elapsed_ns = 1000 * SECOND;
    job->longest_wait_ns = 400 * SECOND;
    job->nodes_expected = job->nodes_reported = 1;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    advice_notes_clear(&notes);
    advice_destroy(advice);
    job_account_destroy(job);
    return 0;
}

/* Each with a part of the error. The rule after it works. */
static void test_what_a_rule_may_not_do(void **state)
{
    static const struct {
        const char *rule, *why;
    } refused[] = {
        {"[x]\nwhen = length(randomblob(1000000000)) > 1\ntext = x\n",
         "not authorized to use function: randomblob"},
        {"[x]\nwhen = load_extension('/tmp/x.so')\ntext = x\n",
         "not authorized to use function: load_extension"},
        {"[x]\nwhen = 1\nlost = hex(zeroblob(1000000000)) > 'a'\ntext = x\n",
         "[x] lost = hex(zeroblob(1000000000)) > 'a': not authorized"},
        {"[x]\nwhen = 1\ntext = {(SELECT sql FROM sqlite_master)}\n", "access to sqlite_master"},
        {"[x]\nwhen = (SELECT count(*) FROM json_each('[1]')) > 0\ntext = x\n",
         "[x] when = (SELECT count(*)"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        char text[512];

        (void)snprintf(text, sizeof(text), "%s[last]\nwhen = 1\ntext = z\n", refused[i].rule);
        said[0] = '\0';
        assert_int_equal(read_rules(text), 1);
        if (!strstr(said, refused[i].why))
            fail_msg("\"%s\" is said, not \"%s\"", said, refused[i].why);
        assert_int_equal(advice_count(advice), 1);
    }
}

/* Comparisons and functions of numbers and short texts. */
static void test_what_a_rule_may_do(void **state)
{
    (void)state;
    assert_int_equal(
        read_rules("[a]\nwhen = Max(read_requests, 0) = 1 AND upper(mount) LIKE '/S%' AND\n"
                   "  mount GLOB '/s*' AND (SELECT count(*) FROM mount_fields) = 1\n"
                   "text = {substr(mount, 2, 3)} {round(nodes, 1)} "
                   "{CASE WHEN local THEN 1 ELSE 'no' END}\n"),
        0);
    add_mount("/scratch");
    ask();
    assert_int_equal(notes.n, 1);
    assert_string_equal(notes.items[0].text, "scr 1 no");
}

/* A rule that cannot be computed for this job gives no note; the others do. */
static void test_a_rule_that_fails(void **state)
{
    (void)state;
    assert_int_equal(read_rules("[big]\nwhen = 1\ntext = {abs(-9223372036854775807 - 1)}\n"
                                "[like]\nwhen = mount LIKE 'a' ESCAPE 'bc'\ntext = x\n"
                                "[last]\nwhen = 1\ntext = z\n"),
                     0);
    add_mount("/scratch");
    assert_int_equal(advice_give(advice, job, 3, &notes, &error), 2);
    assert_string_equal(error.text, "advice: [big]: integer overflow");
    assert_int_equal(notes.n, 1);
    assert_string_equal(notes.items[0].text, "z");
}

/* Numbers that fit into no integer are printed as the largest one. */
static void test_numbers_without_bound(void **state)
{
    (void)state;
    assert_int_equal(
        read_rules("[a]\nwhen = 1\ntext = {1e300:bytes} {1e999:count} {1e300:percent}\n"
                   "  {1e300:time} {-1e300:bytes} {1e18:bytes} {NULL:count}.\n"),
        0);
    add_mount("/scratch");
    ask();
    assert_string_equal(notes.items[0].text,
                        "16.0 EiB 18.4 E > 1e15 % 18446744074 s 0 B 888 PiB 0.");
}

/* A text of a rule is bounded, also if it comes from a field. */
static void test_long_values(void **state)
{
    char *name = calloc(1, 70000);

    (void)state;
    memset(name, 'x', 69999);
    assert_int_equal(read_rules("[a]\nwhen = length(mount) > 0\ntext = long\n"
                                "[b]\nwhen = 1\ntext = any\n"),
                     0);
    add_mount(name);
    free(name);
    ask();
    assert_int_equal(notes.n, 1);
    assert_string_equal(notes.items[0].text, "any");
}

/* 400 mounts in three loops: 64 million rows. A rule may still look at all pairs of them. */
static void test_many_steps(void **state)
{
    char name[32];

    (void)state;
    assert_int_equal(
        read_rules("[join]\nof = job\n"
                   "when = (SELECT count(*) FROM mount_fields, mount_fields, mount_fields) > 0\n"
                   "text = x\n"
                   "[pairs]\nof = job\n"
                   "when = (SELECT count(*) FROM mount_fields, mount_fields) = 160000\n"
                   "text = z\n"),
        0);
    for (unsigned i = 0; i < 400; i++) {
        (void)snprintf(name, sizeof(name), "/m%u", i);
        add_mount(name);
    }
    for (unsigned again = 0; again < 10; again++) {
        assert_int_equal(advice_give(advice, job, 3, &notes, &error), 1);
        assert_string_equal(error.text, "advice: [join]: more than 10 million steps of SQLite");
        assert_int_equal(notes.n, 1);
        assert_string_equal(notes.items[0].text, "z");
        advice_notes_clear(&notes);
        notes = (struct advice_notes){0};
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_a_rule_may_not_do, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_a_rule_may_do, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_rule_that_fails, setup, teardown),
        cmocka_unit_test_setup_teardown(test_numbers_without_bound, setup, teardown),
        cmocka_unit_test_setup_teardown(test_long_values, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_steps, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
