/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/spank_host.h"

#include "tests/unit/test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

struct spank_host_log *spank_host_log;
const char *spank_host_path = JOBIO_PLUGIN;

#define OPTIONS_MAX 8
static struct spank_option options[OPTIONS_MAX];
static size_t options_n;

static struct spank_handle *current;

void spank_host_init(void)
{
    spank_host_log = mmap(NULL, sizeof(*spank_host_log), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(spank_host_log != MAP_FAILED);
}

static void __attribute__((format(printf, 2, 0)))
log_line(const char *level, const char *format, va_list ap)
{
    size_t n = strlen(spank_host_log->text);
    char *text = spank_host_log->text + n;
    size_t room = sizeof(spank_host_log->text) - n;
    int used = snprintf(text, room, "%s: ", level);

    (void)vsnprintf(text + used, room - (size_t)used, format, ap);
    strncat(text, "\n", room - strlen(text) - 1);
}

#define LOG_FUNCTION(name, level)      \
    void name(const char *format, ...) \
    {                                  \
        va_list ap;                    \
                                       \
        va_start(ap, format);          \
        log_line(level, format, ap);   \
        va_end(ap);                    \
    }

LOG_FUNCTION(slurm_error, "error")
LOG_FUNCTION(slurm_info, "info")
LOG_FUNCTION(slurm_verbose, "verbose")

spank_context_t spank_context(void)
{
    return current->context;
}

/* As 22.05: a prolog has the job's identity only, and nobody but slurmstepd has the rest. */
static int item_is_there(const struct spank_handle *h, spank_item_t item)
{
    if (item == S_JOB_LOCAL_TASK_COUNT || item == S_JOB_NODEID || item == S_TASK_ID)
        return h->context == S_CTX_REMOTE && h->tasks != 0;
    if (h->context == S_CTX_REMOTE)
        return item != S_TASK_PID || h->task != 0;
    return h->context == S_CTX_JOB_SCRIPT &&
           (item == S_JOB_ID || item == S_JOB_UID || item == S_JOB_GID);
}

spank_err_t spank_get_item(spank_t h, spank_item_t item, ...)
{
    spank_err_t r = ESPANK_SUCCESS;
    va_list ap;

    if (!item_is_there(h, item))
        return ESPANK_NOT_AVAIL;
    va_start(ap, item);
    switch (item) {
    case S_JOB_ID:
        *va_arg(ap, uint32_t *) = h->jobid;
        break;
    case S_JOB_STEPID:
        *va_arg(ap, uint32_t *) = h->stepid;
        break;
    case S_JOB_UID:
        *va_arg(ap, uid_t *) = h->uid;
        break;
    case S_JOB_NNODES:
        *va_arg(ap, uint32_t *) = h->nodes;
        break;
    case S_JOB_LOCAL_TASK_COUNT:
        *va_arg(ap, uint32_t *) = h->tasks;
        break;
    case S_JOB_NODEID:
        *va_arg(ap, uint32_t *) = h->nodeid;
        break;
    case S_SLURM_RESTART_COUNT:
        *va_arg(ap, uint32_t *) = h->restart;
        break;
    case S_JOB_ARRAY_ID:
        *va_arg(ap, uint32_t *) = h->array_job;
        break;
    case S_JOB_ARRAY_TASK_ID:
        *va_arg(ap, uint32_t *) = h->array_task;
        break;
    case S_TASK_ID:
        *va_arg(ap, int *) = h->task_id;
        break;
    case S_TASK_PID:
        *va_arg(ap, pid_t *) = h->task;
        break;
    default:
        r = ESPANK_BAD_ARG;
        break;
    }
    va_end(ap);
    return r;
}

spank_err_t spank_getenv(spank_t h, const char *name, char *buf, int size)
{
    size_t length = strlen(name);

    if (h->context != S_CTX_REMOTE)
        return ESPANK_NOT_REMOTE;
    for (const char *const *e = h->env; e && *e; e++) {
        if (strncmp(*e, name, length) == 0 && (*e)[length] == '=')
            return snprintf(buf, (size_t)size, "%s", *e + length + 1) >= size ? ESPANK_NOSPACE
                                                                              : ESPANK_SUCCESS;
    }
    return ESPANK_ENV_NOEXIST;
}

/* Slurm sends it to the prologs of the job. */
spank_err_t spank_job_control_setenv(spank_t h, const char *name, const char *value, int overwrite)
{
    char prolog_name[64];

    assert_int_not_equal(h->context, S_CTX_REMOTE);
    snprintf(prolog_name, sizeof(prolog_name), "SPANK_%s", name);
    return setenv(prolog_name, value, overwrite) < 0 ? ESPANK_ERROR : ESPANK_SUCCESS;
}

/* Names with commas between are all that this host knows of lists. Slurm's header is not the same
 * in all releases. */
void *slurm_hostlist_create(const char *list);
char *slurm_hostlist_shift(void *list);
void slurm_hostlist_destroy(void *list);

struct names {
    char *text, *next;
};

void *slurm_hostlist_create(const char *list)
{
    struct names *names = calloc(1, sizeof(*names));

    assert_non_null(names);
    names->text = names->next = strdup(list);
    return names;
}

char *slurm_hostlist_shift(void *list)
{
    struct names *names = list;
    char *name;

    do
        name = strsep(&names->next, ",");
    while (name && !*name);
    return name ? strdup(name) : NULL;
}

void slurm_hostlist_destroy(void *list)
{
    free(((struct names *)list)->text);
    free(list);
}

spank_err_t spank_option_register(spank_t h, struct spank_option *option)
{
    (void)h;
    assert_true(options_n < OPTIONS_MAX);
    options[options_n++] = *option;
    return ESPANK_SUCCESS;
}

const struct spank_option *spank_host_option(const char *name)
{
    for (size_t i = 0; i < options_n; i++) {
        if (strcmp(options[i].name, name) == 0)
            return &options[i];
    }
    fail_msg("the option %s is not registered", name);
    return NULL;
}

void spank_host_load(struct spank_plugin *plugin, struct spank_handle *handle, char **words)
{
    plugin->handle = current = handle;
    plugin->av = words;
    for (plugin->ac = 0; words[plugin->ac]; plugin->ac++)
        ;
    options_n = 0;
    plugin->library = dlopen(spank_host_path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin->library)
        fail_msg("%s", dlerror());
}

void spank_host_unload(struct spank_plugin *plugin)
{
    assert_int_equal(dlclose(plugin->library), 0);
}

int spank_host_run(struct spank_plugin *plugin, const char *name)
{
    int (*hook)(spank_t, int, char **);
    char symbol[64];

    snprintf(symbol, sizeof(symbol), "slurm_spank_%s", name);
    *(void **)&hook = dlsym(plugin->library, symbol);
    return hook ? hook(plugin->handle, plugin->ac, plugin->av) : ESPANK_SUCCESS;
}
