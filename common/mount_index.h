/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An index of mounts by their key, for an array that only grows. It holds positions in the array
 * and hashes of keys, and no pointer into the array. Users choose the names of their mounts, so the
 * hash has a secret of the process.
 */
#ifndef JOBIO_COMMON_MOUNT_INDEX_H
#define JOBIO_COMMON_MOUNT_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mount_identity {
    const char *mount, *fstype, *source;
    bool private;
};
bool mount_identity_is_equal(const struct mount_identity *a, const struct mount_identity *b);

/* A zeroed struct is an empty index. */
struct mount_index {
    struct mount_slot *slots; /* owned */
    size_t room;              /* 0 or a power of two */
    size_t n;                 /* the elements [0, n) of the array are in the index */
};

/* The key of element i of the array. */
typedef struct mount_identity (*mount_identity_f)(const void *array, size_t i);

/* Add the elements [index->n, n) of the array. 0; -ENOMEM: the index holds fewer elements. */
int mount_index_extend(struct mount_index *index, const void *array, size_t n,
                       mount_identity_f key_of);
/* The first element with this key among those in the index; SIZE_MAX: none. */
size_t mount_index_find(const struct mount_index *index, const void *array, mount_identity_f key_of,
                        const struct mount_identity *key);
void mount_index_clear(struct mount_index *index);

#endif
