/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The arguments of jobio.so in plugstack.conf. */
#ifndef JOBIO_PLUGIN_SETTINGS_H
#define JOBIO_PLUGIN_SETTINGS_H

#include <sys/un.h>

#define PLUGIN_PATIENCE_MAX 60
#define PLUGIN_SOCKET_MAX sizeof(((struct sockaddr_un *)0)->sun_path)

struct settings {
    char socket[PLUGIN_SOCKET_MAX];
    char runtime[PLUGIN_SOCKET_MAX]; /* the directory of the socket */
    const char *summary;             /* "off", "short" or "full"; NULL: as jobiod is configured */
    unsigned patience;               /* factor of all timeouts */
};

/* Parse the arguments; `node` replaces %n in paths (NULL: %n stays). An argument that is unknown or
 * has a bad value is ignored; `complain` is called with the reason. */
void settings_read(struct settings *settings, int ac, char *const *av, const char *node,
                   void (*complain)(const char *word, const char *reason));

/* Returns "off", "short" or "full" as a constant; NULL for another word or NULL. */
const char *summary_word(const char *text);

/* The name of this node, from the environment that slurmd sets for slurmstepd and the prolog (users
 * cannot change it). Without it: the host name up to the first dot. */
const char *settings_node_name(void);

#endif
