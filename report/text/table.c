/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "common/numbers.h"
#include "report/text/text_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/utf8.h"
#include "report/layout.h"
#include "report/table.h"

void text_row_add(struct text_row *to, const struct text_row *from)
{
    io_sum_add(&to->reads, from->reads);
    io_sum_add(&to->writes, from->writes);
    io_sum_add(&to->meta, from->meta);
    io_sum_add(&to->all, from->all);
    to->read_peak = max_u64(to->read_peak, from->read_peak);
    to->write_peak = max_u64(to->write_peak, from->write_peak);
    io_histogram_add(to->sizes, from->sizes);
}

static struct text_row row_of(const struct io_mount *m)
{
    static const enum io_op sized[] = {IO_READ, IO_WRITE, IO_COPY_READ, IO_COPY_WRITE};
    struct text_row row = {
        .mount = m,
        .reads = io_account_reads(&m->io),
        .writes = io_account_writes(&m->io),
        .meta = io_account_meta(&m->io),
        .all = io_account_all(&m->io),
        .read_peak = max_u64(m->peaks[IO_READ].bytes_per_s, m->peaks[IO_COPY_READ].bytes_per_s),
        .write_peak = max_u64(m->peaks[IO_WRITE].bytes_per_s, m->peaks[IO_COPY_WRITE].bytes_per_s),
    };

    for (size_t i = 0; i < ARRAY_SIZE(sized); i++)
        if (m->io.ops[sized[i]])
            io_histogram_add(row.sizes, m->io.ops[sized[i]]->size_log2);
    return row;
}

static int descending(uint64_t a, uint64_t b)
{
    return a < b ? 1 : a > b ? -1 : 0;
}

/* By waiting, then bytes, then calls, then name. */
static int compare_rows(const void *pa, const void *pb)
{
    const struct text_row *a = pa, *b = pb;
    int r = descending(a->all.time_ns, b->all.time_ns);

    if (r == 0)
        r = descending(a->all.bytes, b->all.bytes);
    if (r == 0)
        r = descending(a->all.requests, b->all.requests);
    return r ? r : strcmp(a->mount->mount, b->mount->mount);
}

int text_job_make(const struct job_account *job, struct text_job *ret)
{
    struct text_job t = {.job = job};

    t.wait_ns = job_wait_ns(job);
    t.rows = calloc(job->mounts.n + 1, sizeof(*t.rows));
    if (!t.rows)
        return -ENOMEM;
    for (size_t i = 0; i < job->mounts.n; i++) {
        t.rows[t.n] = row_of(&job->mounts.items[i]);
        text_row_add(&t.total, &t.rows[t.n]);
        t.n += t.rows[t.n].all.requests > 0;
    }
    qsort(t.rows, t.n, sizeof(*t.rows), compare_rows);
    *ret = t;
    return 0;
}

void text_job_clear(struct text_job *t)
{
    free(t->rows);
}

size_t text_columns(const struct text_job *t)
{
    return !t->style.columns ? TEXT_COLUMNS : t->style.columns < 30 ? 30 : t->style.columns;
}

bool text_is_narrow(const struct text_job *t)
{
    return text_columns(t) < TEXT_COLUMNS;
}

void text_lines(FILE *out, const struct text_job *t, enum text_paint paint, const char *text,
                size_t lines)
{
    static const char *const paints[] = {
        [TEXT_PLAIN] = "",        [TEXT_TITLE] = "\033[1m",  [TEXT_GOOD] = "\033[32m",
        [TEXT_HINT] = "\033[33m", [TEXT_BAD] = "\033[1;31m",
    };
    bool painted = t->style.colour && paint != TEXT_PLAIN;
    _free_ char *wrapped = NULL;
    size_t size;
    FILE *line = open_memstream(&wrapped, &size);

    if (!line)
        return;
    layout_wrap(line, text, text_columns(t), 2, lines);
    if (fclose(line) != 0)
        return;
    /* Each line on its own: a pager may show any of them first. */
    for (char *at = wrapped, *end; (end = strchr(at, '\n')); at = end + 1)
        (void)fprintf(out, "%s%.*s%s\n", painted ? paints[paint] : "", (int)(end - at), at,
                      painted ? "\033[0m" : "");
}

double text_waiting(const struct text_job *t, uint64_t time_ns)
{
    if (!t->job->elapsed_ns || !t->total.all.time_ns)
        return 0;
    return 100.0 * (double)t->wait_ns / (double)t->job->elapsed_ns * (double)time_ns /
           (double)t->total.all.time_ns;
}

char *text_waiting_short(const struct text_job *t, uint64_t time_ns, char buf[UNITS_SIZE])
{
    double percent = text_waiting(t, time_ns);

    if (percent <= 0)
        return strcpy(buf, "-");
    if (percent < 1)
        return strcpy(buf, "<1%");
    snprintf(buf, UNITS_SIZE, "%.0f%%", percent);
    return buf;
}

/* --- title -------------------------------------------------------------------------------------
 */

/* The command line of `jobio run` in one string; NULL: no memory. */
static char *command_line(char **command)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    for (char **word = command; *word; word++)
        fprintf(out, "%s%s", word == command ? "" : " ", *word);
    return fclose(out) == 0 ? text : NULL;
}

char *text_job_number(const struct job_account *job, char buf[TEXT_NUMBER])
{
    if (job->array_job)
        (void)snprintf(buf, TEXT_NUMBER, "%u_%u (%u)", job->array_job, job->array_task,
                       job->key.jobid);
    else
        (void)snprintf(buf, TEXT_NUMBER, "%u", job->key.jobid);
    return buf;
}

#define TITLE "I/O summary: "

void text_title(FILE *out, const struct text_job *t)
{
    const struct job_account *job = t->job;
    char end[UNITS_SIZE + 4], elapsed[UNITS_SIZE], number[TEXT_NUMBER], who[64];
    _free_ char *command = NULL, *fitted = NULL, *line = NULL;
    uint32_t nodes = job->nodes_expected ? job->nodes_expected : job->nodes_reported;

    (void)snprintf(end, sizeof(end), ", %s", units_elapsed(job->elapsed_ns, elapsed));
    if (job->command) {
        command = command_line(job->command);
        fitted =
            command ? layout_cut(command, text_columns(t) - strlen(TITLE) - strlen(end)) : NULL;
        if (asprintf(&line, TITLE "%s%s", fitted ? fitted : "?", end) < 0)
            line = NULL;
    } else {
        (void)snprintf(who, sizeof(who), "job %s%s", text_job_number(job, number),
                       job->ended ? "" : " so far");
        if (asprintf(&line, TITLE "%s, %u node%s%s", who, nodes, nodes == 1 ? "" : "s", end) < 0)
            line = NULL;
    }
    text_lines(out, t, TEXT_TITLE, line ? line : TITLE "?", text_is_narrow(t) ? 2 : 1);
}

/* --- table -------------------------------------------------------------------------------------
 */

/* With the mount they make 80. */
enum column {
    MOUNT,
    READ,
    READ_MEAN,
    READ_PEAK,
    WRITE,
    WRITE_MEAN,
    WRITE_PEAK,
    CALLS,
    SIZE,
    META,
    ERRORS,
    WAIT
};

static const struct table_column columns[] = {
    [MOUNT] = {"mount", 0, 0, true, 0}, /* as wide as the others leave room for */
    [READ] = {"read", 7, 0, false, 0},
    [READ_MEAN] = {"mean/s", 7, 80, false, 0},
    [READ_PEAK] = {"peak/s", 7, 70, false, 0},
    [WRITE] = {"write", 7, 0, false, 0},
    [WRITE_MEAN] = {"mean/s", 7, 80, false, 0},
    [WRITE_PEAK] = {"peak/s", 7, 70, false, 0},
    [CALLS] = {"calls", 6, 60, false, 0},
    [SIZE] = {"~size", 7, 40, false, 0}, /* the first to go when names need the room */
    [META] = {"meta", 5, 40, false, 0},
    [ERRORS] = {"errs", 5, 50, false, 0},
    [WAIT] = {"wait", 5, 0, false, 0},
};

#define LEAST_MOUNT 8
#define MOST_MOUNT 32

/* What the visible columns leave of the width. */
static unsigned room_for_mounts(const struct table *table, const struct text_job *t)
{
    unsigned used = table_width(table), all = (unsigned)text_columns(t);

    return all > used + LEAST_MOUNT ? all - used : LEAST_MOUNT;
}

/* The width of the longest name of the first `limit` mounts, with a star behind it. */
static size_t longest_name(const struct text_job *t, size_t limit)
{
    size_t longest = LEAST_MOUNT;

    for (size_t i = 0; i < t->n && i < limit; i++) {
        _free_ char *name = layout_fit(t->rows[i].mount->mount, MOST_MOUNT);
        size_t width = (name ? layout_width(name) : 0) + t->rows[i].mount->private;

        longest = width > longest ? width : longest;
    }
    return longest > MOST_MOUNT ? MOST_MOUNT : longest;
}

/* Nodes need not be busiest at the same time: of a job on several it is only known that its peak is
 * at least that of each, and at least its mean. */
static bool is_peak_a_bound(const struct job_account *job)
{
    return job->nodes_expected > 1 || job->nodes_reported > 1;
}

static struct table mounts_table(FILE *out, const struct text_job *t, size_t limit)
{
    struct table table = table_make(out, columns, ARRAY_SIZE(columns), text_columns(t));
    unsigned room = room_for_mounts(&table, t);

    if (longest_name(t, limit) > room) {
        table.columns[SIZE].width = 0;
        room = room_for_mounts(&table, t);
    }
    table.columns[MOUNT].width = room;
    table.brief = true;
    if (is_peak_a_bound(t->job))
        table.columns[READ_PEAK].title = table.columns[WRITE_PEAK].title = ">=peak";
    return table;
}

static uint64_t peak_of(const struct text_job *t, uint64_t peak, uint64_t mean)
{
    return peak && is_peak_a_bound(t->job) ? max_u64(peak, mean) : peak;
}

static void table_row(struct table *table, const struct text_job *t, const struct text_row *row,
                      const char *name)
{
    uint64_t requests = row->reads.requests, elapsed = t->job->elapsed_ns;
    uint64_t reads = io_per_second(row->reads.bytes, elapsed);
    uint64_t writes = io_per_second(row->writes.bytes, elapsed);
    char buf[UNITS_SIZE];

    add_saturating(&requests, row->writes.requests);
    table_cell(table, name);
    table_bytes(table, row->reads.bytes);
    table_bytes(table, reads);
    table_bytes(table, peak_of(t, row->read_peak, reads));
    table_bytes(table, row->writes.bytes);
    table_bytes(table, writes);
    table_bytes(table, peak_of(t, row->write_peak, writes));
    table_count(table, requests);
    table_cell(table, units_bytes_bound_short(io_quantile(row->sizes, 0.5, io_size_bound), buf));
    table_count(table, row->meta.requests);
    table_count(table, row->all.errors);
    table_cell(table, text_waiting_short(t, row->all.time_ns, buf));
    table_end(table);
}

/* A mount in the job's own namespace may have the name of another one: it gets a star. */
static void mount_row(struct table *table, const struct text_job *t, const struct text_row *row)
{
    bool own = row->mount->private;
    _free_ char *name = layout_fit(row->mount->mount, table->columns[MOUNT].width - own);
    _free_ char *starred = NULL;

    if (own && name && asprintf(&starred, "%s*", name) < 0)
        starred = NULL;
    table_row(table, t, row, own && starred ? starred : name ? name : "?");
}

/* What the columns do not have, if it is worth a word beside what they have. */
#define MAPPED_LEAST (UINT64_C(64) << 20)
#define MAPPED_PART 10

char *text_mapped_line(const struct text_job *t)
{
    uint64_t in = 0, out = 0, all;
    char read[UNITS_SIZE], written[UNITS_SIZE], *line;

    for (size_t i = 0; i < t->n; i++) {
        const struct io_account *io = &t->rows[i].mount->io;

        add_saturating(&in, io->ops[IO_MMAP_READ] ? io->ops[IO_MMAP_READ]->bytes : 0);
        add_saturating(&out, io->ops[IO_MMAP_WRITE] ? io->ops[IO_MMAP_WRITE]->bytes : 0);
    }
    all = in;
    add_saturating(&all, out);
    if (all < MAPPED_LEAST || all < t->total.all.bytes / MAPPED_PART ||
        asprintf(&line, "mapped files, not in the table: %s read, %s written",
                 units_bytes(in, read), units_bytes(out, written)) < 0)
        return NULL;
    return line;
}

/* Failed opens that reached no file system: worth a line when there are many, or when they took
 * time. The account has all of them. */
static bool is_worth_a_row(const struct text_job *t, const struct text_row *row)
{
    return strcmp(row->mount->mount, "(no mount)") != 0 || row->all.errors >= 1000 ||
           text_waiting(t, row->all.time_ns) >= 1;
}

void text_table(FILE *out, const struct text_job *t, size_t limit)
{
    struct table table = mounts_table(out, t, limit);
    _free_ char *mapped = limit ? text_mapped_line(t) : NULL;
    struct text_row rest = {0};
    size_t shown = 0, others = 0;
    bool star = false;

    if (!t->n) {
        fputs(job_not_counted(t->job) ? "" : "no I/O was counted\n", out);
        return;
    }
    table_titles(&table);
    for (size_t i = 0; i < t->n; i++) {
        const struct text_row *row = &t->rows[i];

        if (!is_worth_a_row(t, row))
            continue;
        if (shown == limit) {
            text_row_add(&rest, row);
            others++;
            continue;
        }
        mount_row(&table, t, row);
        star = star || row->mount->private;
        shown++;
    }
    if (others) {
        char name[UNITS_SIZE];

        /* The busiest intervals of two mounts need not be the same one: no peak of the sum. */
        rest.read_peak = rest.write_peak = 0;
        snprintf(name, sizeof(name), "%u more", (unsigned)others);
        table_row(&table, t, &rest, name);
    }
    if (star)
        text_lines(out, t, TEXT_PLAIN, "* mounted in the job's own namespace only", 2);
    if (mapped)
        text_lines(out, t, TEXT_PLAIN, mapped, 2);
}

/* --- completeness ------------------------------------------------------------------------------
 */

/* What a cause means to the owner of the job. `%s` of the words is the count. */
static const struct {
    const char *cause, *words;
    bool bytes;
} causes[] = {
    {"map-full", "calls found the counters full", false},
    {"map-full-bytes", "of data found the counters full", true},
    {"errno-unknown", "errors of unknown kind", false},
    {"latency-lost", "calls without their time", false},
    {"histogram-short", "calls missing from the histograms", false},
    {"mount-unannounced", "mounts without a name", false},
    {"end-unseen", "calls whose end was not seen", false},
    {"async-lost", "asynchronous calls not counted", false},
    {"async-unseen", "asynchronous calls whose end was not seen", false},
    {"cache-map-full-bytes", "of the page cache not counted", true},
    {"recursion-missed", "calls missed by the kernel", false},
    {"hook-not-attached", "kinds of calls not counted", false},
    {"self-test-failed", "operations not counted right", false},
    {"began-untracked", "steps began before they were counted", false},
    {"step-vanished", "steps gone without a word of their end", false},
    {"node-restarted", "steps cut off by a restart of the node", false},
    {"still-running", "processes still run", false},
};

static void write_ops(FILE *out, uint64_t ops)
{
    const char *between = " (";

    for (unsigned bit = 0; bit < IO_SET_BITS; bit++) {
        if (!(ops & UINT64_C(1) << bit))
            continue;
        fprintf(out, "%s%s", between, io_bit_name(bit));
        between = ", ";
    }
    if (ops)
        fputc(')', out);
}

static void write_cause(FILE *out, const struct incomplete *item)
{
    char buf[UNITS_SIZE];
    size_t i = 0;

    while (i < ARRAY_SIZE(causes) && strcmp(causes[i].cause, item->cause))
        i++;
    if (i < ARRAY_SIZE(causes)) {
        fprintf(out, "%s %s",
                causes[i].bytes ? units_bytes(item->count, buf) : units_count(item->count, buf),
                causes[i].words);
    } else {
        _free_ char *clean = utf8_sanitize(item->cause);

        fprintf(out, "%s", clean ? clean : "?");
        if (item->count > 1)
            fprintf(out, " (%s)", units_count(item->count, buf));
    }
    write_ops(out, item->ops);
}

char *text_completeness_line(const struct job_account *job)
{
    const struct completeness *c = &job->completeness;
    char *text = NULL, buf[UNITS_SIZE];
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    fputs(job_is_complete(job) ? "complete: " : "NOT complete: ", out);
    if (job->nodes_expected)
        fprintf(out, "%u/%u nodes", job->nodes_reported, job->nodes_expected);
    else
        fprintf(out, "%u nodes, of how many is not known", job->nodes_reported);
    fprintf(out, ", %s events lost", units_count(c->lost, buf));
    if (job->ns_per_event)
        fprintf(out, ", accounting took about %s",
                units_time(job_events(job) * job->ns_per_event, buf));
    for (size_t i = 0; i < c->n; i++) {
        fputs("; ", out);
        write_cause(out, &c->items[i]);
    }
    return fclose(out) == 0 ? text : NULL;
}

void text_completeness(FILE *out, const struct text_job *t, size_t lines)
{
    _free_ char *line = text_completeness_line(t->job);

    text_lines(out, t, job_is_complete(t->job) ? TEXT_PLAIN : TEXT_HINT,
               line ? line : "NOT complete: out of memory", lines);
}
