/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accounts of other nodes for a complete jobiod, with a script instead of jobio-record --nodes. */
#define _GNU_SOURCE
#include "tests/unit/daemon_rig.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/peers/wire.h"
#include "common/job.h"
#include "report/json/json.h"

/* Node `from` sends its account of OURS, whose first node is HERE: one step. Takes over the MPI-IO.
 */
static void send_step(const char *from, struct mpi_account *mpi)
{
    const struct wire_head head = {"c", from, HERE, "1"};
    struct json_object *document = wire_create(&head), *list = json_object_new_array();
    struct job_account *job = job_account_create();

    job->key = (struct job_key){strdup("c"), OURS, 0};
    job->first_node = strdup(HERE);
    job->start_ns = clock_ns(CLOCK_REALTIME) - 5 * NS_PER_S;
    job->steps = calloc(1, sizeof(*job->steps));
    job->n_steps = 1;
    job->steps[0] = (struct step_account){
        .het = HET_NONE, .node = strdup(from), .state = STEP_ENDED, .tagged_at_ns = job->start_ns};
    job->steps[0].mpi = mpi;
    (void)json_object_array_add(list, report_json(job, REPORT_STEPS | REPORT_WIRE));
    (void)json_object_object_add(document, "accounts", list);
    (void)close(post_as_peer("/v1/accounts", document));
    job_account_destroy(job);
}

static void send_as_peer(const char *from)
{
    send_step(from, NULL);
}

static bool status_has(const char *text)
{
    ask_and_wait(request("status", 0));
    return strstr(message_get(&reply, "TEXT"), text);
}

static bool start_daemon(void)
{
    if (!munged)
        return false;
    load_settings("");
    create_daemon();
    return true;
}

static void stop_daemon(void)
{
    loop = sd_event_unref(loop);
    daemon_destroy(jobiod);
}

/* How many jobs query-job returns. */
static size_t count_jobs(void)
{
    struct message *m = request("query-job", OURS);
    struct json_object *jobs;
    size_t n;

    must(message_put_u64(m, "ALL", 1));
    ask_and_wait(m);
    jobs = json_tokener_parse(message_get(&reply, "TEXT"));
    n = json_object_array_length(jobs);
    json_object_put(jobs);
    return n;
}

/* THERE has sent its account before the job started here: it is one job, not two. */
static void test_one_job(void **state)
{
    (void)state;
    if (!start_daemon())
        skip();
    run_prolog(OURS, HERE, HERE "," THERE);
    send_as_peer(THERE);
    until(status_has("\"taken\":1"));
    assert_int_equal(count_jobs(), 1);
    start_job(OURS, HERE, HERE "," THERE, &cgroups[0]);
    assert_int_equal(count_jobs(), 1);
    stop_daemon();
}

/* A part of a step that was counted, and one that was not, in the answer about a running job. */
static void test_mpi(void **state)
{
    struct mpi_account *mpi = calloc(1, sizeof(*mpi));
    struct json_object *jobs, *found;

    (void)state;
    if (!start_daemon())
        skip();
    start_job(OURS, HERE, HERE "," THERE, &cgroups[0]);
    mpi->classes[MPI_OPEN].calls = 3;
    send_step(THERE, mpi);
    until(status_has("\"taken\":1"));
    send_step(THERE, NULL);
    until(status_has("\"taken\":2"));
    ask_and_wait(request("query-job", OURS));
    jobs = json_tokener_parse(message_get(&reply, "TEXT"));
    assert_int_equal(json_pointer_get(jobs, "/0/mpi/calls/open/calls", &found), 0);
    assert_int_equal(json_object_get_int(found), 3);
    assert_int_equal(json_pointer_get(jobs, "/0/mpi/incomplete/0/cause", &found), 0);
    assert_string_equal(json_object_get_string(found), MPI_CAUSE_NODE);
    json_object_put(jobs);
    stop_daemon();
}

/* The job got LATER after its prolog has run here: Slurm knows, and then it is queried, too. */
#define LATER "127.0.0.3"

static void test_expanded(void **state)
{
    (void)state;
    if (!start_daemon())
        skip();
    start_job(OURS, HERE, HERE "," THERE, &cgroups[0]);
    write_text("nodes", 0600, HERE "," THERE "," LATER "\n");
    send_as_peer(LATER);
    until(!status_has("\"put_off\":0"));
    assert_true(status_has("\"taken\":0"));
    until((send_as_peer(LATER), !status_has("\"taken\":0")));
    /* It may be put off first: Slurm is asked again. */
    until((send_as_peer("127.0.0.4"), !status_has("\"wrong_node\":0")));
    stop_daemon();
}

/* Nothing of the job has run here, and LATER is not one of its nodes. */
static void test_unbound(void **state)
{
    (void)state;
    if (!start_daemon())
        skip();
    write_text("nodes", 0600, HERE "," THERE "\n");
    send_as_peer(LATER);
    until(!status_has("\"put_off\":0"));
    assert_int_equal(count_jobs(), 0);
    until((send_as_peer(LATER), !status_has("\"wrong_node\":0")));
    assert_int_equal(count_jobs(), 0);
    send_as_peer(THERE);
    until(status_has("\"taken\":1"));
    assert_int_equal(count_jobs(), 1);
    stop_daemon();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_job, setup, teardown),
        cmocka_unit_test_setup_teardown(test_mpi, setup, teardown),
        cmocka_unit_test_setup_teardown(test_expanded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unbound, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
