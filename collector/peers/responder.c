/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers the requests of other nodes, and stores the accounts that they send. */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "collector/peers/peers_impl.h"
#include "collector/store/writer.h"
#include "common/cleanup.h"
#include "common/credential.h"
#include "report/json/json.h"

enum route { ROUTE_ACCOUNTS, ROUTE_JOB, ROUTE_RECORD };

/* Of an account. */
struct verdict {
    bool unknown;   /* its job is not in the store */
    bool backwards; /* a stored step has more requests */
    bool elsewhere; /* this is the first node, but the job does not run here */
    bool foreign;   /* it is of another cluster, or of this one under another name */
    bool stranger;  /* the sender is not a node of the job, as far as is known here */
    bool later;     /* Slurm is asked about that */
};

struct peer_request {
    LIST_ENTRY(peer_request) link;
    struct peers *peers;
    struct http_exchange *exchange;
    enum route route;
    struct credential_maker sender; /* who made the message; its user can read the answer */
    struct json_object *document;   /* the message */
    struct job_key key;             /* without the cluster */
    struct peers_step step;
    bool has_step;
    /* Only for ROUTE_ACCOUNTS: */
    struct job_account **accounts; /* owned */
    struct verdict *verdicts;      /* of each */
    size_t n;
};

static void request_free(struct peer_request *request)
{
    LIST_REMOVE(request, link);
    json_object_put(request->document);
    for (size_t i = 0; i < request->n; i++)
        job_account_destroy(request->accounts[i]);
    free(request->accounts);
    free(request->verdicts);
    free(request);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void finish_text(struct peer_request *request, unsigned code, const char *text)
{
    http_exchange_text(request->exchange, code, "%s", text);
    request_free(request);
}

static void on_sealed(int result, const struct error *error, const char *text, void *arg)
{
    struct peer_request *request = arg;
    char *body = result < 0 ? NULL : strdup(text);

    if (!body) {
        finish_text(request, 503, result < 0 ? error->text : "no memory");
        return;
    }
    request->peers->counts.served++;
    http_exchange_answer(request->exchange, 200, PEERS_CONTENT_TYPE, body, strlen(body));
    request_free(request);
}

static struct json_object *start_answer(const struct peer_request *request)
{
    const struct wire_head head = peers_head(request->peers, wire_string(request->document, "from"),
                                             wire_string(request->document, "id"));

    return wire_create(&head);
}

/* Send the answer. Takes ownership of it; NULL: out of memory. */
static void finish(struct peer_request *request, struct json_object *answer)
{
    size_t size = 0;
    _free_ char *text = wire_text(answer, &size);

    if (!text || request->peers->ending ||
        sealer_seal(request->peers->opener, request->sender.uid, TAKE_PTR(text), size, on_sealed,
                    request) < 0)
        finish_text(request, 503, "too many requests are queued");
}

/* --- POST /v1/job, /v1/record ----------------------------------------------------------------- */

void peers_provide_account(void *question, const struct job_account *account, bool busy,
                           const struct error *why)
{
    struct peer_request *request = question;
    struct json_object *answer, *document = NULL;

    if (why) {
        finish_text(request, 503, why->text);
        return;
    }
    answer = start_answer(request);
    if (answer && account && !(document = peers_document(account, 0))) {
        json_object_put(answer);
        answer = NULL;
    }
    if (answer && account && wire_put_mpi_parts(answer, &account->mpi_parts) < 0) {
        json_object_put(document);
        json_object_put(answer);
        answer = document = NULL;
    }
    if (answer && busy)
        (void)json_object_object_add(answer, "busy", json_object_new_boolean(true));
    if (answer && json_object_object_add(answer, "account", document) < 0) {
        json_object_put(document);
        json_object_put(answer);
        answer = NULL;
    }
    finish(request, answer);
}

void peers_provide_record(void *question, const struct job_key *key, bool ended, const char *record,
                          const struct error *why)
{
    struct peer_request *request = question;
    struct json_object *answer;

    if (why || !record) {
        finish_text(request, why ? 503 : 404, why ? why->text : "the job is not known here");
        return;
    }
    answer = start_answer(request);
    if (answer) {
        (void)json_object_object_add(answer, "jobid", json_object_new_int64(key->jobid));
        (void)json_object_object_add(answer, "restart", json_object_new_int64(key->restart));
        (void)json_object_object_add(answer, "ended", json_object_new_boolean(ended));
        (void)json_object_object_add(answer, "record", json_object_new_string(record));
    }
    finish(request, answer);
}

/* --- POST /v1/accounts ------------------------------------------------------------------------ */

/* Runs on the writer's thread. */
static int put_accounts(struct store *store, void *arg, struct error *error)
{
    struct peer_request *request = arg;
    const char *from = wire_string(request->document, "from");

    for (size_t i = 0; i < request->n; i++) {
        struct verdict *verdict = &request->verdicts[i];
        int r;

        if (verdict->stranger || verdict->foreign)
            continue;
        r = peers_put_account(store, request->accounts[i], from, verdict->elsewhere,
                              &verdict->backwards, error);
        verdict->unknown = r == -ENOENT;
        if (r < 0 && r != -ENOENT)
            return r;
    }
    return 0;
}

static int set_stranger(struct error *error, const struct peer_request *request,
                        const struct job_key *key)
{
    return error_set(error, -EREMCHG, "%.64s is not a node of job %u",
                     wire_string(request->document, "from"), key->jobid);
}

/* An empty `why` means: try again, the job is not stored yet. */
static void add_refused(struct json_object *list, size_t index, const char *why)
{
    struct json_object *item = json_object_new_object();

    (void)json_object_object_add(item, "index", json_object_new_int64((int64_t)index));
    (void)json_object_object_add(item, "why", json_object_new_string(why));
    (void)json_object_array_add(list, item);
}

static void add_stranger(struct json_object *list, struct peer_request *request, size_t index)
{
    struct error why;

    (void)set_stranger(&why, request, &request->accounts[index]->key);
    request->peers->counts.wrong_node++;
    add_refused(list, index, why.text);
    peers_warn(request->peers, "peers-stranger", "refused an account: %s", why.text);
}

/* Both nodes have the same cluster name now, but the account is from before: it is never accepted.
 */
static void add_foreign(struct json_object *list, struct peer_request *request, size_t index)
{
    const char *from = wire_string(request->document, "from");
    struct error why;

    (void)error_set(&why, -EXDEV, "an account of cluster \"%.64s\", this node is of \"%.64s\"",
                    request->accounts[index]->key.cluster, request->peers->cluster);
    request->peers->counts.malformed++;
    add_refused(list, index, why.text);
    peers_warn(request->peers, "peers-foreign", "refused an account from %s: %s", from, why.text);
}

static bool is_first_node(const struct peers *peers, const struct job_account *account)
{
    return account->first_node && strcmp(account->first_node, peers->node) == 0;
}

/* The job of the account is not stored. Its row will come: from its steps here; or from this
 * account, if this is the first node and Slurm confirms that the sender is a node of the job. */
static bool is_known_soon(const struct peer_request *request, const struct job_account *account)
{
    const struct peers_hooks *hooks = &request->peers->hooks;
    const char *from = wire_string(request->document, "from");
    enum peers_job_state known = hooks->known(&account->key, hooks->arg);

    if (request->peers->ending || known == PEERS_JOB_TRACKED)
        return true;
    return (is_first_node(request->peers, account) &&
            (hooks->learn_nodes(&account->key, hooks->arg) ||
             hooks->member(&account->key, from, hooks->arg) == PEERS_MEMBER_YES)) ||
           known == PEERS_JOB_ANNOUNCED;
}

static void add_unknown(struct json_object *list, struct peer_request *request, size_t i)
{
    struct peers *peers = request->peers;
    char why[400];

    if (is_known_soon(request, request->accounts[i])) {
        peers->counts.put_off++;
        add_refused(list, i, "");
        return;
    }
    (void)snprintf(why, sizeof(why), "job %u was never seen on %s", request->accounts[i]->key.jobid,
                   peers->node);
    peers->counts.unknown_jobs++;
    add_refused(list, i, why);
    peers_warn(peers, "peers-unknown", "account from %s: %s",
               wire_string(request->document, "from"), why);
}

static void add_verdict(struct json_object *list, struct peer_request *request, size_t i)
{
    const struct verdict *verdict = &request->verdicts[i];
    struct peers *peers = request->peers;

    if (verdict->foreign) {
        add_foreign(list, request, i);
        return;
    }
    if (verdict->later) {
        peers->counts.put_off++;
        add_refused(list, i, "");
        return;
    }
    if (verdict->stranger) {
        add_stranger(list, request, i);
        return;
    }
    if (verdict->backwards) {
        peers->counts.backwards++;
        peers_warn(peers, "peers-backwards",
                   "job %u: an account from %s has less than the stored one, which is kept",
                   request->accounts[i]->key.jobid, wire_string(request->document, "from"));
    }
    if (verdict->unknown)
        add_unknown(list, request, i);
    else
        peers->counts.taken++;
}

static struct json_object *list_refused(struct peer_request *request)
{
    struct json_object *list = json_object_new_array();

    for (size_t i = 0; list && i < request->n; i++)
        add_verdict(list, request, i);
    return list;
}

static void on_put(int result, const struct error *error, void *arg)
{
    struct peer_request *request = arg;
    struct json_object *answer;

    if (result < 0) {
        finish_text(request, 503, error->text);
        return;
    }
    answer = start_answer(request);
    if (answer && json_object_object_add(answer, "refused", list_refused(request)) < 0) {
        json_object_put(answer);
        answer = NULL;
    }
    finish(request, answer);
}

/* Without an extern step, Slurm starts a job only on the nodes of its steps. */
static bool is_elsewhere(const struct peers *peers, const struct job_account *account)
{
    return is_first_node(peers, account) &&
           peers->hooks.known(&account->key, peers->hooks.arg) != PEERS_JOB_TRACKED;
}

static void take_accounts(struct peer_request *request)
{
    const struct peers_hooks *hooks = &request->peers->hooks;
    const char *from = wire_string(request->document, "from");

    for (size_t i = 0; i < request->n; i++) {
        const struct job_account *account = request->accounts[i];
        struct verdict *verdict = &request->verdicts[i];
        enum peers_member member = hooks->member(&account->key, from, hooks->arg);

        verdict->foreign = strcmp(account->key.cluster, request->peers->cluster) != 0;
        verdict->elsewhere = member == PEERS_MEMBER_YES && is_elsewhere(request->peers, account);
        verdict->stranger = !verdict->foreign && member == PEERS_MEMBER_NO;
        verdict->later = verdict->stranger && hooks->learn_nodes(&account->key, hooks->arg);
    }
    if (writer_submit(request->peers->writer, true, put_accounts, on_put, request) < 0)
        finish_text(request, 503, "the queue of the store is full");
}

/* --- questions, on the sealer's thread -------------------------------------------------------- */

static int check_account(const struct peer_request *request, const struct job_account *account,
                         struct error *error)
{
    const char *from = wire_string(request->document, "from");

    if (!account->key.cluster)
        return error_set(error, -EBADMSG, "%.64s sends an account without a cluster", from);
    for (size_t i = 0; i < account->n_steps; i++) {
        const struct step_account *step = &account->steps[i];

        if (!step->node || strcmp(step->node, request->peers->node) == 0)
            return error_set(error, -EBADMSG, "%.64s sends an account of our own", from);
        if (strcmp(step->node, from) != 0)
            return error_set(error, -EREMCHG, "%.64s sends an account of %.64s", from, step->node);
        if (step->state == STEP_RUNNING)
            return error_set(error, -EBADMSG, "%.64s sends a step that still runs", from);
    }
    return 0;
}

static int read_accounts(struct peer_request *request, struct error *error)
{
    struct json_object *list;
    size_t n;

    if (!json_object_object_get_ex(request->document, "accounts", &list) ||
        !json_object_is_type(list, json_type_array))
        return error_set(error, -EBADMSG, "\"accounts\" is missing");
    n = json_object_array_length(list);
    request->accounts = calloc(n + 1, sizeof(*request->accounts));
    request->verdicts = calloc(n + 1, sizeof(*request->verdicts));
    if (!request->accounts || !request->verdicts)
        return error_set(error, -ENOMEM, "no memory for accounts");
    for (; request->n < n; request->n++) {
        int r = report_json_parse(json_object_array_get_idx(list, request->n),
                                  &request->accounts[request->n], error);

        if (r == 0)
            r = check_account(request, request->accounts[request->n], error);
        if (r < 0) {
            request->n += request->accounts[request->n] != NULL;
            return r;
        }
    }
    return 0;
}

static int read_step(struct peer_request *request, struct error *error)
{
    struct json_object *value;
    unsigned long long step = 0, het = HET_NONE;
    int r;

    if (!json_object_object_get_ex(request->document, "step", &value))
        return 0;
    r = wire_number(request->document, "step", UINT32_MAX, &step, error);
    if (r == 0)
        r = wire_number(request->document, "het", UINT32_MAX, &het, error);
    request->step = (struct peers_step){
        .het = (uint32_t)het,
        .step = (uint32_t)step,
        .expected = json_object_object_get_ex(request->document, "expected", &value) &&
                    json_object_get_boolean(value),
    };
    request->has_step = true;
    return r;
}

static int read_key(struct peer_request *request, bool any_restart, struct error *error)
{
    struct json_object *value;
    unsigned long long jobid = 0, restart = UINT32_MAX;
    int r = wire_number(request->document, "jobid", UINT32_MAX, &jobid, error);

    if (r == 0 && (!any_restart || json_object_object_get_ex(request->document, "restart", &value)))
        r = wire_number(request->document, "restart", UINT32_MAX, &restart, error);
    request->key.jobid = (uint32_t)jobid;
    request->key.restart = (uint32_t)restart;
    return r < 0 || any_restart ? r : read_step(request, error);
}

static bool may_ask(const struct peer_request *request, uid_t uid)
{
    if (uid == 0)
        return true;
    for (size_t i = 0; request->route == ROUTE_RECORD && i < request->peers->n_readers; i++)
        if (request->peers->readers[i] == uid)
            return true;
    return false;
}

static int read_question(const char *payload, size_t size, const struct credential_maker *maker,
                         void *arg, struct error *error)
{
    struct peer_request *request = arg;
    const struct wire_head head = {.cluster = request->peers->cluster, .to = request->peers->node};
    int r;

    request->sender = *maker;
    if (!may_ask(request, maker->uid))
        return error_set(error, -EPERM, "user %u may not send this request", maker->uid);
    r = wire_parse(payload, size, &head, &request->document, error);
    if (r < 0)
        return r;
    return request->route == ROUTE_ACCOUNTS
               ? read_accounts(request, error)
               : read_key(request, request->route == ROUTE_RECORD, error);
}

/* --- on the loop ------------------------------------------------------------------------------ */

static void refuse(struct peer_request *request, int result, const struct error *error)
{
    unsigned code =
        peers_refuse(request->peers, http_exchange_peer(request->exchange), result, error);

    finish_text(request, code, error->text);
}

static void ask_for_account(struct peer_request *request)
{
    const struct peers_hooks *hooks = &request->peers->hooks;
    const char *from = wire_string(request->document, "from");
    struct error error;

    if (hooks->member(&request->key, from, hooks->arg) != PEERS_MEMBER_NO) {
        hooks->account(&request->key, request->has_step ? &request->step : NULL, from, request,
                       hooks->arg);
        return;
    }
    refuse(request, set_stranger(&error, request, &request->key), &error);
}

/* The message is that of its node. */
static void on_checked(int result, const struct error *error, void *arg)
{
    struct peer_request *request = arg;
    struct peers *peers = request->peers;

    if (peers->ending)
        finish_text(request, 503, "jobiod is stopping");
    else if (result < 0)
        refuse(request, result, error);
    else if (request->route == ROUTE_ACCOUNTS)
        take_accounts(request);
    else if (request->route == ROUTE_JOB)
        ask_for_account(request);
    else
        peers->hooks.record(&request->key, request, peers->hooks.arg);
}

/* Records are for users, on any host: only accounts speak for a node. */
static void on_opened(int result, const struct error *error, void *arg)
{
    struct peer_request *request = arg;

    if (result < 0)
        refuse(request, result, error);
    else if (request->route == ROUTE_RECORD || request->peers->ending)
        on_checked(0, NULL, request);
    else
        origins_check(request->peers->origins, wire_string(request->document, "from"),
                      request->sender.origin, on_checked, request);
}

static void serve(struct peers *peers, enum route route, struct http_exchange *exchange,
                  const void *body, size_t size)
{
    struct peer_request *request = calloc(1, sizeof(*request));

    if (!request) {
        http_exchange_text(exchange, 503, "no memory");
        return;
    }
    *request = (struct peer_request){.peers = peers, .exchange = exchange, .route = route};
    LIST_INSERT_HEAD(&peers->requests, request, link);
    if (sealer_open(peers->opener, size ? body : "", size, read_question, on_opened, request) < 0)
        finish_text(request, 503, "too many requests are queued");
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

int responder_start(struct peers *peers, const struct peers_options *options, struct error *error)
{
    const struct http_server_options server = {
        .listen = options->listen,
        .n_listen = options->n_listen,
        .sockets = options->sockets,
        .n_sockets = options->n_sockets,
        .retry_ns = options->retry_ns,
        .listening = peers->hooks.listening,
        .listening_arg = peers->hooks.arg,
        .limit_ns = options->timeout_ns,
        .body_max = CREDENTIAL_TEXT_MAX,
        .connections = 512,
        .connections_an_address = options->connections_an_address,
    };
    const struct {
        const char *path;
        http_handler_f handle;
    } routes[] = {{"/v1/accounts", on_accounts},
                  {"/v1/job", on_job},
                  {"/v1/record", on_record},
                  {"/v1/query", user_query_serve}};
    int r;

    if (!options->n_listen && !options->n_sockets)
        return 0;
    r = http_server_create(&peers->server, peers->loop, &server, error);
    for (size_t i = 0; i < ARRAY_SIZE(routes) && r == 0; i++)
        if (http_server_route(peers->server, "POST", routes[i].path, routes[i].handle, peers) < 0)
            r = error_set(error, -ENOMEM, "no memory for the queries of other nodes");
    return r;
}

void responder_free(struct peers *peers)
{
    struct peer_request *request;

    while ((request = LIST_FIRST(&peers->requests)))
        finish_text(request, 503, "jobiod is stopping");
}
