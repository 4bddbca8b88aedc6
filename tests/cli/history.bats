#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# jobio history: filters, columns and formats, and what is written to a terminal.

load cli.bash

setup_file() {
    "$JOBIO_BUILD/tests/cli/make_store" "$BATS_FILE_TMPDIR/jobio.db"
    export DB=$BATS_FILE_TMPDIR/jobio.db
}

history() {
    jobio --store "$DB" history "$@"
}

# list OPTION...: number.restart of each job, on one line
list() {
    history -P -o JobIDRaw,Restart "$@" | tail -n +2 | tr '|' . | xargs
}

# sacct's states: also lists, codes and names
@test "filters: how Slurm ended the jobs" {
    [ "$(list -s F)" = 125.0 ]
    [ "$(list -s failed,RQ)" = "125.0 123.0" ]
    [ "$(list -s F,R)" = "124.0 125.0" ]
    [ "$(list -s F,ended)" = "125.0 123.1 123.0" ]
    [ "$(list -s unknown)" = 123.1 ]
    [ "$(history -P -s F,RQ -o JobIDRaw,State,ExitCode 2> /dev/null | xargs)" = "JobIDRaw|State|ExitCode 125|FAILED|3:0 123|REQUEUED|" ]
    split history --json -s F
    [ "$(jq -c '.[] | [.jobid, .ended, .slurm_state, .exit_code, .exit_signal]' <<< "$out")" = '[125,true,"FAILED",3,0]' ]
    one_line "how Slurm ended 1 more job is not known: -s unknown lists it"
    # the note counts what the other conditions select
    split history -P -o JobIDRaw -s F -u root
    [ "$out$err" = $'JobIDRaw\n125' ]
    split history -P -o JobIDRaw -s RQ --group user -u alice
    [ "$status" = 2 ]
    split history -P -s RQ --group user -o User,Jobs
    [ "$out" = $'User|Jobs\nalice|1' ]
    one_line "1 more job"
    # a job of which it is known is not counted
    split history -P -o JobIDRaw -s CA -j 125
    [ "$out$err" = JobIDRaw ]
}

@test "filters: states that jobio cannot have are explained" {
    split history -s PD
    expect 2
    one_line '"PD": jobio does not distinguish jobs that have not ended: use running (R)'
    split history -s F,broken
    expect 2
    one_line '"broken": use running (R), ended, or states of Slurm'
}

# on_terminal COLUMNS LINES COMMAND: the output on a terminal of that size, with \n only
on_terminal() {
    script -qec "stty cols $1 rows $2; $3" /dev/null < /dev/null | tr -d '\r'
}

@test "filters: users, accounts, partitions, names, numbers, state" {
    [ "$(list -u alice)" = "123.1 123.0" ]
    [ "$(list -u alice,root)" = "125.0 123.1 123.0" ]
    [ "$(list -u 4102,root)" = "124.0 125.0" ]
    [ "$(list -A physics -u alice)" = "123.1 123.0" ]
    [ "$(list -A chemistry)" = "" ]
    [ "$(list -r batch,debug -u mallory)" = "124.0" ]
    [ "$(list -r debug)" = "" ]
    [ "$(list --name backup,simulate)" = "125.0 123.1 123.0" ]
    [ "$(list -s running)" = "124.0" ]
    [ "$(list -s R)" = "124.0" ]
    [ "$(list --state ended)" = "125.0 123.1 123.0" ]
    [ "$(list -s CD -u mallory)" = "" ]
    # numbers select jobs of all times, unless a time is given
    [ "$(list -j 100,125)" = "125.0 100.0" ]
    [ "$(list -j 100,125 -S now-1days)" = "125.0" ]
    # as in sacct: the tasks of an array, some of them, and a step selects its job
    [ "$(list -j 140)" = "140.0 142.0 141.0" ]
    [ "$(list -j 140_0)" = "141.0" ]
    [ "$(list -j '140_[0-1],100')" = "100.0 142.0 141.0" ]
    [ "$(list -j '140_[0,2].batch')" = "140.0 141.0" ]
    [ "$(list -j 141)" = "141.0" ]
    [ "$(list -j 140_3)" = "" ]
    [ "$(list -j 100 -j 125.batch,123.0)" = "125.0 123.1 123.0 100.0" ]
    [ "$(list -j 140 -u alice)" = "" ]
    [ "$(history -j 140 --group user -P -o User,Jobs | tail -1)" = "dora|3" ]
    [ "$(list -N node1 -u alice)" = "123.1 123.0" ]
    [ "$(list -N 'other,node[0-2]' -j 100)" = "100.0" ]
    [ "$(list -N node2)" = "" ]
    [ "$(history -N node2 --group user -P)" = "$(history -u nobody1 --group user -P)" ]
    split history -j 999
    expect 0
    one_line "no matching jobs in this period"
}

@test "the habits of sacct: -X -a -n -p -l, and -n with a number is --limit" {
    [ "$(history -X -a -P)" = "$(history -P)" ]
    [ "$(history -nP)" = "$(history -P | tail -n +2)" ]
    [ "$(history --noheader)" = "$(history | tail -n +3)" ]
    [ "$(history --noheader --csv)" = "$(history --csv | tail -n +2)" ]
    [ "$(history -p)" = "$(history -P | sed 's/$/|/')" ]
    [ "$(history -lP | head -1 | tr '|' '\n')" = "$(history -e | cut -d' ' -f1)" ]
    [ "$(history -l --group user -P -n | wc -l)" = "$(history --group user -P -n | wc -l)" ]
    for limit in '-n 1' -n1 '--limit 1' --limit=1; do
        [ "$(history -P $limit)" = "$(history -P | head -2)" ]
    done
    [ "$(history -n -P -n 1)" = "$(history -P | sed -n 2p)" ]
}

@test "--sort: the order of the rows" {
    [ "$(list --sort -time)" = "123.0 123.1 125.0 124.0" ]
    [ "$(list --sort=-time -n 1)" = "123.0" ]
    [ "$(list --sort elapsed -n 2)" = "123.1 124.0" ]
    [ "$(list --sort relapsed -n 2)" = "123.0 125.0" ]
    [ "$(list --sort errors)" = "124.0 125.0 123.1 123.0" ]
    # the sort column is shown; the columns for programs do not change
    for by in wait:WaitTime errors:Errors; do
        split history --sort ${by%:*}
        holds "$(head -1 <<< "$out")" " ${by#*:} " " Wait "
        [ "$(wc -L <<< "$out")" -le 80 ]
        [ "$(history --sort ${by%:*} -P | head -1)" = "$(history -P | head -1)" ]
    done
}

@test "--mount: only jobs that used the mount, and their I/O on it" {
    split history --mount / -u alice
    expect 0
    [ "$(head -1 <<< "$out")" = "I/O on / only" ]
    holds "$out" "4.0 KiB" "0 B"
    [ "$(history --mount / -P -u alice -n 1 -o Mount,Read,ReadReq,Write,Meta,WaitTime | tail -1)" = \
        "/|4096|1|0|0|0.001000000" ]
    [ "$(history --mount /,/scratch -P -u alice -n 1 -o Mount,Read,Meta | tail -1)" = \
        "/scratch,/|1048580096|5000" ]
    [ "$(list --mount /nowhere)" = "" ]
    [ "$(history --mount / --csv | head -1 | tr -d '\r')" = \
        JobID,User,JobName,Elapsed,Read,Write,Meta,Wait,Exact,Mount ]
    # the parts add up to the sum
    [ "$(history --json -n 1 | jq '.[0].wait_ns')" = \
        $(($(history --json -n 1 --mount / | jq '.[0].wait_ns') + $(history --json -n 1 --mount /scratch | jq '.[0].wait_ns'))) ]
}

@test "--group: sums" {
    [ "$(history --group user -P)" = "User|Jobs|Elapsed|Read|Write|Meta|Errors|WaitTime
alice|2|02:01:00|2097160192|20971520|10000|6|62.042000000
mallory|1|01:00:00|1048580096|10485760|5000|3|31.021000000
root|1|00:01:00|1048580096|10485760|5000|3|31.021000000" ]
    [ "$(history --group user --sort elapsed -P -o User | xargs)" = "User alice mallory root" ]
    [ "$(history --group user --sort -jobs -P -o User,Jobs -n 2| xargs)" = "User|Jobs mallory|1 root|1" ]
    [ "$(history --group mount -P -o Mount,Jobs,Read,Write | xargs)" = \
        "Mount|Jobs|Read|Write /scratch|4|4194304000|41943040 /|4|16384|0" ]
    [ "$(history --group user --mount / -P -o User,Read | xargs)" = "User|Read alice|8192 mallory|4096 root|4096" ]
    [ "$(history --group name -P -o JobName,Jobs -u alice,root | xargs)" = "JobName|Jobs simulate|2 backup|1" ]
    [ "$(history --group account -P -o Account,Jobs | xargs)" = "Account|Jobs physics|4" ]
    [ "$(history --group partition --json | jq -c '.[] | [.partition, .jobs, .read.bytes]')" = '["batch",4,4194320384]' ]
    # all days have all jobs, the latest day first
    [ $(($(history --group day -S now-250days -P -o Jobs | tail -n +2 | paste -sd+))) = "$(list -S now-250days | wc -w)" ]
    history --group day -S now-250days -P -o Day | tail -n +2 | sort -rc
}

@test "--csv: RFC 4180, without formulas for a spreadsheet" {
    history --csv -o JobIDRaw,JobName,Read > "$BATS_TEST_TMPDIR/csv"
    [ "$(head -2 "$BATS_TEST_TMPDIR/csv" | od -An -c | grep -c '\\r')" -ge 1 ]
    python3 - "$BATS_TEST_TMPDIR/csv" << 'END'
import csv, sys
with open(sys.argv[1], newline='') as f:
    text = f.read()
    assert text.count('\r\n') == text.count('\n') == 5, repr(text)
rows = list(csv.reader(open(sys.argv[1], newline=''), strict=True))
assert rows[0] == ['JobIDRaw', 'JobName', 'Read'], rows
assert rows[1] == ['124', 'a|b?]0;evil??[31mred', '1048580096'], rows
END
    cp "$DB" "$BATS_TEST_TMPDIR/evil.db"
    sqlite3 "$BATS_TEST_TMPDIR/evil.db" "UPDATE job SET name = '=cmd|'' /C calc''!A0,\"x\"' || char(10) || 'y' WHERE jobid = 125"
    jobio --store "$BATS_TEST_TMPDIR/evil.db" history -j 125 --csv -o JobName,UID > "$BATS_TEST_TMPDIR/csv"
    python3 - "$BATS_TEST_TMPDIR/csv" << 'END'
import csv, sys
rows = list(csv.reader(open(sys.argv[1], newline=''), strict=True))
assert rows[1] == ["'=cmd|' /C calc'!A0,\"x\"?y", '0'], rows
END
}

@test "malicious names are made safe in every format" {
    cp "$DB" "$BATS_TEST_TMPDIR/evil.db"
    # an escape, invalid UTF-8, a C1 control, a direction mark, a wide character
    sqlite3 "$BATS_TEST_TMPDIR/evil.db" "UPDATE job SET name = CAST(x'1b5b33316d41ff42c29be280ae20e6bca2' AS TEXT), \
        user = CAST(x'1b63ff' AS TEXT), account = CAST(x'c328' AS TEXT) WHERE jobid = 124"
    for words in "" "-P" "--csv" "--json" "--group name" "--group user --csv" "--group account --json" "-P -o all" \
        "--anonymous" "--anonymous --json" "-o JobName%4,User%2"; do
        [ "$words" != "-P -o all" ] || words="-P -o $(jobio history -e | awk '{print $1}' | paste -sd,)"
        split jobio --store "$BATS_TEST_TMPDIR/evil.db" history -s R $words
        expect 0
        tr -d '\r' < "$BATS_TEST_TMPDIR/out" > "$BATS_TEST_TMPDIR/plain"
        printable "$BATS_TEST_TMPDIR/plain"
        iconv -f UTF-8 -t UTF-8 "$BATS_TEST_TMPDIR/plain" > /dev/null
        not grep -q $'\xe2\x80\xae' "$BATS_TEST_TMPDIR/plain"
    done
    jobio --store "$BATS_TEST_TMPDIR/evil.db" history --json | jq -e . > /dev/null
    # a terminal that is not UTF-8 could take the second byte of a letter for a control character
    evil=$'\xc3\x9b31m\xf0\x9f\x98\x80'
    sqlite3 "$BATS_TEST_TMPDIR/evil.db" "UPDATE job SET name = CAST(x'c39b33316df09f9880' AS TEXT) WHERE jobid = 124;
        UPDATE mount SET mount = '/' || CAST(x'c39b33316df09f9880' AS TEXT) WHERE mount = '/scratch'"
    in_ascii() {
        LC_ALL=C on_terminal 80 50 "jobio --no-pager --store $BATS_TEST_TMPDIR/evil.db $1" > "$BATS_TEST_TMPDIR/out"
        not env LC_ALL=C grep -P '[\x80-\xff]' "$BATS_TEST_TMPDIR/out"
    }
    for words in "history -s R" "trend -n '$evil'" "job 124" "job 124 --csv" "compare 124 125" "advise 124 --fields"; do
        in_ascii "$words"
        grep -F '?31m?' "$BATS_TEST_TMPDIR/out" || { echo "$words"; cat "$BATS_TEST_TMPDIR/out"; false; }
    done
    for words in "history -s R --json" "job 124 --json" "explain 124 --context" \
        "explain 124 --llm http://127.0.0.1:9 --model x --show"; do
        in_ascii "$words"
        grep -F 'u00db31m\ud83d\ude00' "$BATS_TEST_TMPDIR/out"
    done
    in_ascii "history -s R --json"
    [ "$(jq -r '.[].name' "$BATS_TEST_TMPDIR/out")" = "$evil" ]
    # but a file or a pipe gets the letters
    in_ascii "job 124 --html $BATS_TEST_TMPDIR/page.html"
    grep -F "$evil" "$BATS_TEST_TMPDIR/page.html"
    in_ascii "job 124 2>&1 > $BATS_TEST_TMPDIR/file"
    grep -F "$evil" "$BATS_TEST_TMPDIR/file"
    # and in filters
    split jobio --store "$DB" history -u $'\e[31m\xff' --name $'\xff' --mount $'/\e]0;x\a'
    expect 0
    printable "$BATS_TEST_TMPDIR/out"
    split jobio --store "$DB" history --sort $'\e[31m'
    expect 2
    one_line "?[31m"
    printable "$BATS_TEST_TMPDIR/err"
}

@test "40 columns: less important columns are left out, and no line breaks" {
    for columns in 20 40 60 79; do
        split env COLUMNS=$columns jobio --store "$DB" history
        expect 0
        [ "$(grep -v "are incomplete" <<< "$out" | wc -L)" -le "$columns" ]
        holds "$out" JobID 123
    done
    split env COLUMNS=40 jobio --store "$DB" history
    [ "$(wc -l <<< "$out")" = 7 ]
    [[ $out != *Exact* ]]
    holds "$out" "1 of these are incomplete"
    split env COLUMNS=40 jobio --store "$DB" history --group user
    holds "$out" alice WaitTime # by which it is sorted
    [ "$(wc -L <<< "$out")" -le 40 ]
    for by in elapsed meta wait:WaitTime errors; do
        for words in "" "--group user"; do
            split env COLUMNS=40 jobio --store "$DB" history --sort ${by%:*} $words
            grep -qi " ${by#*:}" <<< "$(head -1 <<< "$out")"
            [ "$(wc -L <<< "$out")" -le 40 ]
        done
    done
    # requested columns are all shown
    split env COLUMNS=40 jobio --store "$DB" history -n 1 -o JobID,User,Start,End,Read,Write,Meta
    [ "$(wc -L <<< "$out")" -le 40 ]
    [ "$(wc -l <<< "$out")" = 9 ]
    holds "$out" JobID Start End Write Meta
    # programs get all columns
    [ "$(COLUMNS=40 jobio --store "$DB" history -P)" = "$(history -P)" ]
    [ "$(history | wc -L)" = "$(COLUMNS= history | wc -L)" ]
}

@test "the width of a terminal of 40 columns is detected" {
    [ "$(on_terminal 40 50 "jobio --no-pager --store $DB history" | wc -L)" -le 40 ]
    [ "$(on_terminal 100 50 "jobio --no-pager --store $DB history" | wc -L)" -gt 70 ]
}

@test "a pager: only on a terminal, by JOBIO_PAGER and PAGER, not with --no-pager" {
    export JOBIO_PAGER="sed 's/^/own /'" PAGER="sed 's/^/other /'"
    command="jobio --store $DB history -n 1 -P"
    [ "$(history -n 1 -P | head -1)" = "JobID|User|JobName|Elapsed|Read|Write|Meta|Wait|Exact" ]
    [ "$(on_terminal 80 24 "$command" | cut -d' ' -f1 | sort -u)" = own ]
    unset JOBIO_PAGER
    [ "$(on_terminal 80 24 "$command" | cut -d' ' -f1 | sort -u)" = other ]
    [[ $(on_terminal 80 24 "$command --no-pager") == "JobID|"* ]]
    [[ $(on_terminal 80 24 "${command/jobio/jobio --no-pager}") == "JobID|"* ]]
    [[ $(JOBIO_PAGER= on_terminal 80 24 "$command") == "JobID|"* ]]
    # shellcheck disable=SC2209 # the name of a pager
    [[ $(JOBIO_PAGER=cat on_terminal 80 24 "$command") == "JobID|"* ]]
    # its output is as wide as the terminal, and it exits at once if the text is short
    unset PAGER
    command -v less > /dev/null || skip "no less here"
    [[ $(TERM=dumb on_terminal 80 24 "$command; echo status \$?") == "JobID|"*"status 0"* ]]
    # an error does not need a pager, and a failed query does not start one
    [[ $(PAGER="sed 's/^/other /'" on_terminal 80 24 "jobio --store /nowhere history") == "jobio: "* ]]
    # a pager that exits early is not an error
    [[ $(PAGER="no-such-pager" on_terminal 80 24 "jobio --store $DB history; echo status \$?") == *"check JOBIO_PAGER"*"status 1"* ]]
    [[ $(PAGER="true" on_terminal 80 24 "jobio --store $DB history -S now-300days; echo status \$?") == *"status 0"* ]]
}

@test "a pager: for all commands with long output" {
    export JOBIO_PAGER="sed 's/^/own /'"
    mkdir "$BATS_TEST_TMPDIR/bin"
    printf '#!/bin/sh\n' > "$BATS_TEST_TMPDIR/bin/sacct"
    chmod 755 "$BATS_TEST_TMPDIR/bin/sacct"
    export PATH=$BATS_TEST_TMPDIR/bin:$PATH
    for words in "job 123" "job 123 --json" "compare 216 217" "trend -n often" "array 140" \
        "array 140 --csv" "advise 125 --fields" "advise --dry-run -S now-300days" \
        "explain 123" "explain 123 --context"; do
        [ "$(on_terminal 80 24 "jobio --store $DB $words" | cut -d' ' -f1 | sort -u)" = own ] ||
            { echo "$words"; false; }
    done
    # an error does not need one
    for words in "compare 216 999" "trend -n nobody" "array 999" "advise 999" "explain 999"; do
        [[ $(on_terminal 80 24 "jobio --store $DB $words") == "jobio: "* ]] || { echo "$words"; false; }
    done
}

@test "a pipe that closes early is not an error, status 0" {
    for words in "history -S now-300days" "history --json -S now-300days" "history --csv" \
        "job 123" "job 126 --all --full" "compare 216 217" "trend -n often" "array 140 --csv" \
        "advise 125 --fields"; do
        jobio --store "$DB" $words 2> "$BATS_TEST_TMPDIR/err" | true
        [ "${PIPESTATUS[*]}" = "0 0" ]
        [ ! -s "$BATS_TEST_TMPDIR/err" ]
    done
}

@test "--anonymous: no name is left, the numbers are unchanged" {
    for words in "" --json --csv -P "--group user" "--mount /scratch -P" "-P -o $(jobio history -e | awk '{print $1}' | paste -sd,)"; do
        split history --anonymous -S now-300days $words
        expect 0
        not grep -qE 'alice|mallory|dora|simulate|backup|physics|batch|scratch|evil|(^|[^0-9])410[12]([^0-9]|$)' <<< "$out"
    done
    # the same name is the same label, and numbers are unchanged
    [ "$(history --anonymous -P -o JobID,Restart,User,Read -u alice | tail -n +2 | xargs)" = \
        "1|1|user1|1048580096 1|0|user1|1048580096" ]
    # differences between times are unchanged
    times() { history --json -u alice "$@" | jq -c 'map(.end_ns - .start_ns), (.[0].start_ns - .[1].start_ns)'; }
    [ "$(times)" = "$(times --anonymous)" ]
    [ "$(history --json --anonymous | jq 'map(.start_ns / 1e9 < 400000000) | all')" = true ]
    # independent of -S: midnight would reveal the time of day
    for since in now-7days "$(date -d '8 days ago' +%F)"; do
        [ "$(history -S "$since" --anonymous -P -o Start | sed -n 2p)" = 1980-01-01T00:00:00 ]
    done
}

@test "job ID.STEP: one step, summed over its nodes" {
    split jobio --store "$DB" job 123.batch
    expect 0
    holds "$out" "Step batch only" /scratch 1.0GiB
    split jobio --store "$DB" job 123.0
    expect 0
    holds "$out" "Step 0 only" "0 calls"
    [ "$(jobio --store "$DB" job 123.batch --json | jq -c '[.job.jobid, .job.restart, .job.step, .nodes.reported, .elapsed_s]')" = \
        '[123,1,"batch",1,7200]' ]
    # its mounts are those of the step in the document of the job
    diff <(jobio --store "$DB" job 123.batch --json | jq '.mounts[0].ops.read.requests') \
        <(jobio --store "$DB" job 123 --json --steps | jq '.steps[] | select(.step == "batch").mounts[0].ops.read.requests')
    [ "$(jobio --store "$DB" job 123.batch --all --json | jq -c 'map(.job.restart)')" = "[1,0]" ]
    [ "$(jobio --store "$DB" job 123.batch --steps --json | jq -c '.steps | map(.step)')" = '["batch"]' ]
    split jobio --store "$DB" job 123.7
    expect 1
    one_line "no such step: 123.7" "jobio job 123 --steps"
    split jobio --store "$DB" job 999.batch
    expect 1
    one_line "no such job: 999"
    split jobio --store "$DB" job 123.7x
    expect 2
    one_line "is not a job ID"
}

@test "job --csv: one line per mount and operation, exact" {
    jobio --store "$DB" job 123 --csv > "$BATS_TEST_TMPDIR/csv"
    python3 - "$BATS_TEST_TMPDIR/csv" << 'END'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline=''), strict=True))
assert {(r['Mount'], r['Operation'], r['Requests'], r['Bytes'], r['Errors'], r['Time']) for r in rows} == {
    ('/scratch', 'read', '1000', '1048576000', '0', '1'), ('/scratch', 'write', '20', '10485760', '0', '0.02'),
    ('/scratch', 'open', '5000', '0', '3', '30'), ('/', 'read', '1', '4096', '0', '0.001')}, rows
assert {(r['JobID'], r['Restart'], r['Step'], r['Node'], r['Exact']) for r in rows} == {('123', '1', '', '', 'yes')}
END
    [ "$(jobio --store "$DB" job 123 --csv --steps | tail -n +2 | cut -d, -f4,5 | sort -u | xargs)" = "batch,node1" ]
    [ "$(jobio --store "$DB" job 123.batch --csv | tail -n +2 | cut -d, -f4 | sort -u)" = batch ]
    [ "$(jobio --store "$DB" job 124 --csv | tail -n +2 | cut -d, -f6 | sort -u)" = no ]
    [ "$(jobio --store "$DB" job 123 --all --csv | tail -n +2 | cut -d, -f3 | sort -u | xargs)" = "0 1" ]
}

@test "job --anonymous: no name is left, the numbers are unchanged" {
    for words in "" --full --steps --nodes --json "--json --steps --all --timeline" --csv "--csv --steps"; do
        for id in 123 124 123.batch; do
            split jobio --store "$DB" job $id --anonymous $words
            expect 0
            ! grep -qE 'alice|mallory|simulate|physics|batch[^"]|scratch|server|vda1|node1[^"]|evil|(^|[^0-9])(4101|4102|12[34])([^0-9]|$)' \
                <(sed 's/"step":"batch"//g; s/node1\b//g; s/\bbatch\b//g' <<< "$out") || { echo "$words: $out"; false; }
        done
    done
    [ "$(jobio --store "$DB" job 123 --anonymous --json | jq -c '[.job.user, .job.name, .mounts[0].mount, .mounts[0].source,
        .mounts[0].fstype, .mounts[0].ops.read.bytes, .job.end_s - .job.start_s]')" = \
        '["user1","name1","mount1","source1","nfs4",1048576000,7200]' ]
    [ "$(jobio --store "$DB" job 123 --anonymous --json --steps | jq -c '[.steps[].node] | unique')" = '["node1"]' ]
    jobio --store "$DB" job 123 --anonymous --json --steps --timeline > "$BATS_TEST_TMPDIR/job"
    "$BATS_TEST_DIRNAME/schema.py" validate "$BATS_TEST_DIRNAME/../../doc/job.schema.json" "$BATS_TEST_TMPDIR/job"
}

@test "anonymous groups, mounts and steps follow the schemas" {
    for words in "--group user" "--group mount" "--group day" "--mount /scratch" --anonymous "--anonymous --group name"; do
        jobio --store "$DB" history --json -S now-300days $words > "$BATS_TEST_TMPDIR/rows"
        [ "$(jq length "$BATS_TEST_TMPDIR/rows")" -gt 0 ]
        "$BATS_TEST_DIRNAME/schema.py" validate "$BATS_TEST_DIRNAME/../../doc/history.schema.json" "$BATS_TEST_TMPDIR/rows"
    done
    jobio --store "$DB" job 123.batch --json > "$BATS_TEST_TMPDIR/job"
    "$BATS_TEST_DIRNAME/schema.py" validate "$BATS_TEST_DIRNAME/../../doc/job.schema.json" "$BATS_TEST_TMPDIR/job"
}

# old_jobiod SOCKET KEY=VALUE...: answers every query with these keys, like a jobiod of another
# release, until it is killed
old_jobiod() {
    python3 - "$@" 3>&- << 'END' &
import os, socket, sys
server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server.bind(sys.argv[1] + '.new')
server.listen()
os.rename(sys.argv[1] + '.new', sys.argv[1])
while True:
    client, _ = server.accept()
    client.recv(65536)
    client.send(b''.join(key.encode() + b'\0' for key in ['VERSION=1', 'TYPE=answer', 'STATUS=ok'] + sys.argv[2:]))
    client.close()
END
    until_true 10 test -S "$1"
}

@test "the answer of a jobiod that does not know a filter is refused" {
    socket=$BATS_TEST_TMPDIR/old.sock
    row='TEXT=[{"jobid":7,"user":"bob","ended":true},{"jobid":8,"user":"eve","ended":false}]'
    old_jobiod "$socket" "$row"
    pid=$!
    for words in "-A x" "-r x" "--name x" "-j 7" "--mount /" "-s running" "--group user" "--sort -time" "-u a,b"; do
        split jobio --socket "$socket" history $words
        expect 1
        one_line "older than this command"
        [ -z "$out" ]
    done
    # filters that every release knows
    for words in "" "-u bob" "--sort wait -n 2"; do
        split jobio --socket "$socket" history -P -o JobIDRaw,User,State $words
        expect 0
        [ "$(xargs <<< "$out")" = "JobIDRaw|User|State 7|bob|ended 8|eve|running" ]
    done
    kill $pid
    old_jobiod "$socket.2" "$row" "APPLIED=NAME GROUP "
    split jobio --socket "$socket.2" history --name x --group user
    expect 0
    split jobio --socket "$socket.2" history --name x -A y
    expect 1
    one_line ACCOUNT
    kill $!
}

@test "an invalid answer is reported" {
    for text in '' '{}' '[]]' '[{"jobid":7}]x' '[1]' '[{"jobid":7}' '[{"jobid":7},' '[' 'x'; do
        old_jobiod "$BATS_TEST_TMPDIR/odd.sock" "TEXT=$text"
        split jobio --socket "$BATS_TEST_TMPDIR/odd.sock" history
        kill $!
        rm "$BATS_TEST_TMPDIR/odd.sock"
        expect 1
        [ "$(wc -l < "$BATS_TEST_TMPDIR/err")" = 1 ] || { echo "$text: $err"; false; }
    done
}
