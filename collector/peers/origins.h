/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares the origin of a credential, the address of the host whose munged made it, with the
 * addresses of the node that claims to have made it. Names are resolved on threads and remembered.
 * Everything else is on the caller's loop, which never waits.
 */
#ifndef JOBIO_COLLECTOR_PEERS_ORIGINS_H
#define JOBIO_COLLECTOR_PEERS_ORIGINS_H

#include <netinet/in.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "common/error.h"

struct origins;

enum origins_mode {
    /* Accept everything. */
    ORIGINS_NO,
    /* Accept another address, until an address of this node has been seen once: sites on which
     * munged and the name service use different addresses never get there. */
    ORIGINS_AUTO,
    /* Accept only addresses of the node. */
    ORIGINS_YES,
};

/* Returns 0 or -errno. */
int origins_create(struct origins **ret, sd_event *loop, enum origins_mode mode,
                   struct error *error);
/* Calls `done` of all checks that still wait, with -ECANCELED. Does not wait for the name service.
 * Accepts NULL. */
void origins_destroy(struct origins *origins);

/* result: 0: accept the credential. -EREMOTE: its origin is not an address of the node. -EAGAIN:
 * the name cannot be resolved now. -ENOMEM, -ECANCELED. Called on the loop, possibly inside
 * origins_check(). */
typedef void (*origins_done_f)(int result, const struct error *error, void *arg);
/* Check that `origin` is an address of the node. If both are in 127.0.0.0/8, it is. */
void origins_check(struct origins *origins, const char *node, struct in_addr origin,
                   origins_done_f done, void *arg);

/* How many credentials were accepted although their origin is not an address of the node. */
uint64_t origins_unconfirmed(const struct origins *origins);

#endif
