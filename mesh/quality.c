#include "mesh/quality.h"

#include <math.h>

#include "io/threads.h"
#include "mesh/reference.h"

typedef struct search {
  const sp_hexes *hexes;
  double ends[2][SP_MAX_NQ]; /* derivatives of the Lagrange basis at -1 and 1 */
  double smallest;
} search;

static double at_corner(const search *s, const double *lattice, int corner) {
  const int g = s->hexes->map_order, n = g + 1, stride[3] = {1, n, n * n};
  double column[3][3] = {{0}}, lengths = 1;
  int origin = 0;
  for (int d = 0; d < 3; d++) origin += (corner >> d & 1) * g * stride[d];
  for (int d = 0; d < 3; d++) {
    const int side = corner >> d & 1, first = origin - side * g * stride[d];
    for (int i = 0; i < n; i++)
      for (int m = 0; m < 3; m++)
        column[d][m] += s->ends[side][i] * lattice[3 * (first + i * stride[d]) + m];
    lengths *= sqrt(column[d][0] * column[d][0] + column[d][1] * column[d][1] +
                    column[d][2] * column[d][2]);
  }
  const double *a = column[0], *b = column[1], *c = column[2];
  return (a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) +
          a[2] * (b[0] * c[1] - b[1] * c[0])) /
         lengths;
}

static sp_status search_some(void *search_, void *smallest_, size_t begin, size_t end) {
  const search *s = search_;
  double *smallest = smallest_;
  *smallest = 1;
  for (size_t e = begin; e < end; e++)
    for (int c = 0; c < SP_CORNERS; c++)
      *smallest = fmin(*smallest, at_corner(s, sp_hexes_lattice(s->hexes, (sp_lid)e), c));
  return SP_OK;
}

static void keep_smallest(void *search_, void *smallest, size_t begin, size_t end) {
  (void)begin, (void)end;
  search *s = search_;
  s->smallest = fmin(s->smallest, *(const double *)smallest);
}

sp_status sp_mesh_quality(const sp_mesh *mesh, double *quality) {
  search s = {.hexes = mesh->hexes, .smallest = 1};
  const int n = mesh->hexes->map_order + 1;
  const size_t count = (size_t)mesh->hexes->count;
  double lattice[SP_MAX_NQ] = {0}, matrix[2 * SP_MAX_NQ];
  for (int i = 0; i < n; i++) lattice[i] = -1 + 2.0 * i / (n - 1);
  sp_derivative_matrix(n, lattice, 2, (const double[]){-1, 1}, matrix);
  for (int i = 0; i < n; i++)
    for (int side = 0; side < 2; side++) s.ends[side][i] = matrix[side * n + i];
  SP_TRY(sp_agree(mesh->comm, sp_loop_run(&(sp_loop){.what = "quality",
                                                     .count = count,
                                                     .chunk = sp_loop_chunk(count, SP_CORNERS * 9),
                                                     .workspace_bytes = sizeof(double),
                                                     .context = &s,
                                                     .compute = search_some,
                                                     .commit = keep_smallest})));
  MPI_Allreduce(&s.smallest, quality, 1, MPI_DOUBLE, MPI_MIN, mesh->comm);
  return SP_OK;
}
