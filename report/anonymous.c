/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/anonymous.h"

#include <ctype.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/units.h"

#define NOBODY 65534
#define STANDIN_SIZE 48
#define WORD_MIN 2 /* shorter names are no words that could be found in a text */

struct name {
    char *text; /* owned */
    char standin[STANDIN_SIZE];
    const char *kind;
    unsigned number;
};

struct anonymous {
    struct name *names;
    size_t n;
    double first_s; /* the first start in the document */
};

/* Members that are names, replaced as a whole; the first of them are looked for in texts, too. */
static const char *const members[] = {"user", "account",   "name",   "cluster",
                                      "node", "partition", "source", "link",   "jobid"};
#define IN_TEXTS 5
/* Members that are texts, or hold them. What else is text has one of a few values. */
static const char *const texts[] = {"mount", "summary", "text", "cause", "missing", "command"};

struct anonymous *anonymous_create(void)
{
    return calloc(1, sizeof(struct anonymous));
}

void anonymous_destroy(struct anonymous *anonymous)
{
    if (!anonymous)
        return;
    for (size_t i = 0; i < anonymous->n; i++)
        free(anonymous->names[i].text);
    free(anonymous->names);
    free(anonymous);
}

static const struct name *find(const struct anonymous *a, const char *kind, const char *text)
{
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->names[i].kind, kind) == 0 && strcmp(a->names[i].text, text) == 0)
            return &a->names[i];
    return NULL;
}

/* NULL: no such member is a name. */
static const char *kind_of(const char *member)
{
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        if (strcmp(member, members[i]) == 0)
            return members[i];
    return NULL;
}

/* The highest number that was given. */
static unsigned count(const struct anonymous *a, const char *kind)
{
    unsigned highest = 0;

    for (size_t i = 0; i < a->n; i++)
        if (a->names[i].kind == kind && a->names[i].number > highest)
            highest = a->names[i].number;
    return highest;
}

static int add(struct anonymous *a, const char *kind, const char *text, unsigned number)
{
    struct name *grown = realloc(a->names, (a->n + 1) * sizeof(*grown));
    char *copy = strdup(text);

    if (grown)
        a->names = grown;
    if (!grown || !copy) {
        free(copy);
        return -ENOMEM;
    }
    grown[a->n].text = copy;
    grown[a->n].kind = kind;
    grown[a->n].number = number;
    (void)snprintf(grown[a->n].standin, STANDIN_SIZE, "%s%u", kind, number);
    a->n++;
    return 0;
}

/* In a text it may stand as a terminal shows it. */
int anonymous_learn(struct anonymous *anonymous, const char *kind, const char *name)
{
    const char *own = kind_of(kind);
    _free_ char *safe = name ? units_sanitize(name) : NULL;
    unsigned number;
    int rc;

    if (!name || !*name || !own || find(anonymous, own, name))
        return 0;
    if (!safe)
        return -ENOMEM;
    number = count(anonymous, own) + 1;
    rc = add(anonymous, own, name, number);
    if (rc == 0 && strcmp(safe, name) != 0 && !find(anonymous, own, safe))
        rc = add(anonymous, own, safe, number);
    return rc;
}

/* --- texts -------------------------------------------------------------------------------------
 */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_in(const char *const *list, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], text) == 0)
            return true;
    return false;
}

/* The longest name that is a word here: one may be the beginning of another. */
static const struct name *name_at(const struct anonymous *a, const char *text, size_t at)
{
    const struct name *best = NULL;
    size_t longest = WORD_MIN - 1;

    for (size_t i = 0; i < a->n; i++) {
        size_t n = strlen(a->names[i].text);

        if (n <= longest || !is_in(members, IN_TEXTS, a->names[i].kind) ||
            strncmp(text + at, a->names[i].text, n) != 0 ||
            (at > 0 && is_word(text[at - 1]) && is_word(text[at])) ||
            (is_word(text[at + n - 1]) && is_word(text[at + n])))
            continue;
        best = &a->names[i];
        longest = n;
    }
    return best;
}

static char *replace(const struct anonymous *a, const char *text)
{
    char *result = NULL;
    size_t size;
    FILE *out = open_memstream(&result, &size);

    if (!out)
        return NULL;
    for (size_t i = 0; text[i];) {
        const struct name *name = name_at(a, text, i);

        (void)(name ? fputs(name->standin, out) : fputc(text[i], out));
        i += name ? strlen(name->text) : 1;
    }
    if (fclose(out) != 0) {
        free(result);
        return NULL;
    }
    return result;
}

/* --- documents ---------------------------------------------------------------------------------
 */

static struct json_object *text_standin(struct anonymous *a, const char *member, const char *text)
{
    const struct name *name = find(a, member, text);
    _free_ char *replaced = NULL;

    if (name)
        return json_object_new_string(name->standin);
    replaced = replace(a, text);
    return replaced ? json_object_new_string(replaced) : NULL;
}

static int apply(struct anonymous *a, const char *member, struct json_object *value);

/* Points in time, which are told from the first one on. */
static const char *const times[] = {"start_s", "end_s"};
#define FROM_S 315532800 /* 1980-01-01, as in other exports without names */

/* What `member` of that number is in the list of names; NULL: none is kept there. */
static const char *number_kind(const char *member)
{
    return strcmp(member, "jobid") == 0 || strcmp(member, "array_jobid") == 0 ? "jobid" : NULL;
}

static struct json_object *number_standin(const struct anonymous *a, const char *member,
                                          struct json_object *value)
{
    const char *kind = number_kind(member);
    const struct name *name = kind ? find(a, kind_of(kind), json_object_get_string(value)) : NULL;

    if (name)
        return json_object_new_int((int)name->number);
    if (is_in(times, ARRAY_SIZE(times), member))
        return json_object_new_double(json_object_get_double(value) - a->first_s + FROM_S);
    return strcmp(member, "uid") == 0 ? json_object_new_int(NOBODY) : NULL;
}

/* What stands for the value in *ret, a new reference; NULL: it stays. */
static int standin(struct anonymous *a, const char *member, struct json_object *value,
                   struct json_object **ret)
{
    *ret = NULL;
    switch (json_object_get_type(value)) {
    case json_type_object:
    case json_type_array:
        return apply(a, member, value);
    case json_type_string:
        if (!is_in(members, ARRAY_SIZE(members), member) &&
            !is_in(texts, ARRAY_SIZE(texts), member))
            return 0;
        *ret = text_standin(a, member, json_object_get_string(value));
        return *ret ? 0 : -ENOMEM;
    case json_type_int:
    case json_type_double:
        *ret = number_standin(a, member, value);
        return 0;
    default:
        return 0;
    }
}

/* The items of an array go by its own name. */
static int apply(struct anonymous *a, const char *member, struct json_object *value)
{
    struct json_object *other;
    int rc = 0;

    if (json_object_is_type(value, json_type_array)) {
        for (size_t i = 0; rc == 0 && i < json_object_array_length(value); i++) {
            rc = standin(a, member, json_object_array_get_idx(value, i), &other);
            if (rc == 0 && other && json_object_array_put_idx(value, i, other) < 0)
                rc = -ENOMEM;
        }
        return rc;
    }
    json_object_object_foreach(value, name, child)
    {
        rc = standin(a, name, child, &other);
        if (rc == 0 && other && json_object_object_add(value, name, other) < 0)
            rc = -ENOMEM; /* replaces the value of a member that is there: the pass goes on */
        if (rc < 0)
            break;
    }
    return rc;
}

static int learn_number(struct anonymous *a, const char *member, struct json_object *value)
{
    const char *kind = number_kind(member);
    double start_s = json_object_get_double(value);

    if (strcmp(member, times[0]) == 0 && (a->first_s <= 0 || start_s < a->first_s))
        a->first_s = start_s;
    return kind ? anonymous_learn(a, kind, json_object_get_string(value)) : 0;
}

static int learn_member(struct anonymous *a, const char *member, struct json_object *value);

/* First all names, so that a text before them in the document has none. */
static int learn_all(struct anonymous *a, struct json_object *value)
{
    int rc = 0;

    if (json_object_is_type(value, json_type_array)) {
        for (size_t i = 0; rc == 0 && i < json_object_array_length(value); i++)
            rc = learn_all(a, json_object_array_get_idx(value, i));
    } else if (json_object_is_type(value, json_type_object)) {
        json_object_object_foreach(value, member, child)
        {
            rc = learn_member(a, member, child);
            if (rc < 0)
                break;
        }
    }
    return rc;
}

static int learn_member(struct anonymous *a, const char *member, struct json_object *value)
{
    switch (json_object_get_type(value)) {
    case json_type_string:
        return anonymous_learn(a, member, json_object_get_string(value));
    case json_type_int:
    case json_type_double:
        return learn_number(a, member, value);
    default:
        return learn_all(a, value);
    }
}

int anonymous_apply(struct anonymous *anonymous, struct json_object *document)
{
    int rc = learn_all(anonymous, document);

    return rc < 0 ? rc : apply(anonymous, "", document);
}
