/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* pipe2 */
#include "cli/base/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/terminal.h"

static pid_t pager; /* 0: none */

/* NULL: no variable is set; "": no pager is wanted. */
static const char *command(void)
{
    const char *own = getenv("JOBIO_PAGER");

    return own ? own : getenv("PAGER");
}

/* In the child. The pipe `told` is closed by exec, or gets a byte if exec fails. */
static void become_pager(const char *word, int in, int told)
{
    const char *failed = "!";

    (void)signal(SIGPIPE, SIG_DFL);
    if (dup2(in, STDIN_FILENO) < 0)
        _exit(127);
    /* Like git: exit if it fits, show colours, do not clear the screen. */
    (void)setenv("LESS", "FRX", 0);
    if (word)
        (void)execl("/bin/sh", "sh", "-c", word, (char *)NULL);
    else
        (void)execlp("less", "less", (char *)NULL);
    (void)!write(told, failed, 1);
    _exit(127);
}

/* False if the pager could not be executed. */
static bool has_started(int told)
{
    char one;
    ssize_t n;

    do
        n = read(told, &one, 1);
    while (n < 0 && errno == EINTR);
    return n == 0;
}

static void start(const char *word)
{
    int text[2], told[2];

    if (pipe2(text, O_CLOEXEC) < 0)
        return;
    if (pipe2(told, O_CLOEXEC) < 0) {
        (void)close(text[0]);
        (void)close(text[1]);
        return;
    }
    (void)fflush(stdout);
    pager = fork();
    if (pager == 0)
        become_pager(word, text[0], told[1]);
    (void)close(text[0]);
    (void)close(told[1]);
    if (pager > 0 && has_started(told[0])) {
        terminal_keep();
        /* ^C is for the pager: if this process exited, the pager and the shell would both read the
         * terminal. */
        (void)signal(SIGINT, SIG_IGN);
        (void)signal(SIGQUIT, SIG_IGN);
        (void)dup2(text[1], STDOUT_FILENO);
    } else if (pager > 0) {
        (void)waitpid(pager, NULL, 0);
        pager = 0;
    } else {
        pager = 0;
    }
    (void)close(told[0]);
    (void)close(text[1]);
}

void pager_start(const struct cli *cli)
{
    const char *word = command();

    (void)signal(SIGPIPE, SIG_IGN);
    if (pager || cli->no_pager || !terminal_is() || (word && (!*word || strcmp(word, "cat") == 0)))
        return;
    /* On such a terminal less always waits for a key. */
    if (!word && terminal_is_dumb())
        return;
    start(word);
}

bool pager_finish(void)
{
    int status = 0;

    if (!pager)
        return true;
    (void)fflush(stdout);
    (void)close(STDOUT_FILENO);
    while (waitpid(pager, &status, 0) < 0 && errno == EINTR)
        ;
    pager = 0;
    /* The shell's statuses for a command that it cannot run. */
    return !WIFEXITED(status) || (WEXITSTATUS(status) != 126 && WEXITSTATUS(status) != 127);
}
