/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shape of the summary with any content: number of lines, their width, and their colours. */
#include "config.h"

#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/layout.h"
#include "report/text/text.h"
#include "tests/unit/sample.h"

/* Check the number of lines and their width, and that nothing moves the cursor. */
static unsigned check_width(const char *text, size_t columns, unsigned max_lines)
{
    unsigned lines = 0;

    assert_non_null(text);
    while (*text) {
        size_t n = strcspn(text, "\n");
        char line[1024];

        assert_int_equal(text[n], '\n');
        assert_true(n < sizeof(line));
        memcpy(line, text, n);
        line[n] = '\0';
        for (size_t i = 0; i < n; i++)
            if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
                fail_msg("a control character in: %s", line);
        if (layout_width(line) > columns)
            fail_msg("%zu columns: %s", layout_width(line), line);
        text += n + 1;
        lines++;
    }
    if (lines > max_lines)
        fail_msg("%u lines, not %u", lines, max_lines);
    return lines;
}

static unsigned check_shape(const char *text, unsigned max_lines)
{
    return check_width(text, 80, max_lines);
}

static unsigned check_shape_of(const struct job_account *job, enum summary summary, unsigned max)
{
    _free_ char *text = report_text(job, summary, NULL);

    return check_shape(text, max);
}

static void check_text(const struct job_account *job, const char *want)
{
    _free_ char *text = report_text(job, SUMMARY_SHORT, NULL);

    assert_string_equal(text, want);
}

static void test_little_has_no_table(void **state)
{
    const struct text_style narrow = {.columns = 40};
    _job_ *job = job_account_create();
    struct io_mount *m = sample_mount(&job->mounts, "/", "ext4", "/dev/vda1");
    struct io_counter *open;
    _free_ char *broken = NULL;

    (void)state;
    job->key.jobid = 4711;
    job->ended = true;
    job->elapsed_ns = SECONDS(10);
    job->nodes_expected = 2;
    job->nodes_reported = 1;
    sample_calls(m, IO_READ, 3, KIB(4), 1000);
    open = sample_calls(m, IO_OPEN, 31, 0, 1000);
    check_text(job, "I/O of job 4711, ended: 12.0 KiB read, 0 B written, 34 calls; NOT complete\n");
    broken = report_text(job, SUMMARY_SHORT, &narrow);
    assert_string_equal(broken, "I/O of job 4711, ended: 12.0 KiB read,\n"
                                "  0 B written, 34 calls; NOT complete\n");
    job->array_job = 4700;
    job->array_task = 3;
    check_text(job, "I/O of job 4700_3 (4711), ended: 12.0 KiB read, 0 B written, 34 calls; NOT\n"
                    "  complete: 1/2 nodes, 0 events lost\n");
    job->array_job = 0;
    sample_errors(m, IO_OPEN, EACCES, 2);
    sample_errors(m, IO_OPEN, ENOENT, 13); /* is not a failure */
    job->nodes_reported = 2;
    job->longest_wait_ns = SECONDS(3);
    check_text(job, "I/O of job 4711, ended: 12.0 KiB read, 0 B written, 34 calls, 2 failed, 30 %\n"
                    "  waiting; complete: 2/2 nodes, 0 events lost\n");
    open->requests = 997;
    assert_int_equal(check_shape_of(job, SUMMARY_SHORT, 12), 6);
    open->requests = 996;
    assert_int_equal(check_shape_of(job, SUMMARY_SHORT, 12), 2);
    m->io.ops[IO_READ]->bytes = MIB(1) - 1;
    assert_int_equal(check_shape_of(job, SUMMARY_SHORT, 12), 2);
    m->io.ops[IO_READ]->bytes = MIB(1);
    assert_int_equal(check_shape_of(job, SUMMARY_SHORT, 12), 6);
}

/* On a narrow terminal the least important columns are hidden. */
static void test_narrow(void **state)
{
    _job_ *job = sample_job();
    struct text_style style = {.columns = 40};
    _free_ char *text = report_text(job, SUMMARY_SHORT, &style);

    (void)state;
    assert_string_equal(text, "I/O summary: job 4700_12 (4711) of ada,\n"
                              "  ended, 2 nodes, 00:10:00\n"
                              "50 % of the run time was spent waiting\n"
                              "  for I/O: reading /scratch 14 %,\n"
                              "  writing /scratch 11 %; 38 % waiting on\n"
                              "  /scratch: 31 % server, 4 % client ...\n"
                              "mount       read  write  ~size meta wait\n"
                              "/scratch   99GiB  10GiB   1MiB  24k  38%\n"
                              "/home     3.9MiB      -   4KiB 100k  10%\n"
                              "/tmp*          - 512MiB   1MiB    -   2%\n"
                              "* mounted in the job's own namespace\n"
                              "  only\n"
                              "complete: 2/2 nodes, 0 events lost\n");
}

static void fill_mpi(struct mpi_account **ret, uint64_t value)
{
    struct mpi_account *mpi = calloc(1, sizeof(*mpi));

    assert_non_null(mpi);
    for (int i = 0; i < MPI_CLASS_COUNT; i++) {
        mpi->classes[i] = (struct mpi_counter){value, value, value, value, value, value, {0}, {0}};
        for (unsigned k = 0; k < IO_BUCKETS; k++)
            mpi->classes[i].size_log2[k] = mpi->classes[i].latency_log2[k] = value;
    }
    completeness_add(&mpi->completeness, MPI_CAUSE_LIBRARY "lib\033.so: \n", value, 0);
    *ret = mpi;
}

/* The full summary fits into any width from 40 columns on. */
static void test_every_width(void **state)
{
    (void)state;
    for (size_t columns = 40; columns <= 80; columns++) {
        _job_ *job = sample_job();
        struct text_style style = {.notes = sample_notes()};
        _free_ char *text = NULL, *nodes = report_nodes_text(job, columns),
                    *steps = report_steps_text(job, columns);

        style.columns = columns;
        job->nodes_reported = 1;
        job->unsupported = UINT64_MAX >> 20;
        fill_mpi(&job->mpi, 123456789);
        text = report_text(job, SUMMARY_FULL, &style);
        check_width(text, columns, 200);
        check_width(nodes, columns, 6);
        check_width(steps, columns, 9);
        assert_non_null(strstr(steps, "vanished\n"));
    }
}

/* Names have priority over sizes; longer ones are cut. */
static void test_long_names(void **state)
{
    static const struct {
        const char *mount, *head, *row;
    } cases[] = {
        {"/scratch10", "mount        read", "/scratch10 1.0MiB"},
        {"/lustre/scratch1", "mount               read", "/lustre/scratch1  1.0MiB"},
        {"/lustre/with/a/long/name", "mount               read", "/lustre/~ong/name 1.0MiB"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _job_ *job = job_account_create();
        _free_ char *text = NULL;

        sample_calls(sample_mount(&job->mounts, cases[i].mount, "xfs", "x"), IO_READ, 1, MIB(1), 1);
        text = report_text(job, SUMMARY_SHORT, NULL);
        assert_non_null(strstr(text, cases[i].head));
        assert_non_null(strstr(text, cases[i].row));
        assert_int_equal(!strstr(text, " ~size "), i > 0);
        check_shape(text, 12);
    }
}

/* Each line starts and ends without a colour. */
static void test_colours(void **state)
{
    _job_ *job = sample_job();
    struct text_style style = {.notes = sample_notes()};
    _free_ char *text = NULL, *plain = report_text(job, SUMMARY_SHORT, &style);
    size_t painted = 0;

    (void)state;
    assert_null(strchr(plain, '\033'));
    style.colour = true;
    text = report_text(job, SUMMARY_SHORT, &style);
    assert_non_null(strstr(text, "\n\033[1;31merror: 5 calls"));
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        const char *end = strchr(line, '\n');

        painted += *line == '\033';
        if (*line == '\033')
            assert_memory_equal(end - 4, "\033[0m", 4);
    }
    assert_int_equal(painted, 7);
}

static void fill_up(struct io_mount *m, uint64_t value)
{
    for (int op = 0; op < IO_OP_COUNT; op++) {
        struct io_counter *c = io_account_op(&m->io, op);

        *c = (struct io_counter){.requests = value,
                                 .async_requests = value,
                                 .sequential_requests = value,
                                 .random_requests = value,
                                 .bytes = value,
                                 .errors = value,
                                 .time_ns = value,
                                 .max_ns = value};
        for (unsigned i = 0; i < IO_BUCKETS; i++)
            c->size_log2[i] = c->latency_log2[i] = value;
        io_counter_errno(c, 4095, value);
        io_counter_errno(c, ENOTRECOVERABLE, value);
        m->peaks[op] = (struct io_peak){value, value};
    }
    m->cache = (struct io_cache){value, value, {value, value, value, value}};
}

/* Errors and hints, more than fit, each of many lines. */
static void check_with_notes(const struct job_account *job)
{
    static char link[] = "https://docs.example/io#rule";
    static char told[] =
        "calls on /a/mount/point/with/sixty/characters/in/its/whole/name/12345 failed "
        "for a reason that takes three lines and more to be told of, which no rule "
        "that jobio ships does, but a site is free to write, and some site will, some "
        "day, because there is always somebody who does not know when to stop.";
    struct advice_note items[] = {
        {ADVICE_ERROR, "a", link, told, 3},  {ADVICE_ERROR, "b", link, told, 2},
        {ADVICE_ERROR, "c", link, told, 1},  {ADVICE_HINT, "d", link, told, 0.9},
        {ADVICE_HINT, "e", link, told, 0.8}, {ADVICE_HINT, "f", link, told, 0.7},
    };

    for (size_t first = 0; first < ARRAY_SIZE(items); first++) {
        const struct advice_notes notes = {items + first, ARRAY_SIZE(items) - first};
        struct text_style style = {.notes = &notes};
        _free_ char *text = report_text(job, SUMMARY_SHORT, &style), *narrow = NULL;

        check_shape(text, 12);
        style.columns = 40;
        narrow = report_text(job, SUMMARY_SHORT, &style);
        check_width(narrow, 40, 18);
    }
}

/* With any numbers, names and notes: 12 lines of 80 columns. */
static void test_extremes_stay_in_shape(void **state)
{
    static const uint64_t values[] = {1,          999,
                                      1023,       99999,
                                      1048575,    999999999,
                                      UINT32_MAX, 109951162777599,
                                      INT64_MAX,  UINT64_MAX - 1,
                                      UINT64_MAX};
    static const char *const names[] = {
        "/a/mount/point/with/sixty/characters/in/its/whole/name/12345",
        "/esc\033[2J\n\ttab\x9b/with\r\b everything",
        "/\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5"
        "\xad\x97",
        "/cut\xe6\xbc",
        "",
    };

    (void)state;
    for (size_t v = 0; v < ARRAY_SIZE(values); v++) {
        _job_ *job = sample_job();

        io_mounts_clear(&job->mounts);
        for (unsigned i = 0; i < 40; i++) {
            char source[16];

            snprintf(source, sizeof(source), "s%u", i);
            fill_up(io_mounts_get(&job->mounts, names[i % ARRAY_SIZE(names)], "type\033c", source,
                                  i % 3 == 0),
                    values[v]);
        }
        fill_mpi(&job->mpi, values[v]);
        job->elapsed_ns = values[v];
        job->longest_wait_ns = values[v];
        job->ended = false;
        job->key.jobid = job->nodes_expected = job->nodes_reported = UINT32_MAX;
        job->unsupported = UINT64_MAX;
        job->completeness.lost = values[v];
        for (unsigned i = 0; i < 20; i++) {
            char cause[32];

            snprintf(cause, sizeof(cause), "cause-of-some-kind-%u\n", i);
            completeness_add(&job->completeness, cause, values[v], i % 2 ? UINT64_MAX >> i : 0);
        }
        for (size_t i = 0; i < job->n_steps; i++) {
            free(job->steps[i].node);
            job->steps[i].node = strdup(names[i]);
            job->steps[i].elapsed_ns = values[v];
            assert_int_equal(io_mounts_add(&job->steps[i].mounts, &job->mounts), 0);
        }
        assert_int_equal(check_shape_of(job, SUMMARY_SHORT, 12), 12);
        check_shape_of(job, SUMMARY_FULL, 5000);
        check_with_notes(job);
    }
}

static void test_long_command_is_cut(void **state)
{
    _job_ *run = sample_run();
    char word[600];

    (void)state;
    memset(word, 'x', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    memcpy(word, "a\033[2J\nb", 7);
    free(run->command[1]);
    run->command[1] = strdup(word);
    check_shape_of(run, SUMMARY_SHORT, 12);
    check_shape_of(run, SUMMARY_FULL, 100);
}

static void test_layout(void **state)
{
    static const struct {
        const char *text;
        size_t columns;
        const char *fit, *cut;
    } cases[] = {
        {"/scratch", 12, "/scratch", "/scratch"},
        {"/lustre/scratch", 12, "/lust~cratch", "/lustre/scr~"},
        {"\xe6\xbc\xa2\xe5\xad\x97", 4, "\xe6\xbc\xa2\xe5\xad\x97", "\xe6\xbc\xa2\xe5\xad\x97"},
        {"\xe6\xbc\xa2\xe5\xad\x97", 3, "~", "\xe6\xbc\xa2~"},
        {"a\nb", 3, "a?b", "a?b"},
    };
    char *wrapped = NULL;
    size_t size;
    FILE *out = open_memstream(&wrapped, &size);

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _free_ char *fit = layout_fit(cases[i].text, cases[i].columns);
        _free_ char *cut = layout_cut(cases[i].text, cases[i].columns);

        assert_string_equal(fit, cases[i].fit);
        assert_string_equal(cut, cases[i].cut);
    }
    assert_int_equal(layout_width("e\xcc\x81 \xc3\xa4"), 3); /* e with a combining accent */
    layout_wrap(out, "one two three four", 10, 2, 5);
    layout_wrap(out, "onetwothreefour five", 10, 2, 5);
    layout_wrap(out, "one two three four", 10, 2, 2);
    layout_wrap(out, "", 10, 2, 2);
    fclose(out);
    assert_string_equal(wrapped, "one two\n  three\n  four\n"
                                 "onetwothre\n  efour\n  five\n"
                                 "one two\n  thre ...\n");
    free(wrapped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_little_has_no_table),
        cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_every_width),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_colours),
        cmocka_unit_test(test_extremes_stay_in_shape),
        cmocka_unit_test(test_long_command_is_cut),
        cmocka_unit_test(test_layout),
    };

    setenv("TZ", "UTC", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
