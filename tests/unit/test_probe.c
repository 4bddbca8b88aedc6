/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The maps of a real probe, filled by hand. What programs count is tested in guests; here it does
 * not matter whether this kernel lets them attach. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "tests/unit/test.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include "collector/probe/probe_impl.h"
#include "common/cleanup.h"

#include "bpf/maps.h"
#include "bpf/maps.skel.h"

#define EXT4 ((8u << 20) | 1)
#define KEPT 7000u
#define MANY 100u

static struct probe *probe;
static uint32_t places; /* taken */
static struct error error;

static void must(int r)
{
    if (r < 0)
        fail_msg("%d: %s", r, error.text);
}

static int setup(void **state)
{
    const struct probe_options options = {0};

    (void)state;
    probe = NULL;
    places = 0;
    if (probe_create(&probe, &options, &error) < 0)
        printf("no probe here: %s\n", error.text);
    if (probe) { /* here programs count nothing anyway */
        free(probe->blind);
        probe->blind = NULL;
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    probe_destroy(probe);
    return 0;
}

static void put(const struct bpf_map *map, const void *key, const void *value)
{
    assert_int_equal(bpf_map_update_elem(bpf_map__fd(map), key, value, BPF_ANY), 0);
}

static void put_value(const struct account_key *key, const struct account_value *value)
{
    *slots_value(probe, ++places) = *value;
    put(probe->skel->maps.places, key, &places);
}

/* As the programs do. */
static void count_op(uint32_t step, enum io_op op, uint64_t requests, uint32_t bucket)
{
    const struct account_key key = {.step = step, .dev = EXT4, .op = (uint8_t)op};
    const struct errno_key errno_at = {step, EXT4, IO_OPEN, 0, 2};
    const struct mount_key mount_at = {step, EXT4, 0};
    const struct mount_record mount = {.pid = 1, .fstype = "ext4"};
    const struct user_key user_at = {.step = step, .dev = EXT4, .id = 7};
    const struct user_value user = {.thread = {1}, .process = {1}};
    const struct lost_record lost = {.count = {1}};
    struct account_value value = {.requests = requests, .bytes = requests * 10};
    uint64_t one = 1;

    value.latency[3] = bucket;
    put_value(&key, &value);
    put(probe->skel->maps.errnos, &errno_at, &one);
    put(probe->skel->maps.mounts, &mount_at, &mount);
    put(probe->skel->maps.users, &user_at, &user);
    put(probe->skel->maps.lost, &step, &lost);
}

static void count(uint32_t step, uint64_t requests, uint32_t bucket)
{
    count_op(step, IO_READ, requests, bucket);
}

static int count_key(const void *key, const void *value, void *arg)
{
    (void)key, (void)value;
    ++*(size_t *)arg;
    return 0;
}

/* Places are in use or empty. */
static size_t count_places(void)
{
    static const struct account_value none;
    size_t n = 0;

    for (uint32_t i = 1; i <= places; i++) {
        if (slots_value(probe, i)->requests)
            n++;
        else
            assert_memory_equal(slots_value(probe, i), &none, sizeof(none));
    }
    return n;
}

static void check_keys(size_t want)
{
    const struct bpf_map *maps[] = {probe->skel->maps.places, probe->skel->maps.errnos,
                                    probe->skel->maps.mounts, probe->skel->maps.users,
                                    probe->skel->maps.lost};

    for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
        size_t n = 0;

        must(map_each(probe, maps[i], count_key, &n, &error));
        if (n != want)
            fail_msg("%s: %zu keys, not %zu", bpf_map__name(maps[i]), n, want);
    }
    assert_int_equal(count_places(), want);
}

static int sum(const struct probe_account *account, void *arg)
{
    *(uint64_t *)arg += account->io->ops[IO_READ]->requests;
    return 0;
}

static void fill(void)
{
    for (uint32_t i = 0; i <= MANY; i++) {
        uint64_t id = i == MANY ? KEPT : 100 + i;
        uint32_t number;

        assert_false(probe_has(probe, id, 2));
        must(probe_add(probe, id, 3, 2, &number, &error));
        assert_true(probe_has(probe, id, 2));
        assert_false(probe_has(probe, id, 1));
        count(number, i + 1, 5);
    }
    check_keys(MANY + 1);
}

static void test_drop_many(void **state)
{
    struct probe_cgroup cgroups[MANY + 1];
    struct probe_step *steps;
    uint64_t requests = 0;
    size_t n;

    (void)state;
    if (!probe)
        skip();
    fill();
    must(probe_read(probe, NULL, 0, sum, &requests, &error));
    assert_int_equal(requests, (MANY + 1) * (MANY + 2) / 2);
    must(probe_steps(probe, &steps, &n, &error));
    assert_int_equal(n, MANY + 1);
    for (size_t i = 0; i < n; i++) {
        assert_true(i == 0 || steps[i - 1].step < steps[i].step);
        assert_int_equal(steps[i].events, i + 1);
        assert_int_equal(steps[i].lost.requests, 1);
    }
    free(steps);
    for (uint32_t i = 0; i < MANY; i++) /* in no order */
        cgroups[i] = (struct probe_cgroup){100 + (i * 37) % MANY, 2};
    cgroups[MANY] = (struct probe_cgroup){99999, 2}; /* never tagged */
    must(probe_drop_many(probe, cgroups, MANY + 1, &error));
    check_keys(1);
    assert_false(probe_has(probe, 100, 2));
    assert_true(probe_has(probe, KEPT, 2));
    requests = 0;
    must(probe_read(probe, NULL, 0, sum, &requests, &error));
    assert_int_equal(requests, MANY + 1);
    must(probe_drop(probe, KEPT, 2, &error));
    check_keys(0);
}

/* A call that was under way when its step was dropped has made keys. */
static void test_sweep(void **state)
{
    uint64_t requests = 0;

    (void)state;
    if (!probe)
        skip();
    fill();
    for (uint32_t step = 300; step < 310; step++)
        count(step, 1, 0);
    check_keys(MANY + 11);
    must(probe_read(probe, NULL, 0, sum, &requests, &error));
    assert_int_equal(probe_sweep(probe, &error), 10);
    check_keys(MANY + 1);
    assert_int_equal(probe_sweep(probe, &error), 0);
    requests = 0;
    must(probe_read(probe, NULL, 0, sum, &requests, &error));
    assert_int_equal(requests, (MANY + 1) * (MANY + 2) / 2);
}

static int check_errnos(const struct probe_account *account, void *arg)
{
    const struct io_counter *stat = account->io->ops[IO_STAT], *read = account->io->ops[IO_READ];

    assert_int_equal(stat->n_errnos, 2);
    assert_int_equal(stat->errnos[0].code, ENOENT);
    assert_int_equal(stat->errnos[0].count, 7);
    assert_int_equal(stat->errnos[1].count, 2);
    assert_int_equal(stat->size_log2[COMMON_ERRNO_2 * 2], 0);
    assert_int_equal(read->size_log2[COMMON_ERRNO_2], 5);
    *(bool *)arg = true;
    return 0;
}

/* The usual errnos of metadata operations are where data operations have their sizes. */
static void test_errnos(void **state)
{
    struct account_value value = {.requests = 10, .errnos = {[COMMON_ERRNO_2] = 3}};
    struct account_key key = {.dev = EXT4, .op = IO_STAT};
    struct errno_key errno_at = {.dev = EXT4, .op = IO_STAT, .code = ECOMM};
    bool seen = false;

    (void)state;
    if (!probe)
        skip();
    must(probe_add(probe, 100, 3, 2, &key.step, &error));
    errno_at.step = key.step;
    put_value(&key, &value);
    value.errnos[COMMON_ERRNO_2] = 4;
    key.shard = 1;
    put_value(&key, &value);
    put(probe->skel->maps.errnos, &errno_at, &(uint64_t){2});
    value = (struct account_value){.requests = 5, .size = {[COMMON_ERRNO_2] = 5}};
    key.op = IO_READ;
    put_value(&key, &value);
    must(probe_read(probe, NULL, 0, check_errnos, &seen, &error));
    assert_true(seen);
}

static int take_users(const struct probe_account *account, void *arg)
{
    memcpy(arg, account->users, IO_USER_KINDS * sizeof(*account->users));
    return 0;
}

/* Two threads of one process read, and one of them writes; more found no room. */
static void test_users(void **state)
{
    const struct mount_record mount = {.fstype = "ext4", .missed = {0, 1}};
    struct user_value values[] = {{.thread = {1, 1}}, {.thread = {1}}, {.process = {1, 1}}};
    struct io_users users[IO_USER_KINDS];
    struct mount_key mount_at = {.dev = EXT4};
    struct user_key at = {.dev = EXT4};

    (void)state;
    if (!probe)
        skip();
    must(probe_add(probe, 100, 3, 2, &at.step, &error));
    count(at.step, 1, 0); /* with a reader, a process of one thread */
    mount_at.step = at.step;
    put(probe->skel->maps.mounts, &mount_at, &mount);
    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        at.id = 100 + (uint32_t)i;
        put(probe->skel->maps.users, &at, &values[i]);
    }
    at.generation = 1; /* another super block */
    put(probe->skel->maps.users, &at, &values[0]);
    for (int i = 0; i < 2; i++) { /* each reading counts anew */
        must(probe_read(probe, NULL, 0, take_users, users, &error));
        assert_int_equal(users[IO_READERS].threads, 3);
        assert_int_equal(users[IO_READERS].processes, 2);
        assert_false(users[IO_READERS].at_least);
        assert_int_equal(users[IO_WRITERS].threads, 1);
        assert_int_equal(users[IO_WRITERS].processes, 1);
        assert_true(users[IO_WRITERS].at_least);
    }
}

/* The slices of a mount, by number. */
static int take_slices(const struct probe_account *account, void *arg)
{
    const struct probe_slice *slices = account->slices;

    for (int i = 0; i < PROBE_SLICES; i++)
        if (slices[i].slice)
            ((uint64_t *)arg)[slices[i].slice % 100] = slices[i].wait_ns;
    return 0;
}

/* The wait in a slice is that of the thread that waited longest, in any operation. */
static void test_slices(void **state)
{
    uint64_t waits[100] = {0};
    uint32_t number;

    (void)state;
    if (!probe)
        skip();
    must(probe_add(probe, 100, 3, 2, &number, &error));
    count(number, 1, 0);
    slots_value(probe, places)->slices[40 % SLICES] = 40ull << 32 | 7;
    slots_value(probe, places)->slices[41 % SLICES] = 41ull << 32 | 2;
    count_op(number, IO_WRITE, 1, 0);
    slots_value(probe, places)->slices[40 % SLICES] = 32ull << 32 | 9; /* an older slice */
    slots_value(probe, places)->slices[41 % SLICES] = 41ull << 32 | 3;
    must(probe_read(probe, NULL, 0, take_slices, waits, &error));
    assert_int_equal(waits[40], 7 << SLICE_UNIT_LOG2);
    assert_int_equal(waits[41], 3 << SLICE_UNIT_LOG2);
    assert_int_equal(waits[32], 0);
}

static int refuse(const void *key, const void *value, void *arg)
{
    (void)count_key(key, value, arg);
    return -ENOSPC;
}

/* The walk ends at the first error of the callback, also if the map itself can fail with it. */
static void test_error_of_the_callback(void **state)
{
    size_t n = 0;

    (void)state;
    if (!probe)
        skip();
    fill();
    assert_int_equal(map_each(probe, probe->skel->maps.places, refuse, &n, &error), -ENOSPC);
    assert_int_equal(n, 1);
    elements_open(probe);
    if (!probe->elements)
        skip();
    n = 0;
    assert_int_equal(map_each(probe, probe->skel->maps.places, refuse, &n, &error), -ENOSPC);
    assert_int_equal(n, 1);
}

/* More elements than fit into any fixed room. All come from one walk of the program. */
static void test_many_places(void **state)
{
    const uint32_t many = 60000;
    size_t n = 0;

    (void)state;
    if (!probe || bpf_map__max_entries(probe->skel->maps.places) < many)
        skip();
    for (uint32_t i = 0; i < many; i++) {
        const struct account_key key = {.step = 1 + i / IO_OP_COUNT, .op = i % IO_OP_COUNT};

        put(probe->skel->maps.places, &key, &i);
    }
    elements_open(probe);
    if (!probe->elements)
        skip();
    must(map_each(probe, probe->skel->maps.places, count_key, &n, &error));
    assert_int_equal(n, many);
    assert_int_equal(probe->elements->data_call->call.n, many);
}

/* As the programs do. Returns 0 if there is none. */
static uint32_t take_slot(void)
{
    uint32_t slot = 0;

    if (bpf_map_lookup_and_delete_elem(bpf_map__fd(probe->skel->maps.slots), NULL, &slot) < 0)
        return 0;
    probe->levels->slots_taken++;
    return slot;
}

/* Take n slots for keys of the step. Each must be free, and empty. */
static void take_slots(uint32_t step, uint32_t n, bool *taken)
{
    static const struct account_value none;

    for (uint32_t i = 0; i < n; i++) {
        const struct account_key key = {.step = step, .dev = i + 1};
        uint32_t slot = take_slot();

        assert_true(slots_have(probe, slot));
        assert_false(taken[slot]);
        taken[slot] = true;
        assert_memory_equal(slots_value(probe, slot), &none, sizeof(none));
        slots_value(probe, slot)->requests = 1;
        put(probe->skel->maps.places, &key, &slot);
    }
}

static bool *no_slots(void)
{
    bool *taken = calloc(bpf_map__max_entries(probe->skel->maps.slots), sizeof(*taken));

    assert_non_null(taken);
    return taken;
}

/* Returns the earlier limit of open files. */
static rlim_t limit_files(rlim_t n)
{
    struct rlimit limit;
    rlim_t before;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    before = limit.rlim_cur;
    limit.rlim_cur = n;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    return before;
}

/* There is always room for more keys, until there are as many as the maps are made for. Memory is
 * used again after a step has ended. */
static void test_slots(void **state)
{
    const uint32_t steps = 30, keys = 1500;
    uint32_t chunks;
    rlim_t files;
    bool *taken;

    (void)state;
    if (!probe)
        skip();
    assert_in_range(probe->n_chunks, 1, 3);
    taken = no_slots();
    for (uint32_t i = 0; i < steps; i++) {
        must(probe_add(probe, 100 + i, 3, 2, NULL, &error));
        take_slots(step_number(100 + i, 2), keys, taken);
    }
    free(taken);
    chunks = probe->n_chunks;
    assert_in_range(chunks, steps * keys / ACCOUNT_CHUNK + 1, steps * keys / ACCOUNT_CHUNK + 4);
    assert_int_equal(probe->levels->slots_taken, steps * keys);
    for (uint32_t i = 0; i < steps; i++)
        must(probe_drop(probe, 100 + i, 2, &error));
    assert_int_equal(probe->levels->slots_taken, 0);
    taken = no_slots();
    must(probe_add(probe, KEPT, 3, 2, NULL, &error));
    assert_int_equal(probe->n_chunks, chunks);
    take_slots(step_number(KEPT, 2), chunks * ACCOUNT_CHUNK - 1, taken);
    assert_int_equal(take_slot(), 0);
    files = limit_files(0);
    assert_int_equal(slots_grow(probe), -EMFILE);
    assert_int_equal(probe_growth(probe), -EMFILE);
    (void)limit_files(files);
    must(slots_grow(probe));
    assert_int_equal(probe_growth(probe), 0);
    assert_in_range(probe->n_chunks, chunks + 1, chunks + 3);
    assert_int_not_equal(take_slot(), 0);
    free(taken);
}

#define PINS "/sys/fs/bpf/jobio-unit-slots"

/* Mount a BPF file system that only this process sees. */
static bool mount_bpf(void)
{
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("bpf", "/sys/fs/bpf", "bpf", 0, NULL) == 0;
}

/* A process that was killed had pinned a chunk and given a part of its slots. */
static void test_slots_adopted(void **state)
{
    const struct probe_options options = {.pin_dir = PINS};
    uint32_t chunks, given;
    char path[PATH_MAX];
    bool *taken;

    (void)state;
    probe_destroy(probe);
    probe = NULL;
    if (!mount_bpf() || probe_create(&probe, &options, &error) < 0 || probe_blind(probe))
        skip();
    chunks = probe->n_chunks;
    given = probe->levels->slots - 1;
    taken = no_slots();
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(take_slot(), given - i);
    probe->levels->slots -= 10;
    probe->levels->slots_taken -= 10;
    take_slots(1, given - 10, taken);
    probe_destroy(probe);
    probe = NULL;
    must(probe_create(&probe, &options, &error));
    assert_true(probe_is_adopted(probe));
    assert_in_range(probe->n_chunks, chunks + 1, chunks + 3);
    take_slots(2, 10 + (probe->n_chunks - chunks) * ACCOUNT_CHUNK, taken);
    free(taken);
    probe_destroy(probe);
    probe = NULL;
    (void)snprintf(path, sizeof(path), "%s/%d/account_%u", PINS, JOBIO_LAYOUT, chunks);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(probe_create(&probe, &options, &error), -ENOENT);
    assert_null(probe);
    must(probe_unpin(PINS, &error));
    assert_int_equal(rmdir(PINS), 0);
}

/* --- kprobes ---------------------------------------------------------------------------------- */

/* The kernel has kprobes, but the loader of libbpf fails with this errno. */
static int load_error;

int bpf_object__load_skeleton(struct bpf_object_skeleton *s)
{
    __typeof__(&bpf_object__load_skeleton) real =
        (__typeof__(real))dlsym(RTLD_NEXT, "bpf_object__load_skeleton");

    return load_error ? -load_error : real(s);
}

int libbpf_probe_bpf_helper(enum bpf_prog_type type, enum bpf_func_id id, const void *options)
{
    __typeof__(&libbpf_probe_bpf_helper) real =
        (__typeof__(real))dlsym(RTLD_NEXT, "libbpf_probe_bpf_helper");

    return load_error ? 1 : real(type, id, options);
}

/* An errno of the loader is not the absence of kprobes. */
static void test_kprobe_errors(void **state)
{
    static const int errors[] = {ENOSYS, EOPNOTSUPP, EINVAL};
    size_t named = 0;

    (void)state;
    if (!probe)
        skip();
    probe->kprobes_multi = true;
    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        char why[128];

        load_error = errors[i];
        assert_int_equal(kprobes_attach(probe), 0);
        load_error = 0;
        kprobes_use(probe);
        (void)snprintf(why, sizeof(why), "no kprobe: %s", strerror(errors[i]));
        for (size_t h = 0; h < HOOK_COUNT; h++) {
            if (strncmp(probe->hooks[h].why, "no kprobe: ", strlen("no kprobe: ")) != 0)
                continue;
            assert_string_equal(probe->hooks[h].why, why);
            named++;
        }
    }
    assert_true(named > ARRAY_SIZE(errors));
}

/* A kernel whose tracepoint has the request, and one whose tracepoint does not. */
static void test_io_uring_hooks(void **state)
{
    struct probe kernel = {.resolved = {[HOOK_io_uring_flush] = true}};
    struct probe_hook *flush = &kernel.hooks[HOOK_io_uring_flush];

    (void)state;
    for (size_t i = 0; i < HOOK_COUNT; i++)
        kernel.hooks[i].feature = "";
    flush->feature = kernel.hooks[HOOK_io_uring].feature = "io_uring";
    kernel.hooks[HOOK_io_uring].absent = kernel.hooks[HOOK_vfs_read].absent = true;
    io_uring_choose(&kernel);
    assert_true(kernel.resolved[HOOK_io_uring_flush]);
    assert_string_equal(flush->why, "");
    assert_true(io_uring_lacks_hooks(&kernel));
    kernel.resolved[HOOK_io_uring] = true;
    io_uring_choose(&kernel);
    assert_false(kernel.resolved[HOOK_io_uring_flush]);
    assert_string_not_equal(flush->why, "");
    assert_false(io_uring_lacks_hooks(&kernel));
    kernel.hooks[HOOK_io_uring].absent = false;
    assert_true(io_uring_lacks_hooks(&kernel));
    kernel.hooks[HOOK_io_uring].backend = PROBE_TP_BTF;
    assert_false(io_uring_lacks_hooks(&kernel));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_drop_many, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sweep, setup, teardown),
        cmocka_unit_test_setup_teardown(test_errnos, setup, teardown),
        cmocka_unit_test_setup_teardown(test_users, setup, teardown),
        cmocka_unit_test_setup_teardown(test_slices, setup, teardown),
        cmocka_unit_test_setup_teardown(test_error_of_the_callback, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_places, setup, teardown),
        cmocka_unit_test_setup_teardown(test_slots, setup, teardown),
        cmocka_unit_test_setup_teardown(test_slots_adopted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kprobe_errors, setup, teardown),
        cmocka_unit_test(test_io_uring_hooks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
