/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the plugin writes for jobiod, and jobiod for the plugin: the input is a message `tag`, a
 * step file, an .end file, a job file and the file `probe`.
 */
#include "tests/fuzz/fuzz.h"

#include <errno.h>

#include "collector/track/tag.h"
#include "plugin/runtime_dir.h"

#define STEP_FILE "4711.1.4294967294.0"

static int directory_fd = -1;

/* All files are links to one inode. */
static void make_files(void)
{
    static const char *const links[] = {STEP_FILE ".end", "jobs/4711", "probe"};

    (void)fuzz_file(STEP_FILE, (const uint8_t *)"", 0);
    directory_fd = open(fuzz_directory(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(directory_fd >= 0 && mkdirat(directory_fd, "jobs", 0700) == 0);
    for (size_t i = 0; i < ARRAY_SIZE(links); i++)
        CHECK(linkat(directory_fd, STEP_FILE, directory_fd, links[i], 0) == 0);
}

static void check_tag(const struct tag *tag)
{
    const char *path = tag->cgroup;
    size_t n = strlen(path);

    CHECK(path[0] == '/' && n > 1 && n < PATH_MAX && !strstr(path, "/../"));
    CHECK(strcmp(path + n - (n < 3 ? n : 3), "/..") != 0);
    CHECK(tag->version == 1 || tag->version == 2);
    CHECK(tag->level <= 1024);
}

static void check_message(const uint8_t *data, size_t size)
{
    static struct message m;
    CLEANUP(tag_clear) struct tag tag = {0};
    struct error error = {.text = ""};

    if (size > sizeof(m.data))
        return;
    memcpy(m.data, data, size);
    m.size = size;
    if (message_check(&m, NULL) < 0)
        return;
    if (tag_parse(&m, &tag, &error) < 0)
        CHECK(*error.text && !tag.cgroup);
    else
        check_tag(&tag);
}

static void check_step_file(void)
{
    CLEANUP(tag_clear) struct tag tag = {0};
    struct error error = {.text = ""};
    uint64_t ended_boot = 0;

    if (tag_read_step(directory_fd, STEP_FILE, &tag, &ended_boot, &error) < 0) {
        CHECK(*error.text && !tag.cgroup);
        return;
    }
    check_tag(&tag);
    CHECK(ended_boot); /* the file exists */
}

static void check_plugin(void)
{
    static struct message m;
    const char *directory = fuzz_directory();
    struct error error = {.text = ""};
    struct runtime_job job;
    char pins[PATH_MAX];
    int r = runtime_pin_directory(directory, pins, &error);

    CHECK(r == 0 || *error.text);
    CHECK(r < 0 || pins[0] == '/');
    CHECK(runtime_read_job(directory, 4711, &job, NULL) == 0);
    CHECK(job.known);
    message_init(&m, "end");
    CHECK(runtime_copy_job(directory, 4711, &m, NULL) == 0);
    CHECK(message_check(&m, NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _free_ char *name = fuzz_string(data, size);

    if (directory_fd < 0)
        make_files();
    (void)fuzz_file(STEP_FILE, data, size);
    check_message(data, size);
    check_step_file();
    check_plugin();
    CHECK(!tag_is_file_name(name) || !strchr(name, '/'));
    return 0;
}
