/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of --state. */
#include "collector/store/history.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"

#define STATE_NOT_KNOWN "UNKNOWN"

/* Bit 0 if the state is not known; a negative errno for another word. */
static int slurm_state_bit(const char *word, size_t n)
{
    enum slurm_state state = slurm_state_parse_word(word, n);

    if (state != SLURM_STATE_UNKNOWN)
        return (int)state;
    return n == strlen(STATE_NOT_KNOWN) && !strncasecmp(word, STATE_NOT_KNOWN, n) ? 0 : -EINVAL;
}

uint32_t history_slurm_states_parse(const char *list)
{
    uint32_t states = 0;

    for (const char *word = list;; word += strcspn(word, ",") + 1) {
        size_t n = strcspn(word, ",");
        int bit = slurm_state_bit(word, n);

        if (bit < 0)
            return 0;
        states |= 1u << bit;
        if (!word[n])
            return states;
    }
}

char *history_slurm_states_format(uint32_t states, char buf[HISTORY_STATES_SIZE])
{
    char *to = buf;

    *to = '\0';
    for (unsigned state = 0; state < SLURM_STATE_COUNT; state++) {
        if (!(states & 1u << state))
            continue;
        if (to > buf)
            *to++ = ',';
        to = stpcpy(to, state ? slurm_state_name((enum slurm_state)state) : STATE_NOT_KNOWN);
    }
    return buf;
}

static int state_unknown(const char *word, size_t n, struct error *error)
{
    static const char *const early[] = {"PD", "PENDING",  "S",  "SUSPENDED",
                                        "RS", "RESIZING", "CG", "COMPLETING"};

    for (size_t i = 0; i < ARRAY_SIZE(early); i++)
        if (strlen(early[i]) == n && !strncasecmp(word, early[i], n))
            return error_set(error, -EINVAL,
                             "--state \"%.*s\": jobio does not distinguish jobs that have not "
                             "ended: use running (R)",
                             (int)n, word);
    return error_set(
        error, -EINVAL,
        "--state \"%.*s\": use running (R), ended, or states of Slurm: BF, CA, CD, DL, "
        "F, NF, OOM, PR, RQ, TO, unknown",
        (int)n, word);
}

int history_states_parse(const char *list, struct history_filter *filter, struct error *error)
{
    bool running = false, ended = false;

    filter->slurm_states = 0;
    for (const char *word = list;; word += strcspn(word, ",") + 1) {
        size_t n = strcspn(word, ",");
        int bit = slurm_state_bit(word, n);

        if (bit >= 0)
            filter->slurm_states |= 1u << bit;
        else if ((n == 1 && (*word == 'R' || *word == 'r')) ||
                 (n == strlen("running") && !strncasecmp(word, "running", n)))
            running = true;
        else if (n == strlen("ended") && !strncasecmp(word, "ended", n))
            ended = true;
        else
            return state_unknown(word, n, error);
        if (!word[n])
            break;
    }
    if (ended)
        filter->slurm_states = 0;
    ended |= filter->slurm_states != 0;
    filter->state = running && ended ? HISTORY_ANY : running ? HISTORY_RUNNING : HISTORY_ENDED;
    return 0;
}
