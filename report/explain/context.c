/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/explain/context.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/tree.h"
#include "report/json/json.h"
#include "report/text/text.h"

#define DOCUMENT_VERSION 1

static const char about[] =
    "What one Slurm job did in I/O, counted in the kernel by jobio, with what it can be compared "
    "with. Numbers are exact unless 'complete' is false or 'incomplete' and 'unsupported' say "
    "what is missing. A field that is not there is not known.";

/* How to read it without the schema. */
static const char *const legend[][2] = {
    {"units", "_bytes and bytes: bytes; _ns: nanoseconds; _s: seconds, points in time since 1970 "
              "UTC; _per_s: a second. 1 KiB = 1024 B."},
    {"job", "the document of 'jobio job ID --json'"},
    {"read, write", "calls on files; bytes that they returned. copy_*: copy_file_range. mmap_*: "
                    "page faults. All others are metadata: requests, no bytes."},
    {"time_ns", "time inside synchronous calls, summed over all threads: it can exceed the run "
                "time"},
    {"wait.longest_thread_ns", "the wait of the one thread that waited most; threads that ran "
                               "one after the other count as one. Divided by elapsed_s it is the "
                               "share of the run time that was lost to I/O, at most all of it."},
    {"size_log2", "calls by bytes: [0] <= 1 B, [i] <= 2^i B"},
    {"latency_log2", "calls by duration: [0] <= 128 ns, [i] <= 2^(i+7) ns"},
    {"cache", "the page cache: hit_bytes needed no disk or server"},
    {"normal", "what a call on this mount took in other jobs of the last 30 days: of the medians "
               "of the jobs, half stayed below q50_ns and 99 % below q99_ns"},
    {"findings", "what the site's rules say; lost is the part of the run time from 0 to 1"},
    {"similar_jobs", "past jobs, the most similar first. similarity: the cosine between the "
                     "logarithms of what each operation moved on each mount; 1 is the same mix."},
    {"other_counters", "what other tools count, and why it differs"},
};

/* Levels of detail; the first that fits is used. */
static const struct level {
    size_t mounts, similar, similar_mounts, notes, causes;
    bool histograms, figures;
} levels[] = {
    {SIZE_MAX, CONTEXT_SIMILAR, 3, 10, SIZE_MAX, true, true},
    {12, CONTEXT_SIMILAR, 3, 10, 20, true, true},
    {6, CONTEXT_SIMILAR, 2, 5, 10, true, true},
    {6, CONTEXT_SIMILAR, 2, 5, 10, false, true},
    {4, 3, 1, 3, 5, false, true},
    {2, 2, 1, 3, 5, false, true},
    {1, 0, 0, 1, 3, false, false},
};

struct writer {
    struct tree *tree;
    const struct context *context;
    const struct level *level;
    struct json_object *left_out;
};

static void leave_out(struct writer *w, size_t n, const char *what)
{
    char text[128];

    (void)snprintf(text, sizeof(text), "%zu %s", n, what);
    tree_add_text(w->tree, w->left_out, text);
}

/* --- the job ---------------------------------------------------------------------------------- */

/* The weight of a mount: by waiting, then by bytes and calls. */
static double weight_of(struct json_object *mount)
{
    struct json_object *ops = json_object_object_get(mount, "ops");
    double sum = 0;

    if (!ops)
        return 0;
    json_object_object_foreach(ops, name, op)
    {
        (void)name;
        sum += 1e3 * (double)json_object_get_uint64(json_object_object_get(op, "time_ns")) +
               (double)json_object_get_uint64(json_object_object_get(op, "bytes")) +
               (double)json_object_get_uint64(json_object_object_get(op, "requests"));
    }
    return sum;
}

static int compare_mounts(const void *pa, const void *pb)
{
    double a = weight_of(*(struct json_object *const *)pa),
           b = weight_of(*(struct json_object *const *)pb);

    return (a < b) - (a > b);
}

/* Keep the first `n` items of an array of the job. */
static void cut_array(struct writer *w, struct json_object *array, size_t n, const char *what)
{
    size_t all = array ? json_object_array_length(array) : 0;

    if (all <= n)
        return;
    (void)json_object_array_del_idx(array, n, all - n);
    leave_out(w, all - n, what);
}

static void drop_histograms(struct writer *w, struct json_object *mounts)
{
    for (size_t i = 0; mounts && i < json_object_array_length(mounts); i++) {
        struct json_object *ops =
            json_object_object_get(json_object_array_get_idx(mounts, i), "ops");

        json_object_object_foreach(ops, name, op)
        {
            (void)name;
            json_object_object_del(op, "size_log2");
            json_object_object_del(op, "latency_log2");
        }
    }
    tree_add_text(w->tree, w->left_out, "the histograms (size_log2, latency_log2)");
}

static struct json_object *job_json(struct writer *w)
{
    struct json_object *job = report_json(w->context->job, 0), *mounts;

    if (!job)
        return NULL;
    mounts = json_object_object_get(job, "mounts");
    if (mounts)
        json_object_array_sort(mounts, compare_mounts);
    cut_array(w, mounts, w->level->mounts, "more mounts of the job, which mattered less");
    cut_array(w, json_object_object_get(job, "incomplete"), w->level->causes,
              "more reasons why the account is not complete");
    if (!w->level->histograms)
        drop_histograms(w, mounts);
    return job;
}

/* --- the rest --------------------------------------------------------------------------------- */

static struct json_object *legend_json(struct writer *w)
{
    struct json_object *o = tree_object(w->tree);

    for (size_t i = 0; i < ARRAY_SIZE(legend); i++)
        tree_put_text(w->tree, o, legend[i][0], legend[i][1]);
    return o;
}

static struct json_object *findings_json(struct writer *w)
{
    static const char *const names[ADVICE_LEVELS] = {
        [ADVICE_ERROR] = "error", [ADVICE_HINT] = "hint", [ADVICE_GOOD] = "good"};
    const struct advice_notes *notes = w->context->notes;
    struct json_object *array = tree_array(w->tree);
    size_t all = notes ? notes->n : 0, n = all < w->level->notes ? all : w->level->notes;

    for (size_t i = 0; i < n; i++) {
        const struct advice_note *note = &notes->items[i];
        struct json_object *o = tree_object(w->tree);

        tree_put_text(w->tree, o, "level", names[note->level]);
        tree_put_text(w->tree, o, "rule", note->rule);
        tree_put_text(w->tree, o, "text", note->text);
        if (note->link && *note->link)
            tree_put_text(w->tree, o, "link", note->link);
        tree_put_number(w->tree, o, "lost", note->lost, 3);
        tree_add(w->tree, array, o);
    }
    if (n < all)
        leave_out(w, all - n, "more findings");
    return array;
}

static void put_sums(struct tree *tree, struct json_object *to, const struct io_account *io)
{
    tree_put_u64(tree, to, "read_bytes", io_account_reads(io).bytes);
    tree_put_u64(tree, to, "written_bytes", io_account_writes(io).bytes);
    tree_put_u64(tree, to, "read_requests", io_account_reads(io).requests);
    tree_put_u64(tree, to, "write_requests", io_account_writes(io).requests);
    tree_put_u64(tree, to, "meta_requests", io_account_meta(io).requests);
    tree_put_u64(tree, to, "errors", io_account_all(io).errors);
    tree_put_u64(tree, to, "time_ns", io_account_all(io).time_ns);
}

static int compare_time(const void *pa, const void *pb)
{
    const struct io_mount *const *a = pa, *const *b = pb;
    uint64_t of_a = io_account_all(&(*a)->io).time_ns, of_b = io_account_all(&(*b)->io).time_ns;

    return (of_a < of_b) - (of_a > of_b);
}

/* The mounts with the most waiting. */
static struct json_object *mounts_json(struct writer *w, const struct io_mounts *mounts)
{
    struct json_object *array = tree_array(w->tree);
    _free_ const struct io_mount **order = calloc(mounts->n + 1, sizeof(struct io_mount *));

    w->tree->failed = w->tree->failed || !order;
    for (size_t i = 0; order && i < mounts->n; i++)
        order[i] = &mounts->items[i];
    if (order)
        qsort(order, mounts->n, sizeof(struct io_mount *), compare_time);
    for (size_t i = 0; order && i < mounts->n && i < w->level->similar_mounts; i++) {
        struct json_object *o = tree_object(w->tree);

        tree_put_text(w->tree, o, "mount", order[i]->mount);
        put_sums(w->tree, o, &order[i]->io);
        tree_add(w->tree, array, o);
    }
    return array;
}

static struct json_object *similar_json(struct writer *w, const struct context_similar *similar)
{
    const struct job_account *job = similar->job;
    CLEANUP(io_account_clear) struct io_account all = {0};
    struct json_object *o = tree_object(w->tree);

    for (size_t i = 0; i < job->mounts.n; i++)
        w->tree->failed = io_account_add(&all, &job->mounts.items[i].io) < 0 || w->tree->failed;
    tree_put_u64(w->tree, o, "jobid", job->key.jobid);
    tree_put_u64(w->tree, o, "restart", job->key.restart);
    tree_put_text(w->tree, o, "name", job->name);
    tree_put_text(w->tree, o, "user", job->user);
    tree_put_bool(w->tree, o, "same_name", similar->similarity.same_name);
    tree_put_bool(w->tree, o, "same_user", similar->similarity.same_user);
    tree_put_number(w->tree, o, "similarity", similar->similarity.io, 3);
    tree_put_text(w->tree, o, "state", job->ended ? "ended" : "running");
    tree_put_bool(w->tree, o, "complete", job_is_complete(job));
    tree_put_u64(w->tree, o, "nodes", job->nodes_reported);
    tree_put_seconds(w->tree, o, "start_s", job->start_ns);
    tree_put_seconds(w->tree, o, "elapsed_s", job->elapsed_ns);
    tree_put_u64(w->tree, o, "longest_thread_ns", job->longest_wait_ns);
    put_sums(w->tree, o, &all);
    tree_put(w->tree, o, "mounts", mounts_json(w, &job->mounts));
    return o;
}

static struct json_object *similars_json(struct writer *w)
{
    struct json_object *array = tree_array(w->tree);
    size_t all = w->context->n_similar < CONTEXT_SIMILAR ? w->context->n_similar : CONTEXT_SIMILAR,
           n = all < w->level->similar ? all : w->level->similar;

    for (size_t i = 0; i < n; i++)
        tree_add(w->tree, array, similar_json(w, &w->context->similar[i]));
    if (n < all)
        leave_out(w, all - n, "more similar jobs");
    return array;
}

static struct json_object *document_json(const struct context *context, const struct level *level)
{
    struct tree tree = {false};
    struct writer w = {&tree, context, level, tree_array(&tree)};
    _free_ char *summary = report_text(context->job, SUMMARY_SHORT, NULL);
    struct json_object *document = tree_object(&tree);

    tree_put(&tree, document, "version", json_object_new_int(DOCUMENT_VERSION));
    tree_put(&tree, document, "about", json_object_new_string(about));
    tree_put(&tree, document, "legend", legend_json(&w));
    tree_put_bool(&tree, document, "anonymous", context->anonymous);
    tree_put(&tree, document, "summary", summary ? json_object_new_string(summary) : NULL);
    tree_put(&tree, document, "job", job_json(&w));
    tree_put(&tree, document, "findings", findings_json(&w));
    tree_put(&tree, document, "similar_jobs", similars_json(&w));
    if (level->figures)
        tree_put(&tree, document, "other_counters",
                 report_explain_json(context->job, context->figures, context->n_figures));
    else
        tree_add_text(&tree, w.left_out, "what other tools count");
    tree_add_text(&tree, w.left_out, "steps and nodes ('jobio job ID --json --steps' has them)");
    if (context->note)
        tree_add_text(&tree, w.left_out, context->note);
    tree_put(&tree, document, "left_out", w.left_out);
    return tree_end(&tree, document);
}

int report_context(const struct context *context, size_t max, char **ret, struct error *error)
{
    for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
        char *text = tree_text(document_json(context, &levels[i]));

        if (!text)
            return error_errno(error, -ENOMEM, "write the context");
        if (strlen(text) <= max) {
            *ret = text;
            return 0;
        }
        free(text);
    }
    return error_set(error, -E2BIG, "the context of this job does not fit into %zu bytes", max);
}
