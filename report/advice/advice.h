/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Advice for the owner of a job: rules over the fields of the account, in text files that a site
 * can extend (contrib/advice, doc/advice.md). Conditions are SQL expressions, evaluated by SQLite.
 */
#ifndef JOBIO_REPORT_ADVICE_ADVICE_H
#define JOBIO_REPORT_ADVICE_ADVICE_H

#include "common/error.h"
#include "common/job.h"

/* In the order in which notes are printed. */
enum advice_level {
    ADVICE_ERROR, /* for every job */
    ADVICE_HINT,  /* for jobs that lost time to I/O: job_lost_time() */
    ADVICE_GOOD,  /* for these, if there is no other note */
    ADVICE_LEVELS,
};

struct advice_note {
    enum advice_level level;
    const char *rule; /* its name; owned by the rules */
    char *link;       /* owned; a page about it; "": none */
    char *text;       /* owned; one line, safe on a terminal */
    double lost;      /* what it cost, as a part of the run time, from 0 to 1; of an error: how bad
                       * it is among errors */
};

struct advice_notes {
    struct advice_note *items; /* owned */
    size_t n;
};

struct advice;

/* Create an engine without rules. Use it in one thread at a time. */
int advice_create(struct advice **ret, struct error *error);
void advice_destroy(struct advice *advice);

/* Read the rules of one file; they replace rules of the same name from earlier files. An invalid
 * rule is reported ("FILE:LINE: why") and skipped. Returns how many rules were invalid, or a
 * negative errno if the file cannot be read. */
typedef void (*advice_say_f)(const char *text, void *arg);
int advice_read(struct advice *advice, const char *path, advice_say_f say, void *arg,
                struct error *error);
/* The directory of the rules: $JOBIO_ADVICE, or /etc/jobio/advice.d as configured. */
const char *advice_directory(void);
/* Read all "*.conf" of a directory in the order of their names. A missing directory is not an
 * error. */
int advice_read_directory(struct advice *advice, const char *directory, advice_say_f say, void *arg,
                          struct error *error);
/* The number of rules, including those switched off, and their names. */
size_t advice_count(const struct advice *advice);
const char *advice_rule_name(const struct advice *advice, size_t i);

/* Apply the rules to a job. Notes are sorted by level, then by lost time; at most `max`, and one
 * for each rule: about the mount where it cost most. Returns how many rules failed on this job
 * (they give no note, and *error names the first), or a negative errno. */
int advice_give(struct advice *advice, const struct job_account *job, size_t max,
                struct advice_notes *ret, struct error *error);
/* Why a job has no notes, malloc'd; NULL: out of memory. */
char *advice_silence(const struct job_account *job);
void advice_notes_clear(struct advice_notes *notes);

#endif
