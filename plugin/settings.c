/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plugin/settings.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/call.h"
#include "common/cleanup.h"
#include "common/numbers.h"

#define DEFAULT_SOCKET JOBIO_RUNTIME_DIR "/" JOBIO_SOCKET_NAME

const char *summary_word(const char *text)
{
    static const char *const words[] = {"off", "short", "full"};

    for (size_t i = 0; text && i < ARRAY_SIZE(words); i++) {
        if (strcmp(text, words[i]) == 0)
            return words[i];
    }
    return NULL;
}

const char *settings_node_name(void)
{
    static char host[256];
    const char *name = getenv("SLURMD_NODENAME");

    if (name && *name && !strchr(name, '/'))
        return name;
    if (gethostname(host, sizeof(host) - 1) < 0)
        return "localhost";
    host[strcspn(host, ".")] = '\0';
    return host;
}

/* Copy with %n replaced; false if it does not fit. */
static bool expand(const char *text, const char *node, char *ret, size_t size)
{
    size_t n = 0;

    while (*text) {
        bool is_node = node && text[0] == '%' && text[1] == 'n';
        const char *piece = is_node ? node : text;
        size_t length = is_node ? strlen(node) : 1;

        if (n + length >= size)
            return false;
        memcpy(ret + n, piece, length);
        n += length;
        text += is_node ? 2 : 1;
    }
    ret[n] = '\0';
    return true;
}

static const char *set_socket(struct settings *settings, const char *value, const char *node)
{
    char path[PLUGIN_SOCKET_MAX] = "";

    if (value[0] != '/')
        return "is not an absolute path";
    if (!expand(value, node, path, sizeof(path)))
        return "is longer than a socket path may be";
    if (strrchr(path, '/') == path)
        return "is not in a directory of its own";
    memcpy(settings->socket, path, sizeof(path));
    memcpy(settings->runtime, path, sizeof(path));
    *strrchr(settings->runtime, '/') = '\0';
    return NULL;
}

static const char *set_summary(struct settings *settings, const char *value, const char *node)
{
    const char *word = summary_word(value);

    (void)node;
    if (!word)
        return "is not off, short or full";
    settings->summary = word;
    return NULL;
}

static const char *set_patience(struct settings *settings, const char *value, const char *node)
{
    uint64_t n;

    (void)node;
    if (number_parse(value, 1, PLUGIN_PATIENCE_MAX, &n) < 0)
        return "is not 1 to 60";
    settings->patience = (unsigned)n;
    return NULL;
}

/* Returns the reason if the word is wrong, else NULL. */
static const char *parse_word(struct settings *settings, const char *word, const char *node)
{
    static const struct {
        const char *key;
        const char *(*set)(struct settings *, const char *value, const char *node);
    } keys[] = {
        {"socket=", set_socket},
        {"summary=", set_summary},
        {"patience=", set_patience},
    };

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        size_t size = strlen(keys[i].key);

        if (strncmp(word, keys[i].key, size) == 0)
            return keys[i].set(settings, word + size, node);
    }
    return "is not known; socket=PATH, summary=off|short|full and patience=N are";
}

void settings_read(struct settings *settings, int ac, char *const *av, const char *node,
                   void (*complain)(const char *word, const char *reason))
{
    settings->summary = NULL;
    settings->patience = 1;
    (void)set_socket(settings, DEFAULT_SOCKET, NULL);
    for (int i = 0; i < ac; i++) {
        const char *reason = parse_word(settings, av[i], node);

        if (reason)
            complain(av[i], reason);
    }
}
