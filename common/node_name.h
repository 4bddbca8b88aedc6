/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The name of this node. */
#ifndef JOBIO_COMMON_NODE_NAME_H
#define JOBIO_COMMON_NODE_NAME_H

/* The configured name, else (NULL) the short name of the host; malloc'd. NULL: out of memory. */
char *node_name(const char *configured);

#endif
