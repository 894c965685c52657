#include "io/hdf5_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hdf5.h>

#include "io/file.h"

/* A file that is built in memory grows in steps of this many bytes. */
enum { REASON_SIZE = 256, IMAGE_INCREMENT = 1 << 16 };

static bool failed;
static char reason[REASON_SIZE];

/* HDF5 walks from the innermost error outwards; the innermost is the cause. The text of a failed
 * system call is a long list with line breaks; keep only its part in quotes. */
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

void sp_hdf5_attribute(int64_t object, const char *name, int64_t type, int count,
                       const void *value) {
  const hsize_t shape = (hsize_t)count;
  const hid_t space = count > 0 ? H5Screate_simple(1, &shape, NULL) : H5Screate(H5S_SCALAR);
  const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  H5Awrite(attribute, type, value);
  H5Aclose(attribute);
  H5Sclose(space);
}

int64_t sp_hdf5_text_type(size_t size) {
  const hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, size);
  H5Tset_cset(type, H5T_CSET_UTF8);
  return type;
}

/* Build the file in memory: HDF5 misbehaves if it cannot close a file on a full disk. */
static sp_status build_image(void (*fill)(int64_t file, const void *context), const void *context,
                             void **image, size_t *size) {
  sp_hdf5_begin();
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_core(access, IMAGE_INCREMENT, false);
  const hid_t file = H5Fcreate("in memory", H5F_ACC_TRUNC, H5P_DEFAULT, access);
  H5Pclose(access);
  fill(file, context);
  H5Fflush(file, H5F_SCOPE_LOCAL);
  sp_status status = SP_OK;
  const ssize_t bytes = H5Fget_file_image(file, NULL, 0);
  if (bytes >= 0) status = sp_allocate((size_t)bytes, 1, "an HDF5 file", image);
  if (*image) H5Fget_file_image(file, *image, (size_t)bytes);
  H5Fclose(file);
  if (status == SP_OK) status = sp_hdf5_end();
  *size = status == SP_OK ? (size_t)bytes : 0;
  return status;
}

sp_status sp_hdf5_replace(const char *path, void (*fill)(int64_t file, const void *context),
                          const void *context) {
  void *image = NULL;
  size_t size;
  sp_status status = build_image(fill, context, &image, &size);
  if (status == SP_OK) status = sp_file_replace(path, image, size);
  free(image);
  return status;
}
