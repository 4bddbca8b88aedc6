/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/http/gzip.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "common/cleanup.h"

int gzip_compress(const void *data, size_t size, void **ret, size_t *ret_size)
{
    z_stream z = {.next_in = (unsigned char *)data, .avail_in = (unsigned)size};
    _free_ unsigned char *out = NULL;
    uLong bound;

    /* A window of 2^15 bytes; adding 16 selects the gzip header. */
    if (deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return -ENOMEM;
    bound = deflateBound(&z, z.avail_in);
    out = malloc(bound);
    if (!out) {
        (void)deflateEnd(&z);
        return -ENOMEM;
    }
    z.next_out = out;
    z.avail_out = (unsigned)bound;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END) {
        (void)deflateEnd(&z);
        return -ENOMEM;
    }
    *ret_size = z.total_out;
    (void)deflateEnd(&z);
    *ret = TAKE_PTR(out);
    return 0;
}
