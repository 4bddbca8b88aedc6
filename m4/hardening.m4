# SPDX-License-Identifier: GPL-2.0-or-later
# JOBIO_HARDENING: protection against memory errors, as far as the compiler and the linker have it.
# Sets HARDENING to yes or no, FORTIFY to the level of _FORTIFY_SOURCE or why it is not set, and
# substitutes HARDEN_CFLAGS (everything), HARDEN_LDFLAGS (everything) and PIE_LDFLAGS (programs only).

# JOBIO_TRY_FLAGS(CFLAGS, LDFLAGS, [IF-ACCEPTED], [SOURCE]): test a link, because some compilers accept a flag
# whose library is missing. -Werror: clang only warns about flags that it does not know.
AC_DEFUN([JOBIO_TRY_FLAGS], [
    AC_MSG_CHECKING([for m4_normalize([$1 $2])])
    jobio_CFLAGS=$CFLAGS jobio_LDFLAGS=$LDFLAGS
    CFLAGS="$CFLAGS -Werror $1" LDFLAGS="$LDFLAGS $2"
    AC_LINK_IFELSE([m4_default([$4], [AC_LANG_PROGRAM([[#include <stdio.h>]],
            [[char line[256]; if (!fgets(line, sizeof(line), stdin)) return 1; return puts(line) < 0;]])])],
        [jobio_accepted=yes], [jobio_accepted=no])
    CFLAGS=$jobio_CFLAGS LDFLAGS=$jobio_LDFLAGS
    AC_MSG_RESULT([$jobio_accepted])
    AS_IF([test $jobio_accepted = yes], [$3])
])

# The level that the distribution chose stays. Without optimisation, glibc warns; sanitizers do not see
# errors in the checked functions.
AC_DEFUN([JOBIO_FORTIFY], [
    FORTIFY=
    AC_PREPROC_IFELSE([AC_LANG_SOURCE([[
#ifdef _FORTIFY_SOURCE
#error defined
#endif
]])], [], [FORTIFY="set by the compiler or CFLAGS"])
    AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
#ifndef __OPTIMIZE__
#error not optimised
#endif
]])], [], [FORTIFY="no: not optimised"])
    AS_IF([test "x$enable_sanitizers" != xno], [FORTIFY="no: sanitizers"])
    for jobio_level in 3 2; do
        AS_IF([test -z "$FORTIFY"], [
            JOBIO_TRY_FLAGS([-D_FORTIFY_SOURCE=$jobio_level], [],
                [FORTIFY=$jobio_level HARDEN_CFLAGS="$HARDEN_CFLAGS -D_FORTIFY_SOURCE=$jobio_level"],
                [AC_LANG_PROGRAM([[#include <stdio.h>
#if __USE_FORTIFY_LEVEL < $jobio_level
#error not this level
#endif
]], [[]])])])
    done
    AS_IF([test -z "$FORTIFY"], [FORTIFY="no: not supported"])
])

AC_DEFUN([JOBIO_HARDENING], [
    AC_ARG_ENABLE([hardening],
        [AS_HELP_STRING([--disable-hardening], [do not add stack protection, _FORTIFY_SOURCE, PIE and RELRO])],
        [], [enable_hardening=yes])
    HARDEN_CFLAGS= HARDEN_LDFLAGS= PIE_LDFLAGS=
    AS_IF([test "x$enable_hardening" = xno], [HARDENING=no FORTIFY=no], [
        HARDENING=yes
        m4_foreach_w([flag], [-fstack-protector-strong -fstack-clash-protection -fcf-protection],
            [JOBIO_TRY_FLAGS(flag, [], [HARDEN_CFLAGS="$HARDEN_CFLAGS ]flag["])])
        # The plugin adds -fPIC, which takes precedence.
        JOBIO_TRY_FLAGS([-fPIE], [-pie], [HARDEN_CFLAGS="$HARDEN_CFLAGS -fPIE" PIE_LDFLAGS=-pie])
        m4_foreach([flag], [[-Wl,-z,relro], [-Wl,-z,now], [-Wl,-z,noexecstack]],
            [JOBIO_TRY_FLAGS([], [flag], [HARDEN_LDFLAGS="$HARDEN_LDFLAGS flag"])])
        JOBIO_FORTIFY
    ])
    AC_SUBST([HARDENING])
    AC_SUBST([FORTIFY])
    AC_SUBST([HARDEN_CFLAGS])
    AC_SUBST([HARDEN_LDFLAGS])
    AC_SUBST([PIE_LDFLAGS])
])
