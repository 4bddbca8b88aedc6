/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A store of an older version becomes one of this version, or stays as it is. */
#include "tests/unit/test.h"
#include "tests/unit/store_data.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/store_private.h"

static int64_t number(struct store *store, const char *text)
{
    struct error error;
    int64_t value = -1;

    assert_ok(store_number(store, text, &value, &error), error);
    return value;
}

/* What version 4 brought. */
#define DROP_4                                                                                  \
    "DROP TABLE latency_day; ALTER TABLE job DROP COLUMN latency_counted; "                     \
    "DROP TABLE timeline; DROP INDEX job_array; ALTER TABLE job DROP COLUMN array_job; ALTER "  \
    "TABLE job DROP "                                                                           \
    "COLUMN array_task; DROP TABLE job_mount; DROP INDEX job_start; DROP INDEX job_uid_start; " \
    "DROP INDEX job_user_start; DROP INDEX job_account_start; DROP INDEX job_name_start; "      \
    "DROP INDEX job_running; DROP INDEX job_long; "                                             \
    "CREATE INDEX job_uid_end ON job (uid, end_ns DESC); "                                      \
    "CREATE INDEX job_user_end ON job (user, end_ns DESC); "                                    \
    "ALTER TABLE io DROP COLUMN sequential_requests; "                                          \
    "ALTER TABLE io DROP COLUMN random_requests; "

/* As version 1 left it. */
static void test_store_of_version_1(void **state)
{
    struct store *store;

    (void)state;
    store_make(5);
    store_sql(DROP_4
              "DROP TABLE outbox; DROP TABLE job_node; ALTER TABLE job DROP COLUMN first_node; "
              "ALTER TABLE job DROP COLUMN unsupported_elsewhere; "
              "ALTER TABLE job DROP COLUMN ns_per_event; PRAGMA user_version = 1");
    store = open_store(&folder);
    assert_int_equal(number(store, "PRAGMA user_version"), 4);
    assert_int_equal(number(store, "SELECT sum(ns_per_event) FROM job"), 0);
    assert_int_equal(number(store, "SELECT count(*) FROM step"), 5);
    store_close(store);
}

/* The statements that made the outbox, without comments and blanks. */
static char *outbox_schema(struct store *store)
{
    static const char query[] = "SELECT sql FROM sqlite_master WHERE tbl_name IN ('outbox', "
                                "'job_node') AND sql IS NOT NULL ORDER BY name";
    sqlite3_stmt *row = NULL;
    char *text = calloc(1, 4096), *to = text;

    assert_non_null(text);
    assert_int_equal(sqlite3_prepare_v2(store->db, query, -1, &row, NULL), SQLITE_OK);
    while (sqlite3_step(row) == SQLITE_ROW)
        for (const char *c = column_text(row, 0); *c && to < text + 4095; c++) {
            if (c[0] == '-' && c[1] == '-')
                c = strchr(c, '\n');
            else if (!strchr(" \n", *c))
                *to++ = *c;
        }
    (void)sqlite3_finalize(row);
    return text;
}

/* As version 2 left it: the outbox becomes that of a new store, and takes the old steps. */
static void test_store_of_version_2(void **state)
{
    static const char fill[] =
        "INSERT INTO outbox (sink, step_id, queued_ns) SELECT 'x', id, 1 FROM step";
    struct store *store;
    char *fresh, *migrated;

    (void)state;
    store_make(5);
    store = open_store(&folder);
    fresh = outbox_schema(store);
    store_close(store);
    store_sql(DROP_4
              "DROP TABLE outbox; DROP TABLE job_node; ALTER TABLE job DROP COLUMN first_node; "
              "ALTER TABLE job DROP COLUMN unsupported_elsewhere; "
              "PRAGMA user_version = 2");
    store = open_store(&folder);
    assert_int_equal(number(store, "PRAGMA user_version"), 4);
    migrated = outbox_schema(store);
    assert_true(strlen(fresh) > 200);
    assert_string_equal(migrated, fresh);
    assert_int_equal(sqlite3_exec(store->db, fill, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(number(store, "SELECT count(*) FROM outbox"), 5);
    store_close(store);
    free(fresh);
    free(migrated);
}

/* The columns of every table and all indexes, as one text. */
static char *schema_shape(struct store *store)
{
    static const char query[] =
        "SELECT group_concat(what, ' ') FROM (SELECT t.name || '.' || c.name AS what "
        "FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table' UNION "
        "SELECT name || ' on ' || tbl_name FROM sqlite_master WHERE type = 'index' "
        "ORDER BY 1)";
    sqlite3_stmt *row = NULL;
    char *text;

    assert_int_equal(sqlite3_prepare_v2(store->db, query, -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    text = strdup(column_text(row, 0));
    assert_non_null(text);
    (void)sqlite3_finalize(row);
    return text;
}

/* What jobs did on mounts, as one text. */
static char *mount_sums(struct store *store)
{
    static const char query[] =
        "SELECT group_concat(mount_id || ':' || read_requests || ' ' || read_bytes || ' ' || "
        "read_max_ns || ' ' || write_requests || ' ' || write_bytes || ' ' || meta_requests || ' ' "
        "|| meta_errors || ' ' || meta_time_ns || ' ' || meta_max_ns || ' ' || errors || ' ' || "
        "wait_ns, ', ') FROM (SELECT * FROM job_mount ORDER BY job_id, mount_id)";
    sqlite3_stmt *row = NULL;
    char *text;

    assert_int_equal(sqlite3_prepare_v2(store->db, query, -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    text = strdup(column_text(row, 0));
    assert_non_null(text);
    (void)sqlite3_finalize(row);
    return text;
}

/* As version 3 left it: nothing is missing that a new store has. */
static void test_store_of_version_3(void **state)
{
    struct store *store;
    char *fresh, *migrated, *sums, *again;

    (void)state;
    store_make(5);
    store = open_store(&folder);
    fresh = schema_shape(store);
    sums = mount_sums(store);
    store_close(store);
    store_sql(DROP_4 "PRAGMA user_version = 3");
    store = open_store(&folder);
    assert_int_equal(number(store, "PRAGMA user_version"), 4);
    migrated = schema_shape(store);
    assert_non_null(strstr(fresh, "job.array_task"));
    assert_non_null(strstr(fresh, "timeline.width_s"));
    assert_string_equal(migrated, fresh);
    assert_int_equal(number(store, "SELECT count(*) FROM job WHERE array_job IS NULL"), 1);
    again = mount_sums(store);
    assert_non_null(strchr(sums, ','));
    assert_string_equal(again, sums);
    store_close(store);
    free(sums);
    free(again);
    free(fresh);
    free(migrated);
}

/* Made-up versions: 4 is the real schema, 5 and 6 change it. */
static const struct sql_migration made_up[] = {
    {5, "ALTER TABLE job ADD COLUMN two INTEGER; UPDATE job SET two = 2"},
    {6, "CREATE TABLE three (x); INSERT INTO three VALUES (3)"},
    {0, NULL},
};
static const struct sql_migration broken[] = {
    {5, "ALTER TABLE job ADD COLUMN two INTEGER"},
    {6, "CREATE TABLE three (x); INSERT INTO nowhere VALUES (3)"},
    {0, NULL},
};

static void test_migration(void **state)
{
    struct store *store;
    struct error error;
    struct stat st;

    (void)state;
    store_make(5);
    store = open_store(&folder);
    assert_ok(store_migrate(store, "no", made_up, &error), error);
    assert_int_equal(number(store, "PRAGMA user_version"), 6);
    assert_int_equal(number(store, "SELECT two FROM job"), 2);
    assert_int_equal(number(store, "SELECT x FROM three"), 3);
    assert_int_equal(number(store, "SELECT count(*) FROM step"), 5);
    assert_ok(store_migrate(store, "no", made_up, &error), error); /* nothing left to do */
    store_close(store);
    (void)strcat(folder.store, ".v4");
    assert_int_equal(stat(folder.store, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(store_count_steps(), 5); /* the copy is a whole store of version 4 */
}

static void test_migration_that_fails(void **state)
{
    struct store *store;
    struct error error;

    (void)state;
    store_make(5);
    store = open_store(&folder);
    assert_int_equal(store_migrate(store, "no", broken, &error), -EBADMSG);
    assert_non_null(strstr(error.text, "version 6"));
    assert_int_equal(number(store, "PRAGMA user_version"), 5); /* the step that went well */
    assert_int_equal(number(store, "SELECT count(*) FROM sqlite_master WHERE name = 'three'"), 0);
    assert_ok(store_migrate(store, "no", made_up, &error), error); /* goes on from there */
    assert_int_equal(number(store, "PRAGMA user_version"), 6);
    store_close(store);
}

#define MIGRATE_TEST(name) cmocka_unit_test_setup_teardown(name, folder_set_up, folder_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MIGRATE_TEST(test_store_of_version_1),   MIGRATE_TEST(test_store_of_version_2),
        MIGRATE_TEST(test_store_of_version_3),   MIGRATE_TEST(test_migration),
        MIGRATE_TEST(test_migration_that_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
