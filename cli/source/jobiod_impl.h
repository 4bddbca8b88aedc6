/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of jobiod.h. */
#ifndef JOBIO_CLI_SOURCE_JOBIOD_IMPL_H
#define JOBIO_CLI_SOURCE_JOBIOD_IMPL_H

#include "cli/source/jobiod.h"
#include "common/message.h"

/* Send `m`, which is overwritten, and read the answer. *ret is all of its TEXT, malloc'd.
 * timeout_ms is for each message of the answer. */
int jobiod_ask(const struct cli *cli, struct message *m, unsigned timeout_ms, char **ret,
               struct error *error);
/* The same for a JSON answer. */
int jobiod_ask_json(const struct cli *cli, struct message *m, unsigned timeout_ms,
                    struct json_object **ret, struct error *error);

/* jobiod starts on a query within 5 s and answers it, or fails, in 5 s more. */
#define JOBIOD_MS 15000

/* As source_history(). */
int jobiod_history(const struct cli *cli, const struct history_filter *filter, history_f each,
                   void *arg, struct error *error);

#endif
