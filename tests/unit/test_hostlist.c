/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The expansion of hostlists (plugin/nodes.c), with hostlists of a fake Slurm. */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "plugin/nodes.h"

/* The fake list has so many names of 8 characters. */
static unsigned names, shifted, destroyed;

void *slurm_hostlist_create(const char *list);
char *slurm_hostlist_shift(void *list);
void slurm_hostlist_destroy(void *list);

void *slurm_hostlist_create(const char *list)
{
    (void)list;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_endless_list),
    };

    return cmocka_run_group_tests_name("hostlist", tests, NULL, NULL);
}
