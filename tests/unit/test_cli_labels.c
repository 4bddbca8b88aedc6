/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What can be shared: names become labels, in members and in the texts of a site's rules. */
#include "tests/unit/test.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/labels.h"

static void assert_document(struct labels *labels, const char *document, const char *want)
{
    struct json_object *o = json_tokener_parse(document);

    assert_non_null(o);
    assert_int_equal(labels_document(labels, o), 0);
    assert_string_equal(
        json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
        want);
    json_object_put(o);
}

/* A note of a job whose document was seen before. */
static void assert_note(struct labels *labels, const char *text, const char *want)
{
    struct advice_note note = {.rule = "r", .link = strdup("https://wiki"), .text = strdup(text)};
    struct advice_notes notes = {.items = &note, .n = 1};

    assert_int_equal(labels_notes(labels, &notes), 0);
    assert_string_equal(note.text, want);
    assert_string_equal(note.link, "");
    free(note.text);
    free(note.link);
}

static void test_members(void **state)
{
    struct labels *labels = labels_create(0);

    (void)state;
    assert_document(
        labels,
        "{\"user\":\"al\",\"uid\":7,\"jobid\":123,\"a\":[{\"user\":\"al-b\",\"jobid\":9},"
        "{\"user\":\"al\",\"jobid\":123}]}",
        "{\"user\":\"user1\",\"uid\":1,\"jobid\":1,\"a\":[{\"user\":\"user2\",\"jobid\":2},"
        "{\"user\":\"user1\",\"jobid\":1}]}");
    /* What is no name stays, though a job is called like it; what may be one goes. */
    assert_document(labels,
                    "{\"name\":\"read\",\"state\":\"read\",\"fstype\":\"read\",\"read\":1,"
                    "\"comment\":\"of al\",\"command\":[\"cp\",\"x\"]}",
                    "{\"name\":\"name1\",\"state\":\"read\",\"fstype\":\"read\",\"read\":1}");
    assert_document(labels, "{\"cause\":\"node not heard: node7\",\"mount\":\"/home/al\"}",
                    "{\"cause\":\"node not heard\",\"mount\":\"mount1\"}");
    assert_string_equal(labels_mount(labels, "/home/al"), "mount1");
    assert_string_equal(labels_mount(labels, "/other"), "mount2");
    labels_destroy(labels);
}

static void test_names_in_notes(void **state)
{
    struct labels *labels = labels_create(0);

    (void)state;
    assert_document(labels,
                    "{\"user\":\"alice\",\"account\":\"ali\",\"name\":\"a\\tb\",\"node\":\"n7\"}",
                    "{\"user\":\"user1\",\"account\":\"account1\",\"name\":\"name1\","
                    "\"node\":\"node1\"}");
    /* Words only; as a terminal shows them. */
    assert_note(labels, "alice, alice2, malice, ali: a?b on n7.",
                "user1, alice2, malice, account1: name1 on node1.");
    assert_note(labels, "none at all", "none at all");
    labels_destroy(labels);
}

static void test_paths_in_notes(void **state)
{
    struct labels *labels = labels_create(0);

    (void)state;
    assert_document(labels,
                    "[{\"mount\":\"/\"},{\"mount\":\"/scratch\",\"source\":\"srv:/x y\"},"
                    "{\"mount\":\"/a b\"}]",
                    "[{\"mount\":\"mount1\"},{\"mount\":\"mount2\",\"source\":\"source1\"},"
                    "{\"mount\":\"mount3\"}]");
    assert_note(labels, "small reads on /scratch: 3 MiB/s", "small reads on mount2: 3 MiB/s");
    assert_note(labels, "/scratch/alice/x.h5 and (/) and \"/a b\".",
                "mount2 and (mount1) and \"mount3\".");
    /* The site knows others: the same path is the same label. */
    assert_note(labels, "use /fast/tmp, not /scratch2; /fast/tmp.", "use path1, not path2; path1.");
    assert_note(labels, "from srv:/x y, and/or I/O", "from source1, and/or I/O");
    labels_destroy(labels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_names_in_notes),
        cmocka_unit_test(test_paths_in_notes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
