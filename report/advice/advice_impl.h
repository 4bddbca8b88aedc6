/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules, for their parser and their evaluation. */
#ifndef JOBIO_REPORT_ADVICE_ADVICE_IMPL_H
#define JOBIO_REPORT_ADVICE_ADVICE_IMPL_H

#include <sqlite3.h>
#include <stdbool.h>

#include "common/cleanup.h"
#include "report/advice/advice.h"

/* What a rule is about: each mount, or the job. */
enum advice_scope { ADVICE_MOUNT, ADVICE_JOB, ADVICE_SCOPES };
extern const char *const advice_tables[ADVICE_SCOPES];

/* How a text shows a value. */
enum advice_format {
    ADVICE_PLAIN,
    ADVICE_BYTES,
    ADVICE_COUNT,
    ADVICE_PERCENT, /* 1 is 100 % */
    ADVICE_TIME,    /* a number of seconds */
    ADVICE_FORMATS,
};

/* A literal text, then a value. */
struct advice_piece {
    char *text, *expression; /* owned; NULL expression: none */
    enum advice_format format;
    int column; /* index among the expressions of the text */
};

struct advice_rule {
    char *name, *when, *lost, *text, *link; /* owned; NULL: not set */
    enum advice_level level;
    bool off; /* level = off */
    enum advice_scope scope;
    unsigned file;               /* the number of its file */
    struct advice_piece *pieces; /* owned */
    size_t n_pieces;
    sqlite3_stmt *statement;
};

struct advice {
    sqlite3 *db;
    sqlite3_stmt *inserts[ADVICE_SCOPES], *clears[ADVICE_SCOPES];
    struct advice_rule *rules; /* owned */
    size_t n;
    unsigned files; /* read so far */
    char *links;    /* owned; prefix of relative links; NULL: not set */
};

DEFINE_CLEANUP(struct advice, advice_destroy)

void advice_rule_clear(struct advice_rule *rule);

static inline void cleanup_statement(sqlite3_stmt **statement)
{
    (void)sqlite3_finalize(*statement);
}

#endif
