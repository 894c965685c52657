#include "operators/host/schwarz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "operators/host/device.h"
#include "operators/host/layout.h"
#include "operators/host/memory.h"
#include "operators/host/sets.h"
#include "operators/space.h"

struct sp_device_schwarz {
  const sp_space *space;
  sp_precision precision;
  const sp_host_kernels *kernels;
  sp_host_boxes boxes;
  void *basis, *values, *weights, *work;
};

/* to[blocks][width][lanes] from from[elements][width]; lanes without an element repeat the last. */
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
  const size_t lanes = (size_t)sp_host_lanes(s->kernels, s->precision);
  const size_t padded = (elements + lanes - 1) / lanes * lanes;
  SP_TRY(sp_host_allocate(padded * 3 * n * n, bytes, "Schwarz", &s->basis));
  SP_TRY(sp_host_allocate(padded * 3 * n, bytes, "Schwarz", &s->values));
  SP_TRY(sp_host_allocate(dofs, bytes, "Schwarz", &s->weights));
  SP_TRY(sp_host_allocate(2 * n * n * n, SP_VECTOR_BYTES, "Schwarz", &s->work));
  pack(s->precision, lanes, elements, 3 * n * n, setup->basis, s->basis);
  pack(s->precision, lanes, elements, 3 * n, setup->values, s->values);
  sp_host_round(s->precision, dofs, setup->weights, s->weights);
  s->boxes = (sp_host_boxes){.n = (int)n,
                             .elements = setup->space->mesh->hexes->count,
                             .nodes = setup->space->numbering->nodes,
                             .basis = s->basis,
                             .values = s->values,
                             .weights = s->weights,
                             .work = s->work};
  return SP_OK;
}

sp_status sp_host_schwarz_create(sp_device *device, const sp_schwarz_setup *setup,
                                 sp_device_schwarz **out) {
  sp_device_schwarz *s;
  *out = NULL;
  SP_TRY(sp_allocate(1, sizeof *s, "Schwarz", &s));
  *s = (sp_device_schwarz){
      .space = setup->space, .precision = setup->precision, .kernels = device->kernels};
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
  free(*schwarz);
  *schwarz = NULL;
}

sp_bytes sp_host_schwarz_predicted_bytes(sp_precision precision, int order, const sp_sizes *sizes) {
  const size_t real = sp_precision_bytes(precision);
  const double n = order + 1, lanes = sp_host_lanes(sp_host_best_kernels(), precision);
  const double padded = lanes * ceil(sizes->elements / lanes);
  return (sp_bytes){.host = sizeof(sp_device_schwarz) +
                            sp_host_predicted_bytes(padded * 3 * n * n, real) +
                            sp_host_predicted_bytes(padded * 3 * n, real) +
                            sp_host_predicted_bytes(sizes->dofs, real) +
                            sp_host_predicted_bytes(2 * n * n * n, SP_VECTOR_BYTES)};
}

sp_status sp_host_schwarz_apply(sp_device_schwarz *s, const void *r, void *z) {
  const size_t dofs = sp_space_dofs(s->space);
  memset(z, 0, dofs * sp_precision_bytes(s->precision));
  s->kernels->solve_boxes[s->precision](&s->boxes, r, z);
  sp_exchange_begin(s->space->exchange, s->precision, z);
  sp_exchange_end(s->space->exchange, s->precision, z);
  s->kernels->vectors->multiply[s->precision](dofs, s->weights, z, z);
  return SP_OK;
}
