/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "report/advice/advice.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/text.h"
#include "common/text_buffer.h"
#include "common/units.h"
#include "common/utf8.h"
#include "report/advice/fields.h"
#include "report/advice/advice_impl.h"

/* The longest text or row, in bytes: for names of mounts and notes. */
#define MAX_LENGTH 65536

/* The instructions of SQLite that a rule may take for a job, about 0.1 s, counted in blocks: a rule
 * that joins the table of mounts with itself could take hours. */
#define STEPS_BLOCK 10000
#define BLOCKS_MAX 1000

/* Columns of a rule's statement; those of its text follow. */
enum { COLUMN_WHEN, COLUMN_LOST, COLUMN_TEXT };

static int sql_error(const struct advice *advice, struct error *error)
{
    return error_set(error, -EIO, "advice: %s", sqlite3_errmsg(advice->db));
}

/* --- the fields as tables --------------------------------------------------------------------- */

/* "CREATE TABLE ...", or "INSERT ... VALUES (?, ...)"; malloc'd. */
static char *table_sql(const char *table, const struct advice_fields *fields, bool create)
{
    struct text_buffer text;
    FILE *out = text_buffer_open(&text);

    if (!out)
        return NULL;
    (void)fprintf(out, create ? "CREATE TABLE %s (" : "INSERT INTO %s VALUES (", table);
    for (size_t i = 0; i < fields->n; i++) {
        (void)fputs(i ? ", " : "", out);
        if (create)
            (void)fprintf(out, "\"%s\" %s", fields->items[i].name,
                          fields->items[i].text ? "TEXT" : "REAL");
        else
            (void)fputc('?', out);
    }
    (void)fputc(')', out);
    return text_buffer_take(&text);
}

static int make_table(struct advice *advice, enum advice_scope scope,
                      const struct advice_fields *fields, struct error *error)
{
    _free_ char *create = table_sql(advice_tables[scope], fields, true);
    _free_ char *insert = table_sql(advice_tables[scope], fields, false);

    if (!create || !insert)
        return error_set(error, -ENOMEM, "no memory for advice");
    if (sqlite3_exec(advice->db, create, NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(advice->db, insert, -1, &advice->inserts[scope], NULL) != SQLITE_OK)
        return sql_error(advice, error);
    return 0;
}

int advice_create(struct advice **ret, struct error *error)
{
    CLEANUP(advice_destroyp) struct advice *advice = calloc(1, sizeof(*advice));
    CLEANUP(advice_fields_clear) struct advice_fields fields = {0};
    const struct job_account nothing = {.ended = true};
    int r;

    if (!advice || advice_fields_of(&nothing, NULL, &fields) < 0)
        return error_set(error, -ENOMEM, "no memory for advice");
    if (sqlite3_open(":memory:", &advice->db) != SQLITE_OK)
        return sql_error(advice, error);
    (void)sqlite3_limit(advice->db, SQLITE_LIMIT_LENGTH, MAX_LENGTH);
    r = make_table(advice, ADVICE_MOUNT, &fields, error);
    if (r == 0)
        r = make_table(advice, ADVICE_JOB, &fields, error);
    if (r == 0 &&
        sqlite3_prepare_v2(advice->db, "DELETE FROM mount_fields", -1, &advice->clears[0], NULL) |
            sqlite3_prepare_v2(advice->db, "DELETE FROM job_fields", -1, &advice->clears[1], NULL))
        r = sql_error(advice, error);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(advice);
    return 0;
}

void advice_destroy(struct advice *advice)
{
    if (!advice)
        return;
    for (size_t i = 0; i < advice->n; i++)
        advice_rule_clear(&advice->rules[i]);
    free(advice->rules);
    free(advice->links);
    for (int i = 0; i < ADVICE_SCOPES; i++) {
        (void)sqlite3_finalize(advice->inserts[i]);
        (void)sqlite3_finalize(advice->clears[i]);
    }
    (void)sqlite3_close(advice->db);
    free(advice);
}

size_t advice_count(const struct advice *advice)
{
    return advice->n;
}

const char *advice_rule_name(const struct advice *advice, size_t i)
{
    return advice->rules[i].name;
}

static int run(struct advice *advice, sqlite3_stmt *statement, struct error *error)
{
    int rc = sqlite3_step(statement);

    (void)sqlite3_reset(statement);
    return rc == SQLITE_DONE ? 0 : sql_error(advice, error);
}

static int insert_fields(struct advice *advice, enum advice_scope scope,
                         const struct job_account *job, const struct io_mount *mount,
                         struct error *error)
{
    CLEANUP(advice_fields_clear) struct advice_fields fields = {0};
    sqlite3_stmt *insert = advice->inserts[scope];

    if (advice_fields_of(job, mount, &fields) < 0)
        return error_set(error, -ENOMEM, "no memory for advice");
    for (size_t i = 0; i < fields.n; i++)
        (void)(fields.items[i].text
                   ? sqlite3_bind_text(insert, (int)i + 1, fields.items[i].text, -1,
                                       SQLITE_TRANSIENT)
                   : sqlite3_bind_double(insert, (int)i + 1, fields.items[i].number));
    return run(advice, insert, error);
}

static int fill_tables(struct advice *advice, const struct job_account *job, struct error *error)
{
    int r = 0;

    for (int i = 0; i < ADVICE_SCOPES && r == 0; i++)
        r = run(advice, advice->clears[i], error);
    for (size_t i = 0; i < job->mounts.n && r == 0; i++)
        r = insert_fields(advice, ADVICE_MOUNT, job, &job->mounts.items[i], error);
    return r < 0 ? r : insert_fields(advice, ADVICE_JOB, job, NULL, error);
}

/* --- notes ------------------------------------------------------------------------------------ */

/* The bound of a bucket is a power of two; written as in the table. */
static const char *bytes_text(uint64_t bytes, char buf[UNITS_SIZE])
{
    bool bound = bytes && (bytes & (bytes - 1)) == 0;

    return bound ? units_bytes_bound(bytes, buf) : units_bytes(bytes, buf);
}

/* Rounds towards 0; a number that does not fit becomes the nearest one that does. */
static uint64_t to_whole(double number)
{
    return number >= 0x1p64 ? UINT64_MAX : number > 0 ? (uint64_t)number : 0;
}

static void write_value(FILE *out, sqlite3_stmt *statement, int column, enum advice_format format)
{
    double number = sqlite3_column_double(statement, column);
    uint64_t whole = to_whole(number);
    char buf[UNITS_SIZE];

    switch (format) {
    case ADVICE_PLAIN:
        if (sqlite3_column_type(statement, column) == SQLITE_FLOAT)
            (void)fprintf(out, "%.*f", number == (double)whole ? 0 : 1, number);
        else
            (void)fputs((const char *)sqlite3_column_text(statement, column) ?: "?", out);
        break;
    case ADVICE_BYTES:
        (void)fputs(bytes_text(whole, buf), out);
        break;
    case ADVICE_COUNT:
        (void)fputs(units_count(whole, buf), out);
        break;
    case ADVICE_PERCENT:
        (void)fputs(units_percent(to_whole(number * 1e6), 1000000, buf), out);
        break;
    case ADVICE_TIME:
        (void)fputs(units_time(to_whole(number * 1e9), buf), out);
        break;
    case ADVICE_FORMATS:
        break;
    }
}

/* NULL: out of memory. */
static char *note_text(const struct advice_rule *rule)
{
    _free_ char *raw = NULL;
    struct text_buffer text;
    FILE *out = text_buffer_open(&text);

    if (!out)
        return NULL;
    for (size_t i = 0; i < rule->n_pieces; i++) {
        (void)fputs(rule->pieces[i].text, out);
        if (rule->pieces[i].expression)
            write_value(out, rule->statement, COLUMN_TEXT + rule->pieces[i].column,
                        rule->pieces[i].format);
    }
    raw = text_buffer_take(&text);
    return raw ? utf8_sanitize(raw) : NULL;
}

/* A link is a complete URL, or is appended to the prefix that the site has set. NULL: out of
 * memory. */
static char *note_link(const struct advice *advice, const struct advice_rule *rule)
{
    bool whole = rule->link && strstr(rule->link, "://");
    char *raw = NULL, *clean;

    if (!rule->link || (!whole && !advice->links))
        return strdup("");
    if (asprintf(&raw, "%s%s", whole ? "" : advice->links, rule->link) < 0)
        return NULL;
    clean = utf8_sanitize(raw);
    free(raw);
    return clean;
}

static void note_clear(struct advice_note *note)
{
    free(note->text);
    free(note->link);
}

/* " (and on 2 more mounts)". 0 or -ENOMEM. */
static int add_others(struct advice_note *note, unsigned others)
{
    const char *plural = others > 1 ? "s" : "";
    char *text;

    if (asprintf(&text, "%s (and on %u more mount%s)", note->text, others, plural) < 0)
        return -ENOMEM;
    free(note->text);
    note->text = text;
    return 0;
}

static int rule_error(const struct advice *advice, const struct advice_rule *rule,
                      struct error *error)
{
    return error_set(error, -EBADMSG, "advice: [%s]: %s", rule->name, sqlite3_errmsg(advice->db));
}

/* Called after each block. Not 0: ends the statement. */
static int count_block(void *blocks)
{
    return ++*(unsigned *)blocks > BLOCKS_MAX;
}

/* Find the row that matches the rule and cost most. 1: *note is set; 0: no row matches; -EBADMSG:
 * the rule cannot be computed for this job. The text of an error also says on how many other mounts
 * it occurred. */
static int ask_rule(struct advice *advice, const struct advice_rule *rule, struct advice_note *note,
                    struct error *error)
{
    unsigned rows = 0, blocks = 0;
    int rc, r = 0;

    sqlite3_progress_handler(advice->db, STEPS_BLOCK, count_block, &blocks);
    while ((rc = sqlite3_step(rule->statement)) == SQLITE_ROW && r >= 0) {
        double cost = sqlite3_column_double(rule->statement, COLUMN_LOST);

        if (!sqlite3_column_int(rule->statement, COLUMN_WHEN) || (rows++ && cost <= note->lost))
            continue;
        note_clear(note);
        *note = (struct advice_note){rule->level, rule->name, note_link(advice, rule),
                                     note_text(rule), cost};
        r = note->text && note->link ? 1 : error_set(error, -ENOMEM, "no memory for advice");
    }
    sqlite3_progress_handler(advice->db, 0, NULL, NULL);
    if (rc == SQLITE_INTERRUPT)
        r = error_set(error, -EBADMSG, "advice: [%s]: more than 10 million steps of SQLite",
                      rule->name);
    else if (r >= 0 && rc != SQLITE_DONE)
        r = rc == SQLITE_NOMEM ? error_set(error, -ENOMEM, "no memory for advice")
                               : rule_error(advice, rule, error);
    (void)sqlite3_reset(rule->statement);
    if (r > 0 && rule->level == ADVICE_ERROR && rows > 1 && add_others(note, rows - 1) < 0)
        r = error_set(error, -ENOMEM, "no memory for advice");
    return r;
}

static bool precedes(const struct advice_note *a, const struct advice_note *b)
{
    return a->level != b->level ? a->level < b->level : a->lost > b->lost;
}

/* Stable: of two notes that cost the same, the one whose rule was read first stays first. */
static void sort_notes(struct advice_notes *notes)
{
    for (size_t i = 1; i < notes->n; i++)
        for (size_t k = i; k && precedes(&notes->items[k], &notes->items[k - 1]); k--) {
            struct advice_note earlier = notes->items[k - 1];

            notes->items[k - 1] = notes->items[k];
            notes->items[k] = earlier;
        }
}

/* Keep the first `max`; good news only if there is nothing else. */
static void choose(struct advice_notes *notes, size_t max)
{
    size_t n = 0;

    sort_notes(notes);
    while (n < notes->n && n < max &&
           (notes->items[n].level != ADVICE_GOOD || notes->items[0].level == ADVICE_GOOD))
        n++;
    for (size_t i = n; i < notes->n; i++)
        note_clear(&notes->items[i]);
    notes->n = n;
}

/* Append the note of the rule, if there is one. 0; 1: the rule failed and is skipped; or a negative
 * errno. */
static int apply_rule(struct advice *advice, const struct advice_rule *rule,
                      struct advice_notes *notes, struct error *error)
{
    struct advice_note *note = &notes->items[notes->n];
    int r = ask_rule(advice, rule, note, error);

    if (r > 0) {
        notes->n++;
        return 0;
    }
    note_clear(note);
    *note = (struct advice_note){0};
    return r == -EBADMSG ? 1 : r;
}

int advice_give(struct advice *advice, const struct job_account *job, size_t max,
                struct advice_notes *ret, struct error *error)
{
    CLEANUP(advice_notes_clear) struct advice_notes notes = {0};
    bool long_enough = job_lost_time(job);
    int r = fill_tables(advice, job, error), failed = 0;

    notes.items = calloc(advice->n + 1, sizeof(*notes.items));
    if (!notes.items)
        return error_set(error, -ENOMEM, "no memory for advice");
    for (size_t i = 0; i < advice->n && r >= 0; i++) {
        if (advice->rules[i].off || (!long_enough && advice->rules[i].level != ADVICE_ERROR))
            continue;
        r = apply_rule(advice, &advice->rules[i], &notes, failed ? NULL : error);
        failed += r > 0;
    }
    if (r < 0)
        return r;
    choose(&notes, max);
    *ret = notes;
    notes = (struct advice_notes){0};
    return failed;
}

char *advice_silence(const struct job_account *job)
{
    char waiting[UNITS_SIZE], elapsed[UNITS_SIZE];

    units_percent(job_wait_ns(job), job->elapsed_ns, waiting);
    if (job_not_counted(job))
        return strdup("the job was not counted on this node (ask the administrators)");
    if (job_lost_time(job))
        return text_format("%s of the run time was spent waiting for I/O, but no rule knows how to "
                           "avoid that",
                           waiting);
    if (job->elapsed_ns < NS_PER_MINUTE && job_wait_ns(job) >= job->elapsed_ns / 20)
        return text_format("the job ran for %s and waited for I/O for %s of it; a job shorter than "
                           "a minute gets advice if it lost a third of its time",
                           units_elapsed(job->elapsed_ns, elapsed), waiting);
    return text_format("I/O was not the bottleneck (it took %s of the run time)", waiting);
}

void advice_notes_clear(struct advice_notes *notes)
{
    for (size_t i = 0; i < notes->n; i++)
        note_clear(&notes->items[i]);
    free(notes->items);
    *notes = (struct advice_notes){0};
}
