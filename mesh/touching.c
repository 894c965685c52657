#include "mesh/touching.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/hash.h"
#include "io/rendezvous.h"
#include "mesh/components.h"
#include "mesh/reference.h"

/* An exterior face, and its row for a cell. Grids exist for powers of two. A face is in all
 * cells that overlap its sphere, in the grid whose cells are two to four times as wide. Its centre
 * is compared with the faces in one cell of each grid in use. */
typedef struct outer_face {
  int64_t name[2];                                /* of the cell */
  int64_t id, is_centre, unnamed;                 /* is_centre: this is the row of a centre */
  double tolerance, radius, centre[3], normal[3]; /* unit normal at the centre */
  double points[];                                /* [(g+1)^2][3] */
} outer_face;

enum { LEVELS = 64, WIDTH = 4, MOST_BYTES = 1 << 27 }; /* of the rows of a rank per pass */

/* Answers to a centre. */
enum { COINCIDES = 1, COINCIDES_UNNAMED = 2, MISFITS = 4 };

typedef struct search {
  const sp_hexes *hexes;
  int n, widest;   /* lattice points per direction; exponent of the largest radius */
  size_t row_size; /* bytes of an outer_face */
  uint64_t levels; /* bit l: grid l, with cells of width WIDTH 2^(widest - l), has faces */
  int64_t passes, pass, count, row_count;
  char *faces, *rows; /* [count], [row_count] of this pass */
} search;

static outer_face *row_at(const search *s, char *rows, int64_t i) {
  return (outer_face *)(void *)(rows + (size_t)i * s->row_size);
}

static double distance(const double a[3], const double b[3]) {
  return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
              (a[2] - b[2]) * (a[2] - b[2]));
}

/* A face at (r, s): the point x, and the columns dx/dr and dx/ds. */
static void evaluate_face(int n, const double *points, const double at[2], double x[3],
                          double columns[2][3]) {
  double nodes[SP_MAX_NQ], value[2][SP_MAX_NQ], slope[2][SP_MAX_NQ];
  for (int i = 0; i < n; i++) nodes[i] = -1 + 2.0 * i / (n - 1);
  for (int d = 0; d < 2; d++) {
    sp_interpolation_matrix(n, nodes, 1, &at[d], value[d]);
    sp_derivative_matrix(n, nodes, 1, &at[d], slope[d]);
  }
  for (int d = 0; d < 3; d++) {
    x[d] = columns[0][d] = columns[1][d] = 0;
    for (int p = 0; p < n * n; p++) {
      const int i = p % n, j = p / n;
      x[d] += value[0][i] * value[1][j] * points[3 * p + d];
      columns[0][d] += slope[0][i] * value[1][j] * points[3 * p + d];
      columns[1][d] += value[0][i] * slope[1][j] * points[3 * p + d];
    }
  }
}

static double dot(const double a[3], const double b[3]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* True if the centre of `from` lies on `on` (by Gauss-Newton) and the faces are parallel up to
 * curvature: a face that stands on another does not count. */
static bool lies_on(int n, const outer_face *from, const outer_face *on) {
  static const double NEAR = 1.5, INSIDE = 1 + 1e-6, PARALLEL = 0.7;
  double at[2] = {0, 0}, gap[3], columns[2][3], moved = 1;
  if (fabs(dot(from->normal, on->normal)) < PARALLEL) return false;
  for (int iteration = 0; iteration < 30 && moved > 1e-9; iteration++) {
    double a[3], b[2];
    evaluate_face(n, on->points, at, gap, columns);
    for (int d = 0; d < 3; d++) gap[d] = from->centre[d] - gap[d];
    for (int c = 0; c < 2; c++) b[c] = dot(columns[c], gap);
    for (int c = 0; c < 3; c++) a[c] = dot(columns[c / 2], columns[(c + 1) / 2]);
    const double determinant = a[0] * a[2] - a[1] * a[1], old[2] = {at[0], at[1]};
    if (!(determinant > 0)) return false;
    at[0] = fmax(-NEAR, fmin(NEAR, at[0] + (a[2] * b[0] - a[1] * b[1]) / determinant));
    at[1] = fmax(-NEAR, fmin(NEAR, at[1] + (a[0] * b[1] - a[1] * b[0]) / determinant));
    moved = fmax(fabs(at[0] - old[0]), fabs(at[1] - old[1]));
  }
  return fmax(fabs(at[0]), fabs(at[1])) <= INSIDE &&
         sqrt(dot(gap, gap)) <= fmax(from->tolerance, on->tolerance);
}

static bool has_corners_of(int n, const outer_face *a, const outer_face *b) {
  const int corners[4] = {0, n - 1, n * (n - 1), n * n - 1};
  bool all = true;
  for (int i = 0; i < 4; i++) {
    bool found = false;
    for (int j = 0; j < 4; j++)
      found = found || distance(&a->points[3 * corners[i]], &b->points[3 * corners[j]]) <=
                           fmax(a->tolerance, b->tolerance);
    all = all && found;
  }
  return all;
}

/* The rows are the faces and centres of one cell. */
static sp_status look_around(size_t count, const int64_t *const *rows, int64_t *const *answers,
                             const void *search_) {
  const search *s = search_;
  for (size_t i = 0; i < count; i++) {
    const outer_face *from = (const void *)rows[i];
    for (size_t j = 0; j < count && from->is_centre; j++) {
      const outer_face *on = (const void *)rows[j];
      if (on->is_centre || on->id == from->id || distance(on->centre, from->centre) > on->radius ||
          !lies_on(s->n, from, on))
        continue;
      if (!has_corners_of(s->n, from, on))
        *answers[i] |= MISFITS;
      else
        *answers[i] |= from->unnamed && on->unnamed ? COINCIDES | COINCIDES_UNNAMED : COINCIDES;
    }
  }
  return SP_OK;
}

/* The height of a face over the bilinear face of its corners. */
static double height_of(int n, const double *points) {
  double height = 0;
  for (int p = 0; p < n * n; p++) {
    const double r = (double)(p % n) / (n - 1), s = (double)(p / n) / (n - 1);
    double flat[3];
    for (int d = 0; d < 3; d++)
      flat[d] = (1 - s) * ((1 - r) * points[d] + r * points[3 * (n - 1) + d]) +
                s * ((1 - r) * points[3 * n * (n - 1) + d] + r * points[3 * (n * n - 1) + d]);
    height = fmax(height, distance(flat, &points[3 * p]));
  }
  return height;
}

static void measure_face(const search *s, sp_lid e, int f, outer_face *face) {
  const double *lattice = sp_hexes_lattice(s->hexes, e);
  const double shortest = sp_hexes_shortest_distance(s->hexes, e);
  const int n = s->n;
  int nodes[SP_MAX_NQ * SP_MAX_NQ];
  double columns[2][3];
  sp_face_nodes(n - 1, f, nodes);
  for (int p = 0; p < n * n; p++)
    memcpy(&face->points[3 * p], &lattice[3 * nodes[p]], sizeof(double[3]));
  evaluate_face(n, face->points, (const double[]){0, 0}, face->centre, columns);
  for (int d = 0; d < 3; d++) {
    const int a = (d + 1) % 3, b = (d + 2) % 3;
    face->normal[d] = columns[0][a] * columns[1][b] - columns[0][b] * columns[1][a];
  }
  const double length = sqrt(dot(face->normal, face->normal));
  for (int d = 0; d < 3; d++) face->normal[d] /= length;
  face->unnamed = s->hexes->surfaces[e][f] == SP_SURFACE_UNNAMED;
  face->tolerance = fmin(0.05 * height_of(n, face->points), 0.1 * shortest) + 1e-6 * shortest;
  face->radius = 0;
  for (int d = 0; d < 3; d++) face->tolerance += 4 * DBL_EPSILON * fabs(face->centre[d]);
  for (int p = 0; p < n * n; p++)
    face->radius = fmax(face->radius, distance(&face->points[3 * p], face->centre));
  face->radius = face->radius * (n > 2 ? 1.5 : 1) + face->tolerance; /* also between nodes */
}

/* ---- Cells ---- */

static int level_of(const search *s, const outer_face *face) {
  int exponent;
  (void)frexp(face->radius, &exponent);
  return s->widest - exponent < LEVELS ? s->widest - exponent : LEVELS - 1;
}

/* The origin is irregular, because faces of regular meshes lie at round coordinates. */
static int64_t cell_at(const search *s, int level, double x) {
  return (int64_t)floor(ldexp(x, level - s->widest) / WIDTH + 0.7390851332151607);
}

/* Add a row for a cell if the cell is in this pass. */
static void add_row(search *s, const outer_face *face, int level, const int64_t cell[3],
                    bool is_centre) {
  uint64_t name[2] = {1, 2};
  for (int w = 0; w < 2; w++) {
    name[w] = sp_hash_fold(name[w], (uint64_t)level);
    for (int d = 0; d < 3; d++) name[w] = sp_hash_fold(name[w], (uint64_t)cell[d]);
  }
  if ((int64_t)(name[1] % (uint64_t)s->passes) != s->pass) return;
  if (s->rows) {
    outer_face *row = row_at(s, s->rows, s->row_count);
    memcpy(row, face, s->row_size);
    memcpy(row->name, name, sizeof name);
    row->is_centre = is_centre;
  }
  s->row_count++;
}

static void add_rows(search *s, const outer_face *face) {
  const int own = level_of(s, face);
  int64_t low[3], high[3], cell[3];
  for (int d = 0; d < 3; d++) {
    low[d] = cell_at(s, own, face->centre[d] - face->radius);
    high[d] = cell_at(s, own, face->centre[d] + face->radius);
  }
  for (cell[2] = low[2]; cell[2] <= high[2]; cell[2]++)
    for (cell[1] = low[1]; cell[1] <= high[1]; cell[1]++)
      for (cell[0] = low[0]; cell[0] <= high[0]; cell[0]++) add_row(s, face, own, cell, false);
  for (int level = 0; level < LEVELS; level++) {
    if (!(s->levels >> level & 1)) continue;
    for (int d = 0; d < 3; d++) cell[d] = cell_at(s, level, face->centre[d]);
    add_row(s, face, level, cell, true);
  }
}

static void add_all_rows(search *s) {
  s->row_count = 0;
  for (int64_t i = 0; i < s->count; i++) add_rows(s, row_at(s, s->faces, i));
}

/* ---- The search ---- */

static sp_status list_faces(search *s) {
  const sp_hexes *hexes = s->hexes;
  for (int pass = 0; pass < 2; pass++) {
    s->count = 0;
    for (sp_lid e = 0; e < hexes->count; e++)
      for (int f = 0; f < SP_FACES && !sp_hexes_is_contact(hexes, e); f++) {
        if (!sp_surface_is_exterior(hexes->surfaces[e][f])) continue;
        if (pass == 1) measure_face(s, e, f, row_at(s, s->faces, s->count));
        s->count++;
      }
    if (pass == 0) SP_TRY(sp_allocate((size_t)s->count, s->row_size, "exterior faces", &s->faces));
  }
  return SP_OK;
}

/* Find the grids in use, number the faces, and count the passes. */
static void plan_passes(MPI_Comm comm, search *s) {
  int64_t first = 0, most;
  int exponent;
  s->widest = INT_MIN;
  MPI_Exscan(&s->count, &first, 1, MPI_INT64_T, MPI_SUM, comm);
  for (int64_t i = 0; i < s->count; i++) {
    outer_face *face = row_at(s, s->faces, i);
    face->id = first + i;
    (void)frexp(face->radius, &exponent);
    s->widest = exponent > s->widest ? exponent : s->widest;
  }
  MPI_Allreduce(MPI_IN_PLACE, &s->widest, 1, MPI_INT, MPI_MAX, comm);
  for (int64_t i = 0; i < s->count; i++)
    s->levels |= UINT64_C(1) << level_of(s, row_at(s, s->faces, i));
  MPI_Allreduce(MPI_IN_PLACE, &s->levels, 1, MPI_UINT64_T, MPI_BOR, comm);
  s->passes = 1;
  add_all_rows(s);
  MPI_Allreduce(&s->row_count, &most, 1, MPI_INT64_T, MPI_MAX, comm);
  s->passes = 1 + most * (int64_t)s->row_size / MOST_BYTES;
}

static sp_status run_pass(MPI_Comm comm, search *s, int64_t *found) {
  SP_OWNED char *rows = NULL;
  SP_OWNED int64_t *answers = NULL;
  const size_t words = s->row_size / sizeof *answers;
  s->rows = NULL;
  add_all_rows(s);
  SP_TRY(sp_agree(comm, SP_ALLOCATE("faces in contact", SP_ARRAY(answers, s->row_count)) |
                            sp_allocate((size_t)s->row_count, s->row_size, "faces", &rows)));
  s->rows = rows;
  add_all_rows(s);
  const sp_questions questions = {(size_t)s->row_count, words, 1, (const int64_t *)(void *)rows,
                                  answers};
  SP_TRY(sp_rendezvous_answer(comm, &questions, NULL, look_around, s));
  const int64_t first = s->count > 0 ? row_at(s, s->faces, 0)->id : 0;
  for (int64_t i = 0; i < s->row_count; i++) found[row_at(s, rows, i)->id - first] |= answers[i];
  return SP_OK;
}

static sp_status find_touching(MPI_Comm comm, search *s, sp_hexes_file *file) {
  SP_OWNED int64_t *found = NULL;
  sp_gid sums[3] = {0};
  sp_status status = list_faces(s);
  if (!status) status = sp_allocate((size_t)s->count, sizeof *found, "exterior faces", &found);
  SP_TRY(sp_agree(comm, status));
  plan_passes(comm, s);
  for (s->pass = 0; s->pass < s->passes; s->pass++) SP_TRY(run_pass(comm, s, found));
  for (int64_t i = 0; i < s->count; i++)
    for (int bit = 0; bit < 3; bit++) sums[bit] += found[i] >> bit & 1;
  MPI_Allreduce(MPI_IN_PLACE, sums, 3, SP_MPI_GID, MPI_SUM, comm);
  file->coincident = sums[file->bodies > 1 ? 0 : 1] / 2;
  file->misfits = sums[2];
  return SP_OK;
}

sp_status sp_touching_find(sp_mesh *mesh) {
  SP_AUTO(sp_components) bodies = NULL;
  const int n = mesh->hexes->map_order + 1;
  search s = {.hexes = mesh->hexes,
              .n = n,
              .row_size = sizeof(outer_face) + (size_t)(n * n) * sizeof(double[3])};
  SP_TRY(sp_components_create(mesh->comm, mesh->topology, SP_BY_FACES, &bodies));
  mesh->hexes->file.bodies = bodies->count;
  const sp_status status = find_touching(mesh->comm, &s, &mesh->hexes->file);
  free(s.faces);
  return status;
}
