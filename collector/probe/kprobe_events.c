/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kprobes made through tracefs: only these allow a kretprobe with room for many sleeping tasks. */
#include "config.h"

#include "collector/probe/probe_impl.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "common/cleanup.h"

/* Maximum number of tasks in a function at a time; each takes about 100 bytes. */
#define MAXACTIVE 4096

static const char *const tracefs[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

/* The owner in an event's name: a hash of the pin directory, or the process id if nothing is
 * pinned. */
static uint32_t hash_path(const char *path)
{
    uint32_t hash = 2166136261u;

    for (; *path; path++)
        hash = (hash ^ (unsigned char)*path) * 16777619u;
    return hash;
}

static uint32_t owner(const struct probe *probe)
{
    return probe->directory ? hash_path(probe->directory) : (uint32_t)getpid();
}

static void event_name(const struct probe *probe, size_t hook, int side, char buf[64])
{
    (void)snprintf(buf, 64, "%s_%.40s_%08" PRIx32, kprobe_prefix(side), probe->hooks[hook].function,
                   owner(probe));
}

static int write_event(const char *line)
{
    for (size_t i = 0; i < ARRAY_SIZE(tracefs); i++) {
        char path[64];
        _close_ int fd = -1;

        (void)snprintf(path, sizeof(path), "%s/kprobe_events", tracefs[i]);
        fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
        if (fd >= 0)
            return write(fd, line, strlen(line)) < 0 ? -errno : 0;
    }
    return -ENOENT;
}

int kprobe_events_make(const struct probe *probe, size_t hook, int side, char name[64])
{
    char line[256];
    int r;

    event_name(probe, hook, side, name);
    if (side == SIDE_LEAVE)
        (void)snprintf(line, sizeof(line), "r%d:jobio/%s %s", MAXACTIVE, name,
                       probe->hooks[hook].function);
    else
        (void)snprintf(line, sizeof(line), "p:jobio/%s %s", name, probe->hooks[hook].function);
    r = write_event(line);
    return r == -EEXIST ? 0 : r;
}

void kprobe_events_remove(const struct probe *probe, size_t hook, int side)
{
    char name[64], line[80];

    event_name(probe, hook, side, name);
    (void)snprintf(line, sizeof(line), "-:jobio/%s", name);
    (void)write_event(line);
}

static FILE *open_table(const char *name)
{
    FILE *file = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(tracefs) && !file; i++) {
        char path[64];

        (void)snprintf(path, sizeof(path), "%s/%s", tracefs[i], name);
        file = fopen(path, "re");
    }
    return file;
}

/* A line is "p:jobio/NAME function". An event that is in use is not removed. */
void kprobe_events_remove_all(const char *directory)
{
    _fclose_ FILE *file = open_table("kprobe_events");
    char line[256], name[128], remove[144], suffix[16];
    size_t length;

    (void)snprintf(suffix, sizeof(suffix), "_%08" PRIx32, hash_path(directory));
    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "%*[^:]:jobio/%127s", name) != 1)
            continue;
        length = strlen(name);
        if (length < strlen(suffix) || strcmp(name + length - strlen(suffix), suffix) != 0)
            continue;
        (void)snprintf(remove, sizeof(remove), "-:jobio/%s", name);
        (void)write_event(remove);
    }
}

void kprobe_events_read_missed(struct probe *probe)
{
    _fclose_ FILE *file = open_table("kprobe_profile");
    char line[256], name[128], wanted[64];
    uint64_t missed;

    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "%127s %*u %" SCNu64, name, &missed) != 2 || !missed)
            continue;
        for (size_t i = 0; i < HOOK_COUNT; i++)
            for (int side = 0; side < SIDE_COUNT && probe->resolved[i]; side++) {
                event_name(probe, i, side, wanted);
                if (!strcmp(name, wanted))
                    probe->hooks[i].missed += missed;
            }
    }
}

bool kprobe_events_exist(void)
{
    char path[64];

    for (size_t i = 0; i < ARRAY_SIZE(tracefs); i++) {
        (void)snprintf(path, sizeof(path), "%s/kprobe_events", tracefs[i]);
        if (access(path, W_OK) == 0)
            return true;
    }
    return false;
}
