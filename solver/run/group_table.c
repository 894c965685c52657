#include "solver/run/group_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/gather.h"
#include "mesh/entity.h"
#include "mesh/geometry.h"
#include "operators/reduction.h"
#include "solver/report/report.h"
#include "solver/solve/mesh.h"

/* Sums over the elements or faces of a group. */
enum { COUNT, MEASURE, CENTRE, NORMAL = CENTRE + 3, SUMS = NORMAL + 3 };

/* A face with a group, as in the record. */
typedef struct picture_face {
  double group, corners[4][3];
} picture_face;

typedef struct table {
  const sp_hexes *hexes;
  double (*sums)[SUMS]; /* [volume groups + groups] */
  picture_face *faces;
  size_t face_count;
} table;

static void add_element(const table *t, sp_lid e, const sp_rule *rule, double *xyz, double *wj) {
  const sp_hexes *hexes = t->hexes;
  const size_t points = sp_rule_points(rule);
  double sums[SUMS] = {[COUNT] = 1};
  for (size_t q = 0; q < points; q++) {
    sums[MEASURE] += wj[q];
    for (size_t d = 0; d < 3; d++) sums[CENTRE + d] += wj[q] * xyz[d * points + q];
  }
  for (int g = 0; g < hexes->volume.group_count; g++)
    for (int s = 0; s < SUMS && sp_group_has(&hexes->volume.groups[g], hexes->volumes[e]); s++)
      t->sums[g][s] += sums[s];
}

/* The corners of a face, seen from outside in the order of the header. */
static void keep_face(table *t, sp_lid e, int f, int group) {
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
}

/* A face between elements has two sides, each of which counts for a half. */
static void add_face(table *t, sp_lid e, int f, const sp_rule *rule, double *xyz, double *normal) {
  const sp_hexes *hexes = t->hexes;
  const int side = hexes->surfaces[e][f];
  const int surface = sp_surface_of(side);
  const double weight = side == surface ? 1 : 0.5;
  const size_t points = (size_t)(rule->n * rule->n);
  double sums[SUMS] = {[COUNT] = weight};
  if (surface < 0) return;
  sp_geometry_face(hexes, e, f, rule, xyz, normal);
  for (size_t q = 0; q < points; q++) {
    const double *n = &normal[q];
    const double area = weight * sp_geometry_area(normal, (int)points, (int)q);
    sums[MEASURE] += area;
    for (size_t d = 0; d < 3; d++) {
      sums[CENTRE + d] += area * xyz[d * points + q];
      sums[NORMAL + d] += weight * n[d * points];
    }
  }
  for (int g = 0; g < hexes->surface.group_count; g++) {
    if (!sp_group_has(&hexes->surface.groups[g], surface)) continue;
    const int row = hexes->volume.group_count + g;
    for (int s = 0; s < SUMS; s++) t->sums[row][s] += sums[s];
    if (side == surface) keep_face(t, e, f, row);
  }
}

static sp_status measure(table *t) {
  static double xyz[3 * SP_MAX_RULE * SP_MAX_RULE * SP_MAX_RULE],
      wj[3 * SP_MAX_RULE * SP_MAX_RULE * SP_MAX_RULE];
  const sp_hexes *hexes = t->hexes;
  const size_t rows = (size_t)(hexes->volume.group_count + hexes->surface.group_count);
  sp_rule rule;
  sp_rule_gl(2 * hexes->map_order, &rule); /* exact */
  SP_TRY(sp_allocate(rows, sizeof *t->sums, "groups", &t->sums));
  size_t faces = 0;
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++)
      for (int g = 0; g < hexes->surface.group_count && hexes->surfaces[e][f] >= 0; g++)
        faces += sp_group_has(&hexes->surface.groups[g], hexes->surfaces[e][f]);
  SP_TRY(sp_allocate(faces, sizeof *t->faces, "faces", &t->faces));
  for (sp_lid e = 0; e < hexes->count; e++) {
    SP_TRY(sp_geometry_volume(hexes, e, &rule, xyz, wj));
    add_element(t, e, &rule, xyz, wj);
    for (int f = 0; f < SP_FACES; f++) add_face(t, e, f, &rule, xyz, wj);
  }
  return SP_OK;
}

static void print_row(const sp_group *group, const char *kind, const double sums[SUMS],
                      sp_terminal *terminal) {
  char name[300];
  double mean[SUMS], *n = &mean[NORMAL];
  snprintf(name, sizeof name, group->name[0] ? "%s" : "%.0s%d", group->name, group->number);
  double size = 1e-300;
  for (int s = 0; s < SUMS; s++) {
    mean[s] = sums[MEASURE] > 0 ? sums[s] / sums[MEASURE] : 0;
    if (s >= CENTRE && s < NORMAL) size = fmax(size, fabs(mean[s]));
  }
  for (int s = CENTRE; s < SUMS; s++) /* rounding is no coordinate */
    if (fabs(mean[s]) < (s < NORMAL ? 1e-12 * size : 1e-9)) mean[s] = 0;
  sp_terminal_print(terminal, "  %-24s %-8s %9.0f %14.7g   (%.5g, %.5g, %.5g)", name, kind,
                    sums[COUNT], sums[MEASURE], mean[CENTRE], mean[CENTRE + 1], mean[CENTRE + 2]);
  if (n[0] != 0 || n[1] != 0 || n[2] != 0)
    sp_terminal_print(terminal, "  normal (%.3f, %.3f, %.3f)", n[0], n[1], n[2]);
  else if (strcmp(kind, "surface") == 0)
    sp_terminal_print(terminal, "  no mean normal: closed, or between elements");
  sp_terminal_print(terminal, "\n");
  sp_record_row(terminal->record,
                "name %s, kind %s, count %lld, measure %g, x %g, y %g, z %g, nx %g, ny %g, nz %g",
                name, kind, llround(sums[COUNT]), sums[MEASURE], mean[CENTRE], mean[CENTRE + 1],
                mean[CENTRE + 2], mean[NORMAL], mean[NORMAL + 1], mean[NORMAL + 2]);
}

static void print_table(const table *t, const picture_face *faces, size_t count,
                        sp_terminal *terminal) {
  const sp_hexes *hexes = t->hexes;
  const int volumes = hexes->volume.group_count, rows = volumes + hexes->surface.group_count;
  sp_terminal_print(terminal, "  %-24s %-8s %9s %14s   centre\n", "group", "kind", "elements",
                    "volume, area");
  sp_record_open(terminal->record, SP_RECORD_TABLE, "groups");
  for (int row = 0; row < rows; row++)
    print_row(row < volumes ? &hexes->volume.groups[row] : &hexes->surface.groups[row - volumes],
              row < volumes ? "volume" : "surface", t->sums[row], terminal);
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
static sp_status print_notes(const sp_mesh *mesh, sp_terminal *terminal) {
  SP_OWNED sp_report *report = NULL;
  SP_TRY(sp_agree(mesh->comm, sp_allocate(1, sizeof *report, "notes", &report)));
  report->terminal = terminal;
  report->record = terminal->record;
  sp_report_find_notes(report, &(sp_note_facts){.mesh = mesh});
  sp_report_print_notes(report);
  return SP_OK;
}

static sp_status run(const sp_workers *workers, const sp_config *config, sp_terminal *terminal) {
  sp_profile profile = sp_profile_from_now();
  SP_AUTO(sp_mesh) mesh = NULL;
  SP_OWNED picture_face *faces = NULL;
  size_t count = 0;
  int recorded = terminal->record != NULL;
  SP_TRY(sp_case_mesh(workers, &config->mesh, &config->statement, &config->wanted, &profile,
                      terminal, &mesh));
  table t = {.hexes = mesh->hexes};
  const int rows = t.hexes->volume.group_count + t.hexes->surface.group_count;
  sp_status status = sp_agree(mesh->comm, measure(&t));
  if (!status)
    status = sp_reduction_sum(workers->platform.reduction, rows * SUMS, (double *)t.sums, SP_OK);
  MPI_Bcast(&recorded, 1, MPI_INT, 0, mesh->comm);
  if (!status && recorded)
    status = sp_gather_records(mesh->comm, t.faces, t.face_count, sizeof *faces, "faces", &faces,
                               &count);
  if (!status) print_table(&t, faces, count, terminal);
  if (!status) status = print_notes(mesh, terminal);
  SP_FREE(t.sums, t.faces);
  return status;
}

sp_status sp_group_table_run(const sp_workers *workers, const sp_config *config,
                             sp_terminal *terminal) {
  return sp_workers_meet(workers, workers->has_elements ? run(workers, config, terminal) : SP_OK);
}
