#include "solver/run/run.h"

#include <math.h>
#include <string.h>

#include "io/rendezvous.h"
#include "mesh/geometry.h"
#include "operators/reduction.h"

/* Sums over the elements or faces of a group. */
enum { COUNT, MEASURE, CENTRE, NORMAL = CENTRE + 3, SUMS = NORMAL + 3 };

/* A face with a group, as in the record. */
typedef struct picture_face {
  double group, corners[4][3];
} picture_face;

typedef struct table {
  const sp_hexes *hexes;
  int *group_of_volume; /* [volume.count], the lowest; -1: none */
  bool *beside;         /* [groups][volume groups]: elements beside the faces; by group_of_volume */
  double (*sums)[SUMS]; /* [volume groups + groups] */
  picture_face *faces;
  size_t face_count;
} table;

/* The corners of a face, seen from outside in the order of the header. */
static sp_status keep_face(table *t, sp_lid e, int f, int group) {
  SP_TRY(sp_reserve(t->face_count, 1, sizeof *t->faces, "faces", &t->faces));
  picture_face *face = &t->faces[t->face_count++];
  int corners[4];
  sp_slot_corners(SP_FACE_SLOT + f, corners);
  if ((f % 2 == 1) != (f / 2 == 1)) {
    const int swap = corners[1];
    corners[1] = corners[2];
    corners[2] = swap;
  }
  face->group = group;
  for (int c = 0; c < 4; c++)
    memcpy(face->corners[c],
           &sp_hexes_lattice(t->hexes, e)[3 * sp_corner_node(t->hexes->map_order, corners[c])],
           sizeof face->corners[c]);
  return SP_OK;
}

/* Add an element or, unless it is negative, its face f to its groups. A face between elements has
 * two sides, each of which counts for a half. */
static sp_status add_sample(table *t, sp_lid e, int f, const sp_rule *rule, sp_sample *sample) {
  const sp_hexes *hexes = t->hexes;
  const sp_family *family = f < 0 ? &hexes->volume : &hexes->surface;
  const int side = f < 0 ? hexes->volumes[e] : hexes->surfaces[e][f];
  const int part = f < 0 ? side : sp_surface_of(side);
  const int bodies = hexes->volume.group_count, body = t->group_of_volume[hexes->volumes[e]];
  const int first_row = f < 0 ? 0 : bodies;
  const double share = side == part ? 1 : 0.5;
  double sums[SUMS] = {[COUNT] = share};
  if (part < 0) return SP_OK;
  SP_TRY(sp_geometry_sample(hexes, e, f, rule, sample));
  for (size_t q = 0; q < sample->count; q++) {
    const double weight = share * sample->weight[q];
    sums[MEASURE] += weight;
    for (size_t d = 0; d < 3; d++) {
      sums[CENTRE + d] += weight * sample->xyz[d * sample->count + q];
      if (f >= 0) sums[NORMAL + d] += share * sample->normal[d * sample->count + q];
    }
  }
  for (int g = 0; g < family->group_count; g++) {
    if (!sp_group_has(&family->groups[g], part)) continue;
    for (int s = 0; s < SUMS; s++) t->sums[first_row + g][s] += sums[s];
    if (f >= 0) SP_TRY(keep_face(t, e, f, first_row + g));
    if (f >= 0 && body >= 0) t->beside[(size_t)g * (size_t)bodies + (size_t)body] = true;
  }
  return SP_OK;
}

static sp_status measure_groups(table *t) {
  SP_OWNED sp_sample *sample = NULL;
  const sp_hexes *hexes = t->hexes;
  const size_t bodies = (size_t)hexes->volume.group_count;
  const size_t surfaces = (size_t)hexes->surface.group_count;
  sp_rule rule;
  sp_rule_gl(2 * hexes->map_order, &rule); /* exact */
  SP_TRY(SP_ALLOCATE("groups", SP_ARRAY(t->sums, bodies + surfaces), SP_ARRAY(sample, 1),
                     SP_ARRAY(t->group_of_volume, hexes->volume.count),
                     SP_ARRAY(t->beside, surfaces * bodies)));
  for (int v = 0; v < hexes->volume.count; v++) {
    t->group_of_volume[v] = -1;
    for (int g = (int)bodies - 1; g >= 0; g--)
      if (sp_group_has(&hexes->volume.groups[g], v)) t->group_of_volume[v] = g;
  }
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int f = -1; f < SP_FACES; f++) SP_TRY(add_sample(t, e, f, &rule, sample));
  return SP_OK;
}

static void name_group(const sp_group *group, size_t size, char *name) {
  snprintf(name, size, group->name[0] ? "%s" : "%.0s%d", group->name, group->number);
}

/* The lowest and the highest of the bodies beside a surface group, "base", "base, pin" or "base,
 * pin, ...", in text[size]; empty if there are none. */
static void list_bodies(const table *t, int surface, size_t size, char *text) {
  const int bodies = t->hexes->volume.group_count;
  const bool *beside = &t->beside[(size_t)surface * (size_t)bodies];
  char ends[2][300] = {"", ""};
  int count = 0;
  for (int b = 0; b < bodies; b++)
    if (beside[b]) name_group(&t->hexes->volume.groups[b], sizeof ends[0], ends[count++ > 0]);
  snprintf(text, size, "%s%s%s%s", ends[0], count > 1 ? ", " : "", ends[1],
           count > 2 ? ", ..." : "");
}

static void print_group_row(const table *t, int row, const double sums[SUMS],
                            sp_terminal *terminal) {
  const int volumes = t->hexes->volume.group_count;
  const bool is_surface = row >= volumes;
  const char *kind = is_surface ? "surface" : "volume";
  static const double CLOSED = 0.02; /* a mean normal that short is an error of the mesh */
  char name[300], between[700] = "";
  double mean[SUMS], *n = &mean[NORMAL];
  name_group(is_surface ? &t->hexes->surface.groups[row - volumes] : &t->hexes->volume.groups[row],
             sizeof name, name);
  if (is_surface) list_bodies(t, row - volumes, sizeof between, between);
  double size = 1e-300;
  for (int s = 0; s < SUMS; s++) {
    mean[s] = sums[MEASURE] > 0 ? sums[s] / sums[MEASURE] : 0;
    if (s >= CENTRE && s < NORMAL) size = fmax(size, fabs(mean[s]));
  }
  for (int s = CENTRE; s < SUMS; s++) /* rounding is no coordinate */
    if (fabs(mean[s]) < (s < NORMAL ? 1e-12 * size : 1e-9)) mean[s] = 0;
  sp_terminal_print(terminal, "  %-24s %-8s %9.0f %14.7g   (%.5g, %.5g, %.5g)", name, kind,
                    sums[COUNT], sums[MEASURE], mean[CENTRE], mean[CENTRE + 1], mean[CENTRE + 2]);
  if (sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) < CLOSED) n[0] = n[1] = n[2] = 0;
  if (n[0] != 0 || n[1] != 0 || n[2] != 0)
    sp_terminal_print(terminal, "  normal (%.3f, %.3f, %.3f)", n[0], n[1], n[2]);
  else if (is_surface && !strchr(between, ','))
    sp_terminal_print(terminal, "  no mean normal: closed, or between elements");
  if (between[0])
    sp_terminal_print(terminal, "  %s %s", strchr(between, ',') ? "between" : "of", between);
  sp_terminal_print(terminal, "\n");
  sp_record_row(terminal->record,
                "name %s, kind %s, count %lld, measure %g, x %g, y %g, z %g, nx %g, ny %g, nz %g, "
                "bodies %s",
                name, kind, llround(sums[COUNT]), sums[MEASURE], mean[CENTRE], mean[CENTRE + 1],
                mean[CENTRE + 2], mean[NORMAL], mean[NORMAL + 1], mean[NORMAL + 2], between);
}

static void print_table(const table *t, const picture_face *faces, size_t count,
                        sp_terminal *terminal) {
  const sp_hexes *hexes = t->hexes;
  const int rows = hexes->volume.group_count + hexes->surface.group_count;
  sp_terminal_print(terminal, "  %-24s %-8s %9s %14s   centre\n", "group", "kind", "elements",
                    "volume, area");
  sp_record_open(terminal->record, SP_RECORD_TABLE, "groups");
  for (int row = 0; row < rows; row++) print_group_row(t, row, t->sums[row], terminal);
  sp_record_close(terminal->record);
  sp_record_open(terminal->record, SP_RECORD_LIST, "faces");
  for (size_t f = 0; f < count; f++) {
    sp_record_real(terminal->record, NULL, faces[f].group, NULL);
    for (int c = 0; c < 12; c++)
      sp_record_real(terminal->record, NULL, faces[f].corners[c / 3][c % 3], NULL);
  }
  sp_record_close(terminal->record);
}

/* Only ranks with elements call this. */
static sp_status print_notes(const sp_config *config, const sp_mesh *mesh, sp_terminal *terminal) {
  SP_OWNED sp_report *report = NULL;
  SP_TRY(sp_agree(mesh->comm, sp_allocate(1, sizeof *report, "notes", &report)));
  report->terminal = terminal;
  report->record = terminal->record;
  sp_report_find_notes(report, &(sp_note_facts){.config = config, .mesh = mesh});
  sp_report_print_notes(report);
  return SP_OK;
}

static sp_status run_table(const sp_workers *workers, const sp_config *config,
                           sp_terminal *terminal) {
  sp_profile profile = sp_profile_from_now();
  SP_AUTO(sp_mesh) mesh = NULL;
  SP_OWNED picture_face *faces = NULL;
  size_t count = 0;
  int recorded = terminal->record != NULL;
  SP_TRY(sp_case_mesh(workers, &config->mesh, &config->statement, &config->wanted, &profile,
                      terminal, &mesh));
  table t = {.hexes = mesh->hexes};
  const int bodies = t.hexes->volume.group_count, surfaces = t.hexes->surface.group_count;
  sp_status status = sp_agree(mesh->comm, measure_groups(&t));
  if (!status)
    status = sp_reduction_sum(workers->platform.reduction, (bodies + surfaces) * SUMS,
                              (double *)t.sums, SP_OK);
  if (!status)
    MPI_Allreduce(MPI_IN_PLACE, t.beside, surfaces * bodies, MPI_C_BOOL, MPI_LOR, mesh->comm);
  MPI_Bcast(&recorded, 1, MPI_INT, 0, mesh->comm);
  if (!status && recorded)
    status = sp_gather_records(mesh->comm, t.faces, t.face_count, sizeof *faces, "faces", &faces,
                               &count);
  if (!status) print_table(&t, faces, count, terminal);
  if (!status) status = print_notes(config, mesh, terminal);
  SP_FREE(t.sums, t.faces, t.group_of_volume, t.beside);
  return status;
}

sp_status sp_group_table_run(const sp_workers *workers, const sp_config *config,
                             sp_terminal *terminal) {
  return sp_workers_meet(workers,
                         workers->has_elements ? run_table(workers, config, terminal) : SP_OK);
}
