#include "solver/report/notes.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "mesh/divide.h"
#include "mesh/gmsh/gmsh.h"
#include "operators/kinds.h"
#include "solver/problem/groups.h"
#include "solver/problem/materials.h"

/* ---- Writing ---- */

static void add_number(sp_note *note, const char *name, double value) {
  assert(note->count < SP_NOTE_NUMBERS);
  note->numbers[note->count].name = name;
  note->numbers[note->count++].value = value;
}

/* Set the text, and add a number unless `name` is NULL; returns true. */
__attribute__((format(printf, 4, 5))) static bool
write_note(sp_note *note, const char *name, double value, const char *format, ...) {
  va_list arguments;
  if (name) add_number(note, name, value);
  va_start(arguments, format);
  vsnprintf(note->text, sizeof note->text, format, arguments);
  va_end(arguments);
  return true;
}

/* A list of different names with commas between them; the first few are enough. */
enum { LISTED = 6 };
typedef struct name_list {
  int count;
  const char *names[LISTED + 1]; /* [count] */
  size_t used;
  char text[700];
} name_list;

static void add_name(name_list *list, const char *prefix, const char *name) {
  for (int i = 0; i < list->count; i++)
    if (list->names[i] == name) return;
  if (list->count > LISTED) return;
  list->used +=
      (size_t)snprintf(list->text + list->used, sizeof list->text - list->used, "%s%s%.100s",
                       list->count ? ", " : "", list->count < LISTED ? prefix : "",
                       list->count < LISTED ? name : "...");
  list->names[list->count++] = name;
}

/* ---- The mesh ---- */

static bool find_left_out(const sp_note_facts *f, sp_note *note) {
  const sp_gid count = f->mesh->hexes->file.left_out;
  if (count == 0) return false;
  return write_note(note, "elements", (double)count,
                    "%lld volume element%s in no Physical Volume left out", (long long)count,
                    sp_plural(count));
}

static bool find_divided(const sp_note_facts *f, sp_note *note) {
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
    const sp_gid count = f->mesh->hexes->file.divided[s];
    hexahedra += count * shapes[s].hexahedra;
    if (count > 0)
      used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld %s", used ? ", " : "",
                               (long long)count, count == 1 ? shapes[s].one : shapes[s].many);
  }
  if (hexahedra == 0) return false;
  return write_note(note, "hexahedra", (double)hexahedra, "%s divided into %lld hexahedra", text,
                    (long long)hexahedra);
}

static bool find_curved(const sp_note_facts *f, sp_note *note) {
  const int order = f->mesh->hexes->map_order;
  if (order <= 4 || f->mesh->shape.affine) return false;
  return write_note(note, "order", order,
                    "curved elements of order %d: gmsh may place their nodes so inaccurately that "
                    "errors grow; take Mesh.ElementOrder = 4 at most",
                    order);
}

static bool find_flat(const sp_note_facts *f, sp_note *note) {
  const sp_mesh_shape *shape = &f->mesh->shape;
  const double *at = shape->flattest;
  if (shape->quality >= SP_FLAT) return false;
  add_number(note, "share", shape->flat);
  return write_note(
      note, "smallest_scaled_jacobian", shape->quality,
      "%.2g %% of the elements are nearly flat, the flattest at (%.6g, %.6g, %.6g); expect "
      "many more iterations",
      100 * shape->flat, at[0], at[1], at[2]);
}

static bool find_unit(const sp_note_facts *f, sp_note *note) {
  const sp_config *config = f->config;
  const char *unit = config->mesh.file ? sp_gmsh_unit(config->mesh.file) : "";
  if (!(f->mesh->hexes->file.cad.extent[0] > 0) || !*unit ||
      sp_config_where(config, "mesh", "scale"))
    return false;
  return write_note(note, NULL, 0,
                    "without mesh.scale all lengths of the case are in %s: mesh.scale = 1e-3 takes "
                    "them to m",
                    unit);
}

/* The keys that give CAD a finer mesh. */
static const char *finer_keys(const sp_note_facts *f) {
  return f->config->mesh.sizes.smallest > 0 ? "a smaller mesh.size and mesh.size_min"
                                            : "a smaller mesh.size or a larger mesh.curvature";
}

static bool find_flattened(const sp_note_facts *f, sp_note *note) {
  const sp_hexes_cad *cad = &f->mesh->hexes->file.cad;
  const double distance = f->config->mesh.scale * cad->distance;
  if (cad->flattened == 0) return false;
  add_number(note, "flattened", (double)cad->flattened);
  add_number(note, "curved", (double)cad->curved);
  return write_note(note, "distance", distance,
                    "%lld of %lld curved elements from CAD leave the surface, by up to %.2g, since "
                    "they would be inverted: take %s",
                    (long long)cad->flattened, (long long)cad->curved, distance, finer_keys(f));
}

static bool find_volume(const sp_note_facts *f, sp_note *note) {
  static const double WORTH_A_NOTE = 1e-3;
  const sp_hexes_cad *cad = &f->mesh->hexes->file.cad;
  const double cube = pow(f->config->mesh.scale, 3), error = cad->volume / cad->kernel_volume - 1;
  if (!(fabs(error) > WORTH_A_NOTE)) return false;
  add_number(note, "in_mesh", cube * cad->volume);
  return write_note(
      note, "in_file", cube * cad->kernel_volume,
      "the volume of %s'%s' is %.6g in the mesh, %.6g in the file (%+.2g %%): take %s",
      cad->pieces > 1 ? "a piece of " : "", cad->body, cube * cad->volume,
      cube * cad->kernel_volume, 100 * error, finer_keys(f));
}

static bool find_cut_columns(const sp_note_facts *f, sp_note *note) {
  const sp_gid count = f->mesh->cut_columns;
  const bool split =
      f->config->mesh.shape == SP_SHAPE_FILE && sp_gmsh_is_split(f->config->mesh.file);
  if (count == 0) return false;
  return write_note(note, "columns", (double)count,
                    "ranks cut %lld column%s of thin elements; multigrid may take several times as "
                    "many iterations: use %s",
                    (long long)count, sp_plural(count),
                    split ? "the mesh before the split" : "fewer ranks");
}

static bool find_unnamed_faces(const sp_note_facts *f, sp_note *note) {
  const sp_gid count = f->mesh->unnamed_faces;
  if (!sp_operator_rows[f->problem->kind].has_boundary || count == 0 ||
      f->mesh->hexes->surface.group_count == 0)
    return false;
  return write_note(note, "faces", (double)count,
                    "the default condition applies to %lld exterior face%s in no group; a crack?",
                    (long long)count, sp_plural(count));
}

static bool find_parts(const sp_note_facts *f, sp_note *note) {
  if (f->parts <= 1) return false;
  return write_note(note, "parts", f->parts, "the mesh has %d parts that share no nodes", f->parts);
}

static bool find_pinched(const sp_note_facts *f, sp_note *note) {
  const bool edges = f->pinched > 0;
  const sp_gid count = edges ? f->pinched : f->tied;
  if (count == 0) return false;
  return write_note(note, edges ? "edges" : "nodes", (double)count,
                    "parts of the mesh touch %s %lld %s%s only: the flow there depends on the "
                    "mesh, and is missing in the heat of materials",
                    edges ? "along" : "at", (long long)count, edges ? "edge" : "node",
                    sp_plural(count));
}

/* "4 of 8 of 'chip', 1 of 2 of 'pin'": lost faces of groups. */
static bool find_lost(const sp_note_facts *f, sp_note *note) {
  const sp_family *surfaces = &f->mesh->hexes->surface;
  char text[400] = "";
  size_t used = 0;
  sp_gid lost = 0;
  for (int g = 0; g < surfaces->group_count && used < sizeof text - 1; g++) {
    char name[100];
    sp_group *group = &surfaces->groups[g];
    if (group->lost == 0) continue;
    lost += group->lost;
    sp_groups_list(&(sp_family){.group_count = 1, .groups = group}, NULL, sizeof name, name);
    used +=
        (size_t)snprintf(text + used, sizeof text - used, "%s%lld of %lld of '%s'",
                         used ? ", " : "", (long long)group->lost, (long long)group->listed, name);
  }
  if (lost == 0) return false;
  return write_note(note, "elements", (double)lost,
                    "surface elements that are faces of no element, so conditions miss them: %s",
                    text);
}

static bool find_misfits(const sp_note_facts *f, sp_note *note) {
  const sp_hexes_file *file = &f->mesh->hexes->file;
  const bool mixed = file->divided[SP_TETRAHEDRON] > 0 && file->divided[SP_HEXAHEDRON] > 0;
  if (file->misfits == 0) return false;
  return write_note(
      note, "faces", (double)file->misfits,
      "%lld exterior face%s on others with other corners: nothing flows through them, "
      "or only at common nodes (%s)",
      (long long)file->misfits, file->misfits == 1 ? " lies" : "s lie",
      mixed ? "hexahedra on tetrahedra, without pyramids: take Recombine and "
              "Transfinite off their volumes"
            : "hanging nodes: mesh volumes that touch in one run of gmsh, with "
              "Coherence or BooleanFragments");
}

static bool find_coincident(const sp_note_facts *f, sp_note *note) {
  const sp_gid count = f->mesh->hexes->file.coincident;
  if (count == 0) return false;
  return write_note(note, "pairs", (double)count,
                    "%lld pair%s of exterior faces coincide, and nothing flows through them (gmsh: "
                    "merge the parts with Coherence or BooleanFragments)",
                    (long long)count, sp_plural(count));
}

static bool find_turned(const sp_note_facts *f, sp_note *note) {
  const sp_gid count = f->mesh->hexes->file.turned;
  if (count == 0) return false;
  return write_note(note, "elements", (double)count,
                    "all %lld elements of the file are left-handed, as in a mirrored mesh: turned",
                    (long long)count);
}

/* ---- The case ---- */

static bool find_constants(const sp_note_facts *f, sp_note *note) {
  const sp_scope *scope = f->config->statement.scope;
  name_list names = {0};
  for (int i = 0; scope && i < scope->count; i++)
    if (!scope->constants[i].used) add_name(&names, "constants.", scope->constants[i].name);
  return names.count > 0 && write_note(note, NULL, 0, "no formula uses %s", names.text);
}

static bool find_no_material(const sp_note_facts *f, sp_note *note) {
  const sp_materials *all = &f->problem->materials;
  const sp_material *last = &all->list[all->count - 1];
  if (f->config->statement.materials.count == 0 || last->name || last->elements == 0) return false;
  return write_note(note, "elements", (double)last->elements,
                    "%lld element%s in no [material]: as in [problem]", (long long)last->elements,
                    sp_plural(last->elements));
}

/* Without a line for any group the default is the condition of the whole boundary. */
static bool find_default(const sp_note_facts *f, sp_note *note) {
  const sp_problem *problem = f->problem;
  char names[400];
  if (problem->part_count < 2) return false;
  sp_groups_list(&f->mesh->hexes->surface, problem->groups_by_default, sizeof names, names);
  return names[0] &&
         write_note(note, NULL, 0,
                    "no line of [boundary] names these groups, they take default = %s: %s",
                    problem->parts[problem->part_count - 1].type->name, names);
}

/* A formula of kappa, lambda or forcing of a material that may jump, else NULL. If f is derived
 * from the solution, it jumps where the derivative of kappa does. */
enum { FORMULAS = 3 };
static const sp_expression *jump_of(const sp_material *material, int which) {
  if (material->elements == 0) return NULL;
  if (which == 0)
    return sp_material_rough_kappa(material, material->forcing ? SP_KINKS : SP_SMOOTH);
  const sp_expression *formula = which == 1 ? material->of[SP_LAMBDA].formula : material->forcing;
  return formula && formula->regularity == SP_JUMPS ? formula : NULL;
}

/* With collocated quadrature the points on a face have one value for both of its elements. A line
 * of [problem] may be the formula of several materials. */
static bool find_jumps(const sp_note_facts *f, sp_note *note) {
  const sp_materials *all = &f->problem->materials;
  name_list names = {0};
  for (int which = 0; which < FORMULAS; which++)
    for (int m = 0; m < all->count; m++) {
      const sp_expression *formula = jump_of(&all->list[m], which);
      if (formula) add_name(&names, "", formula->where);
    }
  return names.count > 0 && sp_operator_rows[f->problem->kind].collocated &&
         write_note(note, NULL, 0,
                    "%s may jump; at a jump between two elements both get one value: use "
                    "[material NAME], or operator = bp3.0 if jumps lie on faces",
                    names.text);
}

/* ---- The data ---- */

static bool find_interfaces(const sp_note_facts *f, sp_note *note) {
  /* An interface of curved elements is not exactly the one that the formulas are made for. */
  static const double WORTH_A_NOTE = 1e-4;
  const sp_interface_jumps *jumps = &f->jumps;
  if (jumps->solution <= WORTH_A_NOTE * jumps->solution_size &&
      jumps->flux <= WORTH_A_NOTE * jumps->flux_size)
    return false;
  add_number(note, "solution", jumps->solution);
  return write_note(note, "flux", jumps->flux,
                    "between materials%s the exact solution jumps by up to %.1e, its kappa du/dn "
                    "by up to %.1e: it does not solve this problem, and errors do not vanish",
                    jumps->periodic ? " or periodic faces" : "", jumps->solution, jumps->flux);
}

static bool write_integral(const sp_source_integral *source, const char *what, const char *where,
                           sp_note *note) {
  static const double WORTH_A_NOTE = 0.01;
  const double fine = source->own + source->excess;
  if (fabs(source->excess) <= WORTH_A_NOTE * source->size) return false;
  add_number(note, "integral", source->own);
  add_number(note, "finer_integral", fine);
  return write_note(note, "points", source->points,
                    "the integral of %s is %.4g by the operator's quadrature, %.4g with %d points "
                    "per direction: %s; refine there, or raise the order",
                    what, source->own, fine, source->points, where);
}

static bool find_source(const sp_note_facts *f, sp_note *note) {
  return write_integral(&f->source, "f", "f varies within elements", note);
}

static bool find_flux(const sp_note_facts *f, sp_note *note) {
  return write_integral(&f->faces[0], "the data g of boundary lines", "they vary within faces",
                        note);
}

static bool find_alpha(const sp_note_facts *f, sp_note *note) {
  return write_integral(&f->faces[1], "alpha", "it varies within faces", note);
}

/* Two formulas that agree differ by rounding. */
static bool find_forcing(const sp_note_facts *f, sp_note *note) {
  static const double ROUNDING = 1e-8;
  const sp_forcing_difference *d = &f->forcing;
  if (d->relative <= ROUNDING) return false;
  add_number(note, "forcing", d->given);
  return write_note(note, "of_solution", d->derived,
                    "forcing contradicts solution: at (%.6g, %.6g, %.6g) it is %.9g, and the "
                    "solution gives %.9g; errors do not vanish",
                    d->place[0], d->place[1], d->place[2], d->given, d->derived);
}

/* A solution whose formula may have a kink that kappa does not explain. */
static bool find_kink(const sp_note_facts *f, sp_note *note) {
  const sp_materials *all = &f->problem->materials;
  for (int m = 0; m < all->count; m++) {
    const sp_expression *solution = all->list[m].elements > 0 ? all->list[m].solution : NULL;
    if (!solution || solution->regularity == SP_SMOOTH ||
        sp_material_rough_kappa(&all->list[m], SP_SMOOTH))
      continue;
    return write_note(note, NULL, 0,
                      "%s or its derivative may jump: except between materials, derived data miss "
                      "the source on the jump, and errors and rates mislead",
                      solution->where);
  }
  return false;
}

static bool find_boundary(const sp_note_facts *f, sp_note *note) {
  const sp_data_jump *jump = &f->jump;
  if (!sp_data_jump_is_real(jump, jump->size)) return false;
  return write_note(
      note, "difference", jump->size,
      "Dirichlet values differ by up to %.4g where '%.200s' and '%.200s' meet: the first gives the "
      "value, u overshoots and errors fall slowly nearby, and the heat through such groups is "
      "infinite",
      jump->size, f->problem->parts[jump->parts[0]].group, f->problem->parts[jump->parts[1]].group);
}

/* Dirichlet formulas that may jump. */
static bool find_dirichlet(const sp_note_facts *f, sp_note *note) {
  name_list names = {0};
  for (int p = 0; p < f->problem->part_count; p++) {
    const sp_boundary_part *part = &f->problem->parts[p];
    if (part->type->fixes_u && part->formula && part->formula->regularity == SP_JUMPS)
      add_name(&names, "", part->formula->where);
  }
  return names.count > 0 &&
         write_note(note, NULL, 0,
                    "%s may jump: near a jump u overshoots and errors fall slowly, and the heat "
                    "through such a group is infinite: it grows with every refinement",
                    names.text);
}

static bool find_defect(const sp_note_facts *f, sp_note *note) {
  if (f->defect.accepted == 0) return false;
  add_number(note, "defect", f->defect.accepted);
  return write_note(
      note, "finer", f->defect.finer,
      "forcing and fluxes of this pure Neumann problem add up to %.2g of their size, by "
      "quadrature of order %d to %.1g: the difference is a quadrature error and is "
      "spread over the nodes",
      f->defect.accepted, f->defect.order, f->defect.finer);
}

static bool find_magnification(const sp_note_facts *f, sp_note *note) {
  static const double WORTH_A_NOTE = 1e6;
  if (f->magnification <= WORTH_A_NOTE) return false;
  return write_note(note, "magnification", f->magnification,
                    "only lambda and alpha determine the mean of the solution: errors of the data "
                    "(quadrature, rounding) count there up to %.0e-fold",
                    f->magnification);
}

/* ---- The solution ---- */

static bool find_rounding(const sp_note_facts *f, sp_note *note) {
  return f->rounding && write_note(note, NULL, 0, "rounding hides the rest of the residual");
}

static bool find_fluxes(const sp_note_facts *f, sp_note *note) {
  const double tolerance = f->config->solver.tolerance;
  if (!(f->flux_error > fmax(1e-6, 1e4 * tolerance)) || !isfinite(f->flux_error)) return false;
  return write_note(note, "error", f->flux_error,
                    "with this tolerance fluxes out of a good conductor may be wrong by %.0e of "
                    "the heat that flows; compare with a smaller solver.tolerance",
                    f->flux_error);
}

static bool find_coarse(const sp_note_facts *f, sp_note *note) {
  const sp_resolution *resolution = &f->resolution;
  if (resolution->coarse == 0) return false;
  add_number(note, "elements", (double)resolution->coarse);
  return write_note(note, "largest", resolution->largest,
                    "the mesh is too coarse in %lld element%s: error_indicator is up to %.2g %% of "
                    "the range of u%s%s",
                    (long long)resolution->coarse, sp_plural(resolution->coarse),
                    100 * resolution->largest / f->range, resolution->group ? ", in " : "",
                    resolution->group ? resolution->group : "");
}

/* ---- Time and temperature ---- */

/* Outdoors nothing is below 100 K: such an ambient temperature was meant in degrees C. */
static bool find_kelvin(const sp_note_facts *f, sp_note *note) {
  static const double COLD = 100;
  const sp_statement *statement = &f->config->statement;
  for (int i = 0; i <= statement->boundary.count; i++) {
    const sp_boundary_entry *entry = i < statement->boundary.count ? &statement->boundary.entries[i]
                                                                   : &statement->boundary.fallback;
    const sp_formula *ambient = &entry->coefficients[1];
    if (!entry->type || !entry->type->in_kelvin || entry->formula.text) continue;
    if (!ambient->expression->is_constant || ambient->value > COLD) continue;
    return write_note(note, "temperature", ambient->value,
                      "%s: without an offset u and %.12g are in kelvin; for degrees C give the "
                      "offset 273.15",
                      ambient->where, ambient->value);
  }
  return false;
}

/* Automatic steps evaluate sources and conditions in their stages only. */
static bool find_switches(const sp_note_facts *f, sp_note *note) {
  const sp_time_options *time = &f->config->time;
  const sp_problem *problem = f->problem;
  name_list names = {0};
  for (int m = 0; m < problem->materials.count; m++) {
    const sp_material *material = &problem->materials.list[m];
    if (material->elements > 0 && material->forcing && material->forcing->switches)
      add_name(&names, "", material->forcing->where);
  }
  for (int p = 0; p < problem->part_count; p++) {
    const sp_expression *formula = problem->parts[p].formula;
    if (formula && formula->switches) add_name(&names, "", formula->where);
  }
  return names.count > 0 && time->tolerance > 0 && time->at.count == 0 &&
         write_note(note, NULL, 0,
                    "automatic steps may pass over a short switch of %s: give its times in time.at",
                    names.text);
}

/* ---- All ---- */

#define NOTE(name)                                                                                 \
  { #name, find_##name }
const sp_note_type sp_note_types[SP_NOTES] = {
    NOTE(lost),      NOTE(misfits),     NOTE(coincident),    NOTE(turned),        NOTE(left_out),
    NOTE(divided),   NOTE(curved),      NOTE(flat),          NOTE(unit),          NOTE(flattened),
    NOTE(volume),    NOTE(cut_columns), NOTE(unnamed_faces), NOTE(parts),         NOTE(pinched),
    NOTE(constants), NOTE(no_material), NOTE(default),       NOTE(jumps),         NOTE(interfaces),
    NOTE(source),    NOTE(flux),        NOTE(alpha),         NOTE(forcing),       NOTE(kink),
    NOTE(boundary),  NOTE(dirichlet),   NOTE(defect),        NOTE(magnification), NOTE(rounding),
    NOTE(fluxes),    NOTE(coarse),      NOTE(kelvin),        NOTE(switches)};
