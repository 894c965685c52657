#define _GNU_SOURCE /* pipe2 */
#include "mesh/gmsh/reader.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME "sp_mesh_reader"

extern char **environ;

typedef struct reader_process {
  pid_t id;
  sp_gmsh_wire wire; /* receives the answer */
  char version[SP_GMSH_VERSION_SIZE];
} reader_process;

enum { CAUSE_SIZE = 64 };

/* ---- The program: find, start, wait ---- */

/* Relative to the folder of the running program (in a build tree also a test or a fuzzing harness),
 * or of the shared library that this code is in. */
static const char *const PLACES[] = {"mesh", SP_READER_INSTALLED, SP_READER_OF_LIBRARY, "../mesh",
                                     "../../mesh"};

static void cut_name(char *path) {
  char *name = strrchr(path, '/');
  if (name) *name = '\0';
}

static sp_status own_folder(char folder[PATH_MAX]) {
  const ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
  if (length <= 0)
    return sp_fail(SP_ERR_SYSTEM, "cannot determine the program's path: /proc/self/exe: %s",
                   strerror(errno));
  folder[length] = '\0';
  cut_name(folder);
  return SP_OK;
}

static bool is_in(const char *folder, const char *place, char path[PATH_MAX]) {
  const int length = snprintf(path, PATH_MAX, "%s/%s/%s", folder, place, NAME);
  return length < PATH_MAX && access(path, X_OK) == 0;
}

static bool is_beside(const char *folder, char path[PATH_MAX]) {
  for (size_t p = 0; p < sizeof PLACES / sizeof *PLACES; p++)
    if (is_in(folder, PLACES[p], path)) return true;
  return false;
}

static sp_status find_reader(char path[PATH_MAX]) {
  char folder[PATH_MAX], library[PATH_MAX];
  Dl_info own;
  SP_TRY(own_folder(folder));
  if (is_beside(folder, path)) return SP_OK;
  if (dladdr(PLACES, &own) && own.dli_fname && realpath(own.dli_fname, library)) {
    cut_name(library);
    if (is_beside(library, path)) return SP_OK;
  }
  if (is_in(SP_READER_FOLDER, ".", path)) return SP_OK; /* where a static one was to be installed */
  return sp_fail(SP_ERR_SYSTEM,
                 "the program " NAME ", which reads mesh files, is missing: expected %s/%s/" NAME
                 " (where cmake --install puts it) or, in a build tree, %s/%s/" NAME,
                 folder, SP_READER_INSTALLED, folder, PLACES[0]);
}

/* Copy the environment without the variables that make a process a rank. The strings are borrowed.
 */
static sp_status make_environment(char ***out) {
  static const char *const launchers[] = {"OMPI_", "PMIX_", "PMI_", "PRTE_",
                                          "PALS_", "MPI_",  "MV2_", "HYDI_"};
  size_t count = 0, kept = 0;
  while (environ[count]) count++;
  SP_TRY(sp_allocate(count + 1, sizeof **out, "environment", out));
  for (size_t v = 0; v < count; v++) {
    bool launcher = false;
    for (size_t l = 0; l < sizeof launchers / sizeof *launchers; l++)
      launcher = launcher || strncmp(environ[v], launchers[l], strlen(launchers[l])) == 0;
    if (!launcher) (*out)[kept++] = environ[v];
  }
  return SP_OK;
}

/* Redirect descriptors 0 to 2 to /dev/null, which hides the output of a crashing library. Close all
 * others. */
static int add_descriptors(posix_spawn_file_actions_t *actions, int pipe) {
  int error = 0;
  for (int file = 0; file < SP_GMSH_WIRE_FILE && !error; file++)
    error = posix_spawn_file_actions_addopen(actions, file, "/dev/null",
                                             file == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0);
  if (!error) error = posix_spawn_file_actions_adddup2(actions, pipe, SP_GMSH_WIRE_FILE);
  DIR *open_files = opendir("/proc/self/fd");
  if (!open_files && !error) error = errno;
  for (struct dirent *entry; !error && (entry = readdir(open_files));) {
    const int file = atoi(entry->d_name); /* "." and ".." give 0 */
    if (file > SP_GMSH_WIRE_FILE) error = posix_spawn_file_actions_addclose(actions, file);
  }
  if (open_files) closedir(open_files);
  return error;
}

static int spawn(const char *path, char *const *argv, char *const *environment, int pipe,
                 pid_t *id) {
  posix_spawn_file_actions_t actions;
  int error = posix_spawn_file_actions_init(&actions);
  if (error) return error;
  error = add_descriptors(&actions, pipe);
  if (!error) error = posix_spawn(id, path, &actions, NULL, argv, environment);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

/* `end`: the reader's end of the pipe. */
static sp_status start_program(const char *const *arguments, int end, pid_t *id) {
  enum { MOST = 6 };
  char path[PATH_MAX], parent[24], **environment = NULL, *argv[MOST + 3] = {path, parent};
  snprintf(parent, sizeof parent, "%ld", (long)getpid());
  for (int a = 0; a < MOST && arguments[a]; a++) argv[a + 2] = (char *)arguments[a];
  SP_TRY(find_reader(path));
  SP_TRY(make_environment(&environment));
  const int error = spawn(path, argv, environment, end, id);
  free(environment);
  return error ? sp_fail(SP_ERR_SYSTEM, "%s cannot be started: %s", path, strerror(error)) : SP_OK;
}

/* Start the program, and connect process->wire. */
static sp_status open_pipe(const char *const *arguments, reader_process *process) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return sp_fail(SP_ERR_SYSTEM, "no pipe to the mesh reader: %s", strerror(errno));
  /* Use a higher descriptor than the reader's: dup2 to itself would leave it marked to close. */
  const int end = fcntl(ends[1], F_DUPFD_CLOEXEC, SP_GMSH_WIRE_FILE + 1);
  sp_status status = SP_OK;
  if (end < 0) status = sp_fail(SP_ERR_SYSTEM, "no pipe to the mesh reader: %s", strerror(errno));
  close(ends[1]);
  if (!status) status = start_program(arguments, end, &process->id);
  if (end >= 0) close(end);
  if (status)
    close(ends[0]);
  else
    process->wire.file = ends[0];
  return status;
}

/* Close the pipe and wait until the process ends. `cause` becomes "Segmentation fault", "exit code
 * 3" or similar. Returns true for exit code 0. */
static bool finish_reader(reader_process *process, char cause[CAUSE_SIZE]) {
  int how = 0;
  pid_t ended;
  close(process->wire.file);
  do ended = waitpid(process->id, &how, 0);
  while (ended < 0 && errno == EINTR);
  if (WIFSIGNALED(how))
    snprintf(cause, CAUSE_SIZE, "%s", strsignal(WTERMSIG(how)));
  else
    snprintf(cause, CAUSE_SIZE, "exit code %d", WEXITSTATUS(how));
  return how == 0;
}

/* Start the reader with its own arguments 2, 3 ... up to NULL, and receive its greeting; the caller
 * calls finish_reader. The process inherits only the pipe and /dev/null. Errors: SP_ERR_SYSTEM if
 * the program is missing, cannot be started, or sends no greeting; do not call finish_reader then.
 */
static sp_status start_reader(const char *const *arguments, reader_process *process) {
  char cause[CAUSE_SIZE], path[PATH_MAX];
  *process = (reader_process){0};
  SP_TRY(open_pipe(arguments, process));
  if (sp_gmsh_receive_greeting(&process->wire, process->version)) return SP_OK;
  finish_reader(process, cause);
  SP_TRY(find_reader(path));
  return sp_fail(
      SP_ERR_SYSTEM,
      "%s does not work (%s): is a shared library missing (ldd %s), or does it belong to "
      "another version of sp_solve?",
      path, cause, path);
}

/* ---- The answers ---- */

/* Wait for the answer, with a progress line if that takes more than a second. */
static void wait_for_answer(int file, const char *path, sp_terminal *terminal) {
  struct pollfd answer = {.fd = file, .events = POLLIN};
  for (int second = 1; terminal && poll(&answer, 1, 1000) == 0; second++)
    sp_terminal_show(terminal, "  set-up: gmsh works on %s, %d s ...", path, second);
}

sp_status sp_gmsh_in_child(const char *path, const sp_gmsh_sizes *sizes, int size,
                           sp_terminal *terminal, sp_hexes **hexes, int **parts) {
  char count[24], numbers[3][32], cause[CAUSE_SIZE];
  reader_process process;
  *hexes = NULL;
  snprintf(count, sizeof count, "%d", size);
  const double of_sizes[3] = {sizes->largest, sizes->smallest, sizes->per_circle};
  for (int n = 0; n < 3; n++) snprintf(numbers[n], sizeof numbers[n], "%.17g", of_sizes[n]);
  const char *const arguments[] = {
      parts ? "whole" : "part", count, path, numbers[0], numbers[1], numbers[2], NULL};
  SP_TRY(start_reader(arguments, &process));
  wait_for_answer(process.wire.file, path, terminal);
  sp_status status = sp_gmsh_receive(&process.wire, hexes, parts);
  const bool failed = process.wire.failed;
  const bool succeeded = finish_reader(&process, cause);
  if (!status && failed && succeeded)
    status = sp_fail(SP_ERR_INPUT, "%s: gmsh ended while it read this file: remove Exit", path);
  else if (!status && failed)
    status = sp_fail(SP_ERR_INPUT,
                     "%s: gmsh crashed while it read this file (%s): it is damaged, or larger than "
                     "the memory; write it anew",
                     path, cause);
  if (status) sp_hexes_destroy(hexes);
  return status;
}

const char *sp_gmsh_version(void) {
  static char version[1024];
  char cause[CAUSE_SIZE];
  reader_process process;
  if (start_reader((const char *[]){NULL}, &process)) {
    snprintf(version, sizeof version, "unknown: %s", sp_error_message());
  } else {
    snprintf(version, sizeof version, "%s", process.version);
    finish_reader(&process, cause);
  }
  return version;
}
