# SPDX-License-Identifier: GPL-2.0-or-later
# `jobio run` inside the limits of a user's systemd unit. Without Slurm.
. "${BATS_TEST_DIRNAME}/cluster.bash"

setup_file() {
    cluster_is_there || cluster_prepare
    cluster_settings
    systemctl restart jobiod
}

teardown() {
    [ -n "$BATS_TEST_COMPLETED" ] || { jobio status; jobiod_log; }
}

# limited PROPERTY=VALUE... -- COMMAND...: run it as a unit of alice with these limits. The user owns its
# cgroup.
limited() {
    local options=()
    while [ "$1" != -- ]; do
        options+=(-p "$1")
        shift
    done
    systemd-run --quiet --pipe --wait --collect -p User=alice -p Delegate=yes -p OOMPolicy=continue \
        "${options[@]}" "$@"
}

@test "a run of a user stays within the memory of the user's unit" {
    [[ $(limited MemoryMax=32M -- jobio run -- cat /proc/self/cgroup) == 0::/*.service/jobio-run-* ]]
    local eater='head -c 60M /dev/zero | tail -c 50M | wc -c'
    [ "$(limited MemoryMax=32M MemorySwapMax=0 -- jobio run -- sh -c "$eater")" = 0 ]
    [ "$(limited MemoryMax=infinity -- jobio run -- sh -c "$eater")" = $((50 << 20)) ]
}

# Prints how many of 40 processes could be started.
forks='for (1 .. 40) { my $p = fork; last unless defined $p; if (!$p) { sleep 2; exit } $n++ } print "$n\n"'

@test "a run of a user stays within the number of processes of the user's unit" {
    local few all
    few=$(limited TasksMax=20 -- jobio run -- perl -e "$forks")
    all=$(limited TasksMax=100 -- jobio run -- perl -e "$forks")
    echo "$few of $all"
    [ "$few" -lt 20 ]
    [ "$few" -gt 10 ]
    [ "$all" = 40 ]
}
