/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/daemon/passed_sockets.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "common/log.h"

static void take(struct passed_sockets *sockets, int fd, const char *name)
{
    struct passed_list *list = strcmp(name, "peers") == 0     ? &sockets->peers
                               : strcmp(name, "metrics") == 0 ? &sockets->metrics
                                                              : NULL;

    if (list && list->n < PASSED_MAX && sd_is_socket(fd, AF_UNSPEC, SOCK_STREAM, 1) > 0) {
        list->fds[list->n++] = fd;
        return;
    }
    log_warning("the socket \"%s\" of systemd is not used: name it \"peers\" or \"metrics\"", name);
    (void)close(fd);
}

void passed_sockets_take(struct passed_sockets *ret)
{
    char **names = NULL;
    int n = sd_listen_fds_with_names(1, &names);

    for (int i = 0; i < n; i++) {
        take(ret, SD_LISTEN_FDS_START + i, names[i]);
        free(names[i]);
    }
    free(names);
}
