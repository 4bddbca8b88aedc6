/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the parts of the page. */
#ifndef JOBIO_REPORT_HTML_HTML_IMPL_H
#define JOBIO_REPORT_HTML_HTML_IMPL_H

#include <stdbool.h>
#include <stdio.h>

#include "report/html/html.h"
#include "report/summary/summary.h"

/* Limits for what is shown one by one; the rest is aggregated. */
#define HTML_MOUNTS 64
#define HTML_COLOURS \
    7 /* mounts with a colour of their own; page.css has m1 to m7, and m0 for others */
#define HTML_HISTOGRAMS 8 /* mounts with histograms */
#define HTML_NODES 100
#define HTML_HEAT_NODES 64
#define HTML_STEPS 200

struct html {
    FILE *out;
    const struct job_account *job;
    const struct html_options *options;
    struct io_summary s; /* its rows are the mounts in the order of the page */
};

/* Untrusted text, sanitized, with < > & " ' escaped: valid between tags and in an attribute. */
void html_text(FILE *out, const char *text);
/* The same for a path; lines may break after each '/'. */
void html_path(FILE *out, const char *path);
/* The same for a sentence: starts with a capital, ends with a full stop, and no line starts with a
 * "%". */
void html_sentence(FILE *out, const char *text);
/* The CSS class for the colour of the n-th mount of the page: "m3". */
const char *html_colour(size_t place);
/* "4.0 KiB" becomes "4 KiB". In place; returns it. */
char *html_plain(char *text);
/* A time span of any length: "3.4 ms", "17 min", "27.8 h". */
char *html_time(uint64_t ns, char buf[UNITS_SIZE]);
/* The upper bound of a bucket of latencies, or what is above the last one. */
char *html_latency(uint64_t bound, char buf[UNITS_SIZE]);

/* <section> with a heading, up to html_section_end(). `id` is trusted. */
void html_section(FILE *out, const char *id, const char *title);
void html_section_end(FILE *out);
/* A table that scrolls on its own on a narrow screen; `title` is for screen readers. */
void html_table(FILE *out, const char *class, const char *title);
void html_table_end(FILE *out);

/* The parts of the page in their order; a part with nothing to show is left out or says why. */
void html_mounts(const struct html *h);
void html_times(const struct html *h);
void html_histograms(const struct html *h);
void html_operations(const struct html *h);
void html_mpi(const struct html *h);
void html_block(const struct html *h);
void html_stacks(const struct html *h);
void html_nodes(const struct html *h);
void html_steps(const struct html *h);

#endif
