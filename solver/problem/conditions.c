#include "solver/problem/conditions.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "mesh/geometry.h"
#include "operators/counts.h"
#include "solver/problem/evaluate.h"
#include "solver/problem/problem.h"
#include "solver/problem/statement.h"

enum { POINTS = (SP_MAX_NQ + 1) * (SP_MAX_NQ + 1) }; /* of a face, at most */

static sp_status neumann_terms(const sp_boundary_part *part, size_t n, const double *xyz[3],
                               const double *u, double *alpha, double *g) {
  for (size_t q = 0; q < n && alpha; q++) alpha[q] = 0;
  return g && part->formula ? sp_problem_evaluate(part->formula, n, xyz, u, g, NULL, NULL) : SP_OK;
}

/* Formulas of u begin at u = 0. */
static sp_status robin_terms(const sp_boundary_part *part, size_t n, const double *xyz[3],
                             const double *u, double *alpha, double *g) {
  static const double zeros[POINTS];
  if (!u) u = zeros;
  SP_TRY(neumann_terms(part, n, xyz, u, NULL, g));
  if (!alpha) return SP_OK;
  return sp_problem_evaluate_coefficient(part->coefficients[0], true, n, xyz, u, alpha, NULL);
}

static sp_status source_terms(const sp_boundary_part *part, size_t n, const double *xyz[3],
                              const double *u, double *alpha, double *g) {
  (void)u;
  for (size_t q = 0; q < n && alpha; q++) alpha[q] = 0;
  if (!g) return SP_OK;
  SP_TRY(sp_problem_evaluate(part->coefficients[0], n, xyz, NULL, g, NULL, NULL));
  for (size_t q = 0; q < n; q++) g[q] /= part->area;
  return SP_OK;
}

/* Newton's linearization of q = eps sigma (T^4 - A^4), T = u + offset, A = ambient + offset. It
 * begins at u = ambient, but not where its slope, with T^3, would leave the mean of u nearly free:
 * from 200 K the sequence goes down to colder solutions by a quarter per step. */
static sp_status radiation_terms(const sp_boundary_part *part, size_t n, const double *xyz[3],
                                 const double *u, double *alpha, double *g) {
  static const double SIGMA = 5.670374419e-8; /* W/(m^2 K^4), CODATA 2018 */
  static const double LEAST_START = 200;      /* K */
  double eps[POINTS], ambient[POINTS], offset[POINTS];
  SP_TRY(sp_problem_evaluate_coefficient(part->coefficients[0], true, n, xyz, NULL, eps, NULL));
  SP_TRY(sp_problem_evaluate(part->coefficients[1], n, xyz, NULL, ambient, NULL, NULL));
  for (size_t q = 0; q < n; q++) offset[q] = 0;
  if (part->formula) SP_TRY(sp_problem_evaluate(part->formula, n, xyz, NULL, offset, NULL, NULL));
  for (size_t q = 0; q < n; q++) {
    const double at = u ? u[q] : fmax(ambient[q], LEAST_START - offset[q]);
    const double t = fmax(at + offset[q], 0), a = ambient[q] + offset[q];
    const double slope = 4 * eps[q] * SIGMA * t * t * t;
    if (eps[q] > 1)
      return sp_problem_refuse(part->coefficients[0], eps[q], xyz, q, "an emissivity up to 1");
    if (a < 0)
      return sp_problem_refuse(part->coefficients[1], ambient[q], xyz, q,
                               "a temperature above absolute zero");
    if (alpha) alpha[q] = slope;
    if (g) g[q] = slope * at - eps[q] * SIGMA * (t * t + a * a) * (t + a) * (t - a);
  }
  return SP_OK;
}

static sp_status check_radiation(const sp_boundary_entry *entry) {
  const sp_formula *eps = &entry->coefficients[0], *ambient = &entry->coefficients[1];
  const sp_formula *offset = &entry->formula;
  if (eps->expression->is_constant && !(eps->value >= 0 && eps->value <= 1))
    return sp_fail(SP_ERR_INPUT, "%s: expected an emissivity from 0 to 1, found '%s'", eps->where,
                   eps->text);
  if (offset->text && !offset->expression->is_constant)
    return sp_fail(SP_ERR_INPUT, "%s: expected a number, 273.15 for degrees C, found '%s'",
                   offset->where, offset->text);
  if (!ambient->expression->is_constant || ambient->value + offset->value >= 0) return SP_OK;
  return sp_fail(
      SP_ERR_INPUT,
      "%s: expected a temperature above absolute zero, found '%s'; for degrees C give the "
      "offset 273.15",
      ambient->where, ambient->text);
}

static sp_status check_source(const sp_boundary_entry *entry) {
  return sp_statement_check_total(&entry->coefficients[0]);
}

static sp_status check_contact(const sp_boundary_entry *entry) {
  static const double LEAST = 1e-12, MOST = 1e12;
  const sp_formula *r = &entry->coefficients[0];
  if (!r->expression->is_constant || (r->value >= LEAST && r->value <= MOST)) return SP_OK;
  return sp_fail(SP_ERR_INPUT, "%s: expected a resistance from %g to %g, found '%s'", r->where,
                 LEAST, MOST, r->text);
}

#define COEFFICIENT(name) .coefficients = {name}
const sp_condition_type sp_condition_types[] = {
    {"dirichlet", "dirichlet [G]", NULL, SP_ON_INNER | SP_ON_VOLUMES | SP_ON_DEFAULT,
     .fixes_u = true, .data = "g"},
    {"neumann", "neumann [G]", NULL, SP_ON_DEFAULT, .data = "g", .terms = neumann_terms},
    {"robin", "robin ALPHA[, G]", "kappa du/dn + ALPHA u = G", SP_ON_DEFAULT, COEFFICIENT("alpha"),
     .data = "g", .takes_u = true, .has_alpha = true, .terms = robin_terms},
    {"radiation", "radiation EPS, T_AMBIENT[, OFFSET]",
     "kappa du/dn = EPS sigma ((T_AMBIENT + OFFSET)^4 - (u + OFFSET)^4)", SP_ON_DEFAULT,
     .coefficients = {"eps", "t_ambient"}, .data = "offset", .no_solution = true, .of_u = true,
     .in_kelvin = true, .has_alpha = true, .check = check_radiation, .terms = radiation_terms},
    {"periodic", "periodic OTHER", .joins = true},
    {"source", "source Q", "the heat that enters there in all", SP_ON_INNER, COEFFICIENT("q"),
     .by_area = true, .check = check_source, .terms = source_terms},
    {"contact", "contact R", "a resistance times area", SP_ON_INNER, .inserts = true,
     COEFFICIENT("r"), .check = check_contact},
    {0}};

static bool is_at(const sp_condition_type *type, unsigned place) {
  return (type->places & place) == place;
}

const sp_condition_type *sp_condition_find(const char *name, size_t length, unsigned place) {
  for (const sp_condition_type *type = sp_condition_types; type->name; type++)
    if (strlen(type->name) == length && memcmp(type->name, name, length) == 0 && is_at(type, place))
      return type;
  return NULL;
}

void sp_condition_list(unsigned place, size_t size, char *text) {
  int count = 0, next = 0;
  size_t length = 0;
  for (const sp_condition_type *type = sp_condition_types; type->name; type++)
    count += is_at(type, place);
  for (const sp_condition_type *type = sp_condition_types; type->name && length < size; type++) {
    if (!is_at(type, place)) continue;
    const char *separator = next == 0 ? "" : next + 1 < count ? ", " : " or ";
    length += (size_t)snprintf(text + length, size - length, "%s%s", separator, type->name);
    next++;
  }
}

/* g = kappa du/dn + alpha u, times the surface element. */
static sp_status derive_data(const sp_face_points *face, const double *alpha, double *g) {
  const sp_material *material = face->material;
  const size_t n = face->n;
  const double *normal = face->normal;
  double kappa[POINTS], x[POINTS], y[POINTS], z[POINTS], *const slopes[3] = {x, y, z};
  if (sp_coefficient_is_of_u(material, SP_KAPPA))
    return sp_fail(SP_ERR_INPUT,
                   "%s: kappa depends on u, so its fluxes are not derived from the "
                   "solution; give G of each condition",
                   material->of[SP_KAPPA].formula->where);
  SP_TRY(sp_problem_evaluate(material->solution, n, face->xyz, NULL, g, slopes, NULL));
  SP_TRY(sp_material_conduct(material, n, face->xyz, kappa, 1, slopes));
  for (size_t q = 0; q < n; q++)
    g[q] = alpha[q] * g[q] * sp_geometry_area(normal, (int)n, (int)q) +
           kappa[q] * (x[q] * normal[q] + y[q] * normal[n + q] + z[q] * normal[2 * n + q]);
  return SP_OK;
}

sp_status sp_condition_evaluate(const sp_boundary_part *part, const sp_face_points *face,
                                const double *u, double *alpha, double *g) {
  const size_t n = face->n;
  double own[POINTS];
  const bool derived = g && part->type->data && !part->type->no_solution && !part->formula;
  if (derived && !alpha) alpha = own;
  SP_TRY(part->type->terms(part, n, face->xyz, u, alpha, g));
  if (derived) SP_TRY(derive_data(face, alpha, g));
  for (size_t q = 0; q < n; q++) {
    const double area = sp_geometry_area(face->normal, (int)n, (int)q);
    if (alpha) alpha[q] *= area;
    if (g && !derived) g[q] *= area;
  }
  return SP_OK;
}
