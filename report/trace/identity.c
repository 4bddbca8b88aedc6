/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "report/trace/trace.h"

/* Only lower case is valid. */
static int parse_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* Parse n bytes and move *text past them. Returns false if they are not valid, or all 0. */
static bool parse_id(const char **text, uint8_t *ret, size_t n)
{
    bool any = false;

    for (size_t i = 0; i < n; i++) {
        int high = parse_digit((*text)[0]), low = high < 0 ? -1 : parse_digit((*text)[1]);

        if (low < 0)
            return false;
        ret[i] = (uint8_t)(high << 4 | low);
        any |= ret[i] != 0;
        *text += 2;
    }
    return any;
}

/* VERSION-TRACE-PARENT-FLAGS. Later versions may have more after it; ff is not a version. */
int trace_identity_parse(const char *text, struct trace_identity *ret)
{
    struct trace_identity parsed = *ret;
    uint8_t version, flags;
    const char *at = text;

    (void)parse_id(&at, &version, 1);
    if (at != text + 2 || version == 0xff || *at++ != '-')
        return -EINVAL;
    if (!parse_id(&at, parsed.trace, sizeof(parsed.trace)) || *at++ != '-')
        return -EINVAL;
    if (!parse_id(&at, parsed.parent, sizeof(parsed.parent)) || *at++ != '-')
        return -EINVAL;
    text = at;
    (void)parse_id(&at, &flags, 1);
    if (at != text + 2 || (*at && (version == 0 || *at != '-')))
        return -EINVAL;
    parsed.has_parent = true;
    *ret = parsed;
    return 0;
}

/* --- the identity of a step ------------------------------------------------------------------- */

/* FNV-1a, and the last step of splitmix64, so that all bits depend on all of the input. Nobody
 * gains by a collision: the trace of a user is sent with that of no other one. */
static uint64_t hash_add(uint64_t hash, const void *data, size_t n)
{
    const uint8_t *bytes = data;

    for (size_t i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return hash_add(hash, text ? text : "", text ? strlen(text) + 1 : 1);
}

/* In an order of bytes of its own: the nodes of a job may differ. */
static uint64_t hash_u64(uint64_t hash, uint64_t number)
{
    uint8_t bytes[8];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(number >> 8 * i);
    return hash_add(hash, bytes, sizeof(bytes));
}

static uint64_t hash_end(uint64_t hash)
{
    hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
    hash ^= hash >> 31;
    return hash ? hash : 1;
}

static void put_bytes(uint64_t value, uint8_t ret[8])
{
    for (int i = 7; i >= 0; i--, value >>= 8)
        ret[i] = (uint8_t)value;
}

static uint64_t hash_job(uint64_t seed, const struct step_trace *step)
{
    uint64_t hash = hash_text(UINT64_C(0xcbf29ce484222325) ^ seed, step->cluster);

    hash = hash_u64(hash, step->jobid);
    return hash_u64(hash, step->restart);
}

struct trace_identity trace_identity_of_step(const struct step_trace *step)
{
    struct trace_identity identity = {.has_parent = false};
    uint64_t hash;

    put_bytes(hash_end(hash_job(1, step)), identity.trace);
    put_bytes(hash_end(hash_job(2, step)), identity.trace + 8);
    if (step->caller)
        (void)trace_identity_parse(step->caller, &identity);
    hash = hash_add(hash_job(3, step), identity.trace, sizeof(identity.trace));
    hash = hash_add(hash, identity.parent, sizeof(identity.parent));
    put_bytes(hash_end(hash), identity.job);
    hash = hash_u64(hash, (uint64_t)step->het << 32 | step->step);
    identity.ids = hash_end(hash_text(hash, step->node)) & TRACE_IDS_MASK;
    return identity;
}

void report_trace_of_step(const struct step_trace *step, struct report_trace *ret)
{
    *ret = (struct report_trace){
        .trace = &step->trace,
        .step = step,
        .identity = trace_identity_of_step(step),
        .host = step->node,
    };
}
