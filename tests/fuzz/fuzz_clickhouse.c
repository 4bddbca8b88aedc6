/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of ClickHouse, one a line: refused with a reason, or jobs that JSON can represent. */
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <json-c/json.h>

#include "cli/source/clickhouse_found.h"
#include "report/json/json.h"

static int check_job(struct found_job *f, void *arg, struct error *error)
{
    _free_ char *text = report_json_text(f->job, REPORT_STEPS | REPORT_TIMELINE);

    (void)arg, (void)error;
    CHECK(text);
    return 0;
}

/* As the command does: a line that is not an object ends the answer. */
static int take_line(struct found_stream *stream, const char *line, struct error *error)
{
    struct json_object *row = json_tokener_parse(line);
    int r =
        json_object_is_type(row, json_type_object) ? found_stream_take(row, stream, error) : -EIO;

    CHECK(r >= 0 || r == -EIO || *error->text);
    json_object_put(row);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _free_ char *text = fuzz_string(data, size);
    CLEANUP(found_stream_clear) struct found_stream stream = {.each = check_job};
    struct error error = {.text = ""};
    char *at = text;
    int r = 0;

    for (char *line; r >= 0 && (line = strsep(&at, "\n"));)
        if (*line)
            r = take_line(&stream, line, &error);
    if (r >= 0 && found_stream_end(&stream, &error) < 0)
        CHECK(*error.text);
    return 0;
}
