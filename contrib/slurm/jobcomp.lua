-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- JobCompType=jobcomp/lua: writes one JSON line per job, with the I/O record (IO1) that jobio has put
-- into AdminComment. Install it as /etc/slurm/jobcomp.lua on the controller; slurmctld reloads it when
-- it changes. slurmctld holds its job lock while this runs: the log must be a local file.

-- SlurmUser must be able to create this file and append to it.
local LOG = os.getenv("JOBIO_JOBCOMP_LOG") or "/var/log/slurm/jobio-jobcomp.jsonl"

-- Works with Lua 5.1 to 5.4: Slurm uses the version of the distribution.

local STATES = {
    [0] = "PENDING", "RUNNING", "SUSPENDED", "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT",
    "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY",
}
local REQUEUED = 1024 -- a flag: this run has ended, the job has not
local NO_VAL, INFINITE = 4294967294, 4294967295
local MAX_DEPTH = 16

-- JSON ------------------------------------------------------------------------------------------

local value_end

-- Each X_end(s, i) returns the position after the X that starts at s[i], or nil if there is none.
local function string_end(s, i)
    if s:sub(i, i) ~= '"' then return nil end
    i = i + 1
    while true do
        local stop = s:find('[%z\1-\31"\\]', i)
        if not stop then return nil end
        local c = s:sub(stop, stop)
        if c == '"' then return stop + 1 end
        if c ~= "\\" then return nil end
        if s:find('^["\\/bfnrt]', stop + 1) then
            i = stop + 2
        elseif s:find("^u%x%x%x%x", stop + 1) then
            i = stop + 6
        else
            return nil
        end
    end
end

local function number_end(s, i)
    local _, last = s:find("^%-?%d+", i)
    if not last or s:find("^%-?0%d", i) then return nil end
    local _, fraction = s:find("^%.%d+", last + 1)
    last = fraction or last
    local _, exponent = s:find("^[eE][+-]?%d+", last + 1)
    return (exponent or last) + 1
end

local function blanks_end(s, i)
    return s:find("[^ \t\r\n]", i) or #s + 1
end

-- A list between brackets; `item` is one of its elements.
local function list_end(s, i, close, item, depth)
    i = blanks_end(s, i + 1)
    if s:sub(i, i) == close then return i + 1 end
    while i do
        i = item(s, i, depth)
        if not i then return nil end
        i = blanks_end(s, i)
        local c = s:sub(i, i)
        if c == close then return i + 1 end
        if c ~= "," then return nil end
        i = blanks_end(s, i + 1)
    end
end

local function member_end(s, i, depth)
    i = string_end(s, i)
    if not i then return nil end
    i = blanks_end(s, i)
    if s:sub(i, i) ~= ":" then return nil end
    return value_end(s, blanks_end(s, i + 1), depth)
end

function value_end(s, i, depth)
    local c = s:sub(i, i)
    if depth > MAX_DEPTH then return nil end
    if c == "{" then return list_end(s, i, "}", member_end, depth + 1) end
    if c == "[" then return list_end(s, i, "]", value_end, depth + 1) end
    if c == '"' then return string_end(s, i) end
    for _, word in ipairs({ "true", "false", "null" }) do
        if s:sub(i, i + #word - 1) == word then return i + #word end
    end
    return number_end(s, i)
end

-- The size in bytes of the UTF-8 character at s[i]; nil if it is not valid UTF-8.
local function utf8_size(s, i)
    local a, b = s:byte(i), s:byte(i + 1) or 0
    local size
    if a < 0x80 then
        return 1
    elseif a >= 0xC2 and a <= 0xDF then
        size = 2
    elseif a >= 0xE0 and a <= 0xEF then
        size = 3
        if a == 0xE0 and b < 0xA0 or a == 0xED and b > 0x9F then return nil end
    elseif a >= 0xF0 and a <= 0xF4 then
        size = 4
        if a == 0xF0 and b < 0x90 or a == 0xF4 and b > 0x8F then return nil end
    else
        return nil
    end
    for k = i + 1, i + size - 1 do
        local c = s:byte(k)
        if not c or c < 0x80 or c > 0xBF then return nil end
    end
    return size
end

local function quote(text)
    local out, i = {}, 1
    while i <= #text do
        local size = utf8_size(text, i)
        local c = text:sub(i, i + (size or 1) - 1)
        if not size then
            c = "\\ufffd"
        elseif c == '"' or c == "\\" then
            c = "\\" .. c
        elseif c:byte() < 0x20 or c:byte() == 0x7F then
            c = string.format("\\u%04x", c:byte())
        end
        out[#out + 1] = c
        i = i + (size or 1)
    end
    return '"' .. table.concat(out) .. '"'
end

-- The record ------------------------------------------------------------------------------------

-- The JSON after "IO1:" in a comment, "null" if there is none or if it is damaged.
local function io_record(comment)
    local _, last = (comment or ""):find("IO1:{", 1, true)
    if not last then return "null" end
    local stop = value_end(comment, last, 0)
    if not stop then return "null" end
    return (comment:sub(last, stop - 1):gsub("[\r\n]", " "))
end

local function number(value)
    if type(value) ~= "number" or value ~= value or value >= NO_VAL and value <= INFINITE
        or value < 0 or value > 2 ^ 53 then
        return nil
    end
    return string.format("%.0f", value)
end

local function text(value)
    return value ~= nil and quote(tostring(value)) or nil
end

local function state(value)
    if type(value) == "number" and math.floor(value / REQUEUED) % 2 == 1 then
        return quote("REQUEUED")
    end
    local name = type(value) == "number" and STATES[value % 256]
    return name and quote(name) or number(value)
end

local function exit_status(value)
    return type(value) == "number" and number(math.floor(value / 256) % 256) or nil
end

local function exit_signal(value)
    return type(value) == "number" and number(value % 128) or nil
end

-- { JSON key, field of Slurm's job record, function that formats it }
local FIELDS = {
    { "jobid", "job_id", number },
    { "restart", "restart_cnt", number },
    { "array_job_id", "array_job_id", number },
    { "array_task_id", "array_task_id", number },
    { "uid", "user_id", number },
    { "user", "user_name", text },
    { "account", "account", text },
    { "partition", "partition", text },
    { "name", "name", text },
    { "state", "job_state", state },
    { "exit_status", "exit_code", exit_status },
    { "exit_signal", "exit_code", exit_signal },
    { "submit", "submit_time", number },
    { "start", "start_time", number },
    { "end", "end_time", number },
    { "nodes", "total_nodes", number },
    { "cpus", "total_cpus", number },
    { "nodelist", "nodes", text },
    { "io", "admin_comment", io_record },
}

local function line_of(job)
    local parts = {}
    for _, field in ipairs(FIELDS) do
        local value = field[3](job[field[2]])
        parts[#parts + 1] = quote(field[1]) .. ":" .. (value or "null")
    end
    if slurm and slurm.CLUSTER_NAME then
        table.insert(parts, 1, '"cluster":' .. quote(tostring(slurm.CLUSTER_NAME)))
    end
    return "{" .. table.concat(parts, ",") .. "}\n"
end

-- One write, so that a line is complete or missing.
local function append(line)
    local file, reason = io.open(LOG, "a")
    if not file then error(reason, 0) end
    file:setvbuf("full", #line + 1)
    local written, why = file:write(line)
    local closed, late = file:close()
    if not written or not closed then error(why or late or "write failed", 0) end
end

function slurm_jobcomp_log_record(job)
    local ok, reason = pcall(function() append(line_of(job)) end)
    if not ok and slurm and slurm.log_error then
        pcall(slurm.log_error, "jobio: %s: %s", LOG, tostring(reason))
    end
    return 0
end

return 0
