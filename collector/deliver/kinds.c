/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/deliver/kinds.h"

#include <string.h>

#include "common/cleanup.h"

#define REFERENCE(name) &name##_kind,
static const struct target_kind *const kinds[] = {TARGET_KINDS(REFERENCE)};

const struct target_kind *target_kind_named(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}

const struct target_kind *target_kind_of_url(const char *url)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (kinds[i]->claims && kinds[i]->claims(url))
            return kinds[i];
    return NULL;
}
