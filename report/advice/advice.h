/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a job's owner could do better: rules over the account's fields, which a site writes as text
 * files (contrib/advice, doc/advice.md). Conditions are SQL expressions: SQLite reads them.
 */
#ifndef JOBIO_REPORT_ADVICE_ADVICE_H
#define JOBIO_REPORT_ADVICE_ADVICE_H

#include "common/error.h"
#include "common/job.h"

/* In the order in which notes are told. */
enum advice_level {
    ADVICE_ERROR, /* told of every job */
    ADVICE_HINT,  /* of jobs that ran for a while and lost time to I/O */
    ADVICE_GOOD,  /* of these, if there is nothing else to tell */
    ADVICE_LEVELS,
};

struct advice_note {
    enum advice_level level;
    const char *rule; /* its name; the rules' */
    char *link;       /* owned; where more is written of it; "": none */
    char *text;       /* owned; one line, safe on a terminal */
    double lost;      /* what it cost, as a part of the run time, from 0 to 1; of an error: how bad
                       * it is among errors */
};

struct advice_notes {
    struct advice_note *items; /* owned */
    size_t n;
};

struct advice;

/* No rules yet. *ret is for one thread at a time. */
int advice_create(struct advice **ret, struct error *error);
void advice_destroy(struct advice *advice);

/* Read the rules of one file; they replace those of the same names of files before it. What is
 * wrong with a rule is said ("FILE:LINE: why"), and the others work. Returns how many rules were
 * wrong, or a negative errno if the file cannot be read. */
typedef void (*advice_say_f)(const char *text, void *arg);
int advice_read(struct advice *advice, const char *path, advice_say_f say, void *arg,
                struct error *error);
/* Where the rules of this machine are: JOBIO_ADVICE, or /etc/jobio/advice.d as configured. */
const char *advice_folder(void);
/* The same for all "*.conf" in a folder, in the order of their names. No folder: no rules. */
int advice_read_folder(struct advice *advice, const char *folder, advice_say_f say, void *arg,
                       struct error *error);
/* How many rules there are, those that were taken out with them; the name of each. */
size_t advice_count(const struct advice *advice);
const char *advice_rule_name(const struct advice *advice, size_t i);

/* What the rules say of a job, by level and then by what it cost; at most `max` notes, and of each
 * rule the one about the mount where it cost most. */
int advice_give(struct advice *advice, const struct job_account *job, size_t max,
                struct advice_notes *ret, struct error *error);
void advice_notes_clear(struct advice_notes *notes);

#endif
