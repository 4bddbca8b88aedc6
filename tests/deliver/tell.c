/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tell SOCKET TYPE KEY=VALUE...: send a message to jobiod as the plugin does, and print the answer.
 * TAGGED=now: sets both times of a tag. */
#include <stdio.h>
#include <string.h>

#include "common/call.h"
#include "common/clock.h"

static int put(struct message *m, const char *key, const char *value)
{
    if (strcmp(key, "TAGGED") != 0 || strcmp(value, "now") != 0)
        return message_put(m, key, value);
    if (message_put_u64(m, "TAGGED_AT", clock_ns(CLOCK_REALTIME)) < 0)
        return -1;
    return message_put_u64(m, "TAGGED_BOOT", clock_ns(CLOCK_BOOTTIME));
}

int main(int argc, char **argv)
{
    static struct message m;
    struct error error = {""};

    if (argc < 3)
        return 2;
    message_init(&m, argv[2]);
    for (int i = 3; i < argc; i++) {
        char *value = strchr(argv[i], '=');

        if (!value)
            return 2;
        *value++ = '\0';
        if (put(&m, argv[i], value) < 0)
            return 2;
    }
    if (call(argv[1], &m, 20000, &error) < 0) {
        (void)fprintf(stderr, "tell: %s\n", error.text);
        return 1;
    }
    (void)fputs(message_get(&m, "TEXT") ?: "", stdout);
    return 0;
}
