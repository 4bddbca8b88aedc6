/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A real VictoriaMetrics accepts the same pushes as a real Pushgateway and stores them. */
#define _GNU_SOURCE /* strchrnul */
#include "tests/unit/test.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "tests/deliver/gateway.h"
#include "tests/deliver/world.h"

static struct gateway a, victoria;
static char data[32], import[128];

static int setup(void **state)
{
    strcpy(data, "/tmp/jobio-victoria-XXXXXX");
    assert_non_null(mkdtemp(data));
    gateway_reserve(&a);
    gateway_reserve(&victoria);
    snprintf(import, sizeof(import), "%s/api/v1/import/prometheus", victoria.url);
    return world_setup(state);
}

static int teardown(void **state)
{
    char command[64];

    gateway_kill(&a);
    gateway_kill(&victoria);
    snprintf(command, sizeof(command), "rm -r %s", data);
    assert_int_equal(system(command), 0);
    return world_teardown(state);
}

/* All series of this name as JSON lines, with all their values. */
static char *series(const char *name)
{
    char path[128];

    free(gateway_get(&victoria, "/internal/force_flush"));
    snprintf(path, sizeof(path), "/api/v1/export?match%%5B%%5D=%s", name);
    return gateway_get(&victoria, path);
}

static bool has_series(const char *name, const char *part)
{
    _free_ char *text = series(name);

    return strstr(text, part);
}

/* The labels and the last value of the only series of this name for the job. */
static double last_value(const char *name, const char *jobid, struct json_object **labels)
{
    _free_ char *text = series(name);
    double value = -1;

    *labels = NULL;
    for (char *line = text, *end; *line; line = end + (*end == '\n')) {
        struct json_object *one, *metric, *id, *values;

        end = strchrnul(line, '\n');
        one = json_tokener_parse(line);
        assert_true(json_object_object_get_ex(one, "metric", &metric));
        assert_true(json_object_object_get_ex(one, "values", &values));
        if (json_object_object_get_ex(metric, "jobid", &id) &&
            strcmp(json_object_get_string(id), jobid) == 0) {
            assert_null(*labels);
            *labels = json_object_get(metric);
            value = json_object_get_double(
                json_object_array_get_idx(values, json_object_array_length(values) - 1));
        }
        json_object_put(one);
    }
    return value;
}

static void assert_label(struct json_object *labels, const char *name, const char *want)
{
    struct json_object *value;

    assert_true(json_object_object_get_ex(labels, name, &value));
    assert_string_equal(json_object_get_string(value), want);
}

static void check_job(double bytes)
{
    struct json_object *labels;

    assert_true(last_value("jobio_write_bytes_total", "5", &labels) == bytes);
    assert_label(labels, "job", "jobio");
    assert_label(labels, "cluster", "c1");
    assert_label(labels, "instance", "node1");
    assert_label(labels, "mountpoint", "/scratch");
    assert_label(labels, "fstype", "nfs4");
    assert_int_equal(json_object_object_length(labels), 7); /* jobid and __name__ */
    json_object_put(labels);
}

static void test_the_same_at_both(void **state)
{
    struct world *world = *state;
    struct job_account *job = world_job(world, 5, 2, 5000);
    _free_ char *metrics = NULL;

    gateway_start(&a, NULL);
    gateway_start_victoria(&victoria, data);
    world_open(world, a.url, import, NULL);
    world_until(world, has_series("jobio_job_info", "\"state\":\"running\""));
    world_end(world, job);
    world_until(world, world_number(world, 0, "pending") + world_number(world, 1, "pending") == 0);
    world_until(world, has_series("jobio_job_info", "\"state\":\"ended\""));
    assert_string_equal(world_state(world, 1), "ok");
    assert_int_equal(world_number(world, 1, "last_code"), 204);
    check_job(5000);
    metrics = gateway_get(&a, "/metrics");
    assert_true(metrics_value(metrics, "jobio_write_bytes_total", "jobid=\"5\"", NULL) == 5000);
    assert_string_equal(world->said, "");
}

static void test_down_while_a_job_ends(void **state)
{
    struct world *world = *state;
    struct job_account *job = world_job(world, 5, 2, 7000);

    gateway_start_victoria(&victoria, data);
    world_open(world, import, NULL);
    world_until(world, world_number(world, 0, "last_success") > 0);
    gateway_kill(&victoria);
    world_end(world, job);
    world_until(world, world_number(world, 0, "failures") > 1);
    assert_int_equal(world_number(world, 0, "pending"), 1);
    world_pass(3600 * S);
    gateway_start_victoria(&victoria, data);
    world_until(world, world_number(world, 0, "pending") == 0);
    world_until(world, has_series("jobio_job_info", "\"state\":\"ended\""));
    check_job(7000);
    world_pass(world->options.linger_ns);
    world_until(world, world_kept(world) == 0);
}

static void test_retire_has_nothing_to_delete(void **state)
{
    struct world *world = *state;
    char line[256];

    gateway_start_victoria(&victoria, data);
    world_job(world, 5, 2, 7000);
    world_open(world, import, NULL);
    world_until(world, world_number(world, 0, "last_success") > 0);
    world_retire(world);
    assert_int_equal(world->retire_failed, 0);
    snprintf(line, sizeof(line), "%s: nothing to delete: its series end by themselves\n", import);
    assert_string_equal(world->retired, line);
    world_until(world, has_series("jobio_write_bytes_total", "\"jobid\":\"5\""));
    check_job(7000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_same_at_both, setup, teardown),
        cmocka_unit_test_setup_teardown(test_down_while_a_job_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(test_retire_has_nothing_to_delete, setup, teardown),
    };

    if (!gateway_installed() || !gateway_victoria_installed()) {
        fprintf(stderr, "prometheus, its Pushgateway or victoria-metrics is not installed\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
