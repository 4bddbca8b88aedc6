/* SPDX-License-Identifier: GPL-2.0-or-later */
/* make_page KIND: a page on stdout, of an account as tests/unit/rich.h has them.
 * make_page FILE.json RULES: of this account, with the advice of the rules in that directory. */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/advice/advice.h"
#include "report/html/html.h"
#include "report/json/json.h"
#include "tests/unit/rich.h"

#define NOTES_MAX 16

static struct job_account *large(void)
{
    return rich_large(64, 640, 12);
}

static const struct {
    const char *kind;
    struct job_account *(*make)(void);
} kinds[] = {{"rich", rich_job}, {"large", large}, {"evil", rich_evil}, {"old", rich_old}};

/* Returns the exit status. Takes ownership of the job. */
static int print_page(struct job_account *job, const struct advice_notes *notes)
{
    const struct html_options options = {
        .notes = notes, .version = "0.1.0", .made_ns = UINT64_C(1795173200000000000)};
    char *page = job ? report_html(job, &options) : NULL;
    int status = !page || fputs(page, stdout) < 0;

    job_account_destroy(job);
    free(page);
    return status;
}

static void say(const char *text, void *arg)
{
    (void)arg;
    (void)fprintf(stderr, "%s\n", text);
}

static int print_recorded(const char *path, const char *rules)
{
    struct json_object *document = json_object_from_file(path);
    struct advice *advice = NULL;
    struct advice_notes notes = {0};
    struct job_account *job = NULL;
    struct error error = {"not JSON"};
    int status;

    if (!document || report_json_parse(document, &job, &error) < 0 ||
        advice_create(&advice, &error) < 0 ||
        advice_read_directory(advice, rules, say, NULL, &error) < 0 ||
        advice_give(advice, job, NOTES_MAX, &notes, &error) < 0) {
        (void)fprintf(stderr, "%s: %s\n", path, error.text);
        return 1;
    }
    status = print_page(job, &notes);
    advice_notes_clear(&notes);
    advice_destroy(advice);
    json_object_put(document);
    return status;
}

int main(int argc, char **argv)
{
    if (argc == 3)
        return print_recorded(argv[1], argv[2]);
    for (size_t i = 0; argc == 2 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].kind, argv[1]) == 0)
            return print_page(kinds[i].make(), &rich_notes);
    (void)fputs("usage: make_page rich|large|evil|old\n       make_page FILE.json RULES\n", stderr);
    return 2;
}
