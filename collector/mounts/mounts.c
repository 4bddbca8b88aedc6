/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* memfd_create */
#include "collector/mounts/mounts.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "collector/mounts/mountinfo.h"
#include "collector/mounts/namespaces.h"
#include "common/account.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/io_op.h"

/* A known name. The names that it replaced are kept in `before`, since callers may still hold them.
 */
struct name {
    struct name *before;
    struct mount_name shown;
    char text[];
};

struct known {
    uint32_t step;
    uint64_t dev;
    struct name *name;
    bool open; /* a table may still give it a better name */
};

struct mounts {
    char *proc;
    int fd;
    struct mountinfo *host;
    uint64_t host_ns; /* when its reading started */
    struct namespaces *namespaces;
    uint64_t memory;     /* s_dev of the kernel's own tmpfs; 0: unknown */
    struct known *known; /* ascending (step, dev) */
    size_t n_known;
    size_t lines;               /* of a turn */
    mounts_is_there_f is_there; /* may be NULL */
    void *is_there_arg;
};

static const struct mount_name no_mount = {
    .mount = IO_NO_MOUNT, .fstype = "none", .source = "none", .labelled = true};
static const struct mount_name other_mounts = {
    .mount = IO_OTHER_MOUNTS, .fstype = "none", .source = "none", .labelled = true};
static const struct mount_name memory_mount = {
    .mount = "(memory)", .fstype = "tmpfs", .source = "none", .labelled = true};
static const struct mount_name unknown_mount = {
    .mount = "(unknown)", .fstype = "unknown", .source = "none", .private = true};

static int table_load(struct mountinfo **ret, const char *proc, const char *who,
                      struct error *error)
{
    size_t lines = SIZE_MAX;
    struct mountinfo *info;
    int r = mountinfo_open(&info, proc, who, error);

    if (r < 0)
        return r;
    r = mountinfo_read(info, NULL, &lines);
    if (r < 0) {
        mountinfo_close(info);
        return error_errno(error, r, "read \"%s/%s/mountinfo\"", proc, who);
    }
    *ret = info;
    return 0;
}

static int host_load(struct mounts *mounts, struct mountinfo **ret, struct error *error)
{
    if (table_load(ret, mounts->proc, "1", error) == 0)
        return 0;
    return table_load(ret, mounts->proc, "self", error);
}

static int host_open(const char *proc)
{
    char path[PATH_MAX];
    int fd;

    snprintf(path, sizeof(path), "%s/1/mountinfo", proc);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        return fd;
    snprintf(path, sizeof(path), "%s/self/mountinfo", proc);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static void name_destroy(struct name *name)
{
    while (name) {
        struct name *before = name->before;

        free(name);
        name = before;
    }
}

static const char *name_text(char **at, const char *text)
{
    char *start = *at;

    *at = stpcpy(start, text) + 1;
    return start;
}

static struct name *name_create(const struct mount_name *shown)
{
    size_t size = strlen(shown->mount) + strlen(shown->fstype) + strlen(shown->source) + 3;
    struct name *name = malloc(sizeof(*name) + size);
    char *at;

    if (!name)
        return NULL;
    at = name->text;
    name->before = NULL;
    name->shown = *shown;
    name->shown.mount = name_text(&at, shown->mount);
    name->shown.fstype = name_text(&at, shown->fstype);
    name->shown.source = name_text(&at, shown->source);
    return name;
}

/* The kernel keeps files of memfd_create(2) and System V shared memory on a tmpfs of its own, which
 * is mounted nowhere. */
static uint64_t memory_dev(void)
{
    _close_ int fd = memfd_create("jobio", MFD_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return 0;
    return (uint64_t)major(st.st_dev) << 20 | minor(st.st_dev);
}

int mounts_create(struct mounts **ret, const char *proc, struct error *error)
{
    struct mounts *mounts = calloc(1, sizeof(*mounts));
    int rc = -ENOMEM;

    if (!mounts)
        return error_errno(error, rc, "mounts");
    mounts->fd = -1;
    mounts->memory = memory_dev();
    mounts->proc = strdup(proc);
    if (!mounts->proc) {
        rc = error_errno(error, rc, "mounts");
        goto fail;
    }
    /* Opened before the first read, so that a change in between is reported. */
    mounts->fd = host_open(proc);
    if (mounts->fd < 0) {
        rc = error_errno(error, -errno, "open \"%s/1/mountinfo\"", proc);
        goto fail;
    }
    rc = mounts_refresh(mounts, error);
    if (rc < 0)
        goto fail;
    mounts->lines = SIZE_MAX;
    mounts->namespaces = namespaces_create(mounts->proc);
    if (!mounts->namespaces) {
        rc = error_errno(error, -ENOMEM, "mounts");
        goto fail;
    }
    *ret = mounts;
    return 0;
fail:
    mounts_destroy(mounts);
    return rc;
}

void mounts_destroy(struct mounts *mounts)
{
    if (!mounts)
        return;
    for (size_t i = 0; i < mounts->n_known; i++)
        name_destroy(mounts->known[i].name);
    free(mounts->known);
    namespaces_destroy(mounts->namespaces);
    mountinfo_close(mounts->host);
    cleanup_close(&mounts->fd);
    free(mounts->proc);
    free(mounts);
}

int mounts_fd(const struct mounts *mounts)
{
    return mounts->fd;
}

int mounts_refresh(struct mounts *mounts, struct error *error)
{
    uint64_t started_ns = clock_ns(CLOCK_MONOTONIC);
    struct mountinfo *host;
    int rc = host_load(mounts, &host, error);

    if (rc < 0)
        return rc;
    mountinfo_close(mounts->host);
    mounts->host_ns = started_ns;
    mounts->host = host;
    return 0;
}

/* A task may use a mount before the event loop reports it, or dev may belong to another super block
 * by now. */
static void refresh_if_changed(struct mounts *mounts)
{
    struct pollfd p = {.fd = mounts->fd, .events = POLLPRI};

    if (poll(&p, 1, 0) > 0 && (p.revents & (POLLPRI | POLLERR)))
        (void)mounts_refresh(mounts, NULL);
}

static bool is_fuse(const char *fstype)
{
    return strcmp(fstype, "fuse") == 0 || strncmp(fstype, "fuse.", 5) == 0 ||
           strcmp(fstype, "fuseblk") == 0;
}

static size_t known_index(const struct mounts *mounts, uint32_t step, uint64_t dev)
{
    size_t low = 0, high = mounts->n_known;

    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct known *k = &mounts->known[middle];

        if (k->step < step || (k->step == step && k->dev < dev))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct known *known_find(const struct mounts *mounts, uint32_t step, uint64_t dev)
{
    size_t at = known_index(mounts, step, dev);

    if (at == mounts->n_known || mounts->known[at].step != step || mounts->known[at].dev != dev)
        return NULL;
    return &mounts->known[at];
}

bool mounts_is_unknown(const struct mount_name *name)
{
    return name->private && strcmp(name->mount, unknown_mount.mount) == 0;
}

/* Give (step, dev) this name. */
static int known_put(struct mounts *mounts, uint32_t step, uint64_t dev,
                     const struct mount_name *shown, bool open)
{
    struct known *known = known_find(mounts, step, dev);
    struct name *name = name_create(shown);
    size_t at;

    if (!name)
        return -ENOMEM;
    if (known) {
        name->before = known->name;
        known->name = name;
        known->open = open;
        return 0;
    }
    known = reallocarray(mounts->known, mounts->n_known + 1, sizeof(*known));
    if (!known) {
        free(name);
        return -ENOMEM;
    }
    mounts->known = known;
    at = known_index(mounts, step, dev);
    memmove(&known[at + 1], &known[at], (mounts->n_known - at) * sizeof(*known));
    known[at] = (struct known){.step = step, .dev = dev, .name = name, .open = open};
    mounts->n_known++;
    return 0;
}

static struct mount_name entry_name(const struct mountinfo_entry *entry, bool private)
{
    return (struct mount_name){
        .mount = entry->mount,
        .fstype = entry->fstype,
        .source = entry->source,
        .private = private,
        .labelled = !private && !is_fuse(entry->fstype),
    };
}

static int learn_entry(struct mounts *mounts, uint32_t step, uint64_t dev,
                       const struct mountinfo_entry *entry, bool private)
{
    struct mount_name shown = entry_name(entry, private);

    return known_put(mounts, step, dev, &shown, false);
}

/* Check it before and after a lookup in a table: then the entry is that of the same super block. */
static bool is_there(const struct mounts *mounts, uint32_t step, uint64_t dev, uint64_t *since_ns)
{
    *since_ns = 0;
    return !mounts->is_there || mounts->is_there(step, dev, since_ns, mounts->is_there_arg);
}

static int learn_from_task(struct mounts *mounts, uint32_t step, uint64_t dev, uint32_t pid)
{
    const struct mountinfo_entry *entry;
    uint64_t since_ns;
    int rc = -ENOENT;

    if (is_there(mounts, step, dev, &since_ns))
        rc = namespaces_find(mounts->namespaces, mounts->host, pid, step, dev, since_ns, &entry);
    if (rc)
        return rc;
    return is_there(mounts, step, dev, &since_ns) ? learn_entry(mounts, step, dev, entry, true)
                                                  : -ENOENT;
}

static int learn_from_host(struct mounts *mounts, uint32_t step, uint64_t dev)
{
    const struct mountinfo_entry *entry;
    uint64_t since_ns;

    if (!is_there(mounts, step, dev, &since_ns))
        return -ENOENT;
    if (mounts->host_ns < since_ns)
        (void)mounts_refresh(mounts, NULL);
    entry = mounts->host_ns < since_ns ? NULL : mountinfo_find(mounts->host, (uint32_t)dev);
    if (entry && is_there(mounts, step, dev, &since_ns))
        return learn_entry(mounts, step, dev, entry, false);
    return !entry && dev == mounts->memory ? known_put(mounts, step, dev, &memory_mount, false)
                                           : -ENOENT;
}

/* "8:1", or "0:53+1" for a later one with the same number. */
static void dev_name(uint64_t dev, char name[32])
{
    unsigned major = (uint32_t)dev >> 20, minor = dev & 0xfffff, generation = dev >> 32;
    int n = snprintf(name, 32, "%u:%u", major, minor);

    if (generation)
        (void)snprintf(name + n, 32 - (size_t)n, "+%u", generation);
}

static int put_unknown(struct mounts *mounts, uint32_t step, uint64_t dev, const char *fstype,
                       const char *id)
{
    struct mount_name shown = unknown_mount;
    char source[64], name[32];

    if (fstype && *fstype)
        shown.fstype = fstype;
    if (id && *id)
        shown.source = id;
    /* Otherwise all mounts of a type without a device would be one. */
    dev_name(dev, name);
    (void)snprintf(source, sizeof(source), "%s %s", shown.source, name);
    shown.source = source;
    return known_put(mounts, step, dev, &shown, true);
}

void mounts_set_check(struct mounts *mounts, mounts_is_there_f check, void *arg)
{
    mounts->is_there = check;
    mounts->is_there_arg = arg;
}

int mounts_learn(struct mounts *mounts, uint32_t step, uint64_t dev, uint32_t pid,
                 const char *fstype, const char *id, struct error *error)
{
    const struct known *known = known_find(mounts, step, dev);
    char name[32];
    int rc;

    if (dev == 0 || (known && !known->open))
        return 0;
    refresh_if_changed(mounts);
    rc = learn_from_host(mounts, step, dev);
    if (rc == -ENOENT && pid)
        rc = learn_from_task(mounts, step, dev, pid);
    if (rc == -ENOENT || rc == -EBUSY)
        rc = 1;
    if (rc == 1 && !known && put_unknown(mounts, step, dev, fstype, id) < 0)
        rc = -ENOMEM;
    dev_name(dev, name);
    return rc < 0 ? error_errno(error, rc, "name of the mount %s", name) : rc;
}

int mounts_learn_seen(struct mounts *mounts, uint32_t step, uint64_t dev,
                      const struct mount_seen *seen)
{
    bool private = !namespaces_is_host(mounts->namespaces, seen->space);
    const struct mountinfo_entry entry = {
        .mount = private ? seen->in_task : seen->in_space,
        .fstype = *seen->fstype ? seen->fstype : unknown_mount.fstype,
        .source = *seen->source ? seen->source : unknown_mount.source,
    };
    struct mount_name shown = entry_name(&entry, private);

    if (!shown.mount)
        return 1;
    return known_put(mounts, step, dev, &shown, namespaces_busy(mounts->namespaces));
}

/* --- portions --------------------------------------------------------------------------------- */

void mounts_set_lines(struct mounts *mounts, size_t lines)
{
    mounts->lines = lines;
}

void mounts_turn(struct mounts *mounts)
{
    namespaces_turn(mounts->namespaces, mounts->lines);
}

static int take_found(uint32_t step, uint64_t dev, uint64_t started_ns,
                      const struct mountinfo_entry *entry, void *arg)
{
    struct mounts *mounts = arg;
    const struct known *known = known_find(mounts, step, dev);
    uint64_t since_ns;

    return entry && known && known->open && is_there(mounts, step, dev, &since_ns) &&
                   started_ns >= since_ns
               ? learn_entry(mounts, step, dev, entry, true)
               : 0;
}

bool mounts_work(struct mounts *mounts)
{
    mounts_turn(mounts);
    (void)namespaces_work(mounts->namespaces, mounts->host, 0, take_found, mounts);
    return namespaces_busy(mounts->namespaces);
}

bool mounts_busy(const struct mounts *mounts)
{
    return namespaces_busy(mounts->namespaces);
}

void mounts_finish(struct mounts *mounts, uint32_t step)
{
    if (!namespaces_busy(mounts->namespaces))
        return;
    namespaces_turn(mounts->namespaces, SIZE_MAX);
    (void)namespaces_work(mounts->namespaces, mounts->host, step, take_found, mounts);
}

unsigned mounts_renamed(const struct mounts *mounts, uint32_t step)
{
    unsigned n = 0;

    for (size_t i = known_index(mounts, step, 0);
         i < mounts->n_known && mounts->known[i].step == step; i++)
        n += mounts->known[i].name->before != NULL;
    return n;
}

struct mount_name mounts_find(struct mounts *mounts, uint32_t step, uint64_t dev)
{
    const struct known *known;

    if (dev == 0)
        return no_mount;
    if (dev == IO_DEV_OTHER)
        return other_mounts;
    known = known_find(mounts, step, dev);
    if (!known && learn_from_host(mounts, step, dev) == 0)
        known = known_find(mounts, step, dev);
    return known ? known->name->shown : unknown_mount;
}

bool mounts_has(const struct mounts *mounts, uint32_t step, uint64_t dev)
{
    return dev == 0 || dev == IO_DEV_OTHER || known_find(mounts, step, dev);
}

void mounts_forget(struct mounts *mounts, uint32_t step)
{
    size_t from = known_index(mounts, step, 0), to = from;

    namespaces_forget(mounts->namespaces, step);
    while (to < mounts->n_known && mounts->known[to].step == step)
        name_destroy(mounts->known[to++].name);
    if (to == from)
        return;
    memmove(&mounts->known[from], &mounts->known[to],
            (mounts->n_known - to) * sizeof(*mounts->known));
    mounts->n_known -= to - from;
}
