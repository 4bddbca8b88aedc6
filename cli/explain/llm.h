/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ask a language model what it makes of a job: any endpoint that speaks OpenAI's chat completions.
 * Only who asks for it sends anything, and can see before what that is.
 */
#ifndef JOBIO_CLI_EXPLAIN_LLM_H
#define JOBIO_CLI_EXPLAIN_LLM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

struct llm_options {
    const char *url;      /* the endpoint, or "site": [explain] url of jobio.conf */
    const char *model;    /* NULL: that of jobio.conf */
    const char *key_file; /* NULL: that of jobio.conf, for the site's own url alone; or no key */
    const char *config;   /* NULL: jobio.conf where it is installed, if this user may read it */
    bool insecure;        /* all may go to another machine unencrypted */
    uint64_t timeout_ns;
};

struct llm;

/* Settle where to ask, and with which key; nothing is sent. -EINVAL: the address or the key file is
 * none, the file can be read by others, or all would go over the network in plain text;
 * -errno: the file cannot be read. */
int llm_open(const struct llm_options *options, struct llm **ret, struct error *error);
void llm_close(struct llm *llm); /* NULL is fine */

/* What llm_ask() would send with this context (a document as text), with the key's file in place of
 * the key: malloc'd, safe for a terminal. NULL: no memory. */
char *llm_show(const struct llm *llm, const char *context);
/* Send it. *ret is the answer, malloc'd, lines that are safe for a terminal. -EIO with text: no
 * answer, not 200, or not what the API says. */
int llm_ask(struct llm *llm, const char *context, char **ret, struct error *error);
const char *llm_model(const struct llm *llm);

#endif
