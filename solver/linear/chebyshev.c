#include "solver/linear/chebyshev.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
  sp_smoother *smoother; /* S */
  sp_vector r, d;        /* L-vectors of the operator's precision */
  /* If A is inverted on sets of DOFs, L-vectors, else NULL: positive inside sets, and 1 / the
   * diagonal of A. */
  double *marks, *inverse;
  const bool *constrained;
};

/* ---- The largest eigenvalue of S A ---- */

typedef struct start {
  const sp_numbering *numbering;
  const bool *constrained;
  double *values;
} start;

/* Fill a vector with pseudorandom values. A DOF has the same value on all ranks and for any number
 * of ranks. */
static void fill_start(void *context, size_t begin, size_t end) {
  const start *s = context;
  for (size_t i = begin; i < end; i++) {
    uint64_t bits = (uint64_t)sp_numbering_global(s->numbering, (sp_lid)i) + 1;
    bits = (bits ^ bits >> 33) * 0xff51afd7ed558ccdu;
    bits = (bits ^ bits >> 33) * 0xc4ceb9fe1a85ec53u;
    s->values[i] = s->constrained && s->constrained[i] ? 0 : (double)(bits >> 11) * 0x1p-52 - 1;
  }
}

static sp_status write_start(const sp_operator *op, const bool *constrained, double *host,
                             sp_vector *vector) {
  const size_t dofs = (size_t)op->dofs;
  start s = {op->space->numbering, constrained, host};
  SP_TRY(sp_loop_over("a start vector", dofs, 1, &s, fill_start));
  return sp_vector_write(host, vector);
}

/* Estimate the bound from the start vector p; q is scratch. The right-hand side is A p, so that it
 * is in the range of A. */
static sp_status estimate(sp_chebyshev *c, sp_vector *p, sp_vector *q) {
  sp_operator *op = c->op;
  sp_vector *r = &c->r, *z = &c->d;
  /* Stop when r is at rounding level (few DOFs, or a nearly exact S). */
  const double rounding = op->precision == SP_SINGLE ? FLT_EPSILON : DBL_EPSILON;
  const double exhausted = 100 * rounding * rounding;
  sp_lanczos lanczos = {0};
  double r_first = 0;
  sp_status status = sp_operator_apply(op, true, p, r);
  while (lanczos.steps < SP_LANCZOS_STEPS) {
    double rz, pq;
    status = sp_first_failure(status, c->smoother->apply(c->smoother, r, z));
    SP_TRY(sp_operator_dot(op, r, z, status, &rz));
    if (lanczos.steps == 0) r_first = rz;
    if (rz <= exhausted * r_first) break;
    const double beta = sp_lanczos_beta(&lanczos, rz);
    status = sp_vector_axpby(1, z, beta, p);
    status = sp_first_failure(status, sp_operator_apply(op, true, p, q));
    SP_TRY(sp_operator_dot(op, p, q, status, &pq));
    if (!(rz > 0 && pq > 0) || isinf(rz) || isinf(pq))
      return sp_fail(SP_ERR_BREAKDOWN,
                     "multigrid: the operator of order %d is not positive definite (p.Ap = %g): "
                     "are elements nearly flat, or data out of range? Try %s",
                     op->order, pq,
                     op->precision == SP_SINGLE ? "solver.precision = double"
                                                : "solver.preconditioner = jacobi");
    const double alpha = sp_lanczos_add(&lanczos, rz, pq);
    status = sp_vector_axpby(-alpha, q, 1, r);
  }
  c->bound = sp_lanczos_bound(&lanczos);
  return SP_OK;
}

/* `host`: scratch, [local DOFs]. */
static sp_status find_bound(sp_chebyshev *c, double *host) {
  sp_operator *op = c->op;
  SP_AUTO_VALUE(sp_vector) p = {0}, q = {0};
  sp_status status = sp_space_vector(op->space, op->precision, &p);
  if (!status) status = write_start(op, c->constrained, host, &p);
  if (!status) status = sp_space_vector(op->space, op->precision, &q);
  SP_TRY(sp_agree(op->comm, status));
  return estimate(c, &p, &q);
}

/* ---- Modes that S corrects too much ---- */

/* Blocks that overlap may correct an error several times, which is an eigenvalue of S A far above
 * one. It stretches Chebyshev's interval, and all other modes are smoothed less. The power method
 * finds the DOFs that carry such modes, and A is inverted on them, until there are none. Where
 * blocks meet there may also be modes that none of them corrects; multigrid finds these.
 * The numbers were chosen by the iterations of random lattices of thin layers. On skew elements
 * the boxes' entries are not accurate enough: slivers and Kershaw's mesh have bounds up to 9, and
 * sets took up to 5 s and saved no or few iterations. */
static const double LARGE = 5;       /* bound from which on there is something to gain */
static const double LARGE_SKEW = 20; /* the same if elements are skew */
static const double UPRIGHT = 0.25;  /* shape.upright below which they are */
static const double ENOUGH = 3;      /* an eigenvalue that may stay */
static const double CARRIES = 0.1;   /* energy of a DOF, of the largest */
static const double STRONG = 0.3;    /* coupling to DOFs that carry a mode, for a diagonal of one */
static const double WORTH = 0.7;     /* new bound / old one, below which the sets pay */
enum { STEPS = 4, ROUNDS = 100, QUIET = 2 }; /* of the power method */
enum { CARRIERS_MOST = 4096 };               /* all ranks have the residual there */

typedef struct carriers {
  sp_chebyshev *c;
  double *values; /* L-vector: scratch */
  sp_vector *x;
} carriers;

/* x = S A x / *growth, with *growth = (x, A S A x) / (x, A x). Leaves A x in r and S r in d. */
static sp_status take_power_step(const carriers *k, double *growth) {
  sp_chebyshev *c = k->c;
  double before, after;
  sp_status status = sp_operator_apply(c->op, true, k->x, &c->r);
  SP_TRY(sp_operator_dot(c->op, k->x, &c->r, status, &before));
  status = c->smoother->apply(c->smoother, &c->r, &c->d);
  SP_TRY(sp_operator_dot(c->op, &c->d, &c->r, status, &after));
  *growth = after / before;
  return sp_vector_axpby(1 / *growth, &c->d, 0, k->x);
}

/* values = x on the host, after queued work of all ranks. */
static sp_status read_values(const carriers *k, const sp_vector *x, sp_status status) {
  return sp_agree(k->c->op->comm, sp_first_failure(status, sp_vector_read(x, k->values)));
}

/* Mark the DOFs with most of a mode's energy, d_i r_i with r = A d. */
static sp_status mark_energy(const carriers *k) {
  sp_chebyshev *c = k->c;
  double most = 0;
  SP_TRY(read_values(k, &c->d, sp_vector_multiply(&c->r, &c->d, &c->d)));
  for (sp_lid i = 0; i < c->op->dofs; i++) most = fmax(most, fabs(k->values[i]));
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, c->op->comm);
  for (sp_lid i = 0; i < c->op->dofs; i++) c->marks[i] += fabs(k->values[i]) > CARRIES * most;
  sp_exchange_now(c->op->space->exchange, SP_SUM, c->marks);
  return SP_OK;
}

/* Mark the DOFs with strong coupling to marked ones: else a stiff line of DOFs would be cut. */
static sp_status mark_coupled(const carriers *k) {
  sp_chebyshev *c = k->c;
  for (sp_lid i = 0; i < c->op->dofs; i++)
    k->values[i] =
        c->marks[i] > 0 && !(c->constrained && c->constrained[i]) ? sqrt(c->inverse[i]) : 0;
  const sp_status status = sp_vector_write(k->values, &c->r);
  SP_TRY(read_values(k, &c->d,
                     sp_first_failure(status, sp_operator_apply(c->op, true, &c->r, &c->d))));
  for (sp_lid i = 0; i < c->op->dofs; i++)
    c->marks[i] += fabs(k->values[i]) * sqrt(c->inverse[i]) > STRONG;
  sp_exchange_now(c->op->space->exchange, SP_SUM, c->marks);
  return SP_OK;
}

static sp_gid count_marks(const sp_chebyshev *c) {
  sp_gid count = 0;
  for (sp_lid i = 0; i < c->op->space->numbering->owned; i++) count += c->marks[i] > 0;
  MPI_Allreduce(MPI_IN_PLACE, &count, 1, SP_MPI_GID, MPI_SUM, c->op->comm);
  return count;
}

/* Exact inverses cannot make an eigenvalue larger (operators/schwarz/sets.h). If one grows, A is
 * too different from boxes. */
static sp_status correct_carriers(const carriers *k) {
  sp_smoother *smoother = k->c->smoother;
  double growth;
  sp_gid known = 0;
  for (int round = 0, quiet = 0; round < ROUNDS && quiet < QUIET; round++) {
    for (int i = 0; i < STEPS; i++) SP_TRY(take_power_step(k, &growth));
    if (growth > 2 * k->c->bound) break;
    if (growth > ENOUGH) {
      SP_TRY(mark_energy(k));
      SP_TRY(mark_coupled(k));
    }
    const sp_gid found = count_marks(k->c);
    quiet = found == known ? quiet + 1 : 0;
    known = found;
    if (quiet > 0) continue;
    if (found > CARRIERS_MOST) break;
    SP_TRY(smoother->correct(smoother, k->c->marks));
  }
  return SP_OK;
}

static void forget_sets(sp_chebyshev *c) {
  SP_FREE(c->marks, c->inverse);
  c->marks = c->inverse = NULL;
}

/* Keep the sets only if they pay. `values`: scratch. */
static sp_status improve(sp_chebyshev *c, double *values) {
  const sp_operator *op = c->op;
  const double before = c->bound;
  SP_AUTO_VALUE(sp_vector) x = {0};
  sp_status status = sp_allocate((size_t)op->dofs, sizeof *c->marks, "smoother", &c->marks);
  if (!status) status = sp_space_vector(op->space, op->precision, &x);
  if (!status) status = write_start(op, c->constrained, values, &x);
  SP_TRY(sp_agree(op->comm, status));
  SP_TRY(correct_carriers(&(carriers){c, values, &x}));
  SP_TRY(find_bound(c, values));
  if (c->bound <= WORTH * before) return SP_OK;
  c->bound = before;
  SP_TRY(c->smoother->correct(c->smoother, NULL));
  forget_sets(c);
  return SP_OK;
}

bool sp_chebyshev_has_sets(const sp_chebyshev *c) {
  return c->marks != NULL;
}

sp_status sp_chebyshev_start(const sp_chebyshev *c, sp_vector *x) {
  SP_OWNED double *values = NULL;
  sp_status status = sp_allocate((size_t)c->op->dofs, sizeof *values, "smoother", &values);
  if (!status) status = write_start(c->op, c->constrained, values, x);
  return sp_agree(c->op->comm, status);
}

/* With exact inverses the bound does not grow. */
sp_status sp_chebyshev_invert(sp_chebyshev *c, sp_vector *x, const sp_vector *ax, bool *more) {
  static const double GROWTH = 1.1;
  const size_t dofs = (size_t)c->op->dofs;
  const sp_gid known = count_marks(c);
  const double bound = c->bound;
  SP_OWNED double *values = NULL, *before = NULL;
  SP_TRY(sp_agree(c->op->comm,
                  SP_ALLOCATE("smoother", SP_ARRAY(values, dofs), SP_ARRAY(before, dofs))));
  memcpy(before, c->marks, dofs * sizeof *before);
  const carriers k = {c, values, x};
  sp_status status = sp_vector_axpby(1, ax, 0, &c->r);
  status = sp_first_failure(status, sp_vector_axpby(1, x, 0, &c->d));
  SP_TRY(sp_agree(c->op->comm, status));
  SP_TRY(mark_energy(&k));
  SP_TRY(mark_coupled(&k));
  const sp_gid found = count_marks(c);
  *more = found > known && found <= CARRIERS_MOST;
  if (*more) {
    SP_TRY(c->smoother->correct(c->smoother, c->marks));
    SP_TRY(find_bound(c, values));
    *more = c->bound <= GROWTH * bound;
  }
  if (*more || found == known) return SP_OK;
  memcpy(c->marks, before, dofs * sizeof *before);
  c->bound = bound;
  return found <= CARRIERS_MOST ? c->smoother->correct(c->smoother, c->marks) : SP_OK;
}

/* ---- Set-up ---- */

static sp_status create_smoother(sp_chebyshev *c, const sp_smoother_type *type,
                                 const sp_operator_setup *setup, sp_system *system) {
  const sp_operator *op = c->op;
  SP_TRY(type->create(c->op, setup, system, c->inverse, &c->smoother));
  c->smoother->op = c->op;
  sp_status status = sp_space_vector(op->space, op->precision, &c->smoother->product);
  if (!status) status = sp_space_vector(op->space, op->precision, &c->r);
  if (!status) status = sp_space_vector(op->space, op->precision, &c->d);
  return sp_agree(op->comm, status);
}

sp_status sp_chebyshev_create(sp_operator *op, const sp_operator_setup *setup, int degree,
                              const sp_smoother_type *type, sp_system *system, sp_chebyshev **out) {
  SP_OWNED double *scratch = NULL;
  SP_AUTO(sp_chebyshev) c = NULL;
  *out = NULL;
  sp_status status = sp_allocate(1, sizeof *c, "smoother", &c);
  if (!status)
    status = SP_ALLOCATE("diagonal", SP_ARRAY(c->inverse, op->dofs), SP_ARRAY(scratch, op->dofs));
  SP_TRY(sp_agree(op->comm, status));
  c->op = op;
  c->degree = degree;
  c->constrained = setup->constrained;
  SP_TRY(sp_operator_inverse_diagonal(setup, c->inverse));
  SP_TRY(create_smoother(c, type, setup, system));
  SP_TRY(find_bound(c, scratch));
  const bool skew = op->space->mesh->shape.upright < UPRIGHT;
  if (c->bound > (skew ? LARGE_SKEW : LARGE) && c->smoother->correct)
    SP_TRY(improve(c, scratch));
  else
    forget_sets(c);
  *out = c;
  c = NULL;
  return SP_OK;
}

void sp_chebyshev_destroy(sp_chebyshev **chebyshev) {
  sp_chebyshev *c = *chebyshev;
  if (!c) return;
  sp_vector_destroy(&c->r);
  sp_vector_destroy(&c->d);
  sp_smoother_destroy(&c->smoother);
  forget_sets(c);
  free(c);
  *chebyshev = NULL;
}

/* ---- Smoothing ---- */

sp_smoothing sp_chebyshev_step(int degree, int i, double bound, bool from_zero) {
  return (sp_smoothing){.a = i == 0 ? 0 : (2.0 * i - 1) / (2 * i + 3),
                        .b = i == 0 ? 4 / (3 * bound) : (8.0 * i + 4) / ((2 * i + 3) * bound),
                        .c = weights[degree][i],
                        .first = i == 0 && from_zero};
}

/* Do step i from the residual b, or from r = b - A y if y is given; r may be b. */
static sp_status step_from(sp_chebyshev *c, int i, bool from_zero, const sp_vector *b,
                           const sp_vector *y, sp_vector *x) {
  sp_smoothing step = sp_chebyshev_step(c->degree, i, c->bound, from_zero);
  step.r = &c->r;
  step.d = &c->d;
  step.x = x;
  return c->smoother->step(c->smoother, b, y, &step);
}

sp_status sp_chebyshev_smooth(sp_chebyshev *c, bool from_zero, const sp_vector *b, sp_vector *x) {
  sp_status status = step_from(c, 0, from_zero, b, from_zero ? NULL : x, x);
  /* From zero, the first residual is b itself, which must not change. */
  for (int i = 1; i < c->degree; i++)
    status = sp_first_failure(
        status, step_from(c, i, from_zero, i == 1 && from_zero ? b : &c->r, &c->d, x));
  return status;
}

sp_status sp_chebyshev_residual(sp_chebyshev *c, const sp_vector *b, const sp_vector *x,
                                const sp_vector **r) {
  sp_vector *product = &c->smoother->product;
  const sp_smoothing step = {.t = b, .q = product, .r = &c->r};
  *r = &c->r;
  return sp_operator_apply_step(c->op, x, product, &step);
}

sp_column_counts sp_chebyshev_columns(const sp_chebyshev *chebyshev) {
  return chebyshev->smoother->columns;
}
