# SPDX-License-Identifier: GPL-2.0-or-later
# For the tests of the command. JOBIO_BUILD: the build directory.

export PATH=$JOBIO_BUILD:$PATH
export LC_ALL=C.UTF-8 TZ=UTC
export JOBIO_SOCKET=/nonexistent/jobiod.sock JOBIO_ADVICE=/nonexistent

# split COMMAND...: run it; its stdout, stderr and exit status are in $out, $err and $status
split() {
    status=0
    "$@" > "$BATS_TEST_TMPDIR/out" 2> "$BATS_TEST_TMPDIR/err" || status=$?
    out=$(cat "$BATS_TEST_TMPDIR/out")
    err=$(cat "$BATS_TEST_TMPDIR/err")
}

# expect STATUS: check the status of the last split; if it differs, show everything
expect() {
    [ "$status" = "$1" ] || { echo "exit status $status, not $1"; echo "$out"; echo "$err"; return 1; }
}

# one_line WORD...: the last split wrote exactly one line on stderr, by jobio, with these words
one_line() {
    [ "$(wc -l < "$BATS_TEST_TMPDIR/err")" = 1 ] && [[ $err == "jobio: "* ]] || { echo "$err"; return 1; }
    holds "$err" "$@"
}

# holds TEXT WORD...
holds() {
    local text=$1 word
    shift
    for word; do
        [[ $text == *"$word"* ]] || { echo "no \"$word\" in: $text"; return 1; }
    done
}

# no control characters but newlines
printable() {
    ! LC_ALL=C grep -qP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$1" || { cat -v "$1"; return 1; }
}

# "! command" fails a test only if it is its last command; this always does.
not() {
    ! "$@"
}

# until_true SECONDS COMMAND...: poll
until_true() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < end)) || { echo "not within the time: $*"; return 1; }
        sleep 0.1
    done
}

need_root() {
    [ "$(id -u)" = 0 ] || skip "needs root"
}

# subcommands: all in --help, except help itself
subcommands() {
    jobio --help | sed -n 's/^  \([a-z]\{2,\}\)  *[^ ].*/\1/p' | grep -vx -e help -e jobio
}

# as_nobody COMMAND...: run it without groups and capabilities
as_nobody() {
    setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"
}

# follows SCHEMA [FILE]: the document (stdin) matches doc/SCHEMA.schema.json and has no other fields
follows() {
    "$BATS_TEST_DIRNAME/schema.py" validate "$BATS_TEST_DIRNAME/../../doc/$1.schema.json" "${@:2}"
}
