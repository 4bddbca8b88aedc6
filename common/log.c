/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "common/cleanup.h"

static const char *const level_names[] = {"error", "warning", "info", "debug"};
/* The priorities of syslog, which sd-daemon(3) expects as prefix of a line. */
static const int level_priorities[] = {3, 4, 6, 7};

static struct {
    const char *name;
    enum log_level level;
    bool journal;
} log_state = {"jobio", LOG_LEVEL_INFO, false};

void log_init(const char *name, enum log_level level)
{
    log_state.name = name;
    log_state.level = level;
    log_state.journal = getenv("JOURNAL_STREAM") != NULL;
}

int log_level_parse(const char *text)
{
    for (size_t i = 0; i < ARRAY_SIZE(level_names); i++)
        if (!strcasecmp(text, level_names[i]))
            return (int)i;
    return -EINVAL;
}

/* Lines may contain text of users, which must not start a new line or move the cursor. */
static void make_printable(char *line)
{
    for (; *line; line++)
        if ((unsigned char)*line < 0x20 || *line == 0x7f)
            *line = '?';
}

void log_write(enum log_level level, const char *format, ...)
{
    int saved = errno;
    char line[1024];
    va_list ap;

    if (level > log_state.level)
        return;
    va_start(ap, format);
    (void)vsnprintf(line, sizeof(line), format, ap);
    va_end(ap);
    make_printable(line);
    /* One write per line, so that lines of several threads are not mixed. */
    if (log_state.journal)
        (void)dprintf(STDERR_FILENO, "<%d>%s\n", level_priorities[level], line);
    else
        (void)dprintf(STDERR_FILENO, "%s: %s\n", log_state.name, line);
    errno = saved;
}

/* Hash table of the rate limiter. On a collision the new key replaces the old one. */
#define LIMITS 64

static struct limit {
    char key[48];
    time_t until;
    unsigned held;
} limits[LIMITS];

static struct limit *limit_slot(const char *key)
{
    unsigned hash = 5381;

    for (const char *c = key; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    return &limits[hash % LIMITS];
}

bool log_allowed(const char *key, unsigned seconds, unsigned *held)
{
    struct limit *limit = limit_slot(key);
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    if (strncmp(limit->key, key, sizeof(limit->key) - 1) != 0) {
        memset(limit, 0, sizeof(*limit));
        (void)snprintf(limit->key, sizeof(limit->key), "%s", key);
    } else if (now.tv_sec < limit->until) {
        limit->held++;
        return false;
    }
    if (held)
        *held = limit->held;
    limit->held = 0;
    limit->until = now.tv_sec + (time_t)seconds;
    return true;
}
