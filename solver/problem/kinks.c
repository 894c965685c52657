#include "solver/problem/kinks.h"

#include <math.h>

#include "io/hash.h"

enum { SAMPLES = 512, DIAGONALS = 4, LINES = DIAGONALS + SP_FACES, HALVINGS = 24 };

/* u and its gradient at a point of each line. */
typedef struct row {
  double x[3][LINES], u[LINES], gradient[3][LINES];
} row;

static sp_status evaluate(const sp_expression *solution, int lines, row *r) {
  double *const gradient[3] = {r->gradient[0], r->gradient[1], r->gradient[2]};
  return sp_expression_evaluate_jet(solution, (size_t)lines, r->x[0], r->x[1], r->x[2], r->u,
                                    gradient, NULL);
}

/* Ends of the lines of an element, and its size; returns how many lines there are. A line through a
 * face ends at 1.001 and 0.999 of the way from the centre to that of the face. */
static int find_lines(const sp_problem *problem, const sp_hexes *hexes, sp_lid e, row *a, row *b,
                      double *size) {
  static const double NODES[3] = {-1 + 1e-6, 0, 1 - 1e-6};
  double xyz[3][27], square = 0;
  int lines = DIAGONALS;
  sp_hexes_coordinates(hexes, e, 3, NODES, xyz[0]);
  for (int d = 0; d < 3; d++) {
    const int corners[DIAGONALS] = {0, 2, 6, 8};
    for (int l = 0; l < DIAGONALS; l++) {
      a->x[d][l] = xyz[d][corners[l]];
      b->x[d][l] = xyz[d][26 - corners[l]];
    }
    square += (b->x[d][0] - a->x[d][0]) * (b->x[d][0] - a->x[d][0]);
  }
  *size = sqrt(square);
  for (int f = 0; f < SP_FACES && problem->materials.count == 1; f++) {
    static const int STEPS[3] = {1, 3, 9};
    if (sp_surface_is_exterior(hexes->surfaces[e][f])) continue;
    for (int d = 0; d < 3; d++) {
      const double centre = xyz[d][13], face = xyz[d][13 + (f % 2 ? 1 : -1) * STEPS[f / 2]];
      a->x[d][lines] = centre + 0.999 * (face - centre);
      b->x[d][lines] = centre + 1.001 * (face - centre);
    }
    lines++;
  }
  return lines;
}

/* The difference along a line, in units of u. NaN if one is not finite. */
static double difference(const row *a, const row *b, int l, double size) {
  double square = 0;
  for (int d = 0; d < 3; d++) {
    const double slope = b->gradient[d][l] - a->gradient[d][l];
    square += slope * slope;
  }
  return size * sqrt(square) + fabs(b->u[l] - a->u[l]);
}

static double slope_of(const row *a, int l) {
  return sqrt(a->gradient[0][l] * a->gradient[0][l] + a->gradient[1][l] * a->gradient[1][l] +
              a->gradient[2][l] * a->gradient[2][l]);
}

static void copy_point(const row *from, int l, row *to) {
  for (int d = 0; d < 3; d++) {
    to->x[d][l] = from->x[d][l];
    to->gradient[d][l] = from->gradient[d][l];
  }
  to->u[l] = from->u[l];
}

/* Where kappa may jump, a kink may be right. */
static bool may_have_kink(const sp_material *m) {
  return m->solution && !sp_expression_is_smooth(m->solution) &&
         !sp_material_rough_kappa(m, sp_expression_is_smooth);
}

/* Halve each line HALVINGS times, and keep the half with the larger difference. */
static sp_status search_element(const sp_problem *problem, const sp_hexes *hexes, sp_lid e,
                                sp_kink *kink) {
  const sp_material *material = sp_materials_of(&problem->materials, hexes, e);
  const sp_expression *solution = material->solution;
  row a, b, middle;
  double size;
  if (!may_have_kink(material)) return SP_OK;
  const int lines = find_lines(problem, hexes, e, &a, &b, &size);
  SP_TRY(evaluate(solution, lines, &a));
  SP_TRY(evaluate(solution, lines, &b));
  for (int l = 0; l < lines; l++)
    kink->scale = fmax(kink->scale, fmax(difference(&a, &b, l, size), size * slope_of(&a, l)));
  for (int step = 0; step < HALVINGS; step++) {
    for (int d = 0; d < 3; d++)
      for (int l = 0; l < lines; l++) middle.x[d][l] = a.x[d][l] + (b.x[d][l] - a.x[d][l]) / 2;
    SP_TRY(evaluate(solution, lines, &middle));
    for (int l = 0; l < lines; l++)
      copy_point(&middle, l,
                 difference(&a, &middle, l, size) > difference(&middle, &b, l, size) ? &b : &a);
  }
  for (int l = 0; l < lines; l++) {
    const double jump = difference(&a, &b, l, size);
    if (!(jump > kink->jump)) continue;
    kink->jump = jump;
    for (int d = 0; d < 3; d++) kink->at[d] = b.x[d][l];
  }
  return SP_OK;
}

static sp_status search(const sp_problem *problem, const sp_hexes *hexes, sp_kink *kink) {
  for (sp_lid i = 0; i < hexes->count && i < SAMPLES; i++) {
    const uint64_t draw = sp_hash((uint64_t)i) % (uint64_t)hexes->count;
    SP_TRY(search_element(problem, hexes, hexes->count <= SAMPLES ? i : (sp_lid)draw, kink));
  }
  return SP_OK;
}

sp_status sp_problem_find_kink(const sp_problem *problem, const sp_mesh *mesh, sp_kink *out) {
  struct {
    double size;
    int rank;
  } most = {.rank = sp_comm_rank(mesh->comm)};
  *out = (sp_kink){0};
  SP_TRY(sp_agree(mesh->comm, search(problem, mesh->hexes, out)));
  most.size = out->jump;
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, mesh->comm);
  MPI_Allreduce(MPI_IN_PLACE, &out->scale, 1, MPI_DOUBLE, MPI_MAX, mesh->comm);
  MPI_Bcast(out->at, 3, MPI_DOUBLE, most.rank, mesh->comm);
  out->jump = most.size;
  return SP_OK;
}
