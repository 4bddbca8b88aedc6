/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/json/json.h"
#include "tests/unit/fault.h"
#include "tests/unit/json_at.h"
#include "tests/unit/json_max.h"
#include "tests/unit/sample.h"

static struct json_object *parsed(const char *text)
{
    struct json_object *o = json_tokener_parse(text);

    if (!o)
        fail_msg("json-c does not take: %s", text);
    return o;
}

/* Through the text, as between the daemon and the command, and through the tree. */
static void check_round_trip(const struct job_account *job)
{
    _free_ char *text = report_json_text(job, REPORT_STEPS | REPORT_TIMELINE);
    _json_ *document = parsed(text), *tree = report_json(job, REPORT_STEPS | REPORT_TIMELINE);
    _job_ *back = NULL, *again = NULL;
    struct error error = {.text = ""};

    assert_null(strchr(text, '\n'));
    if (report_json_parse(document, &back, &error) < 0)
        fail_msg("%s", error.text);
    assert_same_job(job, back);
    assert_int_equal(report_json_parse(tree, &again, &error), 0);
    assert_same_job(job, again);
}

static void test_round_trip_of_a_job(void **state)
{
    _job_ *job = sample_job();

    (void)state;
    check_round_trip(job);
    job->ended = false;
    job->end_ns = 0;
    job->completeness.lost = 12;
    completeness_add(&job->completeness, "map-full", 3, 1 << IO_READ | 1 << IO_SETXATTR);
    completeness_add(&job->completeness, "began-untracked", 0, 0);
    job->unsupported = 1 << IO_MMAP_READ | 1 << IO_COPY_READ;
    job->ns_per_event = 181;
    check_round_trip(job);
}

static void test_round_trip_of_a_run(void **state)
{
    _job_ *job = sample_run();

    (void)state;
    check_round_trip(job);
    job->exit_status = -1;
    check_round_trip(job);
}

static void test_round_trip_of_mpi(void **state)
{
    _job_ *job = sample_run(), *none = sample_run(), *steps = sample_job();

    (void)state;
    job->mpi = sample_mpi();
    check_round_trip(job);
    steps->steps[1].mpi = sample_mpi();
    completeness_add(&steps->steps[1].mpi->completeness, MPI_CAUSE_LATE, JSON_MAX, 0);
    steps->steps[2].mpi = calloc(1, sizeof(*steps->steps[2].mpi));
    check_round_trip(steps);
    completeness_add(&job->mpi->completeness, MPI_CAUSE_LATE, 3, 0);
    completeness_add(&job->mpi->completeness, MPI_CAUSE_LIBRARY "libmpi.so: why", 1, 0);
    check_round_trip(job);
    none->mpi = calloc(1, sizeof(*none->mpi));
    check_round_trip(none);
}

static void test_round_trip_of_nothing(void **state)
{
    _job_ *job = job_account_create();

    (void)state;
    check_round_trip(job);
}

static void test_round_trip_of_the_largest_numbers(void **state)
{
    _job_ *job = sample_job();
    struct io_counter *c = job->mounts.items[0].io.ops[IO_READ];

    (void)state;
    c->requests = c->async_requests = c->bytes = c->errors = JSON_MAX;
    c->sequential_requests = JSON_MAX - 2;
    c->random_requests = 2;
    c->time_ns = JSON_MAX - 1;
    c->max_ns = JSON_MAX / 2 + 1;
    for (unsigned i = 0; i < IO_BUCKETS; i++)
        c->size_log2[i] = c->latency_log2[i] = JSON_MAX - i;
    io_counter_errno(c, 4000, JSON_MAX);
    job->mounts.items[0].peaks[IO_READ] = (struct io_peak){JSON_MAX, JSON_MAX};
    job->elapsed_ns = job->start_ns = job->end_ns = JSON_MAX;
    job->completeness.lost = job->longest_wait_ns = JSON_MAX;
    job->key.jobid = job->key.restart = job->uid = job->nodes_expected = UINT32_MAX;
    check_round_trip(job);
    /* And odd names. */
    free(job->mounts.items[0].mount);
    job->mounts.items[0].mount = strdup("/a b\n\t\"quoted\"\\040/\x01 gr\xc3\xbc\xc3\x9f");
    check_round_trip(job);
}

/* "state" keeps its words, which older readers compare. */
static void test_slurm_end(void **state)
{
    struct job_account *job = sample_job(), *back;
    struct error error;
    struct json_object *from;
    _json_ *o;

    (void)state;
    job->slurm = (struct slurm_end){SLURM_STATE_FAILED, true, 3, 0};
    o = report_json(job, 0);
    check_at(o, "/job/state", "\"ended\"");
    check_at(o, "/job/slurm_state", "\"FAILED\"");
    check_at(o, "/job/exit_code", "3");
    check_at(o, "/job/exit_signal", "0");
    assert_int_equal(report_json_parse(o, &back, &error), 0);
    assert_int_equal(back->slurm.state, SLURM_STATE_FAILED);
    assert_true(back->slurm.has_exit);
    assert_int_equal(back->slurm.exit_code, 3);
    job_account_destroy(back);
    from = json_object_object_get(o, "job");
    json_object_object_add(from, "slurm_state", json_object_new_string("A_NEW_STATE"));
    json_object_object_del(from, "exit_code");
    assert_int_equal(report_json_parse(o, &back, &error), 0);
    assert_true(back->ended);
    assert_int_equal(back->slurm.state, SLURM_STATE_UNKNOWN);
    assert_false(back->slurm.has_exit);
    job_account_destroy(back);
    job_account_destroy(job);
}

/* The document as programs see it: the values are those of sample.c, worked out by hand. */
static void test_normal(void **state)
{
    _job_ *job = sample_job(), *back = NULL;
    struct mount_baseline *normal = &job->mounts.items[0].baseline;
    struct json_object *o;
    struct error error;

    (void)state;
    normal->read = (struct latency_baseline){12, 1024, 2048};
    normal->open = (struct latency_baseline){1, 128, 256};
    o = report_json(job, 0);
    check_at(o, "/mounts/0/normal",
             "{\"read\":{\"jobs\":12,\"q50_ns\":1024,\"q99_ns\":2048},"
             "\"open\":{\"jobs\":1,\"q50_ns\":128,\"q99_ns\":256}}");
    assert_false(json_object_object_get_ex(at(o, "/mounts/1"), "normal", NULL));
    assert_int_equal(report_json_parse(o, &back, &error), 0);
    assert_memory_equal(&back->mounts.items[0].baseline, normal, sizeof(*normal));
    json_object_put(o);
}

static void test_document(void **state)
{
    _job_ *job = sample_job();
    _json_ *o;

    (void)state;
    completeness_add(&job->completeness, "map-full", 3, 1 << IO_READ);
    job->unsupported = 1 << IO_MMAP_READ;
    job->ns_per_event = 1000;
    o = report_json(job, 0);
    check_at(o, "/version", "1");
    check_at(o, "/job",
             "{\"cluster\":\"alpha\",\"jobid\":4711,\"restart\":1,\"uid\":1000,\"user\":\"ada\","
             "\"account\":\"physics\",\"partition\":\"long\","
             "\"name\":\"sim \\u001b[31m\\n\\\"{}\\\"\","
             "\"array_jobid\":4700,\"array_task\":12,\"state\":\"ended\","
             "\"start_s\":1795168801.00000002,\"end_s\":1795169401.50000002}");
    check_at(o, "/complete", "false");
    check_at(o, "/incomplete", "[{\"cause\":\"map-full\",\"count\":3,\"ops\":[\"read\"]}]");
    check_at(o, "/lost", "0");
    check_at(o, "/nodes", "{\"expected\":2,\"reported\":2}");
    check_at(o, "/elapsed_s", "600");
    check_at(o, "/wait", "{\"longest_thread_ns\":300000000000,\"total_ns\":400000000000}");
    check_at(o, "/accounting",
             "{\"events\":229072,\"ns_per_event\":1000,\"seconds\":0.229072,"
             "\"low_s\":0.280053672,\"high_s\":0.590150076}");
    check_at(o, "/mounts/0/mount", "\"\\/scratch\"");
    check_at(o, "/mounts/0/private", "false");
    check_at(o, "/mounts/2/private", "true");
    check_at(o, "/mounts/0/unsupported", "[\"mmap_read\"]");
    check_at(o, "/mounts/2/fstype", "\"tmpfs\"");
    check_at(o, "/mounts/2/unsupported", "[\"mmap_read\",\"mmap_write\",\"cache\"]");
    check_at(o, "/mounts/0/ops/write",
             "{\"requests\":2560,\"async_requests\":0,\"sequential_requests\":2000,"
             "\"random_requests\":60,\"bytes\":10737418240,\"errors\":7,"
             "\"errno\":{\"EINTR\":2,\"ENOSPC\":5},\"time_ns\":90000000000,\"max_ns\":9000000000,"
             /* 4 MiB = 2^22 B; 35.2 ms is in 2^25 < ns <= 2^26 */
             "\"size_log2\":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,2560],"
             "\"latency_log2\":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,2560],"
             "\"mean_bytes_per_s\":17895697,\"peak_bytes_per_s\":209715200,"
             "\"mean_requests_per_s\":4,\"peak_requests_per_s\":50}");
    check_at(o, "/mounts/0/ops/open/size_log2", "[]");
    check_at(o, "/mounts/0/cache",
             "{\"hit_bytes\":3145728,\"miss_bytes\":2097152,\"fill_bytes\":"
             "{\"read\":2097152,\"fault\":4096,\"prefetch\":1048576,\"write\":0}}");
    assert_false(json_object_object_get_ex(at(o, "/mounts/0/ops"), "fsync", NULL));
    assert_false(json_object_object_get_ex(at(o, "/mounts/1"), "cache", NULL));
    check_at(o, "/mounts/0/readers", "{\"processes\":64,\"threads\":2048,\"at_least\":false}");
    check_at(o, "/mounts/0/writers", "{\"processes\":1,\"threads\":1,\"at_least\":false}");
    check_at(o, "/mounts/2/writers", "{\"processes\":1024,\"threads\":1024,\"at_least\":true}");
    assert_false(json_object_object_get_ex(at(o, "/mounts/1"), "readers", NULL)); /* unknown */
    assert_false(json_object_object_get_ex(at(o, "/mounts/2"), "readers", NULL)); /* none */
    assert_false(json_object_object_get_ex(o, "steps", NULL));
    assert_int_equal(json_object_object_length(at(o, "/mounts/0/ops")), 6);
}

static void test_cause_of_all_operations_names_them(void **state)
{
    _job_ *job = job_account_create();
    _json_ *o = NULL;

    (void)state;
    completeness_add(&job->completeness, "map-full", 3, 0);
    o = report_json(job, 0);
    assert_int_equal(json_object_array_length(at(o, "/incomplete/0/ops")), IO_SET_BITS);
    check_at(o, "/incomplete/0/ops/25", "\"lock\"");
    check_at(o, "/incomplete/0/ops/26", "\"lookup\"");
    check_at(o, "/incomplete/0/ops/27", "\"cache\"");
    check_at(o, "/incomplete/0/ops/28", "\"throttling\"");
}

static void test_document_of_steps(void **state)
{
    _job_ *job = sample_job();
    _json_ *o = report_json(job, REPORT_NODES);

    (void)state;
    check_at(o, "/steps/0/step", "\"batch\"");
    check_at(o, "/steps/0/het", "1");
    check_at(o, "/steps/1/step", "\"0\"");
    check_at(o, "/steps/1/state", "\"vanished\"");
    check_at(o, "/steps/2/step", "\"folded\"");
    check_at(o, "/steps/2/folded", "17");
    check_at(o, "/steps/2/node", "\"n2\"");
    check_at(o, "/steps/2/tagged_at_s", "1795168801.00000002");
    check_at(o, "/steps/2/wait/total_ns", "10000000000");
    /* Over the 500 s of the step: 4096000 / 500. */
    check_at(o, "/steps/2/mounts/0/ops/read/mean_bytes_per_s", "8192");
}

static void check_keys(struct json_object *o, const char *page)
{
    if (json_object_is_type(o, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(o); i++)
            check_keys(json_object_array_get_idx(o, i), page);
    } else if (json_object_is_type(o, json_type_object)) {
        json_object_object_foreach(o, key, child)
        {
            if (io_errno_parse(key) < 0 && !strstr(page, key))
                fail_msg("doc/json.md does not tell what \"%s\" is", key);
            check_keys(child, page);
        }
    }
}

static void check_page(struct json_object *o)
{
    const char *srcdir = getenv("srcdir");
    _fclose_ FILE *f = NULL;
    char path[512], page[65536] = "";

    snprintf(path, sizeof(path), "%s/doc/json.md", srcdir ? srcdir : ".");
    f = fopen(path, "re");
    assert_non_null(f);
    assert_in_range(fread(page, 1, sizeof(page) - 1, f), 1000, sizeof(page) - 2);
    check_keys(o, page);
}

static void test_page_names_every_field(void **state)
{
    _job_ *job = sample_job(), *run = sample_run();
    _json_ *a = NULL, *b = report_json(run, 0);

    (void)state;
    completeness_add(&job->completeness, "map-full", 1, 0);
    job->mpi = sample_mpi();
    a = report_json(job, REPORT_STEPS | REPORT_TIMELINE);
    check_page(a);
    check_page(b);
}

/* Checkpoints on the first mount, whose thread waits 4 s in each. */
static void test_write_bursts(void **state)
{
    const struct timeline_bin write = {{0, 3000000, 0, SECONDS(4)}, SECONDS(3)};
    _job_ *job = sample_job();
    struct io_mount *m = &job->mounts.items[0];
    _json_ *without = report_json(job, REPORT_TIMELINE), *with = NULL, *wire = NULL;

    (void)state;
    timeline_clear(&m->timeline);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(
            timeline_spread(&m->timeline, 8, SECONDS(800 + 80 * i), SECONDS(808 + 80 * i), &write),
            0);
    assert_false(json_object_object_get_ex(at(without, "/mounts/0"), "write_bursts", NULL));
    with = report_json(job, REPORT_TIMELINE);
    wire = report_json(job, REPORT_TIMELINE | REPORT_WIRE);
    check_at(with, "/mounts/0/write_bursts",
             "{\"count\":5,\"every_s\":80,\"longest_s\":8,\"bytes\":15000000,"
             "\"wait_ns\":20000000000,\"stall_ns\":15000000000}");
    assert_false(json_object_object_get_ex(at(wire, "/mounts/0"), "write_bursts", NULL));
    check_page(with);
}

/* A time line without the longest wait, as of older releases, or with some of it unknown. */
static void test_longest_wait(void **state)
{
    _job_ *job = sample_job();
    _job_ *back = NULL;
    struct timeline *t = &job->mounts.items[0].timeline;
    _json_ *known = report_json(job, REPORT_TIMELINE), *unknown = NULL, *none = NULL;
    struct error error;

    (void)state;
    assert_non_null(at(known, "/mounts/0/timeline/longest_wait_ns"));
    for (unsigned i = 0; i < t->n; i++)
        t->bins[i].longest_ns = 0;
    none = report_json(job, REPORT_TIMELINE);
    check_at(none, "/mounts/0/timeline/longest_wait_ns", "[0]");
    t->bins[0].longest_ns = TIMELINE_UNKNOWN;
    unknown = report_json(job, REPORT_TIMELINE | REPORT_WIRE);
    assert_false(
        json_object_object_get_ex(at(unknown, "/mounts/0/timeline"), "longest_wait_ns", NULL));
    assert_int_equal(report_json_parse(unknown, &back, &error), 0);
    timeline_forget_longest(t);
    assert_memory_equal(back->mounts.items[0].timeline.bins, t->bins, t->n * sizeof(*t->bins));
}

static void test_time_line_on_request(void **state)
{
    _job_ *job = sample_job();
    _json_ *without = report_json(job, REPORT_STEPS), *with = report_json(job, REPORT_TIMELINE);
    _json_ *few = NULL;
    uint64_t sum = 0;

    (void)state;
    assert_false(json_object_object_get_ex(at(without, "/mounts/0"), "timeline", NULL));
    check_at(with, "/mounts/0/timeline/width_s", "8");
    check_at(with, "/mounts/0/timeline/start_s", "1795168800");
    assert_false(json_object_object_get_ex(at(with, "/mounts/1"), "timeline", NULL));
    check_at(with, "/mounts/2/timeline/read_bytes", "[]");
    for (size_t i = 0; i < json_object_array_length(at(with, "/mounts/0/timeline/read_bytes")); i++)
        sum += json_object_get_uint64(
            json_object_array_get_idx(at(with, "/mounts/0/timeline/read_bytes"), i));
    assert_int_equal(sum, io_account_reads(&job->mounts.items[0].io).bytes);
    assert_int_equal(job->mounts.items[0].timeline.n, 76);
    few = report_json_bins(job, REPORT_TIMELINE, 50);
    check_at(few, "/mounts/0/timeline/width_s", "16");
    assert_int_equal(job->mounts.items[0].timeline.n, 76);
}

static void test_run_has_its_command(void **state)
{
    _job_ *job = sample_run();
    _json_ *o = report_json(job, 0);

    (void)state;
    check_at(o, "/job/command", "[\"true\",\"--x\"]");
    check_at(o, "/job/exit_status", "3");
    assert_false(json_object_object_get_ex(at(o, "/job"), "jobid", NULL));
}

static void test_bad_names_do_not_get_through(void **state)
{
    _job_ *job = sample_job();
    _free_ char *text = NULL;

    (void)state;
    free(job->name);
    job->name = strdup("\xff\x9b[0m\xc2\x9b[0m\033]0;x\007\x7f");
    text = report_json_text(job, 0);
    assert_non_null(strstr(text, "\"??[0m?[0m\\u001b]0;x\\u0007?\""));
    for (const char *p = text; *p; p++)
        assert_in_range((unsigned char)*p, 0x20, 0x7e);
}

/* Documents that are not valid, and the error. */
static const struct {
    const char *text, *says;
} refused[] = {
    {"[]", "the document is not an object"},
    {"{}", "version 0 of the document is not supported"},
    {"{\"version\":2,\"job\":{}}", "version 2 of the document is not supported"},
    {"{\"version\":1}", "\"job\" is missing"},
    {"{\"version\":1,\"job\":7}", "\"job\" is not of type object"},
    {"{\"version\":1,\"job\":{\"jobid\":-1}}", "\"jobid\" is out of range"},
    {"{\"version\":1,\"job\":{\"jobid\":4294967296}}", "\"jobid\" is out of range"},
    {"{\"version\":1,\"job\":{\"jobid\":\"7\"}}", "\"jobid\" is not an integer"},
    {"{\"version\":1,\"job\":{\"uid\":1.5}}", "\"uid\" is not an integer"},
    {"{\"version\":1,\"job\":{\"user\":7}}", "\"user\" is not of type string"},
    {"{\"version\":1,\"job\":{\"command\":[1]}}", "command[0] is not a string"},
    {"{\"version\":1,\"job\":{},\"elapsed_s\":-1}", "\"elapsed_s\" is out of range"},
    {"{\"version\":1,\"job\":{},\"elapsed_s\":1e99}", "\"elapsed_s\" is out of range"},
    {"{\"version\":1,\"job\":{},\"elapsed_s\":\"1\"}", "\"elapsed_s\" is not a number"},
    {"{\"version\":1,\"job\":{},\"mounts\":[7]}", "mounts[0] is not an object"},
    {"{\"version\":1,\"job\":{},\"mounts\":[{}]}", "mounts[0]: \"mount\" is missing"},
    {"{\"version\":1,\"job\":{},\"mounts\":[{\"mount\":\"/\",\"fstype\":\"x\",\"source\":\"y\","
     "\"ops\":{\"read\":{\"bytes\":-5}}}]}",
     "mounts[0]: read: \"bytes\" is out of range"},
    {"{\"version\":1,\"job\":{},\"mounts\":[{\"mount\":\"/\",\"fstype\":\"x\",\"source\":\"y\","
     "\"ops\":{\"read\":{\"size_log2\":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,"
     "0,0,0,0,0,0]}}}]}",
     "mounts[0]: read: \"size_log2\" has more than 32 buckets"},
#define MOUNT                                                                                   \
    "{\"version\":1,\"job\":{},\"mounts\":[{\"mount\":\"/\",\"fstype\":\"x\",\"source\":\"y\"," \
    "\"timeline\":"
    {MOUNT "7}]}", "mounts[0]: \"timeline\" is not of type object"},
    {MOUNT "{}}]}", "mounts[0]: timeline: \"start_s\" is not an integer"},
    {MOUNT "{\"start_s\":-8,\"width_s\":8}}]}", "mounts[0]: timeline: \"start_s\" is out of range"},
    {MOUNT "{\"start_s\":8,\"width_s\":8,\"wait_ns\":{}}}]}",
     "mounts[0]: timeline: \"wait_ns\" is not an array"},
    {MOUNT "{\"start_s\":8,\"width_s\":8,\"wait_ns\":[1,-1]}}]}",
     "mounts[0]: timeline: \"wait_ns\" is out of range"},
    {MOUNT "{\"start_s\":8,\"width_s\":7,\"wait_ns\":[1]}}]}",
     "mounts[0]: timeline: bins of 7 s from 8 s are not valid"},
#undef MOUNT
    {"{\"version\":1,\"job\":{},\"steps\":[{\"step\":\"x\",\"state\":\"ended\"}]}",
     "steps[0]: \"step\" is not a step"},
    {"{\"version\":1,\"job\":{},\"incomplete\":[{\"count\":1}]}",
     "incomplete[0]: \"cause\" is missing"},
    {"{\"version\":1,\"job\":{},\"mpi\":7}", "\"mpi\" is not of type object"},
    {"{\"version\":1,\"job\":{},\"mpi\":{\"calls\":{\"read\":{\"bytes\":-1}}}}",
     "mpi: read: \"bytes\" is out of range"},
    {"{\"version\":1,\"job\":{},\"mpi\":{\"incomplete\":[7]}}",
     "mpi: \"incomplete\" has an item of another type"},
    {"{\"version\":1,\"job\":{},\"mpi\":{\"incomplete\":[{}]}}", "mpi: \"cause\" is missing"},
    {"{\"version\":1,\"job\":{},\"steps\":[{\"step\":\"0\",\"state\":\"ended\",\"mpi\":7}]}",
     "steps[0]: \"mpi\" is not of type object"},
};

static void test_refuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        _json_ *o = parsed(refused[i].text);
        struct job_account *job = NULL;
        struct error error = {.text = ""};

        assert_int_equal(report_json_parse(o, &job, &error), -EBADMSG);
        assert_string_equal(error.text, refused[i].says);
        assert_null(job);
    }
}

static void test_takes_what_others_write(void **state)
{
    _json_ *o = parsed("{\"version\":1,\"new\":[1],\"job\":{\"jobid\":7,\"new\":{},\"user\":null},"
                       "\"elapsed_s\":1.5e1,\"mounts\":[{\"mount\":\"/\",\"fstype\":\"x\","
                       "\"source\":\"y\",\"ops\":{\"teleport\":{\"requests\":1},"
                       "\"read\":{\"requests\":1,\"errno\":{\"ENEW\":1,\"EIO\":2}}}}]}");
    _job_ *job = NULL;

    (void)state;
    assert_int_equal(report_json_parse(o, &job, NULL), 0);
    assert_int_equal(job->key.jobid, 7);
    assert_null(job->user);
    assert_int_equal(job->elapsed_ns, SECONDS(15));
    assert_int_equal(job->mounts.items[0].io.ops[IO_READ]->n_errnos, 1);
    assert_int_equal(job->mounts.items[0].io.ops[IO_READ]->errnos[0].count, 2);
}

/* --- without memory --------------------------------------------------------------------------- */

static struct job_account *written, *read_back;
static char *text_now, *text_exact;

static void prepare_json(void)
{
    text_now = NULL;
    read_back = NULL;
}

static int run_write(struct error *error)
{
    text_now = report_json_text(written, REPORT_STEPS | REPORT_WIRE | REPORT_TIMELINE);
    return text_now ? 0 : error_set(error, -ENOMEM, "no text");
}

static void check_write(int r, bool hit)
{
    (void)hit;
    if (r == 0)
        assert_string_equal(text_now, text_exact);
    free(text_now);
}

static int run_read(struct error *error)
{
    struct json_object *document = json_tokener_parse(text_exact);
    int r = report_json_parse(document, &read_back, error);

    json_object_put(document);
    return r;
}

static void check_read(int r, bool hit)
{
    (void)hit;
    assert_true((r == 0) == (read_back != NULL));
    if (read_back)
        assert_same_job(read_back, written);
    job_account_destroy(read_back);
}

/* What a node sends to another is exact, or it is an error. */
static void test_memory(void **state)
{
    static const struct fault_scenario writing = {"write an account", prepare_json, run_write,
                                                  check_write};
    static const struct fault_scenario reading = {"read an account", prepare_json, run_read,
                                                  check_read};

    (void)state;
    written = sample_job();
    written->mpi = sample_mpi();
    completeness_add(&written->mpi->completeness, MPI_CAUSE_LATE, 3, 0);
    written->steps[0].mpi = sample_mpi();
    text_exact = report_json_text(written, REPORT_STEPS | REPORT_WIRE | REPORT_TIMELINE);
    assert_non_null(text_exact);
    fault_each(FAULT_MEMORY, &writing, 1);
    fault_each(FAULT_MEMORY, &reading, 1);
    free(text_exact);
    job_account_destroy(written);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slurm_end),
        cmocka_unit_test(test_round_trip_of_a_job),
        cmocka_unit_test(test_normal),
        cmocka_unit_test(test_round_trip_of_a_run),
        cmocka_unit_test(test_round_trip_of_mpi),
        cmocka_unit_test(test_round_trip_of_nothing),
        cmocka_unit_test(test_round_trip_of_the_largest_numbers),
        cmocka_unit_test(test_document),
        cmocka_unit_test(test_cause_of_all_operations_names_them),
        cmocka_unit_test(test_document_of_steps),
        cmocka_unit_test(test_page_names_every_field),
        cmocka_unit_test(test_write_bursts),
        cmocka_unit_test(test_longest_wait),
        cmocka_unit_test(test_time_line_on_request),
        cmocka_unit_test(test_run_has_its_command),
        cmocka_unit_test(test_bad_names_do_not_get_through),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_takes_what_others_write),
        cmocka_unit_test(test_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
