/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The macros of system headers whose form cppcheck cannot guess. Only cppcheck reads this file. */
#define SEC(name)
#define LIBBPF_OPTS(type, name, ...) struct type name = {0}
#define SPANK_PLUGIN(name, version)
#define LIST_HEAD(name, type)  \
    struct name {              \
        struct type *lh_first; \
    }
#define LIST_FOREACH(var, head, field) \
    for ((var) = (head)->lh_first; (var); (var) = (var)->field.le_next)
#define TAILQ_FOREACH_REVERSE(var, head, headname, field) \
    for ((var) = (head)->tqh_last; (var); (var) = (var)->field.tqe_prev)
