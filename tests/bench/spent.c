/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CPU time of a command in a root of its own:
 *
 *   spent DIRECTORY FILE COMMAND...     in the directory; append its user and system time in us to
 *                                       the file
 *
 * The root of a guest is on the host, whose time would count.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static long us_of(struct timeval time)
{
    return time.tv_sec * 1000000 + time.tv_usec;
}

int main(int argc, char **argv)
{
    struct rusage usage;
    FILE *file;
    int status;
    pid_t pid;

    if (argc < 4)
        return 2;
    file = fopen(argv[2], "ae");
    if (!file)
        die(argv[2]);
    if (chroot(argv[1]) < 0 || chdir("/") < 0)
        die(argv[1]);
    pid = vfork();
    if (pid == 0) {
        (void)execv(argv[3], argv + 3);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || getrusage(RUSAGE_CHILDREN, &usage) < 0)
        die(argv[3]);
    if (fprintf(file, "%ld\n", us_of(usage.ru_utime) + us_of(usage.ru_stime)) < 0 || fclose(file))
        die(argv[2]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
