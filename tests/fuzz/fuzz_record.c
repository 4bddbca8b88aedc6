/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whatever is in a comment stays, and a second record takes the place of the first. */
#include "tests/fuzz/fuzz.h"

#include "report/record/record.h"

#define FIRST "IO1:{\"v\":1,\"m\":[[\"/a}{\\\"\",2]]}"
#define SECOND "IO1:{\"v\":1,\"m\":[[\"/b\",30000]]}"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _free_ char *comment = fuzz_string(data, size);
    _free_ char *first = NULL, *second = NULL, *again = NULL;
    _free_ char *text = record_text(comment);
    struct record_head head;
    const char *at;
    size_t before, behind;

    if (strstr(comment, FIRST) || strstr(comment, SECOND))
        return 0; /* could not tell it from ours */
    CHECK(record_head(comment, &head) == (text != NULL));
    first = record_merge(comment, FIRST);
    CHECK(first);
    at = strstr(first, FIRST);
    CHECK(at);
    before = (size_t)(at - first);
    behind = strlen(at + strlen(FIRST));
    CHECK(before + behind <= strlen(comment) + 1);
    CHECK(before > strlen(comment) || !strncmp(first, comment, before));
    CHECK(!strcmp(at + strlen(FIRST), comment + strlen(comment) - behind));
    second = record_merge(first, SECOND);
    again = record_merge(second, FIRST);
    CHECK(second && again);
    CHECK(strstr(second, SECOND) && !strcmp(again, first));
    return 0;
}
