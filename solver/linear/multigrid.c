#include "solver/linear/multigrid.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "mesh/coarsen.h"
#include "operators/schwarz/bars.h"
#include "operators/transfer.h"
#include "solver/linear/chebyshev.h"

/* A level. The last one has no transfer, nor has one above bars, on the same space. With algebraic
 * multigrid it also has no operator and no smoother. */
typedef struct level {
  const sp_space *space;   /* the system's */
  sp_operator_setup setup; /* of op */
  sp_operator *op;
  sp_chebyshev *smoother;
  sp_transfer *transfer; /* to the next level */
  sp_vector b, x;
  double seconds; /* of all timed cycles */
} level;

typedef struct multigrid {
  sp_preconditioner base;
  const sp_platform *platform;
  sp_multigrid_options options; /* auto is resolved */
  sp_precision precision;
  bool rounded; /* factors of levels with stored geometry are bfloat16 */
  level levels[SP_MULTIGRID_MOST];
  sp_coarse *coarse; /* NULL: the last level is smoothed */
  bool records;      /* record the cycle when it is first applied */
  sp_recording *recording;
  bool timed;   /* time the levels of each cycle */
  double stamp; /* MPI_Wtime when the work of a level began */
  long cycles;  /* cycles timed so far */
} multigrid;

static sp_precision precision_of(const sp_multigrid_options *options) {
  return options->precision == SP_CYCLE_SINGLE ? SP_SINGLE : SP_DOUBLE;
}

/* True if stored factors of the levels' operators are bfloat16: less to move, with the same number
 * of iterations (operators/cuda/MEASUREMENTS.md). */
static bool rounds_factors(const sp_backend *backend, sp_precision precision, sp_operator_kind kind,
                           sp_geometry_kind geometry) {
  return backend->rounded_factors && precision == SP_SINGLE && geometry == SP_GEOMETRY_STORED &&
         sp_operator_rows[kind].has_stiffness;
}

/* ---- The cycle ---- */

/* Add the time since the last call to the level. */
static void add_level_time(multigrid *m, int index) {
  if (!m->timed) return;
  (void)m->platform->backend->finish(
      m->platform->device); /* a failure is reported by the next call */
  const double now = MPI_Wtime();
  m->levels[index].seconds += now - m->stamp;
  m->stamp = now;
}

/* Compute l->x = B_l l->b. A failure is kept and the cycle goes on, because neighbours and the
 * coarsest level need this rank. */
static sp_status cycle_level(multigrid *m, int index, sp_status status) {
  level *l = &m->levels[index], *next = l + 1;
  if (index + 1 == m->options.levels) {
    status = m->coarse
                 ? sp_coarse_apply(m->coarse, status, &l->b, &l->x)
                 : sp_first_failure(status, sp_chebyshev_smooth(l->smoother, true, &l->b, &l->x));
    add_level_time(m, index);
    return status;
  }
  const sp_vector *r = NULL;
  status = sp_first_failure(status, sp_chebyshev_smooth(l->smoother, true, &l->b, &l->x));
  status = sp_first_failure(status, sp_chebyshev_residual(l->smoother, &l->b, &l->x, &r));
  status = sp_first_failure(status, l->transfer ? sp_transfer_restrict(l->transfer, r, &next->b)
                                                : sp_vector_convert(1, r, &next->b));
  add_level_time(m, index);
  status = cycle_level(m, index + 1, status);
  status = sp_first_failure(status, l->transfer ? sp_transfer_prolong(l->transfer, &next->x, &l->x)
                                                : sp_vector_axpby(1, &next->x, 1, &l->x));
  status = sp_first_failure(status, sp_chebyshev_smooth(l->smoother, false, &l->b, &l->x));
  add_level_time(m, index);
  return status;
}

/* Run a cycle; it is one launch if values travel without the host. */
static sp_status run_cycle(multigrid *m, sp_status status) {
  const sp_backend *backend = m->platform->backend;
  m->stamp = MPI_Wtime();
  m->cycles++;
  if (!m->records || status) return cycle_level(m, 0, status);
  if (!m->recording) {
    SP_TRY(backend->record(m->platform->device));
    SP_TRY(backend->end_recording(m->platform->device, cycle_level(m, 0, SP_OK), &m->recording));
  }
  return backend->replay(m->recording);
}

/* Apply the cycle to a residual scaled to size one, in any units: single precision ends at 1e38 and
 * 1e-38. The scale is a power of two, which does not round. */
static sp_status apply_multigrid(sp_preconditioner *self, double norm, const sp_vector *r,
                                 sp_vector *z) {
  multigrid *m = (multigrid *)self;
  level *fine = &m->levels[0];
  int exponent;
  (void)frexp(norm, &exponent);
  const sp_status status = run_cycle(m, sp_vector_convert(ldexp(1, -exponent), r, &fine->b));
  return sp_first_failure(status, sp_vector_convert(ldexp(1, exponent), &fine->x, z));
}

/* A smoothing of degree k applies A k times, from zero k - 1 times, and S k times. Restriction sums
 * once on the level that it ends on, and so does prolongation to the finest one. */
sp_traffic sp_multigrid_traffic(const sp_multigrid_options *o, int index, double neighbours,
                                double shared) {
  const bool last = index + 1 == o->levels;
  const int own = sp_smoother_type_of(o->smoother, o->orders[index])->sums, k = o->degree;
  int sums = index > 0;
  if (!last) sums += 2 * k + 2 * k * own + (index == 0); /* with the residual */
  if (last && o->coarse == SP_COARSE_CHEBYSHEV) sums += k - 1 + k * own;
  return (sp_traffic){sums * neighbours,
                      sums * shared * (double)sp_precision_bytes(precision_of(o))};
}

/* The largest traffic of a rank on a level. Collective. */
static sp_traffic find_traffic(const multigrid *m, int index) {
  const sp_space *space = m->levels[index].space;
  const sp_exchange_plan plan = sp_exchange_plan_of(space->exchange);
  sp_traffic t =
      sp_multigrid_traffic(&m->options, index, plan.neighbours, plan.start[plan.neighbours]);
  if (m->coarse && index + 1 == m->options.levels) {
    const sp_traffic more =
        sp_coarse_traffic(m->coarse, plan.neighbours, plan.start[plan.neighbours]);
    t.messages += more.messages;
    t.bytes += more.bytes;
  }
  MPI_Allreduce(MPI_IN_PLACE, &t, 2, MPI_DOUBLE, MPI_MAX, space->platform->comm);
  return t;
}

static bool has_bars(const multigrid *m) {
  return m->levels[1].space == m->levels[0].space;
}

static sp_status time_levels(sp_preconditioner *self, sp_level_time times[SP_LEVELS_MOST],
                             int *count) {
  multigrid *m = (multigrid *)self;
  const sp_platform *p = m->platform;
  double seconds[SP_MULTIGRID_MOST];
  *count = 0;
  if (m->cycles == 0) return SP_OK;
  if (!m->timed) {
    sp_status status = p->backend->finish(p->device);
    m->timed = true;
    m->stamp = MPI_Wtime();
    status = cycle_level(m, 0, status);
    m->timed = false;
    m->cycles = 1;
    SP_TRY(sp_agree(p->comm, status));
  }
  const int levels = m->options.levels;
  for (int i = 0; i < levels; i++) seconds[i] = m->levels[i].seconds / (double)m->cycles;
  MPI_Allreduce(MPI_IN_PLACE, seconds, levels, MPI_DOUBLE, MPI_MAX, p->comm);
  for (int i = 0; i < levels; i++) {
    const sp_traffic t = find_traffic(m, i);
    const sp_gid dofs =
        i == 1 && has_bars(m) ? sp_coarse_size(m->coarse) : m->levels[i].space->numbering->global;
    times[(*count)++] =
        (sp_level_time){m->options.orders[i], dofs, seconds[i], t.messages, t.bytes};
  }
  return SP_OK;
}

/* ---- Set-up ---- */

void sp_multigrid_choose_orders(int order, sp_multigrid_options *options) {
  static const int next[] = {[2] = 1, [3] = 2,  [4] = 2,  [5] = 3,  [6] = 3,  [7] = 4,  [8] = 4,
                             [9] = 6, [10] = 7, [11] = 7, [12] = 8, [13] = 9, [14] = 9, [15] = 11};
  options->levels = 0;
  for (int n = order;; n = next[n]) {
    options->orders[options->levels++] = n;
    if (n == 1) break;
  }
  if (order == 1)
    options->orders[options->levels++] = 1; /* for the coarse solver; the first is smoothed */
}

static sp_status create_vectors(const multigrid *m, level *l) {
  SP_TRY(sp_space_vector(l->space, m->precision, &l->b));
  return sp_space_vector(l->space, m->precision, &l->x);
}

/* Create the system's operator anew in the precision of the cycle. */
static sp_status create_operator(multigrid *m, level *l, sp_system *system) {
  sp_operator_setup *setup = &l->setup;
  *setup = system->setup;
  setup->for_level = true;
  setup->one_sweep = false;
  setup->precision = m->precision;
  setup->rounded = rounds_factors(m->platform->backend, m->precision, setup->kind, setup->geometry);
  if (system->op && system->setup.for_level) setup->alike = system->op->local;
  m->rounded = m->rounded || setup->rounded;
  SP_TRY(sp_operator_create(setup, &l->op));
  return sp_chebyshev_create(l->op, setup, m->options.degree,
                             sp_smoother_type_of(m->options.smoother, l->op->order), system,
                             &l->smoother);
}

/* Create the levels. A transfer needs the masks of two levels. Copies of a DOF must agree on the
 * finest level; on the others rounding is no more than the cycle's. */
static sp_status create_levels(multigrid *m, sp_system *const systems[]) {
  const int last = m->options.levels - 1;
  for (int i = 0; i <= last; i++) {
    level *l = &m->levels[i];
    SP_TRY(sp_agree(m->platform->comm, create_vectors(m, l)));
    if (i < last || !m->coarse) SP_TRY(create_operator(m, l, systems[i]));
    if (i > 0 && l->space != m->levels[i - 1].space)
      SP_TRY(sp_transfer_create(m->levels[i - 1].op, l->space, systems[i - 1]->setup.constrained,
                                systems[i]->setup.constrained, i == 1, &m->levels[i - 1].transfer));
  }
  return m->coarse ? sp_coarse_complete(m->coarse) : SP_OK;
}

/* ---- Modes that a cycle leaves ---- */

/* Where blocks of different directions meet there may be errors that none of them corrects. Cycles
 * leave them and remove all others, as the power method with 1 - B A. Then A is inverted on the
 * DOFs that carry these errors. Only if S has sets already, so that other cases pay nothing. The
 * numbers were chosen by the iterations of random lattices of thin layers. */
static const double SLOW = 0.3;                          /* factor of a cycle */
enum { FIRST_CYCLES = 6, CYCLES = 2, SLOW_ROUNDS = 30 }; /* cycles of the first and other rounds */

/* Divide x by *size, its energy norm, and leave A x in the finest level's b. */
static sp_status normalize_error(multigrid *m, sp_vector *x, double *size) {
  level *l = &m->levels[0];
  sp_status status = sp_operator_apply(l->op, true, x, &l->b);
  SP_TRY(sp_operator_dot(l->op, x, &l->b, status, size));
  *size = sqrt(fmax(*size, 0));
  if (*size == 0) return SP_OK;
  status = sp_vector_axpby(0, x, 1 / *size, x);
  return sp_first_failure(status, sp_vector_axpby(0, x, 1 / *size, &l->b));
}

/* Do cycles on the error x of size 1. *left is its part that is left after all cycles so far, and
 * *factor after the last one. */
static sp_status reduce_error(multigrid *m, int cycles, sp_vector *x, double *left,
                              double *factor) {
  for (int i = 0; i < cycles; i++) {
    const sp_status status = cycle_level(m, 0, SP_OK);
    SP_TRY(sp_agree(m->platform->comm,
                    sp_first_failure(status, sp_vector_axpby(-1, &m->levels[0].x, 1, x))));
    SP_TRY(normalize_error(m, x, factor));
    *left *= *factor;
  }
  return SP_OK;
}

/* An error at the level of rounding, such as a constant in the null space, says nothing about the
 * cycle. */
static sp_status invert_slow_modes(multigrid *m) {
  level *l = &m->levels[0];
  const double rounding = m->precision == SP_SINGLE ? FLT_EPSILON : DBL_EPSILON;
  double size, left = 1, factor = 1;
  bool more = sp_chebyshev_has_sets(l->smoother);
  SP_AUTO_VALUE(sp_vector) x = {0};
  if (!more) return SP_OK;
  SP_TRY(sp_agree(m->platform->comm, sp_space_vector(l->space, m->precision, &x)));
  SP_TRY(sp_chebyshev_start(l->smoother, &x));
  SP_TRY(normalize_error(m, &x, &size));
  for (int round = 0; round < SLOW_ROUNDS && more; round++) {
    SP_TRY(reduce_error(m, round == 0 ? FIRST_CYCLES : CYCLES, &x, &left, &factor));
    if (factor < SLOW || left < rounding) break;
    SP_TRY(sp_chebyshev_invert(l->smoother, &x, &l->b, &more));
  }
  return SP_OK;
}

static void destroy_multigrid(sp_preconditioner *self) {
  multigrid *m = (multigrid *)self;
  for (int i = m->options.levels - 1; i >= 0; i--) {
    level *l = &m->levels[i];
    sp_transfer_destroy(&l->transfer);
    sp_chebyshev_destroy(&l->smoother);
    sp_operator_destroy(&l->op);
    sp_vector_destroy(&l->b);
    sp_vector_destroy(&l->x);
  }
  sp_coarse_destroy(&m->coarse);
  if (m->recording) m->platform->backend->recording_destroy(&m->recording);
  free(m);
}

static void describe_multigrid(const sp_preconditioner *self, size_t room, char *text) {
  const multigrid *m = (const multigrid *)self;
  const sp_mesh *mesh = m->levels[0].space->mesh;
  size_t used = (size_t)snprintf(text, room, "orders");
  int meshes = 0;
  for (int i = 0; i < m->options.levels && used < room; i++)
    if (m->levels[i].space->mesh != mesh)
      meshes++;
    else
      used += (size_t)snprintf(text + used, room - used, " %d", m->options.orders[i]);
  if (meshes > 0 && used < room)
    used += (size_t)snprintf(text + used, room - used, " and %d coarser mesh%s", meshes,
                             meshes > 1 ? "es" : "");
  if (used < room && has_bars(m))
    used += (size_t)snprintf(text + used, room - used, " and %d along bars", m->options.orders[0]);
  if (used < room)
    used += (size_t)snprintf(text + used, room - used, ", %s of degree %d",
                             sp_smoother_type_of(m->options.smoother, SP_MAX_ORDER)->title,
                             m->options.degree);
  const sp_column_counts columns = sp_chebyshev_columns(m->levels[0].smoother);
  if (used < room && columns.columns > 0)
    used += (size_t)snprintf(text + used, room - used, " on %lld columns of %lld elements",
                             (long long)columns.columns, (long long)columns.elements);
  if (used < room)
    snprintf(text + used, room - used, ", %s precision%s, %s",
             m->precision == SP_SINGLE ? "single" : "double",
             m->rounded ? ", factors of 16 bits" : "",
             m->coarse ? sp_coarse_describe(m->coarse) : "order 1 smoothed");
}

void sp_multigrid_decide(const sp_backend *backend, sp_operator_kind kind, bool is_tensor,
                         const sp_mesh_shape *shape, sp_multigrid_options *options) {
  /* Kernels multiply three lengths. Their product and coefficients must stay within 1e38 and
   * 1e-38. */
  const bool in_range = shape->shortest > 1e-10 && shape->longest < 1e10;
  if (options->smoother == SP_SMOOTHER_AUTO)
    options->smoother = sp_smoother_choose(kind, shape, is_tensor);
  const int order = options->orders[0];
  if (options->degree == 0)
    options->degree = order <= sp_smoother_type_of(options->smoother, order)->low_order ? 2 : 3;
  if (options->precision == SP_CYCLE_AUTO)
    options->precision = backend->single_operators && in_range ? SP_CYCLE_SINGLE : SP_CYCLE_DOUBLE;
}

int sp_multigrid_smoothed(const sp_multigrid_options *options) {
  return options->levels - (options->orders[options->levels - 2] == 1);
}

int sp_multigrid_few_rows(const sp_backend *backend) {
  return backend->on_host ? 2000 : 7000;
}

/* True if order 1 on the next coarser mesh (mesh/coarsen.h) is to be used below the last level. Not
 * for a tensor kappa: couplings of elements ignore it, and cubes with kappa 1, 1, 100 would take 29
 * iterations at order 1, not 6. */
static bool wants_mesh(const sp_multigrid_options *options, const sp_system *last) {
  return options->coarse == SP_COARSE_AUTO && !last->setup.is_tensor &&
         options->levels < SP_MULTIGRID_MOST && sp_operator_rows[last->setup.kind].has_stiffness &&
         last->space->numbering->global > sp_multigrid_few_rows(last->space->platform->backend);
}

sp_status sp_multigrid_add_meshes(sp_geometry_kind geometry, sp_multigrid_options *options,
                                  sp_system *systems[]) {
  for (;;) {
    const sp_system *last = systems[options->levels - 1];
    sp_mesh *mesh;
    if (!wants_mesh(options, last)) return SP_OK;
    SP_TRY(sp_mesh_coarser(last->space->mesh, &mesh));
    if (!mesh) return SP_OK;
    SP_TRY(sp_system_coarsen(last, geometry, &mesh, &systems[options->levels]));
    options->orders[options->levels++] = 1;
  }
}

/* True if bars may have a level of their own. */
static bool allows_bars(const sp_multigrid_options *options, sp_operator_kind kind) {
  return sp_smoother_type_of(options->smoother, options->orders[0])->keeps_bars &&
         options->coarse != SP_COARSE_CHEBYSHEV && kind == SP_BP35;
}

sp_status sp_multigrid_find_bars(sp_multigrid_options *options, sp_system *systems[]) {
  if (!allows_bars(options, systems[0]->setup.kind)) return SP_OK;
  SP_TRY(sp_bars_create(systems[0], &systems[1]));
  if (!systems[1]) return SP_OK;
  options->levels = 2;
  options->orders[1] = 1;
  return SP_OK;
}

sp_status sp_multigrid_start_coarse(const sp_system *last, const sp_multigrid_options *options,
                                    sp_coarse **out) {
  *out = NULL;
  if (options->coarse == SP_COARSE_CHEBYSHEV) return SP_OK;
  return sp_coarse_create(last, options->coarse, options->place, precision_of(options), out);
}

sp_status sp_multigrid_create(const sp_multigrid_options *options, sp_system *const systems[],
                              sp_coarse **coarse, sp_preconditioner **out) {
  const sp_platform *platform = systems[0]->space->platform;
  multigrid *m;
  *out = NULL;
  SP_TRY(sp_agree(platform->comm, sp_allocate(1, sizeof *m, "multigrid", &m)));
  *m = (multigrid){.base = {.name = "multigrid",
                            .cure = options->precision == SP_CYCLE_DOUBLE
                                        ? "solver.preconditioner = jacobi"
                                        : "solver.precision = double",
                            .apply = apply_multigrid,
                            .destroy = destroy_multigrid,
                            .describe = describe_multigrid,
                            .time_levels = time_levels},
                   .platform = platform,
                   .options = *options,
                   .precision = precision_of(options),
                   .coarse = *coarse};
  *coarse = NULL;
  for (int i = 0; i < options->levels; i++) m->levels[i].space = systems[i]->space;
  sp_status status = create_levels(m, systems);
  if (!status) status = invert_slow_modes(m);
  for (int i = 0; i < options->levels; i++) {
    free(systems[i]->boxes);
    systems[i]->boxes = NULL;
  }
  if (status) {
    destroy_multigrid(&m->base);
    return status;
  }
  m->records = platform->backend->record && m->levels[0].space->resident &&
               (!m->coarse || sp_coarse_only_queues(m->coarse));
  /* Do not time levels if work is queued: waiting for each level would slow down all cycles. */
  m->timed = !platform->backend->record;
  *out = &m->base;
  return SP_OK;
}
