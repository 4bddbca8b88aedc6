/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/source/jobiod_impl.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/output.h"
#include "cli/source/remote.h"
#include "common/call.h"
#include "common/cleanup.h"
#include "report/json/json.h"

#define STATUS_MS 10000
#define RETIRE_MS 120000
#define RUN_MS 10000
#define TRACE_MS 20000

bool jobiod_is_absent(int rc)
{
    return rc == -ENOENT || rc == -ECONNREFUSED;
}

static int explain(const struct cli *cli, int rc, struct error *error)
{
    if (jobiod_is_absent(rc))
        return error_set(error, rc,
                         "jobiod is not running (no answer on %s): start it with 'systemctl "
                         "start jobiod' as root",
                         cli->socket);
    if (rc == -EACCES)
        return error_set(error, rc, "no permission to connect to jobiod on %s", cli->socket);
    return rc;
}

static int ask_here(const struct cli *cli, struct message *m, unsigned timeout_ms, char **ret,
                    struct error *error)
{
    _close_ int fd = call_open(cli->socket, m, timeout_ms, error);
    _free_ char *text = NULL;
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
        grown = realloc(text, size + n + 1);
        if (!grown)
            return error_errno(error, -ENOMEM, "read the answer");
        text = grown;
        memcpy(text + size, part ? part : "", n);
        size += n;
        text[size] = '\0';
        more = message_get(m, "MORE");
    } while (more && strcmp(more, "1") == 0);
    *ret = TAKE_PTR(text);
    return 0;
}

/* cut: what the user reads if the answer is incomplete. */
static int ask(const struct cli *cli, struct message *m, unsigned timeout_ms, const char *cut,
               char **ret, struct error *error)
{
    int rc = cli->remote.url
                 ? remote_ask(cli->remote.url, cli->remote.munge_socket, m, timeout_ms, ret, error)
                 : ask_here(cli, m, timeout_ms, ret, error);

    if (rc == 0 && message_get(m, "CUT"))
        output_error("%s", cut);
    return rc;
}

int jobiod_ask(const struct cli *cli, struct message *m, unsigned timeout_ms, char **ret,
               struct error *error)
{
    return ask(cli, m, timeout_ms,
               "the answer was too long and has been cut: choose a shorter time or a limit", ret,
               error);
}

int jobiod_ask_json(const struct cli *cli, struct message *m, unsigned timeout_ms,
                    struct json_object **ret, struct error *error)
{
    _free_ char *text = NULL;
    int rc = jobiod_ask(cli, m, timeout_ms, &text, error);

    if (rc < 0)
        return rc;
    *ret = json_tokener_parse(text);
    return *ret ? 0 : error_set(error, -EBADMSG, "the answer of jobiod is not JSON");
}

int jobiod_status(const struct cli *cli, struct json_object **ret, struct error *error)
{
    struct message m;

    message_init(&m, "status");
    return jobiod_ask_json(cli, &m, STATUS_MS, ret, error);
}

int jobiod_top(const struct cli *cli, bool services, unsigned timeout_ms, struct top_reading **ret,
               struct error *error)
{
    struct json_object *document = NULL;
    struct message m;
    int rc;

    message_init(&m, "query-top");
    if (services)
        (void)message_put_u64(&m, "SERVICES", 1);
    rc = jobiod_ask_json(cli, &m, timeout_ms, &document, error);
    if (rc == 0)
        rc = top_parse(document, ret, error);
    json_object_put(document);
    return rc;
}

int jobiod_trace(const struct cli *cli, const struct jobid *id, const char *format, char **ret,
                 struct error *error)
{
    struct message m;

    message_init(&m, "query-trace");
    (void)message_put_u64(&m, "JOBID", id->job);
    if (id->has_task)
        (void)message_put_u64(&m, "ARRAY_TASK", id->task);
    if (id->has_step)
        (void)message_put_u64(&m, "STEP", id->step);
    if (format)
        (void)message_put(&m, "FORMAT", format);
    return ask(cli, &m, TRACE_MS,
               "the trace would be too long: the steps that started last are left out; give one of "
               "them, as in \"jobio trace 123.4\"",
               ret, error);
}

int jobiod_retire(const struct cli *cli, char **ret, struct error *error)
{
    struct message m;

    message_init(&m, "retire");
    return jobiod_ask(cli, &m, RETIRE_MS, ret, error);
}

int jobiod_run_start(const struct cli *cli, const char *command, bool strict, uint64_t *ret,
                     struct error *error)
{
    struct message m;
    int rc;

    message_init(&m, "run-begin");
    (void)message_put(&m, "COMMAND", command);
    if (strict)
        (void)message_put_u64(&m, "STRICT", 1);
    rc = call(cli->socket, &m, RUN_MS, error);
    return rc < 0 ? rc : message_get_u64(&m, "RUN", UINT64_MAX, 0, ret, error);
}

int jobiod_run_end(const struct cli *cli, uint64_t run, uint64_t ago_ns, struct job_account **ret,
                   struct error *error)
{
    struct json_object *document = NULL;
    struct message m;
    int rc;

    message_init(&m, "run-end");
    (void)message_put_u64(&m, "RUN", run);
    (void)message_put_u64(&m, "ENDED_AGO", ago_ns);
    rc = jobiod_ask_json(cli, &m, RUN_MS, &document, error);
    if (rc == 0)
        rc = report_json_parse(document, ret, error);
    json_object_put(document);
    return rc;
}
