#include "io/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool sp_path_is_replaceable(const char *path) {
  struct stat file;
  return stat(path, &file) != 0 || S_ISREG(file.st_mode);
}

static bool is_same_node(const char *a, const char *b) {
  struct stat left, right;
  return stat(a, &left) == 0 && stat(b, &right) == 0 && left.st_dev == right.st_dev &&
         left.st_ino == right.st_ino;
}

static const char *name_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* The folder that holds `path`; the caller frees it. NULL without memory. */
static char *folder_of(const char *path) {
  const size_t length = (size_t)(name_of(path) - path);
  char *folder = malloc(length + 2);
  if (!folder) return NULL;
  memcpy(folder, path, length);
  memcpy(folder + length, ".", 2);
  return folder;
}

bool sp_path_is_same(const char *a, const char *b) {
  if (strcmp(a, b) == 0 || is_same_node(a, b)) return true;
  if (strcmp(name_of(a), name_of(b)) != 0) return false;
  char *left = folder_of(a), *right = folder_of(b);
  const bool same = left && right && is_same_node(left, right);
  free(left);
  free(right);
  return same;
}
