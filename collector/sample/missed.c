/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events that the programs missed, within this process and between two processes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/sample/sampler_impl.h"
#include "common/numbers.h"

#define CAUSE_MISSED "recursion-missed"
#define MISSED_TITLE "missed:"

/* " FUNCTION/OPS=": functions may be hooked for more than one operation. */
static void missed_name(char buf[128], const struct probe_hook *hook)
{
    (void)snprintf(buf, 128, " %s/%" PRIx64 "=", hook->function, hook->ops);
}

static uint64_t missed_ops(const struct probe_hook *hook)
{
    return hook->missed_ops ? hook->missed_ops : hook->ops;
}

char *sampler_missed(const struct sampler *sampler)
{
    const struct probe_hook *hooks;
    char *text = NULL, name[128];
    size_t n = 0, size = 0;
    FILE *file = open_memstream(&text, &size);

    if (!file)
        return NULL;
    (void)fputs(MISSED_TITLE, file);
    if (probe_hooks(sampler->probe, &hooks, &n) < 0)
        n = 0;
    for (size_t i = 0; i < n && i < sampler->n_missed; i++) {
        if (!sampler->missed[i])
            continue;
        missed_name(name, &hooks[i]);
        (void)fprintf(file, "%s%" PRIu64, name, sampler->missed[i]);
    }
    if (fclose(file) == 0)
        return text;
    free(text);
    return NULL;
}

int sampler_resume_missed(struct sampler *sampler, const char *text)
{
    const struct probe_hook *hooks;
    char name[128];
    size_t n;
    int r = 0;

    completeness_clear(&sampler->gap);
    if (!text || strncmp(text, MISSED_TITLE, strlen(MISSED_TITLE)) != 0 ||
        probe_hooks(sampler->probe, &hooks, &n) < 0)
        return 0;
    for (size_t i = 0; i < n && i < sampler->n_missed && !r; i++) {
        const char *at;
        uint64_t before = 0;

        missed_name(name, &hooks[i]);
        at = strstr(text, name);
        if (at) {
            at += strlen(name);
            (void)number_parse_prefix(&at, &before);
        }
        if (sampler->missed[i] > before)
            r = completeness_add(&sampler->gap, CAUSE_MISSED, sampler->missed[i] - before,
                                 missed_ops(&hooks[i]));
    }
    return r;
}

int missed_set(struct sampler *sampler, const struct probe_hook *hooks, size_t n)
{
    uint64_t *grown;

    if (n != sampler->n_missed) {
        grown = realloc(sampler->missed, (n ? n : 1) * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        sampler->missed = grown;
        sampler->n_missed = n;
    }
    for (size_t i = 0; i < n; i++)
        sampler->missed[i] = hooks[i].missed;
    return 0;
}

int missed_update(struct sampler *sampler)
{
    const struct probe_hook *hooks;
    size_t n;

    if (probe_hooks(sampler->probe, &hooks, &n) < 0)
        return 0;
    for (size_t i = 0; i < n && i < sampler->n_missed; i++) {
        uint64_t more =
            hooks[i].missed > sampler->missed[i] ? hooks[i].missed - sampler->missed[i] : 0;

        for (size_t j = 0; more && j < sampler->n; j++) {
            struct followed *f = sampler->steps[j];

            if (!f->finished &&
                completeness_add(&f->causes, CAUSE_MISSED, more, missed_ops(&hooks[i])) < 0)
                return -ENOMEM;
        }
    }
    return missed_set(sampler, hooks, n);
}
