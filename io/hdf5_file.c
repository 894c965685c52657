#define _GNU_SOURCE /* fallocate: the one call that reserves space and never writes zeros instead  \
                     */
#include "io/hdf5_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <hdf5.h>

enum { REASON_SIZE = 256 };

static bool failed;
static char reason[REASON_SIZE];

/* HDF5 walks from the innermost error outwards; the innermost names the cause. Where that is a
 * system call its text is a list of facts (with a line break in the date), of which the user wants
 * the one in quotes. */
static herr_t keep_innermost(unsigned n, const H5E_error2_t *error, void *unused) {
  (void)unused;
  if (n > 0) return 0;
  const char *text = error->desc ? error->desc : "";
  static const char mark[] = "error message = '";
  const char *quoted = strstr(text, mark);
  const char *start = quoted ? quoted + strlen(mark) : text;
  snprintf(reason, sizeof reason, "HDF5: %.*s", (int)strcspn(start, quoted ? "'\n" : "\n"), start);
  return 0;
}

static herr_t on_failure(hid_t stack, void *unused) {
  (void)unused;
  if (failed) return 0;
  failed = true;
  snprintf(reason, sizeof reason, "HDF5 gave no reason");
  H5Ewalk2(stack, H5E_WALK_UPWARD, keep_innermost, NULL);
  return 0;
}

void sp_hdf5_begin(void) {
  failed = false;
  if (H5Eset_auto2(H5E_DEFAULT, on_failure, NULL) < 0) {
    failed = true;
    snprintf(reason, sizeof reason, "HDF5 cannot be initialised");
  }
}

bool sp_hdf5_failed(void) {
  return failed;
}

sp_status sp_hdf5_end(void) {
  return failed ? sp_fail(SP_ERR_SYSTEM, "%s", reason) : SP_OK;
}

static sp_status fail_errno(void) {
  return sp_fail(SP_ERR_SYSTEM, "%s", strerror(errno));
}

/* Close after the file was used with `status`; network file systems report some errors only now. */
static sp_status close_file(int file, sp_status status) {
  if (close(file) != 0 && status == SP_OK) return fail_errno();
  return status;
}

sp_status sp_file_temporary_name(const char *path, char **temporary) {
  const size_t size = strlen(path) + sizeof ".tmp";
  SP_TRY(sp_allocate(size, 1, "a file name", temporary));
  snprintf(*temporary, size, "%s.tmp", path);
  return SP_OK;
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

sp_status sp_file_check(const char *path) {
  const int file = open(path, O_RDWR | O_CLOEXEC);
  return file < 0 ? fail_errno() : close_file(file, SP_OK);
}

sp_status sp_file_write(const char *path, const void *bytes, size_t size) {
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return fail_errno();
  const char *next = bytes;
  while (size > 0) {
    const ssize_t written = write(file, next, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return close_file(file, fail_errno());
    next += written;
    size -= (size_t)written;
  }
  return close_file(file, fsync(file) == 0 ? SP_OK : fail_errno());
}

sp_status sp_file_sync(const char *path) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return fail_errno();
  return close_file(file, fsync(file) == 0 ? SP_OK : fail_errno());
}

sp_status sp_file_rename(const char *from, const char *to) {
  return rename(from, to) == 0 ? SP_OK : fail_errno();
}
