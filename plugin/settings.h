/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words behind jobio.so in plugstack.conf. */
#ifndef JOBIO_PLUGIN_SETTINGS_H
#define JOBIO_PLUGIN_SETTINGS_H

#include <sys/un.h>

#define PLUGIN_PATIENCE_MAX 60
#define PLUGIN_SOCKET_MAX sizeof(((struct sockaddr_un *)0)->sun_path)

struct settings {
    char socket[PLUGIN_SOCKET_MAX];
    char runtime[PLUGIN_SOCKET_MAX]; /* the directory of the socket */
    const char *summary;             /* "off", "short" or "full": the default of a job */
    unsigned patience;               /* how many times as long as usual jobiod is waited for */
};

/* Read the words; `node` stands for %n in paths (NULL: %n stays). A word that is unknown or has a
 * bad value goes to `complain` with the reason and is left out. */
void settings_read(struct settings *settings, int ac, char *const *av, const char *node,
                   void (*complain)(const char *word, const char *reason));

/* "off", "short" or "full" as a constant, NULL for another word (or none). */
const char *summary_word(const char *text);

/* The name of this node, from the environment that slurmd (never the user) gives to slurmstepd and
 * to the prolog, or else the host's name up to the first dot. */
const char *settings_node_name(void);

#endif
