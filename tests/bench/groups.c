/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * groups [NODES...]: a real Pushgateway with so many nodes (default: 100 1000 5000 10000), each
 * with one group like jobiod's: the time of a push with and without the gateway's consistency
 * check, the time of a scrape, and the gateway's memory. Then the pushes of 10,000 nodes for half a
 * minute, at their rate, while Prometheus scrapes.
 */
#define _GNU_SOURCE
#include <curl/curl.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/deliver/kinds.h"
#include "collector/deliver/pushgateway.h"
#include "collector/http/gzip.h"
#include "common/cleanup.h"
#include "report/prometheus/prometheus.h"

#define CHECKED 10 /* measured pushes */
#define UNCHECKED 500
#define PERIOD_S 60 /* of a node's pushes */
#define SIMULATED_S 30
#define PORT 19191
#define GATEWAY "http://127.0.0.1:19191"

static char dir[] = "/tmp/jobio-groups-XXXXXX";
static pid_t gateway;
static CURL *easy;

static void die(const char *what)
{
    (void)fprintf(stderr, "groups: %s: %s\n", what, strerror(errno));
    if (gateway)
        (void)kill(gateway, SIGKILL);
    exit(1);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double quantile(double *values, size_t n, double q)
{
    qsort(values, n, sizeof(*values), compare);
    return values[(size_t)((double)(n - 1) * q)];
}

/* --- requests --------------------------------------------------------------------------------- */

static size_t count_bytes(char *data, size_t size, size_t n, void *arg)
{
    (void)data;
    *(size_t *)arg += size * n;
    return size * n;
}

static long ask(const char *method, const char *url, const void *body, size_t size,
                struct curl_slist *headers, size_t *answer)
{
    size_t ignored = 0;
    long code = 0;

    if (!answer)
        answer = &ignored;
    curl_easy_reset(easy);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_TIMEOUT, 120L);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, count_bytes);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, answer);
    if (body) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body);
    }
    if (curl_easy_perform(easy) == CURLE_OK)
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
    return code;
}

static void start_gateway(bool check)
{
    char listen[64], file[64], checks[64];

    snprintf(listen, sizeof(listen), "--web.listen-address=127.0.0.1:%d", PORT);
    snprintf(file, sizeof(file), "--persistence.file=%s/data", dir);
    snprintf(checks, sizeof(checks), "--%spush.disable-consistency-check", check ? "no-" : "");
    gateway = fork();
    if (gateway < 0)
        die("fork");
    if (gateway == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (freopen("/dev/null", "w", stderr))
            execlp("prometheus-pushgateway", "prometheus-pushgateway", listen, file, checks, NULL);
        _exit(127);
    }
    for (int i = 0; ask("GET", GATEWAY "/-/ready", NULL, 0, NULL, NULL) != 200; i++) {
        if (i > 3000 || waitpid(gateway, NULL, WNOHANG) != 0)
            die("prometheus-pushgateway does not start");
        usleep(20000);
    }
}

/* It keeps its groups across a restart. */
static void stop_gateway(void)
{
    (void)kill(gateway, SIGTERM);
    (void)waitpid(gateway, NULL, 0);
    gateway = 0;
}

static double resident_mib(const char *field)
{
    char path[64], line[256];
    double kib = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)gateway);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        if (!strncmp(line, field, strlen(field)))
            kib = strtod(line + strlen(field) + 1, NULL);
    if (file)
        (void)fclose(file);
    return kib / 1024;
}

static double cpu_s(void)
{
    char path[64];
    unsigned long user = 0, kernel = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)gateway);
    file = fopen(path, "re");
    if (!file || fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                        &user, &kernel) != 2)
        die(path);
    (void)fclose(file);
    return (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
}

/* --- what a node pushes ----------------------------------------------------------------------- */

static void fill(struct io_mounts *mounts, size_t n, uint64_t seed)
{
    static const enum io_op ops[] = {IO_READ, IO_WRITE, IO_OPEN, IO_STAT, IO_READDIR};

    for (size_t i = 0; i < n; i++) {
        char name[32];
        struct io_mount *mount;

        snprintf(name, sizeof(name), "/fs%zu", i);
        mount = io_mounts_get(mounts, name, "nfs4", "server:/fs", false);
        if (!mount)
            die("no memory");
        mount->labelled = true;
        for (size_t op = 0; op < ARRAY_SIZE(ops); op++) {
            struct io_counter *counter = io_account_op(&mount->io, ops[op]);

            counter->requests = seed * 1009 + i;
            counter->bytes = io_op_is_data(ops[op]) ? seed * 123456789 : 0;
            counter->time_ns = seed * 98765;
        }
    }
}

/* A job on two mounts, three mounts in the node's totals. */
static char *page(size_t number)
{
    CLEANUP(io_mounts_clear) struct io_mounts totals = {0};
    struct job_account *job = job_account_create();
    char instance[32], *text;
    const struct prometheus_node node = {
        .cluster = "bench",
        .instance = instance,
        .totals = &totals,
        .jobs = (const struct job_account *const *)&job,
        .n_jobs = 1,
        .users = true,
        .version = "0.1.0",
    };

    if (!job)
        die("no memory");
    snprintf(instance, sizeof(instance), "node%05zu", number);
    fill(&totals, 3, number + 3);
    job->key = (struct job_key){strdup("bench"), (uint32_t)(number + 1), 0};
    job->user = strdup("alice");
    job->account = strdup("physics");
    job->partition = strdup("batch");
    job->start_ns = 1700000000000000000;
    job->elapsed_ns = 3600000000000;
    fill(&job->mounts, 2, number + 1);
    text = report_prometheus(&node);
    job_account_destroy(job);
    return text;
}

static size_t series_of(const char *text)
{
    size_t n = 0;

    for (const char *line = text; *line; line = strchr(line, '\n') + 1)
        n += *line != '#';
    return n;
}

static char *group_of(size_t number)
{
    char instance[32], *url;

    snprintf(instance, sizeof(instance), "node%05zu", number);
    url = target_make_url(
        &pushgateway_kind,
        &(struct target_options){.url = GATEWAY, .cluster = "bench", .instance = instance});
    if (!url)
        die("no memory");
    return url;
}

/* Returns the elapsed seconds. */
static double push(size_t number, struct curl_slist *headers)
{
    _free_ char *text = page(number), *url = group_of(number);
    _free_ void *body = NULL;
    size_t size = 0;
    double began;
    long code;

    if (!text || gzip_compress(text, strlen(text), &body, &size) < 0)
        die("no memory");
    began = now();
    code = ask("PUT", url, body, size, headers, NULL);
    if (code != 200 && code != 202) {
        (void)fprintf(stderr, "groups: HTTP %ld\n", code);
        die("push");
    }
    return now() - began;
}

/* --- measurements ----------------------------------------------------------------------------- */

static void measure(const char *what, size_t nodes, size_t pushes, struct curl_slist *headers)
{
    _free_ double *took = calloc(pushes, sizeof(*took));
    size_t bytes = 0;
    double began, scrape;

    if (!took)
        die("no memory");
    for (size_t i = 0; i < pushes; i++)
        took[i] = push(i * 7919 % nodes, headers);
    began = now();
    if (ask("GET", GATEWAY "/metrics", NULL, 0, NULL, &bytes) != 200)
        die("scrape");
    scrape = now() - began;
    printf("%-6zu %-9s %8.2f %8.2f %8.2f %8.1f %8.0f %8.0f\n", nodes, what,
           quantile(took, pushes, 0.5) * 1e3, quantile(took, pushes, 0.99) * 1e3, scrape,
           (double)bytes / 1e6, resident_mib("VmRSS:"), resident_mib("VmHWM:"));
    (void)fflush(stdout);
}

/* All nodes push at their rate, with a scrape every 15 s. */
static void simulate(size_t nodes, struct curl_slist *headers)
{
    size_t n = nodes * SIMULATED_S / PERIOD_S, late = 0;
    _free_ double *took = calloc(n + 1, sizeof(*took));
    double began = now(), cpu = cpu_s();
    pid_t scraper = fork();

    if (scraper == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        easy = curl_easy_init();
        for (int i = 0; i < SIMULATED_S / 15; i++) {
            (void)ask("GET", GATEWAY "/metrics", NULL, 0, NULL, NULL);
            sleep(15);
        }
        _exit(0);
    }
    for (size_t i = 0; i < n; i++) {
        double due = began + (double)i * PERIOD_S / (double)nodes, wait = due - now();

        if (wait > 0)
            usleep((useconds_t)(wait * 1e6));
        else if (wait < -1)
            late++;
        took[i] = push(i * 7919 % nodes, headers);
    }
    (void)kill(scraper, SIGKILL);
    (void)waitpid(scraper, NULL, 0);
    qsort(took, n, sizeof(*took), compare);
    printf("%zu nodes, a push in %d s each, for %d s: %.0f a second, median %.2f ms, p99 %.2f ms, "
           "most %.0f ms, %zu more than 1 s late; %.2f of a core, %.0f MiB\n",
           nodes, PERIOD_S, SIMULATED_S, (double)n / (now() - began), quantile(took, n, 0.5) * 1e3,
           quantile(took, n, 0.99) * 1e3, took[n - 1] * 1e3, late,
           (cpu_s() - cpu) / (now() - began), resident_mib("VmHWM:"));
}

/* As `jobio retire` on each. */
static void retire(size_t nodes)
{
    double began = now();
    size_t bytes = 0;

    for (size_t i = 0; i < nodes; i++) {
        _free_ char *url = group_of(i);

        if (ask("DELETE", url, NULL, 0, NULL, NULL) != 202)
            die("delete");
    }
    printf("all %zu retired in %.1f s", nodes, now() - began);
    /* Deletions are queued: a scrape after the last one has no group. */
    for (int i = 0; bytes == 0 || bytes > 100000; i++) {
        bytes = 0;
        if (i > 600 || ask("GET", GATEWAY "/metrics", NULL, 0, NULL, &bytes) != 200)
            die("groups are left");
        usleep(100000);
    }
    printf(", no group is left\n");
}

static void clean(void)
{
    char file[64];

    snprintf(file, sizeof(file), "%s/data", dir);
    (void)unlink(file);
    (void)rmdir(dir);
}

int main(int argc, char **argv)
{
    static char *defaults[] = {(char *)"100", (char *)"1000", (char *)"5000", (char *)"10000"};
    char **list = argc > 1 ? argv + 1 : defaults;
    size_t n = argc > 1 ? (size_t)argc - 1 : ARRAY_SIZE(defaults), have = 0;
    struct curl_slist *headers = curl_slist_append(NULL, "Expect:");
    _free_ char *text = page(1);

    for (size_t i = 0; pushgateway_headers[i]; i++)
        headers = curl_slist_append(headers, pushgateway_headers[i]);
    if (!mkdtemp(dir))
        die(dir);
    easy = curl_easy_init();
    printf("a node: %zu series, %zu bytes of text\n", series_of(text), strlen(text));
    printf("%-6s %-9s %8s %8s %8s %8s %8s %8s\n", "nodes", "", "push ms", "p99 ms", "scrape s",
           "MB", "MiB", "at most");
    for (size_t i = 0; i < n; i++) {
        size_t nodes = strtoul(list[i], NULL, 10);

        start_gateway(false);
        for (; have < nodes; have++)
            (void)push(have, headers);
        measure("unchecked", nodes, UNCHECKED, headers);
        if (i + 1 == n)
            simulate(nodes, headers);
        stop_gateway();
        start_gateway(true);
        measure("checked", nodes, CHECKED, headers);
        stop_gateway();
    }
    start_gateway(false);
    retire(have);
    stop_gateway();
    clean();
    return 0;
}
