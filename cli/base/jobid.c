/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/base/jobid.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/job.h"
#include "common/numbers.h"

/* As in Slurm: larger values are its special numbers. */
#define NUMBER_MAX 0xfffffff0u

/* Parse the decimal number at *p, and advance *p past it. */
static bool take_number(const char **p, uint32_t *ret)
{
    const char *at = *p;
    uint64_t value;

    if (number_parse_prefix(&at, &value) < 0 || value > NUMBER_MAX)
        return false;
    *p = at;
    *ret = (uint32_t)value;
    return true;
}

/* Not step_parse(): it accepts Slurm's special numbers. */
static bool take_step(const char **p, uint32_t *ret)
{
    static const uint32_t named[] = {STEP_BATCH, STEP_EXTERN, STEP_INTERACTIVE};
    char name[16];

    if (take_number(p, ret))
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(named); i++) {
        if (strcmp(*p, step_format(named[i], name)) != 0)
            continue;
        *p += strlen(name);
        *ret = named[i];
        return true;
    }
    return false;
}

int jobid_parse(const char *text, struct jobid *ret, struct error *error)
{
    const char *p = text;
    struct jobid id = {0};
    bool ok = take_number(&p, &id.job) && id.job > 0;

    if (ok && *p == '_') {
        p++;
        id.has_task = true;
        ok = take_number(&p, &id.task);
    }
    if (ok && *p == '.') {
        p++;
        id.has_step = true;
        ok = take_step(&p, &id.step);
    }
    if (!ok || *p)
        return error_set(error, -EINVAL,
                         "\"%s\" is not a job ID: use, for example, 123, 123.0, 123.batch or 123_4",
                         text);
    *ret = id;
    return 0;
}

char *jobid_format(const struct jobid *id, char buf[JOBID_TEXT])
{
    char step[16], task[16] = "";

    if (id->has_task)
        (void)snprintf(task, sizeof(task), "_%u", id->task);
    (void)snprintf(buf, JOBID_TEXT, "%u%s%s%s", id->job, task, id->has_step ? "." : "",
                   id->has_step ? step_format(id->step, step) : "");
    return buf;
}

int jobid_unknown(const struct jobid *id, struct error *error)
{
    char text[JOBID_TEXT];

    return error_set(
        error, -ENOENT,
        "no such job: %s ('jobio history -S now-30days' lists the jobs that you may see)",
        jobid_format(id, text));
}
