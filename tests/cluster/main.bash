# SPDX-License-Identifier: GPL-2.0-or-later
# The main job and its expected numbers: used with cgroup/v2 and with cgroup/v1.

# everything MOUNT: a known number of calls of each counted operation
everything() {
    local d=$1/d
    echo "work mkdir:$d write:$d/a:100:65536 read:$d/a:100:65536 pwritev:$d/b:10:1000" \
        "preadv:$d/b:10:1000 stat:$d/a:7 fsync:$d/a:3 truncate:$d/b:2:500 readdir:$d rename:$d/b:2" \
        "link:$d/a symlink:$d/s unlink:$d/s unlink:$d/a unlink:$d/a.link unlink:$d/b rmdir:$d"
}

expected_everything="close 5 0 0
create 2 0 0
fsync 3 0 0
link 1 0 0
mkdir 1 0 0
open 6 0 0
read 110 6563600 0
readdir 2 0 0
rename 4 0 0
rmdir 1 0 0
stat 7 0 0
symlink 1 0 0
truncate 2 0 0
unlink 4 0 0
write 110 6563600 0"
expected_meta=32 # the sum of all but read, write, create, close

# names_untagged: a job that runs without the plugin is not counted, `jobio status` says so until it ends,
# and jobiod logs it.
names_untagged() {
    local id
    mv /etc/slurm/plugstack.conf.d/jobio.conf $cluster_dir/plugstack
    id=$(submit alice --wrap 'work await:/fast/untagged-go write:/scratch/untagged:3:100')
    job_wait "$id" 60 RUNNING
    wait_for 90 eval 'jobio status | grep "^DEGRADED: .*1 running step is not counted"'
    mv $cluster_dir/plugstack /etc/slurm/plugstack.conf.d/jobio.conf
    run jobio status
    echo "$output"
    [ "$status" = 1 ]
    [[ $output == *"job_$id/step_batch: not tagged"*plugstack.conf* ]]
    touch /fast/untagged-go
    job_wait "$id"
    wait_for 60 eval '[ "$(jobio status --json | jq .steps.untagged)" = 0 ]'
    rm /fast/untagged-go
    jobiod_log | grep "job_$id/step_batch"
}
