/* Bytes predicted for spaces, operators, transfers and vectors of the host equal those allocated.
 */
#include "mesh/box.h"
#include "mesh/create.h"
#include "operators/host/sets.h"
#include "operators/transfer.h"
#include "tests/heap.h"
#include "tests/operator_bench.h"

/* Operators are of order ORDER: no array of theirs is so large that it gets pages of its own.
 * Transfers go from FINE to COARSE: half an L-vector is more than the slack. On HIGH so are four
 * bytes for each shared DOF. */
enum { SIDE = 7, COARSE = 1, ORDER = 2, FINE = 5, HIGH = 12, HUGE_PAGE = 2 << 20 };

static sp_mesh *make_mesh(void) {
  const sp_box box = {.elements = {SIDE, SIDE, SIDE}, .upper = {1, 1, 1}};
  sp_hexes *hexes;
  sp_mesh *mesh = NULL;
  sp_status status = sp_box_hexes(MPI_COMM_WORLD, &box, &hexes);
  if (!status) status = sp_mesh_create(MPI_COMM_WORLD, &hexes, &mesh);
  CHECK(!status, "%s", sp_error_message());
  if (!mesh) MPI_Abort(MPI_COMM_WORLD, 1);
  return mesh;
}

/* Shared DOFs that this rank owns are counted as copies. */
static sp_space *check_space(const bench *b, const sp_mesh *mesh, int order) {
  sp_sizes sizes;
  sp_sizes_count(mesh->topology, 0, order, &sizes);
  const double before = heap();
  sp_space *space = bench_space(b, mesh, order);
  const sp_numbering *numbering = space->numbering;
  const double owned = sizes.shared - (numbering->local - numbering->owned);
  const sp_bytes bytes = sp_space_predicted_bytes(b->backend, &sizes, order);
  check_bytes("space", heap() - before, bytes.host, 0, owned * sizeof(sp_gid));
  CHECK(bytes.device == 0, "%g bytes on a device", bytes.device);
  return space;
}

/* On several ranks one block of elements may be too many (operators/host/layout.h). Of the runs of
 * one_sweep, 8 bytes each, at most all are too many. */
static void check_operator(const bench *b, const sp_space *space, sp_operator_kind kind,
                           sp_geometry_kind geometry, sp_precision precision, bool one_sweep) {
  sp_sizes sizes, more;
  sp_sizes_count(space->mesh->topology, 0, ORDER, &sizes);
  more = sizes;
  more.elements += sp_host_lanes(sp_host_best_kernels(), precision);
  const sp_operator_facts facts = {.kind = kind,
                                   .geometry = geometry,
                                   .precision = precision,
                                   .order = ORDER,
                                   .one_sweep = one_sweep};
  const sp_operator_setup setup = {.space = space,
                                   .kind = kind,
                                   .geometry = geometry,
                                   .precision = precision,
                                   .lambda = 1,
                                   .one_sweep = one_sweep};
  const sp_bytes bytes = sp_operator_predicted_bytes(b->backend, &facts, &sizes);
  const double block = sp_operator_predicted_bytes(b->backend, &facts, &more).host - bytes.host;
  const double before = heap();
  sp_operator *op = bench_operator(&setup);
  char name[32];
  snprintf(name, sizeof name, "%s, %s, %s", sp_operator_name(kind), sp_geometry_kind_name(geometry),
           precision == SP_SINGLE ? "single" : "double");
  check_bytes(name, heap() - before, bytes.host, 0,
              (sizes.shared > 0 ? block : 0) + (one_sweep ? 8 * sizes.entities : 0));
  CHECK(bytes.device == 0, "%g bytes on a device", bytes.device);
  sp_operator_destroy(&op);
}

static void check_transfer(const bench *b, const sp_space *fine, const sp_space *coarse,
                           sp_precision precision) {
  sp_sizes fine_sizes, coarse_sizes;
  sp_sizes_count(fine->mesh->topology, 0, FINE, &fine_sizes);
  sp_sizes_count(fine->mesh->topology, 0, COARSE, &coarse_sizes);
  const sp_transfer_facts facts = {.fine_order = FINE,
                                   .coarse_order = COARSE,
                                   .fine = &fine_sizes,
                                   .coarse = &coarse_sizes,
                                   .precision = precision};
  const sp_operator_setup setup = {
      .space = fine, .kind = SP_BP35, .geometry = SP_GEOMETRY_STORED, .precision = precision};
  sp_operator *op = bench_operator(&setup);
  bool *mask;
  sp_transfer *transfer = NULL;
  CHECK(!sp_allocate(sp_space_dofs(coarse), sizeof *mask, "mask", &mask), "%s", sp_error_message());
  const double before = heap();
  CHECK(!sp_transfer_create(op, coarse, NULL, mask, &transfer), "%s", sp_error_message());
  const sp_bytes bytes = sp_transfer_predicted_bytes(b->backend, &facts);
  check_bytes(precision == SP_SINGLE ? "transfer in single" : "transfer in double", heap() - before,
              bytes.host, 0, 0);
  CHECK(bytes.device == 0, "%g bytes on a device", bytes.device);
  sp_transfer_destroy(&transfer);
  sp_operator_destroy(&op);
  free(mask);
}

/* Vectors of 2 MiB and more are aligned, for which malloc keeps up to as much more. */
static void check_vector(const bench *b, sp_precision precision, size_t count) {
  void *vector = NULL;
  const double before = heap();
  CHECK(!b->backend->vector_create(b->device, precision, count, &vector), "%s", sp_error_message());
  const sp_bytes bytes = b->backend->vector_predicted_bytes(precision, (double)count);
  check_bytes("vector", heap() - before, bytes.host, bytes.host >= HUGE_PAGE ? HUGE_PAGE : 0, 0);
  CHECK(bytes.host >= (double)(count * sp_precision_bytes(precision)), "%g bytes", bytes.host);
  b->backend->vector_destroy(b->device, &vector);
}

/* What is allocated once, and kept: reference elements, and MPI's connections. */
static void warm_up(const bench *b, const sp_mesh *mesh) {
  static const int orders[] = {COARSE, ORDER, FINE, HIGH};
  for (int o = 0; o < 4; o++) {
    sp_space *space = bench_space(b, mesh, orders[o]);
    double *values;
    CHECK(!sp_allocate(sp_space_dofs(space), sizeof *values, "values", &values), "%s",
          sp_error_message());
    sp_exchange_now(space->exchange, SP_SUM, values);
    free(values);
    sp_space_destroy(&space);
  }
}

static void check_all(const bench *b, const sp_mesh *mesh) {
  sp_space *coarse = check_space(b, mesh, COARSE), *middle = check_space(b, mesh, ORDER);
  sp_space *fine = check_space(b, mesh, FINE), *high = check_space(b, mesh, HIGH);
  for (sp_precision precision = SP_DOUBLE; precision < SP_PRECISIONS; precision++) {
    for (sp_operator_kind kind = SP_MASS; kind < SP_OPERATORS; kind++) {
      check_operator(b, middle, kind, SP_GEOMETRY_STORED, precision, false);
      check_operator(b, middle, kind, SP_GEOMETRY_TRILINEAR, precision, precision == SP_DOUBLE);
    }
    check_transfer(b, fine, coarse, precision);
    for (size_t count = 0; count < 1 << 21; count = 2 * count + 10001)
      check_vector(b, precision, count);
  }
  sp_space_destroy(&high);
  sp_space_destroy(&fine);
  sp_space_destroy(&middle);
  sp_space_destroy(&coarse);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  bench b;
  bench_open(1, argv, &b); /* the host */
  sp_mesh *mesh = make_mesh();
  warm_up(&b, mesh);
  check_all(&b, mesh);
  sp_mesh_destroy(&mesh);
  bench_close(&b);
  const int result = check_end(MPI_COMM_WORLD);
  MPI_Finalize();
  return result;
}
