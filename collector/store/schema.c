/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* asprintf */
#include "collector/store/store_impl.h"

#include <inttypes.h>
#include <string.h>

static int version_newest(const struct sql_migration *migrations)
{
    int newest = 1;

    for (; migrations->version; migrations++)
        newest = migrations->version;
    return newest;
}

/* Run one schema change and set its version, in one transaction. */
static int schema_step(struct store *store, const char *sql, int version, struct error *error)
{
    char stamp[96];
    int r = store_exec(store, "BEGIN IMMEDIATE", error);

    if (r < 0)
        return r;
    (void)snprintf(stamp, sizeof(stamp), "PRAGMA application_id = %d; PRAGMA user_version = %d",
                   STORE_APPLICATION, version);
    r = store_exec(store, sql, error);
    if (r == 0)
        r = store_exec(store, stamp, error);
    if (r == 0)
        r = store_exec(store, "COMMIT", error);
    if (r < 0) {
        if (!sqlite3_get_autocommit(store->db))
            (void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
        return error_prefix(error, r, "schema version %d", version);
    }
    return 0;
}

/* Copy the database before a migration. Uses the backup interface, because SQLite of EL 8 has no
 * VACUUM INTO. Overwrites an older copy of the same version: it is from a migration that failed. */
static int schema_copy(struct store *store, int64_t version, struct error *error)
{
    _free_ char *path = NULL;
    sqlite3 *copy = NULL;
    sqlite3_backup *backup;
    int rc, r;

    if (asprintf(&path, "%s.v%" PRId64, store->path, version) < 0)
        return error_errno(error, -ENOMEM, "store \"%s\"", store->path);
    r = store_file_create(path, error);
    if (r < 0 && r != -EEXIST)
        return r;
    rc = sqlite3_open_v2(path, &copy, SQLITE_OPEN_READWRITE, NULL);
    backup = rc == SQLITE_OK ? sqlite3_backup_init(copy, "main", store->db, "main") : NULL;
    if (backup) {
        (void)sqlite3_backup_step(backup, -1);
        rc = sqlite3_backup_finish(backup);
    } else if (rc == SQLITE_OK) {
        rc = sqlite3_errcode(copy);
    }
    (void)sqlite3_close(copy);
    if (rc != SQLITE_OK)
        return error_set(error, sqlite3_system_errno(store->db) == ENOSPC ? -ENOSPC : -EIO,
                         "store \"%s\": cannot copy it to \"%s\" before the migration: %s",
                         store->path, path, sqlite3_errstr(rc));
    return 0;
}

static int schema_upgrade(struct store *store, int64_t version,
                          const struct sql_migration *migrations, struct error *error)
{
    int r = schema_copy(store, version, error);

    for (; r == 0 && migrations->version; migrations++)
        if (migrations->version > version)
            r = schema_step(store, migrations->text, migrations->version, error);
    return r;
}

int store_identify(struct store *store, const struct sql_migration *migrations,
                   struct schema_state *ret, struct error *error)
{
    int64_t application, version, tables;
    int newest = version_newest(migrations);
    int r = store_number(store, "PRAGMA application_id", &application, error);

    if (r == 0)
        r = store_number(store, "PRAGMA user_version", &version, error);
    if (r == 0)
        r = store_number(store, "SELECT count(*) FROM sqlite_master", &tables, error);
    if (r < 0)
        return r;
    if (tables && application != STORE_APPLICATION)
        return error_set(error, -EMEDIUMTYPE, "store \"%s\": it is the database of another program",
                         store->path);
    if (version > newest)
        return error_set(error, -EPROTONOSUPPORT,
                         "store \"%s\": made by a newer jobio (version %" PRId64
                         ", this one knows %d)",
                         store->path, version, newest);
    *ret = (struct schema_state){.version = version, .newest = newest, .empty = !tables};
    return 0;
}

int store_migrate(struct store *store, const char *schema, const struct sql_migration *migrations,
                  struct error *error)
{
    struct schema_state state;
    int r = store_identify(store, migrations, &state, error);

    if (r < 0 || (!state.empty && state.version == state.newest))
        return r;
    if (state.empty)
        return schema_step(store, schema, state.newest, error);
    return schema_upgrade(store, state.version, migrations, error);
}
