/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/mpi/finder.h"

#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/numbers.h"
#include "common/proc_stat.h"
#include "common/text.h"

/* A process is looked at 1 ms after an exec, and then after twice the time, until this. */
#define LAST_DELAY_NS (512 * NS_PER_MS)

/* Of a step; the others are counted. Their names are from users, and reports keep them. */
#define MAX_NAMED 16
/* Between two looks at the room for processes, which takes less than a millisecond. A process lives
 * for tens of milliseconds at least, as MPI does at its start. */
#define CLEAN_NS (2 * NS_PER_S)
/* Looks that are later than this may have come after the end of a process, or of a step. */
#define LATE_NS NS_PER_S

/* What libraries of MPI are called, and where distributions have them. */
static const char *const patterns[] = {"libmpi.so.*", "libmpich.so.*"};
static const char *const directories[] = {
    "/usr/lib", "/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib64/*/lib", "/usr/local/lib",
};

struct process {
    uint32_t step, pid;
    /* Until then it had not called an MPI that is not found yet; 0: that is not known. */
    uint64_t since_ns;
    uint64_t next_ns; /* the next look; UINT64_MAX: at the next scan */
    uint64_t delay_ns;
    bool found;  /* it has MPI */
    bool late;   /* it may have called MPI before the probes were attached */
    bool again;  /* the same for another MPI than the first one that was found */
    bool unseen; /* it had ended before a look that was late (is_overdue()) */
};

/* A step has used a file that could not be probed. */
struct uncovered {
    uint32_t step;
    const struct mpi_found *file;
};

struct mpi_finder {
    struct mpi_probe *probe;
    struct mpi_files *files;
    uint64_t clean_ns; /* CLOCK_MONOTONIC: no look at the room for processes before */
    /* For changes to what follows, which mpi_finder_read() reads from another thread. */
    pthread_mutex_t mutex;
    struct process *processes;
    size_t n_processes;
    struct uncovered *uncovered;
    size_t n_uncovered;
    uint64_t lost;       /* processes and files for which there was no memory */
    uint32_t looking_at; /* a process of this step is being looked at; 0: none is */
    uint64_t looking_since_ns;
};

struct mpi_finder *mpi_finder_create(struct mpi_probe *probe)
{
    struct mpi_finder *finder = calloc(1, sizeof(*finder));

    if (!finder)
        return NULL;
    finder->probe = probe;
    (void)pthread_mutex_init(&finder->mutex, NULL);
    finder->files = mpi_files_create(probe);
    if (finder->files)
        return finder;
    mpi_finder_destroy(finder);
    return NULL;
}

void mpi_finder_destroy(struct mpi_finder *finder)
{
    if (!finder)
        return;
    mpi_files_destroy(finder->files);
    free(finder->processes);
    free(finder->uncovered);
    (void)pthread_mutex_destroy(&finder->mutex);
    free(finder);
}

static void expect_file(struct mpi_finder *finder, const char *path)
{
    _close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd >= 0)
        (void)mpi_files_look(finder->files, fd, path, 0);
}

static void expect_directory(struct mpi_finder *finder, const char *directory)
{
    for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
        char pattern[PATH_MAX];
        glob_t found;

        if (snprintf(pattern, sizeof(pattern), "%s/%s", directory, patterns[i]) >=
                (int)sizeof(pattern) ||
            glob(pattern, 0, NULL, &found) != 0)
            continue;
        for (size_t j = 0; j < found.gl_pathc; j++)
            expect_file(finder, found.gl_pathv[j]);
        globfree(&found);
    }
}

/* `below` each directory of a list as PATH. */
static void expect_list(struct mpi_finder *finder, const char *list, const char *below)
{
    _free_ char *copy = list ? strdup(list) : NULL;
    char *save = NULL;

    for (char *word = copy ? strtok_r(copy, ":", &save) : NULL; word;
         word = strtok_r(NULL, ":", &save)) {
        _free_ char *directory = text_format("%s%s", word, below);

        if (directory)
            expect_directory(finder, directory);
    }
}

void mpi_finder_expect(struct mpi_finder *finder, const char *libraries, const char *programs)
{
    for (size_t i = 0; i < ARRAY_SIZE(directories); i++)
        expect_directory(finder, directories[i]);
    expect_list(finder, libraries, "");
    expect_list(finder, programs, "/../lib");
    expect_list(finder, programs, "/../lib64");
}

/* --- the files of a process ------------------------------------------------------------------- */

static void note_uncovered(struct mpi_finder *finder, uint32_t step, const struct mpi_found *file)
{
    struct uncovered *grown;

    for (size_t i = 0; i < finder->n_uncovered; i++)
        if (finder->uncovered[i].step == step && finder->uncovered[i].file == file)
            return;
    (void)pthread_mutex_lock(&finder->mutex);
    grown = realloc(finder->uncovered, (finder->n_uncovered + 1) * sizeof(*grown));
    if (grown) {
        finder->uncovered = grown;
        grown[finder->n_uncovered++] = (struct uncovered){.step = step, .file = file};
    } else {
        finder->lost++;
    }
    (void)pthread_mutex_unlock(&finder->mutex);
}

/* A file that cannot be opened, for example of a FUSE mount of another user. Any file may have MPI
 * linked statically, except those of devices. One that is not mapped any more is ignored. */
static void look_at_unopened(struct mpi_finder *finder, struct process *process, const char *link,
                             bool named, int why)
{
    static const struct mpi_found library = {.name = "libmpi", .why = "cannot open the file"};
    static const struct mpi_found other = {.name = "a program", .why = "cannot open its files"};
    struct stat st;

    if (why == ENOENT || why == ESRCH || (stat(link, &st) == 0 && !S_ISREG(st.st_mode)))
        return;
    process->found |= named;
    note_uncovered(finder, process->step, named ? &library : &other);
}

static void look_at_file(struct mpi_finder *finder, struct process *process, const char *range,
                         const char *path, bool named)
{
    char link[128];
    _close_ int fd = -1;
    const struct mpi_found *file;
    bool again;

    /* Leads to the file in any mount namespace, and if it was removed. */
    (void)snprintf(link, sizeof(link), "/proc/%" PRIu32 "/map_files/%.64s", process->pid, range);
    fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        look_at_unopened(finder, process, link, named, errno);
        return;
    }
    file = mpi_files_look(finder->files, fd, path, process->step);
    if (!file)
        return;
    again = process->found;
    process->found = true;
    if (!file->attached_ns)
        note_uncovered(finder, process->step, file);
    else if (file->attached_ns > process->since_ns)
        *(again ? &process->again : &process->late) = true;
}

/* Files that are called like MPI first, because the process is about to use them. */
static void read_maps(struct mpi_finder *finder, struct process *process, FILE *maps, bool named)
{
    _free_ char *line = NULL;
    size_t room = 0;
    uint64_t before = 0;

    rewind(maps);
    while (getline(&line, &room, maps) > 0) {
        char range[65], rights[5], path[PATH_MAX];
        uint64_t inode;

        /* PATH_MAX */
        if (sscanf(line, "%64s %4s %*s %*s %" SCNu64 " %4095[^\n]", range, rights, &inode, path) !=
                4 ||
            rights[2] != 'x' || !inode || inode == before ||
            (strstr(path, "/libmpi") != NULL) != named)
            continue;
        before = inode;
        look_at_file(finder, process, range, path, named);
    }
}

/* Returns false if the process has ended. */
static bool look(struct mpi_finder *finder, struct process *process, uint64_t now)
{
    _fclose_ FILE *maps = NULL;
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", process->pid);
    maps = fopen(path, "re");
    if (!maps) {
        process->unseen |= errno != ENOENT && errno != ESRCH;
        return false;
    }
    read_maps(finder, process, maps, true);
    if (!process->found)
        read_maps(finder, process, maps, false);
    process->since_ns = process->found ? clock_ns(CLOCK_MONOTONIC) : now;
    return true;
}

/* --- processes -------------------------------------------------------------------------------- */

/* When the process was started or forked, in ticks of CLOCK_BOOTTIME. -ENOENT: there is none;
 * other errors if that cannot be read. */
static int start_ticks(uint32_t pid, uint64_t *ret)
{
    _fclose_ FILE *file = NULL;
    char path[64], line[1024];

    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);
    file = fopen(path, "re");
    if (!file)
        return errno == ESRCH ? -ENOENT : -errno;
    if (!fgets(line, sizeof(line), file))
        return ferror(file) && errno == ESRCH ? -ENOENT : -EIO;
    return proc_stat_number(line, PROC_STAT_START, ret) < 0 ? -EIO : 0;
}

static uint64_t tick_ns(void)
{
    return NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
}

/* The same, CLOCK_MONOTONIC, rounded down; 0: that is not known. */
static uint64_t start_of(uint32_t pid)
{
    uint64_t age, now, ticks;

    if (start_ticks(pid, &ticks) < 0)
        return 0;
    age = clock_ns(CLOCK_BOOTTIME) - ticks * tick_ns();
    now = clock_ns(CLOCK_MONOTONIC);
    return now > age ? now - age : 0;
}

static struct process *find_process(const struct mpi_finder *finder, uint32_t step, uint32_t pid)
{
    for (size_t i = 0; i < finder->n_processes; i++)
        if (finder->processes[i].pid == pid && finder->processes[i].step == step)
            return &finder->processes[i];
    return NULL;
}

/* Replace or add a process. */
static void put_process(struct mpi_finder *finder, const struct process *process)
{
    struct process *to = find_process(finder, process->step, process->pid), *grown;

    (void)pthread_mutex_lock(&finder->mutex);
    grown = to ? finder->processes
               : realloc(finder->processes, (finder->n_processes + 1) * sizeof(*grown));
    if (grown) {
        finder->processes = grown;
        *(to ? to : &grown[finder->n_processes++]) = *process;
    } else {
        finder->lost++;
    }
    (void)pthread_mutex_unlock(&finder->mutex);
}

void mpi_finder_exec(uint32_t step, uint32_t pid, uint64_t at_ns, bool known, void *arg)
{
    const struct process *before = find_process(arg, step, pid);
    struct process process = before ? *before : (struct process){.step = step, .pid = pid};

    if (known) /* the programs have counted whether it was late */
        process.late = false;
    process.since_ns = at_ns;
    process.found = false;
    process.delay_ns = NS_PER_MS;
    process.next_ns = at_ns + process.delay_ns;
    put_process(arg, &process);
}

uint64_t mpi_finder_due(const struct mpi_finder *finder)
{
    uint64_t due = mpi_files_due(finder->files);

    for (size_t i = 0; i < finder->n_processes; i++)
        if (finder->processes[i].next_ns < due)
            due = finder->processes[i].next_ns;
    return due;
}

/* Whether a process may have used an MPI that a look in time would have found. Not if one was
 * found: later looks are for a second one. Nor if the programs have seen it: its MPI has them. The
 * ranks of a node, which are started at once, are often looked at late. */
static bool is_overdue(const struct mpi_finder *finder, const struct process *process, uint64_t now)
{
    return !process->found && now > LATE_NS && process->next_ns < now - LATE_NS &&
           !mpi_probe_knows(finder->probe, process->step, process->pid);
}

static bool may_have_missed(const struct process *process)
{
    return process->late || process->again || process->unseen;
}

static void forget_process(struct mpi_finder *finder, size_t i)
{
    (void)pthread_mutex_lock(&finder->mutex);
    finder->processes[i] = finder->processes[--finder->n_processes];
    (void)pthread_mutex_unlock(&finder->mutex);
}

static void set_looking_at(struct mpi_finder *finder, uint32_t step)
{
    (void)pthread_mutex_lock(&finder->mutex);
    finder->looking_at = step;
    finder->looking_since_ns = clock_ns(CLOCK_MONOTONIC);
    (void)pthread_mutex_unlock(&finder->mutex);
}

/* Look at a process and plan the next look, or forget it. */
static void visit(struct mpi_finder *finder, size_t i, uint64_t now)
{
    struct process process = finder->processes[i];
    bool alive;

    set_looking_at(finder, process.step);
    alive = look(finder, &process, now);
    process.unseen |= !alive && is_overdue(finder, &process, now);
    process.delay_ns *= 2;
    process.next_ns =
        !alive || process.found || !process.delay_ns || process.delay_ns > LAST_DELAY_NS
            ? UINT64_MAX
            : now + process.delay_ns;
    if (alive || may_have_missed(&process))
        put_process(finder, &process);
    else
        forget_process(finder, i);
    set_looking_at(finder, 0);
}

bool mpi_finder_look(struct mpi_finder *finder)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);

    for (size_t i = 0; i < finder->n_processes; i++)
        if (finder->processes[i].next_ns <= now) {
            visit(finder, i, now);
            return true;
        }
    return false;
}

/* Forget the processes of a step that have ended, except those that are to be reported. One that
 * is to be looked at may be younger than the list. */
static void forget_ended(struct mpi_finder *finder, uint32_t step, const uint32_t *pids, size_t n)
{
    for (size_t i = 0; i < finder->n_processes;) {
        const struct process *process = &finder->processes[i];

        if (process->step == step && !may_have_missed(process) && process->next_ns == UINT64_MAX &&
            !number_is_in(pids, n, process->pid))
            forget_process(finder, i);
        else
            i++;
    }
}

void mpi_finder_scan(struct mpi_finder *finder, uint32_t step, uint32_t *pids, size_t n)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);

    qsort(pids, n, sizeof(*pids), number_compare);
    forget_ended(finder, step, pids, n);
    for (size_t i = 0; i < n; i++) {
        const struct process *known = find_process(finder, step, pids[i]);
        struct process process = {.step = step, .pid = pids[i], .next_ns = now};

        if (known && known->next_ns != UINT64_MAX)
            continue;
        if (known)
            process = *known;
        else
            process.since_ns = start_of(pids[i]);
        process.next_ns = now;
        process.delay_ns = 0; /* look once */
        put_process(finder, &process);
    }
}

/* Its pid may be that of another process by now. */
static bool has_ended(const struct mpi_process *process)
{
    uint64_t ticks;
    int r = start_ticks(process->pid, &ticks);

    return r == -ENOENT || (r == 0 && ticks != process->start_ns / tick_ns());
}

/* mpi_probe_knows() is about to forget it: the programs have its MPI, and have counted whether it
 * was late. */
static void note_known(struct mpi_finder *finder, const struct mpi_process *ended)
{
    struct process *process = find_process(finder, ended->step, ended->pid);

    if (!process)
        return;
    (void)pthread_mutex_lock(&finder->mutex);
    process->found = true;
    process->late = false;
    (void)pthread_mutex_unlock(&finder->mutex);
}

static void forget_known(struct mpi_finder *finder, const struct mpi_process *processes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!has_ended(&processes[i]))
            continue;
        note_known(finder, &processes[i]);
        mpi_probe_forget(finder->probe, &processes[i]);
    }
}

void mpi_finder_clean(struct mpi_finder *finder)
{
    _free_ struct mpi_process *processes = NULL;
    size_t n, room;

    mpi_files_detach_unused(finder->files);
    if (clock_ns(CLOCK_MONOTONIC) < finder->clean_ns)
        return;
    if (mpi_probe_processes(finder->probe, &processes, &n, &room, NULL) == 0 && n > room / 2)
        forget_known(finder, processes, n);
    finder->clean_ns = clock_ns(CLOCK_MONOTONIC) + CLEAN_NS;
}

void mpi_finder_forget(struct mpi_finder *finder, uint32_t step)
{
    for (size_t i = 0; i < finder->n_processes;)
        if (finder->processes[i].step == step)
            forget_process(finder, i);
        else
            i++;
    (void)pthread_mutex_lock(&finder->mutex);
    for (size_t i = 0; i < finder->n_uncovered;)
        if (finder->uncovered[i].step == step)
            finder->uncovered[i] = finder->uncovered[--finder->n_uncovered];
        else
            i++;
    (void)pthread_mutex_unlock(&finder->mutex);
    mpi_files_forget(finder->files, step);
}

/* Returns how many programs of a step have not been looked at in time; at least. */
static uint64_t count_unseen(const struct mpi_finder *finder, uint32_t step)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC), n = finder->lost;

    if (finder->looking_at)
        n += finder->looking_at == step || now > finder->looking_since_ns + LATE_NS;
    for (size_t i = 0; i < finder->n_processes; i++) {
        const struct process *process = &finder->processes[i];

        n += process->step == step && (process->unseen || is_overdue(finder, process, now));
    }
    return n;
}

/* Add what was not covered. */
static int report(const struct mpi_finder *finder, uint32_t step, struct mpi_account *account)
{
    uint64_t late = 0, unseen = count_unseen(finder, step);
    unsigned named = 0;
    int r = 0;

    /* The programs report those that called a function later. */
    for (size_t i = 0; i < finder->n_processes; i++) {
        const struct process *process = &finder->processes[i];

        late += process->step == step &&
                (process->again ||
                 (process->late && !mpi_probe_knows(finder->probe, step, process->pid)));
    }
    for (size_t i = 0; r == 0 && i < finder->n_uncovered; i++) {
        const struct uncovered *uncovered = &finder->uncovered[i];
        char cause[512];

        if (uncovered->step != step)
            continue;
        if (++named > MAX_NAMED) {
            unseen++;
            continue;
        }
        (void)snprintf(cause, sizeof(cause), MPI_CAUSE_LIBRARY "%.64s: %s", uncovered->file->name,
                       uncovered->file->why);
        r = completeness_add(&account->completeness, cause, 1, 0);
    }
    if (r == 0 && late)
        r = completeness_add(&account->completeness, MPI_CAUSE_LATE, late, 0);
    if (r == 0 && unseen)
        r = completeness_add(&account->completeness, MPI_CAUSE_UNSEEN, unseen, 0);
    return r;
}

DEFINE_CLEANUP(struct mpi_account, mpi_account_destroy)

int mpi_finder_read(struct mpi_finder *finder, uint32_t step, struct mpi_account **ret,
                    struct error *error)
{
    CLEANUP(mpi_account_destroyp) struct mpi_account *account = calloc(1, sizeof(*account));
    int r = account ? mpi_probe_read(finder->probe, step, account, error) : -ENOMEM;

    (void)pthread_mutex_lock(&finder->mutex);
    if (r == 0)
        r = report(finder, step, account);
    (void)pthread_mutex_unlock(&finder->mutex);
    if (r < 0)
        return r == -ENOMEM ? error_errno(error, r, "cannot count MPI-IO") : r;
    *ret = TAKE_PTR(account);
    return 0;
}
