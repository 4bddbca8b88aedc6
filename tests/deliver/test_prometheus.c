/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * contrib/prometheus: promtool accepts all files, and a real Prometheus with the shipped scrape job
 * and two real gateways has the account under jobiod's names.
 */
#define _GNU_SOURCE /* memmem */
#include "tests/unit/test.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "tests/deliver/gateway.h"
#include "tests/deliver/world.h"

static struct gateway a, b, prometheus;
static char dir[32];

static const char *source_dir(void)
{
    const char *srcdir = getenv("srcdir");

    return srcdir ? srcdir : ".";
}

static int run(const char *format, const char *argument)
{
    char command[512];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(command, sizeof(command), format, argument);
#pragma GCC diagnostic pop
    return system(command);
}

static int setup(void **state)
{
    strcpy(dir, "/tmp/jobio-prometheus-XXXXXX");
    assert_non_null(mkdtemp(dir));
    gateway_reserve(&a);
    gateway_reserve(&b);
    gateway_reserve(&prometheus);
    return world_setup(state);
}

static int teardown(void **state)
{
    gateway_kill(&prometheus);
    gateway_kill(&a);
    gateway_kill(&b);
    assert_int_equal(run("rm -r %s", dir), 0);
    return world_teardown(state);
}

/* The shipped scrape job for our gateways, every second. */
static void write_config(const char *path)
{
    char command[1024];

    snprintf(command, sizeof(command),
             "sed 's/pushgateway1:9091/127.0.0.1:%d/; s/pushgateway2:9091/127.0.0.1:%d/; "
             "s/interval: 60s/interval: 1s/' %s/contrib/prometheus/scrape.yml > %s",
             a.port, b.port, source_dir(), path);
    assert_int_equal(system(command), 0);
}

/* The result of a query as text: one "VALUE LABELS" per line. */
static char *query(const char *expression)
{
    char path[512];
    char *escaped = NULL;
    _free_ char *text = NULL;
    struct json_object *answer, *data, *result;
    size_t size;
    char *ret = NULL;
    FILE *out = open_memstream(&ret, &size), *e = open_memstream(&escaped, &size);

    for (; *expression; expression++)
        fprintf(e, "%%%02X", (unsigned char)*expression);
    fclose(e);
    snprintf(path, sizeof(path), "/api/v1/query?query=%s", escaped);
    free(escaped);
    text = gateway_get(&prometheus, path);
    answer = json_tokener_parse(text);
    assert_true(json_object_object_get_ex(answer, "data", &data));
    assert_true(json_object_object_get_ex(data, "result", &result));
    for (size_t i = 0; i < json_object_array_length(result); i++) {
        struct json_object *sample = json_object_array_get_idx(result, i), *value, *metric;

        assert_true(json_object_object_get_ex(sample, "value", &value));
        assert_true(json_object_object_get_ex(sample, "metric", &metric));
        fprintf(out, "%s %s\n", json_object_get_string(json_object_array_get_idx(value, 1)),
                json_object_to_json_string_ext(metric, JSON_C_TO_STRING_PLAIN));
    }
    fclose(out);
    json_object_put(answer);
    return ret;
}

static bool query_has(const char *expression, const char *part)
{
    _free_ char *result = query(expression);

    return strstr(result, part);
}

static void test_promtool_accepts(void **state)
{
    (void)state;
    assert_int_equal(
        run("promtool check config %s/contrib/prometheus/scrape.yml >/dev/null", source_dir()), 0);
    assert_int_equal(
        run("promtool check rules %s/contrib/prometheus/rules.yml >/dev/null", source_dir()), 0);
    assert_int_equal(
        run("promtool test rules %s/contrib/prometheus/rules_test.yml >/dev/null", source_dir()),
        0);
}

static void test_scraped_from_two_gateways(void **state)
{
    struct world *world = *state;
    struct job_account *job = world_job(world, 5, 2, 5000);
    const char *const wanted = "max without (pushgateway) (jobio_write_bytes_total{jobid=\"5\"})";
    char config[64], label[64];
    _free_ char *result = NULL;

    snprintf(config, sizeof(config), "%s/prometheus.yml", dir);
    write_config(config);
    gateway_start(&a, NULL);
    gateway_start(&b, NULL);
    gateway_start_prometheus(&prometheus, config, dir);
    world_open(world, a.url, b.url, NULL);
    world_end(world, job);
    snprintf(label, sizeof(label), "\"pushgateway\":\"127.0.0.1:%d\"", a.port);
    world_until(world, query_has("jobio_write_bytes_total", label));
    snprintf(label, sizeof(label), "\"pushgateway\":\"127.0.0.1:%d\"", b.port);
    world_until(world, query_has("jobio_write_bytes_total", label));

    result = query(wanted);
    assert_memory_equal(result, "5000 ", 5);
    assert_ptr_equal(strchr(result, '\n'), result + strlen(result) - 1); /* one series */
    assert_non_null(strstr(result, "\"instance\":\"node1\""));
    assert_non_null(strstr(result, "\"job\":\"jobio\""));
    assert_non_null(strstr(result, "\"cluster\":\"c1\""));
    assert_null(strstr(result, "exported_"));

    /* One of them is killed and loses its data: the query still works. */
    gateway_kill(&a);
    world_until(world, query_has("up{job=\"jobio\"}", "0 "));
    assert_true(query_has(wanted, "5000 "));
    /* The job is removed from both; its last value stays in the history. */
    world_pass(world->options.linger_ns + 1 * S);
    world_until(world, !query_has(wanted, "5000 "));
    assert_true(query_has("max without (pushgateway) "
                          "(last_over_time(jobio_write_bytes_total{jobid=\"5\"}[1h]))",
                          "5000 "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_promtool_accepts),
        cmocka_unit_test_setup_teardown(test_scraped_from_two_gateways, setup, teardown),
    };

    if (!gateway_installed()) {
        fprintf(stderr, "prometheus, its Pushgateway or promtool is not installed\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
