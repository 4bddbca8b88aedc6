/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first node of a large job: NODES others send their accounts within 5 s, then it queries all
 * of them for the summary. `make check` runs it with 100. The first node is a separate process with
 * the real store, writer and peers (no programs in the kernel); this process is all others, and
 * both use credentials of a real munged. Prints times, memory and what is missing; fails if
 * anything is missing.
 *
 *   gather [NODES]      (4,096; with fewer, the time is shorter as well)
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/peers/peers.h"
#include "collector/http/client.h"
#include "collector/http/server.h"
#include "collector/store/query.h"
#include "collector/store/store.h"
#include "collector/peers/wire.h"
#include "collector/store/writer.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/credential.h"
#include "report/json/json.h"
#include "report/text/text.h"
#include "tests/unit/munged.h"

#define SECOND 1000000000ull
#define WITHIN (5 * SECOND * nodes / 4096)
#define JOB 4711
#define BYTES 4096 /* node i writes i times as much */
#define SEND_PORT "19418"
#define ASK_PORT "19419"

static size_t nodes = 4096;
static struct munged *munged;
static char directory[] = "/tmp/jobio-bench-gather-XXXXXX", path[64];

/* Shared by the two processes. */
static struct shared {
    volatile bool ready, ask, asked;
    volatile uint64_t ask_ns, merge_ns, read_ns, read_bytes, ask_bytes;
    volatile uint32_t ask_nodes, read_nodes;
} * shared;

static void must(int r, const struct error *error, const char *what)
{
    if (r >= 0)
        return;
    fprintf(stderr, "%s: %s\n", what, error ? error->text : strerror(-r));
    exit(1);
}

static uint64_t expected_bytes(void)
{
    return (uint64_t)nodes * (nodes + 1) / 2 * BYTES;
}

/* --- the accounts ----------------------------------------------------------------------------- */

static void fill_mount(struct io_mounts *mounts, const char *name, uint64_t requests, size_t each)
{
    static const enum io_op ops[] = {IO_READ, IO_WRITE, IO_OPEN, IO_STAT, IO_UNLINK};
    struct io_mount *m = io_mounts_get(mounts, name, "nfs4", "srv:/x", false);

    for (size_t i = 0; m && i < ARRAY_SIZE(ops); i++) {
        struct io_counter *c = io_account_op(&m->io, ops[i]);

        c->requests = requests;
        c->time_ns = requests * 1000;
        for (int b = 8; b < 24; b++)
            c->latency_log2[b] = requests / 16 + 1;
        if (ops[i] == IO_WRITE)
            c->bytes = requests * each;
    }
}

/* The account of node i: an ended step with three mounts. */
static struct job_account *account_of(size_t i)
{
    struct job_account *job = job_account_create();
    char name[32];

    job->key.cluster = strdup("c");
    job->key.jobid = JOB;
    job->ended = true;
    job->nodes_expected = (uint32_t)nodes + 1;
    job->nodes_reported = 1;
    job->steps = calloc(1, sizeof(*job->steps));
    job->n_steps = 1;
    (void)snprintf(name, sizeof(name), "s%zu", i);
    job->steps[0] = (struct step_account){.het = HET_NONE,
                                          .node = strdup(name),
                                          .tagged_at_ns = SECOND,
                                          .elapsed_ns = SECOND,
                                          .state = STEP_ENDED};
    fill_mount(&job->steps[0].mounts, "/scratch", i, BYTES);
    fill_mount(&job->steps[0].mounts, "/home", 30, 0);
    fill_mount(&job->steps[0].mounts, "/fast", 30, 0);
    (void)job_account_add_step(job, &job->steps[0]);
    return job;
}

/* A credential of node i for the first node; `key`: the name of the payload, as an array or not. */
static char *seal(size_t i, const char *id, const char *key, bool is_array, unsigned flags)
{
    struct job_account *job = account_of(i);
    struct json_object *document, *account = report_json(job, flags), *list;
    struct wire_head head = {"c", job->steps[0].node, "first", id};
    _free_ char *payload = NULL;
    struct error error;
    char *text = NULL;
    size_t size;

    document = wire_create(&head);
    if (is_array) {
        list = json_object_new_array();
        json_object_array_add(list, account);
        account = list;
    }
    json_object_object_add(document, key, account);
    payload = wire_text(document, &size);
    must(credential_make(munged_socket(munged), 0, payload, size, &text, &error), &error, "munge");
    job_account_destroy(job);
    return text;
}

/* --- the first node --------------------------------------------------------------------------- */

static struct store *opened;
static struct writer *writer;
static struct query *query;
static struct peers *peers;
static sd_event *loop;

static void no_account(const struct job_key *key, const struct peers_step *step, const char *from,
                       void *question, void *arg)
{
    (void)key, (void)step, (void)from, (void)arg;
    peers_provide_account(question, NULL, false, NULL);
}

static void no_record(const struct job_key *key, void *question, void *arg)
{
    (void)arg;
    peers_provide_record(question, key, false, NULL, NULL);
}

static enum peers_job_state never(const struct job_key *key, void *arg)
{
    (void)key, (void)arg;
    return PEERS_JOB_UNKNOWN;
}

static enum peers_member any_node(const struct job_key *key, const char *node, void *arg)
{
    (void)key, (void)node, (void)arg;
    return PEERS_MEMBER_YES;
}

static bool no_nodes(const struct job_key *key, void *arg)
{
    (void)key, (void)arg;
    return false;
}

static void say(enum log_level level, const char *text, void *arg)
{
    (void)level, (void)arg;
    fprintf(stderr, "first node: %s\n", text);
}

static int on_writer(sd_event_source *s, int fd, uint32_t events, void *arg)
{
    (void)s, (void)fd, (void)events, (void)arg;
    (void)writer_dispatch(writer);
    return 0;
}

static uint64_t written(const struct job_account *job)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < job->mounts.n; i++)
        bytes += io_account_writes(&job->mounts.items[i].io).bytes;
    return bytes;
}

static void on_gathered(struct job_account *job, void *arg)
{
    (void)arg;
    shared->merge_ns = clock_ns(CLOCK_MONOTONIC) - shared->ask_ns;
    shared->ask_nodes = job->nodes_reported;
    shared->ask_bytes = written(job);
    shared->asked = true;
    job_account_destroy(job);
}

static void ask_all(void)
{
    struct job_account *job = job_account_create();
    char *names = NULL;
    size_t size;
    FILE *out = open_memstream(&names, &size);

    for (size_t i = 1; i <= nodes; i++)
        fprintf(out, "%ss%zu", i > 1 ? "," : "", i);
    fclose(out);
    job->key.cluster = strdup("c");
    job->key.jobid = JOB;
    shared->ask_ns = clock_ns(CLOCK_MONOTONIC);
    peers_query(peers, names, NULL, shared->ask_ns + 60 * SECOND, job, on_gathered, NULL);
    free(names);
}

/* The account that `jobio job` would read. */
static void read_job(void)
{
    struct job_account **jobs = NULL;
    uint64_t begin = clock_ns(CLOCK_MONOTONIC);
    struct store *reader;
    struct error error;
    char *text;

    must(store_open_reader(&reader, path, &error), &error, "reader");
    must(store_jobs(reader, "c", JOB, false, UINT32_MAX, &jobs, &error), &error, "read");
    text = report_text(jobs[0], SUMMARY_SHORT, NULL);
    shared->read_ns = clock_ns(CLOCK_MONOTONIC) - begin;
    shared->read_bytes = written(jobs[0]);
    shared->read_nodes = jobs[0]->nodes_reported;
    fputs(text, stdout);
    fflush(stdout);
    free(text);
    store_jobs_free(jobs);
    store_close(reader);
}

static int on_tick(sd_event_source *source, uint64_t usec, void *arg)
{
    static bool begun;

    (void)usec, (void)arg;
    if (shared->ask && !begun) {
        begun = true;
        read_job();
        ask_all();
    }
    (void)sd_event_source_set_time_relative(source, 10000);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static void put_first(void)
{
    struct job_account *job = job_account_create();
    struct error error;

    job->key.cluster = strdup("c");
    job->key.jobid = JOB;
    job->start_ns = SECOND;
    job->elapsed_ns = 10 * SECOND;
    job->nodes_expected = (uint32_t)nodes + 1;
    job->nodes_reported = 1;
    must(store_put_job(opened, job, &error), &error, "job");
    job_account_destroy(job);
}

static void no_query(uid_t uid, const struct message *m, void *question, void *arg)
{
    (void)uid, (void)m, (void)arg;
    peers_provide_answer(question, &(struct peers_answer){.error = "none"});
}

static void first_node(void)
{
    const struct store_options store = {.path = path, .node = "first"};
    const struct peers_hooks hooks = {no_account, no_record, no_query, never, any_node,
                                      no_nodes,   NULL,      say,      NULL};
    const char *const listen[] = {"127.0.0.1:" SEND_PORT};
    struct peers_options options;
    struct error error;

    must(sd_event_default(&loop), NULL, "loop");
    must(store_open(&opened, &store, &error), &error, "store");
    put_first();
    must(writer_create(&writer, opened, 0, 0, &error), &error, "writer");
    must(query_create(&query, &(struct query_options){.path = path}, &error), &error, "query");
    peers_defaults(&options);
    options.cluster = "c";
    options.node = "first";
    options.url = "http://127.0.0.1:" ASK_PORT "/%n";
    options.listen = listen;
    options.n_listen = 1;
    options.connections_an_address = 8192;
    options.timeout_ns = 60 * SECOND;
    options.munge_socket = munged_socket(munged);
    options.query = query;
    options.writer = writer;
    must(peers_create(&peers, loop, &options, &hooks, &error), &error, "gather");
    (void)sd_event_add_io(loop, NULL, writer_fd(writer), 1, on_writer, NULL);
    (void)sd_event_add_time_relative(loop, NULL, CLOCK_MONOTONIC, 10000, 1000, on_tick, NULL);
    (void)sd_event_add_signal(loop, NULL, SIGTERM, NULL, NULL);
    shared->ready = true;
    (void)sd_event_loop(loop);
    peers_stop(peers);
    query_destroy(query);
    writer_destroy(writer);
    peers_destroy(peers);
    exit(0);
}

/* --- all others ------------------------------------------------------------------------------- */

static char **credentials;
static struct http_client *client;
static size_t next, answered, failed, tries;
static uint64_t begun_ns, last_ns;
static void send_one(size_t i);

static void on_sent(const struct http_answer *answer, void *arg)
{
    last_ns = clock_ns(CLOCK_MONOTONIC);
    if (answer->code == 200) {
        answered++;
        return;
    }
    /* Later and with its own credential, as a node would. */
    tries++;
    if (tries > nodes * 4) {
        fprintf(stderr, "given up: HTTP %ld %s\n", answer->code, answer->text);
        failed++;
        return;
    }
    free(credentials[(size_t)arg]);
    credentials[(size_t)arg] =
        seal((size_t)arg + 1, "1", "accounts", true, REPORT_STEPS | REPORT_WIRE);
    send_one((size_t)arg);
}

static void send_one(size_t i)
{
    struct http_request request = {.method = "POST",
                                   .url = "http://127.0.0.1:" SEND_PORT "/v1/accounts",
                                   .body = strdup(credentials[i]),
                                   .size = strlen(credentials[i])};
    struct error error;

    must(http_client_send(client, &request, on_sent, (void *)i, &error), &error, "send");
}

static int on_send(sd_event_source *source, uint64_t usec, void *arg)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);

    (void)usec, (void)arg;
    while (next < nodes && begun_ns + WITHIN * next / nodes <= now)
        send_one(next++);
    (void)sd_event_source_set_time_relative(source, 1000);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static struct http_server *server;

/* Node i answers with its account; the path has its name: /s17/v1/job. */
static void on_question(struct http_exchange *exchange, const void *body, size_t size, void *arg)
{
    _free_ char *text = strndup(body, size), *payload = NULL;
    struct wire_head head = {.cluster = "c"};
    struct json_object *document = NULL;
    struct error error;
    char *answer, id[32];
    size_t length;
    unsigned i;
    struct credential_maker maker;

    (void)arg;
    must(credential_open(munged_socket(munged), text, &payload, &length, &maker, &error), &error,
         "question");
    must(wire_parse(payload, length, &head, &document, &error), &error, "question");
    i = (unsigned)strtoul(wire_string(document, "to") + 1, NULL, 10);
    (void)snprintf(id, sizeof(id), "%s", wire_string(document, "id"));
    answer = seal(i, id, "account", false, REPORT_WIRE);
    json_object_put(document);
    http_exchange_answer(exchange, 200, "text/plain", answer, strlen(answer));
}

static void start_others(void)
{
    const char *const listen[] = {"127.0.0.1:" ASK_PORT};
    const struct http_server_options options = {.listen = listen,
                                                .n_listen = 1,
                                                .limit_ns = 60 * SECOND,
                                                .connections = 8192,
                                                .connections_an_address = 8192};
    const struct http_client_options to = {.connect_timeout_ns = 30 * SECOND,
                                           .timeout_ns = 60 * SECOND};
    struct error error;

    must(sd_event_default(&loop), NULL, "loop");
    must(http_client_create(&client, loop, &to, &error), &error, "client");
    must(http_server_create(&server, loop, &options, &error), &error, "server");
    for (size_t i = 1; i <= nodes; i++) {
        char *name;

        if (asprintf(&name, "/s%zu/v1/job", i) < 0)
            exit(1);
        must(http_server_route(server, "POST", name, on_question, NULL), NULL, "route");
    }
}

static void make_credentials(void)
{
    credentials = calloc(nodes, sizeof(*credentials));
    for (size_t i = 0; i < nodes; i++)
        credentials[i] = seal(i + 1, "1", "accounts", true, REPORT_STEPS | REPORT_WIRE);
}

static void send_all(void)
{
    sd_event_source *timer;

    begun_ns = clock_ns(CLOCK_MONOTONIC);
    (void)sd_event_add_time_relative(loop, &timer, CLOCK_MONOTONIC, 0, 0, on_send, NULL);
    while (answered + failed < nodes)
        (void)sd_event_run(loop, UINT64_MAX);
    (void)sd_event_source_set_enabled(timer, SD_EVENT_OFF);
}

/* VmHWM of the first node, in MiB. */
static double peak_mib(pid_t pid)
{
    char name[64], line[256];
    long kib = 0;

    (void)snprintf(name, sizeof(name), "/proc/%d/status", pid);
    _fclose_ FILE *f = fopen(name, "re");

    while (f && fgets(line, sizeof(line), f))
        (void)sscanf(line, "VmHWM: %ld", &kib);
    return (double)kib / 1024;
}

static bool right(const char *what, uint64_t found, uint64_t wanted)
{
    if (found == wanted)
        return true;
    printf("NOT ok: %s: %" PRIu64 ", not %" PRIu64 "\n", what, found, wanted);
    return false;
}

static bool say_result(pid_t pid)
{
    double memory = peak_mib(pid);

    printf("%zu accounts within %.2f s: all in the store %.2f s after the first was sent"
           " (%zu sent again)\n",
           nodes, (double)WITHIN / 1e9, (double)(last_ns - begun_ns) / 1e9, tries);
    printf("read and summed from the store: %.2f s\n", (double)shared->read_ns / 1e9);
    printf("asked, answered and merged (both sides on this machine): %.2f s\n",
           (double)shared->merge_ns / 1e9);
    printf("memory of the first node at most: %.0f MiB\n", memory);
    /* A single `&`, so that all failures are printed. */
    return right("accounts not taken", failed, 0) &
           right("nodes in the store", shared->read_nodes, nodes + 1) &
           right("bytes in the store", shared->read_bytes, expected_bytes()) &
           right("nodes that answered", shared->ask_nodes, nodes) &
           right("bytes of the answers", shared->ask_bytes, expected_bytes());
}

int main(int argc, char **argv)
{
    struct rlimit files = {65536, 65536};
    pid_t pid;
    bool ok;

    if (argc > 1)
        nodes = strtoul(argv[1], NULL, 10);
    (void)setrlimit(RLIMIT_NOFILE, &files);
    (void)signal(SIGPIPE, SIG_IGN);
    if (!munged_is_there() || !mkdtemp(directory))
        return 77;
    (void)snprintf(path, sizeof(path), "%s/jobio.db", directory);
    munged = munged_start();
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid = fork();
    if (pid == 0) {
        sigset_t term;

        (void)sigemptyset(&term);
        (void)sigaddset(&term, SIGTERM);
        (void)sigprocmask(SIG_BLOCK, &term, NULL);
        first_node();
    }
    start_others();
    make_credentials();
    while (!shared->ready)
        (void)usleep(1000);
    send_all();
    shared->ask = true;
    while (!shared->asked)
        (void)sd_event_run(loop, 10000);
    ok = say_result(pid);
    (void)kill(pid, SIGTERM);
    (void)waitpid(pid, NULL, 0);
    munged_stop(munged);
    if (asprintf(&argv[0], "rm -rf %s", directory) > 0)
        (void)!system(argv[0]);
    return ok ? 0 : 1;
}
