/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/daemon/textfile.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/daemon/limited_log.h"
#include "collector/store/worker.h"
#include "common/cleanup.h"

#define WRITES_MAX 4 /* queue length; it fills while the disk hangs */

struct textfile {
    const char *path;
    struct worker *worker;
    sd_event_source *written;
    struct textfile_stats stats;
};

struct write {
    struct textfile *file;
    char *text; /* owned; NULL: remove the file */
};

static int write_all(int fd, const char *text)
{
    size_t left = strlen(text);

    while (left > 0) {
        ssize_t n = write(fd, text, left);

        if (n < 0 && errno != EINTR)
            return -errno;
        text += n > 0 ? n : 0;
        left -= n > 0 ? (size_t)n : 0;
    }
    return fchmod(fd, 0644) < 0 ? -errno : 0;
}

/* Write to a temporary file with a name that node_exporter does not read, and rename it. Other
 * users may write to this directory, so do not follow a symbolic link. */
static int replace_file(const char *path, const char *text, struct error *error)
{
    _free_ char *making = NULL;
    _close_ int fd = -1;
    int r;

    if (asprintf(&making, "%s.new", path) < 0)
        return error_errno(error, -ENOMEM, "%s", path);
    (void)unlink(making);
    fd = open(making, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return error_errno(error, -errno, "cannot make %s", making);
    r = write_all(fd, text);
    if (!r && rename(making, path) < 0)
        r = -errno;
    if (r < 0)
        (void)unlink(making);
    return r < 0 ? error_errno(error, r, "cannot write %s", path) : 0;
}

static int run_write(struct store *store, void *arg, struct error *error)
{
    const struct write *write = arg;
    const char *path = write->file->path;

    (void)store;
    if (write->text)
        return replace_file(path, write->text, error);
    return unlink(path) == 0 || errno == ENOENT
               ? 0
               : error_errno(error, -errno, "cannot remove %s", path);
}

void textfile_fail(struct textfile *file, const char *why)
{
    file->stats.failures++;
    (void)snprintf(file->stats.error, sizeof(file->stats.error), "%s", why);
    log_limited("textfile", 600, "metrics: %s", why);
}

static void on_done(int result, const struct error *error, void *arg)
{
    struct write *write = arg;
    struct textfile *file = write->file;

    if (result < 0) {
        textfile_fail(file, error->text);
    } else {
        file->stats.writes += write->text != NULL;
        *file->stats.error = '\0';
    }
    free(write->text);
    free(write);
}

static void execute(struct worker_task *tasks, size_t n, void *owner)
{
    (void)n, (void)owner; /* always 1 */
    tasks->result = tasks->run(NULL, tasks->arg, &tasks->error);
}

void textfile_write(struct textfile *file, char *text)
{
    struct write *write = calloc(1, sizeof(*write));

    if (!write) {
        free(text);
        textfile_fail(file, "no memory for the textfile");
        return;
    }
    *write = (struct write){file, text};
    if (worker_submit(file->worker,
                      &(struct worker_task){.run = run_write, .done = on_done, .arg = write}) < 0) {
        textfile_fail(file, "the disk of the textfile hangs");
        free(text);
        free(write);
    }
}

void textfile_remove(struct textfile *file)
{
    textfile_write(file, NULL);
}

static int on_written(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct textfile *file = arg;

    (void)source, (void)fd, (void)events;
    (void)worker_dispatch(file->worker);
    return 0;
}

int textfile_create(struct textfile **ret, sd_event *loop, const char *path, struct error *error)
{
    const struct worker_options options = {
        .name = "jobiod-textfile", .capacity = WRITES_MAX, .batch = 1, .execute = execute};
    struct textfile *file = calloc(1, sizeof(*file));
    int r;

    if (!file)
        return error_set(error, -ENOMEM, "no memory");
    file->path = path;
    r = worker_create(&file->worker, &options, error);
    if (!r) {
        r = sd_event_add_io(loop, &file->written, worker_fd(file->worker), EPOLLIN, on_written,
                            file);
        r = r < 0 ? error_errno(error, r, "metrics") : 0;
    }
    if (r < 0) {
        textfile_destroy(file);
        return r;
    }
    *ret = file;
    return 0;
}

void textfile_destroy(struct textfile *file)
{
    if (!file)
        return;
    sd_event_source_disable_unref(file->written);
    worker_destroy(file->worker);
    free(file);
}

void textfile_stats(const struct textfile *file, struct textfile_stats *ret)
{
    *ret = file ? file->stats : (struct textfile_stats){0};
}
