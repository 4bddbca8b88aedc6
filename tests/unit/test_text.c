/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/layout.h"
#include "report/advice.h"
#include "report/text.h"
#include "tests/unit/sample.h"

/* The text of a file below tests/data. */
static char *golden(const char *name)
{
    _fclose_ FILE *f = NULL;
    const char *srcdir = getenv("srcdir");
    char path[512], *text = calloc(1, 65536);

    snprintf(path, sizeof(path), "%s/tests/data/%s", srcdir ? srcdir : ".", name);
    f = fopen(path, "re");
    if (!f)
        fail_msg("%s: %s", path, strerror(errno));
    assert_non_null(text);
    assert_in_range(fread(text, 1, 65535, f), 1, 65534);
    return text;
}

static void check_golden(const struct job_account *job, enum summary summary, const char *name)
{
    _free_ char *text = report_text(job, summary, NULL), *want = golden(name);

    assert_string_equal(text, want);
}

/* At most so many lines of so many columns, each ended; nothing that moves the cursor. */
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

/* The files were written by hand from the account in sample.c and are compared byte for byte. */
static void test_golden(void **state)
{
    _job_ *job = sample_job(), *run = sample_run();

    (void)state;
    check_golden(job, SUMMARY_SHORT, "summary-short.txt");
    check_golden(job, SUMMARY_FULL, "summary-full.txt");
    job->unsupported = 1 << IO_COPY_READ | 1 << IO_MMAP_READ;
    job->nodes_reported = 1;
    job->completeness.lost = 15;
    completeness_add(&job->completeness, "map-full", 15, 0);
    completeness_add(&job->completeness, "hook-not-attached", 2, 1 << IO_READDIR | 1 << IO_FSYNC);
    completeness_add(&job->completeness, "some\033thing", 3, 0);
    check_golden(job, SUMMARY_SHORT, "summary-incomplete.txt");
    check_golden(run, SUMMARY_SHORT, "summary-run.txt");
}

static void test_page_cache_says_what_was_in_vain(void **state)
{
    _job_ *job = sample_job();
    struct io_mount *m = &job->mounts.items[0];
    _free_ char *text = NULL, *mapped = NULL;

    (void)state;
    m->cache = (struct io_cache){1024, 1024, {2048, 4096, 1024, 8192}};
    text = report_text(job, SUMMARY_FULL, NULL);
    assert_non_null(strstr(text, "prefetch 1.0 KiB, write 8.0"));
    assert_non_null(strstr(text, " KiB in vain\n"));
    io_account_op(&m->io, IO_MMAP_READ)->requests = 1;
    mapped = report_text(job, SUMMARY_FULL, NULL);
    assert_non_null(strstr(mapped, "read\n"));
    assert_null(strstr(mapped, "in vain"));
}

static void test_off_is_empty(void **state)
{
    _job_ *job = sample_job();
    _free_ char *text = report_text(job, SUMMARY_OFF, NULL);

    (void)state;
    assert_string_equal(text, "");
}

static void check_text(const struct job_account *job, const char *want)
{
    _free_ char *text = report_text(job, SUMMARY_SHORT, NULL);

    assert_string_equal(text, want);
}

static void test_nothing(void **state)
{
    _job_ *job = job_account_create();
    _free_ char *full = NULL;

    (void)state;
    check_text(job, "I/O summary: job 0 so far, 0 nodes, 00:00:00\n"
                    "no I/O was counted\n"
                    "NOT complete: 0 nodes, of how many is not known, 0 events lost\n");
    job->nodes_expected = job->nodes_reported = 1;
    job->key.jobid = 7;
    check_text(job, "I/O of job 7 so far: 0 B read, 0 B written, 0 calls; complete: 1/1 nodes\n");
    job->ended = true;
    check_text(
        job, "I/O of job 7: 0 B read, 0 B written, 0 calls; complete: 1/1 nodes, 0 events lost\n");
    full = report_text(job, SUMMARY_FULL, NULL);
    check_shape(full, 12);
}

/* No number of a job that nobody counted is shown. */
static void test_what_was_not_counted(void **state)
{
    _job_ *job = job_account_create();
    _free_ char *full = NULL;

    (void)state;
    job->key.jobid = 7;
    job->nodes_expected = job->nodes_reported = 1;
    job->elapsed_ns = SECONDS(10);
    job->unsupported = UINT64_MAX;
    completeness_add(&job->completeness, "not counted: no BTF", 1, 0);
    check_text(job, "I/O summary: job 7 so far, 1 node, 00:00:10\n"
                    "NOT complete: 1/1 nodes, 0 events lost; not counted: no BTF\n");
    full = report_text(job, SUMMARY_FULL, NULL);
    assert_null(strstr(full, "waiting"));
    assert_null(strstr(full, "no I/O"));
    assert_non_null(strstr(full, "not counted: no BTF\n"));
}

static void test_little_is_one_line(void **state)
{
    _job_ *job = job_account_create();
    struct io_mount *m = sample_mount(&job->mounts, "/", "ext4", "/dev/vda1");
    struct io_counter *open;

    (void)state;
    job->key.jobid = 4711;
    job->ended = true;
    job->elapsed_ns = SECONDS(10);
    job->nodes_expected = 2;
    job->nodes_reported = 1;
    sample_calls(m, IO_READ, 3, KIB(4), 1000);
    open = sample_calls(m, IO_OPEN, 31, 0, 1000);
    check_text(job,
               "I/O of job 4711: 12.0 KiB read, 0 B written, 34 calls; NOT complete: 1/2 nodes\n");
    job->array_job = 4700;
    job->array_task = 3;
    check_text(job, "I/O of job 4700_3 (4711): 12.0 KiB read, 0 B written, 34 calls; NOT complete\n");
    job->array_job = 0;
    sample_errors(m, IO_OPEN, ENOENT, 2);
    job->nodes_reported = 2;
    job->longest_wait_ns = SECONDS(3);
    check_text(job,
               "I/O: 12.0 KiB read, 0 B written, 34 calls, 2 failed, 30 % waiting; complete\n");
    open->requests = 997;
    assert_int_equal(check_shape_of(job, SUMMARY_SHORT, 12), 6);
    open->requests = 996;
    assert_int_equal(check_shape_of(job, SUMMARY_SHORT, 12), 1);
    m->io.ops[IO_READ]->bytes = MIB(1) - 1;
    assert_int_equal(check_shape_of(job, SUMMARY_SHORT, 12), 1);
    m->io.ops[IO_READ]->bytes = MIB(1);
    assert_int_equal(check_shape_of(job, SUMMARY_SHORT, 12), 6);
}

/* A little that is not whole may have been much: it says what is missing. */
static void test_little_with_losses(void **state)
{
    _job_ *job = job_account_create();

    (void)state;
    job->nodes_expected = job->nodes_reported = 1;
    job->ended = true;
    job->completeness.lost = 2;
    check_text(job, "I/O summary: job 0, 1 node, 00:00:00\n"
                    "no I/O was counted\n"
                    "NOT complete: 1/1 nodes, 2 events lost\n");
}

static void test_order_and_rest(void **state)
{
    _job_ *job = job_account_create();
    _free_ char *text = NULL;

    (void)state;
    job->nodes_expected = job->nodes_reported = 1;
    job->ended = true;
    job->elapsed_ns = SECONDS(100);
    job->longest_wait_ns = SECONDS(200); /* a step that ran on: not above 100 % */
    /* /7 waits longest, ... /1 and /0 not at all, but /0 has more bytes. */
    for (unsigned i = 0; i < 8; i++) {
        char name[] = {'/', (char)('0' + i), '\0'};

        sample_calls(sample_mount(&job->mounts, name, "xfs", name), IO_WRITE, 10,
                     i == 0 ? MIB(9) : MIB(1), i < 2 ? 0 : SECONDS(i));
    }
    job->mounts.items[0].peaks[IO_WRITE].bytes_per_s = MIB(10);
    text = report_text(job, SUMMARY_SHORT, NULL);
    assert_string_equal(
        text, "I/O summary: job 0, 1 node, 00:01:40\n"
              "100 % of the run time was spent waiting for I/O: writing /7 26 %, writing /6\n"
              "  22 %, writing /5 19 %\n"
              "mount        read mean/s peak/s  write mean/s peak/s calls   size meta errs wait\n"
              /* waiting: i of 27 s; 10 MiB in 100 s are 102.4 KiB/s */
              "/7              -      -      -  10MiB 102KiB      -    10   1MiB    -    -  26%\n"
              "/6              -      -      -  10MiB 102KiB      -    10   1MiB    -    -  22%\n"
              "/5              -      -      -  10MiB 102KiB      -    10   1MiB    -    -  19%\n"
              "/4              -      -      -  10MiB 102KiB      -    10   1MiB    -    -  15%\n"
              "/3              -      -      -  10MiB 102KiB      -    10   1MiB    -    -  11%\n"
              /* 90 + 10 + 10 MiB; 2 of 27 s; what is busiest together is not known */
              "3 more          -      -      - 110MiB 1.1MiB      -    30   1MiB    -    -   7%\n"
              "complete: 1/1 nodes, 0 events lost\n");
}

/* What is told, with two errors among it, and a style with it. */
static struct text_style told(struct advice_notes *notes)
{
    static struct advice_note items[] = {
        {ADVICE_ERROR, "full", "", "5 calls on /scratch failed because it was full.", 0},
        {ADVICE_HINT, "far", "https://docs.example/io#far",
         "Half of the run time went to reading /scratch from far away in pieces that are too small "
         "to be worth the way: copy it to the node's own disk first.",
         0.5},
        {ADVICE_HINT, "near", "", "Read more at a time.", 0.3},
        {ADVICE_HINT, "long", "",
         "A note of more than two lines, which is what a site that has much to say may write, "
         "because nobody has told it that its users will not read to the end of it anyway, and "
         "that there are only twelve lines for all that a job has to say.",
         0.2},
    };

    *notes = (struct advice_notes){items, ARRAY_SIZE(items)};
    return (struct text_style){.notes = notes};
}

/* Errors first; then the notes that leave room for two mounts, in 12 lines. */
static void test_notes(void **state)
{
    _job_ *job = sample_job();
    struct advice_notes notes;
    struct text_style style = told(&notes);
    _free_ char *text = report_text(job, SUMMARY_SHORT, &style), *full = NULL;

    (void)state;
    assert_string_equal(
        text,
        "I/O summary: job 4700_12 (4711), 2 nodes, 00:10:00\n"
        "error: 5 calls on /scratch failed because it was full.\n"
        "50 % of the run time was spent waiting for I/O: reading /scratch 14 %, writing\n"
        "  /scratch 11 %, opening files on /scratch 9 %\n"
        "mount        read mean/s peak/s  write mean/s peak/s calls   size meta errs wait\n"
        "/scratch    99GiB 168MiB 900MiB  10GiB  17MiB 200MiB  104k   1MiB  24k    7  38%\n"
        "/home      3.9MiB 6.7KiB      -      -      -      -  1000   4KiB 100k  88k  10%\n"
        "1 more          -      -      - 512MiB 874KiB      -   512   1MiB    -    -   2%\n"
        "note: Half of the run time went to reading /scratch from far away in pieces that\n"
        "  are too small to be worth the way: copy it to the node's own disk first.\n"
        "  https://docs.example/io#far\n"
        "complete: 2/2 nodes, 0 events lost\n");
    full = report_text(job, SUMMARY_FULL, &style);
    assert_non_null(strstr(full, "\nnote: Read more at a time.\n"));
    assert_non_null(strstr(full, "\nnote: A note of more than"));
}

/* "nothing to improve" is not said where something failed, or where not all was counted. */
static void test_verdict_on_little_waiting(void **state)
{
    _job_ *job = sample_job();
    struct advice_notes notes;
    struct text_style style = told(&notes);
    _free_ char *fine = NULL, *failed = NULL, *partly = NULL, *many = NULL;

    (void)state;
    /* 400 s of all threads, of which one waited 240 s of 60,000 s */
    job->elapsed_ns = SECONDS(60000);
    job->longest_wait_ns = SECONDS(240);
    fine = report_text(job, SUMMARY_SHORT, NULL);
    assert_non_null(strstr(fine, "\nI/O took 0.4 % of the run time: nothing to improve\n"));
    failed = report_text(job, SUMMARY_SHORT, &style);
    assert_non_null(strstr(failed, "\nI/O took 0.4 % of the run time\n"));
    job->nodes_reported = 1;
    partly = report_text(job, SUMMARY_SHORT, NULL);
    assert_non_null(strstr(partly, "\nI/O took at least 0.4 % of the run time\n"));
    /* One short process after the other: none of them waited long, but the job may have. */
    job->nodes_reported = 2;
    job->elapsed_ns = SECONDS(600);
    job->longest_wait_ns = SECONDS(3);
    many = report_text(job, SUMMARY_SHORT, NULL);
    assert_non_null(
        strstr(many, "\nall threads together waited 400 s for I/O, none of them longer than 0.5 %"));
}

/* On a narrow terminal the columns that matter least give way. */
static void test_narrow(void **state)
{
    _job_ *job = sample_job();
    struct text_style style = {.columns = 40};
    _free_ char *text = report_text(job, SUMMARY_SHORT, &style);

    (void)state;
    assert_string_equal(text, "I/O summary: job 4700_12 (4711), 2\n"
                              "  nodes, 00:10:00\n"
                              "50 % of the run time was spent waiting\n"
                              "  for I/O: reading /scratch 14 %,\n"
                              "  writing /scratch 11 %, opening files\n"
                              "  on /scratch 9 %\n"
                              "mount       read  write   size meta wait\n"
                              "/scratch   99GiB  10GiB   1MiB  24k  38%\n"
                              "/home     3.9MiB      -   4KiB 100k  10%\n"
                              "/tmp*          - 512MiB   1MiB    -   2%\n"
                              "* mounted in the job's own namespace\n"
                              "  only\n"
                              "complete: 2/2 nodes, 0 events lost\n");
}

/* The full summary keeps to any width, down to 40 columns. */
static void test_every_width(void **state)
{
    (void)state;
    for (size_t columns = 40; columns <= 80; columns++) {
        _job_ *job = sample_job();
        struct advice_notes notes;
        struct text_style style = told(&notes);
        _free_ char *text = NULL, *nodes = report_nodes_text(job, columns),
                    *steps = report_steps_text(job, columns);

        style.columns = columns;
        job->nodes_reported = 1;
        job->unsupported = UINT64_MAX >> 20;
        text = report_text(job, SUMMARY_FULL, &style);
        check_width(text, columns, 200);
        check_width(nodes, columns, 6);
        check_width(steps, columns, 9);
        assert_non_null(strstr(steps, "vanished\n"));
    }
}

/* Names come before sizes; what is longer than both is cut. */
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
        assert_int_equal(!strstr(text, " size "), i > 0);
        check_shape(text, 12);
    }
}

/* Each line ends as plain as it began. */
static void test_colours(void **state)
{
    _job_ *job = sample_job();
    struct advice_notes notes;
    struct text_style style = told(&notes);
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

/* Failed opens that reached no file system. */
static void test_no_mount_only_when_it_matters(void **state)
{
    _job_ *job = sample_job();
    struct io_mount *m = io_mounts_get(&job->mounts, "(no mount)", "none", "none", false);
    _free_ char *few = NULL, *full = NULL, *many = NULL;

    (void)state;
    sample_calls(m, IO_OPEN, 999, 0, 1000);
    sample_errors(m, IO_OPEN, ENOENT, 999);
    few = report_text(job, SUMMARY_SHORT, NULL);
    assert_null(strstr(few, "(no mount)"));
    full = report_text(job, SUMMARY_FULL, NULL);
    assert_non_null(strstr(full, "\n(no mount) (none, none)\n"));
    sample_errors(m, IO_OPEN, ENOENT, 1);
    many = report_text(job, SUMMARY_SHORT, NULL);
    assert_non_null(strstr(many, "\n(no mount) "));
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

/* Whatever the numbers and the names: 12 lines of 80 columns. */
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

static void test_words(void **state)
{
    (void)state;
    for (int s = SUMMARY_OFF; s <= SUMMARY_FULL; s++)
        assert_int_equal(summary_parse(summary_name(s)), s);
    assert_int_equal(summary_parse("Short"), -EINVAL);
    assert_int_equal(summary_parse(""), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_page_cache_says_what_was_in_vain),
        cmocka_unit_test(test_off_is_empty),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_what_was_not_counted),
        cmocka_unit_test(test_little_is_one_line),
        cmocka_unit_test(test_little_with_losses),
        cmocka_unit_test(test_order_and_rest),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_verdict_on_little_waiting),
        cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_every_width),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_colours),
        cmocka_unit_test(test_no_mount_only_when_it_matters),
        cmocka_unit_test(test_extremes_stay_in_shape),
        cmocka_unit_test(test_long_command_is_cut),
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_words),
    };

    setenv("TZ", "UTC", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
