/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/explain/explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text_buffer.h"
#include "common/numbers.h"
#include "common/tree.h"
#include "common/units.h"
#include "common/utf8.h"
#include "report/layout.h"
#include "report/table.h"

#define SLACK 65536 /* bytes; a smaller difference, or one below 1 %, is ignored */
#define REASONS_MAX 8
#define REASON_SIZE 240

/* --- what is compared ------------------------------------------------------------------------- */

struct facts {
    const struct job_account *job;
    const struct explain_figure *figure;
    uint64_t read, written;   /* of the account, on the figure's mount if it has one */
    uint64_t mapped_read;     /* by page faults */
    uint64_t cached;          /* read from the page cache */
    uint64_t network, memory; /* bytes on file systems without a disk of this node */
    uint64_t async;           /* requests */
};

static bool is_one_of(const char *fstype, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(fstype, *list) == 0)
            return true;
    return false;
}

static bool is_network(const char *fstype)
{
    static const char *const list[] = {"nfs",  "nfs4", "lustre", "gpfs",      "beegfs",
                                       "ceph", "cifs", "smb3",   "glusterfs", "pvfs2",
                                       "afs",  "9p",   NULL};

    return is_one_of(fstype, list);
}

static bool is_memory(const char *fstype)
{
    static const char *const list[] = {"tmpfs", "ramfs", "hugetlbfs", "devtmpfs", NULL};

    return is_one_of(fstype, list);
}

static void facts_add(struct facts *f, const struct io_mount *m)
{
    uint64_t read = io_account_reads(&m->io).bytes, written = io_account_writes(&m->io).bytes;

    add_saturating(&f->read, read);
    add_saturating(&f->written, written);
    if (m->io.ops[IO_MMAP_READ])
        add_saturating(&f->mapped_read, m->io.ops[IO_MMAP_READ]->bytes);
    add_saturating(&f->cached, m->cache.hit_bytes);
    if (is_network(m->fstype)) {
        add_saturating(&f->network, read);
        add_saturating(&f->network, written);
    }
    if (is_memory(m->fstype)) {
        add_saturating(&f->memory, read);
        add_saturating(&f->memory, written);
    }
    for (int op = 0; op < IO_OP_FIRST_META; op++)
        if (m->io.ops[op])
            add_saturating(&f->async, m->io.ops[op]->async_requests);
}

static struct facts facts_of(const struct job_account *job, const struct explain_figure *figure)
{
    struct facts f = {.job = job, .figure = figure};

    for (size_t i = 0; i < job->mounts.n; i++)
        if (!figure->mount || strcmp(figure->mount, job->mounts.items[i].mount) == 0)
            facts_add(&f, &job->mounts.items[i]);
    return f;
}

/* a exceeds b by more than the slack. */
static bool is_more(uint64_t a, uint64_t b)
{
    return a > b && a - b > SLACK && a - b > b / 100;
}

/* --- the rules -------------------------------------------------------------------------------- */

static bool more(const struct facts *f)
{
    return is_more(f->figure->read, f->read) || is_more(f->figure->written, f->written);
}

static bool less(const struct facts *f)
{
    return is_more(f->read, f->figure->read) || is_more(f->written, f->figure->written);
}

static bool read_more(const struct facts *f)
{
    return is_more(f->figure->read, f->read);
}

static bool write_more(const struct facts *f)
{
    return is_more(f->figure->written, f->written);
}

static bool write_less(const struct facts *f)
{
    return is_more(f->written, f->figure->written);
}

static bool cached(const struct facts *f)
{
    return f->cached && is_more(f->read, f->figure->read);
}

static bool asynchronous(const struct facts *f)
{
    return f->async && less(f);
}

static bool mapped(const struct facts *f)
{
    return f->mapped_read > 0;
}

static bool on_network(const struct facts *f)
{
    return f->network > 0;
}

static bool in_memory(const struct facts *f)
{
    return f->memory > 0;
}

static bool running(const struct facts *f)
{
    return !f->job->ended;
}

static bool several_nodes(const struct facts *f)
{
    return f->job->nodes_expected > 1;
}

static bool always(const struct facts *f)
{
    (void)f;
    return true;
}

static bool ours_incomplete(const struct facts *f)
{
    return f->job->ended && !job_is_complete(f->job) && more(f);
}

#define KIND(name) (1u << EXPLAIN_##name)
#define CALLS (KIND(SACCT) | KIND(PROC_CALLS))
#define PROC (KIND(PROC_CALLS) | KIND(PROC_DISK))
#define DISK (KIND(PROC_DISK) | KIND(CGROUP))
#define WIRE (KIND(NFS_WIRE) | KIND(LUSTRE_WIRE))
#define NODE (KIND(NFS_CALLS) | KIND(LUSTRE) | WIRE)

/* A '%' in the text is the amount. */
static const struct rule {
    unsigned kinds;
    bool (*holds)(const struct facts *f);
    size_t amount; /* which of the facts; 0: none */
    bool count;    /* a number, not bytes */
    const char *text;
} rules[] = {
    {NODE, always, 0, false,
     "It covers the whole node since the file system was mounted, with other jobs and the system."},
    {PROC | KIND(CGROUP) | NODE, several_nodes, 0, false,
     "It covers this node only; the job has others."},
    {KIND(SACCT), running, 0, false,
     "Slurm records it when a step ends, and steps of this job are still running."},
    {CALLS, more, 0, false,
     "It counts everything that programs read and write, including pipes, terminals, sockets, "
     "/proc and /sys. jobio counts files on file systems."},
    {KIND(SACCT), less, 0, false,
     "Slurm samples every 30 s (JobAcctGatherFrequency): it misses what a task did after the last "
     "sample, and tasks that ran between two samples."},
    {PROC, less, 0, false,
     "It covers the processes that are alive, and the children that they waited for; what other "
     "processes did is gone."},
    {CALLS, asynchronous, offsetof(struct facts, async), true,
     "It does not include asynchronous I/O (io_uring, libaio): % calls of this job."},
    {CALLS, mapped, offsetof(struct facts, mapped_read), false,
     "Neither this nor jobio's sum includes what page faults read from mapped files; jobio lists "
     "it separately (mmap_read: %)."},
    {DISK | WIRE, cached, offsetof(struct facts, cached), false,
     "% of the job's reads came from the page cache and needed no disk or server."},
    {KIND(CGROUP), on_network, offsetof(struct facts, network), false,
     "It does not include network file systems: % of the job's I/O."},
    {KIND(PROC_DISK), on_network, offsetof(struct facts, network), false,
     "Of network file systems (% of the job's I/O) it includes some pages or nothing, depending on "
     "the file system."},
    {DISK, in_memory, offsetof(struct facts, memory), false,
     "It does not include tmpfs and /dev/shm, which are memory: % of the job's I/O."},
    {DISK | WIRE, read_more, 0, false,
     "It counts whole pages, read-ahead, and mapped files including program code."},
    {KIND(PROC_DISK), write_more, 0, false,
     "It counts whole pages, including those of mapped files."},
    {KIND(PROC_DISK), write_less, 0, false,
     "A page that was written several times before it went to the disk counts once."},
    {KIND(CGROUP), write_more, 0, false,
     "It includes what the file system adds: whole blocks, its journal and metadata."},
    {KIND(CGROUP) | WIRE, write_less, 0, false,
     "Written data waits in memory: it goes out later, or never if the file is removed first."},
    {CALLS, ours_incomplete, 0, false,
     "jobio's own account is incomplete ('jobio job' shows what is missing)."},
};

static void fill_in(const struct rule *rule, const struct facts *f, char *text, size_t size)
{
    const char *mark = rule->amount ? strchr(rule->text, '%') : NULL;
    char amount[UNITS_SIZE];
    uint64_t value;

    if (!mark) {
        (void)snprintf(text, size, "%s", rule->text);
        return;
    }
    memcpy(&value, (const char *)f + rule->amount, sizeof(value));
    (void)snprintf(text, size, "%.*s%s%s", (int)(mark - rule->text), rule->text,
                   rule->count ? units_count(value, amount) : units_bytes(value, amount), mark + 1);
}

struct reasons {
    char text[REASONS_MAX][REASON_SIZE];
    size_t n;
};

static uint64_t rpcs_number(const uint64_t *sizes)
{
    uint64_t n = 0;

    for (size_t i = 0; i < EXPLAIN_RPC_SIZES; i++)
        add_saturating(&n, sizes[i]);
    return n;
}

/* Half of the requests are at most so large. */
static uint64_t rpcs_median(const uint64_t *sizes, uint32_t page_bytes)
{
    uint64_t half = rpcs_number(sizes) / 2, seen = sizes[0];
    size_t i = 0;

    while (seen <= half && i + 1 < EXPLAIN_RPC_SIZES)
        add_saturating(&seen, sizes[++i]);
    return (uint64_t)page_bytes << i;
}

/* "12 read requests (half of them at most 4.0 KiB)" */
static void describe_rpcs(const uint64_t *sizes, const char *what, uint32_t page_bytes, char *text,
                          size_t size)
{
    char number[UNITS_SIZE], bytes[UNITS_SIZE];
    uint64_t n = rpcs_number(sizes);

    if (n)
        (void)snprintf(text, size, "%s %s requests (half of them at most %s)",
                       units_count(n, number), what,
                       units_bytes(rpcs_median(sizes, page_bytes), bytes));
    else
        (void)snprintf(text, size, "no %s requests", what);
}

static void add_rpcs(struct reasons *to, const struct explain_rpcs *rpcs)
{
    char reads[REASON_SIZE / 3], writes[REASON_SIZE / 3];

    if (to->n == REASONS_MAX)
        return;
    describe_rpcs(rpcs->reads, "read", rpcs->page_bytes, reads, sizeof(reads));
    describe_rpcs(rpcs->writes, "write", rpcs->page_bytes, writes, sizeof(writes));
    (void)snprintf(to->text[to->n++], REASON_SIZE,
                   "These are %s and %s; at most %u%s at a time to one target.", reads, writes,
                   (unsigned)rpcs->at_once,
                   rpcs->at_once == EXPLAIN_RPC_SIZES - 1 ? " or more" : "");
}

/* For figures that are not missing. */
static void reasons_find(const struct job_account *job, const struct explain_figure *figure,
                         struct reasons *ret)
{
    struct facts f = facts_of(job, figure);
    bool differs = more(&f) || less(&f);

    ret->n = 0;
    for (size_t i = 0; i < ARRAY_SIZE(rules) && ret->n < REASONS_MAX; i++) {
        bool scope = rules[i].holds == always || rules[i].holds == several_nodes;

        if (!(rules[i].kinds & 1u << figure->kind) || !rules[i].holds(&f) || (!differs && !scope))
            continue;
        fill_in(&rules[i], &f, ret->text[ret->n++], REASON_SIZE);
    }
    if (figure->kind == EXPLAIN_LUSTRE_WIRE)
        add_rpcs(ret, &figure->rpcs);
    if (!differs && !ret->n)
        (void)snprintf(ret->text[ret->n++], REASON_SIZE, "It agrees with jobio.");
}

/* --- as text ---------------------------------------------------------------------------------- */

static const struct kind {
    const char *name, *counts;
} kinds[EXPLAIN_KINDS] = {
    [EXPLAIN_SACCT] = {"sacct fs/disk", "bytes of its tasks' calls, sampled"},
    [EXPLAIN_PROC_CALLS] = {"/proc io, calls", "rchar, wchar: any read and write call"},
    [EXPLAIN_PROC_DISK] = {"/proc io, disk", "read_bytes, write_bytes: to the disk"},
    [EXPLAIN_CGROUP] = {"cgroup io.stat", "what went to this node's disks"},
    [EXPLAIN_NFS_CALLS] = {"NFS, calls", "all programs of the node"},
    [EXPLAIN_NFS_WIRE] = {"NFS, network", "between this node and the server"},
    [EXPLAIN_LUSTRE] = {"Lustre llite", "all programs of the node"},
    [EXPLAIN_LUSTRE_WIRE] = {"Lustre, network", "between this node and the servers of data"},
};

#define NAME_COLUMNS 26
#define NUMBER_COLUMNS 10

static char *name_of(const struct explain_figure *figure, unsigned columns)
{
    const struct kind *kind = &kinds[figure->kind];
    size_t room = columns - 2 * NUMBER_COLUMNS;
    char text[512];

    (void)snprintf(text, sizeof(text), "%s%s%s", kind->name, figure->mount ? " " : "",
                   figure->mount ? figure->mount : "");
    return layout_fit(text, room < NAME_COLUMNS ? room : NAME_COLUMNS);
}

static size_t name_width(const struct explain_figure *figures, size_t n, unsigned columns)
{
    size_t width = strlen("source");

    for (size_t i = 0; i < n; i++) {
        _free_ char *name = name_of(&figures[i], columns);
        size_t own = name ? layout_width(name) : 0;

        width = own > width ? own : width;
    }
    return width;
}

struct page {
    FILE *out;
    size_t name; /* the width of the first column */
    unsigned columns;
};

/* `text` after `line`; further lines are indented to where `text` starts. */
static void put_wrapped(const struct page *t, const char *line, const char *text)
{
    size_t size = strlen(line) + strlen(text) + 1;
    _free_ char *whole = malloc(size);

    if (!whole)
        return;
    (void)snprintf(whole, size, "%s%s", line, text);
    layout_wrap(t->out, whole, t->columns, layout_width(line), 8);
}

/* `counts` follows the numbers, or stands below them on a narrow terminal. */
static void put_row(const struct page *t, const char *name, const char *read, const char *written,
                    const char *counts)
{
    static const struct table_column columns[] = {{"source", 0, 0, true, 0},
                                                  {"read", NUMBER_COLUMNS, 0, false, 0},
                                                  {"written", NUMBER_COLUMNS, 0, false, 0}};
    bool roomy = t->columns >= t->name + 2 * NUMBER_COLUMNS + 30;
    _free_ char *line = NULL;
    struct text_buffer text;
    struct table table;
    FILE *out = text_buffer_open(&text);

    if (!out)
        return;
    table = table_make(out, columns, ARRAY_SIZE(columns), t->columns);
    table.columns[0].width = (unsigned)t->name;
    table_cell(&table, name);
    table_cell(&table, read);
    table_cell(&table, written);
    (void)fputs(roomy ? "  " : "\n", out);
    line = text_buffer_take(&text);
    if (!line)
        return;
    if (roomy) {
        put_wrapped(t, line, counts);
        return;
    }
    (void)fputs(line, t->out);
    put_wrapped(t, "  ", counts);
}

static void put_figure(const struct page *t, const struct explain_figure *figure)
{
    _free_ char *name = name_of(figure, t->columns), *missing = NULL;
    char read[UNITS_SIZE], written[UNITS_SIZE];

    if (!name)
        return;
    if (figure->missing) {
        missing = utf8_sanitize(figure->missing);
        put_row(t, name, "-", "-", missing ? missing : "");
        return;
    }
    put_row(t, name, units_bytes(figure->read, read), units_bytes(figure->written, written),
            kinds[figure->kind].counts);
}

static void put_difference(FILE *out, uint64_t theirs, uint64_t ours, const char *what,
                           const char **comma)
{
    char amount[UNITS_SIZE];
    uint64_t by = theirs > ours ? theirs - ours : ours - theirs;

    if (!is_more(theirs, ours) && !is_more(ours, theirs))
        return;
    (void)fprintf(out, "%s %s %s %s", *comma, units_bytes(by, amount),
                  theirs > ours ? "more" : "less", what);
    *comma = ",";
}

/* "sacct fs/disk: 20.0 MiB more read, 2.0 MiB less written than jobio" */
static char *headline(const struct facts *f, const char *name)
{
    const char *comma = ":";
    struct text_buffer text;
    FILE *out = text_buffer_open(&text);

    if (!out)
        return NULL;
    (void)fputs(name, out);
    put_difference(out, f->figure->read, f->read, "read", &comma);
    put_difference(out, f->figure->written, f->written, "written", &comma);
    (void)fputs(*comma == ',' ? " than jobio" : ": as much as jobio", out);
    return text_buffer_take(&text);
}

static void put_reasons(const struct page *t, const struct job_account *job,
                        const struct explain_figure *figure)
{
    struct facts f = facts_of(job, figure);
    _free_ char *name = name_of(figure, t->columns), *line = name ? headline(&f, name) : NULL;
    struct reasons reasons;

    if (!line)
        return;
    reasons_find(job, figure, &reasons);
    (void)fputc('\n', t->out);
    layout_wrap(t->out, line, t->columns, 2, 4);
    for (size_t i = 0; i < reasons.n; i++)
        put_wrapped(t, "  ", reasons.text[i]);
}

static void put_ours(const struct page *t, const struct job_account *job)
{
    const struct explain_figure all = {.kind = EXPLAIN_SACCT};
    struct facts f = facts_of(job, &all);
    char read[UNITS_SIZE], written[UNITS_SIZE];

    put_row(t, "jobio", units_bytes(f.read, read), units_bytes(f.written, written),
            !job->ended            ? "calls on files, so far"
            : job_is_complete(job) ? "calls on files, complete"
                                   : "calls on files, NOT complete");
}

char *report_explain_text(const struct job_account *job, const struct explain_figure *figures,
                          size_t n, unsigned columns)
{
    struct text_buffer text;
    FILE *out = text_buffer_open(&text);
    struct page t = {.out = out, .name = name_width(figures, n, columns), .columns = columns};

    if (!out)
        return NULL;
    (void)fprintf(out, "I/O of job %" PRIu32 " as counted by other tools\n\n", job->key.jobid);
    put_row(&t, "source", "read", "written", "what it counts");
    put_ours(&t, job);
    for (size_t i = 0; i < n; i++)
        put_figure(&t, &figures[i]);
    for (size_t i = 0; i < n; i++)
        if (!figures[i].missing)
            put_reasons(&t, job, &figures[i]);
    return text_buffer_take(&text);
}

/* --- as JSON ---------------------------------------------------------------------------------- */

static struct json_object *reasons_json(struct tree *t, const struct job_account *job,
                                        const struct explain_figure *figure)
{
    struct json_object *array = tree_array(t);
    struct reasons reasons;

    reasons_find(job, figure, &reasons);
    for (size_t i = 0; i < reasons.n; i++)
        tree_add_text(t, array, reasons.text[i]);
    return array;
}

static struct json_object *figure_json(struct tree *t, const struct job_account *job,
                                       const struct explain_figure *figure)
{
    struct json_object *o = tree_object(t);

    tree_put_text(t, o, "tool", kinds[figure->kind].name);
    tree_put_text(t, o, "mount", figure->mount);
    if (figure->missing) {
        tree_put_text(t, o, "missing", figure->missing);
        return o;
    }
    tree_put_text(t, o, "counts", kinds[figure->kind].counts);
    tree_put_u64(t, o, "read_bytes", figure->read);
    tree_put_u64(t, o, "written_bytes", figure->written);
    tree_put(t, o, "why", reasons_json(t, job, figure));
    return o;
}

struct json_object *report_explain_json(const struct job_account *job,
                                        const struct explain_figure *figures, size_t n)
{
    struct tree tree = {false};
    struct json_object *array = tree_array(&tree);

    for (size_t i = 0; i < n; i++)
        tree_add(&tree, array, figure_json(&tree, job, &figures[i]));
    return tree_end(&tree, array);
}
