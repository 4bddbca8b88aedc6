/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "collector/probe/probe_impl.h"

#include <search.h>
#include <stdint.h>
#include <string.h>

#include "common/cleanup.h"

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

/* Functions that were renamed, with the same parameters. */
static const struct {
    const char *from, *to;
} renamed[] = {
    {"do_filp_open", "do_file_open"},          /* seen in 7.2 */
    {"__kernel_write_iter", "__kernel_write"}, /* which calls it if both exist */
    {"do_getxattr", "getxattr"},               /* static, before 6.1 */
    {"do_setxattr", "setxattr"},
    {"vfs_utimes", "utimes_common"},                       /* static, before 5.9 */
    {"page_cache_async_ra", "page_cache_async_readahead"}, /* before 5.10, like the next one */
    {"__kernel_read", "kernel_read"},
    {"path_parentat", "__filename_parentat"}, /* seen in 7.2, like those below */
    {"do_mkdirat", "filename_mkdirat"},
    {"do_rmdir", "filename_rmdir"},
    {"do_unlinkat", "filename_unlinkat"},
    {"do_renameat2", "filename_renameat2"},
    {"do_linkat", "filename_linkat"},
    {"do_symlinkat", "filename_symlinkat"},
    {"path_getxattr", "path_getxattrat"},
    {"io_cqring_event_overflow", "io_cqring_add_overflow"},
    {"path_setxattr", "path_setxattrat"},
    {"io_uring_submit_req", "io_uring_submit_sqe"}, /* before 6.3 */
    {"cgroup_exit", "cgroup_task_exit"},            /* seen in 7.2 */
};

static const struct btf_type *skip_typedefs(const struct btf *btf, uint32_t id)
{
    const struct btf_type *type = btf__type_by_id(btf, id);

    while (type && (btf_is_typedef(type) || btf_is_mod(type)))
        type = btf__type_by_id(btf, type->type);
    return type;
}

/* Returns the type of a function, 0 if the kernel has none of this name. */
static uint32_t find_function(struct functions *functions, const char *name)
{
    ENTRY entry = {.key = (char *)name}, *found;

    return hsearch_r(entry, FIND, &found, &functions->table) ? (uint32_t)(uintptr_t)found->data : 0;
}

static const struct btf_type *prototype_of(const struct btf *btf, uint32_t function)
{
    return function ? btf__type_by_id(btf, btf__type_by_id(btf, function)->type) : NULL;
}

bool functions_have(struct functions *functions, const char *name)
{
    return find_function(functions, name);
}

/* The type of the programs of a tracepoint, a pointer to a function without names. */
static const struct btf_type *find_unnamed(const struct btf *btf, const char *name)
{
    int id = btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF);
    const struct btf_type *type = id < 0 ? NULL : skip_typedefs(btf, id);

    return type && btf_is_ptr(type) ? btf__type_by_id(btf, type->type) : NULL;
}

/* Parameter names of a tracepoint are in the function that calls the programs (since 5.10); its
 * first parameter is not passed to them. */
static int find_named(struct functions *functions, const char *name, bool tracepoint,
                      struct target *ret)
{
    char function[128];
    uint32_t type;

    (void)snprintf(function, sizeof(function), "%s%s", tracepoint ? "__traceiter_" : "", name);
    type = find_function(functions, function);
    *ret = (struct target){.name = name,
                           .type = tracepoint ? 0 : type,
                           .params = prototype_of(functions->btf, type),
                           .skip = tracepoint};
    if (tracepoint && !ret->params) {
        (void)snprintf(function, sizeof(function), "btf_trace_%s", name);
        ret->params = find_unnamed(functions->btf, function);
    }
    return ret->params ? 0 : -ENOENT;
}

int target_find(struct functions *functions, const char *name, bool tracepoint, struct target *ret)
{
    int r = find_named(functions, name, tracepoint, ret);

    for (size_t i = 0; i < ARRAY_SIZE(renamed) && r < 0; i++)
        if (!strcmp(name, renamed[i].from))
            r = find_named(functions, renamed[i].to, tracepoint, ret);
    return r;
}

/* Returns whether the verifier lets a program load a parameter of this type: not a pointer to a
 * struct without a definition, as that of some system calls on 5.10. */
static bool is_loadable(const struct btf *btf, uint32_t id)
{
    const struct btf_type *type = skip_typedefs(btf, id);

    if (type && btf_is_ptr(type))
        type = skip_typedefs(btf, type->type);
    return !type || !btf_is_fwd(type);
}

/* The name of a parameter. If the kernel does not tell it, that of the struct it points to: "page"
 * of struct page *page. */
static const char *parameter_name(const struct btf *btf, const struct btf_param *param)
{
    const char *name = btf__name_by_offset(btf, param->name_off);
    const struct btf_type *type = skip_typedefs(btf, param->type);

    if (*name || !type || !btf_is_ptr(type))
        return name;
    type = skip_typedefs(btf, type->type);
    return type ? btf__name_by_offset(btf, type->name_off) : "";
}

static int find_parameter(const struct btf *btf, const struct target *target, const char *name,
                          bool loadable)
{
    const struct btf_param *params = btf_params(target->params);

    for (int i = target->skip; i < btf_vlen(target->params) && *name; i++)
        if (!strcmp(parameter_name(btf, &params[i]), name))
            return is_loadable(btf, params[i].type) == loadable ? i - target->skip : -ENOENT;
    return -ENOENT;
}

int target_parameter(const struct btf *btf, const struct target *target, const char *name)
{
    return find_parameter(btf, target, name, true);
}

int target_opaque(const struct btf *btf, const struct target *target, const char *name)
{
    return find_parameter(btf, target, name, false);
}

int target_result(const struct btf *btf, const struct target *target)
{
    const struct btf_type *type = skip_typedefs(btf, target->params->type);

    if (!type)
        return -EINVAL;
    if (btf_is_ptr(type))
        return RETURN_POINTER;
    return type->size == 8 ? RETURN_LONG : RETURN_INT;
}
