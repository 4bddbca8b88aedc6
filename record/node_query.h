/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks the jobiods of many nodes for the records of jobs: HTTP with munge credentials. */
#ifndef JOBIO_RECORD_NODE_QUERY_H
#define JOBIO_RECORD_NODE_QUERY_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "record/ended_jobs.h"

struct ask_options {
    const char *url;     /* "http://%n:9418": %n is the node's name */
    const char *cluster; /* as in jobio.conf of the nodes */
    uint64_t timeout_ns; /* of one question; after three in a row a node is asked no more */
    unsigned parallel;   /* how many nodes at once; each gets one question at a time */
};

struct ask {
    const char *host; /* the caller's */
    uint32_t jobid, restart;
    enum ended_answer answer;
    char *record; /* malloc'd, the caller's to free; NULL: none */
    char id[17];  /* of the question, which its answer repeats: an old one is none */
};

/* Fill in the answers. `say` gets a line for each question to which none came. Returns when all
 * nodes have answered or had their time: at most the questions of one node times timeout_ns, and as
 * a rule three timeout_ns for each `parallel` silent nodes. -ENOMEM, -ENOTCONN: no munged here. */
int ask_all(const struct ask_options *options, struct ask *asks, size_t n,
            void (*say)(const char *line), struct error *error);

/* The payload of a question, malloc'd, with a new id. */
char *ask_question(struct ask *ask, const char *cluster);
/* What a payload says to the question: sets answer and record. -EBADMSG: not an answer to it. */
int ask_understand(struct ask *ask, const char *cluster, const char *payload, size_t size,
                   struct error *error);

#endif
