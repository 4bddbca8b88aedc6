#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# `jobio run --mpi` on the file systems of a guest: the calls of MPI-IO against programs that know them, or against
# an interposition library, and who read and wrote what on each mount against strace of the same run. Not each
# combination: each value of a dimension meets each of another one. As root in a guest (make check-mpi-guest);
# BUILD: the build directory, where tests/mpi/programs has the programs.

bats_require_minimum_version 1.5.0
load sums.bash
. "$BATS_TEST_DIRNAME/../causes/causes.bash"

# MPI, program, and twice a file system and the number of ranks.
table() {
    cat << 'END'
mpich   calls             ext4:1   nfs:4
openmpi calls             tmpfs:2  nfs:8
mpich   fortran           tmpfs:8  nfs:2
openmpi fortran           ext4:4   tmpfs:1
mpich   fortran77         ext4:2   tmpfs:4
openmpi fortran77         nfs:1    ext4:8
mpich   fortran08         ext4:2   tmpfs:4
openmpi fortran08         nfs:1    ext4:8
mpich   hdf5-independent  nfs:8    tmpfs:1
openmpi hdf5-independent  ext4:2   nfs:4
mpich   hdf5-collective   ext4:8   nfs:1
openmpi hdf5-collective   tmpfs:4  nfs:2
mpich   hdf5-fortran      ext4:4   tmpfs:2
openmpi hdf5-fortran      ext4:1   nfs:8
mpich   collective        nfs:4    tmpfs:8
openmpi collective        ext4:2   tmpfs:1
END
}

setup_file() {
    [ -n "$JOBIO_GUEST" ] || { echo "makes mounts: in a guest only" >&2; return 1; }
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export PROGRAMS=$BUILD/tests/mpi/programs PATH=$BUILD:$PATH
    modprobe -a loop ext4
    ext4 ext4 256M /ext4
    mkdir /tmpfs
    mount -t tmpfs tmpfs /tmpfs
    nfs 3>&- 4>&- # of bats: its daemons would keep bats from ending
}

setup() {
    export T=$BATS_TEST_TMPDIR TRUTH=$BATS_TEST_TMPDIR/truth
}

TRACED=read,pread64,readv,preadv,preadv2,write,pwrite64,writev,pwritev,pwritev2,clone,clone3
BLOCKS=4 # of 1 MiB, of each rank of collective.c

# print_truth RANKS: of programs that do not print it
print_truth() {
    local n=$1
    case $program in
        fortran*) printf '%s\n' "open $n 0 0 0 0" "close $n 0 0 0 0" "write $((5 * n)) 0 $((5000 * n)) 0 0" \
            "write_all $((5 * n)) 0 0 $((5000 * n)) 0" "read $((5 * n)) 0 0 $((5000 * n)) 0" \
            "read_all $((5 * n)) 0 $((5000 * n)) 0 0" ;;
        collective) printf '%s\n' "open $n 0 0 0 0" "close $n 0 0 0 0" \
            "write_all $((BLOCKS * n)) 0 0 $((BLOCKS * n << 20)) 0" ;;
    esac
}

# run_program FILE-SYSTEM:RANKS: run $program of $mpi, and add its truth to $TRUTH; its reads
# and writes are in $T/FILE-SYSTEM.TID.
run_program() {
    local system=${1%:*} ranks=${1#*:} options=() command
    command=("$PROGRAMS/$program.$mpi" "/$system/file")
    [ "$mpi" = mpich ] || options=(--oversubscribe)
    case $program in
        collective) command+=(romio_cb_write enable "$BLOCKS") ;;
        hdf5-fortran) command=(env "LD_PRELOAD=$PROGRAMS/truth.$mpi" "${command[@]}") ;;
        hdf5-*) command=(env "LD_PRELOAD=$PROGRAMS/truth.$mpi" "$PROGRAMS/hdf5.$mpi" "/$system/file" "${program#hdf5-}") ;;
    esac
    strace -f -ff --seccomp-bpf -y -o "$T/$system" -e "trace=$TRACED" \
        timeout 300 "mpirun.$mpi" "${options[@]}" -n "$ranks" "${command[@]}" >> "$TRUTH"
    print_truth "$ranks" >> "$TRUTH"
    rm "/$system/file"
}

# traced FILE-SYSTEM read|write: "PROCESSES THREADS REQUESTS BYTES", by strace
traced() {
    awk -v file="</$1/" -v call="^p?$2" '
        { tid = FILENAME; sub(".*[.]", "", tid) }
        /^clone.*CLONE_THREAD/ { starter[$NF] = tid }
        $0 ~ call && index($1, file) && $NF ~ /^[0-9]+$/ { threads[tid]; requests++; bytes += $NF }
        END {
            for (t in threads) {
                for (p = t; p in starter; p = starter[p]);
                processes[p]
            }
            print length(processes), length(threads), requests + 0, bytes + 0
        }' "$T/$1".[0-9]*
}

# The same by jobio.
counted_requests() {
    jq -r --arg mount "/$1" --arg op "$2" --arg users "${2%e}ers" '.mounts[] | select(.mount == $mount)
        | "\(.[$users].processes // 0) \(.[$users].threads // 0) \(.ops[$op].requests // 0) \(.ops[$op].bytes // 0)"' \
        "$T/json"
}

# How many of N ranks write, if the program or its hint determines that: known_writers N.
known_writers() {
    case $program.$mpi in
        calls.* | fortran*) echo "$1" ;;
        collective.mpich) echo 1 ;;
    esac
}

# check_requests FILE-SYSTEM:RANKS
check_requests() {
    local op traced counted known
    for op in read write; do
        traced=$(traced "${1%:*}" $op) counted=$(counted_requests "${1%:*}" $op)
        echo "$1, $op: $counted; strace: $traced"
        [ "$counted" = "$traced" ]
    done
    known=$(known_writers "${1#*:}")
    [ "${traced%% *}" = "${known:-${traced%% *}}" ]
}

# On a slow machine programs can end before jobio has looked at them: their calls are counted all the same.
is_complete() {
    jq -c '.mpi.incomplete, .incomplete' "$T/json"
    jq -e '.complete and all(.mpi.incomplete[]; .cause == "programs-not-seen")' "$T/json"
}

# count RUN...: the document in $T/json, the truth in $TRUTH
count() {
    rm -f "$T"/*
    export -f run_program print_truth
    export mpi program BLOCKS TRACED
    # shellcheck disable=SC2016 # expanded there
    jobio run --mpi --json --output "$T/json" -- \
        bash -e -c 'for run; do run_program "$run"; done' - "$@" < /dev/null
}

# check_program PROGRAM: each line of the table that has it is one run of jobio
check_program() {
    local words runs run mpi program=$1
    while read -ra words; do
        [ "${words[1]}" = "$program" ] || continue
        echo "${words[@]}"
        mpi=${words[0]} runs=("${words[@]:2}")
        count "${runs[@]}"
        diff <(summed < "$TRUTH") <(counted "$T/json")
        is_complete
        for run in "${runs[@]}"; do
            check_requests "$run"
        done
    done < <(table)
}

@test "the table has each pair of values of two dimensions" {
    table | awk '
        { for (i = 3; i <= NF; i++) { split($i, run, ":"); print $1, $2, run[1], run[2] } }' > "$T/runs"
    for pair in 1,2 1,3 1,4 2,3 2,4 3,4; do
        cut -d ' ' -f "$pair" "$T/runs" | sort -u | awk -v pair="$pair" '
            { first[$1]; second[$2]; n++ }
            END { print pair, n; exit n != length(first) * length(second) }'
    done
}

@test "a command starts after the kernel has detached the programs of the run before" {
    # Meanwhile there is another process of jobio than that of the run, and returns of calls can be hidden.
    jobio run --mpi --output /dev/null -- true
    jobio run --mpi --output /dev/null -- pgrep -cx jobio > "$T/processes" 2> "$T/stderr"
    cat "$T/processes" "$T/stderr"
    [ "$(cat "$T/processes")" = 1 ]
    grep "waiting at most 60 s until an earlier run is detached" "$T/stderr"
}

@test "C: every class of functions is counted exactly" {
    check_program calls
}

@test "Fortran, module mpi: calls are counted exactly" {
    check_program fortran
}

@test "Fortran, mpif.h: calls are counted exactly" {
    check_program fortran77
}

@test "Fortran, module mpi_f08: calls are counted exactly" {
    check_program fortran08
}

@test "HDF5, independent: calls are counted exactly" {
    check_program hdf5-independent
}

@test "HDF5, collective: calls are counted exactly" {
    check_program hdf5-collective
}

@test "HDF5 from Fortran: calls are counted exactly" {
    check_program hdf5-fortran
}

@test "collective writes: calls, and the processes that write for all, are counted exactly" {
    check_program collective
}

# ROMIO locks what it reads and writes on NFS. The two ranks wait for each other, too.
@test "MPI-IO with locks on NFS waits as long as strace says" {
    local on=/nfs traces=/dev/jobio-traces # files there are not counted: strace writes while its programs wait
    load ../bpf/waits.bash
    mkdir $traces
    slow_nfs 200
    trace mpirun.mpich -n 2 "$PROGRAMS/collective.mpich" /nfs/file romio_cb_write disable 2 < /dev/null
    tc qdisc del dev lo root
    agree '[a-z0-9_]+' '.*'
    agree fcntl lock
    jq -e '.complete' "$T/report"
}
