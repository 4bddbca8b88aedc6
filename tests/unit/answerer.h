/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that listens on a SEQPACKET socket and answers in one fixed way. It replaces
 * jobiod in tests of the client, above all of its reaction to a jobiod that misbehaves.
 */
#ifndef JOBIO_TESTS_UNIT_ANSWERER_H
#define JOBIO_TESTS_UNIT_ANSWERER_H

#include <sys/types.h>

enum answer {
    ANSWER_OK,       /* STATUS=ok, and for a report TEXT */
    ANSWER_ERROR,    /* STATUS=error, ERROR=no such step */
    ANSWER_BYTE,     /* one byte, which is not a message */
    ANSWER_CUT,      /* a message without its last byte */
    ANSWER_VERSION,  /* a version of the future */
    ANSWER_HUGE,     /* more than the maximum of a message */
    ANSWER_PARTS,    /* three messages, MORE=1 in the first two */
    ANSWER_SLOW,     /* as ANSWER_OK, but 400 ms late for an end */
    ANSWER_CLOSE,    /* closes without an answer */
    ANSWER_NEVER,    /* accepts and reads, but does not answer */
    ANSWER_DEAF,     /* listens with a backlog of 1 and never accepts */
    ANSWER_RECORDED, /* what is in answerer_recording */
};

struct answerer {
    pid_t pid; /* 0: ANSWER_DEAF needs no process */
    int fd;    /* listening */
    char path[108];
    char log[128]; /* a file with every received message, a line each, with '|' for NUL */
};

/* A file of "TYPE ANSWER" lines with '|' for NUL and "\\n" for a newline; the TYPE "*" is the last
 * and answers all other requests. */
extern const char *answerer_recording;

/* Listen on `directory`/jobiod.sock and log to `directory`/asked. Fails the test if it cannot. */
void answerer_start(struct answerer *a, const char *directory, enum answer how);
void answerer_stop(struct answerer *a);
/* The log so far, malloc'd. */
char *answerer_asked(const struct answerer *a);

#endif
