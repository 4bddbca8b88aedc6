/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text_buffer.h"
#include "common/units.h"
#include "common/utf8.h"
#include "report/summary/summary.h"

/* Less waiting is harmless, as in the summary. */
#define LITTLE 0.05
/* A smaller relative difference is "same". */
#define SAME 0.05
/* The least ratio that a sentence mentions. */
#define WORTH 1.5

/* --- words ------------------------------------------------------------------------------------ */

char *compare_ratio(double ratio, char buf[COMPARE_RATIO])
{
    (void)snprintf(buf, COMPARE_RATIO,
                   ratio >= 1000   ? ">999x"
                   : ratio >= 9.95 ? "%.0fx"
                                   : "%.1fx",
                   ratio);
    return buf;
}

char *compare_change(double a, double b, char buf[COMPARE_CHANGE])
{
    char ratio[COMPARE_RATIO];

    if (a <= 0 && b <= 0)
        return strcpy(buf, "-");
    if (a <= 0)
        return strcpy(buf, "new");
    if (b <= 0)
        return strcpy(buf, "gone");
    if (fabs(b / a - 1) < SAME)
        return strcpy(buf, "same");
    (void)snprintf(buf, COMPARE_CHANGE, "%s %s", compare_ratio(b > a ? b / a : a / b, ratio),
                   b > a ? "more" : "less");
    return buf;
}

static char *percent(double part, char buf[UNITS_SIZE])
{
    return units_percent((uint64_t)llround(part * 1e6), 1000000, buf);
}

static const char *waited(const struct profile *p, char buf[UNITS_SIZE])
{
    uint64_t ns = (uint64_t)llround(profile_seconds(p, p->wait) * 1e9);

    return ns ? summary_time(ns, buf) : "0 s";
}

/* --- the largest difference ------------------------------------------------------------------- */

/* One kind of calls on a mount, on both sides. */
struct pair {
    const char *mount;
    enum profile_kind kind;
    const struct profile_use *a, *b; /* never NULL */
};

static const struct profile_use no_use;

static struct pair pair_of(const struct profile_mount *m, const struct profile *other, bool m_is_a,
                           enum profile_kind kind)
{
    const struct profile_mount *there = profile_find(other, m->mount, m->fstype);
    const struct profile_use *mine = &m->uses[kind], *its = there ? &there->uses[kind] : &no_use;

    return (struct pair){m->mount, kind, m_is_a ? mine : its, m_is_a ? its : mine};
}

/* Seconds that b waited longer than a, for one kind of calls on a mount and in all. */
static double seconds_more(const struct pair *p, const struct profile *a, const struct profile *b)
{
    return profile_seconds(b, p->b->wait) - profile_seconds(a, p->a->wait);
}

static double all_seconds_more(const struct profile *a, const struct profile *b)
{
    return profile_seconds(b, b->wait) - profile_seconds(a, a->wait);
}

/* Find the kind of calls that explains most of the difference: only those for which the job with
 * the longer total wait also waited longer. */
static bool find_most(const struct profile *a, const struct profile *b, struct pair *ret)
{
    const struct profile *sides[] = {a, b};
    double most = -INFINITY, sign = all_seconds_more(a, b) < 0 ? -1 : 1;

    for (int s = 0; s < 2; s++)
        for (size_t i = 0; i < sides[s]->n; i++)
            for (int k = 0; k < PROFILE_KINDS; k++) {
                struct pair p =
                    pair_of(&sides[s]->mounts[i], sides[!s], s == 0, (enum profile_kind)k);
                double more = sign * seconds_more(&p, a, b);

                if (more > most) {
                    most = more;
                    *ret = p;
                }
            }
    return isfinite(most);
}

/* "read 12x as much from /scratch", about the job that waited longer. */
static void write_amount(FILE *out, const struct pair *p)
{
    static const struct {
        const char *verb, *much, *where;
        bool calls;
    } words[] = {
        [PROFILE_READ] = {"read", "much", "from", false},
        [PROFILE_WRITE] = {"wrote", "much", "to", false},
        [PROFILE_MAPPED] = {"touched", "much of mapped files", "on", false},
        [PROFILE_META] = {"made", "many metadata calls", "on", true},
    };
    bool calls = words[p->kind].calls;
    double had = calls ? p->a->calls : p->a->bytes, has = calls ? p->b->calls : p->b->bytes;
    _free_ char *mount = utf8_sanitize(p->mount);
    const char *verb = words[p->kind].verb, *much = words[p->kind].much;
    char buf[UNITS_SIZE], ratio[COMPARE_RATIO];

    if (had <= 0 && calls)
        (void)fprintf(out, "made %s metadata calls", units_count((uint64_t)llround(has), buf));
    else if (had <= 0)
        (void)fprintf(out, "%s %s", verb, units_bytes((uint64_t)llround(has), buf));
    else if (has / had >= WORTH)
        (void)fprintf(out, "%s %s as %s", verb, compare_ratio(has / had, ratio), much);
    else if (has > 0 && had / has >= WORTH)
        (void)fprintf(out, "%s %s less %s", verb, compare_ratio(had / has, ratio), much);
    else
        (void)fprintf(out, "%s about as %s", verb, much);
    (void)fprintf(out, " %s %s", words[p->kind].where, mount ? mount : "?");
    if (had <= 0)
        (void)fputs(", where the other did nothing", out);
}

/* Bytes per call: medians are powers of two, too coarse for a ratio. */
static double mean_bytes(const struct profile_use *use)
{
    return use->calls > 0 ? use->bytes / use->calls : 0;
}

/* How the calls differ: in size, or else in duration. */
static void write_manner(FILE *out, const struct pair *p)
{
    bool sized = p->kind == PROFILE_READ || p->kind == PROFILE_WRITE;
    double a = mean_bytes(p->a), b = mean_bytes(p->b);
    double smaller = sized && a > 0 && b > 0 ? a / b : 1;
    double each = p->a->calls > 0 && p->b->calls > 0 && p->a->time_ns > 0
                      ? (p->b->time_ns / p->b->calls) / (p->a->time_ns / p->a->calls)
                      : 1;
    char ratio[COMPARE_RATIO];

    if (smaller >= WORTH)
        (void)fprintf(out, " in calls %s smaller", compare_ratio(smaller, ratio));
    else if (smaller <= 1 / WORTH)
        (void)fprintf(out, " in calls %s larger", compare_ratio(1 / smaller, ratio));
    else if (each >= WORTH)
        (void)fprintf(out, ", and each call took %s as long", compare_ratio(each, ratio));
}

/* b is the one that waited longer. */
static void write_cause(FILE *out, const struct compare_side *a, const struct compare_side *b,
                        const struct pair *p)
{
    char mine[UNITS_SIZE], its[UNITS_SIZE], time[UNITS_SIZE], other[UNITS_SIZE];

    (void)fprintf(out, "%s waited longer for I/O: %s (%s of its run time), %s %s (%s). It ",
                  b->words, waited(b->profile, time), percent(b->profile->wait, mine), a->words,
                  waited(a->profile, other), percent(a->profile->wait, its));
    write_amount(out, p);
    write_manner(out, p);
    (void)fputs(". ", out);
}

/* waited: the one that waited longer; NULL: neither. */
static void write_run_time(FILE *out, const struct compare_side *a, const struct compare_side *b,
                           const struct compare_side *waited)
{
    double x = a->profile->elapsed_s, y = b->profile->elapsed_s;
    const struct compare_side *ran = y > x ? b : a, *other = y > x ? a : b;
    char ratio[COMPARE_RATIO];

    if (x <= 0 || y <= 0)
        return;
    if (fabs(y / x - 1) < 0.1)
        (void)fprintf(out, "Both ran about as long.");
    else
        (void)fprintf(out, "%s%s ran %s as long as %s.", waited && waited != ran ? "But " : "",
                      ran->words, compare_ratio(y > x ? y / x : x / y, ratio), other->words);
}

static void capitalise(char *text)
{
    bool begins = true;

    for (char *c = text; c && *c; c++) {
        if (begins && *c >= 'a' && *c <= 'z')
            *c = (char)(*c - 'a' + 'A');
        if (*c != ' ')
            begins = *c == '.' && c[1] == ' ';
    }
}

bool compare_most(const struct profile *a, const struct profile *b, const char **mount,
                  enum profile_kind *kind)
{
    struct pair p;

    if (!find_most(a, b, &p))
        return false;
    *mount = p.mount;
    *kind = p.kind;
    return true;
}

/* Whether the difference is large enough, and one of them lost noticeable time to I/O. */
static bool matters(const struct profile *a, const struct profile *b, double more)
{
    double longest = fmax(a->elapsed_s, b->elapsed_s);

    return fmax(a->wait, b->wait) >= LITTLE && more >= LITTLE / 2 * longest && more >= 1;
}

static void write_sentence(FILE *out, const struct compare_side *a, const struct compare_side *b)
{
    double more = all_seconds_more(a->profile, b->profile);
    const struct compare_side *longer = more < 0 ? a : b, *other = more < 0 ? b : a;
    char buf[UNITS_SIZE], its[UNITS_SIZE];
    struct pair p;

    if (find_most(other->profile, longer->profile, &p) &&
        matters(a->profile, b->profile, fabs(more))) {
        write_cause(out, other, longer, &p);
        write_run_time(out, a, b, longer);
        return;
    }
    (void)fprintf(out, "I/O made no difference: %s waited %s for it, %s %s. ", a->words,
                  waited(a->profile, buf), b->words, waited(b->profile, its));
    write_run_time(out, a, b, NULL);
}

char *compare_sentence(const struct compare_side *a, const struct compare_side *b)
{
    struct text_buffer text;
    FILE *out = text_buffer_open(&text);
    char *sentence;

    if (!out)
        return NULL;
    write_sentence(out, a, b);
    sentence = text_buffer_take(&text);
    for (size_t n = sentence ? strlen(sentence) : 0; n > 0 && sentence[n - 1] == ' '; n--)
        sentence[n - 1] = '\0';
    if (sentence)
        capitalise(sentence);
    return sentence;
}
