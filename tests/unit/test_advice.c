/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rules over accounts: their notes, when there are none, and the errors of invalid rules. */
#define _GNU_SOURCE
#include "tests/unit/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "report/advice/advice.h"
#include "report/nodes.h"

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

    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    r = advice_read(advice, path, say, NULL, &error);
    unlink(path);
    return r;
}

static struct io_counter *count(const char *mount, enum io_op op, uint64_t requests, uint64_t bytes,
                                uint64_t time_ns)
{
    struct io_mount *m = io_mounts_get(&job->mounts, mount, "lustre", "fs", false);
    struct io_counter *c = io_account_op(&m->io, op);

    c->requests = requests;
    c->bytes = bytes;
    c->time_ns = time_ns;
    c->size_log2[io_size_bucket(requests ? bytes / requests : 0)] += requests;
    c->latency_log2[io_latency_bucket(requests ? time_ns / requests : 0)] += requests;
    return c;
}

static void ask(size_t max)
{
    advice_notes_clear(&notes);
    if (advice_give(advice, job, max, &notes, &error) < 0)
        fail_msg("%s", error.text);
}

static void new_job(void)
{
    job_account_destroy(job);
    job = job_account_create();
    job->elapsed_ns = 1000 * SECOND;
    job->longest_wait_ns = 400 * SECOND;
    job->nodes_expected = job->nodes_reported = 1;
}

static int setup(void **state)
{
    (void)state;
    said[0] = '\0';
    if (advice_create(&advice, &error) < 0)
        fail_msg("%s", error.text);
    new_job();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    advice_notes_clear(&notes);
    advice_destroy(advice);
    job_account_destroy(job);
    job = NULL;
    return 0;
}

static void test_a_rule_and_its_figures(void **state)
{
    (void)state;
    assert_int_equal(
        read_rules("[small]\n"
                   "when = open_requests > 10000 AND all_bytes / open_requests < 2048\n"
                   "lost = open_lost\n"
                   "text = {open_lost:percent} for {open_requests:count} files of\n"
                   "  {all_bytes / open_requests:bytes} on {mount}.\n"
                   "link = files\n"),
        0);
    count("/scratch", IO_OPEN, 20000, 0, 300 * SECOND);
    count("/scratch", IO_READ, 20000, 20000 * 1024, 50 * SECOND);
    count("/home", IO_OPEN, 11000, 0, 50 * SECOND);
    ask(3);
    assert_int_equal(notes.n, 1);
    assert_string_equal(notes.items[0].text, "30 % for 20.0 k files of 1 KiB on /scratch.");
    assert_string_equal(notes.items[0].rule, "small");
    assert_string_equal(notes.items[0].link, "");
    assert_true(notes.items[0].lost > 0.2999 && notes.items[0].lost < 0.3001);
}

static size_t count_notes(uint64_t elapsed_s, uint64_t wait_s)
{
    job->elapsed_ns = elapsed_s * SECOND;
    job->longest_wait_ns = wait_s * SECOND;
    ask(3);
    return notes.n;
}

static void test_no_sermon(void **state)
{
    (void)state;
    assert_int_equal(read_rules("[always]\nwhen = 1\ntext = yes\n[full]\nlevel = error\n"
                                "when = errors_enospc > 0\ntext = {errors_enospc:count} failed\n"),
                     0);
    count("/scratch", IO_READ, 1, 1, 1);
    assert_int_equal(count_notes(1000, 400), 1);
    assert_int_equal(count_notes(59, 20), 1); /* a short job: a third of its time */
    assert_int_equal(count_notes(59, 19), 0);
    assert_int_equal(count_notes(1000, 49), 0);
    assert_int_equal(io_counter_errno(count("/scratch", IO_WRITE, 7, 0, 1), ENOSPC, 7), 0);
    assert_int_equal(count_notes(1000, 49), 1);
    assert_string_equal(notes.items[0].text, "7 failed");
}

static void test_order_and_limit(void **state)
{
    (void)state;
    assert_int_equal(read_rules("[a]\nwhen = 1\nlost = 0.1\ntext = a\n[b]\nwhen = 1\nlost = 0.3\n"
                                "text = b\n[c]\nlevel = error\nwhen = 1\nlost = 0\ntext = c\n"
                                "[d]\nlevel = good\nwhen = 1\ntext = d\n[e]\nwhen = 1\nlost = 0.2\n"
                                "text = e\n"),
                     0);
    count("/scratch", IO_READ, 1, 1, 1);
    ask(3);
    assert_int_equal(notes.n, 3);
    assert_string_equal(notes.items[0].text, "c");
    assert_string_equal(notes.items[1].text, "b");
    assert_string_equal(notes.items[2].text, "e");
    ask(10);
    assert_int_equal(notes.n, 4); /* no good news besides other notes */
}

static void test_good_news(void **state)
{
    (void)state;
    assert_int_equal(read_rules("[d]\nlevel = good\nof = job\nwhen = read_bytes = 30\ntext = fine\n"
                                "[e]\nwhen = read_bytes = 30\ntext = no mount has that\n"),
                     0);
    count("/scratch", IO_READ, 1, 10, 1);
    count("/home", IO_READ, 1, 20, 1);
    ask(3);
    assert_int_equal(notes.n, 1);
    assert_string_equal(notes.items[0].text, "fine");
}

/* Each with a part of the error; the rules before and after it work. */
static void test_mistakes(void **state)
{
    static const struct {
        const char *rule, *why;
    } mistakes[] = {
        {"[x]\nwhen = no_such_field > 1\ntext = x\n", ":4: [x] when = no_such_field > 1: no such"},
        {"[x]\nwhen = 1 +\ntext = x\n", ":4: [x] when = 1 +: "},
        {"[x]\nwhen = 1), (2\ntext = x\n", ":4: [x] when = 1), (2: one value"},
        {"[x]\nwhen = (SELECT 1 FROM sqlite_master)); DROP TABLE mount_fields; --\ntext = x\n",
         ":4: [x] when"},
        {"[x]\nwhen = 1\ntext = {nothing\n", "is not closed"},
        {"[x]\nwhen = 1\ntext = {unheard_of}\n", ":4: [x] text = unheard_of: no such"},
        {"[x]\nwhen = 1\n", ":4: [x]: a rule needs"},
        {"[x]\nwhen = 1\ntext = x\nlevel = loud\n", ":7: level = loud: not a word"},
        {"[x]\nwhen = 1\ntext = x\nwhere = mount\n", ":7: unknown key \"where\""},
        {"[x]\nwhen = 1\ntext = x\nwhen = 2\n", ":7: \"when\" is set already"},
        {"[first]\nwhen = 1\ntext = x\n", ":4: [first]: this file has a rule of this name"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(*mistakes); i++) {
        char text[1024];

        advice_destroy(advice);
        assert_int_equal(advice_create(&advice, &error), 0);
        said[0] = '\0';
        (void)snprintf(text, sizeof(text),
                       "[first]\nwhen = 1\ntext = y\n%s[last]\nwhen = 1\ntext = z\n",
                       mistakes[i].rule);
        assert_int_equal(read_rules(text), 1);
        if (!strstr(said, mistakes[i].why))
            fail_msg("\"%s\" is said, not \"%s\"", said, mistakes[i].why);
        assert_int_equal(advice_count(advice), 2);
    }
}

/* The file of a site comes after the shipped one. */
static void test_a_site_changes_rules(void **state)
{
    (void)state;
    assert_int_equal(read_rules("[a]\nwhen = 1\ntext = shipped\nlink = why-a\n"
                                "[b]\nwhen = 1\ntext = b\nlink = https://other.example/b\n"
                                "[c]\nwhen = 1\ntext = c\n"),
                     0);
    assert_int_equal(read_rules("[links]\nprefix = https://docs.example/io#\n"
                                "[a]\nwhen = 1\nlost = 1\ntext = ours\nlink = why-a\n"
                                "[c]\nlevel = off\n"),
                     0);
    assert_int_equal(advice_count(advice), 3);
    count("/scratch", IO_READ, 1, 1, 1);
    ask(3);
    assert_int_equal(notes.n, 2);
    assert_string_equal(notes.items[0].text, "ours");
    assert_string_equal(notes.items[0].link, "https://docs.example/io#why-a");
    assert_string_equal(notes.items[1].link, "https://other.example/b");
    assert_int_equal(read_rules("[links]\nbefore = x\n"), 1);
    assert_non_null(strstr(said, ":2: unknown key \"before\" in [links]"));
}

static void test_long_line(void **state)
{
    char text[600];

    (void)state;
    (void)snprintf(text, sizeof(text),
                   "[a]\nwhen = 1\ntext = a\n[b]\ntext = %0300d\nwhen = 1\n"
                   "[c]\nwhen = 1\ntext = c\n",
                   1);
    assert_int_equal(read_rules(text), 1);
    assert_non_null(strstr(said, ":5: a line has at most"));
    assert_int_equal(advice_count(advice), 2);
}

static void test_names_of_mounts_are_untrusted(void **state)
{
    (void)state;
    assert_int_equal(read_rules("[a]\nwhen = 1\ntext = on {mount}\n"), 0);
    count("/scr\033[31m{mount}", IO_READ, 1, 1, 1);
    ask(1);
    assert_string_equal(notes.items[0].text, "on /scr?[31m{mount}");
}

/* The I/O of a node on /scratch: calls and their time. */
static void add_node(const char *node, uint64_t requests, uint64_t time_ns)
{
    struct step_account step = {.het = HET_NONE, .node = strdup(node)};
    struct io_mount *m = io_mounts_get(&step.mounts, "/scratch", "lustre", "fs", false);
    struct io_counter *c = io_account_op(&m->io, IO_OPEN);

    c->requests = requests;
    c->time_ns = time_ns;
    job->steps = reallocarray(job->steps, job->n_steps + 1, sizeof(*job->steps));
    assert_non_null(job->steps);
    job->steps[job->n_steps++] = step;
    job->nodes_reported = (uint32_t)job->n_steps;
}

static const char rules_of_nodes[] = "[slow]\nwhen = node_slow > 3\n"
                                     "text = {node_slow} times on {node_slowest} of {nodes}\n"
                                     "[even]\nof = job\nwhen = nodes_even > 1.5\n"
                                     "text = {nodes_even} times the mean\n";

static void test_nodes(void **state)
{
    (void)state;
    assert_int_equal(read_rules(rules_of_nodes), 0);
    count("/scratch", IO_OPEN, 500, 0, 300 * SECOND);
    add_node("n1", 200, 20 * SECOND);
    add_node("n2", 200, 70 * SECOND);
    ask(3);
    assert_int_equal(notes.n, 1); /* with two nodes it is unknown which one is slow */
    assert_string_equal(notes.items[0].text, "1.6 times the mean");
    add_node("n3", 99, 99 * SECOND); /* too few calls */
    add_node("n4", 200, 20 * SECOND);
    ask(3);
    assert_int_equal(notes.n, 2);
    assert_string_equal(notes.items[0].text, "3.5 times on n2 of 4");
    assert_string_equal(notes.items[1].text, "1.9 times the mean");
}

/* The same for nodes that were queried; the first has no sums of mounts that only others have. */
static void test_nodes_that_have_reported(void **state)
{
    static const struct {
        const char *node, *mount;
        uint64_t requests, time_s;
    } nodes[] = {{"n1", "/scratch", 200, 20},
                 {"n0", "/home", 200, 150},
                 {"n2", "/scratch", 200, 70},
                 {"n3", "/scratch", 99, 99},
                 {"n4", "/scratch", 200, 21}};

    (void)state;
    assert_int_equal(read_rules(rules_of_nodes), 0);
    for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
        struct io_mounts mounts = {0};
        struct io_mount *m = io_mounts_get(&mounts, nodes[i].mount, "lustre", "fs", false);
        struct io_counter *c = io_account_op(&m->io, IO_OPEN);

        c->requests = nodes[i].requests;
        c->time_ns = nodes[i].time_s * SECOND;
        assert_int_equal(io_mounts_add(&job->mounts, &mounts), 0);
        assert_int_equal(nodes_add(job, nodes[i].node, &mounts, 0), 0);
        io_mounts_clear(&mounts);
    }
    job->nodes_reported = ARRAY_SIZE(nodes);
    ask(3);
    assert_int_equal(notes.n, 2);
    /* 150 of a mean of 72 */
    assert_string_equal(notes.items[0].text, "2.1 times the mean");
    assert_string_equal(notes.items[1].text, "3.3 times on n2 of 5");
}

/* Operations on a mount, in 1,000 s with 400 s of waiting, and the rules that must match. */
static const struct {
    const char *rule, *mount;
    struct {
        enum io_op op;
        uint64_t requests, bytes, time_s;
        int code;
    } calls[3];
} shipped[] = {
    {"no-space", "/scratch", {{IO_WRITE, 100, 0, 1, ENOSPC}}},
    {"quota", "/scratch", {{IO_OPEN, 100, 0, 1, EDQUOT}}},
    {"io-error", "/scratch", {{IO_READ, 100, 0, 1, EIO}}},
    {"stale", "/scratch", {{IO_STAT, 100, 0, 1, ESTALE}}},
    {"small-files", "/scratch", {{IO_OPEN, 20000, 0, 100, 0}, {IO_READ, 20000, 20000000, 10, 0}}},
    {"failed-look-ups", "/x", {{IO_OPEN, 400, 0, 9, ENOENT}, {IO_LOOKUP, 400, 0, 100, ENOENT}}},
    {"failed-look-ups", "/x", {{IO_OPEN, 600, 0, 9, ENOENT}, {IO_LOOKUP, 3800, 0, 99, EINVAL}}},
    {"metadata-storm", "/scratch", {{IO_OPEN, 1100000, 0, 100, 0}}},
    {"metadata-volume", "/scratch", {{IO_STAT, 150000, 0, 100, 0}, {IO_READ, 1, 1, 50, 0}}},
    {"small-reads", "/scratch", {{IO_READ, 10000, 40960000, 100, 0}}},
    {"small-writes", "/scratch", {{IO_WRITE, 10000000, 40960000000, 100, 0}}},
    {"sync-storm", "/scratch", {{IO_FSYNC, 2000, 0, 100, 0}, {IO_WRITE, 2000, 40960000, 10, 0}}},
    {"slow-closes", "/scratch", {{IO_CLOSE, 20, 0, 100, 0}}},
    {"lock-contention", "/scratch", {{IO_LOCK, 20, 0, 100, 0}}},
    {"wrong-place", "/home", {{IO_WRITE, 2000, 2000ull << 20, 100, 0}}},
    {"mapped-reads", "/scratch", {{IO_MMAP_READ, 20000, 80000000, 100, 0}}},
    {"io-bound", "/scratch", {{IO_READ, 2000, 2000ull << 23, 100, 0}}},
};

static void test_errors_on_two_mounts(void **state)
{
    (void)state;
    assert_int_equal(advice_read_directory(advice, SRCDIR "/contrib/advice", say, NULL, &error), 0);
    /* more waiting on /tmp, more harm on /scratch */
    assert_int_equal(io_counter_errno(count("/tmp", IO_WRITE, 7, 0, 90 * SECOND), ENOSPC, 1), 0);
    assert_int_equal(io_counter_errno(count("/scratch", IO_WRITE, 500, 0, 1), ENOSPC, 500), 0);
    ask(3);
    assert_int_equal(notes.n, 1);
    assert_string_equal(notes.items[0].text,
                        "500 writes failed: /scratch is full; output is incomplete. (and on 1 more "
                        "mount)");
}

/* Slower than all earlier readings of the mount, whatever the job did. */
static void test_slow_mount(void **state)
{
    struct io_counter *c;

    (void)state;
    assert_int_equal(advice_read_directory(advice, SRCDIR "/contrib/advice", say, NULL, &error), 0);
    c = count("/scratch", IO_OPEN, 500, 0, 300 * SECOND);
    c->latency_log2[io_latency_bucket(16777216)] = 500;
    ask(3);
    for (size_t i = 0; i < notes.n; i++)
        assert_string_not_equal(notes.items[i].rule, "slow-mount");
    job->mounts.items[0].baseline.open = (struct latency_baseline){50, 1048576, 4194304};
    ask(3);
    assert_true(notes.n >= 1);
    assert_string_equal(notes.items[0].text,
                        "/scratch was slower than usual: half of the opens took over 8.4 ms, but "
                        "at most 4.2 ms in 99 % of the other jobs of the last 30 days. Your job is "
                        "not the cause.");
    /* Of the last bucket only the lower bound is known. */
    memset(c->latency_log2, 0, sizeof(c->latency_log2));
    c->latency_log2[IO_BUCKETS - 1] = 500;
    ask(3);
    assert_non_null(strstr(notes.items[0].text, "half of the opens took over 137 s, but at most"));
    c->latency_log2[IO_BUCKETS - 1] = 0;
    c->latency_log2[io_latency_bucket(16777216)] = 500;
    job->mounts.items[0].baseline.open.q99_ns = 16777216;
    ask(3);
    for (size_t i = 0; i < notes.n; i++)
        assert_string_not_equal(notes.items[i].rule, "slow-mount");
}

static void test_each_shipped_rule(void **state)
{
    (void)state;
    assert_int_equal(advice_read_directory(advice, SRCDIR "/contrib/advice", say, NULL, &error), 0);
    for (size_t i = 0; i < sizeof(shipped) / sizeof(*shipped); i++) {
        bool told = false;

        io_mounts_clear(&job->mounts);
        job->nodes_reported = job->nodes_expected = 1;
        for (size_t k = 0; k < 3 && shipped[i].calls[k].requests; k++) {
            struct io_counter *c =
                count(shipped[i].mount, shipped[i].calls[k].op, shipped[i].calls[k].requests,
                      shipped[i].calls[k].bytes, shipped[i].calls[k].time_s * SECOND);

            if (shipped[i].calls[k].code)
                (void)io_counter_errno(c, shipped[i].calls[k].code, shipped[i].calls[k].requests);
        }
        ask(3);
        for (size_t k = 0; k < notes.n; k++)
            told |= !strcmp(notes.items[k].rule, shipped[i].rule);
        if (!told)
            fail_msg("%s is not told", shipped[i].rule);
    }
}

/* The example of doc/advice.md. */
static void test_documented_example(void **state)
{
    FILE *in = fopen(SRCDIR "/doc/advice.md", "r");
    char line[256], text[4096] = "";
    bool inside = false;

    (void)state;
    assert_non_null(in);
    while (fgets(line, sizeof(line), in)) {
        if (!strncmp(line, "```", 3))
            inside = !strcmp(line, "```ini\n");
        else if (inside)
            strcat(text, line);
    }
    (void)fclose(in);
    assert_non_null(strstr(text, "[wrong-place]"));
    assert_int_equal(read_rules(text), 0);
    assert_string_equal(said, "");
}

static void test_shipped_rules(void **state)
{
    (void)state;
    assert_int_equal(advice_read_directory(advice, SRCDIR "/contrib/advice", say, NULL, &error), 0);
    assert_string_equal(said, "");
    assert_int_equal(advice_read_directory(advice, "/nowhere", say, NULL, &error), 0);
    assert_true(advice_count(advice) >= 12);
    count("/scratch", IO_OPEN, 2100000, 0, 290 * SECOND);
    count("/scratch", IO_READ, 2100000, 2100000ull * 600000, 110 * SECOND);
    ask(3);
    assert_true(notes.n >= 1);
    assert_string_equal(notes.items[0].rule, "small-files");
    assert_string_equal(notes.items[0].text,
                        "40 % of the run time went to opening and reading 2.1 M small files on "
                        "/scratch, 586 KiB each: pack them (tar, HDF5, WebDataset, squashfs) or "
                        "copy them to the node's local disk first.");
}

static const char *text_of(const char *rule)
{
    for (size_t i = 0; i < notes.n; i++)
        if (!strcmp(notes.items[i].rule, rule))
            return notes.items[i].text;
    return NULL;
}

/* More than a fifth of the calls whose order is known; large pieces may lie anywhere. */
static void test_random_access(void **state)
{
    struct io_counter *c;

    (void)state;
    assert_int_equal(advice_read_directory(advice, SRCDIR "/contrib/advice", say, NULL, &error), 0);
    count("/scratch", IO_READ, 20000, 20000 * 200000ull, 100 * SECOND);
    c = job->mounts.items[0].io.ops[IO_READ];
    c->sequential_requests = 4000;
    c->random_requests = 1000;
    ask(10);
    assert_null(text_of("random-reads"));
    c->random_requests = 1001;
    ask(10);
    assert_non_null(text_of("random-reads"));
    assert_non_null(strstr(text_of("random-reads"), "20 % of the calls at random"));
    assert_null(text_of("random-writes"));
    memset(c->size_log2, 0, sizeof(c->size_log2));
    c->size_log2[21] = 20000; /* 2 MiB */
    ask(10);
    assert_null(text_of("random-reads"));
}

static bool is_told(const char *rule)
{
    ask(10);
    return text_of(rule) != NULL;
}

/* Rules that need more than the calls of one mount: they match from their limit on, and not
 * below. */
static void test_shipped_rules_of_the_cache(void **state)
{
    struct io_cache *cache;

    (void)state;
    assert_int_equal(advice_read_directory(advice, SRCDIR "/contrib/advice", say, NULL, &error), 0);
    count("/scratch", IO_READ, 100000, 100000 * 16384ull, 100 * SECOND);
    cache = &job->mounts.items[0].cache;
    cache->miss_bytes = 700ull << 20;
    cache->hit_bytes = 600ull << 20;
    assert_true(is_told("uncached-reads"));
    cache->hit_bytes = 700ull << 20;
    assert_false(is_told("uncached-reads"));
    cache->fill_bytes[IO_FILL_PREFETCH] = 1821ull << 20; /* 1.3 times 1,400 MiB, and some more */
    assert_true(is_told("prefetch-in-vain"));
    cache->fill_bytes[IO_FILL_PREFETCH] = 1820ull << 20;
    assert_false(is_told("prefetch-in-vain"));
}

static void test_shipped_rules_of_times(void **state)
{
    struct io_counter *c;

    (void)state;
    assert_int_equal(advice_read_directory(advice, SRCDIR "/contrib/advice", say, NULL, &error), 0);
    count("/scratch", IO_WRITE, 200000, 200ull << 30, 100 * SECOND);
    job->mounts.items[0].peaks[IO_WRITE].bytes_per_s = (1ull << 30) + 1; /* 1,000 GiB in 1,000 s */
    assert_true(is_told("bursts"));
    job->mounts.items[0].peaks[IO_WRITE].bytes_per_s = 1ull << 30;
    assert_false(is_told("bursts"));
    io_mounts_clear(&job->mounts);
    c = count("/scratch", IO_READ, 1000, 1000 * 16384, 100 * SECOND);
    c->latency_log2[io_latency_bucket(16777216)] = 1000;
    job->mounts.items[0].baseline.read = (struct latency_baseline){20, 4194304, 8388608};
    assert_true(is_told("slow-reads"));
    job->mounts.items[0].baseline.read.jobs = 19;
    assert_false(is_told("slow-reads"));
}

/* Four nodes with the time of their opens; that of the last one is given. */
static void open_on_nodes(uint64_t last_s)
{
    new_job();
    for (int i = 0; i < 4; i++) {
        struct io_mounts mounts = {0};
        struct io_mount *m = io_mounts_get(&mounts, "/scratch", "lustre", "fs", false);
        struct io_counter *c = io_account_op(&m->io, IO_OPEN);
        const char name[] = {'n', (char)('1' + i), '\0'};

        c->requests = 500;
        c->time_ns = (i < 3 ? 10 : last_s) * SECOND;
        assert_int_equal(io_mounts_add(&job->mounts, &mounts), 0);
        assert_int_equal(nodes_add(job, name, &mounts, 0), 0);
        io_mounts_clear(&mounts);
    }
    job->nodes_expected = job->nodes_reported = 4;
}

static void test_shipped_rules_of_nodes(void **state)
{
    (void)state;
    assert_int_equal(advice_read_directory(advice, SRCDIR "/contrib/advice", say, NULL, &error), 0);
    open_on_nodes(31);
    assert_true(is_told("slow-node"));
    assert_string_equal(text_of("slow-node"),
                        "Opens and stats on /scratch took 3.1 times as long on node n4 as on the "
                        "other nodes: the node may be faulty, tell the support staff.");
    assert_true(is_told("imbalance"));
    open_on_nodes(30);
    assert_false(is_told("slow-node"));
    open_on_nodes(18); /* 18 of a mean of 12 */
    assert_false(is_told("imbalance"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_rule_and_its_figures, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_sermon, setup, teardown),
        cmocka_unit_test_setup_teardown(test_order_and_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_good_news, setup, teardown),
        cmocka_unit_test_setup_teardown(test_mistakes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_site_changes_rules, setup, teardown),
        cmocka_unit_test_setup_teardown(test_long_line, setup, teardown),
        cmocka_unit_test_setup_teardown(test_names_of_mounts_are_untrusted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nodes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nodes_that_have_reported, setup, teardown),
        cmocka_unit_test_setup_teardown(test_errors_on_two_mounts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_slow_mount, setup, teardown),
        cmocka_unit_test_setup_teardown(test_each_shipped_rule, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shipped_rules_of_the_cache, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shipped_rules_of_times, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shipped_rules_of_nodes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_documented_example, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shipped_rules, setup, teardown),
        cmocka_unit_test_setup_teardown(test_random_access, setup, teardown),
    };

    return cmocka_run_group_tests_name("advice", tests, NULL, NULL);
}
