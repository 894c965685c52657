#define _GNU_SOURCE /* pipe2 */
#include "mesh/gmsh_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* What comes first through the pipe; the arrays follow if the status is SP_OK. */
typedef struct header {
  int status, count, map_order, surface_count, group_count;
  sp_gid left_out;
  char message[1024];
} header;

typedef struct group_header {
  int number, length;
} group_header;

/* Either end of the pipe. A reader that fails here has lost its child, a writer its parent. */
typedef struct channel {
  int file;
  bool writes, failed;
} channel;

static void transfer(channel *c, void *bytes, size_t size) {
  char *next = bytes;
  while (size > 0 && !c->failed) {
    const ssize_t done = c->writes ? write(c->file, next, size) : read(c->file, next, size);
    if (done < 0 && errno == EINTR) continue;
    c->failed = done <= 0;
    if (!c->failed) {
      next += done;
      size -= (size_t)done;
    }
  }
}

/* The arrays of `hexes`, in the same order in both directions. */
static void transfer_arrays(channel *c, sp_hexes *hexes, int *parts) {
  const size_t count = (size_t)hexes->count;
  transfer(c, hexes->lattice, count * 3 * sizeof(double) * (size_t)sp_hexes_lattice_size(hexes));
  transfer(c, hexes->vertices, count * sizeof *hexes->vertices);
  transfer(c, hexes->surfaces, count * sizeof *hexes->surfaces);
  transfer(c, hexes->tags, count * sizeof *hexes->tags);
  if (parts) transfer(c, parts, count * sizeof *parts);
}

static void send_groups(channel *c, sp_hexes *hexes) {
  for (int g = 0; g < hexes->group_count; g++) {
    sp_group *group = &hexes->groups[g];
    group_header head = {group->number, (int)strlen(group->name)};
    transfer(c, &head, sizeof head);
    transfer(c, group->name, (size_t)head.length);
    transfer(c, group->members, (size_t)hexes->surface_count * sizeof *group->members);
  }
}

static sp_status receive_groups(channel *c, sp_hexes *hexes) {
  for (int g = 0; g < hexes->group_count && !c->failed; g++) {
    group_header head = {0, 0};
    char *name;
    transfer(c, &head, sizeof head);
    SP_TRY(sp_allocate((size_t)head.length + 1, 1, "group name", &name));
    transfer(c, name, (size_t)head.length);
    const sp_status status = sp_hexes_set_group(hexes, g, name, head.number);
    free(name);
    SP_TRY(status);
    transfer(c, hexes->groups[g].members,
             (size_t)hexes->surface_count * sizeof *hexes->groups[g].members);
  }
  return SP_OK;
}

/* What a library prints on its way down is not ours to show, and a crash that is expected needs no
 * core file. */
static void fall_silent(void) {
  const int nowhere = open("/dev/null", O_WRONLY);
  if (nowhere >= 0) {
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
  }
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
}

/* A damaged file may name any number of anything, which the SDK then allocates. What a sound file
 * needs follows from its size, many times over; a .geo may make much of little. */
static void limit_memory(const char *path) {
  enum { LEAST = 1 << 30, TIMES_FILE = 300 };
  struct stat file;
  unsigned long pages = 0;
  const size_t length = strlen(path);
  if (length < 4 || strcmp(path + length - 4, ".msh") != 0 || stat(path, &file)) return;
  FILE *taken = fopen("/proc/self/statm", "r"); /* what the parent has is in the child, too */
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

static void be_child(sp_gmsh_reader reader, const char *path, int size, int file, bool with_parts) {
  channel c = {.file = file, .writes = true};
  sp_hexes *hexes = NULL;
  int *parts = NULL;
  header head = {0};
  fall_silent();
  limit_memory(path);
  head.status = (int)reader(path, size, &hexes, with_parts ? &parts : NULL);
  if (head.status) {
    snprintf(head.message, sizeof head.message, "%s", sp_error_message());
  } else {
    head.count = hexes->count;
    head.map_order = hexes->map_order;
    head.surface_count = hexes->surface_count;
    head.group_count = hexes->group_count;
    head.left_out = hexes->left_out;
  }
  transfer(&c, &head, sizeof head);
  if (!head.status) {
    send_groups(&c, hexes);
    transfer_arrays(&c, hexes, parts);
  }
  _exit(c.failed);
}

static sp_status receive(channel *c, sp_hexes **hexes, int **parts) {
  header head = {0};
  transfer(c, &head, sizeof head);
  if (c->failed) return SP_OK; /* the end of the child tells more */
  if (head.status) return sp_fail((sp_status)head.status, "%s", head.message);
  SP_TRY(sp_hexes_create(head.count, head.map_order, head.surface_count, head.group_count, hexes));
  (*hexes)->left_out = head.left_out;
  if (parts) SP_TRY(sp_allocate((size_t)head.count, sizeof **parts, "partition", parts));
  SP_TRY(receive_groups(c, *hexes));
  transfer_arrays(c, *hexes, parts ? *parts : NULL);
  return SP_OK;
}

static sp_status died(const char *path, int how) {
  char cause[64];
  if (WIFSIGNALED(how))
    snprintf(cause, sizeof cause, "%s", strsignal(WTERMSIG(how)));
  else
    snprintf(cause, sizeof cause, "exit code %d", WEXITSTATUS(how));
  return sp_fail(SP_ERR_INPUT,
                 "%s: gmsh crashed while it read this file (%s): it is damaged, or larger than "
                 "the memory; write it anew",
                 path, cause);
}

sp_status sp_gmsh_in_child(sp_gmsh_reader reader, const char *path, int size, sp_hexes **hexes,
                           int **parts) {
  int ends[2];
  *hexes = NULL;
  if (pipe2(ends, O_CLOEXEC) != 0)
    return sp_fail(SP_ERR_SYSTEM, "%s: no pipe to read it through: %s", path, strerror(errno));
  const pid_t parent = getpid(), child = fork();
  if (child == 0) {
    close(ends[0]);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    be_child(reader, path, size, ends[1], parts != NULL);
  }
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return sp_fail(SP_ERR_SYSTEM, "%s: no process to read it in: %s", path, strerror(errno));
  }
  channel c = {.file = ends[0]};
  sp_status status = receive(&c, hexes, parts);
  close(ends[0]);
  int how = 0;
  pid_t ended;
  do ended = waitpid(child, &how, 0);
  while (ended < 0 && errno == EINTR);
  if (!status && c.failed) status = died(path, how);
  if (status) sp_hexes_destroy(hexes);
  return status;
}
