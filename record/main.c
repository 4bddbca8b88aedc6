/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the record of a job to its AdminComment. A separate program, because libslurm may block
 * for a long time or exit. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/numbers.h"
#include "common/units.h"
#include "record/record_impl.h"
#include "record/slurm_compat.h"
#include "report/record/record.h"

#define ANY_RESTART UINT64_MAX

struct options {
    uint32_t jobid;
    uint64_t restart; /* ANY_RESTART: not given */
    uint64_t timeout_ns;
};

static void cleanup_info(job_info_msg_t **info)
{
    if (*info)
        slurm_free_job_info_msg(*info);
}

int fail(const char *format, ...)
{
    va_list ap;

    fputs("jobio-record: ", stderr);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    return EXIT_FAILURE;
}

static void on_alarm(int signo)
{
    static const char line[] = "jobio-record: Slurm did not answer in time\n";

    (void)signo;
    if (write(STDERR_FILENO, line, sizeof(line) - 1) < 0)
        _exit(EXIT_FAILURE);
    _exit(EXIT_FAILURE);
}

int start_timer(uint64_t timeout_ns)
{
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval timer = {.it_value = {.tv_sec = (time_t)(timeout_ns / NS_PER_S),
                                           .tv_usec = (suseconds_t)(timeout_ns % NS_PER_S / 1000)}};

    if (sigaction(SIGALRM, &action, NULL) < 0 || setitimer(ITIMER_REAL, &timer, NULL) < 0)
        return -errno;
    return 0;
}

static int usage(void)
{
    fputs("usage: jobio-record --job ID [--restart N] [--timeout SPAN] < RECORD\n"
          "       jobio-record --backlog [OPTION...] [JOB...]\n"
          "       jobio-record --nodes [--restart N] [--timeout SPAN] JOB\n"
          "       jobio-record --show [--json] [--timeout SPAN] JOB\n"
          "       jobio-record --state [--restart N] [--timeout SPAN] JOB\n",
          stderr);
    return -EINVAL;
}

static int parse_options(int argc, char *argv[], struct options *ret)
{
    static const struct option longs[] = {
        {"job", required_argument, NULL, 'j'},
        {"restart", required_argument, NULL, 'r'},
        {"timeout", required_argument, NULL, 't'},
        {NULL, 0, NULL, 0},
    };
    struct options options = {.restart = ANY_RESTART, .timeout_ns = 2 * NS_PER_S};
    uint64_t jobid = 0;
    int c;

    while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        bool bad = c == '?';

        if (c == 'j')
            bad = number_parse(optarg, 1, UINT32_MAX, &jobid) < 0;
        else if (c == 'r')
            bad = number_parse(optarg, 0, UINT16_MAX, &options.restart) < 0;
        else if (c == 't')
            bad = units_parse_span(optarg, &options.timeout_ns, NULL) < 0 ||
                  options.timeout_ns < 1000;
        if (bad)
            return usage();
    }
    if (!jobid || optind != argc)
        return usage();
    options.jobid = (uint32_t)jobid;
    *ret = options;
    return 0;
}

/* The record: one line of standard input, with or without its newline. */
static int read_record(char *ret, size_t size)
{
    size_t n = fread(ret, 1, size - 1, stdin);

    if (ferror(stdin))
        return -EIO;
    if (n > 0 && ret[n - 1] == '\n')
        n--;
    ret[n] = '\0';
    if (n > RECORD_MAX || strlen(ret) != n || n < strlen("IO1:{}") ||
        strncmp(ret, "IO1:{", 5) != 0 || ret[n - 1] != '}' || strchr(ret, '\n'))
        return -EBADMSG;
    return 0;
}

/* The last task of a job array has the number of the array, so Slurm may return several jobs. */
static const slurm_job_info_t *find_job(const job_info_msg_t *info, const struct options *options)
{
    for (uint32_t i = 0; i < info->record_count; i++) {
        const slurm_job_info_t *job = &info->job_array[i];

        if (INFO_JOB_ID(job) == options->jobid &&
            (options->restart == ANY_RESTART || job->restart_cnt == options->restart))
            return job;
    }
    return NULL;
}

static int put_comment(uint32_t jobid, char *comment)
{
    job_desc_msg_t update;

    slurm_init_job_desc_msg(&update);
    UPDATE_JOB_ID(update) = jobid;
    update.admin_comment = comment;
    if (slurm_update_job(&update) != SLURM_SUCCESS)
        return fail("job %u: update: %s", jobid, slurm_strerror(errno));
    return EXIT_SUCCESS;
}

static int write_record(const struct options *options, const char *record)
{
    CLEANUP(cleanup_info) job_info_msg_t *info = NULL;
    const slurm_job_info_t *job;
    _free_ char *comment = NULL;

    if (slurm_load_job(&info, options->jobid, SHOW_LOCAL) != SLURM_SUCCESS)
        return fail("job %u: load: %s", options->jobid, slurm_strerror(errno));
    job = find_job(info, options);
    if (!job)
        return fail("job %u: slurmctld has no such job or restart", options->jobid);
    comment = record_merge(job->admin_comment, record);
    if (!comment)
        return fail("no memory");
    return put_comment(options->jobid, comment);
}

char *find_live_comment(const struct accounting_id *id)
{
    CLEANUP(cleanup_info) job_info_msg_t *info = NULL;

    if (slurm_load_job(&info, id->jobid, SHOW_LOCAL) != SLURM_SUCCESS)
        return NULL;
    for (uint32_t i = 0; i < info->record_count; i++) {
        const slurm_job_info_t *job = &info->job_array[i];
        bool is_it = id->task != ENDED_NONE     ? job->array_task_id == id->task
                     : id->offset != ENDED_NONE ? job->het_job_offset == id->offset
                                                : INFO_JOB_ID(job) == id->jobid;

        if (is_it && job->admin_comment)
            return strdup(job->admin_comment);
    }
    return NULL;
}

static int mode_live(int argc, char *argv[])
{
    struct options options;
    char record[RECORD_MAX + 16];
    int r;

    if (parse_options(argc, argv, &options) < 0)
        return EXIT_USAGE;
    r = start_timer(options.timeout_ns);
    if (r < 0)
        return fail("set a timer: %s", strerror(-r));
    if (read_record(record, sizeof(record)) < 0)
        return fail("standard input is not a record: one line IO1:{...} of at most %d bytes",
                    RECORD_MAX);
    slurm_init(NULL);
    return write_record(&options, record);
}

int main(int argc, char *argv[])
{
    static const struct {
        const char *word;
        int (*run)(int argc, char *argv[]);
    } modes[] = {{"--backlog", mode_backlog},
                 {"--nodes", mode_nodes},
                 {"--show", mode_show},
                 {"--state", mode_state}};

    for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(modes); i++)
        if (!strcmp(argv[1], modes[i].word))
            return modes[i].run(argc, argv);
    return mode_live(argc, argv);
}
