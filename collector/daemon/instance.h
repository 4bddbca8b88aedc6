/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An instance of jobiod: its directories and its lock. */
#ifndef JOBIO_COLLECTOR_DAEMON_INSTANCE_H
#define JOBIO_COLLECTOR_DAEMON_INSTANCE_H

#include "collector/store/store.h"
#include "common/error.h"

/* The directory of BPF maps of a runtime directory, malloc'd, so that several jobiod can run on one
 * kernel. NULL: out of memory. */
char *instance_pin_dir(const char *runtime_dir);
/* Returns the file descriptor of the lock, which ends with the process. -EBUSY: another jobiod
 * serves this runtime directory. */
int instance_lock(const char *runtime_dir, struct error *error);
/* The same after the directories and their parents were made. */
int instance_claim(const char *runtime_dir, const char *state_dir, struct error *error);
/* Open the store. An unusable one is left as it is, and jobiod does not start: -ENOTRECOVERABLE.
 * Nothing is lost until it is usable again: the maps exist already, and plugins tag steps without
 * jobiod. */
int instance_open_store(struct store **ret, const struct store_options *options,
                        struct error *error);

#endif
