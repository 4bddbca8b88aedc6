/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/peers/peers.h"

#include <stdlib.h>
#include <string.h>

#include "collector/peers/peers_impl.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/tree.h"

void peers_defaults(struct peers_options *options)
{
    *options = (struct peers_options){
        .timeout_ns = 10 * NS_PER_S,
        .backoff_ns = 5 * NS_PER_S,
        .slow_ns = 15 * NS_PER_MINUTE,
        .spread_ns = NS_PER_S / 2,
        .late_ns = NS_PER_DAY,
        .answers_ns = NS_PER_HOUR,
        .retry_ns = 5 * NS_PER_S,
    };
}

/* --- creation --------------------------------------------------------------------------------- */

void peers_stop(struct peers *peers)
{
    if (!peers)
        return;
    peers->ending = true;
    first_node_stop(peers);
    job_queries_stop(peers);
    http_server_destroy(peers->server);
    peers->server = NULL;
}

void peers_destroy(struct peers *peers)
{
    if (!peers)
        return;
    peers_stop(peers);
    sealer_destroy(peers->sealer);
    sealer_destroy(peers->opener);
    origins_destroy(peers->origins);
    http_client_destroy(peers->client);
    job_queries_free(peers);
    first_node_free(peers);
    responder_free(peers);
    user_queries_free(peers);
    sd_event_unref(peers->loop);
    free(peers->cluster);
    free(peers->node);
    free(peers->url);
    free(peers->readers);
    free(peers);
}
DEFINE_CLEANUP(struct peers, peers_destroy)

static int copy_options(struct peers *peers, const struct peers_options *options)
{
    peers->query = options->query;
    peers->writer = options->writer;
    peers->timeout_ns = options->timeout_ns;
    peers->backoff_ns = options->backoff_ns;
    peers->slow_ns = options->slow_ns;
    peers->spread_ns = options->spread_ns;
    peers->late_ns = options->late_ns;
    peers->answers_ns = options->answers_ns;
    peers->cluster = strdup(options->cluster);
    peers->node = strdup(options->node);
    peers->url = strdup(options->url);
    peers->readers = calloc(options->n_readers + 1, sizeof(*peers->readers));
    if (!peers->cluster || !peers->node || !peers->url || !peers->readers)
        return -ENOMEM;
    if (options->n_readers)
        memcpy(peers->readers, options->readers, options->n_readers * sizeof(*peers->readers));
    peers->n_readers = options->n_readers;
    return 0;
}

int peers_check_url(const char *url, struct error *error)
{
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        return error_set(error, -EINVAL, "\"%.100s\" does not start with http:// or https://", url);
    if (!strstr(url, "%n"))
        return error_set(error, -EINVAL, "\"%.100s\" has no %%n for the name of the node", url);
    return 0;
}

int peers_create(struct peers **ret, sd_event *loop, const struct peers_options *options,
                 const struct peers_hooks *hooks, struct error *error)
{
    CLEANUP(peers_destroyp) struct peers *peers = calloc(1, sizeof(*peers));
    const struct http_client_options client = {.connect_timeout_ns = 3 * NS_PER_S,
                                               .timeout_ns = options->timeout_ns};
    int r = peers_check_url(options->url, error);

    if (!peers)
        return error_set(error, -ENOMEM, "no memory for the queries of other nodes");
    if (r < 0)
        return r;
    peers->loop = sd_event_ref(loop);
    peers->hooks = *hooks;
    if (copy_options(peers, options) < 0)
        return error_set(error, -ENOMEM, "no memory for the queries of other nodes");
    r = sealer_create(&peers->sealer, loop, options->munge_socket, error);
    if (r == 0)
        r = sealer_create(&peers->opener, loop, options->munge_socket, error);
    if (r == 0)
        r = origins_create(&peers->origins, loop, options->check_origin, error);
    if (r == 0)
        r = http_client_create(&peers->client, loop, &client, error);
    if (r == 0)
        r = first_node_start(peers, error);
    if (r == 0)
        r = responder_start(peers, options, error);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(peers);
    return 0;
}

/* --- status ----------------------------------------------------------------------------------- */

static void put_counts(struct tree *tree, struct json_object *to, const struct peers_counts *c)
{
    const struct {
        const char *name;
        uint64_t value;
    } fields[] = {
        {"sent", c->sent},
        {"send_failures", c->send_failures},
        {"refused_by_peer", c->refused_by_peer},
        {"asked", c->asked},
        {"answered", c->answered},
        {"unanswered", c->unanswered},
        {"served", c->served},
        {"taken", c->taken},
        {"unknown_jobs", c->unknown_jobs},
        {"backwards", c->backwards},
        {"put_off", c->put_off},
        {"forged", c->forged},
        {"replayed", c->replayed},
        {"out_of_time", c->out_of_time},
        {"not_root", c->not_root},
        {"malformed", c->malformed},
        {"other_version", c->other_version},
        {"wrong_node", c->wrong_node},
        {"wrong_origin", c->wrong_origin},
        {"unconfirmed_origin", c->unconfirmed_origin},
    };

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        tree_put_u64(tree, to, fields[i].name, fields[i].value);
}

struct json_object *peers_status(const struct peers *peers)
{
    struct tree tree = {.failed = false};
    struct json_object *status = tree_object(&tree);
    struct peers_counts counts = peers->counts;

    counts.send_failures = first_node_failures(peers);
    counts.unconfirmed_origin = origins_unconfirmed(peers->origins);
    put_counts(&tree, status, &counts);
    return tree_end(&tree, status);
}
