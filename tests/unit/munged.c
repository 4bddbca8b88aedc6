/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "tests/unit/munged.h"

#include "tests/unit/test.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "/usr/sbin/munged"

struct munged {
    pid_t pid;
    char directory[64], socket[96];
    const char *origin; /* NULL: munged's choice */
};

bool munged_is_there(void)
{
    return access(PROGRAM, X_OK) == 0;
}

static void make_key(const char *directory)
{
    char path[96], key[1024];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/key", directory);
    assert_int_equal(getrandom(key, sizeof(key), 0), sizeof(key));
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, key, sizeof(key)), sizeof(key));
    (void)close(fd);
}

static void run(const struct munged *m)
{
    static const char *const names[] = {"key", "pid", "seed", "log"};
    static const char *const options[] = {"--key-file", "--pid-file", "--seed-file", "--log-file"};
    char words[4][128], socket[128], origin[64];
    char *argv[] = {PROGRAM,  "--foreground", "--force", socket, words[0],
                    words[1], words[2],       words[3],  NULL,   NULL};

    for (int i = 0; i < 4; i++)
        (void)snprintf(words[i], sizeof(words[i]), "%s=%s/%s", options[i], m->directory, names[i]);
    (void)snprintf(socket, sizeof(socket), "--socket=%s", m->socket);
    (void)snprintf(origin, sizeof(origin), "--origin=%s", m->origin ? m->origin : "");
    if (m->origin)
        argv[8] = origin;
    (void)!freopen("/dev/null", "w", stderr); /* its log has the same lines */
    (void)execv(PROGRAM, argv);
    _exit(127);
}

static bool answers(const struct munged *m)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

    (void)strncpy(address.sun_path, m->socket, sizeof(address.sun_path) - 1);
    r = connect(fd, (const struct sockaddr *)&address, sizeof(address));
    (void)close(fd);
    return r == 0;
}

static void start(struct munged *m)
{
    m->pid = fork();
    assert_true(m->pid >= 0);
    if (m->pid == 0)
        run(m);
    for (int i = 0; !answers(m); i++) {
        assert_true(i < 3000);
        assert_int_equal(waitpid(m->pid, NULL, WNOHANG), 0);
        (void)usleep(10000);
    }
}

struct munged *munged_start(void)
{
    struct munged *m = calloc(1, sizeof(*m));

    assert_non_null(m);
    (void)strcpy(m->directory, "/tmp/jobio-munged-XXXXXX");
    assert_non_null(mkdtemp(m->directory));
    assert_int_equal(chmod(m->directory, 0711), 0);
    (void)snprintf(m->socket, sizeof(m->socket), "%s/socket", m->directory);
    make_key(m->directory);
    start(m);
    return m;
}

static void end(const struct munged *m)
{
    (void)kill(m->pid, SIGTERM);
    (void)waitpid(m->pid, NULL, 0);
}

void munged_set_origin(struct munged *munged, const char *origin)
{
    end(munged);
    munged->origin = origin;
    start(munged);
}

const char *munged_socket(const struct munged *munged)
{
    return munged->socket;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

void munged_stop(struct munged *munged)
{
    if (!munged)
        return;
    end(munged);
    (void)nftw(munged->directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(munged);
}
