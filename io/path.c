#include "io/path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
