/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small user of the probe, for the tests: counts one command and prints the probe's numbers as
 * JSON. $CGROUP tells the command its cgroup; it moves there itself when it is ready.
 *
 *   count [-o OUTPUT] [-p PIN_DIR] [-s MAX_STEPS] [-g CGROUP] [-b BACKEND] [-1] [-k|-d] --
 * COMMAND... -g: the cgroup's directory (made if missing), -1: of the freezer hierarchy, -k: leave
 * the step and the pins when done, -d: leave only the pins; -b: fentry, kprobe or tp_btf (default:
 * chosen by the probe).
 */
#include "config.h"

#include <json-c/json.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/probe/probe.h"
#include "common/cleanup.h"

struct options {
    struct probe_options probe;
    const char *cgroup, *output;
    int version;
    bool keep, keep_pins;
    char **command;
};

static struct json_object *json_buckets(const uint64_t *buckets)
{
    struct json_object *array = json_object_new_array();
    int n = IO_BUCKETS;

    while (n && !buckets[n - 1])
        n--;
    for (int i = 0; i < n; i++)
        json_object_array_add(array, json_object_new_uint64(buckets[i]));
    return array;
}

static struct json_object *json_counter(const struct io_counter *counter)
{
    struct json_object *op = json_object_new_object(), *errnos = json_object_new_object();
    char name[16];

    json_object_object_add(op, "requests", json_object_new_uint64(counter->requests));
    json_object_object_add(op, "async_requests", json_object_new_uint64(counter->async_requests));
    json_object_object_add(op, "bytes", json_object_new_uint64(counter->bytes));
    json_object_object_add(op, "errors", json_object_new_uint64(counter->errors));
    for (size_t i = 0; i < counter->n_errnos; i++)
        json_object_object_add(errnos, io_errno_name(counter->errnos[i].code, name),
                               json_object_new_uint64(counter->errnos[i].count));
    json_object_object_add(op, "errno", errnos);
    json_object_object_add(op, "time_ns", json_object_new_uint64(counter->time_ns));
    json_object_object_add(op, "max_ns", json_object_new_uint64(counter->max_ns));
    json_object_object_add(op, "throttled_ns", json_object_new_uint64(counter->throttled_ns));
    json_object_object_add(op, "size_log2", json_buckets(counter->size_log2));
    json_object_object_add(op, "latency_log2", json_buckets(counter->latency_log2));
    return op;
}

static struct json_object *json_cache(const struct io_cache *cache)
{
    struct json_object *object = json_object_new_object();

    json_object_object_add(object, "hit", json_object_new_uint64(cache->hit_bytes));
    json_object_object_add(object, "miss", json_object_new_uint64(cache->miss_bytes));
    for (int fill = 0; fill < IO_FILL_COUNT; fill++)
        json_object_object_add(object, io_fill_name(fill),
                               json_object_new_uint64(cache->fill_bytes[fill]));
    return object;
}

struct printed {
    struct json_object *mounts, *caches;
};

/* A later super block with the same number has its own name: "0:53+1". */
static void dev_name(uint64_t dev, char name[32])
{
    unsigned generation = dev >> 32;
    int n = snprintf(name, 32, "%u:%u", (unsigned)dev >> 20, (unsigned)dev & 0xfffff);

    if (generation)
        snprintf(name + n, 32 - n, "+%u", generation);
}

static int add_mount(const struct probe_account *account, void *arg)
{
    struct io_counter *const *counters = account->io->ops;
    const struct printed *printed = arg;
    struct json_object *ops = json_object_new_object();
    char name[32];

    for (int op = 0; op < IO_OP_COUNT; op++)
        if (counters[op])
            json_object_object_add(ops, io_op_name(op), json_counter(counters[op]));
    dev_name(account->dev, name);
    json_object_object_add(printed->mounts, name, ops);
    if (!io_cache_is_empty(account->cache))
        json_object_object_add(printed->caches, name, json_cache(account->cache));
    return 0;
}

static int add_fstype(const struct probe_mount *mount, void *arg)
{
    char name[32];

    dev_name(mount->dev, name);
    json_object_object_add(arg, name, json_object_new_string(mount->fstype));
    return 0;
}

static void add_step(const struct probe_step *step, struct json_object *document)
{
    const struct {
        const char *name;
        uint64_t value;
    } fields[] = {
        {"events", step->events},
        {"longest_wait_ns", step->longest_wait_ns},
        {"lost", step->lost.requests},
        {"lost_bytes", step->lost.bytes},
        {"lost_latencies", step->lost.latencies},
        {"lost_ends", step->lost.ends},
        {"lost_errnos", step->lost.errnos},
        {"lost_mounts", step->lost.mounts},
        {"lost_async", step->lost.async},
        {"lost_unseen", step->lost.unseen},
        {"lost_fills", step->lost.fills},
    };

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        json_object_object_add(document, fields[i].name, json_object_new_uint64(fields[i].value));
}

static int add_steps(struct probe *probe, uint32_t step, struct json_object *document,
                     struct error *error)
{
    _free_ struct probe_step *steps = NULL;
    size_t n = 0;
    int r = probe_steps(probe, &steps, &n, error);

    for (size_t i = 0; i < n; i++)
        if (steps[i].step == step)
            add_step(&steps[i], document);
    return r;
}

static const char *const backends[] = {[PROBE_NONE] = "auto",
                                       [PROBE_FENTRY] = "fentry",
                                       [PROBE_KPROBE] = "kprobe",
                                       [PROBE_TP_BTF] = "tp_btf"};

static void add_hooks(struct probe *probe, struct json_object *document)
{
    const struct probe_hook *hooks;
    struct json_object *missing = json_object_new_object();
    uint64_t missed = 0;
    size_t n;

    if (probe_hooks(probe, &hooks, &n) < 0)
        return;
    for (size_t i = 0; i < n; i++) {
        missed += hooks[i].missed;
        if (!strcmp(hooks[i].function, "vfs_read"))
            json_object_object_add(document, "backend",
                                   json_object_new_string(backends[hooks[i].backend]));
        if (hooks[i].backend == PROBE_NONE && !(hooks[i].absent && *hooks[i].feature))
            json_object_object_add(missing, hooks[i].function,
                                   json_object_new_string(hooks[i].why));
    }
    json_object_object_add(document, "not_attached", missing);
    json_object_object_add(document, "missed", json_object_new_uint64(missed));
}

static int print_account(struct probe *probe, uint32_t step, const char *output,
                         struct error *error)
{
    struct json_object *document = json_object_new_object(), *fstypes = json_object_new_object();
    struct printed printed = {json_object_new_object(), json_object_new_object()};
    int r = probe_read(probe, &step, 1, add_mount, &printed, error);

    if (r == 0)
        r = probe_new_mounts(probe, add_fstype, fstypes, error);
    json_object_object_add(document, "adopted", json_object_new_boolean(probe_is_adopted(probe)));
    json_object_object_add(document, "mounts", printed.mounts);
    json_object_object_add(document, "caches", printed.caches);
    json_object_object_add(document, "fstypes", fstypes);
    if (r == 0)
        r = add_steps(probe, step, document, error);
    add_hooks(probe, document);
    if (json_object_to_file_ext(output, document, JSON_C_TO_STRING_PRETTY) < 0)
        r = error_errno(error, -errno, "cannot write '%s'", output);
    json_object_put(document);
    return r;
}

/* The depth of a cgroup below its hierarchy's root, which is the first directory with another
 * device above it. */
static unsigned level_of(const char *cgroup)
{
    char path[PATH_MAX];
    struct stat own, above;
    unsigned level = 0;

    snprintf(path, sizeof(path), "%s", cgroup);
    if (stat(path, &own) < 0)
        return 0;
    for (;; level++) {
        char *slash = strrchr(path, '/');

        if (!slash || slash == path)
            return level;
        *slash = '\0';
        if (stat(path, &above) < 0 || above.st_dev != own.st_dev)
            return level;
    }
}

static int run(const struct options *options)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        setenv("CGROUP", options->cgroup, 1);
        execvp(options->command[0], options->command);
        perror(options->command[0]);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int count(const struct options *options, struct error *error)
{
    struct probe *probe;
    struct stat st;
    uint32_t step;
    int r, status = 0;

    if (mkdir(options->cgroup, 0755) < 0 && errno != EEXIST)
        return error_errno(error, -errno, "cannot make '%s'", options->cgroup);
    if (stat(options->cgroup, &st) < 0)
        return error_errno(error, -errno, "cannot look at '%s'", options->cgroup);
    r = probe_create(&probe, &options->probe, error);
    if (r < 0)
        return r;
    r = probe_add(probe, st.st_ino, level_of(options->cgroup), options->version, &step, error);
    if (r == 0 && options->command)
        status = run(options);
    if (r == 0)
        r = print_account(probe, step, options->output, error);
    if (r == 0 && !options->keep)
        r = probe_drop(probe, st.st_ino, options->version, error);
    probe_destroy(probe);
    if (!options->keep && !options->keep_pins && options->probe.pin_dir)
        (void)probe_unpin(options->probe.pin_dir, NULL);
    return r < 0 ? r : status;
}

static enum probe_backend backend_named(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(backends); i++)
        if (!strcmp(name, backends[i]))
            return i;
    fprintf(stderr, "count: there is no backend '%s'\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    struct options options = {
        .cgroup = "/sys/fs/cgroup/jobio-test", .output = "/dev/stdout", .version = 2};
    struct error error = {""};
    int option, r;

    while ((option = getopt(argc, argv, "o:p:s:g:b:1kd")) != -1) {
        switch (option) {
        case 'o':
            options.output = optarg;
            break;
        case 'p':
            options.probe.pin_dir = optarg;
            break;
        case 's':
            options.probe.max_steps = atoi(optarg);
            break;
        case 'g':
            options.cgroup = optarg;
            break;
        case 'b':
            options.probe.backend = backend_named(optarg);
            break;
        case '1':
            options.version = 1;
            break;
        case 'k':
            options.keep = true;
            break;
        case 'd':
            options.keep_pins = true;
            break;
        default:
            return 2;
        }
    }
    if (optind < argc)
        options.command = argv + optind;
    r = count(&options, &error);
    if (r < 0)
        fprintf(stderr, "count: %s\n", error.text);
    return r < 0 ? 1 : r;
}
