/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/mounts/mountinfo.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

#define UNKNOWN_MOUNT "(unknown)"
#define UNKNOWN_TYPE "unknown"
#define UNKNOWN_SOURCE "none"

struct item {
    struct mountinfo_entry entry;
    size_t order;
    char *text; /* owns the entry's strings */
};

struct mountinfo {
    FILE *file; /* NULL: read to its end */
    char *line;
    size_t line_size;
    struct item *items; /* in the order of the file; once it is read, ascending dev, one each */
    size_t n, room;
};

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
static bool entry_parse(char *line, struct mountinfo_entry *ret)
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
    *ret = (struct mountinfo_entry){
        .dev = (major << 20) | (minor & 0xfffff),
        .class = deleted                      ? MOUNTINFO_DELETED
                 : strcmp(field[3], "/") == 0 ? MOUNTINFO_WHOLE
                                              : MOUNTINFO_BIND,
        .mount = *field[4] ? field[4] : UNKNOWN_MOUNT,
        .fstype = *fstype ? fstype : UNKNOWN_TYPE,
        .source = *source ? source : UNKNOWN_SOURCE,
    };
    return true;
}

static const char *put_text(char **at, const char *text)
{
    char *start = *at;

    *at = stpcpy(start, text) + 1;
    return start;
}

static int item_add(struct mountinfo *info, const struct mountinfo_entry *entry)
{
    struct item *item;
    char *at;

    if (info->n == info->room) {
        size_t room = info->room ? info->room * 2 : 64;
        struct item *grown = reallocarray(info->items, room, sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        info->items = grown;
        info->room = room;
    }
    item = &info->items[info->n];
    at = malloc(strlen(entry->mount) + strlen(entry->fstype) + strlen(entry->source) + 3);
    if (!at)
        return -ENOMEM;
    *item = (struct item){*entry, info->n, at};
    item->entry.mount = put_text(&at, entry->mount);
    item->entry.fstype = put_text(&at, entry->fstype);
    item->entry.source = put_text(&at, entry->source);
    info->n++;
    return 0;
}

/* --- order ------------------------------------------------------------------------------------ */

static int compare_dev(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    return (x->entry.dev > y->entry.dev) - (x->entry.dev < y->entry.dev);
}

/* The best of a super block first. */
static int compare_items(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    size_t length[2] = {strlen(x->entry.mount), strlen(y->entry.mount)};
    int r = compare_dev(a, b);

    if (!r)
        r = (int)x->entry.class - (int)y->entry.class;
    if (!r)
        r = (length[0] > length[1]) - (length[0] < length[1]);
    return r ? r : (x->order > y->order) - (x->order < y->order);
}

static void keep_best(struct mountinfo *info)
{
    size_t kept = 0;

    if (info->n)
        qsort(info->items, info->n, sizeof(*info->items), compare_items);
    for (size_t i = 0; i < info->n; i++)
        if (kept && info->items[kept - 1].entry.dev == info->items[i].entry.dev)
            free(info->items[i].text);
        else
            info->items[kept++] = info->items[i];
    info->n = kept;
}

const struct mountinfo_entry *mountinfo_find(const struct mountinfo *info, uint32_t dev)
{
    const struct item wanted = {.entry.dev = dev}, *found = NULL;

    if (!info->file && info->n)
        found = bsearch(&wanted, info->items, info->n, sizeof(wanted), compare_dev);
    return found ? &found->entry : NULL;
}

/* --- reading ---------------------------------------------------------------------------------- */

int mountinfo_open(struct mountinfo **ret, const char *proc, const char *who, struct error *error)
{
    struct mountinfo *info = calloc(1, sizeof(*info));
    char path[PATH_MAX];

    if (!info)
        return error_errno(error, -ENOMEM, "mounts");
    (void)snprintf(path, sizeof(path), "%s/%s/mountinfo", proc, who);
    info->file = fopen(path, "re");
    if (!info->file) {
        int r = error_errno(error, -errno, "read \"%s\"", path);

        free(info);
        return r;
    }
    (void)setvbuf(info->file, NULL, _IOFBF, 16384);
    *ret = info;
    return 0;
}

void mountinfo_close(struct mountinfo *info)
{
    if (!info)
        return;
    cleanup_fclose(&info->file);
    for (size_t i = 0; i < info->n; i++)
        free(info->items[i].text);
    free(info->items);
    free(info->line);
    free(info);
}

static int take_line(struct mountinfo *info, const struct mountinfo *except)
{
    struct mountinfo_entry entry;

    /* A line of another form: a field that a later kernel adds must not cost all names. */
    if (!entry_parse(info->line, &entry) || (except && mountinfo_find(except, entry.dev)))
        return 0;
    return item_add(info, &entry);
}

int mountinfo_read(struct mountinfo *info, const struct mountinfo *except, size_t *lines)
{
    int r = 0;

    errno = 0;
    while (info->file && !r && *lines) {
        if (getline(&info->line, &info->line_size, info->file) <= 0)
            break;
        r = take_line(info, except);
        --*lines;
    }
    if (r < 0 || !info->file)
        return r;
    if (!feof(info->file) && !ferror(info->file))
        return 1;
    if (!feof(info->file))
        return errno ? -errno : -EIO;
    (void)fclose(TAKE_PTR(info->file));
    keep_best(info);
    return 0;
}
