/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Table timeline: one text column per kind of number. */
#include "collector/store/store_impl.h"

#include <string.h>

#include "common/numbers.h"

#define BINS_TEXT (TIMELINE_BINS * 21 + 3)

/* Returns NULL if there are none. */
static const char *bins_text(const struct timeline *t, enum timeline_kind kind, char buf[BINS_TEXT])
{
    unsigned n = timeline_length(t, kind);
    char *p = buf;

    if (!n)
        return NULL;
    for (unsigned i = 0; i < n; i++) {
        *p++ = i ? ',' : '[';
        p = number_format(p, *timeline_number(&t->bins[i], kind));
    }
    (void)strcpy(p, "]");
    return buf;
}

/* Raise *n to the number of bins read. */
static int bins_parse(const char *text, enum timeline_kind kind,
                      struct timeline_bin bins[TIMELINE_BINS], size_t *n)
{
    const char *p = text;

    for (size_t i = 0; text; i++) {
        if (i == TIMELINE_BINS || *p++ != (i ? ',' : '[') ||
            number_parse_prefix(&p, timeline_number(&bins[i], kind)) < 0)
            return -EBADMSG;
        if (i >= *n)
            *n = i + 1;
        if (!strcmp(p, "]"))
            break;
    }
    return 0;
}

int store_put_timeline(struct store *store, int64_t step, int64_t mount, const struct timeline *t,
                       struct error *error)
{
    char texts[TIMELINE_NUMBERS][BINS_TEXT];

    if (timeline_is_empty(t))
        return 0;
    return store_run(store, SQL_TIMELINE_PUT,
                     VALUES(U64((uint64_t)step), U64((uint64_t)mount), U64(t->start_s),
                            U64(t->width_s), TEXT(bins_text(t, 0, texts[0])),
                            TEXT(bins_text(t, 1, texts[1])), TEXT(bins_text(t, 2, texts[2])),
                            TEXT(bins_text(t, 3, texts[3])), TEXT(bins_text(t, 4, texts[4]))),
                     error);
}

int store_get_timeline(struct store *store, int64_t step, int64_t mount, struct timeline *ret,
                       struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    struct timeline_bin bins[TIMELINE_BINS] = {0};
    size_t n = 0;
    int r = store_start(store, SQL_TIMELINE_GET, VALUES(U64((uint64_t)step), U64((uint64_t)mount)),
                        &row, error);

    if (r == 0)
        r = store_next(store, row, error);
    if (r <= 0)
        return r;
    r = 0;
    for (int kind = 0; kind < TIMELINE_NUMBERS && r == 0; kind++)
        r = bins_parse(column_text(row, 2 + kind), kind, bins, &n);
    if (r == 0)
        r = timeline_set(ret, column_u64(row, 0), column_u64(row, 1), bins, n);
    if (r == 0 && !column_text(row, 2 + TIMELINE_LONGEST))
        timeline_forget_longest(ret);
    return r < 0 ? error_set(error, r == -ENOMEM ? r : -EBADMSG,
                             "store \"%s\": a time line cannot be read", store->path)
                 : 0;
}
