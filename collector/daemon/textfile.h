/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file for the textfile collector of node_exporter, written on a thread of its own. */
#ifndef JOBIO_COLLECTOR_DAEMON_TEXTFILE_H
#define JOBIO_COLLECTOR_DAEMON_TEXTFILE_H

#include <stdint.h>
#include <systemd/sd-event.h>

#include "common/error.h"

struct textfile;

/* The path must outlive it. */
int textfile_create(struct textfile **ret, sd_event *loop, const char *path, struct error *error);
void textfile_destroy(struct textfile *file); /* accepts NULL */

/* Replace the contents; takes ownership of the text. Failures are logged and counted. */
void textfile_write(struct textfile *file, char *text);
void textfile_remove(struct textfile *file);
/* Log and count a failure to make the text. */
void textfile_fail(struct textfile *file, const char *why);

struct textfile_stats {
    uint64_t writes, failures;
    char error[256]; /* of the last write; "": it succeeded */
};
void textfile_stats(const struct textfile *file, struct textfile_stats *ret); /* NULL: all 0 */

#endif
