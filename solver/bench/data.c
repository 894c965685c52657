#include <math.h>
#include <stdlib.h>

#include "io/hash.h"
#include "mesh/box.h"
#include "mesh/mesh.h"
#include "solver/bench/measure.h"

/* box[0] <= box[1] <= box[2] with product `elements`, and the least surface. */
static void find_box(sp_gid elements, int box[3]) {
  double least = INFINITY;
  for (sp_gid a = 1; a * a * a <= elements; a++)
    for (sp_gid b = a; a * b * b <= elements; b++) {
      const sp_gid c = elements / (a * b);
      const double surface = (double)(a * b) + (double)(a * c) + (double)(b * c);
      if (a * b * c != elements || surface >= least) continue;
      least = surface;
      box[0] = (int)a, box[1] = (int)b, box[2] = (int)c;
    }
}

static sp_status create_space(sp_bench *b) {
  MPI_Comm comm = b->platform->comm;
  sp_box box = {.upper = {1, 1, 1}, .map = SP_MAP_SINE};
  sp_hexes *hexes;
  find_box(b->made.elements, box.elements);
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
  MPI_Comm comm = b->platform->comm;
  sp_platform host;
  SP_TRY(sp_agree(comm, create_x(b)));
  SP_TRY(sp_platform_open(comm, SP_DEVICE_HOST, SP_TRANSPORT_AUTO, &host));
  const sp_status status = apply_on_host(b, &host);
  sp_platform_close(&host);
  return status;
}

static void drop_vectors(sp_bench *b) {
  sp_vector_destroy(&b->from);
  sp_vector_destroy(&b->to);
  sp_vector_destroy(&b->factors);
  sp_vector_destroy(&b->workspace);
}

sp_status sp_bench_set_key(sp_bench *b, const sp_bench_row *key) {
  const sp_bench_row *made = &b->made;
  const bool keeps_space = made->elements == key->elements && made->order == key->order;
  const bool keeps_data =
      keeps_space && made->problem == key->problem && made->precision == key->precision;
  drop_vectors(b);
  if (!keeps_data || made->geometry != key->geometry) {
    for (int n = 0; n < b->operator_count; n++) sp_operator_destroy(&b->operators[n]);
    free(b->operators);
    b->operators = NULL;
    b->operator_count = 0;
  }
  if (!keeps_data) {
    SP_FREE(b->x, b->expected, b->constrained);
    b->x = b->expected = NULL;
    b->constrained = NULL;
  }
  if (!keeps_space) {
    sp_space_destroy(&b->space);
    sp_mesh_destroy(&b->mesh);
  }
  b->made = *key;
  if (key->elements == 0) return SP_OK;
  if (!b->space) SP_TRY(create_space(b));
  return b->x ? SP_OK : create_data(b);
}

sp_status sp_bench_repeat(size_t count, const double *values, sp_vector *all) {
  sp_vector first = sp_vector_part(all, 0, count);
  sp_status status = sp_vector_write(values, &first);
  for (size_t done = count; done < all->count && !status; done += count) {
    sp_vector next =
        sp_vector_part(all, done, all->count - done < count ? all->count - done : count);
    status = sp_vector_copy(&first, &next);
  }
  return status ? status : all->platform->backend->finish(all->platform->device);
}

sp_status sp_bench_set_vectors(sp_bench *b, size_t size, size_t count, const double *values) {
  b->size = size;
  SP_TRY(sp_vector_create(b->platform, b->made.precision, (size_t)b->sets * size, &b->from));
  SP_TRY(sp_vector_create(b->platform, b->made.precision, (size_t)b->sets * size, &b->to));
  return sp_bench_repeat(count, values, &b->from);
}

sp_status sp_bench_set_random(sp_bench *b, size_t size) {
  enum { MOST = 1 << 20 };
  const size_t count = size < MOST ? size : MOST;
  SP_OWNED double *values = NULL;
  sp_status status = sp_allocate(count, sizeof *values, "random data", &values);
  for (size_t i = 0; i < count && !status; i++) values[i] = random_number((sp_gid)i);
  if (!status) status = sp_bench_set_vectors(b, size, count, values);
  return sp_agree(b->platform->comm, status);
}

sp_status sp_bench_set_elements(sp_bench *b) {
  const sp_lid elements = b->mesh->hexes->count;
  const size_t np = sp_element_nodes(b->made.order), size = (size_t)elements * np;
  SP_OWNED double *q = NULL;
  SP_TRY(sp_allocate(size, sizeof *q, "random data", &q));
  for (sp_lid e = 0; e < elements; e++)
    sp_numbering_gather(b->space->numbering, e, b->x, &q[(size_t)e * np]);
  return sp_bench_set_vectors(b, size, size, q);
}
