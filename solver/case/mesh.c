#include "solver/case/mesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mesh/gmsh.h"
#include "mesh/refine.h"
#include "mesh/sizes.h"
#include "operators/kinds.h"
#include "solver/problem/boundary.h"
#include "solver/problem/quantities.h"
#include "solver/run/field.h"

/* Put the mesh file in front of the message of a faulty element. */
static sp_status name_file(const sp_config *config, sp_status status) {
  if (status && config->mesh.shape == SP_SHAPE_FILE)
    return sp_fail(status, "%s: %s", config->mesh.file, sp_error_message());
  return status;
}

/* Refuse early a mesh that cannot fit 32-bit local numbers after all refinements, before memory
 * runs out. */
static sp_status check_size(MPI_Comm comm, const sp_config *config, double elements) {
  const int ranks = sp_comm_size(comm);
  elements *= pow(8, config->mesh.refine);
  const double dofs = elements * pow(config->discretization.order, 3);
  if (dofs / ranks > SP_LID_MAX)
    return sp_fail(SP_ERR_INPUT,
                   "%s: %.4g elements of order %d give about %.4g degrees of freedom per rank, but "
                   "at most %.4g are possible; use more ranks, fewer elements or less refinement",
                   config->mesh.where, elements, config->discretization.order, dofs / ranks,
                   (double)SP_LID_MAX);
  return SP_OK;
}

sp_box sp_case_box(const sp_config *config) {
  sp_box box = {
      .map = config->mesh.map, .epsilon = config->mesh.epsilon, .step = config->mesh.step};
  for (int d = 0; d < 3; d++) {
    box.elements[d] = config->mesh.elements[d];
    box.lower[d] = config->mesh.lower[d];
    box.upper[d] = config->mesh.upper[d];
  }
  return box;
}

/* Make the box with the regions of the case. */
static sp_status make_box(MPI_Comm comm, const sp_config *config, sp_box *box, sp_hexes **hexes) {
  SP_OWNED sp_box_region *regions = NULL;
  const size_t count = (size_t)config->regions.count;
  *hexes = NULL;
  SP_TRY(sp_agree(comm, sp_allocate(count, sizeof *regions, "regions", &regions)));
  for (size_t r = 0; r < count; r++) {
    const sp_region_entry *entry = &config->regions.entries[r];
    regions[r] = (sp_box_region){.name = entry->name, .where = entry->where};
    memcpy(regions[r].lower, entry->lower, sizeof entry->lower);
    memcpy(regions[r].upper, entry->upper, sizeof entry->upper);
  }
  box->region_count = (int)count;
  box->regions = regions;
  return sp_box_hexes(comm, box, hexes);
}

/* Read the hexahedra of a file. The message says where the case names a file that cannot be opened.
 * If its number of parts is not that of the ranks with elements, the message gives the latter. */
static sp_status read_file(const sp_workers *workers, const sp_config *config,
                           sp_terminal *terminal, sp_hexes **hexes) {
  const char *path = config->mesh.file;
  const sp_status status =
      sp_gmsh_cad_hexes(workers->comm, path, &config->mesh.sizes, terminal, hexes);
  if (status && access(path, R_OK) && !sp_gmsh_is_split(path))
    return sp_fail(status, "%s: %s", sp_config_where(config, "mesh", "file"), sp_error_message());
  if (!status || workers->count == workers->ranks || !sp_gmsh_is_split(path)) return status;
  return sp_fail(status, "%s; %s", sp_error_message(), workers->description);
}

/* Take the coordinates of a file to the unit of the case. */
static void scale(double factor, sp_hexes *hexes) {
  const size_t count = 3 * (size_t)hexes->count * sp_hexes_lattice_size(hexes);
  for (size_t i = 0; i < count; i++) hexes->lattice[i] *= factor;
}

static sp_status make_mesh(const sp_workers *workers, const sp_config *config,
                           sp_terminal *terminal, sp_mesh **mesh) {
  MPI_Comm comm = workers->comm;
  sp_hexes *hexes;
  if (config->mesh.shape == SP_SHAPE_FILE) {
    SP_TRY(read_file(workers, config, terminal, &hexes));
    scale(config->mesh.scale, hexes);
    const sp_status status = sp_boundary_insert_contacts(comm, config, hexes);
    if (status) sp_hexes_destroy(&hexes);
    SP_TRY(status);
  } else {
    sp_box box = sp_case_box(config);
    SP_TRY(check_size(comm, config, (double)box.elements[0] * box.elements[1] * box.elements[2]));
    SP_TRY(make_box(comm, config, &box, &hexes));
  }
  SP_TRY(name_file(config, sp_mesh_create(comm, &hexes, mesh)));
  sp_sizes sizes;
  sp_sizes_count((*mesh)->topology, config->mesh.refine, config->discretization.order, &sizes);
  SP_TRY(sp_agree(comm, sp_sizes_check(&sizes, config->mesh.where)));
  SP_TRY(sp_agree(comm, sp_quantities_check(config, *mesh)));
  SP_TRY(sp_agree(comm, sp_field_check(config)));
  if (sp_operator_rows[config->discretization.operator_kind].has_boundary)
    SP_TRY(sp_boundary_identify(config, *mesh));
  for (int r = 0; r < config->mesh.refine; r++) SP_TRY(name_file(config, sp_mesh_refine(mesh)));
  return SP_OK;
}

/* Add the time of the gmsh SDK, a part of the mesh phase. */
static void add_reader(const sp_hexes_file *file, sp_profile *profile) {
  sp_profile_add(profile, SP_PHASE_FILE, file->read_seconds > 0, file->read_seconds);
  sp_profile_add(profile, SP_PHASE_MESHER, file->mesher_seconds > 0, file->mesher_seconds);
  sp_profile_add(profile, SP_PHASE_METIS, file->metis_seconds > 0, file->metis_seconds);
}

sp_status sp_case_mesh(const sp_workers *workers, const sp_config *config, sp_profile *profile,
                       sp_terminal *terminal, sp_mesh **mesh) {
  const double start = sp_profile_begin(terminal, SP_PHASE_MESH);
  *mesh = NULL;
  const sp_status status = make_mesh(workers, config, terminal, mesh);
  sp_profile_end(profile, terminal, SP_PHASE_MESH, start);
  if (!status) add_reader(&(*mesh)->hexes->file, profile);
  if (status) sp_mesh_destroy(mesh);
  return status;
}
