/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/source/source_impl.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "cli/source/clickhouse.h"
#include "cli/base/output.h"
#include "collector/store/array_json.h"
#include "collector/store/history_json.h"
#include "common/call.h"
#include "common/cleanup.h"
#include "report/json/json.h"

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
    int rc = source_ask_json(cli, m, SOURCE_MS, &document, error);

    if (rc < 0)
        return rc;
    if (!json_object_is_type(document, json_type_array)) {
        json_object_put(document);
        return error_set(error, -EBADMSG, "the answer of jobiod is no JSON array");
    }
    *ret = document;
    return 0;
}

bool source_may_read_store(const struct cli *cli, int rc)
{
    if (!source_is_absent(rc) || geteuid() != 0)
        return false;
    output_error("jobiod is not running (nobody answers on %s): reading the store %s itself",
                 cli->socket, STORE_DEFAULT);
    return true;
}

int source_open_store(const struct cli *cli, struct store **ret, struct error *error)
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

static int jobs_from_store(const struct cli *cli, const struct jobid *id, bool all, unsigned flags,
                           struct json_object **ret, struct error *error)
{
    struct job_account **jobs = NULL;
    struct store *store = NULL;
    int rc = source_open_store(cli, &store, error);

    if (rc < 0)
        return rc;
    if (id->has_task)
        rc = store_task_jobs(store, NULL, id->job, id->task, all ? UINT32_MAX : 1, UINT32_MAX,
                             &jobs, error);
    else
        rc = store_jobs(store, NULL, id->job, all, UINT32_MAX, &jobs, error);
    if (rc >= 0) {
        rc = jobs_json(jobs, flags, ret);
        if (rc < 0)
            (void)error_errno(error, rc, "write the answer");
    }
    store_jobs_free(jobs);
    store_close(store);
    return rc;
}

static int jobs_from_clickhouse(struct clickhouse *clickhouse, const struct jobid *id, bool all,
                                unsigned flags, struct json_object **ret, struct error *error)
{
    struct job_account **jobs = NULL;
    int rc = clickhouse_jobs(clickhouse, id, all, &jobs, error);

    if (rc == 0) {
        rc = jobs_json(jobs, flags, ret);
        if (rc < 0)
            (void)error_errno(error, rc, "write the answer");
    }
    store_jobs_free(jobs);
    return rc;
}

static int jobs_from_jobiod(const struct cli *cli, const struct jobid *id, bool all, unsigned flags,
                            struct json_object **ret, struct error *error)
{
    struct message m;

    message_init(&m, "query-job");
    (void)message_put_u64(&m, "JOBID", id->job);
    if (id->has_task)
        (void)message_put_u64(&m, "ARRAY_TASK", id->task);
    (void)message_put_u64(&m, "ALL", all);
    (void)message_put_u64(&m, "STEPS", (flags & REPORT_STEPS) != 0);
    (void)message_put_u64(&m, "TIMELINE", (flags & REPORT_TIMELINE) != 0);
    return ask_array(cli, &m, ret, error);
}

int source_jobs(const struct cli *cli, const struct jobid *id, bool all, unsigned flags,
                struct json_object **ret, struct error *error)
{
    struct clickhouse *clickhouse = NULL;
    int rc = clickhouse_open(cli, &clickhouse, error);

    if (rc > 0)
        rc = jobs_from_clickhouse(clickhouse, id, all, flags, ret, error);
    if (rc < 0 || clickhouse) {
        clickhouse_close(clickhouse);
        return rc;
    }
    if (cli->store)
        return jobs_from_store(cli, id, all, flags, ret, error);
    rc = jobs_from_jobiod(cli, id, all, flags, ret, error);
    if (source_may_read_store(cli, rc))
        return jobs_from_store(cli, id, all, flags, ret, error);
    return rc;
}

/* --- many jobs ---------------------------------------------------------------------------------
 */

static int numbers_from_store(const struct cli *cli, const uint32_t *numbers, size_t n,
                              source_job_f each, void *arg, struct error *error)
{
    struct store *store = NULL;
    int rc = source_open_store(cli, &store, error);

    for (size_t i = 0; i < n && rc >= 0; i++) {
        struct job_account **jobs = NULL;

        rc = store_jobs(store, NULL, numbers[i], true, UINT32_MAX, &jobs, error);
        for (size_t k = 0; rc >= 0 && jobs[k]; k++)
            rc = each(jobs[k], arg, error);
        store_jobs_free(jobs);
    }
    store_close(store);
    return rc < 0 ? rc : 0;
}

static int number_from_jobiod(const struct cli *cli, uint32_t number, source_job_f each, void *arg,
                              struct error *error)
{
    struct json_object *documents = NULL;
    int rc = jobs_from_jobiod(cli, &(struct jobid){.job = number}, true, REPORT_STEPS, &documents,
                              error);

    for (size_t i = 0; rc == 0 && i < json_object_array_length(documents); i++) {
        struct job_account *job = NULL;

        rc = report_json_parse(json_object_array_get_idx(documents, i), &job, error);
        if (rc == 0)
            rc = each(job, arg, error);
        job_account_destroy(job);
    }
    json_object_put(documents);
    return rc;
}

int source_numbers(const struct cli *cli, const uint32_t *numbers, size_t n, source_job_f each,
                   void *arg, struct error *error)
{
    struct clickhouse *clickhouse = NULL;
    int rc = clickhouse_open(cli, &clickhouse, error);

    if (rc > 0)
        rc = clickhouse_numbers(clickhouse, numbers, n, each, arg, error);
    if (rc < 0 || clickhouse) {
        clickhouse_close(clickhouse);
        return rc;
    }
    if (cli->store)
        return numbers_from_store(cli, numbers, n, each, arg, error);
    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = number_from_jobiod(cli, numbers[i], each, arg, error);
        if (source_may_read_store(cli, rc))
            return numbers_from_store(cli, numbers + i, n - i, each, arg, error);
    }
    return rc;
}

/* --- arrays -----------------------------------------------------------------------------------
 */

/* One part, from a task on. */
typedef int (*ask_part_f)(void *from_whom, uint32_t array, uint32_t from, struct json_object **ret,
                          struct error *error);

/* The task that the next part begins with; 0: this was the last one. */
static int next_task(struct json_object *part, uint32_t from, uint32_t *ret, struct error *error)
{
    struct json_object *next;
    int64_t value =
        json_object_object_get_ex(part, "next", &next) ? json_object_get_int64(next) : 0;

    if (value && (value <= from || value > UINT32_MAX))
        return error_set(error, -EBADMSG, "the answer has no next task");
    *ret = (uint32_t)value;
    return 0;
}

static int each_part(ask_part_f ask, void *from_whom, uint32_t array, source_part_f each, void *arg,
                     struct error *error)
{
    uint32_t from = 0;
    int rc;

    do {
        struct json_object *part = NULL;

        rc = ask(from_whom, array, from, &part, error);
        if (rc == 0)
            rc = each(part, arg, error);
        if (rc == 0)
            rc = next_task(part, from, &from, error);
        json_object_put(part);
    } while (rc == 0 && from);
    return rc;
}

static int parse_part(const char *text, struct json_object **ret, struct error *error)
{
    *ret = json_tokener_parse(text);
    return *ret ? 0 : error_errno(error, -ENOMEM, "read an array");
}

static int part_from_store(void *store, uint32_t array, uint32_t from, struct json_object **ret,
                           struct error *error)
{
    _free_ char *text = NULL;
    bool more;
    int rc = array_answer(store, array, UINT32_MAX, from, &text, &more, error);

    return rc < 0 ? rc : parse_part(text, ret, error);
}

static int tasks_of_clickhouse(void *array, uint32_t from, store_job_f each, void *arg,
                               struct error *error)
{
    return clickhouse_array_read(array, from, each, arg, error);
}

static int part_from_clickhouse(void *array, uint32_t number, uint32_t from,
                                struct json_object **ret, struct error *error)
{
    _free_ char *text = NULL;
    bool more;
    int rc = array_answer_of(tasks_of_clickhouse, array, from, &text, &more, error);

    (void)number;
    return rc < 0 ? rc : parse_part(text, ret, error);
}

static int array_from_clickhouse(struct clickhouse *clickhouse, uint32_t number, source_part_f each,
                                 void *arg, struct error *error)
{
    struct clickhouse_array *array = NULL;
    int rc = clickhouse_array_open(clickhouse, number, &array, error);

    if (rc == 0)
        rc = each_part(part_from_clickhouse, array, number, each, arg, error);
    clickhouse_array_close(array);
    return rc;
}

static int part_from_jobiod(void *cli, uint32_t array, uint32_t from, struct json_object **ret,
                            struct error *error)
{
    struct message m;

    message_init(&m, "query-array");
    (void)message_put_u64(&m, "JOBID", array);
    (void)message_put_u64(&m, "FROM", from);
    return source_ask_json(cli, &m, SOURCE_MS, ret, error);
}

static int array_from_store(const struct cli *cli, uint32_t array, source_part_f each, void *arg,
                            struct error *error)
{
    struct store *store = NULL;
    int rc = source_open_store(cli, &store, error);

    if (rc == 0)
        rc = each_part(part_from_store, store, array, each, arg, error);
    store_close(store);
    return rc;
}

int source_array(const struct cli *cli, uint32_t array, source_part_f each, void *arg,
                 struct error *error)
{
    struct clickhouse *clickhouse = NULL;
    int rc = clickhouse_open(cli, &clickhouse, error);

    if (rc > 0)
        rc = array_from_clickhouse(clickhouse, array, each, arg, error);
    if (rc < 0 || clickhouse) {
        clickhouse_close(clickhouse);
        return rc;
    }
    if (cli->store)
        return array_from_store(cli, array, each, arg, error);
    rc = each_part(part_from_jobiod, (void *)cli, array, each, arg, error);
    if (source_may_read_store(cli, rc))
        return array_from_store(cli, array, each, arg, error);
    return rc;
}
