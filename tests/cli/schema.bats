#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The output for programs matches doc/: its JSON schemas, and its pages. A field that
# is in only one of them fails here.

bats_require_minimum_version 1.5.0
load cli.bash

setup_file() {
    "$JOBIO_BUILD/tests/cli/make_store" "$BATS_FILE_TMPDIR/jobio.db"
    export DB=$BATS_FILE_TMPDIR/jobio.db
}

doc=$BATS_TEST_DIRNAME/../../doc

@test "schemas explain each field and allow no others" {
    for schema in "$doc"/*.schema.json; do
        "$BATS_TEST_DIRNAME/schema.py" check "$schema"
    done
}

@test "doc/json.md names each field of the schemas, and no others" {
    "$BATS_TEST_DIRNAME/schema.py" names "$doc/job.schema.json" "$doc/history.schema.json" "$doc/json.md"
}

@test "the manual pages are well formed" {
    command -v mandoc > /dev/null || skip "needs mandoc"
    mandoc -T lint -W warning "$doc"/*.[158]
}

# A store on this machine does not matter.
check_config() {
    jobiod --check-config --state "$BATS_TEST_TMPDIR" --config "$1"
}

# settings_in PAGE: SECTION KEY of each setting that it explains
settings_in() {
    sed -nE '/^\.Bd -literal/,/^\.Ed/d; s/^(\.Ss )?\[(.*)\]$/[\2/p; s/^\.It Cm ([a-z_ ,]*[a-z])( No .*)?$/\1/p; s/^#([a-z_]+) =.*/\1/p' "$1" |
        awk '/^\[/ { section = substr($1, 2); next }
            { for (i = 1; i <= NF; i++) if ($i != ",") print section, $i }' | sort -u
}

@test "the manual and the example of jobio.conf have each setting, and no others" {
    sed -nE 's/^ *KEY\("(.*)", "(.*)", .*/\1 \2/p' "$doc/../settings/settings.c" | sort > "$BATS_TEST_TMPDIR/keys"
    [ "$(wc -l < "$BATS_TEST_TMPDIR/keys")" -gt 40 ]
    for page in "$doc/jobio.conf.5" "$doc/../contrib/jobio.conf"; do
        diff "$BATS_TEST_TMPDIR/keys" <(settings_in "$page")
    done
}

@test "jobiod accepts the settings in the pages" {
    awk '/^ *\[(store|report|peers|push|metrics|history|explain)\]$/ { file = sprintf("%s/%d.conf", out, ++n) }
        /^ *$|^\./ { file = "" }
        file { sub(/^ */, ""); sub("/etc/jobio/history", out "/history"); print > file }' out="$BATS_TEST_TMPDIR" \
        "$doc"/../README.md "$doc"/*.md "$doc/jobio.conf.5" "$doc"/../contrib/*/README.md
    (umask 077; echo user:password | tee "$BATS_TEST_TMPDIR/history.password" > "$BATS_TEST_TMPDIR/history.reader")
    [ "$(ls "$BATS_TEST_TMPDIR"/*.conf | wc -l)" -ge 9 ]
    for conf in "$BATS_TEST_TMPDIR"/*.conf; do
        check_config "$conf" || { cat "$conf"; false; }
    done
}

@test "jobiod refuses a password that others can read, and insecure = yes accepts it" {
    conf="$BATS_TEST_TMPDIR/conf" file="$BATS_TEST_TMPDIR/password"
    (umask 077; echo user:password > "$file")
    for section in push history; do
        printf '[%s]\nurl = http://db.example.org:8123\ncredentials = %s\n' $section "$file" > "$conf"
        run -78 check_config "$conf"
        [[ $output == *"$conf:3: [$section]: credentials: the password would be sent to "*"insecure = yes"* ]]
        printf '[%s]\nurl = http://localhost:8123\ncredentials = %s\n' $section "$file" > "$conf"
        check_config "$conf"
        chmod 644 "$file"
        run -78 check_config "$conf"
        [[ $output == *"$conf:3: [$section]: credentials: \"$file\" is readable by others: chmod 600"* ]]
        sed 's/localhost/db.example.org/; $a insecure = yes' "$conf" > "$conf.insecure"
        check_config "$conf.insecure"
        chmod 600 "$file"
    done
}

@test "the command refuses a password that others can read, and insecure = yes accepts it" {
    conf="$BATS_TEST_TMPDIR/conf" file="$BATS_TEST_TMPDIR/password"
    history() { jobio history --from clickhouse --config "$conf" "$@"; }
    (umask 077; echo user:password > "$file")
    printf '[history]\nread_url = http://db.invalid:8123\nread_credentials = %s\n' "$file" > "$conf"
    run -1 history
    [[ $output == "jobio: credentials: the password would be sent to "*"insecure = yes"* ]]
    run -1 history --url http://localhost:1
    [[ $output == *"does not answer"* ]]
    chmod 644 "$file"
    run -1 history --url http://localhost:1
    [[ $output == "jobio: credentials: \"$file\" is readable by others: chmod 600"* ]]
    run -1 history --url http://localhost:1 --credentials "$file"
    [[ $output == "jobio: credentials: \"$file\" is readable by others: chmod 600"* ]]
    run -1 history --url http://localhost:1 --credentials <(echo user:password)
    [[ $output == *"does not answer"* ]]
    echo "insecure = yes" >> "$conf"
    run -1 history
    [[ $output == *"does not answer"* ]]
}

@test "jobiod refuses a password for the metrics that others can read" {
    (umask 022; echo user:password > "$BATS_TEST_TMPDIR/password")
    printf '[metrics]\nlisten = 127.0.0.1:1\ncredentials = %s\n' "$BATS_TEST_TMPDIR/password" \
        > "$BATS_TEST_TMPDIR/conf"
    run -78 check_config "$BATS_TEST_TMPDIR/conf"
    [[ $output == *"/conf:3: [metrics]: credentials: "*"is readable by others: chmod 600"* ]]
    chmod 600 "$BATS_TEST_TMPDIR/password"
    check_config "$BATS_TEST_TMPDIR/conf"
}

@test "jobs follow the schema" {
    for words in 100 123 "123 --steps" "123 --nodes" "123 --all" "123 --all --steps" 124 \
        "124 --steps" "126 --all" 140_1 "123 --timeline" "123 --timeline --steps"; do
        echo "job $words"
        jobio --store "$DB" job $words --json | follows job
    done
}

@test "the history follows its schema" {
    jobio --store "$DB" history --json -S 2020-01-01 | follows history
}

@test "an unexplained field and a wrong type are detected" {
    jobio --store "$DB" job 123 --json > "$BATS_TEST_TMPDIR/job"
    for change in '.new = 1' '.mounts[0].ops.read.new = 1' '.job.jobid = "123"' '.lost = -1' \
        '.lost = 1.5' 'del(.wait)' '.mounts[0].ops.neverheard = .mounts[0].ops.read' '[., 1]' \
        '.job.command = ["ls"]'; do
        echo "$change"
        split follows job <(jq "$change" "$BATS_TEST_TMPDIR/job")
        expect 1
    done
}
