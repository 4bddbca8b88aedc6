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
#define NAMES_MAX 256
#define ENTRY_MAX (1024 * 1024)

struct entry {
    uid_t uid;
    char *name; /* NULL: not looked up yet */
};

struct names {
    pthread_mutex_t mutex;
    names_lookup_f ask;
    unsigned holders; /* the owner and the thread: the last one frees */
    bool asking;      /* the thread runs */
    bool closed;
    struct entry entries[NAMES_MAX];
    size_t n, oldest;
};

/* A name service may have entries of any size (a GECOS field, a long home). */
static char *ask_system(uid_t uid)
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

int names_create(struct names **ret, names_lookup_f ask, struct error *error)
{
    struct names *names = calloc(1, sizeof(*names));

    if (!names)
        return error_set(error, -ENOMEM, "no memory for the names of users");
    (void)pthread_mutex_init(&names->mutex, NULL);
    names->ask = ask ? ask : ask_system;
    names->holders = 1;
    *ret = names;
    return 0;
}

/* Called with the mutex held; releases it. */
static void let_go(struct names *names)
{
    bool last = --names->holders == 0;

    (void)pthread_mutex_unlock(&names->mutex);
    if (!last)
        return;
    for (size_t i = 0; i < names->n; i++)
        free(names->entries[i].name);
    (void)pthread_mutex_destroy(&names->mutex);
    free(names);
}

void names_destroy(struct names *names)
{
    if (!names)
        return;
    (void)pthread_mutex_lock(&names->mutex);
    names->closed = true;
    let_go(names);
}

static struct entry *entry_find(struct names *names, uid_t uid)
{
    for (size_t i = 0; i < names->n; i++)
        if (names->entries[i].uid == uid)
            return &names->entries[i];
    return NULL;
}

static struct entry *entry_unnamed(struct names *names)
{
    for (size_t i = 0; i < names->n; i++)
        if (!names->entries[i].name)
            return &names->entries[i];
    return NULL;
}

/* A user without a name is forgotten, so that the next call looks it up again. */
static void take_answer(struct names *names, uid_t uid, char *name)
{
    struct entry *entry = entry_find(names, uid);

    if (!entry || entry->name) {
        free(name);
        return;
    }
    entry->name = name;
    if (name)
        return;
    *entry = names->entries[--names->n];
    names->entries[names->n] = (struct entry){0};
}

static void *ask_all(void *arg)
{
    struct names *names = arg;
    struct entry *entry;

    (void)pthread_mutex_lock(&names->mutex);
    while (!names->closed && (entry = entry_unnamed(names))) {
        uid_t uid = entry->uid;
        char *name;

        (void)pthread_mutex_unlock(&names->mutex);
        name = names->ask(uid);
        (void)pthread_mutex_lock(&names->mutex);
        take_answer(names, uid, name);
    }
    names->asking = false;
    let_go(names);
    return NULL;
}

static void start_asking(struct names *names)
{
    pthread_attr_t attr;
    pthread_t thread;

    if (names->asking || pthread_attr_init(&attr))
        return;
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    names->asking = pthread_create(&thread, &attr, ask_all, names) == 0;
    names->holders += names->asking;
    (void)pthread_attr_destroy(&attr);
}

static void entry_add(struct names *names, uid_t uid)
{
    struct entry *entry;

    if (names->n < NAMES_MAX) {
        entry = &names->entries[names->n++];
    } else {
        entry = &names->entries[names->oldest++ % NAMES_MAX];
        free(entry->name);
    }
    *entry = (struct entry){.uid = uid};
}

char *names_find(struct names *names, uid_t uid)
{
    struct entry *entry;
    char *name = NULL;

    (void)pthread_mutex_lock(&names->mutex);
    entry = entry_find(names, uid);
    if (entry && entry->name)
        name = strdup(entry->name);
    if (!entry)
        entry_add(names, uid);
    if (!name)
        start_asking(names);
    (void)pthread_mutex_unlock(&names->mutex);
    return name;
}
