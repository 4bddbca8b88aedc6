/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/peers/origins.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"

#define ADDRESSES_MAX 16
#define NAME_MAX_SIZE 256
/* Limit of remembered names; the one that was not used for the longest time makes room. */
#define NAMES_MAX 8192
/* Limit of threads. Without an answer of the name service, each lives for a minute or so. */
#define LOOKUPS_MAX 8
#define REFRESH_NS (5 * NS_PER_MINUTE)
#define RETRY_NS (10 * NS_PER_S) /* after a failure, or an origin that does not match */

struct addresses {
    struct in_addr items[ADDRESSES_MAX];
    size_t n;
};

struct waiter {
    STAILQ_ENTRY(waiter) link;
    struct in_addr origin;
    origins_done_f done;
    void *arg;
};

struct name {
    TAILQ_ENTRY(name) link;
    char text[NAME_MAX_SIZE];
    struct addresses addresses;
    uint64_t looked_ns; /* CLOCK_MONOTONIC, of the last result; 0: none yet */
    bool wanted;        /* waits for a thread */
    bool looking;
    bool confirmed; /* a credential came from one of its addresses */
    STAILQ_HEAD(waiters, waiter) waiters;
};

/* The way of results from the threads. They may outlive the process's use of it: a lookup cannot
 * be cancelled. */
struct mailbox {
    int fds[2];
    atomic_uint users;
};

/* Small enough that write(2) to a pipe is atomic. */
struct lookup {
    char text[NAME_MAX_SIZE];
    struct addresses addresses;
    int failure; /* of getaddrinfo() */
};
_Static_assert(sizeof(struct lookup) <= 512, "_POSIX_PIPE_BUF");

struct task {
    struct mailbox *mailbox;
    struct lookup lookup;
};

struct origins {
    enum origins_mode mode;
    struct mailbox *mailbox;
    sd_event_source *source;
    TAILQ_HEAD(names, name) names; /* the last used first */
    size_t n_names, n_lookups;
    uint64_t unconfirmed;
};

/* --- on a thread ------------------------------------------------------------------------------ */

static void mailbox_unref(struct mailbox *mailbox)
{
    if (!mailbox || atomic_fetch_sub(&mailbox->users, 1) > 1)
        return;
    cleanup_close(&mailbox->fds[0]);
    cleanup_close(&mailbox->fds[1]);
    free(mailbox);
}

static void resolve(struct lookup *lookup)
{
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;

    lookup->failure = getaddrinfo(lookup->text, NULL, &hints, &list);
    if (lookup->failure)
        return;
    for (struct addrinfo *at = list; at && lookup->addresses.n < ADDRESSES_MAX; at = at->ai_next)
        lookup->addresses.items[lookup->addresses.n++] =
            ((const struct sockaddr_in *)(const void *)at->ai_addr)->sin_addr;
    freeaddrinfo(list);
}

static void *run(void *arg)
{
    struct task *task = arg;

    resolve(&task->lookup);
    (void)!write(task->mailbox->fds[1], &task->lookup, sizeof(task->lookup));
    mailbox_unref(task->mailbox);
    free(task);
    return NULL;
}

/* --- names ------------------------------------------------------------------------------------ */

static struct name *find_name(struct origins *origins, const char *text)
{
    struct name *name;

    TAILQ_FOREACH (name, &origins->names, link)
        if (strcmp(name->text, text) == 0)
            return name;
    return NULL;
}

static void drop_name(struct origins *origins, struct name *name)
{
    TAILQ_REMOVE(&origins->names, name, link);
    origins->n_names--;
    free(name);
}

static bool make_room(struct origins *origins)
{
    struct name *name;

    if (origins->n_names < NAMES_MAX)
        return true;
    TAILQ_FOREACH_REVERSE (name, &origins->names, names, link)
        if (!name->wanted && !name->looking)
            break;
    if (name)
        drop_name(origins, name);
    return name;
}

/* Find or create the name, and put it first. NULL: out of memory, or too long. */
static struct name *get_name(struct origins *origins, const char *text)
{
    struct name *name = find_name(origins, text);

    if (name) {
        TAILQ_REMOVE(&origins->names, name, link);
    } else {
        if (strlen(text) >= NAME_MAX_SIZE || !make_room(origins))
            return NULL;
        name = calloc(1, sizeof(*name));
        if (!name)
            return NULL;
        (void)strcpy(name->text, text);
        STAILQ_INIT(&name->waiters);
        origins->n_names++;
    }
    TAILQ_INSERT_HEAD(&origins->names, name, link);
    return name;
}

static bool start_lookup(struct origins *origins, const struct name *name)
{
    struct task *task = calloc(1, sizeof(*task));
    pthread_attr_t attributes;
    pthread_t thread;
    int r;

    if (!task)
        return false;
    task->mailbox = origins->mailbox;
    (void)strcpy(task->lookup.text, name->text);
    atomic_fetch_add(&origins->mailbox->users, 1);
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    r = pthread_create(&thread, &attributes, run, task);
    (void)pthread_attr_destroy(&attributes);
    if (r != 0) {
        mailbox_unref(origins->mailbox);
        free(task);
    }
    return r == 0;
}

static void start_lookups(struct origins *origins)
{
    struct name *name;

    TAILQ_FOREACH (name, &origins->names, link) {
        if (origins->n_lookups >= LOOKUPS_MAX)
            return;
        if (!name->wanted || !start_lookup(origins, name))
            continue;
        name->wanted = false;
        name->looking = true;
        origins->n_lookups++;
    }
}

static void refresh(struct origins *origins, struct name *name, uint64_t age_ns)
{
    if (name->wanted || name->looking ||
        (name->looked_ns && clock_ns(CLOCK_MONOTONIC) - name->looked_ns < age_ns))
        return;
    name->wanted = true;
    start_lookups(origins);
}

/* --- verdicts --------------------------------------------------------------------------------- */

static bool is_loopback(struct in_addr address)
{
    return ntohl(address.s_addr) >> 24 == IN_LOOPBACKNET;
}

static bool has_address(const struct addresses *addresses, struct in_addr origin)
{
    for (size_t i = 0; i < addresses->n; i++)
        if (addresses->items[i].s_addr == origin.s_addr ||
            (is_loopback(addresses->items[i]) && is_loopback(origin)))
            return true;
    return false;
}

static int set_mismatch(const struct name *name, struct in_addr origin, struct error *error)
{
    char text[INET_ADDRSTRLEN] = "?";

    (void)inet_ntop(AF_INET, &origin, text, sizeof(text));
    if (!name->addresses.n)
        return error_set(error, -EAGAIN, "the origin %s cannot be checked: no IPv4 address of %s",
                         text, name->text);
    return error_set(error, -EREMOTE,
                     "the origin of the credential, %s, is not an address of %s (check_origin in "
                     "jobio.conf(5))",
                     text, name->text);
}

static int judge(struct origins *origins, struct name *name, struct in_addr origin,
                 struct error *error)
{
    static bool logged;
    int r;

    if (has_address(&name->addresses, origin)) {
        name->confirmed = true;
        return 0;
    }
    if (!name->looked_ns)
        return 0;
    refresh(origins, name, RETRY_NS);
    r = set_mismatch(name, origin, error);
    if (origins->mode == ORIGINS_YES || name->confirmed)
        return r;
    origins->unconfirmed++;
    if (!logged)
        log_info("peers: %s: accepted, because no message of this node has come from its address",
                 error->text);
    logged = true;
    return 0;
}

static void release_waiters(struct origins *origins, struct name *name, int canceled)
{
    struct waiter *waiter;

    while ((waiter = STAILQ_FIRST(&name->waiters))) {
        struct error error = {"jobiod is stopping"};
        int r = canceled ? canceled : judge(origins, name, waiter->origin, &error);

        STAILQ_REMOVE_HEAD(&name->waiters, link);
        waiter->done(r, &error, waiter->arg);
        free(waiter);
    }
}

static bool wait_for(struct name *name, struct in_addr origin, origins_done_f done, void *arg)
{
    struct waiter *waiter = calloc(1, sizeof(*waiter));

    if (!waiter)
        return false;
    *waiter = (struct waiter){.origin = origin, .done = done, .arg = arg};
    STAILQ_INSERT_TAIL(&name->waiters, waiter, link);
    return true;
}

void origins_check(struct origins *origins, const char *node, struct in_addr origin,
                   origins_done_f done, void *arg)
{
    struct error error = {"no memory for the address of a node"};
    struct name *name;

    if (origins->mode == ORIGINS_NO) {
        done(0, &error, arg);
        return;
    }
    name = get_name(origins, node);
    if (name)
        refresh(origins, name, REFRESH_NS);
    if (name && (name->looked_ns || origins->mode == ORIGINS_AUTO))
        done(judge(origins, name, origin, &error), &error, arg);
    else if (!name || !wait_for(name, origin, done, arg))
        done(origins->mode == ORIGINS_AUTO ? 0 : -ENOMEM, &error, arg);
}

uint64_t origins_unconfirmed(const struct origins *origins)
{
    return origins->unconfirmed;
}

/* --- results ---------------------------------------------------------------------------------- */

static bool is_same(const struct addresses *a, const struct addresses *b)
{
    for (size_t i = 0; i < a->n; i++)
        if (!has_address(b, a->items[i]))
            return false;
    return a->n == b->n;
}

/* A name that cannot be resolved for a while keeps its addresses. */
static void take(struct origins *origins, const struct lookup *lookup)
{
    struct name *name = find_name(origins, lookup->text);

    origins->n_lookups--;
    if (!name)
        return;
    name->looked_ns = clock_ns(CLOCK_MONOTONIC);
    if (!lookup->failure) {
        name->confirmed = name->confirmed && is_same(&name->addresses, &lookup->addresses);
        name->addresses = lookup->addresses;
    }
    release_waiters(origins, name, 0);
    name->looking = false; /* until here it cannot be dropped */
}

static int on_result(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct origins *origins = arg;
    struct lookup lookup;

    (void)source, (void)events;
    while (read(fd, &lookup, sizeof(lookup)) == sizeof(lookup))
        take(origins, &lookup);
    start_lookups(origins);
    return 0;
}

/* --- creation --------------------------------------------------------------------------------- */

void origins_destroy(struct origins *origins)
{
    struct name *name;

    if (!origins)
        return;
    sd_event_source_disable_unref(origins->source);
    while ((name = TAILQ_FIRST(&origins->names))) {
        release_waiters(origins, name, -ECANCELED);
        drop_name(origins, name);
    }
    mailbox_unref(origins->mailbox);
    free(origins);
}
DEFINE_CLEANUP(struct origins, origins_destroy)

static struct mailbox *mailbox_create(void)
{
    struct mailbox *mailbox = calloc(1, sizeof(*mailbox));

    if (!mailbox || pipe2(mailbox->fds, O_CLOEXEC | O_NONBLOCK) < 0) {
        free(mailbox);
        return NULL;
    }
    atomic_init(&mailbox->users, 1);
    return mailbox;
}

int origins_create(struct origins **ret, sd_event *loop, enum origins_mode mode,
                   struct error *error)
{
    CLEANUP(origins_destroyp) struct origins *origins = calloc(1, sizeof(*origins));
    int r;

    if (!origins)
        return error_set(error, -ENOMEM, "no memory for the addresses of nodes");
    origins->mode = mode;
    TAILQ_INIT(&origins->names);
    origins->mailbox = mailbox_create();
    if (!origins->mailbox)
        return error_set(error, -EMFILE, "no pipe for the addresses of nodes");
    r = sd_event_add_io(loop, &origins->source, origins->mailbox->fds[0], EPOLLIN, on_result,
                        origins);
    if (r < 0)
        return error_errno(error, r, "cannot watch the addresses of nodes");
    *ret = TAKE_PTR(origins);
    return 0;
}
