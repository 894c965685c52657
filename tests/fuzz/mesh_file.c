/* Damaged mesh files: an input is a file, byte by byte, of the formats 2.2 and 4.1, ASCII or
 * binary.
 *
 * The SDK crashes on some of them, so each is read in a child process. This process must get
 * elements or a message, for any fate of the child. The program starts sp_mesh_reader for that
 * (mesh/gmsh/reader.h), which loads slowly; here the function below replaces the library's and
 * forks instead. That is also slow, and libFuzzer instruments only this process; mesh.c and hexes.c
 * test the code behind the SDK. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <sanitizer/common_interface_defs.h>
#include <unistd.h>

#include "mesh/gmsh/reader.h"
#include "mesh/mesh.h"
#include "tests/fuzz/fuzz.h"

static char path[] = "/tmp/sp_fuzz_XXXXXX.msh";

static void clean_up(void) {
  unlink(path);
}

/* In the child, libFuzzer must not report crashes and failed allocations. */
static void leave_libfuzzer(void) {
  static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE};
  for (size_t s = 0; s < sizeof signals / sizeof *signals; s++) signal(signals[s], SIG_DFL);
  __sanitizer_set_death_callback(NULL);
}

static void be_child(int pipe, const char *file, const sp_gmsh_sizes *sizes, int size, bool whole) {
  sp_gmsh_wire wire = {.file = pipe, .writes = true};
  const int nowhere = open("/dev/null", O_WRONLY);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  char version[SP_GMSH_VERSION_SIZE];
  sp_hexes *hexes = NULL;
  int *parts = NULL;
  sp_status status = sp_gmsh_sdk_start(version);
  if (!status) status = sp_gmsh_read(file, sizes, size, &hexes, whole ? &parts : NULL);
  sp_gmsh_send(&wire, status, hexes, parts);
  _exit(wire.failed);
}

/* libFuzzer's alarm interrupts system calls. */
static void wait_for(pid_t child) {
  pid_t ended;
  do ended = waitpid(child, NULL, 0);
  while (ended < 0 && errno == EINTR);
  require(ended == child, "the child is lost");
}

sp_status sp_gmsh_in_child(const char *file, const sp_gmsh_sizes *sizes, int size,
                           sp_terminal *terminal, sp_hexes **hexes, int **parts) {
  int ends[2];
  (void)terminal;
  *hexes = NULL;
  require(pipe(ends) == 0, "no pipe");
  const pid_t child = fork();
  require(child >= 0, "no process");
  if (child == 0) be_child(ends[1], file, sizes, size, parts != NULL);
  close(ends[1]);
  sp_gmsh_wire wire = {.file = ends[0]};
  sp_status status = sp_gmsh_receive(&wire, hexes, parts);
  close(ends[0]);
  wait_for(child);
  if (!status && wire.failed) status = sp_fail(SP_ERR_INPUT, "gmsh crashed");
  if (status) sp_hexes_destroy(hexes);
  return status;
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  static char *arguments[64];
  int count = 0;
  for (; count < *argc && count < 62; count++) arguments[count] = (*argv)[count];
  arguments[count++] = "-malloc_limit_mb=1048576"; /* libFuzzer's hook is also in the child */
  *argv = arguments;
  *argc = count;
  require(pthread_atfork(NULL, NULL, leave_libfuzzer) == 0, "no handler for forks");
  start_mpi();
  const int file = mkstemps(path, 4);
  require(file >= 0, "no file for the mesh");
  close(file);
  atexit(clean_up);
  return 0;
}

/* A thread that libFuzzer or MPI has just started may hold a lock of AddressSanitizer, and a child
 * that is forked then waits for it forever. */
static void let_threads_start(void) {
  static bool waited = false;
  if (!waited) usleep(200000);
  waited = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  let_threads_start();
  FILE *file = fopen(path, "wb");
  require(file != NULL, "the mesh cannot be written");
  require(fwrite(data, 1, size, file) == size, "the mesh cannot be written");
  require(fclose(file) == 0, "the mesh cannot be written");
  sp_hexes *hexes = NULL;
  sp_mesh *mesh = NULL;
  sp_status status = sp_gmsh_hexes(MPI_COMM_SELF, path, NULL, NULL, &hexes);
  if (!status) status = sp_mesh_create(MPI_COMM_SELF, &hexes, &mesh);
  require(hexes == NULL, "elements that nobody owns");
  if (status) require_message(status);
  sp_mesh_destroy(&mesh);
  return 0;
}
