/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/proc_stat.h"

#include <errno.h>
#include <string.h>

#include "common/numbers.h"

const char *proc_stat_field(const char *line, unsigned number)
{
    const char *at = strrchr(line, ')');

    for (unsigned n = 2; at && n < number; n++)
        at = strchr(at + 1, ' ');
    return at ? at + 1 : NULL;
}

int proc_stat_number(const char *line, unsigned number, uint64_t *ret)
{
    const char *field = proc_stat_field(line, number);

    return field && number_parse_prefix(&field, ret) == 0 ? 0 : -EINVAL;
}
