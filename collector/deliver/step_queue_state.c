/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the sink does: what is said of it, and when to try again. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "collector/http/backoff.h"
#include "collector/deliver/step_queue_impl.h"
#include "common/clock.h"

void sink_say(struct sink *sink, enum log_level level, const char *format, ...)
{
    char text[768];
    va_list list;

    va_start(list, format);
    (void)vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    sink->hooks.say(level, text, sink->hooks.arg);
}

void sink_wake_in(struct sink *sink, uint64_t ns)
{
    sink->due_ns = clock_ns(CLOCK_BOOTTIME) + ns;
    (void)sd_event_source_set_time(sink->timer, sink->due_ns / 1000);
    (void)sd_event_source_set_enabled(sink->timer, SD_EVENT_ONESHOT);
}

/* A sink that comes and goes does not fill the log: a line of each kind a minute. */
#define QUIET_NS NS_PER_MINUTE
enum { NEWS_FAILS, NEWS_WORKS };

static bool may_say(struct sink *sink, int news)
{
    uint64_t now = clock_ns(CLOCK_BOOTTIME);

    if (now < sink->quiet_ns[news])
        return false;
    sink->quiet_ns[news] = now + QUIET_NS;
    return true;
}

static uint64_t wait_after(const struct sink *sink, const struct sink_failure *failure)
{
    uint64_t level = sink->failures_in_a_row, wait, least = failure->retry_after_s;

    if (failure->smaller && level > SINK_TRIES)
        level = SINK_TRIES;
    wait = failure->state == SINK_BACKOFF
               ? backoff_wait(sink->options.backoff_ns, sink->options.slow_ns, level)
               : backoff_jittered(sink->options.slow_ns);
    if (least > BACKOFF_RETRY_AFTER_MAX)
        least = BACKOFF_RETRY_AFTER_MAX;
    return wait < least * NS_PER_S ? least * NS_PER_S : wait;
}

void sink_failed(struct sink *sink, const struct sink_failure *failure)
{
    bool news = sink->state != failure->state;
    uint64_t wait;

    sink->state = failure->state;
    sink->failures++;
    sink->failures_in_a_row++;
    (void)snprintf(sink->last_error, sizeof(sink->last_error), "%s", failure->why);
    wait = wait_after(sink, failure);
    sink_wake_in(sink, wait);
    if (news && (failure->state == SINK_STUCK || may_say(sink, NEWS_FAILS)))
        sink_say(sink, failure->state == SINK_BACKOFF ? LOG_LEVEL_WARNING : LOG_LEVEL_ERROR,
                 "history to %s: %s; next try in %" PRIu64 " s", sink->url, sink->last_error,
                 (wait + NS_PER_S / 2) / NS_PER_S);
}

void sink_worked(struct sink *sink)
{
    if (sink->failures_in_a_row && may_say(sink, NEWS_WORKS))
        sink_say(sink, LOG_LEVEL_INFO, "history to %s: works again after %" PRIu64 " failures",
                 sink->url, sink->failures_in_a_row);
    sink->state = SINK_WORKS;
    sink->failures_in_a_row = 0;
    sink->last_error[0] = '\0';
}

/* Rows, not all of them. */
void sink_took(struct sink *sink)
{
    sink->refusals_in_a_row = 0;
    sink->taken = true;
    sink->last_success_s = (uint64_t)time(NULL);
}

/* --- status ------------------------------------------------------------------------------------
 */

static const char *const state_names[] = {"new", "ok", "backoff", "misconfigured"};

static void add_number(struct json_object *to, const char *name, uint64_t value)
{
    (void)json_object_object_add(to, name, json_object_new_int64((int64_t)value));
}

static void add_text(struct json_object *to, const char *name, const char *value)
{
    (void)json_object_object_add(to, name, json_object_new_string(value));
}

void sink_counts(const struct sink *sink, struct sink_counts *ret)
{
    *ret = (struct sink_counts){sink->requests, sink->failures, sink->last_success_s};
}

struct json_object *sink_status(const struct sink *sink)
{
    struct json_object *status = json_object_new_object();
    uint64_t now = clock_ns(CLOCK_BOOTTIME);

    if (!status)
        return NULL;
    add_text(status, "url", sink->url);
    add_text(status, "format", sink_format_name(sink->options.format));
    add_text(status, "state", state_names[sink->state]);
    (void)json_object_object_add(status, "sending", json_object_new_boolean(sink->sending));
    add_number(status, "last_code", (uint64_t)sink->last_code);
    add_text(status, "last_error", sink->last_error);
    add_number(status, "last_attempt", sink->last_attempt_s);
    add_number(status, "last_success", sink->last_success_s);
    add_number(status, "requests", sink->requests);
    add_number(status, "failures", sink->failures);
    add_number(status, "failures_in_a_row", sink->failures_in_a_row);
    add_number(status, "steps", sink->steps);
    add_number(status, "rows", sink->rows);
    add_number(status, "refusals", sink->refusals);
    add_number(status, "held", sink->search.n_held);
    add_number(status, "next_s", sink->due_ns > now ? (sink->due_ns - now) / NS_PER_S : 0);
    return status;
}
