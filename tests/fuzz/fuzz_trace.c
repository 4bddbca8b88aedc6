/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of a trace, which a crash may have torn: what can be read can be written as a document.
 */
#include "tests/fuzz/fuzz.h"

#include <errno.h>

#include "collector/trace/file.h"
#include "report/trace/trace.h"

static void check_documents(const struct step_trace *step)
{
    struct report_trace part;
    struct trace_document document = {.parts = &part, .n = 1};
    FILE *out = fopen("/dev/null", "we");

    CHECK(out);
    report_trace_of_step(step, &part);
    CHECK(report_trace_otlp(&document, out) == 0);
    CHECK(report_trace_chrome(&document, out) == 0);
    CHECK(fclose(out) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct step_trace step = {0};
    struct trace_file_step start;
    int r = trace_file_read(data, size, &step);

    CHECK(r == 0 || r == -EBADMSG);
    if (r < 0) {
        CHECK(!step.trace.spans && !step.cluster);
        return 0;
    }
    CHECK(trace_file_read_step(data, size, &start) == 0 && start.jobid == step.jobid);
    check_documents(&step);
    step_trace_clear(&step);
    return 0;
}
