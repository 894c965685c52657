#include "solver/results/result_types.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/ini.h"
#include "solver/results/quantities.h"

static double square(double v) {
  return v * v;
}

static double divide_by_size(double sum, double size) {
  return sum / size;
}

static double root_of_sum(double sum, double size) {
  (void)size;
  return sqrt(sum);
}

/* ---- Of other results ---- */

static const double ROUNDING = 1e-12;

bool sp_quantities_differ(const sp_quantities *quantities, const sp_quantity *resistance) {
  const sp_quantity *part = &quantities->list[resistance->parts];
  return fabs(part[0].value - part[1].value) >
         ROUNDING * fmax(fabs(part[0].value), fabs(part[1].value));
}

const char *sp_quantities_heat(const sp_quantities *quantities, const sp_quantity *q, size_t size,
                               char *text) {
  const sp_quantity *part = &quantities->list[q->parts], *flux = &part[2];
  if (!q->type->of_pair)
    text[0] = '\0';
  else if (flux->type->through)
    snprintf(text, size, "%s %s",
             flux->crosses                  ? "through"
             : flux->group == part[1].group ? "out of"
                                            : "into",
             flux->group);
  else
    snprintf(text, size, "of %s", q->heat_of);
  return text;
}

/* The heat of a resistance, if it is one of its parts or a result. */
static double find_heat(const sp_quantities *quantities, const sp_quantity *q) {
  const sp_quantity *part = &quantities->list[q->parts], *flux = &part[2];
  if (q->by_result >= 0) return quantities->list[q->by_result].value;
  if (!flux->type->through) return q->size;
  if (flux->crosses) return copysign(flux->value, part[0].value - part[1].value);
  return flux->group == part[1].group ? flux->value : -flux->value;
}

/* NaN if the heat, or without sources the difference, is zero to the accuracy of solver and
 * rounding. */
static double divide_by_heat(const sp_quantities *quantities, const sp_balance *balance,
                             sp_quantity *q) {
  const sp_quantity *part = &quantities->list[q->parts];
  q->size = find_heat(quantities, q);
  const bool flows = fabs(q->size) > fmax(quantities->tolerance, ROUNDING) * balance->largest;
  return flows && (sp_quantities_differ(quantities, q) || balance->data > 0)
             ? (part[0].value - part[1].value) / q->size
             : NAN;
}

double sp_quantities_formula(const sp_expression *formula) {
  static const double zero = 0, *const origin[3] = {&zero, &zero, &zero};
  double value;
  return sp_expression_evaluate(formula, 1, origin, NULL, &value, NULL, NULL) ? NAN : value;
}

static double evaluate_formula(const sp_quantities *quantities, const sp_balance *balance,
                               sp_quantity *q) {
  (void)quantities, (void)balance;
  return sp_quantities_formula(q->formula);
}

/* ---- Table ---- */

#define OF_FORMULA(word)                                                                           \
  .name = word, .usage = word " [of FORMULA] [over GROUP]", .takes_formula = true,                 \
  .unit = SP_TEMPERATURE
const sp_result_type sp_result_types[] = {
    {OF_FORMULA("integral"), .of_size = 1},
    {OF_FORMULA("average"), .value = divide_by_size},
    {OF_FORMULA("minimum"), .sign = 1},
    {OF_FORMULA("maximum"), .sign = -1},
    {OF_FORMULA("norm"), .summand = square, .value = root_of_sum, .of_size = 0.5},
    {"resistance", "resistance over GROUP, OTHER [by SOURCE]", .of_pair = true, .unit = {1, 0, -1},
     .combine = divide_by_heat},
    {"flux", "flux over GROUP", .through = true, .unit = SP_POWER},
    {"formula", "FORMULA of probes, results above and constants", .of_results = true,
     .combine = evaluate_formula},
    {0}};

const sp_result_type *sp_result_type_of(const char *text) {
  const size_t length = strcspn(text, SP_INI_SPACE);
  for (const sp_result_type *type = sp_result_types; type->name; type++)
    if (strlen(type->name) == length && memcmp(type->name, text, length) == 0) return type;
  return NULL;
}
