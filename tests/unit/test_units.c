/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <stdlib.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/units.h"

struct number {
    uint64_t value;
    const char *text;
};

static void check_numbers(const struct number *cases, size_t n, char *(*format)(uint64_t, char *))
{
    for (size_t i = 0; i < n; i++) {
        char buf[UNITS_SIZE];

        assert_string_equal(format(cases[i].value, buf), cases[i].text);
    }
}

static void test_bytes(void **state)
{
    static const struct number cases[] = {
        {0, "0 B"},
        {999, "999 B"},
        {1023, "1023 B"},
        {1024, "1.0 KiB"},
        {4096, "4.0 KiB"},
        {1024 * 100 - 60, "99.9 KiB"},
        {1024 * 100 - 1, "100 KiB"},
        {1024 * 1023, "1023 KiB"},
        {1024 * 1024 - 513, "1023 KiB"},
        {1024 * 1024 - 512, "1.0 MiB"}, /* never "1024 KiB" */
        {UINT64_C(310) << 30, "310 GiB"},
        {UINT64_C(1319413953331), "1.2 TiB"},
        {UINT64_MAX, "16.0 EiB"},
    };
    char buf[UNITS_SIZE];

    (void)state;
    check_numbers(cases, ARRAY_SIZE(cases), units_bytes);
    assert_string_equal(units_rate(UINT64_C(1288490189), buf), "1.2 GiB/s");
}

static void test_count(void **state)
{
    static const struct number cases[] = {
        {0, "0"},           {9999, "9999"},       {10000, "10.0 k"},      {12345, "12.3 k"},
        {99949, "99.9 k"},  {99950, "100 k"},     {999499, "999 k"},      {999500, "1.0 M"},
        {8400000, "8.4 M"}, {123456789, "123 M"}, {UINT64_MAX, "18.4 E"},
    };

    (void)state;
    check_numbers(cases, ARRAY_SIZE(cases), units_count);
}

static void test_elapsed_and_time(void **state)
{
    static const struct number elapsed[] = {
        {0, "00:00:00"},
        {UINT64_C(7999999999), "00:00:07"},
        {UINT64_C(86399) * 1000000000, "23:59:59"},
        {UINT64_C(93784) * 1000000000, "1-02:03:04"},
        {UINT64_MAX, "213503-23:34:33"},
    };
    static const struct number spans[] = {
        {0, "0 ns"},
        {850, "850 ns"},
        {999, "999 ns"},
        {1000, "1.0 us"},
        {9949, "9.9 us"},
        {9950, "10 us"},
        {12345, "12 us"},
        {999499, "999 us"},
        {999500, "1.0 ms"},
        {3400000, "3.4 ms"},
        {1200000000, "1.2 s"},
        {999999999, "1.0 s"},
        {UINT64_MAX, "18446744074 s"},
    };

    (void)state;
    check_numbers(elapsed, ARRAY_SIZE(elapsed), units_elapsed);
    check_numbers(spans, ARRAY_SIZE(spans), units_time);
}

static void test_short_columns(void **state)
{
    static const struct number bytes[] = {
        {0, "0"},
        {1, "1B"},
        {999, "999B"},
        {1000, "1.0KiB"},
        {1024, "1.0KiB"},
        {10188, "9.9KiB"},
        {10189, "10KiB"},
        {1023487, "999KiB"},
        {1023488, "1.0MiB"},
        {1047552, "1.0MiB"},
        {UINT64_MAX, "16EiB"},
    };
    static const struct number bounds[] = {
        {0, "-"},
        {1, "1B"},
        {512, "512B"},
        {1024, "1KiB"},
        {1 << 19, "512KiB"},
        {1 << 20, "1MiB"},
        {UINT64_MAX, ">1GiB"},
    };
    static const struct number wide[] = {
        {0, "-"}, {1, "1 B"}, {1 << 19, "512 KiB"}, {1 << 20, "1 MiB"}, {UINT64_MAX, "> 1 GiB"}};
    static const struct number counts[] = {
        {0, "0"},         {9999, "9999"},   {10000, "10k"},    {999499, "999k"},
        {999500, "1.0M"}, {9950000, "10M"}, {8400000, "8.4M"}, {UINT64_MAX, "18E"},
    };

    (void)state;
    check_numbers(bytes, ARRAY_SIZE(bytes), units_bytes_short);
    check_numbers(bounds, ARRAY_SIZE(bounds), units_bytes_bound_short);
    check_numbers(wide, ARRAY_SIZE(wide), units_bytes_bound);
    check_numbers(counts, ARRAY_SIZE(counts), units_count_short);
}

static void test_seconds(void **state)
{
    static const struct number cases[] = {
        {0, "0"},
        {1, "0.000000001"},
        {500000000, "0.5"},
        {UINT64_C(10000000000), "10"},
        {UINT64_C(1795168801000000020), "1795168801.00000002"},
        {UINT64_MAX, "18446744073.709551615"},
    };

    (void)state;
    check_numbers(cases, ARRAY_SIZE(cases), units_seconds);
}

static void test_percent(void **state)
{
    static const struct {
        uint64_t part, whole;
        const char *text;
    } cases[] = {
        {0, 0, "0 %"},
        {0, 5, "0 %"},
        {1, 0, "-"},
        {1, 1000000, "< 0.1 %"},
        {1, 1000, "0.1 %"},
        {4, 1000, "0.4 %"},
        {99, 1000, "9.9 %"},
        {37, 100, "37 %"},
        {100, 100, "100 %"},
        {3, 1, "300 %"},
        {UINT64_MAX, 1, "> 1e15 %"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char buf[UNITS_SIZE];

        assert_string_equal(units_percent(cases[i].part, cases[i].whole, buf), cases[i].text);
    }
}

static void test_parse_bytes(void **state)
{
    static const char *const bad[] = {"",    "M",   "-1", "+1", "1.5G",
                                      "1 M", "1MM", "1X", " 1", "0x10"};
    struct error error;
    uint64_t v = 77;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(units_parse_bytes(bad[i], &v, &error), -EINVAL);
    assert_int_equal(units_parse_bytes("18446744073709551616", &v, &error), -ERANGE);
    assert_int_equal(units_parse_bytes("16777216T", &v, &error), -ERANGE);
    assert_string_equal(error.text, "\"16777216T\" is too large");
    assert_int_equal(v, 77);
    assert_int_equal(units_parse_bytes("4096", &v, NULL), 0);
    assert_int_equal(v, 4096);
    assert_int_equal(units_parse_bytes("256M", &v, NULL), 0);
    assert_int_equal(v, 256 << 20);
    assert_int_equal(units_parse_bytes("1g", &v, NULL), 0);
    assert_int_equal(v, 1 << 30);
    assert_int_equal(units_parse_bytes("18446744073709551615", &v, NULL), 0);
    assert_int_equal(v, UINT64_MAX);
}

static void test_parse_span(void **state)
{
    static const struct number good[] = {
        {UINT64_C(10000000000), "10s"},
        {UINT64_C(10000000000), "10"},
        {500000000, "500ms"},
        {UINT64_C(300000000000), "5m"},
        {UINT64_C(7200000000000), "2h"},
        {UINT64_C(7776000000000000), "90d"},
        {0, "0"},
    };
    static const char *const bad[] = {"", "s", "-1s", "1.5h", "1w", "1 s", "1ss", "ms"};
    uint64_t v = 77;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(units_parse_span(bad[i], &v, NULL), -EINVAL);
    assert_int_equal(units_parse_span("999999d", &v, NULL), -ERANGE);
    assert_int_equal(v, 77);
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        assert_int_equal(units_parse_span(good[i].text, &v, NULL), 0);
        assert_int_equal(v, good[i].value);
    }
}

struct when {
    const char *text;
    int64_t seconds;
};

static void check_times(const char *zone, int64_t now, const struct when *cases, size_t n)
{
    setenv("TZ", zone, 1);
    tzset();
    for (size_t i = 0; i < n; i++) {
        int64_t t = -7;
        struct error error;

        if (units_parse_time(cases[i].text, now, &t, &error) < 0)
            fail_msg("%s", error.text);
        if (t != cases[i].seconds)
            fail_msg("%s: %lld, not %lld", cases[i].text, (long long)t,
                     (long long)cases[i].seconds);
    }
}

/* The seconds below are from date(1), e.g. `TZ=Europe/Berlin date -d '2026-11-20 10:00' +%s`. */
static void test_parse_time(void **state)
{
    const int64_t now = 1795168801; /* Fri 2026-11-20 10:00:01 UTC */
    static const struct when utc[] = {
        {"now", 1795168801},
        {"NOW", 1795168801},
        {"now-7days", 1794564001},
        {"now-1day", 1795082401},
        {"now-1week", 1794564001},
        {"now+2hours", 1795176001},
        {"now-90minutes", 1795163401},
        {"now-30", 1795168771},
        {"now-30seconds", 1795168771},
        {"@12", 12},
        {"today", 1795132800},
        {"midnight", 1795132800},
        {"tomorrow", 1795219200},
        {"Noon", 1795176000},
        {"fika", 1795186800},
        {"teatime", 1795190400},
        {"10:00", 1795168800},
        {"10:00:59", 1795168859},
        {"23:59", 1795219140}, /* to come, still today, as sacct has it */
        {"9:05pm", 1795208700},
        {"12:00AM", 1795132800},
        {"12:30pm", 1795177800},
        {"1120", 1795132800},
        {"1231", 1767139200}, /* December has not come yet: 2025 */
        {"112025", 1763596800},
        {"1120-10:00", 1795168800},
        {"11/20", 1795132800},
        {"11/20/25", 1763596800},
        {"11.20.25-01:02:03", 1763600523},
        {"2026-11-20", 1795132800},
        {"2026-11-20T10:00", 1795168800},
        {"2026-11-20t10:00:01", 1795168801},
        {"2024-02-29", 1709164800},
        {"1970-01-01", 0},
        {"2000-12-31T23:59:59", 978307199},
    };

    (void)state;
    check_times("UTC", now, utc, ARRAY_SIZE(utc));
}

static void test_parse_time_around_dst(void **state)
{
    static const struct when spring[] = {
        /* 2026-03-29: 02:00 CET becomes 03:00 CEST. */
        {"2026-03-29T01:59", 1774745940},
        {"2026-03-29T03:00", 1774746000},
        {"today", 1774738800},
        {"noon", 1774778400},
        {"now-1days", 1774692000}, /* 24 hours, not the same time of yesterday */
    };
    static const struct when autumn[] = {
        /* 2026-10-25: 03:00 CEST becomes 02:00 CET. */
        {"2026-10-25T01:59", 1792886340},
        {"2026-10-25T03:00", 1792893600},
        {"midnight", 1792879200},
        {"tomorrow", 1792969200},
    };
    int64_t t;

    (void)state;
    check_times("Europe/Berlin", 1774778400, spring, ARRAY_SIZE(spring));
    /* The hour that is not there: some moment beside the gap. */
    assert_int_equal(units_parse_time("2026-03-29T02:30", 0, &t, NULL), 0);
    assert_true(t == 1774744200 || t == 1774747800);
    check_times("Europe/Berlin", 1792926000, autumn, ARRAY_SIZE(autumn));
    assert_int_equal(units_parse_time("2026-10-25T02:30", 0, &t, NULL), 0);
    assert_true(t == 1792888200 || t == 1792891800);
}

static void test_parse_time_refuses(void **state)
{
    static const char *const bad[] = {
        "",
        " ",
        "yesterdays",
        "now-",
        "now7days",
        "now-7dayz",
        "now--7days",
        "now-7 days",
        "nowish",
        "-1",
        "@",
        "@x",
        "@-1",
        "24:00",
        "10:60",
        "10",
        "10:",
        "10:00:",
        "10:00:60",
        "13:00pm",
        "0:30am",
        "1301",
        "0230",
        "1132",
        "2026-13-01",
        "2026-02-29",
        "2026-02-30T10:00",
        "2026-11-20T",
        "2026-11-20X10:00",
        "2026-11-20T10",
        "1969-12-31",
        "2026-11",
        "2026",
        "11/20/2026",
        "11/20x",
        "11/",
        "/20",
        "99999999999999999999",
        "20261120",
        "today+1",
        "2026-11-20T10:00 ",
        "now-99999999999999999999days",
    };
    struct error error;
    int64_t t = 77;

    (void)state;
    setenv("TZ", "UTC", 1);
    tzset();
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        if (units_parse_time(bad[i], 1795168801, &t, &error) != -EINVAL)
            fail_msg("\"%s\" was taken for %lld", bad[i], (long long)t);
    assert_int_equal(units_parse_time("now+999999999999999999weeks", 1795168801, &t, &error),
                     -ERANGE);
    assert_int_equal(t, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_count),
        cmocka_unit_test(test_elapsed_and_time),
        cmocka_unit_test(test_short_columns),
        cmocka_unit_test(test_seconds),
        cmocka_unit_test(test_percent),
        cmocka_unit_test(test_parse_bytes),
        cmocka_unit_test(test_parse_span),
        cmocka_unit_test(test_parse_time),
        cmocka_unit_test(test_parse_time_around_dst),
        cmocka_unit_test(test_parse_time_refuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
