/* The transports between GPUs that the host drives. Each one that is possible here gives the same
 * bits as the transport through the host: for the operator, for pass 1 of an iteration, and for
 * sums of vectors in double and single precision. An impossible one has a reason. (Whole iterations
 * by peers are in cg_restart and reproducibility.) */

#include "tests/deformed_box.h"
#include "tests/operator_bench.h"

enum { APPLICATIONS = 3 };

/* Few shared DOFs, and more than SP_CUDA_FEW_SHARED per rank: peers exchange them differently. */
static const struct { int order, elements[3]; } boxes[] = {{4, {5, 4, 3}}, {8, {23, 23, 23}}};

/* The results of one transport, [DOFs] each: y = A^APPLICATIONS x, ap and p.Ap of a first direction
 * x, and sums over ranks of values that differ between ranks. */
typedef struct outcome {
  double *y, *ap, p_ap, *sum;
  float *single;
} outcome;

static outcome make_outcome(size_t n) {
  return (outcome){.y = test_array(n, sizeof(double)),
                   .ap = test_array(n, sizeof(double)),
                   .sum = test_array(n, sizeof(double)),
                   .single = test_array(n, sizeof(float))};
}

/* values[n] become their sums over ranks, on the device. */
static void assemble(const bench *b, const sp_space *space, sp_precision precision, size_t n,
                     void *values) {
  void *vector = NULL;
  CHECK_OK(b->backend->vector_create(b->device, precision, n, &vector));
  CHECK_OK(b->backend->upload(b->device, precision, n, values, vector));
  CHECK_OK(b->backend->assemble(space->on_device, precision, vector));
  CHECK_OK(b->backend->download(b->device, precision, n, vector, values));
  b->backend->vector_destroy(b->device, &vector);
}

/* False if `kind` is not available. */
static bool apply_by(const bench *b, const deformed_box *box, const bool *mask, sp_transport kind,
                     const double *x, outcome *o) {
  const size_t n = (size_t)box->numbering->local;
  sp_platform platform = b->platform;
  AUTO(sp_space) space = NULL;
  platform.transport = kind;
  const sp_status status = sp_space_create(&platform, box->mesh, box->numbering->order, &space);
  if (status) {
    CHECK_FAILS(status, SP_ERR_SYSTEM, "is not possible: ");
    return false;
  }
  device_check_exchange(world_size, space->transport, kind);
  const sp_operator_setup setup = {.space = space,
                                   .kind = SP_BP35,
                                   .geometry = SP_GEOMETRY_STORED,
                                   .lambda = 0.5,
                                   .constrained = mask};
  AUTO(sp_operator) op = bench_operator(&setup);
  double *const zero = test_array(2 * n, sizeof *zero), *const before = zero + n;
  memcpy(o->y, x, n * sizeof *x);
  for (int a = 0; a < APPLICATIONS; a++) {
    memcpy(before, o->y, n * sizeof *x);
    bench_apply(b, op, true, before, o->y); /* input and output must differ */
  }
  for (size_t i = 0; i < n; i++) CHECK(isfinite(o->y[i]), "y[%zu] is %g", i, o->y[i]);
  sp_vector on_x = bench_upload(b, n, zero), r = bench_upload(b, n, x),
            p = bench_upload(b, n, zero);
  sp_vector next_p = bench_upload(b, n, zero), ap = bench_upload(b, n, zero);
  sp_cg_vectors vectors = {.x = &on_x, .r = &r, .z = &r, .p = &p, .next_p = &next_p, .ap = &ap};
  sp_pass_times times;
  CHECK_OK(sp_operator_direction(op, 0, &vectors, SP_OK, &o->p_ap, &times));
  bench_download(&ap, o->ap);
  sp_vector *const all[] = {&on_x, &r, &p, &next_p, &ap};
  for (int v = 0; v < 5; v++) sp_vector_destroy(all[v]);
  for (size_t i = 0; i < n; i++) { /* very different magnitudes: the order of summation shows */
    o->sum[i] = ldexp(random_value(20 + world_rank, box->whole_dof[i]), 9 * (world_rank % 3));
    o->single[i] = (float)o->sum[i];
  }
  assemble(b, space, SP_DOUBLE, n, o->sum);
  assemble(b, space, SP_SINGLE, n, o->single);
  return true;
}

static size_t count_differences(size_t n, size_t size, const void *a, const void *b) {
  const unsigned char *left = a, *right = b;
  size_t count = 0;
  for (size_t i = 0; i < n; i++) count += memcmp(&left[i * size], &right[i * size], size) != 0;
  return count;
}

static void check_same(size_t n, const char *way, const outcome *is, const outcome *want) {
  CHECK(count_differences(n, sizeof(double), is->y, want->y) == 0, "%s: other bits in A x", way);
  CHECK(count_differences(n, sizeof(double), is->ap, want->ap) == 0, "%s: other bits in A p", way);
  CHECK(is->p_ap == want->p_ap, "%s: p.Ap %.17g instead of %.17g", way, is->p_ap, want->p_ap);
  CHECK(count_differences(n, sizeof(double), is->sum, want->sum) == 0, "%s: other bits in sums",
        way);
  CHECK(count_differences(n, sizeof(float), is->single, want->single) == 0,
        "%s: other bits in sums in single precision", way);
}

static void check_box(const bench *b, int order, const int elements[3]) {
  deformed_box box;
  deformed_box_create(b->comm, elements, 1, order, &box);
  const size_t n = (size_t)box.numbering->local;
  double *x = test_array(n, sizeof *x);
  outcome is = make_outcome(n), want = make_outcome(n);
  random_vector(&box, 1, x);
  for (size_t i = 0; i < n; i++) x[i] = box.mask[i] ? 0 : x[i];
  CHECK(apply_by(b, &box, box.mask, SP_TRANSPORT_STAGED, x, &want),
        "the way through the host is always possible");
  for (sp_transport kind = SP_TRANSPORT_AUTO; kind < SP_TRANSPORT_STAGED; kind++) {
    const char *name = sp_transport_names[kind];
    const bool possible = apply_by(b, &box, box.mask, kind, x, &is);
    if (world_rank == 0) printf("%s: %s\n", name, possible ? "possible" : sp_error_message());
    if (possible)
      check_same(n, name, &is, &want);
    else
      CHECK(!device_expects(kind) && kind != SP_TRANSPORT_AUTO, "%s is expected", name);
  }
  deformed_box_destroy(&box);
}

int main(int argc, char **argv) {
  bench b;
  bench_begin(&argc, &argv, &b);
  for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++)
    check_box(&b, boxes[i].order, boxes[i].elements);
  return bench_end(&b);
}
