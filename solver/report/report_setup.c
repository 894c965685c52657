#include "solver/report/report.h"

#include <stdio.h>
#include <string.h>

#include "io/team.h"
#include "mesh/box.h"
#include "mesh/gmsh/gmsh.h"
#include "solver/config/config.h"
#include "solver/problem/materials.h"
#include "solver/solve/precondition.h"

/* ---- Notes ---- */

/* The numbers as an object, which is a text in the log: "edges = 3, parts = 2". */
static void record_note(sp_record *record, const sp_note *note) {
  char text[256] = "";
  size_t used = 0;
  sp_record_open(record, SP_RECORD_ROW, NULL);
  sp_record_add(record, "name %s, text %s", note->name, note->text);
  sp_record_open(record, SP_RECORD_OBJECT, "numbers");
  for (int i = 0; i < note->count; i++) {
    const char *name = note->numbers[i].name;
    const double value = note->numbers[i].value;
    sp_record_real(record, name, value, NULL);
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s = %.12g", i ? ", " : "", name,
                             value);
  }
  sp_record_log_text(record, text);
  sp_record_close(record);
  sp_record_close(record);
}

const sp_note *sp_report_note(const sp_report *report, const char *name) {
  for (const sp_note *note = report->notes; note < report->notes + report->note_count; note++)
    if (strcmp(note->name, name) == 0) return note;
  return NULL;
}

void sp_report_find_notes(sp_report *report, const sp_note_facts *facts) {
  const int count = facts->problem ? SP_NOTES : facts->config ? SP_NOTES_OF_MESH : SP_NOTES_OF_FIT;
  sp_record_open(report->record, SP_RECORD_TABLE, "notes");
  for (const sp_note_type *type = sp_note_types; type < sp_note_types + count; type++) {
    if (sp_report_note(report, type->name)) continue;
    sp_note *note = &report->notes[report->note_count];
    *note = (sp_note){.name = type->name};
    if (!type->find(facts, note)) continue;
    report->note_count++;
    record_note(report->record, note);
  }
  sp_record_close(report->record);
}

void sp_report_print_notes(sp_report *report) {
  for (; report->notes_printed < report->note_count; report->notes_printed++)
    sp_terminal_print(report->terminal, "  %-16s %s\n", "note",
                      report->notes[report->notes_printed].text);
}

/* ---- Device ---- */

static void report_threads(const sp_workers *w, sp_terminal *terminal) {
  sp_terminal_print(terminal, "  %-16s %d", "threads", w->threads[0]);
  if (w->threads[1] > w->threads[0]) sp_terminal_print(terminal, " to %d", w->threads[1]);
  sp_terminal_print(terminal, " per rank");
  const bool on_host = w->platform.backend->on_host;
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

static void print_coefficient(sp_terminal *t, const char *name, const sp_material_coefficient *c) {
  if (c->formula)
    sp_terminal_print(t, ", %s = %s", name, c->formula->text);
  else
    sp_terminal_print(t, ", %s = %g", name, c->value);
}

static void print_coefficients(sp_terminal *t, const sp_materials *all, const sp_material *m) {
  print_coefficient(t, "lambda", &m->of[SP_LAMBDA]);
  if (m->tensor) {
    sp_terminal_print(t, ", kappa = (%s)", m->tensor->text->text);
    if (m->tensor->axes_text) sp_terminal_print(t, " along (%s)", m->tensor->axes_text->text);
  } else if (all->have_kappa)
    print_coefficient(t, "kappa", &m->of[SP_KAPPA]);
}

/* End the line `operator` with the coefficients of a case without [material] sections, or print a
 * line for each material. */
static void print_materials(sp_terminal *t, const sp_config *config, const sp_operator_row *row,
                            const sp_materials *all) {
  const bool sections = config->statement.materials.count > 0;
  if (row->has_stiffness && !sections) print_coefficients(t, all, &all->list[all->count - 1]);
  sp_terminal_print(t, "\n");
  for (int m = 0; m < all->count && sections; m++) {
    const sp_material *material = &all->list[m];
    if (material->elements == 0) continue;
    sp_terminal_print(t, "  %-16s %s, %lld element%s", "material",
                      material->name ? material->name : "[problem]", (long long)material->elements,
                      sp_plural(material->elements));
    if (row->has_stiffness) print_coefficients(t, all, material);
    sp_terminal_print(t, "\n");
  }
}

/* ---- Sizes ---- */

static const char *mesh_name(const sp_config *config) {
  static const char *const boxes[] = {
      [SP_MAP_NONE] = "box", [SP_MAP_SINE] = "sine box", [SP_MAP_KERSHAW] = "Kershaw box"};
  return config->mesh.shape == SP_SHAPE_FILE ? config->mesh.file : boxes[config->mesh.box.map];
}

/* Record the identity of a mesh file, and print the size of a geometry from CAD. */
static void report_file(sp_report *report, const sp_hexes_file *file) {
  char hash[24];
  const char *unit = sp_gmsh_unit(report->config->mesh.file);
  const double *extent = file->cad.extent;
  snprintf(hash, sizeof hash, "%016llx", (unsigned long long)file->hash);
  sp_record_text(report->record, "mesh_hash", hash);
  if (!*unit) return;
  sp_record_add(report->record, "unit_read %s, extent_x %g [m], extent_y %g [m], extent_z %g [m]",
                unit, 1e-3 * extent[0], 1e-3 * extent[1], 1e-3 * extent[2]);
  sp_terminal_print(report->terminal, "  %-16s %.4g x %.4g x %.4g m, read in %s\n", "extent",
                    1e-3 * extent[0], 1e-3 * extent[1], 1e-3 * extent[2], unit);
}

static void report_mesh(sp_report *report, const sp_hexes_file *file) {
  sp_terminal *t = report->terminal;
  const sp_config *config = report->config;
  const bool split = config->mesh.shape == SP_SHAPE_FILE && sp_gmsh_is_split(config->mesh.file);
  sp_terminal_print(t, "  %-16s %s%s, ", "mesh", mesh_name(config),
                    split ? ", one part a rank" : "");
  sp_record_print(report->record, t,
                  "{elements:d} element{elements?s}, |J| from {smallest_jacobian:.3g} to "
                  "{largest_jacobian:.3g}, scaled from {smallest_scaled_jacobian:.3g}\n");
  if (config->mesh.shape == SP_SHAPE_FILE) report_file(report, file);
}

void sp_report_setup(sp_report *report, const sp_solver *solver) {
  const sp_config *config = report->config;
  sp_record *record = report->record;
  sp_terminal *t = report->terminal;
  const sp_operator *op = solver->system->op;
  const sp_preconditioner *preconditioner = solver->preconditioner;
  char described[256] = "";
  if (preconditioner) preconditioner->describe(preconditioner, sizeof described, described);
  const sp_operator_row *row = &sp_operator_rows[op->kind];
  const char *name = preconditioner ? preconditioner->name : "none";
  report->flops = op->flops;
  report->bytes = op->bytes;
  report->dofs = (double)op->global_dofs;
  const char *best = sp_preconditioner_names[sp_precondition_best(op->kind)];
  report->outcome.better = strcmp(best, name) == 0 ? NULL : best;
  report->outcome.cure = preconditioner ? preconditioner->cure : NULL;

  sp_record_add(record,
                "device %s, exchange %s, geometry %s, geometry_reason %s, solver %s, "
                "preconditioner %s, preconditioner_details %s, preconditioner_reason %s",
                op->backend->describe(op->device), op->space->transport,
                sp_geometry_names[op->geometry], solver->facts.geometry_reason,
                sp_cg_is_in_one_sweep(op, preconditioner) ? "CG in one sweep" : "CG", name,
                described, solver->kind_reason);
  sp_record_add(record,
                "elements %lld, order %d, dofs %lld, flops_per_matvec %g [1], "
                "bytes_per_matvec %g [B], smallest_jacobian %g [1], largest_jacobian %g [1], "
                "smallest_scaled_jacobian %g [1]",
                (long long)op->space->mesh->global_elements, op->order, (long long)op->global_dofs,
                op->flops, op->bytes, solver->range.smallest, solver->range.largest,
                op->space->mesh->shape.quality);

  sp_report_device(report->workers, t);
  if (report->workers->count > 1) sp_record_print(record, t, "  exchange         {exchange:s}\n");
  report_mesh(report, &op->space->mesh->hexes->file);
  sp_record_print(record, t, "  discretization   N = {order:d}, {dofs:d} degrees of freedom\n");
  sp_terminal_print(t, "  %-16s %s", "operator", sp_operator_names[op->kind]);
  print_materials(t, config, row, &solver->problem->materials);
  sp_record_print(record, t,
                  "  geometry         {geometry:s}: {geometry_reason:s}\n"
                  "  solver           {solver:s}, tolerance {case.solver.tolerance:.3g} on the ");
  sp_terminal_print(t, "%s\n",
                    config->solver.criterion == SP_CG_ENERGY ? "error in the energy norm"
                                                             : "relative residual");
  sp_record_print(record, t,
                  "  preconditioner   {preconditioner:s}: {preconditioner_reason:s}\n"
                  "[                   {preconditioner_details:s}\n]");
  if (solver->facts.weak)
    sp_record_real(record, "mean_magnification", solver->facts.weak->magnification, "1");
}
