#include "operators/host/schwarz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/team.h"
#include "operators/host/device.h"
#include "operators/host/layout.h"
#include "operators/host/memory.h"
#include "operators/space.h"

struct sp_device_schwarz {
  const sp_space *space;
  sp_precision precision;
  sp_device *device;
  int lanes, threads;
  sp_host_boxes boxes;
  void *basis, *values, *weights;
  char *work; /* [threads][work_bytes] */
};

static size_t work_bytes(int order) {
  const size_t n = (size_t)order + 1;
  return 2 * n * n * n * SP_VECTOR_BYTES;
}

/* Copy from[elements][width] to to[blocks][width][lanes]; lanes without an element repeat the last.
 * */
static void pack(sp_precision precision, size_t lanes, size_t elements, size_t width,
                 const double *from, void *to) {
  const size_t bytes = sp_precision_bytes(precision);
  double row[SP_VECTOR_BYTES / sizeof(float)];
  for (size_t first = 0; first < elements; first += lanes)
    for (size_t i = 0; i < width; i++) {
      for (size_t l = 0; l < lanes; l++)
        row[l] = from[(first + l < elements ? first + l : elements - 1) * width + i];
      sp_host_round(precision, lanes, row, (char *)to + (first * width + i * lanes) * bytes);
    }
}

static sp_status build(const sp_schwarz_setup *setup, sp_device_schwarz *s) {
  const size_t elements = (size_t)setup->space->mesh->hexes->count;
  const size_t n = (size_t)setup->space->numbering->order + 1, dofs = sp_space_dofs(setup->space);
  const size_t bytes = sp_precision_bytes(s->precision);
  const size_t lanes = (size_t)s->lanes;
  const size_t padded = (elements + lanes - 1) / lanes * lanes;
  SP_TRY(sp_host_allocate(padded * 3 * n * n, bytes, "Schwarz", &s->basis));
  SP_TRY(sp_host_allocate(padded * 3 * n, bytes, "Schwarz", &s->values));
  SP_TRY(sp_host_allocate(padded * n * n * n, bytes, "Schwarz", &s->weights));
  SP_TRY(sp_host_allocate((size_t)s->threads, work_bytes((int)n - 1), "Schwarz", &s->work));
  pack(s->precision, lanes, elements, 3 * n * n, setup->basis, s->basis);
  pack(s->precision, lanes, elements, 3 * n, setup->values, s->values);
  pack(s->precision, lanes, elements, n * n * n, setup->weights, s->weights);
  s->boxes = (sp_host_boxes){.n = (int)n,
                             .nodes = setup->space->numbering->nodes,
                             .basis = s->basis,
                             .values = s->values,
                             .weights = s->weights};
  const sp_lid part_end[SP_SEAM_PARTS] = {(sp_lid)elements, (sp_lid)elements};
  return s->threads == 1
             ? SP_OK
             : sp_host_seams_create(s->threads, s->lanes, part_end, (sp_lid)(n * n * n),
                                    s->boxes.nodes, (sp_lid)dofs, s->precision, &s->boxes.seams);
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
  const sp_status status = build(setup, s);
  if (status)
    sp_host_schwarz_destroy(&s);
  else
    *out = s;
  return status;
}

void sp_host_schwarz_destroy(sp_device_schwarz **schwarz) {
  if (!*schwarz) return;
  sp_host_free((*schwarz)->basis);
  sp_host_free((*schwarz)->values);
  sp_host_free((*schwarz)->weights);
  sp_host_free((*schwarz)->work);
  sp_host_seams_free(&(*schwarz)->boxes.seams);
  free(*schwarz);
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
  const sp_host_seams *seams = &s->boxes.seams;
  const sp_lid elements = s->space->mesh->hexes->count;
  const sp_host_elements mine = {sp_host_share(elements, s->lanes, thread, s->threads),
                                 sp_host_share(elements, s->lanes, thread + 1, s->threads),
                                 s->work + (size_t)thread * work_bytes(s->space->numbering->order)};
  s->device->kernels->solve_boxes[s->precision](&s->boxes, &mine, team->r, team->z);
  sp_team_wait();
  sp_host_seams_sum(seams, s->precision, sp_host_share(seams->count, 1, thread, s->threads),
                    sp_host_share(seams->count, 1, thread + 1, s->threads), team->z);
}

sp_status sp_host_schwarz_apply(sp_device_schwarz *s, const void *r, void *z) {
  const size_t dofs = sp_space_dofs(s->space);
  memset(z, 0, dofs * sp_precision_bytes(s->precision));
  sp_team_run(s->threads, solve_share, &(team_solve){s, r, z});
  sp_exchange_begin(s->space->exchange, s->precision, z);
  sp_exchange_end(s->space->exchange, s->precision, z);
  return SP_OK;
}
