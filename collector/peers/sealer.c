/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/peers/sealer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "collector/store/worker.h"
#include "common/cleanup.h"

struct sealer {
    struct worker *worker;
    sd_event_source *source;
    char *socket;
    size_t bytes; /* of the queued credentials to open */
};

struct seal_task {
    struct sealer *sealer;
    char *text; /* to seal: the payload, then the credential; to open: the credential */
    size_t size;
    uid_t reader; /* to seal */
    sealer_sealed_f sealed;
    sealer_read_f read;
    sealer_opened_f opened;
    void *arg;
};

static void task_free(struct seal_task *task)
{
    free(task->text);
    free(task);
}

/* --- on the thread ---------------------------------------------------------------------------- */

static void execute(struct worker_task *tasks, size_t n, void *owner)
{
    (void)n, (void)owner;
    for (struct worker_task *task = tasks; task; task = task->next)
        task->result = task->run(NULL, task->arg, &task->error);
}

static int seal(struct store *store, void *arg, struct error *error)
{
    struct seal_task *task = arg;
    char *text = NULL;
    int r =
        credential_make(task->sealer->socket, task->reader, task->text, task->size, &text, error);

    (void)store;
    if (r < 0)
        return r;
    free(task->text);
    task->text = text;
    return 0;
}

static int open_and_read(struct store *store, void *arg, struct error *error)
{
    struct seal_task *task = arg;
    _free_ char *payload = NULL;
    size_t size;
    struct credential_maker maker;
    int r = credential_open(task->sealer->socket, task->text, &payload, &size, &maker, error);

    (void)store;
    return r < 0 ? r : task->read(payload, size, &maker, task->arg, error);
}

/* --- on the loop ------------------------------------------------------------------------------ */

static void on_sealed(int result, const struct error *error, void *arg)
{
    struct seal_task *task = arg;

    task->sealed(result, error, result < 0 ? NULL : task->text, task->arg);
    task_free(task);
}

static void on_opened(int result, const struct error *error, void *arg)
{
    struct seal_task *task = arg;

    task->sealer->bytes -= task->size;
    task->opened(result, error, task->arg);
    task_free(task);
}

/* Takes ownership of the task, also on failure. */
static int submit(struct seal_task *task, int (*run)(struct store *, void *, struct error *),
                  void (*done)(int, const struct error *, void *))
{
    int r = worker_submit(task->sealer->worker,
                          &(struct worker_task){.run = run, .done = done, .arg = task});

    if (r < 0)
        task_free(task);
    return r;
}

int sealer_seal(struct sealer *sealer, uid_t reader, char *payload, size_t size,
                sealer_sealed_f done, void *arg)
{
    struct seal_task *task = calloc(1, sizeof(*task));

    if (!task) {
        free(payload);
        return -ENOMEM;
    }
    *task = (struct seal_task){.sealer = sealer,
                               .text = payload,
                               .size = size,
                               .reader = reader,
                               .sealed = done,
                               .arg = arg};
    return submit(task, seal, on_sealed);
}

int sealer_open(struct sealer *sealer, const char *text, size_t size, sealer_read_f read,
                sealer_opened_f done, void *arg)
{
    struct seal_task *task;
    int r;

    if (size > SEALER_BYTES_MAX - sealer->bytes)
        return -EAGAIN;
    task = calloc(1, sizeof(*task));
    if (!task)
        return -ENOMEM;
    *task = (struct seal_task){.sealer = sealer,
                               .text = strndup(text, size),
                               .size = size,
                               .read = read,
                               .opened = done,
                               .arg = arg};
    if (!task->text) {
        task_free(task);
        return -ENOMEM;
    }
    r = submit(task, open_and_read, on_opened);
    if (r == 0)
        sealer->bytes += size;
    return r;
}

static int on_outcomes(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    (void)source, (void)fd, (void)events;
    (void)worker_dispatch(((struct sealer *)arg)->worker);
    return 0;
}

void sealer_destroy(struct sealer *sealer)
{
    if (!sealer)
        return;
    sd_event_source_disable_unref(sealer->source);
    worker_destroy(sealer->worker);
    free(sealer->socket);
    free(sealer);
}
DEFINE_CLEANUP(struct sealer, sealer_destroy)

int sealer_create(struct sealer **ret, sd_event *loop, const char *socket, struct error *error)
{
    CLEANUP(sealer_destroyp) struct sealer *sealer = calloc(1, sizeof(*sealer));
    const struct worker_options options = {
        .name = "jobiod-munge", .capacity = SEALER_MAX, .batch = 1, .execute = execute};
    int r;

    if (!sealer)
        return error_set(error, -ENOMEM, "no memory for the sealer");
    if (socket && !(sealer->socket = strdup(socket)))
        return error_set(error, -ENOMEM, "no memory for the sealer");
    r = worker_create(&sealer->worker, &options, error);
    if (r < 0)
        return r;
    r = sd_event_add_io(loop, &sealer->source, worker_fd(sealer->worker), EPOLLIN, on_outcomes,
                        sealer);
    if (r < 0)
        return error_errno(error, r, "cannot watch the sealer");
    *ret = TAKE_PTR(sealer);
    return 0;
}
