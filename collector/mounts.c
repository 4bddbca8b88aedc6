/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/mounts.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"

/* Of several mounts of one super block the lowest class names it. */
enum entry_class { ENTRY_WHOLE, ENTRY_BIND, ENTRY_DELETED };

struct entry {
    uint32_t dev;
    enum entry_class class;
    char *mount, *fstype, *source;
};

struct table {
    struct entry *items; /* ascending dev, one each */
    size_t n;
};

/* What was learnt. A better name later keeps the earlier one alive in `before`, because callers may
 * still hold it. */
struct name {
    struct name *before;
    struct mount_name shown;
    char text[];
};

struct known {
    uint32_t step, dev;
    struct name *name;
};

struct mounts {
    char *proc;
    int fd;
    struct table host;
    struct known *known; /* ascending (step, dev) */
    size_t n_known;
};

static const struct mount_name no_mount = {
    .mount = "(no mount)", .fstype = "none", .source = "none", .labelled = true};
static const struct mount_name unknown_mount = {
    .mount = "(unknown)", .fstype = "unknown", .source = "none", .private = true};

/* seq_escape() writes space, tab, newline, backslash and, in newer kernels, '#' as \ooo. */
static void unescape(char *text)
{
    char *to = text;

    for (const char *from = text; *from; to++) {
        if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
            from[2] <= '7' && from[3] >= '0' && from[3] <= '7') {
            *to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

static bool drop_suffix(char *text, const char *suffix)
{
    size_t length = strlen(text), tail = strlen(suffix);

    if (length <= tail || strcmp(text + length - tail, suffix) != 0)
        return false;
    text[length - tail] = '\0';
    return true;
}

/* "ID PARENT MAJOR:MINOR ROOT MOUNT OPTIONS [OPTIONAL...] - FSTYPE SOURCE SUPEROPTIONS". The
 * strings of *ret point into the line. */
static bool entry_parse(char *line, struct entry *ret)
{
    char *field[6], *word, *fstype, *source;
    unsigned major, minor;
    bool deleted;

    line[strcspn(line, "\n")] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(field); i++)
        if (!(field[i] = strsep(&line, " ")))
            return false;
    if (sscanf(field[2], "%u:%u", &major, &minor) != 2)
        return false;
    do {
        if (!(word = strsep(&line, " ")))
            return false;
    } while (strcmp(word, "-") != 0);
    fstype = strsep(&line, " ");
    source = strsep(&line, " ");
    if (!fstype || !source)
        return false;

    unescape(field[3]);
    unescape(field[4]);
    unescape(fstype);
    unescape(source);
    deleted = drop_suffix(field[3], "//deleted");
    deleted = drop_suffix(field[4], "//deleted") || deleted;
    *ret = (struct entry){
        .dev = (major << 20) | (minor & 0xfffff),
        .class = deleted                      ? ENTRY_DELETED
                 : strcmp(field[3], "/") == 0 ? ENTRY_WHOLE
                                              : ENTRY_BIND,
        .mount = *field[4] ? field[4] : (char *)unknown_mount.mount,
        .fstype = *fstype ? fstype : (char *)unknown_mount.fstype,
        .source = *source ? source : (char *)unknown_mount.source,
    };
    return true;
}

static void entry_clear(struct entry *entry)
{
    free(entry->mount);
    free(entry->fstype);
    free(entry->source);
}

static int entry_copy(struct entry *ret, const struct entry *from)
{
    struct entry copy = {.dev = from->dev, .class = from->class};

    copy.mount = strdup(from->mount);
    copy.fstype = strdup(from->fstype);
    copy.source = strdup(from->source);
    if (!copy.mount || !copy.fstype || !copy.source) {
        entry_clear(&copy);
        return -ENOMEM;
    }
    *ret = copy;
    return 0;
}

static bool entry_is_better(const struct entry *a, const struct entry *b)
{
    if (a->class != b->class)
        return a->class < b->class;
    return strlen(a->mount) < strlen(b->mount);
}

static void table_clear(struct table *table)
{
    for (size_t i = 0; i < table->n; i++)
        entry_clear(&table->items[i]);
    free(table->items);
    *table = (struct table){0};
}

/* The index of dev, or where it belongs. */
static size_t table_place(const struct table *table, uint32_t dev)
{
    size_t low = 0, high = table->n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (table->items[middle].dev < dev)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct entry *table_find(const struct table *table, uint32_t dev)
{
    size_t at = table_place(table, dev);

    return at < table->n && table->items[at].dev == dev ? &table->items[at] : NULL;
}

static int table_add(struct table *table, const struct entry *entry)
{
    size_t at = table_place(table, entry->dev);
    struct entry copy, *items;

    if (at < table->n && table->items[at].dev == entry->dev) {
        if (!entry_is_better(entry, &table->items[at]))
            return 0;
        if (entry_copy(&copy, entry) < 0)
            return -ENOMEM;
        entry_clear(&table->items[at]);
        table->items[at] = copy;
        return 0;
    }
    items = reallocarray(table->items, table->n + 1, sizeof(*items));
    if (!items)
        return -ENOMEM;
    table->items = items;
    if (entry_copy(&copy, entry) < 0)
        return -ENOMEM;
    memmove(&items[at + 1], &items[at], (table->n - at) * sizeof(*items));
    items[at] = copy;
    table->n++;
    return 0;
}

/* Lines of another form are skipped: a field that a later kernel adds must not cost all names. */
static int table_read(struct table *ret, FILE *file)
{
    struct table table = {0};
    _free_ char *line = NULL;
    size_t size = 0;
    int rc = 0;

    errno = 0;
    while (rc == 0 && getline(&line, &size, file) > 0) {
        struct entry entry;

        if (entry_parse(line, &entry))
            rc = table_add(&table, &entry);
    }
    if (rc == 0 && !feof(file))
        rc = errno ? -errno : -EIO;
    if (rc < 0) {
        table_clear(&table);
        return rc;
    }
    *ret = table;
    return 0;
}

static int table_load(struct table *ret, const char *proc, const char *who, struct error *error)
{
    char path[PATH_MAX];
    _fclose_ FILE *file = NULL;
    int rc;

    snprintf(path, sizeof(path), "%s/%s/mountinfo", proc, who);
    file = fopen(path, "re");
    rc = file ? table_read(ret, file) : -errno;
    return rc < 0 ? error_errno(error, rc, "read \"%s\"", path) : 0;
}

static int host_load(struct mounts *mounts, struct table *ret, struct error *error)
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

int mounts_create(struct mounts **ret, const char *proc, struct error *error)
{
    struct mounts *mounts = calloc(1, sizeof(*mounts));
    int rc = -ENOMEM;

    if (!mounts)
        return error_errno(error, rc, "mounts");
    mounts->fd = -1;
    mounts->proc = strdup(proc);
    if (!mounts->proc) {
        rc = error_errno(error, rc, "mounts");
        goto fail;
    }
    /* Opened before the first read: a change in between is then announced. */
    mounts->fd = host_open(proc);
    if (mounts->fd < 0) {
        rc = error_errno(error, -errno, "open \"%s/1/mountinfo\"", proc);
        goto fail;
    }
    rc = host_load(mounts, &mounts->host, error);
    if (rc < 0)
        goto fail;
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
    table_clear(&mounts->host);
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
    struct table table;
    int rc = host_load(mounts, &table, error);

    if (rc < 0)
        return rc;
    table_clear(&mounts->host);
    mounts->host = table;
    return 0;
}

/* The event loop may not yet have told of a mount that a task already uses, or dev may be another
 * super block's by now. */
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

static size_t known_place(const struct mounts *mounts, uint32_t step, uint32_t dev)
{
    uint64_t key = (uint64_t)step << 32 | dev;
    size_t low = 0, high = mounts->n_known;

    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct known *k = &mounts->known[middle];

        if (((uint64_t)k->step << 32 | k->dev) < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct known *known_find(const struct mounts *mounts, uint32_t step, uint32_t dev)
{
    size_t at = known_place(mounts, step, dev);

    if (at == mounts->n_known || mounts->known[at].step != step || mounts->known[at].dev != dev)
        return NULL;
    return &mounts->known[at];
}

static bool is_unknown(const struct mount_name *shown)
{
    return shown->private && strcmp(shown->mount, unknown_mount.mount) == 0;
}

/* Give (step, dev) this name. */
static int known_put(struct mounts *mounts, uint32_t step, uint32_t dev,
                     const struct mount_name *shown)
{
    struct known *known = known_find(mounts, step, dev);
    struct name *name = name_create(shown);
    size_t at;

    if (!name)
        return -ENOMEM;
    if (known) {
        name->before = known->name;
        known->name = name;
        return 0;
    }
    known = reallocarray(mounts->known, mounts->n_known + 1, sizeof(*known));
    if (!known) {
        free(name);
        return -ENOMEM;
    }
    mounts->known = known;
    at = known_place(mounts, step, dev);
    memmove(&known[at + 1], &known[at], (mounts->n_known - at) * sizeof(*known));
    known[at] = (struct known){.step = step, .dev = dev, .name = name};
    mounts->n_known++;
    return 0;
}

static struct mount_name entry_name(const struct entry *entry, bool private)
{
    return (struct mount_name){
        .mount = entry->mount,
        .fstype = entry->fstype,
        .source = entry->source,
        .private = private,
        .labelled = !private && !is_fuse(entry->fstype),
    };
}

/* From the table of the task's own namespace; -ENOENT if that has no such super block, or no
 * longer a task. */
static int learn_from_task(struct mounts *mounts, uint32_t step, uint32_t dev, uint32_t pid)
{
    struct table table = {0};
    const struct entry *entry;
    struct mount_name shown;
    char who[16];
    int rc;

    snprintf(who, sizeof(who), "%u", pid);
    rc = table_load(&table, mounts->proc, who, NULL);
    if (rc < 0)
        return rc == -ENOMEM ? rc : -ENOENT;
    entry = table_find(&table, dev);
    if (!entry) {
        table_clear(&table);
        return -ENOENT;
    }
    shown = entry_name(entry, true);
    rc = known_put(mounts, step, dev, &shown);
    table_clear(&table);
    return rc;
}

static int learn_from_host(struct mounts *mounts, uint32_t step, uint32_t dev)
{
    const struct entry *entry = table_find(&mounts->host, dev);
    struct mount_name shown;

    if (!entry)
        return -ENOENT;
    shown = entry_name(entry, false);
    return known_put(mounts, step, dev, &shown);
}

int mounts_learn(struct mounts *mounts, uint32_t step, uint32_t dev, uint32_t pid,
                 const char *fstype, const char *id, struct error *error)
{
    const struct known *known = known_find(mounts, step, dev);
    struct mount_name shown = unknown_mount;
    int rc;

    if (dev == 0 || (known && !is_unknown(&known->name->shown)))
        return 0;
    refresh_if_changed(mounts);
    rc = learn_from_host(mounts, step, dev);
    if (rc == -ENOENT && pid)
        rc = learn_from_task(mounts, step, dev, pid);
    if (rc == -ENOENT && known)
        return 1;
    if (rc == -ENOENT) {
        if (fstype && *fstype)
            shown.fstype = fstype;
        if (id && *id)
            shown.source = id;
        rc = known_put(mounts, step, dev, &shown);
        if (rc == 0)
            return 1;
    }
    return rc < 0 ? error_errno(error, rc, "name of the mount %u:%u", dev >> 20, dev & 0xfffff) : 0;
}

struct mount_name mounts_find(struct mounts *mounts, uint32_t step, uint32_t dev)
{
    const struct known *known;

    if (dev == 0)
        return no_mount;
    known = known_find(mounts, step, dev);
    if (!known && learn_from_host(mounts, step, dev) == 0)
        known = known_find(mounts, step, dev);
    return known ? known->name->shown : unknown_mount;
}

void mounts_forget(struct mounts *mounts, uint32_t step)
{
    size_t from = known_place(mounts, step, 0), to = from;

    while (to < mounts->n_known && mounts->known[to].step == step)
        name_destroy(mounts->known[to++].name);
    if (to == from)
        return;
    memmove(&mounts->known[from], &mounts->known[to],
            (mounts->n_known - to) * sizeof(*mounts->known));
    mounts->n_known -= to - from;
}
