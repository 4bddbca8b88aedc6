/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/deliver/answer.h"

#include <stdio.h>

#include "common/cleanup.h"
#include "common/utf8.h"

enum answer answer_of_code(const struct answer_code *table, size_t n, long code,
                           enum answer otherwise)
{
    for (size_t i = 0; i < n; i++)
        if (code >= table[i].first && code <= table[i].last)
            return table[i].answer;
    return otherwise;
}

enum answer answer_of_rows_status(long status)
{
    static const struct answer_code table[] = {
        {200, 200, ANSWER_OK},
        {201, 399, ANSWER_MISCONFIGURED}, /* none of them stores rows */
        {400, 400, ANSWER_REFUSED},
        {408, 408, ANSWER_RETRY},
        {413, 413, ANSWER_REFUSED},
        {422, 422, ANSWER_REFUSED},
        {425, 425, ANSWER_WAIT},
        {429, 429, ANSWER_WAIT},
        {401, 499, ANSWER_MISCONFIGURED},
    };

    return answer_of_code(table, ARRAY_SIZE(table), status, ANSWER_RETRY);
}

enum answer answer_of_silence(const struct http_answer *answer)
{
    return answer->too_long        ? ANSWER_TOO_LONG
           : answer->misconfigured ? ANSWER_MISCONFIGURED
                                   : ANSWER_RETRY;
}

void answer_describe(char why[ANSWER_WHY_MAX], long code, const char *note, const char *text)
{
    _free_ char *safe = utf8_sanitize(text);
    const char *quoted = safe ? safe : "";
    size_t n = 0;

    if (code)
        n = (size_t)snprintf(why, ANSWER_WHY_MAX, "HTTP %ld%s%s", code, note, *quoted ? ": " : "");
    else if (!*quoted)
        quoted = "no answer";
    if (n < ANSWER_WHY_MAX)
        (void)snprintf(why + n, ANSWER_WHY_MAX - n, "%.*s",
                       utf8_fit(quoted, ANSWER_WHY_MAX - 1 - n), quoted);
}
