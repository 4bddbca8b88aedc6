/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/peers/wire.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "common/cleanup.h"
#include "common/tree.h"

int wire_new_id(char ret[WIRE_ID_SIZE])
{
    uint64_t number;

    if (getrandom(&number, sizeof(number), 0) != sizeof(number))
        return -errno;
    (void)snprintf(ret, WIRE_ID_SIZE, "%016" PRIx64, number);
    return 0;
}

struct json_object *wire_create(const struct wire_head *head)
{
    struct tree tree = {false}, *t = &tree;
    struct json_object *document = tree_object(t);

    tree_put_u64(t, document, "version", WIRE_VERSION);
    tree_put_text(t, document, "cluster", head->cluster);
    tree_put_text(t, document, "from", head->from);
    tree_put_text(t, document, "to", head->to);
    tree_put_text(t, document, "id", head->id);
    return tree_end(t, document);
}

char *wire_text(struct json_object *document, size_t *size)
{
    char *text = tree_text(document);

    if (text)
        *size = strlen(text);
    return text;
}

const char *wire_string(struct json_object *document, const char *key)
{
    struct json_object *value;

    return json_object_object_get_ex(document, key, &value) &&
                   json_object_is_type(value, json_type_string)
               ? json_object_get_string(value)
               : "";
}

int wire_number(struct json_object *document, const char *key, unsigned long long max,
                unsigned long long *ret, struct error *error)
{
    struct json_object *value;

    if (!json_object_object_get_ex(document, key, &value) ||
        !json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0 ||
        json_object_get_uint64(value) > max)
        return error_set(error, -EBADMSG, "\"%s\" is missing or bad", key);
    *ret = json_object_get_uint64(value);
    return 0;
}

static int check_version(struct json_object *document, struct error *error)
{
    unsigned long long version;
    int r = wire_number(document, "version", UINT32_MAX, &version, error);

    if (r < 0)
        return r;
    if (version != WIRE_VERSION)
        return error_set(error, -EPROTONOSUPPORT,
                         "the jobiod of %.64s speaks version %llu between nodes, this one %d",
                         wire_string(document, "from"), version, WIRE_VERSION);
    return 0;
}

static int check_head(struct json_object *document, const struct wire_head *head,
                      struct error *error)
{
    const struct {
        const char *key, *wanted;
        int code;
    } fields[] = {
        {"cluster", head->cluster, -EXDEV},
        {"to", head->to, -EADDRNOTAVAIL},
        {"from", head->from, -EADDRNOTAVAIL},
        {"id", head->id, -EADDRNOTAVAIL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        const char *found = wire_string(document, fields[i].key);

        if (!fields[i].wanted || strcmp(found, fields[i].wanted) == 0)
            continue;
        if (fields[i].code == -EXDEV)
            return error_set(error, -EXDEV,
                             "it is of cluster \"%.64s\", this node of \"%.64s\": set the same "
                             "`cluster` in jobio.conf on both nodes",
                             found, fields[i].wanted);
        return error_set(error, fields[i].code, "\"%s\" is \"%.64s\", not \"%.64s\"", fields[i].key,
                         found, fields[i].wanted);
    }
    return 0;
}

static struct json_object *parse(const char *payload, size_t size)
{
    struct json_tokener *tokener = json_tokener_new();
    struct json_object *document = NULL;

    if (!tokener)
        return NULL;
    /* Not JSON_TOKENER_STRICT: with it, json-c 0.17 and 0.18 refuse strings that are not ASCII. */
    document = json_tokener_parse_ex(tokener, payload, (int)size);
    if (json_tokener_get_error(tokener) != json_tokener_success ||
        json_tokener_get_parse_end(tokener) != size ||
        !json_object_is_type(document, json_type_object)) {
        json_object_put(document);
        document = NULL;
    }
    json_tokener_free(tokener);
    return document;
}

int wire_parse(const char *payload, size_t size, const struct wire_head *head,
               struct json_object **ret, struct error *error)
{
    struct json_object *document = parse(payload, size);
    int r;

    if (!document)
        return error_set(error, -EBADMSG, "the payload is not a JSON object");
    r = check_version(document, error);
    if (r == 0)
        r = check_head(document, head, error);
    if (r < 0) {
        json_object_put(document);
        return r;
    }
    *ret = document;
    return 0;
}

/* --- steps with MPI-IO ------------------------------------------------------------------------ */

#define PART_NUMBERS 4
/* A node has 1001 rows of a job. */
#define MPI_PARTS_MAX 4096

static int put_number(struct json_object *list, uint32_t number)
{
    struct json_object *item = json_object_new_int64(number);

    if (item && json_object_array_add(list, item) == 0)
        return 0;
    json_object_put(item);
    return -ENOMEM;
}

static int put_part(struct json_object *list, const struct mpi_part *part)
{
    const uint32_t numbers[PART_NUMBERS] = {part->het, part->step, part->counted, part->uncounted};
    int r = 0;

    for (int i = 0; i < PART_NUMBERS && r == 0; i++)
        r = put_number(list, numbers[i]);
    return r;
}

int wire_put_mpi_parts(struct json_object *document, const struct mpi_parts *parts)
{
    struct json_object *list = json_object_new_array();
    int r = list ? 0 : -ENOMEM;

    for (size_t i = 0; i < parts->n && r == 0; i++)
        r = put_part(list, &parts->items[i]);
    if (r == 0 && json_object_object_add(document, "mpi_steps", list) == 0)
        return 0;
    json_object_put(list);
    return -ENOMEM;
}

static int read_part(struct json_object *list, size_t at, struct mpi_part *ret)
{
    uint32_t *const numbers[PART_NUMBERS] = {&ret->het, &ret->step, &ret->counted, &ret->uncounted};

    for (size_t i = 0; i < PART_NUMBERS; i++) {
        struct json_object *item = json_object_array_get_idx(list, at + i);
        int64_t number = json_object_get_int64(item);

        if (!json_object_is_type(item, json_type_int) || number < 0 || number > UINT32_MAX)
            return -EBADMSG;
        *numbers[i] = (uint32_t)number;
    }
    return 0;
}

static int read_parts(struct json_object *list, struct mpi_parts *ret)
{
    size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 1;
    int r = n % PART_NUMBERS || n / PART_NUMBERS > MPI_PARTS_MAX ? -EBADMSG : 0;

    for (size_t at = 0; at < n && r == 0; at += PART_NUMBERS) {
        struct mpi_part part;

        r = read_part(list, at, &part);
        if (r == 0)
            r = mpi_parts_add(ret, &part);
    }
    return r;
}

int wire_read_mpi_parts(struct json_object *document, struct mpi_parts *ret, struct error *error)
{
    struct json_object *list;
    int r;

    if (!json_object_object_get_ex(document, "mpi_steps", &list)) {
        ret->unknown = 1;
        return 0;
    }
    r = read_parts(list, ret);
    return r < 0 ? error_set(error, r, "\"mpi_steps\" is bad") : 0;
}
