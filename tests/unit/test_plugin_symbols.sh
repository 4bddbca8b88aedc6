#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What jobio.so shows to Slurm and what it wants: slurmstepd loads it next to everything else.
set -eu

plugin=${PLUGIN:-plugin/jobio.so}
[ -e "$plugin" ] || { echo "SKIPPED: built without the plugin"; exit 77; }
if nm -D --undefined-only "$plugin" | grep -q ' __asan_'; then
    echo "SKIPPED: built with sanitizers, which bring their own"
    exit 77
fi

fail() { echo "FAILED: $1"; exit 1; }

unexpected=$(nm -D --defined-only "$plugin" | awk '{ print $NF }' | grep -v '^slurm_spank_' |
    grep -vxE 'plugin_(name|type|version)|spank_plugin_(name|version)' || true)
[ -z "$unexpected" ] || fail "exported: $unexpected"
for symbol in plugin_name plugin_type plugin_version slurm_spank_init slurm_spank_init_post_opt \
    slurm_spank_task_post_fork slurm_spank_exit slurm_spank_job_prolog slurm_spank_job_epilog; do
    nm -D --defined-only "$plugin" | grep -qw "$symbol" || fail "not exported: $symbol"
done

# Symbols without a version are not libc's: they come from the Slurm program that loads the plugin.
unexpected=$(nm -D --undefined-only "$plugin" | awk '{ print $NF }' | grep -v @ |
    grep -vxE 'spank_[a-z_]+|slurm_(error|info|verbose)|slurm_hostlist_(create|shift|destroy)|_ITM_.*|__gmon_start__' || true)
[ -z "$unexpected" ] || fail "wanted: $unexpected"
# No thread, no name service, no process but the writer, nothing that runs at the exit.
unexpected=$(nm -D --undefined-only "$plugin" | awk '{ print $NF }' | grep -E \
    '^(pthread_|getaddrinfo|gethostby|getpw|getgr|fork|vfork|system|popen|exec|atexit|exit@)' || true)
[ -z "$unexpected" ] || fail "must not be used: $unexpected"

needed=$(readelf -d "$plugin" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
[ "$needed" = libc.so.6 ] || fail "linked with: $needed"
readelf -d "$plugin" | grep -q BIND_NOW || fail "not linked with -z now"
readelf -lW "$plugin" | grep -q GNU_RELRO || fail "not linked with -z relro"
echo ok
