/* Meshes split by gmsh, one file per rank: the same elements, vertices, groups and solution as from
 * the whole file, for any format and order, with and without ghost elements. */
#include "mesh/gmsh/gmsh.h"

#include "mesh/numbering.h"
#include "tests/mesh_files.h"
#include "tests/run_case.h"
#include "tests/start_gmsh.h"

/* Rank 0 writes whole.msh, split_1.msh ... split_<files>.msh, and the parts in one file,
 * parted.msh; with `all` including elements in no group. */
static void generate_all(const char *geometry, int order, int binary, int ghosts, double version,
                         int files, int all) {
  MPI_Barrier(MPI_COMM_WORLD); /* wait until all ranks have read the last ones */
  if (world_rank == 0) {
    for (int f = 1; f <= 8; f++) unlink(test_text("split_%d.msh", f)); /* those that exist */
    int error, failed = make_mesh(geometry, version, binary, order, all);
    gmshOptionSetNumber("Mesh.PartitionSplitMeshFiles", 1, &error);
    gmshOptionSetNumber("Mesh.PartitionCreateGhostCells", ghosts, &error);
    failed += write_mesh("whole.msh");
#if GMSH_API_VERSION_MAJOR > 4 || (GMSH_API_VERSION_MAJOR == 4 && GMSH_API_VERSION_MINOR >= 9)
    gmshModelMeshPartition(files, NULL, 0, NULL, 0, &error);
#else
    gmshModelMeshPartition(files, &error);
#endif
    failed += (error != 0) + write_mesh("split.msh");
    gmshOptionSetNumber("Mesh.PartitionSplitMeshFiles", 0, &error);
    failed += write_mesh("parted.msh");
    gmshFinalize(&error);
    CHECK(failed == 0, "gmsh could not split %s", geometry);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void generate(const char *geometry, int order, int binary, int ghosts, double version,
                     int files) {
  generate_all(geometry, order, binary, ghosts, version, files, 0);
}

/* Properties that do not depend on ranks and order: elements, exterior faces by group, and a sum
 * over elements of a hash of their vertices' numbers, coordinates and groups. */
typedef struct summary {
  sp_gid elements, dofs, unnamed, left_out, faces[16];
  uint64_t hash;
} summary;

static uint64_t mix(uint64_t h, uint64_t value) {
  h = (h ^ value) * 0xff51afd7ed558ccdu;
  return h ^ h >> 29;
}

static sp_status summarize(const char *path, summary *out, sp_mesh **mesh) {
  sp_hexes *hexes;
  AUTO(sp_numbering) numbering = NULL;
  *out = (summary){0};
  SP_TRY(sp_gmsh_hexes(MPI_COMM_WORLD, path, NULL, NULL, &hexes));
  require(sp_mesh_create(MPI_COMM_WORLD, &hexes, mesh));
  require(sp_numbering_create(*mesh, 3, &numbering));
  const sp_hexes *h = (*mesh)->hexes;
  const size_t lattice = sp_hexes_lattice_size(h) * 3;
  CHECK(h->surface.group_count <= 16, "%d groups", h->surface.group_count);
  for (sp_lid e = 0; e < h->count; e++) {
    uint64_t hash = 0;
    for (int c = 0; c < SP_CORNERS; c++) hash = mix(hash, (uint64_t)h->vertices[e][c]);
    for (size_t p = 0; p < lattice; p++)
      hash = mix(hash, (uint64_t)llround(h->lattice[(size_t)e * lattice + p] * 1e9));
    for (int g = 0; g < h->volume.group_count; g++)
      if (sp_group_has(&h->volume.groups[g], h->volumes[e]))
        hash = mix(hash, (uint64_t)h->volume.groups[g].number);
    for (int f = 0; f < SP_FACES; f++)
      for (int g = 0; g < h->surface.group_count && h->surfaces[e][f] >= 0; g++) {
        const bool member = sp_group_has(&h->surface.groups[g], h->surfaces[e][f]);
        hash = mix(hash, (uint64_t)(member ? h->surface.groups[g].number : 0));
        out->faces[g] += member;
      }
    out->hash += hash;
  }
  MPI_Allreduce(MPI_IN_PLACE, &out->hash, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, out->faces, 16, SP_MPI_GID, MPI_SUM, MPI_COMM_WORLD);
  out->elements = (*mesh)->global_elements;
  out->unnamed = (*mesh)->unnamed_faces;
  out->left_out = h->file.left_out;
  out->dofs = numbering->global;
  return SP_OK;
}

static void check_groups(int count, const sp_group *is, int expected, const sp_group *want) {
  CHECK(count == expected, "%d groups, expected %d", count, expected);
  for (int g = 0; g < count && g < expected; g++)
    CHECK(is[g].number == want[g].number && strcmp(is[g].name, want[g].name) == 0,
          "group %d is '%s', expected '%s'", g, is[g].name, want[g].name);
}

static void check_same(const char *geometry, int order, int binary, int ghosts) {
  summary whole, split;
  AUTO(sp_mesh) whole_mesh = NULL, *mesh = NULL;
  generate(geometry, order, binary, ghosts, 4.1, world_size);
  CHECK(sp_gmsh_is_split("split.msh") && !sp_gmsh_is_split("whole.msh"), "split or whole");
  require(summarize("whole.msh", &whole, &whole_mesh));
  require(summarize("split.msh", &split, &mesh));
  CHECK(split.elements == whole.elements && split.dofs == whole.dofs &&
            split.unnamed == whole.unnamed,
        "%lld elements, %lld DOFs, expected %lld and %lld", (long long)split.elements,
        (long long)split.dofs, (long long)whole.elements, (long long)whole.dofs);
  CHECK(memcmp(split.faces, whole.faces, sizeof whole.faces) == 0, "faces by group");
  CHECK(split.hash == whole.hash, "vertices, coordinates or groups differ");
  const sp_hexes *a = mesh->hexes, *b = whole_mesh->hexes;
  check_groups(a->surface.group_count, a->surface.groups, b->surface.group_count,
               b->surface.groups);
  check_groups(a->volume.group_count, a->volume.groups, b->volume.group_count, b->volume.groups);
}

/* Elements in no Physical Volume are left out, even if some ranks then have none. */
static void check_save_all(int binary, int ghosts) {
  summary whole, other;
  sp_mesh *mesh;
  generate_all(SP_FIXTURES "/part_named.geo", 1 + binary, binary, ghosts, 4.1, world_size, 1);
  require(summarize("whole.msh", &whole, &mesh));
  sp_mesh_destroy(&mesh);
  CHECK(whole.elements == 4 && whole.left_out == 20, "%lld elements, %lld left out",
        (long long)whole.elements, (long long)whole.left_out);
  for (int split = 0; split < 2; split++) {
    /* gmsh 4.8 may crash when it reads its own single file with ghost elements. */
    if (ghosts && !split) continue;
    require(summarize(split ? "split.msh" : "parted.msh", &other, &mesh));
    sp_mesh_destroy(&mesh);
    CHECK(other.elements == 4 && other.left_out == 20 && other.hash == whole.hash,
          "%lld elements, %lld left out", (long long)other.elements, (long long)other.left_out);
  }
}

/* Their errors differ by the solver's error: 1e-13 times the condition number, below 1e4. */
static void check_solution(const char *geometry, int ghosts, const char *const *common) {
  sp_results results[2];
  generate(geometry, 1, 1, ghosts, 4.1, world_size);
  for (int split = 0; split < 2; split++) {
    const char *const own[] = {split ? "mesh.file=split.msh" : "mesh.file=whole.msh", NULL};
    require(run_case(MPI_COMM_WORLD, common, own, &results[split]));
  }
  CHECK(results[0].norms.l2 > 1e-6, "an L2 error of %g", results[0].norms.l2);
  CHECK_CLOSE(results[1].norms.l2, results[0].norms.l2, 1e-9);
}

/* The message names a part of the mesh. */
static void check_unusable(const char *name, const char *words) {
  summary any;
  sp_mesh *mesh = NULL;
  CHECK_FAILS(summarize(name, &any, &mesh), SP_ERR_INPUT, words);
}

static const char *const BLOCKS[] = {
    "discretization.order=4; problem.solution=sin(2*x+y)*cos(z)+x*y*z; boundary.side 1=robin 1; "
    "boundary.top=periodic bottom; problem.kappa=1+x^2; solver.tolerance=1e-13; "
    "solver.preconditioner=jacobi",
    NULL};
/* The contact is at x = 1, across which u jumps by exp(y). */
static const char *const CONTACT[] = {
    "discretization.order=2; problem.solution=(sin(x-1)+1)*exp(y); "
    "material.one.solution=sin(x-1)*exp(y); boundary.near=contact 1; boundary.right=robin 1; "
    "solver.tolerance=1e-13",
    NULL};

/* One part or several, but not all, are refused; all parts in one file are accepted. */
static void check_pieces(int ghosts) {
  summary whole, parted;
  sp_mesh *mesh = NULL;
  generate(SP_INPUTS "/blocks.geo", 1, 0, ghosts, 4.1, world_size + 1);
  require(summarize("whole.msh", &whole, &mesh));
  sp_mesh_destroy(&mesh);
  require(summarize("parted.msh", &parted, &mesh));
  sp_mesh_destroy(&mesh);
  CHECK(parted.hash == whole.hash, "parts in one file differ from the whole");
  check_unusable("split_1.msh", "split_1.msh: part 2 of this mesh is not in it");
  if (world_rank == 0 && unlink(test_text("split_%d.msh", world_size + 1))) abort();
  MPI_Barrier(MPI_COMM_WORLD);
  check_unusable("split.msh",
                 test_text("part %d of this mesh is missing: its files 1 to %d are here",
                           world_size + 1, world_size));
}

/* The SDK refused names that are longer than ranks send. */
static void check_long_name(void) {
  char name[301];
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  const char *const text = test_text(
      "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n3 1 \"%s\"\n$EndPhysicalNames\n"
      "$Entities\n0 0 0 1\n1 0 0 0 1 1 1 1 1 0\n$EndEntities\n$Nodes\n1 8 1 8\n3 1 0 8\n1\n2\n3\n"
      "4\n5\n6\n7\n8\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n0 0 1\n1 0 1\n1 1 1\n0 1 1\n$EndNodes\n"
      "$Elements\n1 1 1 1\n3 1 5 1\n1 1 2 3 4 5 6 7 8\n$EndElements\n",
      name);
  if (world_size > 1) return;
  for (int f = 1; f <= 8; f++) unlink(test_text("split_%d.msh", f));
  write_text("split_1.msh", text);
  check_unusable("split.msh", "the name of physical group 1 has 300 characters; at most 251");
}

static void check_refusals(void) {
  generate(SP_INPUTS "/blocks.geo", 1, 1, 0, 4.1, world_size + 1);
  check_unusable("split.msh", test_text("split into %d files (there is no split_%d.msh)",
                                        world_size + 1, world_size + 2));
  if (world_size == 1) return;
  generate(SP_INPUTS "/blocks.geo", 1, 0, 0, 2.2, world_size);
  check_unusable("split.msh",
                 "split_1.msh: expected a part of a split mesh in format 4.1, found 2.2");
  /* If one part cannot be read, all ranks get the error. */
  generate(SP_INPUTS "/blocks.geo", 1, 0, 0, 4.1, world_size);
  if (world_rank == 0 && truncate(test_text("split_%d.msh", world_size), 100)) abort();
  MPI_Barrier(MPI_COMM_WORLD);
  check_unusable("split.msh", test_text("split_%d.msh", world_size));
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  enter_folder();
  /* Two of the four combinations for each geometry. */
  for (int binary = 0; binary < 2 && world_size > 1; binary++) {
    const int same = binary, other = 1 - binary;
    check_same(SP_INPUTS "/blocks.geo", 1 + binary, binary, same);
    check_same(SP_FIXTURES "/cube.geo", 2 - binary, binary, other);
    check_same(SP_FIXTURES "/two_blocks.geo", 1, binary, same);
    check_same(SP_FIXTURES "/slab.geo", 1, binary, other);
    check_same(SP_FIXTURES "/cells.geo", 1 + binary, binary, other);
    check_save_all(binary, other);
  }
  if (world_size > 1) check_solution(SP_INPUTS "/blocks.geo", 0, BLOCKS);
  if (world_size > 1) check_solution(SP_FIXTURES "/sandwich.geo", 1, CONTACT);
  for (int ghosts = 0; ghosts < 2; ghosts++) check_pieces(ghosts);
  check_refusals();
  check_long_name();
  for (int f = 1; f <= 8 && world_rank == 0; f++) unlink(test_text("split_%d.msh", f));
  leave_folder(TEXTS("whole.msh", "parted.msh"));
  return check_end();
}
