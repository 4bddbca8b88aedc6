/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a process says to its operator. Only main programs and the daemon's wiring log. */
#ifndef JOBIO_COMMON_LOG_H
#define JOBIO_COMMON_LOG_H

#include <stdbool.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Lines go to stderr as "name: text"; under systemd ($JOURNAL_STREAM) with the sd-daemon level
 * prefix. Default: info. */
void log_init(const char *name, enum log_level level);
int log_level_parse(const char *text); /* "error" ... "debug"; -EINVAL */

void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* One line per key and `seconds`; the next one that passes says how many were held back. */
bool log_allowed(const char *key, unsigned seconds, unsigned *held);

#endif
