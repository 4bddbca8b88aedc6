/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A JSON document that grows. The first allocation that fails spoils it: nothing has to be asked
 * on the way, and tree_end() tells. */
#ifndef JOBIO_COMMON_TREE_H
#define JOBIO_COMMON_TREE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

/* All zero at first. Who cannot make a part of the document sets `failed`, too. */
struct tree {
    bool failed;
};

/* The caller's until it is put into another; NULL if there is no memory, which all below take. */
struct json_object *tree_object(struct tree *tree);
struct json_object *tree_array(struct tree *tree);

/* A member of an object. The value now belongs to it, whatever happens; a value that is NULL was
 * not to be had. */
void tree_put(struct tree *tree, struct json_object *to, const char *key,
              struct json_object *value);
void tree_put_u64(struct tree *tree, struct json_object *to, const char *key, uint64_t value);
void tree_put_bool(struct tree *tree, struct json_object *to, const char *key, bool value);
/* What is no UTF-8 in it is replaced, and so are control characters that a terminal would obey.
 * No text, no member. */
void tree_put_text(struct tree *tree, struct json_object *to, const char *key, const char *text);
/* Seconds, exact to the nanosecond. */
void tree_put_seconds(struct tree *tree, struct json_object *to, const char *key, uint64_t ns);
/* With so many digits behind the point; none if the number is a whole one and `digits` is
 * TREE_FEW, else six. */
#define TREE_FEW (-1)
void tree_put_number(struct tree *tree, struct json_object *to, const char *key, double value,
                     int digits);

/* An item at the end of an array, as the members above. */
void tree_add(struct tree *tree, struct json_object *to, struct json_object *value);
void tree_add_u64(struct tree *tree, struct json_object *to, uint64_t value);
void tree_add_text(struct tree *tree, struct json_object *to, const char *text);

/* The whole document, the caller's; NULL, and it is released, if anything failed. */
struct json_object *tree_end(const struct tree *tree, struct json_object *document);

/* The document in one line, malloc'd; the document is released. NULL if there is none, or no
 * memory. */
char *tree_text(struct json_object *document);

#endif
