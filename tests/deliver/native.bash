# SPDX-License-Identifier: GPL-2.0-or-later
# For the suites with a real jobiod on the build machine. $BUILD: the build directory.

# prepare NAME: make directories, a tmpfs to write to and cgroups for steps, and set their variables
prepare() {
    [ "$(id -u)" = 0 ] || skip "not root"
    CGROUPS=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
    [ -n "$CGROUPS" ] || skip "no cgroup v2"
    export T="$BATS_FILE_TMPDIR" BIN="$BUILD/tests/bpf" TELL="$BUILD/tests/deliver/tell" PATH="$BUILD:$PATH"
    export CGROUPS GROUP="$CGROUPS/jobio-$1-$$" JOBIO_SOCKET="$T/run/jobiod.sock"
    mkdir -p "$T"/{run,state,tmpfs} "$GROUP"
    mount -t tmpfs tmpfs "$T/tmpfs" || skip "no mount(2) here"
}

# tidy: end jobiod, whose process id is in $T/pid, and remove what prepare made
tidy() {
    end_it TERM pid
    ! mountpoint -q "$T/tmpfs" || umount "$T/tmpfs"
    [ ! -d "$GROUP" ] || find "$GROUP" -depth -type d -exec rmdir {} +
    # Pinned programs would run at every system call of this machine. Find them by their name: after an
    # interrupt jobiod does not run and cannot be queried.
    rm -rf "/sys/fs/bpf/jobio-$(tr /. - <<< "${T#/}/run")"
}

# end_it SIGNAL FILE: end the process whose id is in the file
end_it() {
    kill "-$1" "$(cat "$T/$2")" || true
    until_true 30 eval "! kill -0 $(cat "$T/$2") 2> /dev/null" || true
}

# "! command" fails a test only if it is the last command; this always does.
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

# tag JOBID STEP: tag a step of root with its own cgroup; sets $group to its path
tag() {
    group="$GROUP/$1.$2"
    mkdir -p "$group"
    "$TELL" "$JOBIO_SOCKET" tag JOBID="$1" STEP="$2" UID=0 CGROUP="${group#"$CGROUPS"}" \
        CGROUP_ID="$(stat -c %i "$group")" CGROUP_LEVEL=2 CGROUP_VERSION=2 \
        TAGGED=now PLUGIN=0.1.0~test NODES=1
}
