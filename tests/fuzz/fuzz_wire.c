/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The payload of a credential from another node: refused with a reason, or a document with the
 * expected head, whose account can be read.
 */
#include "tests/fuzz/fuzz.h"

#include <json-c/json.h>

#include "collector/peers/wire.h"
#include "common/job.h"
#include "report/json/json.h"

static void read_account(struct json_object *document)
{
    struct json_object *account;
    struct job_account *job = NULL;
    struct error error = {.text = ""};

    if (!json_object_object_get_ex(document, "account", &account) || !account)
        return;
    if (report_json_parse(account, &job, &error) < 0)
        CHECK(*error.text && !job);
    job_account_destroy(job);
}

static void check_document(struct json_object *document)
{
    static const char *const keys[] = {"from", "jobid", "restart", "step", "account", ""};
    struct mpi_parts parts = {0};
    struct json_object *again = NULL;
    _free_ char *text = NULL;
    size_t size = 0;

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        unsigned long long number = 77;

        CHECK(wire_string(document, keys[i]));
        CHECK(wire_number(document, keys[i], 1000, &number, NULL) < 0 ? number == 77
                                                                      : number <= 1000);
    }
    read_account(document);
    if (wire_read_mpi_parts(document, &parts, NULL) == 0)
        CHECK(mpi_parts_missing(&parts) <= UINT64_C(4096) * UINT32_MAX + 1);
    mpi_parts_clear(&parts);
    text = wire_text(document, &size);
    CHECK(text && strlen(text) == size);
    CHECK(wire_parse(text, size, &(struct wire_head){0}, &again, NULL) == 0);
    json_object_put(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct wire_head any = {0}, mine = {"alpha", "n1", "n2", "0123456789abcdef"};
    _free_ char *payload = fuzz_string(data, size);
    struct json_object *document = NULL;
    struct error error = {.text = ""};

    if (wire_parse(payload, size, &mine, &document, &error) == 0) {
        CHECK(!strcmp(wire_string(document, "cluster"), mine.cluster));
        CHECK(!strcmp(wire_string(document, "from"), mine.from));
        CHECK(!strcmp(wire_string(document, "to"), mine.to));
        CHECK(!strcmp(wire_string(document, "id"), mine.id));
        json_object_put(document);
        document = NULL;
    } else {
        CHECK(*error.text && !document);
    }
    if (wire_parse(payload, size, &any, &document, NULL) == 0)
        check_document(document);
    return 0;
}
