/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/mpi/files.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/mpi/library.h"
#include "common/cleanup.h"
#include "common/clock.h"

struct file {
    dev_t device;
    ino_t inode;
    struct timespec changed; /* numbers of removed files are used again */
    struct mpi_links *links; /* NULL: none */
    char *name;              /* owned */
    struct error why;
    struct mpi_found found; /* its name is NULL: it is not MPI */
    bool expected;          /* it stays */
    uint32_t *steps;        /* owned; they use it */
    size_t n_steps;
    uint64_t unused_ns; /* CLOCK_MONOTONIC: since when no step has used it; 0: one does */
};

/* How long a file without a step keeps its probes, for the next step of the job. They keep its file
 * system mounted. */
#define UNUSED_NS (60 * NS_PER_S)

/* Executables and libraries of all steps. A job that makes more of them would keep jobiod busy. */
#define MAX_FILES 4096

/* For a file without an item. */
static const struct mpi_found no_memory = {.name = "a file", .why = "out of memory"};
static const struct mpi_found too_many = {.name = "a file", .why = "too many files"};

struct mpi_files {
    struct mpi_probe *probe;
    struct file **items; /* pointers, so that results of mpi_files_look() stay */
    size_t n;
};

struct mpi_files *mpi_files_create(struct mpi_probe *probe)
{
    struct mpi_files *files = calloc(1, sizeof(*files));

    if (files)
        files->probe = probe;
    return files;
}

static void destroy(struct file *file)
{
    mpi_links_destroy(file->links);
    free(file->name);
    free(file->steps);
    free(file);
}

void mpi_files_destroy(struct mpi_files *files)
{
    for (size_t i = 0; files && i < files->n; i++)
        destroy(files->items[i]);
    if (files)
        free(files->items);
    free(files);
}

static struct file *find(const struct mpi_files *files, const struct stat *st)
{
    for (size_t i = 0; i < files->n; i++) {
        struct file *file = files->items[i];

        /* The probes keep the inode, and a new link or mode changes only its time. */
        if (file->device == st->st_dev && file->inode == st->st_ino &&
            (file->links || (file->changed.tv_sec == st->st_ctim.tv_sec &&
                             file->changed.tv_nsec == st->st_ctim.tv_nsec)))
            return file;
    }
    return NULL;
}

/* Forget the files that are not MPI: nobody points to them. */
static void forget_others(struct mpi_files *files)
{
    size_t kept = 0;

    for (size_t i = 0; i < files->n; i++)
        if (files->items[i]->found.name)
            files->items[kept++] = files->items[i];
        else
            destroy(files->items[i]);
    files->n = kept;
}

static struct file *append(struct mpi_files *files, const struct stat *st)
{
    struct file **grown = realloc(files->items, (files->n + 1) * sizeof(*grown));
    struct file *file = calloc(1, sizeof(*file));

    if (grown)
        files->items = grown;
    if (!grown || !file) {
        free(file);
        return NULL;
    }
    file->device = st->st_dev;
    file->inode = st->st_ino;
    file->changed = st->st_ctim;
    files->items[files->n++] = file;
    return file;
}

static void attach(struct mpi_files *files, struct file *file, int fd, const char *path)
{
    const char *slash = strrchr(path, '/');
    struct mpi_file functions;
    int r = mpi_library_read(fd, &functions, &file->why);

    if (r == 0)
        return;
    file->name = strdup(slash ? slash + 1 : path);
    if (r == 1 && mpi_probe_attach(files->probe, fd, &functions, &file->links, &file->why) == 0) {
        file->found.attached_ns = clock_ns(CLOCK_MONOTONIC);
        file->why.text[0] = '\0';
    }
    file->found.name = file->name ? file->name : no_memory.name;
    file->found.why = file->why.text;
}

/* Without memory for that, the file stays. */
static void note_step(struct file *file, uint32_t step)
{
    uint32_t *grown;

    file->unused_ns = 0;
    for (size_t i = 0; i < file->n_steps; i++)
        if (file->steps[i] == step)
            return;
    grown = step ? realloc(file->steps, (file->n_steps + 1) * sizeof(*grown)) : NULL;
    file->expected |= !grown;
    if (!grown)
        return;
    file->steps = grown;
    grown[file->n_steps++] = step;
}

const struct mpi_found *mpi_files_look(struct mpi_files *files, int fd, const char *path,
                                       uint32_t step)
{
    struct stat st;
    struct file *file;

    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return NULL;
    file = find(files, &st);
    if (!file && files->n >= MAX_FILES)
        forget_others(files);
    if (!file && files->n >= MAX_FILES)
        return &too_many;
    if (!file) {
        file = append(files, &st);
        if (!file)
            return &no_memory;
        attach(files, file, fd, path);
    }
    if (!file->found.name)
        return NULL;
    note_step(file, step);
    return &file->found;
}

void mpi_files_forget(struct mpi_files *files, uint32_t step)
{
    for (size_t i = 0; i < files->n; i++) {
        struct file *file = files->items[i];
        size_t kept = 0;

        for (size_t j = 0; j < file->n_steps; j++)
            if (file->steps[j] != step)
                file->steps[kept++] = file->steps[j];
        if (file->n_steps && !kept && !file->expected)
            file->unused_ns = clock_ns(CLOCK_MONOTONIC);
        file->n_steps = kept;
    }
}

uint64_t mpi_files_due(const struct mpi_files *files)
{
    uint64_t due = UINT64_MAX;

    for (size_t i = 0; i < files->n; i++)
        if (files->items[i]->unused_ns && files->items[i]->unused_ns + UNUSED_NS < due)
            due = files->items[i]->unused_ns + UNUSED_NS;
    return due;
}

static void *run_destroy(void *arg)
{
    destroy(arg);
    return NULL;
}

/* Before Linux 6.6 detaching takes seconds, in which processes could not be looked at. */
static void destroy_in_background(struct file *file)
{
    pthread_t thread;

    if (file->links && pthread_create(&thread, NULL, run_destroy, file) == 0)
        (void)pthread_detach(thread);
    else
        destroy(file);
}

void mpi_files_detach_unused(struct mpi_files *files)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    size_t kept = 0;

    for (size_t i = 0; i < files->n; i++) {
        struct file *file = files->items[i];

        if (file->unused_ns && now >= file->unused_ns + UNUSED_NS)
            destroy_in_background(file);
        else
            files->items[kept++] = file;
    }
    files->n = kept;
}

const struct mpi_found *mpi_files_list(const struct mpi_files *files, size_t *at)
{
    while (*at < files->n) {
        const struct file *file = files->items[(*at)++];

        if (file->found.name)
            return &file->found;
    }
    return NULL;
}
