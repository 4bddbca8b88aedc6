/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* fputs_unlocked */
#include "collector/store/history_json.h"

#include <json-c/json.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

/* One line per field, used for writing and reading. */
enum row_type {
    ROW_TEXT,
    ROW_U32,
    ROW_U64,
    ROW_COUNT, /* like ROW_U64, omitted if 0 */
    ROW_BOOL,
};

struct row_field {
    const char *name;
    enum row_type type;
    size_t offset;
};

static const struct row_field row_fields[] = {
    {"cluster", ROW_TEXT, offsetof(struct history_row, cluster)},
    {"user", ROW_TEXT, offsetof(struct history_row, user)},
    {"account", ROW_TEXT, offsetof(struct history_row, account)},
    {"partition", ROW_TEXT, offsetof(struct history_row, partition)},
    {"name", ROW_TEXT, offsetof(struct history_row, name)},
    {"mount", ROW_TEXT, offsetof(struct history_row, mount)},
    {"day", ROW_TEXT, offsetof(struct history_row, day)},
    {"jobs", ROW_COUNT, offsetof(struct history_row, jobs)},
    {"ended", ROW_BOOL, offsetof(struct history_row, ended)},
    {"complete", ROW_BOOL, offsetof(struct history_row, complete)},
    {"start_ns", ROW_U64, offsetof(struct history_row, start_ns)},
    {"end_ns", ROW_U64, offsetof(struct history_row, end_ns)},
    {"elapsed_ns", ROW_U64, offsetof(struct history_row, elapsed_ns)},
    {"steps", ROW_U32, offsetof(struct history_row, steps)},
    {"errors", ROW_U64, offsetof(struct history_row, errors)},
    {"wait_ns", ROW_U64, offsetof(struct history_row, wait_ns)},
};

/* Omitted for groups. */
static const struct row_field job_fields[] = {
    {"jobid", ROW_U32, offsetof(struct history_row, jobid)},
    {"restart", ROW_U32, offsetof(struct history_row, restart)},
    {"uid", ROW_U32, offsetof(struct history_row, uid)},
    {"longest_wait_ns", ROW_U64, offsetof(struct history_row, longest_wait_ns)},
};

/* Only for a job of which Slurm's state, or exit code, is known. */
static const struct row_field exit_fields[] = {
    {"exit_code", ROW_U32, offsetof(struct history_row, slurm.exit_code)},
    {"exit_signal", ROW_U32, offsetof(struct history_row, slurm.exit_signal)},
};

/* Only for array tasks. */
static const struct row_field array_fields[] = {
    {"array_jobid", ROW_U32, offsetof(struct history_row, array_job)},
    {"array_task", ROW_U32, offsetof(struct history_row, array_task)},
};

static const struct row_field sum_fields[] = {
    {"requests", ROW_U64, offsetof(struct io_sum, requests)},
    {"bytes", ROW_U64, offsetof(struct io_sum, bytes)},
    {"errors", ROW_U64, offsetof(struct io_sum, errors)},
    {"time_ns", ROW_U64, offsetof(struct io_sum, time_ns)},
    {"max_ns", ROW_U64, offsetof(struct io_sum, max_ns)},
};

static const struct row_sum {
    const char *name;
    size_t offset;
} row_sums[] = {
    {"read", offsetof(struct history_row, reads)},
    {"write", offsetof(struct history_row, writes)},
    {"meta", offsetof(struct history_row, meta)},
};

/* --- writing ---------------------------------------------------------------------------------- */

static void write_string(const char *text, FILE *out)
{
    (void)putc_unlocked('"', out);
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p < 0x20)
            (void)fprintf(out, "\\u%04x", *p);
        else if (*p == '"' || *p == '\\')
            (void)fprintf(out, "\\%c", *p);
        else
            (void)putc_unlocked(*p, out);
    }
    (void)putc_unlocked('"', out);
}

static void write_number(uint64_t value, FILE *out)
{
    char buf[24], *p = buf + sizeof(buf);

    do
        *--p = (char)('0' + value % 10);
    while ((value /= 10));
    (void)fwrite_unlocked(p, 1, (size_t)(buf + sizeof(buf) - p), out);
}

static bool is_left_out(const struct row_field *field, const void *p)
{
    return (field->type == ROW_TEXT && !*(const char *const *)p) ||
           (field->type == ROW_COUNT && !*(const uint64_t *)p);
}

static void write_fields(const struct row_field *fields, size_t n, const void *base, bool *first,
                         FILE *out)
{
    for (size_t i = 0; i < n; i++) {
        const char *p = (const char *)base + fields[i].offset;

        if (is_left_out(&fields[i], p))
            continue;
        (void)fputs_unlocked(*first ? "\"" : ",\"", out);
        (void)fputs_unlocked(fields[i].name, out);
        (void)fputs_unlocked("\":", out);
        *first = false;
        switch (fields[i].type) {
        case ROW_TEXT:
            write_string(*(const char *const *)p, out);
            break;
        case ROW_U32:
            write_number(*(const uint32_t *)p, out);
            break;
        case ROW_U64:
        case ROW_COUNT:
            write_number(*(const uint64_t *)p, out);
            break;
        case ROW_BOOL:
            (void)fputs_unlocked(*(const bool *)p ? "true" : "false", out);
            break;
        }
    }
}

void history_row_write(const struct history_row *row, FILE *out)
{
    bool first = true;

    (void)putc_unlocked('{', out);
    write_fields(row_fields, ARRAY_SIZE(row_fields), row, &first, out);
    write_fields(job_fields, row->jobs ? 0 : ARRAY_SIZE(job_fields), row, &first, out);
    write_fields(array_fields, row->array_job ? ARRAY_SIZE(array_fields) : 0, row, &first, out);
    if (row->slurm.state != SLURM_STATE_UNKNOWN)
        (void)fprintf(out, ",\"slurm_state\":\"%s\"", slurm_state_name(row->slurm.state));
    write_fields(exit_fields, row->slurm.has_exit ? ARRAY_SIZE(exit_fields) : 0, row, &first, out);
    for (size_t i = 0; i < ARRAY_SIZE(row_sums); i++) {
        bool begin = true;

        (void)fprintf(out, ",\"%s\":{", row_sums[i].name);
        write_fields(sum_fields, ARRAY_SIZE(sum_fields), (const char *)row + row_sums[i].offset,
                     &begin, out);
        (void)putc_unlocked('}', out);
    }
    (void)putc_unlocked('}', out);
}

/* --- answers ---------------------------------------------------------------------------------- */

struct answer {
    FILE *file;
    uint32_t n, max;
    bool cut;
};

/* Text, because json-c objects take ten times the memory. */
static int add_row(const struct history_row *row, void *arg)
{
    struct answer *answer = arg;

    if (answer->n == answer->max) {
        answer->cut = true;
        return 1;
    }
    if (answer->n++)
        (void)fputc(',', answer->file);
    history_row_write(row, answer->file);
    return ferror(answer->file) ? -ENOMEM : 0;
}

int history_answer(struct store *reader, const struct history_filter *filter, uint32_t max,
                   char **ret, bool *cut, struct error *error)
{
    struct history_filter bounded = *filter;
    struct answer answer = {.max = max};
    _free_ char *text = NULL;
    size_t size = 0;
    int r;

    if (!bounded.limit || bounded.limit > max)
        bounded.limit = max + 1;
    answer.file = open_memstream(&text, &size);
    if (!answer.file)
        return error_set(error, -ENOMEM, "out of memory for the answer");
    (void)fputc('[', answer.file);
    r = store_history(reader, &bounded, add_row, &answer, error);
    (void)fputc(']', answer.file);
    if (fclose(answer.file) != 0 || r == -ENOMEM)
        return error_set(error, -ENOMEM, "out of memory for the answer");
    if (r < 0)
        return r;
    *ret = TAKE_PTR(text);
    *cut = answer.cut;
    return 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

static int field_parse(const struct row_field *field, struct json_object *object, void *base,
                       struct error *error)
{
    static const enum json_type wanted[] = {
        [ROW_TEXT] = json_type_string, [ROW_U32] = json_type_int,      [ROW_U64] = json_type_int,
        [ROW_COUNT] = json_type_int,   [ROW_BOOL] = json_type_boolean,
    };
    char *p = (char *)base + field->offset;
    struct json_object *value;

    if (!json_object_object_get_ex(object, field->name, &value) || !value)
        return 0;
    if (!json_object_is_type(value, wanted[field->type]))
        return error_set(error, -EBADMSG, "history row: \"%s\" has the wrong type", field->name);
    switch (field->type) {
    case ROW_TEXT:
        *(const char **)p = json_object_get_string(value);
        break;
    case ROW_U32:
        *(uint32_t *)p = (uint32_t)json_object_get_uint64(value);
        break;
    case ROW_U64:
    case ROW_COUNT:
        *(uint64_t *)p = json_object_get_uint64(value);
        break;
    case ROW_BOOL:
        *(bool *)p = json_object_get_boolean(value);
        break;
    }
    return 0;
}

static int fields_parse(const struct row_field *fields, size_t n, struct json_object *object,
                        void *base, struct error *error)
{
    for (size_t i = 0; i < n; i++) {
        int rc = field_parse(&fields[i], object, base, error);

        if (rc < 0)
            return rc;
    }
    return 0;
}

static int sum_parse(const struct row_sum *sum, struct json_object *document,
                     struct history_row *row, struct error *error)
{
    struct json_object *value;

    if (!json_object_object_get_ex(document, sum->name, &value) || !value)
        return 0;
    if (!json_object_is_type(value, json_type_object))
        return error_set(error, -EBADMSG, "history row: \"%s\" is not an object", sum->name);
    return fields_parse(sum_fields, ARRAY_SIZE(sum_fields), value, (char *)row + sum->offset,
                        error);
}

static int slurm_parse(struct json_object *document, struct history_row *row, struct error *error)
{
    struct json_object *value;
    int rc = fields_parse(exit_fields, ARRAY_SIZE(exit_fields), document, row, error);

    row->slurm.has_exit = json_object_object_get_ex(document, "exit_code", NULL);
    /* A newer jobiod may know more states. */
    if (json_object_object_get_ex(document, "slurm_state", &value))
        row->slurm.state = slurm_state_parse(json_object_get_string(value));
    return rc;
}

int history_row_parse(struct json_object *row_document, struct history_row *ret,
                      struct error *error)
{
    struct history_row row = {0};
    int rc;

    if (!json_object_is_type(row_document, json_type_object))
        return error_set(error, -EBADMSG, "history row: not an object");
    rc = fields_parse(row_fields, ARRAY_SIZE(row_fields), row_document, &row, error);
    if (rc == 0)
        rc = fields_parse(job_fields, ARRAY_SIZE(job_fields), row_document, &row, error);
    if (rc == 0)
        rc = fields_parse(array_fields, ARRAY_SIZE(array_fields), row_document, &row, error);
    if (rc == 0)
        rc = slurm_parse(row_document, &row, error);
    for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(row_sums); i++)
        rc = sum_parse(&row_sums[i], row_document, &row, error);
    if (rc < 0)
        return rc;
    *ret = row;
    return 0;
}
