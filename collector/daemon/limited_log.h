/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rate-limited warnings. */
#ifndef JOBIO_COLLECTOR_DAEMON_LIMITED_LOG_H
#define JOBIO_COLLECTOR_DAEMON_LIMITED_LOG_H

/* Log at most one warning per key in `seconds`; the next one has the number of those suppressed. */
void log_limited(const char *key, unsigned seconds, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
