/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile of stacks as text, as the process that unwinds hands it to jobiod. */
#ifndef JOBIO_COMMON_STACK_TEXT_H
#define JOBIO_COMMON_STACK_TEXT_H

#include <stdio.h>

#include "common/error.h"
#include "common/stack.h"

/* Write the profile without its counts and least_ns. */
void stack_text_write(const struct stack_profile *profile, FILE *out);
/* Fill the empty profile; the text is modified. -EBADMSG: it is incomplete, or not such a text. */
int stack_text_parse(char *text, struct stack_profile *ret, struct error *error);
/* Whether another process may have written it: printable, with one tab at most in a function. */
int stack_text_check(const char *text, struct error *error);

#endif
