/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Helpers to write and read documents. */
#ifndef JOBIO_REPORT_JSON_JSON_IMPL_H
#define JOBIO_REPORT_JSON_JSON_IMPL_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/tree.h"
#include "report/json/json.h"

/* Get the member `key`: 1; 0 if there is none (*ret is NULL then); -EBADMSG for another type. */
int json_get(struct json_object *from, const char *key, enum json_type type,
             struct json_object **ret, struct error *error);
/* Get a member: 0, and *ret is unchanged if there is none; -EBADMSG for another type or a number
 * out of range; -ENOMEM. Strings are malloc'd, invalid UTF-8 is replaced; seconds become
 * nanoseconds. */
int json_get_u64(struct json_object *from, const char *key, uint64_t *ret, struct error *error);
int json_get_u32(struct json_object *from, const char *key, uint32_t *ret, struct error *error);
int json_get_bool(struct json_object *from, const char *key, bool *ret, struct error *error);
int json_get_string(struct json_object *from, const char *key, char **ret, struct error *error);
int json_get_seconds(struct json_object *from, const char *key, uint64_t *ret, struct error *error);
/* The same for a value: an integer from 0 to max, a string. `what` names it in errors. */
int json_number(struct json_object *value, const char *what, uint64_t max, uint64_t *ret,
                struct error *error);
int json_copy_string(struct json_object *value, char **ret, struct error *error);

/* A histogram without the zeros at its end. */
int json_get_histogram(struct json_object *from, const char *key, uint64_t buckets[IO_BUCKETS],
                       struct error *error);
struct json_object *json_histogram(struct tree *t, const uint64_t buckets[IO_BUCKETS]);

/* The value of the member "block". */
struct json_object *json_block(struct tree *t, const struct block_account *account);
/* Read that member; *ret stays NULL if there is none. -EBADMSG, -ENOMEM. */
int json_get_block(struct json_object *document, struct block_account **ret, struct error *error);

/* The value of the member "waiting_code". */
struct json_object *json_stacks(struct tree *t, const struct stack_profile *profile);
/* Read that member; *ret stays NULL if there is none. -EBADMSG, -ENOMEM. */
int json_get_stacks(struct json_object *document, struct stack_profile **ret, struct error *error);

/* The value of the member "mpi". */
struct json_object *json_mpi(struct tree *t, const struct mpi_account *account, bool complete);
/* Read that member; *ret stays NULL if there is none. -EBADMSG, -ENOMEM. */
int json_get_mpi(struct json_object *document, struct mpi_account **ret, struct error *error);

/* {"start_s":..,"width_s":..,"read_bytes":[..],..} with at most `max` bins, without zeros at the
 * ends; NULL on out-of-memory. */
struct json_object *json_timeline(const struct timeline *t, unsigned max);
/* rpc.c */
struct json_object *json_rpc(struct tree *t, const struct rpc_account *account);
/* *ret is owned by the caller; NULL stays if there is none. */
int json_get_rpc(struct json_object *mount, struct rpc_account **ret, struct error *error);

/* Read the member "timeline" of a mount; *ret stays empty if there is none. -EBADMSG, -ENOMEM. */
int json_get_timeline(struct json_object *mount, struct timeline *ret, struct error *error);

#endif
