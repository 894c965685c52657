#include "mesh/gmsh_serve.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mesh/gmsh_model.h"

/* A damaged file may name any number of anything, which the SDK then allocates. What a sound file
 * needs follows from its size, many times over; a .geo may make much of little. */
static void limit_memory(const char *path) {
  enum { LEAST = 1 << 30, TIMES_FILE = 300 };
  struct stat file;
  unsigned long pages = 0;
  if (!sp_gmsh_ends_with(path, ".msh") || stat(path, &file)) return;
  FILE *taken = fopen("/proc/self/statm", "r"); /* libraries, and a sanitizer's own memory */
  if (!taken) return;
  const bool known = fscanf(taken, "%lu", &pages) == 1;
  fclose(taken);
  const rlim_t bytes =
      (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + LEAST + TIMES_FILE * (rlim_t)file.st_size;
  struct rlimit limit;
  if (!known || getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur <= bytes) return;
  limit.rlim_cur = bytes;
  setrlimit(RLIMIT_AS, &limit);
}

void sp_gmsh_serve(sp_gmsh_wire *wire, bool whole, int size, const char *path) {
  sp_hexes *hexes = NULL;
  int *parts = NULL;
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* a crash is expected */
  limit_memory(path);
  const sp_status status = sp_gmsh_read(path, size, &hexes, whole ? &parts : NULL);
  sp_gmsh_send(wire, status, hexes, parts);
}
