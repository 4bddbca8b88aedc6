# SPDX-License-Identifier: GPL-2.0-or-later
# One job on another release: the plugin is loaded, and its data reaches every part of jobio.
. "${BATS_TEST_DIRNAME}/cluster.bash"

setup_file() {
    cluster_start_lean
}

teardown() {
    [ -n "$BATS_TEST_COMPLETED" ] || cluster_logs
}

@test "a job of sbatch and srun has exact numbers, a summary and a record" {
    id=$(submit alice << 'END'
#!/bin/sh
work write:/scratch/a:100:65536 read:/scratch/a:50:65536
srun work write:/scratch/b:200:1000 stat:/scratch/b:7
END
    )
    job_wait "$id"
    [ "$(job_field "$id" JobState)" = COMPLETED ]
    same "close 3 0 0
create 2 0 0
open 3 0 0
read 50 3276800 0
stat 7 0 0
write 300 6753600 0" "$(account "$id" /scratch)"
    job_json "$id" | jq -e '.complete and .lost == 0 and .job.user == "alice" and .job.partition == "main"'
    tail -n 5 "/home/alice/slurm-$id.out" | grep /scratch
    record "$id" | jq -e '.complete and .nodes == [1, 1] and
        (.m[] | select(.[0] == "/scratch") | .[2:6] == [3276800, 6753600, 50, 300])'
}

@test "jobiod counts inside the limits of its unit, in the mount namespace of the host" {
    local pid
    pid=$(systemctl show -P MainPID jobiod)
    [ "$(readlink "/proc/$pid/ns/mnt")" = "$(readlink /proc/1/ns/mnt)" ]
    grep -x 'Seccomp:[[:space:]]*2' "/proc/$pid/status"
    jobio status --json | tee /dev/stderr | jq -e '.not_counted == null and (.self_test.failed // []) == []
        and (.operations | .read != "none" and .write != "none" and .open != "none")'
    [ -z "$(jobiod_log | grep -i "not permitted\|denied")" ]
}
