/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Asks a language model about a job: any endpoint with OpenAI's chat completions. Nothing is sent
 * unless the user requests it, and llm_show() shows before what that is.
 */
#ifndef JOBIO_CLI_EXPLAIN_LLM_H
#define JOBIO_CLI_EXPLAIN_LLM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

struct llm_options {
    const char *url;      /* the endpoint, or "site": [explain] url of jobio.conf */
    const char *model;    /* NULL: that of jobio.conf */
    const char *key_file; /* NULL: that of jobio.conf, but only for its url; else no key */
    const char *config;   /* NULL: the installed jobio.conf, if this user may read it */
    bool insecure;        /* allow an unencrypted connection to another machine */
    uint64_t timeout_ns;
};

struct llm;

/* Choose the endpoint and the key; nothing is sent. -EINVAL: the address or the key is not valid,
 * others can read the key file, or the connection would not be encrypted; -errno: the file cannot
 * be read. */
int llm_open(const struct llm_options *options, struct llm **ret, struct error *error);
void llm_close(struct llm *llm); /* NULL is fine */

/* What llm_ask() would send with this context (a document as text), with the name of the key file
 * instead of the key: malloc'd, safe for a terminal. NULL: out of memory. */
char *llm_show(const struct llm *llm, const char *context);
/* Send it. *ret is the answer, malloc'd, lines that are safe for a terminal. -EIO with text: no
 * answer, not 200, or not the format of the API. */
int llm_ask(struct llm *llm, const char *context, char **ret, struct error *error);
const char *llm_model(const struct llm *llm);

#endif
