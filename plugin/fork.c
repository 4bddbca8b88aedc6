/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "plugin/fork.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* glibc has _Fork() since 2.34. Without it, the system call: the child has glibc's copy of the
 * parent's thread id, which no system call needs. Only the first argument counts without CLONE_VM,
 * except on s390, where it is the second one. */
pid_t fork_without_handlers(void)
{
#if HAVE__FORK && !defined(FORK_BY_CLONE)
    return _Fork();
#elif defined(__s390__)
    return (pid_t)syscall(SYS_clone, 0, SIGCHLD, 0, 0, 0);
#else
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#endif
}
