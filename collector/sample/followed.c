/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps that are followed: the list, and their clock. */
#include "collector/sample/sampler_impl.h"

size_t followed_index(const struct sampler *sampler, uint32_t step)
{
    size_t low = 0, high = sampler->n;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (sampler->steps[mid]->step < step)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct followed *followed_find(const struct sampler *sampler, uint32_t step)
{
    size_t i = followed_index(sampler, step);

    return i < sampler->n && sampler->steps[i]->step == step ? sampler->steps[i] : NULL;
}

uint64_t followed_real_ns(const struct followed *f, uint64_t boot_ns)
{
    return f->real_ns + (boot_ns > f->started_ns ? boot_ns - f->started_ns : 0);
}
