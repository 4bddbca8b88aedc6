/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of the database: where it may be, its lock, and its mode. */
#define _GNU_SOURCE /* asprintf */
#include "collector/store/store_impl.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>

/* f_type of statfs(2) of file systems that several hosts share, or whose shared mappings are not
 * coherent. WAL requires a single host. */
static const struct {
    unsigned long magic;
    const char *name;
} network_fs[] = {
    {0x6969, "NFS"},          {0x517b, "SMB"},        {0xfe534d42, "SMB"},   {0xff534d42, "CIFS"},
    {0x0bd00bd0, "Lustre"},   {0x00c36400, "CephFS"}, {0x47504653, "GPFS"},  {0x19830326, "BeeGFS"},
    {0x20030528, "OrangeFS"}, {0xaad7aaea, "PanFS"},  {0x5346414f, "AFS"},   {0x6b414653, "AFS"},
    {0x73757245, "Coda"},     {0x01021997, "9P"},     {0x7461636f, "OCFS2"}, {0x01161970, "GFS2"},
    {0x65735546, "FUSE"},     {0x564c, "NCP"},
};

int store_check_fs(const char *path, unsigned long magic, struct error *error)
{
    for (size_t i = 0; i < ARRAY_SIZE(network_fs); i++)
        if (network_fs[i].magic == magic)
            return error_set(error, -EOPNOTSUPP,
                             "store \"%s\": on %s, and it must be on a local file system", path,
                             network_fs[i].name);
    return 0;
}

static int check_directory(const char *path, struct error *error)
{
    _free_ char *directory = strdup(path);
    char *slash = directory ? strrchr(directory, '/') : NULL;
    const char *name = slash == directory ? "/" : directory;
    struct statfs fs;

    if (!directory)
        return error_errno(error, -ENOMEM, "store \"%s\"", path);
    if (!slash)
        name = ".";
    else if (slash > directory)
        *slash = '\0';
    if (statfs(name, &fs) < 0)
        return error_errno(error, -errno, "store \"%s\": its directory \"%s\"", path, name);
    return store_check_fs(path, (unsigned long)fs.f_type & 0xffffffffu, error);
}

/* Does not open the file: POSIX drops the locks that SQLite holds on it for another connection of
 * this process as soon as any descriptor of it is closed. */
int store_file_check(const char *path, bool *exists, struct error *error)
{
    struct stat st;
    int r = check_directory(path, error);

    if (r < 0)
        return r;
    *exists = lstat(path, &st) == 0;
    if (!*exists)
        return errno == ENOENT ? 0 : error_errno(error, -errno, "store \"%s\"", path);
    if (S_ISLNK(st.st_mode))
        return error_set(error, -ELOOP, "store \"%s\": it is a symbolic link", path);
    if (S_ISDIR(st.st_mode))
        return error_set(error, -EISDIR, "store \"%s\": it is a directory", path);
    if (!S_ISREG(st.st_mode))
        return error_set(error, -EINVAL, "store \"%s\": it is not a regular file", path);
    return 0;
}

/* The lock is on a file of its own for the same reason. */
int store_file_lock(const char *path, int *ret, struct error *error)
{
    _free_ char *name = NULL;
    _close_ int fd = -1;

    if (asprintf(&name, "%s.lock", path) < 0)
        return error_errno(error, -ENOMEM, "store \"%s\"", path);
    fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (fd < 0)
        return error_errno(error, -errno, "store \"%s\": its lock \"%s\"", path, name);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return error_set(error, errno == EWOULDBLOCK ? -EBUSY : -errno,
                         "store \"%s\": another jobiod writes to it", path);
    *ret = TAKE_FD(fd);
    return 0;
}

/* -wal and -shm inherit the mode of the file: it holds the jobs of all users. */
int store_file_create(const char *path, struct error *error)
{
    _close_ int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);

    if (fd < 0)
        return error_errno(error, -errno, "store \"%s\"", path);
    return 0;
}
