/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/cgroup/users.h"

#include <pthread.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

/* Users with jobs on one node; beyond this, the oldest entries are looked up again. */
#define USERS_MAX 256
#define ENTRY_MAX (1024 * 1024)

struct entry {
    uid_t uid;
    char *name; /* NULL: not looked up yet */
};

struct users {
    pthread_mutex_t mutex;
    users_lookup_f look_up;
    unsigned holders; /* the owner and the thread: the last one frees */
    bool running;     /* the thread runs */
    bool closed;
    struct entry entries[USERS_MAX];
    size_t n, oldest;
};

/* A name service may have entries of any size (a GECOS field, a long home). */
static char *look_up_in_system(uid_t uid)
{
    for (size_t size = 4096; size <= ENTRY_MAX; size *= 4) {
        _free_ char *buf = malloc(size);
        struct passwd entry, *found = NULL;
        int r = buf ? getpwuid_r(uid, &entry, buf, size, &found) : ENOMEM;

        if (r != ERANGE)
            return !r && found ? strdup(found->pw_name) : NULL;
    }
    return NULL;
}

int users_create(struct users **ret, users_lookup_f look_up, struct error *error)
{
    struct users *users = calloc(1, sizeof(*users));

    if (!users)
        return error_set(error, -ENOMEM, "no memory for the names of users");
    (void)pthread_mutex_init(&users->mutex, NULL);
    users->look_up = look_up ? look_up : look_up_in_system;
    users->holders = 1;
    *ret = users;
    return 0;
}

/* Called with the mutex held; releases it. */
static void release(struct users *users)
{
    bool last = --users->holders == 0;

    (void)pthread_mutex_unlock(&users->mutex);
    if (!last)
        return;
    for (size_t i = 0; i < users->n; i++)
        free(users->entries[i].name);
    (void)pthread_mutex_destroy(&users->mutex);
    free(users);
}

void users_destroy(struct users *users)
{
    if (!users)
        return;
    (void)pthread_mutex_lock(&users->mutex);
    users->closed = true;
    release(users);
}

static struct entry *entry_find(struct users *users, uid_t uid)
{
    for (size_t i = 0; i < users->n; i++)
        if (users->entries[i].uid == uid)
            return &users->entries[i];
    return NULL;
}

static struct entry *entry_unnamed(struct users *users)
{
    for (size_t i = 0; i < users->n; i++)
        if (!users->entries[i].name)
            return &users->entries[i];
    return NULL;
}

/* A user without a name is forgotten, so that the next call looks it up again. */
static void set_name(struct users *users, uid_t uid, char *name)
{
    struct entry *entry = entry_find(users, uid);

    if (!entry || entry->name) {
        free(name);
        return;
    }
    entry->name = name;
    if (name)
        return;
    *entry = users->entries[--users->n];
    users->entries[users->n] = (struct entry){0};
}

static void *look_up_all(void *arg)
{
    struct users *users = arg;
    struct entry *entry;

    (void)pthread_mutex_lock(&users->mutex);
    while (!users->closed && (entry = entry_unnamed(users))) {
        uid_t uid = entry->uid;
        char *name;

        (void)pthread_mutex_unlock(&users->mutex);
        name = users->look_up(uid);
        (void)pthread_mutex_lock(&users->mutex);
        set_name(users, uid, name);
    }
    users->running = false;
    release(users);
    return NULL;
}

static void start_thread(struct users *users)
{
    pthread_attr_t attr;
    pthread_t thread;

    if (users->running || pthread_attr_init(&attr))
        return;
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    users->running = pthread_create(&thread, &attr, look_up_all, users) == 0;
    users->holders += users->running;
    (void)pthread_attr_destroy(&attr);
}

static void entry_add(struct users *users, uid_t uid)
{
    struct entry *entry;

    if (users->n < USERS_MAX) {
        entry = &users->entries[users->n++];
    } else {
        entry = &users->entries[users->oldest++ % USERS_MAX];
        free(entry->name);
    }
    *entry = (struct entry){.uid = uid};
}

char *users_find_name(struct users *users, uid_t uid)
{
    struct entry *entry;
    char *name = NULL;

    (void)pthread_mutex_lock(&users->mutex);
    entry = entry_find(users, uid);
    if (entry && entry->name)
        name = strdup(entry->name);
    if (!entry)
        entry_add(users, uid);
    if (!name)
        start_thread(users);
    (void)pthread_mutex_unlock(&users->mutex);
    return name;
}
