/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A jobio.conf is refused with the line and the reason, or loaded completely. */
#include "tests/fuzz/fuzz.h"

#include "settings/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file("jobio.conf", data, size);
    struct settings *settings = NULL;
    struct error error = {.text = ""};

    if (settings_load(&settings, path, &error) < 0) {
        CHECK(!settings && !strncmp(error.text, path, strlen(path)));
        return 0;
    }
    CHECK(settings->cluster && settings->record_program);
    CHECK(settings->history.format == SINK_CLICKHOUSE || settings->history.format == SINK_BULK);
    settings_destroy(settings);
    return 0;
}
