#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# jobio compare, trend and array against a store file. The jobs 200 to 219 are runs of one name; from
# 217 on they waited 400 s of 1,300 s instead of 20 s of 1,000 s (tests/cli/make_store.c).

load cli.bash

setup_file() {
    "$JOBIO_BUILD/tests/cli/make_store" "$BATS_FILE_TMPDIR/jobio.db"
    export DB=$BATS_FILE_TMPDIR/jobio.db
}

@test "compare: two jobs side by side, and the cause" {
    split jobio --store "$DB" compare 216 217
    expect 0
    [ -z "$err" ]
    [ "$(sed -n 1p <<< "$out" | xargs)" = "216 217 change" ]
    holds "$(tr -s ' ' <<< "$out")" "run time 00:16:40 00:21:40 1.3x more" "waiting 2.0 % 31 % +29 pts" \
        "/home (nfs4)" " metadata - 50.0 k new" "read 1000 MiB 1000 MiB same"
    holds "$(tr '\n' ' ' <<< "$out")" "Job 217 waited longer for I/O: 400 s (31 % of its run time), job 216" \
        " 20 s (2.0 %). It made 50.0 k metadata calls on /home, where the other did nothing."
    [ "$(wc -L <<< "$out")" -le 80 ]
    # In the other order the sentence is about the same job.
    holds "$(jobio --store "$DB" compare 217 216)" "Job 217 waited longer for I/O: 400 s"
    COLUMNS=40 split jobio --store "$DB" compare 216 217
    expect 0
    [ "$(wc -L <<< "$out")" -le 40 ]
}

@test "compare: one job beside the median of the runs before" {
    split jobio --store "$DB" compare 217
    expect 0
    holds "$(tr '\n' ' ' <<< "$out")" "median of 17" "the usual run 20 s (2.0 %)"
    split jobio --store "$DB" compare 217 --json
    follows compare <<< "$out"
    jq -e '[.a.runs, (.a.jobs | length), .a.jobs[0], .a.elapsed_s, .a.waiting, .b.runs, .b.job.jobid,
        .b.mounts[0].mount, .b.mounts[0].meta.requests] == [17, 17, 200, 1000, 0.02, 1, 217, "/home", 50000]' <<< "$out"
    split jobio --store "$DB" compare 201
    expect 0
    holds "$out" "the run before waited 20 s for it, job 201 20 s"
    split jobio --store "$DB" compare 200
    expect 1
    one_line 'no earlier run of "train, \ v2" by this user'
}

@test "compare, trend: runs with the same number are distinguished" {
    split jobio --store "$DB" compare 123
    expect 0
    [ "$(sed -n 1p <<< "$out" | tr -s ' ')" = " 123 123 r1 change" ]
    holds "$(tr '\n' ' ' <<< "$out")" "the run before waited 30 s for it, job 123 (restart 1) 30 s"
    split jobio --store "$DB" trend -n simulate
    expect 0
    [ "$(grep -oE '^ *123( r1)? ' <<< "$out" | xargs)" = "123 123 r1" ]
    COLUMNS=40 split jobio --store "$DB" trend -n simulate
    [ "$(grep -oE '^ *123( r1)? ' <<< "$out" | xargs)" = "123 123 r1" ]
    [ "$(wc -L <<< "$out")" -le 40 ]
}

@test "compare: tasks of an array, and invalid arguments" {
    split jobio --store "$DB" compare 140_0 140_2 --json
    expect 0
    follows compare <<< "$out"
    [ "$(jq -c '[.a.job.array_task, .b.job.array_task]' <<< "$out")" = "[0,2]" ]
    split jobio --store "$DB" compare 140_0 999
    expect 1
    one_line "no such job: 999"
    for words in "" "1 2 3" "x" "123 y"; do
        split jobio --store "$DB" compare $words
        expect 2
        one_line compare:
    done
}

@test "compare: an incomplete account is marked, and names are made safe" {
    split jobio --store "$DB" compare 123 124
    expect 0
    printable "$BATS_TEST_TMPDIR/out"
    holds "$out" "The account of job 124 is incomplete"
    split jobio --store "$DB" compare 124
    expect 1
    printable "$BATS_TEST_TMPDIR/err"
    one_line 'no earlier run of "a|b?]0;evil'
}

@test "trend: a line per run, and the start of the change" {
    split jobio --store "$DB" trend -n 'train, \ v2'
    expect 0
    [ "$(grep -c '^ *2[01][0-9] ' <<< "$out")" = 20 ]
    [ "$(grep '^ *216 ' <<< "$out" | tr -s ' ' | cut -d' ' -f5-)" = "00:16:40 1.0GiB 10MiB 5000 2% 1.0x 1.0x" ]
    [ "$(grep '^ *219 ' <<< "$out" | tr -s ' ' | cut -d' ' -f5-)" = "00:21:40 1.0GiB 10MiB 55k 31% 1.3x 20x" ]
    holds "$(tr '\n' ' ' <<< "$out")" \
        "The last 3 runs waited 20x longer for I/O than the 17 before, mostly metadata on /home, and ran 1.3x" \
        "▁▁▁███  2.0 % to 31 %"
    [ "$(wc -L <<< "$out")" -le 80 ]
    split env LC_ALL=C jobio --store "$DB" trend -n 'train, \ v2'
    holds "$out" "___###  2.0 % to 31 %"
    not env LC_ALL=C grep -qP '[\x80-\xff]' "$BATS_TEST_TMPDIR/out"
    COLUMNS=40 split jobio --store "$DB" trend -n 'train, \ v2'
    [ "$(wc -L <<< "$out")" -le 40 ]
}

@test "trend: limits by number, user and time" {
    split jobio --store "$DB" trend -n 'train, \ v2' -N 6 --json
    expect 0
    follows trend <<< "$out"
    [ "$(jq -c '[.name, (.runs | length), .runs[0].jobid, (.runs[5] | .wait_ratio, .elapsed_ratio | . * 1000 | round)]' <<< "$out")" = \
        '["train, \\ v2",6,214,20000,1300]' ]
    [ "$(jq -r .text <<< "$out")" = "The last 2 runs waited 20x longer for I/O than the 4 before, mostly metadata on /home, and ran 1.3x longer." ]
    split jobio --store "$DB" trend -n 'train, \ v2' -u alice
    expect 1
    one_line 'no finished run of "train, \ v2" is known here'
    [ "$(jobio --store "$DB" trend -n 'train, \ v2' -u 4104 -N 5 --json | jq '.runs | length')" = 5 ]
    [ "$(jobio --store "$DB" trend -n often --json | jq -r .text)" = \
        "No change in 20 runs: typically 01:00:00, 0.8 % of it waiting for I/O." ]
    split jobio --store "$DB" trend -n simulate
    expect 0
    holds "$out" "2 runs: a trend needs at least 5."
    [ "$(jobio --store "$DB" trend -n simulate -S now-3hours --json | jq '.runs | length')" = 1 ]
    for words in "" "-n" "-n ''" "-n x -N 0" "-n x -N 201" "-n x -S soon" "x"; do
        eval "split jobio --store '$DB' trend $words"
        expect 2
        one_line trend:
    done
}

@test "array: the sum of the tasks, and the outlier" {
    split jobio --store "$DB" array 140
    expect 0
    [ -z "$err" ]
    holds "$(tr -s ' ' <<< "$out")" 'Array 140 "sweep" of dora: 3 tasks, complete' \
        "run time 00:10:00 00:01:40 00:03:20 00:05:00 2" "waiting 15 % 10 % 15 % 30 % 0" \
        "metadata 15.0 k 5000 5000 5000 -"
    # one table: below each measure the mounts with the most of it
    [ "$(grep -c 'all tasks' <<< "$out")" = 1 ]
    [ "$(grep -c '^$' <<< "$out")" = 0 ]
    holds "$(tr -s ' ' <<< "$out" | tr '\n' ';')" "%;read 2.9 GiB 1000 MiB 1000 MiB 1000 MiB -; /scratch 2.9 GiB; / 12.0 KiB;written" \
        "metadata 15.0 k 5000 5000 5000 -; /scratch 15.0 k;errors"
    holds "$(tr '\n' ' ' <<< "$out")" \
        "Task 0 (job 141) waited longest for I/O: 30 % of its run time, the median task 15 %; mostly metadata on /scratch."
    [ "$(wc -L <<< "$out")" -le 80 ]
    COLUMNS=40 split jobio --store "$DB" array 140
    expect 0
    [ "$(wc -L <<< "$out")" -le 40 ]
}

@test "array: --json and --csv" {
    split jobio --store "$DB" array 140 --csv
    expect 0
    [ "$(tr '\r' '|' <<< "$out")" = "Task,JobIDRaw,State,Exact,Elapsed,Wait,Read,Write,Meta,Errors|
0,141,ended,yes,00:01:40,30.00,1048580096,10485760,5000,3|
1,142,ended,yes,00:03:20,15.00,1048580096,10485760,5000,3|
2,140,ended,yes,00:05:00,10.00,1048580096,10485760,5000,3|" ]
    split jobio --store "$DB" array 140 --json
    expect 0
    follows array <<< "$out"
    [ "$(jq -c '[.array_jobid, (.tasks | length), .measures.read_bytes.sum, .measures.waiting.max_task,
        .slowest_task, has("failing_task"), .sum.mounts[0].meta.requests]' <<< "$out")" = \
        '[140,3,3145740288,0,0,false,15000]' ]
}

@test "array: more tasks than in one answer" {
    local n=2345 db=$BATS_TEST_TMPDIR/jobio.db
    "$JOBIO_BUILD/tests/cli/make_store" "$db" $n
    split jobio --store "$db" array 300 --json
    expect 0
    [ -z "$err" ]
    jq -e --argjson n $n '[[.tasks[].task] == [range($n)], .measures.read_bytes.sum, .sum.mounts[0].meta.requests,
        .sum.complete, .measures.elapsed_s.sum, .measures.waiting.median, .slowest_task] ==
        [true, $n * 1048580096, $n * 5000, true, $n * 100, 0.3, $n - 2]' <<< "$out"
    split jobio --store "$db" array 300
    holds "$out" "$n tasks, complete"
}

@test "array: not an array" {
    split jobio --store "$DB" array 123
    expect 1
    one_line "no such array: 123 (one job: 'jobio job 123')"
    for words in "" "1 2" "140_1" "x" "140 --json --csv"; do
        split jobio --store "$DB" array $words
        expect 2
        one_line array:
    done
}
