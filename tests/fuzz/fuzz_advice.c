/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file with rules of advice: each rule is refused with its line, or can be applied to a job. */
#include "tests/fuzz/fuzz.h"

#include <json-c/json.h>

#include "report/advice/advice.h"
#include "report/json/json.h"

#define NOTES_MAX 5

static const char document[] =
    "{\"version\":1,\"job\":{\"cluster\":\"alpha\",\"jobid\":4711,\"restart\":0,\"uid\":1000,"
    "\"state\":\"ended\",\"start_s\":1795168801,\"end_s\":1795169401},\"complete\":true,"
    "\"nodes\":{\"expected\":2,\"reported\":2},\"elapsed_s\":600,"
    "\"wait\":{\"longest_thread_ns\":300000000000,\"total_ns\":400000000000},"
    "\"mounts\":[{\"mount\":\"/scratch\",\"fstype\":\"nfs4\",\"source\":\"srv:/scratch\",\"ops\":"
    "{\"read\":{\"requests\":100000,\"bytes\":104857600,\"errors\":5,\"errno\":{\"ENOSPC\":5},"
    "\"time_ns\":400000000000,\"max_ns\":10000000000}}}]}";

static const struct job_account *sample(void)
{
    static struct job_account *job;
    struct json_object *parsed;

    if (job)
        return job;
    parsed = json_tokener_parse(document);
    CHECK(report_json_parse(parsed, &job, NULL) == 0);
    json_object_put(parsed);
    return job;
}

static void say(const char *text, void *arg)
{
    CHECK(*text);
    ++*(int *)arg;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file("rules.conf", data, size);
    struct advice_notes notes = {0};
    struct error error = {.text = ""};
    struct advice *advice = NULL;
    int said = 0;

    CHECK(advice_create(&advice, NULL) == 0);
    CHECK(advice_read(advice, path, say, &said, NULL) == said);
    for (size_t i = 0; i < advice_count(advice); i++)
        CHECK(*advice_rule_name(advice, i));
    if (advice_give(advice, sample(), NOTES_MAX, &notes, &error) < 0)
        CHECK(*error.text && !notes.n);
    CHECK(notes.n <= NOTES_MAX);
    for (size_t i = 0; i < notes.n; i++)
        CHECK(fuzz_is_clean(notes.items[i].text, "") && fuzz_is_clean(notes.items[i].link, ""));
    advice_notes_clear(&notes);
    advice_destroy(advice);
    return 0;
}
