/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/deliver/target.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "collector/http/backoff.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/tree.h"

static const char *const state_names[] = {"new", "ok", "backoff", "rejected", "misconfigured"};

uint64_t target_real_ns(const struct target *target)
{
    return target->pace.realtime_ns ? target->pace.realtime_ns() : clock_ns(CLOCK_REALTIME);
}

void target_say(struct target *target, enum log_level level, const char *format, ...)
{
    char text[1024];
    va_list list;

    va_start(list, format);
    (void)vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    target->queue->say(target, level, text);
}

/* --- when ------------------------------------------------------------------------------------- */

void target_wake_at(struct target *target, uint64_t due_ns)
{
    target->due_ns = due_ns;
    if (target->stopped)
        return;
    (void)sd_event_source_set_time(target->timer, due_ns / 1000);
    (void)sd_event_source_set_enabled(target->timer,
                                      due_ns == UINT64_MAX ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
}

void target_wake_in(struct target *target, uint64_t ns)
{
    target_wake_at(target, ns == UINT64_MAX ? ns : clock_ns(CLOCK_BOOTTIME) + ns);
}

static int on_due(sd_event_source *source, uint64_t usec, void *arg)
{
    struct target *target = arg;

    (void)source, (void)usec;
    target->queue->due(target);
    return 0;
}

/* --- success and failure ---------------------------------------------------------------------- */

void target_worked(struct target *target)
{
    if (target->said)
        target_say(target, LOG_LEVEL_INFO, "%s %s: works again after %" PRIu64 " failures",
                   target->what, target->name, target->failures_in_a_row);
    target->said = target->unsaid = false;
    target->state = TARGET_OK;
    target->failures_in_a_row = 0;
    target->last_error[0] = '\0';
}

static uint64_t wait_after(const struct target *target, const struct target_failure *failure)
{
    const struct target_pace *pace = &target->pace;
    uint64_t failures = target->failures_in_a_row, least = failure->retry_after_s, wait;

    if (failure->max_failures && failures > failure->max_failures)
        failures = failure->max_failures;
    wait = failure->state == TARGET_BACKOFF
               ? backoff_wait(pace->backoff_ns, pace->slow_ns, failures)
               : backoff_jittered(pace->slow_ns);
    if (least > BACKOFF_RETRY_AFTER_MAX)
        least = BACKOFF_RETRY_AFTER_MAX;
    return wait < least * NS_PER_S ? least * NS_PER_S : wait;
}

/* One line for each kind of failure, and not each time for a target that comes and goes. What needs
 * an operator does not wait for the end of the quiet time after another failure. */
static void log_failure(struct target *target, uint64_t now)
{
    bool is_urgent = target->state == TARGET_MISCONFIGURED;
    uint64_t last = is_urgent ? target->urgent_ns : target->said_ns;

    if (!target->unsaid || (last && now - last < target->pace.quiet_ns))
        return;
    target->unsaid = false;
    target->said = true;
    target->said_ns = now;
    if (is_urgent)
        target->urgent_ns = now;
    target_say(target, target->state == TARGET_BACKOFF ? LOG_LEVEL_WARNING : LOG_LEVEL_ERROR,
               "%s %s: %s; next try in %" PRIu64 " s", target->what, target->name,
               target->last_error, (target->due_ns - now + NS_PER_S / 2) / NS_PER_S);
}

void target_failed(struct target *target, const struct target_failure *failure)
{
    uint64_t now = clock_ns(CLOCK_BOOTTIME), due;

    target->unsaid |= target->state != failure->state;
    target->state = failure->state;
    target->failures++;
    target->failures_in_a_row++;
    if (failure->why != target->last_error)
        (void)snprintf(target->last_error, sizeof(target->last_error), "%s", failure->why);
    due = now + wait_after(target, failure);
    target_wake_at(target, due < failure->not_before_ns ? failure->not_before_ns : due);
    log_failure(target, now);
}

/* --- a request -------------------------------------------------------------------------------- */

static void settle(struct target *target, enum answer answer, uint64_t retry_after_s,
                   const char *why)
{
    _free_ struct answer_verdict *verdicts = TAKE_PTR(target->verdicts);
    const struct target_result result = {answer, verdicts, retry_after_s, why};

    target->busy = false;
    target->queue->settle(target, &result);
}

void target_judged(struct target *target, enum answer answer, const char *why)
{
    if (answer == ANSWER_RETRY && target->kind->trusted)
        answer = ANSWER_WAIT;
    if (!target->stopped)
        settle(target, answer, 0, why);
}

static enum answer judge(struct target *target, const struct http_answer *answer,
                         char why[ANSWER_WHY_MAX])
{
    if (!answer->code) {
        enum answer result = answer_of_silence(answer);

        answer_describe(why, 0, "", answer->text);
        return result == ANSWER_MISCONFIGURED && target->kind->trusted ? ANSWER_WAIT : result;
    }
    if (target->kind->verdicts) {
        target->verdicts = calloc(target->rows + 1, sizeof(*target->verdicts));
        (void)snprintf(why, ANSWER_WHY_MAX, "out of memory");
        if (!target->verdicts)
            return ANSWER_WAIT;
    }
    return target->kind->judge(target, answer, target->rows, target->verdicts, why);
}

static void on_answer(const struct http_answer *answer, void *arg)
{
    struct target *target = arg;
    char why[ANSWER_WHY_MAX] = "";
    enum answer result;

    if (target->stopped)
        return;
    target->last_code = answer->code;
    result = judge(target, answer, why);
    if (result == ANSWER_RETRY && target->kind->trusted)
        result = ANSWER_WAIT;
    if (result != ANSWER_PENDING)
        settle(target, result, answer->retry_after_s, why);
}

int target_post(struct target *target, void *body, size_t size, struct error *error)
{
    const struct http_request request = {
        .method = target->kind->method,
        .url = target->url,
        .headers = target->kind->headers,
        .answer_max = target->options.answer_max,
        .mark = target->kind->mark,
        .body = body,
        .size = size,
    };

    return http_client_send(target->client, &request, on_answer, target, error);
}

static int start(struct target *target, struct error *error)
{
    void *body = NULL;
    size_t size = 0;
    int r = target->queue->body(target, &body, &size, error);

    if (r < 0)
        return r;
    return target->kind->request ? target->kind->request(target, body, size, error)
                                 : target_post(target, body, size, error);
}

void target_send(struct target *target, size_t rows)
{
    struct error error;

    target->started_ns = clock_ns(CLOCK_BOOTTIME);
    target->last_attempt_s = target_real_ns(target) / NS_PER_S;
    target->requests++;
    target->rows = rows;
    target->busy = true;
    if (start(target, &error) < 0) {
        target->last_code = 0;
        settle(target, ANSWER_WAIT, 0, error.text);
    }
}

/* --- deletion --------------------------------------------------------------------------------- */

static void on_removed(const struct http_answer *answer, void *arg)
{
    struct target *target = arg;
    char why[ANSWER_WHY_MAX] = "";
    enum answer result;

    target->busy = false;
    target->last_code = answer->code;
    target->rows = 0;
    result = judge(target, answer, why);
    target->removed(target, result == ANSWER_OK ? NULL : why);
}

void target_remove(struct target *target, target_removed_f done)
{
    const struct http_request request = {.method = target->kind->remove, .url = target->url};
    struct error error;

    target->busy = true;
    target->removed = done;
    if (http_client_send(target->client, &request, on_removed, target, &error) < 0) {
        target->busy = false;
        done(target, error.text);
    }
}

/* --- start and end ---------------------------------------------------------------------------- */

static int copy(const char **text)
{
    *text = *text ? strdup(*text) : NULL;
    return *text ? 0 : -ENOMEM;
}

static int copy_options(struct target *target, const struct target_options *options)
{
    const char **const texts[] = {&target->options.url,      &target->options.cluster,
                                  &target->options.instance, &target->options.table,
                                  &target->options.action,   &target->options.parameters};
    int r = 0;

    target->options = *options;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        if (*texts[i] && copy(texts[i]) < 0)
            r = -ENOMEM;
    return r;
}

char *target_make_url(const struct target_kind *kind, const struct target_options *options)
{
    size_t length = strlen(options->url), size;
    char *url = NULL;
    FILE *out = open_memstream(&url, &size);

    if (!out)
        return NULL;
    while (kind->write_url && length && options->url[length - 1] == '/')
        length--;
    (void)fprintf(out, "%.*s", (int)length, options->url);
    if (kind->write_url)
        kind->write_url(out, options);
    if (fclose(out) != 0) {
        free(url);
        return NULL;
    }
    return url;
}

int target_init(struct target *target, sd_event *loop, const char *name,
                const struct target_options *options, struct error *error)
{
    int r = copy_options(target, options);

    target->due_ns = UINT64_MAX;
    target->name = strdup(name ? name : options->url);
    target->url = r < 0 ? NULL : target_make_url(target->kind, options);
    if (!target->name || !target->url)
        return error_errno(error, -ENOMEM, "deliver to \"%s\"", options->url);
    /* 20 ms of slack let the loop wake once for several targets. */
    r = sd_event_add_time(loop, &target->timer, CLOCK_BOOTTIME, 0, 20000, on_due, target);
    if (r >= 0)
        r = sd_event_source_set_enabled(target->timer, SD_EVENT_OFF);
    return r < 0 ? error_errno(error, r, "deliver to \"%s\"", options->url) : 0;
}

void target_stop(struct target *target)
{
    target->stopped = true;
    target->timer = sd_event_source_disable_unref(target->timer);
}

void target_clear(struct target *target)
{
    target_stop(target);
    free(target->verdicts);
    free(target->name);
    free(target->url);
    free((char *)target->options.url);
    free((char *)target->options.cluster);
    free((char *)target->options.instance);
    free((char *)target->options.table);
    free((char *)target->options.action);
    free((char *)target->options.parameters);
}

/* --- status ----------------------------------------------------------------------------------- */

struct json_object *target_status(struct tree *tree, const struct target *target,
                                  const char *sending, const char *requests)
{
    struct json_object *status = tree_object(tree);
    uint64_t now = clock_ns(CLOCK_BOOTTIME);

    tree_put_text(tree, status, "url", target->name);
    tree_put_text(tree, status, "state", state_names[target->state]);
    tree_put_bool(tree, status, sending, target->busy);
    tree_put_text(tree, status, "last_error", target->last_error);
    tree_put_u64(tree, status, "last_code", (uint64_t)target->last_code);
    tree_put_u64(tree, status, "last_attempt", target->last_attempt_s);
    tree_put_u64(tree, status, "last_success", target->last_success_s);
    tree_put_u64(tree, status, requests, target->requests);
    tree_put_u64(tree, status, "failures", target->failures);
    tree_put_u64(tree, status, "failures_in_a_row", target->failures_in_a_row);
    tree_put_u64(tree, status, "next_s",
                 target->due_ns > now ? (target->due_ns - now) / NS_PER_S : 0);
    return status;
}
