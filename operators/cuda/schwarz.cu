extern "C" {
#include "operators/cuda/copies.h"
#include "operators/cuda/entries.h"
#include "mesh/columns.h"
#include "operators/space.h"
}

#include "operators/cuda/local.h"

#include <cstdlib>

namespace {

#include "operators/cuda/queue.cuh"

} // namespace

struct sp_device_schwarz {
  sp_local_operator *local; /* borrowed */
  int columns, nq;
  sp_cuda_boxes boxes;
  /* Arrays of columns, as in sp_schwarz_setup. */
  const int *start;
  const bool *closed;
  const void *inverse, *ratio, *ring;
};

/* Copy rows of numbers to the device in the operator's precision. */
static sp_status send(const sp_device_schwarz *s, size_t rows, size_t each, const double *values,
                      void *out) {
  return sp_cuda_copy_rounded(s->local->precision, rows, each, values, nullptr, "Schwarz", out);
}

// Places of nodes in the cube of boxes.cuh, whose direction 0 runs along the column.
static void fill_frames(const sp_schwarz_setup *setup, size_t elements, int *frames) {
  const int n = setup->space->numbering->order + 1, steps[3] = {1, n + 1, n * (n + 1)};
  const sp_columns *columns = setup->columns;
  for (size_t e = 0; e < elements; e++)
    for (int d = 0; d < 3; d++) frames[4 * e + 1 + (size_t)d] = steps[d];
  for (sp_lid i = 0; i < columns->start[columns->count]; i++) {
    int *own = &frames[4 * (size_t)columns->elements[i]];
    for (int d = 0; d < 3; d++) {
      const bool flip = columns->frames[i].flip[d];
      own[1 + columns->frames[i].axis[d]] = flip ? -steps[d] : steps[d];
      if (flip) own[0] += (n - 1) * steps[d];
    }
  }
}

/* Arrays by element, of which setup->conductances has only those in columns. */
static sp_status send_frames(const sp_schwarz_setup *setup, size_t elements, sp_device_schwarz *s) {
  const sp_columns *columns = setup->columns;
  SP_OWNED int *frames = nullptr;
  SP_OWNED double *conductances = nullptr;
  SP_TRY(sp_allocate(elements, 4 * sizeof *frames, "Schwarz", &frames));
  SP_TRY(sp_allocate(elements, sizeof *conductances, "Schwarz", &conductances));
  fill_frames(setup, elements, frames);
  for (sp_lid i = 0; i < columns->start[columns->count]; i++)
    conductances[columns->elements[i]] = setup->conductances[i];
  SP_TRY(sp_cuda_copy_of(frames, 4 * elements, sizeof *frames, "Schwarz", &s->boxes.frames));
  return send(s, elements, 1, conductances, &s->boxes.conductances);
}

static sp_status build_columns(const sp_schwarz_setup *setup, size_t elements,
                               sp_device_schwarz *s) {
  const sp_columns *columns = setup->columns;
  const size_t n = (size_t)s->nq, count = (size_t)columns->count;
  const size_t interfaces = (size_t)columns->start[count] + count, values = interfaces * n * n;
  const size_t bytes = sp_precision_bytes(s->local->precision);
  sp_cuda_boxes *boxes = &s->boxes;
  SP_TRY(send_frames(setup, elements, s));
  SP_TRY(sp_cuda_copy_of(setup->interface, elements, sizeof(int), "Schwarz", &boxes->interface));
  SP_TRY(sp_cuda_copy_of(columns->start, count + 1, sizeof(int), "Schwarz", &s->start));
  SP_TRY(sp_cuda_copy_of(columns->closed, count, sizeof(bool), "Schwarz", &s->closed));
  SP_TRY(send(s, 2, n, setup->end_couplings, &boxes->end_couplings));
  SP_TRY(send(s, interfaces, n * n, setup->inverse, &s->inverse));
  SP_TRY(send(s, interfaces, n * n, setup->ratio, &s->ratio));
  if (setup->ring) SP_TRY(send(s, interfaces, n * n, setup->ring, &s->ring));
  SP_TRY(sp_cuda_allocate(elements * n * n * n, bytes, "Schwarz", &boxes->modal));
  SP_TRY(sp_cuda_allocate(values, bytes, "Schwarz", &boxes->above));
  return sp_cuda_allocate(values, bytes, "Schwarz", &boxes->below);
}

static sp_status build_schwarz(const sp_schwarz_setup *setup, sp_device_schwarz *s) {
  const size_t elements = (size_t)setup->space->mesh->hexes->count, n = (size_t)s->nq;
  unsigned short places[SP_MAX_NQ * SP_MAX_NQ * SP_MAX_NQ];
  sp_cuda_node_order(s->nq - 1, places);
  SP_TRY(send(s, elements, 3 * n * n, setup->basis, &s->boxes.basis));
  SP_TRY(send(s, elements, 3 * n, setup->values, &s->boxes.values));
  /* Kernels use another order of an element's nodes. */
  SP_TRY(sp_cuda_copy_rounded(s->local->precision, elements, n * n * n, setup->weights, places,
                              "Schwarz", &s->boxes.weights));
  return s->columns > 0 ? build_columns(setup, elements, s) : SP_OK;
}

sp_status sp_cuda_schwarz_create(sp_device *, const sp_schwarz_setup *setup,
                                 sp_device_schwarz **out) {
  sp_device_schwarz *s;
  *out = nullptr;
  SP_TRY(sp_allocate(1, sizeof *s, "Schwarz", &s));
  s->local = setup->local;
  s->columns = setup->columns->count;
  s->nq = setup->space->numbering->order + 1;
  const sp_status status = build_schwarz(setup, s);
  if (status)
    sp_cuda_schwarz_destroy(&s);
  else
    *out = s;
  return status;
}

void sp_cuda_schwarz_destroy(sp_device_schwarz **schwarz) {
  sp_device_schwarz *s = *schwarz;
  if (!s) return;
  const sp_cuda_boxes *boxes = &s->boxes;
  SP_CUDA_FREE(boxes->basis, boxes->values, boxes->weights, boxes->interface, boxes->frames,
               boxes->conductances, boxes->end_couplings, boxes->modal, boxes->above, boxes->below,
               s->start, s->closed, s->inverse, s->ratio, s->ring);
  free(s);
  *schwarz = nullptr;
}

/* Solve the interfaces of columns (operators/schwarz/column_factors.h); a thread per lateral mode.
 */
template <class T>
static __global__ void sweep_columns(int columns, int area, const int *start, const bool *closed,
                                     const T *inverse, const T *ratio, const T *ring,
                                     const T *below, T *u) {
  const size_t thread = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  const int column = (int)(thread / (size_t)area);
  if (column >= columns) return;
  const int length = start[column + 1] - start[column];
  const bool ends_meet = closed[column];
  const size_t at = (size_t)(start[column] + column) * (size_t)area + thread % (size_t)area;
  inverse += at;
  ratio += at;
  ring += at;
  below += at;
  u += at;
  follow();
  /* Load a batch before its recurrence, which then waits for memory only once. */
  enum { BATCH = 16 };
  const int first = ends_meet, last = length - ends_meet;
  T carry = 0, value[BATCH], factor[BATCH];
  for (int begin = first; begin <= last; begin += BATCH) {
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
      const int k = begin + i;
      const size_t own = (size_t)k * area;
      value[i] =
          (k <= last && k < length ? u[own] : (T)0) + (k <= last && k > 0 ? below[own] : (T)0);
      factor[i] = k <= last && k > first ? ratio[own - area] : (T)0;
    }
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
      carry = value[i] - factor[i] * carry;
      if (begin + i <= last) u[(size_t)(begin + i) * area] = carry;
    }
  }
  carry = 0;
  for (int begin = last; begin >= first; begin -= BATCH) {
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
      const int k = begin - i;
      const size_t own = (size_t)k * area;
      value[i] = k >= first ? inverse[own] * u[own] : (T)0;
      factor[i] = k >= first && k < last ? ratio[own] : (T)0;
    }
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
      carry = value[i] - factor[i] * carry;
      if (begin - i >= first) u[(size_t)(begin - i) * area] = carry;
    }
  }
  if (!ends_meet) return;
  const size_t top = (size_t)length * area;
  T sum = u[0] + below[top];
  if (length > 1) sum -= ratio[0] * u[area] + ratio[top] * u[top - area];
  const T base = inverse[0] * sum;
  u[0] = u[top] = base;
  for (int k = 1; k < length; k++) u[(size_t)k * area] += ring[(size_t)k * area] * base;
}

static cudaError_t sweep(const sp_device_schwarz *s) {
  return with_precision(s->local->precision, [&](auto real) {
    using T = decltype(real);
    const int area = s->nq * s->nq, threads = 128;
    const size_t modes = (size_t)s->columns * (size_t)area;
    return queue(sweep_columns<T>, blocks_for(modes, threads), threads, 0, s->local->device->stream,
                 s->columns, area, s->start, s->closed, (const T *)s->inverse, (const T *)s->ratio,
                 (const T *)s->ring, (const T *)s->boxes.below, (T *)s->boxes.above);
  });
}

/* First half of an application with columns: solve their interfaces. */
static sp_status solve_interfaces(sp_device_schwarz *s, sp_cuda_boxes *boxes, const void *r) {
  sp_cuda_arguments arguments = sp_cuda_arguments_of(s->local, WHOLE);
  arguments.x = r;
  boxes->pass = SP_CUDA_REDUCE;
  SP_CUDA(s->local->order->boxes(&arguments, boxes, s->local->device->stream));
  boxes->pass = SP_CUDA_EXPAND;
  return SP_CUDA_STATUS(sweep(s));
}

static sp_status apply(sp_device_schwarz *s, const void *r, void *z, const sp_correction *step) {
  const range named("Schwarz");
  sp_cuda_boxes boxes = s->boxes;
  sp_status status = SP_OK;
  if (s->columns > 0) status = solve_interfaces(s, &boxes, r);
  const sp_cuda_application application = {&boxes, true, r, z, step};
  return sp_first_failure(status, sp_cuda_apply_elements(s->local, &application));
}

sp_status sp_cuda_schwarz_apply(sp_device_schwarz *s, const void *r, void *z) {
  return apply(s, r, z, nullptr);
}

sp_status sp_cuda_schwarz_step(sp_device_schwarz *s, const void *r, void *z,
                               const sp_correction *step) {
  return apply(s, r, z, step);
}
