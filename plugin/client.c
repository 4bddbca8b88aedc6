/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plugin/client.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "common/call.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "plugin/runtime_dir.h"

static int record_result(const struct settings *settings, int r)
{
    if (r == -ETIMEDOUT)
        runtime_mark_down(settings->runtime);
    else if (r == 0 || r == -EREMOTEIO)
        runtime_clear_down(settings->runtime);
    return r;
}

int client_ask(const struct settings *settings, struct message *m, unsigned timeout_ms,
               struct error *error)
{
    if (runtime_is_down(settings->runtime))
        return error_set(error, -EHOSTDOWN, "jobiod did not answer a short while ago: not queried");
    return record_result(settings,
                         call(settings->socket, m, timeout_ms * settings->patience, error));
}

/* Append `part`. False if it did not fit: the text then ends with the last complete line. */
static bool append(char *text, size_t *n, size_t size, const char *part)
{
    size_t length = strlen(part), room = size - *n;

    memcpy(text + *n, part, length < room ? length : room);
    *n += length < room ? length : room;
    if (length <= room)
        return true;
    while (*n > 0 && text[*n - 1] != '\n')
        --*n;
    return false;
}

static ssize_t receive_text(int fd, struct message *m, uint64_t deadline_ns, char *ret, size_t size,
                            struct error *error)
{
    const char *part, *more;
    size_t n = 0;
    int r;

    do {
        r = call_receive(fd, m, clock_left_ms(deadline_ns, UINT_MAX), error);
        if (r < 0)
            return r;
        part = message_get(m, "TEXT");
        more = message_get(m, "MORE");
    } while (append(ret, &n, size, part ? part : "") && more && strcmp(more, "1") == 0);
    return (ssize_t)n;
}

ssize_t client_ask_text(const struct settings *settings, struct message *m, uint64_t deadline_ns,
                        char *ret, size_t size, struct error *error)
{
    _close_ int fd = call_open(settings->socket, m, clock_left_ms(deadline_ns, UINT_MAX), error);
    ssize_t n = fd < 0 ? fd : receive_text(fd, m, deadline_ns, ret, size, error);

    (void)record_result(settings, n < 0 ? (int)n : 0);
    return n;
}
