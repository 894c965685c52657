#include "mesh/mesh.h"

#include <stdlib.h>

#include "io/threads.h"
#include "mesh/columns.h"
#include "mesh/interlayer.h"

typedef struct marking {
  sp_mesh *mesh;
  bool *grouped; /* [surface.count]: the surface is in a group */
} marking;

/* Faces keep their surfaces; on faces between elements that are not periodic these become inner
 * ones. Contacts have no surfaces: even their ends are inside the domain. */
static sp_status mark_some(void *marking_, void *workspace, size_t begin, size_t end) {
  const marking *m = marking_;
  sp_mesh *mesh = m->mesh;
  const sp_hexes *hexes = mesh->hexes;
  sp_gid *unnamed = workspace;
  *unnamed = 0;
  for (size_t e = begin; e < end; e++)
    for (int f = 0; f < SP_FACES && !sp_hexes_is_contact(hexes, (sp_lid)e); f++) {
      int *surface = &hexes->surfaces[e][f];
      if (sp_periodic_has_surface(mesh->periodic, hexes, *surface)) continue;
      const int known = sp_surface_of(*surface);
      if (sp_topology_is_exterior(mesh->topology, mesh->topology->slots[e][SP_FACE_SLOT + f])) {
        *surface = known < 0 ? SP_SURFACE_UNNAMED : known;
      } else {
        if (known >= 0) __atomic_store_n(&mesh->buried[known], true, __ATOMIC_RELAXED);
        *surface = known < 0 ? SP_SURFACE_INTERIOR : SP_SURFACE_INNER - known;
      }
      *unnamed += *surface == SP_SURFACE_UNNAMED || (*surface >= 0 && !m->grouped[*surface]);
    }
  return SP_OK;
}

static void add_unnamed(void *marking_, void *workspace, size_t begin, size_t end) {
  (void)begin, (void)end;
  ((marking *)marking_)->mesh->unnamed_faces += *(const sp_gid *)workspace;
}

static sp_status mark_surfaces(sp_mesh *mesh) {
  const size_t count = (size_t)mesh->hexes->count;
  const sp_family *family = &mesh->hexes->surface;
  SP_OWNED bool *grouped = NULL;
  SP_TRY(sp_allocate((size_t)family->count, sizeof *grouped, "surfaces", &grouped));
  for (const sp_group *g = family->groups; g < family->groups + family->group_count; g++)
    for (int p = 0; p < g->part_count; p++) grouped[g->parts[p]] = true;
  marking m = {mesh, grouped};
  return sp_loop_sum("surfaces", count, SP_FACES, &m, sizeof(sp_gid), mark_some, add_unnamed);
}

/* Order the elements, build the topology and mark the surfaces. */
static sp_status connect_elements(sp_mesh *mesh) {
  sp_topology_destroy(&mesh->topology);
  mesh->unnamed_faces = 0;
  SP_TRY(sp_agree(mesh->comm, sp_order_along_curve(mesh->hexes)));
  SP_TRY(sp_topology_create(mesh->comm, mesh->hexes, mesh->periodic, &mesh->topology));
  SP_TRY(
      sp_agree(mesh->comm, sp_order_halo_first(mesh->hexes, mesh->topology, &mesh->halo_elements)));
  SP_TRY(sp_surfaces_share(mesh->comm, mesh->topology, mesh->halo_elements, mesh->hexes));
  SP_TRY(sp_agree(mesh->comm, sp_interlayer_check(mesh->hexes, mesh->topology)));
  SP_TRY(sp_agree(mesh->comm, mark_surfaces(mesh)));
  MPI_Allreduce(MPI_IN_PLACE, &mesh->unnamed_faces, 1, SP_MPI_GID, MPI_SUM, mesh->comm);
  return sp_columns_count_cuts(mesh->comm, mesh->halo_elements, mesh->hexes, mesh->topology,
                               &mesh->cut_columns);
}

static sp_status identify_pairs(sp_mesh *mesh) {
  if (mesh->hexes->pair_count == 0) return SP_OK;
  SP_TRY(sp_periodic_create(mesh->comm, mesh->hexes, &mesh->periodic));
  return connect_elements(mesh);
}

static sp_status build_mesh(sp_mesh *mesh) {
  MPI_Comm comm = mesh->comm;
  const sp_gid local = mesh->hexes->count;
  MPI_Allreduce(&local, &mesh->global_elements, 1, SP_MPI_GID, MPI_SUM, comm);
  if (mesh->global_elements == 0) return sp_fail(SP_ERR_INPUT, "the mesh has no elements");
  SP_TRY(sp_mesh_shape_find(comm, mesh->hexes, &mesh->shape));
  const int surfaces = mesh->hexes->surface.count;
  SP_TRY(sp_agree(comm, sp_allocate((size_t)surfaces, sizeof(bool), "surfaces", &mesh->buried)));
  SP_TRY(connect_elements(mesh));
  MPI_Allreduce(MPI_IN_PLACE, mesh->buried, surfaces, MPI_C_BOOL, MPI_LOR, comm);
  SP_TRY(sp_mesh_check_conformity(mesh));
  return identify_pairs(mesh);
}

sp_status sp_mesh_create(MPI_Comm comm, sp_hexes **hexes, sp_mesh **out) {
  SP_AUTO(sp_hexes) own = *hexes;
  SP_AUTO(sp_mesh) mesh = NULL;
  *hexes = NULL;
  *out = NULL;
  SP_TRY(sp_agree(comm, sp_allocate(1, sizeof *mesh, "mesh", &mesh)));
  mesh->comm = comm;
  mesh->hexes = own;
  own = NULL;
  SP_TRY(build_mesh(mesh));
  *out = mesh;
  mesh = NULL;
  return SP_OK;
}

sp_status sp_mesh_identify(sp_mesh *mesh, int count, const sp_periodic_pair *pairs) {
  if (count == 0) return SP_OK;
  SP_TRY(sp_agree(mesh->comm, sp_hexes_set_pairs(mesh->hexes, count, pairs)));
  return identify_pairs(mesh);
}

void sp_mesh_destroy(sp_mesh **mesh) {
  if (!*mesh) return;
  free((*mesh)->buried);
  sp_hexes_destroy(&(*mesh)->hexes);
  sp_topology_destroy(&(*mesh)->topology);
  sp_periodic_destroy(&(*mesh)->periodic);
  free(*mesh);
  *mesh = NULL;
}
