/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an operator reads about an answer. */
#include "tests/unit/test.h"

#include <string.h>

#include "collector/deliver/answer.h"
#include "common/cleanup.h"

/* "x" times `shift`, then two-byte letters, more than there is room for. */
static void fill(char *text, size_t size, size_t shift)
{
    memset(text, 'x', shift);
    for (size_t i = shift; i + 2 < size; i += 2)
        memcpy(text + i, "\xc3\xa9", 3);
}

/* A long text is cut between two characters. */
static void test_cut(void **state)
{
    static const char *const notes[] = {"", ", a note"};
    char text[400], why[ANSWER_WHY_MAX];

    (void)state;
    for (size_t shift = 0; shift < 2; shift++) {
        fill(text, sizeof(text), shift);
        for (size_t i = 0; i < ARRAY_SIZE(notes); i++) {
            for (long code = 0; code < 1000; code += 500) {
                size_t length;

                answer_describe(why, code, notes[i], text);
                length = strlen(why);
                assert_in_range(length, ANSWER_WHY_MAX - 2, ANSWER_WHY_MAX - 1);
                assert_string_equal(why + length - 2, "\xc3\xa9");
            }
        }
    }
}

static void test_texts(void **state)
{
    char why[ANSWER_WHY_MAX];

    (void)state;
    answer_describe(why, 500, "", "ouch\x1b");
    assert_string_equal(why, "HTTP 500: ouch?");
    answer_describe(why, 500, ", a note", "");
    assert_string_equal(why, "HTTP 500, a note");
    answer_describe(why, 0, ", a note", "timed out");
    assert_string_equal(why, "timed out");
    answer_describe(why, 0, "", "");
    assert_string_equal(why, "no answer");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
