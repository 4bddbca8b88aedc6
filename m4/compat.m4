# SPDX-License-Identifier: GPL-2.0-or-later
# JOBIO_COMPAT: for each library that is older than the interface that jobio uses, put a header of compat/ in
# front of the library's. Substitutes COMPAT_CPPFLAGS. --enable-compat: all of them, for tests.

# JOBIO_COMPAT_CHECK(DIRECTORY, HEADER, FUNCTION, CFLAGS)
AC_DEFUN([JOBIO_COMPAT_CHECK], [
    jobio_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $4"
    AC_CHECK_DECL([$3], [jobio_old=$enable_compat], [jobio_old=yes], [[#include <$2>]])
    CPPFLAGS=$jobio_CPPFLAGS
    AS_IF([test $jobio_old = yes], [COMPAT_CPPFLAGS="$COMPAT_CPPFLAGS -I\$(top_srcdir)/compat/$1" COMPAT="$COMPAT $1"])
])

AC_DEFUN([JOBIO_COMPAT], [
    AC_ARG_ENABLE([compat], [AS_HELP_STRING([--enable-compat], [use all of compat/, also with new libraries])],
        [], [enable_compat=no])
    COMPAT_CPPFLAGS= COMPAT=
    JOBIO_COMPAT_CHECK([glibc-2.30], [search.h], [twalk_r], [])
    JOBIO_COMPAT_CHECK([json-c-0.14], [json-c/json.h], [json_object_new_uint64], [$JSONC_CFLAGS])
    JOBIO_COMPAT_CHECK([systemd-247], [systemd/sd-event.h], [sd_event_add_time_relative], [$SYSTEMD_CFLAGS])
    AC_SUBST([COMPAT_CPPFLAGS])
])
