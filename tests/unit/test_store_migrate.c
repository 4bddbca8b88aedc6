/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A store of an older version becomes one of this version, or stays as it is. */
#include "tests/unit/test.h"
#include "tests/unit/store_data.h"

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
    store_sql("ALTER TABLE job DROP COLUMN ns_per_event; PRAGMA user_version = 1");
    store = open_store(&folder);
    assert_int_equal(number(store, "PRAGMA user_version"), 2);
    assert_int_equal(number(store, "SELECT sum(ns_per_event) FROM job"), 0);
    assert_int_equal(number(store, "SELECT count(*) FROM step"), 5);
    store_close(store);
}

/* Made-up versions: 2 is the real schema, 3 and 4 change it. */
static const struct sql_migration made_up[] = {
    {3, "ALTER TABLE job ADD COLUMN two INTEGER; UPDATE job SET two = 2"},
    {4, "CREATE TABLE three (x); INSERT INTO three VALUES (3)"},
    {0, NULL},
};
static const struct sql_migration broken[] = {
    {3, "ALTER TABLE job ADD COLUMN two INTEGER"},
    {4, "CREATE TABLE three (x); INSERT INTO nowhere VALUES (3)"},
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
    assert_int_equal(number(store, "PRAGMA user_version"), 4);
    assert_int_equal(number(store, "SELECT two FROM job"), 2);
    assert_int_equal(number(store, "SELECT x FROM three"), 3);
    assert_int_equal(number(store, "SELECT count(*) FROM step"), 5);
    assert_ok(store_migrate(store, "no", made_up, &error), error); /* nothing left to do */
    store_close(store);
    (void)strcat(folder.store, ".v2");
    assert_int_equal(stat(folder.store, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(store_count_steps(), 5); /* the copy is a whole store of version 2 */
}

static void test_migration_that_fails(void **state)
{
    struct store *store;
    struct error error;

    (void)state;
    store_make(5);
    store = open_store(&folder);
    assert_int_equal(store_migrate(store, "no", broken, &error), -EBADMSG);
    assert_non_null(strstr(error.text, "version 4"));
    assert_int_equal(number(store, "PRAGMA user_version"), 3); /* the step that went well */
    assert_int_equal(number(store, "SELECT count(*) FROM sqlite_master WHERE name = 'three'"), 0);
    assert_ok(store_migrate(store, "no", made_up, &error), error); /* goes on from there */
    assert_int_equal(number(store, "PRAGMA user_version"), 4);
    store_close(store);
}

#define MIGRATE_TEST(name) cmocka_unit_test_setup_teardown(name, folder_set_up, folder_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MIGRATE_TEST(test_store_of_version_1),
        MIGRATE_TEST(test_migration),
        MIGRATE_TEST(test_migration_that_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
