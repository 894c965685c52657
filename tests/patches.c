/* Patches of elements (operators/cuda/patches.h), on the host: the sums of a kernel have the same
 * bits as a loop over elements, on meshes with periods and on several ranks. */
#include "operators/cuda/patches.h"

#include "mesh/geometry.h"
#include "tests/operator_bench.h"
#include "tests/boxes.h"

enum { LANES = 32, SEED = 5 };

/* A value that identifies a node of an element; sums of them are exact. */
static double value_of(const sp_patches *patches, sp_lid element, int q) {
  return (double)(element * patches->each + q + 1);
}

/* Every node of the element's lattice finds its own DOF, and at order 1 its point; at order 2 the
 * element finds its map. */
static void check_element(const sp_operator_setup *setup, const sp_patches *patches,
                          const sp_cuda_patch *patch, int e) {
  const sp_lid element = patch->element + e;
  const sp_lid *nodes = &setup->space->numbering->nodes[element * patches->each];
  for (int q = 0; q < patches->each; q++) {
    const int n = sp_patches_node(patches, patch, e, q);
    CHECK(n < patch->nodes, "node %d of %d", n, patch->nodes);
    const unsigned code = patches->codes[patch->node + (unsigned)n];
    CHECK((code & SP_CUDA_DOF) == (unsigned)nodes[q], "another DOF");
    if (patches->order > 1) continue;
    const double *point = sp_hexes_lattice(setup->space->mesh->hexes, element) + 3 * q;
    const double *points = &patches->geometry[3 * (size_t)patch->node];
    for (int d = 0; d < 3; d++) CHECK(points[d * patch->nodes + n] == point[d], "another point");
  }
  if (patches->order == 1) return;
  double map[24];
  sp_geometry_trilinear(setup->space->mesh->hexes, element, map);
  if (setup->kappa) {
    map[0] = setup->kappa[element];
    map[1] = setup->lambda_values[element] / map[0];
  }
  for (int m = 0; m < 24; m++)
    CHECK(patches->geometry[24 * (size_t)patch->element + (size_t)(m * patch->elements + e)] ==
              map[m],
          "another map");
}

/* Every entry is a node of an element, in the order of elements. Adds up the patch: complete nodes
 * to y, the others to slots. */
static void check_patch(const sp_operator_setup *setup, const sp_patches *patches, int p, double *y,
                        double *slots, int *firsts) {
  const sp_cuda_patch *patch = &patches->list[p];
  const unsigned *codes = &patches->codes[patch->node];
  int found = 0;
  for (int e = 0; e < patch->elements; e++) check_element(setup, patches, patch, e);
  for (int n = 0; n < patch->nodes; n++) {
    const unsigned start = patches->start[patch->group + (unsigned)(n / LANES)];
    const unsigned end = patches->start[patch->group + (unsigned)(n / LANES) + 1];
    const sp_lid dof = (sp_lid)(codes[n] & SP_CUDA_DOF);
    double sum = 0;
    int before = -1;
    for (unsigned at = start + (unsigned)(n % LANES); at < end; at += LANES)
      for (int half = 0; half < 2; half++) {
        const int entry = (int)(patches->entries[at] >> (16 * half) & 0xffff);
        if (entry == SP_CUDA_PATCH_NONE(patches->order)) continue;
        const int e = entry / patches->results, q = entry % patches->results;
        CHECK(e < patch->elements && q < patches->each &&
                  sp_patches_node(patches, patch, e, q) == n,
              "node %d of element %d is not node %d", q, e, n);
        CHECK(entry > before, "not in the order of elements");
        before = entry;
        sum += value_of(patches, patch->element + e, q);
        found++;
      }
    CHECK(!(codes[n] & SP_CUDA_CONSTRAINED) == !setup->constrained[dof], "constraint");
    firsts[dof] += (codes[n] & SP_CUDA_FIRST) != 0;
    if (n < patch->complete) {
      CHECK(y[dof] == 0, "complete twice");
      y[dof] = sum;
    } else {
      const unsigned slot = patch->slot + (unsigned)(n - patch->complete);
      CHECK(patches->slot_dofs[slot] == dof, "DOF of a slot");
      slots[slot] = sum;
    }
  }
  CHECK(found == patch->elements * patches->each, "%d entries for %d elements", found,
        patch->elements);
}

static void check_sums(const sp_operator_setup *setup, const sp_patches *patches) {
  const sp_numbering *numbering = setup->space->numbering;
  const sp_mesh *mesh = setup->space->mesh;
  const size_t dofs = (size_t)numbering->local;
  double *want = test_array(dofs, sizeof *want), *y = test_array(dofs, sizeof *y);
  double *slots = test_array(patches->slots, sizeof *slots);
  int *firsts = test_array(dofs, sizeof *firsts), *parts = test_array(dofs, sizeof *parts);
  bool *shared = test_array(dofs, sizeof *shared);
  sp_lid elements = 0;
  for (int p = 0; p < patches->count; p++) {
    const sp_cuda_patch *patch = &patches->list[p];
    CHECK(patch->element == elements, "patches follow each other");
    CHECK((patch->element < mesh->halo_elements) == (p < patches->halo), "halo");
    CHECK(patch->element >= mesh->halo_elements ||
              patch->element + patch->elements <= mesh->halo_elements,
          "a patch with halo elements and others");
    check_patch(setup, patches, p, y, slots, firsts);
    elements += patch->elements;
  }
  CHECK(elements == mesh->hexes->count, "%d of %d elements", elements, mesh->hexes->count);
  for (size_t d = 0; d < dofs; d++) parts[d] = y[d] != 0;
  for (size_t s = 0; s < patches->slots; s++) {
    y[patches->slot_dofs[s]] += slots[s];
    parts[patches->slot_dofs[s]] += 2;
  }
  for (sp_lid e = 0; e < mesh->hexes->count; e++)
    for (int q = 0; q < patches->each; q++)
      want[numbering->nodes[e * patches->each + q]] += value_of(patches, e, q);
  for (sp_lid s = 0; s < numbering->shared_start[numbering->neighbours]; s++)
    shared[numbering->shared[s]] = true;
  int complete = 0;
  for (size_t d = 0; d < dofs; d++) {
    CHECK(y[d] == want[d], "DOF %zu: %g instead of %g", d, y[d], want[d]);
    CHECK(firsts[d] == 1, "DOF %zu is first at %d nodes", d, firsts[d]);
    CHECK(parts[d] == 1 || parts[d] % 2 == 0, "DOF %zu is complete and has slots", d);
    CHECK(!shared[d] || parts[d] % 2 == 0, "shared DOF %zu is complete", d);
    complete += parts[d] == 1;
  }
  if (mesh->hexes->count >= 2 * SP_CUDA_PATCH(patches->order))
    CHECK(complete > (patches->order == 1 ? 1 : 12) * mesh->hexes->count / 8, "%d complete nodes",
          complete);
}

static void check_box(const bench *b, const int elements[3], int periods, int order) {
  AUTO(sp_mesh) mesh = periodic_box(elements, periods, SEED);
  AUTO(sp_space) space = bench_space(b, mesh, order);
  ARRAYS_OF_SCOPE;
  bool *constrained = test_array(sp_space_dofs(space), 1);
  for (size_t d = 0; d < sp_space_dofs(space); d++) constrained[d] = d % 7 == 3;
  const size_t count = (size_t)mesh->hexes->count;
  double *kappa = test_array(2 * count, sizeof *kappa), *lambda = kappa + count;
  for (size_t e = 0; e < count; e++) {
    kappa[e] = 1 + (double)(e % 3);
    lambda[e] = 2 + (double)(e % 5);
  }
  for (int scaled = 0; scaled < 2; scaled++) {
    const sp_operator_setup setup = {.space = space,
                                     .kind = SP_BP35,
                                     .geometry = SP_GEOMETRY_TRILINEAR,
                                     .constrained = constrained,
                                     .lambda = 1,
                                     .kappa = scaled ? kappa : NULL,
                                     .lambda_values = scaled ? lambda : NULL,
                                     .by_element = true};
    sp_patches patches;
    CHECK_OK(sp_patches_create(&setup, &patches));
    check_sums(&setup, &patches);
    sp_patches_free(&patches);
  }
}

int main(int argc, char **argv) {
  static const int boxes[][3] = {{1, 1, 1}, {1, 2, 9}, {5, 4, 3}, {16, 16, 12}, {21, 13, 17}};
  bench b;
  bench_begin(&argc, &argv, &b);
  /* One element is too few for two ranks. */
  for (int n = world_size > 1; n < (int)(COUNT_OF(boxes)); n++)
    for (int periods = 0; periods <= 3; periods++)
      for (int order = 1; order <= SP_CUDA_PATCH_MOST_ORDER; order++)
        check_box(&b, boxes[n], periods, order);
  return bench_end(&b);
}
