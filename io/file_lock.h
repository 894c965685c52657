/* Locks that keep two runs from writing one file at the same time.
 *
 * As long as a run lives, it holds the lock of run.h5 with flock(2) on the file .run.h5.lock beside
 * it, or beside the target if run.h5 is a symbolic link. Readers take no
 * lock and are never blocked. HDF5's own locks are on the files themselves and do not interfere. A
 * run that ends normally removes .run.h5.lock. The kernel drops the lock of a run that crashes or
 * is killed; the next run takes over its .run.h5.lock and removes its temporary file (io/file.h).
 *
 * Over NFS, Linux passes the lock on to the server, so runs on other machines see it (unless
 * mounted with nolock or local_lock). On a file system without locks, such as Lustre without the
 * option flock, there is no lock: a second run is not detected, but each file is still written
 * whole. In a parallel run one rank holds the locks for all. All functions Local. */
#ifndef SP_IO_FILE_LOCK_H
#define SP_IO_FILE_LOCK_H

#include <stdbool.h>

#include "io/error.h"

typedef struct sp_file_lock sp_file_lock;

/* Lock `path`, which need not exist, without waiting. The caller releases *out. Errors (messages
 * without the path): SP_ERR_INPUT if another run holds the lock, "another run is writing this file
 * (process 4711 on node7): ...", or if .NAME.lock exists and is not a lock file; SP_ERR_SYSTEM. */
sp_status sp_file_lock_acquire(const char *path, sp_file_lock **out);

/* False if the file system has no locks. */
bool sp_file_lock_holds(const sp_file_lock *lock);

/* NULL-safe; sets *lock to NULL. */
void sp_file_lock_release(sp_file_lock **lock);

/* *name = the path of the lock file of `path`, with links resolved; the caller frees it. */
sp_status sp_file_lock_name(const char *path, char **name);

#endif
