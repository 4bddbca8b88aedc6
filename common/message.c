/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/message.h"

#include <stdio.h>
#include <string.h>

#include "common/numbers.h"

void message_init(struct message *m, const char *type)
{
    m->size = 0;
    (void)message_put_u64(m, "VERSION", MESSAGE_VERSION);
    (void)message_put(m, "TYPE", type);
}

int message_put(struct message *m, const char *key, const char *value)
{
    size_t key_size = strlen(key);
    size_t value_size;
    char *p = m->data + m->size;

    if (!value)
        return 0;
    value_size = strlen(value);
    if (value_size > MESSAGE_MAX || key_size + value_size + 2 > MESSAGE_MAX - m->size)
        return -EMSGSIZE;
    memcpy(p, key, key_size);
    p[key_size] = '=';
    memcpy(p + key_size + 1, value, value_size + 1);
    m->size += key_size + value_size + 2;
    return 0;
}

int message_put_u64(struct message *m, const char *key, uint64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    return message_put(m, key, text);
}

/* The bytes of the field at `field`, its NUL included; 0 at the end or where a NUL is missing. */
static size_t field_size(const struct message *m, const char *field)
{
    size_t left = m->size - (size_t)(field - m->data);
    const char *end = left ? memchr(field, '\0', left) : NULL;

    return end ? (size_t)(end - field) + 1 : 0;
}

const char *message_next(const struct message *m, const char *field)
{
    const char *next = field ? field + field_size(m, field) : m->data;

    return field_size(m, next) ? next : NULL;
}

const char *message_get(const struct message *m, const char *key)
{
    size_t key_size = strlen(key);

    for (const char *f = message_next(m, NULL); f; f = message_next(m, f)) {
        if (strncmp(f, key, key_size) == 0 && f[key_size] == '=')
            return f + key_size + 1;
    }
    return NULL;
}

int message_get_u64(const struct message *m, const char *key, uint64_t max, uint64_t fallback,
                    uint64_t *ret, struct error *error)
{
    const char *text = message_get(m, key);

    if (!text) {
        *ret = fallback;
        return 0;
    }
    if (number_parse(text, 0, max, ret) < 0)
        return error_set(error, -EINVAL, "%s \"%.32s\" is not a number up to %llu", key, text,
                         (unsigned long long)max);
    return 0;
}

static int check_field(const char *field, struct error *error)
{
    const char *equals = strchr(field, '=');

    if (!equals)
        return error_set(error, -EBADMSG, "a field of the message has no '='");
    if (equals == field)
        return error_set(error, -EBADMSG, "a field of the message has no key");
    return 0;
}

int message_check(const struct message *m, struct error *error)
{
    static const char first[] = "VERSION=";
    uint64_t version;
    int r;

    if (m->size > MESSAGE_MAX)
        return error_set(error, -EBADMSG, "a message of %zu bytes; at most %d are allowed", m->size,
                         MESSAGE_MAX);
    if (m->size == 0 || m->data[m->size - 1] != '\0')
        return error_set(error, -EBADMSG, "the message does not end in NUL");
    for (const char *f = message_next(m, NULL); f; f = message_next(m, f)) {
        r = check_field(f, error);
        if (r < 0)
            return r;
    }
    if (strncmp(m->data, first, sizeof(first) - 1) != 0)
        return error_set(error, -EBADMSG, "the message does not start with VERSION");
    if (number_parse(m->data + sizeof(first) - 1, 0, UINT32_MAX, &version) < 0)
        return error_set(error, -EBADMSG, "the VERSION of the message is not a number");
    if (version != MESSAGE_VERSION)
        return error_set(error, -EPROTONOSUPPORT, "protocol version %llu is not supported; %d is",
                         (unsigned long long)version, MESSAGE_VERSION);
    return 0;
}
