#include "solver/linear/chebyshev.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "io/threads.h"
#include "solver/linear/lanczos.h"

/* beta_i of Lottes' Table 1, by degree. */
static const double weights[SP_CHEBYSHEV_MOST + 1][SP_CHEBYSHEV_MOST] = {
    [1] = {1.125},
    [2] = {1.02387287570313, 1.26408905371085},
    [3] = {1.00842544782028, 1.08867839208730, 1.33753125909618},
    [4] = {1.00391310427285, 1.04035811188593, 1.14863498546254, 1.38268869241000},
    [5] = {1.00212930146164, 1.02173711549260, 1.07872433192603, 1.19810065292663,
           1.41322542791682},
    [6] = {1.00128517255940, 1.01304293035233, 1.04678215124113, 1.11616489419675, 1.23829020218444,
           1.43524297106744}};

struct sp_chebyshev {
  sp_operator *op;
  int degree;
  double bound;
  sp_schwarz *schwarz; /* NULL: S is the inverse diagonal */
  /* L-vectors of the operator's precision. `product` is scratch for A d and S r. */
  void *inverse_diagonal, *r, *d, *product;
};

/* z = S r. */
static sp_status approximate(sp_chebyshev *c, const void *r, void *z) {
  sp_operator *op = c->op;
  if (c->schwarz) return sp_schwarz_apply(c->schwarz, r, z);
  return op->backend->multiply(op->device, op->precision, (size_t)op->dofs, c->inverse_diagonal, r,
                               z);
}

/* ---- The largest eigenvalue of S A ---- */

/* Vectors of the estimate; r and z start as the smoother's. */
typedef struct work {
  void *r, *z, *p, *q;
} work;

typedef struct start {
  const sp_numbering *numbering;
  const bool *constrained;
  sp_precision precision;
  void *values; /* of that precision */
} start;

/* Fill a vector with pseudorandom values. A DOF has the same value on all ranks and for any number
 * of ranks. */
static sp_status fill_start(void *context, void *workspace, size_t begin, size_t end) {
  (void)workspace;
  const start *s = context;
  for (size_t i = begin; i < end; i++) {
    uint64_t bits = (uint64_t)sp_numbering_global(s->numbering, (sp_lid)i) + 1;
    bits = (bits ^ bits >> 33) * 0xff51afd7ed558ccdu;
    bits = (bits ^ bits >> 33) * 0xc4ceb9fe1a85ec53u;
    const double value =
        s->constrained && s->constrained[i] ? 0 : (double)(bits >> 11) * 0x1p-52 - 1;
    if (s->precision == SP_SINGLE)
      ((float *)s->values)[i] = (float)value;
    else
      ((double *)s->values)[i] = value;
  }
  return SP_OK;
}

static sp_status send_start(sp_operator *op, const bool *constrained, void *host, void *vector) {
  const size_t dofs = (size_t)op->dofs;
  start s = {op->space->numbering, constrained, op->precision, host};
  SP_TRY(sp_loop_run(&(sp_loop){.what = "a start vector",
                                .count = dofs,
                                .chunk = sp_loop_chunk(dofs, 1),
                                .context = &s,
                                .compute = fill_start}));
  return op->backend->upload(op->device, op->precision, dofs, host, vector);
}

/* Estimate the bound. The right-hand side is A times the start vector, so that it is in the range
 * of A. */
static sp_status estimate(sp_chebyshev *c, const work *v) {
  sp_operator *op = c->op;
  const sp_backend *b = op->backend;
  const size_t dofs = (size_t)op->dofs;
  const sp_precision precision = op->precision;
  /* Stop when r is at rounding level (few DOFs, or a nearly exact S). */
  const double rounding = precision == SP_SINGLE ? FLT_EPSILON : DBL_EPSILON;
  const double exhausted = 100 * rounding * rounding;
  sp_lanczos lanczos = {0};
  double r_first = 0;
  sp_status status = sp_operator_apply(op, true, v->p, v->r);
  while (lanczos.steps < SP_LANCZOS_STEPS) {
    double rz, pq;
    status = sp_first_failure(status, approximate(c, v->r, v->z));
    SP_TRY(sp_operator_dot(op, v->r, v->z, status, &rz));
    if (lanczos.steps == 0) r_first = rz;
    if (rz <= exhausted * r_first) break;
    const double beta = sp_lanczos_beta(&lanczos, rz);
    status = b->axpby(op->device, precision, dofs, 1, v->z, beta, v->p);
    status = sp_first_failure(status, sp_operator_apply(op, true, v->p, v->q));
    SP_TRY(sp_operator_dot(op, v->p, v->q, status, &pq));
    if (!(rz > 0 && pq > 0) || isinf(rz) || isinf(pq))
      return sp_fail(SP_ERR_BREAKDOWN,
                     "multigrid: the operator of order %d is not positive definite (p.Ap = %g): "
                     "are the data finite%s, or try solver.preconditioner = jacobi",
                     op->order, pq,
                     op->precision == SP_SINGLE
                         ? ", and within single precision? Set solver.precision = double"
                         : "?");
    const double alpha = sp_lanczos_add(&lanczos, rz, pq);
    status = b->axpby(op->device, precision, dofs, -alpha, v->q, 1, v->r);
  }
  c->bound = sp_lanczos_bound(&lanczos);
  return SP_OK;
}

static sp_status find_bound(sp_chebyshev *c, const bool *constrained) {
  sp_operator *op = c->op;
  const sp_backend *b = op->backend;
  work v = {.r = c->r, .z = c->d};
  void *host = NULL;
  sp_status status =
      sp_allocate((size_t)op->dofs, sp_precision_bytes(op->precision), "a start vector", &host);
  if (!status) status = b->vector_create(op->device, op->precision, (size_t)op->dofs, &v.p);
  if (!status) status = b->vector_create(op->device, op->precision, (size_t)op->dofs, &v.q);
  if (!status) status = send_start(op, constrained, host, v.p);
  status = sp_agree(op->comm, status);
  if (!status) status = estimate(c, &v);
  b->vector_destroy(op->device, &v.p);
  b->vector_destroy(op->device, &v.q);
  free(host);
  return status;
}

/* ---- Set-up ---- */

static sp_status send_diagonal(const double *inverse, sp_chebyshev *c) {
  sp_operator *op = c->op;
  const sp_backend *b = op->backend;
  const size_t dofs = (size_t)op->dofs;
  double *full = NULL;
  SP_TRY(b->vector_create(op->device, op->precision, dofs, &c->inverse_diagonal));
  SP_TRY(b->vector_create(op->device, op->precision, dofs, &c->r));
  SP_TRY(b->vector_create(op->device, op->precision, dofs, &c->d));
  SP_TRY(b->vector_create(op->device, op->precision, dofs, &c->product));
  SP_TRY(b->vector_create(op->device, SP_DOUBLE, dofs, &full));
  sp_status status = b->upload(op->device, SP_DOUBLE, dofs, inverse, full);
  if (!status)
    status = b->convert(op->device, dofs, 1, SP_DOUBLE, full, op->precision, c->inverse_diagonal);
  if (!status) status = b->finish(op->device);
  b->vector_destroy(op->device, &full);
  return status;
}

sp_status sp_chebyshev_create(sp_operator *op, const sp_operator_setup *setup, int degree,
                              const sp_separable *boxes, sp_chebyshev **out) {
  double *inverse = NULL;
  sp_chebyshev *c = NULL;
  *out = NULL;
  sp_status status = sp_allocate((size_t)op->dofs, sizeof *inverse, "diagonal", &inverse);
  if (!status) status = sp_allocate(1, sizeof *c, "smoother", &c);
  status = sp_agree(op->comm, status);
  if (!status) {
    *c = (sp_chebyshev){.op = op, .degree = degree};
    status = sp_operator_inverse_diagonal(setup, inverse);
  }
  if (!status) status = sp_agree(op->comm, send_diagonal(inverse, c));
  if (!status && boxes) status = sp_schwarz_create(op, setup, boxes, inverse, &c->schwarz);
  if (!status) status = find_bound(c, setup->constrained);
  free(inverse);
  if (status)
    sp_chebyshev_destroy(&c);
  else
    *out = c;
  return status;
}

void sp_chebyshev_destroy(sp_chebyshev **chebyshev) {
  sp_chebyshev *c = *chebyshev;
  if (!c) return;
  void **const vectors[] = {&c->inverse_diagonal, &c->r, &c->d, &c->product};
  for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++)
    c->op->backend->vector_destroy(c->op->device, vectors[v]);
  sp_schwarz_destroy(&c->schwarz);
  free(c);
  *chebyshev = NULL;
}

double sp_chebyshev_bound(const sp_chebyshev *chebyshev) {
  return chebyshev->bound;
}

/* ---- Smoothing ---- */

sp_correction sp_chebyshev_step(int degree, int i, double bound, bool from_zero) {
  return (sp_correction){.a = i == 0 ? 0 : (2.0 * i - 1) / (2 * i + 3),
                         .b = i == 0 ? 4 / (3 * bound) : (8.0 * i + 4) / ((2 * i + 3) * bound),
                         .c = weights[degree][i],
                         .first = i == 0 && from_zero};
}

/* Do step i from the residual b, or from r = b - A y if y is given; r may be b. */
static sp_status step_from(sp_chebyshev *c, int i, bool from_zero, const void *b, const void *y,
                           void *x) {
  sp_operator *op = c->op;
  sp_correction step = sp_chebyshev_step(c->degree, i, c->bound, from_zero);
  sp_status status = SP_OK;
  step.d = c->d;
  step.x = x;
  if (c->schwarz) {
    if (y) status = sp_chebyshev_residual(c, b, y, &b);
    step.t = c->product;
    return sp_first_failure(status, sp_schwarz_step(c->schwarz, b, c->product, &step));
  }
  step.s = c->inverse_diagonal;
  step.t = b;
  if (!y) return op->backend->correct(op->device, op->precision, (size_t)op->dofs, &step);
  step.q = c->product;
  step.r = c->r;
  return sp_operator_apply_step(op, y, c->product, &step);
}

sp_status sp_chebyshev_smooth(sp_chebyshev *c, bool from_zero, const void *b, void *x) {
  sp_status status = step_from(c, 0, from_zero, b, from_zero ? NULL : x, x);
  /* From zero, the first residual is b itself, which must not change. */
  for (int i = 1; i < c->degree; i++)
    status = sp_first_failure(status,
                              step_from(c, i, from_zero, i == 1 && from_zero ? b : c->r, c->d, x));
  return status;
}

sp_status sp_chebyshev_residual(sp_chebyshev *c, const void *b, const void *x, const void **r) {
  const sp_correction step = {.t = b, .q = c->product, .r = c->r};
  *r = c->r;
  return sp_operator_apply_step(c->op, x, c->product, &step);
}
