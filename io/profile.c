#include "io/profile.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const double WORTH_A_LINE = 0.5; /* seconds */

static const struct {
  const char *name;
  sp_phase part_of;
} phases[SP_PHASES] = {
    [SP_PHASE_START] = {"start", SP_PHASE_TOTAL},
    [SP_PHASE_CASE] = {"case", SP_PHASE_TOTAL},
    [SP_PHASE_DEVICE] = {"device", SP_PHASE_TOTAL},
    [SP_PHASE_MESH] = {"mesh", SP_PHASE_TOTAL},
    [SP_PHASE_FILE] = {"file (gmsh)", SP_PHASE_MESH},
    [SP_PHASE_MESHER] = {"mesher (gmsh)", SP_PHASE_FILE},
    [SP_PHASE_METIS] = {"parts (METIS)", SP_PHASE_MESH},
    [SP_PHASE_NUMBERING] = {"numbering", SP_PHASE_TOTAL},
    [SP_PHASE_PROBLEM] = {"problem", SP_PHASE_TOTAL},
    [SP_PHASE_OPERATOR] = {"operator", SP_PHASE_TOTAL},
    [SP_PHASE_PRECONDITIONER] = {"preconditioner", SP_PHASE_TOTAL},
    [SP_PHASE_SOLVE] = {"solve", SP_PHASE_TOTAL},
    [SP_PHASE_MATVEC] = {"matvec", SP_PHASE_SOLVE},
    [SP_PHASE_WAIT] = {"exchange wait", SP_PHASE_MATVEC},
    [SP_PHASE_VECTORS] = {"vectors", SP_PHASE_SOLVE},
    [SP_PHASE_PRECONDITION] = {"precondition", SP_PHASE_SOLVE},
    [SP_PHASE_RESIDUAL] = {"residual", SP_PHASE_SOLVE},
    [SP_PHASE_REDUCTIONS] = {"reductions", SP_PHASE_SOLVE},
    [SP_PHASE_SOLVE_REST] = {"rest of solve", SP_PHASE_SOLVE},
    [SP_PHASE_SOLUTION] = {"solution", SP_PHASE_TOTAL},
    [SP_PHASE_ERRORS] = {"errors", SP_PHASE_TOTAL},
    [SP_PHASE_PROBES] = {"probes", SP_PHASE_TOTAL},
    [SP_PHASE_RESULTS] = {"results", SP_PHASE_TOTAL},
    [SP_PHASE_ACCURACY] = {"error bars", SP_PHASE_TOTAL},
    [SP_PHASE_FIELD] = {"field", SP_PHASE_TOTAL},
    [SP_PHASE_WRITING] = {"writing", SP_PHASE_FIELD},
    [SP_PHASE_LOG] = {"log", SP_PHASE_TOTAL},
    [SP_PHASE_REST] = {"rest", SP_PHASE_TOTAL},
    [SP_PHASE_TOTAL] = {"total", SP_PHASES}, /* not part of another phase */
};

static bool is_in_solve(sp_phase phase) {
  for (; phase < SP_PHASES; phase = phases[phase].part_of)
    if (phase == SP_PHASE_SOLVE) return true;
  return false;
}

static int depth_of(sp_phase phase) {
  int depth = 0;
  while (phases[phase].part_of < SP_PHASE_TOTAL) {
    phase = phases[phase].part_of;
    depth++;
  }
  return depth;
}

sp_profile sp_profile_from_now(void) {
  return (sp_profile){.begun = MPI_Wtime()};
}

/* Return the seconds since the start of this process, or -1 if unknown. */
static double process_age(void) {
  static const int STATE = 3, STARTTIME = 22; /* numbers of fields in /proc/self/stat */
  char text[1024] = "";
  FILE *stream = fopen("/proc/self/stat", "r");
  if (stream) {
    if (!fgets(text, sizeof text, stream)) text[0] = '\0';
    fclose(stream);
  }
  const char *field = strrchr(text, ')'); /* field 2, the program's name, may contain blanks */
  for (int f = STATE; f <= STARTTIME && field; f++) field = strchr(field + 1, ' ');
  unsigned long long ticks;
  struct timespec now;
  if (!field || sscanf(field, " %llu", &ticks) != 1 || clock_gettime(CLOCK_BOOTTIME, &now))
    return -1;
  const double age = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec -
                     (double)ticks / (double)sysconf(_SC_CLK_TCK);
  return age >= 0 ? age : -1;
}

sp_profile sp_profile_from_process(void) {
  sp_profile profile = sp_profile_from_now();
  const double age = process_age();
  if (age < 0) return profile;
  profile.begun -= age;
  sp_profile_add(&profile, SP_PHASE_START, 1, age);
  return profile;
}

void sp_profile_add(sp_profile *profile, sp_phase phase, int64_t calls, double seconds) {
  profile->calls[phase] += calls;
  profile->seconds[phase] += seconds;
}

static const char *phase_prefix(sp_phase phase) {
  return phase < SP_PHASE_SOLVE ? "set-up: " : "";
}

double sp_profile_begin(sp_terminal *terminal, sp_phase phase) {
  if (terminal) sp_terminal_show(terminal, "  %s%s ...", phase_prefix(phase), phases[phase].name);
  return MPI_Wtime();
}

void sp_profile_end(sp_profile *profile, sp_terminal *terminal, sp_phase phase, double start) {
  const double seconds = MPI_Wtime() - start;
  sp_profile_add(profile, phase, 1, seconds);
  if (terminal && terminal->progress && phase < SP_PHASE_SOLVE && seconds > WORTH_A_LINE)
    sp_terminal_print(terminal, "  %s%s ... %.3g s\n", phase_prefix(phase), phases[phase].name,
                      seconds);
}

void sp_profile_merge(sp_profile *profile, const sp_profile *other) {
  for (int p = 0; p < SP_PHASES; p++)
    sp_profile_add(profile, (sp_phase)p, other->calls[p], other->seconds[p]);
}

/* Return the seconds of `whole` minus its parts. */
static double left_of(sp_phase whole, const double seconds[SP_PHASES]) {
  double left = seconds[whole];
  for (int p = 0; p < SP_PHASES; p++)
    if (phases[p].part_of == whole) left -= seconds[p];
  return left;
}

void sp_profile_rows(MPI_Comm comm, const sp_profile *profile, sp_phase_row rows[SP_PHASES]) {
  double mine[SP_PHASES], least[SP_PHASES], sum[SP_PHASES], most[SP_PHASES];
  const int size = sp_comm_size(comm);
  memcpy(mine, profile->seconds, sizeof mine);
  mine[SP_PHASE_TOTAL] = MPI_Wtime() - profile->begun;
  mine[SP_PHASE_REST] = left_of(SP_PHASE_TOTAL, mine);
  mine[SP_PHASE_SOLVE_REST] = left_of(SP_PHASE_SOLVE, mine);
  MPI_Allreduce(mine, least, SP_PHASES, MPI_DOUBLE, MPI_MIN, comm);
  MPI_Allreduce(mine, sum, SP_PHASES, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Allreduce(mine, most, SP_PHASES, MPI_DOUBLE, MPI_MAX, comm);
  const double solve = sum[SP_PHASE_SOLVE], total = sum[SP_PHASE_TOTAL];
  for (int p = 0; p < SP_PHASES; p++) {
    const sp_phase part_of = phases[p].part_of;
    const bool in_solve = is_in_solve((sp_phase)p);
    rows[p] = (sp_phase_row){.depth = depth_of((sp_phase)p),
                             .name = phases[p].name,
                             .part_of = part_of < SP_PHASES ? phases[part_of].name : "",
                             .calls = profile->calls[p],
                             .seconds_min = least[p],
                             .seconds_mean = sum[p] / size,
                             .seconds_max = most[p],
                             .share = in_solve && solve > 0 ? sum[p] / solve : 0,
                             .share_of_total = total > 0 ? sum[p] / total : 0};
  }
}
