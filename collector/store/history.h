/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists, groups and sort order of history rows, whatever their source. */
#ifndef JOBIO_COLLECTOR_STORE_HISTORY_H
#define JOBIO_COLLECTOR_STORE_HISTORY_H

#include "collector/store/store.h"
#include "common/error.h"

/* A list of a filter (store.h: commas between, '\' before a comma or another one) as words.
 * *ret is NULL-terminated, free it with history_words_free(); NULL text gives none. -EINVAL: an
 * empty word, with `what` in the text. */
int history_words(const char *text, const char *what, char ***ret, struct error *error);
void history_words_free(char **words); /* accepts NULL */
/* Quote any word as such a list; malloc'd. NULL on out-of-memory. */
char *history_word_quote(const char *word);

/* "time", "read", "write", "meta", "wait", "errors", "elapsed", "jobs"; the order or -EINVAL. */
int history_sort_parse(const char *text);
const char *history_sort_name(enum history_sort sort);
/* "user", "account", "partition", "name", "mount", "day"; the group or -EINVAL. */
int history_group_parse(const char *text);
const char *history_group_name(enum history_group group); /* NULL for none */
/* "running", "ended" or Slurm's letters for them, "R" and "CD"; the state or -EINVAL. */
int history_state_parse(const char *text);
const char *history_state_name(enum history_state state); /* NULL for any */

/* Are both times on the same day, in local time? */
bool history_is_one_day(uint64_t first_ns, uint64_t last_ns);

/* Copy a row with its texts, which *texts owns (free it, also after a failure). 0 or -ENOMEM. */
int history_row_copy(const struct history_row *row, struct history_row *ret, char **texts);

/* A table that sorts rows, or sums them up by group. */
struct history_table;
/* `filter` has the group, order and limit; it must outlive the table. NULL on out-of-memory. */
struct history_table *history_table_create(const struct history_filter *filter);
void history_table_destroy(struct history_table *table); /* accepts NULL */
/* A job, or into a group also many (row->jobs). Copies what it keeps of the row. 0 or -ENOMEM. */
int history_table_add(struct history_table *table, const struct history_row *row);
/* In the filter's order, at most its limit. A non-zero return of `each` ends it and is returned. */
int history_table_each(struct history_table *table, history_f each, void *arg);

#endif
