/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hostlist of Slurm, expanded by its library: a list that fits, without empty names. */
#include "tests/fuzz/fuzz.h"

#include <errno.h>

#include "plugin/nodes.h"

/* It leaks on bad lists. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libslurm";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char list[NODES_MAX];
    static struct message m;
    _free_ char *from = fuzz_string(data, size);
    int r = nodes_expand(from, list);

    CHECK(r == 0 || r == -ENOENT || r == -EMSGSIZE);
    if (r == 0)
        CHECK(*list && strlen(list) < sizeof(list));
    message_init(&m, "job");
    CHECK((nodes_put(&m, "n1", from) == -ENOENT) == (r == -ENOENT) || strlen(from) > 255);
    CHECK(message_check(&m, NULL) == 0);
    CHECK(message_get(&m, "NODE"));
    return 0;
}
