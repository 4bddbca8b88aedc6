/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A configuration file: [sections] of KEY = VALUE, read into a struct by a table of keys. */
#ifndef JOBIO_SETTINGS_FILE_H
#define JOBIO_SETTINGS_FILE_H

#include "settings/value.h"

/* Set the fields of `target` that the file names. On an error some may be set; the text is
 * "FILE:LINE: reason" (-EINVAL), or why the file cannot be read. */
int settings_file_read(const char *path, const struct key *keys, size_t n_keys, void *target,
                       struct error *error);

#endif
