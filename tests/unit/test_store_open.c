/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store_open() on unusable files: it reports a clear error, and neither loses nor overwrites data.
 */
#define _GNU_SOURCE /* unshare */
#include "tests/unit/test.h"
#include "tests/unit/store_data.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/store/store_impl.h"

static void write_file(const char *path, const void *data, size_t size)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

/* The contents of the file, malloc'd. */
static char *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "r");
    char *data = malloc(1 << 22);

    assert_non_null(f);
    assert_non_null(data);
    *size = fread(data, 1, 1 << 22, f);
    (void)fclose(f);
    return data;
}

/* store_open() must fail with this code and a text that contains `say` and the name of the file,
 * and must not change the file. */
static void assert_refused(int code, const char *say)
{
    struct store *store = (struct store *)1;
    struct error error = {0};
    size_t before_size = 0, after_size = 0;
    struct stat st;
    bool is_file = stat(directory.store, &st) == 0 && S_ISREG(st.st_mode);
    char *before = is_file ? read_file(directory.store, &before_size) : NULL, *after;
    int r = store_open(&store, &(struct store_options){.path = directory.store}, &error);

    if (r != code || !strstr(error.text, say))
        print_error("%d: %s\n", r, error.text);
    assert_int_equal(r, code);
    assert_non_null(strstr(error.text, say));
    assert_non_null(strstr(error.text, directory.store));
    assert_ptr_equal(store, (struct store *)1);
    if (!is_file)
        return;
    after = read_file(directory.store, &after_size);
    assert_int_equal(before_size, after_size);
    assert_memory_equal(before, after, after_size);
    free(before);
    free(after);
}

static void test_new_store_is_set_up(void **state)
{
    static const struct {
        const char *pragma;
        int64_t value;
    } want[] = {
        {"PRAGMA auto_vacuum", 2},
        {"PRAGMA application_id", STORE_APPLICATION},
        {"PRAGMA user_version", 11},
        {"PRAGMA synchronous", 2},
        {"PRAGMA foreign_keys", 1},
#if SQLITE_VERSION_NUMBER >= 3031000 /* older ones do not know it, and ignore it */
        {"PRAGMA trusted_schema", 0},
#endif
        {"PRAGMA journal_size_limit", 16777216},
        {"PRAGMA busy_timeout", 5000},
    };
    struct store *store = open_store(&directory);
    struct error error;
    struct stat st;
    int64_t value;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
        assert_ok(store_number(store, want[i].pragma, &value, &error), error);
        assert_int_equal(value, want[i].value);
    }
    assert_ok(
        store_number(store, "SELECT journal_mode = 'wal' FROM pragma_journal_mode", &value, &error),
        error);
    assert_int_equal(value, 1);
    store_close(store);
    assert_int_equal(stat(directory.store, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
}

static void test_not_a_database(void **state)
{
    char text[8192];

    (void)state;
    memset(text, 'x', sizeof(text));
    write_file(directory.store, text, sizeof(text));
    assert_refused(-EMEDIUMTYPE, "not a database");
    write_file(directory.store, "hello\n", 6);
    assert_refused(-EMEDIUMTYPE, "not a database");
}

static void test_somebody_elses_database(void **state)
{
    (void)state;
    store_sql("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)");
    assert_refused(-EMEDIUMTYPE, "another program");
}

static void test_truncated_store(void **state)
{
    struct stat st;

    (void)state;
    store_make(300);
    assert_int_equal(stat(directory.store, &st), 0);
    assert_int_equal(truncate(directory.store, st.st_size / 2), 0);
    assert_refused(-EMEDIUMTYPE, "");
}

static void test_scribbled_store(void **state)
{
    char junk[4096];
    struct stat st;
    int fd;

    (void)state;
    store_make(300);
    assert_int_equal(stat(directory.store, &st), 0);
    memset(junk, 0xa5, sizeof(junk));
    fd = open(directory.store, O_WRONLY);
    for (off_t at = 4096 * 8; at < st.st_size; at += 4096 * 8)
        assert_int_equal(pwrite(fd, junk, sizeof(junk), at), sizeof(junk));
    close(fd);
    assert_refused(-EMEDIUMTYPE, "");
}

static void test_newer_store(void **state)
{
    (void)state;
    store_make(1);
    store_sql("PRAGMA user_version = 12");
    assert_refused(-EPROTONOSUPPORT, "newer jobio (version 12, this one knows 11)");
}

static void test_odd_paths(void **state)
{
    char other[200];

    (void)state;
    assert_int_equal(mkdir(directory.store, 0700), 0);
    assert_refused(-EISDIR, "directory");
    assert_int_equal(rmdir(directory.store), 0);
    (void)snprintf(other, sizeof(other), "%s/other", directory.path);
    write_file(other, "precious", 8);
    assert_int_equal(symlink(other, directory.store), 0);
    assert_refused(-ELOOP, "symbolic link");
    assert_int_equal(unlink(directory.store), 0);
    assert_int_equal(mkfifo(directory.store, 0600), 0);
    assert_refused(-EINVAL, "regular file");
    assert_int_equal(unlink(directory.store), 0);
    (void)snprintf(directory.store, sizeof(directory.store), "%s/none/jobio.db", directory.path);
    assert_refused(-ENOENT, "directory");
}

static void test_one_writer(void **state)
{
    struct store *store = open_store(&directory), *second = NULL;
    struct error error;

    (void)state;
    assert_int_equal(store_open(&second, &(struct store_options){.path = directory.store}, &error),
                     -EBUSY);
    assert_non_null(strstr(error.text, "another jobiod"));
    store_close(store);
    store_close(open_store(&directory));
}

static void test_network_file_systems(void **state)
{
    static const unsigned long refused[] = {0x6969,     0xff534d42, 0x0bd00bd0,
                                            0x00c36400, 0x47504653, 0x01021997};
    static const unsigned long fine[] = {0xef53, 0x58465342, 0x01021994, 0x9123683e, 0x794c7630};
    struct error error;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        assert_int_equal(store_check_fs("/x/jobio.db", refused[i], &error), -EOPNOTSUPP);
        assert_non_null(strstr(error.text, "/x/jobio.db"));
    }
    for (size_t i = 0; i < ARRAY_SIZE(fine); i++)
        assert_int_equal(store_check_fs("/x/jobio.db", fine[i], &error), 0);
}

/* Run `test` as nobody in a child, because root may write everywhere. */
static void as_nobody(void (*test)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        if (setgid(65534) < 0 || setuid(65534) < 0)
            _exit(3);
        test();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

#define DEMAND(condition)                                               \
    do {                                                                \
        if (!(condition)) {                                             \
            print_error("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            _exit(1);                                                   \
        }                                                               \
    } while (0)

static int open_code(struct error *error)
{
    struct store *store = NULL;
    int r = store_open(&store, &(struct store_options){.path = directory.store}, error);

    store_close(store);
    return r;
}

static void check_folder_not_writable(void)
{
    struct error error;

    DEMAND(open_code(&error) == -EACCES);
    DEMAND(strstr(error.text, directory.store));
}

static void check_file_not_writable(void)
{
    struct error error;
    int r = open_code(&error);

    DEMAND(r == -EROFS);
    DEMAND(strstr(error.text, "cannot be written"));
}

static void check_reader(void)
{
    struct store *reader = NULL;
    struct job_account **found = NULL;
    struct error error;
    int r = store_open_reader(&reader, directory.store, &error);

    if (r < 0)
        print_error("%d: %s\n", r, error.text);
    DEMAND(r == 0);
    DEMAND(store_jobs(reader, NULL, 7, false, UINT32_MAX, &found, &error) == 0);
    DEMAND(found[0] && found[0]->n_steps == 2);
    store_jobs_free(found);
    store_close(reader);
}

static void skip_unless_root(void)
{
    if (geteuid() != 0)
        skip();
}

static void test_not_writable(void **state)
{
    char lock[200];

    (void)state;
    skip_unless_root();
    (void)snprintf(lock, sizeof(lock), "%s.lock", directory.store);
    assert_int_equal(chmod(directory.path, 0755), 0);
    as_nobody(check_folder_not_writable);
    store_make(1);
    assert_int_equal(chmod(directory.path, 0777), 0);
    assert_int_equal(chmod(directory.store, 0444), 0);
    assert_int_equal(chmod(lock, 0666), 0);
    as_nobody(check_file_not_writable);
    assert_int_equal(store_count_steps(), 1);
}

/* A user with read access can read the store with and without its writer. */
static void test_reader_without_rights(void **state)
{
    struct store *store;

    (void)state;
    skip_unless_root();
    store_make(2);
    assert_int_equal(chmod(directory.path, 0755), 0);
    assert_int_equal(chmod(directory.store, 0644), 0);
    as_nobody(check_reader);
    store = open_store(&directory);
    as_nobody(check_reader);
    store_close(store);
}

/* Rows that a killed jobiod left in the WAL are read, even by a user who may not write there. */
static void test_reader_after_a_kill(void **state)
{
    struct stat st;
    char wal[200];
    int status;
    pid_t pid;

    (void)state;
    skip_unless_root();
    store_close(open_store(&directory));
    assert_int_equal(chmod(directory.path, 0755), 0);
    assert_int_equal(chmod(directory.store, 0644), 0);
    pid = fork();
    if (pid == 0) {
        struct store *store = open_store(&directory);

        store_fill(store, 2);
        (void)raise(SIGKILL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    (void)snprintf(wal, sizeof(wal), "%s-wal", directory.store);
    assert_int_equal(stat(wal, &st), 0);
    assert_true(st.st_size > 0);
    as_nobody(check_reader);
    assert_int_equal(store_count_steps(), 2);
}

static void test_reader_errors(void **state)
{
    struct store *reader = (struct store *)1;
    struct error error;

    (void)state;
    assert_int_equal(store_open_reader(&reader, "/nonexistent/jobio.db", &error), -ENOENT);
    assert_non_null(strstr(error.text, "/nonexistent"));
    assert_int_equal(store_open_reader(&reader, directory.store, &error), -ENOENT);
    write_file(directory.store, "", 0);
    assert_int_equal(store_open_reader(&reader, directory.store, &error), -ENODATA);
    write_file(directory.store, "hello\n", 6);
    assert_int_equal(store_open_reader(&reader, directory.store, &error), -EMEDIUMTYPE);
    assert_int_equal(unlink(directory.store), 0);
    store_make(1);
    store_sql("PRAGMA user_version = 12");
    assert_int_equal(store_open_reader(&reader, directory.store, &error), -EPROTONOSUPPORT);
    store_sql("PRAGMA user_version = 0");
    assert_int_equal(store_open_reader(&reader, directory.store, &error), -EPROTONOSUPPORT);
    assert_non_null(strstr(error.text, "older"));
    assert_ptr_equal(reader, (struct store *)1);
}

static void test_path_is_no_uri(void **state)
{
    struct store *reader = NULL;
    struct error error;

    (void)state;
    (void)snprintf(directory.store, sizeof(directory.store), "%s/a?mode=rwc#b%%20c.db",
                   directory.path);
    store_make(1);
    assert_ok(store_open_reader(&reader, directory.store, &error), error);
    store_close(reader);
}

/* Mount in a namespace of this process. Returns false if that is not permitted. */
static bool mount_here(const char *type, const char *options, unsigned long flags)
{
    if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0)
        return false;
    return mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("jobio-test", directory.path, type, flags, options) == 0;
}

/* A real full disk: all earlier writes are stored, the one that fails reports it, and it succeeds
 * once there is space again. */
static void test_full_file_system(void **state)
{
    struct job_account *job = job_make(7, NOW);
    struct store *store;
    struct step_account step;
    struct error error = {0};
    uint32_t stored = 0;
    char ballast[200];
    int fd, r;

    (void)state;
    if (!mount_here("tmpfs", "size=2m", 0))
        skip();
    (void)snprintf(ballast, sizeof(ballast), "%s/ballast", directory.path);
    store = open_store(&directory);
    fd = open(ballast, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(posix_fallocate(fd, 0, 1 << 20), 0);
    assert_int_equal(close(fd), 0);
    assert_ok(store_put_job(store, job, &error), error);
    for (;;) {
        step_make(&step, stored, NOW, 1);
        r = store_put_step(store, &job->key, &step, true, &error);
        if (r < 0)
            break;
        step_account_clear(&step);
        stored++;
        assert_true(stored < 100000);
    }
    assert_int_equal(r, -ENOSPC);
    assert_non_null(strstr(error.text, directory.store));
    assert_true(stored > 10);
    assert_int_equal(unlink(ballast), 0);
    assert_ok(store_put_step(store, &job->key, &step, true, &error), error);
    store_close(store);
    assert_int_equal(store_count_steps(), stored + 1);
    step_account_clear(&step);
    job_account_destroy(job);
    (void)umount2(directory.path, MNT_DETACH);
}

static void test_no_room_for_a_new_store(void **state)
{
    (void)state;
    if (!mount_here("tmpfs", "size=64k", 0))
        skip();
    assert_refused(-ENOSPC, "");
    (void)umount2(directory.path, MNT_DETACH);
}

static void test_read_only_file_system(void **state)
{
    struct store *store = NULL;
    struct error error;

    (void)state;
    if (!mount_here("tmpfs", "size=4m", 0))
        skip();
    store_make(2);
    assert_int_equal(mount("none", directory.path, "none", MS_REMOUNT | MS_RDONLY, NULL), 0);
    assert_int_equal(store_open(&store, &(struct store_options){.path = directory.store}, &error),
                     -EROFS);
    assert_non_null(strstr(error.text, directory.store));
    check_reader();
    assert_int_equal(mount("none", directory.path, "none", MS_REMOUNT, NULL), 0);
    assert_int_equal(store_count_steps(), 2);
    (void)umount2(directory.path, MNT_DETACH);
}

#define OPEN_TEST(name) cmocka_unit_test_setup_teardown(name, folder_set_up, folder_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPEN_TEST(test_new_store_is_set_up),
        OPEN_TEST(test_not_a_database),
        OPEN_TEST(test_somebody_elses_database),
        OPEN_TEST(test_truncated_store),
        OPEN_TEST(test_scribbled_store),
        OPEN_TEST(test_newer_store),
        OPEN_TEST(test_odd_paths),
        OPEN_TEST(test_one_writer),
        OPEN_TEST(test_network_file_systems),
        OPEN_TEST(test_not_writable),
        OPEN_TEST(test_reader_without_rights),
        OPEN_TEST(test_reader_after_a_kill),
        OPEN_TEST(test_reader_errors),
        OPEN_TEST(test_path_is_no_uri),
        OPEN_TEST(test_full_file_system),
        OPEN_TEST(test_no_room_for_a_new_store),
        OPEN_TEST(test_read_only_file_system),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
