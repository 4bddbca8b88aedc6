/* SPDX-License-Identifier: GPL-2.0 */
/*
 * File systems that hold no data (kernel interfaces and internal file systems), by s_magic. This is
 * the only such table. tmpfs (0x01021994) and ramfs are not in it, because they hold data. devtmpfs
 * has the magic of tmpfs, so it is excluded by its device number.
 */
#ifndef JOBIO_BPF_PSEUDO_H
#define JOBIO_BPF_PSEUDO_H

#define PSEUDO_MAGICS(X)                               \
    X(0x00009fa0) /* proc */                           \
    X(0x62656572) /* sysfs */                          \
    X(0x0027e0eb) /* cgroup */                         \
    X(0x63677270) /* cgroup2 */                        \
    X(0x64626720) /* debugfs */                        \
    X(0x74726163) /* tracefs */                        \
    X(0x73636673) /* securityfs */                     \
    X(0x62656570) /* configfs */                       \
    X(0xcafe4a11) /* bpf */                            \
    X(0x6165676c) /* pstore */                         \
    X(0xde5e81e4) /* efivarfs */                       \
    X(0x65735543) /* fusectl */                        \
    X(0x42494e4d) /* binfmt_misc */                    \
    X(0x19800202) /* mqueue */                         \
    X(0x00001cd1) /* devpts */                         \
    X(0x00000187) /* autofs: the files are below it */ \
    X(0x67596969) /* rpc_pipefs */                     \
    X(0x6e667364) /* nfsd */                           \
    X(0xf97cff8c) /* selinuxfs */                      \
    X(0x43415d53) /* smackfs */                        \
    X(0x5a3c69f0) /* apparmorfs */                     \
    X(0x6e736673) /* nsfs */                           \
    X(0x50494446) /* pidfs */                          \
    X(0x50495045) /* pipefs */                         \
    X(0x534f434b) /* sockfs */                         \
    X(0x09041934) /* anon_inode */                     \
    X(0x62646576) /* bdev */                           \
    X(0x444d4142) /* dma-buf */                        \
    X(0x07655821) /* resctrl */

#endif
