/* For fallocate, which reserves space without ever writing zeros. */
#define _GNU_SOURCE
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "io/hash.h"

/* ---- Paths ---- */

enum { MOST_LINKS = 40 }; /* the kernel's own limit */

bool sp_path_is_ordinary(const char *path) {
  struct stat file;
  return stat(path, &file) != 0 || S_ISREG(file.st_mode);
}

bool sp_path_is_read_only(const char *path) {
  struct stat file;
  return stat(path, &file) == 0 && (file.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0;
}

sp_status sp_path_resolve(const char *path, char **target) {
  char link[PATH_MAX];
  *target = NULL;
  sp_status status = sp_format(target, "%s", path);
  for (int links = 0; !status; links++) {
    const ssize_t length = readlink(*target, link, sizeof link - 1);
    if (length < 0) return SP_OK; /* not a link; other errors show when the file is used */
    link[length] = '\0';
    const char *slash = link[0] == '/' ? NULL : strrchr(*target, '/');
    const int folder = slash ? (int)(slash + 1 - *target) : 0;
    status = links < MOST_LINKS ? sp_format(target, "%.*s%s", folder, *target, link)
                                : sp_fail(SP_ERR_SYSTEM, "%s", strerror(ELOOP));
  }
  free(*target);
  *target = NULL;
  return status;
}

static bool is_same_node(const char *a, const char *b) {
  struct stat left, right;
  return stat(a, &left) == 0 && stat(b, &right) == 0 && left.st_dev == right.st_dev &&
         left.st_ino == right.st_ino;
}

/* True if both are the same name in the same folder. */
static bool is_same_place(const char *a, const char *b) {
  const char *paths[2] = {a, b}, *names[2];
  char folders[2][PATH_MAX];
  for (int p = 0; p < 2; p++) {
    const char *slash = strrchr(paths[p], '/');
    names[p] = slash ? slash + 1 : paths[p];
    snprintf(folders[p], PATH_MAX, "%.*s.", (int)(names[p] - paths[p]), paths[p]);
  }
  return strcmp(names[0], names[1]) == 0 && is_same_node(folders[0], folders[1]);
}

bool sp_path_is_same(const char *a, const char *b) {
  if (strcmp(a, b) == 0 || is_same_node(a, b)) return true;
  char *left = NULL, *right = NULL;
  const bool same = sp_path_resolve(a, &left) == SP_OK && sp_path_resolve(b, &right) == SP_OK &&
                    is_same_place(left, right);
  SP_FREE(left, right);
  return same;
}

/* ---- Files ---- */

const char *sp_file_tag(void) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  static char tag[SP_FILE_TAG_SIZE];
  if (tag[0]) return tag;
  uint64_t bits;
  if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) != (ssize_t)sizeof bits) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    bits =
        sp_hash((uint64_t)now.tv_nsec ^ sp_hash((uint64_t)now.tv_sec ^ (uint64_t)getpid() << 32));
  }
  for (int c = 0; c < SP_FILE_TAG_SIZE - 1; c++, bits /= sizeof letters - 1)
    tag[c] = letters[bits % (sizeof letters - 1)];
  return tag;
}

static sp_status fail_errno(void) {
  return sp_fail(SP_ERR_SYSTEM, "%s", strerror(errno));
}

/* Close the file; network file systems report some errors only now. Returns `status` if it is a
 * failure. */
static sp_status close_file(int file, sp_status status) {
  if (close(file) != 0 && status == SP_OK) return fail_errno();
  return status;
}

void sp_file_names_free(sp_file_names *names) {
  SP_FREE(names->target, names->temporary);
  *names = (sp_file_names){0};
}

sp_status sp_file_names_create(const char *path, sp_file_names *names) {
  *names = (sp_file_names){0};
  SP_TRY(sp_path_resolve(path, &names->target));
  const sp_status status = sp_format(&names->temporary, "%s.%s.tmp", names->target, sp_file_tag());
  if (status) sp_file_names_free(names);
  return status;
}

sp_status sp_file_write(int file, const void *bytes, size_t size) {
  const char *next = bytes;
  while (size > 0) {
    const ssize_t written = write(file, next, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail_errno();
    next += written;
    size -= (size_t)written;
  }
  return SP_OK;
}

/* Create or overwrite `path`, and sync. */
static sp_status write_file(const char *path, const void *bytes, size_t size) {
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return fail_errno();
  sp_status status = sp_file_write(file, bytes, size);
  if (!status && fsync(file) != 0) status = fail_errno();
  return close_file(file, status);
}

static int first_byte(const char *path) {
  FILE *stream = fopen(path, "rb");
  const int first = stream ? getc(stream) : EOF;
  if (stream) fclose(stream);
  return first;
}

sp_status sp_file_try(const char *path, int first) {
  sp_file_names names;
  if (!sp_path_is_ordinary(path)) return sp_fail(SP_ERR_SYSTEM, "it is not a regular file");
  const int found = first_byte(path);
  if (found != EOF && found != first)
    return sp_fail(SP_ERR_SYSTEM, "a file of another format would be lost; give another name");
  SP_TRY(sp_file_names_create(path, &names));
  const sp_status status = write_file(names.temporary, "", 0);
  unlink(names.temporary);
  sp_file_names_free(&names);
  return status;
}

sp_status sp_file_replace(const char *path, const void *bytes, size_t size) {
  sp_file_names names;
  SP_TRY(sp_file_names_create(path, &names));
  sp_status status = write_file(names.temporary, bytes, size);
  if (status == SP_OK) status = sp_file_rename(names.temporary, names.target);
  if (status != SP_OK) unlink(names.temporary);
  sp_file_names_free(&names);
  return status;
}

sp_status sp_file_reserve(const char *path, int64_t bytes) {
  const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return fail_errno();
  int result;
  do result = bytes > 0 ? fallocate(file, 0, 0, (off_t)bytes) : 0;
  while (result != 0 && errno == EINTR);
  const bool unknown = result != 0 && (errno == EOPNOTSUPP || errno == ENOSYS);
  return close_file(file, result == 0 || unknown ? SP_OK : fail_errno());
}

sp_status sp_file_sync(const char *path) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return fail_errno();
  return close_file(file, fsync(file) == 0 ? SP_OK : fail_errno());
}

sp_status sp_file_rename(const char *from, const char *to) {
  return rename(from, to) == 0 ? SP_OK : fail_errno();
}
