/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A store of an older version is migrated completely, or stays unchanged, also if an allocation or
 * a write fails. */
#include "tests/unit/test.h"
#include "tests/unit/store_data.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/store/store_impl.h"
#include "tests/unit/fault.h"

static int64_t number(struct store *store, const char *text)
{
    struct error error;
    int64_t value = -1;

    assert_ok(store_number(store, text, &value, &error), error);
    return value;
}

/* What versions 11, 10, 9, 8, 7, 6, 5, 4, 3 and 2 added. */
#define DROP_11 "ALTER TABLE io DROP COLUMN throttled_ns; "
#define DROP_10 "DROP VIEW v_step_stack; DROP TABLE stack; DROP TABLE stack_profile; "
#define DROP_9                                                                                  \
    "DROP VIEW v_step_block; DROP TABLE block; ALTER TABLE step DROP COLUMN block_incomplete; " \
    "ALTER TABLE step DROP COLUMN block_shared_at_most; "
#define DROP_8                                                            \
    "DROP TABLE rpc; ALTER TABLE step_mount DROP COLUMN rpc_incomplete; " \
    "ALTER TABLE step_mount DROP COLUMN rpc_shared_at_most; "
#define DROP_7                                              \
    "ALTER TABLE step_mount DROP COLUMN readers; "          \
    "ALTER TABLE step_mount DROP COLUMN reader_threads; "   \
    "ALTER TABLE step_mount DROP COLUMN readers_at_least; " \
    "ALTER TABLE step_mount DROP COLUMN writers; "          \
    "ALTER TABLE step_mount DROP COLUMN writer_threads; "   \
    "ALTER TABLE step_mount DROP COLUMN writers_at_least; "
#define DROP_6                                                    \
    "DROP VIEW v_step_mpi; DROP VIEW v_job_mpi; DROP TABLE mpi; " \
    "ALTER TABLE step DROP COLUMN mpi_incomplete; "               \
    "ALTER TABLE timeline DROP COLUMN longest_wait_ns; "
#define DROP_5                                                                   \
    "DROP VIEW v_job; ALTER TABLE job DROP COLUMN slurm_state; ALTER TABLE job " \
    "DROP COLUMN exit_code; ALTER TABLE job DROP COLUMN exit_signal; "           \
    "CREATE VIEW v_job AS SELECT cluster, jobid FROM job; "
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
#define DROP_3                                                                         \
    "DROP TABLE outbox; DROP TABLE job_node; ALTER TABLE job DROP COLUMN first_node; " \
    "ALTER TABLE job DROP COLUMN unsupported_elsewhere; "
#define DROP_2 "ALTER TABLE job DROP COLUMN ns_per_event; "

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
    store_sql(DROP_11 DROP_10 DROP_9 DROP_8 DROP_7 DROP_6 DROP_5 DROP_4 DROP_3 DROP_2
              "PRAGMA user_version = 1");
    store = open_store(&directory);
    assert_int_equal(number(store, "PRAGMA user_version"), 11);
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
    store_sql(DROP_11 DROP_10 DROP_9 DROP_8 DROP_7 DROP_6 DROP_5 DROP_4 DROP_3
              "PRAGMA user_version = 2");
    store = open_store(&directory);
    assert_int_equal(number(store, "PRAGMA user_version"), 11);
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

/* Migrate a store of version 4: how its jobs ended is not known. */
static void test_store_of_version_4(void **state)
{
    char *fresh = fresh_shape();
    struct store *store;

    (void)state;
    store_sql(DROP_11 DROP_10 DROP_9 DROP_8 DROP_7 DROP_6 DROP_5 "PRAGMA user_version = 4");
    store = open_store(&directory);
    assert_int_equal(number(store, "PRAGMA user_version"), 11);
    assert_non_null(strstr(fresh, "column job.exit_code INTEGER 0 NULL 0 0"));
    assert_shape(store, fresh);
    assert_int_equal(number(store, "SELECT count(*) FROM v_job WHERE slurm_state IS NULL"), 1);
    store_close(store);
}

/* Migrate a store of version 5: the MPI-IO of its steps was not counted, and whose wait was the
 * longest at what time is not known. */
static void test_store_of_version_5(void **state)
{
    char *fresh = fresh_shape();
    struct store *store;

    (void)state;
    store_sql(DROP_11 DROP_10 DROP_9 DROP_8 DROP_7 DROP_6 "PRAGMA user_version = 5");
    store = open_store(&directory);
    assert_int_equal(number(store, "PRAGMA user_version"), 11);
    assert_non_null(strstr(fresh, "key mpi.step_id step.id CASCADE"));
    assert_non_null(strstr(fresh, "column timeline.longest_wait_ns TEXT 0 NULL 0 0"));
    assert_shape(store, fresh);
    assert_int_equal(number(store, "SELECT count(*) FROM step WHERE mpi_incomplete IS NULL"), 5);
    store_close(store);
}

/* Migrate a store of version 6: who read and wrote is not known. */
static void test_store_of_version_6(void **state)
{
    char *fresh = fresh_shape();
    struct store *store;

    (void)state;
    store_sql(DROP_11 DROP_10 DROP_9 DROP_8 DROP_7 "PRAGMA user_version = 6");
    store = open_store(&directory);
    assert_int_equal(number(store, "PRAGMA user_version"), 11);
    assert_non_null(strstr(fresh, "column step_mount.readers INTEGER 0 NULL 0 0"));
    assert_shape(store, fresh);
    assert_int_equal(number(store, "SELECT count(*) FROM step_mount WHERE readers IS NULL AND "
                                   "writers_at_least IS NULL"),
                     10);
    store_close(store);
}

/* Migrate a store of version 7: the requests of NFS were not counted. */
static void test_store_of_version_7(void **state)
{
    char *fresh = fresh_shape();
    struct store *store;

    (void)state;
    store_sql(DROP_11 DROP_10 DROP_9 DROP_8 "PRAGMA user_version = 7");
    store = open_store(&directory);
    assert_int_equal(number(store, "PRAGMA user_version"), 11);
    assert_non_null(strstr(fresh, "key rpc.step_id step_mount.step_id CASCADE"));
    assert_shape(store, fresh);
    assert_int_equal(number(store, "SELECT count(*) FROM step_mount WHERE rpc_incomplete IS NULL"),
                     10);
    store_close(store);
}

/* Migrate a store of version 8: the requests to disks were not counted. */
static void test_store_of_version_8(void **state)
{
    char *fresh = fresh_shape();
    struct store *store;

    (void)state;
    store_sql(DROP_11 DROP_10 DROP_9 "PRAGMA user_version = 8");
    store = open_store(&directory);
    assert_int_equal(number(store, "PRAGMA user_version"), 11);
    assert_non_null(strstr(fresh, "key block.step_id step.id CASCADE"));
    assert_shape(store, fresh);
    assert_int_equal(number(store, "SELECT count(*) FROM step WHERE block_incomplete IS NULL"), 5);
    store_close(store);
}

/* Migrate a store of version 9: no stacks were recorded. */
static void test_store_of_version_9(void **state)
{
    char *fresh = fresh_shape();
    struct store *store;

    (void)state;
    store_sql(DROP_11 DROP_10 "PRAGMA user_version = 9");
    store = open_store(&directory);
    assert_int_equal(number(store, "PRAGMA user_version"), 11);
    assert_non_null(strstr(fresh, "key stack.step_id stack_profile.step_id CASCADE"));
    assert_shape(store, fresh);
    assert_int_equal(number(store, "SELECT count(*) FROM stack_profile"), 0);
    store_close(store);
}

/* Migrate a store of version 10: no call is known to have been throttled. */
static void test_store_of_version_10(void **state)
{
    char *fresh = fresh_shape();
    struct store *store;

    (void)state;
    store_sql(DROP_11 "PRAGMA user_version = 10");
    store = open_store(&directory);
    assert_int_equal(number(store, "PRAGMA user_version"), 11);
    assert_shape(store, fresh);
    assert_int_equal(number(store, "SELECT sum(throttled_ns) FROM io"), 0);
    store_close(store);
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
    store_sql(DROP_11 DROP_10 DROP_9 DROP_8 DROP_7 DROP_6 DROP_5 DROP_4 "PRAGMA user_version = 3");
    store = open_store(&directory);
    assert_int_equal(number(store, "PRAGMA user_version"), 11);
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

/* Made-up versions: 11 is the real schema, 12 and 13 change it. */
static const struct sql_migration made_up[] = {
    {12, "ALTER TABLE job ADD COLUMN two INTEGER; UPDATE job SET two = 2"},
    {13, "CREATE TABLE three (x); INSERT INTO three VALUES (3)"},
    {0, NULL},
};
static const struct sql_migration broken[] = {
    {12, "ALTER TABLE job ADD COLUMN two INTEGER"},
    {13, "CREATE TABLE three (x); INSERT INTO nowhere VALUES (3)"},
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
    assert_int_equal(number(store, "PRAGMA user_version"), 13);
    assert_int_equal(number(store, "SELECT two FROM job"), 2);
    assert_int_equal(number(store, "SELECT x FROM three"), 3);
    assert_int_equal(number(store, "SELECT count(*) FROM step"), 5);
    assert_ok(store_migrate(store, "no", made_up, &error), error); /* nothing to do */
    store_close(store);
    (void)strcat(directory.store, ".v11");
    assert_int_equal(stat(directory.store, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(store_count_steps(), 5); /* the copy is a complete store of version 11 */
}

static void test_migration_that_fails(void **state)
{
    struct store *store;
    struct error error;

    (void)state;
    store_make(5);
    store = open_store(&directory);
    assert_int_equal(store_migrate(store, "no", broken, &error), -EBADMSG);
    assert_non_null(strstr(error.text, "version 13"));
    assert_int_equal(number(store, "PRAGMA user_version"), 12); /* the first step succeeded */
    assert_int_equal(number(store, "SELECT count(*) FROM sqlite_master WHERE name = 'three'"), 0);
    assert_ok(store_migrate(store, "no", made_up, &error), error); /* continues from there */
    assert_int_equal(number(store, "PRAGMA user_version"), 13);
    store_close(store);
}

/* --- faults ----------------------------------------------------------------------------------- */

static struct {
    int version;
    const char *sql;      /* makes it of a new store */
    char *before, *after; /* all rows */
} old;

static void prepare_old(void)
{
    folder_make(&directory);
    store_make(2);
    store_sql(old.sql);
}

static int run_migration(struct error *error)
{
    opened = NULL;
    return store_open(&opened, &(struct store_options){.path = directory.store}, error);
}

static void finish(void)
{
    store_close(opened);
    opened = NULL;
    folder_remove(&directory);
}

static int file_version(void)
{
    sqlite3_stmt *row = NULL;
    sqlite3 *db = NULL;
    int version;

    assert_int_equal(sqlite3_open(directory.store, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    version = sqlite3_column_int(row, 0);
    (void)sqlite3_finalize(row);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return version;
}

static void assert_file(int version, const char *want)
{
    char *rows = store_rows();

    assert_int_equal(file_version(), version);
    assert_store_rows(rows, want);
    free(rows);
}

/* The store has the rows of its version. The next start migrates it to the end, and the copy of the
 * old one is complete. */
static void check_migration(int r, bool hit)
{
    struct error error;
    int version;

    (void)hit;
    if (r < 0) {
        assert_null(opened);
        version = file_version();
        if (version == old.version || version == 11)
            assert_file(version, version == 11 ? old.after : old.before);
        assert_ok(run_migration(&error), error);
    }
    store_close(opened);
    opened = NULL;
    assert_file(11, old.after);
    (void)snprintf(strchr(directory.store, '\0'), 8, ".v%d", old.version);
    assert_file(old.version, old.before);
    finish();
}

/* steps: as in fault_each(), of each kind */
static void migrate_with_faults(int version, const char *sql,
                                const unsigned steps[FAULT_SQLITE_FULL + 1])
{
    static const struct fault_scenario migration = {"migrate a store", prepare_old, run_migration,
                                                    check_migration};
    struct error error;

    old.version = version;
    old.sql = sql;
    prepare_old();
    old.before = store_rows();
    assert_ok(run_migration(&error), error);
    old.after = store_rows();
    assert_string_not_equal(old.before, old.after);
    finish();
    for (int kind = FAULT_MEMORY; kind <= FAULT_SQLITE_FULL; kind++)
        fault_each(kind, &migration, steps[kind]);
    free(old.before);
    free(old.after);
}

static void test_faults(void **state)
{
    static const unsigned few[] = {[FAULT_MEMORY] = 1,
                                   [FAULT_FILE] = 1,
                                   [FAULT_SQLITE_MEMORY] = 701,
                                   [FAULT_SQLITE_IO] = 11,
                                   [FAULT_SQLITE_FULL] = 5};
    static const unsigned fewer[] = {[FAULT_MEMORY] = 1,
                                     [FAULT_FILE] = 1,
                                     [FAULT_SQLITE_MEMORY] = 2003,
                                     [FAULT_SQLITE_IO] = 37,
                                     [FAULT_SQLITE_FULL] = 11};

    (void)state;
    migrate_with_faults(
        3, DROP_11 DROP_10 DROP_9 DROP_8 DROP_7 DROP_6 DROP_5 DROP_4 "PRAGMA user_version = 3",
        few);
    migrate_with_faults(1,
                        DROP_11 DROP_10 DROP_9 DROP_8 DROP_7 DROP_6 DROP_5 DROP_4 DROP_3 DROP_2
                        "PRAGMA user_version = 1",
                        fewer);
}

static int set_up(void **state)
{
    (void)state;
    fault_sqlite_set_up();
    return 0;
}

#define MIGRATE_TEST(name) cmocka_unit_test_setup_teardown(name, folder_set_up, folder_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MIGRATE_TEST(test_store_of_version_1), MIGRATE_TEST(test_store_of_version_2),
        MIGRATE_TEST(test_store_of_version_3), MIGRATE_TEST(test_store_of_version_4),
        MIGRATE_TEST(test_store_of_version_5), MIGRATE_TEST(test_store_of_version_6),
        MIGRATE_TEST(test_store_of_version_7), MIGRATE_TEST(test_store_of_version_8),
        MIGRATE_TEST(test_store_of_version_9), MIGRATE_TEST(test_store_of_version_10),
        MIGRATE_TEST(test_migration),          MIGRATE_TEST(test_migration_that_fails),
        cmocka_unit_test(test_faults),
    };

    if (sqlite3_libversion_number() < 3035000) {
        puts("needs DROP COLUMN, to make old stores: SQLite 3.35");
        return 77;
    }
    return cmocka_run_group_tests(tests, set_up, NULL);
}
