extern "C" {
#include "operators/cuda/schwarz.h"
#include "operators/space.h"
}

#include "operators/cuda/local.h"

#include <cstdlib>

struct sp_device_schwarz {
  sp_local_operator *local;       /* borrowed */
  void *basis, *values, *weights; /* as in sp_cuda_boxes */
};

/* Copy to the device, rounded if the operator is in single precision. */
template <class T> static sp_status send(size_t count, const double *values, void **out) {
  T *rounded = nullptr;
  SP_TRY(sp_allocate(count, sizeof *rounded, "Schwarz", &rounded));
  for (size_t i = 0; i < count; i++) rounded[i] = (T)values[i];
  const sp_status status = sp_cuda_copy_of(rounded, count, sizeof *rounded, "Schwarz", out);
  free(rounded);
  return status;
}

// Weights in the order in which kernels visit the nodes of an element.
template <class T>
static sp_status send_weights(const sp_schwarz_setup *setup, size_t elements, size_t nodes,
                              void **out) {
  double *ordered = nullptr;
  unsigned short *places = nullptr;
  sp_status status = sp_allocate(elements, nodes * sizeof *ordered, "Schwarz", &ordered);
  if (!status) status = sp_allocate(nodes, sizeof *places, "Schwarz", &places);
  if (!status) {
    sp_cuda_node_order(setup->space->numbering->order, places);
    for (size_t e = 0; e < elements; e++)
      for (size_t q = 0; q < nodes; q++)
        ordered[e * nodes + q] = setup->weights[e * nodes + places[q]];
    status = send<T>(elements * nodes, ordered, out);
  }
  free(ordered);
  free(places);
  return status;
}

template <class T> static sp_status build(const sp_schwarz_setup *setup, sp_device_schwarz *s) {
  const size_t elements = (size_t)setup->space->mesh->hexes->count;
  const size_t n = (size_t)setup->space->numbering->order + 1;
  SP_TRY(send<T>(elements * 3 * n * n, setup->basis, &s->basis));
  SP_TRY(send<T>(elements * 3 * n, setup->values, &s->values));
  return send_weights<T>(setup, elements, n * n * n, &s->weights);
}

sp_status sp_cuda_schwarz_create(sp_device *, const sp_schwarz_setup *setup,
                                 sp_device_schwarz **out) {
  sp_device_schwarz *s;
  *out = nullptr;
  SP_TRY(sp_allocate(1, sizeof *s, "Schwarz", &s));
  s->local = setup->local;
  const sp_status status = (setup->precision == SP_SINGLE ? build<float> : build<double>)(setup, s);
  if (status)
    sp_cuda_schwarz_destroy(&s);
  else
    *out = s;
  return status;
}

void sp_cuda_schwarz_destroy(sp_device_schwarz **schwarz) {
  sp_device_schwarz *s = *schwarz;
  if (!s) return;
  (void)cudaFree(s->basis);
  (void)cudaFree(s->values);
  (void)cudaFree(s->weights);
  free(s);
  *schwarz = nullptr;
}

static sp_status apply(sp_device_schwarz *s, const void *r, void *z, const sp_correction *step) {
  const range named("Schwarz");
  const sp_cuda_boxes boxes = {s->basis, s->values, s->weights};
  const sp_cuda_application application = {&boxes, true, r, z, step};
  return sp_cuda_apply_elements(s->local, &application);
}

sp_status sp_cuda_schwarz_apply(sp_device_schwarz *s, const void *r, void *z) {
  return apply(s, r, z, nullptr);
}

sp_status sp_cuda_schwarz_step(sp_device_schwarz *s, const void *r, void *z,
                               const sp_correction *step) {
  return apply(s, r, z, step);
}
