/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers for people. Bytes are in powers of 1024 (KiB, MiB, GiB), counts in powers of 1000 (k, M).
 * In narrow columns there is no blank between number and unit. */
#ifndef JOBIO_COMMON_UNITS_H
#define JOBIO_COMMON_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define UNITS_SIZE 24 /* holds any text that the format functions make */

/* "0 B", "999 B", "4.0 KiB", "1.2 TiB". */
char *units_bytes(uint64_t bytes, char buf[UNITS_SIZE]);
/* "1.2 GiB/s". */
char *units_rate(uint64_t bytes_per_s, char buf[UNITS_SIZE]);
/* For narrow columns, at most 6: "0", "999B", "9.9GiB", "310GiB". */
char *units_bytes_short(uint64_t bytes, char buf[UNITS_SIZE]);
/* The upper bound of a bucket, a power of two: "64 KiB", "-" for 0, "> 1 GiB" for UINT64_MAX; in
 * narrow columns "64KiB", ">1GiB". */
char *units_bytes_bound(uint64_t bound, char buf[UNITS_SIZE]);
char *units_bytes_bound_short(uint64_t bound, char buf[UNITS_SIZE]);
/* For narrow columns, at most 4: "0", "9999", "12k", "8.4M". */
char *units_count_short(uint64_t count, char buf[UNITS_SIZE]);
/* "0", "9999", "12.3 k", "8.4 M". */
char *units_count(uint64_t count, char buf[UNITS_SIZE]);
/* A time span as Slurm prints it: "00:00:07", "1-02:03:04". */
char *units_elapsed(uint64_t ns, char buf[UNITS_SIZE]);
/* "850 ns", "12 us", "3.4 ms", "1.2 s". */
char *units_time(uint64_t ns, char buf[UNITS_SIZE]);
/* Seconds for machines, exact to the nanosecond: "7", "0.5", "18446744073.709551615". */
char *units_seconds(uint64_t ns, char buf[UNITS_SIZE]);
/* part/total in percent: "0 %", "< 0.1 %", "0.4 %", "37 %"; "-" if only the total is 0. */
char *units_percent(uint64_t part, uint64_t total, char buf[UNITS_SIZE]);

/* "256M", "1G", "4096": binary multiples K M G T. -EINVAL or -ERANGE with text. */
int units_parse_bytes(const char *text, uint64_t *ret, struct error *error);
/* "10s", "500ms", "5m", "2h", "90d"; a bare number is seconds. To nanoseconds. */
int units_parse_span(const char *text, uint64_t *ret, struct error *error);
/* The time formats of sacct: now, now-7days, now+2hours, today, tomorrow, midnight, noon, fika,
 * teatime, HH:MM[:SS][AM|PM], MMDD[YY], MM/DD[/YY], MM.DD[.YY] (each optionally followed by
 * -HH:MM[:SS]), YYYY-MM-DD[THH:MM[:SS]]; and @N for seconds since 1970. Local time. The default
 * date is today; the default year is this one, or the previous one for a month in the future. `now`
 * and *ret are in seconds since 1970. -EINVAL or -ERANGE with text. */
int units_parse_time(const char *text, int64_t now, int64_t *ret, struct error *error);

#endif
