/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A real munged with a key, a socket and a directory of its own. */
#ifndef JOBIO_TESTS_UNIT_MUNGED_H
#define JOBIO_TESTS_UNIT_MUNGED_H

#include <stdbool.h>

struct munged;

/* Returns false if there is no munged on this machine. */
bool munged_is_there(void);
/* It is ready when this returns. Fails the test if it does not start. */
struct munged *munged_start(void);
/* Restart it with this origin (munged --origin), which is borrowed; NULL: munged's choice. */
void munged_set_origin(struct munged *munged, const char *origin);
const char *munged_socket(const struct munged *munged);
void munged_stop(struct munged *munged); /* accepts NULL */

#endif
