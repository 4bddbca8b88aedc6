/* SPDX-License-Identifier: GPL-2.0 */
/* The maps of all programs, without a program. User space keeps this object, and closes those with
 * programs once these are attached: they share its maps. */

/* The compiler drops functions that have no external linkage and no caller. */
#define __noinline __attribute__((internal_linkage, unused))
#include "bpf/jobio.bpf.h"

char LICENSE[] SEC("license") = "GPL";
