/* SPDX-License-Identifier: GPL-2.0 */
/* The interface between user space and bpf/maps.bpf.c. */
#ifndef JOBIO_BPF_MAPS_H
#define JOBIO_BPF_MAPS_H

/* The hashes that user space reads completely, and the array of generations: name, key, value. */
#define MAPS(each)                                                                                 \
    each(steps, __u64, struct step_record) each(lost, __u32, struct lost_record)                   \
        each(places, struct account_key, __u32) each(caches, struct cache_key, struct cache_value) \
            each(errnos, struct errno_key, __u64)                                                  \
                each(mounts, struct mount_key, struct mount_record)                                \
                    each(lives, __u32, struct generation_record) each(chains, __u32, struct wait)  \
                        each(shares, __u32, struct share_record)                                   \
                            each(users, struct user_key, struct user_value)

#define MAPS_NUMBER(name, key, value) MAPS_##name,
enum maps_number { MAPS(MAPS_NUMBER) MAPS_COUNT };
#undef MAPS_NUMBER

enum maps_action {
    MAPS_GET,  /* key -> value */
    MAPS_PUT,  /* key, value, flags */
    MAPS_DROP, /* key */
    MAPS_WALK, /* -> n elements in map `rows`, each a key followed by its value */
    MAPS_PUSH, /* a value onto the stack `slots`, whatever `map` is */
};

/* One request and its answer. */
struct maps_call {
    __u32 map;    /* enum maps_number */
    __u32 action; /* enum maps_action */
    __u64 flags;  /* of bpf_map_update_elem() */
    __u64 n;
    __u8 key[32];
    __u8 value[128];
};

/* Bytes in a page of rows. A row never crosses a page. The loader makes as many pages as the
 * largest of these maps needs (bpf/records.h). */
#define MAPS_PAGE 4096

struct maps_page {
    __u8 bytes[MAPS_PAGE];
};

#endif
