/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Attach empty programs to all functions that jobio hooks, print a line, and detach the programs
 * when a line is entered.
 */
#include "config.h"

#include <stdio.h>

#include "tests/bench/empty.h"

int main(void)
{
    struct empty_programs *programs = empty_attach();

    puts("attached");
    (void)fflush(stdout);
    (void)getchar();
    empty_detach(programs);
    return 0;
}
