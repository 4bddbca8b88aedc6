/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A document from anywhere is refused or becomes an account that all reports can show: JSON comes
 * back the same, the short summary keeps to its 12 lines of 80 columns, the record to its size, and
 * the page to its own elements.
 */
#include "tests/fuzz/fuzz.h"

#include <json-c/json.h>

#include "report/html/html.h"
#include "report/json/json.h"
#include "report/layout.h"
#include "report/prometheus/prometheus.h"
#include "report/record/record.h"
#include "report/text/mpi.h"
#include "report/text/text.h"

DEFINE_CLEANUP(struct job_account, job_account_destroy)
#define _job_ CLEANUP(job_account_destroyp) struct job_account

static struct job_account *parse(const char *text, size_t size)
{
    struct json_tokener *tokener = json_tokener_new();
    struct json_object *document = json_tokener_parse_ex(tokener, text, (int)size);
    struct job_account *job = NULL;
    struct error error = {.text = ""};

    if (document && report_json_parse(document, &job, &error) < 0)
        CHECK(*error.text && !job);
    json_object_put(document);
    json_tokener_free(tokener);
    return job;
}

/* Returns the number of lines. */
static unsigned check_lines(char *text)
{
    unsigned lines = 0;

    CHECK(text);
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1, lines++) {
        *end = '\0';
        CHECK(layout_width(line) <= 80);
        for (const char *p = line; *p; p++)
            CHECK((unsigned char)*p >= 0x20 && *p != 0x7f);
    }
    return lines;
}

static void check_text(const struct job_account *job, enum summary summary)
{
    _free_ char *text = report_text(job, summary, NULL);
    unsigned lines = check_lines(text);

    CHECK(summary != SUMMARY_SHORT || lines <= 12);
}

static void check_mpi(const struct job_account *job)
{
    _free_ char *text = report_mpi_text(job, 0);

    (void)check_lines(text);
}

/* No text gets out of where it is shown. */
static void check_page(const struct job_account *job)
{
    const struct html_options options = {.version = "1"};
    _free_ char *page = report_html(job, &options);
    int depth = 0;

    CHECK(page && strlen(page) < 8000000);
    for (const char *p = strstr(page, "</style>"); *p; p++) {
        CHECK((unsigned char)*p >= 0x20 || *p == '\n');
        depth += *p == '<' ? 1 : *p == '>' ? -1 : 0;
        CHECK(depth == 0 || depth == 1);
        CHECK(strncmp(p, "<script", 7) != 0);
    }
    CHECK(depth == 0);
}

static void check_reports(const struct job_account *job)
{
    const struct job_account *jobs[] = {job};
    const struct prometheus_node node = {.cluster = "c",
                                         .instance = "i",
                                         .totals = &job->mounts,
                                         .jobs = jobs,
                                         .n_jobs = 1,
                                         .users = true};
    _free_ char *record = report_record(job, true), *metrics = report_prometheus(&node);

    CHECK(record && strlen(record) <= RECORD_MAX);
    CHECK(metrics && metrics[strlen(metrics) - 1] == '\n');
    check_text(job, SUMMARY_SHORT);
    check_text(job, SUMMARY_FULL);
    check_mpi(job);
    check_page(job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _job_ *job = parse((const char *)data, size), *again = NULL;
    _free_ char *first = NULL, *second = NULL;

    if (!job)
        return 0;
    first = report_json_text(job, REPORT_STEPS | REPORT_TIMELINE);
    CHECK(first);
    again = parse(first, strlen(first));
    CHECK(again);
    second = report_json_text(again, REPORT_STEPS | REPORT_TIMELINE);
    CHECK(second && !strcmp(first, second));
    check_reports(job);
    return 0;
}
