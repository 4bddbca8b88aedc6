/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/daemon/peer_requests.h"

#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "collector/daemon/degraded.h"
#include "collector/daemon/job_nodes.h"
#include "collector/daemon/passed_sockets.h"
#include "collector/daemon/socket.h"
#include "collector/peers/peers.h"
#include "collector/store/query.h"
#include "collector/store/store.h"
#include "collector/track/tracker.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "report/record/record.h"

/* How long a request waits for the tasks of a step to end. The other node waits 1.3 s. */
#define HOLD_US 900000

struct peer_requests {
    struct peer_requests_options options;
    struct peers *peers;
    struct job_nodes *job_nodes;
    LIST_HEAD(, held) held;
};

/* A request from another node that is answered from the store. */
struct lookup {
    struct peer_requests *requests;
    void *question;
    struct job_key key; /* restart UINT32_MAX: the newest */
    struct job_account **jobs;
    struct job_account *found; /* one of them */
    bool is_busy;
    char *record;
};

static void lookup_free(struct lookup *l)
{
    if (l->jobs)
        store_jobs_free(l->jobs);
    free(l->key.cluster);
    free(l->record);
    free(l);
}

static void find(struct lookup *l)
{
    for (size_t i = 0; l->jobs[i] && !l->found; i++)
        if (l->key.restart == UINT32_MAX || l->jobs[i]->key.restart == l->key.restart)
            l->found = l->jobs[i];
}

static int run_account(struct store *reader, void *arg, struct error *error)
{
    struct lookup *l = arg;
    int r = store_node_jobs(reader, l->key.cluster, l->key.jobid, l->requests->options.node,
                            &l->jobs, error);

    if (r == 0)
        find(l);
    return r;
}

static int run_record(struct store *reader, void *arg, struct error *error)
{
    struct lookup *l = arg;
    int r = store_jobs(reader, l->key.cluster, l->key.jobid, true, UINT32_MAX, &l->jobs, error);

    if (r < 0)
        return r;
    find(l);
    if (!l->found)
        return 0;
    l->record = report_record(l->found, l->requests->options.settings->record_mpi);
    return l->record ? 0 : error_set(error, -ENOMEM, "out of memory");
}

static void on_account(int result, const struct error *error, void *arg)
{
    struct lookup *l = arg;

    peers_provide_account(l->question, l->found, l->is_busy, result < 0 ? error : NULL);
    lookup_free(l);
}

static void on_record(int result, const struct error *error, void *arg)
{
    struct lookup *l = arg;

    peers_provide_record(l->question, l->found ? &l->found->key : &l->key,
                         l->found && l->found->ended, l->record, result < 0 ? error : NULL);
    lookup_free(l);
}

static int look_up(struct peer_requests *requests, const struct job_key *key, bool is_busy,
                   void *question, query_run_f run, query_done_f done)
{
    struct lookup *l = calloc(1, sizeof(*l));

    if (!l)
        return -ENOMEM;
    l->requests = requests;
    l->question = question;
    l->is_busy = is_busy;
    l->key = *key;
    l->key.cluster = strdup(requests->options.settings->cluster);
    if (l->key.cluster && query_submit(requests->options.query, run, done, l) == 0)
        return 0;
    lookup_free(l);
    return -EBUSY;
}

static const struct error busy = {"too many queries of the store are waiting"};

static void answer_account(struct peer_requests *requests, const struct job_key *key, bool is_busy,
                           void *question)
{
    struct job_account *account;
    struct error error;
    /* The steps may not have ended yet, although their tasks have. */
    int r =
        tracker_report(requests->options.tracker, key->jobid, key->restart, true, &account, &error);

    if (r == 0) {
        peers_provide_account(question, account, is_busy, NULL);
        job_account_destroy(account);
    } else if (r != -ENOENT) {
        peers_provide_account(question, NULL, false, &error);
    } else if (look_up(requests, key, is_busy, question, run_account, on_account) < 0) {
        peers_provide_account(question, NULL, false, &busy);
    }
}

/* A request that waits for the tasks of a step to start and end. */
struct held {
    LIST_ENTRY(held) link;
    struct peer_requests *requests;
    struct job_key key;
    struct peers_step step;
    void *question;
    sd_event_source *timer;
};

static void release(struct held *held, bool is_busy)
{
    LIST_REMOVE(held, link);
    sd_event_source_disable_unref(held->timer);
    answer_account(held->requests, &held->key, is_busy, held->question);
    free(held);
}

static int on_hold_timeout(sd_event_source *source, uint64_t usec, void *arg)
{
    (void)source, (void)usec;
    release(arg, true);
    return 0;
}

static bool hold(struct peer_requests *requests, const struct job_key *key,
                 const struct peers_step *step, void *question)
{
    struct held *held = calloc(1, sizeof(*held));

    if (!held)
        return false;
    *held = (struct held){.requests = requests, .key = *key, .step = *step, .question = question};
    if (sd_event_add_time_relative(requests->options.loop, &held->timer, CLOCK_MONOTONIC, HOLD_US,
                                   0, on_hold_timeout, held) < 0) {
        free(held);
        return false;
    }
    LIST_INSERT_HEAD(&requests->held, held, link);
    return true;
}

static bool is_busy_with(const struct peer_requests *requests, const struct job_key *key,
                         const struct peers_step *step)
{
    enum tracker_progress progress =
        tracker_progress(requests->options.tracker, key, step->het, step->step);

    return progress == TRACKER_BUSY || (progress == TRACKER_UNKNOWN && step->expected);
}

void peer_requests_recheck(struct peer_requests *requests)
{
    struct held *held, *next;

    if (!requests)
        return;
    for (held = LIST_FIRST(&requests->held); held; held = next) {
        next = LIST_NEXT(held, link);
        if (!is_busy_with(requests, &held->key, &held->step))
            release(held, false);
    }
}

void peer_requests_stop(struct peer_requests *requests)
{
    if (!requests)
        return;
    while (LIST_FIRST(&requests->held))
        release(LIST_FIRST(&requests->held), true);
    peers_stop(requests->peers);
}

/* Only the first node sends requests without a step, at the end of the batch script. */
static void give_account(const struct job_key *key, const struct peers_step *step, const char *from,
                         void *question, void *arg)
{
    struct peer_requests *requests = arg;
    bool is_busy = step && is_busy_with(requests, key, step);

    if (!step)
        tracker_set_first_node(requests->options.tracker, key, from);
    if (!is_busy || !hold(requests, key, step, question))
        answer_account(requests, key, is_busy, question);
}

static void give_record(const struct job_key *key, void *question, void *arg)
{
    if (look_up(arg, key, false, question, run_record, on_record) < 0)
        peers_provide_record(question, key, false, NULL, &busy);
}

static void on_query_answered(const struct request_answer *answer, void *arg)
{
    peers_provide_answer(arg, &(struct peers_answer){.text = answer->text,
                                                     .error = answer->error,
                                                     .applied = answer->applied,
                                                     .cut = answer->cut});
}

static void give_answer(uid_t uid, const struct message *m, void *question, void *arg)
{
    const struct peer_requests_options *options = &((struct peer_requests *)arg)->options;
    struct request *request = request_create(uid, on_query_answered, question);

    if (request)
        options->handle(request, m, options->arg);
    else
        peers_provide_answer(question, &(struct peers_answer){.error = "no memory"});
}

/* The prolog of the job has run here, perhaps none of its steps. */
static bool has_job_file(const struct peer_requests *requests, uint32_t jobid)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/jobs/%u", requests->options.runtime_dir, jobid);
    return access(path, F_OK) == 0;
}

static enum peers_job_state known(const struct job_key *key, void *arg)
{
    struct peer_requests *requests = arg;

    if (tracker_knows(requests->options.tracker, key))
        return PEERS_JOB_TRACKED;
    return has_job_file(requests, key->jobid) ? PEERS_JOB_ANNOUNCED : PEERS_JOB_UNKNOWN;
}

/* The prolog's list may be too short, but not Slurm's: what either has is a node of the job. */
static enum peers_member member(const struct job_key *key, const char *node, void *arg)
{
    const struct peer_requests *requests = arg;
    int has = tracker_has_node(requests->options.tracker, key, node);
    const char *list = has > 0 ? NULL : job_nodes_get(requests->job_nodes, key);

    if (has > 0 || (list && text_list_has(list, node)))
        return PEERS_MEMBER_YES;
    return has == 0 || list ? PEERS_MEMBER_NO : PEERS_MEMBER_UNKNOWN;
}

static bool learn_nodes(const struct job_key *key, void *arg)
{
    const struct peer_requests *requests = arg;

    return job_nodes_learn(requests->job_nodes, key);
}

static void on_learned(const struct job_key *key, const char *nodes, void *arg)
{
    const struct peer_requests *requests = arg;
    const char *here = requests->options.node;
    size_t n = strlen(here);

    /* Only the first node uses the list. */
    if (strncmp(nodes, here, n) == 0 && nodes[n] == ',')
        tracker_add_nodes(requests->options.tracker, key, nodes);
}

static void on_listening(const struct error *why, void *arg)
{
    struct peer_requests *requests = arg;

    degraded_set(requests->options.degraded, DEGRADED_PEERS, why);
}

static void say(enum log_level level, const char *text, void *arg)
{
    (void)arg;
    log_write(level, "peers: %s", text);
}

/* --- start and stop --------------------------------------------------------------------------- */

static int find_readers(const struct settings_list *names, uid_t **ret, struct error *error)
{
    uid_t *uids = calloc(names->n + 1, sizeof(*uids));

    if (!uids)
        return error_set(error, -ENOMEM, "out of memory");
    for (size_t i = 0; i < names->n; i++) {
        const struct passwd *user = getpwnam(names->items[i]);

        if (!user) {
            free(uids);
            return error_set(error, -EINVAL, "[peers] readers: there is no user \"%s\"",
                             names->items[i]);
        }
        uids[i] = user->pw_uid;
    }
    *ret = uids;
    return 0;
}

bool peer_requests_are_wanted(const struct settings *settings)
{
    return settings->peers.url != NULL;
}

static int check_wanted(const struct settings *settings, struct error *error)
{
    return !peer_requests_are_wanted(settings) && settings->peers.listen.n
               ? error_set(error, -EINVAL, "[peers] listen without url: set both")
               : 0;
}

int peer_requests_check(const struct settings *settings, struct error *error)
{
    uid_t *readers = NULL;
    int r = check_wanted(settings, error);

    if (!r)
        r = find_readers(&settings->peers.readers, &readers, error);
    free(readers);
    if (!r && settings->peers.url && (r = peers_check_url(settings->peers.url, error)) < 0)
        r = error_prefix(error, r, "[peers]");
    return r;
}

/* Queue refused accounts again. Without [peers], queued accounts would exempt their jobs from
 * retention for ever. */
int peer_requests_tidy_outbox(struct store *store, const struct settings *settings,
                              struct error *error)
{
    return peer_requests_are_wanted(settings)
               ? store_outbox_retry(store, PEERS_SINK_PREFIX "*", error)
               : store_outbox_forget(store, PEERS_SINK_PREFIX "*", error);
}

static const enum origins_mode origins_modes[] = {
    [CHECK_ORIGIN_AUTO] = ORIGINS_AUTO,
    [CHECK_ORIGIN_NO] = ORIGINS_NO,
    [CHECK_ORIGIN_YES] = ORIGINS_YES,
};

static int create_peers(struct peer_requests *requests, struct error *error)
{
    const struct settings *settings = requests->options.settings;
    const struct peers_hooks hooks = {give_account, give_record,  give_answer, known,   member,
                                      learn_nodes,  on_listening, say,         requests};
    struct peers_options options;
    _free_ uid_t *readers = NULL;
    int r = find_readers(&settings->peers.readers, &readers, error);

    if (r < 0)
        return r;
    peers_defaults(&options);
    options.cluster = settings->cluster;
    options.node = requests->options.node;
    options.listen = (const char *const *)settings->peers.listen.items;
    options.n_listen = settings->peers.listen.n;
    options.sockets = requests->options.sockets->fds;
    options.n_sockets = requests->options.sockets->n;
    options.url = settings->peers.url;
    options.munge_socket = settings->peers.munge_socket;
    options.check_origin = origins_modes[settings->peers.check_origin];
    options.readers = readers;
    options.n_readers = settings->peers.readers.n;
    options.timeout_ns = settings->peers.timeout_ns;
    options.query = requests->options.query;
    options.writer = requests->options.writer;
    r = peers_create(&requests->peers, requests->options.loop, &options, &hooks, error);
    return r < 0 ? error_prefix(error, r, "[peers]") : 0;
}

int peer_requests_create(struct peer_requests **ret, const struct peer_requests_options *options,
                         struct error *error)
{
    struct peer_requests *requests;
    int r;

    if (!peer_requests_are_wanted(options->settings))
        return check_wanted(options->settings, error);
    requests = calloc(1, sizeof(*requests));
    if (!requests)
        return error_set(error, -ENOMEM, "out of memory");
    requests->options = *options;
    requests->job_nodes = job_nodes_create(options->recorder, on_learned, requests);
    r = requests->job_nodes ? create_peers(requests, error)
                            : error_set(error, -ENOMEM, "out of memory");
    if (r < 0) {
        job_nodes_destroy(requests->job_nodes);
        free(requests);
        return r;
    }
    *ret = requests;
    return 0;
}

struct peers *peer_requests_peers(const struct peer_requests *requests)
{
    return requests ? requests->peers : NULL;
}

void peer_requests_destroy(struct peer_requests *requests)
{
    if (!requests)
        return;
    peers_destroy(requests->peers);
    job_nodes_destroy(requests->job_nodes);
    free(requests);
}
