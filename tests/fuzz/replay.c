/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * replay TARGET FILE...: run a fuzz target once on each file, without libFuzzer. Without arguments:
 * print the names of the targets. FUZZ_TARGETS is their list in the Makefile.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"

#define TARGET(name) int name(const uint8_t *data, size_t size);
FUZZ_TARGETS
#undef TARGET

static const struct target {
    const char *name;
    int (*run)(const uint8_t *data, size_t size);
} targets[] = {
#define TARGET(name) {#name, name},
    FUZZ_TARGETS
#undef TARGET
};

static const struct target *find_target(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(targets); i++)
        if (!strcmp(targets[i].name, name))
            return &targets[i];
    return NULL;
}

/* Memory of exactly the file's size, so that sanitizers detect reads past its end. */
static int replay(const struct target *target, const char *path)
{
    _fclose_ FILE *file = fopen(path, "r");
    _free_ uint8_t *data = NULL;
    struct stat st = {0};
    size_t size = 0;

    if (file && fstat(fileno(file), &st) == 0) {
        size = (size_t)st.st_size;
        data = malloc(size);
    }
    if (!data || fread(data, 1, size, file) != size) {
        perror(path);
        return 1;
    }
    return target->run(data, size) != 0;
}

int main(int argc, char **argv)
{
    const struct target *target = argc > 1 ? find_target(argv[1]) : NULL;
    int failed = argc > 1 && !target;

    for (size_t i = 0; argc == 1 && i < ARRAY_SIZE(targets); i++)
        puts(targets[i].name);
    for (int i = 2; target && i < argc; i++)
        failed |= replay(target, argv[i]);
    return failed;
}
