#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion, called as bash calls it.

load cli.bash

setup() {
    source "$BATS_TEST_DIRNAME/../../contrib/completion/jobio"
}

# offers WORD...: the completions of the last word, sorted, on one line
offers() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    _jobio
    printf '%s\n' "${COMPREPLY[@]}" | sort | xargs
}

# told SUBCOMMAND: the options in its --help, one per line
told() {
    jobio help "$1" | grep -oE '^ +(-., )? *--[a-z0-9-]+' | grep -oE -- '-(-[a-z0-9-]+|[A-Za-z]\b)'
}

# manual SECTION: the options that a section of the manual explains
manual() {
    awk -v section="$1" '/^\.S[sh] / { on = $0 == ".Ss " section } on && /^\.It Fl /' \
        "$BATS_TEST_DIRNAME/../../doc/jobio.1" |
        grep -oE '(Fl |, )(-[a-z][a-z0-9-]*|[A-Za-z])( |$)' | sed -E 's/^(Fl |, )/-/; s/ $//'
}

@test "subcommands are completed" {
    [ "$(offers jobio '')" = "$({ subcommands; echo help; } | sort | xargs)" ]
    [ "$(offers jobio h)" = "help history" ]
    [ "$(offers jobio --socket /x h)" = "help history" ]
    [ "$(offers jobio help sta)" = "status" ]
}

@test "exactly the options of each subcommand are completed" {
    for sub in $(subcommands); do
        # --store, --no-pager and --help are accepted everywhere
        diff <({ told $sub; printf '%s\n' --store --no-pager --help; } | sort -u) \
            <(offers jobio $sub - | tr ' ' '\n' | sort)
    done
}

@test "the manual has exactly the options of each subcommand" {
    common=$(manual "The history of all nodes"; manual "Options of all subcommands")
    holds "$common" --from --config --socket --store --no-pager -h
    for sub in $(subcommands); do
        diff <(told $sub | grep -vxFe "$common" | sort) <(manual "jobio $sub" | sort)
    done
}

@test "values of options are completed" {
    [ "$(offers jobio history --sort '')" = "elapsed errors jobs meta read time wait write" ]
    [ "$(offers jobio history --sort = w)" = "wait write" ]
    [ "$(offers jobio top --sort '')" = "errors meta read wait write" ]
    [ "$(offers jobio top --by job)" = "job job-mount" ]
    [ "$(offers jobio trace --format '')" = "chrome otlp" ]
    [ "$(offers jobio top -i '')" = "" ]
    [ "$(offers jobio history -S no)" = "noon now now-1days now-1hours now-7days" ]
    [ "$(offers jobio history -u roo)" = root ]
    [ "$(offers jobio history --group '')" = "account day mount name partition user" ]
    [ "$(offers jobio history -s F)" = FAILED ]
    [ "$(offers jobio history -s e)" = ended ]
    # each of them is a state
    for state in $(offers jobio history -s ''); do
        split jobio --store /nonexistent/jobio.db history -s "$state"
        [[ $err == *"/nonexistent"* && $err != *--state* ]] || { echo "$state: $err"; false; }
    done
    [ "$(offers jobio history --limit '')" = "" ]
}

@test "lists of fields are completed" {
    [ "$(offers jobio history -o JobNa)" = JobName ]
    [ "$(offers jobio history -o JobID,Read%9,WriteR)" = JobID,Read%9,WriteReq ]
}

@test "jobio run completes commands, then files" {
    [[ " $(offers jobio run -- mkdi) " == *" mkdir "* ]]
    [[ " $(offers jobio run --json mkdi) " == *" mkdir "* ]]
    [ "$(offers jobio run -- ls "$BATS_TEST_DIRNAME/comple")" = "$BATS_TEST_DIRNAME/completion.bats" ]
    [ "$(offers jobio run -- ls --js)" = "" ]
}
