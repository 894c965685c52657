#include "operators/host/device.h"

#include <stdlib.h>
#include <string.h>

#include "io/team.h"
#include "mesh/reference.h"
#include "operators/host/memory.h"
#include "operators/space.h"

typedef struct dof_list {
  sp_lid count, *dofs;
} dof_list;

struct sp_device_transfer {
  const sp_space *fine, *coarse;
  sp_precision precision;
  int lanes;
  const sp_host_block_kernels *kernels;
  sp_host_interpolation interpolation;
  void *weights;
  int threads;
  char *work;      /* [threads][bytes of one thread] */
  sp_lid elements; /* of the coarse space */
  bool exact_copies;
  sp_lid *nodes;                     /* sp_transfer_setup, or NULL */
  void *correction;                  /* [fine local DOFs], and one for nodes without DOF */
  dof_list fine_fixed, coarse_fixed; /* constrained DOFs */
  sp_device *device;
};

static sp_status find_seams(const sp_device_transfer *t, int n, const sp_lid *nodes, size_t dofs,
                            sp_host_seams *seams) {
  const sp_host_seam_items items = {t->threads, t->lanes, {t->elements, t->elements},
                                    n * n * n,  nodes,    (sp_lid)dofs};
  return sp_host_seams_create(&items, t->precision, seams);
}

static sp_status list_fixed(size_t count, const bool *constrained, dof_list *list) {
  if (!constrained) return SP_OK;
  for (size_t i = 0; i < count; i++) list->count += constrained[i];
  SP_TRY(sp_allocate((size_t)list->count, sizeof *list->dofs, "transfer", &list->dofs));
  for (size_t i = 0, n = 0; i < count; i++)
    if (constrained[i]) list->dofs[n++] = (sp_lid)i;
  return SP_OK;
}

static void set_zero(const dof_list *list, sp_precision precision, void *vector) {
  const size_t bytes = sp_precision_bytes(precision);
  for (sp_lid i = 0; i < list->count; i++)
    memset((char *)vector + (size_t)list->dofs[i] * bytes, 0, bytes);
}

static sp_status build_transfer(const sp_transfer_setup *setup, sp_device_transfer *t) {
  const int nf = setup->nodes ? 3 : setup->fine->numbering->order + 1;
  const int nc = setup->coarse->numbering->order + 1;
  const size_t fine_dofs = sp_space_dofs(setup->fine) + 1;
  const size_t coarse_dofs = sp_space_dofs(setup->coarse);
  double matrix[SP_MAX_NQ * SP_MAX_NQ];
  sp_interpolation_matrix(nc, sp_reference_get(nc - 1)->gll.nodes, nf,
                          sp_reference_get(nf - 1)->gll.nodes, matrix);
  SP_TRY(sp_host_copy_rounded(t->precision, (size_t)(nf * nc), matrix, "transfer",
                              &t->interpolation.matrix));
  SP_TRY(
      sp_host_copy_rounded(t->precision, fine_dofs - 1, setup->weights, "transfer", &t->weights));
  SP_TRY(sp_host_allocate((size_t)t->threads * sp_host_interpolation_work(nf), 1, "transfer",
                          &t->work));
  SP_TRY(sp_host_allocate(fine_dofs, sp_precision_bytes(t->precision), "transfer", &t->correction));
  SP_TRY(list_fixed(fine_dofs - 1, setup->fine_constrained, &t->fine_fixed));
  SP_TRY(list_fixed(coarse_dofs, setup->coarse_constrained, &t->coarse_fixed));
  if (setup->nodes) {
    const size_t nodes = (size_t)t->elements * (size_t)(nf * nf * nf);
    SP_TRY(sp_allocate(nodes, sizeof *t->nodes, "transfer", &t->nodes));
    memcpy(t->nodes, setup->nodes, nodes * sizeof *t->nodes);
  }
  const sp_lid *fine_nodes = t->nodes ? t->nodes : setup->fine->numbering->nodes;
  t->interpolation.nc = nc;
  t->interpolation.nf = nf;
  t->interpolation.coarse_nodes = setup->coarse->numbering->nodes;
  t->interpolation.fine_nodes = fine_nodes;
  if (t->threads == 1) return SP_OK;
  SP_TRY(find_seams(t, nc, setup->coarse->numbering->nodes, coarse_dofs,
                    &t->interpolation.coarse_seams));
  return find_seams(t, nf, fine_nodes, fine_dofs, &t->interpolation.fine_seams);
}

sp_status sp_host_transfer_create(sp_device *device, const sp_transfer_setup *setup,
                                  sp_device_transfer **out) {
  sp_device_transfer *t;
  *out = NULL;
  SP_TRY(sp_allocate(1, sizeof *t, "transfer", &t));
  *t = (sp_device_transfer){.fine = setup->fine,
                            .coarse = setup->coarse,
                            .precision = setup->precision,
                            .lanes = sp_host_lanes(device->kernels, setup->precision),
                            .threads = sp_team_size(),
                            .elements = setup->coarse->mesh->hexes->count,
                            .exact_copies = setup->exact_copies,
                            .kernels = device->kernels->blocks[setup->precision],
                            .device = device};
  const sp_status status = build_transfer(setup, t);
  if (status)
    sp_host_transfer_destroy(&t);
  else
    *out = t;
  return status;
}

void sp_host_transfer_destroy(sp_device_transfer **transfer) {
  if (!*transfer) return;
  sp_host_free((*transfer)->interpolation.matrix);
  sp_host_free((*transfer)->weights);
  sp_host_free((*transfer)->work);
  sp_host_free((*transfer)->correction);
  sp_host_seams_free(&(*transfer)->interpolation.coarse_seams);
  sp_host_seams_free(&(*transfer)->interpolation.fine_seams);
  SP_FREE((*transfer)->fine_fixed.dofs, (*transfer)->coarse_fixed.dofs, (*transfer)->nodes,
          *transfer);
  *transfer = NULL;
}

static void assemble_fine(const sp_space *space, sp_precision precision, void *vector) {
  sp_exchange_begin(space->exchange, precision, vector);
  sp_exchange_end(space->exchange, precision, vector);
}

/* A transfer by the team. */
typedef struct team_transfer {
  sp_device_transfer *transfer;
  const void *from;
  void *to;
} team_transfer;

static sp_host_elements share_of_thread(const sp_device_transfer *t, int thread) {
  return (sp_host_elements){sp_host_share(t->elements, t->lanes, thread, t->threads),
                            sp_host_share(t->elements, t->lanes, thread + 1, t->threads),
                            t->work +
                                (size_t)thread * sp_host_interpolation_work(t->interpolation.nf)};
}

static void prolong_share(void *context, int thread) {
  const team_transfer *team = context;
  const sp_device_transfer *t = team->transfer;
  const sp_host_elements mine = share_of_thread(t, thread);
  t->kernels->prolong(&t->interpolation, &mine, team->from, team->to);
  sp_team_wait();
  sp_host_seams_finish(&t->interpolation.fine_seams, t->precision, 0, true, thread, t->threads,
                       team->to);
}

static void restrict_share(void *context, int thread) {
  const team_transfer *team = context;
  const sp_device_transfer *t = team->transfer;
  const sp_host_elements mine = share_of_thread(t, thread);
  t->kernels->restrict_add(&t->interpolation, &mine, team->from, team->to);
  sp_team_wait();
  sp_host_seams_finish(&t->interpolation.coarse_seams, t->precision, 0, false, thread, t->threads,
                       team->to);
}

sp_status sp_host_prolong(sp_device_transfer *t, const void *coarse, void *fine) {
  const sp_numbering *numbering = t->fine->numbering;
  const size_t bytes = sp_precision_bytes(t->precision), owned = (size_t)numbering->owned;
  sp_team_run(t->threads, prolong_share, &(team_transfer){t, coarse, t->correction});
  if (t->exact_copies) { /* elements differ by rounding: use the owner's value on all ranks */
    memset((char *)t->correction + owned * bytes, 0, (sp_space_dofs(t->fine) - owned) * bytes);
    assemble_fine(t->fine, t->precision, t->correction);
  }
  set_zero(&t->fine_fixed, t->precision, t->correction);
  static const double ones[] = {1, 1};
  return sp_host_combine(t->device, t->precision, sp_space_dofs(t->fine), 2, ones,
                         (const void *[]){t->correction, fine}, fine);
}

sp_status sp_host_restrict(sp_device_transfer *t, const void *fine, void *coarse) {
  const size_t bytes = sp_precision_bytes(t->precision), fine_dofs = sp_space_dofs(t->fine);
  SP_TRY(sp_host_multiply(t->device, t->precision, fine_dofs, t->weights, fine, t->correction));
  memset((char *)t->correction + fine_dofs * bytes, 0, bytes); /* nodes without DOF */
  memset(coarse, 0, sp_space_dofs(t->coarse) * bytes);
  sp_team_run(t->threads, restrict_share, &(team_transfer){t, t->correction, coarse});
  assemble_fine(t->coarse, t->precision, coarse);
  set_zero(&t->coarse_fixed, t->precision, coarse);
  return SP_OK;
}
