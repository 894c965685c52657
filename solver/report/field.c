#include "solver/report/field.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/threads.h"
#include "mesh/reference.h"
#include "mesh/tensor.h"
#include "solver/problem/evaluate.h"
#include "solver/results/flux.h"
#include "solver/solve/initial.h"

enum {
  VALUES = 10, /* at most */
  NUMBER_LENGTH = 16,
  NODES = SP_MAX_NQ * SP_MAX_NQ * SP_MAX_NQ
};

/* The points and values of the file on this rank. */
typedef struct field_arrays {
  sp_lid point_count;
  const sp_lid *nodes;    /* point of each node, [elements][nodes] */
  sp_numbering *separate; /* the points of a periodic mesh, else NULL */
  sp_lid *by_material;    /* `nodes` if materials share no points, else NULL */
  double *points;         /* [point_count][3] */
  sp_field_values list[VALUES];
  void *values[VALUES]; /* of the list; NULL: borrowed */
  int count;
  const char **names; /* [volume.group_count] */
  char (*numbers)[NUMBER_LENGTH];
} field_arrays;

static void field_arrays_destroy(field_arrays *arrays) {
  sp_numbering_destroy(&arrays->separate);
  for (int v = 0; v < arrays->count; v++) free(arrays->values[v]);
  SP_FREE(arrays->by_material, arrays->points, arrays->names, arrays->numbers);
}

/* Add values of points to the file, zero at first: *out = those. */
static sp_status add_points(field_arrays *arrays, const char *name, int columns, double **out) {
  SP_TRY(sp_allocate((size_t)arrays->point_count, (size_t)columns * sizeof(double), "field", out));
  arrays->values[arrays->count] = *out;
  arrays->list[arrays->count++] =
      (sp_field_values){.name = name, .values = *out, .columns = columns};
  return SP_OK;
}

/* Add an integer per element, likewise. */
static sp_status add_elements(field_arrays *arrays, const char *name, sp_lid count, int64_t **out) {
  SP_TRY(sp_allocate((size_t)count, sizeof **out, "field", out));
  arrays->values[arrays->count] = *out;
  arrays->list[arrays->count++] = (sp_field_values){
      .name = name, .values = *out, .of_elements = true, .integers = true, .columns = 1};
  return SP_OK;
}

static void equispaced_lattice(int order, double *lattice) {
  for (int i = 0; i <= order; i++) lattice[i] = -1 + 2.0 * i / order;
}

/* [Nq][Nq]: interpolation from the nodes to equispaced points. */
static void lattice_matrix(int order, double *matrix) {
  double lattice[SP_MAX_NQ];
  equispaced_lattice(order, lattice);
  sp_interpolation_matrix(order + 1, sp_reference_get(order)->gll.nodes, order + 1, lattice,
                          matrix);
}

/* Number the places of a periodic mesh, on which a DOF is at two or more places. The same elements,
 * without the identification and without other ranks, have one DOF per place. */
static sp_status separate_places(const sp_mesh *mesh, int order, sp_numbering **out) {
  sp_mesh apart = {.comm = MPI_COMM_SELF, .hexes = mesh->hexes};
  SP_TRY(sp_topology_create(apart.comm, apart.hexes, NULL, &apart.topology));
  const sp_status status = sp_numbering_create(&apart, order, out);
  sp_topology_destroy(&apart.topology);
  return status;
}

/* Give each material points of its own: the first material at a point keeps it, others get new
 * ones. */
static sp_status separate_materials(const sp_problem *problem, const sp_hexes *hexes, size_t nodes,
                                    field_arrays *arrays) {
  const size_t count = (size_t)arrays->point_count;
  /* The first material at a point, the last one that got a new point, and that new point. */
  SP_OWNED int *owner = NULL, *last = NULL;
  SP_OWNED sp_lid *copy = NULL;
  SP_TRY(SP_ALLOCATE("field points", SP_ARRAY(owner, count), SP_ARRAY(last, count),
                     SP_ARRAY(copy, count),
                     SP_ARRAY(arrays->by_material, (size_t)hexes->count * nodes)));
  for (size_t p = 0; p < count; p++) owner[p] = last[p] = -1;
  for (int m = 0; m < problem->materials.count; m++)
    for (size_t e = 0; e < (size_t)hexes->count; e++) {
      if (problem->materials.of_volume[hexes->volumes[e]] != m) continue;
      for (size_t n = e * nodes; n < (e + 1) * nodes; n++) {
        const sp_lid p = arrays->nodes[n];
        if (owner[p] < 0) owner[p] = m;
        if (owner[p] != m && last[p] != m) {
          last[p] = m;
          copy[p] = arrays->point_count++;
        }
        arrays->by_material[n] = owner[p] == m ? p : copy[p];
      }
      if (arrays->point_count > INT32_MAX - (sp_lid)nodes)
        return sp_fail(SP_ERR_INPUT, "more than %d points of the field on a rank", INT32_MAX);
    }
  arrays->nodes = arrays->by_material;
  return SP_OK;
}

/* Compute kappa grad u, [points][3]. Collective. */
static sp_status fill_flux(const sp_problem *problem, const sp_space *space, const double *x,
                           field_arrays *arrays) {
  const sp_hexes *hexes = space->mesh->hexes;
  const int order = space->numbering->order, nq = order + 1;
  const size_t nodes = sp_element_nodes(order), dofs = (size_t)space->numbering->local;
  double matrix[SP_MAX_NQ * SP_MAX_NQ];
  double *flux;
  SP_OWNED double *nodal = NULL, *local = NULL, *sums = NULL; /* of an element; L-vectors */
  sp_status status = add_points(arrays, "kappa_grad_u", 3, &flux);
  if (!status)
    status = SP_ALLOCATE("field", SP_ARRAY(nodal, nodes), SP_ARRAY(local, nodes),
                         SP_ARRAY(sums, 4 * dofs));
  SP_TRY(sp_agree(space->mesh->comm, status));
  double *const gradient[] = {sums, sums + dofs, sums + 2 * dofs};
  lattice_matrix(order, matrix);
  for (int m = 0; m < problem->materials.count; m++) {
    SP_TRY(sp_flux_of_material(problem, space, m, x, gradient, sums + 3 * dofs));
    for (size_t e = 0; e < (size_t)hexes->count; e++) {
      if (problem->materials.of_volume[hexes->volumes[e]] != m) continue;
      const sp_lid *place = &arrays->nodes[e * nodes];
      for (size_t d = 0; d < 3; d++) {
        sp_numbering_gather(space->numbering, (sp_lid)e, gradient[d], nodal);
        sp_tensor_apply(nq, nq, matrix, matrix, matrix, nodal, local);
        for (size_t n = 0; n < nodes; n++) flux[3 * (size_t)place[n] + d] = local[n];
      }
    }
  }
  return SP_OK;
}

/* Shared by the loops over elements. */
typedef struct filling {
  const sp_problem *problem;
  const sp_space *space;
  const double *x[SP_TIME_HISTORY]; /* the solution, and earlier ones */
  int count;
  const sp_lid *nodes; /* of field_arrays */
  sp_lid *first;       /* [points], the first element at each */
  double lattice[SP_MAX_NQ], matrix[SP_MAX_NQ * SP_MAX_NQ];
  double *points, *u[SP_TIME_HISTORY], *error; /* [points][3]; [points]; the last, or NULL */
} filling;

/* Contacts come last: they have no solution. */
static sp_lid turn_of(const filling *f, size_t e) {
  const sp_hexes *hexes = f->space->mesh->hexes;
  return (sp_lid)e + (sp_hexes_is_contact(hexes, (sp_lid)e) ? hexes->count : 0);
}

static void find_first(void *filling_, size_t begin, size_t end) {
  const filling *f = filling_;
  const size_t nodes = sp_element_nodes(f->space->numbering->order);
  for (size_t n = begin * nodes; n < end * nodes; n++)
    sp_lower(&f->first[f->nodes[n]], turn_of(f, n / nodes));
}

/* Values at the nodes of an element, coordinates of its points, u and the exact solution there. */
typedef struct workspace {
  double nodal[NODES], xyz[3 * NODES], u[SP_TIME_HISTORY][NODES], exact[NODES];
} workspace;

/* The first element at a point writes it. */
static sp_status fill_some(void *filling_, void *workspace_, size_t begin, size_t end) {
  const filling *f = filling_;
  const sp_hexes *hexes = f->space->mesh->hexes;
  const int nq = f->space->numbering->order + 1;
  const size_t nodes = sp_element_nodes(nq - 1);
  workspace *w = workspace_;
  const double *xyz[3] = {w->xyz, w->xyz + nodes, w->xyz + 2 * nodes};
  for (size_t e = begin; e < end; e++) {
    const sp_lid *place = &f->nodes[e * nodes];
    for (int v = 0; v < f->count; v++) {
      sp_numbering_gather(f->space->numbering, (sp_lid)e, f->x[v], w->nodal);
      sp_tensor_apply(nq, nq, f->matrix, f->matrix, f->matrix, w->nodal, w->u[v]);
    }
    sp_hexes_coordinates(hexes, (sp_lid)e, nq, f->lattice, w->xyz);
    if (f->error) {
      const sp_material *material = sp_materials_of(&f->problem->materials, hexes, (sp_lid)e);
      memcpy(w->exact, w->u[0], nodes * sizeof *w->exact); /* for a contact */
      if (material->solution)
        SP_TRY(sp_problem_evaluate(material->solution, nodes, xyz, NULL, w->exact, NULL, NULL));
    }
    for (size_t n = 0; n < nodes; n++) {
      const size_t p = (size_t)place[n];
      if (f->first[p] != turn_of(f, e)) continue;
      for (int v = 0; v < f->count; v++) f->u[v][p] = w->u[v][n];
      for (size_t d = 0; d < 3; d++) f->points[3 * p + d] = xyz[d][n];
      if (f->error) f->error[p] = w->u[0][n] - w->exact[n];
    }
  }
  return SP_OK;
}

static sp_status fill_points(const sp_problem *problem, const sp_space *space,
                             const sp_field_solution *solution, field_arrays *arrays) {
  const int order = space->numbering->order;
  const size_t elements = (size_t)space->mesh->hexes->count, nodes = sp_element_nodes(order);
  SP_OWNED sp_lid *first = NULL;
  filling f = {
      .problem = problem, .space = space, .x = {solution->x}, .count = 1, .nodes = arrays->nodes};
  SP_TRY(SP_ALLOCATE("field points", SP_ARRAY(arrays->points, 3 * (size_t)arrays->point_count),
                     SP_ARRAY(first, arrays->point_count)));
  f.points = arrays->points;
  f.first = first;
  SP_TRY(add_points(arrays, "u", 1, &f.u[0]));
  for (; f.count < SP_TIME_HISTORY && solution->state; f.count++) {
    f.x[f.count] = solution->before[f.count - 1];
    SP_TRY(add_points(arrays, sp_initial_names[f.count], 1, &f.u[f.count]));
    arrays->list[arrays->count - 1].kept = true;
  }
  if (sp_materials_have_solution(&problem->materials))
    SP_TRY(add_points(arrays, "error", 1, &f.error));
  equispaced_lattice(order, f.lattice);
  lattice_matrix(order, f.matrix);
  sp_loop_set((size_t)arrays->point_count * sizeof *first, -1, first);
  SP_TRY(sp_loop_over("field points", elements, nodes, &f, find_first));
  return sp_loop_sum("field points", elements, nodes, &f, sizeof(workspace), fill_some, NULL);
}

static sp_status fill_cells(const sp_mesh *mesh, field_arrays *arrays) {
  const sp_hexes *hexes = mesh->hexes;
  const size_t groups = (size_t)hexes->volume.group_count;
  SP_OWNED int *first = NULL; /* group of each volume, or -1 */
  int64_t *ranks, *tags, *octants, *regions;
  const int rank = sp_comm_rank(mesh->comm);
  SP_TRY(add_elements(arrays, "rank", hexes->count, &ranks));
  SP_TRY(add_elements(arrays, "tag", hexes->count, &tags));
  SP_TRY(add_elements(arrays, "octants", hexes->count, &octants));
  for (sp_lid e = 0; e < hexes->count; e++) {
    ranks[e] = rank;
    tags[e] = hexes->tags[e];
    octants[e] = hexes->octants[e];
  }
  if (groups == 0) return SP_OK;
  SP_TRY(add_elements(arrays, "region", hexes->count, &regions));
  SP_TRY(SP_ALLOCATE("names of regions", SP_ARRAY(arrays->names, groups),
                     SP_ARRAY(arrays->numbers, groups), SP_ARRAY(first, hexes->volume.count)));
  for (int v = 0; v < hexes->volume.count; v++) first[v] = -1;
  for (size_t g = groups; g-- > 0;) {
    const sp_group *group = &hexes->volume.groups[g];
    for (int p = 0; p < group->part_count; p++) first[group->parts[p]] = (int)g;
    snprintf(arrays->numbers[g], NUMBER_LENGTH, "%d", group->number);
    arrays->names[g] = group->name[0] ? group->name : arrays->numbers[g];
  }
  for (sp_lid e = 0; e < hexes->count; e++) regions[e] = first[hexes->volumes[e]];
  return SP_OK;
}

/* Number the points; elements of a rank share them. */
static sp_status number_points(const sp_problem *problem, const sp_space *space, bool flux,
                               field_arrays *arrays) {
  const sp_numbering *numbering = space->numbering;
  if (space->mesh->periodic) {
    SP_TRY(separate_places(space->mesh, numbering->order, &arrays->separate));
    numbering = arrays->separate;
  }
  arrays->point_count = numbering->local;
  arrays->nodes = numbering->nodes;
  if (!flux || problem->materials.count == 1) return SP_OK;
  return separate_materials(problem, space->mesh->hexes, sp_element_nodes(numbering->order),
                            arrays);
}

sp_status sp_field_write(const char *path, const sp_problem *problem, const sp_space *space,
                         const sp_field_solution *solution, double *seconds) {
  const sp_mesh *mesh = space->mesh;
  char units[3][SP_UNIT_SIZE];
  SP_AUTO_VALUE(field_arrays) arrays = {0};
  sp_status status = number_points(problem, space, solution->flux, &arrays);
  if (!status) status = fill_points(problem, space, solution, &arrays);
  SP_TRY(sp_agree(mesh->comm, status));
  if (solution->flux) SP_TRY(fill_flux(problem, space, solution->x, &arrays));
  SP_TRY(sp_agree(mesh->comm, fill_cells(mesh, &arrays)));
  if (solution->indicator)
    arrays.list[arrays.count++] = (sp_field_values){.name = "error_indicator",
                                                    .values = solution->indicator,
                                                    .of_elements = true,
                                                    .columns = 1};
  sp_unit_text(solution->units, SP_OF_LENGTH, units[0]);
  sp_unit_text(solution->units, SP_OF_TEMPERATURE, units[1]);
  sp_unit_text(solution->units, (sp_dimension){0, -2, 1}, units[2]);
  for (int v = 0; v < arrays.count; v++)
    if (!arrays.list[v].of_elements)
      arrays.list[v].unit = units[arrays.list[v].columns == 1 ? 1 : 2];
  const sp_field_data data = {.order = space->numbering->order,
                              .elements = mesh->hexes->count,
                              .points = arrays.point_count,
                              .nodes = arrays.nodes,
                              .coordinates = arrays.points,
                              .unit = units[0],
                              .value_count = arrays.count,
                              .values = arrays.list,
                              .text_count = mesh->hexes->volume.group_count,
                              .text_name = "regions",
                              .texts = arrays.names};
  const double start = MPI_Wtime();
  status = sp_field_file_write(mesh->comm, path, &data, solution->states, solution->state);
  *seconds = MPI_Wtime() - start;
  return status;
}
