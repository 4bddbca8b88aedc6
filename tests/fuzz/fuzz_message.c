/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A datagram from anywhere is refused, or its fields can be read, and put again the same way. */
#include "tests/fuzz/fuzz.h"

#include "common/message.h"

static void check_fields(const struct message *m)
{
    static const char *const keys[] = {"VERSION", "TYPE", "JOBID", "CGROUP", "", "="};
    const char *end = m->data + m->size;

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const char *value = message_get(m, keys[i]);
        uint64_t number = 77;
        int r = message_get_u64(m, keys[i], 1000, 5, &number, NULL);

        CHECK(!value || (value > m->data && value < end && value + strlen(value) < end));
        CHECK(r < 0 ? number == 77 : number <= 1000);
        CHECK(value || r < 0 || number == 5);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct message m;
    struct error error = {.text = ""};
    size_t before;

    if (size > sizeof(m.data))
        return 0;
    memset(m.data, 'x', sizeof(m.data));
    memcpy(m.data, data, size);
    m.size = size;
    if (message_check(&m, &error) < 0) {
        CHECK(*error.text);
        return 0;
    }
    check_fields(&m);
    before = m.size;
    if (message_put(&m, "FUZZ", "value") < 0) {
        CHECK(m.size == before);
        return 0;
    }
    CHECK(message_check(&m, NULL) == 0);
    CHECK(message_get(&m, "FUZZ"));
    return 0;
}
