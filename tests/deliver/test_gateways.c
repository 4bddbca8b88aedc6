/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Delivery to real Pushgateways: they show the account, whatever failures they have. */
#include "tests/unit/test.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "tests/deliver/gateway.h"
#include "tests/deliver/world.h"

static struct gateway a, b;

static int setup(void **state)
{
    gateway_reserve(&a);
    gateway_reserve(&b);
    return world_setup(state);
}

static int teardown(void **state)
{
    gateway_kill(&a);
    gateway_kill(&b);
    return world_teardown(state);
}

/* Bytes that the gateway shows for the job as written; NAN: it does not show the job. */
static double written(const struct gateway *gateway, uint32_t jobid)
{
    _free_ char *metrics = gateway_get(gateway, "/metrics");
    char label[32];

    snprintf(label, sizeof(label), "jobid=\"%u\"", jobid);
    return metrics_value(metrics, "jobio_write_bytes_total", label, "cluster=\"c1\"",
                         "instance=\"node1\"", "mountpoint=\"/scratch\"", "fstype=\"nfs4\"", NULL);
}

static double pushed_at(const struct gateway *gateway)
{
    _free_ char *metrics = gateway_get(gateway, "/metrics");

    return metrics_value(metrics, "push_time_seconds", "job=\"jobio\"", "instance=\"node1\"", NULL);
}

static bool shows_ended(const struct gateway *gateway, uint32_t jobid)
{
    _free_ char *metrics = gateway_get(gateway, "/metrics");
    char label[32];

    snprintf(label, sizeof(label), "jobid=\"%u\"", jobid);
    return metrics_value(metrics, "jobio_job_info", label, "state=\"ended\"", NULL) == 1;
}

static void test_gateway_shows_the_account(void **state)
{
    struct world *world = *state;
    _free_ char *metrics = NULL;

    gateway_start(&a, NULL);
    world_job(world, 7, 3, 123456789);
    world_job(world, 8, 1, 4096);
    world_open(world, a.url, NULL);
    world_until(world, world_number(world, 0, "last_success") > 0);
    metrics = gateway_get(&a, "/metrics");
    assert_true(metrics_are_clean(metrics));
    assert_true(metrics_value(metrics, "jobio_write_bytes_total", "jobid=\"7\"",
                              "mountpoint=\"/scratch\"", NULL) == 123456789);
    assert_true(metrics_value(metrics, "jobio_read_bytes_total", "jobid=\"7\"", NULL) == 246913578);
    assert_true(metrics_value(metrics, "jobio_write_requests_total", "jobid=\"7\"", NULL) == 3);
    assert_true(metrics_value(metrics, "jobio_read_requests_total", "jobid=\"8\"", NULL) == 2);
    assert_true(metrics_value(metrics, "jobio_node_write_bytes_total", "mountpoint=\"/scratch\"",
                              NULL) == 123456789 + 4096);
    assert_true(metrics_value(metrics, "jobio_job_info", "jobid=\"7\"", "user=\"alice\"",
                              "account=\"physics\"", "partition=\"batch\"", "state=\"running\"",
                              "job=\"jobio\"", NULL) == 1);
    assert_string_equal(world_state(world, 0), "ok");
    assert_int_equal(world_number(world, 0, "last_code"), 200);
    assert_string_equal(world->said, "");
}

static void test_push_soon_after_the_end(void **state)
{
    struct world *world = *state;
    struct job_account *first = world_job(world, 1, 1, 10), *second = world_job(world, 2, 1, 20);
    double pushed;
    uint64_t ended;

    /* Only the end of a job can cause a push now. */
    world->options.interval_ns = 3600 * S;
    world->options.gap_ns = 2 * S;
    world->options.spread_ns = 500 * MS;
    gateway_start(&a, NULL);
    world_open(world, a.url, NULL);
    world_until(world, world_number(world, 0, "last_success") > 0);
    pushed = pushed_at(&a);
    world_run(world, 2 * S);
    assert_true(pushed_at(&a) == pushed);

    ended = world_now();
    world_end(world, first);
    world_until(world, shows_ended(&a, 1));
    assert_int_equal(world_number(world, 0, "pushes"), 2);
    /* Another job ends at once: its push waits for the minimum interval. */
    world_end(world, second);
    world_until(world, shows_ended(&a, 2));
    assert_true(world_now() - ended >= world->options.gap_ns);
    assert_int_equal(world_number(world, 0, "pushes"), 3);
}

static void test_one_of_two_gateways_is_down(void **state)
{
    struct world *world = *state;
    struct job_account *job = world_job(world, 5, 2, 5000);

    gateway_start(&a, NULL);
    world_open(world, a.url, b.url, NULL);
    world_until(world, world_number(world, 0, "last_success") > 0);
    world_end(world, job);
    world_until(world, shows_ended(&a, 5));
    world_until(world, world_number(world, 1, "failures") > 1);
    world_until(world, world_number(world, 0, "lingering") == 1);
    assert_int_equal(world_number(world, 0, "pending"), 0);
    assert_int_equal(world_number(world, 1, "pending"), 1);
    assert_string_equal(world_state(world, 1), "backoff");
    assert_int_equal(world_number(world, 1, "last_code"), 0);
    assert_int_equal(world_kept(world), 1);

    /* Longer than the linger time: the outage must not shorten it. */
    world_pass(3600 * S);
    world_until(world, isnan(written(&a, 5)));
    gateway_start(&b, NULL);
    world_until(world, world_number(world, 1, "pending") == 0);
    assert_true(written(&b, 5) == 5000);
    assert_non_null(strstr(world->said, "works again"));
    assert_string_equal(world_state(world, 1), "ok");
    assert_int_equal(world_kept(world), 1);
    world_pass(world->options.linger_ns + 1 * S);
    world_until(world, isnan(written(&b, 5)));
    assert_int_equal(world_kept(world), 0);
}

static void test_gateway_forgets(void **state)
{
    struct world *world = *state;
    struct job_account *job = world_job(world, 5, 2, 5000);

    gateway_start(&a, NULL);
    world_open(world, a.url, NULL);
    world_end(world, job);
    world_until(world, world_number(world, 0, "lingering") == 1);
    gateway_kill(&a);
    gateway_start(&a, NULL);
    assert_true(isnan(pushed_at(&a)));
    world_until(world, written(&a, 5) == 5000);
}

static void test_linger_counts_from_the_acknowledgement(void **state)
{
    struct world *world = *state;
    struct job_account *job = world_job(world, 5, 2, 5000);
    double pushed;

    gateway_start(&a, NULL);
    world_open(world, a.url, NULL);
    world_end(world, job);
    world_pass(100 * S);
    world_until(world, world_number(world, 0, "lingering") == 1);
    world_pass(world->options.linger_ns - 60 * S);
    pushed = pushed_at(&a);
    world_until(world, pushed_at(&a) > pushed + 0.5);
    assert_true(written(&a, 5) == 5000);
    world_pass(60 * S);
    world_until(world, isnan(written(&a, 5)));
    assert_int_equal(world_number(world, 0, "lingering"), 0);
    assert_int_equal(world_kept(world), 0);
    /* The node's totals stay. */
    {
        _free_ char *metrics = gateway_get(&a, "/metrics");

        assert_true(metrics_value(metrics, "jobio_node_write_bytes_total", NULL) == 5000);
    }
}

static void test_killed_between_end_and_push(void **state)
{
    struct world *world = *state;
    struct job_account *job = world_job(world, 5, 2, 5000);

    world_open(world, a.url, b.url, NULL);
    world_end(world, job);
    world_close(world);
    assert_int_equal(world_kept(world), 1);
    gateway_start(&a, NULL);
    world_open(world, a.url, b.url, NULL);
    world_until(world, shows_ended(&a, 5));
    world_until(world, world_number(world, 0, "lingering") == 1);

    /* After a restart it knows which target has acknowledged, and when. */
    world_close(world);
    world_pass(world->options.linger_ns);
    gateway_start(&b, NULL);
    world_open(world, a.url, b.url, NULL);
    world_until(world, world_number(world, 1, "lingering") == 1);
    world_until(world, isnan(written(&a, 5)));
    assert_true(written(&b, 5) == 5000);
    assert_int_equal(world_kept(world), 1);
}

/* The same with a real SIGKILL: the data given to `keep` is on disk when it returns. */
static void test_sigkill(void **state)
{
    struct world *world = *state;
    struct job_account *job = world_job(world, 5, 2, 5000);
    pid_t child;
    int status;

    store_close(world->store);
    child = fork();
    if (child == 0) {
        /* sd-event cannot be used in a child. */
        assert_true(sd_event_new(&world->loop) >= 0);
        world_open_store(world);
        world_open(world, a.url, NULL);
        world_end(world, job);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    job->ended = true;
    gateway_start(&a, NULL);
    world_open_store(world);
    world_open(world, a.url, NULL);
    world_until(world, shows_ended(&a, 5));
}

static void test_stopping_leaves_the_group(void **state)
{
    struct world *world = *state;

    gateway_start(&a, NULL);
    world_job(world, 5, 2, 5000);
    world_open(world, a.url, NULL);
    world_until(world, world_number(world, 0, "last_success") > 0);
    world_close(world);
    assert_true(written(&a, 5) == 5000);
}

static void test_retire_deletes_the_group(void **state)
{
    struct world *world = *state;
    struct job_account *job = world_job(world, 5, 2, 5000);
    char line[128];

    gateway_start(&a, NULL);
    gateway_start(&b, NULL);
    assert_int_equal(gateway_put(&a, "job/jobio/cluster/c1/instance/node11", "x 1\n"), 200);
    world_open(world, a.url, b.url, NULL);
    world_until(world, world_number(world, 0, "last_success") > 0 &&
                           world_number(world, 1, "last_success") > 0);
    world_retire(world);
    assert_int_equal(world->retire_failed, 0);
    snprintf(line, sizeof(line), "%s: deleted\n", a.url);
    assert_non_null(strstr(world->retired, line));
    snprintf(line, sizeof(line), "%s: deleted\n", b.url);
    assert_non_null(strstr(world->retired, line));
    /* Even the end of a job does not restore it. */
    world_end(world, job);
    world_run(world, 1 * S);
    assert_true(isnan(pushed_at(&a)));
    assert_true(isnan(pushed_at(&b)));
    /* The group of another node is not changed. */
    {
        _free_ char *metrics = gateway_get(&a, "/metrics");

        assert_true(metrics_value(metrics, "x", "instance=\"node11\"", NULL) == 1);
    }
    gateway_kill(&b);
    world_retire(world);
    assert_int_equal(world->retire_failed, 1);
    snprintf(line, sizeof(line), "%s: Failed to connect", b.url);
    assert_non_null(strstr(world->retired, line));
}

static void test_retire_waits_for_the_push(void **state)
{
    struct world *world = *state;

    gateway_start(&a, NULL);
    world_job(world, 5, 2, 5000);
    world_open(world, a.url, NULL);
    world_until(world, world_number(world, 0, "pushes") == 1);
    world_retire(world);
    world_run(world, 500 * MS);
    assert_true(isnan(pushed_at(&a)));
}

static void check_refusal(struct world *world)
{
    const char *complaint = strstr(world->said, "HTTP 400: ");

    assert_string_equal(world_state(world, 0), "rejected");
    assert_int_equal(world_number(world, 0, "last_code"), 400);
    assert_true(world_error_has(world, 0, "jobio_write_bytes_total"));
    assert_non_null(complaint);
    assert_null(strstr(complaint + 1, "HTTP 400: "));
}

/* The gateway's own check: a name has one type in all groups. */
static void test_conflicting_type(void **state)
{
    struct world *world = *state;
    struct job_account *job = world_job(world, 5, 2, 5000);

    gateway_start(&a, NULL);
    gateway_start(&b, NULL);
    assert_int_equal(gateway_put(&a, "job/other",
                                 "# TYPE jobio_write_bytes_total gauge\n"
                                 "jobio_write_bytes_total 1\n"),
                     200);
    world_open(world, a.url, b.url, NULL);
    world_end(world, job);
    world_until(world, world_number(world, 0, "failures") >= 3);
    if (!gateway_hangs_up())
        check_refusal(world);
    assert_int_equal(world_number(world, 0, "pending"), 1);
    assert_true(written(&b, 5) == 5000);
    /* An empty PUT leaves the other group without metrics, which ends the conflict. */
    assert_int_equal(gateway_put(&a, "job/other", ""), 200);
    world_until(world, world_number(world, 0, "pending") == 0);
    assert_true(written(&a, 5) == 5000);
}

static void test_long_queue_in_windows(void **state)
{
    struct world *world = *state;
    struct job_account *jobs[25];

    world->options.max_ended = 10;
    for (uint32_t i = 0; i < 25; i++)
        jobs[i] = world_job(world, 100 + i, 1, 1000 + i);
    world_open(world, a.url, NULL);
    for (uint32_t i = 0; i < 25; i++)
        world_end(world, jobs[i]);
    world_until(world, world_number(world, 0, "failures") > 0);
    assert_int_equal(world_number(world, 0, "pending"), 25);
    gateway_start(&a, NULL);
    for (uint32_t from = 0; from < 25; from += 10) {
        uint32_t to = from + 10 < 25 ? from + 10 : 25;

        world_until(world, world_number(world, 0, "pending") == 25 - to);
        for (uint32_t i = 0; i < 25; i++)
            assert_true(i >= from && i < to ? written(&a, 100 + i) == 1000 + i
                                            : isnan(written(&a, 100 + i)));
        world_pass(world->options.linger_ns);
    }
    world_until(world, world_kept(world) == 0);
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fchmod(fileno(f), 0600), 0);
    assert_int_equal(fclose(f), 0);
}

/* TLS with our own CA and a password: right, wrong, and without the CA. */
static void test_tls_and_password(void **state)
{
    struct world *world = *state;
    char dir[] = "/tmp/jobio-tls-XXXXXX", command[1024], url[64], config[512];
    char ca[64], key[64], web[64], good[64], wrong[64];

    assert_non_null(mkdtemp(dir));
    snprintf(ca, sizeof(ca), "%s/ca.pem", dir);
    snprintf(key, sizeof(key), "%s/key.pem", dir);
    snprintf(web, sizeof(web), "%s/web.yml", dir);
    snprintf(good, sizeof(good), "%s/good", dir);
    snprintf(wrong, sizeof(wrong), "%s/wrong", dir);
    snprintf(command, sizeof(command),
             "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 "
             "-addext subjectAltName=IP:127.0.0.1 -keyout %s -out %s 2>/dev/null",
             key, ca);
    assert_int_equal(system(command), 0);
    /* bcrypt of "geheim" */
    snprintf(config, sizeof(config),
             "tls_server_config:\n  cert_file: %s\n  key_file: %s\nbasic_auth_users:\n"
             "  jobio: $2b$04$N2psEhY1nHILJ.gisCY3nuXGK3531FDKOskIp9ALAKAzxtxdjSvii\n",
             ca, key);
    write_file(web, config);
    write_file(good, "jobio:geheim\n");
    write_file(wrong, "jobio:falsch\n");
    gateway_start(&a, web);
    snprintf(url, sizeof(url), "https://127.0.0.1:%d", a.port);

    world_job(world, 5, 2, 5000);
    world->options.access.ca_file = ca;
    world->options.access.userpwd_file = good;
    world_open(world, url, NULL);
    world_until(world, world_number(world, 0, "pushes") > 0 && !world_number(world, 0, "pushing"));
    assert_int_equal(world_number(world, 0, "last_code"), 200);
    world_close(world);

    world->options.access.userpwd_file = wrong;
    world_open(world, url, NULL);
    world_until(world, world_number(world, 0, "failures") > 0);
    assert_int_equal(world_number(world, 0, "last_code"), 401);
    assert_string_equal(world_state(world, 0), "misconfigured");
    assert_null(strstr(world->said, "falsch"));
    world_close(world);

    world->options.access.ca_file = NULL;
    world_open(world, url, NULL);
    world_until(world, world_number(world, 0, "failures") > 0);
    assert_int_equal(world_number(world, 0, "last_code"), 0);
    assert_string_equal(world_state(world, 0), "misconfigured");
    assert_true(world_error_has(world, 0, "certificate"));
    snprintf(command, sizeof(command), "rm -r %s", dir);
    assert_int_equal(system(command), 0);
}

/* Labels that cannot be in a path still give one group with these labels. */
static void test_awkward_instance(void **state)
{
    struct world *world = *state;
    _free_ char *metrics = NULL;

    world->options.cluster = "a/b c";
    world->options.instance = "..";
    gateway_start(&a, NULL);
    world_open(world, a.url, NULL);
    world_until(world, world_number(world, 0, "failures") + world_number(world, 0, "last_success"));
    metrics = gateway_get(&a, "/metrics");
    assert_false(isnan(
        metrics_value(metrics, "push_time_seconds", "cluster=\"a/b c\"", "instance=\"..\"", NULL)));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_gateway_shows_the_account),
        TEST(test_push_soon_after_the_end),
        TEST(test_one_of_two_gateways_is_down),
        TEST(test_gateway_forgets),
        TEST(test_linger_counts_from_the_acknowledgement),
        TEST(test_killed_between_end_and_push),
        TEST(test_sigkill),
        TEST(test_stopping_leaves_the_group),
        TEST(test_retire_deletes_the_group),
        TEST(test_retire_waits_for_the_push),
        TEST(test_conflicting_type),
        TEST(test_long_queue_in_windows),
        TEST(test_tls_and_password),
        TEST(test_awkward_instance),
    };

    if (!gateway_installed()) {
        fprintf(stderr, "prometheus, its Pushgateway or promtool is not installed\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
