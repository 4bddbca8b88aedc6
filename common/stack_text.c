/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/stack_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/numbers.h"

/* The last line: the text is complete. */
#define END "end"

static const struct {
    const char *name;
    size_t offset;
} weights[] = {
    {"other", offsetof(struct stack_profile, other)},
    {"truncated", offsetof(struct stack_profile, truncated)},
    {"unread", offsetof(struct stack_profile, unread)},
};

void stack_text_write(const struct stack_profile *profile, FILE *out)
{
    for (size_t i = 0; i < ARRAY_SIZE(weights); i++) {
        const struct stack_weight *weight =
            (const void *)((const char *)profile + weights[i].offset);

        (void)fprintf(out, "%s %" PRIu64 " %" PRIu64 "\n", weights[i].name, weight->calls,
                      weight->time_ns);
    }
    for (size_t i = 0; i < profile->n; i++)
        (void)fprintf(out, "stack %" PRIu64 " %" PRIu64 " %s\n", profile->stacks[i].weight.calls,
                      profile->stacks[i].weight.time_ns, profile->stacks[i].text);
    (void)fputs(END "\n", out);
}

int stack_text_check(const char *text, struct error *error)
{
    bool file = false; /* behind the tab of a function */

    for (const char *c = text; *c; c++) {
        bool tab = *c == '\t';

        if ((tab && (file || c == text)) || (!tab && (*c < ' ' || *c > '~')))
            return error_set(error, -EBADMSG, "a stack is not printable");
        file = *c != ';' && (file || tab);
    }
    return *text ? 0 : error_set(error, -EBADMSG, "a stack is empty");
}

/* Parse "CALLS NS"; *text is moved behind it. */
static int parse_weight(const char **text, struct stack_weight *ret)
{
    int r = number_parse_prefix(text, &ret->calls);

    if (r < 0 || *(*text)++ != ' ')
        return -EBADMSG;
    return number_parse_prefix(text, &ret->time_ns) < 0 ? -EBADMSG : 0;
}

static int add_stack(struct stack_profile *to, const struct stack_weight *weight, const char *text,
                     struct error *error)
{
    int r = stack_text_check(text, error);

    if (r < 0)
        return r;
    if (to->n == STACK_PROFILE_MAX || strlen(text) > STACK_PROFILE_BYTES)
        return error_set(error, -EBADMSG, "there are too many stacks");
    if (!to->stacks)
        to->stacks = calloc(STACK_PROFILE_MAX, sizeof(*to->stacks));
    if (to->stacks)
        to->stacks[to->n].text = strdup(text);
    if (!to->stacks || !to->stacks[to->n].text)
        return error_set(error, -ENOMEM, "out of memory");
    to->stacks[to->n++].weight = *weight;
    return 0;
}

static struct stack_weight *find_weight(struct stack_profile *profile, const char *name, size_t n)
{
    for (size_t i = 0; i < ARRAY_SIZE(weights); i++)
        if (strlen(weights[i].name) == n && !strncmp(weights[i].name, name, n))
            return (void *)((char *)profile + weights[i].offset);
    return NULL;
}

static int parse_line(const char *line, struct stack_profile *to, struct error *error)
{
    const char *space = strchr(line, ' '), *rest = space ? space + 1 : NULL;
    struct stack_weight *named = space ? find_weight(to, line, (size_t)(space - line)) : NULL;
    struct stack_weight weight;

    if (!rest || parse_weight(&rest, &weight) < 0)
        return error_set(error, -EBADMSG, "a line is \"%.40s\"", line);
    if (named && !*rest) {
        *named = weight;
        return 0;
    }
    if (!strncmp(line, "stack ", strlen("stack ")) && *rest == ' ')
        return add_stack(to, &weight, rest + 1, error);
    return error_set(error, -EBADMSG, "a line is \"%.40s\"", line);
}

int stack_text_parse(char *text, struct stack_profile *ret, struct error *error)
{
    CLEANUP(stack_profile_clear) struct stack_profile profile = {0};
    char *rest = text, *line;

    while ((line = strsep(&rest, "\n"))) {
        int r;

        if (rest && !*rest && !strcmp(line, END)) {
            *ret = profile;
            profile = (struct stack_profile){0};
            return 0;
        }
        r = parse_line(line, &profile, error);
        if (r < 0)
            return r;
    }
    return error_set(error, -EBADMSG, "it is incomplete");
}
