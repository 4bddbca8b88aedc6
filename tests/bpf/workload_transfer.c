/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Transfers inside the kernel: sendfile, splice, copies, clones, core dumps. */
#include "config.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bpf/workload.h"

#define SIZE 100000

static int source, target, pipes[2];

/* A file of the first directory, one of the last, and a pipe. */
static void prepare(void)
{
    source = make_file(IN("source"), SIZE, WARM);
    MUST(lseek(source, 0, SEEK_SET));
    target = make_file(at(directories() - 1, "target"), 0, WARM);
    MUST(pipe(pipes));
    MUST(fcntl(pipes[1], F_SETPIPE_SZ, BLOCK));
}

static int last_place(void)
{
    return place_at(directories() - 1);
}

static void do_sendfile_file(void)
{
    prepare();
    begin();
    for (int i = 0; i < 3; i++) { /* the last one is short */
        long n = WELL(HERE, IO_READ, sendfile(target, source, NULL, 40000));

        did(last_place(), IO_WRITE, n);
    }
}

static void do_sendfile_socket(void)
{
    int sockets[2];
    off_t from = 1000;

    prepare();
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
    begin();
    WELL(HERE, IO_READ, sendfile(sockets[0], source, &from, 30000));
    WELL(HERE, IO_READ, sendfile(sockets[0], source, &from, 1));
    MUST(read(sockets[1], block, 30001));
}

static void do_sendfile_pipe(void)
{
    prepare();
    begin();
    WELL(HERE, IO_READ, sendfile(pipes[1], source, NULL, 30000));
    WELL(HERE, IO_READ, sendfile(pipes[1], source, NULL, 500));
    MUST(read(pipes[0], block, 30500));
}

static void do_splice(void)
{
    off_t at_byte = 7;

    prepare();
    begin();
    WELL(HERE, IO_READ, splice(source, NULL, pipes[1], NULL, 60000, 0));
    WELL(last_place(), IO_WRITE, splice(pipes[0], NULL, target, &at_byte, 50000, 0));
    WELL(last_place(), IO_WRITE, splice(pipes[0], NULL, target, NULL, 50000, 0));
    WELL(HERE, IO_READ, splice(source, NULL, pipes[1], NULL, 60000, 0));
    MUST(read(pipes[0], block, BLOCK));
    WELL(HERE, IO_READ, splice(source, NULL, pipes[1], NULL, 60000, 0)); /* at the end */
}

/* Between pipes and memory: not counted. */
static void do_tee(void)
{
    const struct iovec part = {block, 5000};
    int others[2];

    prepare();
    MUST(pipe(others));
    begin();
    WELL(HERE, IO_READ, splice(source, NULL, pipes[1], NULL, 60000, 0));
    MUST(tee(pipes[0], others[1], 4000, 0));
    MUST(splice(pipes[0], NULL, others[1], NULL, 4000, 0));
    MUST(vmsplice(pipes[1], &part, 1, 0));
    WELL(last_place(), IO_WRITE, splice(others[0], NULL, target, NULL, BLOCK, 0));
}

static void do_splice_errors(void)
{
    int append;

    prepare();
    append = (int)MUST(open(at(directories() - 1, "target"), O_WRONLY | O_APPEND));
    MUST(write(pipes[1], block, 100));
    begin();
    FAILS(last_place(), IO_WRITE, EINVAL, splice(pipes[0], NULL, append, NULL, 100, 0));
}

/* From the kernel's own file systems: only the target counts. */
static void do_sendfile_pseudo(void)
{
    int meminfo;

    prepare();
    begin();
    meminfo = (int)MUST(open("/proc/meminfo", O_RDONLY));
    while (WELL(last_place(), IO_WRITE, sendfile(target, meminfo, NULL, 100)) > 0)
        ;
}

/* Onto a full file system: both sides fail. */
static void do_sendfile_full(void)
{
    long n;

    prepare();
    begin();
    do {
        MUST(lseek(source, 0, SEEK_SET));
        n = did(HERE, IO_READ, sendfile(target, source, NULL, 50000));
        did(last_place(), IO_WRITE, n);
    } while (n > 0);
    if (errno != ENOSPC)
        die("sendfile");
}

static void do_copy(void)
{
    long n;

    prepare();
    begin();
    do {
        n = did(HERE, IO_COPY_READ, copy_file_range(source, NULL, target, NULL, 45000, 0));
        did(last_place(), IO_COPY_WRITE, n);
    } while (n > 0);
}

static void do_copy_refused(void)
{
    off_t from = 0;
    int append;

    prepare();
    append = (int)MUST(open(at(directories() - 1, "target"), O_WRONLY | O_APPEND));
    begin();
    FAILS(HERE, IO_COPY_READ, EBADF, copy_file_range(source, &from, append, NULL, 10, 0));
    did(last_place(), IO_COPY_WRITE, -1);
    FAILS(HERE, IO_COPY_READ, EINVAL, copy_file_range(source, &from, pipes[1], NULL, 10, 0));
}

static void do_clone(void)
{
    struct file_clone_range range = {0};

    prepare();
    range =
        (struct file_clone_range){.src_fd = source, .src_length = 65536, .dest_offset = 1 << 20};
    begin();
    if (did(HERE, IO_CLONE, ioctl(target, FICLONE, source) < 0 ? -1 : SIZE) > 0)
        did(HERE, IO_CLONE, ioctl(target, FICLONERANGE, &range) < 0 ? -1 : 65536);
}

/* --- core dumps ------------------------------------------------------------------------------- */

static void set_pattern(const char *pattern)
{
    int fd = (int)MUST(open("/proc/sys/kernel/core_pattern", O_WRONLY));

    MUST(write(fd, pattern, strlen(pattern)));
    close(fd);
}

/* The padding of the notes of a core file, which the kernel skips. */
static uint64_t note_filling(int fd, const Elf64_Phdr *part)
{
    uint64_t filling = 0;
    Elf64_Nhdr note;

    for (uint64_t done = 0; done < part->p_filesz;) {
        uint64_t name, desc;

        MUST(pread(fd, &note, sizeof(note), (off_t)(part->p_offset + done)));
        name = (note.n_namesz + 3ull) & ~3ull;
        desc = (note.n_descsz + 3ull) & ~3ull;
        filling += name - note.n_namesz + desc - note.n_descsz;
        done += sizeof(note) + name + desc;
    }
    return filling;
}

/* A dump that ends with a skipped page, such as that of vsyscall on EL 9, gets its size from one
 * byte at its end. The file has a block there that is not a hole. */
static uint64_t end_filling(int fd, uint64_t page)
{
    off_t size = lseek(fd, 0, SEEK_END);
    char *last = calloc(1, page);
    uint64_t used = 0;

    if (!last || size < (off_t)page)
        die("core");
    MUST(pread(fd, last, page, size - (off_t)page));
    for (uint64_t i = 0; i < page; i++)
        used += last[i] != 0;
    free(last);
    return used ? 0 : page - 1;
}

/* What the kernel wrote: all headers, and the pages that are not holes. */
static uint64_t core_bytes(const char *path)
{
    int fd = (int)MUST(open(path, O_RDONLY));
    uint64_t headers = 0, bytes = 0, page = (uint64_t)sysconf(_SC_PAGESIZE);
    off_t data, hole;
    Elf64_Ehdr start;
    Elf64_Phdr part;

    MUST(pread(fd, &start, sizeof(start), 0));
    for (int i = 0; i < start.e_phnum; i++) {
        MUST(pread(fd, &part, sizeof(part), (off_t)(start.e_phoff + i * sizeof(part))));
        if (part.p_type == PT_NOTE) {
            headers = part.p_offset + part.p_filesz;
            bytes = headers - note_filling(fd, &part);
        }
    }
    data = (off_t)((headers + page - 1) / page * page);
    while ((data = lseek(fd, data, SEEK_DATA)) >= 0) {
        hole = lseek(fd, data, SEEK_HOLE);
        bytes += (uint64_t)(hole - data);
        data = hole;
    }
    bytes -= end_filling(fd, page);
    close(fd);
    return bytes;
}

static void crash(void)
{
    const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};

    MUST(setrlimit(RLIMIT_CORE, &all));
    MUST(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
    begin();
    raise(SIGABRT);
}

static void do_core(void)
{
    pid_t pid;
    int status;

    set_pattern(IN("core"));
    pid = (pid_t)MUST(fork());
    if (pid == 0) {
        crash();
        _exit(1);
    }
    MUST(waitpid(pid, &status, 0));
    if (!WCOREDUMP(status))
        die("no core");
    did_bytes(HERE, IO_WRITE, core_bytes(IN("core")));
    did(HERE, IO_OPEN, 0);
    did(HERE, IO_CREATE, 0);
    did_perhaps(HERE, IO_TRUNCATE);
    did_perhaps(HERE, IO_UNLINK); /* of an old one, before */
}

const struct workload workloads_transfer[] = {
    {"sendfile_file", do_sendfile_file},
    {"sendfile_socket", do_sendfile_socket},
    {"sendfile_pipe", do_sendfile_pipe},
    {"sendfile_pseudo", do_sendfile_pseudo},
    {"sendfile_full", do_sendfile_full},
    {"splice", do_splice},
    {"tee", do_tee},
    {"splice_errors", do_splice_errors},
    {"copy", do_copy},
    {"copy_refused", do_copy_refused},
    {"clone", do_clone},
    {"core", do_core},
    {NULL, NULL},
};
