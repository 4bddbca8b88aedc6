/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the plugin reports about a step (doc/protocol.md): as a message `tag`, and as a step file
 * with the same keys, which outlives jobiod.
 */
#ifndef JOBIO_COLLECTOR_TRACK_TAG_H
#define JOBIO_COLLECTOR_TRACK_TAG_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/message.h"
#include "common/trace.h"

#define TAG_PLUGIN_SIZE 32

struct tag {
    uint32_t jobid, restart, het, step, uid;
    char *cgroup; /* owned: the path below the hierarchy's mount */
    uint64_t cgroup_id;
    unsigned level;
    int version; /* of the cgroup hierarchy: 2, or 1 for the freezer's */
    uint64_t tagged_at_ns, tagged_boot_ns;
    uint32_t within_ms;             /* how long the plugin delays the user's code */
    uint32_t nodes;                 /* 0: not known */
    uint32_t array_job, array_task; /* array_job 0: not a task of an array, or not known */
    char *node;                     /* owned, NULL: not reported */
    char *name;                     /* owned, NULL: not reported; untrusted */
    bool direct;                    /* the plugin put the cgroup into the map itself */
    bool mpi;                       /* the user wants MPI-IO to be counted */
    bool stacks;                    /* the user wants to know which code waits */
    bool trace;                     /* the user wants a trace */
    enum trace_of trace_of;         /* of what */
    bool trace_paths;               /* and with the paths of opens */
    char plugin[TAG_PLUGIN_SIZE];   /* the plugin's version; "": not reported */
    char *caller; /* owned, NULL: not reported; TRACEPARENT of the environment, untrusted */
};

/* -EINVAL with text: a number is missing or bad, or the path is invalid. */
int tag_parse(const struct message *m, struct tag *ret, struct error *error);
void tag_clear(struct tag *tag);

/* Read a file of KEY=VALUE lines into a message of that type (so that the same parser reads both).
 * -EBADMSG: it is not such a file. */
int tag_read_file(int dir_fd, const char *name, const char *type, struct message *ret,
                  struct error *error);

#define TAG_FILE_SIZE 64
/* "<jobid>.<restart>.<het>.<step>" */
char *tag_file_name(char buf[TAG_FILE_SIZE], uint32_t jobid, uint32_t restart, uint32_t het,
                    uint32_t step);
/* The name is that of a step file, not of an .end or temporary file. */
bool tag_is_file_name(const char *name);
/* When (CLOCK_BOOTTIME) the step ended, from its .end file; *ret 0: there is none. < 0: the file
 * cannot be read now (-ENOMEM, -EMFILE, -EIO). */
int tag_ended_boot(int dir_fd, const char *name, uint64_t *ret, struct error *error);
/* Read a step file; *ended_boot is as of tag_ended_boot(). */
int tag_read_step(int dir_fd, const char *name, struct tag *ret, uint64_t *ended_boot,
                  struct error *error);
/* Rename an invalid file to NAME.bad, so that it can be examined. */
void tag_reject_file(int dir_fd, const char *name);
/* A stream over the directory from its start; NULL with errno. closedir() leaves dir_fd open. */
DIR *tag_open_dir(int dir_fd);
/* Remove the step file and its .end file. */
void tag_remove_files(int dir_fd, const char *name);

#endif
