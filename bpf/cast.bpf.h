/* SPDX-License-Identifier: GPL-2.0 */
/* OBJECT_READ() by bpf_rdonly_cast(), for BPF objects that are only loaded on kernels which have it
 * (6.2): a member costs 7 instructions instead of 86. Include it before bpf/current.bpf.h. */
#ifndef JOBIO_BPF_CAST_H
#define JOBIO_BPF_CAST_H

extern void *bpf_rdonly_cast(const void *object, __u32 type) __ksym;

#define OBJECT_CAST(object) \
    ((typeof(object))bpf_rdonly_cast(object, bpf_core_type_id_kernel(typeof(*(object)))))
#define OBJECT_READ(object, ...) \
    (OBJECT_CAST(object) ARROW(__VA_ARGS__, ARROW_3, ARROW_2, ARROW_1)(__VA_ARGS__))

#endif
