/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters of block requests. Those of kernel threads belong to no step: a step gets what they did
 * on all devices while it was running. */
#include "config.h"

#include "collector/probe/block.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/block_records.h"
#include "collector/probe/probe_impl.h"
#include "bpf/block.skel.h"
#include "common/cleanup.h"
#include "common/numbers.h"

/* The programs, in the order in which they are attached: the end of requests first, and their
 * creation last, because what is noted there must be removed. */
static const char *const tracepoints[] = {"block_rq_complete", "block_rq_issue", "block_rq_merge",
                                          "block_bio_frontmerge", "block_getrq"};
#define BLOCK_ISSUE 1
#define BLOCK_LINKS ARRAY_SIZE(tracepoints)

#define BLOCK_PINS "block_"

/* A step that is counted. */
struct block_step {
    uint32_t step;
    bool claimed;  /* false: an earlier process has added it, and nobody has asked for it yet */
    uint64_t lost; /* lost_requests() when it started */
    struct block_account before; /* the requests of kernel threads when it started */
};

struct block_probe {
    const struct probe *probe;
    struct block_bpf *skel;
    struct bpf_link *links[BLOCK_LINKS];
    struct bpf_program *programs[BLOCK_LINKS];
    int program_fds[BLOCK_LINKS]; /* owned; of adopted programs */
    bool pinned;                  /* a later process takes them over */
    bool adopted;                 /* an earlier process has attached the programs */
    void *steps;                  /* tsearch tree of struct block_step, by step */
};

DEFINE_CLEANUP(struct block_probe, block_probe_destroy)
DEFINE_CLEANUP(struct btf, btf__free)
DEFINE_CLEANUP(struct functions, functions_destroy)

/* --- programs --------------------------------------------------------------------------------- */

/* Choose the program that finds the bio or request among the arguments of this kernel. */
static struct bpf_program *choose(const struct block_probe *block, const struct btf *kernel,
                                  struct functions *functions, const char *tracepoint)
{
    static const char *const names[] = {"rq", "request", "bio"};
    struct target target;
    char name[64];
    int at = -ENOENT;

    if (target_find(functions, tracepoint, true, &target) < 0)
        return NULL;
    for (size_t i = 0; i < ARRAY_SIZE(names) && at < 0; i++)
        if (i == 2 || !strstr(tracepoint, "_bio_"))
            at = target_parameter(kernel, &target, names[i]);
    if (at > 0)
        (void)snprintf(name, sizeof(name), "%s_%d", tracepoint, at);
    else
        (void)snprintf(name, sizeof(name), "%s", tracepoint);
    return at < 0 ? NULL : bpf_object__find_program_by_name(block->skel->obj, name);
}

static int choose_all(struct block_probe *block, struct error *error)
{
    CLEANUP(btf__freep) struct btf *kernel = btf__load_vmlinux_btf();
    CLEANUP(functions_destroyp)
    struct functions *functions = kernel ? functions_create(kernel) : NULL;

    if (!kernel)
        return error_set(error, -ENOTSUP, "cannot count block requests: this kernel has no BTF");
    if (!functions)
        return error_errno(error, -ENOMEM, "cannot count block requests");
    for (size_t i = 0; i < BLOCK_LINKS; i++) {
        block->programs[i] = choose(block, kernel, functions, tracepoints[i]);
        if (!block->programs[i])
            return error_set(error, -ENOTSUP,
                             "cannot count block requests: unknown arguments of %s",
                             tracepoints[i]);
        (void)bpf_program__set_autoload(block->programs[i], true);
    }
    return 0;
}

static int attach(struct block_probe *block, struct error *error)
{
    for (size_t i = 0; i < BLOCK_LINKS; i++) {
        block->links[i] = bpf_program__attach(block->programs[i]);
        if (!block->links[i])
            return error_errno(error, -errno, "cannot attach %s",
                               bpf_program__name(block->programs[i]));
    }
    return 0;
}

static int load(struct block_probe *block, struct error *error)
{
    int r;

    block->skel = block_bpf__open_opts(features_types());
    if (!block->skel)
        return error_errno(error, -errno, "cannot open the BPF object for block requests");
    block->skel->rodata->features = block->probe->features;
    r = choose_all(block, error);
    if (r < 0)
        return r;
    r = maps_share(block->probe, block->skel->obj);
    if (r == 0)
        r = block_bpf__load(block->skel);
    if (r < 0)
        return error_errno(error, r, "cannot load the BPF programs for block requests");
    r = attach(block, error);
    block->pinned = r == 0 && block->probe->directory &&
                    pins_make(block->skel->obj, block->links, block->programs, BLOCK_LINKS,
                              block->probe->directory, BLOCK_PINS, NULL) == 0;
    return r;
}

static void step_destroy(void *arg)
{
    struct block_step *step = arg;

    block_account_clear(&step->before);
    free(step);
}

/* --- counters --------------------------------------------------------------------------------- */

static int program_fd(const struct block_probe *block, size_t i)
{
    return block->adopted ? block->program_fds[i] : bpf_program__fd(block->programs[i]);
}

/* Requests without room in the maps, and runs that the kernel refused because an interrupt came
 * while the same program was running. If that happens when the driver gets a request, only its
 * times are missing. */
static uint64_t lost_requests(const struct block_probe *block)
{
    const uint32_t key = 0;
    uint64_t lost = 0;

    /* Not by the skeleton, whose memory is that of a map only if this process has loaded it. */
    (void)bpf_map_lookup_elem(bpf_map__fd(block->skel->maps.data_block_lost), &key, &lost);
    for (size_t i = 0; i < BLOCK_LINKS; i++) {
        struct bpf_prog_info info = {0};
        uint32_t size = sizeof(info);

        if (i != BLOCK_ISSUE && bpf_obj_get_info_by_fd(program_fd(block, i), &info, &size) == 0)
            lost += info.recursion_misses;
    }
    return lost;
}

struct reading {
    uint32_t step; /* BLOCK_BY_KERNEL: what kernel threads did */
    struct block_account *to;
};

static struct block_counter counter_of(const struct block_counter_value *value)
{
    struct block_counter counter;

#define COPY_SUM(member) counter.member = value->member;
    BLOCK_SUMS(COPY_SUM)
#undef COPY_SUM
    memcpy(counter.latency_log2, value->latency, sizeof(counter.latency_log2));
    return counter;
}

static int add_counter(const void *key, const void *value, void *arg)
{
    const struct block_counter_key *at = key;
    const struct block_counter_value *from = value;
    const struct reading *reading = arg;
    struct block_counter counter;
    struct block_device *device;

    if (at->step != reading->step || !from->requests || at->class >= BLOCK_CLASS_COUNT)
        return 0;
    device = block_account_get(reading->to, from->name);
    if (!device)
        return -ENOMEM;
    counter = counter_of(from);
    block_counter_add(at->step == BLOCK_BY_KERNEL ? &device->shared[at->class]
                                                  : &device->own[at->class],
                      &counter);
    return 0;
}

static int read_counters(const struct block_probe *block, uint32_t step, struct block_account *to,
                         struct error *error)
{
    struct reading reading = {.step = step, .to = to};

    return map_each(block->probe, block->skel->maps.block_counters, add_counter, &reading, error);
}

/* --- steps ------------------------------------------------------------------------------------ */

static int step_compare(const void *a, const void *b)
{
    return number_compare(&((const struct block_step *)a)->step,
                          &((const struct block_step *)b)->step);
}

static struct block_step *find_step(const struct block_probe *block, uint32_t step)
{
    const struct block_step wanted = {.step = step};
    struct block_step **found = tfind(&wanted, &block->steps, step_compare);

    return found ? *found : NULL;
}

static struct block_step *insert(struct block_probe *block, uint32_t number)
{
    struct block_step *step = calloc(1, sizeof(*step));

    if (!step)
        return NULL;
    step->step = number;
    if (tsearch(step, &block->steps, step_compare))
        return step;
    step_destroy(step);
    return NULL;
}

static int save_device(const struct block_probe *block, uint32_t step, uint32_t number,
                       const struct block_device *device)
{
    int r = 0;

    for (uint32_t class = 0; class < BLOCK_CLASS_COUNT && r == 0; class ++) {
        const struct block_counter *c = &device->shared[class];
        const struct block_counter_key key = {.step = step, .dev = number, .class = class};
        struct block_counter_value value = {0};

        if (!c->requests)
            continue;
#define COPY_SUM(member) value.member = c->member;
        BLOCK_SUMS(COPY_SUM)
#undef COPY_SUM
        memcpy(value.latency, c->latency_log2, sizeof(value.latency));
        memcpy(value.name, device->name, sizeof(value.name));
        r = map_put(block->probe, block->skel->maps.block_before, &key, &value, BPF_ANY);
    }
    return r;
}

/* The record last: a step that has one is complete. If there is no room, a later process cannot
 * continue the step. */
static void save(const struct block_probe *block, const struct block_step *step)
{
    const struct block_step_record record = {.lost = step->lost};
    int r = 0;

    for (size_t i = 0; i < step->before.n && r == 0; i++)
        r = save_device(block, step->step, (uint32_t)i, &step->before.items[i]);
    if (r == 0)
        (void)map_put(block->probe, block->skel->maps.block_steps, &step->step, &record, BPF_ANY);
    else /* of no use, and others need the room */
        (void)map_drop_steps(block->probe, block->skel->maps.block_before, &step->step, 1, NULL);
}

int block_probe_add(struct block_probe *block, uint32_t number, bool late, struct error *error)
{
    struct block_step *step;
    int r;

    block_probe_remove(block, number);
    step = insert(block, number);
    if (!step)
        return error_errno(error, -ENOMEM, "cannot count the block requests of a step");
    step->claimed = true;
    step->lost = lost_requests(block);
    r = read_counters(block, BLOCK_BY_KERNEL, &step->before, error);
    if (r < 0)
        block_probe_remove(block, number);
    else if (block->pinned && !late)
        save(block, step);
    return r;
}

bool block_probe_continue(struct block_probe *block, uint32_t number)
{
    struct block_step *step = find_step(block, number);

    if (step)
        step->claimed = true;
    return step != NULL;
}

static void forget_step(struct block_probe *block, uint32_t number)
{
    struct block_step *step = find_step(block, number);

    if (!step)
        return;
    (void)tdelete(step, &block->steps, step_compare);
    step_destroy(step);
}

/* Ascending. */
static void drop_steps(struct block_probe *block, const uint32_t *steps, size_t n)
{
    const struct bpf_map *maps[] = {block->skel->maps.block_steps, block->skel->maps.block_before,
                                    block->skel->maps.block_counters};

    for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
        (void)map_drop_steps(block->probe, maps[i], steps, n, NULL);
    for (size_t i = 0; i < n; i++)
        forget_step(block, steps[i]);
}

void block_probe_remove(struct block_probe *block, uint32_t number)
{
    drop_steps(block, &number, 1);
}

/* --- those of an earlier process -------------------------------------------------------------- */

static int load_step(const void *key, const void *value, void *arg)
{
    struct block_step_record record;
    struct block_step *step;
    uint32_t number;

    memcpy(&number, key, sizeof(number));
    memcpy(&record, value, sizeof(record));
    step = insert(arg, number);
    if (!step)
        return -ENOMEM;
    step->lost = record.lost;
    return 0;
}

static int load_before(const void *key, const void *value, void *arg)
{
    const struct block_counter_key *at = key;
    const struct block_counter_value *from = value;
    struct block_step *step = find_step(arg, at->step);
    struct block_counter counter;
    struct block_device *device;

    if (!step || at->class >= BLOCK_CLASS_COUNT)
        return 0;
    device = block_account_get(&step->before, from->name);
    if (!device)
        return -ENOMEM;
    counter = counter_of(from);
    block_counter_add(&device->shared[at->class], &counter);
    return 0;
}

static int load_steps(struct block_probe *block, struct error *error)
{
    int r = map_each(block->probe, block->skel->maps.block_steps, load_step, block, error);

    if (r == 0)
        r = map_each(block->probe, block->skel->maps.block_before, load_before, block, error);
    return r;
}

/* --- leftovers -------------------------------------------------------------------------------- */

struct strangers {
    const struct block_probe *block;
    uint32_t steps[256]; /* more of them are for the next time */
    size_t n;
};

static void add_stranger(struct strangers *strangers, uint32_t step)
{
    if (strangers->n < ARRAY_SIZE(strangers->steps))
        strangers->steps[strangers->n++] = step;
}

static int note_stranger(const void *key, const void *value, void *arg)
{
    uint32_t step = ((const struct block_counter_key *)key)->step;
    struct strangers *strangers = arg;

    (void)value;
    /* A number of a disk that is gone may be given to another one: a step that begins later must
     * not find its name. */
    if ((step != BLOCK_BY_KERNEL || !strangers->block->steps) && !find_step(strangers->block, step))
        add_stranger(strangers, step);
    return 0;
}

/* A step that has ended while no process was running. */
static void note_unclaimed(const void *node, VISIT visit, void *arg)
{
    const struct block_step *step = *(struct block_step *const *)node;

    if ((visit == preorder || visit == leaf) && !step->claimed)
        add_stranger(arg, step->step);
}

void block_probe_sweep(struct block_probe *block)
{
    struct strangers strangers = {.block = block};
    int r =
        map_each(block->probe, block->skel->maps.block_counters, note_stranger, &strangers, NULL);

    if (r == 0)
        r = map_each(block->probe, block->skel->maps.block_before, note_stranger, &strangers, NULL);
    twalk_r(block->steps, note_unclaimed, &strangers);
    if (r < 0 || !strangers.n)
        return;
    qsort(strangers.steps, strangers.n, sizeof(strangers.steps[0]), number_compare);
    drop_steps(block, strangers.steps, strangers.n);
}

static void subtract_shared(struct block_device *from, const struct block_account *before)
{
    const struct block_device *earlier = block_account_find(before, from->name);

    for (int class = 0; earlier && class < BLOCK_CLASS_COUNT; class ++)
        block_counter_subtract(&from->shared[class], &earlier->shared[class]);
}

static bool is_empty(const struct block_device *device)
{
    for (int class = 0; class < BLOCK_CLASS_COUNT; class ++)
        if (device->own[class].requests || device->shared[class].requests)
            return false;
    return true;
}

static void remove_empty(struct block_account *account)
{
    size_t n = 0;

    for (size_t i = 0; i < account->n; i++)
        if (!is_empty(&account->items[i]))
            account->items[n++] = account->items[i];
    account->n = n;
}

int block_probe_read(const struct block_probe *block, uint32_t number, struct block_account *ret,
                     struct error *error)
{
    const struct block_step *step = find_step(block, number);
    int r = read_counters(block, number, ret, error);

    ret->incomplete = !step || step->lost != lost_requests(block);
    if (r == 0 && step)
        r = read_counters(block, BLOCK_BY_KERNEL, ret, error);
    if (r < 0) {
        block_account_clear(ret);
        return r;
    }
    for (size_t i = 0; step && i < ret->n; i++)
        subtract_shared(&ret->items[i], &step->before);
    remove_empty(ret);
    return 0;
}

/* --- the probe -------------------------------------------------------------------------------- */

static void close_adopted(struct block_probe *block)
{
    for (size_t i = 0; i < BLOCK_LINKS; i++)
        if (block->program_fds[i] > 0)
            (void)close(block->program_fds[i]);
    memset(block->program_fds, 0, sizeof(block->program_fds));
    block_bpf__destroy(block->skel);
    block->skel = NULL;
}

void block_probe_destroy(struct block_probe *block)
{
    if (!block)
        return;
    for (size_t i = 0; i < BLOCK_LINKS; i++)
        (void)bpf_link__destroy(block->links[i]);
    close_adopted(block);
    tdestroy(block->steps, step_destroy);
    free(block);
}

/* Returns 1, or 0 if they are not all there; after another failure a later process may succeed. */
static int adopt_programs(struct block_probe *block, struct error *error)
{
    const char *directory = block->probe->directory;
    int r = pins_programs(directory, BLOCK_PINS, block->program_fds, BLOCK_LINKS);

    if (r == -ENOENT)
        return pins_remove(directory, BLOCK_PINS, error);
    return r < 0 ? error_errno(error, r, "cannot take over the programs for block requests") : 1;
}

/* Take over what an earlier process has pinned. Returns 1, or 0 if there is nothing. */
static int adopt(struct block_probe *block, struct error *error)
{
    const char *directory = block->probe->directory;
    int r;

    if (!directory)
        return 0;
    block->skel = block_bpf__open_opts(features_types());
    if (!block->skel)
        return error_errno(error, -errno, "cannot open the BPF object for block requests");
    r = pins_adopt(block->skel->obj, BLOCK_LINKS, directory, BLOCK_PINS, error);
    if (r > 0)
        r = adopt_programs(block, error);
    if (r > 0 && load_steps(block, error) < 0)
        return -ENOMEM;
    if (r <= 0)
        close_adopted(block);
    block->pinned = block->adopted = r > 0;
    return r;
}

int block_probe_create(struct block_probe **ret, const struct probe *probe, struct error *error)
{
    CLEANUP(block_probe_destroyp) struct block_probe *block = calloc(1, sizeof(*block));
    int r;

    if (!block)
        return error_errno(error, -ENOMEM, "cannot count block requests");
    if (probe->blind)
        block_probe_unpin(probe);
    if (probe->blind)
        return error_set(error, -ENOTSUP, "cannot count block requests: %.200s", probe->blind);
    block->probe = probe;
    r = adopt(block, error);
    if (r == 0)
        r = load(block, error);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(block);
    return 0;
}

void block_probe_unpin(const struct probe *probe)
{
    if (probe->directory)
        (void)pins_remove(probe->directory, BLOCK_PINS, NULL);
}
