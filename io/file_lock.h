/* Locks that keep two runs from writing one file at the same time.
 *
 * The lock of run.h5 is held on the file .run.h5.lock beside it, with flock(2), for as long as a
 * run lives; where the name is a symbolic link, beside the file that it leads to. Readers ask for
 * no lock and are never kept out, and HDF5's own locks, which are on the files themselves, do not
 * matter here. The kernel drops the lock of a run that crashes or is killed; its .run.h5.lock stays
 * and is taken over by the next run, which also removes the temporary file (io/file.h) of the dead
 * one. A run that ends by itself removes it.
 *
 * Over NFS Linux passes the lock on to the server, so that runs on several machines see it (not
 * with the mount option nolock or local_lock). Where a file system has no locks at all, as Lustre
 * without the option flock, none is held: then nothing notices a second run, but each file that it
 * writes is still whole. In a parallel run one rank holds the locks for all. All functions Local.
 */
#ifndef SP_IO_FILE_LOCK_H
#define SP_IO_FILE_LOCK_H

#include <stdbool.h>

#include "io/error.h"

typedef struct sp_file_lock sp_file_lock;

/* Lock `path`, which need not exist; does not wait. The caller releases *out. Errors, whose
 * messages are bare reasons: SP_ERR_INPUT "another run writes it, process 4711 on node7" and for a
 * file of the lock's name that is something else; SP_ERR_SYSTEM. */
sp_status sp_file_lock_acquire(const char *path, sp_file_lock **out);

/* False if the file system has no locks. */
bool sp_file_lock_holds(const sp_file_lock *lock);

/* NULL-safe; sets *lock to NULL. */
void sp_file_lock_release(sp_file_lock **lock);

/* .NAME.lock beside what `path` leads to; the caller frees it. */
sp_status sp_file_lock_name(const char *path, char **name);

#endif
