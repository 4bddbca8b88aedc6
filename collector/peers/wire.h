/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the jobiod of one node says to that of another (doc/protocol.md): JSON documents, each the
 * payload of a munge credential. All have the same head; fields are only ever added. Pure
 * functions.
 */
#ifndef JOBIO_COLLECTOR_PEERS_WIRE_H
#define JOBIO_COLLECTOR_PEERS_WIRE_H

#include <stddef.h>

#include "common/error.h"

struct json_object;

#define WIRE_VERSION 1
#define WIRE_ID_SIZE 17

/* id: of the question, and again in its answer, which can be that of no other question then. */
struct wire_head {
    const char *cluster, *from, *to, *id;
};

/* A new random id. */
void wire_new_id(char ret[WIRE_ID_SIZE]);

/* A document with this head, to be filled (json_object_put it). NULL: no memory. */
struct json_object *wire_create(const struct wire_head *head);
/* Its text, malloc'd; takes the document over (NULL is fine). NULL: no memory. */
char *wire_text(struct json_object *document, size_t *size);

/* The document of a payload that is meant for us: cluster and to as in `head`, and from and id as
 * well where they are not NULL. -EBADMSG: it is none; -EPROTONOSUPPORT: of a version that we do not
 * speak; -EXDEV: of another cluster; -EADDRNOTAVAIL: for another node or question, or from another
 * node. */
int wire_parse(const char *payload, size_t size, const struct wire_head *head,
               struct json_object **ret, struct error *error);

/* The string of that name, "" if there is none. It is the document's. */
const char *wire_string(struct json_object *document, const char *key);
/* The whole number of that name from 0 to max, or -EBADMSG. */
int wire_number(struct json_object *document, const char *key, unsigned long long max,
                unsigned long long *ret, struct error *error);

#endif
