/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "report/summary/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/numbers.h"
#include "common/text_buffer.h"

void summary_row_add(struct summary_row *to, const struct summary_row *from)
{
    io_sums_add(&to->sums, &from->sums);
    io_sums_add(&to->shown, &from->shown);
    add_saturating(&to->not_found, from->not_found);
    to->read_peak = max_u64(to->read_peak, from->read_peak);
    to->write_peak = max_u64(to->write_peak, from->write_peak);
    io_histogram_add(to->sizes, from->sizes);
}

static struct summary_row row_of(const struct io_mount *m)
{
    static const enum io_op sized[] = {IO_READ, IO_WRITE, IO_COPY_READ, IO_COPY_WRITE};
    struct summary_row row = {
        .mount = m,
        .sums = io_account_sums(&m->io),
        .shown = io_account_shown(&m->io),
        .not_found = io_account_not_found(&m->io),
        .read_peak = max_u64(m->peaks[IO_READ].bytes_per_s, m->peaks[IO_COPY_READ].bytes_per_s),
        .write_peak = max_u64(m->peaks[IO_WRITE].bytes_per_s, m->peaks[IO_COPY_WRITE].bytes_per_s),
    };

    for (size_t i = 0; i < ARRAY_SIZE(sized); i++)
        io_account_sizes(&m->io, sized[i], row.sizes);
    return row;
}

static int descending(uint64_t a, uint64_t b)
{
    return a < b ? 1 : a > b ? -1 : 0;
}

/* By waiting, then bytes, then calls, then name. */
static int compare_rows(const void *pa, const void *pb)
{
    const struct summary_row *a = pa, *b = pb;
    int r = descending(a->sums.all.time_ns, b->sums.all.time_ns);

    if (r == 0)
        r = descending(a->sums.all.bytes, b->sums.all.bytes);
    if (r == 0)
        r = descending(a->sums.all.requests, b->sums.all.requests);
    return r ? r : strcmp(a->mount->mount, b->mount->mount);
}

int summary_make(const struct job_account *job, const struct advice_notes *notes,
                 struct io_summary *ret)
{
    struct io_summary s = {.job = job, .notes = notes, .wait_ns = job_wait_ns(job)};

    s.rows = calloc(job->mounts.n + 1, sizeof(*s.rows));
    if (!s.rows)
        return -ENOMEM;
    for (size_t i = 0; i < job->mounts.n; i++) {
        s.rows[s.n] = row_of(&job->mounts.items[i]);
        summary_row_add(&s.total, &s.rows[s.n]);
        s.n += s.rows[s.n].sums.all.requests > 0;
    }
    qsort(s.rows, s.n, sizeof(*s.rows), compare_rows);
    *ret = s;
    return 0;
}

void summary_clear(struct io_summary *s)
{
    free(s->rows);
}

bool summary_has_peak_bounds(const struct job_account *job)
{
    return job->nodes_expected > 1 || job->nodes_reported > 1;
}

double summary_waiting(const struct io_summary *s, uint64_t time_ns)
{
    if (!s->job->elapsed_ns || !s->total.sums.all.time_ns)
        return 0;
    return 100.0 * (double)s->wait_ns / (double)s->job->elapsed_ns * (double)time_ns /
           (double)s->total.sums.all.time_ns;
}

/* --- words ------------------------------------------------------------------------------------ */

char *summary_job_number(const struct job_account *job, char buf[SUMMARY_NUMBER])
{
    if (job->array_job)
        (void)snprintf(buf, SUMMARY_NUMBER, "%u_%u (%u)", job->array_job, job->array_task,
                       job->key.jobid);
    else
        (void)snprintf(buf, SUMMARY_NUMBER, "%u", job->key.jobid);
    return buf;
}

char *summary_state(const struct job_account *job, char buf[SUMMARY_STATE])
{
    const struct slurm_end *end = &job->slurm;
    const char *name = slurm_state_name(end->state);
    char code[SLURM_EXIT_SIZE];

    if (!job->ended || !name)
        (void)strcpy(buf, job->ended ? "ended" : "running");
    else if (end->exit_code || end->exit_signal)
        (void)snprintf(buf, SUMMARY_STATE, "%s (exit code %s)", name, slurm_exit_format(end, code));
    else
        (void)strcpy(buf, name);
    return buf;
}

char *summary_command(char *const *command)
{
    struct text_buffer text;

    if (!text_buffer_open(&text))
        return NULL;
    for (size_t i = 0; command[i]; i++)
        (void)fprintf(text.out, "%s%s", i ? " " : "", command[i]);
    return text_buffer_take(&text);
}

char *summary_step_name(const struct step_account *step, char buf[SUMMARY_STEP])
{
    char name[16];

    step_format(step->step, name);
    if (step->het == HET_NONE)
        strcpy(buf, name);
    else
        (void)snprintf(buf, SUMMARY_STEP, "+%u.%s", step->het, name);
    return buf;
}

char *summary_step_remark(const struct step_account *step, char buf[SUMMARY_STEP])
{
    if (step->folded)
        (void)snprintf(buf, SUMMARY_STEP, "%u steps", step->folded);
    else if (step->completeness.lost || step->completeness.n)
        strcpy(buf, "incomplete");
    else
        strcpy(buf, step->state == STEP_ENDED ? "" : step_state_name(step->state));
    return buf;
}

const char *summary_time(uint64_t ns, char buf[UNITS_SIZE])
{
    uint64_t minutes = ns / UINT64_C(60000000000);

    if (!ns)
        return "-";
    if (ns < UINT64_C(999500000000))
        return units_time(ns, buf);
    if (minutes < 100)
        snprintf(buf, UNITS_SIZE, "%u min", (unsigned)minutes);
    else if (minutes < 6000)
        snprintf(buf, UNITS_SIZE, "%.1f h", (double)minutes / 60);
    else
        strcat(units_count_short(minutes / 60, buf), " h");
    return buf;
}
