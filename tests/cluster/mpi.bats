# SPDX-License-Identifier: GPL-2.0-or-later
# A job of an MPI program whose MPI-IO is counted, with jobiod.service: before Linux 6.6 it needs a drop-in.
# MPICH is not in the other releases. And its trace, and which code of a job waits.
. "${BATS_TEST_DIRNAME}/cluster.bash"

dropin=/run/systemd/system/jobiod.service.d/mpi.conf
stacks_dropin=${dropin%/*}/stacks.conf

setup_file() {
    CLUSTER_JOBIO=$'[report]\nrecord_mpi = yes\n[trace]\nallow = yes\n[stacks]\nsample = asked' cluster_start_lean
    mpicc.mpich -O1 -o /usr/local/bin/calls "$BATS_TEST_DIRNAME/../mpi/calls.c"
}

teardown_file() {
    rm -f $dropin $stacks_dropin
    cluster_jobiod_anew
}

teardown() {
    [ -n "$BATS_TEST_COMPLETED" ] || cluster_logs
}

# needs_admin: true before Linux 6.6
needs_admin() {
    [ "$(printf '%s\n' 6.6 "$(uname -r)" | sort -V | head -n 1)" != 6.6 ]
}

@test "the unit as it is cannot count MPI-IO before Linux 6.6, and each report says so" {
    local id
    id=$(submit alice --io-mpi --wrap 'mpirun.mpich -n 1 calls /scratch/calls')
    job_wait "$id"
    job_json "$id" | jq -c .mpi.incomplete | tee /tmp/incomplete
    if ! needs_admin; then
        not grep not-covered /tmp/incomplete
        jobio status --json | jq -e '.mpi.not_counted == null'
        return
    fi
    grep -q '^\[{"cause":"not-covered: cannot count MPI: before Linux 6.6 this needs CAP_SYS_ADMIN"' /tmp/incomplete
    jobio status --json | jq -e '.mpi.not_counted | contains("CAP_SYS_ADMIN")'
    [ "$(jobiod_log | grep -c "cannot count MPI: before Linux 6.6 this needs CAP_SYS_ADMIN; the reports")" = 1 ]
}

# mpirun starts its ranks by srun: they are in step 0.
@test "sbatch --io-mpi: the calls of the step of mpirun are counted exactly" {
    local id truth=/home/alice/truth
    mkdir -p "${dropin%/*}"
    ! needs_admin || printf '%s\n' '[Service]' CapabilityBoundingSet=CAP_SYS_ADMIN > $dropin
    cluster_jobiod_anew
    # The first job that wants it is incomplete: the probes are attached while it runs.
    id=$(submit alice --io-mpi --wrap true)
    job_wait "$id"
    job_json "$id" | jq -e '[.mpi.incomplete[].cause] | contains(["step-before-probes"])'
    wait_for 240 sh -c 'jobio status --json | jq -e .mpi.ready'
    id=$(submit alice --io-mpi << 'END'
#!/bin/sh
mpirun.mpich -n 2 sh -c 'calls /scratch/calls && work await:/fast/mpi-go' > truth
END
    )
    wait_for 240 grep '^preallocate ' $truth
    same "0 batch extern" "$(steps_with_mpi /run/jobio/steps "$id")"
    touch /fast/mpi-go
    job_wait "$id"
    [ "$(job_field "$id" JobState)" = COMPLETED ]
    job_json "$id" > /tmp/mpi.json
    jq -c '.mpi.incomplete, .incomplete' /tmp/mpi.json
    # On a slow machine programs can end before jobiod has looked at them.
    jq -e '.complete and all(.mpi.incomplete[]; .cause == "programs-not-seen")' /tmp/mpi.json
    same "$(sort $truth)" "$(jq -r '.mpi.calls | to_entries[] | .value as $c
        | "\(.key) \($c.calls) \($c.errors) \($c.bytes) \($c.requested_bytes) \($c.unknown_calls)"' \
        /tmp/mpi.json | sort)"
    as alice jobio job "$id" --mpi | tee /tmp/mpi.text
    grep '^write_all ' /tmp/mpi.text
    same "$(jq -c '[.mpi.calls | to_entries[] | select(.key | startswith("write")) | .value
        | [.calls, .bytes + .requested_bytes]] | [map(.[0]), map(.[1])] | map(add)' /tmp/mpi.json)" \
        "$(record "$id" | jq -c .mpi.w)"
}

# traced_steps DIRECTORY ID: the steps of the job whose files in it ask for a trace, "STEP:", "STEP:mpi" or, with
# paths, these and "+"
traced_steps() {
    local file
    for file in $(grep -lx TRACE=1 "$1/$2".*); do
        echo "${file##*.}:$(sed -n 's/^TRACE_OF=//p; s/^TRACE_PATHS=1$/+/p' "$file" | tr -d '\n')"
    done | sed 's/^4294967291/batch/' | sort | xargs
}

# Slurm has three values for an option without one, and gives srun in a batch job the text "(null)".
@test "--io-trace has an optional value for sbatch, srun and salloc, and each step of the job gets it" {
    local script=/home/alice/steps.sh out=/tmp/refused id plain of_mpi inside none variable salloc srun paths command
    printf '%s\n' '#!/bin/sh' 'srun true' 'srun --io-trace=ops true' 'srun --io-trace=mpi true' 'srun --io-trace true' > $script
    systemctl stop jobiod # the step files remain
    plain=$(submit alice --io-trace $script)
    of_mpi=$(submit alice --io-trace=mpi $script)
    inside=$(sed '1a #SBATCH --io-trace=mpi' $script | submit alice)
    none=$(submit alice --io-trace=mpi --export=NONE --wrap 'srun --export=NONE /bin/true')
    variable=$(JOBIO_TRACE=mpi submit alice --wrap 'srun true')
    salloc=$(as alice salloc -Q --io-trace=mpi sh -c 'echo $SLURM_JOB_ID; srun true; srun --io-trace=ops true')
    paths=$(JOBIO_TRACE=ops,paths submit alice --wrap 'srun true; srun --io-trace=mpi,paths true')
    srun=$(as alice srun -Q --io-trace sh -c 'echo $SLURM_JOB_ID')
    for command in "sbatch --io-trace=all --wrap true" "salloc --io-trace=all true" "srun --io-trace=all true"; do
        not as alice $command > $out 2>&1
        grep 'jobio: --io-trace=all is not ops, mpi, ops,paths or mpi,paths' $out
    done
    for id in $plain $of_mpi $inside $none $variable $salloc $srun $paths; do
        job_wait "$id"
        same COMPLETED "$(job_field "$id" JobState)"
    done
    rm -rf /tmp/steps
    cp -r /run/jobio/steps /tmp/steps
    systemctl start jobiod
    same "0: 1: 2:mpi 3: batch:" "$(traced_steps /tmp/steps "$plain")"
    same "2" "$(steps_with_mpi /tmp/steps "$plain")"
    for id in $of_mpi $inside; do
        same "0:mpi 1: 2:mpi 3: batch:mpi" "$(traced_steps /tmp/steps "$id")"
        same "0 1 2 3 batch extern" "$(steps_with_mpi /tmp/steps "$id")"
    done
    for id in $none $variable; do
        same "0:mpi batch:mpi" "$(traced_steps /tmp/steps "$id")"
        same "0 batch extern" "$(steps_with_mpi /tmp/steps "$id")"
    done
    same "0:mpi 1:" "$(traced_steps /tmp/steps "$salloc")"
    same "0:" "$(traced_steps /tmp/steps "$srun")"
    same "0:+ 1:mpi+ batch:+" "$(traced_steps /tmp/steps "$paths")"
    not grep error "/home/alice/slurm-$plain.out" "/home/alice/slurm-$of_mpi.out"
}

# on_spans PROGRAM: of jq, for the spans of all steps
on_spans() {
    jq -e "[.resourceSpans[].scopeSpans[].spans[]] | $1" /tmp/trace.json
}

trace_has_all_steps() {
    as alice jobio trace "$1" -o - > /tmp/trace.json
    on_spans 'map(.name | select(startswith("step "))) | sort == ["step 0", "step batch"]'
}

# has_calls ID N: jobiod has read so many calls of MPI_File_close
has_calls() {
    jobio job "$1" --json | jq -e ".mpi.calls.close.calls >= $2"
}

# ranks: "PID RANK" of the processes in the trace that call MPI-IO; those whose rank was not read have none
ranks() {
    jq -r '[.resourceSpans[].scopeSpans[].spans[]] | (map(select(.name | startswith("MPI_File")).parentSpanId)) as $callers
        | .[] | select(.spanId | IN($callers[])).attributes | map({key, value: (.value | to_entries[0].value)})
        | from_entries | "\(.["process.pid"]) \(.["jobio.rank"] // "")"' /tmp/trace.json | sort
}

@test "sbatch --io-trace: each request is a span in the trace of the job, or counted as left out, and ranks are right" {
    local id root=4bf92f3577b34da6a3ce929d0e0e4736 spans counted
    # Each rank writes its number down, and waits until jobiod has read its calls.
    id=$(submit alice --io-mpi --io-trace << END
#!/bin/sh
export TRACEPARENT=00-$root-00f067aa0ba902b7-01
RANKS=/fast/ranks mpirun.mpich -n 2 calls /scratch/calls
END
    )
    wait_for 240 has_calls "$id" 4
    touch /fast/ranks.read
    job_wait "$id"
    wait_for 60 trace_has_all_steps "$id"
    jobio job "$id" --json --steps > /tmp/job.json
    spans=$(on_spans '[.[].attributes // [] | map({key, value: (.value | to_entries[0].value)}) | from_entries
        | if .["jobio.mount"] then 1 else .["jobio.dropped_requests"] // 0 | tonumber end] | add')
    counted=$(jq '[.steps[] | select(.step != "extern").mounts[].ops | to_entries[]
        | select(.key != "create").value.requests] | add' /tmp/job.json)
    same "$counted" "$spans"
    # The step of the ranks is where the program had this variable; the batch script got none.
    on_spans "map(select(.traceId == \"$root\").name) | index(\"step 0\")"
    # A request below a call of MPI-IO.
    on_spans '(map(select(.name == "MPI_File_write_all").spanId)) as $calls
        | any(.[]; .name == "write" and (.parentSpanId | IN($calls[])))'
    not as bob jobio trace "$id" -o /tmp/bobs.json
    # What was not read is counted.
    ranks | tee /tmp/ranks
    same "$(cut -d ' ' -f 1 /fast/ranks | sort)" "$(cut -d ' ' -f 1 /tmp/ranks)"
    grep ' [01]$' /tmp/ranks
    not grep -vxf /fast/ranks <(grep ' [0-9]' /tmp/ranks)
    on_spans "[.[].attributes[]? | select(.key == \"jobio.ranks_unknown\").value.intValue | tonumber] | add
        >= $(grep -c ' $' /tmp/ranks)"
}

# code ID: which code of the job waited, once each of its steps with the option has it
code() {
    as alice jobio job "$1" --json --steps --stacks > /tmp/code.json
    jq -e '[.steps[] | select(.waiting_code).step] | sort == ["0", "batch"]' /tmp/code.json
}

@test "sbatch --io-stacks: which code of each step waited, by the unit with its drop-in" {
    local id plain
    mkdir -p "${dropin%/*}"
    sed -n '/^\[Service\]/,/^\.Ed/p' "$BATS_TEST_DIRNAME/../../doc/jobio.conf.5" | sed '/^\.Ed/,$d' | tee $stacks_dropin
    [ -s $stacks_dropin ]
    cluster_jobiod_anew
    id=$(submit alice --io-stacks --wrap 'srun dd if=/dev/zero of=/scratch/stacks bs=4k count=1500 oflag=dsync')
    plain=$(submit alice --wrap 'dd if=/dev/zero of=/scratch/plain bs=64k count=3 oflag=dsync')
    job_wait "$id"
    job_wait "$plain"
    wait_for 120 code "$id" || { jobiod_log | tail; cat /tmp/code.json; false; }
    jq -c '.steps[] | [.step, .waiting_code.all, .waiting_code.not_unwound, .waiting_code.process_ended]' /tmp/code.json
    jq -e '.steps[] | select(.step == "0").waiting_code.stacks
        | any(.[]; .thread == "dd" and any(.functions[]; .function | test("write")))' /tmp/code.json
    as alice jobio job "$id".0 --stacks | tee /tmp/code.text
    grep -E ' dd$' /tmp/code.text
    as alice jobio job "$plain" --stacks | grep "waiting code: not recorded"
    not as bob jobio job "$id" --stacks
}
