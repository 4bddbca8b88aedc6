#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Services next to jobs, counted by a real jobiod, on the machine that builds (make check-native). As root;
# $BUILD is the build directory. jobiod gets a mount namespace without cgroup v1's freezer.

bats_require_minimum_version 1.5.0
load ../deliver/native

setup_file() {
    prepare services
    printf 'cluster = c1\nnode = node1\ninterval = 1s\nservices = yes\n' > "$T/jobio.conf"
    # as systemd and slurmd make them, with unique names
    SLICE=jobio$$.slice
    export SLICE STEPD="$SLICE/slurmstepd.scope"
    mkdir -p "$CGROUPS/$SLICE/a.service" "$CGROUPS/$STEPD/job_7/step_0" "$CGROUPS/$SLICE/nothing"
    jobiod_start
    tag_step
}

jobiod_start() {
    unshare -m --propagation private sh -c '
        freezer=$(awk "\$3 == \"cgroup\" && \$4 ~ /freezer/ { print \$2; exit }" /proc/mounts)
        [ -z "$freezer" ] || umount "$freezer"
        exec jobiod --config "$T/jobio.conf" --runtime "$T/run" --state "$T/state"' >> "$T/log" 2>&1 3>&- &
    echo $! > "$T/pid"
    until_true 60 eval 'jobio status --json > /dev/null 2>&1' || { cat "$T/log"; return 1; }
}

teardown_file() {
    [ ! -e "$T/sleeper" ] || kill "$(cat "$T/sleeper")" || true
    tidy
    find "$CGROUPS/$SLICE" -depth -type d -exec rmdir {} +
}

# Make the step of a job with its step file and a process that sleeps.
tag_step() {
    local path=/$STEPD/job_7/step_0
    sleep 1000 > /dev/null 2>&1 3>&- &
    echo $! > "$T/sleeper"
    echo $! > "$CGROUPS$path/cgroup.procs"
    "$TELL" "$JOBIO_SOCKET" tag JOBID=7 STEP=0 UID=0 NAME=sim CGROUP="$path" \
        CGROUP_ID="$(stat -c %i "$CGROUPS$path")" CGROUP_LEVEL=4 CGROUP_VERSION=2 \
        TAGGED=now NODES=1
}

# writes CGROUP N: N calls of 100 bytes
writes() {
    CGROUP=$CGROUPS/$1 "$BIN/step" join write "$T/tmpfs/file" "$2"
}

# rows [COMMAND...]: who wrote what between two readings; the command runs after the first of them
rows() {
    local lines=0
    # That of the test before would seem to be its first reading.
    rm -f "$T/out"
    jobio top -i 300ms --json --services > "$T/out" 2> "$T/err" 3>&- &
    local pid=$!
    until_true 30 test -s "$T/out"
    "$@"
    # two more than it has written: all of it has been read
    lines=$(wc -l < "$T/out")
    until_true 30 eval '[ "$(wc -l < "$T/out")" -ge '$((lines + 2))' ]'
    kill $pid
    wait $pid || true
    jq -c -s --arg m "$T/tmpfs" '[.[].rows[] | select(.mount == $m)] | group_by([.kind, .name]) |
        map([.[0].kind, .[0].name, (map(.write_bytes) | add)])' "$T/out"
}

all_write() {
    writes "$SLICE/a.service" 1000
    writes "$STEPD" 30
    writes "$STEPD/job_7/step_0" 500
    writes "$SLICE/nothing" 7
}

@test "each call is counted for the deepest cgroup: services, a job below one, and the rest" {
    local written
    written=$(rows all_write)
    echo "$written"
    [ "$written" = "[[\"job\",\"sim\",50000],[\"service\",\"a.service\",100000],$(
        )[\"service\",\"$SLICE\",700],[\"service\",\"slurmstepd.scope\",3000]]" ]
    jq -e '([.rows[].write_bytes] | add // 0) == .total.write_bytes' "$T/out"
    # the account of the job has nothing of its service
    jobio job 7 --json | jq -e --arg m "$T/tmpfs" '.mounts[] |
        select(.mount == $m).ops.write | .bytes == 50000 and .requests == 500'
    jobio top --once -i 1s | grep -q "^job "
    [[ $(jobio top --once -i 1s --idle) != *service* ]]
}

# is_known NAME: the service of the slice is counted
is_known() {
    "$TELL" "$JOBIO_SOCKET" query-top SERVICES=1 | jq -e --arg name "$1" \
        --argjson number "$(stat -c %i "$CGROUPS/$SLICE/$1")" '.all[] | select(.name == $name and .number == $number)' > /dev/null
}

@test "a new service is counted, and so is one that reuses a name" {
    comes() {
        local found=$1
        mkdir "$CGROUPS/$SLICE/b.service"
        until_true 30 is_known b.service
        writes "$SLICE/b.service" "$found"
    }
    [[ $(rows comes 11) == *'["service","b.service",1100]'* ]]
    rmdir "$CGROUPS/$SLICE/b.service"
    [[ $(rows comes 13) == *'["service","b.service",1300]'* ]]
    rmdir "$CGROUPS/$SLICE/b.service"
}

@test "services up to a limit are followed, and the others are counted" {
    local before there i
    [ "$(jobio status --json | jq .services.left_out)" = 0 ]
    before=$(jobio status --json | jq .services.followed)
    for ((i = 0; i < 80; i++)); do mkdir "$CGROUPS/$SLICE/many$i.service"; done
    until_true 30 eval '[ "$(jobio status --json | jq -c "[.services | .followed, .left_out]")" = "[64,$((before + 80 - 64))]" ]'
    grep "services are not counted on their own" "$T/log"
    for ((i = 0; i < 80; i++)); do rmdir "$CGROUPS/$SLICE/many$i.service"; done
    until_true 30 eval '[ "$(jobio status --json | jq .services.left_out)" = 0 ]'
}

@test "after jobiod is killed, the next one knows the services that were counted" {
    local service written
    service=$(stat -c %i "$CGROUPS/$SLICE/a.service")
    kill -KILL "$(cat "$T/pid")"
    until_true 30 eval "! kill -0 $(cat "$T/pid") 2> /dev/null"
    jobiod_start
    [ -z "$(grep "but no step file names it" "$T/log" | grep "cgroup $service ")" ]
    until_true 30 is_known a.service
    written=$(rows writes "$SLICE/a.service" 3)
    echo "$written"
    [[ $written == *'["service","a.service",300]'* ]]
}

@test "services are shown to users who may see all jobs, if they are counted" {
    cp "$BUILD/jobio" "$T/jobio"
    chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$T" "$T/run"
    run -1 --separate-stderr setpriv --reuid 65534 --regid 65534 --clear-groups "$T/jobio" top --once --services
    [[ $stderr == *"services are not counted: only root and members"* ]]
    end_it TERM pid
    sed -i /services/d "$T/jobio.conf"
    jobiod_start
    run -1 --separate-stderr jobio top --once --services
    [[ $stderr == *'services are not counted: "services = yes" is not in jobio.conf'* ]]
}
