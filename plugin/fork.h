/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef JOBIO_PLUGIN_FORK_H
#define JOBIO_PLUGIN_FORK_H

#include <sys/types.h>

/* Like fork(), but without atfork handlers: those of slurmstepd take the locks of its log, which
 * another thread may hold. The child may only make system calls. Returns -1 and sets errno. */
pid_t fork_without_handlers(void);

#endif
