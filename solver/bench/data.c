#include <math.h>
#include <stdlib.h>

#include "io/hash.h"
#include "mesh/box.h"
#include "mesh/mesh.h"
#include "solver/bench/measure.h"

/* The largest divisor of `number` whose power is at most `number`. */
static int find_divisor(sp_gid number, int power) {
  sp_gid largest = 1;
  for (sp_gid d = 1; (power == 3 ? d * d * d : d * d) <= number; d++)
    if (number % d == 0) largest = d;
  return (int)largest;
}

static sp_status create_space(sp_bench *b) {
  MPI_Comm comm = b->platform->comm;
  sp_box box = {.upper = {1, 1, 1}, .map = SP_MAP_SINE};
  sp_hexes *hexes;
  sp_gid rest = b->made.elements;
  for (int d = 0; d < 3; d++) {
    box.elements[d] = d < 2 ? find_divisor(rest, 3 - d) : (int)rest;
    rest /= box.elements[d];
  }
  SP_TRY(sp_box_hexes(comm, &box, &hexes));
  SP_TRY(sp_mesh_create(comm, &hexes, &b->mesh));
  return sp_space_create(b->platform, b->mesh, b->made.order, &b->space);
}

/* Mark the DOFs on the boundary. */
static void constrain_boundary(sp_bench *b) {
  int indices[SP_MAX_NQ * SP_MAX_NQ];
  const sp_numbering *numbering = b->space->numbering;
  const int nq = numbering->order + 1;
  for (sp_lid e = 0; e < b->mesh->hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++) {
      if (!sp_surface_is_exterior(b->mesh->hexes->surfaces[e][f])) continue;
      sp_face_nodes(numbering->order, f, indices);
      for (int n = 0; n < nq * nq; n++)
        b->constrained[sp_numbering_nodes(numbering, e)[indices[n]]] = true;
    }
}

static double random_number(sp_gid number) {
  return (double)(sp_hash((uint64_t)number) >> 11) * 0x1p-52 - 1;
}

/* In single precision x is rounded: the reference starts from the same numbers. */
static sp_status create_x(sp_bench *b) {
  const size_t dofs = sp_space_dofs(b->space);
  SP_TRY(SP_ALLOCATE("random data", SP_ARRAY(b->x, dofs), SP_ARRAY(b->expected, dofs),
                     SP_ARRAY(b->constrained, dofs)));
  if (sp_operator_rows[b->made.problem].has_boundary) constrain_boundary(b);
  for (size_t i = 0; i < dofs; i++) {
    const double value = random_number(sp_numbering_global(b->space->numbering, (sp_lid)i));
    const double rounded = b->made.precision == SP_SINGLE ? (double)(float)value : value;
    b->x[i] = b->constrained[i] ? 0 : rounded;
  }
  return SP_OK;
}

/* expected = A x, by the host backend. Its vectors are in host memory. */
static sp_status apply_on_host(sp_bench *b, const sp_platform *host) {
  const size_t dofs = sp_space_dofs(b->space);
  SP_AUTO(sp_space) space = NULL;
  SP_AUTO(sp_operator) op = NULL;
  SP_TRY(sp_space_create(host, b->mesh, b->made.order, &space));
  const sp_operator_setup setup = {.space = space,
                                   .kind = b->made.problem,
                                   .geometry = SP_GEOMETRY_STORED,
                                   .precision = SP_DOUBLE,
                                   .lambda = SP_BENCH_LAMBDA};
  SP_TRY(sp_operator_create(&setup, &op));
  const sp_vector x = {host, SP_DOUBLE, dofs, b->x};
  sp_vector y = {host, SP_DOUBLE, dofs, b->expected};
  SP_TRY(sp_agree(host->comm, sp_operator_apply(op, false, &x, &y)));
  return sp_agree(host->comm, host->backend->finish(host->device));
}

static sp_status create_data(sp_bench *b) {
  sp_platform host;
  SP_TRY(create_space(b));
  SP_TRY(sp_agree(b->platform->comm, create_x(b)));
  SP_TRY(sp_platform_open(b->platform->comm, SP_DEVICE_HOST, SP_TRANSPORT_AUTO, &host));
  const sp_status status = apply_on_host(b, &host);
  sp_platform_close(&host);
  return status;
}

static void drop_operators(sp_bench *b) {
  for (int n = 0; n < b->operator_count; n++) sp_operator_destroy(&b->operators[n]);
  free(b->operators);
  b->operators = NULL;
  b->operator_count = 0;
}

static void drop_data(sp_bench *b) {
  SP_FREE(b->x, b->expected, b->constrained);
  b->x = b->expected = NULL;
  b->constrained = NULL;
  sp_space_destroy(&b->space);
  sp_mesh_destroy(&b->mesh);
}

sp_status sp_bench_set_key(sp_bench *b, const sp_bench_row *key) {
  const sp_bench_row made = b->made;
  const bool fits = made.elements == key->elements && made.order == key->order &&
                    made.problem == key->problem && made.precision == key->precision;
  sp_vector_destroy(&b->from);
  sp_vector_destroy(&b->to);
  sp_vector_destroy(&b->factors);
  sp_vector_destroy(&b->workspace);
  if (!fits || made.geometry != key->geometry) drop_operators(b);
  if (!fits) drop_data(b);
  b->made = *key;
  return fits || key->elements == 0 ? SP_OK : create_data(b);
}

sp_status sp_bench_fill_sets(const sp_bench *b, const double *values, sp_vector *sets) {
  const size_t size = sets->count / (size_t)b->sets;
  for (int s = 0; s < b->sets; s++) {
    sp_vector set = sp_vector_part(sets, (size_t)s * size, size);
    SP_TRY(sp_vector_write(values, &set));
  }
  return SP_OK;
}

static sp_status create_vectors(sp_bench *b, const double *x, const sp_lid *nodes) {
  const size_t size = b->size, count = (size_t)b->sets * size;
  SP_OWNED double *values = NULL;
  SP_TRY(sp_allocate(size, sizeof *values, "random data", &values));
  for (size_t i = 0; i < size; i++)
    values[i] = x ? x[nodes ? (size_t)nodes[i] : i] : random_number((sp_gid)i);
  SP_TRY(sp_vector_create(b->platform, b->made.precision, count, &b->from));
  SP_TRY(sp_vector_create(b->platform, b->made.precision, count, &b->to));
  return sp_bench_fill_sets(b, values, &b->from);
}

sp_status sp_bench_set_vectors(sp_bench *b, size_t size, const double *x, const sp_lid *nodes) {
  b->size = size;
  return sp_agree(b->platform->comm, create_vectors(b, x, nodes));
}
