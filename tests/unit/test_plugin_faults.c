/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each allocation and call on files of jobio.so fails once, in a slurmstepd and in slurmd's prolog
 * and epilog. What is missing afterwards is named in the log, and nothing is there in part. */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/answerer.h"
#include "tests/unit/fault.h"
#include "tests/unit/stepd.h"

static struct answerer jobiod;
static struct cgroups cgroups;

static void prepare(void)
{
    answerer_start(&jobiod, stepd_directory, ANSWER_OK);
}

/* The error is the log of the plugin. */
static int result(struct error *error)
{
    const char *log = spank_host_log->text;

    return log[0] ? error_set(error, -EIO, "%.200s", log) : 0;
}

static void finish(void)
{
    void *state = NULL;

    answerer_stop(&jobiod);
    assert_int_equal(stepd_clean(&state), 0);
}

/* One of them: `there`, or a line of the log that starts so. */
static void assert_or_logged(bool there, const char *line)
{
    if (!there)
        assert_has(spank_host_log->text, line);
}

/* --- a step ----------------------------------------------------------------------------------- */

static int run_hooks(struct spank_handle *handle)
{
    struct spank_plugin plugin;
    long blocks, descriptors;
    int r = 0;

    fault_pause();
    if (!cgroups_enter(&cgroups, cgroups.stepd))
        return 100;
    spank_host_load(&plugin, handle, stepd_words);
    blocks = fault_blocks();
    descriptors = fault_descriptors();
    fault_resume();
    r |= spank_host_run(&plugin, "init");
    r |= spank_host_run(&plugin, "init_post_opt");
    r |= spank_host_run(&plugin, "task_post_fork");
    handle->task = 0;
    r |= spank_host_run(&plugin, "exit");
    fault_pause();
    if (fault_blocks() != blocks || fault_descriptors() != descriptors)
        return 101;
    spank_host_unload(&plugin);
    return r;
}

/* A task in the cgroup of the step. It ends by itself if the test fails. */
static pid_t start_task(void)
{
    int fds[2];
    pid_t pid;
    char byte;

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        fault_pause();
        if (!cgroups_enter(&cgroups, cgroups.step) || write(fds[1], "x", 1) != 1)
            _exit(1);
        (void)sleep(30);
        _exit(0);
    }
    assert_int_equal(read(fds[0], &byte, 1), 1);
    (void)close(fds[0]);
    (void)close(fds[1]);
    return pid;
}

static void __attribute__((noreturn)) stepd(struct spank_handle handle)
{
    char path[256];
    int out;

    fault_pause();
    (void)snprintf(path, sizeof(path), "%s/output", stepd_directory);
    out = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (out < 0 || dup2(out, STDERR_FILENO) < 0)
        _exit(102);
    fault_resume();
    _exit(run_hooks(&handle));
}

static int run_batch(struct spank_handle handle, struct error *error)
{
    int status;
    pid_t pid;

    fault_pause();
    handle.task = start_task();
    fault_resume();
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        stepd(handle);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    (void)kill(handle.task, SIGKILL);
    assert_int_equal(waitpid(handle.task, NULL, 0), handle.task);
    assert_int_equal(status, 0);
    return result(error);
}

static int run_step(struct error *error)
{
    return run_batch(stepd_batch, error);
}

/* The file is complete, or missing and in the log. */
static void assert_file(const char *name, const char *start, const char *last_key)
{
    char *text = stepd_read(name), *last;

    assert_or_logged(text[0], ": step 17.batch: step file: ");
    if (!text[0])
        return;
    assert_int_equal(strncmp(text, start, strlen(start)), 0);
    assert_int_equal(text[strlen(text) - 1], '\n');
    last = strstr(text, last_key);
    assert_non_null(last);
    assert_string_equal(strchr(last + 1, '\n'), "\n");
}

static void check_step(int r, bool hit)
{
    char *asked = answerer_asked(&jobiod), *summary = stepd_read("output");

    (void)r, (void)hit;
    assert_or_logged(strstr(asked, "TYPE=tag|JOBID=17|"), ": step 17.batch: tag: ");
    assert_or_logged(strstr(asked, "TYPE=end|JOBID=17|"), ": step 17.batch: end: ");
    assert_or_logged(strstr(asked, "TYPE=report|JOBID=17|"), ": step 17.batch: report: ");
    assert_or_logged(!strcmp(summary, "the summary\n"), ": step 17.batch: report: ");
    assert_file("steps/17.2.4294967294.4294967291", "JOBID=17\nRESTART=2\n", "\nDIRECT=");
    assert_file("steps/17.2.4294967294.4294967291.end", "JOBID=17\nRESTART=2\n", "\nENDED_BOOT=");
    free(asked);
    finish();
}

static void test_step(void **state)
{
    static const struct fault_scenario step = {"a batch step", prepare, run_step, check_step};

    (void)state;
    stepd_cgroups(&cgroups, 2, "step_batch");
    fault_each(FAULT_FILE, &step, 1);
    fault_each(FAULT_MEMORY, &step, 1);
    cgroups_destroy(&cgroups);
}

/* --- the next run of a job, for which slurmd did not call the prolog -------------------------- */

#define OWNER "JOBID=17\nACCOUNT=physics\nUSER=ann\n"
#define PREVIOUS_RUN OWNER "RESTART=3\nNODE=n1\nGATHER=n0\nENDED=1\n"

static void prepare_next_run(void)
{
    char path[256];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/jobs", stepd_directory);
    assert_int_equal(mkdir(path, 0755), 0);
    (void)snprintf(path, sizeof(path), "%s/jobs/17", stepd_directory);
    f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(PREVIOUS_RUN, f) >= 0);
    assert_int_equal(fclose(f), 0);
    prepare();
}

static int run_next_run(struct error *error)
{
    static const char *const env[] = {"SLURM_JOB_NODELIST=n1,n3", NULL};
    struct spank_handle handle = stepd_batch;

    handle.restart = 0; /* not set in Slurm 22.05 */
    handle.env = env;
    return run_batch(handle, error);
}

static void check_next_run(int r, bool hit)
{
    static const char file[] = OWNER "RESTART=4\nNODE=n1\nGATHER=n1\nNODELIST=n1,n3\n";
    char *asked = answerer_asked(&jobiod);
    const char *text = stepd_read("jobs/17");

    (void)r, (void)hit;
    if (strcmp(text, file) != 0) {
        assert_string_equal(text, PREVIOUS_RUN);
        assert_has(spank_host_log->text, "nodes of the job: ");
    }
    if (!strstr(asked, "TYPE=tag|JOBID=17|RESTART=4|"))
        assert_or_logged(!strstr(asked, "TYPE=tag|"), ": restart and nodes of the job: open ");
    free(asked);
    finish();
}

static void test_next_run(void **state)
{
    static const struct fault_scenario step = {"the next run of a job", prepare_next_run,
                                               run_next_run, check_next_run};

    (void)state;
    stepd_cgroups(&cgroups, 2, "step_batch");
    fault_each(FAULT_FILE, &step, 1); /* without memory, Slurm's hostlists end the process */
    cgroups_destroy(&cgroups);
}

/* --- prolog and epilog ------------------------------------------------------------------------ */

static struct spank_plugin slurmd;

static int run_slurmd(struct error *error)
{
    assert_int_equal(spank_host_run(&slurmd, "job_prolog"), 0);
    assert_int_equal(spank_host_run(&slurmd, "job_epilog"), 0);
    return result(error);
}

#define JOB "JOBID=17\nACCOUNT=physics\nNODE=n1\n"

/* The end is in the job's file, or not in it and in the log. Then the next epilog adds it. */
static void check_end(void)
{
    bool ended = strcmp(stepd_read("jobs/17"), JOB "ENDED=1\n") == 0;

    if (ended)
        return;
    assert_string_equal(stepd_read("jobs/17"), JOB);
    assert_has(spank_host_log->text, "error: jobio: job 17: ");
    assert_int_equal(spank_host_run(&slurmd, "job_epilog"), 0);
    assert_string_equal(stepd_read("jobs/17"), JOB "ENDED=1\n");
}

static void check_slurmd(int r, bool hit)
{
    char *asked = answerer_asked(&jobiod);
    bool there = stepd_has("jobs/17");

    (void)r, (void)hit;
    assert_or_logged(there, "error: jobio: job 17: ");
    if (there)
        check_end();
    assert_or_logged(strstr(asked, "TYPE=job|JOBID=17|ACCOUNT=physics|NODE=n1|\n"), ": prolog: ");
    assert_or_logged(strstr(asked, "TYPE=job-end|JOBID=17|\n"), ": epilog: ");
    free(asked);
    finish();
}

static void test_slurmd(void **state)
{
    static const struct fault_scenario job = {"prolog and epilog", prepare, run_slurmd,
                                              check_slurmd};
    struct spank_handle handle = {.context = S_CTX_JOB_SCRIPT, .jobid = 17};

    (void)state;
    setenv("SLURM_JOB_ACCOUNT", "physics", 1);
    spank_host_load(&slurmd, &handle, stepd_words); /* once, because dlopen() keeps memory */
    fault_each(FAULT_FILE, &job, 1);
    spank_host_unload(&slurmd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_slurmd, stepd_clean),
        cmocka_unit_test_teardown(test_step, stepd_clean),
        cmocka_unit_test_teardown(test_next_run, stepd_clean),
    };

    return cmocka_run_group_tests_name("plugin_faults", tests, stepd_set_up, stepd_tear_down);
}
