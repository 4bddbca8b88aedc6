/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/daemon/backend.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bpf/records.h"
#include "collector/probe/block.h"
#include "collector/track/services.h"
#include "common/log.h"

static int write_probe_file(const struct backend_options *o, struct error *error)
{
    char path[512], making[520];
    FILE *file;
    int r;

    (void)snprintf(path, sizeof(path), "%s/probe", o->runtime_dir);
    (void)snprintf(making, sizeof(making), "%s.new", path);
    file = fopen(making, "we");
    if (!file)
        return error_errno(error, -errno, "cannot write %s", making);
    r = fprintf(file, "PIN=%s\nLAYOUT=%d\nSHAPE=%d\n", o->pin_dir, JOBIO_LAYOUT, JOBIO_SHAPE) < 0;
    r |= fclose(file) != 0;
    if (r || rename(making, path) < 0)
        return error_errno(error, -errno, "cannot write %s", path);
    return 0;
}

/* Plugins must not put steps into maps that jobiod does not read: nobody would remove them. */
static int remove_probe_file(const char *runtime_dir, struct error *error)
{
    char path[512];

    (void)snprintf(path, sizeof(path), "%s/probe", runtime_dir);
    return unlink(path) == 0 || errno == ENOENT
               ? 0
               : error_errno(error, -errno, "cannot remove %s", path);
}

static void log_hooks(const struct probe_hook *hooks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (hooks[i].backend != PROBE_NONE && *hooks[i].why)
            log_info("%s are counted %s", hooks[i].function, hooks[i].why);
        else if (hooks[i].backend == PROBE_NONE && !(hooks[i].absent && *hooks[i].feature))
            log_warning("%s: not counted: %s", hooks[i].function, hooks[i].why);
    }
}

static void remove_other_layouts(const struct probe *probe, const char *pin_dir)
{
    struct error error;
    int r = probe_unpin_others(probe, pin_dir, &error);

    if (r < 0)
        log_warning("cannot remove the maps of another jobio: %s", error.text);
    else if (r)
        log_warning("the maps of another jobio in %s cannot be used (%s) and are removed: the "
                    "reports of steps that it counted are marked as incomplete (began-untracked)",
                    pin_dir, error.text);
}

static const enum probe_backend backends[] = {[BACKEND_AUTO] = PROBE_NONE,
                                              [BACKEND_FENTRY] = PROBE_FENTRY,
                                              [BACKEND_KPROBE] = PROBE_KPROBE,
                                              [BACKEND_TP_BTF] = PROBE_TP_BTF};

int backend_create(struct probe **ret, const struct backend_options *o, struct error *error)
{
    const struct settings *settings = o->settings;
    const bool has_stacks = settings->stacks.sample != STACKS_SAMPLE_NO;
    const struct probe_options options = {
        .pin_dir = o->pin_dir,
        .max_steps = settings->services ? JOBIO_DEFAULT_STEPS + SERVICES_MAX : 0,
        .backend = backends[settings->backend],
        .spans = settings->trace.allow,
        .long_ns = has_stacks ? PROBE_LONG_LEAST_NS : 0};
    const struct probe_hook *hooks = NULL;
    size_t n = 0;
    struct error why;
    const char *blind;
    int r = probe_create(ret, &options, &why);

    /* A later attempt may succeed: systemd restarts jobiod. */
    if (r == -ENOMEM || r == -EAGAIN || r == -EINTR)
        return error_set(error, r, "the kernel side: %s", why.text);
    if (r < 0)
        r = probe_create_blind(ret, why.text, error);
    if (r < 0)
        return r;
    if (!settings->block_count)
        block_probe_unpin(*ret);
    blind = probe_blind(*ret);
    if (blind) {
        log_error("nothing is counted: %s; jobs run on, and their reports say so, until this is "
                  "fixed and jobiod is restarted",
                  blind);
        return remove_probe_file(o->runtime_dir, error);
    }
    (void)probe_hooks(*ret, &hooks, &n);
    log_hooks(hooks, n);
    remove_other_layouts(*ret, o->pin_dir);
    return write_probe_file(o, error);
}

const char *backend_in_use(struct probe *probe)
{
    static const char *const names[] = {[PROBE_NONE] = "none",
                                        [PROBE_FENTRY] = "fentry",
                                        [PROBE_KPROBE] = "kprobe",
                                        [PROBE_TP_BTF] = "tp_btf"};
    const struct probe_hook *hooks = NULL;
    size_t n = 0;

    if (!probe_blind(probe) && probe_hooks(probe, &hooks, &n) == 0)
        for (size_t i = 0; i < n; i++)
            if (hooks[i].backend != PROBE_NONE && hooks[i].ops & UINT64_C(1) << IO_READ)
                return names[hooks[i].backend];
    return names[PROBE_NONE];
}

void backend_test(struct probe *probe, struct hierarchy *hierarchy, const char *runtime_dir,
                  struct selftest *ret)
{
    struct error error = {""};

    if (probe_blind(probe))
        return;
    if (selftest_run(probe, hierarchy, runtime_dir, ret, &error) < 0) {
        log_info("the self-test cannot run: %s", error.text);
        return;
    }
    for (int op = 0; op < IO_OP_COUNT; op++)
        if (ret->failed & UINT64_C(1) << op)
            log_warning("the self-test failed: %s is not counted correctly on this kernel",
                        io_op_name(op));
    probe_tested(probe, ret->failed, ret->ns_per_event);
}

int backend_count_services(struct services **ret, char **why, bool wanted,
                           const struct backend_parts *parts, struct error *error)
{
    struct error text = {"\"services = yes\" is not in jobio.conf"};
    int r = wanted ? services_create(ret, parts->probe, parts->sampler, parts->hierarchy, &text)
                   : -ENOTSUP;

    if (!r)
        return 0;
    if (wanted)
        log_warning("services are not counted: %s", text.text);
    *why = strdup(text.text);
    return *why ? 0 : error_set(error, -ENOMEM, "no memory");
}
