/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tell SOCKET TYPE KEY=VALUE...: one message to jobiod, as the plugin sends it. Its answer's text. */
#include <stdio.h>
#include <string.h>

#include "common/call.h"

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
        if (message_put(&m, argv[i], value) < 0)
            return 2;
    }
    if (call(argv[1], &m, 20000, &error) < 0) {
        (void)fprintf(stderr, "tell: %s\n", error.text);
        return 1;
    }
    (void)fputs(message_get(&m, "TEXT") ?: "", stdout);
    return 0;
}
