/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms of request sizes and latencies for each mount. */
#include <math.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/numbers.h"
#include "report/html/html_impl.h"

#define LEAST_BUCKETS 8 /* so that a single bar does not fill the chart */
#define TICKS 3
#define HEIGHT 100
#define LEAST_HEIGHT 2 /* rare slow calls stay visible */

/* The histograms of a mount. */
static const struct kind {
    const char *title;
    bool latency;
    uint64_t ops;
} kinds[] = {
    {"Size of a read", false, UINT64_C(1) << IO_READ | UINT64_C(1) << IO_COPY_READ},
    {"Size of a write", false, UINT64_C(1) << IO_WRITE | UINT64_C(1) << IO_COPY_WRITE},
    {"Time of a read", true, UINT64_C(1) << IO_READ | UINT64_C(1) << IO_COPY_READ},
    {"Time of a write", true, UINT64_C(1) << IO_WRITE | UINT64_C(1) << IO_COPY_WRITE},
    {"Time of a sync call", true, UINT64_C(1) << IO_FSYNC},
    {"Time of a close", true, UINT64_C(1) << IO_CLOSE},
    {"Time of a lock call", true, UINT64_C(1) << IO_LOCK},
    {"Time of a metadata call", true,
     IO_METADATA & ~(UINT64_C(1) << IO_CREATE | UINT64_C(1) << IO_FSYNC)},
};

/* The buckets that all histograms of a page show. */
struct range {
    unsigned from, n;
};

struct histogram {
    const struct kind *kind;
    uint64_t buckets[IO_BUCKETS], sum, largest;
    unsigned most; /* the largest bucket */
};

static struct histogram histogram_of(const struct io_account *io, const struct kind *kind)
{
    struct histogram h = {.kind = kind};

    for (unsigned op = 0; op < IO_OP_COUNT; op++) {
        if (!(kind->ops & UINT64_C(1) << op) || !io->ops[op])
            continue;
        if (kind->latency)
            io_histogram_add(h.buckets, io->ops[op]->latency_log2);
        else
            io_account_sizes(io, (enum io_op)op, h.buckets);
    }
    for (unsigned b = 0; b < IO_BUCKETS; b++) {
        add_saturating(&h.sum, h.buckets[b]);
        if (h.buckets[b] > h.largest) {
            h.largest = h.buckets[b];
            h.most = b;
        }
    }
    return h;
}

static struct range range_of(const struct html *h, bool latency)
{
    unsigned from = IO_BUCKETS, end = 0;

    for (size_t i = 0; i < h->s.n && i < HTML_HISTOGRAMS; i++) {
        for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
            struct histogram histogram = histogram_of(&h->s.rows[i].mount->io, &kinds[k]);

            for (unsigned b = 0; b < IO_BUCKETS && kinds[k].latency == latency; b++) {
                if (!histogram.buckets[b])
                    continue;
                from = b < from ? b : from;
                end = b + 1 > end ? b + 1 : end;
            }
        }
    }
    while (end > from && end - from < LEAST_BUCKETS) {
        from -= from > 0;
        end += end < IO_BUCKETS;
    }
    return (struct range){from, end > from ? end - from : 0};
}

/* --- words ------------------------------------------------------------------------------------ */

static char *bound_text(const struct kind *kind, uint64_t bound, char buf[UNITS_SIZE])
{
    if (kind->latency)
        return html_latency(bound, buf);
    return units_bytes_bound(bound, buf);
}

static uint64_t bound_of(const struct kind *kind, unsigned bucket)
{
    return kind->latency ? io_latency_bound(bucket) : io_size_bound(bucket);
}

static void quantile(FILE *out, const struct histogram *h, double q)
{
    char buf[UNITS_SIZE];
    uint64_t bound =
        io_quantile(h->buckets, q, h->kind->latency ? io_latency_bound : io_size_bound);

    html_text(out, bound_text(h->kind, bound, buf));
}

/* "512 KiB to 1 MiB" */
static void bucket_text(FILE *out, const struct kind *kind, unsigned bucket)
{
    char buf[UNITS_SIZE];

    if (bucket < IO_BUCKETS - 1) {
        if (bucket)
            (void)fprintf(out, "%s to ", bound_text(kind, bound_of(kind, bucket - 1), buf));
        else
            (void)fputs("at most ", out);
    }
    html_text(out, bound_text(kind, bound_of(kind, bucket), buf));
}

static void tick(FILE *out, const char *text, double at, struct range range)
{
    double left = 100.0 * (at - range.from) / range.n;

    if (left >= 0 && left <= 100)
        (void)fprintf(out, "<span style=\"left:%.1f%%\">%s</span>", left, text);
}

/* Bucket i ends at 2^i bytes. */
static void size_ticks(FILE *out, struct range range)
{
    static const unsigned steps[] = {1, 2, 5, 10, 20};
    char buf[UNITS_SIZE];
    size_t s = 0;

    while (range.n / steps[s] > TICKS)
        s++;
    for (unsigned i = 0; i < IO_BUCKETS; i += steps[s])
        if (i + 1 > range.from)
            tick(out, html_plain(units_bytes(UINT64_C(1) << i, buf)), i + 1, range);
}

/* Bucket i starts at 2^(i + 6) ns; the ticks are at powers of ten. */
static void latency_ticks(FILE *out, struct range range)
{
    unsigned decades = (unsigned)(range.n * log10(2)), step = decades / (TICKS + 1) + 1;
    char buf[UNITS_SIZE];

    step = step == 2 ? 2 : step > 2 ? 3 : 1;
    for (unsigned e = step == 2 ? 1 : 0; e <= 12; e += step)
        tick(out, html_plain(units_time((uint64_t)llround(pow(10, e)), buf)), e * log2(10) - 6,
             range);
}

/* --- drawing ---------------------------------------------------------------------------------- */

static void bar(FILE *out, const struct histogram *h, unsigned bucket, struct range range,
                const char *colour)
{
    double height = HEIGHT * (double)h->buckets[bucket] / (double)h->largest;
    char count[UNITS_SIZE], share[UNITS_SIZE];

    if (!h->buckets[bucket])
        return;
    height = fmax(height, LEAST_HEIGHT);
    (void)fprintf(out,
                  "<rect class=\"%s\" x=\"%.2f\" y=\"%.1f\" width=\".9\" height=\"%.1f\"><title>",
                  colour, bucket - range.from + .05, HEIGHT - height, height);
    bucket_text(out, h->kind, bucket);
    (void)fputs(": ", out);
    html_text(out, units_count(h->buckets[bucket], count));
    (void)fputs(" calls, ", out);
    html_text(out, units_percent(h->buckets[bucket], h->sum, share));
    (void)fputs("</title></rect>\n", out);
}

static void put_histogram(FILE *out, const struct histogram *h, struct range range,
                          const char *mount, const char *colour)
{
    char share[UNITS_SIZE];

    (void)fprintf(out, "<figure class=\"histogram\">\n<figcaption>%s <small>median ",
                  h->kind->title);
    quantile(out, h, 0.5);
    (void)fprintf(out, "</small></figcaption>\n<div class=\"plot\">\n"
                       "<div class=\"y\" aria-hidden=\"true\"><span style=\"bottom:100%%\">");
    html_text(out, units_percent(h->largest, h->sum, share));
    (void)fprintf(out,
                  "</span></div>\n<svg viewBox=\"0 0 %u %d\" preserveAspectRatio=\"none\" "
                  "role=\"img\" aria-label=\"%s on ",
                  range.n, HEIGHT, h->kind->title);
    html_text(out, mount);
    (void)fputs(": half at most ", out);
    quantile(out, h, 0.5);
    (void)fputs(", 99 % at most ", out);
    quantile(out, h, 0.99);
    (void)fputs(", most of all ", out);
    bucket_text(out, h->kind, h->most);
    (void)fputs("\">\n", out);
    for (unsigned b = range.from; b < range.from + range.n; b++)
        bar(out, h, b, range, colour);
    (void)fputs("</svg>\n<div class=\"x\" aria-hidden=\"true\">", out);
    (h->kind->latency ? latency_ticks : size_ticks)(out, range);
    (void)fputs("</div>\n</div>\n</figure>\n", out);
}

static void put_mount(const struct html *h, size_t i, struct range sizes, struct range latencies)
{
    const struct io_mount *m = h->s.rows[i].mount;

    (void)fprintf(h->out, "<h3><i class=\"dot %s\"></i>", html_colour(i));
    html_text(h->out, m->mount);
    (void)fputs("</h3>\n<div class=\"histograms\">\n", h->out);
    for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
        struct histogram histogram = histogram_of(&m->io, &kinds[k]);

        if (histogram.sum)
            put_histogram(h->out, &histogram, kinds[k].latency ? latencies : sizes, m->mount,
                          html_colour(i));
    }
    (void)fputs("</div>\n", h->out);
}

void html_histograms(const struct html *h)
{
    struct range sizes = range_of(h, false), latencies = range_of(h, true);

    if (!sizes.n && !latencies.n)
        return;
    html_section(h->out, "histograms", "How large and how fast");
    (void)fputs("<p>How many calls had which size and duration. A column reaches up to twice the "
                "size or duration of the one to its left. Columns below 2 % of the highest are "
                "drawn at that height.</p>\n",
                h->out);
    for (size_t i = 0; i < h->s.n && i < HTML_HISTOGRAMS; i++)
        put_mount(h, i, sizes, latencies);
    if (h->s.n > HTML_HISTOGRAMS)
        (void)fprintf(h->out, "<p class=\"small\">The %u of %zu mounts with most waiting.</p>\n",
                      HTML_HISTOGRAMS, h->s.n);
    html_section_end(h->out);
}
