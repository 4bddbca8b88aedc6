# SPDX-License-Identifier: GPL-2.0-or-later
# What a build of the kernel side takes from elsewhere if the distribution's own is too old.

# JOBIO_BUNDLED_LIBBPF: unpack or copy the source of libbpf into libbpf/ of the build directory, where make
# builds it (bpf/Makefile.am). Sets LIBBPF_SOURCE, LIBBPF_CFLAGS and LIBBPF_LIBS.
AC_DEFUN([JOBIO_BUNDLED_LIBBPF], [
    rm -rf libbpf
    AS_MKDIR_P([libbpf/source])
    AS_IF([test -d "$with_bundled_libbpf"], [cp -R "$with_bundled_libbpf/." libbpf/source],
        [tar -xf "$with_bundled_libbpf" -C libbpf/source])
    # An archive has one directory; its name does not matter.
    for jobio_map in libbpf/source/src/libbpf.map libbpf/source/*/src/libbpf.map; do
        AS_IF([test -e "$jobio_map"], [LIBBPF_SOURCE=${jobio_map%/src/libbpf.map}])
    done
    AS_IF([test -z "$LIBBPF_SOURCE"],
        [AC_MSG_ERROR([$with_bundled_libbpf is not the source of libbpf: it has no src/libbpf.map (the kernel has its own copy, which does not build alone)])])
    LIBBPF_VERSION=`$SED -n 's/^LIBBPF_\(@<:@0-9.@:>@*\).*{.*/\1/p' $LIBBPF_SOURCE/src/libbpf.map | tail -n 1`
    AS_VERSION_COMPARE([$LIBBPF_VERSION], [0.8], [AC_MSG_ERROR([$with_bundled_libbpf is libbpf $LIBBPF_VERSION: 0.8 or newer is needed])])
    jobio_here=`pwd`
    # Its own copy of the kernel's headers: those of the distribution may be older.
    LIBBPF_CFLAGS="-isystem $jobio_here/libbpf/include"
    LIBBPF_LIBS="-L$jobio_here/libbpf/lib -lbpf $LIBELF_LIBS $ZLIB_LIBS"
])

# JOBIO_BPF_SKELETONS: the BPF programs are the same for all kernels and libraries, so that they can be compiled
# elsewhere, for the same architecture. Sets SKELETONS.
AC_DEFUN([JOBIO_BPF_SKELETONS], [
    SKELETONS=`cd "$with_bpf_skeletons" && pwd` && test -e "$SKELETONS/bpf/skeletons.sum" ||
        AC_MSG_ERROR([$with_bpf_skeletons has no bpf/skeletons.sum: run "make skeletons" there])
])
