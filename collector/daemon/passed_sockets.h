/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Listening sockets that systemd passes (sd_listen_fds(3)): nobody can bind the port before. */
#ifndef JOBIO_COLLECTOR_DAEMON_PASSED_SOCKETS_H
#define JOBIO_COLLECTOR_DAEMON_PASSED_SOCKETS_H

#include <stddef.h>

#define PASSED_MAX 8

/* All 0: none. */
struct passed_sockets {
    struct passed_list {
        int fds[PASSED_MAX];
        size_t n;
    } peers, metrics; /* by FileDescriptorName= */
};

/* Take the sockets over. Those with another name are closed, with a warning. */
void passed_sockets_take(struct passed_sockets *ret);

#endif
