/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobiod as a source, with the store (for root), ClickHouse and a jobiod elsewhere behind it. */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/base/conf.h"
#include "cli/base/output.h"
#include "cli/source/clickhouse.h"
#include "cli/source/jobiod_impl.h"
#include "cli/source/node_store.h"
#include "collector/store/array_json.h"
#include "common/cleanup.h"
#include "report/json/json.h"

struct jobiod_source {
    struct source source;
    struct cli cli;
    struct settings *settings; /* owned; those that `cli` refers to; NULL: none */
    struct source *other;      /* owned; used instead of jobiod, which is not running */
    bool answered;             /* jobiod was running: continue with it */
};

static void close_jobiod(struct source *source)
{
    struct jobiod_source *s = (struct jobiod_source *)source;

    source_close(s->other);
    settings_destroy(s->settings);
    free(s);
}

/* The store of this node, for root. *rc is an error if it cannot be opened. */
static bool use_store(struct jobiod_source *s, int *rc, struct error *error)
{
    output_error("jobiod is not running (no answer on %s): reading the store %s directly",
                 s->cli.socket, NODE_STORE_PATH);
    *rc = store_source_open(NODE_STORE_PATH, &s->other, error);
    return *rc == 0;
}

/* The ClickHouse of jobio.conf. False, with *rc and the error as they are: there is none. */
static bool use_clickhouse(struct jobiod_source *s, int *rc, struct error *error)
{
    const char *url = NULL;
    struct error why;
    int found = clickhouse_source_find(&s->cli, &s->other, &url, &why);

    if (found < 0) {
        *rc = found;
        *error = why;
    }
    if (found <= 0)
        return false;
    output_error("jobiod is not running here (no answer on %s): the answer is from ClickHouse, %s",
                 s->cli.socket, url);
    s->source.elsewhere = true;
    *rc = 0;
    return true;
}

/* The jobiod of another host, by [ask] of jobio.conf. False, with *rc as it is: there is none. */
static bool use_remote(struct jobiod_source *s, int *rc)
{
    struct jobiod_source *remote;
    struct source *source = NULL;
    struct error why;

    if (s->cli.history.from || jobiod_source_open(&s->cli, &source, &why) < 0)
        return false;
    remote = (struct jobiod_source *)source;
    if (conf_read(s->cli.history.config, &remote->settings, &why) < 0 ||
        !remote->settings->ask_url) {
        close_jobiod(source);
        return false;
    }
    remote->cli.remote.url = remote->settings->ask_url;
    remote->cli.remote.munge_socket = remote->settings->peers.munge_socket;
    output_error("jobiod is not running here (no answer on %s): asking jobiod at %s", s->cli.socket,
                 remote->cli.remote.url);
    s->source.elsewhere = true;
    s->other = source;
    *rc = 0;
    return true;
}

/* After a query that returned *rc: whether to query another source instead. Otherwise *rc is the
 * result. */
static bool use_other(struct jobiod_source *s, int *rc, struct error *error)
{
    bool is_root = geteuid() == 0;

    if (!jobiod_is_absent(*rc) || s->answered) {
        s->answered |= *rc >= 0;
        return false;
    }
    if (is_root && access(NODE_STORE_PATH, F_OK) == 0)
        return use_store(s, rc, error);
    if (use_clickhouse(s, rc, error))
        return true;
    if (jobiod_is_absent(*rc) && use_remote(s, rc))
        return true;
    return is_root && jobiod_is_absent(*rc) && use_store(s, rc, error);
}

/* --- jobs ------------------------------------------------------------------------------------- */

static int parse_jobs(struct json_object *documents, struct job_account ***ret, struct error *error)
{
    size_t n;
    struct job_account **jobs;
    int rc = 0;

    if (!json_object_is_type(documents, json_type_array))
        return error_set(error, -EBADMSG, "the answer of jobiod is not a JSON array");
    n = json_object_array_length(documents);
    jobs = calloc(n + 1, sizeof(struct job_account *));
    if (!jobs)
        return error_errno(error, -ENOMEM, "read the answer");
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = report_json_parse(json_object_array_get_idx(documents, i), &jobs[i], error);
    if (rc == 0)
        *ret = jobs;
    else
        store_jobs_free(jobs);
    return rc;
}

static int ask_jobs(const struct cli *cli, const struct jobid *id, bool all, unsigned parts,
                    struct job_account ***ret, struct error *error)
{
    struct json_object *documents = NULL;
    struct message m;
    int rc;

    message_init(&m, "query-job");
    (void)message_put_u64(&m, "JOBID", id->job);
    if (id->has_task)
        (void)message_put_u64(&m, "ARRAY_TASK", id->task);
    (void)message_put_u64(&m, "ALL", all);
    (void)message_put_u64(&m, "STEPS", (parts & SOURCE_STEPS) != 0);
    (void)message_put_u64(&m, "TIMELINE", (parts & SOURCE_TIMELINES) != 0);
    (void)message_put_u64(&m, "STACKS", (parts & SOURCE_STACKS) != 0);
    rc = jobiod_ask_json(cli, &m, JOBIOD_MS, &documents, error);
    if (rc == 0)
        rc = parse_jobs(documents, ret, error);
    json_object_put(documents);
    return rc;
}

static int jobs(struct source *source, const struct jobid *id, bool all, unsigned parts,
                struct job_account ***ret, struct error *error)
{
    struct jobiod_source *s = (struct jobiod_source *)source;
    int rc;

    if (!s->other) {
        rc = ask_jobs(&s->cli, id, all, parts, ret, error);
        if (!use_other(s, &rc, error))
            return rc;
    }
    return source_jobs(s->other, id, all, parts, ret, error);
}

static int ask_number(const struct cli *cli, uint32_t number, source_job_f each, void *arg,
                      struct error *error)
{
    const struct jobid id = {.job = number};
    struct job_account **found = NULL;
    int rc = ask_jobs(cli, &id, true, SOURCE_STEPS, &found, error);

    for (size_t i = 0; rc == 0 && found[i]; i++)
        rc = each(found[i], arg, error);
    store_jobs_free(found);
    return rc;
}

static int numbers(struct source *source, const uint32_t *numbers, size_t n, source_job_f each,
                   void *arg, struct error *error)
{
    struct jobiod_source *s = (struct jobiod_source *)source;
    int rc = 0;

    for (size_t i = 0; rc == 0 && !s->other && i < n; i++) {
        rc = ask_number(&s->cli, numbers[i], each, arg, error);
        (void)use_other(s, &rc, error); /* at the first number */
    }
    return s->other && rc == 0 ? source_numbers(s->other, numbers, n, each, arg, error) : rc;
}

/* --- history ---------------------------------------------------------------------------------- */

static int history(struct source *source, const struct history_filter *filter, history_f each,
                   void *arg, struct error *error)
{
    struct jobiod_source *s = (struct jobiod_source *)source;
    int rc;

    if (!s->other) {
        rc = jobiod_history(&s->cli, filter, each, arg, error);
        if (!use_other(s, &rc, error))
            return rc;
    }
    return source_history(s->other, filter, each, arg, error);
}

/* --- arrays ----------------------------------------------------------------------------------- */

static int ask_array(const struct cli *cli, uint32_t number, const struct array_reader *reader,
                     struct error *error)
{
    uint32_t from = 0;
    int rc;

    do {
        struct json_object *answer = NULL;
        struct message m;

        message_init(&m, "query-array");
        (void)message_put_u64(&m, "JOBID", number);
        (void)message_put_u64(&m, "FROM", from);
        rc = jobiod_ask_json(cli, &m, JOBIOD_MS, &answer, error);
        if (rc == 0)
            rc = array_answer_parse(answer, from, reader, &from, error);
        json_object_put(answer);
    } while (rc == 0 && from);
    return rc;
}

static int array(struct source *source, uint32_t number, const struct array_reader *reader,
                 struct error *error)
{
    struct jobiod_source *s = (struct jobiod_source *)source;
    int rc;

    if (!s->other) {
        rc = ask_array(&s->cli, number, reader, error);
        if (!use_other(s, &rc, error))
            return rc;
    }
    return source_array(s->other, number, reader, error);
}

/* --- open ------------------------------------------------------------------------------------- */

static const struct source_ops jobiod_ops = {jobs, numbers, history, array, close_jobiod};

int jobiod_source_open(const struct cli *cli, struct source **ret, struct error *error)
{
    struct jobiod_source *s = calloc(1, sizeof(*s));

    if (!s)
        return error_errno(error, -ENOMEM, "ask jobiod");
    s->source.ops = &jobiod_ops;
    s->cli = *cli;
    *ret = &s->source;
    return 0;
}
