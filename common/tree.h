/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds a JSON document. A failed allocation is remembered, so that callers check only once, at
 * the end: tree_end(). NULL on out-of-memory; every function here accepts NULL. */
#ifndef JOBIO_COMMON_TREE_H
#define JOBIO_COMMON_TREE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

/* Starts zeroed. A caller that cannot make a part of the document also sets `failed`. */
struct tree {
    bool failed;
};

/* A new object or array. The caller owns it until it is put into another one. */
struct json_object *tree_object(struct tree *tree);
struct json_object *tree_array(struct tree *tree);

/* Add a member to an object. Takes ownership of the value, also on failure; a NULL value marks the
 * document as failed. */
void tree_put(struct tree *tree, struct json_object *to, const char *key,
              struct json_object *value);
void tree_put_u64(struct tree *tree, struct json_object *to, const char *key, uint64_t value);
void tree_put_bool(struct tree *tree, struct json_object *to, const char *key, bool value);
/* Invalid UTF-8 and terminal control characters are replaced. NULL: no member is added. */
void tree_put_text(struct tree *tree, struct json_object *to, const char *key, const char *text);
/* In seconds, exact to the nanosecond. */
void tree_put_seconds(struct tree *tree, struct json_object *to, const char *key, uint64_t ns);
/* With `digits` decimals. TREE_FEW: none for an integer, else six. */
#define TREE_FEW (-1)
void tree_put_number(struct tree *tree, struct json_object *to, const char *key, double value,
                     int digits);

/* Append an item to an array; ownership and NULL as for members. */
void tree_add(struct tree *tree, struct json_object *to, struct json_object *value);
void tree_add_u64(struct tree *tree, struct json_object *to, uint64_t value);
void tree_add_text(struct tree *tree, struct json_object *to, const char *text);

/* Returns the complete document, owned by the caller. If anything failed: releases it and returns
 * NULL. */
struct json_object *tree_end(const struct tree *tree, struct json_object *document);

/* Returns the document as one line, which the document owns: it is valid until the next call for
 * this document, and is released with it. NULL if the document is NULL, or on out-of-memory. Use it
 * instead of json_object_to_json_string_ext(), whose text lacks what json-c had no memory for. */
const char *tree_print(struct json_object *document);
/* The same, malloc'd. Releases the document, also on failure. */
char *tree_text(struct json_object *document);

#endif
