#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# contrib/quickstart with all that it starts made up: which packages it wants, and what it makes of a build
# that fails, of tests that fail or do not end, and of a signal.
set -uo pipefail

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
mkdir -p "$directory/bin" "$directory/tree/contrib"
cp "${srcdir:-.}/contrib/quickstart" "$directory/tree/contrib/"
export PATH=$directory/bin:$PATH BUILD=$directory/build PIDS=$directory/pids
failed=0

# made_up FILE SCRIPT
made_up() {
    printf '#!/bin/bash\n%s\n' "$2" > "$directory/$1"
    chmod 755 "$directory/$1"
}

made_up bin/dpkg-query 'printf "%s ${STATUS-installed}\n" "${@:4}"' # -W -f FORMAT PACKAGE...
made_up bin/id 'echo "${ID-0}"'
made_up bin/autoreconf 'exit "${AUTORECONF-0}"'
made_up tree/configure 'touch config.log'
made_up bin/nproc 'echo 2'
# shellcheck disable=SC2016
made_up bin/make '
for target; do :; done # the last word
case $target in
    check-others)
        mkdir -p "$BUILD/tests"
        echo ":global-test-result: PASS" > "$BUILD/tests/a.trs"
        echo "[  PASSED  ] 3 test(s)." > "$BUILD/tests/a.log" ;;
    check-* | distcheck | lint)
        part=$target
        eval "${TEST-}"
        echo "ok 1 $part" ;;
    *) echo build >> "$BUILD/made" ;;
esac'

# expect STATUS WORDS [NAME=VALUE]...: quickstart ends so, and says so
expect() {
    local want=$1 words=$2 status=0
    shift 2
    env "$@" "$directory/tree/contrib/quickstart" test > "$directory/out" 2>&1 || status=$?
    [ "$status" = "$want" ] && grep -qF -- "$words" "$directory/out" && return
    echo "with $*: status $status, not $want, or no \"$words\":"
    cat "$directory/out"
    failed=1
}

expect 0 "20 passed, 0 failed, 0 skipped"
expect 1 "20 passed, 0 failed, 1 skipped" 'TEST=[ $part != check-native ] || echo "ok 2 x # skip why"'
expect 1 "skipped: test-native.log: ok 2 x # skip why" 'TEST=[ $part != check-native ] || echo "ok 2 x # skip why"'
expect 1 "19 passed, 1 failed, 0 skipped" 'TEST=[ $part != check-smoke ] || { echo "not ok 1 x"; exit 1; }'
expect 1 "failed: smoke" 'TEST=[ $part != check-smoke ] || { echo "not ok 1 x"; exit 1; }'
expect 1 "failed: test-smoke.log: not ok 1 x" 'TEST=[ $part != check-smoke ] || { echo "not ok 1 x"; exit 1; }'
expect 1 "failed: test-smoke.log: not ok 20 x" 'TEST=[ $part != check-smoke ] || { printf "not ok %s x\n" {1..5000}; exit 1; }'
expect 1 "19 passed, 5000 failed, 0 skipped" 'TEST=[ $part != check-smoke ] || { printf "not ok %s x\n" {1..5000}; exit 1; }'
expect 1 "(only 18 of 19 parts ended)" 'TEST=[ $part != check-smoke ] || kill -KILL $PPID'
expect 1 "(only 18 of 19 parts ended)" 'TEST=[ $part != check-native ] || kill -KILL $PPID'
expect 1 "run as root" ID=1000
# wanted [build|test]: the packages that `deps` would install where there is none, one per line
wanted() {
    STATUS=not-installed ID=1000 "$directory/tree/contrib/quickstart" deps "$@" 2>&1 |
        sed -n 's/^quickstart: as root, to install: //p' | xargs -n 1
}

# has NAME NUMBER PACKAGE...: so many of these packages are in the list
has() {
    local list=$directory/$1 want=$2 found
    shift 2
    found=$(printf '%s\n' "$@" | grep -cxFf "$list")
    [ "$found" = "$want" ] || { echo "deps $(basename "$list"): $found of $*, not $want"; failed=1; }
}

wanted build > "$directory/build-list"
wanted test > "$directory/test-list"
cat "$directory"/{build,test}-list | cmp - <(wanted) || { echo "deps is not build and test"; failed=1; }
[ -z "$(sort "$directory"/{build,test}-list | uniq -d)" ] || { echo "a package in both lists"; failed=1; }
mapfile -t libraries < <(grep -oE '\blib[a-z0-9-]+-dev\b' "${srcdir:-.}/configure.ac" | sort -u)
has build-list ${#libraries[@]} "${libraries[@]}"
# `make deb` needs what the package declares; dh-sequence-installsysusers is a part of debhelper.
mapfile -t declared < <(sed -n '/^Build-Depends:/,/^$/s/^ \([a-z0-9-]*\).*/\1/p' "${srcdir:-.}/contrib/debian/control" |
    grep -vx dh-sequence-installsysusers | sed 's/^debhelper-compat$/debhelper/')
has build-list ${#declared[@]} "${declared[@]}"
[ ${#declared[@]} -ge 15 ] || { echo "contrib/debian/control declares only ${declared[*]}"; failed=1; }
has build-list 0 chromium clickhouse-server mariadb-server prometheus slurm-wlm qemu-system-x86
has test-list 4 chromium clickhouse-server mariadb-server libcmocka-dev
[ ${#libraries[@]} -ge 9 ] || { echo "configure.ac names only ${libraries[*]}"; failed=1; }
"$directory/tree/contrib/quickstart" deps tests > /dev/null 2>&1 && { echo "deps tests is accepted"; failed=1; }
rm -rf "$BUILD"
expect 1 "not built" AUTORECONF=1
[ ! -e "$BUILD/made" ] || { echo "built without autoreconf"; failed=1; }
made_up tree/configure 'touch config.log; exit 1'
expect 1 "not built"
[ ! -e "$BUILD/made" ] || { echo "built without configure"; failed=1; }
made_up tree/configure 'touch config.log'

# all_work: the four workers have come to a part that waits
all_work() {
    [ "$(wc -l < "$PIDS")" = 4 ]
}

has_ended() {
    [ "$(ps -o stat= -p "$1" | cut -c1)" = Z ] || ! kill -0 "$1" 2> /dev/null
}

# until_true COMMAND...: within a minute, or not
until_true() {
    local i
    for ((i = 0; i < 1200; i++)); do
        ! "$@" || return 0
        sleep 0.05
    done
    return 1
}

# interrupted SIGNAL STATUS: its sleepers, one a worker, end with it
interrupted() {
    local pid status=0
    : > "$PIDS"
    # Else it would not hear of SIGINT: what is in the background does not.
    TEST='sleep 1000 & echo $! >> "$PIDS"; wait' env --default-signal=INT,TERM \
        "$directory/tree/contrib/quickstart" test > "$directory/out" 2>&1 &
    until_true all_work
    kill "-$1" $!
    until_true has_ended $! || kill -KILL $!
    wait $! || status=$?
    [ $status = "$2" ] || { echo "after $1: status $status, not $2"; cat "$directory/out"; failed=1; }
    all_work || { echo "not all workers started"; failed=1; }
    while read -r pid; do
        ! kill -0 "$pid" 2> /dev/null || { echo "after $1: $pid is left"; kill "$pid"; failed=1; }
    done < "$PIDS"
}

interrupted INT 130
interrupted TERM 143
exit $failed
