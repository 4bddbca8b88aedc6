/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mountinfo of a process in a user namespace: read in portions or at once, it has the same
 * mounts, and each has a name. */
#include "tests/fuzz/fuzz.h"

#include "collector/mounts/mountinfo.h"

static struct mountinfo *read_all(size_t portion)
{
    struct mountinfo *info = NULL;
    size_t lines;
    int r;

    CHECK(mountinfo_open(&info, fuzz_directory(), ".", NULL) == 0);
    do {
        lines = portion;
        r = mountinfo_read(info, NULL, &lines);
        CHECK(r >= 0 && lines <= portion);
    } while (r > 0);
    return info;
}

static bool is_same(const struct mountinfo_entry *a, const struct mountinfo_entry *b)
{
    return a->dev == b->dev && a->class == b->class && !strcmp(a->mount, b->mount) &&
           !strcmp(a->fstype, b->fstype) && !strcmp(a->source, b->source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mountinfo *once, *portions;

    (void)fuzz_file("mountinfo", data, size);
    once = read_all(SIZE_MAX);
    portions = read_all(1);
    for (uint32_t dev = 0; dev < 64; dev++) {
        const struct mountinfo_entry *a = mountinfo_find(once, dev);
        const struct mountinfo_entry *b = mountinfo_find(portions, dev);

        CHECK(!a == !b);
        if (!a)
            continue;
        CHECK(a->dev == dev && *a->mount && *a->fstype && *a->source);
        CHECK(is_same(a, b));
    }
    mountinfo_close(portions);
    mountinfo_close(once);
    return 0;
}
