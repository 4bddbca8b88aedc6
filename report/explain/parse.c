/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses the output of other counters. Unknown lines are skipped. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/numbers.h"
#include "report/explain/explain.h"

/* Lines of a copy, one after the other; NULL at the end. */
static char *next_line(char **rest)
{
    char *line;

    do
        line = strsep(rest, "\n");
    while (line && !*line);
    return line;
}

/* A plain number, or 12.5M from an sacct that ignores --noconvert. Units are powers of 1024. */
static bool parse_size(const char *text, uint64_t *ret)
{
    static const char units[] = "KMGTPE";
    const char *rest = text, *unit;
    char *end;
    double value;

    if (*text < '0' || *text > '9')
        return false;
    if (number_parse_prefix(&rest, ret) == 0 && (!*rest || *rest == ','))
        return true;
    value = strtod(text, &end);
    unit = *end ? strchr(units, *end) : NULL;
    for (; unit && unit >= units; unit--)
        value *= 1024;
    if (!(value >= 0) || value >= 18446744073709549568.0)
        return false;
    *ret = (uint64_t)value;
    return true;
}

/* "cpu=00:00:01,fs/disk=123,..." */
static bool tres_disk(const char *list, uint64_t *sum)
{
    static const char key[] = "fs/disk=";
    const char *at = strstr(list, key);
    uint64_t value;

    if (!at || (at > list && at[-1] != ',') || !parse_size(at + strlen(key), &value))
        return false;
    add_saturating(sum, value);
    return true;
}

int explain_parse_sacct(const char *text, uint64_t *read, uint64_t *written)
{
    _free_ char *copy = strdup(text);
    char *rest = copy, *line;
    bool any = false, found = false;

    if (!copy)
        return -ENOMEM;
    *read = *written = 0;
    while ((line = next_line(&rest))) {
        char *id = strsep(&line, "|"), *in = strsep(&line, "|"), *out = strsep(&line, "|");

        any = true;
        if (!strchr(id, '.') || !in || !out)
            continue;
        found = tres_disk(in, read) || found;
        found = tres_disk(out, written) || found;
    }
    return found ? 0 : any ? -ENODATA : -ENOENT;
}

/* "name: 123" */
static void take(const char *line, const char *name, uint64_t *to, unsigned *found)
{
    size_t n = strlen(name);
    uint64_t value;

    if (strncmp(line, name, n) != 0 || sscanf(line + n, ": %" SCNu64, &value) != 1)
        return;
    add_saturating(to, value);
    (*found)++;
}

int explain_parse_proc_io(const char *text, struct explain_proc_io *to)
{
    _free_ char *copy = strdup(text);
    struct explain_proc_io sum = *to;
    char *rest = copy, *line;
    unsigned found = 0;

    if (!copy)
        return -ENOMEM;
    while ((line = next_line(&rest))) {
        take(line, "rchar", &sum.rchar, &found);
        take(line, "wchar", &sum.wchar, &found);
        take(line, "read_bytes", &sum.read_bytes, &found);
        take(line, "write_bytes", &sum.write_bytes, &found);
    }
    if (found != 4)
        return -EBADMSG;
    *to = sum;
    return 0;
}

void explain_parse_io_stat(const char *text, uint64_t *read, uint64_t *written)
{
    _free_ char *copy = strdup(text);
    char *rest = copy, *word;

    while ((word = strsep(&rest, " \n"))) {
        uint64_t value;

        if (sscanf(word, "rbytes=%" SCNu64, &value) == 1)
            add_saturating(read, value);
        else if (sscanf(word, "wbytes=%" SCNu64, &value) == 1)
            add_saturating(written, value);
    }
}

/* "device SOURCE mounted on MOUNT with fstype nfs4 statvers=1.1": is it this one, an NFS mount? */
static bool is_mount(const char *line, const char *mount)
{
    const char *at = strstr(line, " mounted on "), *end;

    if (strncmp(line, "device ", 7) != 0 || !at)
        return false;
    at += strlen(" mounted on ");
    end = strstr(at, " with fstype nfs");
    return end && strlen(mount) == (size_t)(end - at) && strncmp(at, mount, strlen(mount)) == 0;
}

int explain_parse_mountstats(const char *text, const char *mount, struct explain_nfs *ret)
{
    _free_ char *copy = strdup(text);
    char *rest = copy, *line;
    bool inside = false;

    if (!copy)
        return -ENOMEM;
    while ((line = next_line(&rest))) {
        uint64_t n[6];

        if (strncmp(line, "device ", 7) == 0)
            inside = is_mount(line, mount);
        else if (inside && sscanf(line,
                                  " bytes: %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                                  " %" SCNu64,
                                  &n[0], &n[1], &n[2], &n[3], &n[4], &n[5]) == 6) {
            /* Cached and direct, by programs; then what the server saw. */
            *ret = (struct explain_nfs){n[0] + n[2], n[1] + n[3], n[4], n[5]};
            return 0;
        }
    }
    return -ENOENT;
}

/* "read_bytes 123 samples [bytes] 1 4096 504832": the sum is last, or before a sum of squares. */
static bool take_sum(const char *line, const char *name, uint64_t *to)
{
    uint64_t sum;
    size_t n = strlen(name);

    if (strncmp(line, name, n) != 0 || line[n] != ' ' ||
        sscanf(line + n, " %*u samples [bytes] %*u %*u %" SCNu64, &sum) != 1)
        return false;
    *to = sum;
    return true;
}

void explain_parse_lustre(const char *text, uint64_t *read, uint64_t *written)
{
    _free_ char *copy = strdup(text);
    char *rest = copy, *line;

    *read = *written = 0;
    while ((line = next_line(&rest)))
        if (!take_sum(line, "read_bytes", read))
            (void)take_sum(line, "write_bytes", written);
}

/* "16:          3  42  99   |          1  50  50": the numbers of reads and writes. */
static bool parse_rpc_row(const char *line, uint32_t *label, uint64_t *reads, uint64_t *writes)
{
    return sscanf(line, "%" SCNu32 ": %" SCNu64 " %*u %*u | %" SCNu64, label, reads, writes) == 3;
}

/* Labels are powers of two; the last one includes all larger sizes. */
static int add_rpc_size(struct explain_rpcs *to, uint32_t pages, uint64_t reads, uint64_t writes)
{
    unsigned size = pages ? (unsigned)__builtin_ctz(pages) : 0;

    if (pages != 1u << size)
        return -EBADMSG;
    add_saturating(&to->reads[size], reads);
    add_saturating(&to->writes[size], writes);
    return 0;
}

/* The tables of the file, and that of offsets. */
enum rpc_table { RPC_NONE, RPC_SIZES, RPC_AT_ONCE };

static enum rpc_table rpc_table_of(const char *line, enum rpc_table now)
{
    if (strncmp(line, "pages per rpc ", 14) == 0)
        return RPC_SIZES;
    if (strncmp(line, "rpcs in flight ", 15) == 0)
        return RPC_AT_ONCE;
    return strncmp(line, "offset ", 7) == 0 ? RPC_NONE : now;
}

int explain_parse_rpc_stats(const char *text, struct explain_rpcs *to)
{
    _free_ char *copy = strdup(text);
    struct explain_rpcs sum = *to;
    enum rpc_table table = RPC_NONE;
    bool found = false;
    char *rest = copy, *line;

    while ((line = next_line(&rest))) {
        uint32_t label;
        uint64_t reads, writes;

        table = rpc_table_of(line, table);
        found |= table == RPC_SIZES;
        if (!parse_rpc_row(line, &label, &reads, &writes))
            continue;
        if (table == RPC_SIZES && add_rpc_size(&sum, label, reads, writes) < 0)
            return -EBADMSG;
        if (table == RPC_AT_ONCE && (reads || writes) && label > sum.at_once)
            sum.at_once = label;
    }
    if (!found)
        return -EBADMSG;
    *to = sum;
    return 0;
}

char *explain_parse_cgroup(const char *text, uint32_t jobid)
{
    _free_ char *copy = strdup(text);
    char *rest = copy, *line, name[32];

    (void)snprintf(name, sizeof(name), "/job_%" PRIu32, jobid);
    while ((line = next_line(&rest))) {
        char *at = strncmp(line, "0::", 3) == 0 ? strstr(line, name) : NULL;

        if (!at || (at[strlen(name)] && at[strlen(name)] != '/'))
            continue;
        at[strlen(name)] = '\0';
        return strdup(line + 3);
    }
    return NULL;
}
