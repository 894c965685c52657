#include "operators/host/transfer.h"

#include <stdlib.h>
#include <string.h>

#include "io/team.h"
#include "mesh/reference.h"
#include "operators/host/device.h"
#include "operators/host/layout.h"
#include "operators/host/memory.h"
#include "operators/host/vector_calls.h"
#include "operators/space.h"

typedef struct dof_list {
  sp_lid count, *dofs;
} dof_list;

struct sp_device_transfer {
  const sp_space *fine, *coarse;
  sp_precision precision;
  int lanes;
  const sp_host_interpolate *kernels;
  sp_host_interpolation interpolation;
  void *matrix, *weights;
  int threads;
  char *work;      /* [threads][bytes of one thread] */
  sp_lid elements; /* of the coarse space */
  bool exact_copies;
  sp_lid *nodes;    /* sp_transfer_setup, or NULL */
  void *correction; /* [fine local DOFs], and one for nodes without DOF */
  /* Fine DOFs of weight zero, which get no correction; constrained coarse DOFs. */
  dof_list fine_fixed, coarse_fixed;
  sp_device *device;
};

/* A copy of `count` doubles in another precision; the caller frees *out. */
static sp_status copy_rounded(sp_precision precision, size_t count, const double *values,
                              void **out) {
  SP_TRY(sp_host_allocate(count, sp_precision_bytes(precision), "transfer", out));
  sp_host_round(precision, count, values, *out);
  return SP_OK;
}

static sp_status find_seams(const sp_device_transfer *t, int n, const sp_lid *nodes, size_t dofs,
                            sp_host_seams *seams) {
  const sp_host_seam_items items = {t->threads, t->lanes, {t->elements, t->elements},
                                    n * n * n,  nodes,    (sp_lid)dofs};
  return sp_host_seams_create(&items, t->precision, seams);
}

/* List the true entries of `constrained` or, if it is NULL, the zero weights. */
static sp_status list_fixed(size_t count, const bool *constrained, const double *weights,
                            dof_list *list) {
  for (size_t i = 0; i < count; i++) list->count += constrained ? constrained[i] : weights[i] == 0;
  SP_TRY(sp_allocate((size_t)list->count, sizeof *list->dofs, "transfer", &list->dofs));
  for (size_t i = 0, n = 0; i < count; i++)
    if (constrained ? constrained[i] : weights[i] == 0) list->dofs[n++] = (sp_lid)i;
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
  SP_TRY(copy_rounded(t->precision, (size_t)(nf * nc), matrix, &t->matrix));
  SP_TRY(sp_host_allocate(fine_dofs, sp_precision_bytes(t->precision), "transfer", &t->weights));
  sp_host_round(t->precision, fine_dofs - 1, setup->weights, t->weights);
  SP_TRY(sp_host_allocate((size_t)t->threads * sp_host_interpolation_work(nf), 1, "transfer",
                          &t->work));
  SP_TRY(sp_host_allocate(fine_dofs, sp_precision_bytes(t->precision), "transfer", &t->correction));
  SP_TRY(list_fixed(fine_dofs - 1, NULL, setup->weights, &t->fine_fixed));
  if (setup->coarse_constrained)
    SP_TRY(list_fixed(coarse_dofs, setup->coarse_constrained, NULL, &t->coarse_fixed));
  if (setup->nodes) {
    const size_t nodes = (size_t)t->elements * (size_t)(nf * nf * nf);
    SP_TRY(sp_allocate(nodes, sizeof *t->nodes, "transfer", &t->nodes));
    memcpy(t->nodes, setup->nodes, nodes * sizeof *t->nodes);
  }
  const sp_lid *fine_nodes = t->nodes ? t->nodes : setup->fine->numbering->nodes;
  t->interpolation = (sp_host_interpolation){.nc = nc,
                                             .nf = nf,
                                             .coarse_nodes = setup->coarse->numbering->nodes,
                                             .fine_nodes = fine_nodes,
                                             .matrix = t->matrix};
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
                            .kernels = device->kernels->interpolate[setup->precision],
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
  sp_host_free((*transfer)->matrix);
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
  const sp_host_seams *seams = &t->interpolation.fine_seams;
  const sp_host_elements mine = share_of_thread(t, thread);
  t->kernels->prolong(&t->interpolation, &mine, team->from, team->to);
  sp_team_wait();
  sp_host_seams_last(seams, t->precision, sp_host_share(seams->count, 1, thread, t->threads),
                     sp_host_share(seams->count, 1, thread + 1, t->threads), team->to);
}

static void restrict_share(void *context, int thread) {
  const team_transfer *team = context;
  const sp_device_transfer *t = team->transfer;
  const sp_host_seams *seams = &t->interpolation.coarse_seams;
  const sp_host_elements mine = share_of_thread(t, thread);
  t->kernels->restrict_add(&t->interpolation, &mine, team->from, team->to);
  sp_team_wait();
  sp_host_seams_sum(seams, t->precision, sp_host_share(seams->count, 1, thread, t->threads),
                    sp_host_share(seams->count, 1, thread + 1, t->threads), team->to);
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
