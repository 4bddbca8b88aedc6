/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plugin/nodes.h"

#include <errno.h>
#include <slurm/slurm.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Weak: a program that loads the plugin may lack them. */
#pragma weak slurm_hostlist_create
#pragma weak slurm_hostlist_shift
#pragma weak slurm_hostlist_destroy

/* Slurm 22.05 to 26.05 set one of the variables or both. */
static const char *get_job_hostlist(void)
{
    const char *list = getenv("SLURM_JOB_NODELIST");

    return list && *list ? list : getenv("SLURM_NODELIST");
}

static bool append(char *list, size_t size, size_t *length, const char *name)
{
    size_t n = strlen(name);

    if (*length + n + 2 > size)
        return false;
    if (*length)
        list[(*length)++] = ',';
    memcpy(list + *length, name, n + 1);
    *length += n;
    return true;
}

static bool has_lists(void)
{
    return slurm_hostlist_create && slurm_hostlist_shift && slurm_hostlist_destroy;
}

/* Slurm writes brackets only at the end of a name. It also reads others, and then allocates each
 * name: a user's list of 15 bytes, "n[1-60000]x[0],", takes 5 MB and 18 ms of processor time. */
static bool is_compact(const char *list)
{
    const char *end = strchr(list, ']');

    while (end && (end[1] == ',' || !end[1]))
        end = strchr(end + 1, ']');
    return !end;
}

/* The type of a hostlist differs between releases. */
static int expand(const char *from, char *list, size_t size, size_t *first)
{
    __auto_type hosts = has_lists() && is_compact(from) ? slurm_hostlist_create(from) : NULL;
    size_t length = 0;
    bool fits = true;
    char *name;

    if (!hosts)
        return -ENOENT;
    *first = 0;
    /* Stop at the first name that does not fit: a user's list may have billions. */
    while (fits && (name = slurm_hostlist_shift(hosts))) {
        fits = append(list, size, &length, name);
        if (!*first)
            *first = length;
        free(name);
    }
    slurm_hostlist_destroy(hosts);
    if (!length)
        return -ENOENT;
    return fits ? 0 : -EMSGSIZE;
}

int nodes_expand(const char *from, char ret[NODES_MAX])
{
    size_t first;

    return expand(from, ret, NODES_MAX, &first);
}

int nodes_put(struct message *m, const char *node, const char *from)
{
    static char list[NODES_MAX], gather[256];
    size_t first;
    int r;

    (void)message_put(m, "NODE", node);
    if (!from)
        from = get_job_hostlist();
    if (!from)
        return -ENOENT;
    r = expand(from, list, sizeof(list), &first);
    if (r == -ENOENT || first >= sizeof(gather))
        return -ENOENT;
    memcpy(gather, list, first);
    gather[first] = '\0';
    (void)message_put(m, "GATHER", gather);
    if (r == 0)
        r = message_put(m, "NODELIST", list);
    return r;
}
