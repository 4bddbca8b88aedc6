/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobio.so in a small SPANK host (spank_host.h: a fake), asking a small answerer (answerer.h), with
 * real cgroups and real BPF maps. It proves what the hooks do and what they cost, whatever jobiod
 * does: tags, step files, ends, the summary, the deadlines, the direct tag.
 */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bpf/records.h"
#include "common/cleanup.h"
#include "common/job.h"
#include "tests/unit/answerer.h"
#include "tests/unit/cgroups.h"
#include "tests/unit/spank_host.h"

static char folder[] = "/tmp/jobio-test-plugin-XXXXXX";
static char word_socket[128];
static char *words[] = {word_socket, NULL};

static const struct spank_handle batch = {
    .context = S_CTX_REMOTE, .jobid = 17, .stepid = STEP_BATCH, .restart = 2, .uid = 1000};

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(word_socket, sizeof(word_socket), "socket=%s/jobiod.sock", folder);
    setenv("SLURMD_NODENAME", "n1", 1);
    spank_host_init();
    return 0;
}

static int clean(void **state)
{
    char command[128];

    (void)state;
    memset(spank_host_log, 0, sizeof(*spank_host_log));
    snprintf(command, sizeof(command), "rm -rf %s/*", folder);
    return system(command);
}

static int tear_down(void **state)
{
    (void)clean(state);
    return rmdir(folder);
}

static uint64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static char *read_all(const char *name)
{
    static char text[16384];
    char path[256];
    ssize_t n;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    _close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

    n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static bool exists(const char *name)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

/* A task that is in the step's cgroup from before its exec, as after slurmstepd's fork. */
static pid_t start_task(const struct cgroups *c)
{
    int fds[2];
    char byte;
    pid_t pid;

    if (pipe2(fds, O_CLOEXEC) < 0 || (pid = fork()) < 0)
        _exit(101);
    if (pid == 0) {
        _exit(!cgroups_enter(c, c->step) || write(fds[1], "x", 1) != 1 || pause());
    }
    if (read(fds[0], &byte, 1) != 1)
        _exit(102);
    close(fds[0]);
    close(fds[1]);
    return pid;
}

/* The life of a slurmstepd. Exits 0 if every hook gave ESPANK_SUCCESS. */
static void __attribute__((noreturn))
stepd(struct spank_handle handle, char **av, const struct cgroups *c, const char *option)
{
    struct spank_plugin plugin;
    int r = 0, out;
    char path[256];

    snprintf(path, sizeof(path), "%s/output", folder);
    out = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (out < 0 || dup2(out, STDERR_FILENO) < 0 || !cgroups_enter(c, c->stepd))
        _exit(100);
    spank_host_load(&plugin, &handle, av);
    r |= spank_host_run(&plugin, "init");
    if (option)
        r |= spank_host_option.cb(spank_host_option.val, option, 1);
    r |= spank_host_run(&plugin, "init_post_opt");
    if (handle.stepid != STEP_EXTERN)
        handle.task = start_task(c);
    r |= spank_host_run(&plugin, "task_post_fork");
    if (handle.task) {
        kill(handle.task, SIGKILL);
        waitpid(handle.task, NULL, 0);
        handle.task = 0;
    }
    r |= spank_host_run(&plugin, "exit");
    spank_host_unload(&plugin);
    _exit(r);
}

static void run_stepd(const struct spank_handle *handle, char **av, const struct cgroups *c,
                      const char *option)
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        stepd(*handle, av, c, option);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void make_cgroups(struct cgroups *c, int version, const char *name)
{
    if (!cgroups_create(c, version, name)) {
        print_message("no writable cgroup v%d hierarchy here: %s\n", version,
                      geteuid() ? "not root" : "not mounted");
        skip();
    }
}

static void assert_has(const char *text, const char *part)
{
    if (!text)
        fail_msg("no text, and so no \"%s\"", part);
    else if (!strstr(text, part))
        fail_msg("no \"%s\" in:\n%s", part, text);
}

static void assert_has_not(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("\"%s\" in:\n%s", part, text);
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;

    for (; (text = strstr(text, part)); text++)
        n++;
    return n;
}

static void test_batch_step(void **state)
{
    static const char *const env[] = {"SLURM_JOB_NUM_NODES=3", "SLURM_JOB_NAME=a\nb=c",
                                      "SLURM_JOB_ACCOUNT=forged", NULL};
    struct spank_handle handle = batch;
    struct answerer a;
    struct cgroups c;
    char part[PATH_MAX];
    _free_ char *asked = NULL;
    char *file;

    (void)state;
    make_cgroups(&c, 2, "step_batch");
    handle.env = env;
    answerer_start(&a, folder, ANSWER_OK);
    run_stepd(&handle, words, &c, NULL);
    asked = answerer_asked(&a);
    assert_has(asked, "VERSION=1|TYPE=tag|JOBID=17|RESTART=2|HET=4294967294|STEP=4294967291|"
                      "UID=1000|CGROUP=/");
    snprintf(part, sizeof(part), "|CGROUP=%.200s|CGROUP_ID=%llu|CGROUP_LEVEL=3|CGROUP_VERSION=2|",
             c.step, (unsigned long long)cgroups_inode(&c, c.step));
    assert_has(asked, part);
    assert_has(asked, "|NODES=3|NODE=n1|NAME=a\nb=c|SUMMARY=short|DIRECT=0|");
    assert_has_not(asked, "forged");
    assert_has(asked, "TYPE=end|JOBID=17|RESTART=2|HET=4294967294|STEP=4294967291|ENDED_AT=");
    assert_has(asked, "TYPE=report|JOBID=17|RESTART=2|HET=4294967294|STEP=4294967291|"
                      "SUMMARY=short|");
    file = read_all("steps/17.2.4294967294.4294967291");
    assert_true(strncmp(file, "JOBID=17\nRESTART=2\n", 19) == 0);
    assert_has(file, "\nNAME=a b=c\nSUMMARY=short\nDIRECT=0\n");
    assert_has(read_all("steps/17.2.4294967294.4294967291.end"), "\nENDED_BOOT=");
    assert_string_equal(read_all("output"), "the summary\n");
    assert_string_equal(spank_host_log->text, "");
    answerer_stop(&a);
    cgroups_destroy(&c);
}

/* v1: slurmstepd is in the job's folder when the step begins, only the task is in the step's. */
static void test_freezer(void **state)
{
    struct spank_handle handle = batch;
    struct answerer a;
    struct cgroups c;
    char part[PATH_MAX];
    _free_ char *asked = NULL;

    (void)state;
    make_cgroups(&c, 1, "step_0");
    handle.stepid = 0;
    answerer_start(&a, folder, ANSWER_OK);
    run_stepd(&handle, words, &c, NULL);
    asked = answerer_asked(&a);
    snprintf(part, sizeof(part), "|CGROUP=%.200s|CGROUP_ID=%llu|CGROUP_LEVEL=2|CGROUP_VERSION=1|",
             c.step, (unsigned long long)cgroups_inode(&c, c.step));
    assert_has(asked, part);
    assert_has(asked, "TYPE=end|JOBID=17|RESTART=2|HET=4294967294|STEP=0|");
    assert_has_not(asked, "TYPE=report");
    assert_string_equal(read_all("output"), "");
    answerer_stop(&a);
    cgroups_destroy(&c);
}

static void test_freezer_extern(void **state)
{
    struct spank_handle handle = batch;
    struct answerer a;
    struct cgroups c;
    _free_ char *asked = NULL;

    (void)state;
    make_cgroups(&c, 1, "step_extern");
    handle.stepid = STEP_EXTERN;
    handle.nodes = 5;
    answerer_start(&a, folder, ANSWER_OK);
    run_stepd(&handle, words, &c, NULL);
    asked = answerer_asked(&a);
    assert_has(asked, "/step_extern|");
    assert_has(asked, "|CGROUP_VERSION=1|");
    assert_has(asked, "|NODES=5|");
    answerer_stop(&a);
    cgroups_destroy(&c);
}

/* What slurmstepd shares with its tasks may be slurmd's own cgroup: never tag that. */
static void test_no_cgroup_of_its_own(void **state)
{
    struct spank_handle handle = batch;
    struct answerer a;
    struct cgroups c;
    _free_ char *asked = NULL;

    (void)state;
    make_cgroups(&c, 1, "step_0");
    snprintf(c.stepd, sizeof(c.stepd), "%s", c.step);
    answerer_start(&a, folder, ANSWER_OK);
    run_stepd(&handle, words, &c, NULL);
    asked = answerer_asked(&a);
    assert_string_equal(asked, "");
    assert_has(spank_host_log->text,
               "info: jobio: step 17.batch: not counted: the step has no cgroup of its own\n");
    answerer_stop(&a);
    cgroups_destroy(&c);
}

/* 22.05 has the item, always 0: what the prolog left counts. */
static void test_restart_from_prolog(void **state)
{
    struct spank_handle handle = batch, prolog = {.context = S_CTX_JOB_SCRIPT, .jobid = 17};
    struct spank_plugin plugin;
    struct cgroups c;

    (void)state;
    make_cgroups(&c, 2, "step_batch");
    handle.restart = 0;
    run_stepd(&handle, words, &c, NULL);
    assert_true(exists("steps/17.0.4294967294.4294967291.end"));
    setenv("SLURM_JOB_RESTART_COUNT", "4", 1);
    spank_host_load(&plugin, &prolog, words);
    assert_int_equal(spank_host_run(&plugin, "job_prolog"), 0);
    spank_host_unload(&plugin);
    unsetenv("SLURM_JOB_RESTART_COUNT");
    run_stepd(&handle, words, &c, NULL);
    assert_has(read_all("steps/17.4.4294967294.4294967291"), "\nRESTART=4\n");
    cgroups_destroy(&c);
}

static void test_het_component(void **state)
{
    struct spank_handle handle = batch;
    struct answerer a;
    struct cgroups c;
    _free_ char *asked = NULL;

    (void)state;
    make_cgroups(&c, 2, "step_4+1");
    handle.stepid = 4;
    handle.nodes = 1;
    answerer_start(&a, folder, ANSWER_OK);
    run_stepd(&handle, words, &c, NULL);
    asked = answerer_asked(&a);
    assert_has(asked, "|HET=1|STEP=4|");
    assert_has(asked, "|NODES=0|");
    assert_true(exists("steps/17.2.1.4.end"));
    answerer_stop(&a);
    cgroups_destroy(&c);
}

static void test_summary(void **state)
{
    static char off[] = "summary=off";
    char *words_off[] = {word_socket, off, NULL};
    static const struct {
        const char *option;
        const char *const env[4];
        bool config_off;
        const char *expected;
    } cases[] = {
        {NULL, {NULL}, false, "|SUMMARY=short|"},
        {NULL, {NULL}, true, "|SUMMARY=off|"},
        {"full", {"JOBIO_SUMMARY=off", NULL}, true, "|SUMMARY=full|"},
        {"loud", {NULL}, false, "|SUMMARY=short|"},
        {NULL, {"JOBIO_SUMMARY=full", NULL}, true, "|SUMMARY=full|"},
        {NULL, {"JOBIO_SUMMARY=loud", NULL}, true, "|SUMMARY=off|"},
        {NULL, {"SLURM_JOBIO_SUMMARY=full", NULL}, true, "|SUMMARY=full|"},
        {NULL,
         {"JOBIO_SUMMARY=off", "SLURM_SPANK__SLURM_SPANK_OPTION_jobio_io_summary=full", NULL},
         false,
         "|SUMMARY=full|"},
    };
    struct answerer a;
    struct cgroups c;

    make_cgroups(&c, 2, "step_batch");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct spank_handle handle = batch;
        _free_ char *asked = NULL;

        handle.env = cases[i].env;
        answerer_start(&a, folder, ANSWER_OK);
        run_stepd(&handle, cases[i].config_off ? words_off : words, &c, cases[i].option);
        asked = answerer_asked(&a);
        assert_has(asked, cases[i].expected);
        /* Whatever the summary: the report is also when the job's record is written. */
        assert_has(asked, "TYPE=end");
        assert_has(asked, "TYPE=report");
        answerer_stop(&a);
        clean(state);
    }
    cgroups_destroy(&c);
}

static void test_words(void **state)
{
    static char bad[] = "sumary=full", worse[] = "summary=loud", relative[] = "socket=x/y",
                rooted[] = "socket=/y", node[128];
    char *odd[] = {bad, worse, relative, node, rooted, NULL};
    struct answerer a;
    struct cgroups c;
    char sub[128];
    _free_ char *asked = NULL;

    (void)state;
    make_cgroups(&c, 2, "step_batch");
    snprintf(node, sizeof(node), "socket=%s/%%n/jobiod.sock", folder);
    snprintf(sub, sizeof(sub), "%s/n1", folder);
    assert_int_equal(mkdir(sub, 0700), 0);
    answerer_start(&a, sub, ANSWER_OK);
    run_stepd(&batch, odd, &c, NULL);
    asked = answerer_asked(&a);
    assert_has(asked, "TYPE=tag");
    assert_true(exists("n1/steps/17.2.4294967294.4294967291"));
    assert_has(spank_host_log->text, "error: jobio: plugstack.conf: \"sumary=full\" is not known");
    assert_has(spank_host_log->text, "\"summary=loud\" is not off, short or full\n");
    assert_has(spank_host_log->text, "\"socket=x/y\" is not an absolute path\n");
    assert_has(spank_host_log->text, "\"socket=/y\" is not in a folder of its own\n");
    answerer_stop(&a);
    cgroups_destroy(&c);
}

static void set_age(const char *name, time_t seconds)
{
    struct timespec times[2] = {{time(NULL) - seconds, 0}, {time(NULL) - seconds, 0}};
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    close(open(path, O_WRONLY | O_CREAT, 0600));
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* In a mount namespace of our own. */
static void mount_or_skip(const char *type, const char *path, const char *options)
{
    if (mkdir(path, 0700) < 0 || unshare(CLONE_NEWNS) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount(type, path, type, 0, options) < 0) {
        print_message("no %s of our own: %s\n", type, strerror(errno));
        skip();
    }
}

/* /run must not fill up where no jobiod takes the files away. */
static void test_little_room(void **state)
{
    struct cgroups c;
    struct answerer a;
    char path[256], node[300], name[300];
    char *sub_words[] = {node, NULL};
    _free_ char *asked = NULL;

    (void)state;
    make_cgroups(&c, 2, "step_batch");
    snprintf(path, sizeof(path), "%s/run", folder);
    snprintf(node, sizeof(node), "socket=%s/jobiod.sock", path);
    mount_or_skip("tmpfs", path, "nr_inodes=40");
    for (int i = 0; i < 34; i++) {
        snprintf(name, sizeof(name), "run/%d", i);
        set_age(name, 0);
    }
    answerer_start(&a, path, ANSWER_OK);
    run_stepd(&batch, sub_words, &c, NULL);
    asked = answerer_asked(&a);
    answerer_stop(&a);
    assert_has(asked, "TYPE=tag");
    assert_has(asked, "TYPE=end");
    assert_has(spank_host_log->text, "step file: less than a tenth of \"");
    assert_false(exists("run/steps/17.2.4294967294.4294967291"));
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof(name), "%s/%d", path, i);
        assert_int_equal(unlink(name), 0);
    }
    run_stepd(&batch, sub_words, &c, NULL);
    assert_true(exists("run/steps/17.2.4294967294.4294967291.end"));
    assert_int_equal(umount2(path, MNT_DETACH), 0);
    cgroups_destroy(&c);
}

/* A srun in a job does not spoil its output with what the site got wrong. */
static void test_words_of_srun(void **state)
{
    static char bad[] = "sumary=full";
    char *odd[] = {bad, NULL};
    struct spank_handle handle = {.context = S_CTX_LOCAL};
    struct spank_plugin plugin;

    (void)state;
    spank_host_load(&plugin, &handle, odd);
    setenv("SLURM_JOB_ID", "17", 1);
    assert_int_equal(spank_host_run(&plugin, "init"), 0);
    assert_string_equal(spank_host_log->text, "");
    unsetenv("SLURM_JOB_ID");
    assert_int_equal(spank_host_run(&plugin, "init"), 0);
    assert_has(spank_host_log->text, "error: jobio: plugstack.conf: \"sumary=full\"");
    spank_host_unload(&plugin);
}

static void test_absent(void **state)
{
    struct cgroups c;
    uint64_t before;

    (void)state;
    make_cgroups(&c, 2, "step_batch");
    before = now_ms();
    run_stepd(&batch, words, &c, NULL);
    assert_in_range(now_ms() - before, 0, 1500);
    assert_true(exists("steps/17.2.4294967294.4294967291.end"));
    assert_has(read_all("steps/17.2.4294967294.4294967291"), "\nDIRECT=0\n");
    assert_false(exists("down"));
    assert_has(spank_host_log->text, "info: jobio: step 17.batch: tag: connect to ");
    assert_has(spank_host_log->text, "; not counted until jobiod runs: open ");
    assert_int_equal(count(spank_host_log->text, "\n"), 3);
    assert_has_not(spank_host_log->text, "error:");
    cgroups_destroy(&c);
}

static void test_refused(void **state)
{
    struct answerer a;
    struct cgroups c;

    (void)state;
    make_cgroups(&c, 2, "step_batch");
    answerer_start(&a, folder, ANSWER_ERROR);
    run_stepd(&batch, words, &c, NULL);
    assert_has(spank_host_log->text, "info: jobio: step 17.batch: tag: no such step\n");
    assert_has(spank_host_log->text, "info: jobio: step 17.batch: report: no such step\n");
    assert_string_equal(read_all("output"), "");
    answerer_stop(&a);
    cgroups_destroy(&c);
}

/* 100 steps against a jobiod that hangs: whoever comes first pays its deadlines (tag and, were the
 * mark not there by then, end); nobody after it does. */
static void hundred_steps(enum answer how)
{
    struct answerer a;
    struct cgroups c;
    uint64_t before, alone, took;
    struct spank_handle handle = batch;

    make_cgroups(&c, 2, "step_7");
    before = now_ms();
    for (handle.stepid = 0; handle.stepid < 100; handle.stepid++)
        run_stepd(&handle, words, &c, NULL);
    alone = now_ms() - before;
    answerer_start(&a, folder, how);
    before = now_ms();
    for (handle.stepid = 0; handle.stepid < 100; handle.stepid++)
        run_stepd(&handle, words, &c, NULL);
    took = now_ms() - before;
    print_message("100 steps: %llu ms without jobiod, %llu ms with a hung one\n",
                  (unsigned long long)alone, (unsigned long long)took);
    assert_in_range(count(spank_host_log->text, " in time"), 1, 2);
    assert_in_range(took, 200, 3 * alone + 3000);
    assert_true(exists("down"));
    assert_true(exists("steps/17.2.4294967294.0.end"));
    assert_true(exists("steps/17.2.4294967294.99.end"));
    assert_has_not(spank_host_log->text, "error:");
    answerer_stop(&a);
    cgroups_destroy(&c);
}

static void test_silent_jobiod(void **state)
{
    (void)state;
    hundred_steps(ANSWER_NEVER);
}

static void test_deaf_jobiod(void **state)
{
    (void)state;
    hundred_steps(ANSWER_DEAF);
}

/* An end that takes too long costs its deadline, not the summary. */
static void test_slow_jobiod(void **state)
{
    struct answerer a;
    struct cgroups c;

    (void)state;
    make_cgroups(&c, 2, "step_batch");
    answerer_start(&a, folder, ANSWER_SLOW);
    run_stepd(&batch, words, &c, NULL);
    assert_has(spank_host_log->text, "step 17.batch: end: jobiod did not answer in time\n");
    assert_string_equal(read_all("output"), "the summary\n");
    assert_false(exists("down"));
    answerer_stop(&a);
    cgroups_destroy(&c);
}

static void test_mark_ages(void **state)
{
    static const struct {
        time_t age;
        bool asks;
    } cases[] = {{0, false}, {55, false}, {61, true}, {-3600, true}};
    struct answerer a;
    struct cgroups c;

    make_cgroups(&c, 2, "step_batch");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _free_ char *asked = NULL;

        answerer_start(&a, folder, ANSWER_OK);
        set_age("down", cases[i].age);
        run_stepd(&batch, words, &c, NULL);
        asked = answerer_asked(&a);
        assert_int_equal(strstr(asked, "TYPE=tag") != NULL, cases[i].asks);
        assert_int_equal(exists("down"), !cases[i].asks);
        assert_int_equal(strstr(spank_host_log->text, "verbose: ") != NULL, !cases[i].asks);
        answerer_stop(&a);
        clean(state);
    }
    cgroups_destroy(&c);
}

/* The job's output does not take the text: a pipe that nobody empties, as a hung NFS mount. */
static void test_output_hangs(void **state)
{
    struct spank_handle handle = batch;
    struct spank_plugin plugin;
    struct answerer a;
    struct cgroups c;
    uint64_t before;
    int fds[2], status;
    pid_t pid;

    (void)state;
    make_cgroups(&c, 2, "step_batch");
    answerer_start(&a, folder, ANSWER_OK);
    assert_int_equal(pipe(fds), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(fds[0]);
        if (!cgroups_enter(&c, c.stepd) || dup2(fds[1], STDERR_FILENO) < 0 ||
            fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK) < 0)
            _exit(100);
        while (write(STDERR_FILENO, "x", 1) == 1)
            ;
        (void)fcntl(STDERR_FILENO, F_SETFL, 0);
        spank_host_load(&plugin, &handle, words);
        spank_host_run(&plugin, "init");
        spank_host_run(&plugin, "init_post_opt");
        _exit(spank_host_run(&plugin, "exit"));
    }
    before = now_ms();
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_in_range(now_ms() - before, 1900, 5000);
    assert_int_equal(status, 0);
    assert_has(spank_host_log->text, "the job's output did not take the summary in time\n");
    /* Nobody reads any more: the writer that was left alone ends. */
    close(fds[0]);
    close(fds[1]);
    answerer_stop(&a);
    cgroups_destroy(&c);
}

static void test_submit(void **state)
{
    struct spank_handle handle = {.context = S_CTX_ALLOCATOR};
    struct spank_plugin plugin;

    (void)state;
    setenv("JOBIO_SUMMARY", "full", 1);
    spank_host_load(&plugin, &handle, words);
    assert_int_equal(spank_host_run(&plugin, "init"), 0);
    assert_string_equal(spank_host_option.name, "io-summary");
    assert_int_equal(spank_host_option.has_arg, 1);
    assert_int_not_equal(spank_host_option.cb(0, "loud", 0), 0);
    assert_has(spank_host_log->text, "error: jobio: --io-summary=loud is not off, short or full\n");
    assert_int_equal(spank_host_run(&plugin, "init_post_opt"), 0);
    assert_string_equal(getenv("SLURM_JOBIO_SUMMARY"), "full");

    unsetenv("SLURM_JOBIO_SUMMARY");
    setenv("JOBIO_SUMMARY", "loud", 1);
    assert_int_equal(spank_host_run(&plugin, "init_post_opt"), 0);
    assert_null(getenv("SLURM_JOBIO_SUMMARY"));
    assert_has(spank_host_log->text, "JOBIO_SUMMARY=loud is not off, short or full: ignored\n");

    setenv("JOBIO_SUMMARY", "full", 1);
    assert_int_equal(spank_host_option.cb(0, "off", 0), 0);
    assert_int_equal(spank_host_run(&plugin, "init_post_opt"), 0);
    assert_null(getenv("SLURM_JOBIO_SUMMARY"));
    assert_int_equal(spank_host_run(&plugin, "exit"), 0);
    unsetenv("JOBIO_SUMMARY");
    spank_host_unload(&plugin);
}

static void test_prolog_and_epilog(void **state)
{
    struct spank_handle handle = {.context = S_CTX_JOB_SCRIPT, .jobid = 17};
    struct spank_plugin plugin;
    struct answerer a;
    _free_ char *asked = NULL;

    (void)state;
    setenv("SLURM_JOB_ACCOUNT", "physics", 1);
    setenv("SLURM_JOB_PARTITION", "p", 1);
    setenv("SLURM_JOB_USER", "ann", 1);
    setenv("SLURM_JOB_RESTART_COUNT", "3", 1);
    answerer_start(&a, folder, ANSWER_OK);
    spank_host_load(&plugin, &handle, words);
    assert_int_equal(spank_host_run(&plugin, "job_prolog"), 0);
    assert_int_equal(spank_host_run(&plugin, "job_epilog"), 0);
    spank_host_unload(&plugin);
    assert_string_equal(read_all("jobs/17"),
                        "JOBID=17\nACCOUNT=physics\nPARTITION=p\nUSER=ann\nRESTART=3\n");
    asked = answerer_asked(&a);
    assert_string_equal(
        asked, "VERSION=1|TYPE=job|JOBID=17|ACCOUNT=physics|PARTITION=p|USER=ann|RESTART=3|\n"
               "VERSION=1|TYPE=job-end|JOBID=17|\n");
    answerer_stop(&a);
}

/* Real maps, pinned as jobiod pins them, on a bpffs of our own. */
static int make_map(const char *name, enum bpf_map_type type, __u32 key, __u32 value, __u32 entries,
                    __u32 flags)
{
    union bpf_attr attr;
    char path[256];
    int fd;

    memset(&attr, 0, sizeof(attr));
    attr.map_type = type;
    attr.key_size = key;
    attr.value_size = value;
    attr.max_entries = entries;
    attr.map_flags = flags;
    fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
    if (fd < 0)
        return -1;
    snprintf(path, sizeof(path), "%s/bpf/%d/%s", folder, JOBIO_LAYOUT, name);
    memset(&attr, 0, sizeof(attr));
    attr.pathname = (__u64)(uintptr_t)path;
    attr.bpf_fd = (__u32)fd;
    assert_int_equal(syscall(SYS_bpf, BPF_OBJ_PIN, &attr, sizeof(attr)), 0);
    return fd;
}

static void save_probe(int layout)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/probe", folder);
    _fclose_ FILE *f = fopen(path, "w");

    assert_non_null(f);
    fprintf(f, "SINCE=1\nPIN=%s/bpf\nLAYOUT=%d\n", folder, layout);
}

static bool step_is_tagged(int fd, __u64 id, int version)
{
    struct step_record record;
    __u64 key = step_key(id, version);
    union bpf_attr attr;

    memset(&attr, 0, sizeof(attr));
    attr.map_fd = (__u32)fd;
    attr.key = (__u64)(uintptr_t)&key;
    attr.value = (__u64)(uintptr_t)&record;
    return syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr)) == 0;
}

static void test_direct_tag(void **state)
{
    struct levels_record *levels;
    struct spank_handle handle = batch;
    struct cgroups c, v1;
    char path[256];
    int steps, levels_fd;

    (void)state;
    make_cgroups(&c, 2, "step_0");
    snprintf(path, sizeof(path), "%s/bpf", folder);
    mount_or_skip("bpf", path, NULL);
    snprintf(path, sizeof(path), "%s/bpf/%d", folder, JOBIO_LAYOUT);
    assert_int_equal(mkdir(path, 0700), 0);
    steps = make_map("steps", BPF_MAP_TYPE_HASH, sizeof(__u64), sizeof(struct step_record), 8, 0);
    levels_fd =
        make_map("levels", BPF_MAP_TYPE_ARRAY, sizeof(__u32), sizeof(*levels), 1, BPF_F_MMAPABLE);
    assert_true(steps >= 0 && levels_fd >= 0);
    levels = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, levels_fd, 0);
    assert_true(levels != MAP_FAILED);
    levels->v2 = level_bit(9);

    save_probe(JOBIO_LAYOUT + 1);
    handle.stepid = 0;
    run_stepd(&handle, words, &c, NULL);
    assert_has(spank_host_log->text, "not counted until jobiod runs: the maps have layout 2");
    assert_has(read_all("steps/17.2.4294967294.0"), "\nDIRECT=0\n");

    save_probe(JOBIO_LAYOUT);
    run_stepd(&handle, words, &c, NULL);
    assert_has(read_all("steps/17.2.4294967294.0"), "\nDIRECT=1\n");
    assert_true(step_is_tagged(steps, cgroups_inode(&c, c.step), 2));
    assert_false(step_is_tagged(steps, cgroups_inode(&c, c.stepd), 2));
    assert_int_equal(levels->v2, level_bit(9) | level_bit(3));
    assert_int_equal(levels->v1, 0);
    assert_int_equal(levels->generation, 1);
    /* Once more: it is tagged already. */
    run_stepd(&handle, words, &c, NULL);
    assert_has(read_all("steps/17.2.4294967294.0"), "\nDIRECT=1\n");
    if (cgroups_create(&v1, 1, "step_0")) {
        run_stepd(&handle, words, &v1, NULL);
        assert_true(step_is_tagged(steps, cgroups_inode(&v1, v1.step), 1));
        assert_int_equal(levels->v1, level_bit(2));
        cgroups_destroy(&v1);
    }
    snprintf(path, sizeof(path), "%s/bpf", folder);
    assert_int_equal(umount2(path, MNT_DETACH), 0);
    munmap(levels, 4096);
    close(steps);
    close(levels_fd);
    cgroups_destroy(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_batch_step, clean),
        cmocka_unit_test_teardown(test_freezer, clean),
        cmocka_unit_test_teardown(test_freezer_extern, clean),
        cmocka_unit_test_teardown(test_no_cgroup_of_its_own, clean),
        cmocka_unit_test_teardown(test_restart_from_prolog, clean),
        cmocka_unit_test_teardown(test_het_component, clean),
        cmocka_unit_test_teardown(test_summary, clean),
        cmocka_unit_test_teardown(test_words, clean),
        cmocka_unit_test_teardown(test_little_room, clean),
        cmocka_unit_test_teardown(test_words_of_srun, clean),
        cmocka_unit_test_teardown(test_absent, clean),
        cmocka_unit_test_teardown(test_refused, clean),
        cmocka_unit_test_teardown(test_silent_jobiod, clean),
        cmocka_unit_test_teardown(test_deaf_jobiod, clean),
        cmocka_unit_test_teardown(test_slow_jobiod, clean),
        cmocka_unit_test_teardown(test_mark_ages, clean),
        cmocka_unit_test_teardown(test_output_hangs, clean),
        cmocka_unit_test_teardown(test_submit, clean),
        cmocka_unit_test_teardown(test_prolog_and_epilog, clean),
        cmocka_unit_test_teardown(test_direct_tag, clean),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
