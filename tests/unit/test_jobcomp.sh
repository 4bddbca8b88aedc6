#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# contrib/slurm/jobcomp.lua under each Lua that is here (Debian 12's slurmctld has 5.1), with a job
# record that answers fields as Slurm's does. jq says whether the lines are JSON. That slurmctld
# itself loads the script is for the cluster tests.
set -eu

script=${srcdir:-.}/contrib/slurm/jobcomp.lua
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat > "$folder/driver.lua" << 'LUA'
local LONG = "IO1:" .. '{"v":1,"complete":true,"m":[["/a}b\\"{",  "nfs4",1,2.5,-3e+2]],"rest":[]}'
local function record(fields)
    return setmetatable({}, { __index = function(_, key)
        local value = fields[key]
        if type(value) == "function" then value = value() end
        return value
    end })
end
local logged = 0
slurm = { CLUSTER_NAME = "t", log_error = function(format, ...)
    logged = logged + 1
    assert(#string.format(format, ...) > 0)
end }
assert(dofile(arg[1]) == 0)
local base = { job_id = 7, restart_cnt = 1, user_id = 1000, user_name = "ann", partition = "p",
    array_task_id = 4294967294, job_state = 3 + 0x8000, exit_code = 256 * 5, start_time = 1700000000 }
local function with(more)
    local all = {}
    for k, v in pairs(base) do all[k] = v end
    for k, v in pairs(more) do all[k] = v end
    return record(all)
end
local jobs = {
    with { admin_comment = "JS1:x " .. LONG .. " more} text" },
    with { name = 'a"b\\c\n\27[31m\0\255\195\169\127' },
    with { admin_comment = 'IO1:{"v":1,' },
    with { admin_comment = 'IO1:{"v":01}', exit_code = 9, job_state = 4 },
    with { admin_comment = "IO1:" .. ("{\"a\":"):rep(100) .. "1" .. ("}"):rep(100) },
    with { admin_comment = 'IO1:{"v":\n1}', job_state = 1024 },
}
for _, job in ipairs(jobs) do assert(slurm_jobcomp_log_record(job) == 0) end
assert(logged == 0)
assert(slurm_jobcomp_log_record(with { name = function() error("gone") end }) == 0)
assert(logged == 1)
LUA

cat > "$folder/refused.lua" << 'LUA'
local logged
slurm = { log_error = function(format, ...) logged = string.format(format, ...) end }
dofile(arg[1])
assert(slurm_jobcomp_log_record({ job_id = 1 }) == 0)
assert(logged:find("/nowhere/log", 1, true))
slurm = nil
assert(slurm_jobcomp_log_record({ job_id = 1 }) == 0)
LUA

# check WHAT FILTER: the filter holds for the lines as one array
check() {
    jq -e -s "$2" "$folder/log" > /dev/null || { echo "FAILED with $lua: $1"; cat "$folder/log"; exit 1; }
}

ran=0
for lua in lua5.1 lua5.2 lua5.3 lua5.4; do
    command -v $lua > /dev/null && command -v jq > /dev/null || continue
    ran=$((ran + 1))
    rm -f "$folder/log"
    JOBIO_JOBCOMP_LOG=$folder/log $lua "$folder/driver.lua" "$script"
    JOBIO_JOBCOMP_LOG=/nowhere/log $lua "$folder/refused.lua" "$script"
    check "one line a job, and none for the job that cannot be read" 'length == 6'
    [ "$(wc -l < "$folder/log")" -eq 6 ]
    check "identity" 'all(.[]; .jobid == 7 and .restart == 1 and .uid == 1000 and .user == "ann"
        and .cluster == "t" and .start == 1700000000 and .array_task_id == null)'
    check "state and exit" '.[0] | .state == "COMPLETED" and .exit_status == 5 and .exit_signal == 0'
    check "killed" '.[3] | .state == "CANCELLED" and .exit_status == 0 and .exit_signal == 9'
    check "the record between other text" '.[0].io == {v: 1, complete: true,
        m: [["/a}b\"{", "nfs4", 1, 2.5, -300]], rest: []}'
    check "untrusted name" '.[1].name == "a\"b\\c\n\u001b[31m\u0000\ufffdé\u007f"'
    check "no record" '.[1].io == null'
    check "cut record" '.[2].io == null'
    check "damaged number" '.[3].io == null'
    check "too deep" '.[4].io == null'
    check "requeued" '.[5].state == "REQUEUED"'
    check "newline in the record" '.[5].io == {v: 1}'
    echo "ok with $lua"
done
[ $ran -gt 0 ] || { echo "SKIPPED: no lua or no jq here (Debian: lua5.1 jq)"; exit 77; }
