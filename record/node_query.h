/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queries the jobiods of many nodes for job records: HTTP with munge credentials. */
#ifndef JOBIO_RECORD_NODE_QUERY_H
#define JOBIO_RECORD_NODE_QUERY_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "record/ended_jobs.h"

struct node_query_options {
    const char *url;     /* "http://%n:9418"; %n is replaced by the name of the node */
    const char *cluster; /* as in jobio.conf of the nodes */
    uint64_t timeout_ns; /* per query; after three timeouts in a row the node is given up */
    unsigned parallel;   /* nodes at a time; each gets one query at a time */
};

struct node_query {
    const char *host; /* owned by the caller */
    uint32_t jobid, restart;
    enum ended_answer answer;
    char *record; /* malloc'd, freed by the caller; NULL: none */
    char id[17];  /* random; the answer repeats it, so that an old answer is not accepted */
};

/* Run all queries and set their answers. `print_line` gets a line for each query without an answer.
 * Returns when all nodes have answered or timed out: usually after three timeout_ns for each
 * `parallel` silent nodes. -ENOMEM; -ENOTCONN: no munged on this node. */
int node_query_all(const struct node_query_options *options, struct node_query *queries, size_t n,
                   void (*print_line)(const char *line), struct error *error);

/* Returns the payload of a query, malloc'd, and sets a new id. */
char *node_query_format(struct node_query *query, const char *cluster);
/* Set answer and record from the payload of an answer. -EBADMSG: it does not answer this query. */
int node_query_parse_answer(struct node_query *query, const char *cluster, const char *payload,
                            size_t size, struct error *error);

#endif
