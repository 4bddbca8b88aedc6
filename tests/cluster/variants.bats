# SPDX-License-Identifier: GPL-2.0-or-later
# Ways to run steps since Slurm 24.11: hooks in the job's mount namespace (contain_spank), the prolog in
# the job (RunInJob), cgroups named by SLUID (26.05) or by the job number.
. "${BATS_TEST_DIRNAME}/cluster.bash"

setup_file() {
    cluster_start_lean
}

teardown() {
    [ -n "$BATS_TEST_COMPLETED" ] || cluster_logs
}

# The cgroup naming schemes of this Slurm, each as a line of cgroup.conf.
cgroup_names() {
    echo '# by default'
    slurm_is_from 26.05 && echo 'CgroupJobIdPaths=yes' || :
}

# in_cgroup JOB LINE: true if the name of the job's cgroup follows the line
in_cgroup() {
    if slurm_is_from 26.05 && [ "$2" != CgroupJobIdPaths=yes ]; then
        grep -E '\.scope/s[0-9A-Z]+/step_batch/' "/home/alice/slurm-$1.out"
    else
        grep "\.scope/job_$1/step_batch/" "/home/alice/slurm-$1.out"
    fi
}

# check [COUNT]: a job that also makes COUNT writes to /scratch through its /tmp has the right account
check() {
    local more=${1:-0} id
    id=$(submit alice << END
#!/bin/sh
cat /proc/self/cgroup
work write:/scratch/a:100:65536 read:/scratch/a:50:65536
srun work write:/scratch/b:200:1000 write:/tmp/jobio-variant:100:1000
END
    )
    job_wait "$id"
    [ "$(job_field "$id" JobState)" = COMPLETED ]
    in_cgroup "$id" "$CLUSTER_CGROUP"
    same "$((300 + more)) $((6753600 + more * 1000))" "$(sql "SELECT requests, bytes FROM v_job_io
        WHERE jobid = $id AND mount = '/scratch' AND op = 'write'")"
    job_json "$id" | tee /dev/stderr | jq -e '.complete and .lost == 0 and .job.user == "alice"'
    # Slurm does not run hooks of a prolog in the job.
    [[ ${CLUSTER_PROLOG-} == *RunInJob* ]] || job_json "$id" | jq -e '.job.partition == "main"'
    tail -n 5 "/home/alice/slurm-$id.out" | grep /scratch
    record "$id" | jq -e --argjson more "$more" '.complete and .nodes == [1, 1] and
        (.m[] | select(.[0] == "/scratch") | .[2:6] == [3276800, 6753600 + $more * 1000, 50, 300 + $more])'
    not grep -iE 'jobio: .*(error|not counted)' $cluster_dir/slurmd.log
}

each_name() {
    cgroup_names > $cluster_dir/names
    while read -r CLUSTER_CGROUP; do
        echo "cgroup.conf: $CLUSTER_CGROUP"
        cluster_slurm_again
        check "$@"
    done < $cluster_dir/names
}

@test "default configuration" {
    each_name
}

@test "contain_spank with a private /tmp" {
    CLUSTER_SLURMD=,contain_spank CLUSTER_PRIVATE=/scratch/private
    each_name 100
}

@test "prolog in the job (RunInJob)" {
    CLUSTER_PROLOG=,RunInJob
    each_name
}

@test "contain_spank with a private /tmp, and prolog in the job" {
    CLUSTER_SLURMD=,contain_spank CLUSTER_PRIVATE=/scratch/private CLUSTER_PROLOG=,RunInJob
    each_name 100
}
