/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "collector/versions/versions.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <ini.h>
#include <json-c/json.h>
#ifdef BUILT_LIBELF /* with BPF */
#include <libelf.h>
#endif
#include <limits.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <zlib.h>

#include "collector/probe/probe.h"

#define STRING_OF(x) #x
#define STRING(x) STRING_OF(x)

void versions_print_line(FILE *f, const char *name, const char *built, const char *running)
{
    (void)fprintf(f, "%-14s %-12s %s\n", name, built, running ? running : "-");
}

void versions_print_file(FILE *f, const char *name, const char *built, void *symbol)
{
    char path[PATH_MAX];
    const char *file = NULL;
    Dl_info info;

    if (dladdr(symbol, &info) && info.dli_fname && realpath(info.dli_fname, path)) {
        file = strrchr(path, '/');
        file = file ? file + 1 : path;
    }
    versions_print_line(f, name, built, file);
}

/* libcurl also reports its own libraries: that of TLS is the one that matters. */
static void print_curl(FILE *f)
{
    const curl_version_info_data *curl = curl_version_info(CURLVERSION_NOW);
    char running[256] = "cannot be loaded";

    if (curl)
        (void)snprintf(running, sizeof(running), "%s %s", curl->version,
                       curl->ssl_version ? curl->ssl_version : "without TLS");
    versions_print_line(f, "libcurl", LIBCURL_VERSION, running);
}

static void print_slurm(FILE *f)
{
    char built[32] = "none";
    unsigned v = SLURM_HEADERS;

    if (v)
        (void)snprintf(built, sizeof(built), "%u.%02u.%u", v >> 16 & 0xff, v >> 8 & 0xff, v & 0xff);
    versions_print_line(f, "slurm headers", built, NULL);
}

void versions_print(FILE *f)
{
    struct probe_versions probe;
    char layout[16];

    probe_versions(&probe);
    (void)snprintf(layout, sizeof(layout), "%u", probe.layout);
    (void)fprintf(f, "%-14s %-12s %s\n", "", "built with", "running with");
    versions_print_line(f, "glibc", STRING(__GLIBC__) "." STRING(__GLIBC_MINOR__),
                        gnu_get_libc_version());
    versions_print_line(f, "libbpf", probe.built, probe.running);
#ifdef BUILT_LIBELF
    versions_print_file(f, "libelf", BUILT_LIBELF, (void *)elf_version);
#endif
    versions_print_line(f, "sqlite", SQLITE_VERSION, sqlite3_libversion());
    print_curl(f);
    versions_print_line(f, "zlib", ZLIB_VERSION, zlibVersion());
    versions_print_line(f, "json-c", JSON_C_VERSION, json_c_version());
    versions_print_file(f, "inih", BUILT_INIH, (void *)ini_parse);
    versions_print_file(f, "libsystemd", BUILT_SYSTEMD, (void *)sd_notify);
    print_slurm(f);
    versions_print_line(f, "BPF layout", layout, NULL);
}
