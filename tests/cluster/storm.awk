# SPDX-License-Identifier: GPL-2.0-or-later
# Judges a storm (storm.bash): awk -v name=FAULT -v jobs=N -v times=N -f storm.awk FACTS
# FACTS has lines of
#   slurm JOB STATE EXIT RESTARTS RECORD WRITES BYTES   its end, and its record: true, false (complete), none
#   file NAME SIZE       a file that the job JOB wrote: JOB.N with N requests, JOB.t with requests of 4096
#   job JOB ENDED COMPLETE, io JOB WRITES BYTES         its account in the store, and of /scratch
#   cause JOB TEXT       why an account is incomplete
#   named JOB TEXT       a line in a log that reports a loss
#   unsent JOB           a finished step of it is not in the outbox
#   hook NS HOOK JOB PID LABEL                          stopwatch.c
# Prints the row of the table, then what is wrong. Exit status 1 unless each job has ended well and in time,
# each account that is complete is right, and each loss has a name.

BEGIN {
    # Milliseconds: the deadlines of plugin/stepd.c and plugin/slurmd.c, and time for the rest of the hook,
    # in an emulated machine with more processes than processors.
    slack = 2000
    bound["job_prolog"] = bound["init_post_opt"] = bound["task_post_fork"] = 200
    bound["task_exit"] = bound["job_epilog"] = 200
    bound["exit"] = 2000
}

$1 == "slurm" { state[$2] = $3; status[$2] = $4; restarts[$2] = $5; record[$2] = $6; record_io[$2] = $7 " " $8 }
$1 == "file" {
    split($2, part, ".")
    writes[part[1]] += part[2] == "t" ? $3 / 4096 : part[2]
    bytes[part[1]] += $3
}
$1 == "job" && !($2 in complete) { has_ended[$2] = $3; complete[$2] = $4 } # the newest run is first
$1 == "io" && !($2 in io) { io[$2] = $3 " " $4; io_bytes[$2] = $4 }
$1 == "cause" { job = $2; $1 = $2 = ""; causes[job] = causes[job] $0 }
$1 == "named" { job = $2; $1 = $2 = ""; named[job] = named[job] $0 }
$1 == "unsent" { unsent[$2] }
$1 == "hook" && $6 == "first" { entered[$3, $4, $5] = $2 }
$1 == "hook" && $6 == "last" && ($3, $4, $5) in entered {
    took = ($2 - entered[$3, $4, $5]) / 1e6
    delete entered[$3, $4, $5]
    hooks++
    in_hooks[$4] += took
    if (took > slowest[$3]) slowest[$3] = took
    if (took > bound[$3] + slack) late[$4] = late[$4] sprintf(" %s %d ms", $3, took)
}

function blame(count, job, text) {
    problems = problems sprintf("job %s: %s\n", job, text)
    bad[count]++
}

# The account of a job that did `truth`.
function judge(job, truth) {
    if (!(job in complete)) {
        if (job in named) missing++
        else blame("unnamed", job, "no account, and no line in a log")
    } else if (complete[job] == "true" && io[job] == truth) {
        exact++
    } else if (complete[job] == "true") {
        blame("wrong", job, "wrote " truth ", has " io[job] " and says complete")
    } else if (io_bytes[job] > bytes[job]) {
        blame("wrong", job, "wrote " truth ", has more: " io[job])
    } else if (causes[job] == "") {
        blame("unnamed", job, "incomplete without a cause")
    } else {
        incomplete++
        n_cause[causes[job]]++
    }
    if (job in complete && has_ended[job] != "true") blame("unnamed", job, "is running in the store")
    if (job in unsent) blame("unnamed", job, "a finished step is not in the outbox")
}

function judge_record(job, truth) {
    if (record[job] == "none") no_record++
    else if (record[job] == "true" && record_io[job] != truth)
        blame("wrong", job, "wrote " truth ", its record has " record_io[job] " and says complete")
}

END {
    for (job in state) {
        truth = writes[job] " " bytes[job]
        n++
        if (state[job] != "COMPLETED" || status[job] != 0 || restarts[job] != 0)
            blame("failed", job, state[job] ", status " status[job] ", restarts " restarts[job])
        else if (job in late)
            blame("delayed", job, "hooks over their deadline:" late[job])
        judge(job, truth)
        judge_record(job, truth)
        if (in_hooks[job] > longest) longest = in_hooks[job]
    }
    if (n != jobs) problems = problems sprintf("%d jobs have ended, not %d\n", n, jobs)
    if (hooks < 4 * jobs) problems = problems sprintf("only %d hooks were timed\n", hooks)
    if (name != "none" && times < 2) problems = problems sprintf("the fault was injected %d times\n", times)
    printf "%s | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d\n", name, times, n, exact, incomplete, missing,
        bad["wrong"], bad["unnamed"], bad["failed"], bad["delayed"], no_record
    printf "%s", problems
    for (text in n_cause) printf "incomplete, %d times:%s\n", n_cause[text], text
    for (hook in slowest) printf "slowest %s: %d ms\n", hook, slowest[hook]
    printf "longest in the hooks of a job: %d ms\n", longest
    exit problems != ""
}
