#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# No circles between the modules of a room, and none through a function: a module is an object file,
# and it uses another one if it needs a symbol that the other one defines.
set -eu

NM=${NM:-nm}
n=0

# "USER USED" for each pair of modules of the room's library.
arrows() {
    "$NM" -g -A "$1" | sed -E 's|^[^:]*:([^:]*_a-)?([^:]*)\.o:|\2 |' | awk '
        $(NF - 1) ~ /^[TDBRVW]$/ { owner[$NF] = $1 }
        $(NF - 1) == "U" { uses[$1 " " $NF] = 1 }
        END {
            for (use in uses) {
                split(use, part, " ")
                if (part[2] in owner && owner[part[2]] != part[1])
                    print part[1], owner[part[2]]
            }
        }' | sort -u
}

for library in common/lib*.a collector/*/lib*.a report/lib*.a report/*/lib*.a \
    settings/lib*.a cli/lib*.a cli/*/lib*.a; do
    if [ ! -e "$library" ]; then
        echo "FAILED: no $library"
        n=1
        continue
    fi
    room=${library%/*}
    arrows=$(arrows "$library")
    circle=$(echo "$arrows" | tsort 2>&1 > /dev/null | sed -n 's/^tsort: \([^:]*\)$/\1/p' |
        sort -u | tr '\n' ' ')
    [ -n "$circle" ] || continue
    echo "FAILED: a circle in $room: $circle"
    for from in $circle; do
        for to in $circle; do
            echo "$arrows" | grep -x "$from $to" || true
        done
    done
    n=1
done
exit $n
