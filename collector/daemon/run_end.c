/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The account of a run whose command has ended. */
#include "collector/daemon/runs_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collector/probe/probe.h"
#include "collector/sample/sampler.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "report/json/json.h"

/* How long to wait for processes that end together with the command, as in a pipeline. */
#define GRACE_TRIES 10
#define GRACE_TRY_US 10000

static struct run *run_find(struct runs *runs, uint64_t number, uid_t uid)
{
    for (struct run *run = runs->list; run; run = run->next)
        if (!run->over && !run->ending && run->number == number && (uid == 0 || run->uid == uid))
            return run;
    return NULL;
}

/* The number of processes that outlived the command. */
static size_t count_survivors(const struct ending *ending)
{
    const struct run *run = ending->run;

    return ending->end_ns < run->orphaned_ns && run->orphans > ending->survivors
               ? run->orphans
               : ending->survivors;
}

static int fill_step(const struct ending *ending, struct step_account *step, struct error *error)
{
    struct run *run = ending->run;
    struct sampler *sampler = run->runs->options.sampler;
    _close_ int client = peer_open(request_pid(ending->request), run->uid, NULL);
    size_t survivors = count_survivors(ending);
    int r;

    run->client = client < 0 ? 0 : request_pid(ending->request);
    r = sampler_finish(sampler, run->step, ending->end_ns, error);
    run->client = 0;
    if (!r && survivors)
        r = sampler_mark_incomplete(sampler, run->step, "still-running", survivors, 0);
    sampler_set_end(sampler, run->step, ending->end_ns);
    return r < 0 ? r : sampler_account(sampler, run->step, step);
}

static char *make_document(const struct ending *ending, struct error *error)
{
    const struct run *run = ending->run;
    const struct runs_options *o = &run->runs->options;
    CLEANUP(step_account_clear) struct step_account step = {0};
    struct job_account *job = job_account_create();
    char *text = NULL;

    if (!job || fill_step(ending, &step, error) < 0 || job_account_add_step(job, &step) < 0) {
        job_account_destroy(job);
        return NULL;
    }
    job->key.cluster = strdup(o->cluster);
    job->uid = run->uid;
    job->ended = true;
    job->start_ns = run->start_ns;
    job->end_ns = run->start_ns + step.elapsed_ns;
    job->elapsed_ns = step.elapsed_ns;
    job->nodes_expected = job->nodes_reported = 1;
    job->unsupported = probe_unsupported(o->probe);
    job->ns_per_event = probe_ns_per_event(o->probe);
    text = report_json_text(job, REPORT_TIMELINE);
    job_account_destroy(job);
    return text;
}

static void ending_answer(struct ending *ending)
{
    struct error error = {"no memory for the account of the run"};
    struct run *run = ending->run;
    char *text = make_document(ending, &error);

    if (text)
        request_text(ending->request, text, false);
    else
        request_error(ending->request, "%s", error.text);
    ending_free(ending);
    run_stop(run);
    runs_remove(run->runs);
}

static bool has_ended(struct ending *ending)
{
    const struct run *run = ending->run;

    ending->survivors = hierarchy_processes(run->runs->options.hierarchy, run->leaf.path);
    return !ending->survivors || ++ending->tries > GRACE_TRIES;
}

static int on_try(sd_event_source *source, uint64_t usec, void *arg)
{
    struct ending *ending = arg;

    (void)usec;
    if (has_ended(ending) || sd_event_source_set_time_relative(source, GRACE_TRY_US) < 0 ||
        sd_event_source_set_enabled(source, SD_EVENT_ONESHOT) < 0)
        ending_answer(ending);
    return 0;
}

/* ago_ns: reported by a user, but it only concerns the user's own run. */
static uint64_t end_of_command(const struct run *run, uint64_t ago_ns)
{
    uint64_t now = clock_ns(CLOCK_BOOTTIME);

    return now - run->start_boot_ns < ago_ns ? run->start_boot_ns : now - ago_ns;
}

static int ending_create(struct run *run, struct request *request, uint64_t ago_ns)
{
    struct ending *ending = calloc(1, sizeof(*ending));

    if (!ending)
        return -ENOMEM;
    ending->run = run;
    ending->request = request;
    ending->end_ns = end_of_command(run, ago_ns);
    run->ending = ending;
    if (has_ended(ending) ||
        sd_event_add_time_relative(run->runs->loop, &ending->timer, CLOCK_MONOTONIC, GRACE_TRY_US,
                                   1, on_try, ending) < 0)
        ending_answer(ending);
    return 0;
}

void runs_end(struct runs *runs, struct request *request, const struct message *m)
{
    struct error error;
    struct run *run;
    uint64_t number, ago_ns;

    if (message_get_u64(m, "RUN", UINT64_MAX, 0, &number, &error) < 0 ||
        message_get_u64(m, "ENDED_AGO", UINT64_MAX, 0, &ago_ns, &error) < 0) {
        request_error(request, "%s", error.text);
        return;
    }
    run = run_find(runs, number, request_uid(request));
    if (!run)
        request_error(request, "there is no run %" PRIu64 " (was jobiod restarted?)", number);
    else if (ending_create(run, request, ago_ns) < 0)
        request_error(request, "no memory for the account of the run");
}
