/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Proves: the map of Python functions gives the last name of an address, and nothing that its user
 * writes into it, or puts in its place, costs more than names. */
#define _GNU_SOURCE
#include "tests/unit/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/stacks/perf_map.h"
#include "common/cleanup.h"

struct fixture {
    struct perf_maps *maps;
    struct perf_map *map;
    char path[64];
    int fd;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    f->maps = perf_maps_create();
    f->map = perf_map_create(f->maps);
    assert_non_null(f->map);
    (void)snprintf(f->path, sizeof(f->path), "/tmp/jobio-test-perf-map-XXXXXX");
    f->fd = mkostemp(f->path, O_APPEND | O_CLOEXEC);
    assert_true(f->fd >= 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    perf_map_destroy(f->map);
    perf_maps_destroy(f->maps);
    (void)close(f->fd);
    (void)remove(f->path);
    free(f);
    return 0;
}

static void append(const struct fixture *f, const char *text)
{
    assert_int_equal(write(f->fd, text, strlen(text)), strlen(text));
}

/* Returns the name at the address; NULL: there is none. */
static const char *name_at(const struct fixture *f, uint64_t address)
{
    struct perf_function function;

    perf_map_read(f->map, f->fd);
    return perf_map_find(f->map, address, &function) ? perf_maps_name(f->maps, function.name)
                                                     : NULL;
}

static void assert_name(const struct fixture *f, uint64_t address, const char *wanted)
{
    const char *name = name_at(f, address);

    if (!name)
        fail_msg("no name at %lx", (unsigned long)address);
    assert_string_equal(name, wanted);
}

/* --- what is in it ---------------------------------------------------------------------------- */

static void test_names(void **state)
{
    const struct fixture *f = *state;
    struct perf_function function;

    append(f, "7f0000001000 b py::main:/home/u/train.py\n"
              "7f000000100b b py::A.<locals>.f:/lib/torch/__init__.py\n"
              "7f0000001016 b py::<module>:/lib/tool/__main__.py\n"
              "7f0000001021 b py::g:<frozen importlib._bootstrap>\n"
              "7f000000102c b py::h:__init__.py\n"
              "7f0000001037 b py::i:/__init__.py\n"
              "7f0000001042 b py::j:pack/__init__.py\n");
    assert_name(f, 0x7f0000001000, "main\ttrain.py");
    assert_name(f, 0x7f000000100a, "main\ttrain.py");
    assert_name(f, 0x7f000000100b, "A.<locals>.f\ttorch/__init__.py");
    assert_name(f, 0x7f0000001016, "<module>\ttool/__main__.py");
    assert_name(f, 0x7f0000001021, "g\t<frozen importlib._bootstrap>");
    assert_name(f, 0x7f000000102c, "h\t__init__.py");
    assert_name(f, 0x7f0000001037, "i\t__init__.py");
    assert_name(f, 0x7f0000001042, "j\tpack/__init__.py");
    assert_null(name_at(f, 0x7f0000000fff));
    assert_null(name_at(f, 0x7f000000104d));
    assert_true(perf_map_find(f->map, 0x7f0000001010, &function));
    assert_int_equal(function.start, 0x7f000000100b);
}

static void test_bad_lines(void **state)
{
    static const char *const lines[] = {
        "\n",
        "py::f:f.py\n",
        "1000\n",
        "1000 10\n",
        "zzzz 10 py::f:f.py\n",
        "1000 zz py::f:f.py\n",
        "1000 0 py::f:f.py\n",
        "1000 100000000 py::f:f.py\n",
        "1000 10 f:f.py\n",
        "1000 10 py::\n",
        "1000 10 py::f\n",
        "1000 10 py::f:\n",
        "1000 10 py:::f.py\n",
        "1000 10 py::f:dir/\n",
        "1000 10 py::f\t:f.py\n",
        "1000 10 py::f:f\t.py\n",
    };
    const struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        append(f, lines[i]);
        if (name_at(f, 0x1000))
            fail_msg("%s", lines[i]);
    }
    assert_int_equal(write(f->fd, "1000 10 py::f:f\0.py\n", 20), 20);
    assert_null(name_at(f, 0x1000));
    append(f, "1000 10 py::f:f.py\n");
    assert_name(f, 0x1000, "f\tf.py");
}

static void test_overlapping_entries(void **state)
{
    const struct fixture *f = *state;

    append(f, "1000 20 py::old:old.py\n1010 20 py::new:new.py\n");
    assert_name(f, 0x100f, "old\told.py");
    assert_name(f, 0x1010, "new\tnew.py");
    assert_name(f, 0x1020, "new\tnew.py");
    append(f, "1000 100 code of another interpreter\n");
    assert_null(name_at(f, 0x1010));
    append(f, "1000 8 py::last:last.py\nfffffffffffffff0 ffff py::end:end.py\n");
    assert_name(f, 0x1007, "last\tlast.py");
    assert_null(name_at(f, 0x1008));
    assert_name(f, UINT64_MAX, "end\tend.py");
}

static void test_long_lines(void **state)
{
    const struct fixture *f = *state;
    _free_ char *text = malloc(100001);
    const char *name;

    assert_non_null(text);
    memset(text, 'x', 100000);
    text[100000] = '\0';
    append(f, "1000 10 py::");
    append(f, text);
    append(f, ":f.py\n2000 10 py::g:g.py\n3000 10 py::");
    assert_name(f, 0x2000, "g\tg.py");
    assert_null(name_at(f, 0x1000));
    /* A part that is too long is cut. */
    text[300] = '\0';
    append(f, text);
    append(f, ":");
    append(f, text);
    append(f, "\n");
    name = name_at(f, 0x3000);
    assert_non_null(name);
    assert_int_equal(strcspn(name, "\t"), 255);
    assert_int_equal(strlen(name), 255 + 1 + 255);
}

/* A line counts when it is complete. */
static void test_growth(void **state)
{
    const struct fixture *f = *state;

    append(f, "1000 10 py::f:f.py\n2000 10 py::g");
    assert_name(f, 0x1000, "f\tf.py");
    assert_null(name_at(f, 0x2000));
    append(f, "_long:g.py\n");
    assert_name(f, 0x2000, "g_long\tg.py");
    assert_int_equal(ftruncate(f->fd, 0), 0);
    append(f, "3000 10 py::h:h.py\n");
    assert_null(name_at(f, 0x3000));
    assert_name(f, 0x1000, "f\tf.py"); /* it is still there */
}

/* Nothing else is allocated meanwhile, so that the array grows where it is. */
static void test_growth_in_place(void **state)
{
    const struct fixture *f = *state;
    FILE *out = fdopen(dup(f->fd), "ae");

    assert_non_null(out);
    for (unsigned i = 0; i < 1000; i++)
        (void)fprintf(out, "%x 10 function\n", 0x1000 + 16 * i);
    (void)fputs("2000 10 py::f:f.py\n", out);
    assert_int_equal(fclose(out), 0);
    assert_name(f, 0x2000, "f\tf.py");
}

/* Functions beyond the limit have no name; so does what follows the first 16 MiB. */
static void test_limits(void **state)
{
    const struct fixture *f = *state;
    FILE *out = fdopen(dup(f->fd), "ae");

    assert_non_null(out);
    for (unsigned i = 0; i < 70000; i++)
        (void)fprintf(out, "%x 10 py::f%u:f.py\n", 0x1000 + 16 * i, i);
    assert_int_equal(fclose(out), 0);
    assert_name(f, 0x1000 + 16 * 65535, "f65535\tf.py");
    assert_null(name_at(f, 0x1000 + 16 * 65536));
}

static void test_huge_file(void **state)
{
    const struct fixture *f = *state;

    append(f, "1000 10 py::f:f.py\n");
    assert_int_equal(ftruncate(f->fd, (off_t)1 << 40), 0); /* zeros follow */
    append(f, "\n2000 10 py::g:g.py\n");
    assert_name(f, 0x1000, "f\tf.py");
    assert_null(name_at(f, 0x2000));
}

/* Equal functions of different processes are one. */
static void test_equal_names(void **state)
{
    const struct fixture *f = *state;
    struct perf_map *other = perf_map_create(f->maps);
    struct perf_function one, two;

    append(f, "1000 10 py::f:/a/f.py\n2000 10 py::f:/b/f.py\n3000 10 py::g:/a/f.py\n");
    perf_map_read(f->map, f->fd);
    perf_map_read(other, f->fd);
    assert_true(perf_map_find(f->map, 0x1000, &one) && perf_map_find(other, 0x2000, &two));
    assert_int_equal(one.name, two.name);
    assert_true(perf_map_find(other, 0x3000, &two));
    assert_int_not_equal(one.name, two.name);
    perf_map_destroy(other);
}

/* --- what is in its place --------------------------------------------------------------------- */

static void test_other_files(void **state)
{
    struct fixture *f = *state;
    char link[80];
    int fd = perf_map_open_path(f->path, getuid());

    assert_true(fd >= 0);
    (void)close(fd);
    (void)snprintf(link, sizeof(link), "%s.link", f->path);
    assert_int_equal(symlink(f->path, link), 0);
    assert_int_equal(perf_map_open_path(link, getuid()), -ELOOP);
    (void)unlink(link);
    assert_int_equal(unlink(f->path), 0);
    assert_int_equal(perf_map_open_path(f->path, getuid()), -ENOENT);
    assert_int_equal(mkfifo(f->path, 0600), 0);
    assert_int_equal(perf_map_open_path(f->path, getuid()), -EPERM);
    assert_int_equal(unlink(f->path), 0);
    assert_int_equal(mkdir(f->path, 0700), 0);
    assert_int_equal(perf_map_open_path(f->path, getuid()), -EPERM);
}

/* Another user may put a file there before the process starts. */
static void test_other_user(void **state)
{
    const struct fixture *f = *state;
    int fd;

    if (getuid() != 0)
        skip();
    fd = perf_map_open_path(f->path, 65534); /* one of root */
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(fchown(f->fd, 65533, 65533), 0);
    assert_int_equal(perf_map_open_path(f->path, 65534), -EPERM);
}

static size_t count_descriptors(void)
{
    _closedir_ DIR *dir = opendir("/proc/self/fd");
    size_t n = 0;

    assert_non_null(dir);
    while (readdir(dir))
        n++;
    return n;
}

/* Only the maps that were opened last stay open. */
static void test_descriptors(void **state)
{
    struct perf_map *maps[100];
    const struct fixture *f = *state;
    size_t before = count_descriptors();
    char path[64];

    (void)snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
    (void)unlink(path);
    assert_false(perf_map_open(f->map, (uint32_t)getpid()));
    assert_int_equal(link(f->path, path), 0);
    for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
        maps[i] = perf_map_create(f->maps);
        assert_true(perf_map_open(maps[i], (uint32_t)getpid()));
        assert_false(perf_map_open(maps[i], (uint32_t)getpid()));
    }
    assert_int_equal(count_descriptors(), before + 64);
    assert_true(perf_map_open(maps[0], (uint32_t)getpid()));
    (void)unlink(path);
    for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
        perf_map_destroy(maps[i]);
    assert_int_equal(count_descriptors(), before);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_names),       TEST(test_bad_lines),  TEST(test_overlapping_entries),
        TEST(test_long_lines),  TEST(test_growth),     TEST(test_growth_in_place),
        TEST(test_limits),      TEST(test_huge_file),  TEST(test_equal_names),
        TEST(test_other_files), TEST(test_other_user), TEST(test_descriptors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
