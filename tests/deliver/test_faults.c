/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Delivery to servers that misbehave. They are fakes, because a real Pushgateway does not do this.
 * If a test needs to know that data arrives, it also uses a real one.
 */
#define _GNU_SOURCE /* unshare */
#include "tests/unit/test.h"

#include <arpa/inet.h>
#include <math.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "tests/deliver/fake_http.h"
#include "tests/deliver/gateway.h"
#include "tests/deliver/world.h"

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

static struct fake_http fake;

static int teardown(void **state)
{
    fake_http_stop(&fake);
    return world_teardown(state);
}

/* The loop must not block, because tags wait for an answer. All timeouts here are at least 1 s, so
 * half a second distinguishes a blocked loop from a busy machine. */
static void assert_never_blocked(const struct world *world)
{
    if (world->longest_ns >= 500 * MS)
        fail_msg("the loop stood still for %u ms", (unsigned)(world->longest_ns / MS));
}

static unsigned count_text(const char *text, const char *word)
{
    unsigned n = 0;

    for (; (text = strstr(text, word)); text++)
        n++;
    return n;
}

static void test_silent_server(void **state)
{
    struct world *world = *state;
    struct job_account *job = world_job(world, 5, 2, 5000);
    struct gateway real;

    gateway_reserve(&real);
    gateway_start(&real, NULL);
    world->options.timeout_ns = 3 * S; /* a busy machine needs a second for the other one */
    fake_http_start(&fake, world->loop, NULL);
    world_open(world, fake.url, real.url, NULL);
    world_end(world, job);
    /* The other target is not delayed. */
    world_until(world, world_number(world, 1, "lingering") == 1);
    assert_int_equal(world_number(world, 0, "pushing"), 1);
    assert_int_equal(world_number(world, 0, "failures"), 0);
    world_until(world, world_number(world, 0, "failures") == 2);
    assert_string_equal(world_state(world, 0), "backoff");
    assert_int_equal(world_number(world, 0, "last_code"), 0);
    assert_true(world_error_has(world, 0, "timed out"));
    assert_int_equal(world_number(world, 0, "pending"), 1);
    assert_int_equal(world_number(world, 1, "pending"), 0);
    assert_int_equal(count_text(world->said, "next try"), 1); /* the first of the row */
    fake.answer = OK;
    world_until(world, world_number(world, 0, "pending") == 0);
    assert_never_blocked(world);
    gateway_kill(&real);
}

static void test_redirect_is_not_followed(void **state)
{
    struct world *world = *state;
    struct gateway real;
    char answer[256];

    gateway_reserve(&real);
    gateway_start(&real, NULL);
    snprintf(
        answer, sizeof(answer),
        "HTTP/1.1 307 Temporary Redirect\r\nLocation: %s/metrics/job/jobio/cluster/c1/instance/"
        "node1\r\nContent-Length: 0\r\n\r\n",
        real.url);
    world_job(world, 5, 2, 5000);
    fake_http_start(&fake, world->loop, answer);
    world_open(world, fake.url, NULL);
    world_until(world, world_number(world, 0, "failures") == 2);
    assert_string_equal(world_state(world, 0), "misconfigured");
    assert_int_equal(world_number(world, 0, "last_code"), 307);
    {
        _free_ char *metrics = gateway_get(&real, "/metrics");

        assert_true(isnan(metrics_value(metrics, "push_time_seconds", NULL)));
    }
    gateway_kill(&real);
}

static void test_codes(void **state)
{
    static const struct {
        const char *status, *want;
        unsigned code;
    } table[] = {
        {"401 Unauthorized", "misconfigured", 401}, {"403 Forbidden", "misconfigured", 403},
        {"404 Not Found", "misconfigured", 404},    {"408 Request Timeout", "backoff", 408},
        {"429 Too Many Requests", "backoff", 429},  {"500 Oops", "backoff", 500},
        {"413 Too Large", "rejected", 413},         {"301 Moved", "misconfigured", 301},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct world *world;
        char answer[128];

        (void)state;
        assert_int_equal(world_setup((void **)&world), 0);
        snprintf(answer, sizeof(answer), "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n",
                 table[i].status);
        world_job(world, 5, 2, 5000);
        fake_http_start(&fake, world->loop, answer);
        world_open(world, fake.url, NULL);
        world_until(world, world_number(world, 0, "failures") == 1);
        assert_string_equal(world_state(world, 0), table[i].want);
        assert_int_equal(world_number(world, 0, "last_code"), table[i].code);
        fake_http_stop(&fake);
        world_teardown((void **)&world);
    }
}

static void test_rejected_body_is_quoted_once(void **state)
{
    struct world *world = *state;
    struct job_account *job = world_job(world, 5, 2, 5000);
    char answer[800];

    snprintf(answer, sizeof(answer),
             "HTTP/1.1 400 Bad Request\r\nContent-Length: 400\r\n\r\nwrong \x1b[31mline%0387d\n\n",
             7);
    fake_http_start(&fake, world->loop, answer);
    world_open(world, fake.url, NULL);
    world_end(world, job);
    world_until(world, world_number(world, 0, "failures") == 3);
    assert_string_equal(world_state(world, 0), "rejected");
    assert_int_equal(count_text(world->said, "wrong ?[31mline0000"), 1);
    assert_null(strstr(world->said, "\x1b"));
    assert_true(strlen(world->said) < 400); /* 200 bytes of it, and the text around them */
    assert_int_equal(world_number(world, 0, "pending"), 1);
    /* Three attempts take two waits of 400 ms minus 10 %. */
    fake.answer = OK;
    world_until(world, world_number(world, 0, "pending") == 0);
    assert_int_equal(world_number(world, 0, "failures_in_a_row"), 0);
}

/* A web server's start page or a proxy's login page: status 200, but nothing was stored. */
static void test_200_to_everything(void **state)
{
    struct world *world = *state;
    struct job_account *job = world_job(world, 5, 2, 5000);

    fake_http_start(&fake, world->loop,
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 23\r\n\r\n"
                    "<html>It works!</html>\n");
    world_open(world, fake.url, NULL);
    world_end(world, job);
    world_until(world, world_number(world, 0, "failures") == 3);
    assert_string_equal(world_state(world, 0), "misconfigured");
    assert_int_equal(world_number(world, 0, "last_code"), 200);
    assert_true(world_error_has(world, 0, "It works!"));
    assert_int_equal(world_number(world, 0, "pending"), 1);
    assert_int_equal(count_text(world->said, "HTTP 200: <html>It works!"), 1);
    fake.answer = OK;
    world_until(world, world_number(world, 0, "pending") == 0);
    assert_int_equal(count_text(world->said, "works again after"), 1);
}

/* A body that starts with NUL is not an empty one. */
static void test_200_with_nul(void **state)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n\0page";
    struct world *world = *state;
    struct job_account *job = world_job(world, 5, 2, 5000);

    fake_http_start(&fake, world->loop, answer);
    fake.size = sizeof(answer) - 1;
    world_open(world, fake.url, NULL);
    world_end(world, job);
    world_until(world, world_number(world, 0, "failures") == 1);
    assert_string_equal(world_state(world, 0), "misconfigured");
    assert_true(world_error_has(world, 0, "HTTP 200: ?page"));
    assert_int_equal(world_number(world, 0, "pending"), 1);
}

/* It would keep the connection and the loop busy until the time limit. */
static void test_endless_body(void **state)
{
    static const char head[] = "HTTP/1.1 200 OK\r\n\r\n";
    static char answer[50000];
    struct world *world = *state;
    struct job_account *job = world_job(world, 5, 2, 5000);

    memset(answer, 'x', sizeof(answer) - 1);
    memcpy(answer, head, sizeof(head) - 1);
    fake_http_start(&fake, world->loop, answer);
    fake.endless = true;
    world->options.timeout_ns = 10 * S;
    world_open(world, fake.url, NULL);
    world_end(world, job);
    world_until(world, world_number(world, 0, "failures") == 1);
    assert_true(world_error_has(world, 0, "the answer is too long"));
    assert_int_equal(world_number(world, 0, "pending"), 1);
    assert_true(fake.sent < (size_t)32 << 20);
    assert_never_blocked(world);
}

/* Send all of it slowly, to keep the connection busy. */
static void test_byte_by_byte(void **state)
{
    struct world *world = *state;
    struct job_account *job = world_job(world, 5, 2, 5000);

    fake_http_start(&fake, world->loop, OK);
    fake.byte_ms = 100;
    world_open(world, fake.url, NULL);
    world_end(world, job);
    world_until(world, world_number(world, 0, "failures") == 2);
    assert_string_equal(world_state(world, 0), "backoff");
    assert_true(world_error_has(world, 0, "timed out"));
    assert_int_equal(world_number(world, 0, "pending"), 1);
    assert_int_equal(count_text(world->said, "next try"), 1);
    fake.byte_ms = 0;
    world_until(world, world_number(world, 0, "pending") == 0);
    assert_never_blocked(world);
}

/* Every second push fails: that is counted, but not logged each time. */
static void test_one_that_comes_and_goes(void **state)
{
    struct world *world = *state;

    world->options.say_ns = 3600 * S;
    world->options.interval_ns = 60 * MS;
    world->options.gap_ns = 10 * MS;
    world->options.backoff_ns = 10 * MS;
    world_job(world, 5, 2, 5000);
    fake_http_start(&fake, world->loop, OK);
    world_open(world, fake.url, NULL);
    for (unsigned i = 1; i <= 5; i++) {
        uint64_t pushes = world_number(world, 0, "pushes");

        fake.answer = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
        world_until(world, world_number(world, 0, "failures_in_a_row") > 0);
        fake.answer = OK;
        world_until(world, world_number(world, 0, "failures_in_a_row") == 0 &&
                               world_number(world, 0, "pushes") > pushes);
    }
    assert_true(world_number(world, 0, "failures") >= 5);
    assert_int_equal(count_text(world->said, "next try"), 1);
    assert_int_equal(count_text(world->said, "works again"), 1);
}

/* It fails in two ways in turn. A failure that needs an operator is logged at once, but only one
 * time; so is the other one. */
static void test_two_failures_in_turn(void **state)
{
    struct world *world = *state;

    world->options.say_ns = 3600 * S;
    world->options.interval_ns = 60 * MS;
    world->options.gap_ns = 10 * MS;
    world->options.backoff_ns = 10 * MS;
    world->options.slow_ns = 20 * MS;
    world_job(world, 5, 2, 5000);
    fake_http_start(&fake, world->loop, OK);
    for (unsigned i = 0; i < 5; i++) {
        fake.answer = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
        if (i == 0)
            world_open(world, fake.url, NULL);
        world_until(world, world_number(world, 0, "last_code") == 503);
        fake.answer = "HTTP/1.1 401 Who?\r\nContent-Length: 0\r\n\r\n";
        world_until(world, world_number(world, 0, "last_code") == 401);
    }
    assert_int_equal(count_text(world->said, "HTTP 503; next try"), 1);
    assert_int_equal(count_text(world->said, "HTTP 401; next try"), 1);
}

static void test_retry_after(void **state)
{
    struct world *world = *state;
    uint64_t began;

    world_job(world, 5, 2, 5000);
    fake_http_start(&fake, world->loop,
                    "HTTP/1.1 503 Busy\r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n");
    world_open(world, fake.url, NULL);
    world_until(world, world_number(world, 0, "failures") == 1);
    began = world_now();
    assert_in_range(world_number(world, 0, "next_s"), 2, 3);
    fake.answer = OK;
    world_until(world, fake.requests == 2);
    assert_true(world_now() - began > 2900 * MS);
    world_until(world, world_number(world, 0, "failures_in_a_row") == 0);
}

static void test_closes_early(void **state)
{
    struct world *world = *state;
    struct job_account *job = world_job(world, 5, 2, 5000);

    fake_http_start(&fake, world->loop, "");
    world_open(world, fake.url, NULL);
    world_end(world, job);
    world_until(world, world_number(world, 0, "failures") >= 2);
    assert_string_equal(world_state(world, 0), "backoff");
    assert_int_equal(world_number(world, 0, "pending"), 1);
    fake.answer = OK;
    world_until(world, world_number(world, 0, "pending") == 0);
    assert_never_blocked(world);
}

static void test_half_an_answer(void **state)
{
    struct world *world = *state;
    struct job_account *job = world_job(world, 5, 2, 5000);

    fake_http_start(&fake, world->loop, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
    world_open(world, fake.url, NULL);
    world_end(world, job);
    world_until(world, world_number(world, 0, "failures") == 1);
    assert_int_equal(world_number(world, 0, "pending"), 1);
    assert_string_equal(world_state(world, 0), "backoff");
}

/* Waits grow, stay below the maximum, and vary. */
static void test_backoff_grows(void **state)
{
    struct world *world = *state;
    uint64_t began = world_now();

    world->options.backoff_ns = 20 * MS;
    world->options.slow_ns = 640 * MS;
    world->options.gap_ns = 10 * MS;
    fake_http_start(&fake, world->loop, "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
    world_open(world, fake.url, NULL);
    world_until(world, fake.requests == 14);
    /* The mean waits are 10, 20, 40, 80, 160, 320, 320... ms: about 3 s in total, and hardly ever
     * below 1 s. Without growth: 0.14 s. */
    assert_true(world_now() - began > 1 * S);
    assert_int_equal(count_text(world->said, "next try"), 1);
}

/* A push in flight does not acknowledge a job that ends meanwhile. */
static void test_end_during_a_push(void **state)
{
    struct world *world = *state;
    struct job_account *job = world_job(world, 5, 2, 5000);

    world->options.interval_ns = 60 * S;
    world->options.timeout_ns = 10 * S;
    fake_http_start(&fake, world->loop, NULL);
    world_open(world, fake.url, NULL);
    world_until(world, fake.requests == 1);
    world_end(world, job);
    fake_http_release(&fake, OK);
    fake.answer = NULL;
    world_until(world, world_number(world, 0, "last_success") > 0);
    assert_int_equal(world_number(world, 0, "pending"), 1);
    world_until(world, fake.requests == 2); /* soon, not after the interval */
    fake_http_release(&fake, OK);
    world_until(world, world_number(world, 0, "pending") == 0);
}

static void test_accounts_come_late(void **state)
{
    struct world *world = *state;
    struct job_account *job = world_job(world, 5, 2, 5000);

    world->hold = true;
    fake_http_start(&fake, world->loop, OK);
    world_open(world, fake.url, NULL);
    world_until(world, world->collects == 1);
    world_end(world, job); /* not among the keys of the query in flight */
    world_run(world, 300 * MS);
    assert_int_equal(world->collects, 1);
    assert_int_equal(fake.requests, 0);
    world->hold = false;
    world_answer(world);
    world_until(world, world_number(world, 0, "pending") == 0);
    assert_int_equal(world_number(world, 0, "failures"), 0);
}

static void test_accounts_cannot_be_had(void **state)
{
    struct world *world = *state;
    struct job_account *job = world_job(world, 5, 2, 5000);

    world->refuse = true;
    fake_http_start(&fake, world->loop, OK);
    world_open(world, fake.url, NULL);
    world_end(world, job);
    world_until(world, world_number(world, 0, "failures") == 2);
    assert_true(world_error_has(world, 0, "the store does not answer"));
    assert_int_equal(fake.requests, 0);
    world->refuse = false;
    world_until(world, world_number(world, 0, "pending") == 0);
}

static void test_job_gone_from_the_store(void **state)
{
    struct world *world = *state;
    const struct job_key key = {.cluster = (char *)"c1", .jobid = 99};

    fake_http_start(&fake, world->loop, OK);
    world_open(world, fake.url, NULL);
    assert_int_equal(node_queue_job_ended(world->deliver, &key), 0);
    /* If it is missing once or twice, it may be on its way to the store. */
    world_until(world, world->collects == 2);
    assert_int_equal(world_kept(world), 1);
    assert_string_equal(world->said, "");
    world_until(world, world_kept(world) == 0);
    assert_int_equal(world->collects, 3);
    assert_non_null(strstr(world->said, "job 99 is no longer in the store"));
    assert_int_equal(world_number(world, 0, "pending"), 0);
}

static void test_job_on_its_way_into_the_store(void **state)
{
    struct world *world = *state;
    struct job_account *job = world_job(world, 5, 2, 5000);

    fake_http_start(&fake, world->loop, OK);
    world_open(world, fake.url, NULL);
    world->n_jobs = 0;
    world_end(world, job);
    world_until(world, world->collects == 2);
    world->n_jobs = 1;
    world_until(world, world_number(world, 0, "lingering") == 1);
    assert_string_equal(world->said, "");
}

static void test_bad_options(void **state)
{
    struct world *world = *state;
    const char *urls[] = {"http://u:geheim@h"};
    const struct node_queue_hooks hooks = {.arg = world};
    struct node_queue_options options = world->options;
    struct node_queue *deliver = NULL;
    struct error error;

    options.urls = urls;
    options.n_urls = 1;
    assert_int_equal(node_queue_create(&deliver, world->loop, &options, &hooks, &error), -EINVAL);
    assert_null(strstr(error.text, "geheim"));
    urls[0] = "http://127.0.0.1:1";
    options.access.ca_file = "/nonexistent/ca.pem";
    assert_int_equal(node_queue_create(&deliver, world->loop, &options, &hooks, &error), -ENOENT);
    assert_non_null(strstr(error.text, "/nonexistent/ca.pem"));
    options.access.ca_file = NULL;
    options.access.userpwd_file = "/dev/null";
    assert_int_equal(node_queue_create(&deliver, world->loop, &options, &hooks, &error), -EINVAL);
    urls[0] = "http://gateway.example.org:9091";
    assert_int_equal(node_queue_create(&deliver, world->loop, &options, &hooks, &error), -EINVAL);
    assert_non_null(
        strstr(error.text, "credentials: the password would be sent to \"http://gateway"));
    assert_null(deliver);
    node_queue_destroy(NULL);
}

static void test_no_gateway_at_all(void **state)
{
    struct world *world = *state;
    struct job_account *job = world_job(world, 5, 2, 5000);

    world_open(world, NULL, NULL);
    world_end(world, job);
    world_run(world, 100 * MS);
    assert_int_equal(world_kept(world), 0);
    assert_int_equal(world->collects, 0);
    world_retire(world);
    assert_string_equal(world->retired, "");
}

static void test_linger_rule(void **state)
{
    (void)state;
    assert_int_equal(node_queue_linger(15 * S), 300 * S);
    assert_int_equal(node_queue_linger(100 * S), 300 * S);
    assert_int_equal(node_queue_linger(120 * S), 360 * S);
}

static void loopback_up(void)
{
    struct ifreq lo = {.ifr_flags = IFF_UP};
    _close_ int fd = socket(AF_INET, SOCK_DGRAM, 0);

    strcpy(lo.ifr_name, "lo");
    assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &lo), 0);
}

/* In its own network and mount namespace, with a name server that never answers. */
static int with_dead_name_server(struct world *world)
{
    const struct sockaddr_in dns = {
        .sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char path[] = "/tmp/jobio-resolv-XXXXXX";
    _close_ int fd = -1, server = -1;

    if (unshare(CLONE_NEWNET | CLONE_NEWNS) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return 77;
    loopback_up();
    fd = mkstemp(path);
    assert_int_equal(write(fd, "nameserver 127.0.0.1\n", 21), 21);
    assert_int_equal(mount(path, "/etc/resolv.conf", NULL, MS_BIND, NULL), 0);
    unlink(path);
    server = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server, (const struct sockaddr *)&dns, sizeof(dns)), 0);

    world_job(world, 5, 2, 5000);
    world_open(world, "http://gateway.example:9091", NULL);
    world_until(world, world_number(world, 0, "failures") == 2);
    assert_string_equal(world_state(world, 0), "backoff");
    assert_never_blocked(world);
    {
        uint64_t began = world_now();

        world_until(world, world_number(world, 0, "pushing") == 1);
        world_close(world);
        assert_true(world_now() - began < 3 * S);
    }
    return 0;
}

static void test_dead_name_server(void **state)
{
    struct world *world = *state;
    pid_t child = fork();
    int status;

    if (child == 0) {
        /* sd-event cannot be used in a child. */
        sd_event *loop = NULL;

        assert_true(sd_event_new(&loop) >= 0);
        world->loop = loop;
        _exit(with_dead_name_server(world));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_silent_server),
        TEST(test_redirect_is_not_followed),
        TEST(test_codes),
        TEST(test_rejected_body_is_quoted_once),
        TEST(test_200_to_everything),
        TEST(test_200_with_nul),
        TEST(test_endless_body),
        TEST(test_byte_by_byte),
        TEST(test_one_that_comes_and_goes),
        TEST(test_two_failures_in_turn),
        TEST(test_retry_after),
        TEST(test_closes_early),
        TEST(test_half_an_answer),
        TEST(test_backoff_grows),
        TEST(test_end_during_a_push),
        TEST(test_accounts_come_late),
        TEST(test_accounts_cannot_be_had),
        TEST(test_job_gone_from_the_store),
        TEST(test_job_on_its_way_into_the_store),
        TEST(test_bad_options),
        TEST(test_no_gateway_at_all),
        TEST(test_linger_rule),
        TEST(test_dead_name_server),
    };

    if (!gateway_installed()) {
        fprintf(stderr, "prometheus, its Pushgateway or promtool is not installed\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
