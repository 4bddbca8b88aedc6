/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Warnings that would otherwise come too often. */
#ifndef JOBIO_COLLECTOR_DAEMON_LIMITED_LOG_H
#define JOBIO_COLLECTOR_DAEMON_LIMITED_LOG_H

/* Log a warning, at most one in `seconds` for each key; the next one counts those left out. */
void log_limited(const char *key, unsigned seconds, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
