/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* pipe2 */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/log.h"

static char captured[4096];

/* What `log_write` put on stderr since. */
static int begin_capture(int pipe_fds[2])
{
    int saved = dup(STDERR_FILENO);

    assert_int_equal(pipe2(pipe_fds, O_NONBLOCK), 0);
    assert_true(dup2(pipe_fds[1], STDERR_FILENO) >= 0);
    return saved;
}

static void end_capture(int saved, int pipe_fds[2])
{
    ssize_t n = read(pipe_fds[0], captured, sizeof(captured) - 1);

    captured[n > 0 ? n : 0] = '\0';
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    close(saved);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

static void test_levels_and_untrusted_text(void **state)
{
    int fds[2], saved;

    (void)state;
    unsetenv("JOURNAL_STREAM");
    log_init("me", LOG_LEVEL_INFO);
    saved = begin_capture(fds);
    log_debug("not this");
    log_info("job \"%s\"", "a\nerror: forged\x1b[2J");
    end_capture(saved, fds);
    assert_string_equal(captured, "me: job \"a?error: forged?[2J\"\n");
}

static void test_journal_prefix(void **state)
{
    int fds[2], saved;

    (void)state;
    setenv("JOURNAL_STREAM", "8:1", 1);
    log_init("me", LOG_LEVEL_DEBUG);
    saved = begin_capture(fds);
    log_warning("careful");
    log_debug("detail");
    end_capture(saved, fds);
    unsetenv("JOURNAL_STREAM");
    assert_string_equal(captured, "<4>careful\n<7>detail\n");
}

static void test_limit(void **state)
{
    unsigned held = 77;

    (void)state;
    assert_true(log_allowed("peer 1", 3600, &held));
    assert_int_equal(held, 0);
    assert_false(log_allowed("peer 1", 3600, &held));
    assert_false(log_allowed("peer 1", 3600, &held));
    assert_true(log_allowed("another", 0, &held));
    assert_true(log_allowed("another", 0, &held));
}

static void test_parse(void **state)
{
    (void)state;
    assert_int_equal(log_level_parse("error"), LOG_LEVEL_ERROR);
    assert_int_equal(log_level_parse("Debug"), LOG_LEVEL_DEBUG);
    assert_int_equal(log_level_parse("loud"), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels_and_untrusted_text),
        cmocka_unit_test(test_journal_prefix),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_parse),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
