# SPDX-License-Identifier: GPL-2.0-or-later
# For the suites of a real jobiod on the machine that builds. $BUILD: the build directory.

# prepare NAME: directories, a tmpfs to write to, groups for steps, and where they all are
prepare() {
    [ "$(id -u)" = 0 ] || skip "not root"
    CGROUPS=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
    [ -n "$CGROUPS" ] || skip "no cgroup v2"
    export T="$BATS_FILE_TMPDIR" BIN="$BUILD/tests/bpf" TELL="$BUILD/tests/deliver/tell" PATH="$BUILD:$PATH"
    export CGROUPS GROUP="$CGROUPS/jobio-$1-$$" JOBIO_SOCKET="$T/run/jobiod.sock"
    mkdir -p "$T"/{run,state,tmpfs} "$GROUP"
    mount -t tmpfs tmpfs "$T/tmpfs" || skip "no mount(2) here"
}

# tidy: jobiod, whose process is in $T/pid, and what prepare made
tidy() {
    end_it TERM pid
    ! mountpoint -q "$T/tmpfs" || umount "$T/tmpfs"
    [ ! -d "$GROUP" ] || find "$GROUP" -depth -type d -exec rmdir {} +
    # What jobiod pins, by the name that it gives it, would run with every system call here. Whoever
    # interrupts this has ended jobiod before, so that it cannot be asked.
    rm -rf "/sys/fs/bpf/jobio-$(tr /. - <<< "${T#/}/run")"
}

# end_it SIGNAL FILE: the process of that file
end_it() {
    kill "-$1" "$(cat "$T/$2")" || true
    until_true 30 eval "! kill -0 $(cat "$T/$2") 2> /dev/null" || true
}

# "! command" does not fail a test, unless it is the last; this does.
not() {
    ! "$@"
}

until_true() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < end)) || { echo "not within the time: $*"; return 1; }
        sleep 0.1
    done
}

# tag JOBID STEP: a step of root's, in a group of its own; its path in $group
tag() {
    group="$GROUP/$1.$2"
    mkdir -p "$group"
    "$TELL" "$JOBIO_SOCKET" tag JOBID="$1" STEP="$2" UID=0 CGROUP="${group#"$CGROUPS"}" \
        CGROUP_ID="$(stat -c %i "$group")" CGROUP_LEVEL=2 CGROUP_VERSION=2 \
        TAGGED=now NODES=1
}
