#include "solver/bench/case.h"

#include <stdlib.h>

#include "mesh/mesh.h"
#include "mesh/geometry.h"
#include "mesh/reference.h"
#include "operators/counts.h"

/* box[0] <= box[1] <= box[2] with product `elements`, and the least surface. */
static void find_box(sp_gid elements, int box[3]) {
  double least = -1;
  for (sp_gid a = 1; a * a * a <= elements; a++) {
    if (elements % a != 0) continue;
    for (sp_gid b = a; a * b * b <= elements; b++) {
      const sp_gid c = elements / a / b;
      if (a * b * c != elements) continue;
      const double surface = (double)a * (double)b + (double)a * (double)c + (double)b * (double)c;
      if (least >= 0 && surface >= least) continue;
      least = surface;
      box[0] = (int)a, box[1] = (int)b, box[2] = (int)c;
    }
  }
}

static void clear_order(sp_bench_case *c) {
  sp_space_destroy(&c->space);
  SP_FREE(c->boundary, c->factors);
  c->boundary = NULL;
  c->factors = NULL;
  c->factor_rule = 0;
}

void sp_bench_case_clear(sp_bench_case *c) {
  clear_order(c);
  sp_mesh_destroy(&c->mesh);
  c->elements = 0;
}

sp_status sp_bench_case_set(sp_bench_case *c, sp_gid elements, int order) {
  if (c->elements == elements && c->order == order) return SP_OK;
  clear_order(c);
  c->order = order;
  if (c->elements == elements) return SP_OK;
  sp_bench_case_clear(c);
  sp_box box = {.upper = {1, 1, 1}, .map = SP_MAP_SINE};
  find_box(elements, box.elements);
  sp_hexes *hexes;
  SP_TRY(sp_box_hexes(c->platform->comm, &box, &hexes));
  SP_TRY(sp_mesh_create(c->platform->comm, &hexes, &c->mesh));
  c->elements = elements;
  return SP_OK;
}

/* (*boundary)[local DOFs] becomes true for DOFs on the boundary. */
static sp_status find_boundary(const sp_space *space, bool **boundary) {
  int indices[SP_MAX_NQ * SP_MAX_NQ];
  const sp_numbering *numbering = space->numbering;
  const int nq = numbering->order + 1;
  const sp_hexes *hexes = space->mesh->hexes;
  SP_TRY(sp_allocate(sp_space_dofs(space), sizeof **boundary, "boundary mask", boundary));
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++) {
      if (!sp_surface_is_exterior(hexes->surfaces[e][f])) continue;
      sp_face_nodes(numbering->order, f, indices);
      for (int n = 0; n < nq * nq; n++)
        (*boundary)[sp_numbering_nodes(numbering, e)[indices[n]]] = true;
    }
  return SP_OK;
}

sp_status sp_bench_case_space(sp_bench_case *c) {
  if (c->space) return SP_OK;
  SP_TRY(sp_space_create(c->platform, c->mesh, c->order, &c->space));
  return sp_agree(c->platform->comm, find_boundary(c->space, &c->boundary));
}

sp_status sp_bench_case_factors(sp_bench_case *c, sp_operator_kind kind) {
  const sp_rule *rule = sp_operator_rule(kind, c->order);
  if (c->factor_rule == rule->n) return SP_OK;
  free(c->factors);
  c->factors = NULL;
  const size_t size = (size_t)SP_FACTORS * sp_rule_points(rule);
  const sp_lid count = c->mesh->hexes->count;
  sp_status status =
      sp_allocate((size_t)count * size, sizeof *c->factors, "geometric factors", &c->factors);
  for (sp_lid e = 0; e < count && !status; e++)
    status = sp_geometry_factors(c->mesh->hexes, e, rule, &c->factors[(size_t)e * size]);
  c->factor_rule = status ? 0 : rule->n;
  return sp_agree(c->platform->comm, status);
}
