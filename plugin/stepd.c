/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurmstepd: runs as root and reports the step to jobiod. After the first task has started,
 * slurm_error() also writes to the user's output; slurm_info() does not. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/job.h"
#include "common/message.h"
#include "common/numbers.h"
#include "plugin/cgroup.h"
#include "plugin/client.h"
#include "plugin/settings.h"
#include "plugin/contexts.h"
#include "plugin/duplicate.h"
#include "plugin/pinned_maps.h"
#include "plugin/nodes.h"
#include "plugin/option.h"
#include "plugin/job_output.h"
#include "plugin/runtime_dir.h"

#define ROOT_TIMEOUT_MS 200
#define TAG_TIMEOUT_MS 200
#define END_TIMEOUT_MS 200
#define REPORT_TIMEOUT_MS 2000 /* including END */
#define TEXT_MAX 262144
#define NAME_MAX_SIZE 256

/* sbatch sets it; needed if `--export=NONE` loses the option (Slurm < 24.05). */
#define SUMMARY_LEFT_OVER "SLURM_SPANK__SLURM_SPANK_OPTION_jobio_io_summary"

/* The step of this process. */
static struct {
    struct settings settings;
    uint32_t jobid, restart, het, step, uid, nodes;
    uint32_t array_job, array_task; /* array_job 0: not an array */
    char name[NAME_MAX_SIZE];
    const char *node;
    const char *summary;
    bool mpi;          /* the user wants MPI-IO to be counted */
    bool stacks;       /* the user wants to know which code waits */
    const char *trace; /* NULL: none; else its trace_word() */
    char caller[128];  /* with trace: TRACEPARENT of the job; "": it has none, or a longer one */
    struct cgroup cgroup;
    uint64_t tagged_at, tagged_boot;
    char file[64];          /* the name of the step file */
    char label[32];         /* for the log: "17.batch", "17.0" */
    bool known;             /* Slurm has identified the step */
    struct runtime_job job; /* its file; ended: of the previous run, and no prolog was called */
    bool job_failed;        /* it could not be read */
    bool tagged;            /* its cgroup is known, and jobiod or the maps have it */
    bool gave_up;           /* it has no cgroup of its own */
    bool prints_summary;    /* when its last task on this node has ended */
    uint32_t exited;        /* ended tasks on this node */
    int last_task;          /* the last of them, from 1 */
    bool loaded;            /* by an earlier line of plugstack.conf */
    bool duplicate;         /* another file was loaded by an earlier line: do nothing */
    bool begun;
} step;

static struct message message;
static char text[TEXT_MAX];

static void complain(const char *word, const char *reason)
{
    slurm_error("jobio: plugstack.conf: \"%s\" %s", word, reason);
}

static void log_failure(const char *what, int r, const struct error *error)
{
    if (r == -EHOSTDOWN)
        slurm_verbose("jobio: step %s: %s: %s", step.label, what, error->text);
    else
        slurm_info("jobio: step %s: %s: %s", step.label, what, error->text);
}

/* When a thread of slurmstepd temporarily becomes the user, all threads do. The hooks need root for
 * the runtime directory and the socket of jobiod. */
static void wait_for_root(void)
{
    const struct timespec pause = {.tv_nsec = NS_PER_MS};

    for (int ms = 0; ms < ROOT_TIMEOUT_MS && geteuid() != getuid(); ms++)
        (void)nanosleep(&pause, NULL);
}

/* Slurm calls each hook once for every line that loads the plugin: in the same object if the path
 * is the same. The first line is used. */
static bool is_loaded_already(void)
{
    step.duplicate = duplicate_of_another_file();
    if (!step.loaded && !step.duplicate) {
        step.loaded = true;
        return false;
    }
    slurm_info("jobio: plugstack.conf loads jobio.so more than once: only the first line is used");
    return true;
}

void stepd_init(spank_t spank, int ac, char *av[])
{
    if (is_loaded_already())
        return;
    step.node = settings_node_name();
    settings_read(&step.settings, ac, av, step.node, complain);
    option_register(spank);
}

static uint32_t get_item(spank_t spank, spank_item_t which, uint32_t fallback)
{
    uint32_t value;

    return spank_get_item(spank, which, &value) == ESPANK_SUCCESS ? value : fallback;
}

static const char *get_job_variable(spank_t spank, const char *name, char *buf, size_t size)
{
    spank_err_t r = spank_getenv(spank, name, buf, (int)size);

    return r == ESPANK_SUCCESS || r == ESPANK_NOSPACE ? buf : NULL;
}

/* Returns the word of the option, or that of the first variable that has one (`names` ends with
 * NULL); NULL: there is none. */
static const char *choose_word(spank_t spank, const char *option, const char *const *names,
                               const char *(*parse)(const char *text))
{
    const char *word = option;
    char buf[16];

    for (; !word && *names; names++)
        word = parse(get_job_variable(spank, *names, buf, sizeof(buf)));
    return word;
}

static const char *choose_summary(spank_t spank)
{
    static const char *const names[] = {SUMMARY_LEFT_OVER, SUMMARY_VARIABLE, SUMMARY_PASSED_ON,
                                        NULL};
    const char *word = choose_word(spank, option_summary(), names, summary_word);

    return word ? word : step.settings.summary;
}

/* A trace of the calls of MPI-IO needs them to be counted. The extern step has no environment: the
 * file of the prolog has the choice. */
static bool wants_mpi(spank_t spank)
{
    static const char *const names[] = {MPI_PASSED_ON, MPI_VARIABLE, NULL};
    bool given = option_mpi() || (step.trace && trace_word_of_mpi(step.trace));
    const char *word = choose_word(spank, given ? "1" : NULL, names, switch_word);

    return word ? *word == '1' : step.job.mpi;
}

/* The extern step has no program of the user. */
static bool wants_stacks(spank_t spank)
{
    static const char *const names[] = {STACKS_PASSED_ON, STACKS_VARIABLE, NULL};
    const char *word = choose_word(spank, option_stacks() ? "1" : NULL, names, switch_word);

    return word && *word == '1' && step.step != STEP_EXTERN;
}

/* The extern step is not traced: without an environment it does not know its caller. */
static void choose_trace(spank_t spank)
{
    static const char *const names[] = {TRACE_PASSED_ON, TRACE_VARIABLE, NULL};
    const char *word = choose_word(spank, option_trace(), names, trace_word);

    step.trace = word && *word != '0' && step.step != STEP_EXTERN ? word : NULL;
    if (!step.trace ||
        spank_getenv(spank, "TRACEPARENT", step.caller, sizeof(step.caller)) != ESPANK_SUCCESS)
        step.caller[0] = '\0';
}

/* The number of nodes of the allocation. Slurm provides that of the step: it is equal for extern,
 * and unknown for batch (whose environment is set by slurmd, not by the user). For other steps it
 * is trusted only if the environment has the same number. */
static uint32_t find_node_count(spank_t spank)
{
    uint32_t nodes = get_item(spank, S_JOB_NNODES, 0);
    unsigned allocated = 0;
    char buf[16];

    if (step.step == STEP_EXTERN)
        return nodes;
    if (!get_job_variable(spank, "SLURM_JOB_NUM_NODES", buf, sizeof(buf)) ||
        sscanf(buf, "%9u", &allocated) != 1)
        return 0;
    return step.step == STEP_BATCH || allocated == nodes ? allocated : 0;
}

static void set_label(void)
{
    static const struct {
        uint32_t step;
        const char *name;
    } names[] = {{STEP_BATCH, "batch"}, {STEP_EXTERN, "extern"}, {STEP_INTERACTIVE, "interactive"}};

    (void)snprintf(step.label, sizeof(step.label), "%u.%u", step.jobid, step.step);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].step == step.step)
            (void)snprintf(step.label, sizeof(step.label), "%u.%s", step.jobid, names[i].name);
    }
}

/* Slurm 22.05 has the item but does not set it: then the file of the prolog has the number. If
 * slurmd still remembers the previous run, it does not call the prolog for the next one: then the
 * file of the previous run has ENDED. */
static uint32_t find_restart(spank_t spank)
{
    uint32_t restart = get_item(spank, S_SLURM_RESTART_COUNT, 0);

    if (restart != 0 && restart != HET_NONE)
        return restart;
    return step.job.restart + step.job.ended;
}

static bool is_in_allocation(spank_t spank)
{
    char buf[16];

    return get_job_variable(spank, ALLOCATION_VARIABLE, buf, sizeof(buf));
}

/* srun --quiet. */
static bool is_quiet(spank_t spank)
{
    char buf[16];
    const char *level = get_job_variable(spank, SRUN_LEVEL_VARIABLE, buf, sizeof(buf));
    uint64_t value;

    return level && number_parse(level, 0, SRUN_LEVEL_INFO - 1, &value) == 0;
}

/* One summary for each job that has no script: of the only step of a job that srun made, and of the
 * shell that salloc runs on the first node. Other steps of an allocation print none, because nobody
 * knows which one is the last. */
static bool prints_summary(spank_t spank)
{
    if (is_quiet(spank))
        return false;
    return step.step == STEP_INTERACTIVE || (step.step == 0 && !is_in_allocation(spank));
}

/* The item is 0, NO_VAL or not set if the job is not a task of an array. */
static void identify_array(spank_t spank)
{
    uint32_t job = get_item(spank, S_JOB_ARRAY_ID, 0);

    step.array_task = get_item(spank, S_JOB_ARRAY_TASK_ID, HET_NONE);
    step.array_job = job < HET_NONE && step.array_task < HET_NONE ? job : 0;
}

/* An unreadable file is not replaced: it may have data that this step does not have. */
static void read_job(void)
{
    struct error error = {""};
    int r = runtime_read_job(step.settings.runtime, step.jobid, &step.job, &error);

    step.job_failed = r < 0;
    if (r < 0)
        log_failure("restart and nodes of the job", r, &error);
}

static void identify_step(spank_t spank)
{
    const uint32_t none = HET_NONE;
    uid_t uid = 0;

    step.jobid = get_item(spank, S_JOB_ID, none);
    step.step = get_item(spank, S_JOB_STEPID, none);
    set_label();
    read_job();
    step.restart = find_restart(spank);
    step.known = step.jobid != none && step.step != none &&
                 spank_get_item(spank, S_JOB_UID, &uid) == ESPANK_SUCCESS;
    step.uid = uid;
    identify_array(spank);
    step.nodes = find_node_count(spank);
    step.summary = choose_summary(spank);
    choose_trace(spank);
    step.mpi = wants_mpi(spank);
    step.stacks = wants_stacks(spank);
    step.prints_summary = prints_summary(spank);
    (void)get_job_variable(spank, "SLURM_JOB_NAME", step.name, sizeof(step.name));
}

static void start_message(const char *type)
{
    message_init(&message, type);
    (void)message_put_u64(&message, "JOBID", step.jobid);
    (void)message_put_u64(&message, "RESTART", step.restart);
    (void)message_put_u64(&message, "HET", step.het);
    (void)message_put_u64(&message, "STEP", step.step);
}

/* The time for which the task waits for jobiod. */
static uint64_t tag_timeout_ms(void)
{
    if (runtime_is_down(step.settings.runtime))
        return 0;
    return (uint64_t)TAG_TIMEOUT_MS * step.settings.patience;
}

static void make_tag_message(bool direct)
{
    start_message("tag");
    (void)message_put_u64(&message, "UID", step.uid);
    (void)message_put(&message, "CGROUP", step.cgroup.path);
    (void)message_put_u64(&message, "CGROUP_ID", step.cgroup.id);
    (void)message_put_u64(&message, "CGROUP_LEVEL", step.cgroup.level);
    (void)message_put_u64(&message, "CGROUP_VERSION", (uint64_t)step.cgroup.version);
    (void)message_put_u64(&message, "TAGGED_AT", step.tagged_at);
    (void)message_put_u64(&message, "TAGGED_BOOT", step.tagged_boot);
    (void)message_put(&message, "PLUGIN", PACKAGE_VERSION);
    (void)message_put_u64(&message, "WITHIN", tag_timeout_ms());
    (void)message_put_u64(&message, "NODES", step.nodes);
    (void)message_put(&message, "NODE", step.node);
    if (step.name[0]) /* the extern step has no environment */
        (void)message_put(&message, "NAME", step.name);
    if (step.array_job) {
        (void)message_put_u64(&message, "ARRAY_JOB", step.array_job);
        (void)message_put_u64(&message, "ARRAY_TASK", step.array_task);
    }
    (void)message_put(&message, "SUMMARY", step.summary);
    (void)message_put_u64(&message, "DIRECT", direct);
    if (step.mpi)
        (void)message_put_u64(&message, "MPI", 1);
    if (step.stacks)
        (void)message_put_u64(&message, "STACKS", 1);
    if (step.trace)
        (void)message_put_u64(&message, "TRACE", 1);
    if (step.trace && trace_word_of_mpi(step.trace))
        (void)message_put(&message, "TRACE_OF", TRACE_MPI_WORD);
    if (step.trace && trace_word_has_paths(step.trace))
        (void)message_put_u64(&message, "TRACE_PATHS", 1);
    if (step.caller[0])
        (void)message_put(&message, "TRACEPARENT", step.caller);
}

static bool save_step_file(const char *name)
{
    struct error error = {""};
    int r;

    wait_for_root();
    r = runtime_write_file(step.settings.runtime, "steps", name, &message, &error);
    if (r < 0)
        log_failure("step file", r, &error);
    return r == 0;
}

/* jobiod was not reached, for the `reason`. It finds the step file later. Until then the step is
 * counted only if its cgroup is in the map. Without a step file, jobiod drops what was counted. */
static void tag_directly(int code, const struct error *reason, bool has_file)
{
    struct error error = {""};

    wait_for_root();
    if (pinned_maps_tag(step.settings.runtime, &step.cgroup, &error) == 0) {
        log_failure("tagged without jobiod", code, reason);
        make_tag_message(true);
        has_file |= save_step_file(step.file);
    } else if (has_file) {
        (void)error_prefix(&error, code, "%s; not counted until jobiod runs", reason->text);
        log_failure("tag", code, &error);
    }
    if (!has_file) {
        (void)error_set(&error, code, "%s, and there is no step file", reason->text);
        log_failure("not counted", 0, &error);
    }
}

static void tag_step(void)
{
    struct error error = {""};
    bool has_file;
    int r;

    step.tagged = true;
    step.het = cgroup_het(&step.cgroup);
    step.tagged_at = clock_ns(CLOCK_REALTIME);
    step.tagged_boot = clock_ns(CLOCK_BOOTTIME);
    (void)snprintf(step.file, sizeof(step.file), "%u.%u.%u.%u", step.jobid, step.restart, step.het,
                   step.step);
    make_tag_message(false);
    has_file = save_step_file(step.file);
    r = client_ask(&step.settings, &message, TAG_TIMEOUT_MS, &error);
    if (r == -EREMOTEIO)
        log_failure("tag", r, &error);
    else if (r < 0)
        tag_directly(r, &error, has_file);
}

/* slurmd sets this variable for the batch step, so users cannot change it. */
static bool put_nodes(spank_t spank)
{
    static char list[NODES_MAX];

    return step.step == STEP_BATCH &&
           spank_getenv(spank, "SLURM_JOB_NODELIST", list, sizeof(list)) == ESPANK_SUCCESS &&
           nodes_put(&message, step.node, list) == 0;
}

/* Whether jobiod has all data of the job that this step can provide. */
static bool is_announced(void)
{
    return step.job.known && !step.job.ended && (step.job.has_nodes || step.step != STEP_BATCH);
}

/* If the hook of the prolog was not called for this run. With PrologFlags=RunInJob it never is:
 * then the batch step sends the nodes of the job, even if another step started first. */
static void announce_job(spank_t spank)
{
    struct error error = {""};
    char name[16];
    int r;

    if (step.job_failed || is_announced())
        return;
    message_init(&message, "job");
    (void)message_put_u64(&message, "JOBID", step.jobid);
    r = runtime_copy_job(step.settings.runtime, step.jobid, &message, &error);
    (void)message_put_u64(&message, "RESTART", step.restart);
    if (!put_nodes(spank) && !step.job.ended)
        return;
    (void)snprintf(name, sizeof(name), "%u", step.jobid);
    if (r == 0)
        r = runtime_write_file(step.settings.runtime, "jobs", name, &message, &error);
    if (r == 0)
        r = client_ask(&step.settings, &message, TAG_TIMEOUT_MS, &error);
    if (r < 0)
        log_failure("nodes of the job", r, &error);
}

void stepd_begin(spank_t spank)
{
    struct error error = {""};

    if (step.duplicate || step.begun)
        return;
    step.begun = true;
    wait_for_root();
    identify_step(spank);
    if (step.known)
        announce_job(spank);
    if (!step.known)
        slurm_error("jobio: cannot get the step ID from Slurm: the step is not counted");
    else if (cgroup_of_step("/proc", step.step == STEP_EXTERN, &step.cgroup, &error) == 0)
        tag_step();
    else if (step.step == STEP_EXTERN)
        log_failure("not counted", 0, &error);
}

/* Tags the step with its first task if that was not possible before. The task waits for exec. */
void stepd_task(spank_t spank)
{
    struct error error = {""};
    pid_t pid;
    int r;

    if (!step.known || step.tagged || step.gave_up ||
        spank_get_item(spank, S_TASK_PID, &pid) != ESPANK_SUCCESS)
        return;
    r = cgroup_of_task("/proc", pid, &step.cgroup, &error);
    if (r == 0) {
        tag_step();
        return;
    }
    step.gave_up = true;
    log_failure("not counted", r, &error);
}

/* The nodes of this step: another node may not have started it when its tasks here have ended. The
 * user can change the list, but it only affects the user's own summary. */
static void put_step_nodes(spank_t spank)
{
    static char list[NODES_MAX], names[NODES_MAX];

    if (spank_getenv(spank, "SLURM_STEP_NODELIST", list, sizeof(list)) == ESPANK_SUCCESS &&
        nodes_expand(list, names) == 0)
        (void)message_put(&message, "STEPNODES", names);
}

static uint64_t report_timeout_ms(void)
{
    return (uint64_t)REPORT_TIMEOUT_MS * step.settings.patience;
}

static uint64_t report_deadline_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC) + report_timeout_ms() * NS_PER_MS;
}

/* so_far: the job has not ended. */
static void print_report(spank_t spank, uint64_t deadline_ns, bool so_far)
{
    struct error error = {""};
    ssize_t n;
    int r;

    start_message("report");
    (void)message_put(&message, "SUMMARY", step.summary);
    (void)message_put_u64(&message, "WITHIN", report_timeout_ms());
    if (so_far) {
        (void)message_put_u64(&message, "SOFAR", 1);
        put_step_nodes(spank);
    }
    wait_for_root();
    n = client_ask_text(&step.settings, &message, deadline_ns, text, sizeof(text), &error);
    if (n < 0)
        log_failure("report", (int)n, &error);
    if (n <= 0)
        return;
    r = job_output_write(STDERR_FILENO, text, (size_t)n, deadline_ns, &error);
    if (r < 0)
        log_failure("report", r, &error);
}

/* False if this hook was called for the same task before. */
static bool is_another_task(spank_t spank)
{
    int task;
    bool known = spank_get_item(spank, S_TASK_ID, &task) == ESPANK_SUCCESS;
    bool same = known && step.last_task == task + 1;

    step.last_task = known ? task + 1 : 0;
    return !same;
}

/* The last task on this node has ended. A job without a script gets its summary here, on the first
 * node of the step (step.prints_summary), because later no output reaches srun. */
void stepd_task_exit(spank_t spank)
{
    uint64_t deadline_ns = report_deadline_ns();
    struct error error = {""};
    int r;

    if (!step.tagged || step.step > STEP_INTERACTIVE || !is_another_task(spank) ||
        ++step.exited < get_item(spank, S_JOB_LOCAL_TASK_COUNT, UINT32_MAX))
        return;
    wait_for_root();
    start_message("task-exit");
    r = client_ask(&step.settings, &message, END_TIMEOUT_MS, &error);
    if (r < 0)
        log_failure("task exit", r, &error);
    else if (step.prints_summary && get_item(spank, S_JOB_NODEID, 1) == 0)
        print_report(spank, deadline_ns, true);
}

void stepd_end(spank_t spank)
{
    uint64_t deadline_ns = report_deadline_ns();
    struct error error = {""};
    char name[sizeof(step.file) + 4];
    int r;

    if (!step.tagged)
        return;
    step.tagged = false;
    start_message("end");
    (void)message_put_u64(&message, "ENDED_AT", clock_ns(CLOCK_REALTIME));
    (void)message_put_u64(&message, "ENDED_BOOT", clock_ns(CLOCK_BOOTTIME));
    (void)snprintf(name, sizeof(name), "%s.end", step.file);
    save_step_file(name);
    r = client_ask(&step.settings, &message, END_TIMEOUT_MS, &error);
    if (r < 0)
        log_failure("end", r, &error);
    /* A timeout of "end" does not mean that the report will time out. It is requested even without
     * a summary, because jobiod then writes the job record, which Slurm would reject later. */
    if (r != -EHOSTDOWN && step.step == STEP_BATCH)
        print_report(spank, deadline_ns, false);
}
