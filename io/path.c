#include "io/path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINKS = 40 }; /* the kernel's own limit */

bool sp_path_is_replaceable(const char *path) {
  struct stat file;
  return stat(path, &file) != 0 || S_ISREG(file.st_mode);
}

sp_status sp_path_split(const char *path, char **folder, const char **name) {
  const char *slash = strrchr(path, '/');
  *name = slash ? slash + 1 : path;
  const size_t length = (size_t)(*name - path);
  SP_TRY(sp_allocate(length + 1, 1, "a path", folder));
  memcpy(*folder, path, length);
  return SP_OK;
}

/* The contents of the symbolic link `path`; *text is NULL if it is not a link. */
static sp_status read_link(const char *path, char **text) {
  for (size_t size = 256;; size *= 2) {
    SP_TRY(sp_allocate(size, 1, "a path", text));
    const ssize_t length = readlink(path, *text, size - 1);
    if (length >= 0 && (size_t)length < size - 1) return SP_OK; /* the rest is zero */
    free(*text);
    *text = NULL;
    if (length < 0) return SP_OK; /* not a link; other errors show when the file is used */
  }
}

/* Replace *path, a link that points to `text`, by what it leads to. */
static sp_status follow(char **path, const char *text) {
  char *folder, *joined;
  const char *name;
  SP_TRY(sp_path_split(*path, &folder, &name));
  const size_t size = strlen(folder) + strlen(text) + 1;
  const sp_status status = sp_allocate(size, 1, "a path", &joined);
  if (status == SP_OK) {
    snprintf(joined, size, "%s%s", *text == '/' ? "" : folder, text);
    free(*path);
    *path = joined;
  }
  free(folder);
  return status;
}

sp_status sp_path_resolve(const char *path, char **target) {
  *target = NULL;
  char *at;
  SP_TRY(sp_allocate(strlen(path) + 1, 1, "a path", &at));
  strcpy(at, path);
  for (int links = 0;; links++) {
    char *text;
    sp_status status = read_link(at, &text);
    if (status == SP_OK && !text) {
      *target = at;
      return SP_OK;
    }
    if (status == SP_OK)
      status =
          links < MOST_LINKS ? follow(&at, text) : sp_fail(SP_ERR_SYSTEM, "%s", strerror(ELOOP));
    free(text);
    if (status != SP_OK) {
      free(at);
      return status;
    }
  }
}

static bool is_same_node(const char *a, const char *b) {
  struct stat left, right;
  return stat(a, &left) == 0 && stat(b, &right) == 0 && left.st_dev == right.st_dev &&
         left.st_ino == right.st_ino;
}

/* True if both are the same name in the same folder. */
static bool is_same_place(const char *a, const char *b) {
  char *left = NULL, *right = NULL;
  const char *left_name, *right_name;
  bool same = sp_path_split(a, &left, &left_name) == SP_OK &&
              sp_path_split(b, &right, &right_name) == SP_OK && strcmp(left_name, right_name) == 0;
  same = same && is_same_node(*left ? left : ".", *right ? right : ".");
  free(left);
  free(right);
  return same;
}

bool sp_path_is_same(const char *a, const char *b) {
  if (strcmp(a, b) == 0 || is_same_node(a, b)) return true;
  char *left = NULL, *right = NULL;
  const bool same = sp_path_resolve(a, &left) == SP_OK && sp_path_resolve(b, &right) == SP_OK &&
                    is_same_place(left, right);
  free(left);
  free(right);
  return same;
}
