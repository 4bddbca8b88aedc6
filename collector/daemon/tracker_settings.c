/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/daemon/tracker_settings.h"

#include "collector/daemon/history_sink.h"
#include "collector/daemon/peer_requests.h"
#include "collector/daemon/trace_sink.h"

void tracker_settings_apply(const struct settings *settings, struct tracker_options *options)
{
    options->cluster = settings->cluster;
    options->interval_ns = settings->interval_ns;
    options->peers = peer_requests_are_wanted(settings);
    options->sinks = history_sink_names(settings);
    options->block = settings->block_count;
    options->mpi = settings->mpi_count != MPI_COUNT_NO;
    options->all_mpi = settings->mpi_count == MPI_COUNT_YES;
    options->stacks = settings->stacks.sample != STACKS_SAMPLE_NO;
    options->all_stacks = settings->stacks.sample == STACKS_SAMPLE_YES;
    options->stack_limits.least_ns = settings->stacks.min_ns;
    options->stack_limits.per_second = (uint32_t)settings->stacks.rate;
    options->traces = settings->trace.allow;
    options->trace_limits.per_second = (uint32_t)settings->trace.rate;
    options->trace_limits.in_all = (uint32_t)settings->trace.max;
    options->trace_directory.max_bytes = settings->trace.keep_bytes;
    options->trace_directory.keep_ns = settings->keep_ns;
    options->trace_directory.deliver = trace_sink_is_wanted(settings);
}
