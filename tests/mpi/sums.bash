# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the suites of this directory: lines "CLASS CALLS ERRORS BYTES REQUESTED UNKNOWN".

# The sums of the lines of stdin, a line a class.
summed() {
    awk '{ for (i = 2; i <= 6; i++) sum[$1, i] += $i; names[$1] }
        END { for (n in names) { printf "%s", n; for (i = 2; i <= 6; i++) printf " %d", sum[n, i]; print "" } }' |
        sort
}

# counted FILE: a line for each class that a document of jobio has
counted() {
    jq -r '.mpi.calls | to_entries[] | .value as $c
        | "\(.key) \($c.calls) \($c.errors) \($c.bytes) \($c.requested_bytes) \($c.unknown_calls)"' "$1" | summed
}
