/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The request to a language model, and the answer. */
#ifndef JOBIO_CLI_EXPLAIN_LLM_IMPL_H
#define JOBIO_CLI_EXPLAIN_LLM_IMPL_H

#include <stdbool.h>
#include <stddef.h>

#include "collector/http/body.h"
#include "common/error.h"

struct llm {
    char *url, *model;    /* owned: the whole address */
    char *key, *key_file; /* owned; NULL: none */
    bool encrypted, loopback;
    long timeout_ms;
};

#define LLM_ANSWER_MAX (1u << 20)
struct llm_answer {
    struct http_body body; /* max: LLM_ANSWER_MAX */
    long code;             /* HTTP status; 0: none */
};

/* The body of the request, one line with a newline: malloc'd, NULL: out of memory. */
char *llm_request(const char *model, const char *context);
/* The text of the model, malloc'd, safe for a terminal; -EIO with a text that describes what was
 * received instead. */
int llm_answer_read(const struct llm_answer *answer, char **ret, struct error *error);

#endif
