#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The counters of MPI-IO against programs that know what they call, with MPICH and Open MPI, on the
# running kernel. As root; BUILD: the build directory.

bats_require_minimum_version 1.5.0

setup_file() {
    local here=$BATS_TEST_DIRNAME mpi
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export D=$BATS_FILE_TMPDIR PATH=$BUILD:$PATH
    for mpi in mpich openmpi; do
        mpicc.$mpi -O1 -o "$D/calls.$mpi" "$here/calls.c"
        mpicc.$mpi -O1 -o "$D/killed.$mpi" "$here/killed.c"
        mpifort.$mpi -O1 -cpp -o "$D/fortran.$mpi" "$here/calls.f90"
        mpifort.$mpi -O1 -cpp -DINCLUDE -o "$D/fortran77.$mpi" "$here/calls.f90"
        mpifort.$mpi -O1 -cpp -DF08 -o "$D/fortran08.$mpi" "$here/calls.f90"
    done
    mpicc.mpich -O1 -o "$D/collective" "$here/collective.c"
    mpicc.openmpi -O1 -o "$D/collective.openmpi" "$here/collective.c"
    ln -s collective "$D/collective.mpich"
    mpicc.mpich -O1 -o "$D/ranks" "$here/ranks.c"
    cc -O1 -o "$D/many" "$here/many.c"
    cc -O1 -pthread -o "$D/execs" "$here/execs.c"
    mpicc.mpich -O1 -c -o "$D/loaded.o" "$here/loaded.c"
    cc -o "$D/loaded" "$D/loaded.o" -ldl
    cc -shared -fPIC -o "$D/libmpi.so.99" "$here/unknown.c"
    cc -DPROGRAM -o "$D/unknown" "$here/unknown.c" -Wl,--no-as-needed,-rpath,"$D" "$D/libmpi.so.99"
    MPICH=$(ldconfig -p | sed -n 's|.*libmpich\.so\.12 .*=> ||p' | head -n 1)
    export MPICH
}

setup() {
    rm -f "$D"/file* "$D/json" "$D/truth"
}

teardown() {
    local mount
    for mount in own traced; do
        ! mountpoint -q "$D/$mount" || umount "$D/$mount"
    done
}

# count RANKS MPI PROGRAM...: run it; the document in $D/json, its output in $D/truth
count() {
    local ranks=$1 mpi=$2 options=()
    shift 2
    [ $mpi = mpich ] || options=(--oversubscribe)
    rm -f "$D/file"
    jobio run --mpi --json --output "$D/json" -- \
        timeout 120 mpirun.$mpi "${options[@]}" -n "$ranks" "$@" > "$D/truth"
}

# the same lines as calls.c prints
counted() {
    jq -r '.mpi.calls | to_entries[] | .value as $c
        | "\(.key) \($c.calls) \($c.errors) \($c.bytes) \($c.requested_bytes) \($c.unknown_calls)"' "$D/json"
}

is_true() {
    diff <(sort "$D/truth") <(counted | sort)
    # Each call is in the histogram of latencies, each with bytes in that of sizes.
    jq -e '[.mpi.calls[] | (.latency_log2 | add) == .calls and .time_ns > 0] | all' "$D/json"
    jq -e '[.mpi.calls | to_entries[] | select(.key | test("^(read|write)")).value
        | ((.size_log2 // []) | add // 0) == .calls - .errors - .unknown_calls] | all' "$D/json"
}

is_complete() {
    jq -e '.mpi.complete and .mpi.incomplete == []' "$D/json" || { jq .mpi.incomplete "$D/json"; false; }
}

# Some calls were counted; if any were missed, the report says so.
is_true_or_incomplete() {
    jq -c .mpi.incomplete "$D/json"
    [ -n "$(counted)" ]
    diff <(sort "$D/truth") <(counted | sort) || [ "$(jq .mpi.complete "$D/json")" = false ]
}

# has_cause CAUSE COUNT
has_cause() {
    jq -c .mpi.incomplete "$D/json"
    jq -e --arg cause "$1" --argjson count "$2" \
        '.mpi.incomplete == [{cause: $cause, count: $count}]' "$D/json"
}

@test "every class of functions is counted exactly" {
    for mpi in mpich openmpi; do
        for ranks in 1 3; do
            echo "$mpi, $ranks ranks"
            count $ranks $mpi "$D/calls.$mpi" "$D/file"
            is_true
            is_complete
        done
    done
}

@test "Fortran programs are counted once" {
    for program in fortran fortran77 fortran08; do
        for mpi in mpich openmpi; do
            echo "$program.$mpi"
            count 2 $mpi "$D/$program.$mpi" "$D/file"
            printf '%s\n' "open 2 0 0 0 0" "close 2 0 0 0 0" "write 10 0 10000 0 0" \
                "write_all 10 0 0 10000 0" "read 10 0 0 10000 0" "read_all 10 0 10000 0 0" > "$D/truth"
            is_true
            is_complete
        done
    done
}

@test "two implementations in one run are counted together" {
    cat > "$D/both" <<END
timeout 120 mpirun.mpich -n 2 $D/calls.mpich $D/file1 > $D/truth1 &
timeout 120 mpirun.openmpi --oversubscribe -n 2 $D/calls.openmpi $D/file2 > $D/truth2
wait
END
    jobio run --mpi --json --output "$D/json" -- sh "$D/both"
    awk '{ n[$1] += $2; e[$1] += $3; b[$1] += $4; r[$1] += $5; u[$1] += $6 }
        END { for (c in n) print c, n[c], e[c], b[c], r[c], u[c] }' "$D/truth1" "$D/truth2" > "$D/truth"
    is_true
    is_complete
}

# bats test_tags=long
@test "1000 processes that start and call MPI-IO at the same time are counted exactly" {
    mkdir "$D/ranks.d"
    # Each needs 12 ms instead of 50 ms to start, and 2 MB instead of 6 MB: no messages, one processor known.
    UCX_TLS=self HWLOC_SYNTHETIC="node:1 pu:1" jobio run --mpi --json --output "$D/json" -- \
        timeout 300 nice -n 19 "$D/ranks" 1000 5 "$D/ranks.d"
    rm -r "$D/ranks.d"
    printf '%s\n' "open 1000 0 0 0 0" "close 1000 0 0 0 0" "write_all 5000 0 5000000 0 0" \
        "read 5000 0 0 5000000 0" > "$D/truth"
    is_true
    is_complete
}

# bats test_tags=long
@test "a command can start more processes than there is room for, if they end" {
    jobio run --mpi --json --output "$D/json" -- "$D/many" 18000 # MPI_MAX_PROCESSES is 16384
    echo "close 18000 0 0 0 0" > "$D/truth"
    is_true
    is_complete
}

@test "a process that is killed in a call is reported" {
    for mpi in mpich openmpi; do
        run ! count 2 $mpi "$D/killed.$mpi" "$D/file"
        counted
        [ "$(counted)" = "open 2 0 0 0 0" ]
        has_cause return-not-seen 1
    done
}

@test "processes that exit in a call, or are killed in one by that, are reported" {
    for mpi in mpich openmpi; do
        run ! count 2 $mpi "$D/killed.$mpi" "$D/file" "$D/no-file"
        [ "$(counted)" = "open 2 0 0 0 0" ]
        has_cause return-not-seen 2
    done
}

@test "a library in an unusual place is found in the processes" {
    mkdir -p "$D/lib"
    cp -L "$MPICH" "$D/lib/libmpich.so.12"
    mpicc.mpich -O1 -o "$D/calls.own" "$BATS_TEST_DIRNAME/calls.c" -Wl,--disable-new-dtags,-rpath,"$D/lib"
    ldd "$D/calls.own" | grep "$D/lib/libmpich"
    count 2 mpich "$D/calls.own" "$D/file"
    is_true_or_incomplete
    # Beside a directory in PATH, as for mpirun, it is found before it is used.
    mkdir "$D/bin"
    PATH=$PATH:$D/bin count 2 mpich "$D/calls.own" "$D/file"
    is_true
    is_complete
}

@test "a library in another mount namespace is found" {
    mkdir -p "$D/hidden"
    cat > "$D/in_namespace" <<END
mount -t tmpfs none $D/hidden
cp -L $MPICH $D/hidden/libmpich.so.12
export LD_LIBRARY_PATH=$D/hidden
exec $D/calls.mpich $D/file
END
    jobio run --mpi --json --output "$D/json" -- unshare -m --propagation private sh "$D/in_namespace" > "$D/truth"
    is_true_or_incomplete
}

@test "an MPI of a container is found: of its image, and added to it" {
    cat > "$D/start_container" <<'END'
set -e
at=$1
shift
mount -t tmpfs none "$at"
mkdir "$at/upper" "$at/work" "$at/root"
mount -t overlay -o "lowerdir=/,upperdir=$at/upper,workdir=$at/work" image "$at/root"
mount -t proc none "$at/root/proc"
mount --rbind /dev "$at/root/dev"
mount --rbind /sys "$at/root/sys"
mkdir -p "$at/root/opt/own"
cp -L "$MPICH" "$at/root/opt/own/libmpich.so.12"
exec chroot "$at/root" env "$@"
END
    mkdir -p "$D/container"
    in_container() {
        jobio run --mpi --json --output "$D/json" -- unshare -m -p -f --propagation private \
            sh "$D/start_container" "$D/container" "$@" "$D/calls.mpich" /root/file > "$D/truth"
    }
    in_container # the library is in the lower layer, which has its probes
    is_true
    is_complete
    in_container LD_LIBRARY_PATH=/opt/own # in the upper layer
    is_true_or_incomplete
}

@test "a program that another thread than the first executes is counted, and the call of the first is reported" {
    jobio run --mpi --json --output "$D/json" -- "$D/execs" 7
    [ "$(counted)" = "close 7 0 0 0 0" ]
    has_cause return-not-seen 1
}

# Processes that have not ended, so that nothing makes room: this one, in steps that there are not.
fill_processes() {
    local id start
    id=$(bpftool map show | sed -n 's/^\([0-9]*\): hash  name mpi_processes .*/\1/p' | tail -n 1)
    start=$(awk '{ print $22 * 10000000 }' /proc/$$/stat)
    perl -e 'for my $i (1 .. 16384) {
        print "map update id $ARGV[0] key hex ", join(" ", map { sprintf "%02x", $_ } unpack("C*", pack("LL", 1e9 + $i, $ARGV[1]))),
            " value hex ", join(" ", map { sprintf "%02x", $_ } unpack("C*", pack("QQ", $ARGV[2], 0))), "\n" }' \
        "$id" $$ "$start" > "$D/batch"
    bpftool batch file "$D/batch" > /dev/null
}

@test "a process for which there is no room is counted, and reported once" {
    export -f fill_processes
    export D
    jobio run --mpi --json --output "$D/json" -- bash -c "fill_processes; exec $D/calls.mpich $D/file" > "$D/truth"
    is_true
    jq -c .mpi.incomplete "$D/json"
    # Not for each call. Programs that are looked at late are others.
    jq -e '.mpi.incomplete | map(.cause) == ["programs-not-seen"] and .[0].count < 10' "$D/json"
}

@test "a library that a program loads while it runs is found" {
    mkdir -p "$D/plugin"
    cp -L "$MPICH" "$D/plugin/libmpich.so.12"
    printf '%s\n' "open 1 0 0 0 0" "close 1 0 0 0 0" "write 10 0 10000 0 0" "read_all 10 0 10000 0 0" > "$D/truth"
    jobio run --mpi --json --output "$D/json" -- "$D/loaded" "$D/plugin/libmpich.so.12" "$D/file" later
    is_true
    is_complete
    # Nothing shows that it had not called MPI-IO before.
    jobio run --mpi --json --interval 4s --output "$D/json" -- \
        "$D/loaded" "$D/plugin/libmpich.so.12" "$D/file" at-once
    is_true
    has_cause started-before-probes 1
}

@test "a second library of a process is found at a reading, and reported" {
    mkdir -p "$D/second"
    cp -L "$MPICH" "$D/second/libmpich.so.12"
    printf '%s\n' "open 1 0 0 0 0" "close 1 0 0 0 0" "write 10 0 10000 0 0" "read_all 10 0 10000 0 0" > "$D/truth"
    jobio run --mpi --json --output "$D/json" -- \
        "$D/loaded" "$D/second/libmpich.so.12" "$D/file" later "$MPICH"
    is_true
    has_cause started-before-probes 1
}

@test "a library of no known implementation is reported as not covered" {
    jobio run --mpi --json --output "$D/json" -- "$D/unknown"
    [ -z "$(counted)" ]
    has_cause "not-covered: libmpi.so.99: it is neither Open MPI nor of the ABI of MPICH" 1
}

@test "of a library that only looks like a known one, impossible numbers are unknown, and a jump out of a call is reported" {
    for like in MPICH OPEN_MPI; do
        mkdir "$D/$like"
        cc -DLIKE_$like -shared -fPIC -o "$D/$like/libmpi.so.98" "$BATS_TEST_DIRNAME/liar.c"
        cc -DLIKE_$like -DPROGRAM -o "$D/liar" "$BATS_TEST_DIRNAME/liar.c" -Wl,-rpath,"$D/$like" "$D/$like/libmpi.so.98"
        LD_LIBRARY_PATH=$D/$like jobio run --mpi --json --output "$D/json" -- "$D/liar"
        printf '%s\n' "write 9 0 0 100 8" "write_all_split 3 0 0 0 3" "open 1 0 0 0 0" > "$D/truth"
        is_true
        has_cause return-not-seen 1
    done
}

# copy_library MPI: into a directory of its own, which is used from now on; its path is in $copy
copy_library() {
    local name=libmpich.so.12
    [ $1 = mpich ] || name=libmpi.so.40
    mkdir -p "$D/copy"
    export LD_LIBRARY_PATH=$D/copy
    rm -f "$D/copy"/*
    copy=$D/copy/$name
    cp -L "$(ldconfig -p | sed -n "s|.*$name .*=> ||p" | head -n 1)" "$copy"
}

@test "a library with nothing but dynamic symbols, or with wrong sizes of functions, is counted exactly" {
    for mpi in mpich openmpi; do
        copy_library $mpi
        strip --strip-all "$copy"
        run ! grep -q '\.symtab' <(readelf -SW "$copy")
        count 2 $mpi "$D/calls.$mpi" "$D/file"
        is_true
        is_complete
        "$BATS_TEST_DIRNAME/damage.py" "$copy" sizes
        count 2 $mpi "$D/calls.$mpi" "$D/file"
        is_true
        is_complete
    done
}

# is_not_covered MPI WHY CHANGE...: damage.py changes a copy of the library. Programs that use it do what they would
# do without jobio.
is_not_covered() {
    local mpi=$1 why=$2
    shift 2
    copy_library $mpi
    "$BATS_TEST_DIRNAME/damage.py" "$copy" "$@"
    count 2 $mpi "$D/collective.$mpi" "$D/file" romio_cb_write enable 2
    cmp "$D/file" <(head -c 4M /dev/zero | tr '\0' x)
    [ -z "$(counted)" ]
    has_cause "not-covered: ${copy##*/}: $why" 1
}

@test "a library whose symbols show another layout than the known one is reported as not covered, and works" {
    is_not_covered mpich "the layout of this build of MPICH is not known" size MPIR_F08_MPI_STATUS_IGNORE_OBJ
    is_not_covered mpich "the layout of this build of MPICH is not known" version
    is_not_covered openmpi "the layout of this build of Open MPI is not known" size ompi_status_empty
}

@test "a library whose symbols cannot be found, or are not in its code, is reported as not covered, and works" {
    for mpi in mpich openmpi; do
        is_not_covered $mpi "its section headers do not lead to its symbols" sections
        is_not_covered $mpi "its section headers do not lead to its symbols" table
        is_not_covered $mpi "its symbols do not say where PMPI_File_iread_shared is" outside PMPI_File_iread_shared
        is_not_covered $mpi "its symbols do not say where PMPI_File_iread_shared is" data PMPI_File_iread_shared
    done
}

@test "a stripped executable that has MPI linked statically is reported as not covered" {
    mpicc.mpich -O1 -c -o "$D/static.o" "$BATS_TEST_DIRNAME/calls.c"
    # shellcheck disable=SC2046 # the libraries that MPICH itself needs
    cc -o "$D/static" "$D/static.o" -l:libmpich.a \
        $(readelf -d "$MPICH" | sed -n 's/.*NEEDED.*\[\(.*\)\]/-l:\1/p') -lm
    count 2 mpich "$D/static" "$D/file"
    is_true_or_incomplete
    strip "$D/static"
    count 2 mpich "$D/static" "$D/file"
    [ -z "$(counted)" ]
    has_cause "not-covered: static: MPI is linked statically, and its symbols are stripped" 1
    "$BATS_TEST_DIRNAME/damage.py" "$D/static" sections
    count 2 mpich "$D/static" "$D/file"
    [ -z "$(counted)" ]
    has_cause "not-covered: static: its section headers do not lead to its symbols" 1
}

@test "a process that was forked before a reading has nothing missing" {
    mkfifo "$D/file"
    jobio run --mpi --json --output "$D/json" -- env LD_PRELOAD="$MPICH" bash -c "(read -t 2.5 <> '$D/file'); :"
    jq -e '.mpi == {complete: true, incomplete: [], calls: {}}' "$D/json"
}

@test "a command without MPI has no calls" {
    jobio run --mpi --json --output "$D/json" -- ls /etc > /dev/null
    jq -e '.mpi == {complete: true, incomplete: [], calls: {}}' "$D/json"
    jobio run --json --output "$D/json" -- ls /etc > /dev/null
    jq -e 'has("mpi") | not' "$D/json"
}

# written_by HINT: who wrote the file of 4 processes, 64 collective calls each, on a mount of its own
written_by() {
    jobio run --mpi --json --output "$D/json" -- \
        timeout 120 mpirun.mpich -n 4 "$D/collective" "$D/own/file" romio_cb_write "$1" < /dev/null
    jq -c '.mounts[] | select(.mount | endswith("/own")) | .writers + {requests: .ops.write.requests}' "$D/json"
}

@test "the processes that write for collective calls are counted" {
    local text sentence
    mkdir -p "$D/own"
    mount -t tmpfs own "$D/own"
    [ "$(written_by disable)" = '{"processes":4,"threads":4,"at_least":false,"requests":256}' ]
    rm "$D/own/file"
    [ "$(written_by enable)" = '{"processes":1,"threads":1,"at_least":false,"requests":64}' ]
    rm "$D/own/file"
    jobio run --mpi --full --output "$D/text" -- \
        timeout 120 mpirun.mpich -n 4 "$D/collective" "$D/own/file" romio_cb_write enable < /dev/null
    text=$(tr -s ' \n' ' ' < "$D/text")
    echo "$text"
    sentence="(1 process made 64 writes on $D/own, 4.0 MiB on average, for 256 collective writes (256 MiB): collective buffering combined them)"
    # Without all operations, as on a kernel without kprobes, the report does not say who wrote for whom.
    if [ "$(jq .complete "$D/json")" = true ]; then
        [[ $text == *"$sentence"* ]]
    else
        [[ $text == *"NOT complete: "* ]]
        [[ $text != *"collective buffering"* ]]
    fi
}

# read_trace: the facts of the last trace and its account (trace.py), in files trace and account
read_trace() {
    "$BATS_TEST_DIRNAME/../cli/trace.py" trace "$D/spans" | sort > "$D/trace"
    "$BATS_TEST_DIRNAME/../cli/trace.py" account "$D/json" | sort > "$D/account"
    run ! grep ^fault "$D/trace"
}

@test "a trace has each call of MPI-IO by its rank, with its requests below it" {
    mkdir -p "$D/traced"
    mount -t tmpfs traced "$D/traced"
    for hint in disable enable; do
        rm -f "$D/traced/file"
        jobio run --mpi --json --output "$D/json" --trace "$D/spans" -- \
            timeout 120 mpirun.mpich -n 4 "$D/collective" "$D/traced/file" romio_cb_write $hint < /dev/null
        read_trace
        grep -qx "root jobio.dropped 0" "$D/trace"
        # as many calls, with as much time and as many bytes, as the account has
        diff <(awk '/^call / { print $3, $4 }' "$D/trace" | sort) <(awk '/^call / { print $3, $4 }' "$D/account" | sort)
        grep -qx "call MPI_File_write_at_all 256 [0-9]* $((256 << 20))" "$D/trace"
        # each write to the file is a part of one of them, in each process or in that of rank 0
        grep "^below $D/traced write" "$D/trace"
        if [ $hint = enable ]; then
            [ "$(grep -c "^below $D/traced write" "$D/trace")" = 1 ]
            grep -q "^below $D/traced write MPI_File_write_at_all [0-3] 64$" "$D/trace"
        else
            diff <(grep "^below $D/traced write" "$D/trace") \
                <(printf "below $D/traced write MPI_File_write_at_all %d 64\n" 0 1 2 3)
        fi
        [ "$(awk '/^process collective / { print $3 }' "$D/trace" | sort | tr -d '\n')" = 0123 ]
    done
}

@test "a trace beyond its budget counts the calls of MPI-IO that it has not" {
    for mpi in mpich openmpi; do
        local options=()
        [ $mpi = mpich ] || options=(--oversubscribe)
        rm -f "$D/file"
        jobio run --mpi --json --output "$D/json" --trace "$D/spans" --trace-max 40 -- \
            timeout 120 mpirun.$mpi "${options[@]}" -n 2 "$D/calls.$mpi" "$D/file" > "$D/truth"
        is_true
        read_trace
        local requests calls
        read -r requests calls < <(awk '/^(requests|calls) / { n[$1] = $2 } END { print n["requests"], n["calls"] }' "$D/trace")
        [ $((requests + calls)) = 40 ]
        grep -qx "calls $((calls + $(sed -n 's/^root jobio.dropped_mpi_calls //p' "$D/trace")))" "$D/account"
        grep -qx "requests $((requests + $(sed -n 's/^root jobio.dropped_requests //p' "$D/trace")))" "$D/account"
    done
}

@test "a trace of MPI-IO has a span for each call and no request, with a budget for these alone" {
    local calls
    rm -f "$D/file"
    jobio run --json --output "$D/json" --trace "$D/spans" --trace-of mpi -- \
        timeout 120 mpirun.mpich -n 2 "$D/calls.mpich" "$D/file" > "$D/truth"
    is_true
    read_trace
    calls=$(awk '{ n += $2 * ($1 ~ /_split$/ ? 2 : 1) } END { print n }' "$D/truth")
    grep -qx "calls $calls" "$D/trace"
    grep -qx "requests 0" "$D/trace"
    grep -qx "root jobio.dropped 0" "$D/trace"
    grep -qx "root jobio.trace_of mpi" "$D/trace"
    [ "$(grep -c file.path "$D/spans")" = 0 ]
    [ "$(awk '/^process calls/ { print $3 }' "$D/trace" | sort | tr -d '\n')" = 01 ]
}

@test "a trace has the path of each MPI_File_open if paths are asked for, and of no other call" {
    jobio run --json --output "$D/json" --trace "$D/spans" --trace-of mpi --trace-paths -- \
        timeout 120 mpirun.mpich -n 2 "$D/calls.mpich" "$D/file" > "$D/truth"
    is_true
    jq -r '.resourceSpans[].scopeSpans[].spans[] | select(.name | startswith("MPI_")) | .name as $name
        | .attributes[] | select(.key == "file.path") | "\($name) \(.value.stringValue)"' "$D/spans" | sort -u |
        diff <(printf 'MPI_File_open %s\n' "$D/file" "$D/file.none") -
    [ "$(grep -o '"file.path"' "$D/spans" | wc -l)" = "$(awk '$1 == "open" { print $2 }' "$D/truth")" ]
}

@test "the document follows its schema, and the table has each class" {
    count 1 mpich "$D/calls.mpich" "$D/file"
    "$BATS_TEST_DIRNAME/../cli/schema.py" validate "$BATS_TEST_DIRNAME/../../doc/job.schema.json" "$D/json"
    rm -f "$D/file"
    jobio run --mpi --output "$D/text" -- timeout 120 mpirun.mpich -n 1 "$D/calls.mpich" "$D/file"
    cat "$D/text"
    grep -E '^MPI-IO +calls +bytes' "$D/text"
    grep -E '^write_all_split +4 ' "$D/text"
}
