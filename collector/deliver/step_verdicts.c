/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "collector/deliver/step_queue_impl.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/utf8.h"

/* The rest of the batch is read again later; all before `id` is settled. */
static void abandon(struct step_queue *queue, int64_t id)
{
    for (size_t i = 0; i < queue->n_refused; i++)
        if (queue->refused[i].id < id)
            id = queue->refused[i].id;
    queue->n_refused = 0;
    queue->n_ranges = 0;
    queue->after = id - 1;
    step_batch_destroy(TAKE_PTR(queue->batch));
}

static void deliver_items(struct step_queue *queue, const int64_t *ids, size_t n)
{
    if (!n)
        return;
    queue->refusals_in_a_row = 0;
    queue->taken = true;
    queue->target.last_success_s = target_real_ns(&queue->target) / NS_PER_S;
    queue->steps += n;
    queue->hooks.delivered(ids, n, queue->hooks.arg);
}

static void refuse(struct step_queue *queue, int64_t id, const char *why)
{
    queue->refusals++;
    queue->refusals_in_a_row++;
    queue->hooks.refused(id, why, queue->hooks.arg);
}

static void put_refused_aside(struct step_queue *queue)
{
    for (size_t i = 0; i < queue->n_refused; i++)
        refuse(queue, queue->refused[i].id, queue->refused[i].why);
    queue->n_refused = 0;
}

static void refuse_poison(struct step_queue *queue)
{
    struct poison_suspect held;

    while (poison_next(&queue->search, &held))
        refuse(queue, held.id, held.why);
}

/* A target that takes other steps means these. If it takes nothing, a few refusals are believed;
 * after that the target itself is more likely to be at fault, and no step is put aside. */
static bool may_refuse(const struct step_queue *queue)
{
    return queue->taken || queue->target.kind->trusted ||
           queue->refusals_in_a_row + queue->n_refused <= STEP_QUEUE_BELIEVED;
}

/* Remember the refusal until it is believed. Returns false if there are too many. */
static bool remember_refused(struct step_queue *queue, int64_t id, const char *why)
{
    struct step_refused *s;

    if (queue->n_refused == STEP_QUEUE_REFUSED && may_refuse(queue))
        put_refused_aside(queue);
    if (queue->n_refused == STEP_QUEUE_REFUSED)
        return false;
    s = &queue->refused[queue->n_refused++];
    s->id = id;
    (void)snprintf(s->why, sizeof(s->why), "%s", why);
    return true;
}

static void give_up_batch(struct step_queue *queue, const char *why)
{
    char text[ANSWER_WHY_MAX];

    (void)snprintf(text, sizeof(text), "it refuses all that it gets; the last: %.*s",
                   utf8_fit(why, 180), why);
    abandon(queue, queue->batch->items[queue->range.first].id);
    target_failed(&queue->target,
                  &(struct target_failure){.state = TARGET_MISCONFIGURED, .why = text});
}

bool step_verdicts_finish(struct step_queue *queue)
{
    if (queue->n_refused && !may_refuse(queue)) {
        char why[ANSWER_WHY_MAX];

        memcpy(why, queue->refused[queue->n_refused - 1].why, sizeof(why));
        give_up_batch(queue, why);
        return false;
    }
    put_refused_aside(queue);
    return true;
}

/* --- one answer: functions return true if the next range is to be sent ------------------------ */

/* Returns false if the range is a single step. */
static bool halve(struct step_queue *queue)
{
    struct step_range r = queue->range;
    size_t middle = r.first + (r.last - r.first) / 2;

    if (r.last - r.first == 1)
        return false;
    queue->ranges[queue->n_ranges++] = (struct step_range){middle, r.last};
    queue->ranges[queue->n_ranges++] = (struct step_range){r.first, middle};
    return true;
}

static bool on_refused(struct step_queue *queue, const char *why)
{
    if (halve(queue) || remember_refused(queue, queue->batch->items[queue->range.first].id, why))
        return true;
    give_up_batch(queue, why);
    return false;
}

/* ANSWER_LATER: the target works, so earlier failures are over. The wait is short, but long enough
 * for the writer to remove what was delivered from the outbox. */
static struct target_failure failure_of(struct step_queue *queue, enum answer answer,
                                        const char *why)
{
    struct target_failure failure = {
        .state = answer == ANSWER_MISCONFIGURED ? TARGET_MISCONFIGURED : TARGET_BACKOFF,
        .why = why,
    };

    if (answer == ANSWER_LATER) {
        queue->target.failures_in_a_row = 0;
        failure.not_before_ns = clock_ns(CLOCK_BOOTTIME) + queue->target.pace.backoff_ns / 2;
    }
    return failure;
}

/* What was sent is tried again later. */
static bool on_failed(struct step_queue *queue, enum answer answer, uint64_t retry_after_s,
                      const char *why)
{
    const struct step_item *items = &queue->batch->items[queue->range.first];
    struct target_failure failure = failure_of(queue, answer, why);
    int64_t after = items[0].id - 1;
    bool is_smaller = false;

    if (answer == ANSWER_RETRY && !retry_after_s)
        after = poison_failed(&queue->search, items, queue->range.last - queue->range.first, why,
                              &is_smaller);
    failure.retry_after_s = retry_after_s;
    if (is_smaller)
        failure.max_failures = POISON_TRIES;
    if (queue->taken || queue->target.kind->trusted)
        put_refused_aside(queue);
    abandon(queue, after + 1);
    target_failed(&queue->target, &failure);
    return false;
}

static bool on_no_memory(struct step_queue *queue)
{
    return on_failed(queue, ANSWER_WAIT, 0, "out of memory");
}

/* All of the range was settled. Steps that were held back come next. */
static bool on_passed(struct step_queue *queue)
{
    target_worked(&queue->target);
    poison_passed(&queue->search, &queue->batch->items[queue->range.first],
                  queue->range.last - queue->range.first);
    refuse_poison(queue);
    if (!queue->search.n_held)
        return true;
    if (may_refuse(queue))
        put_refused_aside(queue);
    abandon(queue, queue->search.held[0].id);
    target_wake_in(&queue->target, 0);
    return false;
}

static bool on_taken(struct step_queue *queue)
{
    size_t n = queue->range.last - queue->range.first;
    _free_ int64_t *ids = calloc(n, sizeof(*ids));

    if (!ids) /* they are sent again */
        return on_no_memory(queue);
    for (size_t i = 0; i < n; i++)
        ids[i] = queue->batch->items[queue->range.first + i].id;
    queue->rows += step_batch_rows(queue->batch, queue->range.first, queue->range.last);
    deliver_items(queue, ids, n);
    return on_passed(queue);
}

/* The worst of the verdicts on the rows of a step. */
static const struct answer_verdict *verdict_on(const struct answer_verdict *rows, size_t n)
{
    static const int badness[] = {
        [ANSWER_OK] = 0,   [ANSWER_REFUSED] = 1, [ANSWER_RETRY] = 2,
        [ANSWER_WAIT] = 3, [ANSWER_LATER] = 4,   [ANSWER_MISCONFIGURED] = 5};
    const struct answer_verdict *worst = rows;

    for (size_t i = 1; i < n; i++)
        if (badness[rows[i].answer] > badness[worst->answer])
            worst = &rows[i];
    return worst;
}

/* A target that was away gets the time again in which it may say ANSWER_LATER. */
static void note_answer(struct step_queue *queue)
{
    uint64_t now = clock_ns(CLOCK_BOOTTIME);

    if (!queue->answered_ns || now - queue->answered_ns > queue->options.answers_ns)
        queue->answers_since_ns = now;
    queue->answered_ns = now;
}

/* The target has had its time to decide about the step. */
static bool is_too_late(const struct step_queue *queue, const struct step_item *item)
{
    uint64_t late = queue->options.late_ns, now = target_real_ns(&queue->target);

    return late && now > item->ended_ns && now - item->ended_ns >= late &&
           queue->answered_ns - queue->answers_since_ns >= queue->options.answers_ns;
}

static const struct answer_verdict *refuse_late(struct step_queue *queue, const char *why)
{
    queue->too_late.answer = ANSWER_REFUSED;
    (void)snprintf(queue->too_late.why, sizeof(queue->too_late.why), "put off for too long: %.*s",
                   utf8_fit(why, 200), why);
    return &queue->too_late;
}

struct tally {
    int64_t *ids; /* taken */
    size_t n;
    const struct answer_verdict **verdicts; /* one a step of the range */
    const struct answer_verdict *failed;    /* the first that is to be tried again */
    int64_t failed_id;
};

static void tally_range(struct step_queue *queue, const struct answer_verdict *rows,
                        struct tally *tally)
{
    for (size_t i = queue->range.first; i < queue->range.last; i++) {
        const struct step_item *item = &queue->batch->items[i];
        const struct answer_verdict *v = verdict_on(rows, item->rows);

        rows += item->rows;
        if (v->answer == ANSWER_LATER && is_too_late(queue, item))
            v = refuse_late(queue, v->why);
        tally->verdicts[i - queue->range.first] = v;
        if (v->answer == ANSWER_OK) {
            tally->ids[tally->n++] = item->id;
            queue->rows += item->rows;
        } else if (v->answer != ANSWER_REFUSED && !tally->failed) {
            tally->failed = v;
            tally->failed_id = item->id;
        }
    }
}

/* A step that fails while others are taken is suspect, unless the target asks to wait. */
static void on_some_failed(struct step_queue *queue, const struct tally *tally)
{
    struct target_failure failure = failure_of(queue, tally->failed->answer, tally->failed->why);

    for (size_t i = queue->range.first; i < queue->range.last; i++) {
        const struct answer_verdict *v = tally->verdicts[i - queue->range.first];

        if (v->answer == ANSWER_RETRY)
            poison_count(&queue->search, queue->batch->items[i].id, v->why);
    }
    refuse_poison(queue);
    if (may_refuse(queue))
        put_refused_aside(queue);
    abandon(queue, tally->failed_id);
    target_failed(&queue->target, &failure);
}

static bool on_partly(struct step_queue *queue, const struct answer_verdict *rows)
{
    size_t n = queue->range.last - queue->range.first;
    _free_ int64_t *ids = calloc(n, sizeof(*ids));
    _free_ const struct answer_verdict **verdicts = calloc(n, sizeof(struct answer_verdict *));
    struct tally tally = {.ids = ids, .verdicts = verdicts};

    note_answer(queue);
    if (!ids || !verdicts)
        return on_no_memory(queue);
    tally_range(queue, rows, &tally);
    deliver_items(queue, ids, tally.n);
    for (size_t i = 0; i < n; i++)
        if (verdicts[i]->answer == ANSWER_REFUSED &&
            !remember_refused(queue, queue->batch->items[queue->range.first + i].id,
                              verdicts[i]->why)) {
            give_up_batch(queue, verdicts[i]->why);
            return false;
        }
    if (!tally.failed)
        return on_passed(queue);
    if (!tally.n)
        return on_failed(queue, tally.failed->answer, 0, tally.failed->why);
    on_some_failed(queue, &tally);
    return false;
}

bool step_verdicts_settle(struct step_queue *queue, const struct target_result *result)
{
    switch (result->answer) {
    case ANSWER_OK:
        return on_taken(queue);
    case ANSWER_PARTLY:
        return on_partly(queue, result->verdicts);
    case ANSWER_REFUSED:
        return on_refused(queue, result->why);
    case ANSWER_TOO_LONG:
        return halve(queue) ||
               on_failed(queue, queue->target.kind->trusted ? ANSWER_WAIT : ANSWER_RETRY, 0,
                         result->why);
    case ANSWER_RETRY:
    case ANSWER_WAIT:
    case ANSWER_LATER:
    case ANSWER_MISCONFIGURED:
    case ANSWER_PENDING:
        break;
    }
    return on_failed(queue, result->answer, result->retry_after_s, result->why);
}
