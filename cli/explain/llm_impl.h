/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is sent to a language model, and what comes back. */
#ifndef JOBIO_CLI_EXPLAIN_LLM_IMPL_H
#define JOBIO_CLI_EXPLAIN_LLM_IMPL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"

struct llm {
    char *url, *model;    /* owned: the whole address */
    char *key, *key_file; /* owned; NULL: none */
    bool encrypted, loopback;
    long timeout_ms;
};

struct llm_answer {
    char *data; /* owned, with a NUL behind it; NULL: empty */
    size_t size;
    bool over; /* longer than what is read */
    long code; /* HTTP's; 0: none */
};

/* The body of the request, one line with a newline: malloc'd, NULL: no memory. */
char *llm_request(const char *model, const char *context);
/* A CURLOPT_WRITEFUNCTION; arg: struct llm_answer. */
size_t llm_answer_take(char *data, size_t size, size_t n, void *arg);
/* What the model said, malloc'd, safe for a terminal; -EIO with a text that says what came
 * instead. */
int llm_answer_read(const struct llm_answer *answer, char **ret, struct error *error);

#endif
