/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/account_text.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/numbers.h"
#include "common/text_buffer.h"
#include "common/tree.h"

const char *io_histogram_text(const uint64_t buckets[IO_BUCKETS], char buf[IO_HISTOGRAM_TEXT])
{
    size_t n = IO_BUCKETS;
    char *p = buf;

    while (n && !buckets[n - 1])
        n--;
    if (!n)
        return NULL;
    for (size_t i = 0; i < n; i++)
        p += sprintf(p, "%c%" PRIu64, i ? ',' : '[', buckets[i]);
    (void)strcpy(p, "]");
    return buf;
}

/* Not parsed with json-c, which is too slow: a job of 1,000 steps has 100,000 histograms. */
int io_histogram_parse(const char *text, uint64_t buckets[IO_BUCKETS])
{
    uint64_t found[IO_BUCKETS] = {0};
    const char *p = text;

    for (size_t i = 0; text; i++) {
        if (i == IO_BUCKETS || *p++ != (i ? ',' : '[') || number_parse_prefix(&p, &found[i]) < 0)
            return -EBADMSG;
        if (!strcmp(p, "]"))
            break;
    }
    memcpy(buckets, found, sizeof(found));
    return 0;
}

int io_errnos_text(const struct io_counter *counter, char **ret)
{
    struct text_buffer text;

    *ret = NULL;
    if (!counter->n_errnos)
        return 0;
    if (!text_buffer_open(&text))
        return -ENOMEM;
    for (size_t i = 0; i < counter->n_errnos; i++)
        fprintf(text.out, "%c\"%d\":%" PRIu64, i ? ',' : '{', counter->errnos[i].code,
                counter->errnos[i].count);
    fputc('}', text.out);
    *ret = text_buffer_take(&text);
    return *ret ? 0 : -ENOMEM;
}

int io_errnos_parse(const char *text, struct io_counter *counter)
{
    const char *p = text;
    int code, used, r;
    uint64_t count;

    for (bool first = true; text; first = false) {
        if (*p != (first ? '{' : ',') ||
            sscanf(p + 1, "\"%d\":%" SCNu64 "%n", &code, &count, &used) != 2)
            return -EBADMSG;
        r = io_counter_errno(counter, code, count);
        if (r < 0)
            return r;
        p += 1 + used;
        if (!strcmp(p, "}"))
            break;
    }
    return 0;
}

static void json_putp(struct json_object **object)
{
    json_object_put(*object);
}
#define _json_ CLEANUP(json_putp)

static struct json_object *make_ops_json(struct tree *t, uint64_t ops)
{
    struct json_object *array = tree_array(t);

    for (unsigned bit = 0; bit < IO_SET_BITS; bit++)
        if (ops & (1ull << bit))
            tree_add_text(t, array, io_bit_name(bit));
    return array;
}

/* Ignores names that only a newer version knows. */
static uint64_t parse_ops_json(struct json_object *array)
{
    uint64_t ops = 0;

    for (size_t i = 0;
         json_object_is_type(array, json_type_array) && i < (size_t)json_object_array_length(array);
         i++) {
        const char *name = json_object_get_string(json_object_array_get_idx(array, i));
        int op = name ? io_bit_parse(name) : -EINVAL;

        if (op >= 0)
            ops |= 1ull << op;
    }
    return ops;
}

static int format_json(const struct tree *t, struct json_object *document, char **ret)
{
    *ret = tree_text(tree_end(t, document));
    return *ret ? 0 : -ENOMEM;
}

int io_ops_text(uint64_t ops, char **ret)
{
    struct tree t = {0};

    *ret = NULL;
    return ops ? format_json(&t, make_ops_json(&t, ops), ret) : 0;
}

int io_ops_parse(const char *text, uint64_t *ret)
{
    _json_ struct json_object *array = text ? json_tokener_parse(text) : NULL;

    if (text && !json_object_is_type(array, json_type_array))
        return -EBADMSG;
    *ret = parse_ops_json(array);
    return 0;
}

/* json-c and SQLite both store signed 64-bit numbers. */
static struct json_object *make_count_json(uint64_t count)
{
    return json_object_new_int64(count > INT64_MAX ? INT64_MAX : (int64_t)count);
}

int completeness_text(const struct completeness *c, char **ret)
{
    struct tree t = {0};
    struct json_object *array;

    *ret = NULL;
    if (!c->n)
        return 0;
    array = tree_array(&t);
    for (size_t i = 0; i < c->n; i++) {
        struct json_object *item = tree_object(&t);

        tree_put_text(&t, item, "cause", c->items[i].cause);
        tree_put(&t, item, "count", make_count_json(c->items[i].count));
        if (c->items[i].ops)
            tree_put(&t, item, "ops", make_ops_json(&t, c->items[i].ops));
        tree_add(&t, array, item);
    }
    return format_json(&t, array, ret);
}

int completeness_parse(const char *text, struct completeness *c)
{
    _json_ struct json_object *array = text ? json_tokener_parse(text) : NULL;

    if (!text)
        return 0;
    if (!json_object_is_type(array, json_type_array))
        return -EBADMSG;
    for (size_t i = 0; i < (size_t)json_object_array_length(array); i++) {
        struct json_object *item = json_object_array_get_idx(array, i), *cause, *count, *ops;
        int r;

        if (!json_object_object_get_ex(item, "cause", &cause) ||
            !json_object_object_get_ex(item, "count", &count) || !json_object_get_string(cause))
            return -EBADMSG;
        if (!json_object_object_get_ex(item, "ops", &ops))
            ops = NULL;
        r = completeness_add(c, json_object_get_string(cause),
                             (uint64_t)json_object_get_int64(count), parse_ops_json(ops));
        if (r < 0)
            return r;
    }
    return 0;
}

#define NOTHING_MISSING "[]"

int mpi_incomplete_text(const struct mpi_account *account, char **ret)
{
    int r = 0;

    *ret = NULL;
    if (!account)
        return 0;
    r = completeness_text(&account->completeness, ret);
    if (r == 0 && !*ret)
        *ret = strdup(NOTHING_MISSING);
    return *ret ? 0 : -ENOMEM;
}

int mpi_incomplete_parse(const char *text, struct mpi_account **ret)
{
    struct mpi_account *account;
    int r;

    if (!text || !*text)
        return 0;
    account = calloc(1, sizeof(*account));
    r = account ? completeness_parse(text, &account->completeness) : -ENOMEM;
    if (r == 0)
        *ret = account;
    else
        mpi_account_destroy(account);
    return r;
}
