/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of users: the system's own, and a FAKE name service that hangs until it is let go. */
#define _GNU_SOURCE
#include "tests/unit/test.h"

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "collector/cgroup/users.h"

static struct error error;
static sem_t asked, go, gone;

static char *hang(uid_t uid)
{
    char text[32];

    (void)sem_post(&asked);
    (void)sem_wait(&go);
    (void)sem_post(&gone);
    (void)snprintf(text, sizeof(text), "user%u", (unsigned)uid);
    return uid == 404 ? NULL : strdup(text);
}

static void wait_for(sem_t *sem)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    assert_int_equal(sem_timedwait(sem, &until), 0);
}

/* As a tick does: again and again, at most 10 s. */
static char *poll_name(struct users *users, uid_t uid)
{
    const struct timespec pause = {0, 5000000};
    char *name = NULL;

    for (int i = 0; i < 2000 && !(name = users_find_name(users, uid)); i++)
        (void)nanosleep(&pause, NULL);
    return name;
}

static void test_the_system(void **state)
{
    struct users *users;
    char *name;

    (void)state;
    assert_int_equal(users_create(&users, NULL, &error), 0);
    name = poll_name(users, 0);
    assert_non_null(name);
    assert_string_equal(name, "root");
    free(name);
    users_destroy(users);
}

static void test_a_service_that_hangs(void **state)
{
    struct users *users;
    char *name;

    (void)state;
    assert_int_equal(users_create(&users, hang, &error), 0);
    assert_null(users_find_name(users, 7));
    wait_for(&asked);
    assert_null(users_find_name(users, 7));
    assert_null(users_find_name(users, 404));
    assert_null(users_find_name(users, 8));
    (void)sem_post(&go);
    name = poll_name(users, 7);
    assert_string_equal(name, "user7");
    free(name);
    (void)sem_post(&go);
    (void)sem_post(&go);
    name = poll_name(users, 8);
    assert_string_equal(name, "user8");
    free(name);
    for (int i = 0; i < 3; i++)
        wait_for(&gone);
    users_destroy(users);
}

static void test_nobody_waits_at_the_end(void **state)
{
    struct users *users;

    (void)state;
    while (sem_trywait(&asked) == 0)
        ;
    assert_int_equal(users_create(&users, hang, &error), 0);
    assert_null(users_find_name(users, 7));
    wait_for(&asked);
    users_destroy(users); /* and comes back */
    assert_int_equal(sem_trywait(&gone), -1);
    (void)sem_post(&go);
    wait_for(&gone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_system),
        cmocka_unit_test(test_a_service_that_hangs),
        cmocka_unit_test(test_nobody_waits_at_the_end),
    };

    (void)sem_init(&asked, 0, 0);
    (void)sem_init(&go, 0, 0);
    (void)sem_init(&gone, 0, 0);
    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
