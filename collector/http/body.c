/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/http/body.h"

#include <stdlib.h>
#include <string.h>

size_t http_body_append(char *data, size_t one, size_t n, void *arg)
{
    struct http_body *body = arg;
    char *grown;

    body->over = n > body->max - body->size;
    grown = body->over ? NULL : realloc(body->text, body->size + n + 1);
    if (!grown)
        return 0;
    memcpy(grown + body->size, data, n);
    body->text = grown;
    body->size += n;
    grown[body->size] = '\0';
    return n * one;
}

void http_body_clear(struct http_body *body)
{
    free(body->text);
    *body = (struct http_body){.max = body->max};
}
