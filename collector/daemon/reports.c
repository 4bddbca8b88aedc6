/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/daemon/reports.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include "collector/daemon/baselines.h"
#include "collector/daemon/limited_log.h"
#include "collector/daemon/recorder.h"
#include "collector/peers/peers.h"
#include "collector/track/tracker.h"
#include "common/cleanup.h"
#include "report/advice/advice.h"
#include "report/record/record.h"
#include "report/text/text.h"

/* How long slurmstepd waits in total, from its END on, unless its request has another WITHIN. The
 * answer is sent within that time, even if other nodes or jobio-record do not answer. */
#define WITHIN_MS 2000
#define WITHIN_MS_MAX 120000
#define QUERY_NS(within_ms) ((within_ms)*650000ull)
#define ANSWER_NS(within_ms) ((within_ms)*800000ull)

/* A report whose record is being written. */
struct pending {
    LIST_ENTRY(pending) link;
    struct request *request; /* NULL: answered */
    uint32_t jobid;
    char *text;
    sd_event_source *timer;
};

struct reports {
    struct reports_options options;
    struct advice *advice; /* NULL: none is given */
    LIST_HEAD(, pending) pending;
};

static void pending_free(struct pending *p)
{
    LIST_REMOVE(p, link);
    p->timer = sd_event_source_disable_unref(p->timer);
    free(p->text);
    free(p);
}

static void answer(struct request *request, char *text, const char *record)
{
    struct message *m = malloc(sizeof(*m));

    if (m) {
        message_init(m, "answer");
        (void)message_put(m, "STATUS", "ok");
        (void)message_put(m, "RECORD", record);
    }
    if (m && message_put(m, "TEXT", text) == 0) {
        request_message(request, m);
        free(text);
    } else {
        request_text(request, text, false); /* in several messages, without RECORD */
    }
    free(m);
}

static void answer_pending(struct pending *p, const char *record)
{
    struct request *request = TAKE_PTR(p->request);

    p->timer = sd_event_source_disable_unref(p->timer);
    if (request)
        answer(request, TAKE_PTR(p->text), record);
}

static int on_deadline(sd_event_source *source, uint64_t usec, void *arg)
{
    (void)source, (void)usec;
    answer_pending(arg, "deferred");
    return 0;
}

static void on_recorded(int result, const struct error *error, void *arg)
{
    struct pending *p = arg;

    /* Slurm refuses a record for a job that was cancelled or has timed out. */
    if (result < 0)
        log_limited("record", 60, "job %u: its record cannot be written: %s", p->jobid,
                    error->text);
    answer_pending(p, result < 0 ? "failed" : "written");
    pending_free(p);
}

static int start_timer(struct pending *p, sd_event *loop, uint64_t within_ms)
{
    uint64_t deadline = request_monotonic_ns(p->request) + ANSWER_NS(within_ms);

    return sd_event_add_time(loop, &p->timer, CLOCK_MONOTONIC, deadline / 1000, 10000, on_deadline,
                             p);
}

/* Takes ownership of `request` and `text` if it returns 0. */
static int start_record(struct reports *reports, struct request *request, char *text,
                        const struct job_account *job, uint64_t within_ms, struct error *error)
{
    _free_ char *record = report_record(job, reports->options.settings->record_mpi);
    struct pending *p = calloc(1, sizeof(*p));
    int r;

    if (!record || !p) {
        free(p);
        return error_set(error, -ENOMEM, "no memory for the record");
    }
    p->jobid = job->key.jobid;
    r = recorder_start(reports->options.recorder, p->jobid, job->key.restart, record, on_recorded,
                       p, error);
    if (r < 0) {
        free(p);
        return r;
    }
    LIST_INSERT_HEAD(&reports->pending, p, link);
    p->request = request;
    p->text = text;
    if (reports->options.settings->record == RECORD_DEFERRED ||
        start_timer(p, reports->options.loop, within_ms) < 0)
        answer_pending(p, "deferred");
    return 0;
}

static bool wants_record(const struct reports *reports)
{
    return reports->options.settings->record != RECORD_OFF;
}

/* What to report, and how. */
struct wanted {
    uint32_t jobid, restart;
    struct peers_step step;
    bool so_far; /* at the end of that step; the job continues */
    uint64_t within_ms;
    enum summary summary;
};

static int parse(struct reports *reports, const struct message *m, struct wanted *ret,
                 struct error *error)
{
    const char *word = message_get(m, "SUMMARY");
    int parsed = word ? summary_parse(word) : (int)reports->options.settings->summary;
    const struct {
        const char *name;
        uint64_t max, fallback;
    } fields[] = {
        {"JOBID", UINT32_MAX, 0},
        {"RESTART", UINT32_MAX, 0},
        {"SOFAR", 1, 0},
        {"STEP", UINT32_MAX, 0},
        {"HET", UINT32_MAX, HET_NONE},
        {"WITHIN", WITHIN_MS_MAX, WITHIN_MS},
    };
    uint64_t values[ARRAY_SIZE(fields)];
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(fields) && !r; i++)
        r = message_get_u64(m, fields[i].name, fields[i].max, fields[i].fallback, &values[i],
                            error);
    if (r < 0)
        return r;
    if (!values[0] || parsed < 0)
        return error_set(error, -EINVAL, "JOBID or SUMMARY is missing or bad");
    *ret = (struct wanted){
        .jobid = (uint32_t)values[0],
        .restart = (uint32_t)values[1],
        .so_far = values[2],
        .within_ms = values[5],
        .step = {.step = (uint32_t)values[3],
                 .het = (uint32_t)values[4],
                 .nodes = message_get(m, "STEPNODES")},
        .summary = (enum summary)parsed,
    };
    return 0;
}

/* A report that waits for other nodes. */
struct waiting {
    struct reports *reports;
    struct request *request;
    struct wanted wanted;
};

/* --- the text --------------------------------------------------------------------------------- */

#define MAX_NOTES 3

static void on_mistake(const char *text, void *arg)
{
    (void)arg;
    log_warning("advice: %s", text);
}

int reports_create(struct reports **ret, const struct reports_options *options, struct error *error)
{
    struct reports *reports = calloc(1, sizeof(*reports));
    struct error why;
    int r;

    if (!reports)
        return error_set(error, -ENOMEM, "no memory");
    reports->options = *options;
    r = advice_create(&reports->advice, &why);
    if (!r)
        r = advice_read_directory(reports->advice, advice_directory(), on_mistake, NULL, &why);
    if (r < 0) {
        log_warning("no advice is given: %s", why.text);
        advice_destroy(reports->advice);
        reports->advice = NULL;
    }
    *ret = reports;
    return 0;
}

void reports_stop(struct reports *reports)
{
    struct pending *p = reports ? LIST_FIRST(&reports->pending) : NULL;

    for (; p; p = LIST_NEXT(p, link))
        answer_pending(p, "deferred");
}

void reports_destroy(struct reports *reports)
{
    if (!reports)
        return;
    while (LIST_FIRST(&reports->pending))
        pending_free(LIST_FIRST(&reports->pending));
    advice_destroy(reports->advice);
    free(reports);
}

/* If the advice fails, the text has none; if a rule fails, the text has the notes of the others. */
static char *write_text(struct reports *reports, const struct job_account *job,
                        enum summary summary)
{
    CLEANUP(advice_notes_clear) struct advice_notes notes = {0};
    const struct text_style style = {.notes = &notes};
    struct error error;

    if (summary != SUMMARY_OFF && reports->advice &&
        advice_give(reports->advice, job, MAX_NOTES, &notes, &error) != 0)
        log_limited("advice", 60, "job %u: %s", job->key.jobid, error.text);
    return report_text(job, summary, &style);
}

/* Takes ownership of `job`. */
static void finish(struct reports *reports, struct request *request, const struct wanted *wanted,
                   struct job_account *job)
{
    struct error error;
    char *text;

    baselines_fill(reports->options.baselines, &job->mounts);
    text = write_text(reports, job, wanted->summary);
    if (!text)
        request_error(request, "report: no memory");
    else if (wanted->so_far || !wants_record(reports))
        answer(request, text, "off");
    else if (start_record(reports, request, text, job, wanted->within_ms, &error) < 0) {
        log_warning("job %u: its record cannot be written: %s", job->key.jobid, error.text);
        answer(request, text, "failed");
    }
    job_account_destroy(job);
}

static void on_queried(struct job_account *job, void *arg)
{
    struct waiting *w = arg;

    finish(w->reports, w->request, &w->wanted, job);
    free(w);
}

/* Takes ownership of `job`. */
static void query_or_finish(struct reports *reports, struct request *request,
                            const struct wanted *wanted, struct job_account *job)
{
    bool wants_nodes = !wanted->so_far || wanted->summary != SUMMARY_OFF;
    const char *nodes = reports->options.peers && wants_nodes
                            ? tracker_nodes(reports->options.tracker, &job->key)
                            : NULL;
    struct waiting *w = nodes ? malloc(sizeof(*w)) : NULL;

    if (!w) {
        finish(reports, request, wanted, job);
        return;
    }
    *w = (struct waiting){reports, request, *wanted};
    w->wanted.step.nodes = NULL; /* owned by the message */
    peers_query(reports->options.peers, nodes, wanted->so_far ? &wanted->step : NULL,
                request_monotonic_ns(request) + QUERY_NS(wanted->within_ms), job, on_queried, w);
}

void reports_answer(struct reports *reports, struct request *request, const struct message *m)
{
    struct job_account *job = NULL;
    struct wanted wanted;
    struct error error;
    int r = parse(reports, m, &wanted, &error);

    if (!r)
        r = tracker_report(reports->options.tracker, wanted.jobid, wanted.restart, wanted.so_far,
                           &job, &error);
    if (r < 0) {
        request_refuse(request, "report: %s", error.text);
        return;
    }
    /* With `srun --export=NONE`, the plugin cannot detect that there is a batch script. */
    if (wanted.so_far && tracker_has_batch(reports->options.tracker, &job->key))
        wanted.summary = SUMMARY_OFF;
    /* At the end of the batch script, the report shows the job as ended. */
    job->ended = !wanted.so_far;
    query_or_finish(reports, request, &wanted, job);
}
