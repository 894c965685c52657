#include "solver/solve/precondition.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "operators/counts.h"
#include "operators/schwarz/junctions.h"
#include "operators/schwarz/separable.h"
#include "solver/linear/coarse.h"
#include "solver/linear/jacobi.h"
#include "solver/linear/smoother.h"

/* For a GPU, the threads of each rank set up algebraic multigrid for the rows of all ranks, in
 * about 5 us of a core per row. At order 1 without coarser meshes all DOFs are rows. Coarser meshes
 * take 1.5 us per element and core, Jacobi's iterations on n^3 elements 0.4 n ns per element: 2 M
 * rows take 419 iterations and 0.1 s (operators/cuda/MEASUREMENTS.md). Jacobi's iterations grow
 * with the number of elements per direction; the factor leaves a margin for distortion and
 * boundaries. */
static const double MANY_ROWS = 2e6, ITERATIONS_PER_ELEMENT = 3.3;
static const double MARGIN = 2, SMALL_MARGIN = 1.15;

/* If only a small lambda or alpha determines the mean, it may be lost in the rounding of a cycle in
 * single precision. With 4^3 elements and N = 7, double precision takes 7 iterations; single takes
 * 9 at a magnification of 7e7, 10 at 7e8, 30 at 7e10, 157 at 7e11. */
static const double MOST_MAGNIFICATION = 1e8;

sp_preconditioner_kind sp_precondition_best(sp_operator_kind kind) {
  return sp_operator_rows[kind].has_stiffness ? SP_PRECONDITIONER_MULTIGRID
                                              : SP_PRECONDITIONER_JACOBI;
}

/* True if the case sets an option of multigrid. */
static bool asks_for_multigrid(const sp_solver_options *request) {
  return request->coarse != SP_COARSE_AUTO || request->smoother != SP_SMOOTHER_AUTO ||
         request->precision != SP_CYCLE_AUTO || request->orders.count > 0;
}

/* True if AMG set-up is expensive: order 1, GPU, and above the size of a direct solve. */
static bool has_long_set_up(const sp_backend *backend, const sp_geometry_facts *op,
                            double elements) {
  return !backend->on_host && op->order == 1 && elements > sp_coarse_direct_most(backend);
}

/* True if Jacobi's preconditioner should converge before multigrid is set up. */
static bool prefers_jacobi(const sp_solver_options *request, const sp_precondition_facts *facts) {
  const double iterations = ITERATIONS_PER_ELEMENT * cbrt(facts->elements);
  const bool many = facts->rows > MANY_ROWS;
  return has_long_set_up(facts->backend, &facts->op, facts->elements) &&
         (many || facts->stretch <= SP_STRETCHED) && !facts->op.coefficients &&
         !asks_for_multigrid(request) &&
         (many ? SMALL_MARGIN : MARGIN) * iterations < request->max_iterations;
}

/* Return the rows of the coarse solver at order 1, after all refinements. A box halves until few
 * are left. */
static double count_rows(const sp_backend *backend, const sp_mesh *mesh, double elements) {
  const sp_hexes *h = mesh->hexes;
  bool strong[3];
  sp_mesh_strong_directions(&mesh->shape, strong);
  if (h->box[0] > 0 && (strong[0] || strong[1] || strong[2]))
    return fmin(elements, sp_multigrid_few_rows(backend));
  if (strong[0] && strong[1] && strong[2])
    return (double)mesh->global_elements / pow(8, h->refinements);
  return elements;
}

void sp_precondition_facts_find(const sp_geometry_facts *op, const sp_backend *backend,
                                const sp_mesh *mesh, double elements, sp_precondition_facts *out) {
  *out = (sp_precondition_facts){.op = *op,
                                 .backend = backend,
                                 .elements = elements,
                                 .rows = count_rows(backend, mesh, elements),
                                 .stretch = mesh->shape.stretch};
}

sp_preconditioner_kind sp_precondition_choose(const sp_solver_options *request,
                                              const sp_precondition_facts *facts,
                                              const char **reason) {
  *reason = "as the case asks";
  if (request->preconditioner != SP_PRECONDITIONER_AUTO) return request->preconditioner;
  *reason = "the mass matrix is close to its diagonal";
  if (sp_precondition_best(facts->op.kind) == SP_PRECONDITIONER_JACOBI)
    return SP_PRECONDITIONER_JACOBI;
  *reason = "at order 1 it should converge before multigrid is set up";
  if (prefers_jacobi(request, facts)) return SP_PRECONDITIONER_JACOBI;
  *reason = "the operator has stiffness";
  return SP_PRECONDITIONER_MULTIGRID;
}

/* ---- The levels of multigrid ---- */

void sp_precondition_options(const sp_solver_options *request, sp_multigrid_options *options) {
  const sp_list *orders = &request->orders;
  *options = (sp_multigrid_options){.smoother = request->smoother,
                                    .degree = request->smoother_degree,
                                    .precision = request->precision,
                                    .coarse = request->coarse};
  if (orders->count < 2) { /* none given, or only 1 */
    sp_multigrid_choose_orders(request->order, options);
    return;
  }
  options->levels = orders->count;
  for (int i = 0; i < orders->count; i++) options->orders[i] = orders->values[i];
}

bool sp_precondition_prefers_fused_cg(sp_preconditioner_kind chosen,
                                      const sp_precondition_facts *facts) {
  return sp_precondition_type(chosen)->is_fusible && facts->backend->sweep &&
         facts->op.order >= facts->backend->sweep_order;
}

/* Single precision ends at 1e-38 and 3e38. A cycle multiplies entries of the operator by vectors
 * between 1, the size of the residual, and the inverse of the least eigenvalue. The room allows for
 * a condition number of 1e8, and 1e2 for sums. */
static const double SINGLE_ROOM = 1e10;

/* Largest ratio of an entry of alpha, lambda or a contact to the smallest of kappa for which cycles
 * in single precision stay definite. In 550 random boxes with alpha up to 1e12 Schwarz takes more
 * iterations than in double precision from 4e9 on, and breaks down from 5e9 on. Elements of length
 * 1/4 to 1, N = 4: a contact of R = 1e-10 takes 6 iterations, as 1e12 does, and 1e-12 takes 25. */
static const double MOST_STIFF = 1e9;

/* Largest jump of kappa times aspect^2, the ratio of entries, for which cycles take single
 * precision. Tried: bodies fixed only through softer ones, and flat elements, N = 3 to 7. Up to 1e9
 * they take at most 4 iterations more than in double precision, at 3e9 up to 9 more, at 6e10 44
 * more. At 4e13 they do not converge. */
static const double MOST_JUMP = 1e9;

/* Largest ratio of an entry of alpha to the smallest of kappa with which cycles in double precision
 * are definite: Schwarz breaks down from 1e27 on. */
static const double MOST_ALPHA = 1e25;

/* The same if contacts branch or cross, where sums of their DOFs cancel. Cubes of length 1/2 to 1:
 * R = 1e-6 takes 6 iterations, 1e-7 up to 105, and from 1e-8 on CG breaks down. */
static const double MOST_BRANCHED = 1e5;

/* True if the entries of element matrices are far enough from the ends of single precision, and not
 * too different. Lengths are checked by sp_multigrid_decide. */
static bool fits_single(const sp_magnitudes *m, double aspect, bool branches) {
  return fmax(m->largest, m->absorbing) < FLT_MAX / SINGLE_ROOM &&
         m->smallest > FLT_MIN * SINGLE_ROOM && m->jump * aspect * aspect < MOST_JUMP &&
         m->absorbing < MOST_STIFF * m->conducting &&
         m->joining < (branches ? MOST_BRANCHED : MOST_STIFF) * m->conducting;
}

/* Replace auto in the options; precision becomes single only if nothing needs double. */
static sp_status decide_options(const sp_system *fine, bool has_robin, double magnification,
                                sp_multigrid_options *options) {
  sp_magnitudes magnitudes;
  SP_TRY(sp_smoother_check(options->smoother, fine->setup.kind));
  SP_TRY(sp_multigrid_check(fine->space->numbering->order, options));
  sp_separable_magnitudes(&fine->setup, &magnitudes);
  const sp_mesh *mesh = fine->space->mesh;
  bool branches;
  SP_TRY(sp_junctions_exist(fine->space, &branches));
  if (has_robin && magnitudes.absorbing > MOST_ALPHA * magnitudes.conducting)
    return sp_fail(SP_ERR_INPUT,
                   "[boundary]: alpha of a line is more than %g times kappa / (size of an "
                   "element), too large for multigrid: fix u with dirichlet",
                   MOST_ALPHA);
  const bool fits =
      magnification <= MOST_MAGNIFICATION && fits_single(&magnitudes, mesh->shape.aspect, branches);
  if (options->precision == SP_CYCLE_AUTO && !fits) options->precision = SP_CYCLE_DOUBLE;
  sp_multigrid_decide(fine->space->platform->backend, fine->setup.kind, fine->setup.is_tensor,
                      &mesh->shape, options);
  return SP_OK;
}

/* Add the systems below the finest one. */
static sp_status add_systems(const sp_solver_options *request, const sp_problem *problem,
                             const sp_null_space *exact, sp_levels *levels) {
  sp_multigrid_options *o = &levels->options;
  const sp_system *fine = levels->systems[0];
  const int orders = o->levels, smoothed = sp_multigrid_smoothed(o);
  for (int i = 1; i < smoothed; i++)
    SP_TRY(sp_problem_level(problem, fine, o->orders[i], request->geometry, exact,
                            &levels->systems[i]));
  o->levels = smoothed;
  SP_TRY(sp_multigrid_add_meshes(request->geometry, o, levels->systems));
  if (o->levels >= orders) return SP_OK;
  o->levels = orders;
  return sp_problem_level(problem, fine, 1, request->geometry, exact, &levels->systems[orders - 1]);
}

sp_status sp_levels_create(const sp_solver_options *request, const sp_problem *problem,
                           sp_system *fine, const sp_null_space *exact, double magnification,
                           sp_levels *levels) {
  sp_multigrid_options *options = &levels->options;
  sp_precondition_options(request, options);
  SP_TRY(decide_options(fine, problem->has_robin, magnification, options));
  levels->systems[0] = fine;
  if (request->orders.count < 2) SP_TRY(sp_multigrid_find_bars(options, levels->systems));
  if (!levels->systems[1]) SP_TRY(add_systems(request, problem, exact, levels));
  return sp_multigrid_start_coarse(levels->systems[options->levels - 1], options, &levels->coarse);
}

void sp_levels_free(sp_levels *levels) {
  sp_coarse_destroy(&levels->coarse);
  for (int i = SP_MULTIGRID_MOST - 1; i > 0; i--) sp_system_destroy(&levels->systems[i]);
  levels->systems[0] = NULL;
}

/* ---- Table ---- */

static sp_status create_jacobi(sp_system *system, sp_levels *levels, sp_preconditioner **out) {
  (void)levels;
  return sp_jacobi_create(system->op, &system->setup, out);
}

static sp_status create_multigrid(sp_system *system, sp_levels *levels, sp_preconditioner **out) {
  (void)system;
  SP_TRY(sp_multigrid_create(&levels->options, levels->systems, &levels->coarse, out));
  for (int i = 1; i < levels->options.levels; i++)
    sp_system_forget_coefficients(levels->systems[i]);
  return SP_OK;
}

const sp_preconditioner_type *sp_precondition_type(sp_preconditioner_kind kind) {
  static const sp_preconditioner_type types[] = {
      [SP_PRECONDITIONER_NONE] = {.is_fusible = true},
      [SP_PRECONDITIONER_JACOBI] = {.is_fusible = true, .create = create_jacobi},
      [SP_PRECONDITIONER_MULTIGRID] = {.has_levels = true, .create = create_multigrid}};
  return &types[kind];
}

sp_status sp_precondition_create(sp_preconditioner_kind kind, sp_system *system, sp_levels *levels,
                                 sp_preconditioner **out) {
  const sp_preconditioner_type *type = sp_precondition_type(kind);
  *out = NULL;
  return type->create ? type->create(system, levels, out) : SP_OK;
}
