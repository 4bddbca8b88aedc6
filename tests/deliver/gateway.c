/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* strchrnul, memrchr */
#include "tests/unit/test.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <math.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "tests/deliver/gateway.h"

#define PROGRAM "prometheus-pushgateway"
#define VICTORIA "victoria-metrics"

bool gateway_installed(void)
{
    return system("command -v " PROGRAM " >/dev/null && "
                  "command -v promtool >/dev/null && "
                  "command -v prometheus >/dev/null") == 0;
}

bool gateway_hangs_up(void)
{
    return system(PROGRAM " --version 2>&1 | grep -qF 'version 1.11.0 '") == 0;
}

void gateway_reserve(struct gateway *gateway)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    _close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&address, length), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    *gateway = (struct gateway){.port = ntohs(address.sin_port)};
    snprintf(gateway->url, sizeof(gateway->url), "http://127.0.0.1:%d", gateway->port);
}

static bool listens(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)port)};
    _close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
}

static void launch(struct gateway *gateway, char *const arguments[])
{
    gateway->pid = fork();
    assert_true(gateway->pid >= 0);
    if (gateway->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (freopen("/dev/null", "w", stderr))
            execvp(arguments[0], arguments);
        _exit(127);
    }
    for (int i = 0; i < 400; i++) {
        if (listens(gateway->port))
            return;
        assert_int_equal(waitpid(gateway->pid, NULL, WNOHANG), 0);
        nanosleep(&(struct timespec){.tv_nsec = 25000000}, NULL);
    }
    fail_msg("%s does not listen on port %d", arguments[0], gateway->port);
}

void gateway_start(struct gateway *gateway, const char *web_config)
{
    char listen[64], config[300], persistence[] = "--persistence.file=";

    snprintf(listen, sizeof(listen), "--web.listen-address=127.0.0.1:%d", gateway->port);
    snprintf(config, sizeof(config), "--web.config.file=%s", web_config ? web_config : "");
    launch(gateway, (char *[]){PROGRAM, listen, config, persistence, NULL});
}

void gateway_kill(struct gateway *gateway)
{
    if (gateway->pid <= 0)
        return;
    (void)kill(gateway->pid, SIGKILL);
    (void)waitpid(gateway->pid, NULL, 0);
    gateway->pid = 0;
}

static size_t take(char *data, size_t size, size_t n, void *arg)
{
    return fwrite(data, size, n, arg) * size;
}

static long ask(const char *url, const char *method, const char *body, char **ret)
{
    CURL *easy = curl_easy_init();
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    long code = 0;

    assert_non_null(easy);
    assert_non_null(out);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_TIMEOUT, 10L);
    if (body)
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, out);
    assert_int_equal(curl_easy_perform(easy), CURLE_OK);
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
    curl_easy_cleanup(easy);
    fclose(out);
    if (ret)
        *ret = text;
    else
        free(text);
    return code;
}

void gateway_start_prometheus(struct gateway *gateway, const char *config, const char *data)
{
    char listen[64], file[300], storage[300], ready[96];

    snprintf(listen, sizeof(listen), "--web.listen-address=127.0.0.1:%d", gateway->port);
    snprintf(file, sizeof(file), "--config.file=%s", config);
    snprintf(storage, sizeof(storage), "--storage.tsdb.path=%s", data);
    launch(gateway, (char *[]){"prometheus", listen, file, storage, NULL});
    snprintf(ready, sizeof(ready), "%s/-/ready", gateway->url);
    for (int i = 0; ask(ready, "GET", NULL, NULL) != 200; i++) {
        assert_true(i < 400);
        nanosleep(&(struct timespec){.tv_nsec = 25000000}, NULL);
    }
}

bool gateway_victoria_installed(void)
{
    return system("command -v " VICTORIA " >/dev/null") == 0;
}

void gateway_start_victoria(struct gateway *gateway, const char *data)
{
    char listen[64], storage[300], memory[] = "-memory.allowedBytes=64MB";

    snprintf(listen, sizeof(listen), "-httpListenAddr=127.0.0.1:%d", gateway->port);
    snprintf(storage, sizeof(storage), "-storageDataPath=%s", data);
    launch(gateway, (char *[]){VICTORIA, listen, storage, memory, NULL});
}

char *gateway_get(const struct gateway *gateway, const char *path)
{
    char url[1024], *text = NULL;

    snprintf(url, sizeof(url), "%s%s", gateway->url, path);
    assert_int_equal(ask(url, "GET", NULL, &text), 200);
    return text;
}

long gateway_put(const struct gateway *gateway, const char *group, const char *body)
{
    char url[256];

    snprintf(url, sizeof(url), "%s/metrics/%s", gateway->url, group);
    return ask(url, "PUT", body, NULL);
}

static bool has_labels(const char *line, size_t length, va_list labels)
{
    const char *label;

    while ((label = va_arg(labels, const char *))) {
        const char *found = strstr(line, label);

        if (!found || found >= line + length)
            return false;
    }
    return true;
}

double metrics_value(const char *metrics, const char *name, ...)
{
    size_t length = strlen(name);
    double value = NAN;

    for (const char *line = metrics, *end; *line; line = end + (*end == '\n')) {
        va_list labels;
        bool match;

        end = strchrnul(line, '\n');
        if (strncmp(line, name, length) != 0 || (line[length] != '{' && line[length] != ' '))
            continue;
        va_start(labels, name);
        match = has_labels(line, (size_t)(end - line), labels);
        va_end(labels);
        if (!match)
            continue;
        assert_true(isnan(value));
        while (end[-1] == ' ')
            end--;
        value = strtod((const char *)memrchr(line, ' ', (size_t)(end - line)) + 1, NULL);
    }
    return value;
}

bool metrics_are_clean(const char *metrics)
{
    FILE *promtool = popen("promtool check metrics >&2", "we");

    assert_non_null(promtool);
    fputs(metrics, promtool);
    return pclose(promtool) == 0;
}
