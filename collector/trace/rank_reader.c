/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* pthread_timedjoin_np */
#include "collector/trace/rank_reader.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "common/clock.h"

/* Questions without an answer that was taken. */
#define ROOM 256
/* Of the thread: it has a piece of the environment and a few paths there. */
#define STACK_BYTES (128 * 1024)

struct rank_reader {
    const char *proc;
    pthread_t thread;
    pthread_mutex_t mutex; /* for all below */
    pthread_cond_t wake;
    bool stop;
    /* A ring: the next question goes to `asked`, the next one to be read is `read`, and the next
     * answer to be taken is `taken`. */
    struct rank_question questions[ROOM];
    struct rank_answer answers[ROOM];
    uint64_t asked, read, taken;
};

/* Returns false if the thread has to end. */
static bool wait_for_question(struct rank_reader *reader, struct rank_question *ret)
{
    bool stop;

    (void)pthread_mutex_lock(&reader->mutex);
    while (!reader->stop && reader->read == reader->asked)
        (void)pthread_cond_wait(&reader->wake, &reader->mutex);
    stop = reader->stop;
    *ret = reader->questions[reader->read % ROOM];
    (void)pthread_mutex_unlock(&reader->mutex);
    return !stop;
}

static void *run(void *arg)
{
    struct rank_reader *reader = arg;
    struct rank_question question;

    while (wait_for_question(reader, &question)) {
        struct rank_answer answer = {.pid = question.pid, .program = question.program};

        answer.state = rank_read(reader->proc, question.pid, question.seen_ns, &answer.rank);
        (void)pthread_mutex_lock(&reader->mutex);
        reader->answers[reader->read++ % ROOM] = answer;
        (void)pthread_mutex_unlock(&reader->mutex);
    }
    return NULL;
}

static int start_thread(struct rank_reader *reader)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int r;

    (void)sigfillset(&all);
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    r = pthread_create(&reader->thread, &attributes, run, reader);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    if (!r)
        (void)pthread_setname_np(reader->thread, "jobiod-rank");
    return r;
}

static void reader_free(struct rank_reader *reader)
{
    (void)pthread_cond_destroy(&reader->wake);
    (void)pthread_mutex_destroy(&reader->mutex);
    free(reader);
}

struct rank_reader *rank_reader_start(const char *proc)
{
    struct rank_reader *reader = calloc(1, sizeof(*reader));

    if (!reader)
        return NULL;
    reader->proc = proc;
    (void)pthread_mutex_init(&reader->mutex, NULL);
    (void)pthread_cond_init(&reader->wake, NULL);
    if (start_thread(reader) == 0)
        return reader;
    reader_free(reader);
    return NULL;
}

bool rank_reader_ask(struct rank_reader *reader, const struct rank_question *question)
{
    bool room;

    (void)pthread_mutex_lock(&reader->mutex);
    room = reader->asked - reader->taken < ROOM;
    if (room)
        reader->questions[reader->asked++ % ROOM] = *question;
    (void)pthread_cond_signal(&reader->wake);
    (void)pthread_mutex_unlock(&reader->mutex);
    return room;
}

bool rank_reader_take(struct rank_reader *reader, struct rank_answer *ret)
{
    bool any;

    (void)pthread_mutex_lock(&reader->mutex);
    any = reader->taken < reader->read;
    if (any)
        *ret = reader->answers[reader->taken++ % ROOM];
    (void)pthread_mutex_unlock(&reader->mutex);
    return any;
}

void rank_reader_stop(struct rank_reader *reader)
{
    if (!reader)
        return;
    (void)pthread_mutex_lock(&reader->mutex);
    reader->stop = true;
    (void)pthread_cond_signal(&reader->wake);
    (void)pthread_mutex_unlock(&reader->mutex);
}

bool rank_reader_join(struct rank_reader *reader, uint64_t wait_ns)
{
    uint64_t until_ns = clock_ns(CLOCK_REALTIME) + wait_ns;
    struct timespec until = {.tv_sec = (time_t)(until_ns / NS_PER_S),
                             .tv_nsec = (long)(until_ns % NS_PER_S)};

    if (pthread_timedjoin_np(reader->thread, NULL, &until) != 0)
        return false;
    reader_free(reader);
    return true;
}
