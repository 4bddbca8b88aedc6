/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "report/prometheus/prometheus_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/numbers.h"
#include "common/units.h"
#include "common/utf8.h"

#define NAME_PRIVATE "(private)"
#define NAME_OTHER "(other)"

/* --- labels ----------------------------------------------------------------------------------- */

void prometheus_names_clear(struct prometheus_names *names)
{
    while (names->n)
        free(names->items[--names->n]);
}

int prometheus_names_get(struct prometheus_names *names, const char *name)
{
    _free_ char *clean = utf8_sanitize(name);

    if (!clean)
        return -ENOMEM;
    for (size_t i = 0; i < names->n; i++)
        if (!strcmp(names->items[i], clean))
            return (int)i;
    if (names->n == PROMETHEUS_NAMES_MAX)
        return PROMETHEUS_NAMES_MAX;
    names->items[names->n] = TAKE_PTR(clean);
    return (int)names->n++;
}

/* The label of the mount, the same in all families; NULL on out-of-memory. */
static const char *mount_label(struct prometheus_names *names, const struct io_mount *m)
{
    int i = m->labelled ? prometheus_names_get(names, m->mount) : -1;

    if (!m->labelled)
        return NAME_PRIVATE;
    return i < 0 ? NULL : i == PROMETHEUS_NAMES_MAX ? NAME_OTHER : names->items[i];
}

/* The part of a FUSE type after the dot is chosen by the user who mounts it. */
static const char *fstype_label(const struct io_mount *m)
{
    return !m->labelled && !strncmp(m->fstype, "fuse", 4) ? "fuse" : m->fstype;
}

static int group_add(struct group *group, struct prometheus_names *names,
                     const struct io_mounts *mounts)
{
    for (size_t i = 0; i < mounts->n; i++) {
        struct io_mount renamed = mounts->items[i];
        const struct io_mounts one = {.items = &renamed, .n = 1};
        const char *name;

        if (io_account_is_empty(&renamed.io))
            continue;
        name = mount_label(names, &mounts->items[i]);
        if (!name)
            return -ENOMEM;
        renamed.mount = (char *)name;
        renamed.fstype = (char *)fstype_label(&mounts->items[i]);
        renamed.source = (char *)"";
        renamed.private = false;
        if (io_mounts_add(&group->mounts, &one) < 0)
            return -ENOMEM;
    }
    return 0;
}

static struct group *group_of(struct page *page, const struct job_account *job)
{
    for (size_t i = 0; i < page->n_jobs; i++)
        if (page->jobs[i].job->key.jobid == job->key.jobid)
            return &page->jobs[i];
    page->jobs[page->n_jobs].job = job;
    return &page->jobs[page->n_jobs++];
}

/* Jobs are labelled by their number, so the runs of a requeued job are one group. */
static int page_group(struct page *page)
{
    const struct prometheus_node *node = page->node;

    if (node->totals && group_add(&page->totals, page->names, node->totals) < 0)
        return -ENOMEM;
    page->jobs = calloc(node->n_jobs + 1, sizeof(*page->jobs));
    if (!page->jobs)
        return -ENOMEM;
    for (size_t i = 0; i < node->n_jobs; i++) {
        const struct job_account *job = node->jobs[i];
        struct group *group = group_of(page, job);

        if (job->key.restart > group->job->key.restart)
            group->job = job;
        add_saturating(&group->elapsed_ns, job->elapsed_ns);
        group->missed |= job->completeness.lost || job->completeness.n;
        if (group_add(group, page->names, &job->mounts) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* --- families --------------------------------------------------------------------------------- */

/* `label` (NULL: none) is the last one. */
static int put_labels(struct page *page, const struct group *group, const struct io_mount *m,
                      const char *label, const char *value)
{
    fprintf(page->out, "{%s", page->where);
    if (group->job)
        fprintf(page->out, ",jobid=\"%u\"", group->job->key.jobid);
    if (page_label(page->out, "mountpoint", m->mount) < 0 ||
        page_label(page->out, "fstype", m->fstype) < 0 ||
        (label && page_label(page->out, label, value) < 0))
        return -ENOMEM;
    fputs("} ", page->out);
    return 0;
}

/* Reads or writes. */
struct direction {
    const char *name;
    struct io_sum (*sum)(const struct io_account *account);
    enum io_op ops[2];
};

static const struct direction directions[] = {
    {"read", io_account_reads, {IO_READ, IO_COPY_READ}},
    {"write", io_account_writes, {IO_WRITE, IO_COPY_WRITE}},
};

static double mean(uint64_t amount, uint64_t elapsed_ns)
{
    return elapsed_ns ? (double)amount / ((double)elapsed_ns / NS_PER_S) : 0;
}

/* The maximum: the busiest intervals of two operations may differ, so they are not added. */
static struct io_peak peak(const struct io_mount *m, const enum io_op ops[2])
{
    struct io_peak a = m->peaks[ops[0]], b = m->peaks[ops[1]];

    return (struct io_peak){
        .bytes_per_s = a.bytes_per_s > b.bytes_per_s ? a.bytes_per_s : b.bytes_per_s,
        .requests_per_s = a.requests_per_s > b.requests_per_s ? a.requests_per_s : b.requests_per_s,
    };
}

/* One number of a direction of a mount, with the end of the line. */
struct family {
    const char *name, *type, *help; /* "HELP read." */
    const struct io_field *field;   /* whose sum it is; NULL: `put` writes it */
    void (*put)(FILE *out, const struct direction *d, const struct io_mount *m,
                uint64_t elapsed_ns);
};

static void put_mean_bytes(FILE *out, const struct direction *d, const struct io_mount *m,
                           uint64_t elapsed_ns)
{
    fprintf(out, "%.9g\n", mean(d->sum(&m->io).bytes, elapsed_ns));
}

static void put_mean_requests(FILE *out, const struct direction *d, const struct io_mount *m,
                              uint64_t elapsed_ns)
{
    fprintf(out, "%.9g\n", mean(d->sum(&m->io).requests, elapsed_ns));
}

static void put_peak_bytes(FILE *out, const struct direction *d, const struct io_mount *m,
                           uint64_t elapsed_ns)
{
    (void)elapsed_ns;
    page_u64(out, peak(m, d->ops).bytes_per_s);
}

static void put_peak_requests(FILE *out, const struct direction *d, const struct io_mount *m,
                              uint64_t elapsed_ns)
{
    (void)elapsed_ns;
    page_u64(out, peak(m, d->ops).requests_per_s);
}

static void put_sum(FILE *out, const struct io_field *field, struct io_sum sum)
{
    uint64_t value = io_sum_of(field, &sum);

    if (field->unit == IO_UNIT_NS)
        page_seconds(out, value);
    else
        page_u64(out, value);
}

/* Only jobs have these: a node has no elapsed time. */
static const struct family rates[] = {
    {"mean_bytes_per_second", "gauge", "Bytes per second over the elapsed time", NULL,
     put_mean_bytes},
    {"peak_bytes_per_second", "gauge", "Bytes per second in the busiest interval", NULL,
     put_peak_bytes},
    {"mean_requests_per_second", "gauge", "Requests per second over the elapsed time", NULL,
     put_mean_requests},
    {"peak_requests_per_second", "gauge", "Requests per second in the busiest interval", NULL,
     put_peak_requests},
};

/* A family holds all mounts of all groups. */
static int put_data_family(struct page *page, const char *prefix, const struct direction *d,
                           const struct family *family, const struct group *groups, size_t n)
{
    char name[64], help[160];

    snprintf(name, sizeof(name), "%s_%s_%s", prefix, d->name, family->name);
    snprintf(help, sizeof(help), "%s of %s operations.", family->help, d->name);
    page_family(page, name, family->type, help);
    for (size_t g = 0; g < n; g++)
        for (size_t i = 0; i < groups[g].mounts.n; i++) {
            const struct io_mount *m = &groups[g].mounts.items[i];

            fputs(name, page->out);
            if (put_labels(page, &groups[g], m, NULL, NULL) < 0)
                return -ENOMEM;
            if (family->field)
                put_sum(page->out, family->field, d->sum(&m->io));
            else
                family->put(page->out, d, m, groups[g].elapsed_ns);
        }
    return 0;
}

static int put_metadata_family(struct page *page, const char *prefix, const struct group *groups,
                               size_t n)
{
    char name[64];

    snprintf(name, sizeof(name), "%s_metadata_requests_total", prefix);
    page_family(page, name, "counter", "Metadata requests by operation; create is part of open.");
    for (size_t g = 0; g < n; g++)
        for (size_t i = 0; i < groups[g].mounts.n; i++) {
            const struct io_mount *m = &groups[g].mounts.items[i];

            for (int op = IO_OP_FIRST_META; op < IO_OP_COUNT; op++) {
                if (!io_op_is_meta((enum io_op)op) || !m->io.ops[op] || !m->io.ops[op]->requests)
                    continue;
                fputs(name, page->out);
                if (put_labels(page, &groups[g], m, "op", io_op_name(op)) < 0)
                    return -ENOMEM;
                page_u64(page->out, m->io.ops[op]->requests);
            }
        }
    return 0;
}

/* Sums over all metadata operations, to keep the number of series small. */
static int put_metadata_sums(struct page *page, const char *prefix, const struct group *groups,
                             size_t n)
{
    static const struct {
        const char *name, *help;
        bool seconds;
    } sums[] = {
        {"errors_total", "Failed metadata requests.", false},
        {"seconds_total", "Seconds that threads waited inside metadata requests.", true},
    };

    for (size_t s = 0; s < ARRAY_SIZE(sums); s++) {
        char name[64];

        snprintf(name, sizeof(name), "%s_metadata_%s", prefix, sums[s].name);
        page_family(page, name, "counter", sums[s].help);
        for (size_t g = 0; g < n; g++)
            for (size_t i = 0; i < groups[g].mounts.n; i++) {
                struct io_sum sum = io_account_meta(&groups[g].mounts.items[i].io);

                if (!sum.requests)
                    continue;
                fputs(name, page->out);
                if (put_labels(page, &groups[g], &groups[g].mounts.items[i], NULL, NULL) < 0)
                    return -ENOMEM;
                if (sums[s].seconds)
                    page_seconds(page->out, sum.time_ns);
                else
                    page_u64(page->out, sum.errors);
            }
    }
    return 0;
}

/* Closes and locks are neither data nor metadata. */
static int put_others(struct page *page, const char *prefix, const struct group *groups, size_t n)
{
    static const char *const helps[] = {"Regular files closed by their last user.",
                                        "Requests of fcntl and flock locks.",
                                        "Seconds that threads waited while closing files.",
                                        "Seconds that threads waited for locks."};

    for (size_t i = 0; i < ARRAY_SIZE(helps); i++) {
        enum io_op op = i % 2 ? IO_LOCK : IO_CLOSE;
        bool seconds = i / 2;
        char name[64];

        snprintf(name, sizeof(name), "%s_%s_%s_total", prefix, io_op_name(op),
                 seconds ? "seconds" : "requests");
        page_family(page, name, "counter", helps[i]);
        for (size_t g = 0; g < n; g++)
            for (size_t m = 0; m < groups[g].mounts.n; m++) {
                const struct io_counter *c = groups[g].mounts.items[m].io.ops[op];

                if (!c)
                    continue;
                fputs(name, page->out);
                if (put_labels(page, &groups[g], &groups[g].mounts.items[m], NULL, NULL) < 0)
                    return -ENOMEM;
                if (seconds)
                    page_seconds(page->out, c->time_ns);
                else
                    page_u64(page->out, c->requests);
            }
    }
    return 0;
}

/* Errors of the file system rather than of the calling program. The label has no other values. */
static const int failures[] = {EIO, ENOSPC, EROFS, ESTALE, EDQUOT, ETIMEDOUT, ENOTCONN, ESHUTDOWN};

static uint64_t failures_of(const struct io_mount *m, int code)
{
    uint64_t count = 0;

    for (int op = 0; op < IO_OP_COUNT; op++) {
        const struct io_counter *c = m->io.ops[op];

        for (size_t i = 0; c && i < c->n_errnos; i++)
            if (c->errnos[i].code == code)
                add_saturating(&count, c->errnos[i].count);
    }
    return count;
}

/* For jobs only: the totals of the node are stored without errnos. */
static int put_failures(struct page *page)
{
    static const char name[] = "jobio_failures_total";

    page_family(page, name, "counter",
                "Requests that failed because of the file system, by errno.");
    for (size_t g = 0; g < page->n_jobs; g++)
        for (size_t i = 0; i < page->jobs[g].mounts.n; i++)
            for (size_t f = 0; f < ARRAY_SIZE(failures); f++) {
                const struct io_mount *m = &page->jobs[g].mounts.items[i];
                uint64_t count = failures_of(m, failures[f]);
                char buf[16];

                if (!count)
                    continue;
                fputs(name, page->out);
                if (put_labels(page, &page->jobs[g], m, "errno", io_errno_name(failures[f], buf)) <
                    0)
                    return -ENOMEM;
                page_u64(page->out, count);
            }
    return 0;
}

static int put_direction(struct page *page, const char *prefix, const struct direction *d,
                         size_t n_rates, const struct group *groups, size_t n)
{
    for (size_t i = 0; i < IO_FIELD_COUNT; i++) {
        const struct family family = {io_fields[i].metric, "counter", io_fields[i].help,
                                      &io_fields[i], NULL};

        if (family.name && put_data_family(page, prefix, d, &family, groups, n) < 0)
            return -ENOMEM;
    }
    for (size_t i = 0; i < n_rates; i++)
        if (put_data_family(page, prefix, d, &rates[i], groups, n) < 0)
            return -ENOMEM;
    return 0;
}

/* A metric that is 1 and has a version. */
static int put_version(struct page *page, const char *name, const char *help, const char *version)
{
    page_family(page, name, "gauge", help);
    fprintf(page->out, "%s{%s", name, page->where);
    if (page_label(page->out, "version", version) < 0)
        return -ENOMEM;
    fputs("} 1\n", page->out);
    return 0;
}

static int put_self(struct page *page)
{
    const struct prometheus_node *node = page->node;
    unsigned running = 0;
    int r = put_version(page, "jobio_build_info", "The version of jobio; always 1.", node->version);

    for (size_t i = 0; i < page->n_jobs; i++)
        running += !page->jobs[i].job->ended;
    if (r == 0 && node->plugin && *node->plugin)
        r = put_version(page, "jobio_plugin_info",
                        "The version of the plugin that tagged the last step; always 1.",
                        node->plugin);
    if (r < 0)
        return r;
    page_family(page, "jobio_tracked_jobs", "gauge", "Jobs running on this node.");
    fprintf(page->out, "jobio_tracked_jobs{%s} %u\n", page->where, running);
    page_family(page, "jobio_events_lost_total", "counter",
                "Calls that were seen but not counted.");
    fprintf(page->out, "jobio_events_lost_total{%s} ", page->where);
    page_u64(page->out, node->lost);
    return 0;
}

static int put_more(struct page *page, const struct prometheus_family *family)
{
    if (family->n)
        page_family(page, family->name, family->type, family->help);
    for (size_t i = 0; i < family->n; i++) {
        fprintf(page->out, "%s{%s", family->name, page->where);
        if (family->label && page_label(page->out, family->label, family->samples[i].value) < 0)
            return -ENOMEM;
        fprintf(page->out, "} %.15g\n", family->samples[i].number);
    }
    return 0;
}

static int put_groups(struct page *page, const char *prefix, size_t n_rates,
                      const struct group *groups, size_t n)
{
    for (size_t d = 0; d < ARRAY_SIZE(directions); d++)
        if (put_direction(page, prefix, &directions[d], n_rates, groups, n) < 0)
            return -ENOMEM;
    if (put_metadata_family(page, prefix, groups, n) < 0 ||
        put_metadata_sums(page, prefix, groups, n) < 0 || put_others(page, prefix, groups, n) < 0)
        return -ENOMEM;
    return 0;
}

static int page_write(struct page *page)
{
    if (put_groups(page, "jobio", ARRAY_SIZE(rates), page->jobs, page->n_jobs) < 0 ||
        put_failures(page) < 0 || page_jobs(page) < 0 ||
        put_groups(page, "jobio_node", 0, &page->totals, 1) < 0 || put_self(page) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < page->node->n_families; i++)
        if (put_more(page, &page->node->families[i]) < 0)
            return -ENOMEM;
    return 0;
}

static void page_clear(struct page *page)
{
    prometheus_names_clear(&page->own);
    for (size_t i = 0; i < page->n_jobs; i++)
        io_mounts_clear(&page->jobs[i].mounts);
    free(page->jobs);
    io_mounts_clear(&page->totals.mounts);
    free(page->where);
}

/* cluster="c",instance="i" */
static char *where_labels(const struct prometheus_node *node)
{
    _free_ char *cluster = page_escape(node->cluster), *instance = page_escape(node->instance);
    char *where;

    if (!cluster || !instance ||
        asprintf(&where, "cluster=\"%s\",instance=\"%s\"", cluster, instance) < 0)
        return NULL;
    return where;
}

char *report_prometheus(const struct prometheus_node *node)
{
    CLEANUP(page_clear) struct page page = {.node = node, .where = where_labels(node)};
    char *text = NULL;
    size_t size;
    int r;

    page.names = node->names ? node->names : &page.own;
    if (!page.where || page_group(&page) < 0)
        return NULL;
    page.out = open_memstream(&text, &size);
    if (!page.out)
        return NULL;
    r = page_write(&page);
    if (ferror(page.out))
        r = -ENOMEM;
    if (fclose(page.out) != 0)
        r = -ENOMEM;
    if (r < 0) {
        free(text);
        return NULL;
    }
    return text;
}
