/* SPDX-License-Identifier: GPL-2.0-or-later */
/* New mounts, and their names as the kernel saw them. */
#include "collector/probe/probe_impl.h"

#include <stdio.h>
#include <string.h>

/* A mount point from names that the last one is the first of. Returns it, NULL if it does not fit.
 */
static const char *join_names(char *to, size_t size, const char *names, size_t length)
{
    char *at = to + size - 1;

    *at = '\0';
    for (size_t i = 0; i < length;) {
        size_t n = strnlen(names + i, length - i);

        if (n + 1 > (size_t)(at - to))
            return NULL;
        at -= n + 1;
        *at = '/';
        memcpy(at + 1, names + i, n);
        i += n + 1;
    }
    return *at ? at : "/";
}

struct seen_text {
    char in_space[NEW_MOUNT_PATH + NEW_MOUNT_NAME + 1],
        in_task[NEW_MOUNT_PATH + NEW_MOUNT_NAME + 1];
    char type[16 + 1 + NEW_MOUNT_SUBTYPE];
};

/* "fuse.sshfs" */
static void put_type(struct seen_text *text, const char *type, const char *subtype)
{
    (void)snprintf(text->type, sizeof(text->type), "%s%s%s", type, *subtype ? "." : "", subtype);
}

static struct probe_seen make_seen(struct seen_text *text, const struct new_mount_record *from,
                                   const char *type)
{
    put_type(text, type, from->subtype);
    return (struct probe_seen){
        .space = from->space,
        .in_space = from->found ? join_names(text->in_space, sizeof(text->in_space), from->path,
                                             from->length)
                                : NULL,
        .in_task = from->root != NEW_MOUNT_NO_ROOT
                       ? join_names(text->in_task, sizeof(text->in_task), from->path, from->root)
                       : NULL,
        .type = text->type,
        .source = from->source,
    };
}

int probe_report_mount(void *arg, void *data, size_t size)
{
    const struct mount_key *key = data;
    struct probe *probe = arg;
    struct mount_record record;
    struct seen_text text;
    struct probe_seen seen;
    struct probe_mount mount = {.step = key->step,
                                .dev = (uint64_t)key->generation << 32 | key->dev};

    if (size < sizeof(*key) || !probe->new_mount ||
        map_get(probe, probe->skel->maps.mounts, key, &record) < 0)
        return 0;
    mount.pid = record.pid;
    mount.magic = record.magic;
    memcpy(mount.fstype, record.fstype, sizeof(mount.fstype));
    memcpy(mount.id, record.id, sizeof(mount.id));
    if (size >= sizeof(struct new_mount_record)) {
        seen = make_seen(&text, data, mount.fstype);
        mount.seen = &seen;
    }
    return probe->new_mount(&mount, probe->new_mount_arg);
}
