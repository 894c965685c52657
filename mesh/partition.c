#include "mesh/partition.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int clamp(sp_gid value, sp_gid low, sp_gid high) {
  return (int)(value < low ? low : value > high ? high : value);
}

/* Divide by recursive bisection. */
static void bisect_box(const int elements[3], int size, int rank, sp_brick *brick) {
  for (int d = 0; d < 3; d++) {
    brick->first[d] = 0;
    brick->last[d] = elements[d];
  }
  int first_rank = 0;
  while (size > 1) {
    int d = 0;
    for (int c = 1; c < 3; c++)
      if (brick->last[c] - brick->first[c] > brick->last[d] - brick->first[d]) d = c;
    const int n = brick->last[d] - brick->first[d];
    sp_gid slice = 1;
    for (int c = 0; c < 3; c++)
      if (c != d) slice *= brick->last[c] - brick->first[c];
    if (slice > size) slice = size; /* keeps the products below in range */
    /* Cut between layers near the middle; then divide the ranks in proportion to the layers, at
     * most one per element. */
    const int cut = clamp(((sp_gid)n * (size / 2) + size / 2) / size, 1, n - 1);
    const sp_gid fewest = size - (n - cut) * slice, most = cut * slice;
    const sp_gid share = (2 * (sp_gid)size * cut + n) / (2 * (sp_gid)n);
    const int low_size = clamp(share, fewest > 1 ? fewest : 1, most < size - 1 ? most : size - 1);
    if (rank < first_rank + low_size) {
      brick->last[d] = brick->first[d] + cut;
      size = low_size;
    } else {
      brick->first[d] += cut;
      first_rank += low_size;
      size -= low_size;
    }
  }
}

/* ---- Grids of bricks ---- */

/* Limits for the bricks of a grid: side over the mean side, surface over a cube's surface. */
static const double LARGEST_SIDE = 1.03, LARGEST_SURFACE = 1.1;

/* The multiple of `unit` next to the end of part n - 1. */
static int cut_at(int elements, int parts, int unit, int n) {
  return n == parts ? elements : (int)round((double)elements / parts * n / unit) * unit;
}

/* True if no part is too long or empty. */
static bool is_even(int elements, int parts, int unit) {
  const double side = (double)elements / parts, most = LARGEST_SIDE * side;
  return unit <= side && ceil(side / unit) * unit <= most &&
         elements - cut_at(elements, parts, unit, parts - 1) <= most;
}

/* The end of part n - 1. Several cuts are at multiples of the largest possible power of two. */
static int cut_of(int elements, int parts, int n) {
  int unit = 1;
  while (parts > 2 && is_even(elements, parts, 2 * unit)) unit *= 2;
  return cut_at(elements, parts, unit, n);
}

/* Find the grid of `size` bricks with the least surface; false if no grid is good. Sides below half
 * or above twice a cube's have too much surface. */
static bool find_grid(const int elements[3], int size, int grid[3]) {
  const double cube = cbrt((double)elements[0] * elements[1] * elements[2] / size);
  double least = LARGEST_SURFACE * 3 * cube * cube;
  bool found = false;
  const double usual[2] = {elements[0] / cube, elements[1] / cube};
  for (int i = (int)ceil(usual[0] / 2); i <= 2 * usual[0]; i++)
    for (int j = (int)ceil(usual[1] / 2); size % i == 0 && j <= 2 * usual[1]; j++) {
      if (size / i % j != 0) continue;
      const int parts[3] = {i, j, size / i / j};
      bool even = true;
      double side[3];
      for (int d = 0; d < 3; d++) {
        side[d] = (double)elements[d] / parts[d];
        even = even && is_even(elements[d], parts[d], 1);
      }
      const double surface = side[0] * side[1] + side[1] * side[2] + side[2] * side[0];
      if (!even || surface > least) continue;
      least = surface;
      memcpy(grid, parts, sizeof parts);
      found = true;
    }
  return found;
}

sp_status sp_partition_fail(int size, double total) {
  if (total == 0)
    return sp_fail(SP_ERR_INPUT, "the mesh has no elements: are all of its regions empty?");
  return sp_fail(SP_ERR_INPUT,
                 "%d ranks for a mesh of %.0f element%s: use at most one rank per element", size,
                 total, sp_plural((long long)total));
}

sp_status sp_partition_brick(const int elements[3], int size, int rank, sp_brick *brick) {
  int grid[3];
  const double total = (double)elements[0] * elements[1] * elements[2];
  if (total < size) return sp_partition_fail(size, total);
  if (!find_grid(elements, size, grid)) {
    bisect_box(elements, size, rank, brick);
    return SP_OK;
  }
  bisect_box(grid, size, rank, brick);
  for (int d = 0; d < 3; d++) {
    brick->first[d] = brick->first[d] == 0 ? 0 : cut_of(elements[d], grid[d], brick->first[d]);
    brick->last[d] = cut_of(elements[d], grid[d], brick->last[d]);
  }
  return SP_OK;
}

/* Send the family of rank 0 to all ranks; `from` is NULL on the others. */
static sp_status broadcast_family(MPI_Comm comm, const sp_family *from, sp_family *to) {
  int sizes[2] = {from ? from->count : 0, from ? from->group_count : 0};
  MPI_Bcast(sizes, 2, MPI_INT, 0, comm);
  SP_TRY(sp_agree(comm, sp_family_resize(to, sizes[0], sizes[1])));
  for (int g = 0; g < sizes[1]; g++) {
    const sp_group *source = from ? &from->groups[g] : NULL;
    sp_group *group = &to->groups[g];
    int length = source ? (int)strlen(source->name) + 1 : 0;
    if (source) *group = *source;
    MPI_Bcast(group, (int)sizeof *group, MPI_BYTE, 0, comm);
    MPI_Bcast(&length, 1, MPI_INT, 0, comm);
    group->name = NULL; /* so far rank 0's */
    group->parts = NULL;
    SP_TRY(sp_agree(comm, SP_ALLOCATE("groups", SP_ARRAY(group->name, length),
                                      SP_ARRAY(group->parts, group->part_count))));
    if (source) memcpy(group->name, source->name, (size_t)length);
    for (int p = 0; p < group->part_count && source; p++) group->parts[p] = source->parts[p];
    MPI_Bcast(group->name, length, MPI_CHAR, 0, comm);
    MPI_Bcast(group->parts, group->part_count, MPI_INT, 0, comm);
  }
  return SP_OK;
}

/* Elements of rank 0 by destination: rank r gets order[start[r]] .. order[start[r+1] - 1]. */
typedef struct schedule {
  sp_lid *start; /* [size + 1], on all ranks */
  sp_lid *order; /* [elements], on rank 0 */
  char *buffer;  /* on rank 0: room for the lattices of the largest part */
} schedule;

static void schedule_destroy(schedule *plan) {
  SP_FREE(plan->start, plan->order, plan->buffer);
}

static sp_status schedule_create(MPI_Comm comm, const sp_hexes *from, const int *parts,
                                 schedule *plan) {
  const int size = sp_comm_size(comm);
  SP_TRY(sp_agree(comm, sp_allocate((size_t)size + 1, sizeof *plan->start, "parts", &plan->start)));
  sp_status status = SP_OK;
  if (from) {
    sp_lid largest = 0;
    for (sp_lid e = 0; e < from->count; e++) plan->start[parts[e] + 1]++;
    for (int r = 1; r <= size; r++) {
      largest = plan->start[r] > largest ? plan->start[r] : largest;
      plan->start[r] += plan->start[r - 1];
    }
    const size_t lattice = 3 * sizeof(double) * sp_hexes_lattice_size(from);
    status = SP_ALLOCATE("parts", SP_ARRAY(plan->order, from->count),
                         SP_ARRAY(plan->buffer, (size_t)largest * lattice));
    if (!status) {
      for (sp_lid e = 0; e < from->count; e++) plan->order[plan->start[parts[e]]++] = e;
      memmove(plan->start + 1, plan->start, (size_t)size * sizeof *plan->start);
      plan->start[0] = 0;
    }
  }
  SP_TRY(sp_agree(comm, status));
  MPI_Bcast(plan->start, size + 1, MPI_INT32_T, 0, comm);
  return SP_OK;
}

/* Rank 0 sends each rank its rows of one array with `width` bytes per element. */
static void scatter_rows(MPI_Comm comm, const schedule *plan, const void *from, size_t width,
                         void *to) {
  const int rank = sp_comm_rank(comm), size = sp_comm_size(comm);
  MPI_Datatype row;
  MPI_Type_contiguous((int)width, MPI_BYTE, &row);
  MPI_Type_commit(&row);
  if (rank == 0) {
    for (int r = 0; r < size; r++) {
      char *packed = r == 0 ? to : plan->buffer;
      const sp_lid *first = &plan->order[plan->start[r]];
      const sp_lid count = plan->start[r + 1] - plan->start[r];
      for (sp_lid n = 0; n < count; n++)
        memcpy(packed + width * (size_t)n, (const char *)from + width * (size_t)first[n], width);
      if (r > 0) MPI_Send(packed, count, row, r, 0, comm);
    }
  } else {
    MPI_Recv(to, plan->start[rank + 1] - plan->start[rank], row, 0, 0, comm, MPI_STATUS_IGNORE);
  }
  MPI_Type_free(&row);
}

static sp_status distribute_elements(MPI_Comm comm, const schedule *plan, const sp_hexes *from,
                                     sp_hexes *local) {
  SP_TRY(broadcast_family(comm, from ? &from->surface : NULL, &local->surface));
  SP_TRY(broadcast_family(comm, from ? &from->volume : NULL, &local->volume));
  const size_t lattice = 3 * sizeof(double) * sp_hexes_lattice_size(local);
  scatter_rows(comm, plan, from ? from->lattice : NULL, lattice, local->lattice);
  scatter_rows(comm, plan, from ? from->vertices : NULL, sizeof *local->vertices, local->vertices);
  scatter_rows(comm, plan, from ? from->surfaces : NULL, sizeof *local->surfaces, local->surfaces);
  scatter_rows(comm, plan, from ? from->tags : NULL, sizeof *local->tags, local->tags);
  scatter_rows(comm, plan, from ? from->volumes : NULL, sizeof *local->volumes, local->volumes);
  return SP_OK;
}

sp_status sp_partition_distribute(MPI_Comm comm, sp_hexes **hexes, const int *parts) {
  const int rank = sp_comm_rank(comm);
  const sp_hexes *from = *hexes;

  int map_order = from ? from->map_order : 0;
  MPI_Bcast(&map_order, 1, MPI_INT, 0, comm);

  sp_hexes *local = NULL;
  SP_AUTO_VALUE(schedule) plan = {0};
  sp_status status = schedule_create(comm, from, parts, &plan);
  if (!status)
    status =
        sp_agree(comm, sp_hexes_create(plan.start[rank + 1] - plan.start[rank], map_order, &local));
  if (!status) status = distribute_elements(comm, &plan, from, local);
  sp_hexes_destroy(hexes);
  *hexes = local;
  if (status) sp_hexes_destroy(hexes);
  return status;
}
