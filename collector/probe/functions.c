/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "collector/probe/probe_impl.h"

#include <search.h>
#include <stdint.h>

struct functions {
    const struct btf *btf; /* borrowed; its strings are the keys of the table */
    struct hsearch_data table;
};

static uint32_t count_functions(const struct btf *btf)
{
    uint32_t n = 0;

    for (uint32_t id = 1; id < btf__type_cnt(btf); id++)
        n += btf_is_func(btf__type_by_id(btf, id));
    return n;
}

static int add_functions(struct functions *functions)
{
    const struct btf *btf = functions->btf;

    for (uint32_t id = 1; id < btf__type_cnt(btf); id++) {
        const struct btf_type *type = btf__type_by_id(btf, id);
        ENTRY entry = {.data = (void *)(uintptr_t)id}, *found;

        if (!btf_is_func(type))
            continue;
        entry.key = (char *)btf__name_by_offset(btf, type->name_off);
        if (!hsearch_r(entry, ENTER, &found, &functions->table))
            return -errno;
    }
    return 0;
}

struct functions *functions_create(const struct btf *btf)
{
    struct functions *functions = calloc(1, sizeof(*functions));

    if (!functions)
        return NULL;
    functions->btf = btf;
    if (!hcreate_r(count_functions(btf) / 3 * 4, &functions->table) ||
        add_functions(functions) < 0) {
        functions_destroy(functions);
        return NULL;
    }
    return functions;
}

void functions_destroy(struct functions *functions)
{
    if (!functions)
        return;
    hdestroy_r(&functions->table);
    free(functions);
}

const struct btf_type *functions_prototype(struct functions *functions, const char *name)
{
    const struct btf *btf = functions->btf;
    ENTRY entry = {.key = (char *)name}, *found;
    const struct btf_type *type;

    if (!hsearch_r(entry, FIND, &found, &functions->table))
        return NULL;
    type = btf__type_by_id(btf, (uint32_t)(uintptr_t)found->data);
    return btf__type_by_id(btf, type->type);
}
