/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "cli/base/fields.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/numbers.h"
#include "common/text.h"
#include "common/units.h"
#include "common/utf8.h"
#include "report/layout.h"
#include "report/table.h"

#define WIDTH_MAX 1000
#define LONG_NS (1000 * NS_PER_S) /* longer times are shown in hours */

enum field_kind {
    FIELD_TEXT,    /* const char *, untrusted */
    FIELD_JOB,     /* the job's number, or 12_3 for a task of an array */
    FIELD_NUMBER,  /* uint32_t, an identity: never shortened */
    FIELD_BYTES,   /* uint64_t */
    FIELD_COUNT,   /* uint64_t */
    FIELD_ELAPSED, /* uint64_t ns */
    FIELD_TIME,    /* uint64_t ns of I/O; parsable: seconds */
    FIELD_STAMP,   /* uint64_t ns of real time */
    FIELD_YES,     /* bool */
    FIELD_STATE,   /* bool ended, or how Slurm ended it */
    FIELD_EXIT,    /* struct slurm_end */
    FIELD_WAITING, /* longest_wait_ns of elapsed_ns */
};

struct field {
    const char *name;
    enum field_kind kind;
    size_t offset;
    unsigned width;
    const char *meaning;
};

/* Fields that rows of groups do not have. */
static const char *const jobs_only[] = {"JobID", "JobIDRaw", "Restart", "UID",        "Cluster",
                                        "State", "ExitCode", "Wait",    "LongestWait"};
/* The order in which columns are dropped if the line is too long. */
static const char *const dispensable[] = {"Exact", "Errors", "Meta",     "JobName", "Elapsed",
                                          "User",  "Jobs",   "WaitTime", "Write",   "Read"};

#define ROW(member) offsetof(struct history_row, member)

static const struct field fields[] = {
    {"JobID", FIELD_JOB, 0, 8, "the job's number; of a task of an array 123_4"},
    {"JobIDRaw", FIELD_NUMBER, ROW(jobid), 8, "the job's number, also of a task of an array"},
    {"Restart", FIELD_NUMBER, ROW(restart), 7, "how often it was requeued"},
    {"JobName", FIELD_TEXT, ROW(name), 8, "the job's name"},
    {"User", FIELD_TEXT, ROW(user), 8, "the user's name"},
    {"UID", FIELD_NUMBER, ROW(uid), 8, "the user's number"},
    {"Jobs", FIELD_COUNT, ROW(jobs), 6, "of a group: how many"},
    {"Mount", FIELD_TEXT, ROW(mount), 16, "with --mount: of which mounts the figures are"},
    {"Day", FIELD_TEXT, ROW(day), 10, "of a group by day"},
    {"Account", FIELD_TEXT, ROW(account), 10, "the account it is charged to"},
    {"Partition", FIELD_TEXT, ROW(partition), 10, "the partition"},
    {"Cluster", FIELD_TEXT, ROW(cluster), 10, "the cluster"},
    {"State", FIELD_STATE, ROW(ended), 10,
     "running, or how it ended: COMPLETED, FAILED, ... (ended: not known)"},
    {"ExitCode", FIELD_EXIT, ROW(slurm), 8,
     "exit code and signal, as in sacct; empty if not known"},
    {"Start", FIELD_STAMP, ROW(start_ns), 19, "when its first step began"},
    {"End", FIELD_STAMP, ROW(end_ns), 19, "when it ended"},
    {"Elapsed", FIELD_ELAPSED, ROW(elapsed_ns), 10, "time from start to end"},
    {"Steps", FIELD_NUMBER, ROW(steps), 5, "accounted steps"},
    {"Read", FIELD_BYTES, ROW(reads.bytes), 9, "bytes read"},
    {"ReadReq", FIELD_COUNT, ROW(reads.requests), 8, "read requests"},
    {"ReadErr", FIELD_COUNT, ROW(reads.errors), 8, "failed read calls"},
    {"ReadTime", FIELD_TIME, ROW(reads.time_ns), 8, "time inside read calls, all threads"},
    {"ReadMax", FIELD_TIME, ROW(reads.max_ns), 8, "the longest read call, at least"},
    {"Write", FIELD_BYTES, ROW(writes.bytes), 9, "bytes written"},
    {"WriteReq", FIELD_COUNT, ROW(writes.requests), 8, "write requests"},
    {"WriteErr", FIELD_COUNT, ROW(writes.errors), 8, "failed write calls"},
    {"WriteTime", FIELD_TIME, ROW(writes.time_ns), 9, "time inside write calls, all threads"},
    {"WriteMax", FIELD_TIME, ROW(writes.max_ns), 8, "the longest write call, at least"},
    {"Meta", FIELD_COUNT, ROW(meta.requests), 7, "metadata requests"},
    {"MetaErr", FIELD_COUNT, ROW(meta.errors), 8, "failed metadata calls"},
    {"MetaTime", FIELD_TIME, ROW(meta.time_ns), 8, "time inside metadata calls, all threads"},
    {"MetaMax", FIELD_TIME, ROW(meta.max_ns), 8, "the longest metadata call, at least"},
    {"Errors", FIELD_COUNT, ROW(errors), 8, "failed calls of any kind"},
    {"WaitTime", FIELD_TIME, ROW(wait_ns), 8, "time inside calls, all threads"},
    {"LongestWait", FIELD_TIME, ROW(longest_wait_ns), 11, "wait of the thread that waited longest"},
    {"Wait", FIELD_WAITING, 0, 7, "LongestWait in percent of Elapsed"},
    {"Exact", FIELD_YES, ROW(complete), 5, "no: something is missing, see 'jobio job ID'"},
};

/* --- the list --------------------------------------------------------------------------------- */

static const struct field *field_find(const char *name, size_t length)
{
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        if (strlen(fields[i].name) == length && strncasecmp(fields[i].name, name, length) == 0)
            return &fields[i];
    }
    return NULL;
}

static bool kind_is_left(enum field_kind kind)
{
    return kind == FIELD_TEXT || kind == FIELD_STATE || kind == FIELD_STAMP || kind == FIELD_YES;
}

/* The text after '%'. */
static int width_parse(const char *text, struct column *column)
{
    uint64_t width;

    if (*text == '-') {
        column->left = true;
        text++;
    }
    if (number_parse(text, 1, WIDTH_MAX, &width) < 0)
        return -EINVAL;
    column->width = (unsigned)width;
    return 0;
}

static bool is_among(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static int column_unknown(const char *word, size_t length, struct error *error)
{
    struct text_nearest nearest = {.word = word, .n = length};
    char hint[TEXT_HINT_SIZE];

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        text_nearest_try(&nearest, fields[i].name);
    return error_set(error, -EINVAL,
                     "unknown column \"%.*s\"%s ('jobio history --helpformat' lists all columns)",
                     (int)length, word, text_nearest_hint(&nearest, hint));
}

static int column_parse(char *word, bool groups, struct column *ret, struct error *error)
{
    size_t length = strcspn(word, "%");
    const struct field *field = field_find(word, length);

    if (!field)
        return column_unknown(word, length, error);
    if (groups && is_among(field->name, jobs_only, ARRAY_SIZE(jobs_only)))
        return error_set(error, -EINVAL, "rows of groups have no column %s", field->name);
    *ret = (struct column){field, field->width, kind_is_left(field->kind)};
    if (word[length] && width_parse(word + length + 1, ret) < 0)
        return error_set(error, -EINVAL, "\"%s\": %% must be followed by a width from 1 to 1000",
                         word);
    return 0;
}

int columns_parse(const char *list, bool groups, struct columns *ret, struct error *error)
{
    _free_ char *copy = strdup(list);
    struct columns columns = {.n = 0};
    char *save = NULL;

    if (!copy)
        return error_errno(error, -ENOMEM, "parse the columns");
    for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
        int rc;

        if (columns.n == FIELDS_MAX)
            return error_set(error, -EINVAL, "more than %d columns", FIELDS_MAX);
        rc = column_parse(word, groups, &columns.items[columns.n], error);
        if (rc < 0)
            return rc;
        columns.n++;
    }
    if (columns.n == 0)
        return error_set(error, -EINVAL, "no fields are given");
    *ret = columns;
    return 0;
}

void columns_all(bool groups, struct columns *ret)
{
    *ret = (struct columns){.n = 0};
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (!groups || !is_among(fields[i].name, jobs_only, ARRAY_SIZE(jobs_only)))
            ret->items[ret->n++] =
                (struct column){&fields[i], fields[i].width, kind_is_left(fields[i].kind)};
}

static unsigned line_width(const struct columns *columns)
{
    unsigned width = 0;

    for (size_t i = 0; i < columns->n; i++)
        width += columns->items[i].width + (i > 0);
    return width;
}

static void drop(struct columns *columns, const char *name)
{
    size_t kept = 0;

    for (size_t i = 0; i < columns->n; i++) {
        if (i == 0 || strcmp(columns->items[i].field->name, name) != 0)
            columns->items[kept++] = columns->items[i];
        else if (strcmp(name, "Exact") == 0)
            columns->dropped = true;
    }
    if (kept)
        columns->n = kept;
}

void columns_fit(struct columns *columns, unsigned bound, const char *kept)
{
    for (size_t i = 0; i < ARRAY_SIZE(dispensable) && line_width(columns) > bound; i++)
        if (!kept || strcmp(dispensable[i], kept) != 0)
            drop(columns, dispensable[i]);
    columns->bound = bound;
}

void fields_list(FILE *out)
{
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        (void)fprintf(out, "%-12s %s\n", fields[i].name, fields[i].meaning);
}

/* --- one value -------------------------------------------------------------------------------- */

static char *text_value(const char *text, enum table_form form)
{
    char *safe = utf8_sanitize(text ? text : "");

    /* A name must not contain the separator. */
    for (char *p = safe; form != TABLE_ALIGNED && form != TABLE_CSV && p && *p; p++) {
        if (*p == '|')
            *p = '?';
    }
    return safe;
}

static char *stamp_value(uint64_t ns)
{
    time_t seconds = (time_t)(ns / NS_PER_S);
    struct tm tm;
    char buf[32];

    if (ns == 0 || !localtime_r(&seconds, &tm) || !strftime(buf, sizeof(buf), "%FT%T", &tm))
        return strdup("Unknown");
    return strdup(buf);
}

static char *job_value(const struct history_row *row)
{
    return row->array_job ? text_format("%u_%u", row->array_job, row->array_task)
                          : text_format("%u", row->jobid);
}

/* A step may outlast its job: the share of the run time is not above 100 %. */
static uint64_t waited(const struct history_row *row)
{
    return row->longest_wait_ns < row->elapsed_ns ? row->longest_wait_ns : row->elapsed_ns;
}

/* Numbers for programs. */
static char *exact_value(const struct field *field, uint64_t value, const struct history_row *row)
{
    switch (field->kind) {
    case FIELD_TIME:
        return text_format("%" PRIu64 ".%09" PRIu64, value / NS_PER_S, value % NS_PER_S);
    case FIELD_WAITING:
        return text_format(
            "%.2f", row->elapsed_ns ? 100.0 * (double)waited(row) / (double)row->elapsed_ns : 0.0);
    default:
        return text_format("%" PRIu64, value);
    }
}

/* Numbers for people. */
static char *short_value(const struct field *field, uint64_t value, const struct history_row *row)
{
    char buf[UNITS_SIZE];

    switch (field->kind) {
    case FIELD_BYTES:
        return strdup(units_bytes(value, buf));
    case FIELD_COUNT:
        return strdup(units_count(value, buf));
    case FIELD_TIME:
        return strdup(value < LONG_NS ? units_time(value, buf) : units_elapsed(value, buf));
    default:
        return strdup(units_percent(waited(row), row->elapsed_ns, buf));
    }
}

/* Something is missing and no call is known: the numbers are unknown, not 0. A job of which nothing
 * was counted is such a row. */
static bool is_unknown(const struct history_row *row)
{
    return !row->complete && !row->reads.requests && !row->writes.requests && !row->meta.requests &&
           !row->wait_ns;
}

static bool is_counted_number(enum field_kind kind)
{
    return kind == FIELD_BYTES || kind == FIELD_COUNT || kind == FIELD_TIME ||
           kind == FIELD_WAITING;
}

static const char *state_text(const struct history_row *row)
{
    if (row->slurm.state != SLURM_STATE_UNKNOWN)
        return slurm_state_name(row->slurm.state);
    return row->ended ? "ended" : "running";
}

static char *field_value(const struct field *field, const struct history_row *row,
                         enum table_form form)
{
    const char *p = (const char *)row + field->offset;
    char buf[UNITS_SIZE], exit_code[SLURM_EXIT_SIZE];
    uint64_t value = 0;

    if (form == TABLE_ALIGNED && is_counted_number(field->kind) && is_unknown(row) &&
        field->offset != ROW(jobs))
        return strdup("-");
    switch (field->kind) {
    case FIELD_TEXT:
        return text_value(*(const char *const *)p, form);
    case FIELD_JOB:
        return job_value(row);
    case FIELD_STATE:
        return strdup(state_text(row));
    case FIELD_EXIT:
        return strdup(slurm_exit_format((const struct slurm_end *)p, exit_code));
    case FIELD_YES:
        return strdup(*(const bool *)p ? "yes" : "no");
    case FIELD_NUMBER:
        return exact_value(field, *(const uint32_t *)p, row);
    case FIELD_STAMP:
        return stamp_value(*(const uint64_t *)p);
    case FIELD_ELAPSED:
        return strdup(units_elapsed(*(const uint64_t *)p, buf));
    case FIELD_WAITING:
        break;
    default:
        value = *(const uint64_t *)p;
    }
    return form != TABLE_ALIGNED ? exact_value(field, value, row) : short_value(field, value, row);
}

/* --- the table -------------------------------------------------------------------------------- */

/* Cut to `width` columns of a terminal, the last a '+', as sacct does. */
static void text_cut(char *text, unsigned width)
{
    size_t n = strlen(text);

    if (layout_width(text) <= width)
        return;
    while (n && layout_width(text) >= width) {
        do
            n--;
        while (n && ((unsigned char)text[n] & 0xc0) == 0x80);
        text[n] = '\0';
    }
    text[n] = '+';
    text[n + 1] = '\0';
}

static struct table aligned_table(const struct columns *columns, FILE *out)
{
    struct table_column cells[FIELDS_MAX];
    struct table table;

    for (size_t i = 0; i < columns->n; i++)
        cells[i] = (struct table_column){.title = columns->items[i].field->name,
                                         .width = columns->items[i].width,
                                         .left = columns->items[i].left};
    table = table_make(out, cells, columns->n, SIZE_MAX);
    table.gap = 1;
    table.wrap = columns->bound;
    return table;
}

int csv_text(FILE *out, const char *text)
{
    _free_ char *safe = utf8_sanitize(text ? text : "");
    bool formula;

    if (!safe)
        return -ENOMEM;
    formula = *safe && strchr("=+-@", *safe);
    if (!formula && !strpbrk(safe, "\",\r\n")) {
        (void)fputs(safe, out);
        return 0;
    }
    (void)fputs(formula ? "\"'" : "\"", out);
    for (const char *p = safe; *p; p++) {
        if (*p == '"')
            (void)fputc('"', out);
        (void)fputc(*p, out);
    }
    (void)fputc('"', out);
    return 0;
}

static int print_value(const struct columns *columns, size_t i, const char *text,
                       enum table_form form, FILE *out)
{
    bool last = i + 1 == columns->n;

    if (form != TABLE_CSV) {
        (void)fprintf(out, "%s%s", text, !last ? "|" : form == TABLE_BARS ? "|\n" : "\n");
        return 0;
    }
    if (csv_text(out, text) < 0)
        return -ENOMEM;
    (void)fputs(last ? "\r\n" : ",", out);
    return 0;
}

static void aligned_header(const struct columns *columns, FILE *out)
{
    struct table table = aligned_table(columns, out);
    char text[1001];

    for (size_t i = 0; i < columns->n; i++) {
        (void)snprintf(text, sizeof(text), "%s", columns->items[i].field->name);
        text_cut(text, columns->items[i].width);
        table_cell(&table, text);
    }
    table_end(&table);
    for (size_t i = 0; i < columns->n; i++) {
        memset(text, '-', columns->items[i].width);
        text[columns->items[i].width] = '\0';
        table_cell(&table, text);
    }
    table_end(&table);
}

void columns_header(const struct columns *columns, enum table_form form, FILE *out)
{
    if (form == TABLE_ALIGNED)
        aligned_header(columns, out);
    else
        for (size_t i = 0; i < columns->n; i++)
            (void)print_value(columns, i, columns->items[i].field->name, form, out);
}

int columns_row(const struct columns *columns, const struct history_row *row, enum table_form form,
                FILE *out)
{
    struct table table = aligned_table(columns, out);

    for (size_t i = 0; i < columns->n; i++) {
        const struct column *column = &columns->items[i];
        _free_ char *text = field_value(column->field, row, form);

        if (!text)
            return -ENOMEM;
        if (form != TABLE_ALIGNED) {
            if (print_value(columns, i, text, form, out) < 0)
                return -ENOMEM;
            continue;
        }
        if (column->field->kind == FIELD_TEXT || column->field->kind == FIELD_STATE)
            text_cut(text, column->width);
        table_cell(&table, text);
    }
    if (form == TABLE_ALIGNED)
        table_end(&table);
    return 0;
}
