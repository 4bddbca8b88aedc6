/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>

#include "collector/deliver/node_queue_impl.h"
#include "collector/deliver/pushgateway.h"
#include "collector/http/backoff.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/utf8.h"

static const char *const state_names[] = {"new", "ok", "backoff", "rejected", "misconfigured"};

static void target_wake_at(struct target *target, uint64_t due_ns)
{
    target->due_ns = due_ns;
    (void)sd_event_source_set_time(target->timer, due_ns / 1000);
    (void)sd_event_source_set_enabled(target->timer, SD_EVENT_ONESHOT);
}

/* When to push because a job has ended. */
static uint64_t end_due(const struct target *target)
{
    const struct deliver_options *options = &target->deliver->options;
    uint64_t now = clock_ns(CLOCK_BOOTTIME);

    if (target->started_ns == 0)
        return now + backoff_random(options->spread_ns);
    return max_u64(now + backoff_random(options->spread_ns), target->started_ns + options->gap_ns);
}

static void target_succeeded(struct target *target)
{
    struct deliver *deliver = target->deliver;
    uint64_t now = deliver_real_ns(deliver);

    if (target->said)
        deliver_say(deliver, LOG_LEVEL_INFO, "push to %s: works again after %" PRIu64 " failures",
                    target->url, target->failures_in_a_row);
    target->said = target->unsaid = false;
    target->state = TARGET_OK;
    target->failures_in_a_row = 0;
    target->last_error[0] = '\0';
    target->last_success_s = now / NS_PER_S;
    for (struct outbox_job *job = outbox_first(deliver->outbox); job; job = outbox_next(job)) {
        struct outbox_slot *slot = &job->slots[target->index];

        if (!slot->sent)
            continue;
        slot->sent = false;
        if (slot->state != OUTBOX_PENDING)
            continue;
        slot->state = OUTBOX_LINGERING;
        slot->acked_ns = now;
        deliver_keep(deliver, job, false);
    }
    target_wake_at(target, target->dirty ? end_due(target)
                                         : target->started_ns +
                                               backoff_jittered(deliver->options.interval_ns));
}

/* Once for each kind of failure, and not at every turn of a gateway that comes and goes. */
static void tell_failure(struct target *target, uint64_t now)
{
    struct deliver *deliver = target->deliver;

    if (!target->unsaid || (target->said_ns && now - target->said_ns < deliver->options.say_ns))
        return;
    target->unsaid = false;
    target->said = true;
    target->said_ns = now;
    deliver_say(deliver, target->state == TARGET_BACKOFF ? LOG_LEVEL_WARNING : LOG_LEVEL_ERROR,
                "push to %s: %s; next try in %" PRIu64 " s", target->url, target->last_error,
                (target->due_ns - now + NS_PER_S / 2) / NS_PER_S);
}

static void target_failed(struct target *target, enum target_state state, uint64_t retry_after_s,
                          const char *why)
{
    struct deliver *deliver = target->deliver;
    uint64_t now = clock_ns(CLOCK_BOOTTIME), wait;

    for (struct outbox_job *job = outbox_first(deliver->outbox); job; job = outbox_next(job))
        job->slots[target->index].sent = false;
    target->unsaid |= target->state != state;
    target->state = state;
    target->failures++;
    target->failures_in_a_row++;
    snprintf(target->last_error, sizeof(target->last_error), "%s", why);
    wait = state == TARGET_BACKOFF
               ? backoff_wait(deliver->options.backoff_ns, deliver->options.slow_ns,
                              target->failures_in_a_row)
               : backoff_jittered(deliver->options.slow_ns);
    if (retry_after_s > BACKOFF_RETRY_AFTER_MAX)
        retry_after_s = BACKOFF_RETRY_AFTER_MAX;
    wait = max_u64(wait, retry_after_s * NS_PER_S);
    target_wake_at(target, max_u64(now + wait, target->started_ns + deliver->options.gap_ns));
    tell_failure(target, now);
}

static void answer_text(const struct http_answer *answer, char text[HTTP_TEXT_MAX + 56])
{
    _free_ char *safe = utf8_sanitize(answer->text);

    if (answer->code == 0)
        snprintf(text, HTTP_TEXT_MAX + 56, "%s", safe ? safe : "no answer");
    else
        snprintf(text, HTTP_TEXT_MAX + 56, "HTTP %ld%s%s", answer->code, safe && *safe ? ": " : "",
                 safe ? safe : "");
}

static void on_deleted(const struct http_answer *answer, void *arg)
{
    struct target *target = arg;
    bool failed = pushgateway_outcome(answer) != PUSH_OK;
    char text[HTTP_TEXT_MAX + 56];

    target->busy = false;
    target->last_code = answer->code;
    answer_text(answer, text);
    deliver_retired(target, failed, failed ? text : "deleted");
}

static void target_delete(struct target *target)
{
    const struct http_request request = {.method = "DELETE", .url = target->group_url};
    struct error error;

    target->retiring = false;
    if (target->import) {
        deliver_retired(target, false, "nothing to delete: its series end by themselves");
        return;
    }
    target->busy = true;
    if (http_client_send(target->deliver->client, &request, on_deleted, target, &error) < 0) {
        target->busy = false;
        deliver_retired(target, true, error.text);
    }
}

static void on_pushed(const struct http_answer *answer, void *arg)
{
    static const enum target_state states[] = {
        [PUSH_RETRY] = TARGET_BACKOFF,
        [PUSH_REJECTED] = TARGET_REJECTED,
        [PUSH_MISCONFIGURED] = TARGET_MISCONFIGURED,
    };
    struct target *target = arg;
    enum push_outcome outcome = pushgateway_outcome(answer);
    char text[HTTP_TEXT_MAX + 56];

    target->busy = false;
    target->last_code = answer->code;
    answer_text(answer, text);
    if (outcome == PUSH_OK)
        target_succeeded(target);
    else
        target_failed(target, states[outcome], answer->retry_after_s, text);
    if (target->retiring)
        target_delete(target);
}

/* The jobs of the body for one target: all that run, and the first that it still has to show. */
static size_t select_jobs(struct target *target, const struct prometheus_node *node,
                          const struct job_account **ret)
{
    struct deliver *deliver = target->deliver;
    size_t n = 0, ended = 0;

    for (size_t i = 0; i < node->n_jobs; i++)
        if (!node->jobs[i]->ended)
            ret[n++] = node->jobs[i];
    for (struct outbox_job *job = outbox_first(deliver->outbox);
         job && ended < deliver->options.max_ended; job = outbox_next(job)) {
        const struct job_account *found = job->found;
        struct outbox_slot *slot = &job->slots[target->index];

        if (!found || !found->ended || slot->state == OUTBOX_DONE)
            continue;
        slot->sent = true;
        ret[n++] = found;
        ended++;
    }
    return n;
}

static int target_send(struct target *target, const struct prometheus_node *node,
                       struct error *error)
{
    struct prometheus_node part = *node;
    struct http_request request = {.method = target->import ? "POST" : "PUT",
                                   .url = target->group_url,
                                   .headers = pushgateway_headers};
    _free_ const struct job_account **jobs = calloc(node->n_jobs + 1, sizeof(*jobs));
    _free_ char *text = NULL;

    if (!jobs)
        return error_errno(error, -ENOMEM, "body");
    part.n_jobs = select_jobs(target, node, jobs);
    part.jobs = jobs;
    text = report_prometheus(&part);
    if (!text || pushgateway_compress(text, &request.body, &request.size) < 0)
        return error_errno(error, -ENOMEM, "body");
    return http_client_send(target->deliver->client, &request, on_pushed, target, error);
}

void target_push(struct target *target, const struct prometheus_node *node)
{
    struct error error;

    target->started_ns = clock_ns(CLOCK_BOOTTIME);
    target->last_attempt_s = deliver_real_ns(target->deliver) / NS_PER_S;
    target->pushes++;
    target->busy = true;
    if (target_send(target, node, &error) < 0) {
        target->busy = false;
        target->last_code = 0;
        target_failed(target, TARGET_BACKOFF, 0, error.text);
    }
}

void target_unable(struct target *target, const char *why)
{
    target->last_code = 0;
    target_failed(target, TARGET_BACKOFF, 0, why);
}

void target_retire(struct target *target)
{
    target->queued = false;
    if (target->busy)
        target->retiring = true;
    else
        target_delete(target);
}

bool target_is_idle(const struct target *target)
{
    return !target->busy && !target->asked && !target->queued;
}

void target_hurry(struct target *target)
{
    uint64_t due = end_due(target);

    target->dirty = true;
    if (target_is_idle(target) && target->failures_in_a_row == 0 && due < target->due_ns)
        target_wake_at(target, due);
}

void target_start(struct target *target)
{
    target_wake_at(target,
                   clock_ns(CLOCK_BOOTTIME) + backoff_random(target->deliver->options.first_ns));
}

void target_requeue(struct target *target)
{
    target_wake_at(target, clock_ns(CLOCK_BOOTTIME));
}

static int on_due(sd_event_source *source, uint64_t usec, void *arg)
{
    struct target *target = arg;

    (void)source;
    (void)usec;
    if (target->deliver->retired || target->busy || target->asked)
        return 0;
    target->queued = true;
    deliver_gather(target->deliver);
    return 0;
}

int target_init(struct target *target, struct deliver *deliver, sd_event *loop, const char *url,
                const struct deliver_options *options)
{
    int rc;

    target->deliver = deliver;
    target->url = strdup(url);
    target->import = pushgateway_is_import(url);
    target->group_url = target->import
                            ? pushgateway_import_url(url)
                            : pushgateway_group_url(url, options->cluster, options->instance);
    if (!target->url || !target->group_url)
        return -ENOMEM;
    /* 20 ms of slack let the loop wake once for several gateways. */
    rc = sd_event_add_time(loop, &target->timer, CLOCK_BOOTTIME, 0, 20000, on_due, target);
    return rc < 0 ? rc : sd_event_source_set_enabled(target->timer, SD_EVENT_OFF);
}

void target_clear(struct target *target)
{
    sd_event_source_disable_unref(target->timer);
    free(target->url);
    free(target->group_url);
}

static void count_jobs(const struct target *target, int64_t *pending, int64_t *lingering)
{
    struct outbox_job *job = outbox_first(target->deliver->outbox);

    for (*pending = *lingering = 0; job; job = outbox_next(job)) {
        *pending += job->slots[target->index].state == OUTBOX_PENDING;
        *lingering += job->slots[target->index].state == OUTBOX_LINGERING;
    }
}

static void add_number(struct json_object *to, const char *name, uint64_t value)
{
    json_object_object_add(to, name, json_object_new_int64((int64_t)value));
}

struct json_object *target_status(const struct target *target)
{
    struct json_object *status = json_object_new_object();
    uint64_t now = clock_ns(CLOCK_BOOTTIME);
    int64_t pending, lingering;

    if (!status)
        return NULL;
    count_jobs(target, &pending, &lingering);
    json_object_object_add(status, "url", json_object_new_string(target->url));
    json_object_object_add(status, "state", json_object_new_string(state_names[target->state]));
    json_object_object_add(status, "pushing", json_object_new_boolean(target->busy));
    json_object_object_add(status, "last_error", json_object_new_string(target->last_error));
    add_number(status, "last_code", (uint64_t)target->last_code);
    add_number(status, "last_attempt", target->last_attempt_s);
    add_number(status, "last_success", target->last_success_s);
    add_number(status, "pushes", target->pushes);
    add_number(status, "failures", target->failures);
    add_number(status, "failures_in_a_row", target->failures_in_a_row);
    add_number(status, "next_s", target->due_ns > now ? (target->due_ns - now) / NS_PER_S : 0);
    add_number(status, "pending", (uint64_t)pending);
    add_number(status, "lingering", (uint64_t)lingering);
    return status;
}
