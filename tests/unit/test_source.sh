#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What everybody who writes here has agreed on: the width of lines, the size of files, the licence,
# and which rooms may use which: arrows go down.
set -eu

cd "${srcdir:-.}"
# without what a build in the tree makes
code() { find "$@" -name '*.[ch]' ! -name '*.skel.h' ! -path 'report/html/page.[ch]' ! -path 'sql/text.[ch]'; }
n=0
fail() { echo "FAILED: $1"; n=1; }

all=$(code common compat report settings collector plugin record cli bpf tests)
wide=$(awk 'length > 100 { print FILENAME ":" FNR }' $all)
[ -z "$wide" ] || fail "more than 100 columns:
$wide"
long=$(awk 'FNR == 601 { print FILENAME }' $all)
[ -z "$long" ] || fail "more than 600 lines:
$long"
bare=$(awk 'FNR == 1 && !/SPDX-License-Identifier/ { print FILENAME }' $all)
[ -z "$bare" ] || fail "no licence in the first line:
$bare"

sloppy=$(code common report settings collector plugin record cli |
    xargs grep -nE '\<(strto(u?ll?|[iu]max)|ato(i|l|ll))\(' | grep -v 'common/numbers\.h' || true)
[ -z "$sloppy" ] || fail "numbers that are not parsed by common/numbers.h:
$sloppy"

silent=$(code common report settings collector plugin record cli |
    xargs grep -n 'json_object_to_json_string.*(' | grep -v '^common/tree\.[ch]:' || true)
[ -z "$silent" ] || fail "JSON that is not printed by common/tree.h:
$silent"

# The version is in configure.ac alone; NEWS.md starts with what it brings.
version=$(sed -n 's/^AC_INIT(\[jobio\], \[\([0-9]*\.[0-9]*\.[0-9]*\)\])$/\1/p' configure.ac)
[ -n "$version" ] || fail "configure.ac has no version X.Y.Z"
[ "$(sed -n 's/^## \([^ ]*\).*/\1/p' NEWS.md | head -n 1)" = "$version" ] || fail "NEWS.md does not start with $version"
found=$(grep -lwF "$version" README.md CONTRIBUTING.md doc/*.md doc/*.[158] contrib/*/*.in contrib/debian/control) &&
    fail "the version is also in $(echo $found)"

# The commands that the documentation marks are run by a test.
for mark in $(sed -n 's/.*<!-- test: \([a-z]*\) -->.*/\1/p' README.md doc/*.md); do
    grep -rqE "(readme|for section in)\>.* $mark\>" tests/cli tests/packages tests/release ||
        fail "no test runs the commands after <!-- test: $mark -->"
done

# room ROOM [ROOM...]: what the files of the first one may include, beside each other. Every directory
# with C code has its line; those of one house stand in the order of its floors.
rooms=
room() {
    from=$1
    rooms="$rooms $from "
    others=$(find "$from" -maxdepth 1 -name '*.[ch]' ! -name '*.skel.h' -exec \
        grep -nE '^#include "[a-z/]+/[^/]*"' {} + |
        grep -vE "#include \"($(echo "$*" | tr ' ' '|'))/[^/]*\"" || true)
    [ -z "$others" ] || fail "arrows that the plan of the rooms does not have:
$others"
}

room common
room bpf common

room report common
room report/prometheus common
room report/top common
room report/json report common
room report/rows common
room report/advice report common
room report/summary report report/advice common
room report/text report/summary report/advice report common
room report/record report/summary report common
room report/compare report/summary report common
room report/html report/summary report/advice report common
room report/trace common
room report/explain report/compare report/advice report/text report/json report common

room settings report/rows report/text common

room collector/http common
room collector/store report/json common sql
room collector/cgroup common
room collector/mounts common
room collector/probe collector/cgroup common bpf
room collector/mpi collector/probe common
room collector/deliver collector/http collector/store report/prometheus report/rows common
room collector/peers collector/deliver collector/http collector/store report report/json common
room collector/sample collector/mounts collector/probe common
room collector/trace collector/probe common
room collector/stacks collector/probe common bpf
room collector/watch collector/sample collector/trace collector/stacks collector/mpi collector/mounts collector/probe collector/cgroup common
room collector/track collector/sample collector/trace collector/stacks collector/mpi collector/peers collector/probe collector/cgroup \
    collector/store report/top common bpf
room collector/versions collector/probe common
room collector/daemon collector/versions collector/track collector/trace collector/stacks collector/mpi collector/sample collector/peers collector/deliver \
    settings collector/probe collector/mounts collector/cgroup collector/store \
    collector/http report/top report/json report/record report/text report/advice \
    report/prometheus report/trace common bpf

room plugin common bpf
room record collector/http report/record settings common

room cli/base settings collector/store report report/html report/advice common
room cli/source cli/base collector/peers collector/store collector/http report/json report/rows report/top common sql
room cli/top cli/source cli/base report report/top common
room cli/explain cli/source cli/base collector/store collector/http report/explain common
room cli/run cli/source cli/base collector/watch collector/trace collector/stacks report/json report/text report/trace common
room cli cli/run cli/explain cli/top cli/source cli/base collector/stacks collector/versions collector/store report report/advice \
    report/compare report/json report/text common

for dir in $(code common bpf report settings collector plugin record cli | sed 's|/[^/]*$||' | sort -u); do
    case $rooms in
        *" $dir "*) ;;
        *) fail "$dir is a room that this test does not know" ;;
    esac
done

# Each alert has a severity that a pager knows, and a runbook.
alerts=$(awk '/^ *- (alert|record):/ { name = $3; alert = $2 == "alert:"; n += alert }
    alert && /^ +severity: (critical|warning)$/ { severity[name] = 1 }
    alert && /^ +runbook: "[^"]+"$/ { runbook[name] = 1 }
    alert { seen[name] = 1 }
    END { for (name in seen) if (!severity[name] || !runbook[name]) print name; if (!n) print "none" }' \
    contrib/prometheus/rules.yml)
[ -z "$alerts" ] || fail "alerts without severity or runbook: $(echo $alerts)"

# doc/architecture.md names every directory with C code.
for dir in $rooms; do
    grep -qF "| \`$dir\` |" doc/architecture.md || fail "doc/architecture.md does not name the room $dir"
done

# No circle inside a room: NAME.c, NAME.h and NAME_impl.h are one module.
for dir in $rooms; do
    circle=$(grep -HoE "^#include \"$dir/[^/\"]+" "$dir"/*.[ch] |
        sed -E "s|^[^:]*/([^/:]+)\.[^/:]*:#include \"$dir/([^.]+)\..*|\1 \2|" |
        sed 's/_impl\b//g' | awk '$1 != $2' | tsort 2>&1 > /dev/null) || fail "a circle in $dir: $(echo $circle)"
done
exit $n
