/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the plugin says of a step (doc/protocol.md): as a message `tag`, and as a step file of the
 * same keys that outlives jobiod.
 */
#ifndef JOBIO_COLLECTOR_TRACK_TAG_H
#define JOBIO_COLLECTOR_TRACK_TAG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/message.h"

struct tag {
    uint32_t jobid, restart, het, step, uid;
    char *cgroup; /* owned: the path below the hierarchy's mount */
    uint64_t cgroup_id;
    unsigned level;
    int version; /* of the cgroup hierarchy: 2, or 1 for the freezer's */
    uint64_t tagged_at_ns, tagged_boot_ns;
    uint32_t within_ms; /* so long from then on the plugin keeps the user's code waiting */
    uint32_t nodes;     /* 0: not known */
    uint32_t array_job, array_task; /* array_job 0: a task of no array, or not said */
    char *node;                     /* owned, NULL: not said */
    char *name;                     /* owned, NULL: not said; untrusted */
    bool direct;                    /* the plugin put the cgroup into the map itself */
};

/* -EINVAL with text: a number is missing or bad, or the path is none. */
int tag_parse(const struct message *m, struct tag *ret, struct error *error);
void tag_clear(struct tag *tag);

/* Read a file of KEY=VALUE lines into a message of that type (so that the same parser reads both).
 * -EBADMSG: it is no such file. */
int tag_read_file(int dir_fd, const char *name, const char *type, struct message *ret,
                  struct error *error);

#define TAG_FILE_SIZE 64
/* "<jobid>.<restart>.<het>.<step>" */
char *tag_file_name(char buf[TAG_FILE_SIZE], uint32_t jobid, uint32_t restart, uint32_t het,
                    uint32_t step);
/* True if that is the name of a step file (not its .end, not a temporary one). */
bool tag_is_file_name(const char *name);
/* When (CLOCK_BOOTTIME) the step ended, by its .end file; 0: it has none. */
uint64_t tag_ended_boot(int dir_fd, const char *name);
/* Remove the step file and its .end. */
void tag_remove_files(int dir_fd, const char *name);

#endif
