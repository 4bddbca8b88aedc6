/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The answer of a language model: refused with a reason, or text that is safe for a terminal. The
 * first line of the input is the HTTP status.
 */
#include "tests/fuzz/fuzz.h"

#include "cli/base/output.h"
#include "cli/explain/llm_impl.h"

#define PART 7 /* bytes that arrive at once */

/* Instead of those in cli/base, which print. The second is for requests only. */
void output_error(const char *format, ...)
{
    (void)format;
}

char *output_json_text(struct json_object *document)
{
    (void)document;
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _free_ char *text = fuzz_string(data, size), *shown = NULL;
    char *body = strchr(text, '\n');
    struct llm_answer answer = {.body.max = LLM_ANSWER_MAX, .code = atol(text)};
    struct error error = {.text = ""};
    size_t left;

    if (!body)
        return 0;
    body++;
    for (left = size - (size_t)(body - text); left; left -= left < PART ? left : PART) {
        size_t n = left < PART ? left : PART;

        CHECK(http_body_append(text + size - left, 1, n, &answer.body) == n);
    }
    if (llm_answer_read(&answer, &shown, &error) < 0)
        CHECK(*error.text && !shown);
    else
        CHECK(answer.code == 200 && fuzz_is_clean(shown, "\n"));
    http_body_clear(&answer.body);
    return 0;
}
