/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Real Pushgateways (Debian's prometheus-pushgateway) on loopback, without persistence. */
#ifndef JOBIO_TESTS_GATEWAY_H
#define JOBIO_TESTS_GATEWAY_H

#include <stdbool.h>
#include <sys/types.h>

struct gateway {
    pid_t pid; /* 0: not running */
    int port;
    char url[64];
};

/* True if prometheus-pushgateway, prometheus and promtool are installed. */
bool gateway_installed(void);
/* True for release 1.11.0 (Debian 13), which closes the connection instead of answering 400,
 * because its log panics (prometheus/pushgateway#766). */
bool gateway_hangs_up(void);
/* Choose a free port and set the URL; nothing runs there yet. */
void gateway_reserve(struct gateway *gateway);
/* Start it on this port, with a web.config.file or NULL, and wait until it listens. */
void gateway_start(struct gateway *gateway, const char *web_config);
/* Start a real Prometheus on this port, with this configuration and an empty data directory. */
void gateway_start_prometheus(struct gateway *gateway, const char *config, const char *data);
/* Start a real VictoriaMetrics (Debian's victoria-metrics) on this port, with a data directory. */
void gateway_start_victoria(struct gateway *gateway, const char *data);
bool gateway_victoria_installed(void);
/* Kill it, as a power failure would. Does nothing if it does not run. */
void gateway_kill(struct gateway *gateway);

/* The body of the path ("/metrics"), malloc'd. */
char *gateway_get(const struct gateway *gateway, const char *path);
/* Put a body into a group ("job/other"). Returns the status code. */
long gateway_put(const struct gateway *gateway, const char *group, const char *body);
/* The value of the sample of this name whose labels include all of these (`jobid="7"`, ...; ends
 * with NULL); NAN: there is none. Fails if there are several. */
double metrics_value(const char *metrics, const char *name, ...) __attribute__((sentinel));
/* Fail if `promtool check metrics` finds a problem. */
bool metrics_are_clean(const char *metrics);

#endif
