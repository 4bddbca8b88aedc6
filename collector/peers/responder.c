/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What other nodes ask and send. */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "collector/peers/peers_impl.h"
#include "collector/store/store.h"
#include "collector/store/writer.h"
#include "common/cleanup.h"
#include "common/credential.h"
#include "report/json/json.h"

enum route { ROUTE_ACCOUNTS, ROUTE_JOB, ROUTE_RECORD };

struct served {
    LIST_ENTRY(served) link;
    struct gather *gather;
    struct http_exchange *exchange;
    enum route route;
    struct json_object *document; /* the question */
    struct job_key key;           /* without the cluster */
    struct gather_step step;
    bool has_step;
    /* ROUTE_ACCOUNTS: */
    struct job_account **accounts; /* owned */
    bool *unknown;                 /* of each: its job is not in the store */
    bool *backwards;               /* the store has more of it */
    bool *elsewhere;               /* its sender has us for its first node, where it does not run */
    size_t n;
};

static void served_free(struct served *served)
{
    LIST_REMOVE(served, link);
    json_object_put(served->document);
    for (size_t i = 0; i < served->n; i++)
        job_account_destroy(served->accounts[i]);
    free(served->accounts);
    free(served->unknown);
    free(served->backwards);
    free(served->elsewhere);
    free(served);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void finish_text(struct served *served, unsigned code, const char *text)
{
    http_exchange_text(served->exchange, code, "%s", text);
    served_free(served);
}

static void on_sealed(int result, const struct error *error, const char *text, void *arg)
{
    struct served *served = arg;
    char *body = result < 0 ? NULL : strdup(text);

    if (!body) {
        finish_text(served, 503, result < 0 ? error->text : "no memory");
        return;
    }
    served->gather->counts.served++;
    http_exchange_answer(served->exchange, 200, GATHER_TYPE, body, strlen(body));
    served_free(served);
}

static struct json_object *begin_answer(const struct served *served)
{
    const struct wire_head head = gather_head(served->gather, wire_string(served->document, "from"),
                                              wire_string(served->document, "id"));

    return wire_create(&head);
}

/* Takes the document over; NULL: there was no memory for it. */
static void finish(struct served *served, struct json_object *answer)
{
    size_t size = 0;
    _free_ char *text = wire_text(answer, &size);

    if (!text || served->gather->ending ||
        sealer_seal(served->gather->opener, TAKE_PTR(text), size, on_sealed, served) < 0)
        finish_text(served, 503, "too much to do");
}

/* --- POST /v1/job, /v1/record ----------------------------------------------------------------- */

void gather_provide(void *question, const struct job_account *account, bool busy,
                    const struct error *why)
{
    struct served *served = question;
    struct json_object *answer, *document = NULL;

    if (why) {
        finish_text(served, 503, why->text);
        return;
    }
    answer = begin_answer(served);
    if (answer && account && !(document = gather_document(account, 0))) {
        json_object_put(answer);
        answer = NULL;
    }
    if (answer && busy)
        (void)json_object_object_add(answer, "busy", json_object_new_boolean(true));
    if (answer && json_object_object_add(answer, "account", document) < 0) {
        json_object_put(document);
        json_object_put(answer);
        answer = NULL;
    }
    finish(served, answer);
}

void gather_provide_record(void *question, const struct job_key *key, bool ended,
                           const char *record, const struct error *why)
{
    struct served *served = question;
    struct json_object *answer;

    if (why || !record) {
        finish_text(served, why ? 503 : 404, why ? why->text : "the job is not known here");
        return;
    }
    answer = begin_answer(served);
    if (answer) {
        (void)json_object_object_add(answer, "jobid", json_object_new_int64(key->jobid));
        (void)json_object_object_add(answer, "restart", json_object_new_int64(key->restart));
        (void)json_object_object_add(answer, "ended", json_object_new_boolean(ended));
        (void)json_object_object_add(answer, "record", json_object_new_string(record));
    }
    finish(served, answer);
}

/* --- POST /v1/accounts ------------------------------------------------------------------------ */

static uint64_t requests_of(const struct step_account *step)
{
    uint64_t n = 0;

    for (size_t i = 0; i < step->mounts.n; i++) {
        const struct io_account *io = &step->mounts.items[i].io;

        n += io_account_reads(io).requests + io_account_writes(io).requests +
             io_account_meta(io).requests;
    }
    return n;
}

/* What a step has done does not become less: then the first account stays. */
static int put_step(struct store *store, const struct job_key *key, const struct step_account *step,
                    bool *backwards, struct error *error)
{
    uint64_t before = 0;
    int r = store_step_requests(store, key, step, &before, error);

    if (r < 0)
        return r;
    if (requests_of(step) < before) {
        *backwards = true;
        return 0;
    }
    return store_put_step(store, key, step, true, error);
}

static int put_account(struct store *store, const struct job_account *account, const char *from,
                       bool elsewhere, bool *backwards, struct error *error)
{
    int r = elsewhere ? store_put_elsewhere(store, account, error) : 0;

    for (size_t i = 0; i < account->n_steps && r == 0; i++)
        r = put_step(store, &account->key, &account->steps[i], backwards, error);
    if (r == 0 && account->unsupported)
        r = store_put_unsupported(store, &account->key, account->unsupported, error);
    if (r == 0 && account->ended)
        r = store_put_node(store, &account->key, from, error);
    return r;
}

/* On the writer's thread. */
static int put_accounts(struct store *store, void *arg, struct error *error)
{
    struct served *served = arg;
    const char *from = wire_string(served->document, "from");

    for (size_t i = 0; i < served->n; i++) {
        int r = put_account(store, served->accounts[i], from, served->elsewhere[i],
                            &served->backwards[i], error);

        served->unknown[i] = r == -ENOENT;
        if (r < 0 && r != -ENOENT)
            return r;
    }
    return 0;
}

/* An empty `why`: not now, but soon. */
static void add_refused(struct json_object *list, size_t index, const char *why)
{
    struct json_object *item = json_object_new_object();

    (void)json_object_object_add(item, "index", json_object_new_int64((int64_t)index));
    (void)json_object_object_add(item, "why", json_object_new_string(why));
    (void)json_object_array_add(list, item);
}

static struct json_object *list_refused(struct served *served)
{
    struct gather *gather = served->gather;
    struct json_object *list = json_object_new_array();
    char why[400];

    for (size_t i = 0; list && i < served->n; i++) {
        const struct job_key *key = &served->accounts[i]->key;
        bool soon =
            served->unknown[i] && gather->hooks.known(key, gather->hooks.arg) != GATHER_UNKNOWN;

        gather->counts.taken += !served->unknown[i];
        gather->counts.unknown_jobs += served->unknown[i] && !soon;
        if (served->backwards[i]) {
            gather->counts.backwards++;
            gather_say(
                gather, "gather-backwards",
                "job %u: an account from %s has less than it had before: the first one stays",
                key->jobid, wire_string(served->document, "from"));
        }
        (void)snprintf(why, sizeof(why), "job %u was never seen on %s", key->jobid, gather->node);
        if (served->unknown[i])
            add_refused(list, i, soon ? "" : why);
        if (served->unknown[i] && !soon)
            gather_say(gather, "gather-unknown", "account from %s: %s",
                       wire_string(served->document, "from"), why);
    }
    return list;
}

static void on_put(int result, const struct error *error, void *arg)
{
    struct served *served = arg;
    struct json_object *answer;

    if (result < 0) {
        finish_text(served, 503, error->text);
        return;
    }
    answer = begin_answer(served);
    if (answer && json_object_object_add(answer, "refused", list_refused(served)) < 0) {
        json_object_put(answer);
        answer = NULL;
    }
    finish(served, answer);
}

/* Without an extern step, Slurm begins a job only on the nodes that its steps run on. */
static bool is_elsewhere(const struct gather *gather, const struct job_account *account)
{
    return account->first_node && strcmp(account->first_node, gather->node) == 0 &&
           gather->hooks.known(&account->key, gather->hooks.arg) != GATHER_TRACKED;
}

static void take_accounts(struct served *served)
{
    for (size_t i = 0; i < served->n; i++)
        served->elsewhere[i] = is_elsewhere(served->gather, served->accounts[i]);
    if (writer_submit(served->gather->writer, true, put_accounts, on_put, served) < 0)
        finish_text(served, 503, "the queue of the store is full");
}

/* --- questions, on the sealer's thread -------------------------------------------------------- */

static int check_account(const struct served *served, const struct job_account *account,
                         struct error *error)
{
    const char *from = wire_string(served->document, "from");

    if (!account->key.cluster || strcmp(account->key.cluster, served->gather->cluster) != 0)
        return error_set(error, -EXDEV, "an account of another cluster");
    for (size_t i = 0; i < account->n_steps; i++) {
        const struct step_account *step = &account->steps[i];

        if (!step->node || strcmp(step->node, served->gather->node) == 0)
            return error_set(error, -EBADMSG, "%.64s sends an account of our own", from);
        if (step->state == STEP_RUNNING)
            return error_set(error, -EBADMSG, "%.64s sends a step that still runs", from);
    }
    return 0;
}

static int read_accounts(struct served *served, struct error *error)
{
    struct json_object *list;
    size_t n;

    if (!json_object_object_get_ex(served->document, "accounts", &list) ||
        !json_object_is_type(list, json_type_array))
        return error_set(error, -EBADMSG, "\"accounts\" is missing");
    n = json_object_array_length(list);
    served->accounts = calloc(n + 1, sizeof(*served->accounts));
    served->unknown = calloc(n + 1, sizeof(*served->unknown));
    served->backwards = calloc(n + 1, sizeof(*served->backwards));
    served->elsewhere = calloc(n + 1, sizeof(*served->elsewhere));
    if (!served->accounts || !served->unknown || !served->backwards || !served->elsewhere)
        return error_set(error, -ENOMEM, "no memory for accounts");
    for (; served->n < n; served->n++) {
        int r = report_json_parse(json_object_array_get_idx(list, served->n),
                                  &served->accounts[served->n], error);

        if (r == 0)
            r = check_account(served, served->accounts[served->n], error);
        if (r < 0) {
            served->n += served->accounts[served->n] != NULL;
            return r;
        }
    }
    return 0;
}

static int read_step(struct served *served, struct error *error)
{
    struct json_object *value;
    unsigned long long step = 0, het = HET_NONE;
    int r;

    if (!json_object_object_get_ex(served->document, "step", &value))
        return 0;
    r = wire_number(served->document, "step", UINT32_MAX, &step, error);
    if (r == 0)
        r = wire_number(served->document, "het", UINT32_MAX, &het, error);
    served->step = (struct gather_step){
        .het = (uint32_t)het,
        .step = (uint32_t)step,
        .expected = json_object_object_get_ex(served->document, "expected", &value) &&
                    json_object_get_boolean(value),
    };
    served->has_step = true;
    return r;
}

static int read_key(struct served *served, bool any_restart, struct error *error)
{
    struct json_object *value;
    unsigned long long jobid = 0, restart = UINT32_MAX;
    int r = wire_number(served->document, "jobid", UINT32_MAX, &jobid, error);

    if (r == 0 && (!any_restart || json_object_object_get_ex(served->document, "restart", &value)))
        r = wire_number(served->document, "restart", UINT32_MAX, &restart, error);
    served->key.jobid = (uint32_t)jobid;
    served->key.restart = (uint32_t)restart;
    return r < 0 || any_restart ? r : read_step(served, error);
}

static bool may_ask(const struct served *served, uid_t uid)
{
    if (uid == 0)
        return true;
    for (size_t i = 0; served->route == ROUTE_RECORD && i < served->gather->n_readers; i++)
        if (served->gather->readers[i] == uid)
            return true;
    return false;
}

static int read_question(const char *payload, size_t size, uid_t uid, void *arg,
                         struct error *error)
{
    struct served *served = arg;
    const struct wire_head head = {.cluster = served->gather->cluster, .to = served->gather->node};
    int r;

    if (!may_ask(served, uid))
        return error_set(error, -EPERM, "user %u may not ask that", uid);
    r = wire_parse(payload, size, &head, &served->document, error);
    if (r < 0)
        return r;
    return served->route == ROUTE_ACCOUNTS ? read_accounts(served, error)
                                           : read_key(served, served->route == ROUTE_RECORD, error);
}

/* --- on the loop ------------------------------------------------------------------------------ */

/* What a failure is counted as, and answered with. */
static const struct {
    int code;
    unsigned http;
    size_t count;
    const char *limit; /* key of the limit on log lines */
} failures[] = {
    {-EKEYREJECTED, 401, offsetof(struct gather_counts, forged), "gather-forged"},
    {-EACCES, 401, offsetof(struct gather_counts, forged), "gather-forged"},
    {-EALREADY, 401, offsetof(struct gather_counts, replayed), "gather-replayed"},
    {-ETIME, 401, offsetof(struct gather_counts, out_of_time), "gather-time"},
    {-EPERM, 403, offsetof(struct gather_counts, not_root), "gather-root"},
    {-EPROTONOSUPPORT, 409, offsetof(struct gather_counts, other_version), "gather-version"},
    {-EBADMSG, 400, offsetof(struct gather_counts, malformed), "gather-malformed"},
    {-EXDEV, 421, offsetof(struct gather_counts, malformed), "gather-malformed"},
    {-EADDRNOTAVAIL, 421, offsetof(struct gather_counts, malformed), "gather-malformed"},
};

static void refuse(struct served *served, int result, const struct error *error)
{
    struct gather *gather = served->gather;
    const char *limit = "gather-failed";
    unsigned http = 503;

    for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
        if (failures[i].code != result)
            continue;
        (*(uint64_t *)((char *)&gather->counts + failures[i].count))++;
        http = failures[i].http;
        limit = failures[i].limit;
        break;
    }
    gather_say(gather, limit, "refused what %s sent: %s", http_exchange_peer(served->exchange),
               error->text);
    finish_text(served, http, error->text);
}

static void on_opened(int result, const struct error *error, void *arg)
{
    struct served *served = arg;
    struct gather *gather = served->gather;

    if (result < 0)
        refuse(served, result, error);
    else if (gather->ending)
        finish_text(served, 503, "jobiod ends");
    else if (served->route == ROUTE_ACCOUNTS)
        take_accounts(served);
    else if (served->route == ROUTE_JOB)
        gather->hooks.account(&served->key, served->has_step ? &served->step : NULL,
                              wire_string(served->document, "from"), served, gather->hooks.arg);
    else
        gather->hooks.record(&served->key, served, gather->hooks.arg);
}

static void serve(struct gather *gather, enum route route, struct http_exchange *exchange,
                  const void *body, size_t size)
{
    struct served *served = calloc(1, sizeof(*served));

    if (!served) {
        http_exchange_text(exchange, 503, "no memory");
        return;
    }
    *served = (struct served){.gather = gather, .exchange = exchange, .route = route};
    LIST_INSERT_HEAD(&gather->served, served, link);
    if (sealer_open(gather->opener, size ? body : "", size, read_question, on_opened, served) < 0)
        finish_text(served, 503, "too much to do");
}

static void on_accounts(struct http_exchange *exchange, const void *body, size_t size, void *arg)
{
    serve(arg, ROUTE_ACCOUNTS, exchange, body, size);
}

static void on_job(struct http_exchange *exchange, const void *body, size_t size, void *arg)
{
    serve(arg, ROUTE_JOB, exchange, body, size);
}

static void on_record(struct http_exchange *exchange, const void *body, size_t size, void *arg)
{
    serve(arg, ROUTE_RECORD, exchange, body, size);
}

int gather_serve_start(struct gather *gather, const struct gather_options *options,
                       struct error *error)
{
    const struct http_server_options server = {
        .listen = options->listen,
        .n_listen = options->n_listen,
        .limit_ns = options->timeout_ns,
        .body_max = CREDENTIAL_TEXT_MAX,
        .connections = 512,
        .connections_an_address = options->connections_an_address,
    };
    const struct {
        const char *path;
        http_handler_f handle;
    } routes[] = {{"/v1/accounts", on_accounts}, {"/v1/job", on_job}, {"/v1/record", on_record}};
    int r;

    if (!options->n_listen)
        return 0;
    r = http_server_create(&gather->server, gather->loop, &server, error);
    for (size_t i = 0; i < ARRAY_SIZE(routes) && r == 0; i++)
        if (http_server_route(gather->server, "POST", routes[i].path, routes[i].handle, gather) < 0)
            r = error_set(error, -ENOMEM, "no memory to gather accounts");
    return r;
}

void gather_serve_free(struct gather *gather)
{
    struct served *served;

    while ((served = LIST_FIRST(&gather->served)))
        finish_text(served, 503, "jobiod ends");
}
