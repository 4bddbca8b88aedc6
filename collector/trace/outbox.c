/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/trace/outbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"

struct waiting {
    char name[TRACE_NAME_SIZE];
    uint64_t modified_ns;
    int64_t first_id; /* of its parts; 0: not given yet */
    uint64_t settled; /* a bit each part */
    unsigned n_parts;
    size_t spans, spans_max; /* of all parts; of each but the last one */
};

struct trace_outbox {
    char *path;
    pthread_mutex_t mutex; /* protects what is below */
    struct waiting *items; /* owned; ascending ids */
    size_t n;
    int64_t next_id;
};

_Static_assert(TRACE_PARTS_MAX <= 64, "a bit each part");

struct trace_outbox *trace_outbox_create(const char *path)
{
    struct trace_outbox *outbox = calloc(1, sizeof(*outbox));

    if (!outbox)
        return NULL;
    outbox->next_id = 1;
    outbox->path = strdup(path);
    (void)pthread_mutex_init(&outbox->mutex, NULL);
    if (outbox->path)
        return outbox;
    trace_outbox_destroy(outbox);
    return NULL;
}

void trace_outbox_destroy(struct trace_outbox *outbox)
{
    if (!outbox)
        return;
    (void)pthread_mutex_destroy(&outbox->mutex);
    free(outbox->path);
    free(outbox->items);
    free(outbox);
}

const char *trace_outbox_path(const struct trace_outbox *outbox)
{
    return outbox->path;
}

/* --- the directory ---------------------------------------------------------------------------- */

/* Call `each` for the undelivered traces, until it returns an error. No directory: there are none.
 */
static int each_undelivered(const char *path,
                            int (*each)(int dir_fd, const char *name, uint64_t modified_ns,
                                        void *arg),
                            void *arg, struct error *error)
{
    _closedir_ DIR *dir = opendir(path);
    const struct dirent *entry;
    struct stat st;
    int r = 0;

    if (!dir)
        return errno == ENOENT ? 0 : error_errno(error, -errno, "cannot open %s", path);
    while (r == 0 && (entry = readdir(dir)))
        if (trace_name_is_undelivered(entry->d_name) && strlen(entry->d_name) < TRACE_NAME_SIZE &&
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode))
            r = each(dirfd(dir), entry->d_name,
                     (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec, arg);
    return r < 0 ? error_errno(error, r, "cannot list %s", path) : 0;
}

static int mark_delivered(int dir_fd, const char *name)
{
    char plain[TRACE_NAME_SIZE];

    (void)snprintf(plain, sizeof(plain), "%.*s", (int)(strlen(name) - strlen(TRACE_UNDELIVERED)),
                   name);
    return renameat(dir_fd, name, dir_fd, plain) < 0 && errno != ENOENT ? -errno : 0;
}

static int take_stats(int dir_fd, const char *name, uint64_t modified_ns, void *arg)
{
    struct trace_outbox_stats *stats = arg;

    (void)dir_fd, (void)name;
    stats->waiting++;
    if (!stats->oldest_ns || modified_ns < stats->oldest_ns)
        stats->oldest_ns = modified_ns;
    return 0;
}

int trace_outbox_stats(const struct trace_outbox *outbox, struct trace_outbox_stats *ret,
                       struct error *error)
{
    struct trace_outbox_stats stats = {0};
    int r = each_undelivered(outbox->path, take_stats, &stats, error);

    if (r == 0)
        *ret = stats;
    return r;
}

static int forget(int dir_fd, const char *name, uint64_t modified_ns, void *arg)
{
    (void)modified_ns;
    ++*(size_t *)arg;
    return mark_delivered(dir_fd, name);
}

int trace_outbox_forget(const char *path, size_t *n, struct error *error)
{
    *n = 0;
    return each_undelivered(path, forget, n, error);
}

/* --- what is known of it; with the mutex ------------------------------------------------------ */

static struct waiting *find_trace(struct trace_outbox *outbox, int64_t id)
{
    for (size_t i = 0; i < outbox->n; i++) {
        struct waiting *item = &outbox->items[i];

        if (id >= item->first_id && id < item->first_id + TRACE_PARTS_MAX)
            return item;
    }
    return NULL;
}

static void remove_trace(struct trace_outbox *outbox, struct waiting *item)
{
    size_t behind = (size_t)(&outbox->items[outbox->n] - (item + 1));

    memmove(item, item + 1, behind * sizeof(*item));
    outbox->n--;
}

/* The first part behind `after` that is not settled. NULL: none is known. */
static struct waiting *find_part(struct trace_outbox *outbox, int64_t after, unsigned *number)
{
    for (size_t i = 0; i < outbox->n; i++) {
        struct waiting *item = &outbox->items[i];

        for (*number = 0; *number < item->n_parts; ++*number)
            if (item->first_id + *number > after && !(item->settled & 1ull << *number))
                return item;
    }
    return NULL;
}

static int add(int dir_fd, const char *name, uint64_t modified_ns, void *arg)
{
    struct trace_outbox *outbox = arg;
    struct waiting *grown;

    (void)dir_fd;
    for (size_t i = 0; i < outbox->n; i++)
        if (!strcmp(outbox->items[i].name, name))
            return 0;
    grown = reallocarray(outbox->items, outbox->n + 1, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    outbox->items = grown;
    grown[outbox->n] = (struct waiting){.modified_ns = modified_ns, .n_parts = 1};
    memcpy(grown[outbox->n++].name, name, strlen(name) + 1);
    return 0;
}

/* Those that are new are behind all others. */
static int compare_waiting(const void *a, const void *b)
{
    const struct waiting *x = a, *y = b;

    if (!x->first_id != !y->first_id)
        return !x->first_id - !y->first_id;
    if (x->first_id)
        return (x->first_id > y->first_id) - (x->first_id < y->first_id);
    return (x->modified_ns > y->modified_ns) - (x->modified_ns < y->modified_ns);
}

/* Look for new traces. The ids are given also after an error. */
static int look(struct trace_outbox *outbox, struct error *error)
{
    int r = each_undelivered(outbox->path, add, outbox, error);

    if (outbox->n)
        qsort(outbox->items, outbox->n, sizeof(*outbox->items), compare_waiting);
    for (size_t i = 0; i < outbox->n; i++)
        if (!outbox->items[i].first_id) {
            outbox->items[i].first_id = outbox->next_id;
            outbox->next_id += TRACE_PARTS_MAX;
        }
    return r;
}

/* --- the parts -------------------------------------------------------------------------------- */

int trace_outbox_next(struct trace_outbox *outbox, int64_t after, struct trace_part *ret,
                      struct error *error)
{
    struct waiting *item;
    int r = 0;

    (void)pthread_mutex_lock(&outbox->mutex);
    item = find_part(outbox, after, &ret->number);
    if (!item) {
        r = look(outbox, error);
        item = r < 0 ? NULL : find_part(outbox, after, &ret->number);
    }
    if (item) {
        ret->id = item->first_id + ret->number;
        ret->modified_ns = item->modified_ns;
        memcpy(ret->name, item->name, sizeof(ret->name));
    }
    (void)pthread_mutex_unlock(&outbox->mutex);
    return item ? 1 : r;
}

static void set_parts(struct waiting *item, size_t spans, size_t spans_max)
{
    size_t n = (spans + spans_max - 1) / spans_max;

    item->n_parts = n < TRACE_PARTS_MAX ? (unsigned)n : TRACE_PARTS_MAX;
    item->spans = spans;
    item->spans_max = spans_max;
}

void trace_outbox_set_parts(struct trace_outbox *outbox, int64_t id, size_t spans, size_t spans_max)
{
    struct waiting *item;

    (void)pthread_mutex_lock(&outbox->mutex);
    item = find_trace(outbox, id);
    if (item)
        set_parts(item, spans, spans_max);
    (void)pthread_mutex_unlock(&outbox->mutex);
}

static size_t spans_of(const struct waiting *item, int64_t id)
{
    size_t before = (size_t)(id - item->first_id) * item->spans_max;
    size_t left = item->spans > before ? item->spans - before : 0;

    return left < item->spans_max ? left : item->spans_max;
}

size_t trace_outbox_spans(struct trace_outbox *outbox, int64_t id)
{
    const struct waiting *item;
    size_t n;

    (void)pthread_mutex_lock(&outbox->mutex);
    item = find_trace(outbox, id);
    n = item ? spans_of(item, id) : 0;
    (void)pthread_mutex_unlock(&outbox->mutex);
    return n;
}

/* Takes the trace from the list, also if its file cannot be renamed: the next look finds it again.
 */
static int finish_trace(struct trace_outbox *outbox, struct waiting *item, struct error *error)
{
    _close_ int dir_fd = open(outbox->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = dir_fd < 0 ? -errno : mark_delivered(dir_fd, item->name);

    if (r < 0)
        (void)error_errno(error, r, "cannot rename %s/%s", outbox->path, item->name);
    remove_trace(outbox, item);
    return r;
}

static int settle(struct trace_outbox *outbox, int64_t id, struct error *error)
{
    struct waiting *item = find_trace(outbox, id);
    uint64_t all;

    if (!item)
        return 0;
    all = item->n_parts < 64 ? (1ull << item->n_parts) - 1 : UINT64_MAX;
    item->settled |= 1ull << (id - item->first_id);
    return (item->settled & all) == all ? finish_trace(outbox, item, error) : 0;
}

int trace_outbox_settle(struct trace_outbox *outbox, const int64_t *ids, size_t n,
                        struct error *error)
{
    int r = 0;

    (void)pthread_mutex_lock(&outbox->mutex);
    for (size_t i = 0; i < n && r == 0; i++)
        r = settle(outbox, ids[i], error);
    (void)pthread_mutex_unlock(&outbox->mutex);
    return r;
}

int trace_outbox_drop(struct trace_outbox *outbox, int64_t id, struct error *error)
{
    struct waiting *item;
    int r = 0;

    (void)pthread_mutex_lock(&outbox->mutex);
    item = find_trace(outbox, id);
    if (item)
        r = finish_trace(outbox, item, error);
    (void)pthread_mutex_unlock(&outbox->mutex);
    return r;
}
