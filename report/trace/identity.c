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
