# SPDX-License-Identifier: GPL-2.0-or-later
# A forced backend inside the limits of jobiod.service, on every kernel. Without Slurm.
. "${BATS_TEST_DIRNAME}/cluster.bash"

setup_file() {
    cluster_is_there || cluster_prepare
    cluster_settings
    cat $cluster_paranoid > $cluster_dir/paranoid
}

teardown_file() {
    cat $cluster_dir/paranoid > $cluster_paranoid
    cluster_settings
    cluster_jobiod_anew
}

teardown() {
    [ -n "$BATS_TEST_COMPLETED" ] || { jobio status; jobiod_log; }
}

@test "a forced backend that cannot count is the reason in the status, the log and the report" {
    local words="kernel.perf_event_paranoid above 2 requires CAP_SYS_ADMIN"
    printf '%s\n' "backend = kprobe" "$(cat /etc/jobio/jobio.conf)" > /etc/jobio/jobio.conf
    echo 3 > $cluster_paranoid
    cluster_jobiod_anew
    jobio status --json > $cluster_dir/status
    as alice jobio run --json --output /tmp/none.json -- work write:/fast/none:300:4096
    jq -c . $cluster_dir/status /tmp/none.json >&2
    case $(uname -r) in
        5.10.*) words="no attach cookies" ;;
        7.*) # opens no perf events
            jq -e '.not_counted == null and .operations.write == "kprobe"' $cluster_dir/status
            jq -e '.mounts[] | select(.mount == "/fast").ops.write.requests == 300' /tmp/none.json
            return ;;
    esac
    jq -e --arg words "$words" '(.not_counted | contains($words)) and (.operations | all(. == "none"))
        and ([.hooks[].backend] | unique == ["none"])' $cluster_dir/status
    [ "$(jobiod_log | grep -c "nothing is counted: .*$words")" = 1 ]
    jq -e --arg words "$words" '.complete == false and .mounts == [] and (.incomplete | length == 1)
        and (.incomplete[0].cause | startswith("not counted: ") and contains($words))' /tmp/none.json
    [ -z "$(cat /sys/kernel/{,debug/}tracing/kprobe_events 2> /dev/null | grep jobio)" ]
}
