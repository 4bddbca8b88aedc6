/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads an account from a document. Missing members are 0, unknown ones are ignored. */
#include "report/json/json.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/units.h"
#include "report/json/json_impl.h"

DEFINE_CLEANUP(struct job_account, job_account_destroy)

static int get_ops(struct json_object *from, const char *key, uint64_t *ret, struct error *error)
{
    struct json_object *names;
    int r = json_get(from, key, json_type_array, &names, error);

    for (size_t i = 0; r > 0 && i < json_object_array_length(names); i++) {
        struct json_object *name = json_object_array_get_idx(names, i);
        int op = json_object_is_type(name, json_type_string)
                     ? io_bit_parse(json_object_get_string(name))
                     : -EINVAL;

        if (op >= 0)
            *ret |= UINT64_C(1) << op;
    }
    return r < 0 ? r : 0;
}

static int get_errnos(struct json_object *from, const char *key, struct io_counter *c,
                      struct error *error)
{
    struct json_object *split;
    int r = json_get(from, key, json_type_object, &split, error);

    if (r <= 0)
        return r;
    json_object_object_foreach(split, name, value)
    {
        int code = io_errno_parse(name);
        uint64_t count;

        if (code < 0)
            continue;
        r = json_number(value, name, UINT64_MAX, &count, error);
        if (r < 0)
            return r;
        if (io_counter_errno(c, code, count) < 0)
            return error_set(error, -ENOMEM, "out of memory");
    }
    return 0;
}

static int get_field(struct json_object *from, const struct io_field *field, struct io_counter *c,
                     struct error *error)
{
    switch (field->kind) {
    case IO_FIELD_ERRNOS:
        return get_errnos(from, field->name, c, error);
    case IO_FIELD_HISTOGRAM:
        return json_get_histogram(from, field->name, io_field_in(field, c), error);
    case IO_FIELD_SUM:
    case IO_FIELD_MAX:
        break;
    }
    return json_get_u64(from, field->name, io_field_in(field, c), error);
}

static int parse_counter(struct json_object *from, struct io_counter *c, struct io_peak *peak,
                         struct error *error)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < IO_FIELD_COUNT; i++)
        r = get_field(from, &io_fields[i], c, error);
    if (r == 0)
        r = json_get_u64(from, "peak_bytes_per_s", &peak->bytes_per_s, error);
    if (r == 0)
        r = json_get_u64(from, "peak_requests_per_s", &peak->requests_per_s, error);
    return r;
}

static int parse_op(const char *name, struct json_object *from, struct io_mount *m,
                    struct error *error)
{
    int op = io_op_parse(name);
    struct io_counter *c;
    int r;

    if (op < 0)
        return 0;
    if (!json_object_is_type(from, json_type_object))
        return error_set(error, -EBADMSG, "\"%s\" is not an object", name);
    c = io_account_op(&m->io, op);
    if (!c)
        return error_set(error, -ENOMEM, "out of memory");
    r = parse_counter(from, c, &m->peaks[op], error);
    return r < 0 ? error_prefix(error, r, "%s", name) : 0;
}

static int get_account(struct json_object *from, struct io_mount *m, struct error *error)
{
    struct json_object *ops;
    int r = json_get(from, "ops", json_type_object, &ops, error);

    if (r <= 0)
        return r;
    json_object_object_foreach(ops, name, value)
    {
        r = parse_op(name, value, m, error);
        if (r < 0)
            return r;
    }
    return 0;
}

static int get_cache(struct json_object *from, struct io_cache *ret, struct error *error)
{
    struct json_object *cache, *fill;
    int r = json_get(from, "cache", json_type_object, &cache, error);

    if (r <= 0)
        return r;
    r = json_get_u64(cache, "hit_bytes", &ret->hit_bytes, error);
    if (r == 0)
        r = json_get_u64(cache, "miss_bytes", &ret->miss_bytes, error);
    if (r == 0)
        r = json_get(cache, "fill_bytes", json_type_object, &fill, error);
    if (r <= 0)
        return r;
    r = 0;
    for (int i = 0; r == 0 && i < IO_FILL_COUNT; i++)
        r = json_get_u64(fill, io_fill_name(i), &ret->fill_bytes[i], error);
    return r;
}

static int get_users(struct json_object *from, struct io_users *ret, struct error *error)
{
    struct json_object *o;
    int r = 0;

    for (enum io_user_kind kind = 0; kind < IO_USER_KINDS && r >= 0; kind++) {
        r = json_get(from, io_user_kind_name(kind), json_type_object, &o, error);
        if (r <= 0)
            continue;
        r = json_get_u64(o, "processes", &ret[kind].processes, error);
        if (r == 0)
            r = json_get_u64(o, "threads", &ret[kind].threads, error);
        if (r == 0)
            r = json_get_bool(o, "at_least", &ret[kind].at_least, error);
    }
    return r < 0 ? r : 0;
}

static int get_latency(struct json_object *from, const char *key, struct latency_baseline *ret,
                       struct error *error)
{
    struct json_object *o;
    int r = json_get(from, key, json_type_object, &o, error);

    if (r <= 0)
        return r;
    r = json_get_u64(o, "jobs", &ret->jobs, error);
    if (r == 0)
        r = json_get_u64(o, "q50_ns", &ret->q50_ns, error);
    if (r == 0)
        r = json_get_u64(o, "q99_ns", &ret->q99_ns, error);
    return r;
}

static int get_baseline(struct json_object *from, struct mount_baseline *ret, struct error *error)
{
    struct json_object *o;
    int r = json_get(from, "normal", json_type_object, &o, error);

    if (r <= 0)
        return r;
    r = get_latency(o, "read", &ret->read, error);
    if (r == 0)
        r = get_latency(o, "write", &ret->write, error);
    if (r == 0)
        r = get_latency(o, "open", &ret->open, error);
    return r;
}

static int get_name(struct json_object *from, const char *key, char **ret, struct error *error)
{
    int r = json_get_string(from, key, ret, error);

    if (r == 0 && !*ret)
        return error_set(error, -EBADMSG, "\"%s\" is missing", key);
    return r;
}

/* "unsupported" of a mount is not read: it follows from that of the job and from fstype. */
static int parse_mount(struct json_object *from, struct io_mount *m, struct error *error)
{
    int r = get_name(from, "mount", &m->mount, error);

    if (r == 0)
        r = get_name(from, "fstype", &m->fstype, error);
    if (r == 0)
        r = get_name(from, "source", &m->source, error);
    if (r == 0)
        r = json_get_bool(from, "private", &m->private, error);
    if (r == 0)
        r = json_get_bool(from, "labelled", &m->labelled, error);
    if (r == 0)
        r = get_account(from, m, error);
    if (r == 0)
        r = get_cache(from, &m->cache, error);
    if (r == 0)
        r = get_users(from, m->users, error);
    if (r == 0)
        r = json_get_rpc(from, &m->rpc, error);
    if (r == 0)
        r = get_baseline(from, &m->baseline, error);
    return r == 0 ? json_get_timeline(from, &m->timeline, error) : r;
}

/* Get the array of objects `key` and its length; 0 if there is none. */
static int get_list(struct json_object *from, const char *key, struct json_object **ret, size_t *n,
                    struct error *error)
{
    int r = json_get(from, key, json_type_array, ret, error);

    *n = r > 0 ? json_object_array_length(*ret) : 0;
    for (size_t i = 0; i < *n; i++)
        if (!json_object_is_type(json_object_array_get_idx(*ret, i), json_type_object))
            return error_set(error, -EBADMSG, "%s[%zu] is not an object", key, i);
    return r < 0 ? r : 0;
}

static int get_mounts(struct json_object *from, struct io_mounts *ret, struct error *error)
{
    struct json_object *list;
    size_t n;
    int r = get_list(from, "mounts", &list, &n, error);

    if (r < 0 || n == 0)
        return r;
    ret->items = calloc(n, sizeof(*ret->items));
    if (!ret->items)
        return error_set(error, -ENOMEM, "out of memory");
    for (ret->n = 0; r == 0 && ret->n < n; ret->n++)
        r = parse_mount(json_object_array_get_idx(list, ret->n), &ret->items[ret->n], error);
    return r < 0 ? error_prefix(error, r, "mounts[%zu]", ret->n - 1) : 0;
}

static int parse_cause(struct json_object *from, struct completeness *c, struct error *error)
{
    const uint64_t all = (UINT64_C(1) << IO_SET_BITS) - 1;
    _free_ char *cause = NULL;
    uint64_t count = 0, ops = 0;
    int r = get_name(from, "cause", &cause, error);

    if (r == 0)
        r = json_get_u64(from, "count", &count, error);
    if (r == 0)
        r = get_ops(from, "ops", &ops, error);
    if (r < 0)
        return r;
    if (completeness_add(c, cause, count, ops == all ? 0 : ops) < 0)
        return error_set(error, -ENOMEM, "out of memory");
    return 0;
}

static int get_completeness(struct json_object *from, struct completeness *c, struct error *error)
{
    struct json_object *list;
    size_t n;
    int r = json_get_u64(from, "lost", &c->lost, error);

    if (r == 0)
        r = get_list(from, "incomplete", &list, &n, error);
    for (size_t i = 0; r == 0 && i < n; i++) {
        r = parse_cause(json_object_array_get_idx(list, i), c, error);
        if (r < 0)
            return error_prefix(error, r, "incomplete[%zu]", i);
    }
    return r;
}

static int get_wait(struct json_object *from, uint64_t *longest_ns, struct error *error)
{
    struct json_object *wait;
    int r = json_get(from, "wait", json_type_object, &wait, error);

    return r > 0 ? json_get_u64(wait, "longest_thread_ns", longest_ns, error) : r;
}

static int get_accounting(struct json_object *from, uint64_t *ns_per_event, struct error *error)
{
    struct json_object *accounting;
    int r = json_get(from, "accounting", json_type_object, &accounting, error);

    return r > 0 ? json_get_u64(accounting, "ns_per_event", ns_per_event, error) : r;
}

static int get_step_names(struct json_object *from, struct step_account *s, struct error *error)
{
    _free_ char *step = NULL, *state = NULL;
    int r = get_name(from, "step", &step, error);

    if (r == 0)
        r = get_name(from, "state", &state, error);
    if (r < 0)
        return r;
    if (step_parse(step, &s->step) < 0)
        return error_set(error, -EBADMSG, "\"step\" is not a step");
    r = step_state_parse(state);
    if (r < 0)
        return error_set(error, -EBADMSG, "\"state\" is not the state of a step");
    s->state = r;
    return 0;
}

static int parse_step(struct json_object *from, struct step_account *s, struct error *error)
{
    int r = get_step_names(from, s, error);

    s->het = HET_NONE;
    if (r == 0)
        r = json_get_u32(from, "het", &s->het, error);
    if (r == 0)
        r = json_get_string(from, "node", &s->node, error);
    if (r == 0)
        r = json_get_seconds(from, "tagged_at_s", &s->tagged_at_ns, error);
    if (r == 0)
        r = json_get_seconds(from, "elapsed_s", &s->elapsed_ns, error);
    if (r == 0)
        r = json_get_u32(from, "folded", &s->folded, error);
    if (r == 0)
        r = get_completeness(from, &s->completeness, error);
    if (r == 0)
        r = get_wait(from, &s->longest_wait_ns, error);
    if (r == 0)
        r = get_mounts(from, &s->mounts, error);
    if (r == 0)
        r = json_get_mpi(from, &s->mpi, error);
    if (r == 0)
        r = json_get_block(from, &s->block, error);
    if (r == 0)
        r = json_get_stacks(from, &s->stacks, error);
    return r;
}

static int get_steps(struct json_object *from, struct job_account *job, struct error *error)
{
    struct json_object *list;
    size_t n;
    int r = get_list(from, "steps", &list, &n, error);

    if (r < 0 || n == 0)
        return r;
    job->steps = calloc(n, sizeof(*job->steps));
    if (!job->steps)
        return error_set(error, -ENOMEM, "out of memory");
    for (job->n_steps = 0; r == 0 && job->n_steps < n; job->n_steps++)
        r = parse_step(json_object_array_get_idx(list, job->n_steps), &job->steps[job->n_steps],
                       error);
    return r < 0 ? error_prefix(error, r, "steps[%zu]", job->n_steps - 1) : 0;
}

static int get_command(struct json_object *from, struct job_account *job, struct error *error)
{
    struct json_object *list, *status;
    int r = json_get(from, "exit_status", json_type_int, &status, error);
    size_t n;

    if (r < 0)
        return r;
    job->exit_status = r > 0 ? json_object_get_int(status) : 0;
    r = json_get(from, "command", json_type_array, &list, error);
    if (r <= 0)
        return r;
    n = json_object_array_length(list);
    job->command = calloc(n + 1, sizeof(*job->command));
    if (!job->command)
        return error_set(error, -ENOMEM, "out of memory");
    r = 0;
    for (size_t i = 0; r == 0 && i < n; i++) {
        struct json_object *word = json_object_array_get_idx(list, i);

        if (!json_object_is_type(word, json_type_string))
            return error_set(error, -EBADMSG, "command[%zu] is not a string", i);
        r = json_copy_string(word, &job->command[i], error);
    }
    return r;
}

static int get_state(struct json_object *from, bool *ended, struct error *error)
{
    _free_ char *state = NULL;
    int r = json_get_string(from, "state", &state, error);

    if (r < 0)
        return r;
    *ended = state && !strcmp(state, "ended");
    return 0;
}

/* A newer program may know more states. */
static int get_slurm_end(struct json_object *from, struct slurm_end *end, struct error *error)
{
    _free_ char *state = NULL;
    int r = json_get_string(from, "slurm_state", &state, error);

    if (r == 0)
        r = json_get_u32(from, "exit_code", &end->exit_code, error);
    if (r == 0)
        r = json_get_u32(from, "exit_signal", &end->exit_signal, error);
    end->state = slurm_state_parse(state);
    end->has_exit = json_object_object_get_ex(from, "exit_code", NULL);
    return r;
}

static int get_identity(struct json_object *document, struct job_account *job, struct error *error)
{
    const struct {
        const char *key;
        char **to;
    } strings[] = {
        {"cluster", &job->key.cluster}, {"user", &job->user}, {"account", &job->account},
        {"partition", &job->partition}, {"name", &job->name}, {"first_node", &job->first_node},
    };
    struct json_object *from;
    int r = json_get(document, "job", json_type_object, &from, error);

    if (r == 0)
        return error_set(error, -EBADMSG, "\"job\" is missing");
    r = r < 0 ? r : 0;
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(strings); i++)
        r = json_get_string(from, strings[i].key, strings[i].to, error);
    if (r == 0)
        r = json_get_u32(from, "jobid", &job->key.jobid, error);
    if (r == 0)
        r = json_get_u32(from, "restart", &job->key.restart, error);
    if (r == 0)
        r = json_get_u32(from, "uid", &job->uid, error);
    if (r == 0)
        r = json_get_u32(from, "array_jobid", &job->array_job, error);
    if (r == 0)
        r = json_get_u32(from, "array_task", &job->array_task, error);
    if (r == 0)
        r = get_state(from, &job->ended, error);
    if (r == 0)
        r = get_slurm_end(from, &job->slurm, error);
    if (r == 0)
        r = json_get_seconds(from, "start_s", &job->start_ns, error);
    if (r == 0)
        r = json_get_seconds(from, "end_s", &job->end_ns, error);
    return r == 0 ? get_command(from, job, error) : r;
}

static int get_nodes(struct json_object *document, struct job_account *job, struct error *error)
{
    struct json_object *nodes;
    int r = json_get(document, "nodes", json_type_object, &nodes, error);

    if (r <= 0)
        return r;
    r = json_get_u32(nodes, "expected", &job->nodes_expected, error);
    return r == 0 ? json_get_u32(nodes, "reported", &job->nodes_reported, error) : r;
}

static int check_version(struct json_object *document, struct error *error)
{
    uint64_t version = 0;
    int r;

    if (!json_object_is_type(document, json_type_object))
        return error_set(error, -EBADMSG, "the document is not an object");
    r = json_get_u64(document, "version", &version, error);
    if (r == 0 && version != 1)
        return error_set(error, -EBADMSG, "version %llu of the document is not supported",
                         (unsigned long long)version);
    return r;
}

int report_json_parse(struct json_object *document, struct job_account **ret, struct error *error)
{
    CLEANUP(job_account_destroyp) struct job_account *job = job_account_create();
    int r;

    if (!job)
        return error_set(error, -ENOMEM, "out of memory");
    r = check_version(document, error);
    if (r == 0)
        r = get_identity(document, job, error);
    if (r == 0)
        r = get_completeness(document, &job->completeness, error);
    if (r == 0)
        r = get_nodes(document, job, error);
    if (r == 0)
        r = json_get_seconds(document, "elapsed_s", &job->elapsed_ns, error);
    if (r == 0)
        r = get_wait(document, &job->longest_wait_ns, error);
    if (r == 0)
        r = get_accounting(document, &job->ns_per_event, error);
    if (r == 0)
        r = get_ops(document, "unsupported", &job->unsupported, error);
    if (r == 0)
        r = get_mounts(document, &job->mounts, error);
    if (r == 0)
        r = json_get_mpi(document, &job->mpi, error);
    if (r == 0)
        r = json_get_block(document, &job->block, error);
    if (r == 0)
        r = json_get_stacks(document, &job->stacks, error);
    if (r == 0)
        r = get_steps(document, job, error);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(job);
    return 0;
}
