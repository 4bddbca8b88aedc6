/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers as people write and read them. One way everywhere: bytes in powers of 1024 by their whole
 * names (KiB, MiB, GiB), counts in powers of 1000 (k, M), so that none is taken for the other. In
 * narrow columns nothing stands between number and unit, and there are two digits at least. */
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
/* A bucket's upper bound, a power of two: "-" for none, "64 KiB", "> 1 GiB" for UINT64_MAX; and for
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
/* part/whole in percent: "0 %", "< 0.1 %", "0.4 %", "37 %"; "-" for a part of nothing. */
char *units_percent(uint64_t part, uint64_t whole, char buf[UNITS_SIZE]);

/* "256M", "1G", "4096": binary multiples K M G T. -EINVAL or -ERANGE with text. */
int units_parse_bytes(const char *text, uint64_t *ret, struct error *error);
/* "10s", "500ms", "5m", "2h", "90d"; a bare number is seconds. To nanoseconds. */
int units_parse_span(const char *text, uint64_t *ret, struct error *error);
/* sacct's words for a time: now, now-7days, now+2hours, today, tomorrow, midnight, noon, fika,
 * teatime, HH:MM[:SS][AM|PM], and MMDD[YY], MM/DD[/YY], MM.DD[.YY] (each with -HH:MM[:SS] behind
 * it), YYYY-MM-DD[THH:MM[:SS]]; seconds since 1970 as @N. Local time; without a date: today;
 * without a year: this one, or the last for a month that has not come yet. `now` in seconds; *ret
 * in seconds. -EINVAL or -ERANGE with text. */
int units_parse_time(const char *text, int64_t now, int64_t *ret, struct error *error);

#endif
