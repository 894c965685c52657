#include "operators/schwarz/builder.h"

void sp_schwarz_choose_nodes(sp_schwarz_builder *b) {
  const int n = b->n, corner[2] = {1, n - 2};
  int order[SP_MAX_NQ * SP_MAX_NQ], face[SP_MAX_NQ * SP_MAX_NQ];
  b->inside = 0;
  for (int near = 1; near >= 0; near--) {
    for (int j = 1; j < n - 1; j++)
      for (int i = 1; i < n - 1; i++) {
        const bool is_near =
            (i == corner[0] || i == corner[1]) && (j == corner[0] || j == corner[1]);
        if (is_near == near) order[b->inside++] = j * n + i;
      }
    if (near) b->nearest = b->inside;
  }
  for (int f = 0; f < SP_FACES; f++) {
    sp_face_nodes(n - 1, f, face);
    for (int i = 0; i < b->inside; i++) b->nodes[f][i] = face[order[i]];
  }
  double sum = 0;
  for (int i = 1; i < n - 1; i++) sum += b->gll->weights[i];
  b->face_weight = sum * sum;
}

/* kappa times the entry of K or M at an end of an interval. */
static double own_stiffness(const sp_schwarz_builder *b, const sp_separable *box, int d) {
  return box->kappa * 2 / box->length[d] * b->stiffness[0];
}

static double own_mass(const sp_schwarz_builder *b, const sp_separable *box, int d) {
  return box->kappa * box->length[d] / 2 * b->gll->weights[0];
}

void sp_schwarz_sum_ends(sp_schwarz_builder *b) {
  const sp_space *space = b->setup->space;
  for (sp_lid e = 0; e < space->mesh->hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++)
      for (int i = 0; i < b->nearest; i++) {
        const sp_lid dof = sp_schwarz_nodes(b, e)[b->nodes[f][i]];
        b->end_stiffness[dof] += own_stiffness(b, &b->boxes[e], f / 2);
        b->end_mass[dof] += own_mass(b, &b->boxes[e], f / 2);
      }
  sp_exchange_now(space->exchange, SP_SUM, b->end_stiffness);
  sp_exchange_now(space->exchange, SP_SUM, b->end_mass);
}

sp_schwarz_end sp_schwarz_find_end(const sp_schwarz_builder *b, sp_lid e, int f) {
  const sp_separable *box = &b->boxes[e];
  const bool *constrained = b->setup->constrained;
  const int d = f / 2;
  const sp_lid *nodes = sp_schwarz_nodes(b, e), dof = nodes[b->nodes[f][0]];
  /* Without a neighbour the difference is rounding noise. */
  const double stiffness = b->end_stiffness[dof], mass = b->end_mass[dof];
  const double own = own_stiffness(b, box, d);
  const bool alone = stiffness - own <= 1e-14 * stiffness;
  double diagonal = 0;
  for (int i = 0; i < b->inside && b->setup->diagonal_count > 0 && alone; i++)
    diagonal += b->diagonal[nodes[b->nodes[f][i]]];
  const double area = b->face_weight * box->length[(d + 1) % 3] * box->length[(d + 2) % 3] / 4;
  return (sp_schwarz_end){.stiffness = alone ? 0 : (stiffness - own) / box->kappa,
                          .mass = alone ? 0 : (mass - own_mass(b, box, d)) / box->kappa,
                          .robin = diagonal > 0 ? diagonal / area / box->kappa : 0,
                          .fixed = constrained && constrained[dof]};
}
