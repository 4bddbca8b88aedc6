/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists, groups and sort order of history rows, whatever their source. */
#ifndef JOBIO_COLLECTOR_STORE_HISTORY_H
#define JOBIO_COLLECTOR_STORE_HISTORY_H

#include "collector/store/store.h"
#include "common/error.h"

/* Split a list of a filter (struct history_filter) into words. *ret is NULL-terminated; free it
 * with history_words_free(). A NULL text has no words. -EINVAL: an empty word; `what` is in the
 * text. */
int history_words(const char *text, const char *what, char ***ret, struct error *error);
void history_words_free(char **words); /* accepts NULL */
/* A word of history_filter.jobs: "12", a job or the array of that number; "12_3", a task;
 * "12_3-5", the tasks from `first` to `last`. */
struct history_job {
    uint32_t job;
    bool has_task;
    uint32_t first, last;
};
int history_job_parse(const char *word, struct history_job *ret); /* 0 or -EINVAL */
/* Quote a word as a list with one item; malloc'd. NULL on out-of-memory. */
char *history_word_quote(const char *word);

/* Parse "time", "read", "write", "meta", "wait", "errors", "elapsed" or "jobs". -EINVAL: another.
 */
int history_sort_parse(const char *text);
const char *history_sort_name(enum history_sort sort);
/* Parse "user", "account", "partition", "name", "mount" or "day". -EINVAL: another. */
int history_group_parse(const char *text);
const char *history_group_name(enum history_group group); /* NULL for none */
/* Parse "running", "ended", or the codes of Slurm, "R" and "CD". -EINVAL: another. */
int history_state_parse(const char *text);
const char *history_state_name(enum history_state state); /* NULL for any */

/* Slurm's states of ended jobs as bits (history_filter.slurm_states): names or codes of Slurm,
 * separated by commas, in any case; "UNKNOWN" is bit 0. 0: an empty list or another word. */
uint32_t history_slurm_states_parse(const char *list);
/* "FAILED,TIMEOUT" */
#define HISTORY_STATES_SIZE 160
char *history_slurm_states_format(uint32_t states, char buf[HISTORY_STATES_SIZE]);
/* The argument of --state: such words, "running" or R, and "ended". Sets `state` and `slurm_states`
 * of the filter. -EINVAL with text. */
int history_states_parse(const char *list, struct history_filter *filter, struct error *error);

/* Are both times on the same day, in local time? */
bool history_is_one_day(uint64_t first_ns, uint64_t last_ns);

/* Copy a row with its texts, which *texts owns (free it, also after a failure). 0 or -ENOMEM. */
int history_row_copy(const struct history_row *row, struct history_row *ret, char **texts);

/* A table that sorts rows, or aggregates them by group. */
struct history_table;
/* `filter` has the group, order and limit; it must outlive the table. NULL on out-of-memory. */
struct history_table *history_table_create(const struct history_filter *filter);
void history_table_destroy(struct history_table *table); /* accepts NULL */
/* Add a job or, to a group, the sums of row->jobs jobs. Copies the row. Returns 0 or -ENOMEM. */
int history_table_add(struct history_table *table, const struct history_row *row);
/* Call `each` for the rows, in the order and up to the limit of the filter. A non-zero return stops
 * the iteration and is returned. */
int history_table_each(struct history_table *table, history_f each, void *arg);

#endif
