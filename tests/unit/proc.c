/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "tests/unit/test.h"

char proc_folder[] = "/tmp/jobio-mounts-XXXXXX";

void proc_path(char path[256], const char *pid, const char *file)
{
    snprintf(path, 256, "%s/%s%s%s", proc_folder, pid, file ? "/" : "", file ? file : "");
}

void proc_write(const char *pid, const char *text)
{
    char path[256];
    FILE *f;

    proc_path(path, pid, NULL);
    (void)mkdir(path, 0755);
    proc_path(path, pid, "mountinfo");
    f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* A task: its namespace is that of `like`, if not NULL; and when it was born. */
void proc_task(const char *pid, const char *like, unsigned born)
{
    char path[256], from[256];
    FILE *f;

    proc_path(path, pid, NULL);
    (void)mkdir(path, 0755);
    proc_path(path, pid, "stat");
    f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "%s (a) b) S 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 %u 1 1\n", pid, born);
    assert_int_equal(fclose(f), 0);
    proc_path(path, pid, "ns");
    (void)mkdir(path, 0755);
    proc_path(path, pid, "ns/mnt");
    (void)unlink(path);
    proc_path(from, like ? like : "", "ns/mnt");
    if (like)
        assert_int_equal(link(from, path), 0);
    else
        assert_int_equal(mknod(path, S_IFREG | 0600, 0), 0);
}

void proc_remove(const char *pid)
{
    static const char *const files[] = {"mountinfo", "stat", "ns/mnt"};
    char path[256];

    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        proc_path(path, pid, files[i]);
        (void)unlink(path);
    }
    proc_path(path, pid, "ns");
    (void)rmdir(path);
    proc_path(path, pid, NULL);
    (void)rmdir(path);
}

struct mounts *proc_mounts(void)
{
    struct mounts *mounts = NULL;
    struct error error;

    assert_int_equal(mounts_create(&mounts, proc_folder, &error), 0);
    return mounts;
}

int proc_set_up(void **state)
{
    (void)state;
    return mkdtemp(proc_folder) ? 0 : -1;
}

int proc_tear_down(void **state)
{
    const char *const pids[] = {"1", "self", "7", "8"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
        proc_remove(pids[i]);
    return rmdir(proc_folder);
}
