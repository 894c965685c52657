/* A linear system for tests of conjugate gradients, and a mock of a device that runs whole
 * iterations. Failures are counted as failed checks. */
#pragma once

#include <stdlib.h>

#include "solver/linear/cg.h"
#include "tests/boxes.h"
#include "tests/deformed_box.h"
#include "tests/nodal.h"
#include "tests/operator_bench.h"

/* No preconditioner, Jacobi's in the passes, and the same by `apply`. */
typedef enum preconditioning { PLAIN, JACOBI, APPLIED, PRECONDITIONINGS } preconditioning;

/* Later systems have operators for CG in one sweep. */
static bool one_sweep;

/* A system A x = b: an operator of the unit cube, Dirichlet on its whole boundary. */
typedef struct system {
  const bench *bench;
  sp_mesh *mesh;
  sp_space *space;
  sp_operator *op;
  sp_operator_setup setup; /* of op */
  bool *constrained;
  double *b, *x, *inverse_diagonal; /* [op->dofs], on the host */
  sp_preconditioner *by[PRECONDITIONINGS];
} system_t;

/* Faults of an application of `applied`: -D^-1 r on all ranks; zero on all; NaN on the last rank;
 * D^-1 r, but the last rank fails. */
typedef enum fault { NO_FAULT, NEGATIVE, ZERO, NOT_A_NUMBER, FAILURE } fault;

/* z = D^-1 r by `apply`, like a preconditioner that is no diagonal. */
typedef struct applied {
  sp_preconditioner base;
  MPI_Comm comm;
  sp_vector inverse_diagonal;
  int applications; /* since the last applied_reset */
  fault fault;
  int fault_at; /* the application, counted from zero, that has it */
} applied;

static sp_status applied_apply(sp_preconditioner *self, double norm, const sp_vector *r,
                               sp_vector *z) {
  (void)norm;
  applied *a = (applied *)self;
  const int rank = sp_comm_rank(a->comm);
  const bool last = rank == sp_comm_size(a->comm) - 1;
  SP_TRY(sp_vector_multiply(&a->inverse_diagonal, r, z));
  switch (a->applications++ == a->fault_at ? a->fault : NO_FAULT) {
  case NEGATIVE:
    return sp_vector_axpby(0, r, -1, z);
  case ZERO:
    return sp_vector_axpby(0, r, 0, z);
  case NOT_A_NUMBER:
    return last ? sp_vector_axpby(NAN, r, 0, z) : SP_OK;
  case FAILURE:
    return last ? sp_fail(SP_ERR_SYSTEM, "rank %d cannot precondition", rank) : SP_OK;
  case NO_FAULT:
    break;
  }
  return SP_OK;
}

static void applied_destroy(sp_preconditioner *self) {
  applied *a = (applied *)self;
  sp_vector_destroy(&a->inverse_diagonal);
}

static void applied_describe(const sp_preconditioner *self, size_t room, char *text) {
  (void)self;
  snprintf(text, room, "Jacobi, applied");
}

static inline sp_preconditioner *applied_create(const system_t *s) {
  applied *a = test_array(1, sizeof *a);
  *a = (applied){.base = {.name = "jacobi by hand",
                          .apply = applied_apply,
                          .destroy = applied_destroy,
                          .describe = applied_describe},
                 .comm = s->bench->comm,
                 .inverse_diagonal =
                     bench_upload(s->bench, (size_t)s->op->dofs, s->inverse_diagonal)};
  return &a->base;
}

/* Let application `at` from now on have a fault. */
static inline applied *applied_reset(system_t *s, fault kind, int at) {
  applied *a = (applied *)s->by[APPLIED];
  a->applications = 0;
  a->fault = kind;
  a->fault_at = at;
  return a;
}

/* mask[i]: DOF i is on the boundary. Collective. */
static inline void mark_boundary(const sp_space *space, bool *mask) {
  const size_t start = test_mark();
  int places[(SP_MAX_ORDER + 1) * (SP_MAX_ORDER + 1)];
  const sp_numbering *numbering = space->numbering;
  const sp_hexes *hexes = space->mesh->hexes;
  const int nq = numbering->order + 1;
  double *mark = test_array((size_t)numbering->local, sizeof *mark);
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++) {
      if (hexes->surfaces[e][f] == SP_SURFACE_INTERIOR) continue;
      sp_face_nodes(numbering->order, f, places);
      for (int n = 0; n < nq * nq; n++) mark[numbering->nodes[e * nq * nq * nq + places[n]]] = -1;
    }
  sp_exchange_now(space->exchange, SP_MIN, mark);
  for (sp_lid i = 0; i < numbering->local; i++) mask[i] = mark[i] < 0;
  test_release(start);
}

/* b becomes random on free DOFs, x zero. Local. */
static inline void reset(system_t *s) {
  for (sp_lid i = 0; i < s->op->dofs; i++) {
    s->x[i] = 0;
    s->b[i] = s->constrained[i] ? 0 : random_value(3, sp_numbering_global(s->space->numbering, i));
  }
}

/* BP3.5 of degree `order` on *b, which stays open. Collective. */
static inline void system_create(const bench *b, const sp_box *box, int order, double lambda,
                                 system_t *s) {
  *s = (system_t){.bench = b};
  s->mesh = box_mesh(MPI_COMM_WORLD, box, 0);
  s->space = bench_space(b, s->mesh, order);
  const size_t dofs = sp_space_dofs(s->space);
  s->constrained = test_array(dofs, sizeof *s->constrained);
  s->b = test_array(dofs, sizeof *s->b);
  s->x = test_array(dofs, sizeof *s->x);
  s->inverse_diagonal = test_array(dofs, sizeof *s->inverse_diagonal);
  mark_boundary(s->space, s->constrained);
  s->setup = (sp_operator_setup){.space = s->space,
                                 .kind = SP_BP35,
                                 .geometry = SP_GEOMETRY_STORED,
                                 .lambda = lambda,
                                 .constrained = s->constrained,
                                 .one_sweep = one_sweep};
  s->op = bench_operator(&s->setup);
  require(sp_operator_inverse_diagonal(&s->setup, s->inverse_diagonal));
  require(sp_jacobi_create(s->op, &s->setup, &s->by[JACOBI]));
  s->by[APPLIED] = applied_create(s);
  reset(s);
}

static inline void system_destroy(system_t *s) {
  for (int p = 0; p < PRECONDITIONINGS; p++) sp_preconditioner_destroy(&s->by[p]);
  sp_operator_destroy(&s->op);
  sp_space_destroy(&s->space);
  sp_mesh_destroy(&s->mesh);
}

/* Solve from x = 0; s->x becomes the solution and s->b the final residual. Collective. */
static inline sp_status solve(system_t *s, sp_preconditioner *preconditioner,
                              const sp_cg_options *options, sp_cg_result *result) {
  const bench *bn = s->bench;
  const size_t n = (size_t)s->op->dofs;
  sp_vector b = bench_upload(bn, n, s->b), x = bench_upload(bn, n, s->x);
  sp_vector r = bench_upload(bn, n, s->b);
  sp_cg_options from_zero = *options;
  from_zero.from_zero = true;
  const sp_status status = sp_cg_solve(s->op, preconditioner, &from_zero, &b, &x, &r, result);
  bench_download(&x, s->x);
  bench_download(&r, s->b);
  sp_vector_destroy(&r);
  sp_vector_destroy(&b);
  sp_vector_destroy(&x);
  return status;
}

/* The Euclidean norm over all ranks. Collective. */
static inline double norm(const system_t *s, const double *values) {
  return sqrt(nodal_dot(s->space, values, values));
}

/* |b - A x| / |b| for the right-hand side that `reset` makes. Collective. */
static inline double true_residual(system_t *s) {
  const size_t n = (size_t)s->op->dofs;
  double *x = test_array(2 * n, sizeof *x), *ax = x + n;
  memcpy(x, s->x, n * sizeof *x);
  bench_apply(s->bench, s->op, true, x, ax);
  reset(s);
  const double scale = norm(s, s->b);
  for (size_t i = 0; i < n; i++) ax[i] = s->b[i] - ax[i];
  const double result = norm(s, ax) / scale;
  memcpy(s->x, x, n * sizeof *x);
  return result;
}

/* For sp_cg_options.measure: a solution that is smaller than the change by CG. */
static inline sp_status measure_small(const sp_vector *x, void *context, double *energy) {
  (void)x, (void)context;
  *energy = 1e-6;
  return SP_OK;
}

static sp_operator *iterated;

/* A vector at an array of the table. */
static inline sp_vector at(const void *array) {
  return (sp_vector){.platform = iterated->space->platform,
                     .count = (size_t)iterated->dofs,
                     .data = (void *)array};
}

static inline sp_status iterate(sp_local_operator *local, sp_cg_arrays *arrays,
                                const sp_cg_state *state, int count, sp_cg_record *records,
                                int *done) {
  double beta = state->beta, rz = state->rz, energy = state->energy;
  sp_vector x = at(arrays->x), r = at(arrays->r), z = at(arrays->z), p = at(arrays->p);
  sp_vector next_p = at(arrays->next_p), ap = at(arrays->ap), d = at(arrays->inverse_diagonal);
  sp_cg_vectors vectors = {&x, &r, &z, &p, &next_p, &ap, d.data ? &d : NULL};
  CHECK(local == iterated->local && count >= 1 && count <= SP_CG_BATCH, "%d iterations", count);
  for (*done = 0; *done < count && *done < 7;) {
    sp_cg_record *made = &records[(*done)++];
    sp_pass_times times;
    require(sp_operator_direction(iterated, beta, &vectors, SP_OK, &made->p_ap, &times));
    made->seconds = times.matvec;
    if (!(made->p_ap > 0) || isinf(made->p_ap)) break;
    require(sp_operator_update(iterated, rz / made->p_ap, &vectors, &made->rr, &made->rz));
    const double step = rz / made->p_ap * rz;
    energy += step;
    beta = made->rz / rz;
    rz = made->rz;
    if (!(made->rr > state->target) || isinf(made->rr) || step <= state->share * energy) break;
  }
  arrays->p = vectors.p->data;
  arrays->next_p = vectors.next_p->data;
  return SP_OK;
}

/* Let a mock device run the iterations of s in batches of at most 7, with the same results as the
 * host; or the host again. For one system at a time. */
static inline void stand_in(system_t *s, bool in) {
  static sp_backend device;
  device = *s->bench->backend;
  device.iterate = iterate;
  iterated = s->op;
  s->op->backend = in ? &device : s->bench->backend;
  s->op->iterates = in;
}
