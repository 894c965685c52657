#include "solver/solve/mesh.h"

#include <math.h>
#include <unistd.h>

#include "mesh/gmsh/gmsh.h"
#include "mesh/refine.h"
#include "mesh/touching.h"
#include "operators/kinds.h"
#include "solver/problem/boundary.h"
#include "solver/results/quantities.h"

/* Put the mesh file in front of the message of a faulty element. */
static sp_status name_file(const sp_mesh_options *options, sp_status status) {
  if (status && options->shape == SP_SHAPE_FILE)
    return sp_fail(status, "%s: %s", options->file, sp_error_message());
  return status;
}

/* Refuse early a box that cannot fit 32-bit local numbers after all refinements, before memory
 * runs out. */
static sp_status check_mesh_size(MPI_Comm comm, const sp_mesh_options *options, const int n[3],
                                 int order) {
  const int ranks = sp_comm_size(comm);
  const double elements = (double)n[0] * n[1] * n[2] * pow(8, options->refine);
  const double dofs = elements * pow(order, 3);
  if (dofs / ranks > SP_LID_MAX)
    return sp_fail(SP_ERR_INPUT,
                   "%s: %.4g elements of order %d give about %.4g degrees of freedom per rank, but "
                   "at most %.4g are possible; use more ranks, fewer elements or less refinement",
                   options->where, elements, order, dofs / ranks, (double)SP_LID_MAX);
  return SP_OK;
}

/* Read the hexahedra of a file. The message has the line of the case that names a file that cannot
 * be opened. If its number of parts is not the number of ranks with elements, the message gives the
 * latter. */
static sp_status read_file(const sp_workers *workers, const sp_mesh_options *options,
                           sp_terminal *terminal, sp_hexes **hexes) {
  const char *path = options->file;
  const sp_status status = sp_gmsh_hexes(workers->comm, path, &options->sizes, terminal, hexes);
  if (status && access(path, R_OK) && !sp_gmsh_is_split(path))
    return sp_fail(status, "%s: %s", options->file_where, sp_error_message());
  if (!status || workers->count == workers->ranks || !sp_gmsh_is_split(path)) return status;
  return sp_fail(status, "%s; %s", sp_error_message(), workers->description);
}

/* Take the coordinates of a file to the unit of the case. */
static void scale_coordinates(double factor, sp_hexes *hexes) {
  const size_t count = 3 * (size_t)hexes->count * sp_hexes_lattice_size(hexes);
  for (size_t i = 0; i < count; i++) hexes->lattice[i] *= factor;
}

static sp_status make_box(MPI_Comm comm, const sp_mesh_options *options, int order,
                          sp_hexes **hexes) {
  const sp_box_sizes sizes = {options->sizes.largest, options->sizes.smallest, options->grading};
  sp_box box = options->box;
  box.region_count = options->regions.count;
  box.regions = options->regions.entries;
  sp_status status = SP_OK;
  if (sizes.largest > 0) status = sp_agree(comm, sp_box_divide(options->where, &sizes, &box));
  if (!status) status = check_mesh_size(comm, options, box.elements, order);
  if (!status) status = sp_box_hexes(comm, &box, hexes);
  SP_FREE(box.planes[0], box.planes[1], box.planes[2]);
  return status;
}

static sp_status make_hexes(const sp_workers *workers, const sp_mesh_options *options,
                            const sp_statement *statement, sp_terminal *terminal,
                            sp_hexes **hexes) {
  MPI_Comm comm = workers->comm;
  if (options->shape == SP_SHAPE_FILE) {
    SP_TRY(read_file(workers, options, terminal, hexes));
    scale_coordinates(options->scale, *hexes);
  } else {
    SP_TRY(make_box(comm, options, statement->order, hexes));
  }
  const sp_status status = sp_boundary_insert_contacts(comm, statement, *hexes);
  if (status) sp_hexes_destroy(hexes);
  return status;
}

static sp_status make_mesh(const sp_workers *workers, const sp_mesh_options *options,
                           const sp_statement *statement, const sp_wanted *wanted,
                           sp_terminal *terminal, sp_mesh **mesh) {
  MPI_Comm comm = workers->comm;
  sp_hexes *hexes;
  sp_sizes sizes;
  SP_TRY(make_hexes(workers, options, statement, terminal, &hexes));
  SP_TRY(name_file(options, sp_mesh_create(comm, &hexes, mesh)));
  sp_sizes_count((*mesh)->topology, options->refine, statement->order, &sizes);
  SP_TRY(sp_agree(comm, sp_sizes_check(&sizes, options->where)));
  SP_TRY(sp_agree(comm, sp_quantities_check(wanted, *mesh)));
  if (sp_operator_rows[statement->operator_kind].has_boundary)
    SP_TRY(sp_boundary_identify(statement, *mesh));
  if (options->shape == SP_SHAPE_FILE) SP_TRY(sp_touching_find(*mesh));
  for (int r = 0; r < options->refine; r++) SP_TRY(name_file(options, sp_mesh_refine(mesh)));
  return SP_OK;
}

/* Add the time of the gmsh SDK, a part of the mesh phase. */
static void add_reader(const sp_hexes_file *file, sp_profile *profile) {
  sp_profile_add(profile, SP_PHASE_FILE, file->read_seconds > 0, file->read_seconds);
  sp_profile_add(profile, SP_PHASE_MESHER, file->mesher_seconds > 0, file->mesher_seconds);
  sp_profile_add(profile, SP_PHASE_METIS, file->metis_seconds > 0, file->metis_seconds);
}

sp_status sp_case_mesh(const sp_workers *workers, const sp_mesh_options *options,
                       const sp_statement *statement, const sp_wanted *wanted, sp_profile *profile,
                       sp_terminal *terminal, sp_mesh **mesh) {
  const double start = sp_profile_begin(terminal, SP_PHASE_MESH);
  *mesh = NULL;
  const sp_status status = make_mesh(workers, options, statement, wanted, terminal, mesh);
  sp_profile_end(profile, terminal, SP_PHASE_MESH, start);
  if (!status) add_reader(&(*mesh)->hexes->file, profile);
  if (status) sp_mesh_destroy(mesh);
  return status;
}
