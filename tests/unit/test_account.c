/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* strerrorname_np */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/account.h"
#include "common/cleanup.h"

static void test_op_names_round_trip(void **state)
{
    (void)state;
    for (int op = 0; op < IO_OP_COUNT; op++)
        assert_int_equal(io_op_parse(io_op_name(op)), op);
    assert_string_equal(io_op_name(IO_COPY_WRITE), "copy_write");
    assert_string_equal(io_op_name(IO_SETXATTR), "setxattr");
    assert_int_equal(io_op_parse("READ"), -EINVAL);
    assert_int_equal(io_op_parse(""), -EINVAL);
    assert_true(io_op_is_data(IO_MMAP_WRITE));
    assert_false(io_op_is_data(IO_OPEN));
    assert_string_equal(io_fill_name(IO_FILL_PREFETCH), "prefetch");
}

static void test_sets_name_the_page_cache(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < IO_SET_BITS; bit++)
        assert_int_equal(io_bit_parse(io_bit_name(bit)), bit);
    assert_string_equal(io_bit_name(IO_OP_COUNT), "cache");
    assert_int_equal(io_bit_parse("dash"), -EINVAL);
    assert_int_equal(io_unsupported_on("nfs4"), 0);
    assert_int_equal(io_unsupported_on("tmpfs"), IO_CACHE | 1 << IO_MMAP_READ | 1 << IO_MMAP_WRITE);
    assert_int_equal(io_unsupported_on("fuse.sshfs"), IO_CACHE);
}

static void test_buckets_hold_their_bounds(void **state)
{
    (void)state;
    assert_int_equal(io_size_bucket(0), 0);
    assert_int_equal(io_size_bucket(1), 0);
    assert_int_equal(io_size_bucket(2), 1);
    assert_int_equal(io_size_bucket(3), 2);
    assert_int_equal(io_size_bucket(4096), 12);
    assert_int_equal(io_size_bucket(4097), 13);
    assert_int_equal(io_size_bucket(UINT64_C(1) << 30), 30);
    assert_int_equal(io_size_bucket((UINT64_C(1) << 30) + 1), 31);
    assert_int_equal(io_size_bucket(UINT64_MAX), 31);
    assert_int_equal(io_latency_bucket(0), 0);
    assert_int_equal(io_latency_bucket(128), 0);
    assert_int_equal(io_latency_bucket(129), 1);
    assert_int_equal(io_latency_bucket(256), 1);
    assert_int_equal(io_latency_bucket(257), 2);
    assert_int_equal(io_latency_bucket(UINT64_MAX), 31);
    for (unsigned i = 0; i < IO_BUCKETS; i++) {
        assert_int_equal(io_size_bucket(io_size_bound(i)), i);
        assert_int_equal(io_latency_bucket(io_latency_bound(i)), i);
        if (i < IO_BUCKETS - 1) {
            assert_int_equal(io_size_bucket(io_size_bound(i) + 1), i + 1);
            assert_int_equal(io_latency_bucket(io_latency_bound(i) + 1), i + 1);
        }
    }
}

static void test_quantile(void **state)
{
    uint64_t h[IO_BUCKETS] = {0};

    (void)state;
    assert_int_equal(io_quantile(h, 0.5, io_size_bound), 0);
    h[12] = 1;
    assert_int_equal(io_quantile(h, 0, io_size_bound), 4096);
    assert_int_equal(io_quantile(h, 1, io_size_bound), 4096);
    h[12] = 50;
    h[20] = 50;
    assert_int_equal(io_quantile(h, 0.5, io_size_bound), 4096);
    assert_int_equal(io_quantile(h, 0.51, io_size_bound), 1048576);
    h[31] = 10;
    assert_int_equal(io_quantile(h, 0.99, io_size_bound), UINT64_MAX);
    h[0] = h[31] = UINT64_MAX; /* the sum does not fit */
    assert_int_equal(io_quantile(h, 0.5, io_latency_bound), 128);
}

static void test_errno_names_round_trip(void **state)
{
    char buf[16];

    (void)state;
    for (int code = 1; code <= 4095; code++)
        assert_int_equal(io_errno_parse(io_errno_name(code, buf)), code);
#if __GLIBC_PREREQ(2, 32) /* names that a later kernel adds are shown as numbers */
    for (int code = 1; code <= IO_ERRNO_LAST; code++)
        if (strerrorname_np(code))
            assert_string_equal(io_errno_name(code, buf), strerrorname_np(code));
#endif
    assert_string_equal(io_errno_name(ENOENT, buf), "ENOENT");
    assert_string_equal(io_errno_name(IO_ERRNO_LAST, buf), "EFTYPE");
    assert_string_equal(io_errno_name(512, buf), "512");
    assert_string_equal(io_errno_name(IO_ERRNO_OTHER, buf), "other");
    assert_int_equal(io_errno_parse("ENONSENSE"), -EINVAL);
    assert_int_equal(io_errno_parse("0"), -EINVAL);
    assert_int_equal(io_errno_parse(""), -EINVAL);
}

static void test_per_second(void **state)
{
    (void)state;
    assert_int_equal(io_per_second(100, 0), 0);
    assert_int_equal(io_per_second(0, 1), 0);
    assert_int_equal(io_per_second(3, 2000000000), 2); /* 1.5 */
    assert_int_equal(io_per_second(UINT64_MAX, 1000000000), UINT64_MAX);
    assert_int_equal(io_per_second(UINT64_MAX, 1), UINT64_MAX);
    assert_int_equal(io_per_second(1, UINT64_MAX), 0);
}

static struct io_counter *op_of(struct io_account *a, enum io_op op)
{
    struct io_counter *c = io_account_op(a, op);

    assert_non_null(c);
    return c;
}

static void test_errnos_stay_sorted(void **state)
{
    CLEANUP(io_account_clear) struct io_account a = {0};
    struct io_counter *c = op_of(&a, IO_OPEN);

    (void)state;
    assert_int_equal(io_counter_errno(c, EACCES, 2), 0);
    assert_int_equal(io_counter_errno(c, ENOENT, 3), 0);
    assert_int_equal(io_counter_errno(c, ENOSPC, 1), 0);
    assert_int_equal(io_counter_errno(c, EACCES, 5), 0);
    assert_int_equal(c->n_errnos, 3);
    assert_int_equal(c->errnos[0].code, ENOENT);
    assert_int_equal(c->errnos[1].code, EACCES);
    assert_int_equal(c->errnos[1].count, 7);
    assert_int_equal(c->errnos[2].code, ENOSPC);
    assert_int_equal(c->errors, 0);
}

static void test_add_sums_and_takes_the_longest(void **state)
{
    CLEANUP(io_account_clear) struct io_account a = {0}, b = {0};
    struct io_counter *r;

    (void)state;
    r = op_of(&a, IO_READ);
    *r = (struct io_counter){
        .requests = 1, .bytes = 10, .time_ns = 5, .max_ns = 5, .sequential_requests = 1};
    r->size_log2[4] = 1;
    r = op_of(&b, IO_READ);
    *r = (struct io_counter){.requests = 2,
                             .async_requests = 1,
                             .bytes = 20,
                             .errors = 1,
                             .time_ns = 7,
                             .max_ns = 4,
                             .sequential_requests = 4,
                             .random_requests = 3};
    r->size_log2[4] = 2;
    r->latency_log2[31] = 3;
    io_counter_errno(r, EIO, 1);
    op_of(&b, IO_STAT)->requests = 9;

    assert_int_equal(io_account_add(&a, &b), 0);
    r = a.ops[IO_READ];
    assert_int_equal(r->requests, 3);
    assert_int_equal(r->async_requests, 1);
    assert_int_equal(r->sequential_requests, 5);
    assert_int_equal(r->random_requests, 3);
    assert_int_equal(r->bytes, 30);
    assert_int_equal(r->errors, 1);
    assert_int_equal(r->time_ns, 12);
    assert_int_equal(r->max_ns, 5);
    assert_int_equal(r->size_log2[4], 3);
    assert_int_equal(r->latency_log2[31], 3);
    assert_int_equal(r->n_errnos, 1);
    assert_int_equal(r->errnos[0].count, 1);
    assert_int_equal(a.ops[IO_STAT]->requests, 9);
    assert_null(a.ops[IO_WRITE]);
}

static void test_sums_saturate(void **state)
{
    CLEANUP(io_account_clear) struct io_account a = {0}, b = {0};

    (void)state;
    op_of(&a, IO_READ)->bytes = UINT64_MAX - 1;
    op_of(&b, IO_READ)->bytes = 5;
    op_of(&b, IO_WRITE)->bytes = 5;
    assert_int_equal(io_account_add(&a, &b), 0);
    assert_int_equal(a.ops[IO_READ]->bytes, UINT64_MAX);
    assert_int_equal(io_account_all(&a).bytes, UINT64_MAX);
}

static void test_diff_is_what_came_between(void **state)
{
    CLEANUP(io_account_clear) struct io_account now = {0}, before = {0}, d = {0};
    struct io_counter *c;

    (void)state;
    c = op_of(&before, IO_READ);
    *c = (struct io_counter){.requests = 4, .bytes = 100, .errors = 1, .time_ns = 50, .max_ns = 9};
    c->size_log2[3] = 4;
    io_counter_errno(c, EIO, 1);
    op_of(&before, IO_STAT)->requests = 7;
    assert_int_equal(io_account_copy(&before, &now), 0);
    c = now.ops[IO_READ];
    c->requests += 2;
    c->bytes += 11;
    c->errors += 3;
    c->sequential_requests += 1;
    c->random_requests += 4;
    c->time_ns += 6;
    c->max_ns = 8000;
    c->size_log2[3] += 2;
    io_counter_errno(c, EIO, 1);
    io_counter_errno(c, EINTR, 2);
    op_of(&now, IO_FSYNC)->requests = 1;

    assert_int_equal(io_account_diff(&now, &before, &d), 0);
    c = d.ops[IO_READ];
    assert_int_equal(c->requests, 2);
    assert_int_equal(c->bytes, 11);
    assert_int_equal(c->errors, 3);
    assert_int_equal(c->sequential_requests, 1);
    assert_int_equal(c->random_requests, 4);
    assert_int_equal(c->time_ns, 6);
    assert_int_equal(c->max_ns, 8000);
    assert_int_equal(c->size_log2[3], 2);
    assert_int_equal(c->n_errnos, 2);
    assert_int_equal(c->errnos[0].code, EINTR);
    assert_int_equal(c->errnos[0].count, 2);
    assert_int_equal(c->errnos[1].count, 1);
    assert_null(d.ops[IO_STAT]);
    assert_int_equal(d.ops[IO_FSYNC]->requests, 1);
}

static void test_diff_backwards_touches_nothing(void **state)
{
    CLEANUP(io_account_clear) struct io_account now = {0}, before = {0}, gone = {0};
    struct io_account d = {0};

    (void)state;
    op_of(&before, IO_WRITE)->bytes = 10;
    op_of(&now, IO_READ)->bytes = 10;
    op_of(&now, IO_WRITE)->bytes = 9;
    assert_int_equal(io_account_diff(&now, &before, &d), -ERANGE);
    assert_int_equal(io_account_diff(&gone, &before, &d), -ERANGE);
    assert_true(io_account_is_empty(&d));
    assert_null(d.ops[IO_READ]);
    now.ops[IO_WRITE]->bytes = 10;
    io_counter_errno(before.ops[IO_WRITE], EIO, 1);
    assert_int_equal(io_account_diff(&now, &before, &d), -ERANGE);
}

static void test_empty(void **state)
{
    CLEANUP(io_account_clear) struct io_account a = {0}, copy = {0};

    (void)state;
    assert_true(io_account_is_empty(&a));
    assert_int_equal(io_account_copy(&a, &copy), 0);
    op_of(&a, IO_READ);
    assert_true(io_account_is_empty(&a));
    a.ops[IO_READ]->requests = 1;
    assert_false(io_account_is_empty(&a));
    assert_int_equal(io_account_all(&copy).requests, 0);
    io_account_clear(NULL);
}

static void test_group_sums(void **state)
{
    CLEANUP(io_account_clear) struct io_account a = {0};
    struct io_sum s;

    (void)state;
    *op_of(&a, IO_READ) =
        (struct io_counter){.requests = 1, .bytes = 100, .errors = 1, .time_ns = 1, .max_ns = 1};
    *op_of(&a, IO_COPY_READ) =
        (struct io_counter){.requests = 2, .bytes = 200, .errors = 2, .time_ns = 2, .max_ns = 2};
    *op_of(&a, IO_WRITE) = (struct io_counter){.requests = 4, .bytes = 400};
    *op_of(&a, IO_COPY_WRITE) = (struct io_counter){.requests = 8, .bytes = 800};
    *op_of(&a, IO_CLONE) = (struct io_counter){.requests = 16, .bytes = 1600, .time_ns = 4};
    *op_of(&a, IO_MMAP_READ) = (struct io_counter){.requests = 32, .bytes = 3200, .time_ns = 8};
    *op_of(&a, IO_OPEN) = (struct io_counter){.requests = 64, .errors = 4, .time_ns = 16};
    *op_of(&a, IO_CREATE) = (struct io_counter){.requests = 60};
    *op_of(&a, IO_SETXATTR) = (struct io_counter){.requests = 128, .time_ns = 32, .max_ns = 99};

    s = io_account_reads(&a);
    assert_int_equal(s.requests, 3);
    assert_int_equal(s.bytes, 300);
    assert_int_equal(s.errors, 3);
    assert_int_equal(s.time_ns, 3);
    assert_int_equal(s.max_ns, 2);
    s = io_account_writes(&a);
    assert_int_equal(s.requests, 12);
    assert_int_equal(s.bytes, 1200);
    s = io_account_meta(&a);
    assert_int_equal(s.requests, 192);
    assert_int_equal(s.errors, 4);
    assert_int_equal(s.time_ns, 48);
    s = io_account_all(&a);
    assert_int_equal(s.requests, 255);
    assert_int_equal(s.bytes, 1500);
    assert_int_equal(s.errors, 7);
    assert_int_equal(s.time_ns, 63);
    assert_int_equal(s.max_ns, 99);
}

static struct io_mount *mount_of(struct io_mounts *m, const char *mount, bool is_private)
{
    struct io_mount *got = io_mounts_get(m, mount, "ext4", "/dev/vda1", is_private);

    assert_non_null(got);
    return got;
}

static void test_mounts_are_told_apart_by_name(void **state)
{
    CLEANUP(io_mounts_clear) struct io_mounts m = {0};

    (void)state;
    mount_of(&m, "/a", false)->dev = 1;
    mount_of(&m, "/a", true)->dev = 2;
    assert_non_null(io_mounts_get(&m, "/a", "xfs", "/dev/vda1", false));
    assert_non_null(io_mounts_get(&m, "/a", "ext4", "/dev/vdb1", false));
    assert_int_equal(m.n, 4);
    assert_int_equal(mount_of(&m, "/a", true)->dev, 2);
    assert_int_equal(m.n, 4);
}

static void test_mounts_add(void **state)
{
    CLEANUP(io_mounts_clear) struct io_mounts a = {0}, b = {0}, copy = {0};
    struct io_mount *m;

    (void)state;
    m = mount_of(&a, "/a", false);
    m->labelled = true;
    m->dev = 7;
    op_of(&m->io, IO_READ)->bytes = 1;
    m->peaks[IO_READ] = (struct io_peak){10, 2};
    m->cache.hit_bytes = 5;

    m = mount_of(&b, "/b", false);
    m->labelled = true;
    m->dev = 9;
    m = mount_of(&b, "/a", false);
    m->dev = 8;
    op_of(&m->io, IO_READ)->bytes = 2;
    m->peaks[IO_READ] = (struct io_peak){9, 3};
    m->cache = (struct io_cache){1, 2, {3, 4, 5, 6}};

    assert_int_equal(io_mounts_add(&a, &b), 0);
    assert_int_equal(a.n, 2);
    m = &a.items[0];
    assert_int_equal(m->io.ops[IO_READ]->bytes, 3);
    assert_int_equal(m->peaks[IO_READ].bytes_per_s, 10);
    assert_int_equal(m->peaks[IO_READ].requests_per_s, 3);
    assert_int_equal(m->cache.hit_bytes, 6);
    assert_int_equal(m->cache.fill_bytes[IO_FILL_WRITE], 6);
    assert_int_equal(m->dev, 7);
    assert_false(m->labelled); /* b does not vouch for it */
    assert_true(a.items[1].labelled);
    assert_int_equal(a.items[1].dev, 9);

    assert_int_equal(io_mounts_copy(&a, &copy), 0);
    assert_int_equal(copy.n, 2);
    assert_int_equal(copy.items[0].io.ops[IO_READ]->bytes, 3);
    assert_ptr_not_equal(copy.items[0].mount, a.items[0].mount);
    io_mounts_clear(NULL);
}

static struct io_mount *numbered(struct io_mounts *m, unsigned i)
{
    char name[32];

    (void)snprintf(name, sizeof(name), "/home/user/mount%u", i);
    return mount_of(m, name, i & 1);
}

static void test_long_lists(void **state)
{
    CLEANUP(io_mounts_clear) struct io_mounts a = {0}, copy = {0}, plain = {0};

    (void)state;
    for (unsigned i = 0; i < 1000; i++)
        numbered(&a, i)->dev = i;
    assert_int_equal(a.n, 1000);
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(numbered(&a, i)->dev, i);
    assert_int_equal(a.n, 1000);
    assert_null(io_mounts_find(&a, "/home/user/mount0", "ext4", "/dev/vda1", true));
    assert_null(io_mounts_find(&a, "/home/user/mount0", "xfs", "/dev/vda1", false));
    assert_int_equal(io_mounts_copy(&a, &copy), 0);
    assert_int_equal(io_mounts_add(&copy, &a), 0);
    assert_int_equal(copy.n, 1000);
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(numbered(&copy, i)->dev, i);

    /* A list that a parser has made has no index; of equal keys the first is found. */
    plain.items = calloc(40, sizeof(*plain.items));
    for (plain.n = 0; plain.n < 40; plain.n++)
        plain.items[plain.n] = (struct io_mount){.mount = strdup("/same"),
                                                 .fstype = strdup("ext4"),
                                                 .source = strdup("/dev/vda1"),
                                                 .dev = plain.n};
    assert_int_equal(mount_of(&plain, "/same", false)->dev, 0);
    mount_of(&plain, "/new", false)->dev = 99;
    assert_int_equal(plain.n, 41);
    assert_int_equal(mount_of(&plain, "/same", false)->dev, 0);
    assert_int_equal(mount_of(&plain, "/new", false)->dev, 99);

    /* A key was changed in place. */
    a.items[7].mount[1] = 'H';
    io_mounts_forget_index(&a);
    assert_non_null(io_mounts_find(&a, "/Home/user/mount7", "ext4", "/dev/vda1", true));
    assert_null(io_mounts_find(&a, "/home/user/mount7", "ext4", "/dev/vda1", true));
    assert_int_equal(numbered(&a, 7)->dev, 0);
    assert_int_equal(a.n, 1001);
}

/* A user makes mounts: the time must not grow with the square of their number. */
static void test_long_lists_are_fast(void **state)
{
    CLEANUP(io_mounts_clear) struct io_mounts a = {0}, copy = {0};
    clock_t start = clock();
    unsigned allocations = 0;

    (void)state;
    for (unsigned i = 0; i < 30000; i++) {
        size_t room = a.room;

        (void)numbered(&a, i);
        allocations += a.room != room;
    }
    assert_in_range(allocations, 1, 50);
    assert_int_equal(io_mounts_copy(&a, &copy), 0);
    assert_int_equal(io_mounts_add(&copy, &a), 0);
    assert_int_equal(copy.n, 30000);
    assert_true(clock() - start < 2 * CLOCKS_PER_SEC);
}

static struct io_counter *counted(struct io_account *io, enum io_op op, uint64_t requests)
{
    struct io_counter *c = io_account_op(io, op);

    c->requests = requests;
    return c;
}

/* Look-ups that found nothing, readlink of other files (EINVAL) and locks of others are not
 * failures, and fsync is not metadata, to people. */
static void test_shown(void **state)
{
    struct io_account io = {0};
    struct io_counter *open = counted(&io, IO_OPEN, 10), *write = counted(&io, IO_WRITE, 5);
    struct io_counter *lock = counted(&io, IO_LOCK, 6), *lookup = counted(&io, IO_LOOKUP, 20);
    struct io_sums shown;

    (void)state;
    counted(&io, IO_FSYNC, 3);
    counted(&io, IO_CLOSE, 10);
    lock->errors = 3;
    assert_int_equal(io_counter_errno(lock, EAGAIN, 2), 0);
    assert_int_equal(io_counter_errno(lock, ENOLCK, 1), 0);
    open->errors = 4; /* one of them without its errno */
    assert_int_equal(io_counter_errno(open, ENOENT, 2), 0);
    assert_int_equal(io_counter_errno(open, EACCES, 1), 0);
    lookup->errors = 9;
    assert_int_equal(io_counter_errno(lookup, EINVAL, 5), 0);
    assert_int_equal(io_counter_errno(lookup, ENOENT, 1), 0);
    assert_int_equal(io_counter_errno(lookup, EACCES, 3), 0);
    write->errors = 1;
    assert_int_equal(io_counter_errno(write, ENOENT, 1), 0);
    shown = io_account_shown(&io);
    assert_int_equal(io_account_not_found(&io), 3);
    assert_int_equal(shown.meta.requests, 30);
    assert_int_equal(shown.meta.errors, 5);
    assert_int_equal(shown.all.errors, 7);
    assert_int_equal(shown.all.requests, 54);
    assert_int_equal(io_account_sums(&io).all.errors, 17);
    assert_int_equal(io_account_sums(&io).meta.requests, 33);
    io_account_clear(&io);
}

static uint64_t median_of_reads(const struct io_account *io)
{
    uint64_t sizes[IO_BUCKETS] = {0};

    io_account_sizes(io, IO_READ, sizes);
    return io_quantile(sizes, 0.5, io_size_bound);
}

/* Empty reads at the end of files are not part of the median. */
static void test_sizes_without_empty_reads(void **state)
{
    struct io_account io = {0};
    struct io_counter *reads = counted(&io, IO_READ, 3000);

    (void)state;
    /* 1,000 files of 10 bytes, each read to its end with three calls */
    counted(&io, IO_OPEN, 1000);
    reads->bytes = 10000;
    reads->size_log2[0] = 2000;
    reads->size_log2[4] = 1000;
    assert_int_equal(median_of_reads(&io), 16);
    /* byte by byte */
    reads->bytes = reads->size_log2[0] = reads->requests = 1000000;
    reads->size_log2[4] = 0;
    assert_int_equal(median_of_reads(&io), 1);
    /* a file that is polled for new lines: the bytes do not allow for more reads of one */
    reads->bytes = 10 * 9 + 5;
    reads->size_log2[4] = 10;
    counted(&io, IO_OPEN, 1);
    assert_int_equal(median_of_reads(&io), 16);
    io_account_clear(&io);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shown),
        cmocka_unit_test(test_sizes_without_empty_reads),
        cmocka_unit_test(test_op_names_round_trip),
        cmocka_unit_test(test_sets_name_the_page_cache),
        cmocka_unit_test(test_buckets_hold_their_bounds),
        cmocka_unit_test(test_quantile),
        cmocka_unit_test(test_errno_names_round_trip),
        cmocka_unit_test(test_per_second),
        cmocka_unit_test(test_errnos_stay_sorted),
        cmocka_unit_test(test_add_sums_and_takes_the_longest),
        cmocka_unit_test(test_sums_saturate),
        cmocka_unit_test(test_diff_is_what_came_between),
        cmocka_unit_test(test_diff_backwards_touches_nothing),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_group_sums),
        cmocka_unit_test(test_mounts_are_told_apart_by_name),
        cmocka_unit_test(test_mounts_add),
        cmocka_unit_test(test_long_lists),
        cmocka_unit_test(test_long_lists_are_fast),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
