#define _GNU_SOURCE /* flock */
#include "io/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file.h"
#include "io/path.h"

struct sp_file_lock {
  char *name; /* of the lock file */
  int file;   /* -1 where there are no locks */
};

/* The contents of a lock file: the run that holds it, or held it last. */
typedef struct holder {
  long process;
  char host[256], tag[SP_FILE_TAG_SIZE];
} holder;

static const char MARK[] = "sp_solve lock";

sp_status sp_file_lock_name(const char *path, char **out) {
  char *target, *folder = NULL;
  const char *name;
  SP_TRY(sp_path_resolve(path, &target));
  const size_t size = strlen(target) + sizeof "..lock";
  sp_status status = sp_path_split(target, &folder, &name);
  if (status == SP_OK) status = sp_allocate(size, 1, "a file name", out);
  if (status == SP_OK) snprintf(*out, size, "%s.%s.lock", folder, name);
  free(folder);
  free(target);
  return status;
}

/* If the lock file does not exist, the error is about its folder: do not name the file. */
static sp_status fail_errno(const char *name) {
  struct stat file;
  const int reason = errno;
  if (lstat(name, &file) != 0) return sp_fail(SP_ERR_SYSTEM, "%s", strerror(reason));
  return sp_fail(SP_ERR_SYSTEM, "its lock %s: %s", name, strerror(reason));
}

/* False if the file is empty or damaged; *foreign is set if it is not a lock file. */
static bool read_holder(int file, holder *found, bool *foreign) {
  char text[512] = "";
  *found = (holder){0};
  const ssize_t size = pread(file, text, sizeof text - 1, 0);
  *foreign = size != 0 && strncmp(text, MARK, sizeof MARK - 1) != 0;
  return !*foreign && sscanf(text + sizeof MARK - 1, ": process %ld on %255s tag %8[a-z0-9]",
                             &found->process, found->host, found->tag) == 3;
}

static sp_status write_holder(const char *name, int file) {
  char host[256] = "", text[512];
  gethostname(host, sizeof host - 1);
  const int size = snprintf(text, sizeof text, "%s: process %ld on %s tag %s\n", MARK,
                            (long)getpid(), host[0] ? host : "?", sp_file_tag());
  if (ftruncate(file, 0) != 0 || pwrite(file, text, (size_t)size, 0) != size)
    return fail_errno(name);
  return SP_OK;
}

static sp_status fail_held(int file) {
  holder other;
  bool foreign;
  char who[320] = "";
  if (read_holder(file, &other, &foreign))
    snprintf(who, sizeof who, " (process %ld on %s)", other.process, other.host);
  return sp_fail(
      SP_ERR_INPUT,
      "another run is writing this file%s: wait until it has ended, or give another name", who);
}

/* Remove the temporary file that a dead run has left. Only the tag is taken from the lock file, so
 * its contents cannot make this remove any other file. */
static sp_status remove_rest(const char *path, const holder *dead) {
  sp_file_names names;
  SP_TRY(sp_file_names_create(path, &names));
  if (strlen(dead->tag) == SP_FILE_TAG_SIZE - 1) {
    char *tag = names.temporary + strlen(names.target) + 1;
    memcpy(tag, dead->tag, SP_FILE_TAG_SIZE - 1);
    unlink(names.temporary);
  }
  sp_file_names_free(&names);
  return SP_OK;
}

/* Whether `name` is still the open file: the run that had the lock before may have removed it. */
static bool is_current(const char *name, int file) {
  struct stat here, there;
  return fstat(file, &here) == 0 && stat(name, &there) == 0 && here.st_dev == there.st_dev &&
         here.st_ino == there.st_ino;
}

/* Open and lock the file; *file is -1 where there are no locks. */
static sp_status open_locked(const char *name, int *file) {
  for (;;) {
    *file = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (*file < 0) return fail_errno(name);
    int result;
    do result = flock(*file, LOCK_EX | LOCK_NB);
    while (result != 0 && errno == EINTR);
    if (result == 0 && is_current(name, *file)) return SP_OK;
    sp_status status = SP_OK;
    const bool none = result != 0 && (errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS);
    if (none)
      unlink(name);
    else if (result != 0)
      status = errno == EWOULDBLOCK ? fail_held(*file) : fail_errno(name);
    close(*file);
    *file = -1;
    if (none || status != SP_OK) return status;
  }
}

static sp_status take(const char *path, sp_file_lock *lock) {
  holder dead;
  bool foreign;
  SP_TRY(sp_file_lock_name(path, &lock->name));
  SP_TRY(open_locked(lock->name, &lock->file));
  if (lock->file < 0) return SP_OK;
  read_holder(lock->file, &dead, &foreign);
  if (foreign) {
    close(lock->file); /* without removing the file */
    lock->file = -1;
    return sp_fail(SP_ERR_INPUT, "its lock %s exists and is not a lock file: give another name",
                   lock->name);
  }
  SP_TRY(remove_rest(path, &dead));
  return write_holder(lock->name, lock->file);
}

sp_status sp_file_lock_acquire(const char *path, sp_file_lock **out) {
  *out = NULL;
  sp_file_lock *lock;
  SP_TRY(sp_allocate(1, sizeof *lock, "a lock", &lock));
  lock->file = -1;
  const sp_status status = take(path, lock);
  if (status != SP_OK)
    sp_file_lock_release(&lock);
  else
    *out = lock;
  return status;
}

bool sp_file_lock_holds(const sp_file_lock *lock) {
  return lock->file >= 0;
}

void sp_file_lock_release(sp_file_lock **lock) {
  if (!*lock) return;
  if ((*lock)->file >= 0) {
    /* Remove the file while it is locked: a later run creates a new one. */
    if (is_current((*lock)->name, (*lock)->file)) unlink((*lock)->name);
    close((*lock)->file);
  }
  free((*lock)->name);
  free(*lock);
  *lock = NULL;
}
