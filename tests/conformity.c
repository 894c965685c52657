/* Elements that share vertices must share the points between them. A mesh is refused on all ranks
 * if a shared point (vertex, on an edge, inside a face) is moved in one element only, within a rank
 * or between ranks. A point that only one element has may move. */

#include "tests/boxes.h"

enum { SIDE = 3 }; /* elements along each side of the unit cube */

/* Return the number of elements that share a point. */
static int elements_at(const double point[3]) {
  int count = 1;
  for (int d = 0; d < 3; d++) {
    const double position = point[d] * SIDE, plane = round(position);
    if (fabs(position - plane) < 1e-9 && plane > 0 && plane < SIDE) count *= 2;
  }
  return count;
}

/* Move point p of the first element of `rank` by `distance`, in units of the element's size. */
static void check_moved(int rank, int p, double distance) {
  sp_hexes *hexes = quadratic_box(SIDE);
  AUTO(sp_mesh) mesh = NULL;
  double point[3];
  long long tag = 0;
  if (world_rank == rank) {
    memcpy(point, &hexes->lattice[(size_t)p * 3], sizeof point);
    hexes->lattice[p * 3 + p % 3] += distance / SIDE;
    tag = (long long)hexes->tags[0];
  }
  MPI_Bcast(point, 3, MPI_DOUBLE, rank, MPI_COMM_WORLD);
  MPI_Bcast(&tag, 1, MPI_LONG_LONG, rank, MPI_COMM_WORLD);
  const sp_status status = sp_mesh_create(MPI_COMM_WORLD, &hexes, &mesh);
  if (elements_at(point) == 1 || distance < 1e-6) {
    CHECK(status == SP_OK, "point %d moved by %g: %s", p, distance, sp_error_message());
  } else {
    char first[64], second[64];
    snprintf(first, sizeof first, "elements %lld and ", tag);
    snprintf(second, sizeof second, " and %lld share vertices", tag);
    CHECK(status == SP_ERR_INPUT, "point %d moved by %g is accepted", p, distance);
    CHECK(strstr(sp_error_message(), first) || strstr(sp_error_message(), second), "'%s'",
          sp_error_message());
  }
}

/* In elements so thin that coordinates round to more than 1e-6 of their thickness, points may
 * differ by rounding, but by no more. */
static void check_thin(double factor, sp_status expected) {
  sp_hexes *hexes = quadratic_box(SIDE);
  AUTO(sp_mesh) mesh = NULL;
  const size_t points = (size_t)hexes->count * sp_hexes_lattice_size(hexes);
  for (size_t p = 0; p < points; p++) hexes->lattice[3 * p + 2] *= 1e-12;
  for (int p = 0; p < 27 && world_rank == 0; p++) hexes->lattice[3 * p] *= factor;
  CHECK(sp_mesh_create(MPI_COMM_WORLD, &hexes, &mesh) == expected, "thin, x times %.17g: %s",
        factor, sp_error_message());
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  for (int p = 0; p < 27; p++) {
    check_moved(0, p, 1e-5);
    check_moved(world_size - 1, p, 1e-7);
    if (world_size > 1) check_moved(world_size - 1, p, 1e-5);
  }
  check_thin(1 + 4e-16, SP_OK);
  check_thin(1 + 1e-13, SP_ERR_INPUT);
  return check_end();
}
