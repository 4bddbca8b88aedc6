/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/probe/probe_impl.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void set_constants(struct jobio_bpf *skel, const struct probe *probe)
{
    skel->rodata->features = probe->features;
    skel->rodata->devtmpfs_dev = probe->devtmpfs_dev;
    skel->rodata->page_size = sysconf(_SC_PAGESIZE);
    memcpy((void *)skel->rodata->share_limits, probe->share_limits, sizeof(probe->share_limits));
}

struct jobio_bpf *programs_open(const struct probe *probe)
{
    struct jobio_bpf *skel = jobio_bpf__open_opts(features_types());
    int r;

    if (!skel)
        return NULL;
    set_constants(skel, probe);
    (void)bpf_program__set_autoload(probe->features.compare_swap
                                        ? skel->progs.leave_do_filp_open
                                        : skel->progs.leave_do_filp_open_swap,
                                    false);
    r = maps_share(probe, skel->obj);
    if (r == 0)
        return skel;
    jobio_bpf__destroy(skel);
    errno = -r;
    return NULL;
}

/* Unmap the pages of the executable that only the load has read: they count as resident. */
static void unmap_pages(const void *data, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), skip = -(uintptr_t)data & (page - 1);

    if (size > skip)
        (void)madvise((char *)data + skip, (size - skip) & ~(page - 1), MADV_DONTNEED);
}

void programs_close(struct probe *probe)
{
    const void *data;
    size_t size;

    if (!probe->programs)
        return;
    data = probe->programs->skeleton->data;
    size = probe->programs->skeleton->data_sz;
    jobio_bpf__destroy(probe->programs);
    probe->programs = NULL;
    unmap_pages(data, size);
}
