/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "report/top/top.h"

static const char *const bys[TOP_BY_COUNT] = {[TOP_BY_JOB_MOUNT] = "job-mount",
                                              [TOP_BY_JOB] = "job",
                                              [TOP_BY_MOUNT] = "mount",
                                              [TOP_BY_USER] = "user"};
static const char *const keys[TOP_KEY_COUNT] = {[TOP_READ] = "read",
                                                [TOP_WRITE] = "write",
                                                [TOP_META] = "meta",
                                                [TOP_WAIT] = "wait",
                                                [TOP_ERRORS] = "errors"};

static int find_name(const char *const *names, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(names[i], name))
            return i;
    return -EINVAL;
}

const char *top_by_name(enum top_by by)
{
    return bys[by];
}

int top_by_parse(const char *name)
{
    return find_name(bys, TOP_BY_COUNT, name);
}

const char *top_key_name(enum top_key key)
{
    return keys[key];
}

int top_key_parse(const char *name)
{
    return find_name(keys, TOP_KEY_COUNT, name);
}

/* --- sums: plain arrays of counters ----------------------------------------------------------- */

#define SUMS (sizeof(struct top_sums) / sizeof(uint64_t))
_Static_assert(sizeof(struct top_sums) % sizeof(uint64_t) == 0, "nothing but counters");

static void sums_add(struct top_sums *to, const struct top_sums *from)
{
    uint64_t *a = (uint64_t *)to;
    const uint64_t *b = (const uint64_t *)from;

    for (size_t i = 0; i < SUMS; i++)
        a[i] += b[i];
}

/* A counter that went backwards counts as 0. */
static void sums_take(struct top_sums *from, const struct top_sums *part)
{
    uint64_t *a = (uint64_t *)from;
    const uint64_t *b = (const uint64_t *)part;

    for (size_t i = 0; i < SUMS; i++)
        a[i] -= b[i] < a[i] ? b[i] : a[i];
}

bool top_is_idle(const struct top_sums *sums)
{
    return !(sums->events | sums->mmap_read_bytes | sums->mmap_write_bytes | sums->errors);
}

uint64_t top_value(const struct top_sums *sums, enum top_key key)
{
    const uint64_t values[TOP_KEY_COUNT] = {[TOP_READ] = sums->read_bytes,
                                            [TOP_WRITE] = sums->write_bytes,
                                            [TOP_META] = sums->meta_requests,
                                            [TOP_WAIT] = sums->wait_ns,
                                            [TOP_ERRORS] = sums->errors};

    return values[key];
}

struct top_sums top_sum(const struct top_rows *rows)
{
    struct top_sums sum = {0};

    for (size_t i = 0; i < rows->n; i++)
        sums_add(&sum, &rows->items[i].sums);
    return sum;
}

/* --- rows ------------------------------------------------------------------------------------- */

void top_rows_clear(struct top_rows *rows)
{
    free(rows->items);
    *rows = (struct top_rows){0};
}

static struct top_row *row_add(struct top_rows *rows)
{
    struct top_row *grown = realloc(rows->items, (rows->n + 1) * sizeof(*grown));

    if (!grown)
        return NULL;
    rows->items = grown;
    grown[rows->n] = (struct top_row){0};
    return &grown[rows->n++];
}

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static bool is_same(const struct top_who *a, const struct top_who *b)
{
    return a->kind == b->kind && a->number == b->number && a->restart == b->restart &&
           (a->kind != TOP_SERVICE || is_same_text(a->name, b->name));
}

static const struct top_who *find_who(const struct top_reading *reading, const struct top_who *who)
{
    for (size_t i = 0; i < reading->n; i++)
        if (is_same(&reading->all[i], who))
            return &reading->all[i];
    return NULL;
}

static const struct top_mount *find_mount(const struct top_mount *mounts, size_t n,
                                          const struct top_mount *like)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(mounts[i].mount, like->mount) && !strcmp(mounts[i].fstype, like->fstype) &&
            !strcmp(mounts[i].source, like->source))
            return &mounts[i];
    return NULL;
}

/* A mount of the earlier reading is gone: it has got another name since, and it is unknown which of
 * the new ones. */
static bool has_renamed(const struct top_who *before, const struct top_who *now)
{
    for (size_t i = 0; i < before->n; i++)
        if (!find_mount(now->mounts, now->n, &before->mounts[i]))
            return true;
    return false;
}

static int add_who(struct top_rows *rows, const struct top_reading *before,
                   const struct top_who *who)
{
    const struct top_who *was = find_who(before, who);
    bool renamed = was && has_renamed(was, who);

    if (!was && who->since_ns < before->at_ns)
        return 0;
    for (size_t i = 0; i < who->n; i++) {
        const struct top_mount *m = &who->mounts[i];
        const struct top_mount *old = was ? find_mount(was->mounts, was->n, m) : NULL;
        struct top_row *row = !old && renamed ? NULL : row_add(rows);

        if (!row && !old && renamed)
            continue;
        if (!row)
            return -ENOMEM;
        *row = (struct top_row){.who = who,
                                .user = who->user,
                                .mount = m->mount,
                                .fstype = m->fstype,
                                .jobs = who->kind != TOP_SERVICE,
                                .mounts = 1,
                                .sums = m->sums};
        if (old)
            sums_take(&row->sums, &old->sums);
    }
    return 0;
}

/* --- totals in excess of the jobs ------------------------------------------------------------- */

static const struct top_who the_rest = {.kind = TOP_REST};

static bool is_in(const struct top_row *row, const struct top_mount *total)
{
    const struct top_who *who = row->who;

    if (who->kind != TOP_JOB || strcmp(row->fstype, total->fstype) != 0)
        return false;
    for (size_t i = 0; i < who->n; i++)
        if (who->mounts[i].mount == row->mount)
            return !strcmp(who->mounts[i].labelled ? row->mount : "(private)", total->mount);
    return false;
}

static int add_rest(struct top_rows *rows, const struct top_reading *before,
                    const struct top_reading *now)
{
    size_t n = rows->n;

    for (size_t i = 0; i < now->n_totals; i++) {
        const struct top_mount *total = &now->totals[i];
        const struct top_mount *old = find_mount(before->totals, before->n_totals, total);
        struct top_sums rest = total->sums;
        struct top_row *row;

        if (old)
            sums_take(&rest, &old->sums);
        for (size_t j = 0; j < n; j++)
            if (is_in(&rows->items[j], total))
                sums_take(&rest, &rows->items[j].sums);
        if (top_is_idle(&rest))
            continue;
        row = row_add(rows);
        if (!row)
            return -ENOMEM;
        *row = (struct top_row){.who = &the_rest,
                                .mount = total->mount,
                                .fstype = total->fstype,
                                .mounts = 1,
                                .sums = rest};
    }
    return 0;
}

int top_rows(const struct top_reading *before, const struct top_reading *now, struct top_rows *ret)
{
    struct top_rows rows = {0};
    int r = 0;

    rows.interval_ns = now->at_ns > before->at_ns ? now->at_ns - before->at_ns : 0;
    for (size_t i = 0; i < now->n && !r; i++)
        r = add_who(&rows, before, &now->all[i]);
    if (!r)
        r = add_rest(&rows, before, now);
    if (r < 0) {
        top_rows_clear(&rows);
        return r;
    }
    *ret = rows;
    return 0;
}

/* --- groups ----------------------------------------------------------------------------------- */

static bool belongs(const struct top_row *group, const struct top_row *row, enum top_by by)
{
    const bool same_mount =
        is_same_text(group->mount, row->mount) && is_same_text(group->fstype, row->fstype);

    switch (by) {
    case TOP_BY_JOB:
        return group->who == row->who;
    case TOP_BY_MOUNT:
        return same_mount;
    case TOP_BY_USER:
        return is_same_text(group->user, row->user) &&
               (group->user || (group->who && group->who->kind == row->who->kind));
    default:
        return group->who == row->who && same_mount;
    }
}

static bool is_wanted(const struct top_row *row, const char *user)
{
    return !user || (row->user && !strcmp(row->user, user));
}

/* How rows are grouped. */
struct grouping {
    const struct top_rows *rows;
    enum top_by by;
    const char *user;
    const struct top_row **first; /* of each group */
};

/* Whether an earlier row of the group has the same job as row i, and the same mount. */
static void look_back(const struct grouping *g, const struct top_row *first, size_t i, bool *job,
                      bool *mount)
{
    const struct top_row *row = &g->rows->items[i];

    *job = *mount = false;
    for (size_t j = 0; j < i; j++) {
        const struct top_row *earlier = &g->rows->items[j];

        if (!is_wanted(earlier, g->user) || !belongs(first, earlier, g->by))
            continue;
        *job |= earlier->who == row->who;
        *mount |=
            is_same_text(earlier->mount, row->mount) && is_same_text(earlier->fstype, row->fstype);
    }
}

static void join(struct top_row *group, const struct grouping *g, const struct top_row *first,
                 size_t i)
{
    const struct top_row *row = &g->rows->items[i];
    bool job, mount;

    look_back(g, first, i, &job, &mount);
    if (!job) {
        group->jobs += row->jobs;
        group->who = NULL;
    }
    if (!mount) {
        group->mounts++;
        group->mount = group->fstype = NULL;
    }
    if (!is_same_text(group->user, row->user))
        group->user = NULL;
    sums_add(&group->sums, &row->sums);
}

static int group_row(const struct grouping *g, size_t i, struct top_rows *made)
{
    const struct top_row *row = &g->rows->items[i];
    size_t at = 0;

    while (at < made->n && !belongs(g->first[at], row, g->by))
        at++;
    if (at < made->n) {
        join(&made->items[at], g, g->first[at], i);
        return 0;
    }
    if (!row_add(made))
        return -ENOMEM;
    made->items[at] = *row;
    g->first[at] = row;
    return 0;
}

int top_group(const struct top_rows *rows, enum top_by by, const char *user, struct top_rows *ret)
{
    _free_ const struct top_row **first = calloc(rows->n + 1, sizeof(*first));
    const struct grouping g = {.rows = rows, .by = by, .user = user, .first = first};
    struct top_rows made = {.interval_ns = rows->interval_ns};
    int r = first ? 0 : -ENOMEM;

    for (size_t i = 0; i < rows->n && !r; i++)
        if (is_wanted(&rows->items[i], user))
            r = group_row(&g, i, &made);
    if (r < 0) {
        top_rows_clear(&made);
        return r;
    }
    *ret = made;
    return 0;
}

/* --- order ------------------------------------------------------------------------------------ */

static int compare_u64(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int compare_who(const struct top_who *a, const struct top_who *b)
{
    int r;

    if (!a || !b)
        return compare_u64(!a, !b);
    r = compare_u64(a->kind, b->kind);
    if (!r)
        r = compare_u64(a->number, b->number);
    return r ? r : compare_text(a->name, b->name);
}

static int compare_rows(const void *x, const void *y, void *arg)
{
    const struct top_row *a = x, *b = y;
    const enum top_key *key = arg;
    int r = -compare_u64(top_value(&a->sums, *key), top_value(&b->sums, *key));

    if (!r)
        r = compare_u64(top_is_idle(&a->sums), top_is_idle(&b->sums));
    if (!r)
        r = compare_who(a->who, b->who);
    if (!r)
        r = compare_text(a->user, b->user);
    return r ? r : compare_text(a->mount, b->mount);
}

void top_sort(struct top_rows *rows, enum top_key key)
{
    if (rows->n)
        qsort_r(rows->items, rows->n, sizeof(*rows->items), compare_rows, &key);
}
