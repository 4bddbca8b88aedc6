/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "settings/settings.h"
#include "tests/unit/fault.h"

#define S 1000000000ull

static char path[] = "/tmp/jobio-test-settings-XXXXXX";

static void write_bytes(const char *text, size_t n)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    fclose(f);
}

static struct settings *load(const char *text)
{
    struct settings *settings = NULL;
    struct error error = {""};

    write_bytes(text, strlen(text));
    if (settings_load(&settings, path, &error) < 0)
        fail_msg("%s", error.text);
    return settings;
}

static void test_defaults(void **state)
{
    struct settings *settings = load("# nothing\n\n");

    (void)state;
    assert_string_equal(settings->cluster, "cluster");
    assert_null(settings->node);
    assert_string_equal(settings->group, "jobio");
    assert_int_equal(settings->interval_ns, 10 * S);
    assert_int_equal(settings->keep_ns, 90 * 86400 * S);
    assert_int_equal(settings->keep_bytes, 256 << 20);
    assert_int_equal(settings->record, RECORD_JOB_END);
    assert_int_equal(settings->summary, SUMMARY_SHORT);
    assert_int_equal(settings->mpi_count, MPI_COUNT_ASKED);
    assert_int_equal(settings->stacks.sample, STACKS_SAMPLE_NO);
    assert_int_equal(settings->stacks.min_ns, NS_PER_MS);
    assert_int_equal(settings->stacks.rate, 100);
    assert_false(settings->trace.allow);
    assert_int_equal(settings->trace.rate, 5000);
    assert_int_equal(settings->trace.max, 20000);
    assert_int_equal(settings->trace.keep_bytes, 256 << 20);
    assert_int_equal(settings->metrics_user, METRICS_USER_DEFAULT);
    assert_true(settings_page_has_users(settings));
    assert_false(settings->push.access.insecure);
    assert_int_equal(settings->push.urls.n, 0);
    assert_int_equal(settings->metrics.listen.n, 0);
    assert_null(settings->metrics.textfile);
    assert_int_equal(settings->metrics.interval_ns, 60 * S);
    settings_destroy(settings);
}

static const char every_kind[] = "cluster = alpha\n"
                                 "node = n01.site\n"
                                 "interval = 500ms\n"
                                 "fuse_labels = fuse.cvmfs2, fuse.sshfs\n"
                                 "log_level = debug\n"
                                 "[store]\n"
                                 "keep = 30d\n"
                                 "keep_size = 1G ; inline comment\n"
                                 "[report]\n"
                                 "summary = full\n"
                                 "record = deferred\n"
                                 "record_mpi = yes\n"
                                 "record_program = /opt/jobio-record\n"
                                 "[stacks]\n"
                                 "sample = asked\n"
                                 "min = 20ms\n"
                                 "rate = 7\n"
                                 "[mpi]\n"
                                 "count = yes\n"
                                 "[trace]\n"
                                 "allow = yes\n"
                                 "rate = 100\n"
                                 "max = 100000\n"
                                 "keep_size = 2M\n"
                                 "url = https://collector:4318\n"
                                 "timeout = 5s\n"
                                 "credentials = /etc/jobio/otlp.password\n"
                                 "[push]\n"
                                 "url = http://one:9091\n"
                                 "url = http://two:9091/prefix\n"
                                 "metrics_user = no\n"
                                 "interval = 30s\n"
                                 "proxy = http://proxy:3128\n"
                                 "insecure = yes\n"
                                 "[metrics]\n"
                                 "listen = 127.0.0.1:9417 [::1]:9417\n"
                                 "listen = 10.0.0.1:80\n"
                                 "textfile = /var/lib/x/jobio.prom\n"
                                 "credentials = /etc/jobio/metrics.password\n"
                                 "interval = 15s\n"
                                 "[history]\n"
                                 "url = http://es:9200\n"
                                 "format = bulk\n"
                                 "action = create\n"
                                 "batch_rows = 77\n"
                                 "batch_size = 2K\n"
                                 "from = clickhouse\n";

static void assert_every_kind(const struct settings *settings)
{
    assert_string_equal(settings->cluster, "alpha");
    assert_string_equal(settings->node, "n01.site");
    assert_int_equal(settings->interval_ns, S / 2);
    assert_int_equal(settings->fuse_labels.n, 2);
    assert_string_equal(settings->fuse_labels.items[1], "fuse.sshfs");
    assert_int_equal(settings->log_level, LOG_LEVEL_DEBUG);
    assert_int_equal(settings->keep_bytes, 1 << 30);
    assert_int_equal(settings->summary, SUMMARY_FULL);
    assert_int_equal(settings->record, RECORD_DEFERRED);
    assert_true(settings->record_mpi);
    assert_string_equal(settings->record_program, "/opt/jobio-record");
    assert_int_equal(settings->mpi_count, MPI_COUNT_YES);
    assert_int_equal(settings->stacks.sample, STACKS_SAMPLE_ASKED);
    assert_int_equal(settings->stacks.min_ns, 20 * NS_PER_MS);
    assert_int_equal(settings->stacks.rate, 7);
    assert_true(settings->trace.allow);
    assert_int_equal(settings->trace.rate, 100);
    assert_int_equal(settings->trace.max, 100000);
    assert_int_equal(settings->trace.keep_bytes, 2 << 20);
    assert_string_equal(settings->trace.url, "https://collector:4318");
    assert_int_equal(settings->trace.timeout_ns, 5000000000);
    assert_string_equal(settings->trace.access.credentials, "/etc/jobio/otlp.password");
    assert_int_equal(settings->push.urls.n, 2);
    assert_string_equal(settings->push.urls.items[1], "http://two:9091/prefix");
    assert_int_equal(settings->metrics_user, METRICS_USER_NO);
    assert_true(settings->push.access.insecure);
    assert_false(settings->history.access.insecure);
    assert_int_equal(settings->push.interval_ns, 30 * S);
    assert_int_equal(settings->metrics.listen.n, 3);
    assert_string_equal(settings->metrics.listen.items[1], "[::1]:9417");
    assert_string_equal(settings->metrics.textfile, "/var/lib/x/jobio.prom");
    assert_string_equal(settings->metrics.credentials, "/etc/jobio/metrics.password");
    assert_int_equal(settings->metrics.interval_ns, 15 * S);
    assert_string_equal(settings->history.url, "http://es:9200");
    assert_int_equal(settings->history.format, SINK_BULK);
    assert_true(settings->history.bulk_create);
    assert_int_equal(settings->history.batch_rows, 77);
    assert_int_equal(settings->history.batch_bytes, 2048);
    assert_true(settings->history.from_clickhouse);
}

static void test_every_kind_of_value(void **state)
{
    struct settings *settings = load(every_kind);

    (void)state;
    assert_every_kind(settings);
    settings_destroy(settings);
}

/* Other hosts do not see names of users, unless the site wants that. */
static void test_users_of_the_page(void **state)
{
    static const struct {
        const char *text;
        bool users;
    } cases[] = {
        {"", true},
        {"[metrics]\ntextfile = /x\n", true},
        {"[metrics]\nlisten = 127.0.0.1:9417 127.9.9.9:1 [::1]:9417\n", true},
        {"[metrics]\nlisten = 127.0.0.1:9417 10.0.0.1:9417\n", false},
        {"[metrics]\nlisten = 0.0.0.0:9417\n", false},
        {"[metrics]\nlisten = [::]:9417\n", false},
        {"[push]\nmetrics_user = yes\n[metrics]\nlisten = 0.0.0.0:9417\n", true},
        {"[push]\nmetrics_user = no\n[metrics]\nlisten = 127.0.0.1:9417\n", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct settings *settings = load(cases[i].text);

        if (settings_page_has_users(settings) != cases[i].users)
            fail_msg("%s", cases[i].text);
        settings_destroy(settings);
    }
}

/* Each is rejected with the line number and a reason. */
static void test_bad_files(void **state)
{
    static const struct {
        const char *text, *reason;
    } bad[] = {
        {"cluster = a\nintervall = 10s\n",
         ":2: unknown key \"intervall\"; did you mean \"interval\"?"},
        {"[push]\nkeep = 1d\n", ":2: unknown key \"keep\" in [push]"},
        {"[push]\nulr = http://h\n", ":2: unknown key \"ulr\" in [push]; did you mean \"url\"?"},
        {"interval = soon\n", ":1: interval: "},
        {"interval = 1ms\n", ":1: interval: \"1ms\" is not between 0.1 s and 3600 s"},
        {"\n\ninterval = 2h\n", ":3: interval: "},
        {"[store]\nkeep_size = 12\n", ":2: keep_size: \"12\" is less than 1048576 bytes"},
        {"[report]\nrecord = maybe\n", ":2: record: \"maybe\" is none of off, deferred, job-end"},
        {"[report]\nsummary = long\n", ":2: summary: \"long\" is none of off, short, full"},
        {"[report]\nrecord_program = jobio-record\n",
         ":2: record_program: \"jobio-record\" is not an absolute path"},
        {"[stacks]\nsample = maybe\n", ":2: sample: \"maybe\" is none of no, asked, yes"},
        {"[mpi]\ncount = maybe\n", ":2: count: \"maybe\" is none of asked, no, yes"},
        {"[metrics]\nlisten = localhost:9417\n",
         ":2: listen: \"localhost:9417\" is not ADDRESS:PORT or [ADDRESS]:PORT"},
        {"[peers]\nlisten = 0.0.0.0\n",
         ":2: listen: \"0.0.0.0\" is not ADDRESS:PORT or [ADDRESS]:PORT"},
        {"[peers]\nlisten = 0.0.0.0:99999\n", ":2: listen: \"0.0.0.0:99999\" is not"},
        {"[metrics]\ntextfile = jobio.prom\n",
         ":2: textfile: \"jobio.prom\" is not an absolute path"},
        {"[history]\nformat = csv\n", ":2: format: \"csv\" is none of clickhouse, bulk"},
        {"[history]\nbatch_rows = 0\n", ":2: batch_rows: \"0\" is not a number from 1 to 10000"},
        {"[history]\nbatch_size = 1G\n", ":2: batch_size: \"1G\" is not between 1K and 64M"},
        {"[history]\nfrom = here\n", ":2: from: \"here\" is neither store nor clickhouse"},
        {"[push]\nmetrics_user = perhaps\n", ":2: metrics_user: \"perhaps\" is neither yes nor no"},
        {"log_level = loud\n", ":1: log_level: \"loud\" is none of error, warning, info, debug"},
        {"cluster = a b\n", ":1: cluster: "},
        {"cluster =\n", ":1: cluster: a name has 1 to 64 characters"},
        {"cluster = a\ncluster = b\n", ":2: cluster: set already in line 1"},
        {"what is this\n", ":1: neither [section] nor KEY = VALUE"},
        {"[push\n", ":1: neither [section] nor KEY = VALUE"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct settings *settings = (struct settings *)state;
        struct error error = {""};
        char expected[512];

        write_bytes(bad[i].text, strlen(bad[i].text));
        assert_int_equal(settings_load(&settings, path, &error), -EINVAL);
        assert_ptr_equal(settings, state); /* untouched */
        snprintf(expected, sizeof(expected), "%s%s", path, bad[i].reason);
        if (strncmp(error.text, expected, strlen(expected)) != 0)
            fail_msg("\"%s\" does not begin with \"%s\"", error.text, expected);
    }
}

static void test_no_text(void **state)
{
    struct settings *settings = NULL;
    struct error error = {""};
    char longline[600];

    (void)state;
    write_bytes("cluster = a\0b\n", 14);
    assert_int_equal(settings_load(&settings, path, &error), -EINVAL);
    assert_non_null(strstr(error.text, ":1: a NUL byte"));
    memset(longline, 'x', sizeof(longline));
    memcpy(longline, "node = ", 7);
    write_bytes(longline, sizeof(longline));
    assert_int_equal(settings_load(&settings, path, &error), -EINVAL);
    assert_non_null(strstr(error.text, ":1: a line has at most"));
    assert_int_equal(settings_load(&settings, "/nonexistent/jobio.conf", &error), -ENOENT);
    assert_string_equal(error.text,
                        "cannot open /nonexistent/jobio.conf: No such file or directory");
}

/* contrib/jobio.conf has every key with its default: without the comment signs it changes nothing.
 */
static void test_the_example(void **state)
{
    const char *srcdir = getenv("srcdir");
    struct settings *settings, *defaults = settings_create();
    char name[512], line[512], text[16384] = "";
    FILE *f;

    (void)state;
    snprintf(name, sizeof(name), "%s/contrib/jobio.conf", srcdir ? srcdir : ".");
    f = fopen(name, "r");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        const char *value = strstr(line, " = ");
        bool is_key = line[0] == '#' && line[1] >= 'a' && line[1] <= 'z' && strstr(line, " =") &&
                      strcspn(line + 1, " ") == (size_t)(strstr(line, " =") - line - 1);

        if (is_key && value && !strstr(line, "url"))
            strcat(text, line + 1);
        else if (line[0] == '[')
            strcat(text, line);
    }
    fclose(f);
    assert_non_null(strstr(text, "keep_size = 256M"));
    settings = load(text);
    assert_string_equal(settings->cluster, defaults->cluster);
    assert_string_equal(settings->group, defaults->group);
    assert_int_equal(settings->log_level, defaults->log_level);
    assert_int_equal(settings->interval_ns, defaults->interval_ns);
    assert_int_equal(settings->keep_ns, defaults->keep_ns);
    assert_int_equal(settings->keep_bytes, defaults->keep_bytes);
    assert_int_equal(settings->summary, defaults->summary);
    assert_int_equal(settings->record, defaults->record);
    assert_int_equal(settings->mpi_count, defaults->mpi_count);
    assert_int_equal(settings->stacks.sample, defaults->stacks.sample);
    assert_int_equal(settings->stacks.min_ns, defaults->stacks.min_ns);
    assert_int_equal(settings->stacks.rate, defaults->stacks.rate);
    assert_false(settings->trace.allow);
    assert_int_equal(settings->trace.rate, defaults->trace.rate);
    assert_int_equal(settings->trace.max, defaults->trace.max);
    assert_int_equal(settings->trace.keep_bytes, defaults->trace.keep_bytes);
    assert_int_equal(settings->trace.timeout_ns, defaults->trace.timeout_ns);
    assert_int_equal(settings->metrics_user, defaults->metrics_user);
    assert_int_equal(settings->push.interval_ns, defaults->push.interval_ns);
    assert_int_equal(settings->push.linger_ns, defaults->push.linger_ns);
    assert_int_equal(settings->push.timeout_ns, defaults->push.timeout_ns);
    settings_destroy(settings);
    settings_destroy(defaults);
}

/* --- several files ---------------------------------------------------------------------------- */

static void write_drop_in(const char *name, const char *text)
{
    char file[128];
    FILE *f;

    snprintf(file, sizeof(file), "%s.d/%s", path, name);
    f = fopen(file, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    fclose(f);
}

static void make_drop_ins(void)
{
    char directory[128];

    snprintf(directory, sizeof(directory), "%s.d", path);
    assert_int_equal(mkdir(directory, 0700), 0);
    write_drop_in("10-gpu.conf", "nodes = gpu1*, gpu2?\n[push]\nurl = http://gpu:9091\n");
    write_drop_in("20-all.conf", "interval = 5s\n[push]\nurl = http://a:9091\n"
                                 "url = http://b:9091\n[store]\nkeep = 90d\n");
    write_drop_in("05-early.conf", "interval = 7s\n");
    write_drop_in("30.conf~", "no setting\n");
}

static void remove_drop_ins(void)
{
    const char *const names[] = {"10-gpu.conf", "20-all.conf", "05-early.conf", "30.conf~"};
    char file[128];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(file, sizeof(file), "%s.d/%s", path, names[i]);
        unlink(file);
    }
    snprintf(file, sizeof(file), "%s.d", path);
    assert_int_equal(rmdir(file), 0);
}

struct seen {
    char text[1024];
    unsigned n;
};

static void see_setting(const struct setting *setting, void *arg)
{
    struct seen *seen = arg;

    seen->n++;
    snprintf(seen->text + strlen(seen->text), sizeof(seen->text) - strlen(seen->text), "%s=%s:%u ",
             setting->key->name, setting->value, setting->line);
}

/* Files are read in the order of their names; each replaces what earlier ones set, lists too. */
static void test_drop_ins(void **state)
{
    struct settings *settings;
    struct seen seen = {.n = 0};

    (void)state;
    make_drop_ins();
    settings = load("node = gpu1a\ninterval = 1s\n[push]\nurl = http://main:9091\n");
    assert_int_equal(settings->interval_ns, 5 * S);
    assert_int_equal(settings->push.urls.n, 2);
    assert_string_equal(settings->push.urls.items[0], "http://a:9091");
    settings_each_changed(settings, see_setting, &seen);
    assert_string_equal(seen.text,
                        "node=gpu1a:1 interval=5s:1 url=http://a:9091:3 url=http://b:9091:4 ");
    settings_destroy(settings);
    write_drop_in("20-all.conf", "");
    settings = load("node = gpu1a\n[push]\nurl = http://main:9091\n");
    assert_int_equal(settings->interval_ns, 7 * S);
    assert_int_equal(settings->push.urls.n, 1);
    assert_string_equal(settings->push.urls.items[0], "http://gpu:9091");
    settings_destroy(settings);
    settings = load("node = gpu22b\n[push]\nurl = http://main:9091\n");
    assert_string_equal(settings->push.urls.items[0], "http://main:9091");
    settings_destroy(settings);
    settings = load("node = gpu22\n");
    assert_string_equal(settings->push.urls.items[0], "http://gpu:9091");
    settings_destroy(settings);
    remove_drop_ins();
}

static void see_problem(const char *text, void *arg)
{
    struct seen *seen = arg;

    seen->n++;
    snprintf(seen->text + strlen(seen->text), sizeof(seen->text) - strlen(seen->text), "%s\n",
             text);
}

static void assert_seen(const struct seen *seen, const char *suffix, const char *reason)
{
    char line[256];

    snprintf(line, sizeof(line), "%s%s%s\n", path, suffix, reason);
    if (!strstr(seen->text, line))
        fail_msg("\"%s\" is not in:\n%s", line, seen->text);
}

/* Also those of files that are for other nodes. */
static void test_all_errors(void **state)
{
    struct seen seen = {.n = 0};
    const struct settings_hooks hooks = {see_problem, NULL, &seen};
    struct settings *settings = NULL;
    struct error error;

    (void)state;
    make_drop_ins();
    write_drop_in("10-gpu.conf", "nodes = other\n[push]\nbogus = 1\n");
    write_drop_in("20-all.conf", "interval = 1s\nnodes = a\n");
    write_drop_in("05-early.conf", "nodes = n[1-3]\n");
    write_bytes("nodes = a\nwhat is this\ncluster =\n[push\n[store]\nkeep = 1x\n",
                strlen("nodes = a\nwhat is this\ncluster =\n[push\n[store]\nkeep = 1x\n"));
    assert_int_equal(settings_read(&settings, path, false, &hooks, &error), -EINVAL);
    assert_null(settings);
    assert_seen(&seen, "", ":1: nodes: only for files in jobio.conf.d");
    assert_seen(&seen, "", ":2: neither [section] nor KEY = VALUE");
    assert_seen(&seen, "", ":3: cluster: a name has 1 to 64 characters");
    assert_seen(&seen, "", ":4: neither [section] nor KEY = VALUE");
    assert_non_null(strstr(seen.text, ":6: keep: \"1x\""));
    assert_seen(&seen, ".d/05-early.conf",
                ":1: nodes: only * and ? are patterns; write n1* instead of n[100-199]");
    assert_seen(&seen, ".d/10-gpu.conf", ":3: unknown key \"bogus\" in [push]");
    assert_seen(&seen, ".d/20-all.conf",
                ":2: nodes: must be the first key of the file, and set once");
    assert_int_equal(seen.n, 8);
    assert_int_equal(strncmp(error.text, seen.text, strcspn(seen.text, "\n")), 0);
    remove_drop_ins();
}

/* --- faults ----------------------------------------------------------------------------------- */

static struct settings *loaded;

static void prepare_load(void)
{
    loaded = NULL;
    write_bytes(every_kind, strlen(every_kind));
}

static int run_load(struct error *error)
{
    return settings_load(&loaded, path, error);
}

/* Every setting has the value of the file, or none. */
static void check_load(int r, bool hit)
{
    (void)hit;
    assert_true((r == 0) == (loaded != NULL));
    if (loaded)
        assert_every_kind(loaded);
    settings_destroy(loaded);
}

static void test_faults(void **state)
{
    static const struct fault_scenario load_once = {"load settings", prepare_load, run_load,
                                                    check_load};

    (void)state;
    fault_each(FAULT_MEMORY, &load_once, 1);
    fault_each(FAULT_FILE, &load_once, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),    cmocka_unit_test(test_every_kind_of_value),
        cmocka_unit_test(test_bad_files),   cmocka_unit_test(test_no_text),
        cmocka_unit_test(test_the_example), cmocka_unit_test(test_users_of_the_page),
        cmocka_unit_test(test_drop_ins),    cmocka_unit_test(test_all_errors),
        cmocka_unit_test(test_faults),
    };
    int fd = mkstemp(path), r;

    if (fd < 0)
        return 99;
    close(fd);
    r = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return r;
}
