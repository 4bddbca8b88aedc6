/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Table rollup: sums over the jobs of a block of days, made in the background. */
#include "collector/store/store_impl.h"
#include "common/clock.h"

#define DAY_NS (24 * NS_PER_HOUR)
/* Jobs may be updated for this long after their end. */
#define GRACE_NS NS_PER_HOUR
/* Pause after a block became out of date: more changes are likely. */
#define REST_NS NS_PER_HOUR
#define LOOK_AT 1000

/* Days per block: long enough that a sum covers many jobs, short enough that few jobs lie outside
 * of blocks. Sums by name use long blocks, because there are many names. */
static const uint64_t widths[ROLLUP_WIDTHS] = {[ROLLUP_SHORT] = 8, [ROLLUP_LONG] = 32};

uint64_t store_rollup_days(int kind)
{
    return widths[kind == ROLLUP_NAME || kind == ROLLUP_NAME + ROLLUP_MOUNTS ? ROLLUP_LONG
                                                                             : ROLLUP_SHORT];
}

static int two_numbers(struct store *store, enum sql_query query, const struct sql_value *values,
                       size_t n, uint64_t ret[2], struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(store, query, values, n, &row, error);

    if (r == 0)
        r = store_next(store, row, error);
    for (int i = 0; r > 0 && i < sqlite3_column_count(row); i++)
        ret[i] = column_u64(row, i);
    return r;
}

/* 1: a block was dropped. */
static int drop_stale(struct store *store, uint64_t now_ns, struct error *error)
{
    struct store_rollup *rollup = &store->rollup;
    uint64_t block[2] = {0};
    int r = two_numbers(store, SQL_ROLLUP_STALE, NULL, 0, block, error);

    if (r <= 0)
        return r;
    r = store_run(store, SQL_ROLLUP_CLEAR, VALUES(U64(block[0]), U64(block[1])), error);
    if (r == 0)
        r = store_run(store, SQL_ROLLUP_DROP, VALUES(U64(block[0]), U64(block[1])), error);
    for (int i = 0; i < ROLLUP_WIDTHS; i++)
        rollup->at_ns[i] = 0;
    rollup->rest_ns = now_ns + REST_NS;
    return r < 0 ? r : 1;
}

/* A block, and the next jobs to add to it. */
struct block {
    uint64_t days, first_ns, end_ns;
    uint64_t from_ns, to_ns;
    unsigned jobs;
};

static int next_jobs(struct store *store, struct block *block, struct error *error)
{
    const unsigned piece = store->rollup.piece;
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    uint64_t last = 0;
    int r = store_start(store, SQL_ROLLUP_SPAN,
                        VALUES(U64(block->from_ns), U64(block->to_ns), U64(piece)), &row, error);

    while (r >= 0 && (r = store_next(store, row, error)) > 0) {
        last = column_u64(row, 0);
        block->jobs++;
    }
    if (block->jobs == piece) /* include all others that ended at the same time */
        block->to_ns = last + 1;
    return r;
}

static int add_jobs(struct store *store, const struct block *b, struct error *error)
{
    static const enum sql_query queries[] = {SQL_ROLLUP_JOBS, SQL_ROLLUP_MOUNTS, SQL_ROLLUP_PUT};
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(queries) && r == 0; i++)
        r = store_run(store, queries[i],
                      VALUES(U64(b->days), U64(b->first_ns), U64(b->from_ns), U64(b->to_ns)),
                      error);
    return r;
}

enum { WAITS, MADE, DONE };

/* WAITS: more jobs may come; MADE: there may be more to do; DONE: the block is finished. */
static int make_some(struct store *store, struct block *block, uint64_t until_ns,
                     struct error *error)
{
    uint64_t upto[2] = {block->first_ns};
    bool over = block->end_ns <= until_ns;
    int r = two_numbers(store, SQL_ROLLUP_GET, VALUES(U64(block->days), U64(block->first_ns)), upto,
                        error);

    if (r < 0 || upto[0] >= block->end_ns)
        return r < 0 ? r : DONE;
    /* The next deletion would put it out of date. */
    if (block->first_ns <= store->rollup.deleted_ns)
        return DONE;
    block->from_ns = upto[0];
    block->to_ns = over ? block->end_ns : until_ns;
    if (block->from_ns >= block->to_ns)
        return WAITS;
    r = next_jobs(store, block, error);
    if (r < 0)
        return r;
    if (block->jobs < store->rollup.few && !over)
        return WAITS;
    if (block->jobs < store->rollup.few && block->from_ns == block->first_ns)
        return DONE;
    r = add_jobs(store, block, error);
    return r < 0 ? r : MADE;
}

/* 1: there may be more to do. */
static int make_blocks(struct store *store, int width, uint64_t until_ns, struct error *error)
{
    uint64_t *at = &store->rollup.at_ns[width], end[2];

    for (int i = 0; i < LOOK_AT; i++) {
        struct block block = {.days = widths[width]};
        int r = two_numbers(store, SQL_ROLLUP_NEXT, VALUES(U64(*at)), end, error);

        if (r <= 0 || end[0] >= until_ns)
            return r < 0 ? r : 0;
        block.first_ns = end[0] - end[0] % (block.days * DAY_NS);
        block.end_ns = block.first_ns + block.days * DAY_NS;
        r = make_some(store, &block, until_ns, error);
        if (r != DONE)
            return r;
        *at = block.end_ns;
    }
    return 1;
}

int store_roll_up(struct store *store, uint64_t now_ns, struct error *error)
{
    const struct store_rollup *rollup = &store->rollup;
    uint64_t jobs[2] = {0};
    int r = drop_stale(store, now_ns, error);

    if (r || (now_ns < rollup->rest_ns && rollup->rest_ns - now_ns <= REST_NS))
        return r;
    r = two_numbers(store, SQL_ROLLUP_COUNT, NULL, 0, jobs, error);
    if (r < 0 || jobs[0] < rollup->many || now_ns < GRACE_NS)
        return r < 0 ? r : 0;
    r = 0;
    for (int i = 0; i < ROLLUP_WIDTHS && r == 0; i++)
        r = make_blocks(store, i, now_ns - GRACE_NS, error);
    return r;
}
