# SPDX-License-Identifier: GPL-2.0-or-later
# For the suites of this directory: a real jobiod under attack, the job of another user beside it, and
# what root waits for. $BUILD: the build directory.

load ../deliver/native

HOSTILE=65533
VICTIM=64001
LATENCY_MAX=2000 # ms: for a request of root under attack, also on a loaded machine
MEMORY_MAX=65536 # KiB: how much more memory jobiod may need under attack

# prepare_hostile NAME: as prepare, but users can reach the socket, and have jobio and tell in $T
prepare_hostile() {
    prepare "$1"
    cp "$BUILD/jobio" "$TELL" "$BIN/step" "$BATS_TEST_DIRNAME/attack.py" "$T/"
    chmod 755 "$BATS_RUN_TMPDIR" "$T" "$T/run" "$T"/{jobio,tell,step,attack.py}
    mkdir "$T/open"
    chmod 1777 "$T/open"
}

# configure: write $T/jobio.conf, with the sections on stdin
configure() {
    printf 'cluster = c1\nnode = node1\ninterval = 1s\n[report]\nrecord = off\n' > "$T/jobio.conf"
    cat >> "$T/jobio.conf"
}

# serve: start jobiod with $T/jobio.conf
serve() {
    "$BUILD/jobiod" --config "$T/jobio.conf" --runtime "$T/run" --state "$T/state" >> "$T/log" 2>&1 3>&- &
    echo $! > "$T/pid"
    until_true 300 eval 'jobio status --json > "$T/status.first" 2>&1' || { cat "$T/log"; return 1; }
    [ ! -e "$T/causes" ] || return 0
    : > "$T/latencies"
    victim_job 7
    is_exact 7
}

# status FILTER: true if the jq filter holds for the status
status() {
    jobio status --json > "$T/status" && jq -e "$1" "$T/status" > /dev/null
}

# as_uid UID COMMAND...
as_uid() {
    setpriv --reuid "$1" --regid "$1" --clear-groups -- "${@:2}"
}

# attack ARGUMENT...: attack.py as the hostile user
attack() {
    as_uid $HOSTILE "$T/attack.py" "$@" < /dev/null
}

# make_own DIRECTORY: a cgroup that is delegated to the user, as systemd does it
make_own() {
    mkdir -p "$1"
    chown $HOSTILE "$1" "$1"/cgroup.{procs,subtree_control,threads}
}

# in_own DIRECTORY COMMAND...: as the hostile user, in that cgroup
in_own() {
    sh -c 'echo $$ > "$1/cgroup.procs" && shift && exec "$@"' sh "$1" \
        setpriv --reuid $HOSTILE --regid $HOSTILE --clear-groups -- "${@:2}"
}

# tidy_own: remove the cgroups of the user, once they are empty
tidy_own() {
    echo $BASHPID > "$CGROUPS/cgroup.procs"
    until_true 60 eval 'find "$GROUP" -mindepth 1 -depth -type d -exec rmdir {} + 2> /dev/null; [ ! -e "$OWN" ]'
}

# --- root ----------------------------------------------------------------------------------------

# timed COMMAND...: of root; its milliseconds go to $T/latencies, and those that the start of any program takes
timed() {
    local start=${EPOCHREALTIME/./} file="$T/answer.$BASHPID" end
    "$@" > "$file" 2>&1 || { cat "$file"; return 1; }
    end=${EPOCHREALTIME/./}
    /bin/true
    echo "$(((end - start) / 1000)) ${*:3:2} $(((${EPOCHREALTIME/./} - end) / 1000))" >> "$T/latencies"
}

# is_prompt: no call since the last time took too long. The attackers and other tests take the processors
# from all programs, so a call may take four times as long as the slowest start of a program in addition.
is_prompt() {
    local slowest start
    slowest=$(sort -n "$T/latencies" | tail -n 1)
    start=$(awk '$NF > max { max = $NF } END { print max + 0 }' "$T/latencies")
    echo "# slowest of $(wc -l < "$T/latencies") calls of root: ${slowest% *} (ms); a program starts within $start ms"
    [ "${slowest%% *}" -lt $((LATENCY_MAX + 4 * start)) ]
}

# --- another user --------------------------------------------------------------------------------

# tag_of UID JOBID [KEY=VALUE...]: step 0 of a job of this user, in a cgroup of its own; sets $group
tag_of() {
    group="$GROUP/$2.0"
    mkdir -p "$group"
    timed "$TELL" "$JOBIO_SOCKET" tag JOBID="$2" STEP=0 UID="$1" CGROUP="${group#"$CGROUPS"}" \
        CGROUP_ID="$(stat -c %i "$group")" CGROUP_LEVEL=2 CGROUP_VERSION=2 TAGGED=now WITHIN=5000 "${@:3}" NODES=1
}

# job_file JOBID GATHER NODE,...: as the prolog on node1 leaves it
job_file() {
    printf '%s\n' VERSION=1 TYPE=job JOBID="$1" NODE=node1 GATHER="$2" NODELIST="$3" > "$T/run/jobs/.$1"
    mv "$T/run/jobs/.$1" "$T/run/jobs/$1"
}

# victim_job JOBID: a job of another user that makes JOBID writes of 100 bytes, from its tag to its report
victim_job() {
    tag_of $VICTIM "$1"
    CGROUP=$group "$BIN/step" join write "$T/tmpfs/victim" "$1"
    timed "$TELL" "$JOBIO_SOCKET" end JOBID="$1" STEP=0
    timed "$TELL" "$JOBIO_SOCKET" report JOBID="$1" SUMMARY=short
    timed "$TELL" "$JOBIO_SOCKET" job-end JOBID="$1"
    rmdir "$group"
}

# is_exact JOBID: the account of that job is exact to the byte, its user can read it, and nothing is missing
# but what this kernel cannot count: the causes that the first job, without an attack, has as well
is_exact() {
    as_uid $VICTIM "$T/jobio" job "$1" --json > "$T/account"
    [ -e "$T/causes" ] || jq '[.incomplete[] | select(.cause | test("^(hook-not-attached|unseen:)"))]' "$T/account" > "$T/causes"
    jq -e --arg mount "$T/tmpfs" --argjson n "$1" --slurpfile causes "$T/causes" \
        '.incomplete == $causes[0] and .lost == 0 and .job.uid == '$VICTIM' and
        ([.mounts[] | select(.mount == $mount).ops.write | [.bytes, .requests, .errors]] == [[100 * $n, $n, 0]])' \
        "$T/account" > /dev/null || { jq -c . "$T/account"; return 1; }
}

# --- under attack --------------------------------------------------------------------------------

# watch_memory: reset what jobiod's memory is compared with
watch_memory() {
    echo 5 > "/proc/$(cat "$T/pid")/clear_refs"
    awk '/^VmHWM/ { print $2 }' "/proc/$(cat "$T/pid")/status" > "$T/memory"
}

has_bounded_memory() {
    local before now
    before=$(cat "$T/memory")
    now=$(awk '/^VmHWM/ { print $2 }' "/proc/$(cat "$T/pid")/status")
    echo "# memory of jobiod: $before KiB, then at most $now KiB"
    [ $((now - before)) -lt $MEMORY_MAX ]
}

# under_attack JOBID COMMAND...: attack with the command, which prints "on" when the attack has begun.
# Until it ends, but at least $ROUNDS (3) times, jobs of another user run, JOBID and those after it.
under_attack() {
    local job=$1 first=$1 attacker result=0
    shift
    : > "$T/latencies"
    : > "$T/attack"
    watch_memory
    "$@" > "$T/attack" 2>&1 3>&- &
    attacker=$!
    until_true 30 grep -qx on "$T/attack" || { cat "$T/attack"; return 1; }
    while ((job < first + ${ROUNDS:-3})) || kill -0 $attacker 2> /dev/null; do
        victim_job $((job++))
    done
    wait $attacker || result=$?
    cat "$T/attack"
    [ $result = 0 ]
    kill -0 "$(cat "$T/pid")"
    is_prompt
    has_bounded_memory
    while ((job-- > first)); do
        is_exact $job
    done
}

# --- munge ---------------------------------------------------------------------------------------

# start_munged NAME: a munged with a key of its own; its socket is $T/NAME/socket
start_munged() {
    local directory="$T/$1"
    mkdir -m 711 "$directory"
    (umask 077; head -c 1024 /dev/urandom > "$directory/key")
    munged --foreground --force --socket="$directory/socket" --key-file="$directory/key" \
        --pid-file="$directory/pid" --seed-file="$directory/seed" --log-file="$directory/log" \
        > "$directory/output" 2>&1 3>&- &
    echo $! > "$T/munged-$1"
    until_true 60 eval 'munge -n -S "$T/'"$1"'/socket" > /dev/null 2>&1'
}
