/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page. tests/cli/page.bats tests that it is well-formed, and how a browser shows it. */
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "report/html/html.h"
#include "report/html/chart.h"
#include "report/html/html_impl.h"
#include "tests/unit/rich.h"
#include "tests/unit/sample.h"

static const struct html_options options = {
    .notes = &rich_notes, .version = "1.2", .made_ns = UINT64_C(1795173200000000000)};

static char *page_of(struct job_account *job)
{
    char *page;

    assert_non_null(job);
    page = report_html(job, &options);
    assert_non_null(page);
    job_account_destroy(job);
    return page;
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;

    for (const char *p = text; (p = strstr(p, what)); p += strlen(what))
        n++;
    return n;
}

#define assert_has(page, text) \
    assert_true(strstr(page, text) || (print_error("no: %s\n", text), false))
#define assert_no(page, text) assert_null(strstr(page, text))

static void test_all_parts(void **state)
{
    static const char *const parts[] = {"notes",      "mounts", "times", "histograms",
                                        "operations", "mpi",    "nodes", "steps"};
    _free_ char *page = page_of(rich_job());
    const char *before = page;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        char id[64];
        const char *at;

        (void)snprintf(id, sizeof(id), "<section id=\"%s\"", parts[i]);
        at = strstr(page, id);
        assert_non_null(at);
        assert_true(at > before);
        before = at;
    }
    /* four charts and two heat maps, all five mounts and four nodes */
    assert_int_equal(count(page, "<figure class=\"chart\">"), 6);
    assert_int_equal(count(page, "<details open"), 5);
    assert_has(page, "Job 4711 <span class=\"name\">train-resnet50</span>");
    assert_has(page, "<dd>01:12:44</dd>");
    assert_has(page, "Complete: 4/4 nodes, 0 events lost, accounting took about ");
    assert_has(page, "<strong>Failed</strong> 5 calls on /scratch failed because it was full");
    assert_has(page, "href=\"https://docs.example/io#no-space\"");
    assert_has(page, "<td class=\"failed\">5 ENOSPC</td>");
    assert_has(page, "gpu12");
    assert_has(page, " bursts of writes, one every ");
    assert_has(page,
               "Sequential: 75\xc2\xa0% of 17.1 M read calls; 100\xc2\xa0% of 139 k write calls.");
}

/* The numbers are those of the summary. */
static void test_numbers(void **state)
{
    _free_ char *page = page_of(sample_job());

    (void)state;
    assert_has(page, "50\xc2\xa0% of the run time was spent waiting for I/O: reading /scratch");
    assert_has(page, "<td>98.6 GiB</td><td>900 MiB/s</td><td>101 k</td><td>1 MiB</td>"
                     "<td>10.0 GiB</td><td>200 MiB/s</td><td>2560</td><td>4 MiB</td>"
                     "<td>24.0 k</td><td>7</td>");
    assert_has(page, "<small>2 EINTR</small><small>5 ENOSPC</small>");
    assert_has(page, "+1.batch");
    assert_has(page, "17 steps");
}

static void test_no_time_lines(void **state)
{
    _free_ char *page = page_of(rich_old());

    (void)state;
    assert_has(page, "This job has no time line");
    assert_int_equal(count(page, "<figure class=\"chart\">"), 0);
    assert_true(count(page, "<figure class=\"histogram\">") > 0);
}

/* "< 0.1 %" is not a tag. */
static void test_little(void **state)
{
    struct job_account *job = sample_job();
    _free_ char *page = NULL;

    (void)state;
    job->elapsed_ns = SECONDS(60000); /* of 400 s that all threads waited together */
    job->longest_wait_ns = 1000;
    page = page_of(job);
    assert_has(page, "<dt>Waiting for I/O</dt><dd>&lt; 0.1 %</dd>");
    assert_has(page, "I/O took &lt; 0.1\xc2\xa0% of the run time");
    assert_no(page, "< ");
}

static void test_command(void **state)
{
    _free_ char *page = page_of(sample_run());

    (void)state;
    assert_has(page, "<h1>true --x</h1>");
    assert_has(page, "<dt>Exit status</dt><dd>3</dd>");
    assert_no(page, "<section id=\"steps\"");
}

/* Functions that several stacks share are drawn once, below their caller, with the sum. */
static void test_stacks(void **state)
{
    static const struct {
        const char *text;
        uint64_t ms;
    } stacks[] = {{"a<b;main\tapp;read\tlibc.so.6", 600},
                  {"a<b;main\tapp;write\tlibc.so.6", 200},
                  {"other;[truncated]", 199},
                  {"thin;main\tapp", 1}};
    struct job_account *job = rich_job();
    struct stack *copies = calloc(ARRAY_SIZE(stacks), sizeof(*copies));
    _free_ char *page, *without = page_of(rich_job());

    (void)state;
    assert_no(without, "id=\"code\"");
    job->stacks = calloc(1, sizeof(*job->stacks));
    job->stacks->least_ns = 1000000;
    job->stacks->counts.all = (struct stack_weight){9, 1500000000};
    job->stacks->counts.lost = (struct stack_weight){5, 500000000};
    for (size_t i = 0; i < ARRAY_SIZE(stacks); i++)
        copies[i] = (struct stack){strdup(stacks[i].text), {1, stacks[i].ms * 1000000}};
    stack_profile_fill(job->stacks, copies, ARRAY_SIZE(stacks));
    page = page_of(job);
    assert_has(page, "<section id=\"code\"");
    assert_has(page, "<svg class=\"icicle\" width=\"100%\" height=\"60\"");
    assert_has(page,
               "<svg x=\"0.00%\" y=\"0\" width=\"80.00%\" height=\"19\"><title>a&lt;b: 800 ms, "
               "80 %</title>");
    assert_has(page, "<svg x=\"0.00%\" y=\"20\" width=\"80.00%\" height=\"19\"><title>main (app): "
                     "800 ms, 80 %</title>");
    assert_has(page, "<svg x=\"60.00%\" y=\"40\" width=\"20.00%\" height=\"19\"><title>write "
                     "(libc.so.6): 200 ms, 20 %</title>");
    assert_has(page,
               "<svg x=\"80.00%\" y=\"20\" width=\"19.90%\" height=\"19\"><title>[truncated]: ");
    assert_no(page, ">thin<");
    assert_has(page, "Without a stack, because they came too fast: 5 calls, 500 ms.");
    assert_int_equal(count(page, "<svg x="), 6);
}

static void test_block(void **state)
{
    _job_ *job = sample_run(), *none = sample_run();
    _free_ char *page = NULL, *without = NULL, *incomplete = NULL;
    struct block_device *d;

    (void)state;
    without = report_html(none, &options);
    assert_no(without, "id=\"block\"");
    job->block = calloc(1, sizeof(*job->block));
    d = block_account_get(job->block, "s<a");
    d->own[BLOCK_READ] =
        (struct block_counter){100, 0, MIB(1), SECONDS(1), SECONDS(2), {[18] = 98, [20] = 2}};
    d->shared[BLOCK_WRITE] = (struct block_counter){2, 1, KIB(8), 0, SECONDS(2), {[23] = 2}};
    page = report_html(job, &options);
    assert_has(page, "<section id=\"block\"");
    assert_has(page, "<tr><th scope=\"row\">s&lt;a read</th><td>100</td><td>1.0 MiB</td>"
                     "<td>–</td><td>10 ms</td><td>20 ms</td><td>134 ms</td></tr>");
    assert_has(page,
               "<tr><th scope=\"row\">s&lt;a write *</th><td>2</td><td>8.0 KiB</td><td>1</td>");
    assert_no(page, "some were not counted");
    job->block->incomplete = job->block->shared_at_most = true;
    incomplete = report_html(job, &options);
    assert_has(incomplete, "NOT complete: some were not counted.");
    assert_has(incomplete, "at most, because steps that ran");
}

/* The same numbers as in the text, and what is missing. */
static void test_mpi(void **state)
{
    _job_ *job = sample_run(), *none = sample_run();
    _free_ char *page = NULL, *without = NULL, *incomplete = NULL;

    (void)state;
    without = report_html(none, &options);
    assert_no(without, "MPI");
    job->mpi = sample_mpi();
    page = report_html(job, &options);
    assert_has(page, "<tr><th scope=\"row\">write_all</th><td>64</td><td>64.0 MiB</td>"
                     "<td>1 MiB</td><td>–</td><td>8.0 s</td><td>134 ms</td></tr>");
    assert_has(page, "<tr><th scope=\"row\">read</th><td>16</td><td>84.0 KiB</td><td>8 KiB</td>"
                     "<td>1</td><td>2.0 s</td>");
    assert_no(page, "<th scope=\"row\">write_all_split</th>");
    assert_has(page, "64.0 KiB of the reads have no status");
    assert_has(page, "Without the bytes of 2 calls");
    assert_no(page, "NOT complete");
    assert_no(page, "MPI-IO took");
    completeness_add(&job->mpi->completeness, MPI_CAUSE_LATE, 7, 0);
    job->mpi->classes[MPI_WRITE_ALL].time_ns = SECONDS(100);
    job->nodes_expected++;
    incomplete = report_html(job, &options);
    assert_has(incomplete, "<p class=\"mpi\">MPI-IO (NOT complete) took at least 102 s in all");
    assert_has(incomplete, "<li>NOT complete: 7 processes may have called MPI-IO before");
    assert_has(incomplete, "<li>NOT complete: the account of the job is not complete.</li>");
}

/* Text never leaves its element, and nothing is loaded or run. */
static void test_evil(void **state)
{
    _free_ char *page = page_of(rich_evil());

    (void)state;
    assert_no(page, "<script");
    assert_no(page, "<img");
    assert_no(page, "\033");
    assert_no(page, "\007");
    assert_no(page, "\xff");
    assert_no(page, "\xef\xbf\xbe");
    assert_no(page, "\xe2\x80\xae");
    assert_int_equal(count(page, "</title>"), count(page, "<title>"));
    assert_int_equal(count(page, "</style>"), 1);
    assert_has(page,
               "&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=&quot;alert(&#39;2");
    assert_has(page, "default-src 'none'; style-src 'unsafe-inline'");
    for (const unsigned char *p = (const unsigned char *)page; *p; p++)
        assert_true(*p >= 0x20 || *p == '\n');
}

/* Only links that a browser follows without running anything. */
static void test_links(void **state)
{
    static const char *const links[] = {"javascript:alert(1)", "data:text/html,x", "small-files",
                                        ""};
    _job_ *job = sample_run();

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
        struct advice_note note = {ADVICE_HINT, "rule", (char *)links[i], (char *)"words", 0.1};
        const struct advice_notes notes = {&note, 1};
        struct html_options other = options;
        _free_ char *page = NULL;

        other.notes = &notes;
        page = report_html(job, &other);
        assert_non_null(page);
        assert_no(page, "href");
        assert_has(page, "<strong>Hint</strong> Words.");
    }
}

static void test_limits(void **state)
{
    _free_ char *nodes = page_of(rich_large(1000, 3000, 2));
    _free_ char *mounts = page_of(rich_large(2, 2, 90));

    (void)state;
    assert_true(strlen(nodes) < 1000000);
    assert_has(nodes, "900 more nodes");
    assert_has(nodes, "The 200 of 3000 steps with most time in calls");
    assert_has(nodes, "The 64 of 1000 nodes with the largest values");
    assert_true(strlen(mounts) < 2000000);
    assert_has(mounts, "26 more mounts");
    assert_has(mounts, "83 other mounts");
    assert_int_equal(count(mounts, "<details open"), HTML_COLOURS);
    assert_int_equal(count(mounts, "<h3>"), HTML_HISTOGRAMS);
}

static void test_nothing(void **state)
{
    _free_ char *page = page_of(job_account_create());

    (void)state;
    assert_has(page, "No I/O was counted.");
    assert_no(page, "<table");
    assert_no(page, "<svg");
}

/* --- charts -------------------------------------------------------------------------------------
 */

static void test_ticks(void **state)
{
    static const struct {
        double largest, base, tick;
    } cases[] = {{4, 1000, 1},
                 {5, 1000, 2},
                 {1, 1000, 0.5},
                 {4039, 1000, 2000},
                 {0.7, 1000, 0.2},
                 {900 * 1048576.0, 1024, 500 * 1048576.0},
                 {1.2 * 1073741824, 1024, 0.5 * 1073741824},
                 {3, 1024, 1},
                 {1, 1024, 1}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        double tick = chart_tick(cases[i].largest, cases[i].base, 4);

        assert_true(tick > cases[i].tick * 0.999 && tick < cases[i].tick * 1.001);
    }
    assert_int_equal(chart_time_tick(3, 6), 1);
    assert_int_equal(chart_time_tick(60, 6), 10);
    assert_int_equal(chart_time_tick(4364, 6), 900);
    assert_int_equal(chart_time_tick(UINT64_C(86400) * 365, 6), 61 * 86400);
}

static char *show(double value, char buf[UNITS_SIZE])
{
    (void)snprintf(buf, UNITS_SIZE, "%g", value);
    return buf;
}

/* Two parts over four bins: the second stands on the first. */
static void test_stack(void **state)
{
    static const double low[] = {1, 1, 0, 2}, high[] = {1, 0, 0, 2};
    const struct chart_part parts[] = {{"<a>", "m1", low}, {"b", "m2", high}};
    const struct chart chart = {"Read", show, 1000, parts, 2};
    const struct chart_time time = {100, 101, 2, 4};
    _free_ char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    chart_stack(out, &chart, &time);
    assert_int_equal(fclose(out), 0);
    assert_has(text, "<path class=\"m1\" d=\"M0 1000H0V750H2V1000H3V500H4H4V1000H0Z\"/>");
    assert_has(text,
               "<path class=\"m2\" d=\"M0 750H0V500H1V750H2V1000H3V0H4H4V500H3V1000H2V750H0Z\"/>");
    assert_has(text, "<title>00:00:05\n&lt;a&gt; 2\nb 2\nall 4</title>");
    assert_has(text, "busiest 2 s: 4, 00:00:05 after the start");
    assert_has(text, "viewBox=\"0 0 4 1000\"");
}

/* Every cell is there once, in the shade of its value. */
static void test_heat(void **state)
{
    static const double quiet[] = {0, 1, 1}, busy[] = {64, 64, 16};
    const struct chart chart = {"Read", show, 1000, NULL, 0};
    const struct chart_row rows[] = {{"n1", quiet}, {"n2", busy}};
    const struct chart_time time = {100, 100, 1, 3};
    _free_ char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    chart_heat(out, &chart, rows, 2, &time);
    assert_int_equal(fclose(out), 0);
    assert_has(text, "<path class=\"h1\" d=\"M1 0h2v1H1z\"/>");
    assert_has(text, "<path class=\"h8\" d=\"M0 1h2v1H0z\"/>");
    assert_has(text, "<path class=\"h4\" d=\"M2 1h1v1H2z\"/>");
    assert_int_equal(count(text, "<path"), 3);
    assert_has(text, "<title>n2: at most 64, 00:00:00 after the start</title>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_parts),     cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_no_time_lines), cmocka_unit_test(test_little),
        cmocka_unit_test(test_command),       cmocka_unit_test(test_mpi),
        cmocka_unit_test(test_block),         cmocka_unit_test(test_stacks),
        cmocka_unit_test(test_evil),          cmocka_unit_test(test_links),
        cmocka_unit_test(test_limits),        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_ticks),         cmocka_unit_test(test_stack),
        cmocka_unit_test(test_heat),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
