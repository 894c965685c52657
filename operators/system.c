#include "operators/system.h"

#include <stdlib.h>

#include "io/threads.h"
#include "mesh/tensor.h"
#include "operators/counts.h"

/* Free arrays that are const for other code. */
static void release_array(const void *array) {
  free((void *)array);
}

void sp_system_free_setup(const sp_operator_setup *setup) {
  release_array(setup->constrained);
  release_array(setup->kappa);
  release_array(setup->lambda_values);
  release_array(setup->diagonal_dofs);
  release_array(setup->diagonal_values);
}

static void free_arrays(const sp_operator_setup *setup, const sp_constants *constants) {
  sp_system_free_setup(setup);
  if (!constants) return;
  release_array(constants->of_dof);
  release_array(constants->part_of_dof);
}

sp_status sp_system_create(const sp_operator_setup *setup, sp_space *own_space,
                           const sp_constants *constants, sp_system **out) {
  *out = NULL;
  const sp_status status =
      sp_agree(setup->space->platform->comm, sp_allocate(1, sizeof **out, "system", out));
  if (status) {
    free(*out);
    *out = NULL;
    free_arrays(setup, constants);
    sp_space_destroy(&own_space);
    return status;
  }
  **out = (sp_system){.space = setup->space, .own_space = own_space, .setup = *setup};
  if (constants) (*out)->constants = *constants;
  return SP_OK;
}

void sp_system_destroy(sp_system **system) {
  sp_system *s = *system;
  if (!s) return;
  sp_operator_destroy(&s->op);
  free_arrays(&s->setup, &s->constants);
  free(s->boxes);
  sp_space_destroy(&s->own_space);
  sp_mesh_destroy(&s->own_mesh);
  free(s);
  *system = NULL;
}

void sp_system_forget_coefficients(sp_system *system) {
  sp_operator_setup *s = &system->setup;
  release_array(s->kappa);
  release_array(s->lambda_values);
  s->kappa = s->lambda_values = NULL;
}

sp_status sp_system_robin_energy(const sp_system *system, const sp_vector *v, double *host,
                                 double *energy) {
  const sp_operator_setup *s = &system->setup;
  const sp_lid count = s->diagonal_count;
  *energy = 0;
  if (count == 0) return SP_OK;
  const size_t first = (size_t)s->diagonal_dofs[0], end = (size_t)s->diagonal_dofs[count - 1] + 1;
  const sp_vector part = sp_vector_part(v, first, end - first);
  SP_TRY(sp_vector_read(&part, host + first));
  for (sp_lid i = 0; i < count; i++) {
    const double u = host[s->diagonal_dofs[i]];
    *energy += s->diagonal_values[i] * u * u;
  }
  return SP_OK;
}

sp_status sp_system_list_diagonal(size_t dofs, const double *diagonal, sp_lid *count, sp_lid **list,
                                  double **values) {
  *count = 0;
  for (size_t i = 0; i < dofs; i++) *count += diagonal[i] > 0;
  SP_TRY(SP_ALLOCATE("Robin faces", SP_ARRAY(*list, *count), SP_ARRAY(*values, *count)));
  sp_lid next = 0;
  for (size_t i = 0; i < dofs; i++)
    if (diagonal[i] > 0) {
      (*list)[next] = (sp_lid)i;
      (*values)[next++] = diagonal[i];
    }
  return SP_OK;
}

typedef struct averages {
  const sp_operator_setup *bars;
  int rows, columns;
  size_t components;
  double matrix[SP_MAX_RULE * SP_MAX_RULE], unit[SP_MAX_RULE * SP_MAX_RULE];
  const double *values;
  double *means;
} averages;

static void average_some(void *averages_, size_t begin, size_t end) {
  const averages *a = averages_;
  for (size_t i = begin; i < end; i++) {
    const int kept = a->bars ? sp_system_bar_direction(a->bars, (sp_lid)(i / a->components)) : -1;
    const double *along[3] = {a->matrix, a->matrix, a->matrix};
    if (kept >= 0) along[kept] = a->unit;
    sp_tensor_apply(a->rows, a->columns, along[0], along[1], along[2],
                    &a->values[i * sp_grid_points(a->columns)],
                    &a->means[i * sp_grid_points(a->rows)]);
  }
}

static sp_status average_values(averages *a, size_t elements, size_t components,
                                const double *values, double **out) {
  const size_t count = elements * components;
  *out = NULL;
  if (!values) return SP_OK;
  SP_TRY(sp_allocate(count * sp_grid_points(a->rows), sizeof **out, "coefficients", out));
  a->components = components;
  a->values = values;
  a->means = *out;
  return sp_loop_over("coefficients", count, sp_grid_points(a->columns), a, average_some);
}

sp_status sp_system_average(const sp_operator_setup *setup, const sp_rule *to,
                            const sp_operator_setup *bars, double **kappa, double **lambda) {
  const size_t elements = (size_t)setup->space->mesh->hexes->count;
  averages a = {.rows = 1, .columns = 1, .matrix = {1}, .unit = {1}, .bars = bars};
  if (!setup->by_element) {
    const sp_rule *own = sp_operator_rule(setup->kind, setup->space->numbering->order);
    a.columns = own->n;
    a.rows = bars ? own->n : to->n;
    sp_average_matrix(own, own, a.unit);
    sp_average_matrix(own, to, a.matrix);
    for (int i = own->n * a.rows; i-- > 0 && bars;) /* the second row for the upper half */
      a.matrix[i] = a.matrix[(i / own->n >= own->n / 2 ? own->n : 0) + i % own->n];
  }
  const sp_status status =
      average_values(&a, elements, setup->is_tensor ? 6 : 1, setup->kappa, kappa);
  return sp_first_failure(status, average_values(&a, elements, 1, setup->lambda_values, lambda));
}

int sp_system_bar_direction(const sp_operator_setup *setup, sp_lid element) {
  const int n = setup->space->numbering->order + 1;
  const sp_lid *nodes = sp_numbering_nodes(setup->space->numbering, element);
  for (int d = 0; d < 3 && n > 2; d++)
    for (int edge = 0; edge < 4; edge++)
      if (!setup->constrained || !setup->constrained[nodes[sp_edge_node(n, d, edge, 1)]]) return d;
  return -1;
}

sp_status sp_system_find_boxes(sp_system *system) {
  const sp_mesh *mesh = system->space->mesh;
  sp_status status = SP_OK;
  if (system->boxes) return SP_OK;
  status = sp_allocate((size_t)mesh->hexes->count, sizeof *system->boxes, "boxes", &system->boxes);
  if (!status) status = sp_separable_fill(&system->setup, system->boxes);
  return sp_agree(mesh->comm, status);
}

typedef struct lifting {
  const bool *constrained;
  const double *load;
  bool has_values;
  double *b; /* A u_D */
} lifting;

static void subtract(void *context, size_t begin, size_t end) {
  const lifting *l = context;
  for (size_t i = begin; i < end; i++)
    l->b[i] = l->constrained[i] ? 0 : l->load[i] - (l->has_values ? l->b[i] : 0);
}

sp_status sp_system_lift(sp_system *system, const double *u_d, const double *load, double *b,
                         sp_vector *x, sp_vector *y) {
  sp_operator *op = system->op;
  lifting l = {system->setup.constrained, load, u_d, b};
  sp_status status = u_d ? sp_agree(op->comm, sp_vector_write(u_d, x)) : SP_OK;
  if (!status && u_d) status = sp_operator_apply(op, false, x, y);
  if (!status && u_d) status = sp_vector_read(y, b);
  if (!status) status = sp_loop_over("lifting", (size_t)op->dofs, 2, &l, subtract);
  return sp_agree(op->comm, status);
}
