/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* strverscmp */
#include "cli/status_all.h"

#include <curl/curl.h>
#include <errno.h>
#include <json-c/json.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/conf.h"
#include "cli/base/output.h"
#include "cli/base/pager.h"
#include "cli/explain/command.h"
#include "cli/source/jobiod.h"
#include "cli/status_verdict.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/tree.h"
#include "common/utf8.h"

#define SINFO_MS 20000
#define SINFO_MAX ((size_t)16 << 20)
#define THREADS 32
#define NODES_NAMED 3 /* of those that say the same */

struct node {
    char *name, *slurm;           /* slurm: its state there */
    struct json_object *document; /* NULL: no answer */
    enum verdict verdict;
    char *error;          /* why there is none */
    char *line, *details; /* what it says */
    const char *version;
};

struct nodes {
    const struct cli *cli;
    struct settings *settings;
    struct node *items;
    size_t n;
    atomic_size_t next; /* the first that no thread has taken */
};

static void nodes_clear(struct nodes *nodes)
{
    for (size_t i = 0; i < nodes->n; i++) {
        struct node *node = &nodes->items[i];

        json_object_put(node->document);
        free(node->name);
        free(node->slurm);
        free(node->error);
        free(node->line);
        free(node->details);
    }
    free(nodes->items);
    settings_destroy(nodes->settings);
}

/* --- the nodes -------------------------------------------------------------------------------- */

/* A line of sinfo: NAME STATE. A node of several partitions has several lines, one after the other.
 */
static int add_node(struct nodes *nodes, char *line)
{
    char *state = strchr(line, ' ');
    struct node *grown, *node;

    if (!state || state == line)
        return 0;
    *state++ = '\0';
    if (nodes->n && strcmp(nodes->items[nodes->n - 1].name, line) == 0)
        return 0;
    grown = realloc(nodes->items, (nodes->n + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    nodes->items = grown;
    node = &grown[nodes->n++];
    *node = (struct node){.name = strdup(line), .slurm = strdup(state)};
    return node->name && node->slurm ? 0 : -ENOMEM;
}

static int list_nodes(struct nodes *nodes, struct error *error)
{
    char *words[] = {"sinfo", "--noheader", "--Node", "--format=%N %T", NULL};
    _free_ char *text = NULL;
    char *rest, *line;
    int rc = command_read(words, SINFO_MS, SINFO_MAX, &text, error);

    if (rc < 0)
        return error_prefix(error, rc, "cannot list the nodes with sinfo");
    for (rest = text; rc == 0 && (line = strsep(&rest, "\n"));)
        rc = add_node(nodes, line);
    if (rc < 0)
        return error_errno(error, rc, "list the nodes");
    return nodes->n ? 0 : error_set(error, -ENOENT, "sinfo lists no node");
}

static int read_settings(struct nodes *nodes, struct error *error)
{
    int rc = conf_read(nodes->cli->history.config, &nodes->settings, error);

    if (rc == 0 && !nodes->settings->peers.url)
        rc = error_set(error, -EINVAL,
                       "--all needs the URL of the nodes: set url in [peers] of jobio.conf");
    return rc;
}

/* --- the queries ------------------------------------------------------------------------------ */

static const char *find_version(struct json_object *document)
{
    struct json_object *version;

    return json_object_object_get_ex(document, "version", &version)
               ? json_object_get_string(version)
               : "?";
}

/* Why a node does not answer names the node, so it is a detail: such nodes say the same. */
static void set_error(struct node *node, int rc, const char *text)
{
    node->error = utf8_sanitize(text);
    if (rc == -EHOSTUNREACH && node->error) {
        node->line = strdup("no answer");
        node->details = text_format("  %s\n", node->error);
    } else {
        (void)text_copy(&node->line, node->error);
    }
}

static void ask(const struct nodes *nodes, struct node *node)
{
    _free_ char *url = text_node_url(nodes->settings->peers.url, node->name, "");
    struct cli cli = *nodes->cli;
    struct error error = {"no memory"};
    int rc;

    cli.remote.url = url;
    cli.remote.munge_socket = nodes->settings->peers.munge_socket;
    node->verdict = VERDICT_UNKNOWN;
    node->version = "-";
    rc = url ? jobiod_status(&cli, &node->document, &error) : -ENOMEM;
    if (rc < 0) {
        set_error(node, rc, error.text);
        return;
    }
    node->verdict = status_verdict_get(node->document, &node->line, &node->details);
    node->version = find_version(node->document);
}

static void *ask_some(void *arg)
{
    struct nodes *nodes = arg;
    size_t i;

    while ((i = atomic_fetch_add(&nodes->next, 1)) < nodes->n)
        ask(nodes, &nodes->items[i]);
    return NULL;
}

/* Nodes that do not answer take seconds each: ask many at once. */
static void ask_all(struct nodes *nodes)
{
    pthread_t threads[THREADS];
    size_t started = 0;

    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    while (started < THREADS && started + 1 < nodes->n &&
           pthread_create(&threads[started], NULL, ask_some, nodes) == 0)
        started++;
    (void)ask_some(nodes);
    for (size_t i = 0; i < started; i++)
        (void)pthread_join(threads[i], NULL);
}

/* --- the table -------------------------------------------------------------------------------- */

/* It does not answer because the node is down in Slurm. */
static bool is_down(const struct node *node)
{
    return node->verdict == VERDICT_UNKNOWN && strncmp(node->slurm, "down", 4) == 0;
}

static const char *or_empty(const char *text)
{
    return text ? text : "no memory";
}

static int compare(const void *pa, const void *pb)
{
    const struct node *a = pa, *b = pb;
    int order = is_down(a) - is_down(b);

    if (!order)
        order = (int)b->verdict - (int)a->verdict;
    if (!order)
        order = strcmp(a->version, b->version);
    if (!order)
        order = strcmp(or_empty(a->line), or_empty(b->line));
    return order ? order : strverscmp(a->name, b->name);
}

static bool says_the_same(const struct node *a, const struct node *b)
{
    return is_down(a) == is_down(b) && a->verdict == b->verdict &&
           strcmp(a->version, b->version) == 0 && strcmp(or_empty(a->line), or_empty(b->line)) == 0;
}

/* Print the group of nodes that starts there. Returns its size. */
static size_t print_group(const struct node *first, size_t left, bool full)
{
    size_t n = 1;

    while (n < left && says_the_same(first, &first[n]))
        n++;
    (void)printf("%-12s  %-9s  %5zu  ",
                 is_down(first) ? "DOWN" : status_verdict_name(first->verdict), first->version, n);
    for (size_t i = 0; i < n && (full || i < NODES_NAMED); i++)
        (void)printf("%s%s", i ? "," : "", first[i].name);
    if (!full && n > NODES_NAMED)
        (void)printf(" and %zu more", n - NODES_NAMED);
    (void)printf(": %s\n", or_empty(first->line));
    if (n == 1 && first->details)
        (void)fputs(first->details, stdout);
    return n;
}

struct sums {
    size_t by_verdict[VERDICT_UNKNOWN + 1], down, versions;
};

/* The nodes are sorted. */
static struct sums sum(const struct nodes *nodes)
{
    struct sums sums = {.down = 0};

    for (size_t i = 0; i < nodes->n; i++) {
        bool is_new = nodes->items[i].document != NULL;

        for (size_t j = 0; j < i && is_new; j++)
            is_new = strcmp(nodes->items[i].version, nodes->items[j].version) != 0;
        sums.versions += is_new;
        if (is_down(&nodes->items[i]))
            sums.down++;
        else
            sums.by_verdict[nodes->items[i].verdict]++;
    }
    return sums;
}

static enum verdict judge(const struct nodes *nodes, const struct sums *sums)
{
    size_t up = nodes->n - sums->down;

    if (sums->by_verdict[VERDICT_OK] == up && sums->versions <= 1)
        return VERDICT_OK;
    if (sums->by_verdict[VERDICT_OK] + sums->by_verdict[VERDICT_DEGRADED] > 0)
        return VERDICT_DEGRADED;
    return sums->by_verdict[VERDICT_NOT_COUNTING] ? VERDICT_NOT_COUNTING : VERDICT_UNKNOWN;
}

static void print_count(size_t n, const char *what)
{
    if (n)
        (void)printf(", %zu %s", n, what);
}

static enum verdict print_table(const struct nodes *nodes, bool full)
{
    const struct sums sums = sum(nodes);
    enum verdict verdict = judge(nodes, &sums);

    (void)printf("%s: %zu of %zu nodes count", status_verdict_name(verdict),
                 sums.by_verdict[VERDICT_OK] + sums.by_verdict[VERDICT_DEGRADED], nodes->n);
    print_count(sums.by_verdict[VERDICT_DEGRADED], "degraded");
    print_count(sums.by_verdict[VERDICT_NOT_COUNTING], "not counting");
    print_count(sums.by_verdict[VERDICT_UNKNOWN], "without an answer");
    print_count(sums.down, "down in Slurm");
    print_count(sums.versions > 1 ? sums.versions : 0, "versions of jobiod");
    (void)printf("\n\n%-12s  %-9s  %5s  WHICH: WHAT\n", "VERDICT", "VERSION", "NODES");
    for (size_t i = 0; i < nodes->n;)
        i += print_group(&nodes->items[i], nodes->n - i, full);
    return verdict;
}

static int print_json(const struct nodes *nodes)
{
    struct tree tree = {.failed = false};
    struct json_object *list = tree_array(&tree);

    for (size_t i = 0; i < nodes->n; i++) {
        const struct node *node = &nodes->items[i];
        struct json_object *object = tree_object(&tree);

        tree_put_text(&tree, object, "node", node->name);
        tree_put_text(&tree, object, "slurm_state", node->slurm);
        tree_put_text(&tree, object, "verdict", status_verdict_name(node->verdict));
        if (node->document)
            tree_put(&tree, object, "status", json_object_get(node->document));
        else
            tree_put_text(&tree, object, "error", or_empty(node->error));
        tree_add(&tree, list, object);
    }
    return output_tree(&tree, list) < 0 ? CLI_FAILED : CLI_OK;
}

int status_all(const struct cli *cli, bool full, bool json)
{
    struct nodes nodes = {.cli = cli};
    struct error error;
    int status = json ? CLI_FAILED : (int)VERDICT_UNKNOWN, rc = read_settings(&nodes, &error);

    if (rc == 0)
        rc = list_nodes(&nodes, &error);
    if (rc < 0) {
        output_error("%s", error.text);
    } else {
        ask_all(&nodes);
        qsort(nodes.items, nodes.n, sizeof(*nodes.items), compare);
        pager_start(cli);
        status = json ? print_json(&nodes) : (int)print_table(&nodes, full);
    }
    nodes_clear(&nodes);
    return status;
}
