/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/html/chart.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "report/html/html_impl.h"
#include "report/layout.h"

#define HEIGHT 1000 /* of the drawings, in their own units */
#define Y_TICKS 4
#define X_TICKS 6
#define LEVELS 8
#define NAME_COLUMNS 14 /* of a node */

/* --- ticks ------------------------------------------------------------------------------------ */

double chart_tick(double largest, double base, unsigned most)
{
    static const double steps[] = {1, 2, 5, 10, 20, 50, 100, 200, 500};
    double unit = 1;

    while (largest / unit >= base)
        unit *= base;
    while (largest > 0 && largest / unit < 1 && base == 1000)
        unit /= base;
    /* Below two units, half a unit may be a tick. */
    if (largest / unit <= most / 2.0 && (unit > 1 || base == 1000))
        return unit / 2;
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
        if (steps[i] * unit * most >= largest)
            return steps[i] * unit;
    return steps[ARRAY_SIZE(steps) - 1] * unit;
}

#define MINUTE 60
#define HOUR 3600
#define DAY 86400

uint64_t chart_time_tick(uint64_t seconds, unsigned most)
{
    static const uint64_t steps[] = {1,           2,           5,          10,         15,
                                     30,          1 * MINUTE,  2 * MINUTE, 5 * MINUTE, 10 * MINUTE,
                                     15 * MINUTE, 30 * MINUTE, 1 * HOUR,   2 * HOUR,   3 * HOUR,
                                     6 * HOUR,    12 * HOUR,   1 * DAY,    2 * DAY,    7 * DAY,
                                     14 * DAY,    28 * DAY};

    for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
        if (steps[i] * most >= seconds)
            return steps[i];
    return (seconds / most / DAY + 1) * DAY;
}

char *chart_time_text(uint64_t seconds, uint64_t tick, char buf[UNITS_SIZE])
{
    static const struct {
        uint64_t from, seconds;
        const char *name;
    } units[] = {{DAY, DAY, "d"}, {HOUR, HOUR, "h"}, {MINUTE, MINUTE, "min"}, {0, 1, "s"}};
    size_t i = 0;

    while (tick < units[i].from)
        i++;
    (void)snprintf(buf, UNITS_SIZE, "%llu %s", (unsigned long long)(seconds / units[i].seconds),
                   units[i].name);
    return buf;
}

/* When a bin begins: the time since the start of the job, as Slurm prints it. */
static char *bin_text(const struct chart_time *time, size_t bin, char buf[UNITS_SIZE])
{
    uint64_t at = time->from_s + bin * time->width_s;

    return units_elapsed((at > time->zero_s ? at - time->zero_s : 0) * NS_PER_S, buf);
}

static void x_axis(FILE *out, const struct chart_time *time)
{
    uint64_t length = time->n * time->width_s, end = time->from_s + length;
    uint64_t tick = chart_time_tick(length, X_TICKS);
    char buf[UNITS_SIZE];

    (void)fputs("<div class=\"x\" aria-hidden=\"true\">", out);
    for (uint64_t t = 0; time->zero_s + t <= end; t += tick)
        (void)fprintf(out, "<span style=\"left:%.2f%%\">%s</span>",
                      100.0 * (double)(time->zero_s + t - time->from_s) / (double)length,
                      t ? chart_time_text(t, tick, buf) : "start");
    (void)fputs("</div>\n", out);
}

static void y_axis(FILE *out, const struct chart *chart, double tick, unsigned n)
{
    char buf[UNITS_SIZE];

    (void)fputs("<div class=\"y\" aria-hidden=\"true\">", out);
    for (unsigned i = 0; i <= n; i++)
        (void)fprintf(out, "<span style=\"bottom:%.2f%%\">%s</span>", 100.0 * i / n,
                      i ? html_plain(chart->show(tick * i, buf)) : "0");
    (void)fputs("</div>\n", out);
}

/* --- a stack ---------------------------------------------------------------------------------- */

static double total_at(const struct chart *chart, size_t parts, size_t bin)
{
    double sum = 0;

    for (size_t i = 0; i < parts; i++)
        sum += chart->parts[i].values[bin];
    return sum;
}

static double part_peak(const struct chart_part *part, size_t n)
{
    double peak = 0;

    for (size_t i = 0; i < n; i++)
        peak = fmax(peak, part->values[i]);
    return peak;
}

static size_t busiest(const struct chart *chart, const struct chart_time *time)
{
    size_t at = 0;

    for (size_t i = 1; i < time->n; i++)
        if (total_at(chart, chart->n_parts, i) > total_at(chart, chart->n_parts, at))
            at = i;
    return at;
}

static int y_of(double value, double top)
{
    return HEIGHT - (int)lround(HEIGHT * value / top);
}

/* The area of a part: along its upper edge in steps, and back along its lower edge. */
static void area(FILE *out, const struct chart *chart, size_t part, size_t n, double top)
{
    int last = -1;

    (void)fprintf(out, "<path class=\"%s\" d=\"M0 %d", chart->parts[part].colour,
                  y_of(total_at(chart, part, 0), top));
    for (size_t i = 0; i < n; i++) {
        int y = y_of(total_at(chart, part + 1, i), top);

        if (y != last)
            (void)fprintf(out, "H%zuV%d", i, y);
        last = y;
    }
    (void)fprintf(out, "H%zu", n);
    for (size_t i = n; i-- > 0;) {
        int y = y_of(total_at(chart, part, i), top);

        if (y != last)
            (void)fprintf(out, "H%zuV%d", i + 1, y);
        last = y;
    }
    (void)fputs("H0Z\"/>\n", out);
}

static void grid(FILE *out, size_t width, unsigned n)
{
    (void)fputs("<path class=\"grid\" d=\"", out);
    for (unsigned i = 0; i <= n; i++)
        (void)fprintf(out, "M0 %uH%zu", HEIGHT * i / n, width);
    (void)fputs("\"/>\n", out);
}

/* The tooltips of the bins. */
static void tips(FILE *out, const struct chart *chart, const struct chart_time *time)
{
    char buf[UNITS_SIZE];

    (void)fputs("<g class=\"tips\">\n", out);
    for (size_t i = 0; i < time->n; i++) {
        double sum = total_at(chart, chart->n_parts, i);

        if (sum <= 0)
            continue;
        (void)fprintf(out, "<rect x=\"%zu\" width=\"1\" height=\"%d\"><title>%s", i, HEIGHT,
                      bin_text(time, i, buf));
        for (size_t p = 0; p < chart->n_parts; p++) {
            if (chart->parts[p].values[i] <= 0)
                continue;
            (void)fputs("\n", out);
            html_text(out, chart->parts[p].name);
            (void)fprintf(out, " %s", chart->show(chart->parts[p].values[i], buf));
        }
        if (chart->n_parts > 1)
            (void)fprintf(out, "\nall %s", chart->show(sum, buf));
        (void)fputs("</title></rect>\n", out);
    }
    (void)fputs("</g>\n", out);
}

static void legend(FILE *out, const struct chart *chart, const struct chart_time *time)
{
    char buf[UNITS_SIZE];

    (void)fputs("<ul class=\"legend\">\n", out);
    for (size_t i = 0; i < chart->n_parts; i++) {
        double peak = part_peak(&chart->parts[i], time->n);

        if (peak <= 0)
            continue;
        (void)fprintf(out, "<li><i class=\"dot %s\"></i>", chart->parts[i].colour);
        html_text(out, chart->parts[i].name);
        (void)fprintf(out, " <small>at most %s</small></li>\n", chart->show(peak, buf));
    }
    (void)fputs("</ul>\n", out);
}

void chart_stack(FILE *out, const struct chart *chart, const struct chart_time *time)
{
    size_t at = busiest(chart, time);
    double peak = total_at(chart, chart->n_parts, at);
    double tick = chart_tick(peak, chart->base, Y_TICKS);
    unsigned n_ticks = (unsigned)ceil(peak / tick - 1e-9);
    char when[UNITS_SIZE], width[UNITS_SIZE], value[UNITS_SIZE];

    if (peak <= 0)
        return;
    (void)fprintf(out,
                  "<figure class=\"chart\">\n<figcaption>%s <small>busiest %s: %s, %s after the "
                  "start</small></figcaption>\n",
                  chart->title, html_plain(units_time(time->width_s * NS_PER_S, width)),
                  chart->show(peak, value), bin_text(time, at, when));
    (void)fputs("<div class=\"plot\">\n", out);
    y_axis(out, chart, tick, n_ticks);
    (void)fprintf(out,
                  "<svg viewBox=\"0 0 %zu %d\" preserveAspectRatio=\"none\" role=\"img\" "
                  "aria-label=\"%s by mount over time, in bins of %s: at most %s, %s after the "
                  "start\">\n",
                  time->n, HEIGHT, chart->title, width, value, when);
    grid(out, time->n, n_ticks);
    for (size_t i = 0; i < chart->n_parts; i++)
        if (part_peak(&chart->parts[i], time->n) > 0)
            area(out, chart, i, time->n, tick * n_ticks);
    tips(out, chart, time);
    (void)fputs("</svg>\n", out);
    x_axis(out, time);
    (void)fputs("</div>\n", out);
    legend(out, chart, time);
    (void)fputs("</figure>\n", out);
}

/* --- a heat map ------------------------------------------------------------------------------- */

/* The largest value of a level. Bounds grow by squares, so that both a burst and the activity
 * besides it are visible. */
static double level_bound(unsigned level, double peak)
{
    return peak * level * level / (LEVELS * LEVELS);
}

/* 0 for nothing, else from 1 to LEVELS. */
static unsigned level_of(double value, double peak)
{
    unsigned level = value > 0;

    while (level && level < LEVELS && value > level_bound(level, peak))
        level++;
    return level;
}

static void heat_level(FILE *out, const struct chart_row *rows, size_t n_rows, size_t n,
                       unsigned level, double peak)
{
    bool any = false;

    for (size_t r = 0; r < n_rows; r++) {
        for (size_t i = 0, run = 0; i < n; i += run) {
            run = 1;
            if (level_of(rows[r].values[i], peak) != level)
                continue;
            while (i + run < n && level_of(rows[r].values[i + run], peak) == level)
                run++;
            if (!any)
                (void)fprintf(out, "<path class=\"h%u\" d=\"", level);
            any = true;
            (void)fprintf(out, "M%zu %zuh%zuv1H%zuz", i, r, run, i);
        }
    }
    if (any)
        (void)fputs("\"/>\n", out);
}

static void row_tip(FILE *out, const struct chart *chart, const struct chart_row *row, size_t r,
                    const struct chart_time *time)
{
    char buf[UNITS_SIZE], when[UNITS_SIZE];
    size_t at = 0;

    for (size_t i = 1; i < time->n; i++)
        if (row->values[i] > row->values[at])
            at = i;
    (void)fprintf(out, "<rect y=\"%zu\" width=\"%zu\" height=\"1\"><title>", r, time->n);
    html_text(out, row->name);
    (void)fprintf(out, ": at most %s, %s after the start</title></rect>\n",
                  chart->show(row->values[at], buf), bin_text(time, at, when));
}

static void heat_legend(FILE *out, const struct chart *chart, double peak)
{
    char buf[UNITS_SIZE];

    (void)fprintf(out, "<ul class=\"legend heat\"><li>up to %s</li>",
                  chart->show(level_bound(1, peak), buf));
    for (unsigned i = 1; i <= LEVELS; i++)
        (void)fprintf(out, "<li><i class=\"dot h%u\"></i></li>", i);
    (void)fprintf(out, "<li>up to %s</li></ul>\n", chart->show(peak, buf));
}

void chart_heat(FILE *out, const struct chart *chart, const struct chart_row *rows, size_t n_rows,
                const struct chart_time *time)
{
    double peak = 0;

    for (size_t r = 0; r < n_rows; r++)
        for (size_t i = 0; i < time->n; i++)
            peak = fmax(peak, rows[r].values[i]);
    if (peak <= 0)
        return;
    (void)fprintf(out,
                  "<figure class=\"chart\">\n<figcaption>%s by node</figcaption>\n"
                  "<div class=\"plot heat%s\" style=\"--rows:%zu\">\n"
                  "<div class=\"rows\">",
                  chart->title, n_rows > 16 ? " many" : "", n_rows);
    for (size_t r = 0; r < n_rows; r++) {
        _free_ char *fitted = layout_fit(rows[r].name, NAME_COLUMNS);

        (void)fputs("<span>", out);
        html_text(out, fitted);
        (void)fputs("</span>", out);
    }
    (void)fprintf(out,
                  "</div>\n<svg viewBox=\"0 0 %zu %zu\" preserveAspectRatio=\"none\" role=\"img\" "
                  "aria-label=\"%s of each node over time\">\n",
                  time->n, n_rows, chart->title);
    for (unsigned level = 1; level <= LEVELS; level++)
        heat_level(out, rows, n_rows, time->n, level, peak);
    (void)fputs("<g class=\"tips\">\n", out);
    for (size_t r = 0; r < n_rows; r++)
        row_tip(out, chart, &rows[r], r, time);
    (void)fputs("</g>\n</svg>\n", out);
    x_axis(out, time);
    (void)fputs("</div>\n", out);
    heat_legend(out, chart, peak);
    (void)fputs("</figure>\n", out);
}
