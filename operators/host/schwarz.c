#include "operators/host/device.h"

#include <stdlib.h>
#include <string.h>

#include "io/team.h"
#include "operators/host/memory.h"
#include "operators/space.h"

struct sp_device_schwarz {
  const sp_space *space;
  sp_precision precision;
  sp_device *device;
  int lanes, threads;
  sp_host_boxes boxes;
  sp_lid *nodes; /* NULL without columns: use the numbering's */
  char *work;    /* [threads][work_bytes] */
};

static size_t work_bytes(int order) {
  const size_t n = (size_t)order + 1;
  return 2 * n * n * n * SP_VECTOR_BYTES;
}

/* Allocate to[blocks][width][lanes] and pack from[elements][width]; lanes without an element repeat
 * the last. */
static sp_status pack_lanes(const sp_device_schwarz *s, size_t width, const double *from,
                            void *out) {
  const size_t elements = (size_t)s->space->mesh->hexes->count, lanes = (size_t)s->lanes;
  const size_t bytes = sp_precision_bytes(s->precision);
  double row[SP_VECTOR_BYTES / sizeof(float)];
  char *to;
  SP_TRY(sp_host_allocate((elements + lanes - 1) / lanes * lanes * width, bytes, "Schwarz", &to));
  for (size_t first = 0; first < elements; first += lanes)
    for (size_t i = 0; i < width; i++) {
      for (size_t l = 0; l < lanes; l++)
        row[l] = from[(first + l < elements ? first + l : elements - 1) * width + i];
      sp_host_round(s->precision, lanes, row, to + (first * width + i * lanes) * bytes);
    }
  *(void **)out = to;
  return SP_OK;
}

/* Nodes and weights of all elements, in a column's frame; conductances by element. */
static void use_frames(const sp_schwarz_setup *setup, sp_lid *nodes, double *weights,
                       double *conductances) {
  const sp_columns *columns = setup->columns;
  const sp_numbering *numbering = setup->space->numbering;
  const int n = numbering->order + 1;
  const size_t points = sp_grid_points(n),
               count = (size_t)setup->space->mesh->hexes->count * points;
  memcpy(nodes, numbering->nodes, count * sizeof *nodes);
  memcpy(weights, setup->weights, count * sizeof *weights);
  for (sp_lid c = 0; c < columns->start[columns->count]; c++) {
    const size_t first = (size_t)columns->elements[c] * points;
    size_t index = first;
    for (int k = 0; k < n; k++)
      for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++, index++) {
          const size_t from = first + sp_frame_node(&columns->frames[c], n, i, j, k);
          nodes[index] = numbering->nodes[from];
          weights[index] = setup->weights[from];
        }
    conductances[columns->elements[c]] = setup->conductances[c];
  }
}

static sp_status build_columns(const sp_schwarz_setup *setup, sp_device_schwarz *s) {
  const sp_columns *list = setup->columns;
  const size_t n = (size_t)setup->space->numbering->order + 1, count = (size_t)list->count;
  const size_t elements = (size_t)setup->space->mesh->hexes->count, lanes = (size_t)s->lanes;
  const size_t values = ((size_t)list->start[count] + count) * n * n;
  const size_t padded = (elements + lanes - 1) / lanes * lanes;
  const size_t bytes = sp_precision_bytes(s->precision);
  sp_host_columns *columns = &s->boxes.columns;
  SP_OWNED double *weights = NULL, *conductances = NULL;
  SP_TRY(SP_ALLOCATE("Schwarz", SP_ARRAY(weights, elements * n * n * n),
                     SP_ARRAY(conductances, elements)));
  SP_TRY(sp_host_allocate(elements * n * n * n, sizeof *s->nodes, "Schwarz", &s->nodes));
  use_frames(setup, s->nodes, weights, conductances);
  SP_TRY(pack_lanes(s, n * n * n, weights, &s->boxes.weights));
  SP_TRY(pack_lanes(s, 1, conductances, &columns->conductances));
  SP_TRY(sp_host_copy_rounded(s->precision, 2 * n, setup->end_couplings, "Schwarz",
                              &columns->end_couplings));
  SP_TRY(sp_host_copy_rounded(s->precision, values, setup->inverse, "Schwarz", &columns->inverse));
  SP_TRY(sp_host_copy_rounded(s->precision, values, setup->ratio, "Schwarz", &columns->ratio));
  if (setup->ring)
    SP_TRY(sp_host_copy_rounded(s->precision, values, setup->ring, "Schwarz", &columns->ring));
  SP_TRY(sp_host_allocate(padded * n * n * n, bytes, "Schwarz", &columns->modal));
  SP_TRY(sp_host_allocate(values, bytes, "Schwarz", &columns->above));
  return sp_host_allocate(values, bytes, "Schwarz", &columns->below);
}

static sp_status build_schwarz(const sp_schwarz_setup *setup, sp_device_schwarz *s) {
  const size_t elements = (size_t)setup->space->mesh->hexes->count;
  const size_t n = (size_t)setup->space->numbering->order + 1, dofs = sp_space_dofs(setup->space);
  s->boxes.columns.list = setup->columns;
  s->boxes.columns.interface = setup->interface;
  SP_TRY(sp_host_allocate((size_t)s->threads, work_bytes((int)n - 1), "Schwarz", &s->work));
  SP_TRY(pack_lanes(s, 3 * n * n, setup->basis, &s->boxes.basis));
  SP_TRY(pack_lanes(s, 3 * n, setup->values, &s->boxes.values));
  SP_TRY(setup->columns->count > 0 ? build_columns(setup, s)
                                   : pack_lanes(s, n * n * n, setup->weights, &s->boxes.weights));
  s->boxes.n = (int)n;
  s->boxes.nodes = s->nodes ? s->nodes : setup->space->numbering->nodes;
  const sp_host_seam_items items = {.threads = s->threads,
                                    .group = s->lanes,
                                    .part_end = {(sp_lid)elements, (sp_lid)elements},
                                    .width = (sp_lid)(n * n * n),
                                    .nodes = s->boxes.nodes,
                                    .local = (sp_lid)dofs};
  return s->threads == 1 ? SP_OK : sp_host_seams_create(&items, s->precision, &s->boxes.seams);
}

sp_status sp_host_schwarz_create(sp_device *device, const sp_schwarz_setup *setup,
                                 sp_device_schwarz **out) {
  sp_device_schwarz *s;
  *out = NULL;
  SP_TRY(sp_allocate(1, sizeof *s, "Schwarz", &s));
  *s = (sp_device_schwarz){.space = setup->space,
                           .precision = setup->precision,
                           .device = device,
                           .lanes = sp_host_lanes(device->kernels, setup->precision),
                           .threads = sp_team_size()};
  const sp_status status = build_schwarz(setup, s);
  if (status)
    sp_host_schwarz_destroy(&s);
  else
    *out = s;
  return status;
}

void sp_host_schwarz_destroy(sp_device_schwarz **schwarz) {
  sp_device_schwarz *s = *schwarz;
  if (!s) return;
  const sp_host_boxes *b = &s->boxes;
  const sp_host_columns *c = &b->columns;
  void *const arrays[] = {b->basis,        b->values,        b->weights, s->nodes, s->work,
                          c->conductances, c->end_couplings, c->inverse, c->ratio, c->ring,
                          c->modal,        c->above,         c->below};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) sp_host_free(arrays[i]);
  sp_host_seams_free(&s->boxes.seams);
  free(s);
  *schwarz = NULL;
}

/* One application by the team. */
typedef struct team_solve {
  const sp_device_schwarz *schwarz;
  const void *r;
  void *z;
} team_solve;

static void solve_share(void *context, int thread) {
  const team_solve *team = context;
  const sp_device_schwarz *s = team->schwarz;
  const sp_lid elements = s->space->mesh->hexes->count;
  const sp_host_elements mine = {sp_host_share(elements, s->lanes, thread, s->threads),
                                 sp_host_share(elements, s->lanes, thread + 1, s->threads),
                                 s->work + (size_t)thread * work_bytes(s->space->numbering->order)};
  const sp_host_block_kernels *kernels = s->device->kernels->blocks[s->precision];
  const sp_lid columns = s->boxes.columns.list->count;
  kernels->solve(&s->boxes, &mine, team->r, team->z);
  sp_team_wait();
  if (columns > 0) {
    kernels->sweep(&s->boxes, sp_host_share(columns, 1, thread, s->threads),
                   sp_host_share(columns, 1, thread + 1, s->threads));
    sp_team_wait();
    kernels->finish(&s->boxes, &mine, team->z);
    sp_team_wait();
  }
  sp_host_seams_finish(&s->boxes.seams, s->precision, 0, false, thread, s->threads, team->z);
}

sp_status sp_host_schwarz_apply(sp_device_schwarz *s, const void *r, void *z) {
  const size_t dofs = sp_space_dofs(s->space);
  memset(z, 0, dofs * sp_precision_bytes(s->precision));
  sp_team_run(s->threads, solve_share, &(team_solve){s, r, z});
  sp_exchange_begin(s->space->exchange, s->precision, z);
  sp_exchange_end(s->space->exchange, s->precision, z);
  return SP_OK;
}
