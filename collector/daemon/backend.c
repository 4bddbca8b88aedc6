/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel side of jobiod, as a site sees it. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "bpf/records.h"
#include "collector/daemon/daemon_impl.h"
#include "collector/probe/probe.h"
#include "collector/track/services.h"

/* With this the plugin can tag a step while no jobiod runs. */
static int write_probe_file(const struct daemon *d, struct error *error)
{
    char path[512], making[520];
    FILE *file;
    int r;

    (void)snprintf(path, sizeof(path), "%s/probe", d->runtime_dir);
    (void)snprintf(making, sizeof(making), "%s.new", path);
    file = fopen(making, "we");
    if (!file)
        return error_errno(error, -errno, "cannot write %s", making);
    r = fprintf(file, "PIN=%s\nLAYOUT=%d\n", d->pin_dir, JOBIO_LAYOUT) < 0;
    r |= fclose(file) != 0;
    if (r || rename(making, path) < 0)
        return error_errno(error, -errno, "cannot write %s", path);
    return 0;
}

/* Nobody would ever drop what plugins put into the maps. */
static int remove_probe_file(const struct daemon *d, struct error *error)
{
    char path[512];

    (void)snprintf(path, sizeof(path), "%s/probe", d->runtime_dir);
    return unlink(path) == 0 || errno == ENOENT
               ? 0
               : error_errno(error, -errno, "cannot remove %s", path);
}

static void say_hooks(const struct probe_hook *hooks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (hooks[i].backend != PROBE_NONE && *hooks[i].why)
            log_info("%s are counted %s", hooks[i].function, hooks[i].why);
        else if (hooks[i].backend == PROBE_NONE && !(hooks[i].absent && *hooks[i].feature))
            log_warning("%s: not counted: %s", hooks[i].function, hooks[i].why);
    }
}

static void clear_other_layouts(const struct daemon *d)
{
    struct error error;
    int n = probe_unpin_others(d->pin_dir, &error);

    if (n < 0)
        log_warning("the maps of another jobio are left: %s", error.text);
    else if (n)
        log_warning("the maps of another jobio (%s) are not understood, and are removed: the "
                    "reports of steps that it counted say that they began untracked",
                    d->pin_dir);
}

/* Nothing that the kernel lacks keeps jobiod from running: then jobs are followed without being
 * counted. */
int counting_create(struct daemon *d, struct error *error)
{
    const struct probe_options options = {
        .pin_dir = d->pin_dir,
        .max_steps = d->settings->services ? JOBIO_DEFAULT_STEPS + SERVICES_MAX : 0,
        .backend = d->settings->backend};
    const struct probe_hook *hooks = NULL;
    size_t n = 0;
    struct error why;
    const char *blind;
    int r = probe_create(&d->probe, &options, &why);

    /* It may be another time: systemd tries again. */
    if (r == -ENOMEM || r == -EAGAIN || r == -EINTR)
        return error_set(error, r, "the kernel side: %s", why.text);
    if (r < 0)
        r = probe_create_blind(&d->probe, why.text, error);
    if (r < 0)
        return r;
    blind = probe_blind(d->probe);
    if (blind) {
        log_error("nothing is counted: %s; jobs run on, and their reports say so until this is "
                  "mended and jobiod restarted",
                  blind);
        return remove_probe_file(d, error);
    }
    (void)probe_hooks(d->probe, &hooks, &n);
    say_hooks(hooks, n);
    clear_other_layouts(d);
    return write_probe_file(d, error);
}

/* Where the kernel does not do what its BTF promises, this tells; what cannot be tested is
 * believed. */
void counting_test(struct daemon *d)
{
    struct error error = {""};

    if (probe_blind(d->probe))
        return;
    if (selftest_run(d->probe, d->hierarchy, d->runtime_dir, &d->selftest, &error) < 0) {
        log_info("%s: the counting is not tested", error.text);
        return;
    }
    for (int op = 0; op < IO_OP_COUNT; op++)
        if (d->selftest.failed & UINT64_C(1) << op)
            log_warning("%s is not counted as it should be on this kernel", io_op_name(op));
    probe_tested(d->probe, d->selftest.failed, d->selftest.ns_per_event);
}
