/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/source.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "cli/clickhouse.h"
#include "cli/output.h"
#include "collector/rows.h"
#include "common/call.h"
#include "common/cleanup.h"
#include "report/json.h"

#define ANSWER_MS 10000
#define NS_PER_S 1000000000ull
#define STORE_DEFAULT JOBIO_STATEDIR "/jobio.db"

bool source_is_absent(int rc)
{
    return rc == -ENOENT || rc == -ECONNREFUSED;
}

static int explain(const struct cli *cli, int rc, struct error *error)
{
    if (source_is_absent(rc))
        return error_set(error, rc,
                         "jobiod is not running (nobody answers on %s): start it with 'systemctl "
                         "start jobiod' as root",
                         cli->socket);
    if (rc == -EACCES)
        return error_set(error, rc, "no permission to ask jobiod on %s", cli->socket);
    return rc;
}

int source_ask(const struct cli *cli, struct message *m, unsigned timeout_ms, char **ret,
               struct error *error)
{
    _close_ int fd = call_open(cli->socket, m, timeout_ms, error);
    _free_ char *whole = NULL;
    size_t size = 0;
    const char *more;

    if (fd < 0)
        return explain(cli, fd, error);
    do {
        int rc = call_receive(fd, m, timeout_ms, error);
        const char *part = rc < 0 ? NULL : message_get(m, "TEXT");
        size_t n = part ? strlen(part) : 0;
        char *grown;

        if (rc < 0)
            return rc;
        grown = realloc(whole, size + n + 1);
        if (!grown)
            return error_errno(error, -ENOMEM, "read the answer");
        whole = grown;
        memcpy(whole + size, part ? part : "", n);
        size += n;
        whole[size] = '\0';
        more = message_get(m, "MORE");
    } while (more && strcmp(more, "1") == 0);
    if (message_get(m, "CUT"))
        output_error("the answer was too long and is cut: ask for less (a shorter time, a limit)");
    *ret = TAKE_PTR(whole);
    return 0;
}

int source_ask_json(const struct cli *cli, struct message *m, unsigned timeout_ms,
                    struct json_object **ret, struct error *error)
{
    _free_ char *text = NULL;
    struct json_object *document;
    int rc = source_ask(cli, m, timeout_ms, &text, error);

    if (rc < 0)
        return rc;
    document = json_tokener_parse(text);
    if (!document)
        return error_set(error, -EBADMSG, "the answer of jobiod is no JSON");
    *ret = document;
    return 0;
}

/* As source_ask_json for an array. */
static int ask_array(const struct cli *cli, struct message *m, struct json_object **ret,
                     struct error *error)
{
    struct json_object *document = NULL;
    int rc = source_ask_json(cli, m, ANSWER_MS, &document, error);

    if (rc < 0)
        return rc;
    if (!json_object_is_type(document, json_type_array)) {
        json_object_put(document);
        return error_set(error, -EBADMSG, "the answer of jobiod is no JSON array");
    }
    *ret = document;
    return 0;
}

/* Not running is no error for root: the store can be read. */
static bool may_read_store(const struct cli *cli, int rc)
{
    if (!source_is_absent(rc) || geteuid() != 0)
        return false;
    output_error("jobiod is not running (nobody answers on %s): reading the store %s itself",
                 cli->socket, STORE_DEFAULT);
    return true;
}

static int open_store(const struct cli *cli, struct store **ret, struct error *error)
{
    return store_open_reader(ret, cli->store ? cli->store : STORE_DEFAULT, error);
}

static int jobs_json(struct job_account **jobs, unsigned flags, struct json_object **ret)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; array && jobs[i]; i++) {
        struct json_object *document = report_json(jobs[i], flags);

        if (!document || json_object_array_add(array, document) < 0) {
            json_object_put(document);
            json_object_put(array);
            return -ENOMEM;
        }
    }
    if (!array)
        return -ENOMEM;
    *ret = array;
    return 0;
}

static int jobs_from_store(const struct cli *cli, uint32_t jobid, bool all, bool steps,
                           struct json_object **ret, struct error *error)
{
    struct job_account **jobs = NULL;
    struct store *store = NULL;
    int rc = open_store(cli, &store, error);

    if (rc < 0)
        return rc;
    rc = store_jobs(store, NULL, jobid, all, UINT32_MAX, &jobs, error);
    if (rc >= 0) {
        rc = jobs_json(jobs, steps ? REPORT_STEPS : 0, ret);
        if (rc < 0)
            (void)error_errno(error, rc, "write the answer");
    }
    store_jobs_free(jobs);
    store_close(store);
    return rc;
}

static int jobs_from_clickhouse(struct clickhouse *clickhouse, uint32_t jobid, bool all, bool steps,
                                struct json_object **ret, struct error *error)
{
    struct job_account **jobs = NULL;
    int rc = clickhouse_jobs(clickhouse, jobid, all, &jobs, error);

    if (rc == 0) {
        rc = jobs_json(jobs, steps ? REPORT_STEPS : 0, ret);
        if (rc < 0)
            (void)error_errno(error, rc, "write the answer");
    }
    store_jobs_free(jobs);
    return rc;
}

int source_jobs(const struct cli *cli, uint32_t jobid, bool all, bool steps,
                struct json_object **ret, struct error *error)
{
    struct clickhouse *clickhouse = NULL;
    struct message m;
    int rc = clickhouse_open(cli, &clickhouse, error);

    if (rc > 0)
        rc = jobs_from_clickhouse(clickhouse, jobid, all, steps, ret, error);
    if (rc < 0 || clickhouse) {
        clickhouse_close(clickhouse);
        return rc;
    }
    if (cli->store)
        return jobs_from_store(cli, jobid, all, steps, ret, error);
    message_init(&m, "query-job");
    (void)message_put_u64(&m, "JOBID", jobid);
    (void)message_put_u64(&m, "ALL", all);
    (void)message_put_u64(&m, "STEPS", steps);
    rc = ask_array(cli, &m, ret, error);
    if (may_read_store(cli, rc))
        return jobs_from_store(cli, jobid, all, steps, ret, error);
    return rc;
}

static int add_row(const struct history_row *row, void *arg)
{
    struct json_object *object = history_row_json(row);

    if (object && json_object_array_add(arg, object) == 0)
        return 0;
    json_object_put(object);
    return -ENOMEM;
}

static int history_from_store(const struct cli *cli, const struct history_filter *filter,
                              struct json_object **ret, struct error *error)
{
    struct history_filter everyone = *filter;
    struct json_object *array = NULL;
    struct store *store = NULL;
    int rc = open_store(cli, &store, error);

    if (rc < 0)
        return rc;
    everyone.uid = UINT32_MAX;
    array = json_object_new_array();
    rc = array ? store_history(store, &everyone, add_row, array, error) : -ENOMEM;
    store_close(store);
    if (rc < 0) {
        json_object_put(array);
        return rc == -ENOMEM ? error_errno(error, rc, "read the store") : rc;
    }
    *ret = array;
    return 0;
}

static int put_history(struct message *m, const struct history_filter *filter)
{
    message_init(m, "query-history");
    if (message_put(m, "USER", filter->user) < 0)
        return -EMSGSIZE;
    (void)message_put_u64(m, "SINCE", filter->since_ns / NS_PER_S);
    if (filter->until_ns)
        (void)message_put_u64(m, "UNTIL", filter->until_ns / NS_PER_S);
    (void)message_put(m, "SORT", history_sort_name(filter->sort));
    if (filter->limit)
        (void)message_put_u64(m, "LIMIT", filter->limit);
    return 0;
}

int source_history(const struct cli *cli, const struct history_filter *filter,
                   struct json_object **ret, struct error *error)
{
    struct clickhouse *clickhouse = NULL;
    struct message m;
    int rc = clickhouse_open(cli, &clickhouse, error);

    if (rc > 0)
        rc = clickhouse_history(clickhouse, filter, ret, error);
    if (rc < 0 || clickhouse) {
        clickhouse_close(clickhouse);
        return rc;
    }
    if (cli->store)
        return history_from_store(cli, filter, ret, error);
    if (put_history(&m, filter) < 0)
        return error_set(error, -EINVAL, "the user's name is too long");
    rc = ask_array(cli, &m, ret, error);
    if (may_read_store(cli, rc))
        return history_from_store(cli, filter, ret, error);
    return rc;
}
