#include "solver/run/profile.h"

static const char *const names[SP_PHASES] = {
    [SP_PHASE_MESH] = "mesh",
    [SP_PHASE_NUMBERING] = "numbering",
    [SP_PHASE_PROBLEM] = "problem",
    [SP_PHASE_OPERATOR] = "operator",
    [SP_PHASE_PRECONDITIONER] = "preconditioner",
    [SP_PHASE_SOLVE] = "solve",
    [SP_PHASE_MATVEC] = "matvec",
    [SP_PHASE_VECTORS] = "vectors",
    [SP_PHASE_PRECONDITION] = "precondition",
    [SP_PHASE_CHECKPOINT] = "checkpoint",
    [SP_PHASE_ERRORS] = "errors",
    [SP_PHASE_FIELD] = "field",
};

void sp_profile_add(sp_profile *profile, sp_phase phase, int64_t calls, double seconds) {
  profile->calls[phase] += calls;
  profile->seconds[phase] += seconds;
}

void sp_profile_lap(sp_profile *profile, sp_phase phase, double *start) {
  const double now = MPI_Wtime();
  sp_profile_add(profile, phase, 1, now - *start);
  *start = now;
}

void sp_profile_rows(MPI_Comm comm, const sp_profile *profile, sp_phase_row rows[SP_PHASES]) {
  int size;
  double least[SP_PHASES], sum[SP_PHASES], most[SP_PHASES];
  MPI_Comm_size(comm, &size);
  MPI_Allreduce(profile->seconds, least, SP_PHASES, MPI_DOUBLE, MPI_MIN, comm);
  MPI_Allreduce(profile->seconds, sum, SP_PHASES, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Allreduce(profile->seconds, most, SP_PHASES, MPI_DOUBLE, MPI_MAX, comm);
  for (int p = 0; p < SP_PHASES; p++) {
    const bool in_solve = p == SP_PHASE_SOLVE || p == SP_PHASE_MATVEC || p == SP_PHASE_VECTORS ||
                          p == SP_PHASE_PRECONDITION;
    const double solve = sum[SP_PHASE_SOLVE];
    rows[p] = (sp_phase_row){.name = names[p],
                             .calls = profile->calls[p],
                             .seconds_min = least[p],
                             .seconds_mean = sum[p] / size,
                             .seconds_max = most[p],
                             .share = in_solve && solve > 0 ? sum[p] / solve : 0};
  }
}
