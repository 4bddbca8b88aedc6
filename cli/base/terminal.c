/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/base/terminal.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/numbers.h"

#define COLUMNS_MAX 10000

/* The properties of stdout before a pager replaced it. */
static struct {
    bool known, is;
    struct winsize size;
} kept;

static struct winsize window(void)
{
    struct winsize size = {0};

    if (kept.known)
        return kept.size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
        return (struct winsize){0};
    return size;
}

bool terminal_is(void)
{
    return kept.known ? kept.is : isatty(STDOUT_FILENO);
}

void terminal_keep(void)
{
    bool is = terminal_is();
    struct winsize size = window();

    kept.known = true;
    kept.is = is;
    kept.size = size;
}

/* 0: not set, or not a number up to COLUMNS_MAX. */
static unsigned from_environment(const char *name)
{
    const char *text = getenv(name);
    uint64_t value;

    return text && number_parse(text, 0, COLUMNS_MAX, &value) == 0 ? (unsigned)value : 0;
}

unsigned terminal_bound(void)
{
    unsigned columns = from_environment("COLUMNS");

    if (!columns && terminal_is()) {
        columns = window().ws_col;
        if (!columns)
            columns = TERMINAL_COLUMNS_DEFAULT;
    }
    return columns && columns < TERMINAL_COLUMNS_MIN ? TERMINAL_COLUMNS_MIN : columns;
}

unsigned terminal_columns(void)
{
    unsigned columns = terminal_bound();

    return columns ? columns : TERMINAL_COLUMNS_DEFAULT;
}

unsigned terminal_lines(void)
{
    return terminal_is() ? window().ws_row : 0;
}

bool terminal_utf8(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

bool terminal_is_dumb(void)
{
    const char *term = getenv("TERM");

    return !term || !*term || strcmp(term, "dumb") == 0;
}

bool terminal_colour(void)
{
    const char *no = getenv("NO_COLOR");

    return terminal_is() && !(no && *no) && !terminal_is_dumb();
}
