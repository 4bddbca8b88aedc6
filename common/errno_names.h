/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef JOBIO_COMMON_ERRNO_NAMES_H
#define JOBIO_COMMON_ERRNO_NAMES_H

/* The name of an error code ("ENOENT"); NULL: it has none. As strerrorname_np() of glibc 2.32. */
const char *errno_name(int code);

#endif
