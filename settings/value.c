/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "settings/value.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/address.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/numbers.h"
#include "common/units.h"

void settings_list_clear(struct settings_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->items[i]);
    free(list->items);
}

static int set_string(char **field, const char *value, struct error *error)
{
    char *copy = strdup(value);

    if (!copy)
        return error_set(error, -ENOMEM, "no memory");
    free(*field);
    *field = copy;
    return 0;
}

int parse_name(const struct key *key, const char *value, void *field, struct error *error)
{
    size_t n = strlen(value);

    if (n < key->min || n > key->max)
        return error_set(error, -EINVAL, "a name has 1 to %llu characters",
                         (unsigned long long)key->max);
    for (const char *c = value; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
            return error_set(error, -EINVAL,
                             "\"%s\": a name is made of letters, digits, '.', '_' and '-'", value);
    return set_string(field, value, error);
}

int parse_path(const struct key *key, const char *value, void *field, struct error *error)
{
    (void)key;
    if (*value != '/')
        return error_set(error, -EINVAL, "\"%s\" is not an absolute path", value);
    return set_string(field, value, error);
}

int parse_text(const struct key *key, const char *value, void *field, struct error *error)
{
    (void)key;
    if (!*value)
        return error_set(error, -EINVAL, "no value");
    return set_string(field, value, error);
}

int parse_item(const struct key *key, const char *value, void *field, struct error *error)
{
    struct settings_list *list = field;
    char **grown;

    (void)key;
    if (!*value)
        return error_set(error, -EINVAL, "no value");
    grown = realloc(list->items, (list->n + 1) * sizeof(*grown));
    if (!grown)
        return error_set(error, -ENOMEM, "no memory");
    list->items = grown;
    grown[list->n] = strdup(value);
    if (!grown[list->n])
        return error_set(error, -ENOMEM, "no memory");
    list->n++;
    return 0;
}

int parse_words(const struct key *key, const char *value, void *field, struct error *error)
{
    _free_ char *copy = strdup(value);
    char *rest = copy, *word;
    int r = 0;

    if (!copy)
        return error_set(error, -ENOMEM, "no memory");
    while (!r && (word = strsep(&rest, " \t,")))
        if (*word)
            r = parse_item(key, word, field, error);
    return r;
}

int parse_listen(const struct key *key, const char *value, void *field, struct error *error)
{
    struct settings_list *list = field;
    size_t n = list->n;
    int r = parse_words(key, value, field, error);

    for (; !r && n < list->n; n++) {
        union address address;
        socklen_t size;

        r = address_parse(list->items[n], &address, &size, error);
    }
    return r;
}

int parse_span(const struct key *key, const char *value, void *field, struct error *error)
{
    uint64_t ns;
    int r = units_parse_span(value, &ns, error);

    if (r < 0)
        return r;
    if (ns < key->min || ns > key->max)
        return error_set(error, -EINVAL, "\"%s\" is not between %g s and %g s", value,
                         (double)key->min / NS_PER_S, (double)key->max / NS_PER_S);
    memcpy(field, &ns, sizeof(ns));
    return 0;
}

int parse_bytes(const struct key *key, const char *value, void *field, struct error *error)
{
    uint64_t bytes;
    int r = units_parse_bytes(value, &bytes, error);

    if (r < 0)
        return r;
    if (bytes && bytes < key->min)
        return error_set(error, -EINVAL, "\"%s\" is less than %llu bytes", value,
                         (unsigned long long)key->min);
    memcpy(field, &bytes, sizeof(bytes));
    return 0;
}

int parse_bool(const struct key *key, const char *value, void *field, struct error *error)
{
    static const char *const words[] = {"no", "yes", "false", "true", "off", "on", "0", "1"};

    (void)key;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (!strcasecmp(value, words[i])) {
            *(bool *)field = i % 2;
            return 0;
        }
    return error_set(error, -EINVAL, "\"%s\" is neither yes nor no", value);
}

int parse_level(const struct key *key, const char *value, void *field, struct error *error)
{
    int level = log_level_parse(value);

    (void)key;
    if (level < 0)
        return error_set(error, -EINVAL, "\"%s\" is none of error, warning, info, debug", value);
    *(enum log_level *)field = (enum log_level)level;
    return 0;
}

int parse_count(const struct key *key, const char *value, void *field, struct error *error)
{
    uint64_t number;

    if (number_parse(value, key->min, key->max, &number) < 0)
        return error_set(error, -EINVAL, "\"%s\" is not a number from %llu to %llu", value,
                         (unsigned long long)key->min, (unsigned long long)key->max);
    memcpy(field, &number, sizeof(number));
    return 0;
}

int parse_batch(const struct key *key, const char *value, void *field, struct error *error)
{
    uint64_t bytes;
    int r = units_parse_bytes(value, &bytes, error);

    if (r < 0)
        return r;
    if (bytes < key->min || bytes > key->max)
        return error_set(error, -EINVAL, "\"%s\" is not between 1K and 64M", value);
    memcpy(field, &bytes, sizeof(bytes));
    return 0;
}

int parse_choice(const char *value, const char *const *words, size_t n, struct error *error)
{
    char list[128] = "";

    for (size_t i = 0; i < n; i++)
        if (!strcmp(value, words[i]))
            return (int)i;
    for (size_t i = 0; i < n; i++)
        (void)snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "",
                       words[i]);
    return error_set(error, -EINVAL, "\"%s\" is none of %s", value, list);
}
