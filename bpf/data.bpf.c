/* SPDX-License-Identifier: GPL-2.0 */
/* The maps of the programs without the programs, which are freed once they are attached. All
 * objects share these maps. */
#define __noinline __attribute__((internal_linkage, unused)) /* no function either */
#include "bpf/jobio.bpf.h"

char LICENSE[] SEC("license") = "GPL";
