#include "solver/run/report_materials.h"

static void print_coefficient(sp_terminal *t, const char *name, double constant,
                              const sp_expression *formula) {
  if (formula)
    sp_terminal_print(t, ", %s = %s", name, sp_expression_text(formula));
  else
    sp_terminal_print(t, ", %s = %g", name, constant);
}

static void print_coefficients(sp_terminal *t, const sp_materials *all, const sp_material *m) {
  print_coefficient(t, "lambda", m->lambda, m->lambda_formula);
  if (sp_materials_have_kappa(all)) print_coefficient(t, "kappa", m->kappa, m->kappa_formula);
}

/* A line for each section, and a note on the elements that none names. */
static void print_materials(sp_terminal *t, const sp_config *config, const sp_materials *all,
                            bool coefficients) {
  for (int m = 0; m < all->count && config->materials.count > 0; m++) {
    const sp_material *material = &all->list[m];
    const char *plural = sp_plural(material->elements);
    if (material->elements == 0) continue;
    if (material->name)
      sp_terminal_print(t, "  %-16s %s, %lld element%s", "material", material->name,
                        (long long)material->elements, plural);
    else
      sp_terminal_print(t, "  %-16s %lld element%s in no [material]: as in [problem]", "note",
                        (long long)material->elements, plural);
    if (coefficients) print_coefficients(t, all, material);
    sp_terminal_print(t, "\n");
  }
}

/* kappa, lambda and forcing of a material, NULL where there is no formula or no element. */
enum { FORMULAS = 3 };
static const sp_expression *formula_of(const sp_material *material, int which) {
  const sp_expression *const formulas[FORMULAS] = {material->kappa_formula,
                                                   material->lambda_formula, material->forcing};
  return material->elements > 0 ? formulas[which] : NULL;
}

/* With collocated quadrature the points on a face have one value for both of its elements. A line
 * of [problem] may be the formula of several materials; one note is enough. */
static void note_jumps(sp_terminal *t, const sp_materials *all) {
  for (int which = 0; which < FORMULAS; which++)
    for (int m = 0; m < all->count; m++) {
      const sp_expression *formula = formula_of(&all->list[m], which);
      bool skip = !formula || sp_expression_is_smooth(formula);
      for (int before = 0; before < m && !skip; before++) {
        const sp_expression *other = formula_of(&all->list[before], which);
        skip = other == formula;
      }
      if (!skip)
        sp_terminal_print(
            t,
            "  %-16s %s may jump; at a jump between two elements both get one value: "
            "use [material NAME],\n  %-16s or operator = bp3.0 if jumps lie on faces\n",
            "note", sp_expression_where(formula), "");
    }
}

void sp_report_materials(sp_terminal *t, const sp_config *config, const sp_operator_row *row,
                         const sp_materials *materials) {
  if (row->has_stiffness && config->materials.count == 0)
    print_coefficients(t, materials, &materials->list[0]);
  sp_terminal_print(t, "\n");
  print_materials(t, config, materials, row->has_stiffness);
  if (row->collocated) note_jumps(t, materials);
}
