# SPDX-License-Identifier: GPL-2.0-or-later
# Tests tests/guest/run from outside: what every test in a guest relies on.
bats_require_minimum_version 1.5.0

setup() {
    export OUT=$BATS_TEST_TMPDIR/out
}

guest() {
    "$BATS_TEST_DIRNAME/run" --quiet "$@"
}

@test "stdout, stderr and the exit status are passed on unchanged, from the same directory" {
    cd "$BATS_TEST_TMPDIR"
    run --separate-stderr guest --env 'WORD=two words' -- sh -c 'pwd; echo "$WORD"; echo no >&2; exit 7'
    [ "$status" = 7 ]
    [ "$output" = "$PWD"$'\ntwo words' ]
    [ "$stderr" = no ]
}

@test "the guest runs and names the kernel of the row, and can load its modules" {
    run --separate-stderr "$BATS_TEST_DIRNAME/run" --kernel 6.1 -- sh -c 'uname -r; modprobe ext4 && grep -c ^ext4 /proc/modules'
    [ "$status" = 0 ]
    [[ ${lines[0]} == 6.1.* && ${lines[1]} == 1 ]]
    [[ $stderr == *"Linux ${lines[0]}"*console* ]]
}

@test "files in OUT are kept; all other files that the command writes are discarded" {
    guest -- sh -c "echo kept > $OUT/file; echo gone > $BATS_TEST_TMPDIR/file; cat $BATS_TEST_TMPDIR/file"
    [ "$(cat "$OUT/file")" = kept ]
    [ ! -e "$BATS_TEST_TMPDIR/file" ]
}

@test "all output arrives even if a background process keeps stdout open" {
    guest -- sh -c 'sleep 1000 & seq 300000; echo end > /dev/stderr' > "$BATS_TEST_TMPDIR/text" 2> "$BATS_TEST_TMPDIR/err"
    seq 300000 | cmp - "$BATS_TEST_TMPDIR/text"
    [ "$(cat "$BATS_TEST_TMPDIR/err")" = end ]
}

@test "a timeout ends the guest: status 124, and the name of the console file" {
    run --separate-stderr guest --timeout 8 -- sleep 1000
    [ "$status" = 124 ]
    [[ $stderr =~ (/[^ ]*console[^ ]*) ]]
    [ -e "${BASH_REMATCH[1]}" ]
}

@test "SIGTERM ends the guest and leaves nothing behind" {
    local i status=0
    export TMPDIR=$BATS_TEST_TMPDIR
    "$BATS_TEST_DIRNAME/run" --quiet -- sleep 1000 3>&- &
    for ((i = 0; i < 600; i++)); do
        ! grep -q . "$OUT"/console.* 2> /dev/null || break
        sleep 0.1
    done
    kill -TERM $!
    wait $! || status=$?
    [ "$status" = 143 ]
    [ -z "$(pgrep -f "file:$OUT/console")" ]
    [ -z "$(compgen -G "$TMPDIR/guest.*")" ]
}

@test "SIGTERM ends the suites of the command with their guest, and leaves nothing behind" {
    local i guest not_ended status=0
    export TMPDIR=$BATS_TEST_TMPDIR/tmp
    mkdir -p "$TMPDIR" "$BATS_TEST_TMPDIR"/{tests/cli,tests/guest,build}
    cp "$BATS_TEST_DIRNAME/../cli/run" "$BATS_TEST_TMPDIR/tests/cli/run"
    printf '#!/bin/bash\nmkdir -p "$OUT"\necho $$ > "$OUT/pid"\nexec sleep 1000\n' > "$BATS_TEST_TMPDIR/tests/guest/run"
    chmod +x "$BATS_TEST_TMPDIR/tests/guest/run"
    "$BATS_TEST_TMPDIR/tests/cli/run" "$BATS_TEST_TMPDIR/build" daemon 3>&- &
    for ((i = 0; i < 600; i++)); do
        guest=$(cat "$TMPDIR"/*/daemon/pid "$BATS_TEST_TMPDIR/build/cli-logs/daemon/pid" 2> /dev/null) || :
        [ -z "$guest" ] || break
        sleep 0.1
    done
    kill -TERM $!
    for ((i = 0; i < 100; i++)); do
        kill -0 "$guest" 2> /dev/null || break
        sleep 0.1
    done
    not_ended=$i
    kill "$guest" 2> /dev/null || :
    wait $! || status=$?
    [ "$not_ended" -lt 100 ]
    [ "$status" = 143 ]
    [ -z "$(ls "$TMPDIR")" ]
}

@test "a guest that dies is reported with status 125" {
    run --separate-stderr guest -- sh -c 'echo c > /proc/sysrq-trigger; sleep 100'
    [ "$status" = 125 ]
    [[ $stderr == *console* ]]
}

@test "with systemd: PID 1 is systemd, cgroup v2, and the command is a unit in its own slice" {
    run --separate-stderr guest --systemd -- sh -c 'cat /proc/1/comm /proc/self/cgroup; systemctl is-active basic.target'
    [ "$status" = 0 ]
    [ "$output" = $'systemd\n0::/guest.slice/guest.service\nactive' ]
}

@test "two guests run side by side" {
    for n in 1 2; do
        OUT=$OUT$n guest -- sh -c "sleep 3; echo $n > \$OUT/n; echo $n" > "$BATS_TEST_TMPDIR/$n" &
        pids[n]=$!
    done
    wait "${pids[1]}"
    wait "${pids[2]}"
    [ "$(cat "$BATS_TEST_TMPDIR/1") $(cat "$BATS_TEST_TMPDIR/2")" = "1 2" ]
}

# The kernel of row 6.1 as a machine has it installed, but without 9P, below $root; its release in $release.
use_installed() {
    local kernel
    kernel=$("$BATS_TEST_DIRNAME/kernel" 6.1)
    root=$BATS_TEST_TMPDIR/root
    release=$(ls "$kernel/lib/modules")
    mkdir -p "$root/boot" "$root/lib/modules" "$BATS_TEST_TMPDIR/bin"
    cp "$kernel/boot/image" "$root/boot/vmlinuz-$release"
    cp -a "$kernel/lib/modules/$release" "$root/lib/modules/"
    rm -r "$root/lib/modules/$release"/kernel/{fs,net}/9p
    depmod -b "$root" "$release"
    printf '#!/bin/sh\necho %s\n' "$release" > "$BATS_TEST_TMPDIR/bin/uname"
    chmod +x "$BATS_TEST_TMPDIR/bin/uname"
}

@test "own-kernel packs the running kernel into an archive, which is then a row, by virtiofs without 9P" {
    local root release
    export XDG_CACHE_HOME=${XDG_CACHE_HOME:-$HOME/.cache} JOBIO_KERNELS=$BATS_TEST_TMPDIR/kernels
    mkdir "$JOBIO_KERNELS"
    use_installed
    ROOT=$root PATH=$BATS_TEST_TMPDIR/bin:$PATH "$BATS_TEST_DIRNAME/own-kernel" "$JOBIO_KERNELS/site.tar"
    [ "$(ls "$JOBIO_KERNELS")" = site.tar ]
    run --separate-stderr guest --kernel site -- sh -c 'uname -r; modprobe ext4 && grep -c ^ext4 /proc/modules
        echo kept > $OUT/file; sha256sum < /bin/bash'
    [ "$status" = 0 ]
    [ "$output" = "$release"$'\n1\n'"$(sha256sum < /bin/bash)" ]
    [ "$(cat "$OUT/file")" = kept ]
    run "$BATS_TEST_DIRNAME/kernel" site
    rm -rf "$output"
}

@test "an image and its modules, and a directory, are kernels" {
    local root release
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache
    XDG_CACHE_HOME=$HOME/.cache use_installed
    run "$BATS_TEST_DIRNAME/kernel" "$root/boot/vmlinuz-$release,$root/lib/modules/$release"
    [ "$status" = 0 ]
    [ -s "$output/boot/kernel" ]
    [ -s "$output/lib/modules/$release/modules.dep" ]
    run "$BATS_TEST_DIRNAME/kernel" "$output"
    [ "$status" = 0 ]
    [ -s "$output/boot/kernel" ]
}

@test "a kernel that cannot be used is named, with the reason" {
    local root=$BATS_TEST_TMPDIR/root
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache
    mkdir -p "$root"/{boot,lib/modules}
    echo text > "$BATS_TEST_TMPDIR/text.tar.xz"
    run guest --kernel "$BATS_TEST_TMPDIR/text.tar.xz" -- true
    [ "$status" = 125 ]
    [[ $output == *"text.tar.xz: cannot unpack it: "* ]]
    run guest --kernel "$BATS_TEST_TMPDIR/none.tar" -- true
    [ "$status" = 125 ]
    [[ $output == *"none.tar: no such kernel"* ]]
    echo text > "$root/boot/vmlinuz-1.0.0"
    run guest --kernel "$root" -- true
    [ "$status" = 125 ]
    [[ $output == *"$root: no modules of one kernel"* ]]
    run guest --kernel "$root/boot/vmlinuz-1.0.0,$root/lib/modules/1.0.0" -- true
    [ "$status" = 125 ]
    [[ $output == *"$root/lib/modules/1.0.0: no kernel modules"* ]]
    mkdir -p "$root/lib/modules/1.0.0/kernel"
    run guest --kernel "$root" -- true
    [ "$status" = 125 ]
    [[ $output == *"has no module virtio_pci"* ]]
    rm "$root/boot/vmlinuz-1.0.0"
    run guest --kernel "$root" -- true
    [ "$status" = 125 ]
    [[ $output == *"$root: no kernel image"* ]]
    [ -z "$(find "$XDG_CACHE_HOME" -name '*.new')" ]
    run env JOBIO_KERNELS=/nowhere "$BATS_TEST_DIRNAME/run" --kernel el9 -- true
    [ "$status" = 125 ]
    [[ $output == *"JOBIO_KERNELS=/nowhere is not a directory"* ]]
    run env JOBIO_KERNELS= "$BATS_TEST_DIRNAME/run" --kernel el9 -- true
    [ "$status" = 125 ]
    [[ $output == *"JOBIO_KERNELS"*"el9.tar.xz"* ]]
}

@test "a kernel that does not boot is named with its last line and the console file" {
    run --separate-stderr guest --append rdinit=/nowhere -- true
    [ "$status" = 125 ]
    [[ $stderr == *"the kernel did not boot ("*anic*"console is in "* ]]
}

@test "an unknown row, option or release is named, with status 125" {
    run guest --kernel 0.99 -- true
    [ "$status" = 125 ]
    [[ $output == *0.99* ]]
    run guest --colour -- true
    [ "$status" = 125 ]
    [[ $output == *--colour* ]]
    run guest --release 99 -- true
    [ "$status" = 125 ]
    [[ $output == *99* ]]
}

@test "the clock of the guest does not run faster than that of the machine" {
    local first last line
    while read -r line; do
        printf -v "$line" %s "${EPOCHREALTIME/./}"
    done < <(guest -- sh -c 'echo first; sleep 5; echo last')
    [ $((last - first)) -ge 4900000 ]
}
