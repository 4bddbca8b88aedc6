/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "cli/top/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/units.h"
#include "common/utf8.h"
#include "report/layout.h"
#include "report/table.h"

#define BAR 10
#define TEXT_MAX 256

/* --- cells ------------------------------------------------------------------------------------ */

struct cell {
    const struct top_frame *frame;
    const struct top_row *row;
    bool total; /* a row of totals */
};

const char *top_label(const struct top_frame *frame, const struct top_row *row, char buf[32])
{
    if (!row->who) {
        (void)snprintf(buf, 32, "%zu job%s", row->jobs, row->jobs == 1 ? "" : "s");
        return buf;
    }
    switch (row->who->kind) {
    case TOP_RUN:
        return "run";
    case TOP_SERVICE:
        return "service";
    case TOP_REST:
        return frame->now->hidden ? "others" : "(ended)";
    default:
        (void)snprintf(buf, 32, "%" PRIu64, row->who->number);
        return buf;
    }
}

static void safe(char *buf, const char *text)
{
    _free_ char *clean = text ? utf8_sanitize(text) : NULL;

    (void)snprintf(buf, TEXT_MAX, "%s", !text ? "-" : clean ? clean : "?");
}

static void cell_job(const struct cell *c, char *buf)
{
    char label[32];

    (void)snprintf(buf, TEXT_MAX, "%s", c->total ? "all" : top_label(c->frame, c->row, label));
}

static void cell_jobs(const struct cell *c, char *buf)
{
    if (c->total)
        (void)snprintf(buf, TEXT_MAX, "all");
    else if (c->row->jobs)
        (void)snprintf(buf, TEXT_MAX, "%zu", c->row->jobs);
    else
        (void)snprintf(buf, TEXT_MAX, "-");
}

static void cell_user(const struct cell *c, char *buf)
{
    char label[32];

    if (c->total)
        (void)snprintf(buf, TEXT_MAX, "all");
    else if (!c->row->user && (!c->row->who || c->row->who->kind == TOP_SERVICE))
        (void)snprintf(buf, TEXT_MAX, "services");
    else if (!c->row->user && c->row->who && c->row->who->kind == TOP_REST)
        (void)snprintf(buf, TEXT_MAX, "%s", top_label(c->frame, c->row, label));
    else
        safe(buf, c->row->user);
}

/* The user in a row that names its job. */
static void cell_job_user(const struct cell *c, char *buf)
{
    if (c->total)
        *buf = '\0';
    else
        safe(buf, c->row->user);
}

static void cell_name(const struct cell *c, char *buf)
{
    if (c->total)
        *buf = '\0';
    else
        safe(buf, c->row->who ? c->row->who->name : NULL);
}

static void cell_mount(const struct cell *c, char *buf)
{
    if (c->row->mount)
        safe(buf, c->row->mount);
    else
        (void)snprintf(buf, TEXT_MAX, "%zu mount%s", c->row->mounts,
                       c->row->mounts == 1 ? "" : "s");
}

/* `write` formats a rate. A rate below 1 is not shown as 0. */
static void rate(const struct cell *c, uint64_t amount, char *(*write)(uint64_t, char *), char *buf)
{
    uint64_t per_second = io_per_second(amount, c->frame->rows.interval_ns);

    if (!amount)
        (void)strcpy(buf, "-");
    else if (!per_second)
        (void)strcpy(buf, "<1");
    else
        (void)write(per_second, buf);
}

static void cell_read(const struct cell *c, char *buf)
{
    rate(c, c->row->sums.read_bytes, units_bytes_short, buf);
}

static void cell_write(const struct cell *c, char *buf)
{
    rate(c, c->row->sums.write_bytes, units_bytes_short, buf);
}

static void cell_mmap(const struct cell *c, char *buf)
{
    rate(c, c->row->sums.mmap_read_bytes + c->row->sums.mmap_write_bytes, units_bytes_short, buf);
}

static void cell_meta(const struct cell *c, char *buf)
{
    rate(c, c->row->sums.meta_requests, units_count_short, buf);
}

static void cell_errors(const struct cell *c, char *buf)
{
    rate(c, c->row->sums.errors, units_count_short, buf);
}

static void cell_size(const struct cell *c, char *buf)
{
    (void)units_bytes_bound_short(io_quantile(c->row->sums.sizes, 0.5, io_size_bound), buf);
}

static void cell_wait(const struct cell *c, char *buf)
{
    uint64_t interval = c->frame->rows.interval_ns;
    double threads = interval ? (double)c->row->sums.wait_ns / (double)interval : 0;

    if (threads < 0.005)
        (void)strcpy(buf, threads > 0 ? "0.00" : "-");
    else
        (void)snprintf(buf, TEXT_MAX,
                       threads < 9.995   ? "%.2f"
                       : threads < 99.95 ? "%.1f"
                                         : "%.0f",
                       threads);
}

/* --- columns ---------------------------------------------------------------------------------- */

enum { BY_JOB = 1 << TOP_BY_JOB_MOUNT | 1 << TOP_BY_JOB, BY_ALL = 15 };

/* In the order of the line. */
static const struct column {
    const char *title;
    unsigned least, most; /* how wide */
    unsigned rank;        /* 0: always shown; else the highest are hidden first */
    unsigned by;          /* bit 1 << top_by: the views that show it */
    int key;              /* enum top_key, or -1 */
    bool number;
    void (*cell)(const struct cell *c, char *buf);
} columns[] = {
    {"job", 7, 10, 0, BY_JOB, -1, false, cell_job},
    {"user", 8, 12, 3, BY_JOB, -1, false, cell_job_user},
    {"user", 8, 16, 0, 1 << TOP_BY_USER, -1, false, cell_user},
    {"name", 8, 24, 6, BY_JOB, -1, false, cell_name},
    {"mount", 8, 32, 0, BY_ALL, -1, false, cell_mount},
    {"jobs", 5, 5, 3, 1 << TOP_BY_MOUNT | 1 << TOP_BY_USER, -1, true, cell_jobs},
    {"read/s", 6, 6, 0, BY_ALL, TOP_READ, true, cell_read},
    {"write/s", 7, 7, 0, BY_ALL, TOP_WRITE, true, cell_write},
    {"meta/s", 6, 6, 1, BY_ALL, TOP_META, true, cell_meta},
    {"mmap/s", 6, 6, 7, BY_ALL, -1, true, cell_mmap},
    {"~size", 6, 6, 5, BY_ALL, -1, true, cell_size},
    {"errs/s", 6, 6, 4, BY_ALL, TOP_ERRORS, true, cell_errors},
    {"wait", 4, 4, 2, BY_ALL, TOP_WAIT, true, cell_wait},
};

#define COLUMNS ARRAY_SIZE(columns)
#define RANK_LAST 7 /* only if all texts are shown in full */

/* The table, with the widths that fit. */
struct layout {
    struct table table;
    unsigned bar; /* its width, after the columns; 0: none */
    enum top_by by;
    enum top_key key;
};

/* The widest text of a column. */
static unsigned measure(const struct top_frame *frame, const struct top_rows *rows, size_t column)
{
    unsigned widest = 0;

    for (size_t i = 0; i < rows->n; i++) {
        const struct cell cell = {frame, &rows->items[i], false};
        char text[TEXT_MAX];
        size_t width;

        columns[column].cell(&cell, text);
        width = layout_width(text);
        widest = width > widest ? (unsigned)width : widest;
    }
    return widest;
}

/* Widen a column whose texts do not fit into the remaining room. */
static void widen(struct layout *l, const struct top_frame *frame, const struct top_rows *rows,
                  size_t column, unsigned room)
{
    unsigned *width = &l->table.columns[column].width, used = table_width(&l->table), need;

    if (!*width || used >= room)
        return;
    need = measure(frame, rows, column);
    if (need > columns[column].most)
        need = columns[column].most;
    if (need > *width + (room - used))
        need = *width + (room - used);
    if (need > *width)
        *width = need;
}

/* Show the columns of a rank as far as there is room; the sort column has rank 0. */
static void add_columns(struct layout *l, unsigned rank, unsigned room)
{
    for (size_t i = 0; i < COLUMNS; i++) {
        const struct column *c = &columns[i];

        if (!(c->by & 1u << l->by) || (c->key == (int)l->key ? 0 : c->rank) != rank)
            continue;
        l->table.columns[i].width = c->least;
        if (rank && table_width(&l->table) > room)
            l->table.columns[i].width = 0;
    }
}

static void put_piece(void *arg, int style, const char *piece)
{
    const struct top_paper *paper = arg;

    paper->put(paper->arg, (enum top_style)style, piece);
}

static void end_line(void *arg)
{
    const struct top_paper *paper = arg;

    paper->end(paper->arg);
}

/* All columns are hidden. */
static struct table empty_table(const struct top_paper *paper)
{
    struct table_column none[COLUMNS] = {{0}};
    struct table table;

    for (size_t i = 0; i < COLUMNS; i++) {
        none[i].title = columns[i].title;
        none[i].left = !columns[i].number;
    }
    table = table_make(NULL, none, COLUMNS, paper->columns);
    table.gap = 1;
    table.put = put_piece;
    table.end = end_line;
    table.arg = (void *)paper;
    return table;
}

static struct layout make_layout(const struct top_frame *frame, const struct top_rows *rows,
                                 const struct top_view *view, const struct top_paper *paper)
{
    struct layout l = {.by = view->by, .key = view->key};
    unsigned sum;

    l.table = empty_table(paper);
    for (unsigned rank = 0; rank < RANK_LAST; rank++)
        add_columns(&l, rank, paper->columns);
    for (size_t i = 0; i < COLUMNS; i++)
        if (columns[i].cell == cell_job || columns[i].cell == cell_mount)
            widen(&l, frame, rows, i, paper->columns);
    for (size_t i = 0; i < COLUMNS; i++)
        widen(&l, frame, rows, i, paper->columns);
    add_columns(&l, RANK_LAST, paper->columns);
    for (size_t i = 0; i < COLUMNS; i++)
        l.table.columns[i].cut = l.table.columns[i].width;
    sum = table_width(&l.table);
    l.bar = paper->bars && sum + 1 + BAR <= paper->columns ? BAR : 0;
    return l;
}

/* --- lines ------------------------------------------------------------------------------------ */

static void put(const struct top_paper *paper, enum top_style style, const char *text)
{
    paper->put(paper->arg, style, text);
}

static void put_heading(const struct top_paper *paper, struct layout *l)
{
    l->table.gap_style = TOP_STYLE_HEADING;
    for (size_t i = 0; i < COLUMNS; i++) {
        l->table.style = columns[i].key == (int)l->key ? TOP_STYLE_SORTED : TOP_STYLE_HEADING;
        table_cell(&l->table, columns[i].title);
    }
    if (l->bar) {
        put(paper, TOP_STYLE_HEADING, " ");
        put(paper, TOP_STYLE_SORTED, "share     ");
    }
    table_end(&l->table);
}

static enum top_style style_of(const struct column *c, const struct cell *cell, enum top_key key)
{
    const struct top_sums *s = &cell->row->sums;

    if (top_is_idle(s))
        return TOP_STYLE_IDLE;
    if (c->key == TOP_ERRORS && s->errors)
        return TOP_STYLE_BAD;
    if (c->key == TOP_WAIT && s->wait_ns >= cell->frame->rows.interval_ns)
        return TOP_STYLE_WARN;
    if (c->key == (int)key)
        return cell->total ? TOP_STYLE_TOTAL : TOP_STYLE_MINE;
    return cell->total ? TOP_STYLE_TOTAL : TOP_STYLE_PLAIN;
}

/* The row's share of the sum, in eighths of a block. */
static void put_bar(const struct top_paper *paper, enum top_style style, uint64_t part,
                    uint64_t whole)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    unsigned n = whole ? (unsigned)((double)part / (double)whole * BAR * 8 + 0.5) : 0;
    char text[4 * BAR + 4] = "";

    if (part && !n)
        n = 1;
    for (unsigned i = 0; i < n / 8 && i < BAR; i++)
        (void)strcat(text, paper->utf8 ? "█" : "#");
    if (n / 8 < BAR && n % 8)
        (void)strcat(text, paper->utf8 ? eighths[n % 8] : n % 8 >= 4 ? "#" : "");
    put(paper, style, " ");
    put(paper, style, text);
}

static void put_row(const struct top_paper *paper, struct layout *l, const struct cell *cell,
                    uint64_t whole)
{
    l->table.gap_style = cell->total ? TOP_STYLE_TOTAL : TOP_STYLE_PLAIN;
    for (size_t i = 0; i < COLUMNS; i++) {
        char text[TEXT_MAX];

        columns[i].cell(cell, text);
        l->table.style = style_of(&columns[i], cell, l->key);
        table_cell(&l->table, text);
    }
    if (l->bar && !cell->total)
        put_bar(paper, TOP_STYLE_MINE, top_value(&cell->row->sums, l->key), whole);
    table_end(&l->table);
}

/* --- totals ----------------------------------------------------------------------------------- */

/* Sums up the totals that have no line of their own in the last one. */
static void fold_totals(struct top_rows *totals, size_t most)
{
    struct top_rows rest = *totals;
    struct top_row *last;

    if (!most || totals->n <= most)
        return;
    rest.items += most - 1;
    rest.n -= most - 1;
    last = &totals->items[most - 1];
    last->sums = top_sum(&rest);
    last->mount = last->fstype = NULL;
    last->mounts = rest.n;
    totals->n = most;
}

/* Returns how many. */
static size_t put_totals(const struct top_paper *paper, struct layout *l,
                         const struct top_frame *frame, const struct top_view *view)
{
    struct top_rows totals = {0};
    size_t most = view->by == TOP_BY_MOUNT ? 1 : view->totals;

    size_t n;

    if (top_group(&frame->rows, TOP_BY_MOUNT, view->user, &totals) < 0)
        return 0;
    top_sort(&totals, view->key);
    while (totals.n > 1 && top_is_idle(&totals.items[totals.n - 1].sums))
        totals.n--;
    fold_totals(&totals, most);
    for (size_t i = 0; i < totals.n; i++) {
        const struct cell cell = {frame, &totals.items[i], true};

        put_row(paper, l, &cell, 0);
    }
    n = totals.n;
    top_rows_clear(&totals);
    return n;
}

/* --- the table -------------------------------------------------------------------------------- */

static void drop_idle(struct top_rows *rows)
{
    size_t kept = 0;

    for (size_t i = 0; i < rows->n; i++)
        if (!top_is_idle(&rows->items[i].sums))
            rows->items[kept++] = rows->items[i];
    rows->n = kept;
}

int top_view_rows(const struct top_frame *frame, const struct top_view *view, struct top_rows *ret)
{
    int r = top_group(&frame->rows, view->by, view->user, ret);

    if (r < 0)
        return r;
    if (!view->idle)
        drop_idle(ret);
    top_sort(ret, view->key);
    return 0;
}

size_t top_draw_table(const struct top_paper *paper, const struct top_frame *frame,
                      const struct top_view *view, size_t *page)
{
    struct top_rows rows = {0};
    struct top_sums sum;
    struct layout l;
    size_t n, used, room, end;

    if (top_view_rows(frame, view, &rows) < 0)
        return 0;
    n = rows.n;
    sum = top_sum(&rows);
    l = make_layout(frame, &rows, view, paper);
    put_heading(paper, &l);
    used = 1 + put_totals(paper, &l, frame, view);
    room = !view->lines ? n : view->lines > used ? view->lines - used : 0;
    if (view->rows && view->rows < room)
        room = view->rows;
    if (page)
        *page = room;
    end = view->skip + room < n ? view->skip + room : n;
    for (size_t i = view->skip; i < end; i++) {
        const struct cell cell = {frame, &rows.items[i], false};

        put_row(paper, &l, &cell, top_value(&sum, view->key));
    }
    top_rows_clear(&rows);
    return n;
}

/* --- plain text ------------------------------------------------------------------------------- */

static void text_put(void *arg, enum top_style style, const char *piece)
{
    struct top_text *text = arg;
    size_t n = strlen(piece), end = n;

    (void)style;
    while (end > 0 && piece[end - 1] == ' ')
        end--;
    if (end) {
        (void)fprintf(text->out, "%*s%.*s", (int)text->spaces, "", (int)end, piece);
        text->spaces = 0;
    }
    text->spaces += n - end;
}

static void text_end(void *arg)
{
    struct top_text *text = arg;

    text->spaces = 0;
    (void)fputc('\n', text->out);
}

struct top_paper top_paper_text(struct top_text *text, unsigned width)
{
    return (struct top_paper){.columns = width, .put = text_put, .end = text_end, .arg = text};
}
