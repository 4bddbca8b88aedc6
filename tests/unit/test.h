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

#endif
