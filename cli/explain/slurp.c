/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/explain/figures.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"

int figures_slurp(int dir, const char *path, char **ret, size_t *size)
{
    _close_ int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    _free_ char *text = fd < 0 ? NULL : malloc(FIGURES_SLURP_MAX + 1);
    size_t at = 0;
    ssize_t n = 1;

    if (fd < 0)
        return -errno;
    if (!text)
        return -ENOMEM;
    while (n > 0 && at < FIGURES_SLURP_MAX) {
        n = read(fd, text + at, FIGURES_SLURP_MAX - at);
        if (n < 0)
            return -errno;
        at += (size_t)n;
    }
    text[at] = '\0';
    if (size)
        *size = at;
    *ret = TAKE_PTR(text);
    return 0;
}
