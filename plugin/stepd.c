/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurmstepd, as root, between the processes of a step and jobiod. From the first task on, errors
 * of the log go to the user's output too: slurm_info() does not. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/job.h"
#include "common/message.h"
#include "plugin/cgroup.h"
#include "plugin/client.h"
#include "plugin/settings.h"
#include "plugin/contexts.h"
#include "plugin/pinned_maps.h"
#include "plugin/nodes.h"
#include "plugin/option.h"
#include "plugin/job_output.h"
#include "plugin/runtime_dir.h"

#define ROOT_TIMEOUT_MS 200
#define TAG_TIMEOUT_MS 200
#define END_TIMEOUT_MS 200
#define REPORT_TIMEOUT_MS 2000 /* with END in it */
#define TEXT_MAX 262144
#define NAME_MAX_SIZE 256

/* What sbatch leaves in the environment where `--export=NONE` loses the option (Slurm < 24.05). */
#define OPTION_LEFT_OVER "SLURM_SPANK__SLURM_SPANK_OPTION_jobio_io_summary"

/* The one step of this process. */
static struct {
    struct settings settings;
    uint32_t jobid, restart, het, step, uid, nodes;
    uint32_t array_job, array_task; /* array_job 0: a task of no array */
    char name[NAME_MAX_SIZE];
    const char *node;
    const char *summary;
    struct cgroup cgroup;
    uint64_t tagged_at, tagged_boot;
    char file[64];          /* the name of the step file */
    char label[32];         /* for the log: "17.batch", "17.0" */
    bool known;             /* Slurm told which step it is */
    struct runtime_job job; /* what its file said; ended: of its last run, and no prolog came */
    bool tagged;            /* its cgroup is known, and whoever can count it was told */
    bool gave_up;           /* it has no cgroup that could be tagged */
    bool batch_job;         /* the end of its script brings the summary */
    uint32_t exited;        /* tasks of this node */
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

/* Where one thread of slurmstepd acts as the user for a moment, all of them do. What the hooks need
 * is root's: the runtime directory and jobiod's ear. */
static void wait_for_root(void)
{
    const struct timespec pause = {.tv_nsec = NS_PER_MS};

    for (int ms = 0; ms < ROOT_TIMEOUT_MS && geteuid() != getuid(); ms++)
        (void)nanosleep(&pause, NULL);
}

void stepd_init(spank_t spank, int ac, char *av[])
{
    step.node = settings_node_name();
    settings_read(&step.settings, ac, av, step.node, complain);
    option_register(spank);
}

static uint32_t item(spank_t spank, spank_item_t which, uint32_t fallback)
{
    uint32_t value;

    return spank_get_item(spank, which, &value) == ESPANK_SUCCESS ? value : fallback;
}

static const char *job_variable(spank_t spank, const char *name, char *buf, size_t size)
{
    spank_err_t r = spank_getenv(spank, name, buf, (int)size);

    return r == ESPANK_SUCCESS || r == ESPANK_NOSPACE ? buf : NULL;
}

static const char *wanted_summary(spank_t spank)
{
    static const char *const names[] = {OPTION_LEFT_OVER, OPTION_VARIABLE, OPTION_PASSED_ON};
    const char *word = option_given();
    char buf[16];

    for (size_t i = 0; !word && i < sizeof(names) / sizeof(names[0]); i++)
        word = summary_word(job_variable(spank, names[i], buf, sizeof(buf)));
    return word ? word : step.settings.summary;
}

/* The nodes of the allocation. Slurm tells those of the step: that is the same for extern, nothing
 * for batch (where the environment is slurmd's, not the user's), and for others only the same if
 * the environment says so too. */
static uint32_t count_nodes(spank_t spank)
{
    uint32_t nodes = item(spank, S_JOB_NNODES, 0);
    unsigned allocated = 0;
    char buf[16];

    if (step.step == STEP_EXTERN)
        return nodes;
    if (!job_variable(spank, "SLURM_JOB_NUM_NODES", buf, sizeof(buf)) ||
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

/* The item is there in Slurm 22.05, but nobody sets it: then the prolog has left the number. A
 * slurmd that has not forgotten the last run yet calls no prolog for the next one: then the last
 * epilog has left its word. */
static uint32_t count_restarts(spank_t spank)
{
    uint32_t restart = item(spank, S_SLURM_RESTART_COUNT, 0);

    if (restart != 0 && restart != HET_NONE)
        return restart;
    return step.job.restart + step.job.ended;
}

/* sbatch sets it, and the sruns in its script pass it on. */
static bool is_batch_job(spank_t spank)
{
    char buf[16];
    const char *environment = job_variable(spank, "ENVIRONMENT", buf, sizeof(buf));

    return environment && strcmp(environment, "BATCH") == 0;
}

/* Slurm tells 0, NO_VAL or nothing of a job that is no task of an array. */
static void identify_array(spank_t spank)
{
    uint32_t job = item(spank, S_JOB_ARRAY_ID, 0);

    step.array_task = item(spank, S_JOB_ARRAY_TASK_ID, HET_NONE);
    step.array_job = job < HET_NONE && step.array_task < HET_NONE ? job : 0;
}

static void identify(spank_t spank)
{
    const uint32_t none = HET_NONE;
    uid_t uid = 0;

    step.jobid = item(spank, S_JOB_ID, none);
    step.step = item(spank, S_JOB_STEPID, none);
    step.job = runtime_read_job(step.settings.runtime, step.jobid);
    step.restart = count_restarts(spank);
    step.known = step.jobid != none && step.step != none &&
                 spank_get_item(spank, S_JOB_UID, &uid) == ESPANK_SUCCESS;
    step.uid = uid;
    identify_array(spank);
    set_label();
    step.nodes = count_nodes(spank);
    step.summary = wanted_summary(spank);
    step.batch_job = is_batch_job(spank);
    (void)job_variable(spank, "SLURM_JOB_NAME", step.name, sizeof(step.name));
}

static void start_message(const char *type)
{
    message_init(&message, type);
    (void)message_put_u64(&message, "JOBID", step.jobid);
    (void)message_put_u64(&message, "RESTART", step.restart);
    (void)message_put_u64(&message, "HET", step.het);
    (void)message_put_u64(&message, "STEP", step.step);
}

/* So long the user's code waits for jobiod to hear of it. */
static uint64_t tag_ms(void)
{
    bool asks = !runtime_is_down(step.settings.runtime);

    return asks ? (uint64_t)TAG_TIMEOUT_MS * step.settings.patience : 0;
}

static void tag_message(bool direct)
{
    start_message("tag");
    (void)message_put_u64(&message, "UID", step.uid);
    (void)message_put(&message, "CGROUP", step.cgroup.path);
    (void)message_put_u64(&message, "CGROUP_ID", step.cgroup.id);
    (void)message_put_u64(&message, "CGROUP_LEVEL", step.cgroup.level);
    (void)message_put_u64(&message, "CGROUP_VERSION", (uint64_t)step.cgroup.version);
    (void)message_put_u64(&message, "TAGGED_AT", step.tagged_at);
    (void)message_put_u64(&message, "TAGGED_BOOT", step.tagged_boot);
    (void)message_put_u64(&message, "WITHIN", tag_ms());
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
}

static void save(const char *name)
{
    struct error error = {""};
    int r;

    wait_for_root();
    r = runtime_save(step.settings.runtime, "steps", name, &message, &error);
    if (r < 0)
        log_failure("step file", r, &error);
}

/* jobiod was not reached, for the `reason`. It finds the step later by its file; what the step does
 * until then is counted only if the cgroup is in the map now. */
static void tag_directly(int code, const struct error *reason)
{
    struct error error = {""};

    wait_for_root();
    if (direct_tag(step.settings.runtime, &step.cgroup, &error) < 0) {
        (void)error_prefix(&error, code, "%s; not counted until jobiod runs", reason->text);
        log_failure("tag", code, &error);
        return;
    }
    log_failure("tagged without jobiod", code, reason);
    tag_message(true);
    save(step.file);
}

static void tag(void)
{
    struct error error = {""};
    int r;

    step.tagged = true;
    step.het = cgroup_het(&step.cgroup);
    step.tagged_at = clock_ns(CLOCK_REALTIME);
    step.tagged_boot = clock_ns(CLOCK_BOOTTIME);
    (void)snprintf(step.file, sizeof(step.file), "%u.%u.%u.%u", step.jobid, step.restart, step.het,
                   step.step);
    tag_message(false);
    save(step.file);
    r = client_ask(&step.settings, &message, TAG_TIMEOUT_MS, &error);
    if (r == -EREMOTEIO)
        log_failure("tag", r, &error);
    else if (r < 0)
        tag_directly(r, &error);
}

/* Slurm sets this variable of the batch step's environment on the node, whatever the user had. */
static bool put_nodes(spank_t spank)
{
    static char list[NODES_MAX];

    return step.step == STEP_BATCH &&
           spank_getenv(spank, "SLURM_JOB_NODELIST", list, sizeof(list)) == ESPANK_SUCCESS &&
           nodes_put(&message, step.node, list) == 0;
}

/* Has somebody said all that this step could say of the job? */
static bool is_announced(void)
{
    return step.job.known && !step.job.ended && (step.job.has_nodes || step.step != STEP_BATCH);
}

/* The prolog's hook was not called for this run. With PrologFlags=RunInJob it never is: then the
 * batch step tells the nodes of the job, also if another step was first. */
static void announce(spank_t spank)
{
    struct error error = {""};
    char name[16];
    int r;

    if (is_announced())
        return;
    message_init(&message, "job");
    (void)message_put_u64(&message, "JOBID", step.jobid);
    runtime_put_owner(step.settings.runtime, step.jobid, &message);
    (void)message_put_u64(&message, "RESTART", step.restart);
    if (!put_nodes(spank) && !step.job.ended)
        return;
    (void)snprintf(name, sizeof(name), "%u", step.jobid);
    r = runtime_save(step.settings.runtime, "jobs", name, &message, &error);
    if (r == 0)
        r = client_ask(&step.settings, &message, TAG_TIMEOUT_MS, &error);
    if (r < 0)
        log_failure("nodes of the job", r, &error);
}

void stepd_begin(spank_t spank)
{
    struct error error = {""};

    wait_for_root();
    identify(spank);
    if (step.known)
        announce(spank);
    if (!step.known)
        slurm_error("jobio: Slurm did not tell which step this is: it is not counted");
    else if (cgroup_of_step("/proc", step.step == STEP_EXTERN, &step.cgroup, &error) == 0)
        tag();
    else if (step.step == STEP_EXTERN)
        log_failure("not counted", 0, &error);
}

/* For the first task of a step that could not be tagged before; the task waits for its exec. */
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
        tag();
        return;
    }
    step.gave_up = true;
    log_failure("not counted", r, &error);
}

/* The nodes of this step: one of them may not even have begun it when its tasks here have ended.
 * What srun says of them is the user's environment, and decides what the user's own summary says.
 */
static void put_step_nodes(spank_t spank)
{
    static char list[NODES_MAX], names[NODES_MAX];

    if (spank_getenv(spank, "SLURM_STEP_NODELIST", list, sizeof(list)) == ESPANK_SUCCESS &&
        nodes_expand(list, names) == 0)
        (void)message_put(&message, "STEPNODES", names);
}

static uint64_t report_ms(void)
{
    return (uint64_t)REPORT_TIMEOUT_MS * step.settings.patience;
}

static uint64_t report_deadline(void)
{
    return clock_ns(CLOCK_MONOTONIC) + report_ms() * NS_PER_MS;
}

/* so_far: of a job that goes on. */
static void report(spank_t spank, uint64_t deadline_ns, bool so_far)
{
    struct error error = {""};
    ssize_t n;
    int r;

    start_message("report");
    (void)message_put(&message, "SUMMARY", step.summary);
    (void)message_put_u64(&message, "WITHIN", report_ms());
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
    r = output_write(STDERR_FILENO, text, (size_t)n, deadline_ns, &error);
    if (r < 0)
        log_failure("report", r, &error);
}

/* The last task of this node has ended: what others count may say so. A job without a script has
 * its summary here, on the first node of the step, because later nothing reaches srun any more. */
void stepd_task_exit(spank_t spank)
{
    uint64_t deadline_ns = report_deadline();
    struct error error = {""};
    int r;

    if (!step.tagged || step.step >= STEP_INTERACTIVE ||
        ++step.exited < item(spank, S_JOB_LOCAL_TASK_COUNT, UINT32_MAX))
        return;
    wait_for_root();
    start_message("task-exit");
    r = client_ask(&step.settings, &message, END_TIMEOUT_MS, &error);
    if (r < 0)
        log_failure("task exit", r, &error);
    else if (!step.batch_job && item(spank, S_JOB_NODEID, 1) == 0)
        report(spank, deadline_ns, true);
}

void stepd_end(spank_t spank)
{
    uint64_t deadline_ns = report_deadline();
    struct error error = {""};
    char name[sizeof(step.file) + 4];
    int r;

    if (!step.tagged)
        return;
    start_message("end");
    (void)message_put_u64(&message, "ENDED_AT", clock_ns(CLOCK_REALTIME));
    (void)message_put_u64(&message, "ENDED_BOOT", clock_ns(CLOCK_BOOTTIME));
    (void)snprintf(name, sizeof(name), "%s.end", step.file);
    save(name);
    r = client_ask(&step.settings, &message, END_TIMEOUT_MS, &error);
    if (r < 0)
        log_failure("end", r, &error);
    /* Slow at the end is not yet hung: jobiod may keep the deadline of the report. Asked also by a
     * job that wants no summary: with the report jobiod writes the job's record, and later Slurm
     * would refuse it. */
    if (r != -EHOSTDOWN && step.step == STEP_BATCH)
        report(spank, deadline_ns, false);
}
