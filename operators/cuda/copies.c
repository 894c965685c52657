#include "operators/cuda/copies.h"

#include <sched.h>
#include <stdbool.h>
#include <string.h>

#include "io/threads.h"
#include "operators/cuda/device.h"

/* Bytes of a piece, and of the smallest array that is copied in pieces. A thread waits for its
 * piece, so each has one stream and one pinned buffer. */
enum { PIECE = 1 << 20, LARGE = 8 * PIECE, MOST = 32 };

typedef struct room {
  cudaStream_t stream;
  void *pinned; /* [PIECE] */
  bool taken;
} room;

/* Only one thread copies at a time, with its helpers. */
static struct {
  int device, count;
  room rooms[MOST];
} pool;

static sp_status add_room(void) {
  room *r = &pool.rooms[pool.count];
  SP_CUDA(cudaMallocHost(&r->pinned, PIECE));
  pool.count++;
  SP_CUDA(cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking));
  return SP_OK;
}

static sp_status open_pool(void) {
  SP_CUDA(cudaGetDevice(&pool.device));
  while (pool.count < sp_threads() && pool.count < MOST) SP_TRY(add_room());
  return SP_OK;
}

void sp_cuda_copies_close(void) {
  for (; pool.count > 0; pool.count--) {
    room *r = &pool.rooms[pool.count - 1];
    if (r->stream) (void)cudaStreamDestroy(r->stream);
    (void)cudaFreeHost(r->pinned);
    *r = (room){0};
  }
}

static room *take_room(void) {
  for (int n = 0;; n = (n + 1) % pool.count) {
    if (!__atomic_exchange_n(&pool.rooms[n].taken, true, __ATOMIC_ACQUIRE)) return &pool.rooms[n];
    if (n + 1 == pool.count) sched_yield();
  }
}

typedef struct copy {
  size_t bytes;
  const char *from;
  char *to;
  bool in;
} copy;

static sp_status copy_piece(const copy *c, size_t piece, const room *r) {
  const size_t begin = piece * PIECE, left = c->bytes - begin, size = left < PIECE ? left : PIECE;
  if (c->in) memcpy(r->pinned, c->from + begin, size);
  SP_CUDA(cudaMemcpyAsync(c->in ? c->to + begin : r->pinned, c->in ? r->pinned : c->from + begin,
                          size, c->in ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost,
                          r->stream));
  SP_CUDA(cudaStreamSynchronize(r->stream));
  if (!c->in) memcpy(c->to + begin, r->pinned, size);
  return SP_OK;
}

/* A new thread begins with the first device. */
static sp_status copy_some(void *copy_, void *none, size_t begin, size_t end) {
  (void)none;
  SP_CUDA(cudaSetDevice(pool.device));
  room *r = take_room();
  sp_status status = SP_OK;
  for (size_t piece = begin; piece < end && !status; piece++) status = copy_piece(copy_, piece, r);
  __atomic_store_n(&r->taken, false, __ATOMIC_RELEASE);
  return status;
}

static sp_status run_copy(copy c) {
  if (c.bytes < LARGE || sp_threads() == 1) {
    SP_CUDA(
        cudaMemcpy(c.to, c.from, c.bytes, c.in ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost));
    SP_CUDA(cudaStreamSynchronize(NULL)); /* the copy may return before the last bytes arrive */
    return SP_OK;
  }
  SP_TRY(open_pool());
  return sp_loop_run(&(sp_loop){.what = "copies",
                                .count = (c.bytes + PIECE - 1) / PIECE,
                                .chunk = 1,
                                .context = &c,
                                .compute = copy_some});
}

sp_status sp_cuda_copy_in(size_t bytes, const void *host, void *memory) {
  return run_copy((copy){.bytes = bytes, .from = host, .to = memory, .in = true});
}

sp_status sp_cuda_copy_out(size_t bytes, const void *memory, void *host) {
  return run_copy((copy){.bytes = bytes, .from = memory, .to = host});
}

sp_status sp_cuda_copy_of(const void *host, size_t count, size_t size, const char *what,
                          void *out) {
  void *memory;
  SP_TRY(sp_cuda_allocate(count, size, what, out));
  memcpy(&memory, out, sizeof memory);
  return sp_cuda_copy_in(count * size, host, memory);
}

/* Rows of doubles, to be rounded. */
typedef struct rounding {
  sp_precision precision;
  size_t each;
  const double *values;
  const unsigned short *places;
  char *out;
} rounding;

void sp_cuda_round(sp_precision precision, size_t count, const double *values,
                   const unsigned short *places, void *out) {
  for (size_t i = 0; i < count; i++) {
    const double value = values[places ? places[i] : i];
    if (precision == SP_SINGLE)
      ((float *)out)[i] = (float)value;
    else
      ((double *)out)[i] = value;
  }
}

static void round_rows(void *context, size_t begin, size_t end) {
  const rounding *r = context;
  const size_t bytes = r->each * sp_precision_bytes(r->precision);
  for (size_t row = begin; row < end; row++)
    sp_cuda_round(r->precision, r->each, &r->values[row * r->each], r->places,
                  r->out + row * bytes);
}

sp_status sp_cuda_copy_rounded(sp_precision precision, size_t rows, size_t each,
                               const double *values, const unsigned short *places, const char *what,
                               void *out) {
  const size_t size = sp_precision_bytes(precision);
  SP_OWNED char *rounded = NULL;
  if (precision == SP_DOUBLE && !places)
    return sp_cuda_copy_of(values, rows * each, size, what, out);
  SP_TRY(sp_allocate(rows * each, size, what, &rounded));
  rounding r = {precision, each, values, places, rounded};
  SP_TRY(sp_loop_over(what, rows, each, &r, round_rows));
  return sp_cuda_copy_of(rounded, rows * each, size, what, out);
}
