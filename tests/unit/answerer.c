/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/answerer.h"

#include "tests/unit/test.h"

#include <fcntl.h>
#include <stdbool.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/message.h"

static struct message message;

static void log_message(int log, size_t size)
{
    static char line[MESSAGE_MAX + 1];

    for (size_t i = 0; i < size; i++)
        line[i] = message.data[i] ? message.data[i] : '|';
    line[size] = '\n';
    if (write(log, line, size + 1) < 0)
        _exit(1);
}

static void send_message(int fd, size_t size)
{
    (void)send(fd, message.data, size, MSG_NOSIGNAL);
}

static void answer_ok(int fd)
{
    const char *type = message_get(&message, "TYPE");
    int report = type && strcmp(type, "report") == 0;

    message_init(&message, "answer");
    message_put(&message, "STATUS", "ok");
    if (report)
        message_put(&message, "TEXT", "the summary\n");
    send_message(fd, message.size);
}

static void answer_parts(int fd)
{
    static const char *const parts[] = {"one ", "two ", "three"};

    for (int i = 0; i < 3; i++) {
        message_init(&message, "answer");
        message_put(&message, "STATUS", "ok");
        message_put(&message, "TEXT", parts[i]);
        if (i < 2)
            message_put(&message, "MORE", "1");
        send_message(fd, message.size);
    }
}

const char *answerer_recording;

/* In place: '|' becomes NUL, and "\\n" a newline. Returns the size. */
static size_t decode(char *text)
{
    char *to = text;

    for (const char *p = text; *p && *p != '\n'; p++) {
        bool escaped = p[0] == '\\' && p[1] == 'n';

        *to++ = *p == '|' ? '\0' : escaped ? '\n' : *p;
        p += escaped;
    }
    return (size_t)(to - text);
}

static void answer_recorded(int fd)
{
    _fclose_ FILE *f = fopen(answerer_recording, "r");
    const char *type = message_get(&message, "TYPE");
    _free_ char *line = NULL;
    size_t room = 0;
    char *blank;

    while (f && getline(&line, &room, f) > 0 && (blank = strchr(line, ' '))) {
        *blank++ = '\0';
        if (strcmp(line, type) != 0 && strcmp(line, "*") != 0)
            continue;
        (void)send(fd, blank, decode(blank), MSG_NOSIGNAL);
        return;
    }
}

static void answer(int fd, enum answer how)
{
    static char huge[MESSAGE_MAX + 100];

    switch (how) {
    case ANSWER_OK:
        answer_ok(fd);
        break;
    case ANSWER_SLOW:
        if (strcmp(message_get(&message, "TYPE"), "end") == 0)
            (void)nanosleep(&(struct timespec){0, 400000000}, NULL);
        answer_ok(fd);
        break;
    case ANSWER_PARTS:
        answer_parts(fd);
        break;
    case ANSWER_RECORDED:
        answer_recorded(fd);
        break;
    case ANSWER_BYTE:
        (void)send(fd, "x", 1, MSG_NOSIGNAL);
        break;
    case ANSWER_HUGE:
        memcpy(huge, "VERSION=1\0K=", 12);
        memset(huge + 12, 'x', sizeof(huge) - 13);
        (void)send(fd, huge, sizeof(huge), MSG_NOSIGNAL);
        break;
    case ANSWER_ERROR:
    case ANSWER_CUT:
    case ANSWER_VERSION:
        message_init(&message, "answer");
        if (how == ANSWER_VERSION)
            memcpy(message.data, "VERSION=7", 10);
        message_put(&message, "STATUS", how == ANSWER_ERROR ? "error" : "ok");
        message_put(&message, "ERROR", how == ANSWER_ERROR ? "no such step" : NULL);
        send_message(fd, message.size - (how == ANSWER_CUT));
        break;
    case ANSWER_NEVER:
        pause();
        break;
    case ANSWER_CLOSE:
    case ANSWER_DEAF:
        break;
    }
}

static void __attribute__((noreturn)) serve(struct answerer *a, enum answer how)
{
    int log = open(a->log, O_WRONLY | O_CREAT | O_APPEND, 0600);

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        _close_ int fd = accept(a->fd, NULL, NULL);
        ssize_t n = fd < 0 ? -1 : recv(fd, message.data, sizeof(message.data), 0);

        if (fd < 0 || log < 0)
            _exit(1);
        if (n <= 0)
            continue;
        message.size = (size_t)n;
        log_message(log, message.size);
        answer(fd, how);
    }
}

void answerer_start(struct answerer *a, const char *directory, enum answer how)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    assert_true(snprintf(a->path, sizeof(a->path), "%s/jobiod.sock", directory) <
                (int)sizeof(address.sun_path));
    assert_true(snprintf(a->log, sizeof(a->log), "%s/asked", directory) < (int)sizeof(a->log));
    (void)unlink(a->path);
    memcpy(address.sun_path, a->path, sizeof(address.sun_path));
    a->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_true(a->fd >= 0);
    assert_int_equal(bind(a->fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(a->fd, how == ANSWER_DEAF ? 1 : 128), 0);
    a->pid = 0;
    if (how == ANSWER_DEAF)
        return;
    a->pid = fork();
    assert_true(a->pid >= 0);
    if (a->pid == 0)
        serve(a, how);
}

void answerer_stop(struct answerer *a)
{
    if (a->pid > 0) {
        (void)kill(a->pid, SIGKILL);
        (void)waitpid(a->pid, NULL, 0);
    }
    (void)close(a->fd);
    (void)unlink(a->path);
    (void)unlink(a->log);
}

char *answerer_asked(const struct answerer *a)
{
    _fclose_ FILE *f = fopen(a->log, "r");
    char *text = NULL;
    size_t size = 0;

    if (!f || getdelim(&text, &size, '\0', f) < 0) {
        free(text);
        return strdup("");
    }
    return text;
}
