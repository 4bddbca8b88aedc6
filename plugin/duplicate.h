/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two lines of plugstack.conf may load jobio.so, by the same path or by different ones. */
#ifndef JOBIO_PLUGIN_DUPLICATE_H
#define JOBIO_PLUGIN_DUPLICATE_H

#include <stdbool.h>

/* Another file with the name of this one was loaded into the process earlier. */
bool duplicate_of_another_file(void);

#endif
