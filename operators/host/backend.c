/* The host's table of functions: CPU kernels, with one thread per rank or a team. */
#include "operators/space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/team.h"
#include "operators/factors.h"
#include "operators/host/device.h"
#include "operators/host/layout.h"
#include "operators/host/memory.h"

struct sp_device_space {
  sp_exchange *exchange; /* borrowed */
};

/* HALO: the elements that touch other ranks. Their sums are exchanged while INNER elements are
 * computed. */
typedef enum mesh_part { HALO, INNER } mesh_part;

/* Work of one thread, and its sums. */
typedef struct member {
  sp_host_sweep sweep;
  sp_host_cg cg;
} member;

struct sp_local_operator {
  const sp_host_vectors *vectors;
  const sp_host_operators *operators; /* of the precision */
  sp_exchange *exchange;
  sp_host_local_function *local;
  sp_host_layout layout;
  sp_host_tables tables;
  sp_precision precision;
  double lambda;
  /* The setup's diagonal. Shared DOFs come first; they are complete after the sweep over the halo.
   * ~d if the DOF is constrained. */
  sp_lid diagonal_count, diagonal_shared;
  sp_lid *diagonal_dofs;
  void *diagonal_values;
  size_t nodes;    /* nodes per element */
  double *work;    /* [threads][SP_HOST_WORK] */
  member *members; /* [threads] */
  double sums[2];
};

int sp_host_usable_kernels(const sp_host_kernels *usable[SP_HOST_KERNEL_SETS]) {
  int count = 0;
#ifdef SP_HOST_HAS_avx512
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd"))
    usable[count++] = &sp_host_kernels_avx512;
#endif
#ifdef SP_HOST_HAS_avx2
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2"))
    usable[count++] = &sp_host_kernels_avx2;
#endif
#ifdef SP_HOST_HAS_generic
  usable[count++] = &sp_host_kernels_generic;
#endif
  return count;
}

static sp_status host_open(MPI_Comm comm, sp_device **out) {
  const sp_host_kernels *usable[SP_HOST_KERNEL_SETS];
  (void)comm;
  *out = NULL;
  if (sp_host_usable_kernels(usable) == 0)
    return sp_fail(SP_ERR_INPUT,
                   "this program has no kernels for this processor: build it with the set "
                   "'generic' in SP_HOST_KERNEL_SETS");
  SP_TRY(sp_allocate(1, sizeof **out, "device", out));
  (*out)->kernels = usable[0];
  const int length = snprintf((*out)->description, sizeof(*out)->description, "CPU, %s kernels",
                              usable[0]->instruction_set);
  if (sp_team_size() > 1)
    snprintf((*out)->description + length, sizeof(*out)->description - (size_t)length,
             ", %d threads", sp_team_size());
  return SP_OK;
}

static void host_close(sp_device **device) {
  free(*device);
  *device = NULL;
}

static const char *host_describe(const sp_device *device) {
  return device->description;
}

/* From speeds between L-vectors on one core (README.md). With stiffness, recomputing is 1.5 to 1.8
 * times as fast with AVX-512. With AVX2 both are within 15 %, and recomputing leaves the memory to
 * other cores. At order 1 only parallelepipeds gain, recomputed once per element. For mass, with
 * one factor per point, both are within 25 %. */
static sp_geometry_kind host_faster_geometry(sp_operator_kind kind, int order, bool affine) {
  const bool trilinear = sp_operator_rows[kind].has_stiffness && (order > 1 || affine);
  return trilinear ? SP_GEOMETRY_TRILINEAR : SP_GEOMETRY_STORED;
}

static sp_status host_vector_create(sp_device *device, sp_precision precision, size_t count,
                                    void *out) {
  (void)device;
  return sp_host_allocate(count, sp_precision_bytes(precision), "vector", out);
}

static void host_vector_destroy(sp_device *device, void *vector) {
  void *memory, *const none = NULL;
  (void)device;
  memcpy(&memory, vector, sizeof memory);
  sp_host_free(memory);
  memcpy(vector, &none, sizeof none);
}

static sp_status host_finish(sp_device *device) {
  (void)device;
  return SP_OK;
}

/* The exchange uses the host's vectors directly. */
static sp_status host_space_create(sp_device *device, MPI_Comm comm, sp_exchange *exchange,
                                   sp_transport transport, sp_device_space **out, const char **how,
                                   bool *resident) {
  (void)device;
  (void)transport;
  SP_TRY(sp_agree(comm, sp_allocate(1, sizeof **out, "space", out)));
  (*out)->exchange = exchange;
  *how = "MPI";
  *resident = false;
  return SP_OK;
}

static void host_space_destroy(sp_device_space **space) {
  free(*space);
  *space = NULL;
}

static sp_status host_assemble(sp_device_space *space, sp_precision precision, void *vector) {
  sp_exchange_begin(space->exchange, precision, vector);
  sp_exchange_end(space->exchange, precision, vector);
  return SP_OK;
}

static void host_operator_destroy(sp_local_operator **local) {
  if (!*local) return;
  sp_host_layout_free(&(*local)->layout);
  SP_FREE((*local)->diagonal_dofs, (*local)->diagonal_values);
  sp_host_free((*local)->work);
  sp_host_free((*local)->members);
  free(*local);
  *local = NULL;
}

static sp_status keep_diagonal(const sp_operator_setup *setup, sp_local_operator *local) {
  const sp_numbering *numbering = setup->space->numbering;
  const size_t count = (size_t)setup->diagonal_count;
  const size_t real = sp_precision_bytes(local->precision);
  SP_OWNED bool *shared = NULL;
  SP_TRY(sp_allocate(count, sizeof(sp_lid), "diagonal", &local->diagonal_dofs));
  SP_TRY(sp_allocate(count, real, "diagonal", &local->diagonal_values));
  if (count == 0) return SP_OK;
  SP_TRY(sp_allocate((size_t)numbering->local, sizeof *shared, "diagonal", &shared));
  for (sp_lid i = 0; i < numbering->shared_start[numbering->neighbours]; i++)
    shared[numbering->shared[i]] = true;
  for (int pass = 0; pass < 2; pass++) {
    for (size_t i = 0; i < count; i++) {
      const sp_lid dof = setup->diagonal_dofs[i], n = local->diagonal_count;
      if (shared[dof] != (pass == 0)) continue;
      local->diagonal_dofs[n] = setup->constrained && setup->constrained[dof] ? ~dof : dof;
      sp_host_round(local->precision, 1, &setup->diagonal_values[i],
                    (char *)local->diagonal_values + (size_t)n * real);
      local->diagonal_count++;
    }
    if (pass == 0) local->diagonal_shared = local->diagonal_count;
  }
  return SP_OK;
}

static sp_status host_operator_create(sp_device *device, const sp_operator_setup *setup,
                                      sp_local_operator **out) {
  sp_local_operator *local;
  *out = NULL;
  SP_TRY(sp_allocate(1, sizeof *local, "operator", &local));
  const int order = setup->space->numbering->order;
  local->precision = setup->precision;
  local->vectors = device->kernels->vectors;
  local->operators = device->kernels->operators[setup->precision];
  local->exchange = setup->space->exchange;
  local->local = local->operators->local[setup->kind][sp_operator_factor_kind(setup)];
  local->lambda = setup->lambda;
  local->nodes = (size_t)((order + 1) * (order + 1) * (order + 1));
  sp_host_tables_fill(device->kernels, setup->kind, order, setup->precision, &local->tables);
  sp_status status = sp_host_layout_create(device->kernels, setup, &local->tables, &local->layout);
  if (!status) status = keep_diagonal(setup, local);
  const size_t threads = (size_t)local->layout.threads;
  if (!status)
    status =
        sp_host_allocate(threads * SP_HOST_WORK, sizeof(double), "kernel workspace", &local->work);
  if (!status)
    status = sp_host_allocate(threads, sizeof(member), "kernel workspace", &local->members);
  if (status) {
    host_operator_destroy(&local);
    return status;
  }
  *out = local;
  return SP_OK;
}

static bool host_read_factors(const sp_operator_setup *setup, sp_lid element, double *factors) {
  return sp_host_layout_factors(&setup->alike->layout, setup, element, factors);
}

/* A team that sweeps over one part. */
typedef struct team_sweep {
  sp_local_operator *local;
  mesh_part part;
} team_sweep;

/* Thread `thread`'s share of [first, last). */
static sp_host_run share_of_thread(const sp_local_operator *local, sp_lid first, sp_lid last,
                                   int thread) {
  const int threads = local->layout.threads;
  return (sp_host_run){first + sp_host_share(last - first, 1, thread, threads),
                       first + sp_host_share(last - first, 1, thread + 1, threads)};
}

static void sweep_share(const sp_local_operator *local, mesh_part part, int thread) {
  const sp_host_layout *layout = &local->layout;
  sp_host_sweep *sweep = &local->members[thread].sweep;
  const sp_host_run blocks =
      part == HALO ? share_of_thread(local, 0, layout->halo_blocks, thread)
                   : share_of_thread(local, layout->halo_blocks, layout->blocks, thread);
  sweep->first = blocks.begin;
  sweep->last = blocks.end;
  local->operators->sweep(layout, &local->tables, sweep);
}

/* Touch copies, and DOFs on seams, before the first part. */
static void touch_before(const sp_local_operator *local, int thread) {
  const sp_host_layout *layout = &local->layout;
  const sp_host_sweep *sweep = &local->members[thread].sweep;
  const sp_host_run copies = share_of_thread(local, layout->owned, layout->local, thread);
  local->operators->touch(sweep, 1, &copies);
  if (layout->threads == 1) return;
  const sp_lid *list = &layout->first.start[layout->blocks];
  const sp_host_run seams = share_of_thread(local, list[0], list[1], thread);
  local->operators->touch(sweep, seams.end - seams.begin, &layout->first.runs[seams.begin]);
  sp_team_wait();
}

static void sweep_part(void *context, int thread) {
  const team_sweep *team = context;
  const sp_local_operator *local = team->local;
  if (team->part == HALO) touch_before(local, thread);
  sweep_share(local, team->part, thread);
  if (local->layout.threads == 1) return;
  sp_team_wait();
  sp_host_seams_finish(&local->layout.seams, local->precision, team->part, false, thread,
                       local->layout.threads, local->members[thread].sweep.y);
}

static void sweep_unassembled(void *context, int thread) {
  const team_sweep *team = context;
  sweep_share(team->local, HALO, thread);
  sweep_share(team->local, INNER, thread);
}

/* Each thread starts with a copy of *sweep and, if its hooks need it, of *cg. */
static void start_sweep(sp_local_operator *local, const sp_host_sweep *sweep,
                        const sp_host_cg *cg) {
  for (int t = 0; t < local->layout.threads; t++) {
    member *m = &local->members[t];
    m->sweep = *sweep;
    m->sweep.local = local->local;
    m->sweep.lambda = local->lambda;
    m->sweep.work = &local->work[(size_t)t * SP_HOST_WORK];
    if (cg) {
      m->cg = *cg;
      m->sweep.context = &m->cg;
    }
  }
}

/* y += D x for the entries completed by the sweep over one part; returns the part's x.D x. */
#define DEFINE_ADD_DIAGONAL(real)                                                                  \
  static double add_diagonal_##real(const sp_local_operator *local, mesh_part part,                \
                                    bool constrained, const real *x, real *y) {                    \
    const sp_lid first = part == HALO ? 0 : local->diagonal_shared;                                \
    const sp_lid last = part == HALO ? local->diagonal_shared : local->diagonal_count;             \
    const real *values = local->diagonal_values;                                                   \
    double energy = 0;                                                                             \
    for (sp_lid i = first; i < last; i++) {                                                        \
      const sp_lid d = local->diagonal_dofs[i], dof = d < 0 ? ~d : d;                              \
      if (d < 0 && constrained) continue;                                                          \
      const real product = values[i] * x[dof];                                                     \
      y[dof] += product;                                                                           \
      energy += (double)x[dof] * (double)product;                                                  \
    }                                                                                              \
    return energy;                                                                                 \
  }

DEFINE_ADD_DIAGONAL(double)
DEFINE_ADD_DIAGONAL(float)

/* y += A x, or pass 1 of CG, over one part; returns the diagonal's part of x.A x. */
static double apply_part(sp_local_operator *local, mesh_part part, const sp_host_sweep *sweep) {
  team_sweep team = {local, part};
  sp_team_run(local->layout.threads, sweep_part, &team);
  return local->precision == SP_SINGLE
             ? add_diagonal_float(local, part, sweep->constrained, sweep->x, sweep->y)
             : add_diagonal_double(local, part, sweep->constrained, sweep->x, sweep->y);
}

/* Sweep over both parts, with the exchange between them. Returns this rank's x.A x. `cg` is the
 * context of the hooks, or NULL. */
static double apply_all(sp_local_operator *local, const sp_host_sweep *sweep,
                        const sp_host_cg *cg) {
  start_sweep(local, sweep, cg);
  double energy = apply_part(local, HALO, sweep);
  sp_exchange_begin(local->exchange, local->precision, sweep->y);
  energy += apply_part(local, INNER, sweep);
  sp_exchange_end(local->exchange, local->precision, sweep->y);
  for (int t = 0; t < local->layout.threads; t++) energy += local->members[t].sweep.energy;
  return energy;
}

static sp_status host_apply(sp_local_operator *local, bool constrained, const void *x, void *y) {
  (void)apply_all(local, &(sp_host_sweep){.x = x, .y = y, .constrained = constrained}, NULL);
  return SP_OK;
}

static size_t host_e_vector_size(const sp_local_operator *local) {
  return (size_t)local->layout.blocks * local->nodes * (size_t)local->layout.lanes;
}

static sp_status host_apply_unassembled(sp_local_operator *local, const void *x, void *y) {
  team_sweep team = {.local = local};
  start_sweep(local, &(sp_host_sweep){.x = x, .y = y, .unassembled = true}, NULL);
  sp_team_run(local->layout.threads, sweep_unassembled, &team);
  return SP_OK;
}

static sp_host_cg cg_of(const sp_local_operator *local, double alpha, double beta,
                        const sp_cg_arrays *vectors) {
  return (sp_host_cg){.alpha = alpha,
                      .beta = beta,
                      .z = vectors->z,
                      .inverse_diagonal = vectors->inverse_diagonal,
                      .x = vectors->x,
                      .r = vectors->r,
                      .p = vectors->p,
                      .ap = vectors->ap,
                      .owned = local->layout.owned};
}

static sp_status host_direction(sp_local_operator *local, double beta,
                                const sp_cg_arrays *vectors) {
  const sp_host_cg cg = cg_of(local, 0, beta, vectors);
  const sp_host_sweep sweep = {.x = cg.p,
                               .y = cg.ap,
                               .constrained = true,
                               .sums_energy = true,
                               .touch = local->vectors->direct};
  local->sums[0] = apply_all(local, &sweep, &cg);
  return SP_OK;
}

/* Add the sums over DOFs that no block completes. */
static void complete_late(void *context, int thread) {
  sp_local_operator *local = context;
  const sp_lid *list = &local->layout.last.start[local->layout.blocks];
  const sp_host_run late = share_of_thread(local, list[0], list[1], thread);
  local->vectors->add_products(&local->members[thread].cg, late.end - late.begin,
                               &local->layout.last.runs[late.begin]);
}

static sp_status host_sweep(sp_local_operator *local, double alpha, double beta,
                            const sp_cg_arrays *vectors, double sums[SP_CG_SUMS], double *seconds) {
  const int threads = local->layout.threads;
  const sp_host_cg cg = cg_of(local, alpha, beta, vectors);
  const sp_host_sweep sweep = {.x = cg.p,
                               .y = cg.ap,
                               .constrained = true,
                               .sums_energy = true,
                               .touch = local->vectors->step,
                               .complete = local->vectors->add_products};
  const double p_ap = apply_all(local, &sweep, &cg);
  sp_team_run(threads, complete_late, local);
  *seconds = 0;
  memset(sums, 0, SP_CG_SUMS * sizeof *sums);
  for (int t = 0; t < threads; t++) {
    const member *m = &local->members[t];
    for (int s = 0; s < SP_CG_SUMS; s++)
      for (int lane = 0; lane < SP_HOST_DOUBLES; lane++) sums[s] += m->cg.sums[s][lane];
    *seconds += m->sweep.seconds / threads;
  }
  sums[SP_CG_P_AP] = p_ap;
  if (!cg.inverse_diagonal) {
    sums[SP_CG_RZ] = sums[SP_CG_RR];
    sums[SP_CG_Z_AP] = sums[SP_CG_R_AP];
    sums[SP_CG_AP_D_AP] = sums[SP_CG_AP_AP];
  }
  return SP_OK;
}

static sp_status host_update(sp_local_operator *local, double alpha, const sp_cg_arrays *vectors) {
  sp_host_update(local->vectors, local->layout.owned, local->layout.local, alpha, vectors,
                 local->sums);
  return SP_OK;
}

static sp_status host_sums(sp_local_operator *local, double sums[2]) {
  memcpy(sums, local->sums, sizeof local->sums);
  return SP_OK;
}

const sp_backend sp_backend_host = {
    .name = "host",
    .on_host = true,
    .open = host_open,
    .close = host_close,
    .describe = host_describe,
    .finish = host_finish,
    .faster_geometry = host_faster_geometry,
    .vector_create = host_vector_create,
    .vector_destroy = host_vector_destroy,
    .upload = sp_host_copy,
    .download = sp_host_copy,
    .copy = sp_host_copy,
    .convert = sp_host_convert,
    .fill = sp_host_fill,
    .combine = sp_host_combine,
    .multiply = sp_host_multiply,
    .dot = sp_host_dot,
    .correct = sp_host_correct,
    .space_create = host_space_create,
    .space_destroy = host_space_destroy,
    .assemble = host_assemble,
    .single_operators = true,
    .rounded_factors = false,
    .operator_create = host_operator_create,
    .operator_destroy = host_operator_destroy,
    .read_factors = host_read_factors,
    .apply = host_apply,
    .e_vector_size = host_e_vector_size,
    .apply_unassembled = host_apply_unassembled,
    .weighted_transfer = true,
    .transfer_create = sp_host_transfer_create,
    .transfer_destroy = sp_host_transfer_destroy,
    .prolong = sp_host_prolong,
    .restrict_residual = sp_host_restrict,
    .schwarz_create = sp_host_schwarz_create,
    .schwarz_destroy = sp_host_schwarz_destroy,
    .schwarz_apply = sp_host_schwarz_apply,
    .matrix_create = sp_host_matrix_create,
    .inverse_create = sp_host_inverse_create,
    .matrix_destroy = sp_host_matrix_destroy,
    .matrix_apply = sp_host_matrix_apply,
    .direction = host_direction,
    .update = host_update,
    /* One sweep is 10 to 30 % slower than two passes up to N = 3, equal at N = 4 and 5, 4 to 20 %
     * faster from N = 6 on (two cores with AVX2, bp3.5, 2.5 M DOFs). */
    .sweep_order = 6,
    .sweep = host_sweep,
    .sums = host_sums,
};
