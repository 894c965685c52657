#include "solver/problem/dirichlet.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "io/threads.h"
#include "mesh/geometry.h"
#include "mesh/reference.h"
#include "solver/problem/evaluate.h"

enum {
  FACE_NODES = SP_MAX_NQ * SP_MAX_NQ,
  NODES = SP_MAX_NQ * FACE_NODES,
  INSIDE = SP_FACES /* in place of a face: all nodes of an element, which a line fixes */
};

/* A jump and its two parts, first * part_count + second; laid out for MPI_DOUBLE_INT. */
typedef struct jump_at {
  double size;
  int parts;
} jump_at;

/* The nodes of a face, or of an element, of a Dirichlet part: their DOFs, their coordinates, and
 * the data there; for a chunk of elements their largest jump and value. Too large for the stack. */
typedef struct face_nodes {
  sp_lid element;
  int face, part, count;
  sp_lid dofs[NODES];
  double xyz[3 * NODES], data[NODES];
  jump_at most;
  double largest;
} face_nodes;

typedef struct constraints constraints;
typedef sp_status visit_face(const constraints *c, face_nodes *face);

/* Data shared by threads. Arrays over all DOFs are long: they begin as zeros, and only the nodes of
 * outer elements and of other ranks are visited. */
struct constraints {
  const sp_problem *problem;
  const sp_space *space;
  double *part_code; /* of each DOF: its Dirichlet part - part_count, or 0 if it has none */
  double *values;
  bool *constrained;
  jump_at most;
  double largest;  /* of |values| */
  double *of_part; /* [part_count], the largest jump of each, negative */
  visit_face *visit;
};

static const double NO_VALUE = DBL_MAX;

/* *shared = min(*shared, value), atomically. */
static void lower_shared(double *shared, double value) {
  double now;
  __atomic_load(shared, &now, __ATOMIC_RELAXED);
  while (value < now && !__atomic_compare_exchange(shared, &now, &value, true, __ATOMIC_RELAXED,
                                                   __ATOMIC_RELAXED)) {
  }
}

static double code_of(const constraints *c, int part) {
  return part - c->problem->part_count;
}

/* Find for each DOF the lowest index of a Dirichlet part that contains it. */
static sp_status mark_face(const constraints *c, face_nodes *face) {
  for (int n = 0; n < face->count; n++)
    lower_shared(&c->part_code[face->dofs[n]], code_of(c, face->part));
  return SP_OK;
}

static sp_status evaluate_face(const constraints *c, face_nodes *face) {
  const sp_hexes *hexes = c->space->mesh->hexes;
  const sp_rule *gll = &sp_reference_get(c->space->numbering->order)->gll;
  const sp_expression *formula = c->problem->parts[face->part].formula;
  const sp_material *material = sp_materials_of(&c->problem->materials, hexes, face->element);
  double normal[3 * FACE_NODES];
  if (face->face == INSIDE)
    sp_hexes_coordinates(hexes, face->element, gll->n, gll->nodes, face->xyz);
  else
    sp_geometry_face(hexes, face->element, face->face, gll, face->xyz, normal);
  const double *xyz[3] = {face->xyz, face->xyz + face->count, face->xyz + 2 * face->count};
  return sp_problem_evaluate(formula ? formula : material->solution, (size_t)face->count, xyz, NULL,
                             face->data, NULL, NULL);
}

/* Set each DOF to the least value that faces of its part give it; of 0 and -0, to 0. */
static sp_status set_face(const constraints *c, face_nodes *face) {
  SP_TRY(evaluate_face(c, face));
  for (int n = 0; n < face->count; n++)
    if (c->part_code[face->dofs[n]] == code_of(c, face->part))
      lower_shared(&c->values[face->dofs[n]], face->data[n] + 0.0);
  return SP_OK;
}

static void constrain_dof(const constraints *c, sp_lid dof) {
  double none = NO_VALUE;
  if (c->part_code[dof] == 0) return;
  __atomic_store_n(&c->constrained[dof], true, __ATOMIC_RELAXED);
  __atomic_store(&c->values[dof], &none, __ATOMIC_RELAXED);
}

static sp_status constrain_face(const constraints *c, face_nodes *face) {
  for (int n = 0; n < face->count; n++) constrain_dof(c, face->dofs[n]);
  return SP_OK;
}

/* True if another Dirichlet part gives the value of one of the nodes. */
static bool meets_another(const constraints *c, const face_nodes *face) {
  for (int n = 0; n < face->count; n++)
    if (c->part_code[face->dofs[n]] != code_of(c, face->part)) return true;
  return false;
}

/* Compare the data of each face with the values that other parts give to its nodes. Data that
 * follow from the solution differ by rounding only. */
static sp_status compare_face(const constraints *c, face_nodes *face) {
  const sp_boundary_part *parts = c->problem->parts;
  const int part = face->part;
  for (int n = 0; n < face->count; n++)
    face->largest = fmax(face->largest, fabs(c->values[face->dofs[n]]));
  if (!meets_another(c, face)) return SP_OK;
  SP_TRY(evaluate_face(c, face));
  for (int n = 0; n < face->count; n++) {
    const sp_lid dof = face->dofs[n];
    const double size = fabs(face->data[n] - c->values[dof]);
    const int owner = (int)c->part_code[dof] + c->problem->part_count;
    const bool derived = !parts[owner].formula && !parts[part].formula;
    if (owner == part || derived) continue;
    lower_shared(&c->of_part[owner], -size);
    lower_shared(&c->of_part[part], -size);
    if (size > face->most.size) face->most = (jump_at){size, owner * c->problem->part_count + part};
  }
  return SP_OK;
}

static sp_status visit_some(void *constraints_, void *workspace, size_t begin, size_t end) {
  const constraints *c = constraints_;
  const int order = c->space->numbering->order;
  int indices[FACE_NODES];
  face_nodes *face = workspace;
  face->most = (jump_at){0, 0};
  face->largest = 0;
  for (size_t k = begin; k < end; k++) {
    const sp_outer_face *outer = &c->problem->faces[k];
    const int f = outer->face;
    if (!outer->part || !outer->part->type->fixes_u) continue;
    const sp_lid *dofs = sp_numbering_nodes(c->space->numbering, outer->element);
    if (f != INSIDE) sp_face_nodes(order, f, indices);
    face->element = outer->element;
    face->face = f;
    face->part = (int)(outer->part - c->problem->parts);
    face->count = (order + 1) * (order + 1) * (f == INSIDE ? order + 1 : 1);
    for (int n = 0; n < face->count; n++) face->dofs[n] = dofs[f == INSIDE ? n : indices[n]];
    SP_TRY(c->visit(c, face));
  }
  return SP_OK;
}

static void join_jumps(void *constraints_, void *workspace, size_t begin, size_t end) {
  (void)begin, (void)end;
  constraints *c = constraints_;
  const face_nodes *face = workspace;
  if (face->most.size > c->most.size) c->most = face->most;
  c->largest = fmax(c->largest, face->largest);
}

/* Visit the Dirichlet faces and elements. */
static sp_status visit_outer(constraints *c, visit_face *visit) {
  const size_t count = (size_t)c->problem->face_count;
  c->visit = visit;
  return sp_loop_sum("constraints", count, 1, c, sizeof(face_nodes), visit_some, join_jumps);
}

static sp_status measure_jump(constraints *c, sp_data_jump *jump) {
  const MPI_Comm comm = c->space->mesh->comm;
  const int parts = c->problem->part_count;
  *jump = (sp_data_jump){0};
  if (!c->problem->has_dirichlet) return SP_OK;
  sp_status status = sp_allocate((size_t)parts, sizeof *c->of_part, "boundary", &c->of_part);
  jump->of_part = c->of_part;
  if (!status) status = visit_outer(c, compare_face);
  SP_TRY(sp_agree(comm, status));
  MPI_Allreduce(MPI_IN_PLACE, c->of_part, parts, MPI_DOUBLE, MPI_MIN, comm);
  for (int p = 0; p < parts; p++) c->of_part[p] = -c->of_part[p];
  MPI_Allreduce(MPI_IN_PLACE, &c->most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
  MPI_Allreduce(MPI_IN_PLACE, &c->largest, 1, MPI_DOUBLE, MPI_MAX, comm);
  *jump = (sp_data_jump){
      c->most.size, c->largest, {c->most.parts / parts, c->most.parts % parts}, c->of_part};
  return SP_OK;
}

/* Constrain nodes in a contact between two constrained nodes: blocks of Schwarz would move them by
 * the contacts only. */
static void constrain_contacts(const constraints *c) {
  const sp_hexes *hexes = c->space->mesh->hexes;
  const sp_rule *gll = &sp_reference_get(c->space->numbering->order)->gll;
  const int face = gll->n * gll->n, end = face * (gll->n - 1);
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int i = face; i < end && sp_hexes_is_contact(hexes, e); i++) {
      const sp_lid *dofs = sp_numbering_nodes(c->space->numbering, e);
      const sp_lid low = dofs[i % face], high = dofs[end + i % face];
      if (!c->constrained[low] || !c->constrained[high]) continue;
      const double a = c->values[low], b = c->values[high];
      c->constrained[dofs[i]] = true;
      c->values[dofs[i]] = (a + b + gll->nodes[i / face] * (b - a)) / 2; /* the same from b to a */
    }
}

sp_status sp_problem_constraints(const sp_problem *problem, const sp_space *space,
                                 bool *constrained, double *values, sp_data_jump *jump) {
  const sp_numbering *numbering = space->numbering;
  constraints c = {
      .problem = problem, .space = space, .values = values, .constrained = constrained};
  SP_OWNED double *part_code = NULL;
  sp_status status =
      sp_allocate((size_t)numbering->local, sizeof *part_code, "Dirichlet parts", &part_code);
  c.part_code = part_code;
  if (!status) status = visit_outer(&c, mark_face);
  SP_TRY(sp_agree(space->mesh->comm, status));
  sp_exchange_now(space->exchange, SP_MIN, part_code);
  status = visit_outer(&c, constrain_face);
  for (sp_lid s = 0; s < numbering->shared_start[numbering->neighbours]; s++)
    constrain_dof(&c, numbering->shared[s]);
  if (!status) status = visit_outer(&c, set_face);
  SP_TRY(sp_agree(space->mesh->comm, status));
  /* A node's coordinates, and so its value, differ by rounding between elements: take the minimum,
   * which is the same on all ranks. */
  sp_exchange_now(space->exchange, SP_MIN, values);
  constrain_contacts(&c);
  return jump ? measure_jump(&c, jump) : SP_OK;
}
