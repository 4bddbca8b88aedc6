/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory of SQLite, and a VFS in front of the default one. */
#include <sqlite3.h>

#include "tests/unit/fault.h"
#include "tests/unit/test.h"

/* --- memory ----------------------------------------------------------------------------------- */

static sqlite3_mem_methods memory;

static void *memory_new(int size)
{
    void *p;

    if (fault_is_due(FAULT_SQLITE_MEMORY))
        return NULL;
    fault_pause();
    p = memory.xMalloc(size);
    fault_resume();
    return p;
}

static void *memory_grow(void *old, int size)
{
    void *p;

    if (fault_is_due(FAULT_SQLITE_MEMORY))
        return NULL;
    fault_pause();
    p = memory.xRealloc(old, size);
    fault_resume();
    return p;
}

/* --- files ------------------------------------------------------------------------------------ */

struct file {
    sqlite3_file base;
    sqlite3_file real[]; /* as many bytes as the VFS behind needs */
};

static sqlite3_vfs *below;

static sqlite3_file *real(sqlite3_file *file)
{
    return ((struct file *)file)->real;
}

/* One call on files: fails with `code`, or is passed on. */
#define PASS(code, call)                   \
    do {                                   \
        int rc_;                           \
                                           \
        if (fault_is_due(FAULT_SQLITE_IO)) \
            return (code);                 \
        fault_pause();                     \
        rc_ = (call);                      \
        fault_resume();                    \
        return rc_;                        \
    } while (0)
#define BELOW(file) (real(file)->pMethods)

static int file_close(sqlite3_file *f)
{
    return BELOW(f)->xClose(real(f));
}

static int file_read(sqlite3_file *f, void *data, int n, sqlite3_int64 at)
{
    PASS(SQLITE_IOERR_READ, BELOW(f)->xRead(real(f), data, n, at));
}

/* A fault writes only a half. */
static int file_write(sqlite3_file *f, const void *data, int n, sqlite3_int64 at)
{
    bool full = fault_is_due(FAULT_SQLITE_FULL);

    if (!full && !fault_is_due(FAULT_SQLITE_IO))
        return BELOW(f)->xWrite(real(f), data, n, at);
    (void)BELOW(f)->xWrite(real(f), data, n / 2, at);
    return full ? SQLITE_FULL : SQLITE_IOERR_WRITE;
}

static int file_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    PASS(SQLITE_IOERR_TRUNCATE, BELOW(f)->xTruncate(real(f), size));
}

/* Without waiting for the disk: no test loses its power. */
static int file_sync(sqlite3_file *f, int flags)
{
    (void)f, (void)flags;
    return fault_is_due(FAULT_SQLITE_IO) ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

static int file_size(sqlite3_file *f, sqlite3_int64 *size)
{
    PASS(SQLITE_IOERR_FSTAT, BELOW(f)->xFileSize(real(f), size));
}

static int file_lock(sqlite3_file *f, int level)
{
    PASS(SQLITE_IOERR_LOCK, BELOW(f)->xLock(real(f), level));
}

static int file_unlock(sqlite3_file *f, int level)
{
    return BELOW(f)->xUnlock(real(f), level);
}

static int file_reserved(sqlite3_file *f, int *held)
{
    PASS(SQLITE_IOERR_CHECKRESERVEDLOCK, BELOW(f)->xCheckReservedLock(real(f), held));
}

static int file_control(sqlite3_file *f, int op, void *arg)
{
    return BELOW(f)->xFileControl(real(f), op, arg);
}

static int file_sector(sqlite3_file *f)
{
    return BELOW(f)->xSectorSize(real(f));
}

static int file_features(sqlite3_file *f)
{
    return BELOW(f)->xDeviceCharacteristics(real(f));
}

static int shared_map(sqlite3_file *f, int page, int size, int extend, void volatile **ret)
{
    PASS(SQLITE_IOERR_SHMMAP, BELOW(f)->xShmMap(real(f), page, size, extend, ret));
}

static int shared_lock(sqlite3_file *f, int at, int n, int flags)
{
    if (flags & SQLITE_SHM_UNLOCK)
        return BELOW(f)->xShmLock(real(f), at, n, flags);
    PASS(SQLITE_IOERR_SHMLOCK, BELOW(f)->xShmLock(real(f), at, n, flags));
}

static void shared_barrier(sqlite3_file *f)
{
    BELOW(f)->xShmBarrier(real(f));
}

static int shared_unmap(sqlite3_file *f, int remove)
{
    return BELOW(f)->xShmUnmap(real(f), remove);
}

/* Version 2: without mapped reads. */
static const sqlite3_io_methods file_methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_features,
    .xShmMap = shared_map,
    .xShmLock = shared_lock,
    .xShmBarrier = shared_barrier,
    .xShmUnmap = shared_unmap,
};

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *got)
{
    int rc;

    (void)vfs;
    f->pMethods = NULL;
    if (fault_is_due(FAULT_SQLITE_IO))
        return SQLITE_CANTOPEN;
    fault_pause();
    rc = below->xOpen(below, name, real(f), flags, got);
    fault_resume();
    if (rc == SQLITE_OK)
        f->pMethods = &file_methods;
    return rc;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    (void)vfs;
    PASS(SQLITE_IOERR_DELETE, below->xDelete(below, name, sync));
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret)
{
    (void)vfs;
    PASS(SQLITE_IOERR_ACCESS, below->xAccess(below, name, flags, ret));
}

void fault_sqlite_set_up(void)
{
    static sqlite3_mem_methods denied;
    static sqlite3_vfs vfs;

    assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &memory), SQLITE_OK);
    denied = memory;
    denied.xMalloc = memory_new;
    denied.xRealloc = memory_grow;
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &denied), SQLITE_OK);
    below = sqlite3_vfs_find(NULL);
    assert_non_null(below);
    vfs = *below;
    vfs.zName = "fault";
    vfs.szOsFile += (int)sizeof(struct file);
    vfs.xOpen = vfs_open;
    vfs.xDelete = vfs_delete;
    vfs.xAccess = vfs_access;
    assert_int_equal(sqlite3_vfs_register(&vfs, 1), SQLITE_OK);
}
