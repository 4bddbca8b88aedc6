/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ClickHouse: rows as JSONEachRow into a table. */
#include <stdio.h>

#include "collector/deliver/kinds.h"
#include "common/cleanup.h"

/* Error codes of ClickHouse (src/Common/ErrorCodes.cpp), which tell more than its status: old
 * releases answer 500 to a row that they cannot read. */
static const struct answer_code by_code[] = {
    {6, 6, ANSWER_REFUSED},         /* CANNOT_PARSE_TEXT */
    {16, 16, ANSWER_MISCONFIGURED}, /* NO_SUCH_COLUMN_IN_TABLE */
    {25, 27, ANSWER_REFUSED},       /* CANNOT_PARSE_..., _QUOTED_STRING, _INPUT_ASSERTION_FAILED */
    {33, 33, ANSWER_REFUSED},       /* CANNOT_READ_ALL_DATA */
    {38, 38, ANSWER_REFUSED},       /* CANNOT_PARSE_DATE */
    {41, 41, ANSWER_REFUSED},       /* CANNOT_PARSE_DATETIME */
    {47, 47, ANSWER_MISCONFIGURED}, /* UNKNOWN_IDENTIFIER */
    {53, 53, ANSWER_REFUSED},       /* TYPE_MISMATCH */
    {60, 60, ANSWER_MISCONFIGURED}, /* UNKNOWN_TABLE */
    {62, 62, ANSWER_MISCONFIGURED}, /* SYNTAX_ERROR: of the name of the table */
    {69, 70, ANSWER_REFUSED},       /* ARGUMENT_OUT_OF_BOUND, CANNOT_CONVERT_TYPE */
    {72, 72, ANSWER_REFUSED},       /* CANNOT_PARSE_NUMBER */
    {73, 73, ANSWER_MISCONFIGURED}, /* UNKNOWN_FORMAT */
    {81, 81, ANSWER_MISCONFIGURED}, /* UNKNOWN_DATABASE */
    {115, 115, ANSWER_MISCONFIGURED}, /* UNKNOWN_SETTING */
    {117, 117, ANSWER_REFUSED},       /* INCORRECT_DATA */
    {130, 131, ANSWER_REFUSED},       /* CANNOT_READ_ARRAY_FROM_TEXT, TOO_LARGE_STRING_SIZE */
    {164, 164, ANSWER_MISCONFIGURED}, /* READONLY */
    {190, 190, ANSWER_REFUSED},       /* SIZES_OF_ARRAYS_DONT_MATCH */
    {192, 195,
     ANSWER_MISCONFIGURED},     /* UNKNOWN_USER, WRONG_PASSWORD, REQUIRED_PASSWORD, IP_ADDRESS... */
    {202, 202, ANSWER_WAIT},    /* TOO_MANY_SIMULTANEOUS_QUERIES */
    {225, 225, ANSWER_WAIT},    /* NO_ZOOKEEPER */
    {242, 243, ANSWER_WAIT},    /* TABLE_IS_READ_ONLY, NOT_ENOUGH_SPACE */
    {252, 252, ANSWER_WAIT},    /* TOO_MANY_PARTS */
    {285, 285, ANSWER_WAIT},    /* TOO_FEW_LIVE_REPLICAS */
    {349, 349, ANSWER_REFUSED}, /* CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN */
    {469, 469, ANSWER_REFUSED}, /* VIOLATED_CONSTRAINT */
    {497, 497, ANSWER_MISCONFIGURED}, /* ACCESS_DENIED */
    {516, 516, ANSWER_MISCONFIGURED}, /* AUTHENTICATION_FAILED */
    {999, 999, ANSWER_WAIT},          /* KEEPER_EXCEPTION */
};

/* "Code: 60, e.displayText() = ..." or, since 20.x, "Code: 60. DB::Exception: ..." */
static long exception_code(const char *text)
{
    long code = 0;

    return sscanf(text, "Code: %ld", &code) == 1 ? code : 0;
}

/* Rows are stored only if ClickHouse itself confirms it: 200, with its header and an empty body. */
static enum answer judge(struct target *target, const struct http_answer *answer, size_t rows,
                         struct answer_verdict *verdicts, char why[ANSWER_WHY_MAX])
{
    enum answer by_http = answer_of_rows_status(answer->code);
    long code = exception_code(answer->text);

    (void)target, (void)rows, (void)verdicts;
    answer_describe(why, answer->code, "", answer->text);
    if (code)
        return answer_of_code(by_code, ARRAY_SIZE(by_code), code,
                              by_http == ANSWER_OK ? ANSWER_RETRY : by_http);
    if (by_http != ANSWER_OK)
        return by_http;
    if (answer->marked && !*answer->text)
        return ANSWER_OK;
    answer_describe(why, answer->code, ", but this is no answer of ClickHouse to an INSERT",
                    answer->text);
    return ANSWER_MISCONFIGURED;
}

static int check(const struct target_options *options, struct error *error)
{
    if (!options->table || !*options->table)
        return error_set(error, -EINVAL, "format clickhouse needs a table");
    return 0;
}

/* Unknown columns are skipped: a newer jobio can write to the table of an older one. */
static void write_url(FILE *out, const struct target_options *options)
{
    (void)fprintf(out,
                  "/?query=INSERT%%20INTO%%20%s%%20FORMAT%%20JSONEachRow"
                  "&input_format_skip_unknown_fields=1",
                  options->table);
    if (options->parameters)
        (void)fprintf(out, "&%s", options->parameters);
}

static int write_step(FILE *out, const struct step_source *step,
                      const struct target_options *options, unsigned *rows, struct error *error)
{
    const struct sink_row_options format = {SINK_CLICKHOUSE, options->table, options->action};

    (void)error;
    return sink_row_write(out, step->job, (uint64_t)step->id, &format, rows);
}

const struct target_kind clickhouse_kind = {
    .name = "clickhouse",
    .method = "POST",
    .headers = (const char *const[]){"Content-Type: text/plain; charset=utf-8",
                                     "Content-Encoding: gzip", NULL},
    .mark = "X-ClickHouse-",
    .compress = true,
    .check = check,
    .write_url = write_url,
    .write_step = write_step,
    .judge = judge,
};
