/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/daemon/cluster.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"

#define KEPT "cluster" /* in the state directory */
#define LOOK_AGAIN_US 1000000
#define NAME_MAX_LENGTH 64
#define INCLUDES_MAX 8 /* depth */

void cluster_clear(struct cluster *cluster)
{
    free(cluster->name);
    *cluster = (struct cluster){0};
}

/* As for `cluster` in jobio.conf. */
static bool is_name(const char *name)
{
    size_t n = strlen(name);

    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
            return false;
    return n >= 1 && n <= NAME_MAX_LENGTH;
}

/* Slurm uses the name in lower case. NULL: not a name, or out of memory. */
static char *copy_lower(const char *name)
{
    char *copy = is_name(name) ? strdup(name) : NULL;

    for (char *c = copy; c && *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return copy;
}

/* --- slurm.conf ------------------------------------------------------------------------------- */

static char *search_file(const char *path, unsigned depth);

/* A relative path is below the directory of slurm.conf. */
static char *search_included(const char *pattern, const char *from, unsigned depth)
{
    _free_ char *path = NULL;
    const char *slash = strrchr(from, '/');
    char *name = NULL;
    glob_t found;

    if (*pattern == '/' || !slash)
        path = strdup(pattern);
    else if (asprintf(&path, "%.*s/%s", (int)(slash - from), from, pattern) < 0)
        path = NULL;
    if (!path || glob(path, 0, NULL, &found) != 0)
        return NULL;
    for (size_t i = 0; i < found.gl_pathc && !name; i++)
        name = search_file(found.gl_pathv[i], depth + 1);
    globfree(&found);
    return name;
}

/* The value of KEY = VALUE at the start of the line, cut off in place; NULL: another key. */
static char *value_of(char *line, const char *key)
{
    char *end;

    line += strspn(line, " \t");
    if (strncasecmp(line, key, strlen(key)) != 0)
        return NULL;
    line += strlen(key);
    line += strspn(line, " \t");
    if (*line != '=')
        return NULL;
    line += 1 + strspn(line + 1, " \t\"'");
    end = line + strcspn(line, " \t\"'#\r\n");
    *end = '\0';
    return line;
}

static char *search_line(char *line, const char *path, unsigned depth)
{
    static const char include[] = "include";
    char *value = value_of(line, "ClusterName"), *start = line + strspn(line, " \t");

    if (value)
        return copy_lower(value);
    if (strncasecmp(start, include, strlen(include)) != 0 || !strchr(" \t", start[strlen(include)]))
        return NULL;
    start += strlen(include) + strspn(start + strlen(include), " \t");
    start[strcspn(start, " \t#\r\n")] = '\0';
    return *start && depth < INCLUDES_MAX ? search_included(start, path, depth) : NULL;
}

static char *search_file(const char *path, unsigned depth)
{
    _fclose_ FILE *file = fopen(path, "re");
    _free_ char *line = NULL;
    char *name = NULL;
    size_t size = 0;

    while (file && !name && getline(&line, &size, file) > 0)
        name = search_line(line, path, depth);
    return name;
}

char *cluster_of_file(const char *path)
{
    return search_file(path, 0);
}

static char *search_slurm(const char **path)
{
    const char *const paths[] = {getenv("SLURM_CONF"), "/etc/slurm/slurm.conf",
                                 "/run/slurm/conf/slurm.conf",
                                 "/var/spool/slurmd/conf-cache/slurm.conf"};
    char *name = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(paths) && !name; i++)
        if ((*path = paths[i]))
            name = search_file(paths[i], 0);
    return name;
}

/* --- the name that was used last -------------------------------------------------------------- */

static char *read_kept(const char *state_dir, char path[static 4096])
{
    _fclose_ FILE *file = NULL;
    char name[NAME_MAX_LENGTH + 2] = "";

    (void)snprintf(path, 4096, "%s/" KEPT, state_dir);
    file = fopen(path, "re");
    if (!file || !fgets(name, sizeof(name), file))
        return NULL;
    name[strcspn(name, "\n")] = '\0';
    return is_name(name) ? strdup(name) : NULL;
}

static int write_kept(const char *path, const char *name)
{
    _free_ char *making = NULL;
    FILE *file;
    int r;

    if (asprintf(&making, "%s.new", path) < 0) {
        making = NULL;
        return -ENOMEM;
    }
    file = fopen(making, "we");
    if (!file)
        return -errno;
    r = fprintf(file, "%s\n", name) < 0;
    r |= fclose(file) != 0;
    return r || rename(making, path) < 0 ? -errno : 0;
}

void cluster_keep(const struct cluster *cluster, const char *state_dir)
{
    char path[4096];
    _free_ char *kept = read_kept(state_dir, path);
    int r;

    if (cluster->provisional || (kept && !strcmp(kept, cluster->name)))
        return;
    if (kept)
        log_warning("the cluster is now \"%s\", it was \"%s\": stored jobs keep the old name",
                    cluster->name, kept);
    r = write_kept(path, cluster->name);
    if (r < 0)
        log_warning("cannot write %s: %s", path, strerror(-r));
}

/* --- all -------------------------------------------------------------------------------------- */

int cluster_find(struct cluster *ret, const struct settings *settings, const char *state_dir,
                 struct error *error)
{
    const struct setting *setting = settings_get(settings, "", "cluster");
    const char *path = NULL;
    char kept[4096] = "";

    *ret = (struct cluster){0};
    if (setting) {
        ret->name = strdup(settings->cluster);
        (void)snprintf(ret->source, sizeof(ret->source), "%.4095s:%u", setting->file,
                       setting->line);
    } else if ((ret->name = search_slurm(&path))) {
        (void)snprintf(ret->source, sizeof(ret->source), "%.4095s", path);
    } else if ((ret->name = read_kept(state_dir, kept))) {
        (void)snprintf(ret->source, sizeof(ret->source), "there is no slurm.conf; %s", kept);
    } else {
        ret->name = strdup(settings->cluster);
        ret->provisional = true;
        (void)snprintf(ret->source, sizeof(ret->source),
                       "the default, until there is a slurm.conf");
    }
    return ret->name ? 0 : error_set(error, -ENOMEM, "no memory");
}

static int look_again(sd_event_source *source, uint64_t usec, void *arg)
{
    const char *path = NULL;
    _free_ char *name = search_slurm(&path);

    (void)usec, (void)arg;
    if (!name) {
        (void)sd_event_source_set_time_relative(source, LOOK_AGAIN_US);
        return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
    }
    if (!getenv("NOTIFY_SOCKET")) {
        log_warning("%s names the cluster \"%s\": restart jobiod to use this name", path, name);
        return 0;
    }
    log_info("%s names the cluster \"%s\": jobiod ends, so that systemd starts it with this name",
             path, name);
    return sd_event_exit(sd_event_source_get_event(source), 0);
}

int cluster_watch(sd_event_source **ret, sd_event *loop, const struct cluster *cluster,
                  struct error *error)
{
    int r = !cluster->provisional ? 0
                                  : sd_event_add_time_relative(loop, ret, CLOCK_MONOTONIC,
                                                               LOOK_AGAIN_US, 0, look_again, NULL);

    return r < 0 ? error_errno(error, r, "cannot watch for slurm.conf") : 0;
}
