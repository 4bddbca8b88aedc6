/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of users: each is refused with a reason or gives a number; cleaned text stays clean. */
#include "tests/fuzz/fuzz.h"

#include <time.h>

#include "common/job.h"
#include "common/units.h"
#include "common/utf8.h"

static void check_time(const char *text)
{
    static const char *const zones[] = {"UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kolkata"};
    const int64_t now = 1795168801;

    for (size_t i = 0; i < ARRAY_SIZE(zones); i++) {
        struct error error = {.text = ""};
        int64_t t = -77;

        setenv("TZ", zones[i], 1);
        tzset();
        if (units_parse_time(text, now, &t, &error) < 0)
            CHECK(t == -77 && *error.text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _free_ char *text = fuzz_string(data, size);
    _free_ char *clean = utf8_sanitize(text), *again = NULL;
    struct error error = {.text = ""};
    uint64_t number = 77;
    uint32_t step = 77;

    check_time(text);
    if (units_parse_bytes(text, &number, &error) < 0)
        CHECK(number == 77 && *error.text);
    number = 77;
    if (units_parse_span(text, &number, &error) < 0)
        CHECK(number == 77 && *error.text);
    if (step_parse(text, &step) < 0)
        CHECK(step == 77);
    CHECK(clean && strlen(clean) <= strlen(text));
    for (const char *p = clean; *p; p++)
        CHECK((unsigned char)*p >= 0x20 && *p != 0x7f);
    again = utf8_sanitize(clean);
    CHECK(again && !strcmp(clean, again));
    return 0;
}
