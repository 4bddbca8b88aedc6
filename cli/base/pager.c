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

/* NULL: nothing is set, which is not the same as an empty word. */
static const char *command(void)
{
    const char *own = getenv("JOBIO_PAGER");

    return own ? own : getenv("PAGER");
}

/* In the child. What cannot be started leaves its end of the pipe `told` open until then, and says
 * so there. */
static void become_pager(const char *word, int in, int told)
{
    const char *failed = "!";

    (void)signal(SIGPIPE, SIG_DFL);
    if (dup2(in, STDIN_FILENO) < 0)
        _exit(127);
    /* As git has it: quit if it fits, colours, leave the screen as it is. */
    (void)setenv("LESS", "FRX", 0);
    if (word)
        (void)execl("/bin/sh", "sh", "-c", word, (char *)NULL);
    else
        (void)execlp("less", "less", (char *)NULL);
    (void)!write(told, failed, 1);
    _exit(127);
}

/* The pipe `told` closes when the pager is executed. */
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
        /* ^C is for the pager: who left now would leave it reading the terminal beside the shell.
         */
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
    /* There less asks for a key, whatever it has to show. */
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
    /* What the shell says of a command that it cannot run. */
    return !WIFEXITED(status) || (WEXITSTATUS(status) != 126 && WEXITSTATUS(status) != 127);
}
