/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/tree.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/units.h"
#include "common/utf8.h"

static struct json_object *check_made(struct tree *tree, struct json_object *value)
{
    tree->failed |= !value;
    return value;
}

struct json_object *tree_object(struct tree *tree)
{
    return check_made(tree, json_object_new_object());
}

struct json_object *tree_array(struct tree *tree)
{
    return check_made(tree, json_object_new_array());
}

void tree_put(struct tree *tree, struct json_object *to, const char *key, struct json_object *value)
{
    if (to && value && json_object_object_add(to, key, value) == 0)
        return;
    json_object_put(value);
    tree->failed = true;
}

void tree_put_u64(struct tree *tree, struct json_object *to, const char *key, uint64_t value)
{
    tree_put(tree, to, key, json_object_new_uint64(value));
}

void tree_put_bool(struct tree *tree, struct json_object *to, const char *key, bool value)
{
    tree_put(tree, to, key, json_object_new_boolean(value));
}

/* json-c escapes C0 itself. */
static struct json_object *text_value(const char *text)
{
    _free_ char *clean = text ? utf8_clean(text) : NULL;

    return clean ? json_object_new_string(clean) : NULL;
}

void tree_put_text(struct tree *tree, struct json_object *to, const char *key, const char *text)
{
    if (text)
        tree_put(tree, to, key, text_value(text));
}

/* A double would lose the nanoseconds of a date; json-c prints the text. */
void tree_put_seconds(struct tree *tree, struct json_object *to, const char *key, uint64_t ns)
{
    char text[UNITS_SIZE];

    tree_put(tree, to, key,
             json_object_new_double_s((double)ns / NS_PER_S, units_seconds(ns, text)));
}

void tree_put_number(struct tree *tree, struct json_object *to, const char *key, double value,
                     int digits)
{
    char text[350]; /* the largest double has 309 digits */

    if (digits == TREE_FEW)
        digits = value == floor(value) ? 0 : 6;
    (void)snprintf(text, sizeof(text), "%.*f", digits, value);
    tree_put(tree, to, key, json_object_new_double_s(value, text));
}

void tree_add(struct tree *tree, struct json_object *to, struct json_object *value)
{
    if (to && value && json_object_array_add(to, value) == 0)
        return;
    json_object_put(value);
    tree->failed = true;
}

void tree_add_u64(struct tree *tree, struct json_object *to, uint64_t value)
{
    tree_add(tree, to, json_object_new_uint64(value));
}

void tree_add_text(struct tree *tree, struct json_object *to, const char *text)
{
    tree_add(tree, to, text_value(text));
}

struct json_object *tree_end(const struct tree *tree, struct json_object *document)
{
    if (!tree->failed)
        return document;
    json_object_put(document);
    return NULL;
}

/* json-c 0.16 ignores that its buffer cannot grow, and goes on without the text that did not fit.
 * Only the errno of realloc() remains. */
const char *tree_print(struct json_object *document)
{
    const char *text;

    if (!document)
        return NULL;
    errno = 0;
    text = json_object_to_json_string_ext(document,
                                          JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
    return errno == ENOMEM ? NULL : text;
}

char *tree_text(struct json_object *document)
{
    const char *text = tree_print(document);
    char *copy = text ? strdup(text) : NULL;

    json_object_put(document);
    return copy;
}
