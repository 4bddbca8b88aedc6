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

/* As version 1 left it. */
static void test_store_of_version_1(void **state)
{
    struct store *store;

    (void)state;
    store_make(5);
    store_sql("DROP TABLE outbox; DROP TABLE job_node; ALTER TABLE job DROP COLUMN first_node; "
              "ALTER TABLE job DROP COLUMN unsupported_elsewhere; "
              "ALTER TABLE job DROP COLUMN ns_per_event; PRAGMA user_version = 1");
    store = open_store(&folder);
    assert_int_equal(number(store, "PRAGMA user_version"), 3);
    assert_int_equal(number(store, "SELECT sum(ns_per_event) FROM job"), 0);
    assert_int_equal(number(store, "SELECT count(*) FROM step"), 5);
    store_close(store);
}

/* The statements that made the outbox, without comments and blanks. */
static char *outbox_schema(struct store *store)
{
    static const char query[] =
        "SELECT sql FROM sqlite_master WHERE tbl_name IN ('outbox', 'job_node') AND sql IS NOT NULL ORDER BY name";
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
    store_sql("DROP TABLE outbox; DROP TABLE job_node; ALTER TABLE job DROP COLUMN first_node; "
              "ALTER TABLE job DROP COLUMN unsupported_elsewhere; "
              "PRAGMA user_version = 2");
    store = open_store(&folder);
    assert_int_equal(number(store, "PRAGMA user_version"), 3);
    migrated = outbox_schema(store);
    assert_true(strlen(fresh) > 200);
    assert_string_equal(migrated, fresh);
    assert_int_equal(sqlite3_exec(store->db, fill, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(number(store, "SELECT count(*) FROM outbox"), 5);
    store_close(store);
    free(fresh);
    free(migrated);
}

/* Made-up versions: 3 is the real schema, 4 and 5 change it. */
static const struct sql_migration made_up[] = {
    {4, "ALTER TABLE job ADD COLUMN two INTEGER; UPDATE job SET two = 2"},
    {5, "CREATE TABLE three (x); INSERT INTO three VALUES (3)"},
    {0, NULL},
};
static const struct sql_migration broken[] = {
    {4, "ALTER TABLE job ADD COLUMN two INTEGER"},
    {5, "CREATE TABLE three (x); INSERT INTO nowhere VALUES (3)"},
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
    assert_int_equal(number(store, "PRAGMA user_version"), 5);
    assert_int_equal(number(store, "SELECT two FROM job"), 2);
    assert_int_equal(number(store, "SELECT x FROM three"), 3);
    assert_int_equal(number(store, "SELECT count(*) FROM step"), 5);
    assert_ok(store_migrate(store, "no", made_up, &error), error); /* nothing left to do */
    store_close(store);
    (void)strcat(folder.store, ".v3");
    assert_int_equal(stat(folder.store, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(store_count_steps(), 5); /* the copy is a whole store of version 3 */
}

static void test_migration_that_fails(void **state)
{
    struct store *store;
    struct error error;

    (void)state;
    store_make(5);
    store = open_store(&folder);
    assert_int_equal(store_migrate(store, "no", broken, &error), -EBADMSG);
    assert_non_null(strstr(error.text, "version 5"));
    assert_int_equal(number(store, "PRAGMA user_version"), 4); /* the step that went well */
    assert_int_equal(number(store, "SELECT count(*) FROM sqlite_master WHERE name = 'three'"), 0);
    assert_ok(store_migrate(store, "no", made_up, &error), error); /* goes on from there */
    assert_int_equal(number(store, "PRAGMA user_version"), 5);
    store_close(store);
}

#define MIGRATE_TEST(name) cmocka_unit_test_setup_teardown(name, folder_set_up, folder_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MIGRATE_TEST(test_store_of_version_1),
        MIGRATE_TEST(test_store_of_version_2),
        MIGRATE_TEST(test_migration),
        MIGRATE_TEST(test_migration_that_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
