/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A store of an older version is migrated completely, or stays unchanged. */
#include "tests/unit/test.h"
#include "tests/unit/store_data.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/store/store_impl.h"

static int64_t number(struct store *store, const char *text)
{
    struct error error;
    int64_t value = -1;

    assert_ok(store_number(store, text, &value, &error), error);
    return value;
}

/* New in version 4. */
#define DROP_4                                                                                  \
    "DROP TRIGGER rollup_insert; DROP TRIGGER rollup_update; DROP TRIGGER rollup_delete; "      \
    "DROP TABLE rollup; DROP TABLE rollup_block; "                                              \
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

/* The schema as one text: each column with its type, default and position in the key; foreign keys;
 * the columns of each index, including those that SQLite creates, with their order; and the text of
 * indexes (for their WHERE) and views. Ignores the order of columns, because added ones are last.
 */
static char *schema_shape(struct store *store)
{
    static const char query[] =
        "WITH t AS (SELECT name FROM sqlite_master WHERE type = 'table'), what (line) AS ("
        "SELECT printf('column %s.%s %s %d %Q %d %d', t.name, c.name, c.type, c.\"notnull\","
        " c.dflt_value, c.pk, c.hidden) "
        "FROM t, pragma_table_xinfo(t.name) AS c UNION ALL "
        "SELECT printf('table %s %d %d', name, sql LIKE '%AUTOINCREMENT%',"
        " sql LIKE '%WITHOUT ROWID%') FROM sqlite_master WHERE type = 'table' UNION ALL "
        "SELECT printf('key %s.%s %s.%s %s %s %d', t.name, f.\"from\", f.\"table\", f.\"to\","
        " f.on_delete, f.on_update, f.seq) "
        "FROM t, pragma_foreign_key_list(t.name) AS f UNION ALL "
        "SELECT printf('index %s.%s %d %s %d', t.name, i.name, i.\"unique\", i.origin, i.partial) "
        "FROM t, pragma_index_list(t.name) AS i UNION ALL "
        "SELECT printf('part %s %d %s %d %s %d', i.name, p.seqno, p.name, p.\"desc\", p.coll,"
        " p.key) "
        "FROM t, pragma_index_list(t.name) AS i, pragma_index_xinfo(i.name) AS p UNION ALL "
        "SELECT printf('text %s %s %s', type, name,"
        " replace(replace(sql, char(10), ''), ' ', '')) "
        "FROM sqlite_master WHERE type <> 'table' AND sql IS NOT NULL) "
        "SELECT group_concat(line, char(10)) FROM (SELECT line FROM what ORDER BY line)";
    sqlite3_stmt *row = NULL;
    char *text;

    assert_int_equal(sqlite3_prepare_v2(store->db, query, -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    text = strdup(column_text(row, 0));
    assert_non_null(text);
    (void)sqlite3_finalize(row);
    return text;
}

static char *fresh_shape(void)
{
    struct store *store;
    char *shape;

    store_make(5);
    store = open_store(&directory);
    shape = schema_shape(store);
    store_close(store);
    return shape;
}

/* Fails with the first line that differs. Frees `fresh`. */
static void assert_shape(struct store *store, char *fresh)
{
    char *migrated = schema_shape(store);
    const char *a = migrated, *b = fresh;
    int n, m;

    while (*a && *a == *b) {
        a++;
        b++;
    }
    for (; (*a || *b) && a > migrated && a[-1] != '\n'; a--)
        b--;
    n = (int)strcspn(a, "\n");
    m = (int)strcspn(b, "\n");
    if (n || m)
        fail_msg("migrated: \"%.*s\", a new one: \"%.*s\"", n, a, m, b);
    free(migrated);
    free(fresh);
}

/* Migrate a store of version 1. */
static void test_store_of_version_1(void **state)
{
    char *fresh = fresh_shape();
    struct store *store;

    (void)state;
    store_sql(DROP_4
              "DROP TABLE outbox; DROP TABLE job_node; ALTER TABLE job DROP COLUMN first_node; "
              "ALTER TABLE job DROP COLUMN unsupported_elsewhere; "
              "ALTER TABLE job DROP COLUMN ns_per_event; PRAGMA user_version = 1");
    store = open_store(&directory);
    assert_int_equal(number(store, "PRAGMA user_version"), 4);
    assert_shape(store, fresh);
    assert_int_equal(number(store, "SELECT sum(ns_per_event) FROM job"), 0);
    assert_int_equal(number(store, "SELECT count(*) FROM step"), 5);
    store_close(store);
}

/* Migrate a store of version 2: the outbox is the same as in a new store, and accepts old steps. */
static void test_store_of_version_2(void **state)
{
    static const char fill[] =
        "INSERT INTO outbox (sink, step_id, queued_ns) SELECT 'x', id, 1 FROM step";
    char *fresh = fresh_shape();
    struct store *store;

    (void)state;
    store_sql(DROP_4
              "DROP TABLE outbox; DROP TABLE job_node; ALTER TABLE job DROP COLUMN first_node; "
              "ALTER TABLE job DROP COLUMN unsupported_elsewhere; "
              "PRAGMA user_version = 2");
    store = open_store(&directory);
    assert_int_equal(number(store, "PRAGMA user_version"), 4);
    assert_shape(store, fresh);
    assert_int_equal(sqlite3_exec(store->db, fill, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(number(store, "SELECT count(*) FROM outbox"), 5);
    store_close(store);
}

/* The sums of jobs on mounts, as one text. */
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

/* Migrate a store of version 3: it has everything that a new store has. */
static void test_store_of_version_3(void **state)
{
    char *fresh = fresh_shape(), *sums, *again;
    struct store *store;

    (void)state;
    store = open_store(&directory);
    sums = mount_sums(store);
    store_close(store);
    store_sql(DROP_4 "PRAGMA user_version = 3");
    store = open_store(&directory);
    assert_int_equal(number(store, "PRAGMA user_version"), 4);
    assert_non_null(strstr(fresh, "column job.array_task INTEGER 0 NULL 0 0"));
    assert_non_null(strstr(fresh, "part job_end 0 end_ns 1 BINARY 1"));
    assert_non_null(strstr(fresh, "key timeline.mount_id step_mount.mount_id CASCADE"));
    assert_shape(store, fresh);
    assert_int_equal(number(store, "SELECT count(*) FROM job WHERE array_job IS NULL"), 1);
    again = mount_sums(store);
    assert_non_null(strchr(sums, ','));
    assert_string_equal(again, sums);
    store_close(store);
    free(sums);
    free(again);
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
    store = open_store(&directory);
    assert_ok(store_migrate(store, "no", made_up, &error), error);
    assert_int_equal(number(store, "PRAGMA user_version"), 6);
    assert_int_equal(number(store, "SELECT two FROM job"), 2);
    assert_int_equal(number(store, "SELECT x FROM three"), 3);
    assert_int_equal(number(store, "SELECT count(*) FROM step"), 5);
    assert_ok(store_migrate(store, "no", made_up, &error), error); /* nothing to do */
    store_close(store);
    (void)strcat(directory.store, ".v4");
    assert_int_equal(stat(directory.store, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(store_count_steps(), 5); /* the copy is a complete store of version 4 */
}

static void test_migration_that_fails(void **state)
{
    struct store *store;
    struct error error;

    (void)state;
    store_make(5);
    store = open_store(&directory);
    assert_int_equal(store_migrate(store, "no", broken, &error), -EBADMSG);
    assert_non_null(strstr(error.text, "version 6"));
    assert_int_equal(number(store, "PRAGMA user_version"), 5); /* the first step succeeded */
    assert_int_equal(number(store, "SELECT count(*) FROM sqlite_master WHERE name = 'three'"), 0);
    assert_ok(store_migrate(store, "no", made_up, &error), error); /* continues from there */
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
