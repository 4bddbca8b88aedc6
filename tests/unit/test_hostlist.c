/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The expansion of hostlists (plugin/nodes.c), with hostlists of a fake Slurm. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "plugin/nodes.h"

/* The fake list has so many names of 8 characters. */
static unsigned names, created, shifted, destroyed;

void *slurm_hostlist_create(const char *list);
char *slurm_hostlist_shift(void *list);
void slurm_hostlist_destroy(void *list);

void *slurm_hostlist_create(const char *list)
{
    (void)list;
    created++;
    shifted = destroyed = 0;
    return &names;
}

char *slurm_hostlist_shift(void *list)
{
    char *name = NULL;

    (void)list;
    if (shifted < names && asprintf(&name, "n%07u", shifted) < 0)
        name = NULL;
    shifted++;
    return name;
}

void slurm_hostlist_destroy(void *list)
{
    (void)list;
    destroyed++;
}

static void test_list(void **state)
{
    static char list[NODES_MAX];

    (void)state;
    names = 3;
    assert_int_equal(nodes_expand("n[0-2]", list), 0);
    assert_string_equal(list, "n0000000,n0000001,n0000002");
    assert_int_equal(destroyed, 1);
    names = 0;
    assert_int_equal(nodes_expand("", list), -ENOENT);
    assert_int_equal(destroyed, 1);
}

/* The user sets SLURM_STEP_NODELIST: slurmstepd does not expand more names than it can send. */
static void test_endless_list(void **state)
{
    static char list[NODES_MAX];
    static struct message m;

    (void)state;
    names = 10000000;
    assert_int_equal(nodes_expand("n[0-9999999]", list), -EMSGSIZE);
    assert_in_range(shifted, NODES_MAX / 9, NODES_MAX / 9 + 1);
    assert_int_equal(destroyed, 1);
    message_init(&m, "job");
    assert_int_equal(nodes_put(&m, "n0000000", "n[0-9999999]"), -EMSGSIZE);
    assert_string_equal(message_get(&m, "GATHER"), "n0000000");
    assert_null(message_get(&m, "NODELIST"));
}

/* Slurm would allocate each name of such a list. */
static void test_brackets_inside_names(void **state)
{
    static const char *const bad[] = {"n[1-9]x[0]", "n[1-9][1-9]", "m[1-2],n[1-9]x", "n[1-9]]"};
    static char list[NODES_MAX];

    (void)state;
    names = 3;
    created = 0;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(nodes_expand(bad[i], list), -ENOENT);
    assert_int_equal(created, 0);
    assert_int_equal(nodes_expand("m1,n[0-2,7],o[1-2]", list), 0);
    assert_int_equal(created, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_endless_list),
        cmocka_unit_test(test_brackets_inside_names),
    };

    return cmocka_run_group_tests_name("hostlist", tests, NULL, NULL);
}
