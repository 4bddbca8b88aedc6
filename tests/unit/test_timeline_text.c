/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/summary/busiest.h"
#include "report/text/timeline.h"
#include "tests/unit/sample.h"

static void check_golden(const struct job_account *job, size_t columns, bool utf8, const char *name)
{
    _free_ char *text = report_timeline_text(job, columns, utf8);
    const char *srcdir = getenv("srcdir");
    char path[512], want[8192] = "";
    _fclose_ FILE *f = NULL;

    snprintf(path, sizeof(path), "%s/tests/data/%s", srcdir ? srcdir : ".", name);
    f = fopen(path, "re");
    if (!f)
        fail_msg("no %s", path);
    assert_in_range(fread(want, 1, sizeof(want) - 1, f), 1, sizeof(want) - 2);
    assert_string_equal(text, want);
}

static void test_golden(void **state)
{
    _job_ *job = sample_job();

    (void)state;
    check_golden(job, 80, true, "timeline-80.txt");
    check_golden(job, 40, false, "timeline-40.txt");
}

static void assert_text_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no \"%s\" in:\n%s", part, text);
}

static struct timeline *line(struct job_account *job, const char *mount)
{
    struct io_mount *m = sample_mount(&job->mounts, mount, "nfs4", "srv:/");

    return &m->timeline;
}

static void spread(struct timeline *t, uint64_t from_s, uint64_t to_s, struct timeline_bin what)
{
    assert_int_equal(timeline_spread(t, 1, SECONDS(from_s), SECONDS(to_s), &what), 0);
}

/* The account that goes with the time line: all reads, writes and stats. */
static void account(struct job_account *job)
{
    for (size_t i = 0; i < job->mounts.n; i++) {
        struct io_mount *m = &job->mounts.items[i];
        struct timeline_bin sum = timeline_sum(&m->timeline);

        sample_calls(m, IO_READ, 1, sum.of[TIMELINE_READ], sum.of[TIMELINE_WAIT]);
        sample_calls(m, IO_WRITE, 1, sum.of[TIMELINE_WRITE], 0);
        if (sum.of[TIMELINE_META])
            sample_calls(m, IO_STAT, sum.of[TIMELINE_META], 0, 0);
    }
}

static struct job_account *job_make(uint64_t start_s, uint64_t elapsed_s)
{
    struct job_account *job = job_account_create();

    assert_non_null(job);
    job->start_ns = SECONDS(start_s);
    job->elapsed_ns = SECONDS(elapsed_s);
    return job;
}

/* Four checkpoints of 3 GiB, one a minute; the only thread waits five of 300 s in each, and four at
 * the start. */
static void test_bursts(void **state)
{
    _job_ *job = job_make(1000, 300);
    struct timeline *t = line(job, "/scratch");
    _free_ char *text = NULL, *narrow = NULL, *old = NULL;

    (void)state;
    spread(t, 1001, 1005, (struct timeline_bin){.of = {KIB(4), 0, 0, SECONDS(4)}});
    for (unsigned i = 1; i <= 4; i++)
        spread(t, 1000 + 60 * i, 1005 + 60 * i,
               (struct timeline_bin){{0, GIB(3), 0, SECONDS(5)}, SECONDS(5)});
    account(job);
    job->nodes_expected = job->nodes_reported = 1;
    text = report_timeline_text(job, 80, false);
    assert_text_has(text, "  4 bursts of writes, one every 60 s: 3.0 GiB each, in at most 6.0 s; ");
    assert_text_has(text, "waited 20 s in them (6.7 % of the run time)\n");
    job->nodes_expected = 2;
    narrow = report_timeline_text(job, 40, false);
    assert_text_has(narrow, "at least 20 s in");
    timeline_forget_longest(t);
    old = report_timeline_text(job, 80, false);
    assert_text_has(old, "one every 60 s: 3.0 GiB each, in at most 6.0 s\n");
}

/* Eight columns of 1 s, each drawn seven characters wide: nothing, the least, an eighth ... all. */
static void test_heights(void **state)
{
    _job_ *job = job_make(1000, 8);
    struct timeline *t = line(job, "/scratch");
    static const uint64_t reads[] = {8000, 0, 1, 1001, 2001, 4001, 6001, 7999};
    _free_ char *text = NULL, *ascii = NULL;

    (void)state;
    for (unsigned i = 0; i < 8; i++)
        spread(t, 1000 + i, 1001 + i, (struct timeline_bin){.of = {reads[i], 0, 3, 0}});
    account(job);
    text = report_timeline_text(job, 80, true);
    ascii = report_timeline_text(job, 80, false);
    assert_non_null(strstr(text, "\n  read     ███████       "
                                 "▁▁▁▁▁▁▁▂▂▂▂▂▂▂▃▃▃▃▃▃▃"
                                 "▅▅▅▅▅▅▅▇▇▇▇▇▇▇███████ "
                                 "7.8 KiB/s\n"));
    assert_non_null(strstr(ascii, "\n  read     @@@@@@@       .......:::::::"
                                  "-------+++++++#######@@@@@@@ 7.8 KiB/s\n"));
    assert_non_null(strstr(text, "███ 3.0/s\n"));
    assert_non_null(strstr(text, "in steps of 1 s;"));
    assert_non_null(
        strstr(text, "           00:16:40                00:16:44                00:16:48\n"));
    assert_null(strstr(text, "written"));
    assert_null(strstr(text, "all mounts"));
}

/* layout_width() takes a block for as wide as it is in some fonts of East Asia. */
static size_t characters(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += (*text & 0xc0) != 0x80;
    return n;
}

static unsigned check_width(const char *text, size_t columns)
{
    unsigned lines = 0;

    assert_non_null(text);
    while (*text) {
        size_t n = strcspn(text, "\n");
        char copy[2048];

        assert_int_equal(text[n], '\n');
        assert_true(n < sizeof(copy));
        memcpy(copy, text, n);
        copy[n] = '\0';
        for (size_t i = 0; i < n; i++)
            if ((unsigned char)copy[i] < 0x20 || copy[i] == 0x7f)
                fail_msg("a control character in: %s", copy);
        if (characters(copy) > columns)
            fail_msg("%zu columns, not %zu: %s", characters(copy), columns, copy);
        text += n + 1;
        lines++;
    }
    return lines;
}

/* Whatever the terminal's width, the job's length and the names of mounts. */
static void test_every_width(void **state)
{
    static const uint64_t lengths[] = {0, 1, 3, 57, 600, 7200, 86400, 86400 * 40};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
        _job_ *job = job_make(1795168801, lengths[i]);
        char name[64];

        for (unsigned m = 0; m < 12; m++) {
            snprintf(name, sizeof(name), "/m\033[31m/%u/a/rather/long/name/of/a/mount/point", m);
            spread(line(job, name), 1795168801, 1795168801 + lengths[i] / (m + 1),
                   (struct timeline_bin){
                       .of = {UINT64_MAX / 4 >> 4 * m, m, UINT64_MAX / 4, SECONDS(m)}});
        }
        account(job);
        for (size_t columns = 24; columns < 260; columns += columns < 90 ? 1 : 13) {
            _free_ char *text = report_timeline_text(job, columns, true);
            _free_ char *ascii = report_timeline_text(job, columns, false);

            check_width(ascii, columns);
            assert_in_range(check_width(text, columns), 15, 8 * 4 + 14);
            assert_non_null(strstr(text, "4 more mounts\n"));
            for (const char *p = ascii; *p; p++)
                assert_in_range((unsigned char)*p, '\n', '~');
        }
        for (size_t columns = 0; columns < 24; columns++) {
            _free_ char *text = report_timeline_text(job, columns, true);

            check_width(text, columns ? 24 : 80);
        }
    }
}

static void test_what_is_lacking(void **state)
{
    _job_ *job = job_make(1000, 100), *old = job_make(1000, 100), *none = job_make(1000, 100);
    _free_ char *text = NULL;

    (void)state;
    spread(line(job, "/scratch"), 1000, 1050, (struct timeline_bin){.of = {4000, 0, 0, 0}});
    account(job);
    text = report_timeline_text(job, 80, true);
    assert_null(strstr(text, "not on the time line"));
    sample_calls(&job->mounts.items[0], IO_WRITE, 1, 1, 0);
    free(text);
    text = report_timeline_text(job, 80, true);
    assert_non_null(strstr(text, "\nnot on the time line: "));
    free(text);
    sample_calls(sample_mount(&old->mounts, "/", "ext4", "/dev/sda"), IO_WRITE, 1, 1, 0);
    text = report_timeline_text(old, 80, true);
    assert_string_equal(
        text, "\nno time line: the job was counted by a jobio without time lines, or comes from a\n"
              "  history without them (ClickHouse)\n");
    free(text);
    text = report_timeline_text(none, 80, true);
    assert_string_equal(text, "\nno time line: the job did no I/O\n");
}

/* Bins of different widths are compared by what they did a second; those that are about as busy as
 * their neighbours are told together. */
static void test_top(void **state)
{
    _job_ *job = job_make(1000, 100);
    struct busiest_time top[4];

    (void)state;
    assert_int_equal(summary_busiest(&job->mounts, top, 4), 0);
    spread(line(job, "/wide"), 0, 4096, (struct timeline_bin){.of = {0, 0, 0, SECONDS(4096)}});
    spread(line(job, "/narrow"), 1000, 1004, (struct timeline_bin){.of = {0, 0, 0, SECONDS(2)}});
    spread(line(job, "/narrow"), 1001, 1003, (struct timeline_bin){.of = {7, 0, 0, SECONDS(6)}});
    spread(line(job, "/async"), 1001, 1002, (struct timeline_bin){.of = {99, 0, 0, 0}});
    assert_int_equal(summary_busiest(&job->mounts, top, 4), 4);
    assert_string_equal(top[0].mount->mount, "/narrow"); /* 3.5 threads waited */
    assert_int_equal(top[0].start_s, 1001);
    assert_int_equal(top[0].length_s, 2);
    assert_int_equal(top[0].what.of[TIMELINE_READ], 7);
    assert_int_equal(top[0].what.of[TIMELINE_WAIT], SECONDS(7));
    assert_string_equal(top[1].mount->mount, "/wide"); /* 1.0 */
    assert_int_equal(top[1].start_s, 0);
    assert_int_equal(top[1].length_s, 4096);
    assert_string_equal(top[2].mount->mount, "/narrow"); /* 0.5, before and after */
    assert_int_equal(top[2].start_s, 1000);
    assert_int_equal(top[2].length_s, 1);
    assert_int_equal(top[3].start_s, 1003);
    assert_int_equal(summary_busiest(&job->mounts, top, 1), 1);
    assert_int_equal(top[0].start_s, 1001);
    timeline_clear(&job->mounts.items[0].timeline);
    timeline_clear(&job->mounts.items[1].timeline);
    assert_int_equal(summary_busiest(&job->mounts, top, 4), 1);
    assert_string_equal(top[0].mount->mount, "/async");
    assert_int_equal(top[0].what.of[TIMELINE_READ], 99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),          cmocka_unit_test(test_bursts),
        cmocka_unit_test(test_heights),         cmocka_unit_test(test_every_width),
        cmocka_unit_test(test_what_is_lacking), cmocka_unit_test(test_top),
    };

    setenv("TZ", "UTC", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
