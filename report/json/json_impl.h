/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pieces of documents, for those who write and read them. */
#ifndef JOBIO_REPORT_JSON_JSON_IMPL_H
#define JOBIO_REPORT_JSON_JSON_IMPL_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "report/json/json.h"

/* The member `key` of that type: 1, 0 if there is none (*ret is NULL then), or -EBADMSG. */
int json_get(struct json_object *from, const char *key, enum json_type type,
             struct json_object **ret, struct error *error);
/* A member: 0, *ret untouched if there is none, -EBADMSG for what is none of the kind or does not
 * fit, -ENOMEM. Strings are malloc'd, with what is no UTF-8 replaced; seconds become
 * nanoseconds. */
int json_get_u64(struct json_object *from, const char *key, uint64_t *ret, struct error *error);
int json_get_u32(struct json_object *from, const char *key, uint32_t *ret, struct error *error);
int json_get_bool(struct json_object *from, const char *key, bool *ret, struct error *error);
int json_get_string(struct json_object *from, const char *key, char **ret, struct error *error);
int json_get_seconds(struct json_object *from, const char *key, uint64_t *ret, struct error *error);
/* The same of a value, which errors name `what`: a whole number from 0 to max; a string. */
int json_number(struct json_object *value, const char *what, uint64_t max, uint64_t *ret,
                struct error *error);
int json_copy_string(struct json_object *value, char **ret, struct error *error);

/* {"start_s":..,"width_s":..,"read_bytes":[..],..}, zeros at the ends left out, with at
 * most so many bins; NULL: no memory. */
struct json_object *json_timeline(const struct timeline *t, unsigned max);
/* The reverse, of the member "timeline" of a mount; nothing if it has none. -EBADMSG, -ENOMEM. */
int json_get_timeline(struct json_object *mount, struct timeline *ret, struct error *error);

#endif
