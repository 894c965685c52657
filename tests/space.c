/* Spaces on a device: the numbering of their mesh, and the sum over ranks of vectors in either
 * precision, to the bits of the sum in host memory; several spaces side by side. With the argument
 * `cuda` on a GPU. Torn spaces. */
#include "operators/space.h"

#include "tests/deformed_box.h"
#include "tests/operator_bench.h"

enum { MOST_ORDERS = 3 };

static void check_numbering(const sp_space *space, const deformed_box *box) {
  const sp_numbering *is = space->numbering, *want = box->numbering;
  const size_t nodes = (size_t)box->mesh->hexes->count * element_nodes(box);
  CHECK(is->order == want->order && is->owned == want->owned && is->local == want->local &&
            is->global == want->global && sp_space_dofs(space) == (size_t)want->local,
        "%d DOFs of order %d", is->local, is->order);
  CHECK(memcmp(is->nodes, want->nodes, nodes * sizeof *is->nodes) == 0, "other nodes");
  CHECK(space->transport && space->transport[0], "no words for the transport");
}

/* Very different magnitudes, so that another order of summation gives other bits. */
static void fill(const deformed_box *box, sp_precision precision, int seed, void *values) {
  static const double magnitudes[] = {1, 1e8, 1e-5, 3e3};
  double *doubles = values;
  float *floats = values;
  const int rank = sp_comm_rank(box->mesh->comm);
  for (sp_lid i = 0; i < box->numbering->local; i++) {
    const double value = magnitudes[rank % 4] * random_value(10 * seed + rank, box->whole_dof[i]);
    if (precision == SP_SINGLE)
      floats[i] = (float)value;
    else
      doubles[i] = value;
  }
}

static void check_assembly(const bench *b, const sp_space *space, const deformed_box *box,
                           sp_precision precision, int seed) {
  const size_t n = sp_space_dofs(space), size = sp_precision_bytes(precision);
  unsigned char *values = test_array(2 * n, size), *want = values + n * size;
  void *vector = NULL;
  fill(box, precision, seed, values);
  memcpy(want, values, n * size);
  sp_exchange_begin(space->exchange, precision, want);
  sp_exchange_end(space->exchange, precision, want);
  CHECK_OK(b->backend->vector_create(b->device, precision, n, &vector));
  CHECK_OK(b->backend->upload(b->device, precision, n, values, vector));
  CHECK_OK(b->backend->assemble(space->on_device, precision, vector));
  CHECK_OK(b->backend->download(b->device, precision, n, vector, values));
  size_t wrong = 0;
  for (size_t i = 0; i < n; i++) wrong += memcmp(&values[i * size], &want[i * size], size) != 0;
  CHECK(wrong == 0, "%s, order %d: %zu of %zu entries differ from the sum in host memory",
        precision == SP_SINGLE ? "single" : "double", box->numbering->order, wrong, n);
  b->backend->vector_destroy(b->device, &vector);
}

/* Spaces of several orders are created, used in turn, and destroyed in the order of creation. */
static void check_spaces(const bench *b, int map_order, int count, const int *orders) {
  deformed_box boxes[MOST_ORDERS];
  sp_space *spaces[MOST_ORDERS];
  for (int s = 0; s < count; s++) {
    deformed_box_create(b->comm, (const int[3]){2, 2, 3}, map_order, orders[s], &boxes[s]);
    /* All of one mesh. */
    spaces[s] = bench_space(b, boxes[0].mesh, orders[s]);
    check_numbering(spaces[s], &boxes[s]);
  }
  for (int gone = 0; gone < count; gone++) {
    for (int round = 0; round < 2; round++)
      for (int s = gone; s < count; s++)
        for (sp_precision precision = SP_DOUBLE; precision < SP_PRECISIONS; precision++)
          check_assembly(b, spaces[s], &boxes[s], precision, round);
    sp_space_destroy(&spaces[gone]);
    CHECK(!spaces[gone], "destroyed");
    sp_space_destroy(&spaces[gone]);
  }
  for (int s = 0; s < count; s++) deformed_box_destroy(&boxes[s]);
}

/* A space torn into `sets` has one copy of a DOF per set that has it. A sum on it is the sum on the
 * whole space over the elements of one set, for each set, to the bits. */
static void check_torn(const bench *b, int order, int sets) {
  deformed_box box;
  deformed_box_create(b->comm, (const int[]){3, 3, 4}, 1, order, &box);
  sp_space *space = bench_space(b, box.mesh, order);
  sp_hexes *hexes = box.mesh->hexes;
  const size_t nodes = element_nodes(&box), dofs = sp_space_dofs(space);
  int *keys = test_array((size_t)sets, sizeof *keys);
  double *sum = test_array(dofs, sizeof *sum), *counts = test_array(dofs, sizeof *counts);
  sp_torn torn;
  for (int k = 0; k < sets; k++) keys[k] = sets - 1 - k;
  hexes->volume.count = sets;
  for (sp_lid e = 0; e < hexes->count; e++) hexes->volumes[e] = (int)(hexes->tags[e] % sets);
  CHECK_OK(sp_torn_create(space, keys, &torn));
  const sp_numbering *is = torn.space.numbering;
  double *torn_sum = test_array((size_t)is->local, sizeof *torn_sum);
  for (sp_lid e = 0; e < hexes->count; e++)
    for (size_t n = 0; n < nodes; n++)
      torn_sum[sp_numbering_nodes(is, e)[n]] += random_value((int)n, hexes->tags[e]);
  sp_exchange_now(torn.space.exchange, SP_SUM, torn_sum);
  sp_lid copies = 0, wrong = 0;
  for (int k = 0; k < sets; k++) {
    for (size_t i = 0; i < dofs; i++) sum[i] = counts[i] = 0;
    for (sp_lid e = 0; e < hexes->count; e++)
      for (size_t n = 0; n < nodes && hexes->volumes[e] == k; n++) {
        sum[sp_numbering_nodes(space->numbering, e)[n]] += random_value((int)n, hexes->tags[e]);
        counts[sp_numbering_nodes(space->numbering, e)[n]]++;
      }
    sp_exchange_now(space->exchange, SP_SUM, sum);
    sp_exchange_now(space->exchange, SP_SUM, counts);
    for (size_t i = 0; i < dofs; i++) copies += counts[i] > 0;
    for (sp_lid e = 0; e < hexes->count; e++)
      for (size_t n = 0; n < nodes && hexes->volumes[e] == k; n++) {
        const sp_lid i = sp_numbering_nodes(is, e)[n];
        wrong += torn.from[i] != sp_numbering_nodes(space->numbering, e)[n] ||
                 torn_sum[i] != sum[torn.from[i]];
      }
  }
  CHECK(wrong == 0 && is->local == copies, "%d sets, order %d: %d wrong, %d copies instead of %d",
        sets, order, wrong, is->local, copies);
  sp_torn_free(&torn);
  sp_space_destroy(&space);
  deformed_box_destroy(&box);
}

int main(int argc, char **argv) {
  bench b;
  bench_begin(&argc, &argv, &b);
  check_spaces(&b, 1, 3, (const int[]){7, 3, 1});
  check_spaces(&b, 2, 1, (const int[]){4});
  check_spaces(&b, 1, 2, (const int[]){1, 15});
  for (int sets = 1; sets <= 36; sets += 7) check_torn(&b, 1 + sets % 3, sets);
  return bench_end(&b);
}
