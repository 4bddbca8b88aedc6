/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile that was accepted is written and read again without a difference. */
#include "tests/fuzz/fuzz.h"

#include "common/stack_text.h"
#include "common/text_buffer.h"

static char *write_profile(const struct stack_profile *profile)
{
    struct text_buffer text;

    CHECK(text_buffer_open(&text));
    stack_text_write(profile, text.out);
    return text_buffer_take(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _free_ char *text = fuzz_string(data, size), *first = NULL, *second = NULL, *copy = NULL;
    struct stack_profile profile = {0}, again = {0};
    struct error error;

    if (stack_text_parse(text, &profile, &error) < 0)
        return 0;
    first = write_profile(&profile);
    copy = first ? strdup(first) : NULL;
    CHECK(copy && stack_text_parse(copy, &again, &error) == 0);
    second = write_profile(&again);
    CHECK(second && !strcmp(first, second));
    stack_profile_clear(&profile);
    stack_profile_clear(&again);
    return 0;
}
