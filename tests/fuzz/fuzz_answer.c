/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The answer of a server to a delivery. The first line of the input is "KIND STATUS ROWS" with
 * KIND b (_bulk), c (ClickHouse) or p (Pushgateway); the rest is the body.
 */
#include "tests/fuzz/fuzz.h"

#include "collector/deliver/kinds.h"

#define ROWS_MAX 8

static const struct target_kind *kind_of(char c)
{
    return c == 'b' ? &bulk_kind : c == 'c' ? &clickhouse_kind : &pushgateway_kind;
}

static void check_verdict(const struct answer_verdict *verdict)
{
    CHECK(verdict->answer != ANSWER_PARTLY && verdict->answer != ANSWER_TOO_LONG &&
          verdict->answer != ANSWER_PENDING);
    CHECK(memchr(verdict->why, '\0', sizeof(verdict->why)) && fuzz_is_clean(verdict->why, ""));
    CHECK(verdict->answer == ANSWER_OK || *verdict->why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _free_ char *text = fuzz_string(data, size);
    struct answer_verdict verdicts[ROWS_MAX] = {0}, all = {.why = "x"};
    struct http_answer answer = {0};
    char *body = strchr(text, '\n');
    unsigned rows = 0;
    char letter = 0;

    if (!body || sscanf(text, "%c %3ld %1u", &letter, &answer.code, &rows) != 3 ||
        answer.code < 100 || rows < 1 || rows > ROWS_MAX)
        return 0;
    answer.body = *++body ? body : NULL;
    answer.size = strlen(body);
    answer.marked = true;
    (void)snprintf(answer.text, sizeof(answer.text), "%s", body);
    all.answer = kind_of(letter)->judge(NULL, &answer, rows, verdicts, all.why);
    if (all.answer != ANSWER_PARTLY)
        check_verdict(&all);
    else
        for (unsigned i = 0; i < rows; i++)
            check_verdict(&verdicts[i]);
    CHECK(answer.code / 100 == 2 || (all.answer != ANSWER_OK && all.answer != ANSWER_PARTLY) ||
          letter == 'c');
    return 0;
}
