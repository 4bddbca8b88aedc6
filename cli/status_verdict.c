/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/status_verdict.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/utf8.h"

#define DAY_S 86400
#define HOOKS_NAMED 3 /* a kernel without fentry lacks dozens */

struct findings {
    enum verdict verdict;
    FILE *line;    /* the end of the verdict line: ", 1 of 2 gateways failing" */
    FILE *details; /* lines of their own */
};

static const char *const words[] = {[VERDICT_OK] = "OK",
                                    [VERDICT_DEGRADED] = "DEGRADED",
                                    [VERDICT_NOT_COUNTING] = "NOT COUNTING",
                                    [VERDICT_UNKNOWN] = "UNKNOWN"};

const char *status_verdict_name(enum verdict verdict)
{
    return words[verdict];
}

/* --- reading the document --------------------------------------------------------------------- */

static struct json_object *member(struct json_object *object, const char *name)
{
    struct json_object *value = NULL;

    (void)json_object_object_get_ex(object, name, &value);
    return value;
}

static uint64_t number(struct json_object *object, const char *name)
{
    return json_object_get_uint64(member(object, name));
}

/* NULL: there is none. */
static const char *text(struct json_object *object, const char *name)
{
    struct json_object *value = member(object, name);

    return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
}

static size_t length(struct json_object *array)
{
    return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

/* --- findings --------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void degrade(struct findings *findings,
                                                          const char *format, ...)
{
    va_list args;

    if (findings->verdict < VERDICT_DEGRADED)
        findings->verdict = VERDICT_DEGRADED;
    (void)fputs(", ", findings->line);
    va_start(args, format);
    (void)vfprintf(findings->line, format, args);
    va_end(args);
}

static void add_detail(struct findings *findings, const char *object, const char *why)
{
    _free_ char *safe_object = utf8_sanitize(object ? object : "?");
    _free_ char *safe_why = utf8_sanitize(why ? why : "?");

    (void)fprintf(findings->details, "  %s: %s\n", safe_object ? safe_object : "?",
                  safe_why ? safe_why : "?");
}

/* `one`: the words for 1; `many`: for more. */
static void degrade_if_any(struct findings *findings, uint64_t n, const char *one, const char *many)
{
    if (n)
        degrade(findings, "%" PRIu64 " %s", n, n == 1 ? one : many);
}

/* --- the causes ------------------------------------------------------------------------------- */

/* The backend of the first operation that has one; NULL: none has. */
static const char *find_backend(struct json_object *document)
{
    struct json_object *operations = member(document, "operations");

    if (json_object_is_type(operations, json_type_object)) {
        json_object_object_foreach(operations, name, backend)
        {
            (void)name;
            if (backend && strcmp(json_object_get_string(backend), "none") != 0)
                return json_object_get_string(backend);
        }
    }
    return NULL;
}

/* A hook that this kernel does not need is `absent`. A kernel with tracepoints only does not offer
 * most of them. That does not degrade the node: each report lists what it does not count. */
static void check_hooks(struct findings *findings, struct json_object *document,
                        const char *counting_by)
{
    struct json_object *hooks = member(document, "hooks"), *failed;
    bool tracepoints_only = strcmp(counting_by, "tp_btf") == 0;
    uint64_t missing = 0, missed = 0;

    for (size_t i = 0; i < length(hooks); i++) {
        struct json_object *hook = json_object_array_get_idx(hooks, i);
        struct json_object *absent = member(hook, "absent");
        const char *backend = text(hook, "backend"), *why = text(hook, "why");

        missed += number(hook, "missed");
        if (!backend || strcmp(backend, "none") != 0 || !absent || json_object_get_boolean(absent))
            continue;
        if (missing++ < HOOKS_NAMED && !tracepoints_only)
            add_detail(findings, text(hook, "function"), why ? why : "not attached");
    }
    if (missing && tracepoints_only) {
        (void)fprintf(findings->line, ", %" PRIu64 " hooks not possible on this kernel", missing);
        missing = 0;
    }
    if (missing > HOOKS_NAMED)
        (void)fprintf(findings->details, "  %" PRIu64 " more: jobio status --full\n",
                      missing - HOOKS_NAMED);
    degrade_if_any(findings, missing, "hook missing", "hooks missing");
    /* A total of the kernel, which a restart of jobiod does not reset: the reports of the jobs in
     * question say it. */
    if (missed)
        (void)fprintf(findings->line, ", %" PRIu64 " missed", missed);
    failed = member(member(document, "self_test"), "failed");
    degrade_if_any(findings, length(failed), "operation failed the self-test",
                   "operations failed the self-test");
}

static void check_parts(struct findings *findings, struct json_object *document)
{
    struct json_object *parts = member(document, "degraded");

    if (!json_object_is_type(parts, json_type_object))
        return;
    json_object_object_foreach(parts, name, why)
    {
        _free_ char *safe = utf8_sanitize(name);

        degrade(findings, "[%s] not working", safe ? safe : "?");
        add_detail(findings, name, json_object_get_string(why));
    }
}

static void check_store(struct findings *findings, struct json_object *document)
{
    struct json_object *store = member(document, "store"), *queues = member(document, "queues");
    const char *error = text(store, "error"), *retention = text(document, "retention_error");
    uint64_t failures = number(queues, "store_failures") + number(queues, "save_failures");

    if (error) {
        degrade(findings, "store not readable");
        add_detail(findings, "store", error);
    }
    /* Failed writes are repeated: they matter while rows are not in the store. */
    if (failures && (number(member(document, "steps"), "unsaved") || number(queues, "store")))
        degrade(findings, "store cannot be written (%" PRIu64 " failed writes)", failures);
    if (retention) {
        degrade(findings, "retention failing");
        add_detail(findings, "retention", retention);
    }
    degrade_if_any(findings, number(store, "deleted_early"), "job deleted early",
                   "jobs deleted early");
}

static bool is_failing(struct json_object *target)
{
    const char *state = text(target, "state");

    return state && strcmp(state, "new") != 0 && strcmp(state, "ok") != 0;
}

/* The time of day, with the date if that was not within the last day; "never" for 0. */
static const char *format_time(uint64_t seconds, char *buffer, size_t size)
{
    time_t when = (time_t)seconds, now = time(NULL);
    struct tm tm;

    if (!seconds || !localtime_r(&when, &tm) ||
        !strftime(buffer, size, now - when < DAY_S ? "%H:%M" : "%Y-%m-%d %H:%M", &tm))
        return "never";
    return buffer;
}

static void add_target(struct findings *findings, const char *name, struct json_object *target)
{
    const char *url = text(target, "url"), *error = text(target, "last_error");

    add_detail(findings, url ? url : name, error && *error ? error : text(target, "state"));
}

static void check_gateways(struct findings *findings, struct json_object *document)
{
    struct json_object *delivery = member(document, "delivery");
    struct json_object *targets = member(delivery, "targets");
    uint64_t failing = 0, success = 0;
    char when[32];

    for (size_t i = 0; i < length(targets); i++) {
        struct json_object *target = json_object_array_get_idx(targets, i);

        if (!is_failing(target))
            continue;
        if (!failing || number(target, "last_success") < success)
            success = number(target, "last_success");
        failing++;
        add_target(findings, "gateway", target);
    }
    if (failing)
        degrade(findings, "%" PRIu64 " of %zu gateways failing (last success: %s)", failing,
                length(targets), format_time(success, when, sizeof(when)));
    degrade_if_any(findings, number(delivery, "given_up"), "job not delivered",
                   "jobs not delivered");
}

/* A target of ended steps, and the members that count what it will never have. */
struct sink {
    const char *name;
    struct {
        const char *member, *singular, *plural;
    } losses[3];
};

static void check_sink(struct findings *findings, const struct sink *sink,
                       struct json_object *target)
{
    char when[32];

    if (is_failing(target)) {
        degrade(findings, "%s failing (last success: %s)", sink->name,
                format_time(number(target, "last_success"), when, sizeof(when)));
        add_target(findings, sink->name, target);
    }
    for (size_t i = 0; i < ARRAY_SIZE(sink->losses) && sink->losses[i].member; i++)
        degrade_if_any(findings, number(target, sink->losses[i].member), sink->losses[i].singular,
                       sink->losses[i].plural);
}

static void check_sinks(struct findings *findings, struct json_object *document)
{
    static const struct sink history = {
        "history",
        {{"refused", "step refused by the history", "steps refused by the history"},
         {"given_up", "step missing in the history", "steps missing in the history"}}};
    static const struct sink traces = {"collector of traces",
                                       {{"refusals", "request refused by the collector of traces",
                                         "requests refused by the collector of traces"},
                                        {"rejected", "span rejected by the collector of traces",
                                         "spans rejected by the collector of traces"},
                                        {"given_up", "trace deleted before its delivery",
                                         "traces deleted before their delivery"}}};

    check_sink(findings, &history, member(document, "history"));
    check_sink(findings, &traces, member(member(document, "trace"), "delivery"));
}

static void check_textfile(struct findings *findings, struct json_object *document)
{
    const char *error = text(member(document, "metrics"), "textfile_error");

    if (!error)
        return;
    degrade(findings, "textfile failing");
    add_detail(findings, "textfile", error);
}

static void check_counting(struct findings *findings, struct json_object *document)
{
    const char *not_counted = text(document, "not_counted"), *backend = find_backend(document);
    _free_ char *safe = NULL;

    if (not_counted || !backend) {
        findings->verdict = VERDICT_NOT_COUNTING;
        safe = utf8_sanitize(not_counted ? not_counted : "no operation has a hook");
        (void)fputs(safe ? safe : "?", findings->line);
        return;
    }
    safe = utf8_sanitize(backend);
    (void)fprintf(findings->line, "counting by %s, %" PRIu64 " lost", safe ? safe : "?",
                  number(document, "lost"));
    if (number(document, "lost"))
        findings->verdict = VERDICT_DEGRADED;
    check_hooks(findings, document, backend);
}

static void check_room(struct findings *findings, struct json_object *document)
{
    const char *failure = text(document, "counters_failure");

    if (!failure)
        return;
    degrade(findings, "no room for more counters");
    add_detail(findings, "counters", failure);
}

static void check_block(struct findings *findings, struct json_object *document)
{
    const char *failure = text(member(document, "block"), "not_counted");

    if (!failure)
        return;
    degrade(findings, "block requests not counted");
    add_detail(findings, "block", failure);
}

/* Steps that began before the plugin was there are among them. */
static void check_plugin(struct findings *findings, struct json_object *document)
{
    struct json_object *steps = member(document, "steps");
    const char *example = text(steps, "untagged_example");
    uint64_t n = number(steps, "untagged");

    if (!n)
        return;
    degrade(findings, "%" PRIu64 " running %s not counted", n, n == 1 ? "step is" : "steps are");
    add_detail(
        findings, example,
        "not tagged, or refused (see the log of jobiod): is jobio.so in the plugstack.conf of "
        "this node?");
}

enum verdict status_verdict_get(struct json_object *document, char **line, char **details)
{
    size_t line_size, details_size;
    struct findings findings = {.verdict = VERDICT_OK};

    *line = *details = NULL;
    if (!(findings.line = open_memstream(line, &line_size)))
        return VERDICT_UNKNOWN;
    if (!(findings.details = open_memstream(details, &details_size))) {
        (void)fclose(findings.line);
        return VERDICT_UNKNOWN;
    }
    check_counting(&findings, document);
    check_room(&findings, document);
    check_block(&findings, document);
    check_plugin(&findings, document);
    check_parts(&findings, document);
    check_store(&findings, document);
    check_gateways(&findings, document);
    check_sinks(&findings, document);
    check_textfile(&findings, document);
    return fclose(findings.line) | fclose(findings.details) ? VERDICT_UNKNOWN : findings.verdict;
}

enum verdict status_verdict_print(struct json_object *document, FILE *out)
{
    _free_ char *line = NULL, *details = NULL;
    enum verdict verdict = status_verdict_get(document, &line, &details);

    (void)fprintf(out, "%s: %s\n%s", words[verdict], line ? line : "no memory",
                  details ? details : "");
    return verdict;
}
