/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Table state: small texts that outlive the process. */
#include "collector/store/store_impl.h"

#include <string.h>

#include "common/text.h"

struct state_write {
    const char *key, *value;
};

static int state_write(struct store *store, const void *arg, struct error *error)
{
    const struct state_write *w = arg;

    return w->value ? store_run(store, SQL_STATE_PUT, VALUES(TEXT(w->key), TEXT(w->value)), error)
                    : store_run(store, SQL_STATE_DROP, VALUES(TEXT(w->key)), error);
}

static int states_drop(struct store *store, const void *arg, struct error *error)
{
    const char *prefix = arg;

    return store_run(store, SQL_STATE_DROP_ALL, VALUES(TEXT(prefix)), error);
}

int store_drop_states(struct store *store, const char *prefix, struct error *error)
{
    return store_write(store, states_drop, prefix, error);
}

int store_put_state(struct store *store, const char *key, const char *value, struct error *error)
{
    return store_write(store, state_write, &(struct state_write){.key = key, .value = value},
                       error);
}

int store_get_state(struct store *store, const char *key, char **ret, struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    char *value = NULL;
    int r = store_start(store, SQL_STATE_GET, VALUES(TEXT(key)), &row, error);

    if (r == 0)
        r = store_next(store, row, error);
    if (r > 0 && text_copy(&value, column_text(row, 0)) < 0)
        return error_errno(error, -ENOMEM, "store \"%s\"", store->path);
    if (r < 0)
        return r;
    *ret = value;
    return 0;
}

int store_each_state(struct store *store, const char *prefix, store_state_f each, void *arg,
                     struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(store, SQL_STATE_LIST, VALUES(TEXT(prefix)), &row, error);

    if (r == 0)
        r = store_next(store, row, error);
    while (r > 0 && strncmp(column_text(row, 0), prefix, strlen(prefix)) == 0) {
        int stop = each(column_text(row, 0), column_text(row, 1), arg);

        if (stop != 0)
            return stop;
        r = store_next(store, row, error);
    }
    return r < 0 ? r : 0;
}
