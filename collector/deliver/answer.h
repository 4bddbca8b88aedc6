/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the answer of a target means, and helpers to judge one. Pure functions. */
#ifndef JOBIO_COLLECTOR_DELIVER_ANSWER_H
#define JOBIO_COLLECTOR_DELIVER_ANSWER_H

#include <stddef.h>

#include "collector/http/client.h"

enum answer {
    ANSWER_OK,
    ANSWER_PARTLY,        /* a verdict on each row */
    ANSWER_RETRY,         /* back off; a persistent failure suggests a poison row */
    ANSWER_WAIT,          /* back off; the target asks for it, no row is the cause */
    ANSWER_LATER,         /* the target works, but cannot take these rows yet: try again soon */
    ANSWER_REFUSED,       /* the target does not accept these rows, or one of them */
    ANSWER_TOO_LONG,      /* the answer is too long to be read: send less */
    ANSWER_MISCONFIGURED, /* try again slowly; an operator must act, no row is the cause */
    ANSWER_PENDING,       /* target_judged() follows */
};

#define ANSWER_WHY_MAX 256

struct answer_verdict {
    enum answer answer;       /* not ANSWER_PARTLY, _TOO_LONG, _PENDING */
    char why[ANSWER_WHY_MAX]; /* set unless ANSWER_OK */
};

/* What a range of codes means. The first range that contains a code decides. */
struct answer_code {
    long first, last;
    enum answer answer;
};
enum answer answer_of_code(const struct answer_code *table, size_t n, long code,
                           enum answer otherwise);

/* The meaning of an HTTP status for databases that store rows. */
enum answer answer_of_rows_status(long status);

/* Why there was no answer (code 0). */
enum answer answer_of_silence(const struct http_answer *answer);

/* "HTTP 400, NOTE: TEXT" for the operator; code 0: the text alone. The text is untrusted. It is cut
 * between two characters if it is too long. */
void answer_describe(char why[ANSWER_WHY_MAX], long code, const char *note, const char *text);

#endif
