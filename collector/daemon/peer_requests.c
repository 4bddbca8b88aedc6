/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the other nodes need from the daemon. */
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/daemon/daemon_impl.h"
#include "collector/peers/peers.h"
#include "collector/store/query.h"
#include "collector/store/store.h"
#include "common/cleanup.h"
#include "report/record/record.h"

/* How long a question waits for the tasks of a step to end. The node that asks waits 1.3 s. */
#define HOLD_US 900000

/* A question from another node that the store answers. */
struct lookup {
    struct daemon *daemon;
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
    int r = store_node_jobs(reader, l->key.cluster, l->key.jobid, l->daemon->node, &l->jobs, error);

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
    l->record = report_record(l->found);
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

static int look_up(struct daemon *daemon, const struct job_key *key, bool is_busy, void *question,
                   query_run_f run, query_done_f done)
{
    struct lookup *l = calloc(1, sizeof(*l));

    if (!l)
        return -ENOMEM;
    l->daemon = daemon;
    l->question = question;
    l->is_busy = is_busy;
    l->key = *key;
    l->key.cluster = strdup(daemon->settings->cluster);
    if (l->key.cluster && query_submit(daemon->query, run, done, l) == 0)
        return 0;
    lookup_free(l);
    return -EBUSY;
}

static const struct error busy = {"too many queries of the store are waiting"};

static void answer_account(struct daemon *daemon, const struct job_key *key, bool is_busy,
                           void *question)
{
    struct job_account *account;
    struct error error;
    /* Its tasks have ended, but its steps may not have. */
    int r = tracker_report(daemon->tracker, key->jobid, key->restart, true, &account, &error);

    if (r == 0) {
        peers_provide_account(question, account, is_busy, NULL);
        job_account_destroy(account);
    } else if (r != -ENOENT) {
        peers_provide_account(question, NULL, false, &error);
    } else if (look_up(daemon, key, is_busy, question, run_account, on_account) < 0) {
        peers_provide_account(question, NULL, false, &busy);
    }
}

/* A question that waits for the tasks of a step to start and to end. */
struct held {
    LIST_ENTRY(held) link;
    struct daemon *daemon;
    struct job_key key;
    struct peers_step step;
    void *question;
    sd_event_source *timer;
};

static void release(struct held *held, bool is_busy)
{
    LIST_REMOVE(held, link);
    sd_event_source_disable_unref(held->timer);
    answer_account(held->daemon, &held->key, is_busy, held->question);
    free(held);
}

static int on_patience(sd_event_source *source, uint64_t usec, void *arg)
{
    (void)source, (void)usec;
    release(arg, true);
    return 0;
}

static bool hold(struct daemon *daemon, const struct job_key *key, const struct peers_step *step,
                 void *question)
{
    struct held *held = calloc(1, sizeof(*held));

    if (!held)
        return false;
    *held = (struct held){.daemon = daemon, .key = *key, .step = *step, .question = question};
    if (sd_event_add_time_relative(daemon->loop, &held->timer, CLOCK_MONOTONIC, HOLD_US, 0,
                                   on_patience, held) < 0) {
        free(held);
        return false;
    }
    LIST_INSERT_HEAD(&daemon->held, held, link);
    return true;
}

static bool is_busy_with(struct daemon *daemon, const struct job_key *key,
                         const struct peers_step *step)
{
    enum tracker_progress progress = tracker_progress(daemon->tracker, key, step->het, step->step);

    return progress == TRACKER_BUSY || (progress == TRACKER_UNKNOWN && step->expected);
}

void peer_requests_recheck(struct daemon *daemon)
{
    struct held *held, *next;

    for (held = LIST_FIRST(&daemon->held); held; held = next) {
        next = LIST_NEXT(held, link);
        if (!is_busy_with(daemon, &held->key, &held->step))
            release(held, false);
    }
}

void peer_requests_stop(struct daemon *daemon)
{
    while (LIST_FIRST(&daemon->held))
        release(LIST_FIRST(&daemon->held), true);
    peers_stop(daemon->peers);
}

/* A question without a step is from the first node, at the end of the batch script. */
static void give_account(const struct job_key *key, const struct peers_step *step, const char *from,
                         void *question, void *arg)
{
    struct daemon *daemon = arg;
    bool is_busy = step && is_busy_with(daemon, key, step);

    if (!step)
        tracker_set_first_node(daemon->tracker, key, from);
    if (!is_busy || !hold(daemon, key, step, question))
        answer_account(daemon, key, is_busy, question);
}

static void give_record(const struct job_key *key, void *question, void *arg)
{
    if (look_up(arg, key, false, question, run_record, on_record) < 0)
        peers_provide_record(question, key, false, NULL, &busy);
}

/* Its prolog has run here, even if none of its steps has. */
static bool has_job_file(const struct daemon *daemon, uint32_t jobid)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/jobs/%u", daemon->runtime_dir, jobid);
    return access(path, F_OK) == 0;
}

static enum peers_job_state known(const struct job_key *key, void *arg)
{
    struct daemon *daemon = arg;

    if (tracker_knows(daemon->tracker, key))
        return PEERS_JOB_TRACKED;
    return has_job_file(daemon, key->jobid) ? PEERS_JOB_ANNOUNCED : PEERS_JOB_UNKNOWN;
}

static void say(enum log_level level, const char *text, void *arg)
{
    (void)arg;
    log_write(level, "peers: %s", text);
}

/* --- start and stop
 * ------------------------------------------------------------------------------------- */

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

/* Refused accounts are tried again. Without [peers], queued ones would exempt their jobs from
 * retention for ever. */
int peer_requests_tidy_outbox(struct daemon *daemon, struct error *error)
{
    return peer_requests_are_wanted(daemon->settings)
               ? store_outbox_retry(daemon->store, PEERS_SINK_PREFIX "*", error)
               : store_outbox_forget(daemon->store, PEERS_SINK_PREFIX "*", error);
}

int peer_requests_create(struct daemon *daemon, struct error *error)
{
    const struct settings *settings = daemon->settings;
    const struct peers_hooks hooks = {give_account, give_record, known, say, daemon};
    struct peers_options options;
    _free_ uid_t *readers = NULL;
    int r;

    if (!peer_requests_are_wanted(settings))
        return settings->peers.listen.n
                   ? error_set(error, -EINVAL, "[peers] listen without url: set both")
                   : 0;
    r = find_readers(&settings->peers.readers, &readers, error);
    if (r < 0)
        return r;
    peers_defaults(&options);
    options.cluster = settings->cluster;
    options.node = daemon->node;
    options.listen = (const char *const *)settings->peers.listen.items;
    options.n_listen = settings->peers.listen.n;
    options.url = settings->peers.url;
    options.munge_socket = settings->peers.munge_socket;
    options.readers = readers;
    options.n_readers = settings->peers.readers.n;
    options.timeout_ns = settings->peers.timeout_ns;
    options.query = daemon->query;
    options.writer = daemon->writer;
    r = peers_create(&daemon->peers, daemon->loop, &options, &hooks, error);
    return r < 0 ? error_prefix(error, r, "[peers]") : 0;
}
