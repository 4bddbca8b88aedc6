/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/stack.h"
#include "common/stack_text.h"
#include "common/text.h"
#include "common/text_buffer.h"
#include "report/json/json.h"
#include "report/text/stacks.h"
#include "tests/unit/json_max.h"

/* `n` stacks of 1 to n ms, the shortest first, which take over a text each. */
static struct stack *make(size_t n)
{
    struct stack *stacks = calloc(n + 1, sizeof(*stacks));

    assert_non_null(stacks);
    for (size_t i = 0; i < n; i++) {
        stacks[i].text = text_format("app;main;f%zu", i);
        assert_non_null(stacks[i].text);
        stacks[i].weight = (struct stack_weight){1, (i + 1) * 1000000};
    }
    return stacks;
}

static struct stack_weight sum_of(const struct stack_profile *profile)
{
    struct stack_weight sum = profile->other;

    for (size_t i = 0; i < profile->n; i++) {
        sum.calls += profile->stacks[i].weight.calls;
        sum.time_ns += profile->stacks[i].weight.time_ns;
    }
    return sum;
}

static void test_other(void **state)
{
    struct stack_profile profile = {0};

    (void)state;
    stack_profile_fill(&profile, make(150), 150);
    assert_int_equal(profile.n, 100);
    assert_string_equal(profile.stacks[0].text, "app;main;f149");
    assert_string_equal(profile.stacks[99].text, "app;main;f50");
    assert_int_equal(profile.other.calls, 50);
    assert_int_equal(profile.other.time_ns, 1275 * 1000000ull); /* 1 + ... + 50 */
    assert_int_equal(sum_of(&profile).calls, 150);
    assert_int_equal(sum_of(&profile).time_ns, 11325 * 1000000ull);
    stack_profile_clear(&profile);
    stack_profile_fill(&profile, make(100), 100);
    assert_int_equal(profile.n, 100);
    assert_int_equal(profile.other.calls, 0);
    stack_profile_clear(&profile);
    stack_profile_fill(&profile, make(0), 0);
    assert_int_equal(profile.n, 0);
    stack_profile_clear(&profile);
}

/* The same functions at other addresses are one stack. */
static void test_equal(void **state)
{
    struct stack_profile profile = {0};
    struct stack *stacks = make(3);

    (void)state;
    free(stacks[2].text);
    stacks[2].text = strdup("app;main;f0");
    stack_profile_fill(&profile, stacks, 3);
    assert_int_equal(profile.n, 2);
    assert_string_equal(profile.stacks[0].text, "app;main;f0");
    assert_int_equal(profile.stacks[0].weight.calls, 2);
    assert_int_equal(profile.stacks[0].weight.time_ns, 4000000);
    stack_profile_clear(&profile);
}

static void test_folded(void **state)
{
    struct stack *stacks = make(1);
    struct stack_profile profile = {
        .other = {1, 5},
        .failed = {1, 3},
        .counts = {.all = {10, 2000025}, .unsampled = {2, 7}, .lost = {3, 9}},
    };
    _free_ char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    assert_non_null(out);
    free(stacks[0].text);
    stacks[0].text = strdup("app;main\tapp;[app+0x5]\tabcdef;f0\tlibc.so.6");
    stack_profile_fill(&profile, stacks, 1);
    assert_int_equal(report_stacks_folded(&profile, out), 0);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, "app;main;[app+0x5];f0 1000000\n"
                              "[other stacks] 5\n"
                              "[not sampled] 7\n"
                              "[lost] 9\n"
                              "[not unwound] 3\n");
    stack_profile_clear(&profile);
}

static void test_folded_error(void **state)
{
    struct stack_profile profile = {.other = {1, 5}};
    FILE *out = fopen("/dev/full", "we");

    (void)state;
    assert_non_null(out);
    assert_int_equal(report_stacks_folded(&profile, out), -ENOSPC);
    (void)fclose(out);
}

/* Ten stacks, the others in one line; of each the innermost functions. */
static const char ten_stacks[] =
    "\nwaiting code: 80 calls of at least 1.0 ms took 100 ms\n"
    "     time   share    calls  thread, and its functions from the innermost one on\n"
    "    13 ms    14 %        1  app\n"
    "                              i (libc.so.6)\n"
    "                              h (libc.so.6)\n"
    "                              g (libc.so.6)\n"
    "                              f (app)\n"
    "                              [app+0x4f0] (abcdef)\n"
    "                              d (app)\n"
    "                              c (app)\n"
    "                              b (app)\n"
    "                              ...\n"
    "    12 ms    13 %        1  app\n"
    "    11 ms    12 %        1  app\n"
    "                              f10\n"
    "                              main\n"
    "    10 ms    11 %        1  app\n"
    "                              f9\n"
    "                              main\n"
    "   9.0 ms   9.9 %        1  app\n"
    "                              f8\n"
    "                              main\n"
    "   8.0 ms   8.8 %        1  app\n"
    "                              f7\n"
    "                              main\n"
    "   7.0 ms   7.7 %        1  app\n"
    "                              f6\n"
    "                              main\n"
    "   6.0 ms   6.6 %        1  app\n"
    "                              f5\n"
    "                              main\n"
    "   5.0 ms   5.5 %        1  app\n"
    "                              f4\n"
    "                              main\n"
    "   4.0 ms   4.4 %        1  app\n"
    "                              f3\n"
    "                              main\n"
    "   6.0 ms   6.6 %        3  [other stacks]\n"
    "(no stack, because of the limit per second: 20 calls, 8.0 ms)\n"
    "(no stack, because they came too fast: 5 calls, 1.0 ms)\n"
    "(truncated, without the outer functions: 1 call, 2.0 ms)\n"
    "(the process ended before its stack was read: 2 calls, 3.0 ms)\n";

static void test_text(void **state)
{
    struct stack_profile profile = {
        .least_ns = 1000000,
        .truncated = {1, 2000000},
        .unread = {2, 3000000},
        .counts = {.all = {80, 100000000}, .unsampled = {20, 8000000}, .lost = {5, 1000000}}};
    struct stack *stacks = make(13);
    _free_ char *text = NULL;

    (void)state;
    free(stacks[12].text);
    stacks[12].text =
        strdup("app;a\tlibx.so;b\tapp;c\tapp;d\tapp;[app+0x4f0]\tabcdef;f\tapp;g\tlibc.so.6;"
               "h\tlibc.so.6;i\tlibc.so.6");
    free(stacks[11].text);
    stacks[11].text = strdup("app");
    stack_profile_fill(&profile, stacks, 13);
    text = report_stacks_text(&profile);
    assert_string_equal(text, ten_stacks);
    stack_profile_clear(&profile);
}

static void test_empty(void **state)
{
    struct stack_profile profile = {.least_ns = 1000000};
    _free_ char *text = report_stacks_text(&profile);

    (void)state;
    assert_string_equal(text, "\nwaiting code: 0 calls of at least 1.0 ms took 0 ns\n");
}

/* Functions of Python are shown behind eight others, but not without end. */
static void test_text_of_python(void **state)
{
    struct stack_profile profile = {.counts = {.all = {1, 1000000}}};
    struct stack *stacks = make(1);
    struct text_buffer buffer;
    _free_ char *text = NULL;

    (void)state;
    free(stacks[0].text);
    assert_non_null(text_buffer_open(&buffer));
    (void)fputs("python3;_start", buffer.out);
    for (int i = 11; i > 0; i--)
        (void)fprintf(buffer.out, ";f%d\tmain.py;evaluate;call\tcopy", i);
    (void)fputs(";a;.py;b\t.py;c\tx.pyc;read\tlibc", buffer.out);
    stacks[0].text = text_buffer_take(&buffer);
    stack_profile_fill(&profile, stacks, 1);
    text = report_stacks_text(&profile);
    assert_string_equal(strstr(text, "python3"), "python3\n"
                                                 "                              read (libc)\n"
                                                 "                              c (x.pyc)\n"
                                                 "                              b (.py)\n"
                                                 "                              .py\n"
                                                 "                              a\n"
                                                 "                              call (copy)\n"
                                                 "                              evaluate\n"
                                                 "                              f1 (main.py)\n"
                                                 "                              ...\n"
                                                 "                              f2 (main.py)\n"
                                                 "                              f3 (main.py)\n"
                                                 "                              f4 (main.py)\n"
                                                 "                              f5 (main.py)\n"
                                                 "                              f6 (main.py)\n"
                                                 "                              f7 (main.py)\n"
                                                 "                              f8 (main.py)\n"
                                                 "                              f9 (main.py)\n"
                                                 "                              ...\n");
    stack_profile_clear(&profile);
}

/* --- sums and texts --------------------------------------------------------------------------- */

static void assert_same(const struct stack_profile *a, const struct stack_profile *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        assert_string_equal(a->stacks[i].text, b->stacks[i].text);
        assert_memory_equal(&a->stacks[i].weight, &b->stacks[i].weight,
                            sizeof(a->stacks[i].weight));
    }
    assert_memory_equal(&a->other, &b->other, sizeof(a->other));
    assert_memory_equal(&a->truncated, &b->truncated, sizeof(a->truncated));
    assert_memory_equal(&a->unread, &b->unread, sizeof(a->unread));
}

static void test_sum(void **state)
{
    struct stack_profile a = {.failed = {1, 2}, .least_ns = 9, .counts = {.all = {5, 6}}};
    struct stack_profile b = {.other = {3, 4}, .unread = {1, 1}, .least_ns = 7};
    struct stack_profile *sum = NULL;

    (void)state;
    stack_profile_fill(&a, make(100), 100);
    stack_profile_fill(&b, make(120), 120);
    assert_int_equal(stack_profile_add(&sum, NULL), 0);
    assert_null(sum);
    assert_int_equal(stack_profile_add(&sum, &a), 0);
    assert_same(sum, &a);
    assert_int_equal(stack_profile_add(&sum, &b), 0);
    assert_int_equal(sum->n, 100);
    assert_string_equal(sum->stacks[0].text, "app;main;f99");
    assert_int_equal(sum->stacks[0].weight.calls, 2);
    assert_int_equal(sum->stacks[0].weight.time_ns, 200000000);
    assert_int_equal(stack_profile_sum(sum).calls, 100 + 120 + 3);
    assert_int_equal(stack_profile_sum(sum).time_ns, (5050 + 7260) * 1000000ull + 4);
    assert_int_equal(sum->failed.time_ns, 2);
    assert_int_equal(sum->unread.calls, 1);
    assert_int_equal(sum->counts.all.time_ns, 6);
    assert_int_equal(sum->least_ns, 7);
    stack_profile_destroy(sum);
    stack_profile_clear(&a);
    stack_profile_clear(&b);
}

/* Long texts: as many as there is room for. */
static void test_limit(void **state)
{
    struct stack_profile profile = {0};
    struct stack *stacks = make(5);

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        free(stacks[i].text);
        stacks[i].text = calloc(1, STACK_PROFILE_BYTES / 3 + 1);
        assert_non_null(stacks[i].text);
        memset(stacks[i].text, 'a' + (int)i, STACK_PROFILE_BYTES / 3);
    }
    stack_profile_fill(&profile, stacks, 5);
    assert_int_equal(profile.n, 3);
    assert_int_equal(*profile.stacks[2].text, 'c');
    assert_int_equal(profile.other.calls, 2);
    assert_int_equal(profile.other.time_ns, 3 * 1000000);
    stack_profile_clear(&profile);
}

static char *write_profile(const struct stack_profile *profile)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    stack_text_write(profile, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void test_round_trip(void **state)
{
    struct stack_profile profile = {
        .other = {3, 4}, .truncated = {UINT64_MAX, 1}, .unread = {2, UINT64_MAX}};
    struct stack_profile read = {0};
    _free_ char *text = NULL;
    struct error error;

    (void)state;
    stack_profile_fill(&profile, make(100), 100);
    free(profile.stacks[7].text);
    profile.stacks[7].text = strdup("a b;main\tlib c;[x+0x1]");
    text = write_profile(&profile);
    if (stack_text_parse(text, &read, &error) < 0)
        fail_msg("%s", error.text);
    assert_same(&read, &profile);
    stack_profile_clear(&read);
    stack_profile_clear(&profile);
}

/* Each byte of the text is needed, and nothing else is accepted. */
static void test_bad_texts(void **state)
{
    static const char *const bad[] = {"",
                                      "end",
                                      "end\nend\n",
                                      "\nend\n",
                                      "stack 1 2\nend\n",
                                      "stack 1 2 \nend\n",
                                      "stack 1 2 a\x01\nend\n",
                                      "stack 1 2 a\tb\tc\nend\n",
                                      "stack 1 2 \ta\nend\n",
                                      "stack -1 2 a\nend\n",
                                      "stack 1 x a\nend\n",
                                      "other 1 2 a\nend\n",
                                      "other 1\nend\n",
                                      "more 1 2\nend\n",
                                      "other 1 99999999999999999999\nend\n",
                                      "error text\nend\n"};
    struct stack_profile read = {0}, full = {0};
    struct error error;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        _free_ char *text = strdup(bad[i]);

        if (stack_text_parse(text, &read, &error) != -EBADMSG)
            fail_msg("accepted: %s", bad[i]);
    }
    stack_profile_fill(&full, make(3), 3);
    for (size_t n = 0;; n++) {
        _free_ char *text = write_profile(&full);

        if (n == strlen(text))
            break;
        text[n] = '\0';
        assert_int_equal(stack_text_parse(text, &read, &error), -EBADMSG);
    }
    stack_profile_clear(&full);
}

static void test_too_many(void **state)
{
    _free_ char *text = calloc(1, 101 * strlen("stack 1 1 a\n") + 8);
    struct stack_profile read = {0};
    struct error error;

    (void)state;
    assert_non_null(text);
    for (int i = 0; i < 101; i++)
        strcat(text, "stack 1 1 a\n");
    strcat(text, "end\n");
    assert_int_equal(stack_text_parse(text, &read, &error), -EBADMSG);
}

/* --- a job ------------------------------------------------------------------------------------ */

static struct job_account *make_job(void)
{
    struct job_account *job = job_account_create();
    struct stack_profile profile = {.least_ns = 1000, .failed = {1, 2}};

    assert_non_null(job);
    profile.truncated = (struct stack_weight){3, 4};
    profile.unread = (struct stack_weight){5, 6};
    profile.counts = (struct stack_counts){{20, 30}, {7, 8}, {9, JSON_MAX}};
    profile.other = (struct stack_weight){2, 1};
    stack_profile_fill(&profile, make(4), 4);
    free(profile.stacks[0].text);
    profile.stacks[0].text = strdup("a "
                                    "thread;main\tapp;[libc.so.6+0x5];[app+0x6]\t0123456789abcdef;["
                                    "unknown];\"read\"\tlibc.so.6");
    assert_int_equal(stack_profile_add(&job->stacks, &profile), 0);
    stack_profile_clear(&profile);
    return job;
}

static void test_json(void **state)
{
    struct job_account *job = make_job(), *read = NULL;
    struct json_object *document = report_json(job, REPORT_STACKS), *member;
    struct error error;

    (void)state;
    if (report_json_parse(document, &read, &error) < 0)
        fail_msg("%s", error.text);
    assert_same(read->stacks, job->stacks);
    assert_memory_equal(&read->stacks->counts, &job->stacks->counts, sizeof(job->stacks->counts));
    assert_memory_equal(&read->stacks->failed, &job->stacks->failed, sizeof(job->stacks->failed));
    assert_int_equal(read->stacks->least_ns, 1000);
    assert_non_null(strstr(json_object_to_json_string_ext(document, JSON_C_TO_STRING_PLAIN),
                           "{\"function\":\"[libc.so.6+0x5]\"},"
                           "{\"function\":\"[app+0x6]\",\"build_id\":\"0123456789abcdef\"},"
                           "{\"function\":\"[unknown]\"},"
                           "{\"function\":\"\\\"read\\\"\",\"file\":\"libc.so.6\"}"));
    json_object_put(document);
    document = report_json(job, 0);
    assert_false(json_object_object_get_ex(document, "waiting_code", &member));
    json_object_put(document);
    job_account_destroy(read);
    job_account_destroy(job);
}

static void test_bad_json(void **state)
{
    static const char *const bad[] = {"1",
                                      "{\"stacks\":{}}",
                                      "{\"stacks\":[1]}",
                                      "{\"other\":1}",
                                      "{\"other\":{\"calls\":-1}}",
                                      "{\"stacks\":[{\"thread\":1}]}",
                                      "{\"stacks\":[{\"thread\":\"a\\nb\"}]}",
                                      "{\"stacks\":[{}]}",
                                      "{\"stacks\":[{\"thread\":\"a\",\"functions\":[1]}]}",
                                      "{\"stacks\":[{\"thread\":\"a\",\"functions\":[{\"function\":"
                                      "\"a\\tb\",\"file\":\"c\"}]}]}"};
    struct job_account *read = NULL;
    struct error error;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct job_account *job = job_account_create();
        struct json_object *document = report_json(job, 0);

        json_object_object_add(document, "waiting_code", json_tokener_parse(bad[i]));
        if (report_json_parse(document, &read, &error) != -EBADMSG)
            fail_msg("accepted: %s", bad[i]);
        json_object_put(document);
        job_account_destroy(job);
    }
}

static void test_job_without(void **state)
{
    struct job_account *job = job_account_create();
    _free_ char *text = report_stacks_of_job(job);

    (void)state;
    assert_int_equal(strncmp(text, "\nwaiting code: not recorded", 27), 0);
    job_account_destroy(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sum),        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_bad_texts),
        cmocka_unit_test(test_too_many),   cmocka_unit_test(test_json),
        cmocka_unit_test(test_bad_json),   cmocka_unit_test(test_job_without),
        cmocka_unit_test(test_other),      cmocka_unit_test(test_equal),
        cmocka_unit_test(test_folded),     cmocka_unit_test(test_folded_error),
        cmocka_unit_test(test_text),       cmocka_unit_test(test_text_of_python),
        cmocka_unit_test(test_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
