/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The history, by jobiod. */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "cli/source/jobiod_impl.h"
#include "collector/store/history.h"
#include "collector/store/history_json.h"
#include "common/cleanup.h"
#include "common/clock.h"

#define PIECE_MAX 65536 /* no row is longer */

/* The query, with the names of the keys that an older jobiod would ignore. */
struct keys {
    struct message *m;
    const char *names[16];
    size_t n;
    bool full;
};

static void put_key(struct keys *keys, const char *key, const char *value, bool is_new)
{
    if (!value)
        return;
    keys->full |= message_put(keys->m, key, value) < 0;
    if (is_new)
        keys->names[keys->n++] = key;
}

static void put_history(struct keys *keys, const struct history_filter *filter)
{
    char states[HISTORY_STATES_SIZE];

    message_init(keys->m, "query-history");
    put_key(keys, "USER", filter->user, filter->user && strpbrk(filter->user, ",\\"));
    put_key(keys, "ACCOUNT", filter->account, true);
    put_key(keys, "PARTITION", filter->partition, true);
    put_key(keys, "NAME", filter->name, true);
    put_key(keys, "MOUNT", filter->mount, true);
    put_key(keys, "JOBS", filter->jobs, true);
    put_key(keys, "NODES", filter->nodes, true);
    put_key(keys, "STATE", history_state_name(filter->state), true);
    if (filter->slurm_states)
        put_key(keys, "SLURMSTATES", history_slurm_states_format(filter->slurm_states, states),
                true);
    put_key(keys, "GROUP", history_group_name(filter->group), true);
    put_key(keys, "REVERSE", filter->reverse ? "1" : NULL, true);
    put_key(keys, "SORT", history_sort_name(filter->sort), false);
    (void)message_put_u64(keys->m, "SINCE", filter->since_ns / NS_PER_S);
    if (filter->until_ns)
        (void)message_put_u64(keys->m, "UNTIL", filter->until_ns / NS_PER_S);
    if (filter->limit)
        (void)message_put_u64(keys->m, "LIMIT", filter->limit);
}

static bool has_word(const char *words, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = words; (p = strstr(p, word)); p += n)
        if ((p == words || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
            return true;
    return false;
}

static int check_applied(const struct keys *keys, struct error *error)
{
    const char *applied = message_get(keys->m, "APPLIED");

    for (size_t i = 0; i < keys->n; i++)
        if (!applied || !has_word(applied, keys->names[i]))
            return error_set(error, -EPROTONOSUPPORT,
                             "the running jobiod is older than this command and cannot choose by "
                             "%s: restart it",
                             keys->names[i]);
    return 0;
}

static int no_array(struct error *error)
{
    return error_set(error, -EBADMSG, "the answer of jobiod is not a JSON array");
}

/* Parse the row at *text, and advance *text past it. */
static int take_row(struct json_tokener *tokener, const char **text, history_f each, void *arg,
                    struct error *error)
{
    size_t left = strnlen(*text, PIECE_MAX);
    struct json_object *object;
    struct history_row row;
    int rc;

    json_tokener_reset(tokener);
    object = json_tokener_parse_ex(tokener, *text, (int)left);
    rc = object ? history_row_parse(object, &row, error) : no_array(error);
    if (rc == 0)
        rc = each(&row, arg);
    *text += json_tokener_get_parse_end(tokener);
    json_object_put(object);
    return rc;
}

/* Row by row: json-c objects take ten times the memory of their text. */
static int each_in_text(const char *text, history_f each, void *arg, struct error *error)
{
    struct json_tokener *tokener = json_tokener_new();
    bool empty = strcmp(text, "[]") == 0;
    int rc = tokener ? 0 : error_errno(error, -ENOMEM, "read the answer");
    char before = '[';

    while (rc == 0 && !empty && *text == before) {
        text++;
        rc = take_row(tokener, &text, each, arg, error);
        before = ',';
    }
    if (rc == 0 && !empty && strcmp(text, "]") != 0)
        rc = no_array(error);
    if (tokener)
        json_tokener_free(tokener);
    return rc;
}

int jobiod_history(const struct cli *cli, const struct history_filter *filter, history_f each,
                   void *arg, struct error *error)
{
    struct message m;
    struct keys keys = {.m = &m};
    _free_ char *text = NULL;
    int rc;

    put_history(&keys, filter);
    if (keys.full)
        return error_set(error, -EINVAL, "the lists are too long");
    rc = jobiod_ask(cli, &m, JOBIOD_MS, &text, error);
    if (rc == 0)
        rc = check_applied(&keys, error);
    return rc < 0 ? rc : each_in_text(text, each, arg, error);
}
