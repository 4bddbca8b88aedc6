/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gzip for bodies of HTTP requests. */
#ifndef JOBIO_COLLECTOR_HTTP_GZIP_H
#define JOBIO_COLLECTOR_HTTP_GZIP_H

#include <stddef.h>

/* Compress into *ret, which is malloc'd. Returns 0 or -ENOMEM. */
int gzip_compress(const void *data, size_t size, void **ret, size_t *ret_size);

#endif
