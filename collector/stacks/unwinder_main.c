/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process of the unwinder. */
#define _GNU_SOURCE
#include "collector/stacks/unwinder.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "collector/stacks/profiler.h"
#include "collector/stacks/unwind_message.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/numbers.h"
#include "common/stack_text.h"

/* Memory: libdw reads the tables of all files of a program, and those with debugging information.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEMORY_MAX RLIM_INFINITY /* sanitizers reserve the whole address space */
#else
#define MEMORY_MAX (512 << 20)
#endif
#define FILES_MAX 1024
/* CPU time for one stack, and for all names: a table may be made to take for ever. */
#define STACK_S 5
#define NAMES_S 60
#define NICE 10

/* --- privileges ------------------------------------------------------------------------------- */

static int set_limit(__rlimit_resource_t resource, rlim_t limit)
{
    const struct rlimit both = {limit, limit};

    return setrlimit(resource, &both) < 0 ? -errno : 0;
}

/* If the memory of jobiod's cgroup is used up, this process is killed and not jobiod. */
static void prefer_for_oom(void)
{
    _fclose_ FILE *out = fopen("/proc/self/oom_score_adj", "we");

    if (out)
        (void)fputs("1000", out);
}

static int limit_resources(void)
{
    int r = set_limit(RLIMIT_AS, MEMORY_MAX);

    if (r == 0)
        r = set_limit(RLIMIT_NOFILE, FILES_MAX);
    if (r == 0)
        r = set_limit(RLIMIT_CORE, 0);
    if (r == 0)
        r = set_limit(RLIMIT_FSIZE, 0);
    (void)setpriority(PRIO_PROCESS, 0, NICE);
    prefer_for_oom();
    return r;
}

static int parse_groups(const char *text, gid_t groups[NGROUPS_MAX], size_t *n)
{
    uint64_t group;

    for (*n = 0; *n < NGROUPS_MAX; (*n)++) {
        text += strspn(text, " \t\n");
        if (!*text)
            return 0;
        if (number_parse_prefix(&text, &group) < 0 || group > UINT32_MAX)
            return -EINVAL;
        groups[*n] = (gid_t)group;
    }
    return -EINVAL;
}

/* Changing from root to another user does it, but the user may be root. */
static int drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

    if (syscall(SYS_capset, &header, none) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    return 0;
}

static int become(uid_t uid, gid_t gid, const char *text)
{
    _free_ gid_t *groups = calloc(NGROUPS_MAX, sizeof(*groups));
    size_t n;

    if (!groups)
        return -ENOMEM;
    if (geteuid() != 0) /* as in tests: it has no other id to give up */
        return uid == getuid() ? 0 : -EPERM;
    if (parse_groups(text, groups, &n) < 0)
        return -EINVAL;
    if (setgroups(n, groups) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
        return -errno;
    return drop_capabilities();
}

static int drop_privileges(char **argv, struct error *error)
{
    uint64_t uid, gid;
    int r = number_parse(argv[2], 0, UINT32_MAX - 1, &uid);

    if (r == 0)
        r = number_parse(argv[3], 0, UINT32_MAX - 1, &gid);
    if (r == 0)
        r = limit_resources();
    if (r == 0)
        r = become((uid_t)uid, (gid_t)gid, argv[4]);
    return r < 0 ? error_errno(error, r,
                               "cannot unwind stacks: change to the user of a step "
                               "(jobio.conf(5), [stacks])")
                 : 0;
}

/* --- the work --------------------------------------------------------------------------------- */

/* SIGPROF ends the process if this CPU time has passed. */
static void limit_time(time_t seconds)
{
    const struct itimerval timer = {.it_value = {.tv_sec = seconds}};

    (void)setitimer(ITIMER_PROF, &timer, NULL);
}

/* What it may not unwind is counted by jobiod, as what is missing in its answer. */
static void read_stacks(struct profiler *profiler)
{
    static struct unwind_message message;
    uint64_t start = clock_ns(CLOCK_MONOTONIC);
    ssize_t n;

    while ((n = recv(STDIN_FILENO, &message, sizeof(message), 0)) >=
           (ssize_t)offsetof(struct unwind_message, bytes)) {
        const struct probe_stack stack = unwind_message_stack(&message, (size_t)n);

        limit_time(STACK_S); /* also of one that is left out: to receive it takes time, too */
        if (unwinder_may_go_on(clock_ns(CLOCK_PROCESS_CPUTIME_ID),
                               clock_ns(CLOCK_MONOTONIC) - start))
            profiler_add(profiler, &stack);
    }
}

static int write_profile(const struct profiler *profiler)
{
    struct stack_profile profile = {0};

    limit_time(NAMES_S);
    profiler_fill(profiler, &profile);
    stack_text_write(&profile, stdout);
    stack_profile_clear(&profile);
    return fflush(stdout) < 0 || ferror(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

int unwinder_main(int argc, char **argv)
{
    struct profiler *profiler;
    struct error error;
    int r = argc == 5 ? drop_privileges(argv, &error)
                      : error_set(&error, -EINVAL, "it is for jobiod only");

    if (r == 0)
        r = profiler_create(&profiler, &error);
    if (r < 0) { /* jobiod logs it */
        (void)fprintf(stdout, UNWIND_FAILURE "%s\n", error.text);
        return EXIT_FAILURE;
    }
    read_stacks(profiler);
    r = write_profile(profiler);
    profiler_destroy(profiler);
    return r;
}
