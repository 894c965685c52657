#include "operators/row_gather.h"

#include <stdlib.h>

#include "operators/sparse.h"

struct sp_row_gather {
  const sp_platform *platform;
  size_t first, count;      /* own rows */
  sp_device_matrix *select; /* [own rows][local DOFs] */
  sp_exchange *exchange;    /* own rows to all ranks; NULL for one rank */
  sp_device_space *on_device;
  bool resident;
};

static sp_status create_exchange(sp_row_gather *g, const int *counts) {
  const sp_platform *p = g->platform;
  const char *how;
  SP_TRY(sp_exchange_create_gather(p->comm, counts, &g->exchange));
  return p->backend->space_create(p->device, p->comm, g->exchange, p->transport, &g->on_device,
                                  &how, &g->resident);
}

static sp_status create_parts(sp_row_gather *g, const sp_space *space, sp_precision precision,
                              const sp_lid *dofs) {
  const sp_platform *p = g->platform;
  const int ranks = sp_comm_size(p->comm), own = (int)g->count;
  SP_AUTO_VALUE(sp_csr) select = {0};
  SP_OWNED int *counts = NULL;
  sp_status status = sp_csr_select(own, (int)sp_space_dofs(space), dofs, &select);
  if (!status) status = p->backend->matrix_create(p->device, precision, &select, &g->select);
  if (!status) status = sp_allocate((size_t)ranks, sizeof *counts, "rows", &counts);
  SP_TRY(sp_agree(p->comm, status));
  MPI_Allgather(&own, 1, MPI_INT, counts, 1, MPI_INT, p->comm);
  for (int r = 0; r < sp_comm_rank(p->comm); r++) g->first += (size_t)counts[r];
  return ranks > 1 ? create_exchange(g, counts) : SP_OK;
}

sp_status sp_row_gather_create(const sp_space *space, sp_precision precision, int count,
                               const sp_lid *dofs, sp_row_gather **out) {
  SP_AUTO(sp_row_gather) g = NULL;
  *out = NULL;
  SP_TRY(sp_agree(space->platform->comm, sp_allocate(1, sizeof *g, "rows", &g)));
  *g = (sp_row_gather){.platform = space->platform, .count = (size_t)count, .resident = true};
  SP_TRY(create_parts(g, space, precision, dofs));
  *out = g;
  g = NULL;
  return SP_OK;
}

sp_status sp_row_gather_apply(const sp_row_gather *g, sp_status status, const sp_vector *x,
                              sp_vector *rows) {
  const sp_backend *backend = g->platform->backend;
  const sp_vector own = sp_vector_part(rows, g->first, g->count);
  status =
      sp_first_failure(status, backend->matrix_apply(g->select, 1, x->data, 0, NULL, own.data));
  if (!g->exchange) return status;
  return sp_first_failure(status, backend->assemble(g->on_device, rows->precision, rows->data));
}

bool sp_row_gather_is_resident(const sp_row_gather *g) {
  return g->resident;
}

void sp_row_gather_destroy(sp_row_gather **gather) {
  sp_row_gather *g = *gather;
  if (!g) return;
  g->platform->backend->matrix_destroy(&g->select);
  g->platform->backend->space_destroy(&g->on_device);
  sp_exchange_destroy(&g->exchange);
  free(g);
  *gather = NULL;
}
