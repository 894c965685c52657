#include "solver/run/report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "io/team.h"
#include "mesh/box.h"
#include "mesh/divide.h"
#include "mesh/gmsh.h"
#include "solver/case/config.h"
#include "solver/problem/groups.h"
#include "solver/problem/materials.h"
#include "solver/run/precondition.h"

void sp_report_note(sp_report *report, const char *name, const char *format, ...) {
  char text[1000];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  sp_terminal_print(report->terminal, "  %-16s %s\n", "note", text);
  if (name) sp_record_text(report->record, name, text);
}

/* Between the lines of a note. */
#define NEXT_LINE "\n                   "

/* ---- Device ---- */

static void report_threads(const sp_workers *w, sp_terminal *terminal) {
  sp_terminal_print(terminal, "  %-16s %d", "threads", w->threads[0]);
  if (w->threads[1] > w->threads[0]) sp_terminal_print(terminal, " to %d", w->threads[1]);
  sp_terminal_print(terminal, " per rank");
  const bool on_host = w->platform.backend == &sp_backend_host;
  if (!on_host || w->team == 1)
    sp_terminal_print(terminal, ", in set-up and results");
  else if (w->team < w->threads[0])
    sp_terminal_print(terminal, ", %d of OpenMP in kernels", w->team);
  if (on_host && w->team > 1 && w->team > sp_team_processors())
    sp_terminal_print(terminal, "; they share %d processor%s (mpirun --bind-to none)",
                      sp_team_processors(), sp_plural(sp_team_processors()));
  /* On CPUs more ranks are better than more threads. */
  if (w->threads[0] == 1 && w->idle_cores > 0 && !on_host)
    sp_terminal_print(terminal, "; %d idle core%s (mpirun --bind-to none)", w->idle_cores,
                      sp_plural(w->idle_cores));
  sp_terminal_print(terminal, "\n");
}

void sp_report_device(const sp_workers *workers, sp_terminal *terminal) {
  const sp_platform *p = &workers->platform;
  sp_terminal_print(terminal, "  %-16s %s\n", "device", p->backend->describe(p->device));
  if (workers->count < workers->ranks)
    sp_terminal_print(terminal, "  %-16s %s\n", "ranks", workers->description);
  report_threads(workers, terminal);
}

/* ---- Materials ---- */

static void print_coefficient(sp_terminal *t, const char *name, double constant,
                              const sp_expression *formula) {
  if (formula)
    sp_terminal_print(t, ", %s = %s", name, formula->text);
  else
    sp_terminal_print(t, ", %s = %g", name, constant);
}

static void print_coefficients(sp_terminal *t, const sp_materials *all, const sp_material *m) {
  print_coefficient(t, "lambda", m->lambda, m->lambda_formula);
  if (m->tensor) {
    sp_terminal_print(t, ", kappa = (%s)", m->tensor->text->text);
    if (m->tensor->axes_text) sp_terminal_print(t, " along (%s)", m->tensor->axes_text->text);
  } else if (sp_materials_have_kappa(all))
    print_coefficient(t, "kappa", m->kappa, m->kappa_formula);
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

/* A formula of kappa, lambda or forcing of a material that may jump, else NULL. If f is derived
 * from the solution, it jumps where the derivative of kappa does. */
enum { FORMULAS = 3 };
static const sp_expression *jump_of(const sp_material *material, int which) {
  if (material->elements == 0) return NULL;
  if (which == 0)
    return sp_material_rough_kappa(material, material->forcing ? SP_KINKS : SP_SMOOTH);
  const sp_expression *formula = which == 1 ? material->lambda_formula : material->forcing;
  return formula && formula->regularity == SP_JUMPS ? formula : NULL;
}

/* With collocated quadrature the points on a face have one value for both of its elements. A line
 * of [problem] may be the formula of several materials; one note is enough. */
static void note_jumps(sp_report *report, const sp_materials *all) {
  for (int which = 0; which < FORMULAS; which++)
    for (int m = 0; m < all->count; m++) {
      const sp_expression *formula = jump_of(&all->list[m], which);
      bool skip = !formula;
      for (int before = 0; before < m && !skip; before++)
        skip = jump_of(&all->list[before], which) == formula;
      if (!skip)
        sp_report_note(report, NULL,
                       "%s may jump; at a jump between two elements both get one value: use "
                       "[material NAME]," NEXT_LINE "or operator = bp3.0 if jumps lie on faces",
                       formula->where);
    }
}

/* End the line `operator` with the coefficients of a case without [material] sections, or print a
 * line for each material, and notes: on elements that no section names, and for an operator with
 * collocated quadrature on formulas that may jump. */
static void report_materials(sp_report *report, const sp_operator_row *row,
                             const sp_materials *materials) {
  sp_terminal *t = report->terminal;
  const sp_config *config = report->config;
  if (row->has_stiffness && config->materials.count == 0)
    print_coefficients(t, materials, &materials->list[materials->count - 1]);
  sp_terminal_print(t, "\n");
  print_materials(t, config, materials, row->has_stiffness);
  if (row->collocated) note_jumps(report, materials);
}

/* ---- Sizes ---- */

static const char *mesh_name(const sp_config *config) {
  static const char *const boxes[] = {
      [SP_MAP_NONE] = "box", [SP_MAP_SINE] = "sine box", [SP_MAP_KERSHAW] = "Kershaw box"};
  return config->mesh.shape == SP_SHAPE_FILE ? config->mesh.file : boxes[config->mesh.map];
}

/* The preconditioner to try where `name` does not converge, NULL if that is the best one. */
static const char *better_preconditioner(sp_operator_kind kind, const char *name) {
  const char *best = sp_preconditioner_names[sp_precondition_best(kind)];
  return strcmp(best, name) == 0 ? NULL : best;
}

static void report_mesh(sp_report *report, const sp_mesh *mesh, bool has_boundary) {
  sp_terminal *t = report->terminal;
  const sp_config *config = report->config;
  const bool split = config->mesh.shape == SP_SHAPE_FILE && sp_gmsh_is_split(config->mesh.file);
  sp_terminal_print(t, "  %-16s %s%s, ", "mesh", mesh_name(config),
                    split ? ", one part a rank" : "");
  sp_record_print(report->record, t,
                  "{elements:d} element{elements?s}, |J| from {smallest_jacobian:.3g} to "
                  "{largest_jacobian:.3g}, scaled from {smallest_scaled_jacobian:.3g}\n");
  const sp_hexes_file *file = &mesh->hexes->file;
  if (file->left_out > 0)
    sp_report_note(report, NULL, "%lld volume element%s in no Physical Volume left out",
                   (long long)file->left_out, sp_plural(file->left_out));
  if (mesh->hexes->map_order > 4 && !mesh->shape.affine)
    sp_report_note(report, NULL,
                   "curved elements of order %d: gmsh may place their nodes so inaccurately that "
                   "errors" NEXT_LINE "grow; take Mesh.ElementOrder = 4 at most",
                   mesh->hexes->map_order);
  if (mesh->shape.quality < 0.01)
    sp_report_note(report, NULL, "elements are nearly flat; expect many more iterations");
  if (mesh->cut_columns > 0)
    sp_report_note(report, NULL,
                   "ranks cut %lld column%s of thin elements; multigrid may take several times as "
                   "many" NEXT_LINE "iterations: use %s",
                   (long long)mesh->cut_columns, sp_plural(mesh->cut_columns),
                   split ? "the mesh before the split" : "fewer ranks");
  if (has_boundary && mesh->hexes->surface.group_count > 0 && mesh->unnamed_faces > 0)
    sp_report_note(report, NULL,
                   "the default condition applies to %lld exterior face%s in no group; a crack?",
                   (long long)mesh->unnamed_faces, sp_plural(mesh->unnamed_faces));
}

sp_status sp_report_setup(sp_report *report, const sp_operator *op, const char *geometry_reason,
                          const sp_preconditioner *preconditioner,
                          const char *preconditioner_reason, const sp_problem *problem,
                          const sp_jacobian_range *range) {
  const sp_config *config = report->config;
  sp_record *record = report->record;
  sp_terminal *t = report->terminal;
  char described[256] = "";
  if (preconditioner) preconditioner->describe(preconditioner, sizeof described, described);
  const sp_operator_row *row = &sp_operator_rows[op->kind];
  const char *name = preconditioner ? preconditioner->name : "none";
  report->flops = op->flops;
  report->bytes = op->bytes;
  report->dofs = (double)op->global_dofs;
  report->outcome.better = better_preconditioner(op->kind, name);
  report->outcome.cure = preconditioner ? preconditioner->cure : NULL;

  sp_record_add(record,
                "device %s, exchange %s, geometry %s, geometry_reason %s, solver %s, "
                "preconditioner %s, preconditioner_details %s, preconditioner_reason %s",
                op->backend->describe(op->device), op->space->transport,
                sp_geometry_names[op->geometry], geometry_reason,
                sp_cg_is_in_one_sweep(op, preconditioner) ? "CG in one sweep" : "CG", name,
                described, preconditioner_reason);
  sp_record_add(record,
                "elements %lld, order %d, dofs %lld, flops_per_matvec %g [1], "
                "bytes_per_matvec %g [B], smallest_jacobian %g [1], largest_jacobian %g [1], "
                "smallest_scaled_jacobian %g [1]",
                (long long)op->space->mesh->global_elements, op->order, (long long)op->global_dofs,
                op->flops, op->bytes, range->smallest, range->largest,
                op->space->mesh->shape.quality);

  sp_report_device(report->workers, t);
  if (report->workers->count > 1) sp_record_print(record, t, "  exchange         {exchange:s}\n");
  report_mesh(report, op->space->mesh, row->has_boundary);
  sp_record_print(record, t, "  discretization   N = {order:d}, {dofs:d} degrees of freedom\n");
  sp_terminal_print(t, "  %-16s %s", "operator", sp_operator_names[op->kind]);
  report_materials(report, row, &problem->materials);
  sp_record_print(record, t,
                  "  geometry         {geometry:s}: {geometry_reason:s}\n"
                  "  solver           {solver:s}, tolerance {case.solver.tolerance:.3g} on the ");
  sp_terminal_print(t, "%s\n",
                    config->solver.criterion == SP_CG_ENERGY ? "error in the energy norm"
                                                             : "relative residual");
  sp_record_print(record, t,
                  "  preconditioner   {preconditioner:s}: {preconditioner_reason:s}\n"
                  "[                   {preconditioner_details:s}\n]");
  return SP_OK;
}

/* ---- Notes ---- */

static void note_magnification(sp_report *report, double magnification) {
  static const double WORTH_A_NOTE = 1e6;
  if (magnification == 0) return;
  sp_record_real(report->record, "mean_magnification", magnification, "1");
  if (magnification > WORTH_A_NOTE)
    sp_report_note(report, NULL,
                   "lambda and alpha alone determine the mean of the solution: errors of the "
                   "data" NEXT_LINE "(quadrature, rounding) count there up to %.0e-fold",
                   magnification);
}

static void note_interfaces(sp_report *report, const sp_interface_jumps *jumps) {
  /* An interface of curved elements is not exactly the one that the formulas are made for. */
  static const double WORTH_A_NOTE = 1e-4;
  if (jumps->solution <= WORTH_A_NOTE * jumps->solution_size &&
      jumps->flux <= WORTH_A_NOTE * jumps->flux_size)
    return;
  sp_report_note(
      report, NULL,
      "between materials%s the exact solution jumps by up to %.1e, its kappa du/dn by up "
      "to %.1e:" NEXT_LINE "it does not solve this problem, and errors do not vanish",
      jumps->periodic ? " or periodic faces" : "", jumps->solution, jumps->flux);
}

static void note_parts(sp_report *report, const sp_notes *notes) {
  const bool edges = notes->pinched > 0;
  const sp_gid count = edges ? notes->pinched : notes->tied;
  if (notes->parts > 1)
    sp_report_note(report, NULL, "the mesh has %d parts that share no nodes", notes->parts);
  if (count > 0)
    sp_report_note(report, "note_pinched",
                   "parts of the mesh touch %s %lld %s%s only: what flows there depends on "
                   "the" NEXT_LINE "mesh, and is missing in the heat of materials",
                   edges ? "along" : "at", (long long)count, edges ? "edge" : "node",
                   sp_plural(count));
}

/* "4 of 8 of 'chip', 1 of 2 of 'pin'": lost faces of groups. */
static void list_lost(const sp_family *surfaces, size_t size, char *text) {
  size_t used = 0;
  text[0] = '\0';
  for (int g = 0; g < surfaces->group_count && used < size - 1; g++) {
    char name[100];
    sp_group *group = &surfaces->groups[g];
    if (group->lost == 0) continue;
    sp_groups_list(&(sp_family){.group_count = 1, .groups = group}, NULL, sizeof name, name);
    used += (size_t)snprintf(text + used, size - used, "%s%lld of %lld of '%s'", used ? ", " : "",
                             (long long)group->lost, (long long)group->listed, name);
  }
}

void sp_report_fit(sp_report *report, const sp_hexes *hexes) {
  const sp_hexes_file *file = &hexes->file;
  const bool mixed = file->divided[SP_TETRAHEDRON] > 0 && file->divided[SP_HEXAHEDRON] > 0;
  char lost[400];
  list_lost(&hexes->surface, sizeof lost, lost);
  if (lost[0])
    sp_report_note(report, "note_lost",
                   "surface elements that are faces of no element, so conditions miss them: %s",
                   lost);
  if (file->misfits > 0)
    sp_report_note(report, "note_misfits",
                   "%lld exterior face%s on others with other corners: nothing flows through "
                   "them, or only" NEXT_LINE "at common nodes (%s)",
                   (long long)file->misfits, file->misfits == 1 ? " lies" : "s lie",
                   mixed ? "hexahedra on tetrahedra, without pyramids: take Recombine and "
                           "Transfinite off their volumes"
                         : "hanging nodes: mesh volumes that touch in one run of gmsh, with "
                           "Coherence or BooleanFragments");
  if (file->coincident > 0)
    sp_report_note(report, "note_coincident",
                   "%lld pair%s of exterior faces coincide, and nothing flows through "
                   "them (gmsh: merge" NEXT_LINE "the parts with Coherence or BooleanFragments)",
                   (long long)file->coincident, sp_plural(file->coincident));
  if (file->turned > 0)
    sp_report_note(report, "note_turned",
                   "all %lld elements of the file are left-handed, as in a mirrored mesh: turned",
                   (long long)file->turned);
}

/* Without a line for any group the default is the condition of the whole boundary. */
static void note_default(sp_report *report, const sp_problem *problem, const sp_hexes *hexes) {
  char names[400];
  if (problem->part_count < 2) return;
  sp_groups_list(&hexes->surface, problem->groups_by_default, sizeof names, names);
  if (names[0])
    sp_report_note(report, NULL,
                   "no line of [boundary] names these groups, they take default = %s: %s",
                   sp_condition_names[problem->parts[problem->part_count - 1].condition], names);
}

static void note_constants(sp_report *report, const sp_scope *scope) {
  for (int i = 0; i < scope->count; i++)
    if (!scope->constants[i].used)
      sp_report_note(report, NULL, "no formula uses constants.%s", scope->constants[i].name);
}

static void note_divided(sp_report *report, const sp_hexes_file *file) {
  static const struct {
    const char *one, *many;
    int hexahedra;
  } shapes[SP_CELL_SHAPES] = {[SP_TETRAHEDRON] = {"tetrahedron", "tetrahedra", 4},
                              [SP_PRISM] = {"prism", "prisms", 6},
                              [SP_HEXAHEDRON] = {"hexahedron", "hexahedra", 8}};
  char text[200] = "";
  size_t used = 0;
  sp_gid hexahedra = 0;
  for (int s = 0; s < SP_CELL_SHAPES; s++) {
    const sp_gid count = file->divided[s];
    hexahedra += count * shapes[s].hexahedra;
    if (count > 0)
      used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld %s", used ? ", " : "",
                               (long long)count, count == 1 ? shapes[s].one : shapes[s].many);
  }
  if (hexahedra > 0)
    sp_report_note(report, "note_divided", "%s divided into %lld hexahedra", text,
                   (long long)hexahedra);
}

static void note_source(sp_report *report, const sp_source_integral *source) {
  static const double WORTH_A_NOTE = 0.01;
  if (fabs(source->excess) <= WORTH_A_NOTE * source->size) return;
  sp_report_note(report, "note_source",
                 "the integral of f is %.4g by the operator's quadrature, %.4g with %d points per "
                 "direction: f varies within elements; refine there, or raise the order",
                 source->own, source->own + source->excess, source->points);
}

/* A solution whose formula may have a kink that kappa does not explain. */
static void note_kink(sp_report *report, const sp_materials *all) {
  for (int m = 0; m < all->count; m++) {
    const sp_expression *solution = all->list[m].elements > 0 ? all->list[m].solution : NULL;
    if (!solution || solution->regularity == SP_SMOOTH ||
        sp_material_rough_kappa(&all->list[m], SP_SMOOTH))
      continue;
    sp_report_note(report, "note_kink",
                   "%s or its derivative may jump: unless this is between materials, data that "
                   "follow from it miss what is concentrated there, errors and rates mislead",
                   solution->where);
    return;
  }
}

static void note_jump(sp_report *report, const sp_problem *problem, const sp_data_jump *jump) {
  /* sin(pi) is no jump from 0. */
  static const double ROUNDING = 1e-8, ROUNDING_OF_ZERO = 1e-14;
  if (jump->size <= ROUNDING * jump->largest + ROUNDING_OF_ZERO) return;
  sp_report_note(
      report, "note_boundary",
      "Dirichlet values differ by up to %.4g where '%.200s' and '%.200s' meet: the first gives "
      "the value, and near there errors fall slowly",
      jump->size, problem->parts[jump->parts[0]].group, problem->parts[jump->parts[1]].group);
}

void sp_report_notes(sp_report *report, const sp_problem *problem, const sp_hexes *hexes,
                     const sp_notes *notes) {
  note_interfaces(report, &notes->jumps);
  note_divided(report, &hexes->file);
  sp_report_fit(report, hexes);
  note_parts(report, notes);
  note_constants(report, notes->scope);
  note_default(report, problem, hexes);
  note_source(report, &notes->source);
  note_kink(report, &problem->materials);
  note_jump(report, problem, &notes->jump);
  note_magnification(report, notes->magnification);
}
