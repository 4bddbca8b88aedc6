/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How Slurm ended a job: its state and exit code, in the words of sacct. */
#ifndef JOBIO_COMMON_SLURM_STATE_H
#define JOBIO_COMMON_SLURM_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One line per state: constant, name, code. */
#define SLURM_STATES(STATE)                         \
    STATE(SLURM_STATE_BOOT_FAIL, "BOOT_FAIL", "BF") \
    STATE(SLURM_STATE_CANCELLED, "CANCELLED", "CA") \
    STATE(SLURM_STATE_COMPLETED, "COMPLETED", "CD") \
    STATE(SLURM_STATE_DEADLINE, "DEADLINE", "DL")   \
    STATE(SLURM_STATE_FAILED, "FAILED", "F")        \
    STATE(SLURM_STATE_NODE_FAIL, "NODE_FAIL", "NF") \
    STATE(SLURM_STATE_OOM, "OUT_OF_MEMORY", "OOM")  \
    STATE(SLURM_STATE_PREEMPTED, "PREEMPTED", "PR") \
    STATE(SLURM_STATE_REQUEUED, "REQUEUED", "RQ")   \
    STATE(SLURM_STATE_TIMEOUT, "TIMEOUT", "TO")

#define SLURM_STATE_ENUM(constant, name, code) constant,
enum slurm_state {
    SLURM_STATE_UNKNOWN, /* not known yet, or never learnt */
    SLURM_STATES(SLURM_STATE_ENUM) SLURM_STATE_COUNT
};
#undef SLURM_STATE_ENUM

/* The end of a job, or of one of its runs. */
struct slurm_end {
    enum slurm_state state;
    /* As in sacct's ExitCode "1:0". false for a requeued run: Slurm only keeps that of the last. */
    bool has_exit;
    uint32_t exit_code, exit_signal;
};

/* "FAILED"; NULL for SLURM_STATE_UNKNOWN. */
const char *slurm_state_name(enum slurm_state state);
/* Parse a name; SLURM_STATE_UNKNOWN for another text, or NULL. */
enum slurm_state slurm_state_parse(const char *name);
/* Parse the first `n` characters of a name or code, in any case. SLURM_STATE_UNKNOWN: neither. */
enum slurm_state slurm_state_parse_word(const char *word, size_t n);

#define SLURM_EXIT_SIZE 24
/* "1:0"; "" if it is not known. Returns buf. */
char *slurm_exit_format(const struct slurm_end *end, char buf[SLURM_EXIT_SIZE]);

#endif
