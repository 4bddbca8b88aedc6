/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "common/mount_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

struct mount_slot {
    uint32_t hash;
    uint32_t at; /* position + 1; 0: the slot is free */
};

bool mount_identity_is_equal(const struct mount_identity *a, const struct mount_identity *b)
{
    return a->private == b->private && !strcmp(a->mount, b->mount) &&
           !strcmp(a->fstype, b->fstype) && !strcmp(a->source, b->source);
}

/* 16 random bytes that the kernel gives to each process. */
static void get_secret(uint64_t secret[2])
{
    const void *random = (const void *)getauxval(AT_RANDOM);

    secret[0] = 0x9e3779b97f4a7c15;
    secret[1] = 0xd1b54a32d192ed03;
    if (random)
        memcpy(secret, random, 2 * sizeof(*secret));
    secret[1] |= 1;
}

static uint64_t mix(uint64_t hash, uint64_t word, const uint64_t secret[2])
{
    unsigned __int128 product = (unsigned __int128)(hash ^ word ^ secret[0]) * secret[1];

    return (uint64_t)(product >> 64) ^ (uint64_t)product;
}

static uint64_t mix_text(uint64_t hash, const char *text, const uint64_t secret[2])
{
    size_t left = strlen(text);

    hash = mix(hash, left, secret);
    while (left) {
        size_t n = left < sizeof(uint64_t) ? left : sizeof(uint64_t);
        uint64_t word = 0;

        memcpy(&word, text, n);
        hash = mix(hash, word, secret);
        text += n;
        left -= n;
    }
    return hash;
}

static uint32_t hash_key(const struct mount_identity *key)
{
    uint64_t secret[2], hash;

    get_secret(secret);
    hash = mix_text(key->private, key->mount, secret);
    hash = mix_text(hash, key->fstype, secret);
    hash = mix_text(hash, key->source, secret);
    return (uint32_t)(hash ^ hash >> 32);
}

static void put(struct mount_index *index, struct mount_slot slot)
{
    size_t i = slot.hash & (index->room - 1);

    while (index->slots[i].at)
        i = (i + 1) & (index->room - 1);
    index->slots[i] = slot;
}

/* At most half of the slots are used. */
static int reserve(struct mount_index *index, size_t n)
{
    struct mount_index grown = {.room = index->room ? index->room : 64, .n = index->n};

    if (n > UINT32_MAX / 4)
        return -ENOMEM;
    while (grown.room < n * 2)
        grown.room *= 2;
    if (grown.room == index->room)
        return 0;
    grown.slots = calloc(grown.room, sizeof(*grown.slots));
    if (!grown.slots)
        return -ENOMEM;
    for (size_t i = 0; i < index->room; i++)
        if (index->slots[i].at)
            put(&grown, index->slots[i]);
    free(index->slots);
    *index = grown;
    return 0;
}

size_t mount_index_find(const struct mount_index *index, const void *array, mount_identity_f key_of,
                        const struct mount_identity *key)
{
    uint32_t hash = hash_key(key);

    if (!index->room)
        return SIZE_MAX;
    for (size_t i = hash & (index->room - 1); index->slots[i].at; i = (i + 1) & (index->room - 1)) {
        size_t at = index->slots[i].at - 1;
        struct mount_identity have;

        if (index->slots[i].hash != hash)
            continue;
        have = key_of(array, at);
        if (mount_identity_is_equal(&have, key))
            return at;
    }
    return SIZE_MAX;
}

int mount_index_extend(struct mount_index *index, const void *array, size_t n,
                       mount_identity_f key_of)
{
    if (reserve(index, n) < 0)
        return -ENOMEM;
    for (; index->n < n; index->n++) {
        struct mount_identity key = key_of(array, index->n);

        /* Of several elements with this key, the first is the one to find. */
        if (mount_index_find(index, array, key_of, &key) == SIZE_MAX)
            put(index, (struct mount_slot){hash_key(&key), (uint32_t)index->n + 1});
    }
    return 0;
}

void mount_index_clear(struct mount_index *index)
{
    free(index->slots);
    *index = (struct mount_index){0};
}
