/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Log lines for the operator. Only main programs and collector/daemon log. */
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

/* Rate limit: true once per key and `seconds`. *held (may be NULL) is the number of lines that were
 * suppressed since the previous true. */
bool log_allowed(const char *key, unsigned seconds, unsigned *held);

#endif
