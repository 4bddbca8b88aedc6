/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/cleanup.h"
#include "tests/deliver/world.h"

static uint64_t passed_ns;

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * S + (uint64_t)t.tv_nsec;
}

uint64_t world_now(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

static uint64_t moved_clock(void)
{
    return clock_ns(CLOCK_REALTIME) + passed_ns;
}

void world_pass(uint64_t ns)
{
    passed_ns += ns;
}

void world_answer(struct world *world)
{
    const struct prometheus_node node = {
        .cluster = "c1",
        .instance = "node1",
        .totals = &world->totals,
        .jobs = (const struct job_account *const *)world->jobs,
        .n_jobs = world->n_jobs,
        .users = true,
        .version = "test",
    };

    node_queue_provide(world->deliver, &node, NULL);
}

static void collect(const struct job_key *ended, size_t n, void *arg)
{
    struct world *world = arg;

    for (size_t i = 0; i < n; i++)
        assert_string_equal(ended[i].cluster, "c1");
    world->collects++;
    if (world->refuse)
        node_queue_provide(world->deliver, NULL, &(struct error){"the store does not answer"});
    else if (!world->hold)
        world_answer(world);
}

static void keep(const char *key, const char *value, void *arg)
{
    struct world *world = arg;
    struct error error = {""};

    assert_memory_equal(key, NODE_QUEUE_STATE_PREFIX, strlen(NODE_QUEUE_STATE_PREFIX));
    if (store_put_state(world->store, key, value, &error) < 0)
        fail_msg("%s", error.text);
}

static int count_kept(const char *key, const char *value, void *arg)
{
    (void)key;
    (void)value;
    ++*(size_t *)arg;
    return 0;
}

size_t world_kept(const struct world *world)
{
    struct error error = {""};
    size_t n = 0;

    assert_int_equal(
        store_each_state(world->store, NODE_QUEUE_STATE_PREFIX, count_kept, &n, &error), 0);
    return n;
}

static int restore(const char *key, const char *value, void *arg)
{
    struct world *world = arg;
    struct error error = {""};

    return node_queue_restore(world->deliver, key, value, &error);
}

void world_open_store(struct world *world)
{
    char path[64];
    const struct store_options options = {.path = path};
    struct error error = {""};

    snprintf(path, sizeof(path), "%s/store.db", world->store_dir);
    if (store_open(&world->store, &options, &error) < 0)
        fail_msg("%s", error.text);
}

static void hear(enum log_level level, const char *text, void *arg)
{
    struct world *world = arg;
    size_t length = strlen(world->said);

    snprintf(world->said + length, sizeof(world->said) - length, "%d %s\n", (int)level, text);
}

int world_setup(void **state)
{
    struct world *world = calloc(1, sizeof(*world));

    (void)signal(SIGPIPE, SIG_IGN);
    passed_ns = 0;
    assert_non_null(world);
    assert_true(sd_event_new(&world->loop) >= 0);
    strcpy(world->store_dir, "/tmp/jobio-world-XXXXXX");
    assert_non_null(mkdtemp(world->store_dir));
    world_open_store(world);
    node_queue_defaults(&world->options);
    world->options.cluster = "c1";
    world->options.instance = "node1";
    world->options.interval_ns = 300 * MS;
    world->options.gap_ns = 50 * MS;
    world->options.spread_ns = 20 * MS;
    world->options.first_ns = 20 * MS;
    world->options.backoff_ns = 100 * MS;
    world->options.slow_ns = 400 * MS;
    world->options.say_ns = 0;
    world->options.connect_timeout_ns = 1 * S;
    world->options.timeout_ns = 1 * S;
    world->options.realtime_ns = moved_clock;
    *state = world;
    return 0;
}

int world_teardown(void **state)
{
    struct world *world = *state;
    char command[64];

    world_close(world);
    sd_event_unref(world->loop);
    for (size_t i = 0; i < world->n_jobs; i++)
        job_account_destroy(world->jobs[i]);
    store_close(world->store);
    snprintf(command, sizeof(command), "rm -r %s", world->store_dir);
    assert_int_equal(system(command), 0);
    io_mounts_clear(&world->totals);
    free(world);
    return 0;
}

void world_open(struct world *world, const char *url, ...)
{
    const struct node_queue_hooks hooks = {
        .collect = collect, .keep = keep, .say = hear, .arg = world};
    struct error error = {""};
    va_list list;
    size_t n = 0;

    va_start(list, url);
    for (; url; url = va_arg(list, const char *))
        world->urls[n++] = url;
    va_end(list);
    world->options.urls = world->urls;
    world->options.n_urls = n;
    assert_int_equal(
        node_queue_create(&world->deliver, world->loop, &world->options, &hooks, &error), 0);
    assert_int_equal(
        store_each_state(world->store, NODE_QUEUE_STATE_PREFIX, restore, world, &error), 0);
    assert_int_equal(node_queue_start(world->deliver, &error), 0);
}

void world_close(struct world *world)
{
    node_queue_destroy(world->deliver);
    world->deliver = NULL;
}

static void count(struct io_mounts *mounts, uint64_t requests, uint64_t bytes)
{
    struct io_mount *mount = io_mounts_get(mounts, "/scratch", "nfs4", "srv:/scratch", false);
    struct io_counter *reads, *writes;

    assert_non_null(mount);
    mount->labelled = true;
    reads = io_account_op(&mount->io, IO_READ);
    writes = io_account_op(&mount->io, IO_WRITE);
    assert_non_null(reads);
    assert_non_null(writes);
    reads->requests += 2 * requests;
    reads->bytes += 2 * bytes;
    writes->requests += requests;
    writes->bytes += bytes;
}

struct job_account *world_job(struct world *world, uint32_t jobid, uint64_t requests,
                              uint64_t bytes)
{
    struct job_account *job = job_account_create();

    assert_non_null(job);
    assert_true(world->n_jobs < WORLD_JOBS);
    job->key = (struct job_key){.cluster = strdup("c1"), .jobid = jobid};
    job->user = strdup("alice");
    job->account = strdup("physics");
    job->partition = strdup("batch");
    job->start_ns = moved_clock() - 10 * S;
    job->elapsed_ns = 10 * S;
    job->nodes_expected = job->nodes_reported = 1;
    count(&job->mounts, requests, bytes);
    count(&world->totals, requests, bytes);
    world->jobs[world->n_jobs++] = job;
    return job;
}

void world_end(struct world *world, struct job_account *job)
{
    assert_int_equal(node_queue_job_ended(world->deliver, &job->key), 0);
    job->ended = true;
    job->end_ns = moved_clock();
}

/* How long this thread was ready, but had no CPU: proc(5), schedstat; 0 if the kernel has none. */
static uint64_t ready_ns(void)
{
    _fclose_ FILE *f = fopen("/proc/thread-self/schedstat", "re");
    uint64_t ready;

    return f && fscanf(f, "%*u %" SCNu64, &ready) == 1 ? ready : 0;
}

void world_step(struct world *world, uint64_t max_ns)
{
    uint64_t began, took, ready;
    int rc = sd_event_prepare(world->loop);

    if (rc == 0)
        rc = sd_event_wait(world->loop, max_ns / 1000);
    assert_true(rc >= 0);
    if (rc == 0)
        return;
    ready = ready_ns();
    began = world_now();
    assert_true(sd_event_dispatch(world->loop) >= 0);
    took = world_now() - began;
    ready = ready_ns() - ready; /* of another clock: may be longer than all of it */
    if (took > ready && took - ready > world->longest_ns)
        world->longest_ns = took - ready;
}

void world_run(struct world *world, uint64_t ns)
{
    uint64_t end = world_now() + ns;

    while (world_now() < end)
        world_step(world, 10 * MS);
}

/* A field of the target's status; the caller releases *status. */
static struct json_object *status_field(const struct world *world, size_t target, const char *field,
                                        struct json_object **status)
{
    struct json_object *targets, *value;

    *status = node_queue_status(world->deliver);
    assert_non_null(*status);
    assert_true(json_object_object_get_ex(*status, "targets", &targets));
    assert_true(
        json_object_object_get_ex(json_object_array_get_idx(targets, target), field, &value));
    return value;
}

uint64_t world_number(const struct world *world, size_t target, const char *field)
{
    struct json_object *status, *value = status_field(world, target, field, &status);
    int64_t number = json_object_get_int64(value);

    json_object_put(status);
    return (uint64_t)number;
}

const char *world_state(const struct world *world, size_t target)
{
    static char text[32];
    struct json_object *status, *value = status_field(world, target, "state", &status);

    snprintf(text, sizeof(text), "%s", json_object_get_string(value));
    json_object_put(status);
    return text;
}

bool world_error_has(const struct world *world, size_t target, const char *text)
{
    struct json_object *status, *value = status_field(world, target, "last_error", &status);
    bool found = strstr(json_object_get_string(value), text);

    json_object_put(status);
    return found;
}

static void on_retired(const char *text, size_t failed, void *arg)
{
    struct world *world = arg;

    assert_false(world->retire_done);
    snprintf(world->retired, sizeof(world->retired), "%s", text);
    world->retire_failed = failed;
    world->retire_done = true;
}

void world_retire(struct world *world)
{
    world->retire_done = false;
    assert_int_equal(node_queue_retire(world->deliver, on_retired, world), 0);
    world_until(world, world->retire_done);
}
