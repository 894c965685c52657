#include "solver/linear/start.h"

#include <math.h>

#include "io/threads.h"
#include "operators/schwarz/separable.h"

typedef struct finder {
  sp_system *system;
  sp_operator *op;
  const sp_vector *b;
  sp_vector *x, *y, z;
  double *host;
  sp_start *start;
} finder;

/* Return the part of a DOF, or -1 if it gets no constant. */
static int find_part(const finder *f, sp_lid i) {
  const sp_constants *constants = &f->system->constants;
  if (f->system->setup.constrained[i]) return -1;
  if (constants->of_dof && constants->of_dof[i] >= 0) return -1;
  return constants->part_of_dof ? constants->part_of_dof[i] : 0;
}

/* Return the constant of a part; 0 if it is not finite or the part has no free DOFs. */
static double best_constant(const double sums[2]) {
  const double c = sums[0] / sums[1];
  return sums[1] > 0 && isfinite(c) ? c : 0;
}

/* Scale x for a mesh of one part: x = c x; y = A x before. */
static sp_status scale_one(finder *f, double *weight) {
  double sums[2];
  SP_TRY(sp_operator_dot(f->op, f->b, f->x, SP_OK, &sums[0]));
  SP_TRY(sp_operator_dot(f->op, f->x, f->y, SP_OK, &sums[1]));
  *weight = sums[1];
  return sp_agree(f->op->comm, sp_vector_axpby(0, f->y, best_constant(sums), f->x));
}

static sp_status add_to_sums(const finder *f, const sp_vector *from, int which, double (*sums)[2]) {
  SP_TRY(sp_vector_read(from, f->host));
  for (sp_lid i = 0; i < f->op->owned; i++)
    if (find_part(f, i) >= 0) sums[find_part(f, i)][which] += f->host[i];
  return SP_OK;
}

static sp_status scale_parts(finder *f, double *weight) {
  SP_OWNED double(*sums)[2] = NULL;
  const int parts = f->system->constants.parts;
  sp_status status = sp_allocate((size_t)parts, sizeof *sums, "sums of parts", &sums);
  if (!status) status = add_to_sums(f, f->b, 0, sums);
  if (!status) status = add_to_sums(f, f->y, 1, sums);
  SP_TRY(sp_agree(f->op->comm, status));
  SP_TRY(sp_reduction_sum(f->op->reduction, 2 * parts, *sums, SP_OK));
  for (int k = 0; k < parts; k++) *weight += sums[k][1];
  for (sp_lid i = 0; i < f->op->dofs; i++)
    f->host[i] = find_part(f, i) < 0 ? 0 : best_constant(sums[find_part(f, i)]);
  return sp_agree(f->op->comm, sp_vector_write(f->host, f->x));
}

static void fill_ones(void *finder_, size_t begin, size_t end) {
  const finder *f = finder_;
  for (size_t i = begin; i < end; i++) f->host[i] = find_part(f, (sp_lid)i) < 0 ? 0 : 1;
}

static sp_status write_ones(finder *f) {
  if (f->start->ones) return sp_vector_copy(f->start->ones, f->x);
  SP_TRY(sp_loop_over("start", (size_t)f->op->dofs, 1, f, fill_ones));
  return sp_vector_write(f->host, f->x);
}

static sp_status set_constants(finder *f, double *weight) {
  SP_TRY(sp_agree(f->op->comm, write_ones(f)));
  SP_TRY(sp_agree(f->op->comm, sp_operator_apply(f->op, true, f->x, f->y)));
  return f->system->constants.part_of_dof ? scale_parts(f, weight) : scale_one(f, weight);
}

/* Rows may be stiff if lambda or alpha gives larger entries than kappa. */
sp_status sp_start_prepare(const sp_operator_setup *setup, sp_start *start) {
  bool *stiff = &start->stiff;
  sp_magnitudes m;
  *stiff = setup->lambda > 0 || setup->lambda_values || setup->diagonal_count > 0;
  MPI_Allreduce(MPI_IN_PLACE, stiff, 1, MPI_C_BOOL, MPI_LOR, setup->space->platform->comm);
  *stiff = *stiff && sp_operator_rows[setup->kind].has_stiffness;
  if (!*stiff) return SP_OK;
  sp_separable_magnitudes(setup, &m);
  *stiff = m.absorbing > m.conducting;
  return SP_OK;
}

/* One step of steepest descent in the norm of the diagonal. */
static sp_status step_down(finder *f) {
  double rz, zaz;
  sp_status status = sp_operator_apply(f->op, true, f->x, f->y);
  if (!status) status = sp_vector_axpby(1, f->b, -1, f->y);
  if (!status) status = sp_vector_multiply(f->start->inverse_diagonal, f->y, &f->z);
  SP_TRY(sp_operator_dot(f->op, f->y, &f->z, status, &rz));
  status = sp_operator_apply(f->op, true, &f->z, f->y);
  SP_TRY(sp_operator_dot(f->op, &f->z, f->y, status, &zaz));
  const double step = rz / zaz;
  if (!(zaz > 0) || !isfinite(step)) return SP_OK; /* nothing to do, or CG reports it */
  return sp_agree(f->op->comm, sp_vector_axpby(step, &f->z, 1, f->x));
}

/* x = given, unless it is farther from the solution. With d = given - x and r = b - A x before, its
 * energy is smaller by *gain = 2 d.r - d.A d. */
static sp_status replace_by_closer(finder *f, const sp_vector *given, double *gain) {
  double dr, dad;
  sp_status status = sp_vector_copy(given, &f->z);
  if (!status) status = sp_vector_axpby(-1, f->x, 1, &f->z);
  if (!status) status = sp_operator_apply(f->op, true, f->x, f->y);
  if (!status) status = sp_vector_axpby(1, f->b, -1, f->y);
  SP_TRY(sp_operator_dot(f->op, &f->z, f->y, status, &dr));
  status = sp_operator_apply(f->op, true, &f->z, f->y);
  SP_TRY(sp_operator_dot(f->op, &f->z, f->y, status, &dad));
  *gain = 2 * dr - dad;
  if (*gain > 0) return sp_agree(f->op->comm, sp_vector_copy(given, f->x));
  *gain = 0;
  return SP_OK;
}

sp_status sp_start_find(sp_system *system, const sp_vector *given, const sp_vector *b, sp_vector *x,
                        sp_vector *y, double *host, sp_start *start) {
  finder f = {
      .system = system, .op = system->op, .b = b, .x = x, .y = y, .host = host, .start = start};
  start->weight = start->energy = 0;
  sp_status status = sp_agree(f.op->comm, sp_space_vector(system->space, SP_DOUBLE, &f.z));
  if (!status) status = set_constants(&f, &start->weight);
  if (!status && start->stiff) status = step_down(&f);
  if (!status && given) status = replace_by_closer(&f, given, &start->energy);
  sp_vector_destroy(&f.z);
  return status;
}
