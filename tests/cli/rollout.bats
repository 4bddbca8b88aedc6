#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The commands of README.md that give one configuration to all nodes, with the real pdsh and pdcp. A fake ssh
# runs the command here, in namespaces with the name and the /etc/jobio of the node. As root.
# shellcheck disable=SC2016 # commands for other shells

bats_require_minimum_version 1.5.0
tree=$BATS_TEST_DIRNAME/../..
. "$tree/tests/readme.bash"

setup() {
    [ "$(id -u)" = 0 ] || skip "not root"
    export T=$BATS_TEST_TMPDIR
    mkdir -p "$T"/{bin,etc,upper,work,n1,n2,n3/jobio.conf.d}
    tool sinfo '[ "$*" = "-ho %N" ] && echo "n[1-3]"'
    tool jobiod "exec $BUILD/jobiod --config /etc/jobio/jobio.conf --state $T/state \"\$@\""
    tool systemctl 'echo "$(uname -n) $*" >> $T/systemctl'
    tool ssh 'while [[ $1 == -* ]]; do shift; done
        exec unshare --mount --uts bash -c "hostname $1 && mount --bind $T/$1 /etc/jobio && eval \"\$*\"" "$@"'
    readme rollout > "$T/commands"
    [ "$(wc -l < "$T/commands")" -ge 3 ]
    mkdir "$T/conf" "$T/conf/jobio.conf.d" "$T/state"
    echo "ClusterName=c" > "$T/slurm.conf"
    printf '%s\n' '[push]' 'url = http://gw:9091' > "$T/conf/jobio.conf"
    printf '%s\n' 'nodes = n2' '[push]' 'interval = 2m' > "$T/conf/jobio.conf.d/20-n2.conf"
}

tool() {
    printf '#!/bin/bash\n%s\n' "$2" > "$T/bin/$1"
    chmod 755 "$T/bin/$1"
}

# On the node of the administrator, whose /etc/jobio is $T/conf.
roll_out() {
    PATH=$T/bin:$PATH SLURM_CONF=$T/slurm.conf unshare --mount bash -euc '
        mount -t tmpfs tmpfs $T/etc
        mkdir $T/etc/{upper,work}
        mount -t overlay -o lowerdir=/etc,upperdir=$T/etc/upper,workdir=$T/etc/work etc /etc
        mkdir -p /etc/jobio
        mount --bind $T/conf /etc/jobio
        . $T/commands'
}

@test "all nodes get the files and restart jobiod" {
    roll_out
    for node in n1 n2 n3; do
        diff -r "$T/conf" "$T/$node"
    done
    diff <(sort "$T/systemctl") <(printf 'n%s restart jobiod\n' 1 2 3)
    rm -r "$T/conf/jobio.conf.d" "$T/n2/jobio.conf.d" # a site need not have any
    roll_out
    diff -r "$T/conf" "$T/n2"
}

@test "a node with a wrong file of its own says so and is not restarted" {
    echo 'colour = red' > "$T/n3/jobio.conf.d/99-old.conf"
    run roll_out
    echo "$output"
    [[ $output == *$'\nn3\n'*'/etc/jobio/jobio.conf.d/99-old.conf:1: unknown key "colour"'* ]]
    diff <(sort "$T/systemctl") <(printf 'n%s restart jobiod\n' 1 2)
}

@test "wrong settings go to no node" {
    echo 'colour = red' >> "$T/conf/jobio.conf"
    run roll_out
    echo "$output"
    [[ $output == *'/etc/jobio/jobio.conf:3: '* ]]
    [ ! -e "$T/systemctl" ]
    [ ! -e "$T/n1/jobio.conf" ]
}
