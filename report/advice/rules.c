/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads rules from text files. */
#define _GNU_SOURCE
#include "report/advice/advice_impl.h"

#include <dirent.h>
#include <errno.h>
#include <ini.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/text_buffer.h"
#include "common/units.h"

/* inih splits longer lines in two. */
#define LINE_MAX_BYTES 198

struct loading {
    struct advice *advice;
    const char *path;
    FILE *file;
    char *line;
    size_t room;
    unsigned line_number;
    struct advice_rule rule; /* the one that is being read; without a name: none */
    unsigned first_line;     /* of the rule */
    const char *last;        /* the key that was set last */
    bool wrong;              /* the rule is invalid, which has been reported */
    advice_say_f say;
    void *arg;
    int mistakes;
    bool no_memory;
};

const char *const advice_tables[] = {"mount_fields", "job_fields"};

void advice_rule_clear(struct advice_rule *rule)
{
    for (size_t i = 0; i < rule->n_pieces; i++) {
        free(rule->pieces[i].text);
        free(rule->pieces[i].expression);
    }
    free(rule->pieces);
    (void)sqlite3_finalize(rule->statement);
    free(rule->name);
    free(rule->when);
    free(rule->lost);
    free(rule->text);
    free(rule->link);
    *rule = (struct advice_rule){0};
}

/* Report an error, only the first one of each rule. */
static void say(struct loading *l, unsigned line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void say(struct loading *l, unsigned line, const char *format, ...)
{
    char why[512], text[768];
    va_list list;

    if (l->wrong)
        return;
    va_start(list, format);
    (void)vsnprintf(why, sizeof(why), format, list);
    va_end(list);
    (void)snprintf(text, sizeof(text), "%s:%u: %s", l->path, line, why);
    l->say(text, l->arg);
    l->wrong = true;
    l->mistakes++;
}

/* --- the text: "{EXPRESSION:FORMAT} of the run time" ------------------------------------------ */

static const char *const formats[ADVICE_FORMATS] = {
    [ADVICE_PLAIN] = "",          [ADVICE_BYTES] = "bytes", [ADVICE_COUNT] = "count",
    [ADVICE_PERCENT] = "percent", [ADVICE_TIME] = "time",
};

static enum advice_format format_of(char *expression)
{
    char *colon = strrchr(expression, ':');

    for (int i = ADVICE_BYTES; colon && i < ADVICE_FORMATS; i++)
        if (!strcmp(colon + 1, formats[i])) {
            *colon = '\0';
            return (enum advice_format)i;
        }
    return ADVICE_PLAIN;
}

/* 0; -EINVAL: a brace is not closed. */
static int cut_piece(struct advice_rule *rule, const char **at)
{
    const char *open = strchrnul(*at, '{'), *close = *open ? strchr(open, '}') : open;
    struct advice_piece *grown =
        reallocarray(rule->pieces, rule->n_pieces + 1, sizeof(*rule->pieces));
    struct advice_piece *piece = grown ? &grown[rule->n_pieces] : NULL;

    if (!grown)
        return -ENOMEM;
    rule->pieces = grown;
    if (!close)
        return -EINVAL;
    *piece = (struct advice_piece){.text = strndup(*at, (size_t)(open - *at)),
                                   .column = (int)rule->n_pieces};
    rule->n_pieces++;
    if (*open) {
        piece->expression = strndup(open + 1, (size_t)(close - open - 1));
        if (piece->expression)
            piece->format = format_of(piece->expression);
    }
    *at = *open ? close + 1 : open;
    return piece->text && (piece->expression || !*open) ? 0 : -ENOMEM;
}

static int cut_text(struct advice_rule *rule)
{
    const char *at = rule->text;
    int r = 0;

    while (*at && r == 0)
        r = cut_piece(rule, &at);
    return r;
}

/* --- the statement ---------------------------------------------------------------------------- */

/* Check one expression on its own, so that an error names it. */
static bool check(struct loading *l, const char *what, const char *expression)
{
    _free_ char *sql = NULL;
    CLEANUP(cleanup_statement) sqlite3_stmt *statement = NULL;
    const char *rest = "";

    if (asprintf(&sql, "SELECT (%s) FROM %s", expression, advice_tables[l->rule.scope]) < 0) {
        sql = NULL;
        l->no_memory = true;
        return false;
    }
    if (sqlite3_prepare_v2(l->advice->db, sql, -1, &statement, &rest) == SQLITE_OK && !*rest &&
        sqlite3_column_count(statement) == 1)
        return true;
    say(l, l->first_line, "[%s] %s = %s: %s", l->rule.name, what, expression,
        statement ? "one value is wanted" : sqlite3_errmsg(l->advice->db));
    return false;
}

/* One statement of all expressions, each already checked. malloc'd, NULL: out of memory. */
static char *statement_sql(const struct advice_rule *rule)
{
    struct text_buffer text;
    FILE *out = text_buffer_open(&text);

    if (!out)
        return NULL;
    (void)fprintf(out, "SELECT (%s), (%s)", rule->when, rule->lost ? rule->lost : "lost");
    for (size_t i = 0; i < rule->n_pieces; i++)
        (void)fprintf(out, ", (%s)", rule->pieces[i].expression ? rule->pieces[i].expression : "0");
    (void)fprintf(out, " FROM %s", advice_tables[rule->scope]);
    return text_buffer_take(&text);
}

static bool make_statement(struct loading *l)
{
    struct advice_rule *rule = &l->rule;
    _free_ char *sql = NULL;

    if (!check(l, "when", rule->when) || (rule->lost && !check(l, "lost", rule->lost)))
        return false;
    for (size_t i = 0; i < rule->n_pieces; i++)
        if (rule->pieces[i].expression && !check(l, "text", rule->pieces[i].expression))
            return false;
    sql = statement_sql(rule);
    if (!sql)
        l->no_memory = true;
    else if (sqlite3_prepare_v2(l->advice->db, sql, -1, &rule->statement, NULL) != SQLITE_OK)
        say(l, l->first_line, "[%s]: %s", rule->name, sqlite3_errmsg(l->advice->db));
    return rule->statement;
}

/* --- rules ------------------------------------------------------------------------------------ */

static struct advice_rule *find_rule(const struct advice *advice, const char *name)
{
    for (size_t i = 0; i < advice->n; i++)
        if (!strcmp(advice->rules[i].name, name))
            return &advice->rules[i];
    return NULL;
}

static bool make_rule(struct loading *l)
{
    struct advice_rule *rule = &l->rule, *old = find_rule(l->advice, rule->name);
    int r;

    if (old && old->file == rule->file)
        say(l, l->first_line, "[%s]: this file has a rule of this name already", rule->name);
    else if (!rule->off && (!rule->when || !rule->text))
        say(l, l->first_line, "[%s]: a rule needs \"when\" and \"text\"", rule->name);
    if (l->wrong)
        return false;
    if (rule->off)
        return true;
    r = cut_text(rule);
    if (r == -EINVAL)
        say(l, l->first_line, "[%s] text: a \"{\" is not closed", rule->name);
    l->no_memory |= r == -ENOMEM;
    return r == 0 && make_statement(l);
}

/* Takes the rule; replaces the one of that name from an earlier file. */
static int add_rule(struct advice *advice, struct advice_rule *rule)
{
    struct advice_rule *old = find_rule(advice, rule->name), *grown;

    if (!old) {
        grown = reallocarray(advice->rules, advice->n + 1, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        advice->rules = grown;
        old = &grown[advice->n++];
        *old = (struct advice_rule){0};
    }
    advice_rule_clear(old);
    *old = *rule;
    *rule = (struct advice_rule){0};
    return 0;
}

/* Called at the end of a rule. */
static void end_rule(struct loading *l)
{
    if (l->rule.name && !l->wrong && make_rule(l))
        l->no_memory |= add_rule(l->advice, &l->rule) < 0;
    advice_rule_clear(&l->rule);
    l->wrong = false;
    l->last = NULL;
}

static bool begin_rule(struct loading *l, const char *name)
{
    l->rule.level = ADVICE_HINT;
    l->rule.file = l->advice->files;
    l->rule.name = strdup(name);
    l->no_memory |= !l->rule.name;
    return l->rule.name;
}

/* inih passes a continuation line as another value of the same key. */
static void put_text(struct loading *l, char **field, const char *key, const char *value)
{
    char *text = NULL;

    if (*field && l->last != key) {
        say(l, l->line_number, "\"%s\" is set already", key);
        return;
    }
    if (asprintf(&text, "%s%s%s", *field ? *field : "", *field ? " " : "", value) < 0) {
        l->no_memory = true;
        return;
    }
    free(*field);
    *field = text;
    l->last = key;
}

static void put_word(struct loading *l, const char *key, const char *value,
                     const char *const *words, int n, int *ret)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(words[i], value)) {
            *ret = i;
            return;
        }
    say(l, l->line_number, "%s = %s: not a word that is known here", key, value);
}

static void put_key(struct loading *l, const char *name, const char *value)
{
    static const char *const levels[] = {"error", "hint", "good", "off"};
    static const char *const scopes[ADVICE_SCOPES] = {"mount", "job"};
    const struct {
        const char *name;
        char **field;
    } texts[] = {{"when", &l->rule.when},
                 {"lost", &l->rule.lost},
                 {"text", &l->rule.text},
                 {"link", &l->rule.link}};
    int word = 0;

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        if (!strcmp(texts[i].name, name)) {
            put_text(l, texts[i].field, texts[i].name, value);
            return;
        }
    l->last = NULL;
    if (!strcmp(name, "level")) {
        put_word(l, name, value, levels, ARRAY_SIZE(levels), &word);
        l->rule.off = word == ADVICE_LEVELS;
        if (!l->rule.off)
            l->rule.level = (enum advice_level)word;
    } else if (!strcmp(name, "of")) {
        put_word(l, name, value, scopes, ADVICE_SCOPES, &word);
        l->rule.scope = (enum advice_scope)word;
    } else {
        say(l, l->line_number, "unknown key \"%s\"", name);
    }
}

/* The prefix of links that are not complete URLs. */
static void put_links(struct loading *l, const char *name, const char *value)
{
    char *copy = strdup(value);

    if (strcmp(name, "prefix") != 0)
        say(l, l->line_number, "unknown key \"%s\" in [links]", name);
    l->wrong = false;
    l->no_memory |= !copy;
    free(l->advice->links);
    l->advice->links = copy;
}

static int take_value(void *arg, const char *section, const char *name, const char *value)
{
    struct loading *l = arg;

    if (!strcmp(section, "links")) {
        put_links(l, name, value);
        return !l->no_memory;
    }
    if (!*section) {
        say(l, l->line_number, "\"%s\" is in no [rule]", name);
        l->wrong = false;
        return 1;
    }
    if (!l->rule.name && !begin_rule(l, section))
        return 0;
    put_key(l, name, value);
    return !l->no_memory;
}

/* Reader for inih: a line that is too long invalidates its rule and is skipped. */
static char *read_line(char *buf, int size, void *arg)
{
    struct loading *l = arg;
    ssize_t n = getline(&l->line, &l->room, l->file);

    if (n < 0)
        return NULL;
    l->line_number++;
    if (l->line[0] == '[') {
        end_rule(l);
        l->first_line = l->line_number;
    }
    if (n > LINE_MAX_BYTES || n >= size) {
        say(l, l->line_number,
            "a line has at most %d characters; the next one may go on with it, "
            "with a space in front",
            LINE_MAX_BYTES);
        l->line[0] = '\n';
        l->line[1] = '\0';
    }
    return strcpy(buf, l->line);
}

/* Functions of numbers and short texts. Those that read files, load code or make large values are
 * missing. */
static bool is_harmless(const char *function)
{
    static const char *const functions[] = {
        "abs",       "avg",   "ceil",   "ceiling", "char",  "coalesce", "count",   "exp",
        "floor",     "glob",  "ifnull", "iif",     "instr", "length",   "like",    "ln",
        "log",       "log10", "log2",   "lower",   "ltrim", "max",      "min",     "mod",
        "nullif",    "pow",   "power",  "round",   "rtrim", "sign",     "sqrt",    "substr",
        "substring", "sum",   "total",  "trim",    "trunc", "typeof",   "unicode", "upper",
    };

    for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
        if (!strcasecmp(functions[i], function))
            return true;
    return false;
}

static bool is_fields(const char *table)
{
    for (int i = 0; i < ADVICE_SCOPES; i++)
        if (!strcmp(advice_tables[i], table))
            return true;
    return false;
}

/* SQLite authorizer: rules may only read the fields, and use harmless functions. */
static int authorize(void *arg, int action, const char *a, const char *b, const char *c,
                     const char *d)
{
    bool ok = action == SQLITE_SELECT || (action == SQLITE_READ && is_fields(a)) ||
              (action == SQLITE_FUNCTION && is_harmless(b));

    (void)arg, (void)c, (void)d;
    return ok ? SQLITE_OK : SQLITE_DENY;
}

int advice_read(struct advice *advice, const char *path, advice_say_f say_f, void *arg,
                struct error *error)
{
    _fclose_ FILE *file = fopen(path, "re");
    struct loading l = {.advice = advice, .path = path, .file = file, .say = say_f, .arg = arg};
    int r;

    if (!file)
        return error_errno(error, -errno, "cannot open %s", path);
    advice->files++;
    (void)sqlite3_set_authorizer(advice->db, authorize, NULL);
    r = ini_parse_stream(read_line, &l, take_value, &l);
    end_rule(&l);
    (void)sqlite3_set_authorizer(advice->db, NULL, NULL);
    free(l.line);
    if (r > 0 && !l.no_memory)
        say(&l, (unsigned)r, "neither [rule] nor KEY = VALUE");
    if (r < 0 || l.no_memory)
        return error_set(error, -ENOMEM, "no memory for the rules of %s", path);
    return ferror(file) ? error_set(error, -EIO, "cannot read %s", path) : l.mistakes;
}

const char *advice_directory(void)
{
    const char *directory = getenv("JOBIO_ADVICE");

    return directory && *directory ? directory : JOBIO_SYSCONFDIR "/advice.d";
}

static int is_conf(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);

    return entry->d_name[0] != '.' && n > 5 && !strcmp(entry->d_name + n - 5, ".conf");
}

int advice_read_directory(struct advice *advice, const char *directory, advice_say_f say_f,
                          void *arg, struct error *error)
{
    struct dirent **names = NULL;
    int n = scandir(directory, &names, is_conf, alphasort), r = 0, mistakes = 0;

    if (n < 0)
        return errno == ENOENT ? 0 : error_errno(error, -errno, "cannot read %s", directory);
    for (int i = 0; i < n; i++) {
        char path[PATH_MAX];

        if (r >= 0 &&
            snprintf(path, sizeof(path), "%s/%s", directory, names[i]->d_name) < (int)sizeof(path))
            r = advice_read(advice, path, say_f, arg, error);
        mistakes += r > 0 ? r : 0;
        free(names[i]);
    }
    free(names);
    return r < 0 ? r : mistakes;
}
