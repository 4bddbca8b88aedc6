/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* asprintf, qsort_r */
#include "collector/store/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/numbers.h"

/* --- words ------------------------------------------------------------------------------------ */

void history_words_free(char **words)
{
    for (size_t i = 0; words && words[i]; i++)
        free(words[i]);
    free(words);
}
DEFINE_CLEANUP(char *, history_words_free)

/* More than anybody writes; the query looks up each word. */
#define WORDS_MAX 1000

/* Length of the word: up to the next unquoted comma. */
static size_t word_bytes(const char *p)
{
    size_t n = 0;

    while (p[n] && p[n] != ',')
        n += p[n] == '\\' && (p[n + 1] == ',' || p[n + 1] == '\\') ? 2 : 1;
    return n;
}

/* Copy the word at *p, and move *p to the comma after it or to the end. */
static char *take_word(const char **p)
{
    char *word = malloc(word_bytes(*p) + 1), *to = word;

    while (word && **p && **p != ',') {
        if (**p == '\\' && ((*p)[1] == ',' || (*p)[1] == '\\'))
            (*p)++;
        *to++ = *(*p)++;
    }
    if (word)
        *to = '\0';
    return word;
}

int history_words(const char *text, const char *what, char ***ret, struct error *error)
{
    CLEANUP(history_words_freep) char **words = calloc(1, sizeof(*words));
    size_t n = 0;

    for (const char *p = text; words && p; p = *p ? p + 1 : NULL) {
        char **grown = n < WORDS_MAX ? reallocarray(words, n + 2, sizeof(*grown)) : NULL;

        if (n >= WORDS_MAX)
            return error_set(error, -E2BIG, "%s: more than %d items", what, WORDS_MAX);
        if (!grown)
            return error_errno(error, -ENOMEM, "%s", what);
        words = grown;
        words[n] = take_word(&p);
        words[n + 1] = NULL;
        if (!words[n])
            return error_errno(error, -ENOMEM, "%s", what);
        if (!*words[n++])
            return error_set(error, -EINVAL, "%s \"%s\": an item is empty", what, text);
    }
    if (!words)
        return error_errno(error, -ENOMEM, "%s", what);
    *ret = TAKE_PTR(words);
    return 0;
}

/* A number of Slurm at *p, below its special ones; *p is moved past it. */
static bool take_number(const char **p, uint32_t *ret)
{
    uint64_t value;

    if (number_parse_prefix(p, &value) < 0 || value >= UINT32_MAX)
        return false;
    *ret = (uint32_t)value;
    return true;
}

int history_job_parse(const char *word, struct history_job *ret)
{
    struct history_job job = {.job = 0};
    bool ok = take_number(&word, &job.job);

    if (ok && *word == '_') {
        word++;
        job.has_task = true;
        ok = take_number(&word, &job.first);
        job.last = job.first;
    }
    if (ok && job.has_task && *word == '-') {
        word++;
        ok = take_number(&word, &job.last);
    }
    if (!ok || *word || job.last < job.first)
        return -EINVAL;
    *ret = job;
    return 0;
}

static const char *const sort_names[] = {
    [HISTORY_TIME] = "time", [HISTORY_READ] = "read",       [HISTORY_WRITE] = "write",
    [HISTORY_META] = "meta", [HISTORY_WAIT] = "wait",       [HISTORY_ERRORS] = "errors",
    [HISTORY_JOBS] = "jobs", [HISTORY_ELAPSED] = "elapsed",
};
static const char *const group_names[] = {
    [HISTORY_NO_GROUP] = NULL,        [HISTORY_BY_USER] = "user",
    [HISTORY_BY_ACCOUNT] = "account", [HISTORY_BY_PARTITION] = "partition",
    [HISTORY_BY_NAME] = "name",       [HISTORY_BY_MOUNT] = "mount",
    [HISTORY_BY_DAY] = "day",
};
static const char *const state_names[] = {
    [HISTORY_ANY] = NULL,
    [HISTORY_RUNNING] = "running",
    [HISTORY_ENDED] = "ended",
};

static int name_parse(const char *const *names, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        if (names[i] && strcasecmp(text, names[i]) == 0)
            return (int)i;
    return -EINVAL;
}

char *history_word_quote(const char *word)
{
    char *list = malloc(2 * strlen(word) + 1), *to = list;

    if (!list)
        return NULL;
    for (; *word; word++) {
        if (*word == ',' || *word == '\\')
            *to++ = '\\';
        *to++ = *word;
    }
    *to = '\0';
    return list;
}

int history_sort_parse(const char *text)
{
    return name_parse(sort_names, ARRAY_SIZE(sort_names), text);
}

const char *history_sort_name(enum history_sort sort)
{
    return sort_names[sort];
}

int history_group_parse(const char *text)
{
    return name_parse(group_names, ARRAY_SIZE(group_names), text);
}

const char *history_group_name(enum history_group group)
{
    return group_names[group];
}

int history_state_parse(const char *text)
{
    if (strcasecmp(text, "R") == 0)
        return HISTORY_RUNNING;
    if (strcasecmp(text, "CD") == 0)
        return HISTORY_ENDED;
    return name_parse(state_names, ARRAY_SIZE(state_names), text);
}

const char *history_state_name(enum history_state state)
{
    return state_names[state];
}

int history_row_copy(const struct history_row *row, struct history_row *ret, char **texts)
{
    const char **members[] = {&ret->cluster, &ret->user,  &ret->account, &ret->partition,
                              &ret->name,    &ret->mount, &ret->day};
    size_t size = 1;
    char *to;

    *ret = *row;
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        size += *members[i] ? strlen(*members[i]) + 1 : 0;
    to = *texts = malloc(size);
    if (!to)
        return -ENOMEM;
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        const char *text = *members[i];

        if (!text)
            continue;
        *members[i] = to;
        to = stpcpy(to, text) + 1;
    }
    return 0;
}

/* --- the table -------------------------------------------------------------------------------- */

/* A row with its strings: `texts` has those of a job, `key` is the name of a group. */
struct item {
    struct history_row row;
    char *texts, *key;
    uint64_t order; /* of arrival */
    struct last {
        uint32_t jobid, restart;
        uint64_t start_ns;
    } last; /* the job of the last row that was added */
};

struct history_table {
    const struct history_filter *filter;
    struct item *items;
    size_t n, room;
    uint64_t seen;
    size_t newest; /* index + 1 of the job that was added last; 0: none, or sorted since */
    /* Hash table of groups by key: index + 1 into items, 0: free. The size is a power of two, and
     * at most half of it is used. */
    size_t *slots, n_slots;
};

struct history_table *history_table_create(const struct history_filter *filter)
{
    struct history_table *table = calloc(1, sizeof(*table));

    if (table)
        table->filter = filter;
    return table;
}

static void item_clear(struct item *item)
{
    free(item->texts);
    free(item->key);
}

void history_table_destroy(struct history_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->n; i++)
        item_clear(&table->items[i]);
    free(table->items);
    free(table->slots);
    free(table);
}

static struct item *append(struct history_table *table)
{
    if (table->n == table->room) {
        size_t room = table->room ? 2 * table->room : 64;
        struct item *grown = reallocarray(table->items, room, sizeof(*grown));

        if (!grown)
            return NULL;
        table->items = grown;
        table->room = room;
    }
    table->items[table->n] = (struct item){.order = table->seen++};
    return &table->items[table->n++];
}

/* --- order ------------------------------------------------------------------------------------ */

static uint64_t sort_value(enum history_sort sort, const struct history_row *row)
{
    switch (sort) {
    case HISTORY_TIME:
        return row->start_ns;
    case HISTORY_READ:
        return row->reads.bytes;
    case HISTORY_WRITE:
        return row->writes.bytes;
    case HISTORY_META:
        return row->meta.requests;
    case HISTORY_WAIT:
        return row->wait_ns;
    case HISTORY_ERRORS:
        return row->errors;
    case HISTORY_ELAPSED:
        return row->elapsed_ns;
    case HISTORY_JOBS:
        return row->jobs;
    }
    return 0;
}

/* Largest first; equal groups by key, equal jobs in the order of their arrival. */
static int compare(const void *left, const void *right, void *arg)
{
    const struct history_filter *filter = arg;
    const struct item *a = left, *b = right;
    uint64_t x = sort_value(filter->sort, &a->row), y = sort_value(filter->sort, &b->row);

    if (filter->group == HISTORY_BY_DAY && filter->sort == HISTORY_TIME)
        return filter->reverse ? strcmp(a->key, b->key) : strcmp(b->key, a->key);
    if (x != y)
        return (x < y) != filter->reverse ? 1 : -1;
    if (filter->group != HISTORY_NO_GROUP)
        return strcmp(a->key, b->key);
    return a->order < b->order ? -1 : 1;
}

static void sort_items(struct history_table *table)
{
    const struct history_filter *filter = table->filter;

    table->newest = 0;
    if (table->n)
        qsort_r(table->items, table->n, sizeof(*table->items), compare, (void *)filter);
    while (filter->limit && table->n > filter->limit)
        item_clear(&table->items[--table->n]);
}

int history_table_each(struct history_table *table, history_f each, void *arg)
{
    int r = 0;

    sort_items(table);
    for (size_t i = 0; i < table->n && !r; i++)
        r = each(&table->items[i].row, arg);
    return r;
}

/* --- jobs ------------------------------------------------------------------------------------- */

static bool is_last(const struct item *item, const struct history_row *row)
{
    return item->last.start_ns == row->start_ns && item->last.jobid == row->jobid &&
           item->last.restart == row->restart;
}

static void set_last(struct item *item, const struct history_row *row)
{
    item->last = (struct last){row->jobid, row->restart, row->start_ns};
}

static void add_sums(struct history_row *to, const struct history_row *row)
{
    io_sum_add(&to->reads, row->reads);
    io_sum_add(&to->writes, row->writes);
    io_sum_add(&to->meta, row->meta);
    add_saturating(&to->errors, row->errors);
    add_saturating(&to->wait_ns, row->wait_ns);
}

/* Add another mount of the job that was added last. */
static int add_mount(struct item *item, const struct history_row *row)
{
    const char *mount = item->row.mount ? item->row.mount : "";
    char *grown;

    add_sums(&item->row, row);
    add_saturating(&item->row.longest_wait_ns, row->longest_wait_ns);
    if (!row->mount || strcmp(mount, row->mount) == 0)
        return 0;
    if (asprintf(&grown, "%s%s%s", mount, *mount ? "," : "", row->mount) < 0)
        return -ENOMEM;
    free(item->key);
    item->key = grown;
    item->row.mount = grown;
    return 0;
}

/* Sort and truncate at twice the limit: memory is bounded, and the cost per row stays small. */
static int add_job(struct history_table *table, const struct history_row *row)
{
    struct item *item = table->newest ? &table->items[table->newest - 1] : NULL;

    if (item && is_last(item, row))
        return add_mount(item, row);
    if (table->filter->limit && table->n >= 2 * (size_t)table->filter->limit + 64)
        sort_items(table);
    item = append(table);
    if (!item || history_row_copy(row, &item->row, &item->texts) < 0)
        return -ENOMEM;
    set_last(item, row);
    table->newest = table->n;
    return 0;
}

/* --- groups ----------------------------------------------------------------------------------- */

/* Add the numbers of the job itself, once per job; add_sums() adds those of a mount. */
static void add_one(struct history_row *to, const struct history_row *row)
{
    bool first = to->jobs == 0;

    to->jobs += row->jobs ? row->jobs : 1;
    if (first || row->start_ns < to->start_ns)
        to->start_ns = row->start_ns;
    if (row->end_ns > to->end_ns)
        to->end_ns = row->end_ns;
    to->ended = (first || to->ended) && row->ended;
    to->complete = (first || to->complete) && row->complete;
    if (__builtin_add_overflow(to->steps, row->steps, &to->steps))
        to->steps = UINT32_MAX;
    add_saturating(&to->elapsed_ns, row->elapsed_ns);
}

#define KEY_SIZE 32

static const char *day_of(uint64_t ns, char buf[KEY_SIZE])
{
    time_t seconds = (time_t)(ns / NS_PER_S);
    struct tm tm;

    if (!localtime_r(&seconds, &tm) || !strftime(buf, KEY_SIZE, "%F", &tm))
        return "(none)";
    return buf;
}

bool history_is_one_day(uint64_t first_ns, uint64_t last_ns)
{
    char first[KEY_SIZE], last[KEY_SIZE];

    return strcmp(day_of(first_ns, first), day_of(last_ns, last)) == 0;
}

static const char *user_of(const struct history_row *row, char buf[KEY_SIZE])
{
    if (row->user)
        return row->user;
    (void)snprintf(buf, KEY_SIZE, "%u", row->uid);
    return buf;
}

static const char *key_of(enum history_group group, const struct history_row *row,
                          char buf[KEY_SIZE])
{
    const char *text = group == HISTORY_BY_USER        ? user_of(row, buf)
                       : group == HISTORY_BY_ACCOUNT   ? row->account
                       : group == HISTORY_BY_PARTITION ? row->partition
                       : group == HISTORY_BY_NAME      ? row->name
                       : group == HISTORY_BY_MOUNT     ? row->mount
                                                       : day_of(row->start_ns, buf);

    return text ? text : "(none)";
}

static void name_group(enum history_group group, struct item *item)
{
    const char **names[] = {
        [HISTORY_BY_USER] = &item->row.user,           [HISTORY_BY_ACCOUNT] = &item->row.account,
        [HISTORY_BY_PARTITION] = &item->row.partition, [HISTORY_BY_NAME] = &item->row.name,
        [HISTORY_BY_MOUNT] = &item->row.mount,         [HISTORY_BY_DAY] = &item->row.day,
    };

    *names[group] = item->key;
}

/* FNV-1a. */
static size_t hash(const char *text)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return (size_t)(h ^ h >> 32);
}

/* Returns the slot of the key, or a free one. */
static size_t *find_slot(struct history_table *table, const char *key)
{
    size_t at = hash(key) & (table->n_slots - 1);

    while (table->slots[at] && strcmp(table->items[table->slots[at] - 1].key, key) != 0)
        at = (at + 1) & (table->n_slots - 1);
    return &table->slots[at];
}

static int grow_slots(struct history_table *table)
{
    size_t *old = table->slots;
    size_t n = table->n_slots ? 2 * table->n_slots : 64, *slots = calloc(n, sizeof(*slots));

    if (!slots)
        return -ENOMEM;
    table->slots = slots;
    table->n_slots = n;
    free(old);
    for (size_t i = 0; i < table->n; i++)
        *find_slot(table, table->items[i].key) = i + 1;
    return 0;
}

static int add_to_group(struct history_table *table, const struct history_row *row)
{
    enum history_group group = table->filter->group;
    char buf[KEY_SIZE];
    const char *key = key_of(group, row, buf);
    struct item *item;
    size_t *slot;

    if (2 * table->n >= table->n_slots && grow_slots(table) < 0)
        return -ENOMEM;
    slot = find_slot(table, key);
    if (!*slot) {
        item = append(table);
        if (!item)
            return -ENOMEM;
        item->key = strdup(key);
        if (!item->key) {
            table->n--;
            return -ENOMEM;
        }
        name_group(group, item);
        *slot = table->n;
    }
    item = &table->items[*slot - 1];
    if (row->jobs || item->row.jobs == 0 || !is_last(item, row))
        add_one(&item->row, row);
    if (!row->jobs)
        set_last(item, row);
    add_sums(&item->row, row);
    return 0;
}

int history_table_add(struct history_table *table, const struct history_row *row)
{
    return table->filter->group == HISTORY_NO_GROUP ? add_job(table, row)
                                                    : add_to_group(table, row);
}
