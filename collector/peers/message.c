/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages between nodes: the URL, the head, the document of an account, and warnings about them.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "collector/peers/peers_impl.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "report/json/json.h"

void peers_warn(struct peers *peers, const char *key, const char *format, ...)
{
    char text[512];
    unsigned held = 0;
    va_list ap;

    if (!log_allowed(key, 60, &held))
        return;
    va_start(ap, format);
    (void)vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    if (held)
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), " (%u more like this)",
                       held);
    peers->hooks.say(LOG_LEVEL_WARNING, text, peers->hooks.arg);
}

/* Limit of bins in a message: 20 mounts with complete time lines. A bin has at most about 50 bytes
 * in practice, so they take 200 kB of the 720 kB that munge accepts. */
#define MAX_BINS 4000
/* Limit of bins of all nodes of a job on its first node, per mount: up to 64 nodes have complete
 * time lines. A job with 4,096 nodes takes about 6 MB per mount there. */
#define JOB_BINS (64 * TIMELINE_BINS)
#define LEAST_BINS 50

static unsigned bins_of_a_node(const struct job_account *job)
{
    unsigned bins = job->nodes_expected ? JOB_BINS / job->nodes_expected : TIMELINE_BINS;

    return bins > TIMELINE_BINS ? TIMELINE_BINS : bins < LEAST_BINS ? LEAST_BINS : bins;
}

static size_t count_bins(const struct io_mounts *mounts, unsigned max)
{
    size_t n = 0;

    for (size_t i = 0; i < mounts->n; i++)
        n += mounts->items[i].timeline.n < max ? mounts->items[i].timeline.n : max;
    return n;
}

struct json_object *peers_document(const struct job_account *job, unsigned flags)
{
    unsigned max = bins_of_a_node(job);
    size_t bins = count_bins(&job->mounts, max);

    for (size_t i = 0; flags & REPORT_STEPS && i < job->n_steps; i++)
        bins += count_bins(&job->steps[i].mounts, max);
    if (bins <= MAX_BINS)
        flags |= REPORT_TIMELINE;
    return report_json_bins(job, flags | REPORT_WIRE, max);
}

struct wire_head peers_head(const struct peers *peers, const char *to, const char *id)
{
    return (struct wire_head){peers->cluster, peers->node, to, id};
}

/* The HTTP status and the counter of each failure. */
static const struct {
    int code;
    unsigned http;
    size_t count;
    const char *limit; /* key of the rate limit */
} failures[] = {
    {-EKEYREJECTED, 401, offsetof(struct peers_counts, forged), "peers-forged"},
    {-EACCES, 401, offsetof(struct peers_counts, forged), "peers-forged"},
    {-EALREADY, 401, offsetof(struct peers_counts, replayed), "peers-replayed"},
    {-ETIME, 401, offsetof(struct peers_counts, out_of_time), "peers-time"},
    {-EPERM, 403, offsetof(struct peers_counts, not_root), "peers-root"},
    {-EPROTONOSUPPORT, 409, offsetof(struct peers_counts, other_version), "peers-version"},
    {-EREMOTE, 403, offsetof(struct peers_counts, wrong_origin), "peers-origin"},
    {-EREMCHG, 400, offsetof(struct peers_counts, wrong_node), "peers-stranger"},
    {-EBADMSG, 400, offsetof(struct peers_counts, malformed), "peers-malformed"},
    {-EXDEV, 421, offsetof(struct peers_counts, malformed), "peers-malformed"},
    {-EADDRNOTAVAIL, 421, offsetof(struct peers_counts, malformed), "peers-malformed"},
};

unsigned peers_refuse(struct peers *peers, const char *from, int result, const struct error *error)
{
    const char *limit = "peers-failed";
    unsigned http = 503;

    for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
        if (failures[i].code != result)
            continue;
        (*(uint64_t *)((char *)&peers->counts + failures[i].count))++;
        http = failures[i].http;
        limit = failures[i].limit;
        break;
    }
    peers_warn(peers, limit, "refused a message from %s: %s", from, error->text);
    return http;
}

char *peers_url(const struct peers *peers, const char *node, const char *path)
{
    return text_node_url(peers->url, node, path);
}
