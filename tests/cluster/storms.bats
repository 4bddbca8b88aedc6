# SPDX-License-Identifier: GPL-2.0-or-later
# Long storms (storm.bash), one for each fault. STORM_JOBS is the number of jobs of each.
. "${BATS_TEST_DIRNAME}/cluster.bash"
. "${BATS_TEST_DIRNAME}/storm.bash"

setup_file() {
    storm_start
}

teardown_file() {
    storm_stop
}

teardown() {
    : > "$storm_dir/over" # ends the faults of a storm that failed
    [ -n "$BATS_TEST_COMPLETED" ] || cluster_logs
}

jobs=${STORM_JOBS:-150}

# on_small_disk DIRECTORY COMMAND...: the same with DIRECTORY on a small file system
on_small_disk() {
    local status=0
    systemctl stop jobiod
    mount -t tmpfs -o size=24m,mode=755 tmpfs "$1"
    systemctl start jobiod
    "${@:2}" || status=1
    systemctl stop jobiod
    umount "$1"
    systemctl start jobiod
    return $status
}

@test "a storm without a fault" {
    storm "$jobs" none
}

@test "a storm while jobiod is killed (SIGKILL)" {
    storm "$jobs" killed
}

@test "a storm while jobiod is stopped for 3 s (SIGSTOP)" {
    storm "$jobs" stopped
}

@test "a storm while jobiod is restarted" {
    storm "$jobs" restarted
}

@test "a storm while the disk of the store and of the outbox is full for 5 s" {
    on_small_disk /var/lib/jobio storm "$jobs" disk
}

@test "a storm while munged is restarted" {
    storm "$jobs" munge
}

@test "a storm while the clock is set back by 20 s" {
    storm "$jobs" clock
}

@test "a storm while jobiod is killed and the directory of the step files is full for 5 s" {
    on_small_disk /run/jobio storm "$jobs" killed run
}

@test "a storm while jobiod is killed, the disk is full, munged is restarted and the clock is set back" {
    on_small_disk /var/lib/jobio storm "$jobs" killed disk munge clock
}
