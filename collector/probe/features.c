/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/probe/probe_impl.h"

#include <unistd.h>

#include "common/cleanup.h"

/* libbpf cannot probe helpers of fentry programs, which need a function to attach to. Raw
 * tracepoint programs have the same helpers: the kernel uses bpf_tracing_func_proto() for both. */
static bool has_helper(enum bpf_func_id helper)
{
    return libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, helper, NULL) > 0;
}

/* Returns whether the verifier allows a program to load the fourth argument of vfs_read(file, buf,
 * count, pos). */
static bool has_int_pointers(void)
{
    const struct bpf_insn program[] = {
        {.code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_0, .src_reg = BPF_REG_1, .off = 24},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
        {.code = BPF_JMP | BPF_EXIT},
    };
    LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_FENTRY);
    int fd;

    options.attach_btf_id = attach_types_get(HOOK_vfs_read);
    if (!options.attach_btf_id)
        return false;
    fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, NULL, "GPL", program, ARRAY_SIZE(program), &options);
    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

/* Returns whether the kernel has the instruction, here on the stack. */
static bool has_compare_swap(void)
{
    const struct bpf_insn program[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
        {.code = BPF_STX | BPF_MEM | BPF_DW,
         .dst_reg = BPF_REG_10,
         .src_reg = BPF_REG_0,
         .off = -8},
        {.code = BPF_STX | BPF_ATOMIC | BPF_DW,
         .dst_reg = BPF_REG_10,
         .src_reg = BPF_REG_0,
         .off = -8,
         .imm = BPF_CMPXCHG},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
        {.code = BPF_JMP | BPF_EXIT},
    };
    int fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, NULL, "GPL", program, ARRAY_SIZE(program),
                           NULL);

    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

int features_check(struct error *error)
{
    /* All kernels with BTF have this helper; an error of the test is not its absence. */
    if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_probe_read_kernel, NULL) !=
        0)
        return 0;
    return error_set(error, -EPERM,
                     "the kernel's lockdown mode 'confidentiality' forbids BPF programs to read "
                     "kernel memory (the mode 'integrity' of Secure Boot does not)");
}

void features_detect(struct kernel_features *features)
{
    features->task_btf = has_helper(BPF_FUNC_get_current_task_btf);
    features->ancestor_id = has_helper(BPF_FUNC_get_current_ancestor_cgroup_id);
    features->int_pointers = has_int_pointers();
    features->compare_swap = has_compare_swap();
    features->task_regs = features->task_btf && has_helper(BPF_FUNC_task_pt_regs);
    features->task_storage = features->task_btf && has_helper(BPF_FUNC_task_storage_get);
}

/* If this kernel lacks a type, libbpf looks for it in the modules, which takes CAP_SYS_ADMIN. It
 * does not if it is given the path of the kernel's own types. */
const struct bpf_object_open_opts *features_types(void)
{
    static const struct bpf_object_open_opts options = {
        .sz = sizeof(options), .btf_custom_path = "/sys/kernel/btf/vmlinux"};

    return access(options.btf_custom_path, R_OK) == 0 ? &options : NULL;
}
