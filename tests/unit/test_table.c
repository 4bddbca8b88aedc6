/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "report/table.h"

static const struct table_column columns[] = {
    {"name", 8, 0, true, 7},
    {"bytes", 9, 0, false, 0},
    {"calls", 8, 60, false, 0},
};

struct text {
    char *text; /* owned */
    size_t size;
    FILE *out;
};

static void text_open(struct text *text)
{
    text->out = open_memstream(&text->text, &text->size);
    assert_non_null(text->out);
}

static void check(struct text *text, const char *want)
{
    assert_int_equal(fclose(text->out), 0);
    assert_string_equal(text->text, want);
    free(text->text);
}

static void row(struct table *t, const char *name, uint64_t bytes, uint64_t count)
{
    table_cell(t, name);
    table_bytes(t, bytes);
    table_count(t, count);
    table_end(t);
}

static void aligns_and_cuts(void **state)
{
    struct text text;
    struct table t;

    (void)state;
    text_open(&text);
    t = table_make(text.out, columns, 3, 80);
    t.indent = 2;
    assert_int_equal(table_width(&t), 25);
    table_titles(&t);
    row(&t, "/a/long/path", 1536, 12345);
    row(&t, "\xc3\xa4", 0, 0);
    check(&text, "  name        bytes   calls\n"
                 "  /a/~ath   1.5 KiB  12.3 k\n"
                 "  \xc3\xa4               -       -\n");
}

static void hides_columns_and_is_brief(void **state)
{
    struct text text;
    struct table t;

    (void)state;
    text_open(&text);
    t = table_make(text.out, columns, 3, 59);
    t.brief = true;
    t.columns[0].width = 0;
    table_titles(&t);
    row(&t, "x", 1536, 12345);
    check(&text, "    bytes\n"
                 "   1.5KiB\n");
}

static void wraps_lines_and_leaves_no_space_behind(void **state)
{
    static const struct table_column names[] = {{"one", 5, 0, true, 0}, {"two", 5, 0, true, 0}};
    struct text text;
    struct table t;

    (void)state;
    text_open(&text);
    t = table_make(text.out, names, 2, 80);
    t.gap = 1;
    t.wrap = 11;
    table_titles(&t);
    table_cell(&t, "longer");
    table_cell(&t, "x");
    table_end(&t);
    table_cell(&t, "a");
    table_cell(&t, "");
    table_end(&t);
    check(&text, "one   two\n"
                 "longer\n"
                 "  x\n"
                 "a\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aligns_and_cuts),
        cmocka_unit_test(hides_columns_and_is_brief),
        cmocka_unit_test(wraps_lines_and_leaves_no_space_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
