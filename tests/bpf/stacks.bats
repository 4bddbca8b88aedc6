#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The stacks of `jobio run` against programs that wait in known functions, for a FUSE file system that is slow on
# purpose. As root, in a guest (make check-truth) or natively (make check-native); $BUILD is the build directory.

bats_require_minimum_version 1.5.0

setup_file() {
    export BIN="$BUILD/tests/bpf"
    [ "$(id -u)" = 0 ] || skip "not root"
    [[ $("$BUILD/jobio" run --stacks -- true 2>&1) != *"built without libdw"* ]] || skip "built without libdw"
    modprobe fuse || true
}

setup() {
    linux=$(uname -r)
    # The kernel must have bpf_task_pt_regs.
    if printf '%s\n' 5.15 "${linux%%-*}" | sort -CV; then
        [[ $BATS_TEST_DESCRIPTION != *"older kernel"* ]] || skip "Linux $linux"
    else
        [[ $BATS_TEST_DESCRIPTION == *"older kernel"* || $BATS_TEST_DESCRIPTION == *"options"* ]] || skip "Linux $linux"
    fi
    T=$BATS_TEST_TMPDIR
    mkdir "$T/slow"
    CGROUP=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts) "$BIN/step" slow "$T/slow" 20
    SLOW=$T/slow/0/file
    FLUSHED=$T/slow/0/flushed # each flush of which is slow, too
}

teardown() {
    [ ! -d "${T-}/slow" ] || umount "$T/slow/0"
}

# text [OPTION]... -- COMMAND...: its report is in $T/text
text() {
    "$BUILD/jobio" run --stacks --output "$T/text" "$@"
    sed -n '/^waiting code/,$p' "$T/text"
}

# folded [OPTION]... -- COMMAND...: its folded stacks are in $T/folded, all its requests in $T/spans. The limit is half
# the time of a slow call: few other calls take that long, also on a busy machine.
folded() {
    "$BUILD/jobio" run --stacks=folded --stacks-min 10ms --output "$T/folded" --trace "$T/spans" --trace-rate 1000000 \
        --trace-max 1000000 "$@"
    cat "$T/folded"
}

# time_of REGEX: nanoseconds of the stacks that match
time_of() {
    awk -v pattern="$1" '$0 ~ pattern { sum += $NF } END { printf "%.0f\n", sum }' "$T/folded"
}

# spans [NAME MOUNT]: time and number of the requests in the trace that took at least 10 ms
spans() {
    jq -r --arg name "${1-}" --arg mount "${2-}" '.resourceSpans[].scopeSpans[].spans[]
        | select($name == "" or .name == $name)
        | select(.attributes | any(.key == "jobio.mount" and ($mount == "" or .value.stringValue == $mount)))
        | select((.endTimeUnixNano | tonumber) - (.startTimeUnixNano | tonumber) > 9900000) # about: bash is exact
        | .startTimeUnixNano + " " + .endTimeUnixNano' "$T/spans" | {
        local start end sum=0 n=0
        while read -r start end; do
            ((end - start < 10000000)) || ((sum += end - start, ++n))
        done
        echo "$sum $n"
    }
}

# needs_closes: skip if this kernel only allows the system call backend, which does not see flushes
needs_closes() {
    "$BUILD/jobio" run --json -- true 2> "$T/account" > "$T/output"
    jq -e '.unsupported | index("mkdir") | not' "$T/account" || skip "no backend with closes here"
}

# is_exact: the stacks and the rest add up to all long calls, but for closes. A close is one request in the trace, but its
# flush and its release are two calls, of which only those that are long themselves count; and a flush of a file that
# stays open is a call, but no request.
is_exact() {
    local all closes flushes stacks
    stacks=$(time_of .)
    flushes=$(time_of '(;[_a-z]*(close|dup|exec|exit)[_a-z0-9]*|;.process ended.) ')
    all=$(spans | cut -d ' ' -f 1)
    closes=$(spans close | cut -d ' ' -f 1)
    echo "stacks $stacks, of these perhaps flushes $flushes; requests $all, of these closes $closes"
    ((stacks <= all + flushes && stacks >= all - closes))
}

@test "the function that waits is found, without frame pointers, and has all its time" {
    folded --stacks-rate 10000 -- "$BIN/waiter" "$SLOW" culprit 100
    is_exact
    [ "$(spans read "$T/slow/0")" = "$(time_of ';main;(wait_in;)?culprit;') 100" ]
    # On a busy machine opens take long, too.
    awk -v of="$(time_of ';culprit;')" -v all="$(time_of .)" -v opens="$(time_of ';[_A-Za-z]*open[_a-z]* ')" \
        'BEGIN { exit of < 0.95 * (all - opens) }'
    # the whole way, in order
    grep -E '^waiter;_start;(__libc_start_main;)?(__libc_start_call_main;)?main;(wait_in;)?culprit;[a-z_0-9]*pread[a-z_0-9]* [0-9]+$' "$T/folded"
}

# bats test_tags=any-backend
@test "the report has the functions with their files, the innermost one first" {
    text --stacks-rate 10000 -- "$BIN/waiter" "$SLOW" culprit 100
    grep -q '^waiting code: 1[0-9][0-9] calls of at least 1.0 ms took ' "$T/text"
    tr -s ' \n' ' ' < "$T/text" | grep -E \
        ' [0-9.]+ m?s (9[0-9]|100) % 100 waiter [a-z_0-9]*pread[a-z_0-9]* \(libc\.so\.6\) culprit \(waiter\) (wait_in \(waiter\) )?main \(waiter\) '
}

@test "a copy between two files is one call, whose time counts once" {
    folded --stacks-rate 10000 -- "$BIN/waiter" "$SLOW" copy 20
    [ "$(spans read "$T/slow/0")" = "$(time_of ';main;(wait_in;)?(copy_to_file;)?copy;') 20" ]
    text --stacks-rate 10000 -- "$BIN/waiter" "$SLOW" copy 20
    tr -s ' \n' ' ' < "$T/text" | grep -E ' % 20 waiter [a-z_0-9]*sendfile[a-z_0-9]* '
}

# bats test_tags=closes,long
@test "a slow flush at close is a call, also if the file remains open" {
    needs_closes
    local start=$EPOCHREALTIME end
    folded --stacks-rate 10000 -- "$BIN/waiter" "$FLUSHED" flush 20
    end=$EPOCHREALTIME
    [ "$(time_of ';main;(wait_in;)?flush;[_a-z]*close ')" -ge $((20 * 20000000)) ]
    [ "$(time_of ';main;(wait_in;)?flush;[_a-z]*close ')" -le $(((${end/./} - ${start/./}) * 1000)) ]
}

# bats test_tags=closes
@test "the time of a slow flush counts once if the close is the last one of the file" {
    needs_closes
    folded --stacks-rate 10000 -- "$BIN/waiter" "$FLUSHED" release 20
    [ "$(time_of ';main;(wait_in;)?flush_last;[_a-z]*close ')" -ge $((20 * 20000000)) ]
    [ "$(time_of ';main;(wait_in;)?flush_last;[_a-z]*close ')" -le "$(spans close "$T/slow/0" | cut -d ' ' -f 1)" ]
    text --stacks-min 10ms --stacks-rate 10000 -- "$BIN/waiter" "$FLUSHED" release 20
    grep -Eq '^waiting code: 2[0-9] calls ' "$T/text"
}

# bats test_tags=any-backend
@test "a stack that is too deep is truncated, and that is counted" {
    folded --stacks-rate 10000 -- "$BIN/waiter" "$SLOW" deep 20
    is_exact
    [ "$(spans read "$T/slow/0")" = "$(time_of '^waiter;.truncated.;deep;(deep;)*culprit;') 20" ]
    text --stacks-rate 10000 -- "$BIN/waiter" "$SLOW" deep 20
    tr -s ' \n' ' ' < "$T/text" | grep -E '\(truncated, without the outer functions: (2[0-9]|3[0-9]) calls, '
}

# bats test_tags=any-backend
@test "a function without unwind tables ends the stack: its frame pointer is not followed" {
    folded --stacks-rate 10000 -- "$BIN/waiter" "$SLOW" opaque 20
    is_exact
    [ "$(spans read "$T/slow/0")" = "$(time_of '^waiter;.truncated.;opaque;culprit;') 20" ]
    [ "$(time_of innocent)" = 0 ]
}

# The interpreter is made up, with both kinds of trampolines of CPython: Debian 12 has Python 3.11, which has none.
PYTHON=';main;(wait_in;)?evaluate;<module>;evaluate;Loader.load;evaluate;main.<locals>.<lambda>;evaluate;culprit;[a-z_0-9]*pread[a-z_0-9]* '

# bats test_tags=any-backend
@test "a Python function is found by the map of the interpreter" {
    folded --stacks-rate 10000 -- "$BIN/waiter" "$SLOW" python 30
    is_exact
    [ "$(spans read "$T/slow/0")" = "$(time_of "^waiter;_start;.*$PYTHON") 30" ]
    text --stacks-rate 10000 -- "$BIN/waiter" "$SLOW" python 30
    tr -s ' \n' ' ' < "$T/text" | grep -F ' evaluate (waiter) main.<locals>.<lambda> (<string>) evaluate (waiter) Loader.load (loader/__init__.py) '
    run grep -E 'stale|truncated' "$T/text" "$T/folded"
    [ "$status" = 1 ]
}

# bats test_tags=any-backend
@test "a Python function is found in a container" {
    # Of its own processes and with its own /tmp, so that the map has another number and cannot be reached by its path.
    # shellcheck disable=SC2016 # the inner shell expands them
    folded --stacks-rate 10000 -- unshare --pid --fork --mount sh -c 'exec 3< "$1" 4< "$2"; mount -t tmpfs tmpfs /tmp
        exec /proc/self/fd/3 /proc/self/fd/4 python 30' - "$BIN/waiter" "$SLOW"
    is_exact
    [ "$(spans read "$T/slow/0")" = "$(time_of "^[^;]*;_start;.*$PYTHON") 30" ]
}

# bats test_tags=any-backend
@test "a Python function without a name ends the stack" {
    folded --stacks-rate 10000 -- "$BIN/waiter" "$SLOW" unnamed 30
    is_exact
    [ "$(spans read "$T/slow/0")" = "$(time_of '^waiter;.truncated.;.unknown.;evaluate;culprit;') 30" ]
}

# bats test_tags=any-backend
@test "the stacks of the dynamic linker are complete: they end at its entry point" {
    local i
    for ((i = 0; i < 10; i++)); do # on a busy machine the program may end before its stack is read
        folded -- env LD_PRELOAD="$SLOW" true # which the linker reads, but does not load
        is_exact
        ! grep -q ';_dl_start;' "$T/folded" || break
    done
    [ $i -lt 10 ] || skip "the dynamic linker has no symbols"
    [ "$(spans read "$T/slow/0")" = "$(time_of '^true;_start;_dl_start;.*;open_verify[^;]*;[_a-z]*read[_a-z]* ') 1" ]
}

# bats test_tags=any-backend
@test "of 150 stacks 100 are kept, and the others are summed up" {
    folded --stacks-rate 10000 -- "$BIN/waiter" "$SLOW" many 2
    is_exact
    [ "$(spans read "$T/slow/0" | cut -d ' ' -f 2)" = 300 ]
    [ "$(grep -c ';many_[0-9]*;culprit;' "$T/folded")" -ge 90 ] # a stack of the start may be slow, too
    [ "$(grep -vc '^\[' "$T/folded")" = 100 ]
    [ "$(grep -c '^\[other stacks\] ' "$T/folded")" = 1 ]
}

# bats test_tags=any-backend
@test "calls beyond the limit per second are counted without a stack" {
    folded --stacks-rate 2 -- "$BIN/waiter" "$SLOW" culprit 100
    is_exact
    [ "$(time_of '^.not sampled. ')" -gt "$(time_of culprit)" ]
    [ "$(time_of culprit)" -gt 0 ]
    text --stacks-rate 2 -- "$BIN/waiter" "$SLOW" culprit 100
    grep -q '(no stack, because of the limit per second: ' "$T/text"
}

# bats test_tags=any-backend
@test "calls that are shorter than the limit are not counted" {
    folded --stacks-min 10s -- "$BIN/waiter" "$SLOW" culprit 10
    [ ! -s "$T/folded" ]
}

# bats test_tags=any-backend
@test "a function without a name has its address and the build id of its file" {
    strip -o "$T/stripped" "$BIN/waiter"
    text --stacks-rate 10000 -- "$T/stripped" "$SLOW" culprit 30
    local id address start size
    id=$(readelf -n "$BIN/waiter" | awk '/Build ID:/ { print $3 }')
    [ ${#id} = 40 ]
    address=$(grep -A 2 -E '^ .* 30  stripped$' "$T/text" | grep -oP "^ *\[stripped\+\K0x[0-9a-f]+(?=\] \($id\)\$)")
    read -r start size < <(nm -S "$BIN/waiter" | awk '$4 == "culprit" { print $1, $2 }')
    ((address > 0x$start && address < 0x$start + 0x$size))
}

# bats test_tags=any-backend
@test "names are found when the process has ended and its program is deleted" {
    # shellcheck disable=SC2016 # the inner shell expands them
    folded --stacks-rate 10000 -- sh -c 'cp "$1" "$2"; "$2" "$3" culprit 30 & wait; rm "$2"' - \
        "$BIN/waiter" "$T/copy" "$SLOW"
    is_exact
    [ "$(spans read "$T/slow/0")" = "$(time_of '^copy;_start;.*;culprit;') 30" ]
}

# bats test_tags=any-backend
@test "a program that a process executed later does not give its names to the stacks of the one before" {
    # jobio is stopped during the reads. Without address randomization both programs are at the same address.
    # shellcheck disable=SC2016 # the inner shells expand them
    BIN=$BIN SLOW=$SLOW THEN='kill -CONT "$RUNNER"; "$BIN/waiter" "$SLOW" culprit 10; exit' \
        folded --stacks-rate 10000 -- sh -c 'export RUNNER="$PPID"; kill -STOP "$RUNNER"
            setarch -R "$BIN/waiter" "$SLOW" execute 20 || kill -CONT "$RUNNER"'
    is_exact
    [ "$(spans read "$T/slow/0" | cut -d ' ' -f 2)" = 30 ]
    # Of the first 20, possibly with the open.
    [ "$(grep -c '^waiter;.process ended. [0-9]*$' "$T/folded")" = 1 ]
    [ "$(time_of '^waiter;.process ended.')" -gt 400000000 ]
    [ "$(grep -c '^waiter;' "$T/folded")" = "$(grep -Ec '^waiter;(.process ended. |_start;)' "$T/folded")" ]
}

# bats test_tags=any-backend
@test "a library that is truncated during the run does not kill jobio, and has no names" {
    mkdir "$T/lib"
    cp "$(ldd "$BIN/waiter" | awk '$1 == "libc.so.6" { print $3 }')" "$T/lib"
    # jobio is stopped when it has opened the library, and continues when the library is empty.
    # shellcheck disable=SC2016 # the inner shell expands them
    folded --stacks-rate 10000 -- bash -c '
        LD_LIBRARY_PATH=$1 "$2" "$3" many 1 &
        until readlink "/proc/$PPID/fd/"* | grep -qxF "$1/libc.so.6"; do kill -0 $! || exit; done
        kill -STOP "$PPID"
        wait
        : > "$1/libc.so.6"
        kill -CONT "$PPID"
        "$2" "$3" culprit 10' - "$T/lib" "$BIN/waiter" "$SLOW"
    is_exact
    [ "$(spans read "$T/slow/0" | cut -d ' ' -f 2)" = 160 ]
    [ "$(time_of ';.libc.so.6.0x[0-9a-f]*. ')" -gt 20000000 ]
    [ "$(time_of ';culprit;[a-z_0-9]*pread[a-z_0-9]* ')" -gt 200000000 ]
}

# bats test_tags=any-backend
@test "all stacks of a burst count" {
    # jobio is stopped during the first reads.
    # shellcheck disable=SC2016 # the inner shell expands them
    folded --stacks-rate 10000 -- sh -c 'kill -STOP "$PPID"; "$1" "$2" culprit 100; kill -CONT "$PPID"
        "$1" "$2" culprit 10' - "$BIN/waiter" "$SLOW"
    is_exact
    [ "$(spans read "$T/slow/0" | cut -d ' ' -f 2)" = 110 ]
    [ "$(time_of '^waiter;.process ended.')" -gt 2000000000 ]
    [ "$(time_of '^waiter;_start;.*;culprit;')" -gt 200000000 ]
}

# bats test_tags=any-backend
@test "the options are checked before the command starts" {
    run "$BUILD/jobio" run --stacks-min 5ms -- touch "$T/was-run"
    [ "$status" = 2 ] && [[ $output == *"require --stacks"* ]]
    run "$BUILD/jobio" run --stacks=tree -- touch "$T/was-run"
    [ "$status" = 2 ] && [[ $output == *'not "tree"'* ]]
    run "$BUILD/jobio" run --stacks --json -- touch "$T/was-run"
    [ "$status" = 2 ] && [[ $output == *"cannot be used with --json"* ]]
    run setpriv --reuid 65534 --clear-groups "$BUILD/jobio" run --stacks -- touch "$T/was-run"
    [ "$status" = 125 ] && [[ $output == *"only root can record stacks"* ]]
    [ ! -e "$T/was-run" ]
}

# bats test_tags=old-kernel
@test "an older kernel is refused before the command starts" {
    run "$BUILD/jobio" run --stacks -- touch "$T/was-run"
    [ "$status" = 125 ] && [[ $output == *"lacks bpf_task_pt_regs (Linux 5.15)"* ]]
    [ ! -e "$T/was-run" ]
}
