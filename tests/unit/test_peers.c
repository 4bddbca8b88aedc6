/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queries and accounts between two nodes (node_pair.h). */
#include "tests/unit/node_pair.h"

#include "common/cleanup.h"
#include "common/clock.h"

#define SECOND 1000000000ull

/* A node on which Slurm runs the step waits for it, even if it has not started there yet. */
static void test_expected(void **state)
{
    const struct peers_step here = {.het = 1, .step = 2, .nodes = "127.0.0.11," OTHER};
    const struct peers_step elsewhere = {.step = 2, .nodes = FIRST ",127.0.0.21,127.0.0.22"};
    const struct peers_step unknown = {.step = 2};

    (void)state;
    node_pair_skip();
    other.busy = true;
    assert_int_equal(node_pair_count_answers(&here), 0);
    assert_int_equal(other.asked, 1);
    assert_int_equal(other.step.het, 1);
    assert_int_equal(other.step.step, 2);
    assert_true(other.step.expected);
    other.busy = false;
    assert_int_equal(node_pair_count_answers(&here), 1);
    assert_int_equal(node_pair_count_answers(&elsewhere), 1);
    assert_false(other.step.expected);
    assert_int_equal(node_pair_count_answers(&unknown), 1);
    assert_false(other.step.expected);
    assert_int_equal(node_pair_count_answers(NULL), 1);
    assert_int_equal(node_pair_count(&first, "answered"), 5);
}

/* A job that opened this many files on the mount. */
static struct job_account *job_with_opens(const char *mount, uint64_t requests)
{
    struct job_account *job = job_account_create();
    struct io_counter *c =
        io_account_op(&io_mounts_get(&job->mounts, mount, "ext4", "/dev/sdb", false)->io, IO_OPEN);

    job->key = (struct job_key){strdup("c"), JOB, 0};
    job->nodes_reported = 1;
    job->longest_wait_ns = requests;
    c->requests = requests;
    return job;
}

/* The answer has the sums and the numbers of each node. */
static void test_nodes(void **state)
{
    struct job_account *job;

    (void)state;
    node_pair_skip();
    other.account = job_with_opens("/tmp", 5);
    job = node_pair_query(job_with_opens("/scratch", 3), NULL);
    job_account_destroy(other.account);
    other.account = NULL;
    assert_int_equal(job->nodes_reported, 2);
    assert_int_equal(job->mounts.n, 2);
    assert_int_equal(job->longest_wait_ns, 5);
    assert_int_equal(job->n_nodes, 2);
    assert_string_equal(job->nodes[0].node, FIRST);
    assert_int_equal(job->nodes[0].sums.meta.requests, 3);
    assert_int_equal(job->nodes[0].longest_wait_ns, 3);
    assert_string_equal(job->nodes[1].node, OTHER);
    assert_int_equal(job->nodes[1].sums.meta.requests, 5);
    assert_int_equal(job->nodes[1].look_ups[1].requests, 5);
    job_account_destroy(job);
}

/* Let OTHER send the job to FIRST. */
static void send_account(struct job_account *job)
{
    node_pair_stop(&other);
    node_pair_put(&other, job);
    node_pair_start(&other);
    node_pair_send();
    job_account_destroy(job);
}

static void test_unsupported(void **state)
{
    struct job_account *job;

    (void)state;
    node_pair_skip();
    job = node_pair_job(&first, NULL, 0, 100);
    job->unsupported = 1ull << IO_FSYNC;
    node_pair_stop(&first);
    node_pair_put(&first, job);
    node_pair_start(&first);
    job_account_destroy(job);
    job = node_pair_job(&other, FIRST, 0, 20);
    job->unsupported = 1ull << IO_CLONE | 1ull << IO_FSYNC;
    send_account(job);
    job = node_pair_job(&other, FIRST, 1, 3);
    job->unsupported = 1ull << IO_MMAP_READ;
    send_account(job);
    job = node_pair_stored(&first);
    assert_int_equal(job->unsupported, 1ull << IO_FSYNC | 1ull << IO_CLONE | 1ull << IO_MMAP_READ);
    assert_int_equal(job->n_steps, 3);
    job_account_destroy(job);
}

/* FIRST has never seen the job that runs on OTHER. */
static void test_elsewhere(void **state)
{
    struct job_account *job;

    (void)state;
    node_pair_skip();
    send_account(node_pair_job(&other, FIRST, 0, 20));
    job = node_pair_stored(&first);
    assert_non_null(job);
    assert_string_equal(job->user, "alice");
    assert_false(job->ended);
    assert_int_equal(job->nodes_expected, 2);
    assert_int_equal(job->n_steps, 1);
    assert_int_equal(io_account_writes(&job->mounts.items[0].io).bytes, 20);
    job_account_destroy(job);
    job = node_pair_job(&other, FIRST, 1, 3);
    job->ended = true;
    job->end_ns = STARTED + 20 * SECOND;
    job->elapsed_ns = 20 * SECOND;
    send_account(job);
    job = node_pair_stored(&first);
    assert_true(job->ended);
    assert_int_equal(job->end_ns, STARTED + 20 * SECOND);
    assert_int_equal(job->elapsed_ns, 20 * SECOND);
    assert_int_equal(job->nodes_reported, 2);
    assert_int_equal(io_account_writes(&job->mounts.items[0].io).bytes, 23);
    assert_int_equal(timeline_sum(&job->mounts.items[0].timeline).of[TIMELINE_WRITE], 23);
    assert_true(job_is_complete(job));
    job_account_destroy(job);
    assert_int_equal(node_pair_count(&first, "unknown_jobs"), 0);
}

/* The job also runs here, which was not known yet: it remains one job. */
static void test_elsewhere_and_here(void **state)
{
    struct job_account *job;

    (void)state;
    node_pair_skip();
    send_account(node_pair_job(&other, FIRST, 0, 20));
    job = node_pair_job(&first, NULL, 1, 300);
    job->start_ns += SECOND;
    node_pair_stop(&first);
    node_pair_put(&first, job);
    node_pair_start(&first);
    job_account_destroy(job);
    job = node_pair_job(&other, FIRST, 2, 4000);
    job->ended = true;
    job->end_ns = STARTED + 20 * SECOND;
    send_account(job);
    job = node_pair_stored(&first);
    assert_int_equal(job->start_ns, STARTED + SECOND);
    assert_false(job->ended); /* it is running here */
    assert_int_equal(job->n_steps, 3);
    assert_int_equal(io_account_writes(&job->mounts.items[0].io).bytes, 4320);
    job_account_destroy(job);
}

/* FIRST is not the first node of these jobs. */
static void test_unknown_job(void **state)
{
    static const char *const first_nodes[] = {NULL, OTHER, "127.0.0.11"};

    (void)state;
    node_pair_skip();
    for (size_t i = 0; i < ARRAY_SIZE(first_nodes); i++) {
        send_account(node_pair_job(&other, first_nodes[i], (uint32_t)i, 20));
        assert_null(node_pair_stored(&first));
        assert_int_equal(node_pair_count(&first, "unknown_jobs"), 1);
        (void)node_pair_teardown(NULL);
        (void)node_pair_setup(NULL);
    }
}

static bool is_refused(void)
{
    return node_pair_count(&other, "refused_by_peer") == 1;
}

/* Another node sends an account of OTHER. */
static void test_forged_node(void **state)
{
    (void)state;
    node_pair_skip();
    other.name = "127.0.0.3";
    send_account(node_pair_job(&other, FIRST, 0, 20));
    assert_null(node_pair_stored(&first));
    assert_true(node_pair_count(&first, "wrong_node") > 0);
    node_pair_until(is_refused);
}

/* FIRST knows the nodes of the job, and OTHER is none of them: it makes no rows, whatever first
 * node it names, and gets no account. */
static void test_stranger(void **state)
{
    struct job_account *job;

    (void)state;
    node_pair_skip();
    first.stranger = true;
    send_account(node_pair_job(&other, FIRST, 0, 20));
    assert_null(node_pair_stored(&first));
    assert_int_equal(node_pair_count(&first, "wrong_node"), 1);
    assert_int_equal(node_pair_count(&first, "taken"), 0);
    node_pair_until(is_refused);
    job = node_pair_job(&first, NULL, 0, 100);
    node_pair_stop(&first);
    node_pair_put(&first, job);
    node_pair_start(&first);
    job_account_destroy(job);
    send_account(node_pair_job(&other, FIRST, 1, 20));
    job = node_pair_stored(&first);
    assert_int_equal(job->n_steps, 1);
    job_account_destroy(job);
    other.stranger = true;
    assert_int_equal(node_pair_count_answers(NULL), 0);
    assert_int_equal(other.asked, 0);
    assert_int_equal(node_pair_count(&other, "wrong_node"), 1);
}

/* An account from before the cluster got its name is set aside, and does not hold up others. */
static void test_renamed_cluster(void **state)
{
    struct job_account *job;

    (void)state;
    node_pair_skip();
    job = node_pair_job(&other, FIRST, 0, 20);
    free(job->key.cluster);
    job->key.cluster = strdup("before");
    send_account(job);
    node_pair_until(is_refused);
    assert_null(node_pair_stored(&first));
    assert_int_equal(node_pair_count(&first, "malformed"), 1);
    assert_int_equal(node_pair_count(&other, "refused_by_peer"), 1);
    assert_int_equal(node_pair_count(&other, "send_failures"), 0);
}

static bool was_deferred(void)
{
    return node_pair_count(&first, "put_off") > 0;
}

static void queue_account(void)
{
    struct job_account *job = node_pair_job(&other, FIRST, 0, 20);

    node_pair_stop(&other);
    node_pair_put(&other, job);
    node_pair_start(&other);
    job_account_destroy(job);
    peers_notify(other.peers);
}

static void assert_arrives(void)
{
    struct job_account *job;

    node_pair_send();
    job = node_pair_stored(&first);
    assert_non_null(job);
    assert_int_equal(job->n_steps, 1);
    job_account_destroy(job);
    assert_int_equal(node_pair_count(&first, "wrong_node"), 0);
    assert_int_equal(node_pair_count(&other, "refused_by_peer"), 0);
}

/* OTHER is not in the list of the prolog, because the job was expanded: its account waits there
 * until FIRST has asked Slurm. */
static void test_expanded(void **state)
{
    (void)state;
    node_pair_skip();
    first.stranger = true;
    first.learning = true;
    queue_account();
    node_pair_until(was_deferred);
    assert_null(node_pair_stored(&first));
    first.stranger = false;
    first.learning = false;
    assert_arrives();
}

/* FIRST knows nothing of the job: an account that names it as first node makes no row, before Slurm
 * has confirmed it. */
static void test_unbound_job(void **state)
{
    (void)state;
    node_pair_skip();
    first.member = PEERS_MEMBER_UNKNOWN;
    first.learning = true;
    queue_account();
    node_pair_until(was_deferred);
    assert_null(node_pair_stored(&first));
    first.member = PEERS_MEMBER_YES;
    first.learning = false;
    assert_arrives();
}

/* Slurm does not know it either: the account stays with its sender, as refused. */
static void test_unbound_for_ever(void **state)
{
    (void)state;
    node_pair_skip();
    first.member = PEERS_MEMBER_UNKNOWN;
    send_account(node_pair_job(&other, FIRST, 0, 20));
    assert_null(node_pair_stored(&first));
    assert_int_equal(node_pair_count(&first, "unknown_jobs"), 1);
    node_pair_until(is_refused);
}

static uint64_t real_s(void)
{
    return clock_ns(CLOCK_REALTIME) / NS_PER_S;
}

static void put_ended(uint32_t step, uint64_t seconds_ago)
{
    struct job_account *job = node_pair_job(&other, FIRST, step, 20);

    job->steps[0].tagged_at_ns = (real_s() - seconds_ago) * NS_PER_S;
    node_pair_put(&other, job);
    job_account_destroy(job);
}

static bool was_put_off_often(void)
{
    return node_pair_count(&first, "put_off") > 60;
}

/* Slurm never decides. The account of a step that ended long ago is set aside, but only when FIRST
 * has put it off for some time; that of a younger step is sent again and again. */
static void test_never_decided(void **state)
{
    struct outbox_stats stats;
    struct error error;
    uint64_t start;

    (void)state;
    node_pair_skip();
    first.member = PEERS_MEMBER_UNKNOWN;
    first.known = PEERS_JOB_ANNOUNCED;
    other.late_ns = 1000 * NS_PER_S;
    other.answers_ns = NS_PER_S;
    node_pair_stop(&other);
    put_ended(0, 2000);
    put_ended(1, 0);
    start = clock_ns(CLOCK_MONOTONIC);
    node_pair_start(&other);
    peers_notify(other.peers);
    node_pair_until(is_refused);
    assert_true(clock_ns(CLOCK_MONOTONIC) - start >= NS_PER_S);
    node_pair_until(was_put_off_often);
    assert_int_equal(node_pair_count(&other, "refused_by_peer"), 1);
    node_pair_stop(&other);
    assert_int_equal(store_outbox_stats(other.store, PEERS_SINK_PREFIX FIRST, &stats, &error), 0);
    assert_int_equal(stats.waiting, 1);
    assert_int_equal(stats.refused, 1);
    node_pair_start(&other);
}

/* The prolog of FIRST runs late: after the account has arrived. */
static void test_late_prolog(void **state)
{
    (void)state;
    node_pair_skip();
    first.member = PEERS_MEMBER_UNKNOWN;
    first.known = PEERS_JOB_ANNOUNCED;
    queue_account();
    node_pair_until(was_deferred);
    assert_null(node_pair_stored(&first));
    first.member = PEERS_MEMBER_YES;
    assert_arrives();
}

/* The job has ended on FIRST long ago, so its nodes are forgotten, even by Slurm. */
static void test_late_account(void **state)
{
    struct job_account *job;

    (void)state;
    node_pair_skip();
    first.member = PEERS_MEMBER_UNKNOWN;
    job = node_pair_job(&first, NULL, 0, 100);
    node_pair_stop(&first);
    node_pair_put(&first, job);
    node_pair_start(&first);
    job_account_destroy(job);
    send_account(node_pair_job(&other, FIRST, 1, 20));
    job = node_pair_stored(&first);
    assert_int_equal(job->n_steps, 2);
    job_account_destroy(job);
}

static bool is_origin_wrong(void)
{
    return node_pair_count(&first, "wrong_origin") > 0;
}

static void restart_with(enum origins_mode check)
{
    struct side *sides[] = {&first, &other};

    for (size_t i = 0; i < 2; i++) {
        node_pair_stop(sides[i]);
        sides[i]->check_origin = check;
        node_pair_start(sides[i]);
    }
}

/* The thread of the store deletes the row before the event loop is notified and counts it. */
static bool is_counted_as_sent(void)
{
    return node_pair_count(&other, "sent") > 0;
}

/* The nodes share an address with munged, as far as 127.0.0.0/8 is one. */
static void test_origin(void **state)
{
    struct job_account *job;

    (void)state;
    node_pair_skip();
    node_pair_set_origin("127.0.0.9");
    restart_with(ORIGINS_YES);
    send_account(node_pair_job(&other, FIRST, 0, 20));
    assert_int_equal(node_pair_count(&first, "taken"), 1);
    node_pair_until(is_counted_as_sent);
    assert_int_equal(node_pair_count(&other, "sent"), 1);
    assert_int_equal(node_pair_count_answers(NULL), 1);
    assert_int_equal(node_pair_count(&first, "wrong_origin"), 0);
    assert_int_equal(node_pair_count(&first, "unconfirmed_origin"), 0);
    job = node_pair_stored(&first);
    assert_int_equal(job->n_steps, 1);
    job_account_destroy(job);
}

/* A credential of another host in the name of OTHER is refused, and the account stays with its
 * sender: it arrives when munged is repaired. */
static void test_wrong_origin(void **state)
{
    struct job_account *job;

    (void)state;
    node_pair_skip();
    node_pair_set_origin("192.0.2.7");
    restart_with(ORIGINS_YES);
    node_pair_stop(&other);
    job = node_pair_job(&other, FIRST, 0, 20);
    node_pair_put(&other, job);
    job_account_destroy(job);
    node_pair_start(&other);
    peers_notify(other.peers);
    node_pair_until(is_origin_wrong);
    assert_null(node_pair_stored(&first));
    assert_int_equal(node_pair_count_answers(NULL), 0);
    assert_int_equal(other.asked, 0);
    node_pair_set_origin("127.0.0.1");
    node_pair_send();
    job = node_pair_stored(&first);
    assert_int_equal(job->n_steps, 1);
    job_account_destroy(job);
    assert_int_equal(node_pair_count(&other, "refused_by_peer"), 0);
}

/* More steps than fit into a request. */
#define MANY 100

static bool are_all_settled(void)
{
    return node_pair_count(&other, "sent") + node_pair_count(&other, "refused_by_peer") == MANY;
}

static void send_many(const char *first_node)
{
    node_pair_stop(&other);
    for (uint32_t i = 0; i < MANY; i++) {
        struct job_account *job = node_pair_job(&other, first_node, i, 20);

        node_pair_put(&other, job);
        job_account_destroy(job);
    }
    node_pair_start(&other);
    node_pair_send();
    node_pair_until(are_all_settled);
}

static void test_many_taken(void **state)
{
    struct job_account *job;

    (void)state;
    node_pair_skip();
    send_many(FIRST);
    job = node_pair_stored(&first);
    assert_int_equal(job->n_steps, MANY);
    job_account_destroy(job);
    assert_int_equal(node_pair_count(&other, "sent"), MANY);
    assert_int_equal(node_pair_count(&other, "send_failures"), 0);
}

/* A node may refuse every account with a reason: they are not sent again. */
static void test_many_refused(void **state)
{
    (void)state;
    node_pair_skip();
    send_many(OTHER);
    assert_null(node_pair_stored(&first));
    assert_int_equal(node_pair_count(&first, "unknown_jobs"), MANY);
    assert_int_equal(node_pair_count(&other, "refused_by_peer"), MANY);
    assert_int_equal(node_pair_count(&other, "send_failures"), 0);
}

static bool was_put_off(void)
{
    return node_pair_count(&other, "send_failures") > 0;
}

/* FIRST tracks the job, but has not stored it yet. */
static void test_known_soon(void **state)
{
    struct job_account *job;

    (void)state;
    node_pair_skip();
    first.known = PEERS_JOB_TRACKED;
    node_pair_stop(&other);
    job = node_pair_job(&other, FIRST, 0, 20);
    node_pair_put(&other, job);
    job_account_destroy(job);
    node_pair_start(&other);
    peers_notify(other.peers);
    node_pair_until(was_put_off);
    assert_null(node_pair_stored(&first));
    job = node_pair_job(&first, NULL, 0, 100);
    node_pair_stop(&first);
    node_pair_put(&first, job);
    node_pair_start(&first);
    job_account_destroy(job);
    node_pair_send();
    job = node_pair_stored(&first);
    assert_int_equal(job->n_steps, 2);
    job_account_destroy(job);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, node_pair_setup, node_pair_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_expected),
        TEST(test_nodes),
        TEST(test_unsupported),
        TEST(test_elsewhere),
        TEST(test_elsewhere_and_here),
        TEST(test_unknown_job),
        TEST(test_known_soon),
        TEST(test_many_taken),
        TEST(test_many_refused),
        TEST(test_forged_node),
        TEST(test_stranger),
        TEST(test_renamed_cluster),
        TEST(test_origin),
        TEST(test_wrong_origin),
        TEST(test_expanded),
        TEST(test_unbound_job),
        TEST(test_unbound_for_ever),
        TEST(test_never_decided),
        TEST(test_late_prolog),
        TEST(test_late_account),
    };

    return cmocka_run_group_tests(tests, node_pair_begin, node_pair_end);
}
