/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/base/notes.h"

#include <errno.h>
#include <sys/stat.h>

#include "cli/base/output.h"
#include "common/cleanup.h"

DEFINE_CLEANUP(struct advice, advice_destroy)

static void say(const char *text, void *arg)
{
    (void)arg;
    output_error("%s", text);
}

static int read_path(struct advice *advice, const char *path, struct error *error)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return error_errno(error, -errno, "cannot read the rules of %s", path);
    return S_ISDIR(st.st_mode) ? advice_read_directory(advice, path, say, NULL, error)
                               : advice_read(advice, path, say, NULL, error);
}

int notes_rules(struct advice **ret, const char *path, int *mistakes, struct error *error)
{
    CLEANUP(advice_destroyp) struct advice *advice = NULL;
    int r = advice_create(&advice, error);

    if (r == 0)
        r = path ? read_path(advice, path, error)
                 : advice_read_directory(advice, advice_directory(), say, NULL, error);
    if (r < 0)
        return r;
    *mistakes = r;
    *ret = TAKE_PTR(advice);
    return 0;
}

void notes_for_job(const struct job_account *job, size_t max, struct advice_notes *ret)
{
    static struct advice *advice; /* never freed: the notes point to its rules */
    static bool failed, rule_failed;
    struct error error;
    int mistakes, r;

    if (failed)
        return;
    r = advice ? 0 : notes_rules(&advice, NULL, &mistakes, &error);
    if (r == 0)
        r = advice_give(advice, job, max, ret, &error);
    if (r > 0 && !rule_failed)
        output_error("job %u: %s", job->key.jobid, error.text);
    rule_failed |= r > 0;
    if (r < 0) {
        output_error("no advice: %s", error.text);
        failed = true;
    }
}
