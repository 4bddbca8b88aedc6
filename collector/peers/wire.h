/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages between the jobiods of two nodes (doc/protocol.md): JSON documents, each the payload of
 * a munge credential. All have the same head; fields are only ever added. Pure functions, except
 * wire_new_id().
 */
#ifndef JOBIO_COLLECTOR_PEERS_WIRE_H
#define JOBIO_COLLECTOR_PEERS_WIRE_H

#include <stddef.h>

#include "common/error.h"
#include "common/mpi_parts.h"

struct json_object;

#define WIRE_VERSION 1
#define WIRE_ID_SIZE 17

/* id: of the query. The answer repeats it, so that it cannot pass for the answer to another query.
 */
struct wire_head {
    const char *cluster, *from, *to, *id;
};

/* Make a random id. Returns 0, or the -errno of getrandom(). */
int wire_new_id(char ret[WIRE_ID_SIZE]);

/* Create a document with this head. The caller owns it. NULL on out-of-memory. */
struct json_object *wire_create(const struct wire_head *head);
/* The document as malloc'd text. Takes ownership of the document; accepts NULL. NULL on
 * out-of-memory. */
char *wire_text(struct json_object *document, size_t *size);

/* Parse a payload and check that it is addressed to this node: each field of `head` that is not
 * NULL must match. The caller owns *ret. Returns 0, -EBADMSG (not such a document),
 * -EPROTONOSUPPORT (another version), -EXDEV (another cluster) or -EADDRNOTAVAIL (for another node
 * or query, or from another node). */
int wire_parse(const char *payload, size_t size, const struct wire_head *head,
               struct json_object **ret, struct error *error);

/* The string field `key`, or "" if there is none. The document owns it. */
const char *wire_string(struct json_object *document, const char *key);
/* Read the integer field `key`, from 0 to max. Returns 0 or -EBADMSG. */
int wire_number(struct json_object *document, const char *key, unsigned long long max,
                unsigned long long *ret, struct error *error);

/* The field "mpi_steps": for each step of the job on that node its het, its number, and how many of
 * its parts were counted and were not. 0 or -ENOMEM. */
int wire_put_mpi_parts(struct json_object *document, const struct mpi_parts *parts);
/* Read it into *ret, which is empty. Without the field, nothing was counted, in unknown steps.
 * -EBADMSG, -ENOMEM. */
int wire_read_mpi_parts(struct json_object *document, struct mpi_parts *ret, struct error *error);

#endif
