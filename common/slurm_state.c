/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/slurm_state.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"

#define STATE_WORDS(constant, name, code) [constant] = {name, code},
static const struct {
    const char *name, *code;
} words[SLURM_STATE_COUNT] = {SLURM_STATES(STATE_WORDS)};

const char *slurm_state_name(enum slurm_state state)
{
    return (unsigned)state < ARRAY_SIZE(words) ? words[state].name : NULL;
}

enum slurm_state slurm_state_parse(const char *name)
{
    for (size_t i = 1; name && i < ARRAY_SIZE(words); i++)
        if (!strcmp(name, words[i].name))
            return (enum slurm_state)i;
    return SLURM_STATE_UNKNOWN;
}

static bool is_word(const char *word, size_t n, const char *wanted)
{
    return strlen(wanted) == n && strncasecmp(word, wanted, n) == 0;
}

enum slurm_state slurm_state_parse_word(const char *word, size_t n)
{
    for (size_t i = 1; i < ARRAY_SIZE(words); i++)
        if (is_word(word, n, words[i].name) || is_word(word, n, words[i].code))
            return (enum slurm_state)i;
    return SLURM_STATE_UNKNOWN;
}

char *slurm_exit_format(const struct slurm_end *end, char buf[SLURM_EXIT_SIZE])
{
    if (end->has_exit)
        (void)snprintf(buf, SLURM_EXIT_SIZE, "%u:%u", end->exit_code, end->exit_signal);
    else
        buf[0] = '\0';
    return buf;
}
