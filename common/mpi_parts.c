/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/mpi_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare(const struct mpi_part *part, uint32_t het, uint32_t step)
{
    if (part->het != het)
        return part->het < het ? -1 : 1;
    return (part->step > step) - (part->step < step);
}

/* The index of the step, or where to insert it. */
static size_t find(const struct mpi_parts *parts, uint32_t het, uint32_t step, bool *found)
{
    size_t low = 0, high = parts->n;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (compare(&parts->items[mid], het, step) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    *found = low < parts->n && compare(&parts->items[low], het, step) == 0;
    return low;
}

static int make_room(struct mpi_parts *parts)
{
    size_t room = parts->room ? parts->room * 2 : 4;
    struct mpi_part *grown;

    if (parts->n < parts->room)
        return 0;
    grown = reallocarray(parts->items, room, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    parts->items = grown;
    parts->room = room;
    return 0;
}

static void add(uint32_t *to, uint32_t n)
{
    *to = n > UINT32_MAX - *to ? UINT32_MAX : *to + n;
}

int mpi_parts_add(struct mpi_parts *parts, const struct mpi_part *part)
{
    bool found;
    size_t at = find(parts, part->het, part->step, &found);

    if (found) {
        add(&parts->items[at].counted, part->counted);
        add(&parts->items[at].uncounted, part->uncounted);
        return 0;
    }
    if (make_room(parts) < 0)
        return -ENOMEM;
    memmove(&parts->items[at + 1], &parts->items[at], (parts->n - at) * sizeof(*part));
    parts->items[at] = *part;
    parts->n++;
    return 0;
}

int mpi_parts_merge(struct mpi_parts *to, const struct mpi_parts *from)
{
    int r = 0;

    for (size_t i = 0; i < from->n && r == 0; i++)
        r = mpi_parts_add(to, &from->items[i]);
    add(&to->unknown, from->unknown);
    return r;
}

void mpi_parts_unite(struct mpi_parts *parts, uint32_t het, uint32_t step)
{
    bool found;
    size_t at = find(parts, het, step, &found);
    struct mpi_part *part;

    if (!found)
        return;
    part = &parts->items[at];
    part->uncounted = !part->counted;
    part->counted = !part->uncounted;
}

uint64_t mpi_parts_missing(const struct mpi_parts *parts)
{
    uint64_t sum = 0;
    bool counted = false;

    for (size_t i = 0; i < parts->n; i++) {
        sum += parts->items[i].counted ? parts->items[i].uncounted : 0;
        counted |= parts->items[i].counted;
    }
    return counted ? sum + parts->unknown : 0;
}

void mpi_parts_clear(struct mpi_parts *parts)
{
    free(parts->items);
    *parts = (struct mpi_parts){0};
}
