/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "collector/deliver/kinds.h"
#include "collector/deliver/pushgateway.h"
#include "collector/http/access.h"
#include "collector/http/gzip.h"
#include "common/cleanup.h"

static void test_group_url(void **state)
{
    static const struct {
        const char *url, *cluster, *instance, *want;
    } table[] = {
        {"http://gw:9091", "c1", "n1.x-y_~",
         "http://gw:9091/metrics/job/jobio/cluster/c1/instance/n1.x-y_~"},
        {"http://gw/pre/fix//", "c", "n",
         "http://gw/pre/fix/metrics/job/jobio/cluster/c/instance/n"},
        /* `printf a/b | base64`, with - and _ for + and /, without padding */
        {"http://gw", "a/b", "n", "http://gw/metrics/job/jobio/cluster@base64/YS9i/instance/n"},
        {"http://gw", "", "n", "http://gw/metrics/job/jobio/cluster@base64/=/instance/n"},
        {"http://gw", "..", "n o",
         "http://gw/metrics/job/jobio/cluster@base64/Li4/instance@base64/biBv"},
        {"http://gw", "\xc3\xbf\xc3\xbe", "%",
         "http://gw/metrics/job/jobio/cluster@base64/w7_Dvg/instance@base64/JQ"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        const struct target_options options = {
            .url = table[i].url, .cluster = table[i].cluster, .instance = table[i].instance};
        _free_ char *got = target_make_url(&pushgateway_kind, &options);

        assert_non_null(got);
        assert_string_equal(got, table[i].want);
    }
}

static void test_import_url(void **state)
{
    static const struct {
        const char *url, *want; /* NULL: a Pushgateway */
    } table[] = {
        {"http://vm:8428/api/v1/import/prometheus",
         "http://vm:8428/api/v1/import/prometheus?extra_label=job=jobio"},
        {"http://vm/insert/0/prometheus/api/v1/import/prometheus/",
         "http://vm/insert/0/prometheus/api/v1/import/prometheus?extra_label=job=jobio"},
        {"http://gw:9091", NULL},
        {"http://gw/api/v1/import/prometheus/metrics", NULL},
        {"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        const struct target_options options = {.url = table[i].url};
        _free_ char *got = target_make_url(&victoria_kind, &options);

        assert_ptr_equal(target_kind_of_url(table[i].url),
                         table[i].want ? &victoria_kind : &pushgateway_kind);
        if (table[i].want)
            assert_string_equal(got, table[i].want);
    }
}

static void test_check_url(void **state)
{
    static const char *const good[] = {"http://h:9091", "https://h", "http://[::1]:9091/prefix",
                                       "http://node-1.example.org:/", "HTTP://h:0/a@b"};
    static const char *const bad[] = {"",
                                      "h:9091",
                                      "ftp://h",
                                      "file:///",
                                      "http://u@h",
                                      "http://u:secret@h",
                                      "http://",
                                      "http://h/?q=1",
                                      "http://h/#f",
                                      "http://h:99999",
                                      "http://h:9x",
                                      "http://h\\@x",
                                      "http://127.0.0.%31",
                                      "http://h x",
                                      "http://h/a b",
                                      "http://h\n",
                                      "http://[::1",
                                      "http://[]",
                                      "http://:80",
                                      "http:/h",
                                      "http//h",
                                      "ftp://u:secret@h"};
    struct error error;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        assert_int_equal(http_check_url(good[i], &error), 0);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        strcpy(error.text, "");
        assert_int_equal(http_check_url(bad[i], &error), -EINVAL);
        assert_true(*error.text);
        assert_null(strstr(error.text, "secret"));
    }
}

/* A password is not sent unencrypted to another host. */
static void test_check_password(void **state)
{
    static const char *const good[] = {"https://h",          "HTTPS://h:1/x",
                                       "http://localhost:1", "http://127.0.0.1",
                                       "http://127.1.2.3:1", "http://[::1]:9091/p"};
    static const char *const bad[] = {"http://h:9091",
                                      "HTTP://h",
                                      "http://127.0.0.1.example.org",
                                      "http://10.0.0.1",
                                      "http://[::2]",
                                      "http://localhost.evil",
                                      "http://127.0.0.1:80@h",
                                      "http://h/http://127.0.0.1",
                                      "http://h?://localhost",
                                      "ftp://h"};
    struct http_access access = {.userpwd_file = "/etc/jobio/password"};
    struct error error;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        assert_int_equal(http_check_password(&access, good[i], &error), 0);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        access = (struct http_access){.userpwd_file = "/etc/jobio/password"};
        assert_int_equal(http_check_password(&access, bad[i], &error), -EINVAL);
        assert_non_null(strstr(error.text, "credentials: the password would be sent to \""));
        assert_non_null(
            strstr(error.text, "\" unencrypted: use https://, or set \"insecure = yes\""));
        access.insecure = true;
        assert_int_equal(http_check_password(&access, bad[i], &error), 0);
        access = (struct http_access){0};
        assert_int_equal(http_check_password(&access, bad[i], &error), 0);
    }
}

static void test_mode_of_password(void **state)
{
    static const struct {
        mode_t mode;
        bool good;
    } cases[] = {{0600, true},  {0400, true},  {0640, true}, {0644, false},
                 {0604, false}, {0602, false}, {0620, false}};
    char path[] = "/tmp/jobio-test-password-XXXXXX";
    int fd = mkstemp(path);
    struct error error;

    (void)state;
    assert_int_equal(write(fd, "user:geheim\n", 12), 12);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _free_ char *given = NULL, *forced = NULL;

        assert_int_equal(fchmod(fd, cases[i].mode), 0);
        if (http_read_userpwd(path, true, &given, &error) != (cases[i].good ? 0 : -EINVAL))
            fail_msg("%o", cases[i].mode);
        if (cases[i].good)
            assert_string_equal(given, "user:geheim");
        else
            assert_non_null(strstr(error.text, "is readable by others: chmod 600 \"/tmp/"));
        assert_int_equal(http_read_userpwd(path, false, &forced, &error), 0);
    }
    assert_int_equal(http_read_userpwd("/dev/null", true, NULL, &error), -EINVAL);
    close(fd);
    unlink(path);
}

static enum answer outcome(const struct http_answer *answer)
{
    char why[ANSWER_WHY_MAX];

    return answer->code ? pushgateway_judge(NULL, answer, 0, NULL, why) : answer_of_silence(answer);
}

static void test_outcome(void **state)
{
    static const struct {
        long code;
        enum answer want;
    } table[] = {
        {200, ANSWER_OK},
        {202, ANSWER_OK},
        {301, ANSWER_MISCONFIGURED},
        {307, ANSWER_MISCONFIGURED},
        {400, ANSWER_REFUSED},
        {401, ANSWER_MISCONFIGURED},
        {403, ANSWER_MISCONFIGURED},
        {404, ANSWER_MISCONFIGURED},
        {408, ANSWER_RETRY},
        {413, ANSWER_REFUSED},
        {422, ANSWER_REFUSED},
        {429, ANSWER_RETRY},
        {500, ANSWER_RETRY},
        {503, ANSWER_RETRY},
        {0, ANSWER_RETRY},
        {100, ANSWER_RETRY},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        assert_int_equal(outcome(&(struct http_answer){.code = table[i].code}), table[i].want);
    assert_int_equal(outcome(&(struct http_answer){.misconfigured = true}), ANSWER_MISCONFIGURED);
    assert_int_equal(outcome(&(struct http_answer){.code = 200, .text = "\n"}), ANSWER_OK);
    assert_int_equal(outcome(&(struct http_answer){.code = 200, .text = "<html>"}),
                     ANSWER_MISCONFIGURED);
    assert_int_equal(outcome(&(struct http_answer){.code = 500, .text = "<html>"}), ANSWER_RETRY);
    assert_int_equal(outcome(&(struct http_answer){.text = "timed out"}), ANSWER_RETRY);
}

static void check_gunzip(const char *text)
{
    z_stream z = {0};
    void *packed = NULL;
    size_t size = 0, length = strlen(text);
    _free_ char *out = calloc(1, length + 1);

    assert_int_equal(gzip_compress(text, length, &packed, &size), 0);
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    z.next_in = packed;
    z.avail_in = (unsigned)size;
    z.next_out = (unsigned char *)out;
    z.avail_out = (unsigned)length + 1;
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(z.total_out, length);
    assert_string_equal(out, text);
    inflateEnd(&z);
    free(packed);
}

static void test_compress(void **state)
{
    _free_ char *noise = malloc(100001);
    unsigned seed = 7;

    (void)state;
    for (int i = 0; i < 100000; i++)
        noise[i] = (char)(1 + rand_r(&seed) % 255);
    noise[100000] = '\0';
    check_gunzip("");
    check_gunzip("a 1\n");
    check_gunzip(noise);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_group_url),        cmocka_unit_test(test_import_url),
        cmocka_unit_test(test_check_url),        cmocka_unit_test(test_check_password),
        cmocka_unit_test(test_mode_of_password), cmocka_unit_test(test_outcome),
        cmocka_unit_test(test_compress),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
