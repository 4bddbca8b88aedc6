#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Root's requests do not wait for those of hostile users: a short form of tests/bench/stalls (make
# check-native). As root; $BUILD is the build directory.

bats_require_minimum_version 1.5.0

ROUNDS=20

setup_file() {
    export ROWS="$BATS_FILE_TMPDIR/rows"
    MOUNTS=800 INTERVAL=2 "$BATS_TEST_DIRNAME/../bench/stalls" $ROUNDS > "$ROWS" 3>&-
}

# p90 ATTACK: the time in ms that nine of ten calls of root took at most
p90() {
    grep "^$1: .* $((ROUNDS * 3)) calls, 0 failed" "$ROWS" > "$BATS_TEST_TMPDIR/row"
    awk '{ for (i = 1; i < NF; i++) if ($i == "p90") print $(i + 1) }' "$BATS_TEST_TMPDIR/row"
}

# is_fast ATTACK: compared with the same calls without an attack, because the machine may be busy
is_fast() {
    cat "$ROWS"
    awk -v calm="$(p90 "no attack")" -v attack="$(p90 "$1")" \
        'BEGIN { exit !(attack != "" && attack <= (calm > 10 ? 10 * calm : 100)) }'
}

@test "root does not wait for loops of jobio run" {
    is_fast "runs"
}

@test "root does not wait for the readings of a job with many mounts" {
    is_fast "mounts"
}

@test "root does not wait for queries of users without a job" {
    is_fast "mounts and queries"
}

@test "root does not wait for all of them together" {
    is_fast "mounts, queries and runs"
}
