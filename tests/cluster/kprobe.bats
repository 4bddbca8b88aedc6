# SPDX-License-Identifier: GPL-2.0-or-later
# backend = kprobe inside the limits of jobiod.service (doc/kernels.md): what a site must allow. Without
# Slurm. backend.bats has what is reported if it is not allowed. Not on 5.10, which has no attach cookies.
. "${BATS_TEST_DIRNAME}/cluster.bash"

dropin=/run/systemd/system/jobiod.service.d/kprobe.conf

setup_file() {
    cluster_is_there || cluster_prepare
    cat $cluster_paranoid > $cluster_dir/paranoid
    cluster_settings
    printf '%s\n' "backend = kprobe" "$(cat /etc/jobio/jobio.conf)" > /etc/jobio/jobio.conf
}

teardown_file() {
    cat $cluster_dir/paranoid > $cluster_paranoid
    rm -f $dropin
    cluster_settings
    cluster_jobiod_anew
}

teardown() {
    [ -n "$BATS_TEST_COMPLETED" ] || { jobio status; jobiod_log; }
}

# The status is healthy, and a run of a user is counted exactly.
counts() {
    jobio status --json | tee /dev/stderr | jq -e '.not_counted == null and .operations.read == "kprobe"
        and .operations.write == "kprobe" and (.self_test.failed // []) == []'
    [ -z "$(jobiod_log | grep -i "not permitted\|denied\|not counted")" ]
    rm -f /fast/unit
    as alice jobio run --json --output /tmp/unit.json -- \
        work write:/fast/unit:300:4096 read:/fast/unit:20:4096
    jq -c . /tmp/unit.json >&2
    jq -e '.complete and ([.mounts[] | select(.mount == "/fast").ops | .write.requests, .write.bytes,
        .read.requests, .read.bytes] == [300, 1228800, 20, 81920])' /tmp/unit.json
}

@test "the unit as it is counts with kprobes if kernel.perf_event_paranoid is 2" {
    # The maps of a jobiod that could not count are used by the next one.
    echo 3 > $cluster_paranoid
    cluster_jobiod_anew
    echo 2 > $cluster_paranoid
    systemctl restart jobiod
    counts
}

@test "with CAP_SYS_ADMIN in a drop-in the unit counts with kprobes if kernel.perf_event_paranoid is 3" {
    echo 3 > $cluster_paranoid
    mkdir -p "${dropin%/*}"
    printf '[Service]\nCapabilityBoundingSet=CAP_SYS_ADMIN\n' > $dropin
    cluster_jobiod_anew
    counts
}
