/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The classes of MPI-IO, of NFS requests and of block requests in rows, both ways. */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "report/rows/rows_impl.h"
#include "common/cleanup.h"
#include "common/tree.h"

/* A number of a class, or its histogram. */
struct class_field {
    const char *name;
    size_t offset; /* in the counter */
    bool is_histogram;
};

/* clang-format off */
#define MPI_NUMBER(member) {#member, offsetof(struct mpi_counter, member), false},
#define MPI_HISTOGRAM(member) {#member, offsetof(struct mpi_counter, member), true}
#define RPC_NUMBER(member) {#member, offsetof(struct rpc_counter, member), false},
#define BLOCK_NUMBER(member) {#member, offsetof(struct block_counter, member), false},
#define BLOCK_HISTOGRAM(member) {#member, offsetof(struct block_counter, member), true}
/* clang-format on */

static const struct class_field mpi_fields[] = {MPI_SUMS(MPI_NUMBER) MPI_HISTOGRAM(size_log2),
                                                MPI_HISTOGRAM(latency_log2)};
static const struct class_field rpc_fields[] = {RPC_SUMS(RPC_NUMBER)};
static const struct class_field block_fields[] = {BLOCK_SUMS(BLOCK_NUMBER)
                                                      BLOCK_HISTOGRAM(latency_log2)};

#define COLUMN_NAME 48

/* What counts classes: its name is the column of their names, and the prefix of the others. */
struct class_kind {
    const char *name;
    const struct class_field *fields;
    size_t n_fields;
};
static const struct class_kind mpi_kind = {"mpi", mpi_fields, ARRAY_SIZE(mpi_fields)};
static const struct class_kind rpc_kind = {"rpc", rpc_fields, ARRAY_SIZE(rpc_fields)};
static const struct class_kind shared_kind = {"rpc_shared", rpc_fields, ARRAY_SIZE(rpc_fields)};
/* Own and shared ones. A name occurs once for each device: another column has these. */
static const struct class_kind block_kinds[] = {
    {"block", block_fields, ARRAY_SIZE(block_fields)},
    {"block_shared", block_fields, ARRAY_SIZE(block_fields)},
};
static const char *const block_devices[] = {"block_device", "block_shared_device"};

static const char *column_name(const struct class_kind *kind, size_t field, char buf[COLUMN_NAME])
{
    (void)snprintf(buf, COLUMN_NAME, "%s_%s", kind->name, kind->fields[field].name);
    return buf;
}

/* --- writing ---------------------------------------------------------------------------------- */

struct named_counter {
    const char *name;
    const void *counter;
};

static struct json_object *field_json(struct tree *tree, const struct class_field *field,
                                      const void *counter)
{
    const uint64_t *numbers = (const void *)((const char *)counter + field->offset);

    return field->is_histogram ? rows_histogram_json(tree, numbers) : rows_number_json(*numbers);
}

/* Arrays of the same length, side by side: mpi, mpi_calls, ... */
static void put_arrays(struct tree *tree, struct json_object *root, const struct class_kind *kind,
                       const struct named_counter *items, size_t n)
{
    struct json_object *names = tree_array(tree);
    char name[COLUMN_NAME];

    for (size_t i = 0; i < n; i++)
        tree_add_text(tree, names, items[i].name);
    tree_put(tree, root, kind->name, names);
    for (size_t k = 0; k < kind->n_fields; k++) {
        struct json_object *array = tree_array(tree);

        for (size_t i = 0; i < n; i++)
            tree_add(tree, array, field_json(tree, &kind->fields[k], items[i].counter));
        tree_put(tree, root, column_name(kind, k, name), array);
    }
}

/* "write_all":{"calls":..}, ... */
static void put_objects(struct tree *tree, struct json_object *to, const struct class_kind *kind,
                        const struct named_counter *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct json_object *one = tree_object(tree);

        for (size_t k = 0; k < kind->n_fields; k++)
            tree_put(tree, one, kind->fields[k].name,
                     field_json(tree, &kind->fields[k], items[i].counter));
        tree_put(tree, to, items[i].name, one);
    }
}

static void put_classes(struct tree *tree, struct json_object *root, enum sink_format format,
                        const struct class_kind *kind, const struct named_counter *items, size_t n)
{
    struct json_object *all;

    if (!n)
        return;
    if (format != SINK_BULK) {
        put_arrays(tree, root, kind, items, n);
        return;
    }
    all = tree_object(tree);
    put_objects(tree, all, kind, items, n);
    tree_put(tree, root, kind->name, all);
}

void rows_put_mpi(struct tree *tree, struct json_object *root, enum sink_format format,
                  const struct mpi_account *account)
{
    struct named_counter items[MPI_CLASS_COUNT];
    size_t n = 0;

    for (int i = 0; account && i < MPI_CLASS_COUNT; i++)
        if (account->classes[i].calls)
            items[n++] = (struct named_counter){mpi_class_name(i), &account->classes[i]};
    put_classes(tree, root, format, &mpi_kind, items, n);
}

static void put_requests(struct tree *tree, struct json_object *root, enum sink_format format,
                         const struct class_kind *kind, const struct rpc_counter *classes)
{
    struct named_counter items[RPC_CLASS_COUNT];
    size_t n = 0;

    for (int i = 0; i < RPC_CLASS_COUNT; i++)
        if (!rpc_counter_is_empty(&classes[i]))
            items[n++] = (struct named_counter){rpc_class_name(i), &classes[i]};
    put_classes(tree, root, format, kind, items, n);
}

void rows_put_rpc(struct tree *tree, struct json_object *root, enum sink_format format,
                  const struct rpc_account *account)
{
    if (!account)
        return;
    put_requests(tree, root, format, &rpc_kind, account->own);
    put_requests(tree, root, format, &shared_kind, account->shared);
}

/* Returns the counters of a device for a kind of block_kinds. */
static const struct block_counter *classes_of(const struct block_device *device, size_t kind)
{
    return kind ? device->shared : device->own;
}

/* The classes of a device that have requests. Returns their number. */
static size_t list_classes(const struct block_counter *classes,
                           struct named_counter items[BLOCK_CLASS_COUNT])
{
    size_t n = 0;

    for (int class = 0; class < BLOCK_CLASS_COUNT; class ++)
        if (classes[class].requests)
            items[n++] = (struct named_counter){block_class_name(class), &classes[class]};
    return n;
}

/* The classes that have requests, device by device. Returns their number. */
static size_t list_blocks(const struct block_account *account, size_t kind,
                          struct named_counter *items, struct json_object *devices,
                          struct tree *tree)
{
    size_t n = 0;

    for (size_t i = 0; i < account->n; i++) {
        size_t end = n + list_classes(classes_of(&account->items[i], kind), &items[n]);

        for (; n < end; n++)
            tree_add_text(tree, devices, account->items[i].name);
    }
    return n;
}

static void put_block_arrays(struct tree *tree, struct json_object *root, size_t kind,
                             const struct block_account *account)
{
    _free_ struct named_counter *items = calloc(account->n * BLOCK_CLASS_COUNT + 1, sizeof(*items));
    struct json_object *devices = tree_array(tree);
    size_t n = items ? list_blocks(account, kind, items, devices, tree) : 0;

    tree->failed |= !items;
    if (n)
        tree_put(tree, root, block_devices[kind], devices);
    else
        json_object_put(devices);
    put_classes(tree, root, SINK_CLICKHOUSE, &block_kinds[kind], items, n);
}

/* [{"device":"sda","read":{"requests":..},..}]. The names of devices are not names of members:
 * Elasticsearch makes a field of each of these, and has a limit of 1,000. */
static void put_block_objects(struct tree *tree, struct json_object *root, size_t kind,
                              const struct block_account *account)
{
    struct json_object *all = tree_array(tree);

    for (size_t i = 0; i < account->n; i++) {
        struct named_counter items[BLOCK_CLASS_COUNT];
        size_t n = list_classes(classes_of(&account->items[i], kind), items);
        struct json_object *device;

        if (!n)
            continue;
        device = tree_object(tree);
        tree_put_text(tree, device, "device", account->items[i].name);
        put_objects(tree, device, &block_kinds[kind], items, n);
        tree_add(tree, all, device);
    }
    tree_put(tree, root, block_kinds[kind].name, all);
}

void rows_put_block(struct tree *tree, struct json_object *root, enum sink_format format,
                    const struct block_account *account)
{
    for (size_t kind = 0; account && account->n && kind < ARRAY_SIZE(block_kinds); kind++) {
        if (format == SINK_BULK)
            put_block_objects(tree, root, kind, account);
        else
            put_block_arrays(tree, root, kind, account);
    }
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Column NAME if it is an array, else NULL. */
static struct json_object *array_of(struct json_object *document, const char *name)
{
    struct json_object *array;

    return json_object_object_get_ex(document, name, &array) &&
                   json_object_is_type(array, json_type_array)
               ? array
               : NULL;
}

/* The counter at index i of the arrays; what is not there is 0. 0 or -EBADMSG. */
static int counter_parse(struct json_object *document, const struct class_kind *kind, size_t i,
                         void *counter)
{
    char name[COLUMN_NAME];
    int r = 0;

    for (size_t k = 0; k < kind->n_fields && r == 0; k++) {
        struct json_object *array = array_of(document, column_name(kind, k, name));
        struct json_object *value = array ? json_object_array_get_idx(array, i) : NULL;
        uint64_t *numbers = (void *)((char *)counter + kind->fields[k].offset);

        if (kind->fields[k].is_histogram)
            r = rows_histogram_parse(value, numbers);
        else
            *numbers = json_object_get_uint64(value);
    }
    return r;
}

/* The text at index i of a column; "" after the last one. */
static const char *text_at(struct json_object *document, const char *column, size_t i)
{
    struct json_object *texts = array_of(document, column);
    const char *text = texts ? json_object_get_string(json_object_array_get_idx(texts, i)) : NULL;

    return text ? text : "";
}

/* The class at index i; "" after the last one. */
static const char *class_at(struct json_object *document, const struct class_kind *kind, size_t i)
{
    return text_at(document, kind->name, i);
}

/* Ignores classes of a newer version. */
int rows_parse_mpi(struct json_object *document, struct mpi_account *account)
{
    const char *name;
    int r = 0;

    for (size_t i = 0; r == 0 && *(name = class_at(document, &mpi_kind, i)); i++) {
        int class = mpi_class_parse(name);

        if (class >= 0)
            r = counter_parse(document, &mpi_kind, i, &account->classes[class]);
    }
    return r;
}

/* Classes of a newer version are added to the others. */
static int parse_requests(struct json_object *document, const struct class_kind *kind,
                          struct rpc_counter *classes)
{
    const char *name;
    int r = 0;

    for (size_t i = 0; r == 0 && *(name = class_at(document, kind, i)); i++) {
        struct rpc_counter counter = {0};
        int class = rpc_class_parse(name);

        r = counter_parse(document, kind, i, &counter);
        rpc_counter_add(&classes[class < 0 ? RPC_OTHER : class], &counter);
    }
    return r;
}

int rows_parse_rpc(struct json_object *document, struct rpc_account *account)
{
    int r = parse_requests(document, &rpc_kind, account->own);

    return r < 0 ? r : parse_requests(document, &shared_kind, account->shared);
}

/* Ignores classes of a newer version. */
static int parse_block(struct json_object *document, size_t kind, struct block_account *account)
{
    const char *name;
    int r = 0;

    for (size_t i = 0; r == 0 && *(name = class_at(document, &block_kinds[kind], i)); i++) {
        struct block_counter counter = {0};
        struct block_device *device;
        int class = block_class_parse(name);

        r = class < 0 ? 0 : counter_parse(document, &block_kinds[kind], i, &counter);
        if (r < 0 || class < 0)
            continue;
        device = block_account_get(account, text_at(document, block_devices[kind], i));
        if (!device)
            return -ENOMEM;
        block_counter_add(kind ? &device->shared[class] : &device->own[class], &counter);
    }
    return r;
}

int rows_parse_block(struct json_object *document, struct block_account *account)
{
    int r = 0;

    for (size_t kind = 0; r == 0 && kind < ARRAY_SIZE(block_kinds); kind++)
        r = parse_block(document, kind, account);
    return r;
}
