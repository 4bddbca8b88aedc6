/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmocka's headers in the order that it wants. */
#ifndef JOBIO_TESTS_TEST_H
#define JOBIO_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* cmocka 2 has two of assert_in_range(), deprecates the one, and takes a common word for a
 * macro. */
#ifdef assert_uint_in_range
#undef assert_in_range
#define assert_in_range assert_uint_in_range
#undef stop
#endif

#endif
