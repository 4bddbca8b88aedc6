/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of operations, fills and errors. */
#include "config.h"

#include "common/account.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/errno_names.h"
#include "common/numbers.h"

#define OP_NAME(number, name) [number] = (name),
static const char *const op_names[IO_OP_COUNT] = {IO_OPS(OP_NAME)};

static const char *const fill_names[IO_FILL_COUNT] = {
    [IO_FILL_READ] = "read",
    [IO_FILL_FAULT] = "fault",
    [IO_FILL_PREFETCH] = "prefetch",
    [IO_FILL_WRITE] = "write",
};

const char *io_op_name(enum io_op op)
{
    return (unsigned)op < IO_OP_COUNT ? op_names[op] : "unknown";
}

int io_op_parse(const char *name)
{
    for (int op = 0; op < IO_OP_COUNT; op++)
        if (!strcmp(op_names[op], name))
            return op;
    return -EINVAL;
}

/* Of the bits after those of the operations. */
static const char *const set_names[IO_SET_BITS - IO_OP_COUNT] = {"cache", "throttling"};

const char *io_bit_name(unsigned bit)
{
    return bit < IO_OP_COUNT ? io_op_name(bit) : set_names[bit - IO_OP_COUNT];
}

int io_bit_parse(const char *name)
{
    for (int i = 0; i < IO_SET_BITS - IO_OP_COUNT; i++)
        if (!strcmp(set_names[i], name))
            return IO_OP_COUNT + i;
    return io_op_parse(name);
}

#define IO_MMAP (1ull << IO_MMAP_READ | 1ull << IO_MMAP_WRITE)

uint64_t io_unsupported_on(const char *fstype)
{
    /* tmpfs and hugetlbfs implement page faults and the page cache themselves. */
    static const struct {
        const char *fstype;
        uint64_t ops;
    } known[] = {
        {"ext2", 0},
        {"ext3", 0},
        {"ext4", 0},
        {"xfs", 0},
        {"btrfs", 0},
        {"f2fs", 0},
        {"nfs", 0},
        {"nfs4", 0},
        {"vfat", 0},
        {"exfat", 0},
        {"iso9660", 0},
        {"squashfs", 0},
        {"tmpfs", IO_MMAP | IO_CACHE},
        {"hugetlbfs", IO_MMAP | IO_CACHE},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (!strcmp(fstype, known[i].fstype))
            return known[i].ops;
    return IO_CACHE;
}

const char *io_fill_name(enum io_fill fill)
{
    return (unsigned)fill < IO_FILL_COUNT ? fill_names[fill] : "unknown";
}

/* MAX_ERRNO of the kernel. */
#define ERRNO_MAX 4095

const char *io_errno_name(int code, char buf[16])
{
    const char *name = code == IO_ERRNO_OTHER ? "other" : errno_name(code);

    if (code > 0 && name)
        return name;
    snprintf(buf, 16, "%d", code);
    return buf;
}

int io_errno_parse(const char *name)
{
    char buf[16];
    uint64_t number;

    if (!strcmp(name, "other"))
        return IO_ERRNO_OTHER;
    for (int code = 1; code <= ERRNO_MAX; code++) {
        const char *known = errno_name(code);

        if (known && !strcmp(known, name))
            return code;
    }
    /* A number is accepted only for a code without a name, so that each code has one spelling. */
    if (number_parse(name, 1, ERRNO_MAX, &number) < 0 ||
        strcmp(io_errno_name((int)number, buf), name) != 0)
        return -EINVAL;
    return (int)number;
}
