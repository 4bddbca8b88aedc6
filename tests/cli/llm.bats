#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# jobio explain --context and --llm. The endpoint is a fake (fake_llm.py), an HTTP server that
# checks each request against OpenAI's documented schema.

load cli.bash

setup_file() {
    export DB=$BATS_FILE_TMPDIR/jobio.db JOBIO_ADVICE=$BATS_TEST_DIRNAME/../../contrib/advice
    "$JOBIO_BUILD/tests/cli/make_store" "$DB"
    mkdir "$BATS_FILE_TMPDIR/plain" "$BATS_FILE_TMPDIR/tls"
    "$BATS_TEST_DIRNAME/fake_llm.py" "$BATS_FILE_TMPDIR/plain" 3>&- &
    echo $! > "$BATS_FILE_TMPDIR/pids"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1 \
        -addext subjectAltName=IP:127.0.0.1 -keyout "$BATS_FILE_TMPDIR/key.pem" \
        -out "$BATS_FILE_TMPDIR/cert.pem" 2> /dev/null
    "$BATS_TEST_DIRNAME/fake_llm.py" "$BATS_FILE_TMPDIR/tls" "$BATS_FILE_TMPDIR/cert.pem" \
        "$BATS_FILE_TMPDIR/key.pem" 3>&- &
    echo $! >> "$BATS_FILE_TMPDIR/pids"
    until_true 30 test -e "$BATS_FILE_TMPDIR/plain/port" -a -e "$BATS_FILE_TMPDIR/tls/port"
    URL=http://127.0.0.1:$(cat "$BATS_FILE_TMPDIR/plain/port")
    HTTPS=https://127.0.0.1:$(cat "$BATS_FILE_TMPDIR/tls/port")
    export URL HTTPS
    # tests/cli/explain.bats tests the answers of sacct and their absence
    mkdir "$BATS_FILE_TMPDIR/bin"
    printf '#!/bin/sh\necho "123.batch|fs/disk=4|fs/disk=5"\n' > "$BATS_FILE_TMPDIR/bin/sacct"
    chmod 755 "$BATS_FILE_TMPDIR/bin/sacct"
    export PATH=$BATS_FILE_TMPDIR/bin:$PATH
    (umask 077; echo "sk-secret.1-_~" > "$BATS_FILE_TMPDIR/key")
    export KEY=$BATS_FILE_TMPDIR/key SENT=$BATS_FILE_TMPDIR/plain
}

teardown_file() {
    # shellcheck disable=SC2046 # a list of processes
    kill $(cat "$BATS_FILE_TMPDIR/pids")
}

setup() {
    rm -f "$SENT/request" "$SENT/headers"
}

# explain ARGUMENT...: of job 123
explain() {
    split jobio --store "$DB" explain 123 "$@"
}

nothing_was_sent() {
    [ ! -e "$SENT/headers" ]
}

@test "libcurl is loaded when it is needed, and missed only then" {
    [[ $(ldd "$JOBIO_BUILD/jobio") != *@(libcurl|libmicrohttpd)* ]]
    mkdir "$BATS_TEST_TMPDIR/lib"
    : > "$BATS_TEST_TMPDIR/lib/libcurl.so.4" # not a library
    export LD_LIBRARY_PATH=$BATS_TEST_TMPDIR/lib
    explain --context
    expect 0
    explain --llm "$URL/ok" --model fake
    expect 1
    [[ $err == *"cannot load libcurl.so.4: install libcurl"* ]]
    nothing_was_sent
    split jobio history --from clickhouse --url "$URL"
    expect 1
    [[ $err == *"cannot load libcurl.so.4: install libcurl"* ]]
    split jobio --version --verbose
    expect 0
    grep -qE '^libcurl +[0-9].* cannot be loaded$' <<< "$out"
}

@test "the context: one small document that follows its schema" {
    for job in 100 123 124 125 126; do
        split jobio --store "$DB" explain $job --context
        expect 0
        [ -z "$err" ]
        [ "$(wc -l < "$BATS_TEST_TMPDIR/out")" = 1 ]
        [ "$(wc -c < "$BATS_TEST_TMPDIR/out")" -lt 32768 ]
        printable "$BATS_TEST_TMPDIR/out"
        follows context <<< "$out"
    done
    "$BATS_TEST_DIRNAME/schema.py" names "$BATS_TEST_DIRNAME/../../doc/context.schema.json" \
        "$BATS_TEST_DIRNAME/../../doc/context.md"
    nothing_was_sent
}

@test "the context: the job itself, past jobs like it, and other counters" {
    explain --context
    expect 0
    diff <(jq -S .job <<< "$out") <(jobio --store "$DB" job 123 --json | jq -S .)
    jq -e '[.similar_jobs[] | [.jobid, .restart, .same_name, .same_user, .similarity]] ==
        [[123, 0, true, true, 1], [100, 0, false, true, 1]]' <<< "$out"
    jq -e '.similar_jobs[0] | [.read_bytes, .written_bytes, .meta_requests, .errors, .elapsed_s] ==
        [1048580096, 10485760, 5000, 3, 60]' <<< "$out"
    [ "$(jq -c '.other_counters[0] | [.tool, .read_bytes, .written_bytes]' <<< "$out")" = \
        '["sacct fs/disk",4,5]' ]
    jq -e '.summary | contains("/scratch")' <<< "$out"
    # at most five
    [ "$(jobio --store "$DB" explain 126 --context | jq '.similar_jobs | length')" = 5 ]
}

@test "--anonymous: no name is left" {
    explain --context --anonymous
    expect 0
    follows context <<< "$out"
    not grep -iE 'alice|simulate|physics|node1|server:|scratch|(^|[^0-9])4101([^0-9]|$)' <<< "$out"
    [ "$(jq -c '[.anonymous, .job.job.user, .job.job.name, .job.job.uid, .similar_jobs[0].name]' <<< "$out")" = \
        '[true,"user1","name1",1,"name1"]' ]
    printf '#!/bin/sh\necho "sacct: error: slurmdbd at dbhost7: down" >&2; exit 1\n' > "$BATS_TEST_TMPDIR/sacct"
    chmod 755 "$BATS_TEST_TMPDIR/sacct"
    [ "$(PATH=$BATS_TEST_TMPDIR:$PATH jobio --store "$DB" explain 123 --context --anonymous |
        jq -c '.other_counters[0]')" = '{"tool":"sacct fs/disk","missing":"not reachable from here"}' ]
    [ "$(jq -c '[.job.job.jobid, .job.job.start_s]' <<< "$out")" = '[1,315532800.0]' ] ||
        jq -e '.job.job.jobid == 1 and .job.job.start_s >= 315532800 and .job.job.start_s < 400000000' <<< "$out"
    jq -r .summary <<< "$out" | grep -q '^I/O summary: job 1 of user1, '
    # rules have used the names, but their notes have none
    mkdir "$BATS_TEST_TMPDIR/rules"
    cat > "$BATS_TEST_TMPDIR/rules/ours.conf" << 'END'
[ours]
level = error
when = mount GLOB '/scr*'
text = alice: use /fast in place of {mount}
link = https://wiki.site
END
    [ "$(JOBIO_ADVICE=$BATS_TEST_TMPDIR/rules jobio --store "$DB" explain 123 --context --anonymous |
        jq -c '.findings | map([.text, .link])')" = '[["user1: use path1 in place of mount1",null]]' ]
    for words in "" "--html -"; do
        JOBIO_ADVICE=$BATS_TEST_TMPDIR/rules jobio --store "$DB" job 123 --anonymous $words > "$BATS_TEST_TMPDIR/job"
        grep -i 'user1: use path1 in place of mount1' "$BATS_TEST_TMPDIR/job"
    done
    # and the numbers are the same
    diff <(jq -S '[.job.mounts[].ops, .similar_jobs[].time_ns]' <<< "$out") \
        <(jobio --store "$DB" explain 123 --context | jq -S '[.job.mounts[].ops, .similar_jobs[].time_ns]')
}

@test "--llm: the answer of an endpoint that checks requests against the API" {
    explain --llm "$URL/ok" --model fake
    echo "$err"
    expect 0
    [ -z "$err" ]
    [ "$(head -n 3 <<< "$out")" = $'Job 123 of alice waited 30000000000 ns.\n\n- mounts: 2' ]
    holds "$out" "answer of fake" "jobio job 123"
    [ "$(head -n 1 "$SENT/headers")" = "POST /ok/v1/chat/completions" ]
    not grep -i authorization "$SENT/headers"
    jq -e '.model == "fake" and .stream == false and ([.messages[].role] == ["system", "user"])' \
        "$SENT/request"
    jq -r '.messages[1].content' "$SENT/request" | follows context
    # its text about an anonymous job has no name either
    explain --llm "$URL/ok" --model fake --anonymous
    [ "$(head -n 1 <<< "$out")" = "Job 1 of user1 waited 30000000000 ns." ]
    holds "$out" "answer of fake"
    ! grep -E 'alice|123|4101' <<< "$out"
}

@test "--llm: the address may be the base, the version, or complete" {
    for address in ok ok/ ok/v1 ok/v1/ ok/v1/chat/completions 'ok/v1?x=1'; do
        rm -f "$SENT/headers"
        explain --llm "$URL/$address" --model fake
        [[ $(head -n 1 "$SENT/headers") == "POST /ok/v1/chat/completions"* ]]
    done
}

@test "--show prints exactly the request, and sends nothing" {
    explain --llm "$URL/ok" --model fake --key-file "$KEY" --show
    expect 0
    nothing_was_sent
    shown=$(tail -n 1 <<< "$out")
    holds "$out" "POST $URL/ok/v1/chat/completions" "the key in $KEY"
    not grep sk-secret <<< "$out"
    explain --llm "$URL/ok" --model fake --key-file "$KEY"
    expect 0
    # a stored job: nothing in the request depends on the time
    [ "$shown" = "$(cat "$SENT/request")" ]
    grep -qx 'Authorization: Bearer sk-secret.1-_~' "$SENT/headers"
    explain --llm "$URL/ok" --model fake --show --anonymous
    expect 0
    not grep -iE 'alice|simulate|physics' <<< "$out"
}

@test "invalid answers: one line describes what was received" {
    while IFS='@' read -r how want; do
        explain --llm "$URL/$how" --model fake --timeout 20
        echo "$how: $out$err"
        expect 1
        one_line "$want"
        [ -z "$out" ]
        printable "$BATS_TEST_TMPDIR/err"
    done << 'END'
401@HTTP 401: the key is missing or not accepted (--key-file): Incorrect API key provided: sk-x?[31m
404@HTTP 404: no such URL or model there (--llm, --model): model 'fake' not found
429@HTTP 429: too many requests, or the quota is used up: try later: You exceeded
502@HTTP 502: the server failed or refused
teapot@HTTP 418
moved@HTTP 308: it redirects, which jobio does not follow
html@the answer is an HTML page, not JSON
broken@not JSON
empty@not JSON
none@no choices[0].message.content
number@no choices[0].message.content
array@no choices[0].message.content
endless@longer than 1024 KiB
END
}

@test "no answer: reported in time" {
    SECONDS=0
    explain --llm "$URL/silent" --model fake --timeout 2
    expect 1
    one_line "did not answer within 2 s"
    explain --llm "$URL/silent" --model fake --timeout 500ms
    one_line "did not answer within 0.5 s"
    ((SECONDS < 20))
    explain --llm "http://127.0.0.1:1/v1" --model fake
    expect 1
    one_line "does not answer"
}

@test "the text of the model is safe for a terminal" {
    explain --llm "$URL/evil" --model $'fa\033[31mke'
    expect 0
    printable "$BATS_TEST_TMPDIR/out"
    [ "$(head -n 2 <<< "$out")" = $'first\n?]0;evil??[31mred?2J end ?abc' ]
    explain --llm "$URL/cut" --model fake
    expect 0
    one_line "the answer of the model is cut"
}

@test "https: an unknown certificate is refused, a known one is accepted" {
    explain --llm "$HTTPS/ok" --model fake --key-file "$KEY"
    expect 1
    one_line "certificate"
    explain --llm "$HTTPS/ok" --model fake --key-file "$KEY" --insecure
    expect 1
    # libcurl reads another certificate authority from the environment
    SSL_CERT_FILE=$BATS_FILE_TMPDIR/cert.pem CURL_CA_BUNDLE=$BATS_FILE_TMPDIR/cert.pem \
        explain --llm "$HTTPS/ok" --model fake --key-file "$KEY"
    [ "$status" = 0 ] || holds "$err" certificate # GnuTLS's libcurl has its own
}

@test "a key is refused if others can read its file, if it is invalid, or without encryption" {
    nothing=$BATS_TEST_TMPDIR/none
    cp "$KEY" "$BATS_TEST_TMPDIR/open"
    chmod 644 "$BATS_TEST_TMPDIR/open"
    (umask 077; : > "$BATS_TEST_TMPDIR/empty"; printf 'a b\n' > "$BATS_TEST_TMPDIR/words"
        head -c 9000 /dev/zero | tr '\0' x > "$BATS_TEST_TMPDIR/long"; mkfifo "$BATS_TEST_TMPDIR/pipe")
    while IFS='|' read -r words want; do
        eval "explain $words"
        echo "$words: $err"
        expect 1
        one_line "$want"
        not grep sk-secret <<< "$err"
    done << 'END'
--llm "$URL/ok" --model fake --key-file "$nothing"|No such file
--llm "$URL/ok" --model fake --key-file "$BATS_TEST_TMPDIR"|
--llm "$URL/ok" --model fake --key-file "$BATS_TEST_TMPDIR/pipe"|is not a regular file
--llm "$URL/ok" --model fake --key-file "$BATS_TEST_TMPDIR/open"|is readable by others
--llm "$URL/ok" --model fake --key-file "$BATS_TEST_TMPDIR/empty"|is not a key
--llm "$URL/ok" --model fake --key-file "$BATS_TEST_TMPDIR/words"|is not a key
--llm "$URL/ok" --model fake --key-file "$BATS_TEST_TMPDIR/long"|is not a key
--llm http://llm.invalid/v1 --model fake --key-file "$KEY"|unencrypted
--llm http://127.0.0.1.llm.invalid/v1 --model fake --key-file "$KEY"|unencrypted
--llm http://llm.invalid/v1 --model fake|unencrypted
--llm http://llm.invalid/v1 --model fake --key-file "$KEY" --insecure|does not answer
--llm "$URL/ok"|--model
--llm ftp://127.0.0.1/v1 --model fake|https://host/v1
--llm file:///etc/passwd --model fake|https://host/v1
--llm http://me:pass@127.0.0.1/ --model fake|use --key-file
--llm site --model fake|[explain] url
END
    nothing_was_sent
}

@test "jobio.conf: the site's endpoint and model, and its key for that endpoint only" {
    conf=$BATS_TEST_TMPDIR/jobio.conf
    printf '[explain]\nurl = %s\nmodel = sitemodel\nkey_file = %s\n' "$URL/ok/v1" "$KEY" > "$conf"
    explain --llm site --config "$conf"
    expect 0
    grep -q 'Bearer sk-secret' "$SENT/headers"
    jq -e '.model == "sitemodel"' "$SENT/request"
    explain --llm "$URL/ok" --config "$conf" # the same address
    grep -q 'Bearer sk-secret' "$SENT/headers"
    explain --llm "$URL/401" --config "$conf"
    not grep -i 'authorization' "$SENT/headers"
    # without --llm nothing is sent
    rm -f "$SENT/headers"
    explain --config "$conf"
    explain --context --config "$conf"
    nothing_was_sent
}

@test "invalid arguments are refused" {
    while IFS='@' read -r words want; do
        eval "explain $words"
        expect 2
        one_line "$want"
    done << 'END'
--show@--show requires --llm
--model x@require --llm
--key-file x@require --llm
--anonymous@--context or --llm
--llm x --timeout 0 --model x@above 0
END
}
