#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The command against a real store file, without a jobiod.

load cli.bash

setup_file() {
    "$JOBIO_BUILD/tests/cli/make_store" "$BATS_FILE_TMPDIR/jobio.db"
    export DB=$BATS_FILE_TMPDIR/jobio.db
}

# The name of a library in --version --verbose, of its file name without lib and version.
name_of() {
    case $1 in
        sqlite3) echo sqlite ;;
        z) echo zlib ;;
        json-c | inih) echo "$1" ;;
        ncursesw | tinfo) echo ncurses ;;
        c | m) echo glibc ;;
        *) echo "lib$1" ;;
    esac
}

@test "--version --verbose lists each library that the program is linked with" {
    local program library libraries n=0
    command -v readelf > /dev/null || skip "needs readelf"
    for program in jobio jobiod; do
        split "$JOBIO_BUILD/$program" --version --verbose
        expect 0
        [[ $out == "$program "[0-9]* ]]
        libraries=$(readelf -d "$JOBIO_BUILD/$program" |
            sed -n 's/.*(NEEDED).*\[lib\([a-z0-9-]*\)\.so.*/\1/p')
        for library in $libraries; do
            [[ $library != *san ]] || continue # of a compiler's sanitizer
            # Both versions, or the file that it runs with.
            grep -qE "^$(name_of "$library") +[0-9][^ ]* +[^ -]" <<< "$out" ||
                { echo "$program: no line for $library in: $out"; false; }
            n=$((n + 1))
        done
        grep -qE '^slurm headers +([0-9]+\.[0-9]+\.[0-9]+|none) ' <<< "$out"
        grep -qE "^BPF layout +$(sed -n 's/^#define JOBIO_LAYOUT //p' "$BATS_TEST_DIRNAME/../../bpf/records.h") " <<< "$out"
    done
    [ "$n" -ge 14 ]
    # What the programs load when they need it.
    for program in jobio jobiod; do
        split "$JOBIO_BUILD/$program" --version --verbose
        grep -E '^libcurl +[0-9][^ ]* +[0-9]' <<< "$out"
        grep -E '^libdw +([0-9][^ ]* +[0-9]|none +-$)' <<< "$out"
    done
    split "$JOBIO_BUILD/jobiod" --verbose
    expect 2
}

@test "version and help" {
    split jobio --version
    expect 0
    [[ $out == "jobio "[0-9]* ]]
    split jobio --verbose
    expect 2
    split jobio --help
    expect 0
    holds "$out" job history status run retire --socket
    [ "$(subcommands | wc -l)" -ge 6 ]
    for sub in $(subcommands); do
        split jobio help $sub
        expect 0
        holds "$out" "usage: jobio $sub" Examples: "Exit status:"
        help=$out
        split jobio $sub --help
        expect 0
        [ "$out" = "$help" ]
    done
}

@test "no help line is wider than a terminal of 100 columns" {
    for sub in $(subcommands); do
        [ "$(jobio help $sub | wc -L)" -le 100 ]
    done
    [ "$(jobio --help | wc -L)" -le 100 ]
}

@test "an invalid command line is reported in one line, status 2" {
    while IFS='|' read -r words want; do
        eval "split jobio $words"
        echo "jobio $words: $err"
        expect 2
        one_line "$want"
        [ -z "$out" ]
    done << 'END'
|jobio --help
nothing|unknown subcommand "nothing"
--nothing|unknown option "--nothing"
help nothing|unknown subcommand "nothing"
$'no\033[31mthing'|no?[31mthing
job|jobio job 123
job 1 2|jobio job 123
job 123_|is not a job ID
job 123_a|is not a job ID
job 123+1|is not a job ID
job 0|is not a job ID
job abc|is not a job ID
job 4294967296|is not a job ID
job 123 --nothing|jobio job --help
history 123|jobio job
advise|jobio advise 123
job 123 --json --csv|not both
history --json --csv|one of
history -P --csv|one of
advise 1 --dry-run|jobio advise 123
advise abc|is not a job ID
advise --dry-run -S never|-S
advise --dry-run -S now -E now-1days|is not after
history -S yesterdayish|-S
history -E 25:99|-E
history -S now -E now-1days|is not after
history --sort name|read, write, meta, wait
history --sort jobs|--sort
history --sort -|--sort
history --group colour|--group
history --group user -o JobID|no column JobID
history -s pending|use running (R)
history -j 12x|--jobs: "12x" is not a job
history -j 12_[1-|"12_[1-" is not a job
history -j 12_[3-1]|is not a job
history -j 12_[]|is not a job
history -j 12_[1,]|is not a job
history -j 12[1]|is not a job
history -j 12_[1]x|is not a job
history -N n[1-2000]|more than 1000 nodes
history -N n[|is not a node
history -u alice,,bob|an item is empty
history --name ''|--name
history -o JobID,Colour|--helpformat
history -o JobID%0|width
history -n 0|--limit
history -n -1|--limit
history -n0|--limit
history -p --json|one of
history --limit|requires an argument
histroy|did you mean "history"
history -o JobID,Wriet|did you mean "Write"
history --fromat JobID|did you mean "--format"
retire now|jobio retire --help
run|jobio run -- ls
run --interval 0 -- true|above 0
run --interval soon -- true|--interval
END
}

@test "job: the newest run of that number" {
    split jobio --store "$DB" job 123
    expect 0
    [ -z "$err" ]
    holds "$out" 123 /scratch 1.0GiB 10MiB "complete: 1/1 nodes"
    [ "$(wc -L <<< "$out")" -le 80 ]
    split jobio job 123 --full --store "$DB"
    expect 0
    holds "$out" /scratch open ENOENT
}

@test "job --json: one document, exact" {
    split jobio --store "$DB" job 123 --json
    expect 0
    [ "$(wc -l < "$BATS_TEST_TMPDIR/out")" = 1 ]
    [ "$(jq -r '.mounts[] | select(.mount == "/scratch").ops
        | [.read.bytes, .read.requests, .write.bytes, .open.requests, .open.errors, .open.errno.ENOENT]
        | join(" ")' <<< "$out")" = "1048576000 1000 10485760 5000 3 3" ]
    [ "$(jq -r '.version, .complete, .job.jobid, .job.restart, (has("steps"))' <<< "$out" | xargs)" = \
        "1 true 123 1 false" ]
}

@test "job --all: every run, newest first" {
    split jobio --store "$DB" job 123 --all --json
    expect 0
    [ "$(jq -c 'map(.job.restart)' <<< "$out")" = "[1,0]" ]
    split jobio --store "$DB" job 123 --all
    expect 0
    [ "$(grep -c '^$' <<< "$out")" -ge 1 ]
    [ "$(grep -c ^/scratch <<< "$out")" = 2 ]
    [ "$(grep -oE '^(Restart 1|First run), started 20[0-9-]{8}T[0-9:]{8}:$' <<< "$out" | cut -d, -f1 | xargs)" = \
        "Restart 1 First run" ]
    split jobio --store "$DB" job 123 --all --anonymous
    [ "$(grep -xE 'Restart 1:|First run:' <<< "$out" | xargs)" = "Restart 1: First run:" ]
    split jobio --store "$DB" job 123
    not grep -E '^(Restart|First run)' <<< "$out"
}

@test "job --json --steps: with the steps" {
    split jobio --store "$DB" job 123 --json --steps
    expect 0
    [ "$(jq -r '.steps | map(.step) | sort | join(" ")' <<< "$out")" = "0 batch" ]
}

@test "job --mpi: the calls of MPI-IO" {
    split jobio --store "$DB" job 123
    [[ $out != *MPI* ]]
    split jobio --store "$DB" job 123 --mpi
    expect 0
    [ "$(tail -n 4 <<< "$out")" = "
MPI-IO                   calls     bytes    ~size   errs     time      p50
write_all                  768  12.0 GiB   16 MiB      -   768 ms   1.0 ms
open                         3         -        -      -   3.0 ms   1.0 ms" ]
    for words in "" --mpi; do # once in the full summary
        split jobio --store "$DB" job 123 --full $words
        [ "$(grep -c '^MPI-IO' <<< "$out")" = 1 ]
    done
    split jobio --store "$DB" job 123.0 --mpi
    [ "$(grep -cE '^(write_all|open)  ' <<< "$out")" = 1 ]
    for words in --mpi "--mpi --full"; do
        split jobio --store "$DB" job 100 $words
        expect 0
        holds "$out" "MPI-IO: not counted"
    done
    split jobio --store "$DB" job 123 --json --steps
    [ "$(jq -c '[.mpi.complete, .mpi.calls.write_all.bytes, .mpi.calls.open.calls, (.steps[].mpi.calls | keys)]' <<< "$out")" = \
        '[true,12884901888,3,["write_all"],["open"]]' ]
    split jobio --store "$DB" job 100 --json
    [ "$(jq 'has("mpi")' <<< "$out")" = false ]
}

@test "job --stacks: which code waited" {
    split jobio --store "$DB" job 123 --stacks
    expect 0
    [ "$(tail -n 14 <<< "$out")" = "
waiting code: 768 calls of at least 1.0 ms took 3.0 s
     time   share    calls  thread, and its functions from the innermost one on
    2.7 s    96 %      600  ior
                              write (libc.so.6)
                              main (ior)
                              _start (ior)
   100 ms   3.6 %      100  ior
                              [ior+0x1f0]
                              main (ior)
                              _start (ior)
(no stack, because of the limit per second: 66 calls, 160 ms)
(no stack, because their process is of another user, or the process that unwinds
 them failed, was too slow or used up its CPU time: 2 calls, 40 ms)" ]
    split jobio --store "$DB" job 123 --stacks=folded
    expect 0
    [ "$out" = "ior;_start;main;write 2700000000
ior;_start;main;[ior+0x1f0] 100000000
[not sampled] 160000000
[not unwound] 40000000" ]
    split jobio --store "$DB" job 123
    [[ $out != *"waiting code"* ]]
    split jobio --store "$DB" job 123.batch --stacks
    expect 0
    holds "$out" "waiting code: not recorded"
    split jobio --store "$DB" job 123.batch --stacks=folded
    expect 1
    holds "$err" "not recorded"
}

@test "job --stacks --json: only if it is asked for" {
    split jobio --store "$DB" job 123 --json --steps --stacks
    expect 0
    [ "$(jq -c '.waiting_code | [.all.calls, .least_ns, .stacks[0].calls, .stacks[0].functions[-1]]' <<< "$out")" = \
        '[768,1000000,600,{"function":"write","file":"libc.so.6"}]' ]
    [ "$(jq -c '[.steps[] | has("waiting_code")] | sort' <<< "$out")" = "[false,true]" ]
    echo "$out" > "$BATS_TEST_TMPDIR/job"
    "$BATS_TEST_DIRNAME/schema.py" validate "$BATS_TEST_DIRNAME/../../doc/job.schema.json" "$BATS_TEST_TMPDIR/job"
    split jobio --store "$DB" job 123 --json --steps
    [ "$(jq -c '[has("waiting_code"), any(.steps[]; has("waiting_code"))]' <<< "$out")" = "[false,false]" ]
    for words in "--stacks=tree" "--stacks=folded --json" "--stacks --anonymous"; do
        split jobio --store "$DB" job 123 $words
        expect 2
    done
}

@test "job --block: the requests to disks" {
    split jobio --store "$DB" job 123
    [[ $out != *nvme0n1* ]]
    split jobio --store "$DB" job 123 --block
    expect 0
    [ "$(grep -A1 "^block requests" <<< "$out")" = \
"block requests             number     bytes   errs  ~queued  ~device      p99
nvme0n1 write                3072  12.0 GiB      -   1.0 ms   3.0 ms   4.2 ms" ]
    for words in "" --block; do # once in the full summary
        split jobio --store "$DB" job 123 --full $words
        [ "$(grep -c '^block requests' <<< "$out")" = 1 ]
    done
    split jobio --store "$DB" job 123.batch --block
    holds "$out" "block requests: none"
    split jobio --store "$DB" job 100 --block
    holds "$out" "block requests: not counted"
    split jobio --store "$DB" job 123 --json --steps
    [ "$(jq -c '[.block.complete, .block.devices[0].ops.write.bytes, (.steps[].block.devices | length)]' <<< "$out")" = \
        '[true,12884901888,1,0]' ]
    split jobio --store "$DB" job 100 --json
    [ "$(jq 'has("block")' <<< "$out")" = false ]
}

@test "job --mpi of one step: only what is missing from this step" {
    local db=$BATS_TEST_TMPDIR/jobio.db word
    cp "$DB" "$db"
    # Another node had a part of step 0, and did not count its MPI-IO.
    sqlite3 "$db" "CREATE TEMP TABLE part AS SELECT * FROM step
        WHERE step = 0 AND job_id = (SELECT id FROM job WHERE jobid = 123 AND restart = 1);
        UPDATE part SET id = (SELECT max(id) + 1 FROM step), node = 'node2', mpi_incomplete = NULL;
        INSERT INTO step SELECT * FROM part"
    for word in "123 1" "123.0 1" "123.batch 0"; do
        split jobio --store "$db" job "${word% *}" --json
        [ "$(jq '[.mpi.incomplete[] | select(.cause == "not-counted-on-node").count] | add // 0' <<< "$out")" = "${word#* }" ]
    done
}

@test "job --timeline: curves for every width and locale, and the numbers add up" {
    split jobio --store "$DB" job 123 --timeline
    expect 0
    holds "$out" "time line from" "all mounts"
    [ "$(wc -L <<< "$out")" -le 80 ]
    grep -qE '^  read .*█{20}.* 284 KiB/s$' <<< "$out"
    grep -qE '^  written  {40}.*███.* 14.2 KiB/s$' <<< "$out"
    split env COLUMNS=40 LC_ALL=C jobio --store "$DB" job 123 --timeline
    expect 0
    [ -z "$(LC_ALL=C grep -P '[^ -~]' <<< "$out")" ]
    [ "$(wc -L <<< "$out")" -le 40 ]
    grep -qE '^ read .*@{7}.* 284KiB/s$' <<< "$out"
    split jobio --store "$DB" job 123 --timeline --steps --json
    expect 0
    jq -e '(.mounts[], .steps[].mounts[]) | (.timeline.read_bytes | add // 0) == (.ops.read.bytes // 0)
        and (.timeline.write_bytes | add // 0) == (.ops.write.bytes // 0)
        and (.timeline.wait_ns | add // 0) == ([.ops[].time_ns] | add)' <<< "$out"
    [ "$(jq -c '[.mounts[].timeline.read_bytes | add]' <<< "$out")" = "[1048576000,4096]" ]
    split jobio --store "$DB" job 123 --json
    [ "$(jq '[.. | objects | select(has("timeline"))] | length' <<< "$out")" = 0 ]
}

@test "job: an unknown number is reported" {
    split jobio --store "$DB" job 999
    expect 1
    one_line "no such job: 999"
    [ -z "$out" ]
}

@test "job: a task of an array is found" {
    split jobio --store "$DB" job 140_2
    expect 0
    holds "$out" 140 /scratch
    [ "$(jobio --store "$DB" job 140_0 --json | jq -c '.job | [.jobid, .array_jobid, .array_task]')" = "[141,140,0]" ]
    [ "$(jobio --store "$DB" job 140 --json | jq -c '.job | [.jobid, .array_jobid, .array_task]')" = "[140,140,2]" ]
    [ "$(jobio --store "$DB" job 123 --json | jq -c '.job | has("array_jobid")')" = false ]
    [ "$(jobio --store "$DB" history -P -S now-50days -u dora -o JobID,JobIDRaw | tail -n +2 | sort | xargs)" = \
        "140_0|141 140_1|142 140_2|140" ]
    split jobio --store "$DB" job 140_3
    expect 1
    one_line "no such job: 140_3"
}

@test "job: lost events are reported" {
    split jobio --store "$DB" job 124
    expect 0
    holds "$out" "NOT complete" "42 events lost"
    [ "$(jobio --store "$DB" job 124 --json | jq -c '[.complete, .lost]')" = "[false,42]" ]
}

@test "malicious names do not reach the terminal" {
    for words in "job 124" "job 124 --full" "job 124 --json" "history" "history -P" "history --json"; do
        split jobio --store "$DB" $words
        expect 0
        printable "$BATS_TEST_TMPDIR/out"
    done
    [ "$(jobio --store "$DB" history -P -o JobID,JobName,User | grep ^124)" = '124|a?b?]0;evil??[31mred|mallory' ]
    # and JSON has all of it
    [ "$(jobio --store "$DB" history --json | jq -r '.[] | select(.jobid == 124).name' | od -An -tx1)" = \
        "$(printf 'a|b\033]0;evil\007\033[31mred\n' | od -An -tx1)" ]
}

@test "history: header, dashes, newest first, 80 columns" {
    split jobio --store "$DB" history
    expect 0
    [ -z "$err" ]
    [ "$(wc -L <<< "$out")" -le 80 ]
    [ "$(sed -n 1p <<< "$out" | tr -s ' ')" = " JobID User JobName Elapsed Read Write Meta Wait Exact" ]
    [[ $(sed -n 2p <<< "$out") =~ ^[-\ ]+$ ]]
    [ "$(tail -n +3 <<< "$out" | awk '{print $1}' | xargs)" = "124 125 123 123" ]
    [ "$(awk '$1 == 124 {print $NF}' <<< "$out")" = no ]
    [ "$(awk '$1 == 125 {print $NF}' <<< "$out")" = yes ]
}

@test "history -P: exact numbers" {
    split jobio --store "$DB" history -P -u alice -n 1 -o jobid,restart,user,READ,ReadReq,write,meta,MetaErr,Elapsed,LongestWait,Wait,State
    expect 0
    [ "$out" = "JobID|Restart|User|Read|ReadReq|Write|Meta|MetaErr|Elapsed|LongestWait|Wait|State
123|1|alice|1048580096|1001|10485760|5000|3|02:00:00|30.000000000|0.42|ended" ]
}

@test "history: user, times, limit and order" {
    list() { jobio --store "$DB" history -P -o JobID,Restart "$@" | tail -n +2 | tr '|' . | xargs; }
    [ "$(list -u alice)" = "123.1 123.0" ]
    [ "$(list -u 4102)" = "124.0" ]
    [ "$(list -u nobody-of-that-name)" = "" ]
    [ "$(list -S now-31days)" = "124.0 125.0 123.1 123.0 100.0" ]
    [ "$(list -S now-31days -E now-8days)" = "100.0" ]
    [ "$(list -S now-30minutes)" = "124.0" ]
    [ "$(list -n 2)" = "124.0 125.0" ]
    [ "$(list --sort read -n 1 | wc -w)" = 1 ]
    for by in read write meta wait; do
        [ "$(list --sort $by | wc -w)" = 4 ]
    done
}

@test "history: an empty result is not an error" {
    split jobio --store "$DB" history -u nobody-of-that-name
    expect 0
    [ "$(wc -l < "$BATS_TEST_TMPDIR/out")" = 2 ]
    split jobio --store "$DB" history -u nobody-of-that-name --json
    expect 0
    [ "$out" = "[]" ]
}

@test "history --helpformat lists every field, and each can be shown" {
    jobio history -e | while read -r field _; do
        jobio --store "$DB" history -o "$field" > /dev/null
    done
    [ "$(jobio history --helpformat | wc -l)" -gt 20 ]
}

@test "no jobiod: other users than root get one line that says what to start" {
    need_root
    # a copy that everybody can read
    folder=$(mktemp -d)
    chmod 755 "$folder"
    cp "$(command -v jobio)" "$folder/"
    for words in "job 123" history "status --json" retire; do
        split as_nobody "$folder/jobio" --socket "$folder/none" $words
        expect 1
        one_line "jobiod is not running" "systemctl start jobiod"
        [ -z "$out" ]
    done
    rm -r "$folder"
}

@test "no jobiod: the job's record in Slurm, if there is one" {
    need_root
    folder=$(mktemp -d)
    chmod 755 "$folder"
    cp "$(command -v jobio)" "$folder/"
    printf '#!/bin/sh\n[ "$*" = "--show 12_3" ] && exec echo "I/O summary: 1 node, 00:00:10"\nexit 1\n' > "$folder/record"
    printf '[report]\nrecord_program = %s\n' "$folder/record" > "$folder/conf"
    chmod 755 "$folder/record"
    chmod 644 "$folder/conf"
    split as_nobody "$folder/jobio" --socket "$folder/none" job 12_3 --config "$folder/conf"
    expect 0
    [ "$out" = "I/O summary: 1 node, 00:00:10" ]
    one_line "jobiod is not running here" "$folder/none" "this is the job's record in Slurm"
    for words in "12_4" "12_3 --json" "12_3 --csv" "12_3.batch" "12_3 --anonymous"; do
        split as_nobody "$folder/jobio" --socket "$folder/none" job $words --config "$folder/conf"
        expect 1
        one_line "jobiod is not running (no" "systemctl start jobiod"
        [ -z "$out" ]
    done
    rm -r "$folder"
}

@test "no jobiod: root reads the store, which is reported" {
    need_root
    split jobio job 123
    one_line_or_two=$(wc -l < "$BATS_TEST_TMPDIR/err")
    holds "$err" "jobiod is not running" "reading the store"
    # without a store: a second line, and status 1
    [ "$one_line_or_two" = 1 ] || expect 1
    split jobio status --json
    expect 1
    one_line "jobiod is not running"
    split jobio status
    expect 2
    [[ $out == "NOT COUNTING: jobiod is not running"* && -z $err ]]
    # 2 is the verdict "not counting"; a monitoring plugin reports 3 for its own faults
    for words in now --fulll "--full --json"; do
        split jobio status $words
        expect 3
        one_line "jobio status --help"
    done
}

@test "an invalid store and a missing one are reported" {
    echo "this is no database, and long enough to be seen as such by anybody who looks at it" \
        > "$BATS_TEST_TMPDIR/none.db"
    for words in "job 123" history; do
        split jobio --store "$BATS_TEST_TMPDIR/none.db" $words
        expect 1
        one_line none.db
        split jobio --store /nowhere/jobio.db $words
        expect 1
        one_line /nowhere/jobio.db
    done
}

@test "reading does not change the store" {
    cp "$DB" "$BATS_TEST_TMPDIR/copy.db"
    before=$(sha256sum < "$BATS_TEST_TMPDIR/copy.db")
    jobio --store "$BATS_TEST_TMPDIR/copy.db" history > /dev/null
    [ "$(sha256sum < "$BATS_TEST_TMPDIR/copy.db")" = "$before" ]
}

@test "a reader that exits early is not an error; a full disk is" {
    status=0
    (trap '' PIPE; jobio --store "$DB" history; echo $? > "$BATS_TEST_TMPDIR/status") \
        2> "$BATS_TEST_TMPDIR/err" | true
    [ "$(cat "$BATS_TEST_TMPDIR/status")" = 0 ]
    [ ! -s "$BATS_TEST_TMPDIR/err" ]
    split bash -c 'jobio --store "$DB" history > /dev/full'
    expect 1
    one_line "No space left"
}

@test "advise: the notes for a job, and for all jobs" {
    cat > "$BATS_TEST_TMPDIR/rules.conf" << 'END'
[links]
prefix = https://docs.example/io#
[all-read]
of = job
when = read_requests > 0
lost = 0.25
text = It read {read_bytes:bytes}.
link = read
[never]
when = 0
text = x
END
    export JOBIO_ADVICE=$BATS_TEST_TMPDIR
    # 123 waited 30 s of 2 hours: too little for a note; 100 and its first run waited half of their time
    split jobio --store "$DB" advise 123
    expect 0
    [ "$out" = "no advice: I/O was not the bottleneck (it took 0.4 % of the run time)" ]
    split jobio --store "$DB" advise --dry-run -S now-31days
    expect 0
    holds "$out" "all-read                2     50 %      00:00:30" "no matches: never" \
        "of 4 finished jobs would have advice"
    COLUMNS=40 split jobio --store "$DB" advise --dry-run -S now-31days
    expect 0
    [ "$(wc -L <<< "$out")" -le 40 ]
    split jobio --store "$DB" advise --dry-run -S now-31days --json
    expect 0
    [ "$(jq -c '[.jobs, (.rules[] | [.rule, .jobs])]' <<< "$out")" = '[4,["all-read",2],["never",0]]' ]
    jq -e '.rules[0].lost_s == 30' <<< "$out"
    # a number that another user's job has, too
    cp "$DB" "$BATS_TEST_TMPDIR/two.db"
    sqlite3 "$BATS_TEST_TMPDIR/two.db" "UPDATE job SET jobid = 123, restart = 0, holder = 1 WHERE jobid = 125"
    for user in alice:2 root:1; do
        split jobio --store "$BATS_TEST_TMPDIR/two.db" advise --dry-run -u ${user%:*} --json -S now-7days
        expect 0
        [ "$(jq .jobs <<< "$out")" = "${user#*:}" ] || { echo "$user: $out"; false; }
    done
    split jobio --store "$DB" advise 125
    expect 0
    holds "$out" "It read 1000 MiB. https://docs.example/io#read (rule all-read)"
    split jobio --store "$DB" job 125
    expect 0
    holds "$out" "note: It read 1000 MiB. https://docs.example/io#read"
    [ "$(wc -l <<< "$out")" -le 12 ]
    split jobio --store "$DB" advise 125 --fields
    expect 0
    holds "$out" "mount = '/scratch'" "read_bytes = 1048576000" "# of = job"
}

@test "a job on two nodes: its summary has the notes of advise" {
    local db=$BATS_TEST_TMPDIR/two.db
    mkdir "$BATS_TEST_TMPDIR/rules"
    printf '[even]\nof = job\nlevel = error\nwhen = nodes_even > 0\ntext = even {nodes_even}\n' \
        > "$BATS_TEST_TMPDIR/rules/1.conf"
    "$JOBIO_BUILD/tests/cli/make_store" "$db"
    sqlite3 "$db" "UPDATE job SET nodes_expected = 2, nodes_reported = 2 WHERE jobid = 100;
        UPDATE step SET node = 'node2' WHERE id = (SELECT max(s.id) FROM step AS s
            JOIN job AS j ON j.id = s.job_id WHERE j.jobid = 100)"
    export JOBIO_ADVICE=$BATS_TEST_TMPDIR/rules
    split jobio --store "$db" advise 100
    expect 0
    holds "$out" "error: even 2 (rule even)"
    split jobio --store "$db" job 100
    expect 0
    holds "$out" "error: even 2"
}

@test "advise: an invalid rule is reported with file and line, the others work, status 1" {
    printf '[wrong]\nwhen = nothing_known > 1\ntext = x\n[right]\nof = job\nwhen = 1\ntext = y\n' \
        > "$BATS_TEST_TMPDIR/rules.conf"
    split jobio --store "$DB" advise 125 --rules "$BATS_TEST_TMPDIR/rules.conf"
    expect 1
    one_line "rules.conf:1: [wrong] when = nothing_known > 1"
    holds "$out" "note: y (rule right)"
    split jobio --store "$DB" advise 125 --rules "$BATS_TEST_TMPDIR/none.conf"
    expect 1
    one_line "none.conf"
    split jobio --store "$DB" advise 999
    expect 1
    one_line "no such job: 999"
}

# Commands that need a jobiod are in daemon.bats and top.bats.
@test "every command in the README works" {
    cd "$BATS_TEST_TMPDIR"
    sed -n '/^## Use it/,/^## What/s/^    jobio \([^#]*\).*/\1/p' "$BATS_TEST_DIRNAME/../../README.md" \
        > commands
    [ "$(wc -l < commands)" -ge 12 ]
    grep -vE '^(top|status|run)' commands | while read -r words; do
        echo "jobio $words"
        split jobio --store "$DB" $words
        expect 0
    done
}
