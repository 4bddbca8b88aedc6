/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process that hierarchy_enclose() moves never leaves its cgroup. With real cgroups, as root. */
#define _GNU_SOURCE
#include "tests/unit/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/cgroup/hierarchy.h"
#include "common/cleanup.h"
#include "tests/unit/cgroups.h"

static struct cgroups cgroups;
static struct hierarchy *hierarchy;
static struct hierarchy_leaf leaf;
static struct error error;
static char directory[1024]; /* below the mount */
static bool is_threaded;     /* the cgroup that place_child() makes */
static pid_t child;

static void full(const char *path, const char *file, char buf[2048])
{
    (void)snprintf(buf, 2048, "%s%s%s", cgroups.mount, path, file);
}

static void write_file(const char *path, const char *file, const char *text)
{
    char name[2048];
    _close_ int fd = -1;

    full(path, file, name);
    fd = open(name, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* Make a cgroup whose path is at least that long, and a child in it. */
static void place_child(size_t size)
{
    char name[2048];

    (void)snprintf(directory, sizeof(directory), "%s/own", cgroups.job);
    do {
        size_t used = strlen(directory), more = size > used + 1 ? size - used - 1 : 0;

        if (more > 200)
            more = 200;
        if (more)
            (void)snprintf(directory + used, sizeof(directory) - used, "/%0*d", (int)more, 0);
        full(directory, "", name);
        for (char *p = name + strlen(cgroups.mount) + 1; (p = strchr(p, '/')); p++) {
            *p = '\0';
            (void)mkdir(name, 0755);
            *p = '/';
        }
        assert_int_equal(mkdir(name, 0755), 0);
    } while (strlen(directory) < size);
    if (is_threaded)
        write_file(directory, "/cgroup.type", "threaded");
    child = fork();
    if (child == 0) {
        (void)pause();
        _exit(0);
    }
    (void)snprintf(name, sizeof(name), "%d", (int)child);
    write_file(directory, "/cgroup.procs", name);
}

static int setup(void **state)
{
    (void)state;
    if (!cgroups_create(&cgroups, 2, "step"))
        return 0;
    return hierarchy_create(&hierarchy, "/proc/self/mountinfo", &error);
}

static int teardown(void **state)
{
    char name[2048];

    (void)state;
    if (child > 0) {
        (void)kill(child, SIGKILL);
        (void)waitpid(child, NULL, 0);
    }
    child = 0;
    is_threaded = false;
    if (*leaf.path)
        (void)hierarchy_remove(hierarchy, leaf.path);
    memset(&leaf, 0, sizeof(leaf));
    hierarchy_destroy(hierarchy);
    hierarchy = NULL;
    full(directory, "", name);
    while (*directory && strlen(name) > strlen(cgroups.mount) + strlen(cgroups.job)) {
        (void)rmdir(name);
        *strrchr(name, '/') = '\0';
    }
    cgroups_destroy(&cgroups);
    return 0;
}

static void need_cgroups(void)
{
    if (!hierarchy)
        skip();
}

static void assert_stays(void)
{
    char name[64], line[2048] = "", want[1100];
    _fclose_ FILE *file = NULL;

    (void)snprintf(name, sizeof(name), "/proc/%d/cgroup", (int)child);
    file = fopen(name, "re");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) && strncmp(line, "0::", 3) != 0)
        ;
    (void)snprintf(want, sizeof(want), "0::%s\n", directory);
    assert_string_equal(line, want);
}

static void test_moves_below_its_own(void **state)
{
    (void)state;
    need_cgroups();
    place_child(0);
    assert_int_equal(hierarchy_enclose(hierarchy, child, "run", &leaf, &error), 0);
    (void)strcat(directory, "/run");
    assert_string_equal(leaf.path, directory);
    assert_stays();
    assert_int_equal(leaf.id, cgroups_inode(&cgroups, leaf.path));
}

static void assert_refused(const char *name, int r, const char *words)
{
    assert_int_equal(hierarchy_enclose(hierarchy, child, name, &leaf, &error), r);
    assert_non_null(strstr(error.text, words));
    assert_stays();
}

/* The path of the cgroup fits, that of a cgroup below it does not. */
static void test_long_path(void **state)
{
    (void)state;
    need_cgroups();
    place_child(490);
    assert_refused("jobio-run-1111111111111111111", -ENAMETOOLONG, "cgroup is too long");
}

static void test_longer_path(void **state)
{
    (void)state;
    need_cgroups();
    place_child(600);
    assert_refused("run", -ENAMETOOLONG, "cgroup is too long");
}

static void test_no_descendants(void **state)
{
    (void)state;
    need_cgroups();
    place_child(0);
    write_file(directory, "/cgroup.max.descendants", "0");
    assert_refused("run", -EAGAIN, "cgroup.max.descendants");
}

static void test_threaded(void **state)
{
    (void)state;
    need_cgroups();
    is_threaded = true;
    place_child(0);
    assert_refused("run", -EOPNOTSUPP, "threaded");
}

static void test_name_is_taken(void **state)
{
    char name[2048];

    (void)state;
    need_cgroups();
    place_child(0);
    full(directory, "/run", name);
    assert_int_equal(mkdir(name, 0755), 0);
    assert_refused("run", -EEXIST, "File exists");
    assert_int_equal(rmdir(name), 0);
}

/* jobiod's own processes may leave its cgroup. */
static void test_anywhere(void **state)
{
    (void)state;
    need_cgroups();
    place_child(0);
    write_file(directory, "/cgroup.max.descendants", "0");
    assert_int_equal(hierarchy_enclose_anywhere(hierarchy, child, "test-run", &leaf, &error), 0);
    assert_string_equal(leaf.path, "/jobio/test-run");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_moves_below_its_own, setup, teardown),
        cmocka_unit_test_setup_teardown(test_long_path, setup, teardown),
        cmocka_unit_test_setup_teardown(test_longer_path, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_descendants, setup, teardown),
        cmocka_unit_test_setup_teardown(test_threaded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_name_is_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(test_anywhere, setup, teardown),
    };

    return cmocka_run_group_tests_name("hierarchy", tests, NULL, NULL);
}
