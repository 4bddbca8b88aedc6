#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# jobio explain, against a store file. `sacct` is a script here, that prints what Slurm 22.05's prints,
# or misbehaves; tests/cluster uses the real one.

load cli.bash

setup_file() {
    "$JOBIO_BUILD/tests/cli/make_store" "$BATS_FILE_TMPDIR/jobio.db"
    export DB=$BATS_FILE_TMPDIR/jobio.db
}

teardown() {
    local pid
    for pid in $started; do kill "$pid" 2> /dev/null || :; done
}

# sacct_is SCRIPT: the body of a fake sacct
sacct_is() {
    mkdir -p "$BATS_TEST_TMPDIR/bin"
    printf '#!/bin/sh\n%s\n' "$1" > "$BATS_TEST_TMPDIR/bin/sacct"
    chmod 755 "$BATS_TEST_TMPDIR/bin/sacct"
    PATH=$BATS_TEST_TMPDIR/bin:${PATH#"$BATS_TEST_TMPDIR/bin:"}
}

# row NAME: the words of a row of the table
row() {
    grep "^$1 " <<< "$out" | tr -s ' '
}

# the last output as one line, without its line breaks
words() {
    tr -s ' \n' ' ' < "$BATS_TEST_TMPDIR/out"
}

@test "sacct next to the account, and the reasons for differences" {
    sacct_is 'echo "$*" > "'"$BATS_TEST_TMPDIR"'/asked"
        printf "123||\n123.batch|cpu=00:00:10,fs/disk=2097152000,mem=1|fs/disk=10485760\n123.0|fs/disk=1|\n"'
    split jobio --store "$DB" explain 123
    echo "$out"
    expect 0
    [ -z "$err" ]
    [[ $(cat "$BATS_TEST_TMPDIR/asked") == *"-P"*"--noconvert"*"-j 123"* ]]
    [[ $(row jobio) == "jobio 1000 MiB 10.0 MiB "* ]]
    [[ $(row sacct) == "sacct fs/disk 2.0 GiB 10.0 MiB "* ]]
    holds "$out" "1000 MiB more read than jobio" pipes "the job has ended"
    [ "$(wc -L <<< "$out")" -le 80 ]
    COLUMNS=40 split jobio --store "$DB" explain 123
    [ "$(wc -L <<< "$out")" -le 40 ]
}

@test "sacct that agrees" {
    sacct_is 'echo "123.batch|fs/disk=1048580096|fs/disk=10485760"'
    split jobio --store "$DB" explain 123
    expect 0
    holds "$out" "sacct fs/disk: as much as jobio" "It agrees"
}

@test "sacct that is missing, fails, does not know the job, or never ends" {
    while IFS='@' read -r script want; do
        sacct_is "$script"
        split jobio --store "$DB" explain 123
        echo "$script: $out"
        expect 0
        printable "$BATS_TEST_TMPDIR/out"
        [[ $(words) == *"sacct fs/disk - - $want"* ]]
    done << 'END'
true@Slurm's accounting does not know this job
echo "123||"; echo "123.batch||"@Slurm gathered nothing
printf "sacct: error: no \033way\n" >&2; exit 1@sacct failed: no ?way
echo "sacct: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host" >&2; exit 1@not reachable from here
exit 1@sacct failed
yes@the answer of sacct is too long
END
    mkdir "$BATS_TEST_TMPDIR/alone"
    ln -s "$JOBIO_BUILD/jobio" "$BATS_TEST_TMPDIR/alone"
    split env PATH="$BATS_TEST_TMPDIR/alone" "$JOBIO_BUILD/jobio" --store "$DB" explain 123
    expect 0
    holds "$(words)" "there is no sacct"
    sacct_is 'sleep 1000 & echo $! > "'"$BATS_TEST_TMPDIR"'/sleep"; wait'
    split jobio --store "$DB" explain 123
    expect 0
    holds "$(words)" "did not answer within"
    until_true 10 eval '! kill -0 "$(cat "$BATS_TEST_TMPDIR/sleep")" 2> /dev/null'
}

# There is no cgroup of Slurm here: the job is found by its environment variables.
@test "a running job: the I/O of its processes in /proc" {
    sacct_is true
    head -c 3145728 /dev/zero > "$BATS_TEST_TMPDIR/data"
    SLURM_JOB_ID=124 sh -c 'cat "$1" > "$1.out"; exec sleep 1000' x "$BATS_TEST_TMPDIR/data" 3>&- &
    started=$!
    until_true 20 cmp -s "$BATS_TEST_TMPDIR/data" "$BATS_TEST_TMPDIR/data.out"
    until_true 20 eval "grep -q sleep /proc/$started/comm"
    split jobio --store "$DB" explain 124
    echo "$out"
    expect 0
    # cat, which the shell waited for, and the reads of the program loader
    [[ $(row "/proc io, calls") == "/proc io, calls 3.0 MiB 3.0 MiB "* ]]
    holds "$(words)" "/proc io, disk" "children that they waited for" "does not know this job" \
        "not mounted on this node"
}

@test "a job that does not exist, and an invalid number" {
    split jobio --store "$DB" explain 999
    expect 1
    one_line "no such job: 999"
    split jobio --store "$DB" explain
    expect 2
    one_line "jobio explain 123"
    split jobio --store "$DB" explain x
    expect 2
    one_line '"x"'
    split jobio --store "$DB" explain 123.batch
    expect 2
    one_line "is a step"
}
