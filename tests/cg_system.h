/* A linear system for tests of conjugate gradients, and a device that stands in for one that does
 * whole iterations. Failures are counted as failed checks. */
#ifndef SP_TESTS_CG_SYSTEM_H
#define SP_TESTS_CG_SYSTEM_H

#include <stdlib.h>

#include "mesh/box.h"
#include "solver/linear/cg.h"
#include "tests/deformed_box.h"
#include "tests/operator_bench.h"

/* A system A x = b: an operator of the unit cube, Dirichlet on its whole boundary. */
typedef struct system {
  bench bench;
  sp_mesh *mesh;
  sp_numbering *numbering;
  sp_operator *op;
  bool *constrained;
  double *b, *x, *inverse_diagonal; /* [op->dofs] */
} system_t;

/* Abort after an error that a test has no use for. */
static inline void require(sp_status status) {
  CHECK(status == SP_OK, "%s", sp_error_message());
  if (status) MPI_Abort(MPI_COMM_WORLD, 1);
}

static inline void constrain_boundary(system_t *s) {
  int places[(SP_MAX_ORDER + 1) * (SP_MAX_ORDER + 1)];
  const sp_numbering *numbering = s->numbering;
  const int nq = numbering->order + 1;
  double *mark = test_allocate((size_t)numbering->local, sizeof *mark);
  for (sp_lid e = 0; e < s->mesh->hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++) {
      if (s->mesh->hexes->surfaces[e][f] == SP_SURFACE_INTERIOR) continue;
      sp_face_places(numbering->order, f, places);
      for (int n = 0; n < nq * nq; n++) mark[numbering->nodes[e * nq * nq * nq + places[n]]] = -1;
    }
  sp_exchange *exchange;
  require(sp_exchange_create(MPI_COMM_WORLD, numbering, &exchange));
  sp_exchange_now(exchange, SP_MIN, mark);
  sp_exchange_destroy(&exchange);
  for (sp_lid i = 0; i < numbering->local; i++) s->constrained[i] = mark[i] < 0;
  free(mark);
}

/* b becomes random on free DOFs, x zero. Local. */
static inline void reset(system_t *s) {
  for (sp_lid i = 0; i < s->op->dofs; i++) {
    s->x[i] = 0;
    s->b[i] = s->constrained[i] ? 0 : random_value(3, sp_numbering_global(s->numbering, i));
  }
}

/* BP3.5 of degree `order` on *b, which stays open. Collective. */
static inline void system_create(const bench *b, const sp_box *box, int order, double lambda,
                                 system_t *s) {
  *s = (system_t){.bench = *b};
  sp_hexes *hexes;
  require(sp_box_hexes(MPI_COMM_WORLD, box, &hexes));
  require(sp_mesh_create(MPI_COMM_WORLD, &hexes, &s->mesh));
  require(sp_numbering_create(s->mesh, order, &s->numbering));
  const size_t dofs = (size_t)s->numbering->local;
  s->constrained = test_allocate(dofs, sizeof *s->constrained);
  s->b = test_allocate(dofs, sizeof *s->b);
  s->x = test_allocate(dofs, sizeof *s->x);
  s->inverse_diagonal = test_allocate(dofs, sizeof *s->inverse_diagonal);
  constrain_boundary(s);
  const sp_operator_setup setup = {.mesh = s->mesh,
                                   .numbering = s->numbering,
                                   .kind = SP_BP35,
                                   .geometry = SP_GEOMETRY_STORED,
                                   .lambda = lambda,
                                   .constrained = s->constrained};
  s->op = bench_operator(&s->bench, &setup);
  require(sp_operator_inverse_diagonal(s->op->exchange, &setup, s->inverse_diagonal));
  reset(s);
}

static inline void system_destroy(system_t *s) {
  sp_operator_destroy(&s->op);
  sp_numbering_destroy(&s->numbering);
  sp_mesh_destroy(&s->mesh);
  free(s->constrained);
  free(s->b);
  free(s->x);
  free(s->inverse_diagonal);
}

/* Solve; s->x becomes the solution and s->b the final residual. Collective. */
static inline sp_status solve(system_t *s, bool jacobi, const sp_cg_options *options,
                              sp_cg_result *result) {
  const bench *bn = &s->bench;
  const size_t n = (size_t)s->op->dofs;
  double *b = bench_upload(bn, n, s->b), *x = bench_upload(bn, n, s->x);
  double *d = bench_upload(bn, n, s->inverse_diagonal);
  const sp_status status = sp_cg_solve(s->op, jacobi ? d : NULL, options, b, x, result);
  bench_download(bn, n, x, s->x);
  bench_download(bn, n, b, s->b);
  bn->backend->vector_destroy(bn->device, &b);
  bn->backend->vector_destroy(bn->device, &x);
  bn->backend->vector_destroy(bn->device, &d);
  return status;
}

/* The Euclidean norm over all ranks. Collective. */
static inline double norm(const system_t *s, const double *values) {
  double sum = 0;
  for (sp_lid i = 0; i < s->op->owned; i++) sum += values[i] * values[i];
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sqrt(sum);
}

/* |b - A x| / |b| for the right-hand side that `reset` makes. Collective. */
static inline double true_residual(system_t *s) {
  const size_t n = (size_t)s->op->dofs;
  double *x = test_allocate(2 * n, sizeof *x), *ax = x + n;
  memcpy(x, s->x, n * sizeof *x);
  bench_apply(&s->bench, s->op, true, x, ax);
  reset(s);
  const double scale = norm(s, s->b);
  for (size_t i = 0; i < n; i++) ax[i] = s->b[i] - ax[i];
  const double result = norm(s, ax) / scale;
  memcpy(s->x, x, n * sizeof *x);
  free(x);
  return result;
}

static sp_operator *iterated;

static inline sp_status iterate(sp_local_operator *local, sp_cg_vectors *vectors,
                                const sp_cg_state *state, int count, sp_cg_record *records,
                                int *done) {
  double beta = state->beta, rz = state->rz;
  CHECK(local == iterated->local && count >= 1 && count <= SP_EXCHANGE_TIMES, "%d iterations",
        count);
  for (*done = 0; *done < count && *done < 7;) {
    sp_cg_record *made = &records[(*done)++];
    require(sp_operator_direction(iterated, beta, vectors, SP_OK, &made->p_ap));
    made->seconds = iterated->seconds;
    if (!(made->p_ap > 0) || isinf(made->p_ap)) break;
    require(sp_operator_update(iterated, rz / made->p_ap, vectors, &made->rr, &made->rz));
    beta = made->rz / rz;
    rz = made->rz;
    if (!(made->rr > state->target) || isinf(made->rr)) break;
  }
  return SP_OK;
}

/* Let iterations of s be done by a device that does them by itself, in batches of 7 at most, as the
 * host would; or by the host again. For one system at a time. */
static inline void stand_in(system_t *s, bool in) {
  static sp_backend device;
  device = *s->bench.backend;
  device.iterate = iterate;
  iterated = s->op;
  s->op->backend = in ? &device : s->bench.backend;
  s->op->iterates = in;
}

#endif
