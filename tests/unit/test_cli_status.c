/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Proves: each cause has its verdict, and a healthy node has none. */
#include "tests/unit/test.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/status_verdict.h"

/* `more`: members of the document of a node that counts. */
static void expect(const char *more, enum verdict verdict, const char *want)
{
    char json[2048];
    struct json_object *document;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    (void)snprintf(json, sizeof(json), "{\"operations\":{\"mmap\":\"none\",\"read\":\"fentry\"}%s}",
                   more);
    document = json_tokener_parse(json);
    assert_non_null(document);
    assert_int_equal(status_verdict_print(document, out), verdict);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, want);
    free(text);
    json_object_put(document);
}

#define COUNTING "counting by fentry, 0 lost"

static void test_ok(void **state)
{
    (void)state;
    expect("", VERDICT_OK, "OK: " COUNTING "\n");
    expect(",\"hooks\":[{\"function\":\"f\",\"backend\":\"none\",\"absent\":true}],"
           "\"unsupported\":[\"mmap\"],\"queues\":{\"store_failures\":3},"
           "\"delivery\":{\"targets\":[{\"url\":\"a\",\"state\":\"ok\"},"
           "{\"url\":\"b\",\"state\":\"new\"}]},\"history\":{\"state\":\"ok\",\"refused\":0}",
           VERDICT_OK, "OK: " COUNTING "\n");
}

static void test_not_counting(void **state)
{
    (void)state;
    expect(",\"not_counted\":\"lock\\u001bdown\",\"degraded\":{\"push\":\"why\"}",
           VERDICT_NOT_COUNTING, "NOT COUNTING: lock?down, [push] not working\n  push: why\n");
    expect(",\"operations\":{\"read\":\"none\"}", VERDICT_NOT_COUNTING,
           "NOT COUNTING: no operation has a hook\n");
}

static void test_counting(void **state)
{
    (void)state;
    expect(",\"lost\":2", VERDICT_DEGRADED, "DEGRADED: counting by fentry, 2 lost\n");
    expect(",\"hooks\":[{\"function\":\"vfs_read\",\"backend\":\"none\",\"absent\":false,"
           "\"why\":\"EPERM\"}]",
           VERDICT_DEGRADED, "DEGRADED: " COUNTING ", 1 hook missing\n  vfs_read: EPERM\n");
    expect(",\"hooks\":[{\"function\":\"f\",\"backend\":\"fentry\",\"missed\":4}]", VERDICT_OK,
           "OK: " COUNTING ", 4 missed\n");
    expect(",\"self_test\":{\"failed\":[\"read\",\"write\"]}", VERDICT_DEGRADED,
           "DEGRADED: " COUNTING ", 2 operations failed the self-test\n");
}

#define MISSING(name) "{\"function\":\"" name "\",\"backend\":\"none\",\"absent\":false}"

static void test_many_hooks(void **state)
{
    (void)state;
    expect(",\"hooks\":[" MISSING("a") "," MISSING("b") "," MISSING("c") "," MISSING("d") "]",
           VERDICT_DEGRADED,
           "DEGRADED: " COUNTING ", 4 hooks missing\n  a: not attached\n  b: not attached\n"
           "  c: not attached\n  1 more: jobio status --full\n");
}

/* Nothing is wrong with a node whose kernel has no more to offer. */
static void test_tracepoints_only(void **state)
{
    (void)state;
    expect(",\"operations\":{\"read\":\"tp_btf\"},\"hooks\":[" MISSING("a") "," MISSING("b") "]",
           VERDICT_OK, "OK: counting by tp_btf, 0 lost, 2 hooks not possible on this kernel\n");
}

static void test_parts(void **state)
{
    (void)state;
    expect(",\"degraded\":{\"peers\":\"port is taken\"}", VERDICT_DEGRADED,
           "DEGRADED: " COUNTING ", [peers] not working\n  peers: port is taken\n");
    expect(",\"counters_failure\":\"ENOMEM\"", VERDICT_DEGRADED,
           "DEGRADED: " COUNTING ", no room for more counters\n  counters: ENOMEM\n");
    expect(",\"block\":{\"ready\":true}", VERDICT_OK, "OK: " COUNTING "\n");
    expect(",\"block\":{\"ready\":false,\"not_counted\":\"EPERM\"}", VERDICT_DEGRADED,
           "DEGRADED: " COUNTING ", block requests not counted\n  block: EPERM\n");
    expect(",\"metrics\":{\"textfile_error\":\"EACCES\"}", VERDICT_DEGRADED,
           "DEGRADED: " COUNTING ", textfile failing\n  textfile: EACCES\n");
}

static void test_plugin(void **state)
{
    (void)state;
    expect(",\"steps\":{\"untagged\":0}", VERDICT_OK, "OK: " COUNTING "\n");
    expect(",\"steps\":{\"untagged\":1,\"untagged_example\":\"job_7/step_0\"}", VERDICT_DEGRADED,
           "DEGRADED: " COUNTING ", 1 running step is not counted\n"
           "  job_7/step_0: not tagged, or refused (see the log of jobiod): is jobio.so in the "
           "plugstack.conf of this node?\n");
    expect(",\"steps\":{\"untagged\":2,\"untagged_example\":\"job_7/step_0\"}", VERDICT_DEGRADED,
           "DEGRADED: " COUNTING ", 2 running steps are not counted\n"
           "  job_7/step_0: not tagged, or refused (see the log of jobiod): is jobio.so in the "
           "plugstack.conf of this node?\n");
}

static void test_store(void **state)
{
    (void)state;
    expect(",\"store\":{\"error\":\"disk I/O error\"}", VERDICT_DEGRADED,
           "DEGRADED: " COUNTING ", store not readable\n  store: disk I/O error\n");
    expect(",\"queues\":{\"store_failures\":2,\"save_failures\":1},\"steps\":{\"unsaved\":1}",
           VERDICT_DEGRADED, "DEGRADED: " COUNTING ", store cannot be written (3 failed writes)\n");
    expect(",\"retention_error\":\"full\"", VERDICT_DEGRADED,
           "DEGRADED: " COUNTING ", retention failing\n  retention: full\n");
    expect(",\"store\":{\"deleted_early\":5}", VERDICT_DEGRADED,
           "DEGRADED: " COUNTING ", 5 jobs deleted early\n");
}

static void test_delivery(void **state)
{
    (void)state;
    (void)setenv("TZ", "UTC", 1);
    expect(",\"delivery\":{\"given_up\":1,\"targets\":[{\"url\":\"a\",\"state\":\"ok\"},"
           "{\"url\":\"b\",\"state\":\"backoff\",\"last_error\":\"HTTP 302\","
           "\"last_success\":38520}]}",
           VERDICT_DEGRADED,
           "DEGRADED: " COUNTING ", 1 of 2 gateways failing (last success: 1970-01-01 10:42), "
           "1 job not delivered\n  b: HTTP 302\n");
    expect(",\"history\":{\"state\":\"misconfigured\",\"refused\":2,\"given_up\":3}",
           VERDICT_DEGRADED,
           "DEGRADED: " COUNTING ", history failing (last success: never), 2 steps refused by the "
           "history, 3 steps missing in the history\n  history: misconfigured\n");
    expect(
        ",\"trace\":{\"delivery\":{\"url\":\"c\",\"state\":\"ok\",\"refusals\":0,\"rejected\":0}}",
        VERDICT_OK, "OK: " COUNTING "\n");
    expect(",\"trace\":{\"delivery\":{\"url\":\"c\",\"state\":\"backoff\","
           "\"last_error\":\"HTTP 404\",\"refusals\":2,\"rejected\":1,\"given_up\":3}}",
           VERDICT_DEGRADED,
           "DEGRADED: " COUNTING ", collector of traces failing (last success: never), 2 requests "
           "refused by the collector of traces, 1 span rejected by the collector of traces, 3 "
           "traces deleted before their delivery\n  c: HTTP 404\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ok),         cmocka_unit_test(test_not_counting),
        cmocka_unit_test(test_counting),   cmocka_unit_test(test_parts),
        cmocka_unit_test(test_many_hooks), cmocka_unit_test(test_tracepoints_only),
        cmocka_unit_test(test_plugin),     cmocka_unit_test(test_store),
        cmocka_unit_test(test_delivery),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
