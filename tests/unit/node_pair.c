/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/node_pair.h"

#include <arpa/inet.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/message.h"
#include "tests/unit/munged.h"

#define SECOND 1000000000ull
#define LONG (60 * SECOND) /* fails only if something is broken */

struct side first = {.node = FIRST}, other = {.node = OTHER};

static struct munged *munged;
static sd_event *loop;
static char directory[64];
static unsigned port;

/* --- hooks ------------------------------------------------------------------------------------ */

static void on_account(const struct job_key *key, const struct peers_step *step, const char *from,
                       void *question, void *arg)
{
    struct side *side = arg;

    (void)key;
    assert_string_equal(from, side == &first ? OTHER : FIRST);
    side->asked++;
    side->step = step ? *step : (struct peers_step){0};
    peers_provide_account(question, side->account, side->busy, NULL);
}

static void on_record(const struct job_key *key, void *question, void *arg)
{
    (void)arg;
    peers_provide_record(question, key, false, NULL, NULL);
}

static const char *long_text(void)
{
    static char text[1 << 20];

    memset(text, 'x', sizeof(text) - 1);
    return text;
}

/* Answers the one type that there is here. */
static void on_request(uid_t uid, const struct message *m, void *question, void *arg)
{
    const char *name = message_get(m, "NAME");
    char text[128];
    struct peers_answer answer = {.text = text, .applied = "NAME ", .cut = true};

    (void)arg;
    (void)snprintf(text, sizeof(text), "user %u: %s", uid, name ? name : "");
    if (name && strcmp(name, NODE_PAIR_LONG) == 0)
        answer.text = long_text();
    if (strcmp(message_get(m, "TYPE"), "query-history") != 0)
        answer = (struct peers_answer){.error = "not for users on other hosts"};
    peers_provide_answer(question, &answer);
}

static enum peers_job_state known(const struct job_key *key, void *arg)
{
    const struct side *side = arg;

    (void)key;
    return side->known;
}

static enum peers_member member(const struct job_key *key, const char *node, void *arg)
{
    const struct side *side = arg;

    (void)key, (void)node;
    return side->stranger ? PEERS_MEMBER_NO : side->member;
}

static bool learn_nodes(const struct job_key *key, void *arg)
{
    const struct side *side = arg;

    (void)key;
    return side->learning;
}

static void say(enum log_level level, const char *text, void *arg)
{
    const struct side *side = arg;

    (void)level;
    print_message("%s: %s\n", side->node, text);
}

static int on_writer(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct side *side = arg;

    (void)source, (void)fd, (void)events;
    (void)writer_dispatch(side->writer);
    return 0;
}

static int on_query(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct side *side = arg;

    (void)source, (void)fd, (void)events;
    (void)query_dispatch(side->query);
    return 0;
}

/* --- start and stop --------------------------------------------------------------------------- */

static void must(int r, const struct error *error)
{
    if (r < 0)
        fail_msg("%s", error ? error->text : strerror(-r));
}

static unsigned free_port(void)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    socklen_t size = sizeof(any);
    _close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&any, sizeof(any)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&any, &size), 0);
    return ntohs(any.sin_port);
}

static void start_peers(struct side *side)
{
    const struct peers_hooks hooks = {on_account,  on_record, on_request, known, member,
                                      learn_nodes, NULL,      say,        side};
    struct peers_options options;
    char listen[64], url[64];
    const char *const addresses[] = {listen};
    struct error error;

    (void)snprintf(listen, sizeof(listen), "%s:%u", side->node, port);
    (void)snprintf(url, sizeof(url), "http://%%n:%u", port);
    peers_defaults(&options);
    options.cluster = "c";
    options.node = side->name ? side->name : side->node;
    options.listen = addresses;
    options.n_listen = 1;
    options.url = url;
    options.munge_socket = munged_socket(munged);
    options.check_origin = side->check_origin;
    options.query = side->query;
    options.writer = side->writer;
    options.timeout_ns = LONG;
    options.backoff_ns = SECOND / 10;
    options.spread_ns = 0;
    if (side->late_ns)
        options.late_ns = side->late_ns;
    if (side->answers_ns)
        options.answers_ns = side->answers_ns;
    must(peers_create(&side->peers, loop, &options, &hooks, &error), &error);
}

void node_pair_start(struct side *side)
{
    struct error error;

    must(writer_create(&side->writer, side->store, 0, 0, &error), &error);
    must(query_create(&side->query, &(struct query_options){.path = side->path}, &error), &error);
    must(sd_event_add_io(loop, &side->sources[0], writer_fd(side->writer), 1, on_writer, side),
         NULL);
    must(sd_event_add_io(loop, &side->sources[1], query_fd(side->query), 1, on_query, side), NULL);
    start_peers(side);
}

static void open_side(struct side *side)
{
    const struct store_options options = {.path = side->path, .node = side->node};
    struct error error;

    must(store_open(&side->store, &options, &error), &error);
}

void node_pair_stop(struct side *side)
{
    peers_stop(side->peers);
    for (size_t i = 0; i < ARRAY_SIZE(side->sources); i++)
        side->sources[i] = sd_event_source_disable_unref(side->sources[i]);
    query_destroy(side->query);
    writer_destroy(side->writer);
    peers_destroy(side->peers);
    side->peers = NULL;
    open_side(side);
}

int node_pair_begin(void **state)
{
    (void)state;
    if (geteuid() == 0 && munged_is_there())
        munged = munged_start();
    return 0;
}

int node_pair_end(void **state)
{
    (void)state;
    munged_stop(munged);
    return 0;
}

void node_pair_set_origin(const char *origin)
{
    munged_set_origin(munged, origin);
}

const char *node_pair_munge_socket(void)
{
    return munged_socket(munged);
}

unsigned node_pair_port(void)
{
    return port;
}

void node_pair_skip(void)
{
    if (!munged) {
        print_message("needs root, and a munged\n");
        skip();
    }
}

int node_pair_setup(void **state)
{
    struct side *sides[] = {&first, &other};

    (void)state;
    if (!munged)
        return 0;
    (void)snprintf(directory, sizeof(directory), "/tmp/jobio-test-peers-XXXXXX");
    assert_non_null(mkdtemp(directory));
    must(sd_event_new(&loop), NULL);
    port = free_port();
    for (size_t i = 0; i < ARRAY_SIZE(sides); i++) {
        *sides[i] = (struct side){.node = sides[i]->node, .member = PEERS_MEMBER_YES};
        (void)snprintf(sides[i]->path, sizeof(sides[i]->path), "%s/%s.db", directory,
                       sides[i]->node);
        open_side(sides[i]);
        node_pair_start(sides[i]);
    }
    return 0;
}

int node_pair_teardown(void **state)
{
    char command[128];

    (void)state;
    if (!munged)
        return 0;
    node_pair_stop(&first);
    node_pair_stop(&other);
    store_close(first.store);
    store_close(other.store);
    loop = sd_event_unref(loop);
    (void)snprintf(command, sizeof(command), "rm -rf %s", directory);
    return system(command);
}

/* --- jobs and messages ------------------------------------------------------------------------ */

void node_pair_until(bool (*is)(void))
{
    uint64_t end = clock_ns(CLOCK_MONOTONIC) + LONG;

    while (!is()) {
        assert_true(clock_ns(CLOCK_MONOTONIC) < end);
        must(sd_event_run(loop, 20000), NULL);
    }
}

uint64_t node_pair_count(const struct side *side, const char *name)
{
    struct json_object *status = peers_status(side->peers), *value;
    uint64_t count;

    assert_true(json_object_object_get_ex(status, name, &value));
    count = json_object_get_uint64(value);
    json_object_put(status);
    return count;
}

static struct job_account *queried;

static void on_queried(struct job_account *job, void *arg)
{
    (void)arg;
    queried = job;
}

static bool is_queried(void)
{
    return queried;
}

struct job_account *node_pair_query(struct job_account *job, const struct peers_step *step)
{
    queried = NULL;
    peers_query(first.peers, NODES, step, clock_ns(CLOCK_MONOTONIC) + LONG, job, on_queried, NULL);
    node_pair_until(is_queried);
    return queried;
}

unsigned node_pair_count_answers(const struct peers_step *step)
{
    struct job_account *job = job_account_create();
    unsigned reported;

    assert_non_null(job);
    job->key = (struct job_key){strdup("c"), JOB, 0};
    job = node_pair_query(job, step);
    reported = job->nodes_reported;
    job_account_destroy(job);
    return reported;
}

struct job_account *node_pair_job(const struct side *side, const char *first_node, uint32_t step,
                                  uint64_t bytes)
{
    struct job_account *job = job_account_create();
    struct step_account *s = calloc(1, sizeof(*s));
    struct timeline_bin written;
    struct io_counter *c;

    assert_non_null(job);
    assert_non_null(s);
    job->key = (struct job_key){strdup("c"), JOB, 0};
    job->uid = 1000;
    job->user = strdup("alice");
    job->first_node = first_node ? strdup(first_node) : NULL;
    job->start_ns = STARTED;
    job->elapsed_ns = 10 * SECOND;
    job->nodes_expected = 2;
    job->nodes_reported = 1;
    job->steps = s;
    job->n_steps = 1;
    s->het = HET_NONE;
    s->step = step;
    s->node = strdup(side->node);
    s->tagged_at_ns = STARTED;
    s->elapsed_ns = SECOND;
    s->state = STEP_ENDED;
    c = io_account_op(&io_mounts_get(&s->mounts, "/scratch", "ext4", "/dev/sdb", false)->io,
                      IO_WRITE);
    assert_non_null(c);
    c->requests = 1;
    c->bytes = bytes;
    written = io_account_now(&s->mounts.items[0].io);
    assert_int_equal(
        timeline_spread(&s->mounts.items[0].timeline, 1, STARTED, STARTED + SECOND, &written), 0);
    return job;
}

void node_pair_put(struct side *side, const struct job_account *job)
{
    struct error error;

    must(store_put_job(side->store, job, &error), &error);
    for (size_t i = 0; i < job->n_steps; i++) {
        must(store_put_step(side->store, &job->key, &job->steps[i], true, &error), &error);
        if (side == &other)
            must(store_outbox_put(side->store, &job->key, &job->steps[i], PEERS_SINK_PREFIX FIRST,
                                  &error),
                 &error);
    }
}

static bool is_sent(void)
{
    struct outbox_stats stats;
    struct store *reader;
    struct error error;

    must(store_open_reader(&reader, other.path, &error), &error);
    must(store_outbox_stats(reader, PEERS_SINK_PREFIX FIRST, &stats, &error), &error);
    store_close(reader);
    return !stats.waiting;
}

void node_pair_send(void)
{
    peers_notify(other.peers);
    node_pair_until(is_sent);
}

struct job_account *node_pair_stored(const struct side *side)
{
    struct job_account **jobs, *job;
    struct store *reader;
    struct error error;

    must(store_open_reader(&reader, side->path, &error), &error);
    must(store_jobs(reader, "c", JOB, false, UINT32_MAX, &jobs, &error), &error);
    store_close(reader);
    job = jobs[0];
    free(jobs);
    return job;
}
