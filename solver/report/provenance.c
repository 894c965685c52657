#define _GNU_SOURCE /* FNM_CASEFOLD */
#include "solver/report/provenance.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hdf5.h>

#include "mesh/gmsh/gmsh.h"
#include "operators/backend.h"
#include "solver/linear/coarse_boomer.h"
#include "sp_revision.h"

extern char **environ;

void sp_version_print(void) {
  char mpi[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  unsigned major, minor, release;
  MPI_Get_library_version(mpi, &length);
  mpi[strcspn(mpi, ",\n")] = '\0';
  H5get_libversion(&major, &minor, &release);
  printf("sp_solve %s\n", SP_VERSION);
  printf("revision   %s\n", SP_REVISION);
#ifdef __clang__
  printf("compiler   %s\n", __VERSION__);
#else
  printf("compiler   gcc %s\n", __VERSION__);
#endif
  printf("MPI        %s\n", mpi);
  printf("HDF5       %u.%u.%u\n", major, minor, release);
  printf("gmsh       %s\n", sp_gmsh_version());
  printf("hypre      %s\n", sp_boomer_hypre() ? sp_boomer_hypre() : "none");
  printf("backends   host%s\n", sp_backend_cuda ? ", cuda" : "");
}

void sp_record_program(sp_record *record, const char *program) {
  const time_t now = time(NULL);
  struct tm utc;
  char text[sizeof "2000-01-01T00:00:00Z"] = ""; /* also if the system has no time */
  if (!gmtime_r(&now, &utc) || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc))
    text[0] = '\0';
  sp_record_add(record, "program %s, version %s, git_revision %s, start_time %s", program,
                SP_VERSION, SP_REVISION, text);
}

sp_status sp_list_hosts(MPI_Comm comm, char **hosts) {
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  SP_OWNED char *all = NULL;
  int length;
  const int rank = sp_comm_rank(comm), size = sp_comm_size(comm);
  MPI_Get_processor_name(name, &length);
  const size_t bytes = (size_t)size * MPI_MAX_PROCESSOR_NAME;
  *hosts = NULL;
  const size_t room = rank == 0 ? bytes : 1;
  SP_TRY(sp_agree(comm, SP_ALLOCATE("host names", SP_ARRAY(all, room), SP_ARRAY(*hosts, room))));
  MPI_Gather(name, sizeof name, MPI_CHAR, all, sizeof name, MPI_CHAR, 0, comm);
  for (int r = 0; r < size && rank == 0; r++) {
    const char *host = &all[(size_t)r * MPI_MAX_PROCESSOR_NAME];
    bool known = false;
    for (int s = 0; s < r && !known; s++)
      known = strcmp(host, &all[(size_t)s * MPI_MAX_PROCESSOR_NAME]) == 0;
    if (known) continue;
    if (r > 0) strcat(*hosts, ",");
    strcat(*hosts, host);
  }
  return SP_OK;
}

/* Copy the rest of the line, without blanks around it. */
static void copy_line(const char *line, size_t size, char *text) {
  line += strspn(line, " \t");
  size_t length = strcspn(line, "\n");
  while (length > 0 && strchr(" \t\r", line[length - 1])) length--;
  snprintf(text, size, "%.*s", (int)length, line);
}

void sp_cpu_model(size_t size, char *text) {
  static const char name[] = "model name";
  char line[512];
  text[0] = '\0';
  FILE *file = fopen("/proc/cpuinfo", "r");
  if (!file) return;
  while (!text[0] && fgets(line, sizeof line, file)) {
    const char *colon = strchr(line, ':');
    if (colon && strncmp(line, name, sizeof name - 1) == 0) copy_line(colon + 1, size, text);
  }
  fclose(file);
}

void sp_mpi_library(size_t size, char *text) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length;
  MPI_Get_library_version(version, &length);
  for (char *tab = version; (tab = strchr(tab, '\t'));) *tab = ' ';
  copy_line(version, size, text);
}

/* ---- Environment ---- */

static bool matches_one(const char *name, int flags, const char *const *patterns) {
  for (; *patterns; patterns++)
    if (fnmatch(*patterns, name, flags) == 0) return true;
  return false;
}

static bool is_listed(const char *entry) {
  static const char *const wanted[] = {
      "OMP_*",      "OMPI_MCA_*",     "MPICH_*",    "UCX_*",         "NCCL_*",
      "CUDA_*",     "HYPRE_*",        "SLURM_JOB*", "SLURM_NTASKS*", "SLURM_NNODES*",
      "PBS_JOBID*", "LOADEDMODULES*", NULL};
  static const char *const launcher[] = {"OMPI_MCA_orte_*",        "OMPI_MCA_prte_*",
                                         "OMPI_MCA_ess*",          "OMPI_MCA_pmix*",
                                         "OMPI_MCA_initial_wdir*", NULL};
  static const char *const confidential[] = {"*KEY*",      "*TOKEN*",      "*SECRET*",
                                             "*PASSWORD*", "*CREDENTIAL*", NULL};
  char name[256];
  const size_t length = strcspn(entry, "=");
  if (entry[length] != '=' || length >= sizeof name) return false;
  snprintf(name, sizeof name, "%.*s", (int)length, entry);
  return matches_one(name, 0, wanted) && !matches_one(name, 0, launcher) &&
         !matches_one(name, FNM_CASEFOLD, confidential);
}

static int compare_names(const void *a, const void *b) {
  const char *const *first = a, *const *second = b;
  return strcmp(*first, *second);
}

sp_status sp_list_environment(char **text) {
  size_t count = 0, size;
  SP_OWNED const char **entries = NULL;
  *text = NULL;
  for (char **entry = environ; *entry; entry++) count += is_listed(*entry);
  SP_TRY(sp_allocate(count, sizeof *entries, "environment", &entries));
  count = 0;
  for (char **entry = environ; *entry; entry++)
    if (is_listed(*entry)) entries[count++] = *entry;
  qsort(entries, count, sizeof *entries, compare_names);
  FILE *stream = open_memstream(text, &size);
  for (size_t e = 0; e < count && stream; e++) {
    for (const char *c = entries[e]; *c; c++)
      fputc((unsigned char)*c < ' ' || *c == 0x7F ? ' ' : *c, stream);
    fputc('\n', stream);
  }
  if (stream && fclose(stream) == 0) return SP_OK;
  return sp_fail(SP_ERR_SYSTEM, "out of memory: environment");
}
