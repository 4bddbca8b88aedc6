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

/* prometheus-pushgateway, prometheus and promtool are installed. */
bool gateway_installed(void);
/* Release 1.11.0 (Debian 13) hangs up where others answer 400: its log panics
 * (prometheus/pushgateway#766). */
bool gateway_hangs_up(void);
/* A port that is free now, and the URL; nothing runs there yet. */
void gateway_reserve(struct gateway *gateway);
/* Start it there, with a web.config.file or NULL, and wait until it listens. */
void gateway_start(struct gateway *gateway, const char *web_config);
/* A real Prometheus there, with this configuration and an empty directory for its data. */
void gateway_start_prometheus(struct gateway *gateway, const char *config, const char *data);
/* A real VictoriaMetrics (Debian's victoria-metrics) there, with a directory for its data. */
void gateway_start_victoria(struct gateway *gateway, const char *data);
bool gateway_victoria_installed(void);
/* Kill it, as a power failure would. Nothing if it does not run. */
void gateway_kill(struct gateway *gateway);

/* What it shows under the path ("/metrics"), malloc'd. */
char *gateway_get(const struct gateway *gateway, const char *path);
/* Put a body into a group ("job/other"); the status code. */
long gateway_put(const struct gateway *gateway, const char *group, const char *body);
/* The value of the sample of this name whose labels include all of these (`jobid="7"`, ...; ends
 * with NULL); NAN: there is none. Fails if there are several. */
double metrics_value(const char *metrics, const char *name, ...) __attribute__((sentinel));
/* promtool check metrics has no finding. */
bool metrics_are_clean(const char *metrics);

#endif
