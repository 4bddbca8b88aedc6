/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/units.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/numbers.h"

#define DIGITS "0123456789"

/* Write value/unit, rounded, with one decimal if it is below `decimals`. Returns false if the
 * rounded number reaches `limit`: the caller then tries the next unit. */
static bool format_scaled(uint64_t value, uint64_t unit, unsigned decimals, unsigned limit,
                          const char *suffix, char buf[UNITS_SIZE])
{
    /* Quotient and remainder separately: ten times the value may overflow. */
    uint64_t whole = value / unit, rest = value % unit;
    uint64_t tenths = whole * 10 + (uint64_t)(((unsigned __int128)rest * 10 + unit / 2) / unit);

    if (unit > 1 && tenths < (uint64_t)decimals * 10) {
        snprintf(buf, UNITS_SIZE, "%u.%u%s", (unsigned)(tenths / 10), (unsigned)(tenths % 10),
                 suffix);
        return true;
    }
    whole += rest >= unit - rest;
    snprintf(buf, UNITS_SIZE, "%llu%s", (unsigned long long)whole, suffix);
    return !limit || whole < limit;
}

char *units_bytes(uint64_t bytes, char buf[UNITS_SIZE])
{
    static const char *const suffixes[] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
    size_t i = 0;

    while (!format_scaled(bytes, UINT64_C(1) << (10 * i), 100, 1024, suffixes[i], buf))
        i++;
    return buf;
}

char *units_rate(uint64_t bytes_per_s, char buf[UNITS_SIZE])
{
    return strcat(units_bytes(bytes_per_s, buf), "/s");
}

char *units_count(uint64_t count, char buf[UNITS_SIZE])
{
    static const char *const suffixes[] = {" k", " M", " G", " T", " P", " E"};
    uint64_t unit = 1000;

    if (count < 10000) {
        snprintf(buf, UNITS_SIZE, "%u", (unsigned)count);
        return buf;
    }
    for (size_t i = 0; !format_scaled(count, unit, 100, 1000, suffixes[i], buf); i++)
        unit *= 1000;
    return buf;
}

char *units_bytes_short(uint64_t bytes, char buf[UNITS_SIZE])
{
    static const char *const suffixes[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t i = 0;

    if (!bytes)
        return strcpy(buf, "0");
    while (!format_scaled(bytes, UINT64_C(1) << (10 * i), 10, 1000, suffixes[i], buf))
        i++;
    return buf;
}

/* A power of two has no decimals in its unit. */
static char *remove_zero_decimal(char *text)
{
    char *point = strstr(text, ".0");

    if (point)
        memmove(point, point + 2, strlen(point + 2) + 1);
    return text;
}

char *units_bytes_bound(uint64_t bound, char buf[UNITS_SIZE])
{
    if (!bound || bound == UINT64_MAX)
        return strcpy(buf, bound ? "> 1 GiB" : "-");
    return remove_zero_decimal(units_bytes(bound, buf));
}

char *units_bytes_bound_short(uint64_t bound, char buf[UNITS_SIZE])
{
    if (!bound || bound == UINT64_MAX)
        return strcpy(buf, bound ? ">1GiB" : "-");
    return remove_zero_decimal(units_bytes_short(bound, buf));
}

char *units_count_short(uint64_t count, char buf[UNITS_SIZE])
{
    static const char *const suffixes[] = {"k", "M", "G", "T", "P", "E"};
    uint64_t unit = 1000;

    if (count < 10000) {
        snprintf(buf, UNITS_SIZE, "%u", (unsigned)count);
        return buf;
    }
    for (size_t i = 0; !format_scaled(count, unit, 10, 1000, suffixes[i], buf); i++)
        unit *= 1000;
    return buf;
}

char *units_elapsed(uint64_t ns, char buf[UNITS_SIZE])
{
    uint64_t s = ns / NS_PER_S;
    unsigned days = (unsigned)(s / 86400), in_day = (unsigned)(s % 86400);
    unsigned h = in_day / 3600, m = in_day / 60 % 60;

    if (days)
        snprintf(buf, UNITS_SIZE, "%u-%02u:%02u:%02u", days, h, m, in_day % 60);
    else
        snprintf(buf, UNITS_SIZE, "%02u:%02u:%02u", h, m, in_day % 60);
    return buf;
}

char *units_time(uint64_t ns, char buf[UNITS_SIZE])
{
    static const char *const suffixes[] = {" ns", " us", " ms"};
    uint64_t unit = 1;

    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++, unit *= 1000)
        if (format_scaled(ns, unit, 10, 1000, suffixes[i], buf))
            return buf;
    (void)format_scaled(ns, NS_PER_S, 10, 0, " s", buf);
    return buf;
}

char *units_seconds(uint64_t ns, char buf[UNITS_SIZE])
{
    int n = snprintf(buf, UNITS_SIZE, "%llu.%09u", (unsigned long long)(ns / NS_PER_S),
                     (unsigned)(ns % NS_PER_S));

    while (buf[n - 1] == '0')
        n--;
    if (buf[n - 1] == '.')
        n--;
    buf[n] = '\0';
    return buf;
}

char *units_percent(uint64_t part, uint64_t total, char buf[UNITS_SIZE])
{
    double percent = total ? 100.0 * (double)part / (double)total : 0;

    if (!part)
        strcpy(buf, "0 %");
    else if (!total)
        strcpy(buf, "-");
    else if (percent < 0.1)
        strcpy(buf, "< 0.1 %");
    else if (percent < 9.95)
        snprintf(buf, UNITS_SIZE, "%.1f %%", percent);
    else if (percent < 1e15)
        snprintf(buf, UNITS_SIZE, "%.0f %%", percent);
    else
        strcpy(buf, "> 1e15 %");
    return buf;
}

/* As number_parse_prefix(); -ERANGE for more than `max_digits` digits, too. */
static int parse_digits(const char **p, size_t max_digits, uint64_t *ret)
{
    if (strspn(*p, DIGITS) > max_digits)
        return -ERANGE;
    return number_parse_prefix(p, ret);
}

struct suffix {
    const char *name;
    uint64_t factor;
};

/* A number and one of the suffixes (case ignored), to the end of the text. */
static int parse_suffixed(const char *text, const struct suffix *suffixes, const char *what,
                          uint64_t *ret, struct error *error)
{
    const char *p = text;
    uint64_t value;
    int r = number_parse_prefix(&p, &value);

    if (r == -ERANGE)
        return error_set(error, r, "\"%.60s\" is too large", text);
    for (const struct suffix *s = suffixes; r == 0 && s->name; s++) {
        if (strcasecmp(p, s->name))
            continue;
        if (__builtin_mul_overflow(value, s->factor, &value))
            return error_set(error, -ERANGE, "\"%.60s\" is too large", text);
        *ret = value;
        return 0;
    }
    return error_set(error, -EINVAL, "\"%.60s\" is not %s", text, what);
}

int units_parse_bytes(const char *text, uint64_t *ret, struct error *error)
{
    static const struct suffix suffixes[] = {{"", 1},
                                             {"K", UINT64_C(1) << 10},
                                             {"M", UINT64_C(1) << 20},
                                             {"G", UINT64_C(1) << 30},
                                             {"T", UINT64_C(1) << 40},
                                             {NULL, 0}};

    return parse_suffixed(text, suffixes, "a size (a number, optionally with K, M, G or T)", ret,
                          error);
}

int units_parse_span(const char *text, uint64_t *ret, struct error *error)
{
    static const struct suffix suffixes[] = {
        {"", NS_PER_S},     {"ms", NS_PER_MS}, {"s", NS_PER_S}, {"m", NS_PER_MINUTE},
        {"h", NS_PER_HOUR}, {"d", NS_PER_DAY}, {NULL, 0}};

    return parse_suffixed(text, suffixes,
                          "a time span (a number, optionally with ms, s, m, h or d)", ret, error);
}

/* --- time formats of sacct -------------------------------------------------------------------- */

/* A struct tm holds the parsed fields: tm_year and tm_mon are -1 if the text does not have them;
 * without a month, tm_mday is relative to today. */

static int parse_two_digits(const char **p, unsigned min, unsigned max, int *ret)
{
    uint64_t value;

    if (parse_digits(p, 2, &value) < 0 || value < min || value > max)
        return -EINVAL;
    *ret = (int)value;
    return 0;
}

/* HH:MM[:SS][AM|PM] */
static int parse_clock(const char **p, struct tm *tm)
{
    bool am, pm;

    if (parse_two_digits(p, 0, 23, &tm->tm_hour) < 0 || *(*p)++ != ':' ||
        parse_two_digits(p, 0, 59, &tm->tm_min) < 0)
        return -EINVAL;
    if (**p == ':') {
        (*p)++;
        if (parse_two_digits(p, 0, 59, &tm->tm_sec) < 0)
            return -EINVAL;
    }
    am = !strncasecmp(*p, "am", 2);
    pm = !strncasecmp(*p, "pm", 2);
    if (am || pm) {
        if (tm->tm_hour < 1 || tm->tm_hour > 12)
            return -EINVAL;
        tm->tm_hour = tm->tm_hour % 12 + (pm ? 12 : 0);
        *p += 2;
    }
    return 0;
}

/* YYYY-MM-DD */
static int parse_iso_date(const char **p, struct tm *tm)
{
    uint64_t year;

    if (parse_digits(p, 4, &year) < 0 || *(*p)++ != '-' ||
        parse_two_digits(p, 1, 12, &tm->tm_mon) < 0 || *(*p)++ != '-' ||
        parse_two_digits(p, 1, 31, &tm->tm_mday) < 0)
        return -EINVAL;
    tm->tm_year = (int)year - 1900;
    tm->tm_mon--;
    return 0;
}

/* MM/DD[/YY] or MM.DD[.YY] */
static int parse_short_date(const char **p, char separator, struct tm *tm)
{
    int year;

    if (parse_two_digits(p, 1, 12, &tm->tm_mon) < 0 || *(*p)++ != separator ||
        parse_two_digits(p, 1, 31, &tm->tm_mday) < 0)
        return -EINVAL;
    tm->tm_mon--;
    if (**p != separator)
        return 0;
    (*p)++;
    if (parse_two_digits(p, 0, 99, &year) < 0)
        return -EINVAL;
    tm->tm_year = year + 100;
    return 0;
}

/* MMDD[YY] */
static int parse_packed_date(const char **p, size_t n, struct tm *tm)
{
    unsigned mon, day, year;
    bool with_year = n == 6;

    if ((n != 4 && n != 6) || sscanf(*p, "%2u%2u%2u", &mon, &day, &year) < (with_year ? 3 : 2) ||
        mon < 1 || mon > 12 || day < 1 || day > 31)
        return -EINVAL;
    tm->tm_mon = (int)mon - 1;
    tm->tm_mday = (int)day;
    if (with_year)
        tm->tm_year = (int)year + 100;
    *p += n;
    return 0;
}

/* A date in any format, optionally followed by a time of day; or only a time of day. */
static int parse_calendar(const char **p, struct tm *tm)
{
    size_t n = strspn(*p, DIGITS);
    char next = (*p)[n];
    int r;

    if (next == ':')
        return parse_clock(p, tm);
    if (n == 4 && next == '-') {
        /* "0215-10:30" is the 15th of February, "2026-02-15" is not the 26th of a 20th month. */
        const char *after = *p + 5;
        size_t k = strspn(after, DIGITS);

        r = after[k] == ':' ? parse_packed_date(p, n, tm) : parse_iso_date(p, tm);
    } else if (next == '/' || next == '.') {
        r = parse_short_date(p, next, tm);
    } else {
        r = parse_packed_date(p, n, tm);
    }
    if (r < 0)
        return r;
    if (**p == 'T' || **p == 't' || **p == '-') {
        (*p)++;
        return parse_clock(p, tm);
    }
    return 0;
}

static int days_in_month(int year, int mon)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[mon] + (mon == 1 && leap);
}

/* Fill in the missing fields as sacct does: today, this year, or the previous year for a month in
 * the future. */
static int resolve_time(struct tm *tm, const struct tm *today, int64_t *ret)
{
    bool dated = tm->tm_mon >= 0;
    time_t t;

    if (!dated) {
        tm->tm_year = today->tm_year;
        tm->tm_mon = today->tm_mon;
        tm->tm_mday += today->tm_mday;
    } else if (tm->tm_year < 0) {
        tm->tm_year = today->tm_year - (tm->tm_mon > today->tm_mon);
    }
    if (tm->tm_year < 70 || (dated && tm->tm_mday > days_in_month(tm->tm_year + 1900, tm->tm_mon)))
        return -EINVAL;
    tm->tm_isdst = -1;
    t = mktime(tm);
    if (t == (time_t)-1)
        return -ERANGE;
    *ret = t;
    return 0;
}

/* The text after "now": empty, or +-COUNT with a unit. */
static int parse_offset(const char *p, int64_t now, int64_t *ret)
{
    static const struct {
        const char *name;
        int64_t seconds;
    } units[] = {{"", 1},         {"seconds", 1},  {"minutes", 60},
                 {"hours", 3600}, {"days", 86400}, {"weeks", 7 * 86400}};
    bool minus = *p == '-';
    uint64_t count;
    int64_t delta, sum;

    if (!*p) {
        *ret = now;
        return 0;
    }
    if (*p != '-' && *p != '+')
        return -EINVAL;
    p++;
    if (parse_digits(&p, 18, &count) < 0)
        return -EINVAL;
    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        size_t n = strlen(units[i].name);
        /* "1day" is accepted like "1days". */
        bool singular = n && strlen(p) == n - 1 && !strncasecmp(p, units[i].name, n - 1);

        if (strcasecmp(p, units[i].name) && !singular)
            continue;
        if (__builtin_mul_overflow((int64_t)count, units[i].seconds, &delta) ||
            __builtin_add_overflow(now, minus ? -delta : delta, &sum))
            return -ERANGE;
        *ret = sum;
        return 0;
    }
    return -EINVAL;
}

/* The names of an hour of today or tomorrow. */
static bool parse_word(const char *text, struct tm *tm)
{
    static const struct {
        const char *name;
        int hour, day;
    } words[] = {{"today", 0, 0}, {"midnight", 0, 0}, {"tomorrow", 0, 1},
                 {"noon", 12, 0}, {"fika", 15, 0},    {"teatime", 16, 0}};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (strcasecmp(text, words[i].name))
            continue;
        tm->tm_hour = words[i].hour;
        tm->tm_mday = words[i].day;
        return true;
    }
    return false;
}

int units_parse_time(const char *text, int64_t now, int64_t *ret, struct error *error)
{
    struct tm tm = {.tm_year = -1, .tm_mon = -1}, today;
    time_t now_t = (time_t)now;
    const char *p = text;
    uint64_t seconds;
    int r;

    if (!localtime_r(&now_t, &today))
        return error_set(error, -ERANGE, "the current time is out of range");
    if (!strncasecmp(text, "now", 3)) {
        r = parse_offset(text + 3, now, ret);
    } else if (*text == '@') {
        p++;
        r = parse_digits(&p, 18, &seconds) < 0 || *p ? -EINVAL : 0;
        if (r == 0)
            *ret = (int64_t)seconds;
    } else if (parse_word(text, &tm)) {
        r = resolve_time(&tm, &today, ret);
    } else {
        r = parse_calendar(&p, &tm) < 0 || *p ? -EINVAL : resolve_time(&tm, &today, ret);
    }
    if (r == -ERANGE)
        return error_set(error, r, "\"%.60s\" is out of range", text);
    if (r < 0)
        return error_set(error, r, "\"%.60s\" is not a time (try now-7days or 2026-11-20T10:00)",
                         text);
    return 0;
}
