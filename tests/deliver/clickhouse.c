/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "tests/deliver/clickhouse.h"
#include "tests/deliver/gateway.h"

#define PROGRAM "clickhouse-server"

bool clickhouse_installed(void)
{
    return system("command -v " PROGRAM " >/dev/null") == 0;
}

static void write_file(const struct clickhouse *server, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void write_file(const struct clickhouse *server, const char *name, const char *format, ...)
{
    char path[128];
    FILE *file;
    va_list list;

    (void)snprintf(path, sizeof(path), "%s/%s", server->directory, name);
    file = fopen(path, "w");
    assert_non_null(file);
    va_start(list, format);
    (void)vfprintf(file, format, list);
    va_end(list);
    assert_int_equal(fclose(file), 0);
}

/* Port 0: a free port at each start. Newer releases accept the old names of the sections, too. */
void clickhouse_make(struct clickhouse *server)
{
    struct gateway http, tcp, between;

    *server = (struct clickhouse){0};
    (void)strcpy(server->directory, "/tmp/jobio-clickhouse-XXXXXX");
    assert_non_null(mkdtemp(server->directory));
    gateway_reserve(&http);
    gateway_reserve(&tcp);
    gateway_reserve(&between);
    server->port = http.port;
    (void)snprintf(server->url, sizeof(server->url), "%s", http.url);
    write_file(server, "config.xml",
               "<yandex><logger><level>warning</level><console>1</console></logger>"
               "<http_port>%d</http_port><tcp_port>%d</tcp_port>"
               "<interserver_http_port>%d</interserver_http_port>"
               "<listen_host>127.0.0.1</listen_host><path>%s/data/</path>"
               "<tmp_path>%s/tmp/</tmp_path><user_files_path>%s/files/</user_files_path>"
               "<format_schema_path>%s/formats/</format_schema_path>"
               "<users_config>users.xml</users_config><default_profile>default</default_profile>"
               "<default_database>default</default_database><timezone>UTC</timezone>"
               "<mark_cache_size>5368709</mark_cache_size></yandex>",
               http.port, tcp.port, between.port, server->directory, server->directory,
               server->directory, server->directory);
    clickhouse_limit(server, 0);
}

void clickhouse_limit(const struct clickhouse *server, unsigned long bytes)
{
    write_file(server, "users.xml",
               "<yandex><profiles><default><max_memory_usage>%lu</max_memory_usage></default>"
               "</profiles><users>"
               "<default><password></password><networks><ip>127.0.0.1</ip></networks>"
               "<profile>default</profile><quota>default</quota></default>"
               "<writer><password>w</password><networks><ip>127.0.0.1</ip></networks>"
               "<profile>default</profile><quota>default</quota></writer>"
               "</users><quotas><default/></quotas></yandex>",
               bytes);
}

static size_t take(char *data, size_t size, size_t n, void *arg)
{
    return fwrite(data, size, n, arg) * size;
}

static long ask(const struct clickhouse *server, const char *sql, char **ret)
{
    CURL *easy = curl_easy_init();
    size_t size;
    FILE *out = open_memstream(ret, &size);
    long code = 0;

    assert_non_null(easy);
    assert_non_null(out);
    curl_easy_setopt(easy, CURLOPT_URL, server->url);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_TIMEOUT, 60L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, sql);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, out);
    (void)curl_easy_perform(easy);
    (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
    curl_easy_cleanup(easy);
    assert_int_equal(fclose(out), 0);
    return code;
}

void clickhouse_start(struct clickhouse *server)
{
    server->pid = fork();
    assert_true(server->pid >= 0);
    if (server->pid == 0) {
        char log[128];

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)snprintf(log, sizeof(log), "%s/log", server->directory);
        if (chdir(server->directory) == 0 && freopen(log, "a", stderr) && freopen(log, "a", stdout))
            execlp(PROGRAM, PROGRAM, "--config-file=config.xml", (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 2400; i++) {
        _free_ char *answer = NULL;

        if (ask(server, "SELECT 1", &answer) == 200)
            return;
        assert_int_equal(waitpid(server->pid, NULL, WNOHANG), 0);
        nanosleep(&(struct timespec){.tv_nsec = 25000000}, NULL);
    }
    fail_msg(PROGRAM " does not answer on port %d", server->port);
}

void clickhouse_kill(struct clickhouse *server)
{
    if (server->pid <= 0)
        return;
    (void)kill(server->pid, SIGKILL);
    (void)waitpid(server->pid, NULL, 0);
    server->pid = 0;
}

void clickhouse_remove(struct clickhouse *server)
{
    char command[128];

    clickhouse_kill(server);
    (void)snprintf(command, sizeof(command), "rm -rf %s", server->directory);
    assert_int_equal(system(command), 0);
}

char *clickhouse_ask(const struct clickhouse *server, const char *sql)
{
    char *answer = NULL;
    long code = ask(server, sql, &answer);

    if (code != 200)
        fail_msg("%.300s: HTTP %ld: %s", sql, code, answer);
    return answer;
}

void clickhouse_do(const struct clickhouse *server, const char *sql)
{
    free(clickhouse_ask(server, sql));
}

/* The changes that upgrade.sql describes for older servers. */
static void leave_out(const struct clickhouse *server, char *sql)
{
    static const char words[] = " IF NOT EXISTS";
    _free_ char *old =
        clickhouse_ask(server, "SELECT toUInt8(splitByChar('.', version())[1]) < 20");
    char *at = strstr(sql, "ADD COLUMN IF NOT EXISTS");

    if (at && *old == '1')
        memset(at + strlen("ADD COLUMN"), ' ', strlen(words));
}

char *clickhouse_sql(const char *file)
{
    const char *source = getenv("srcdir");
    char path[512], line[1024], *text = NULL;
    size_t size;
    FILE *in, *out = open_memstream(&text, &size);

    (void)snprintf(path, sizeof(path), "%s/sql/clickhouse/%s", source ? source : ".", file);
    in = fopen(path, "r");
    if (!in)
        fail_msg("%s cannot be read", path);
    assert_non_null(out);
    while (fgets(line, sizeof(line), in))
        if (strncmp(line, "--", 2))
            (void)fputs(line, out);
    assert_int_equal(fclose(in) | fclose(out), 0);
    return text;
}

void clickhouse_run(const struct clickhouse *server, const char *file)
{
    char *text = clickhouse_sql(file), *rest = text, *end;

    for (; (end = strstr(rest, ";\n")); rest = end + 2) {
        *end = '\0';
        leave_out(server, rest);
        clickhouse_do(server, rest);
    }
    free(text);
}

void clickhouse_reset(const struct clickhouse *server)
{
    clickhouse_do(server, "DROP DATABASE IF EXISTS jobio");
    clickhouse_run(server, "schema.sql");
    clickhouse_run(server, "views.sql");
}
