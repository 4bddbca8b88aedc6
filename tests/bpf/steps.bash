# SPDX-License-Identifier: GPL-2.0-or-later
# For tests of jobiod on the running kernel: steps of job 7, in cgroups of their own, that are tagged as the
# plugin does it. A test file sets GROUP, a new directory in CGROUPS, where cgroup2 is mounted.
# shellcheck shell=bash

setup() {
    export T=$BATS_TEST_TMPDIR JOBIO_SOCKET=$BATS_TEST_TMPDIR/run/jobiod.sock
    mkdir "$T/run" "$T/state"
}

teardown() {
    end_jobiod
}

# Also its steps, and what it has pinned.
end_jobiod() {
    cat "$GROUP"/step_*/cgroup.procs 2> /dev/null | xargs -r kill -9
    [ -z "${jobiod-}" ] || kill $jobiod 2> /dev/null || true
    [ ! -s "$T/status" ] || rm -rf "$(jq -r .maps "$T/status")"
}

# await COMMAND...: until it succeeds
await() {
    local i
    for ((i = 0; i < 400; i++)); do
        ! "$@" > /dev/null 2>&1 || return 0
        sleep 0.05
    done
    "$@"
}

# run_jobiod LINE...: with these lines in jobio.conf; $JOBIOD: of another version. Its status is in $T/status
run_jobiod() {
    printf '%s\n' "interval = 1s" "$@" > "$T/jobio.conf"
    "${JOBIOD-jobiod}" --config "$T/jobio.conf" --runtime "$T/run" --state "$T/state" >> "$T/jobiod.log" 2>&1 3>&- &
    jobiod=$!
    await jobio status --json
    jobio status --json > "$T/status"
}

# stop_jobiod [SIGNAL]
stop_jobiod() {
    kill -s "${1-TERM}" $jobiod
    wait $jobiod || [ "${1-}" = KILL ]
    jobiod=
}

status_is() {
    jobio status --json | jq -e "$1"
}

# tag_step STEP UID LINE...: with these lines in addition
tag_step() {
    local group=$GROUP/step_$1 file=7.0.4294967294.$1 running
    mkdir -p "$group"
    printf '%s\n' VERSION=1 TYPE=tag JOBID=7 RESTART=0 HET=4294967294 STEP="$1" UID="$2" NODES=1 SUMMARY=short \
        CGROUP="${group#"$CGROUPS"}" CGROUP_ID="$(stat -c %i "$group")" CGROUP_LEVEL=2 CGROUP_VERSION=2 \
        TAGGED_AT="$(date +%s%N)" TAGGED_BOOT="$(awk '{ printf "%d", $1 * 1e9 }' /proc/uptime)" WITHIN=60000 \
        "${@:3}" > "$T/run/$file"
    running=$(($(jobio status --json | jq .steps.running) + 1))
    mv "$T/run/$file" "$T/run/steps"
    await status_is ".steps.running == $running"
}

# hold_step STEP UID LINE...: the same with a process in it, because a step without one would end
hold_step() {
    mkdir -p "$GROUP/step_$1"
    sleep 3600 3>&- &
    echo $! > "$GROUP/step_$1/cgroup.procs"
    tag_step "$@"
}

step_is_empty() {
    [ -z "$(cat "$GROUP/step_$1/cgroup.procs")" ]
}

# end_step STEP: end its processes, and report its end as the plugin does
end_step() {
    local file=7.0.4294967294.$1.end
    xargs kill < "$GROUP/step_$1/cgroup.procs"
    await step_is_empty "$1"
    printf '%s\n' VERSION=1 TYPE=end ENDED_AT="$(date +%s%N)" > "$T/run/$file"
    mv "$T/run/$file" "$T/run/steps"
}

# in_step STEP COMMAND...
in_step() {
    local group=$GROUP/step_$1
    shift
    (echo $BASHPID > "$group/cgroup.procs" && exec "$@") 3>&-
}
