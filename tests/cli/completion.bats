#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion, asked as bash asks it.

load cli.bash

setup() {
    source "$BATS_TEST_DIRNAME/../../contrib/completion/jobio"
}

# offers WORD...: what is offered for the last word, sorted, on one line
offers() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    _jobio
    printf '%s\n' "${COMPREPLY[@]}" | sort | xargs
}

@test "subcommands" {
    [ "$(offers jobio '')" = "help history job retire run status" ]
    [ "$(offers jobio h)" = "help history" ]
    [ "$(offers jobio --socket /x h)" = "help history" ]
    [ "$(offers jobio help sta)" = "status" ]
}

@test "each option of each subcommand is offered, and no other" {
    for sub in job history status run retire; do
        offered=$(offers jobio $sub -- | tr ' ' '\n' | grep -v '^-.$' | sort)
        told=$(jobio help $sub | grep -oE '^ +(-., )? *--[a-z0-9]+' | grep -oE -- '--[a-z0-9]+' | sort)
        # --store and --help are understood everywhere
        diff <(printf '%s\n--store\n--help\n' "$told" | sort -u) <(echo "$offered")
    done
}

@test "values" {
    [ "$(offers jobio history --sort '')" = "meta read wait write" ]
    [ "$(offers jobio history --sort = w)" = "wait write" ]
    [ "$(offers jobio history -S no)" = "noon now now-1days now-1hours now-7days" ]
    [ "$(offers jobio history -u roo)" = root ]
    [ "$(offers jobio history -n '')" = "" ]
}

@test "fields, one after the other" {
    [ "$(offers jobio history -o JobI)" = JobID ]
    [ "$(offers jobio history -o JobID,Read%9,WriteR)" = JobID,Read%9,WriteReq ]
}

@test "jobio run completes commands, then files" {
    [[ " $(offers jobio run -- mkdi) " == *" mkdir "* ]]
    [[ " $(offers jobio run --json mkdi) " == *" mkdir "* ]]
    [ "$(offers jobio run -- ls "$BATS_TEST_DIRNAME/comple")" = "$BATS_TEST_DIRNAME/completion.bats" ]
    [ "$(offers jobio run -- ls --js)" = "" ]
}
