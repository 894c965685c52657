/* Meshes from files: every format that gmsh writes gives the same mesh, and unusable files are
 * refused with the same message on all ranks. Rank 0 makes the files with the SDK from the
 * geometries in tests/fixtures. */
#include "mesh/gmsh/gmsh.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include "mesh/numbering.h"
#include "mesh/refine.h"
#include "tests/mesh_files.h"
#include "tests/start_gmsh.h"

/* Rank 0 meshes a fixture and writes it, with `all` including elements in no group; the others
 * wait. Returns the name. */
static const char *generate_all(const char *geometry, double version, int binary, int order,
                                int all, const char *name) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank == 0) {
    int error, failed = make_mesh(fixture(geometry), version, binary, order, all);
    failed += write_mesh(name);
    gmshFinalize(&error);
    CHECK(failed == 0, "gmsh could not make %s", name);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return name;
}

static const char *generate(const char *geometry, double version, int binary, int order,
                            const char *name) {
  return generate_all(geometry, version, binary, order, 0, name);
}

/* Rank 0 truncates a file to a part of its size. Returns its name. */
static const char *cut(const char *name, double part) {
  struct stat file;
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank == 0 &&
      (stat(name, &file) || truncate(name, (off_t)((double)file.st_size * part))))
    abort();
  MPI_Barrier(MPI_COMM_WORLD);
  return name;
}

/* The elements by group: z < 1/2 is "soft", the rest "hard" and 30. */
static void check_volumes(const char *path, const sp_hexes *hexes) {
  static const struct {
    const char *name;
    int number;
    bool low, high;
  } groups[] = {{"soft", 5, true, false},
                {"all", 9, true, true},
                {"hard", 0, false, true},
                {"", 30, false, true}};
  CHECK(hexes->volume.group_count == 4, "%s: %d groups", path, hexes->volume.group_count);
  for (int g = 0; g < hexes->volume.group_count; g++) {
    const sp_group *group = &hexes->volume.groups[g];
    int known = 0;
    while (known < 3 && strcmp(groups[known].name, group->name) != 0) known++;
    CHECK(strcmp(groups[known].name, group->name) == 0 &&
              (groups[known].number == 0 || groups[known].number == group->number),
          "%s: group '%s' %d", path, group->name, group->number);
    for (sp_lid e = 0; e < hexes->count; e++) {
      double centre[3];
      sp_hexes_coordinates(hexes, e, 1, (const double[]){0}, centre);
      CHECK(sp_group_has(group, hexes->volumes[e]) ==
                (centre[2] < 0.5 ? groups[known].low : groups[known].high),
            "%s: element at z = %g and group '%s' %d", path, centre[2], group->name, group->number);
    }
  }
}

/* fixtures/groups.geo, whose volumes are in several groups and read once; volume groups also after
 * refinement. */
static void check_groups(const char *path, int order) {
  AUTO(sp_mesh) mesh = read_mesh(path);
  if (!mesh) return;
  const sp_hexes *hexes = mesh->hexes;
  CHECK(mesh->global_elements == 36, "%s: %lld elements", path, (long long)mesh->global_elements);
  CHECK(hexes->map_order == order, "%s: order %d", path, hexes->map_order);
  CHECK(hexes->surface.group_count == 3, "%s: %d groups", path, hexes->surface.group_count);
  const sizes size = measure(mesh);
  CHECK_CLOSE(size.volume, 1, TOLERANCE);
  const int bottom = find_group(hexes, "bottom", 0), both = find_group(hexes, "top and bottom", 20);
  const int side = find_group(hexes, "", 30);
  CHECK(size.faces[bottom] == 9 && size.faces[both] == 18 && size.faces[side] == 12,
        "%s: %lld, %lld, %lld faces", path, (long long)size.faces[bottom],
        (long long)size.faces[both], (long long)size.faces[side]);
  CHECK_CLOSE(size.area[bottom], 1, TOLERANCE);
  CHECK_CLOSE(size.area[both], 2, TOLERANCE);
  CHECK_CLOSE(size.area[side], 1, TOLERANCE);
  CHECK(size.faces[UNNAMED] == 36 && mesh->unnamed_faces == 36,
        "%s: %lld and %lld faces in no group", path, (long long)size.faces[UNNAMED],
        (long long)mesh->unnamed_faces);
  AUTO(sp_numbering) numbering = NULL;
  CHECK_OK(sp_numbering_create(mesh, 3, &numbering));
  if (numbering)
    CHECK(numbering->global == 10 * 10 * 13, "%s: %lld DOFs", path, (long long)numbering->global);
  check_volumes(path, hexes);
  CHECK_OK(sp_mesh_refine(&mesh));
  if (mesh) check_volumes(path, mesh->hexes);
}

static void check_formats(void) {
  for (int format = 0; format < 8; format++) {
    const int binary = format & 1, order = 1 + (format >> 2);
    check_groups(generate("groups.geo", format & 2 ? 2.2 : 4.1, binary, order, "cube.msh"), order);
  }
  check_groups(fixture("groups.geo"), 1);
}

static void check_two_blocks(const char *path) {
  AUTO(sp_mesh) mesh = read_mesh(path);
  if (!mesh) return;
  CHECK(mesh->global_elements == 18 + 18, "%s: %lld elements", path,
        (long long)mesh->global_elements);
  const sizes size = measure(mesh);
  CHECK_CLOSE(size.volume, 3, TOLERANCE);
  const int left = find_group(mesh->hexes, "left", 0), right = find_group(mesh->hexes, "right", 0);
  const int between = find_group(mesh->hexes, "between", 0);
  CHECK(size.faces[left] == 6 && size.faces[right] == 6, "%lld and %lld faces",
        (long long)size.faces[left], (long long)size.faces[right]);
  CHECK(size.faces[between] == 0, "%lld faces between the blocks", (long long)size.faces[between]);
  CHECK_CLOSE(size.area[left], 1, TOLERANCE);
  CHECK_CLOSE(size.area[right], 1, TOLERANCE);
  AUTO(sp_numbering) numbering = NULL;
  CHECK_OK(sp_numbering_create(mesh, 4, &numbering));
  if (numbering)
    CHECK(numbering->global == 25 * 13 * 9, "%s: %lld DOFs", path, (long long)numbering->global);
}

/* Only the elements of Physical Volumes are used, with any other contents of the file. */
static void check_named(const char *path, int order, sp_gid left_out) {
  AUTO(sp_mesh) mesh = read_mesh(path);
  if (!mesh) return;
  const sp_hexes *hexes = mesh->hexes;
  CHECK(mesh->global_elements == 4 && hexes->map_order == order, "%s: %lld elements of order %d",
        path, (long long)mesh->global_elements, hexes->map_order);
  CHECK(hexes->file.left_out == left_out, "%s: %lld elements left out", path,
        (long long)hexes->file.left_out);
  const sizes size = measure(mesh);
  CHECK_CLOSE(size.volume, 1, TOLERANCE);
  const int bottom = find_group(hexes, "bottom", 0), between = find_group(hexes, "between", 0);
  CHECK(size.faces[bottom] == 4 && size.faces[between] == 4, "%s: %lld and %lld faces", path,
        (long long)size.faces[bottom], (long long)size.faces[between]);
  CHECK_OK(sp_mesh_refine(&mesh));
  if (mesh)
    CHECK(mesh->hexes->file.left_out == left_out, "%s: %lld left out after refinement", path,
          (long long)mesh->hexes->file.left_out);
}

static void check_save_all(void) {
  for (int all = 0; all < 2; all++)
    for (int binary = 0; binary < 2; binary++) {
      check_named(generate_all("part_named.geo", 4.1, binary, 1 + binary, all, "named.msh"),
                  1 + binary, all ? 20 : 0);
      const char *path = generate_all("part_named.geo", 2.2, binary, 1 + binary, all, "named.msh");
      if (all)
        check_refused(path, "it names a Physical Volume, but no element is in one");
      else
        check_named(path, 1 + binary, 0);
    }
  check_named(fixture("part_named.geo"), 1, 20);
}

/* Largest resident memory of the mesh readers started by this process, in MiB. */
static double child_memory(void) {
  struct rusage usage;
  getrusage(RUSAGE_CHILDREN, &usage);
  return (double)usage.ru_maxrss / 1024;
}

/* Node numbers with gaps: memory follows the number of nodes, not the largest number, also in
 * METIS. A table by number would take 24 bytes times that. */
static void check_sparse(void) {
  const int a = 2000000000, b = a - 1;
  if (world_size > 2) return; /* two elements */
  const char *text =
      test_text("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n12\n"
                "7 0 0 0\n%d 1 0 0\n50 1 1 0\n5 0 1 0\n1 0 0 1\n%d 1 0 1\n40 1 1 1\n6 0 1 1\n"
                "60 2 0 0\n61 2 1 0\n62 2 0 1\n63 2 1 1\n$EndNodes\n"
                "$Elements\n3\n1 3 2 8 1 7 5 6 1\n2 5 2 9 1 7 %d 50 5 1 %d 40 6\n"
                "3 5 2 9 1 %d 60 61 50 %d 62 63 40\n$EndElements\n",
                a, b, a, b, a, b);
  sp_mesh *mesh = read_mesh(write_text("sparse.msh", text));
  if (!mesh) return;
  CHECK(mesh->global_elements == 2, "%lld elements", (long long)mesh->global_elements);
  CHECK_CLOSE(measure(mesh).volume, 2, TOLERANCE);
  CHECK(mesh->unnamed_faces == 9, "%lld faces without a group", (long long)mesh->unnamed_faces);
  sp_mesh_destroy(&mesh);
  CHECK(child_memory() < 1024, "%.0f MiB for two elements", child_memory());
}

/* A face listed in several entities is in the groups of all of them. Two cubes are side by side.
 * Group 7 has both bottom faces; groups 8 and 9 have the left bottom face and the right top
 * face. */
static void check_shared_faces(void) {
  static const char text[] =
      "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n12\n"
      "1 0 0 0\n2 1 0 0\n3 2 0 0\n4 0 1 0\n5 1 1 0\n6 2 1 0\n"
      "7 0 0 1\n8 1 0 1\n9 2 0 1\n10 0 1 1\n11 1 1 1\n12 2 1 1\n$EndNodes\n"
      "$Elements\n8\n1 3 2 9 9 8 9 12 11\n2 3 2 7 7 1 2 5 4\n3 3 2 7 7 3 2 5 6\n"
      "4 3 2 8 8 4 5 2 1\n5 3 2 8 8 9 8 11 12\n6 3 2 9 9 5 4 1 2\n"
      "7 5 2 1 1 1 2 5 4 7 8 11 10\n8 5 2 1 1 2 3 6 5 8 9 12 11\n$EndElements\n";
  if (world_size > 2) return; /* two elements */
  AUTO(sp_mesh) mesh = read_mesh(write_text("shared.msh", text));
  if (!mesh) return;
  const sizes size = measure(mesh);
  for (int number = 7; number <= 9; number++) {
    const int group = find_group(mesh->hexes, "", number);
    CHECK(size.faces[group] == 2, "%lld faces in group %d", (long long)size.faces[group], number);
  }
  CHECK(mesh->unnamed_faces == 10 - 3, "%lld faces in no group", (long long)mesh->unnamed_faces);
}

/* Two curved elements with all corners in common, like the halves of a ring. */
static void check_same_corners(void) {
  enum { CORNERS = 8, NODES = 27, ALL = 2 * NODES - CORNERS };
  mesh_text t = {.encoding = ASCII};
  say(&t, "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n%d\n", ALL);
  for (int n = 0; n < ALL; n++) {
    const int x = n % 4 == 1 || n % 4 == 2, y = n % 4 > 1, z = n / 4;
    say(&t, "%d %d %d %d\n", n + 1, x, y, z);
  }
  say(&t, "$EndNodes\n$Elements\n2\n");
  for (int e = 0; e < 2; e++) {
    say(&t, "%d 12 2 1 1", e + 1);
    for (int n = 0; n < NODES; n++)
      say(&t, " %d", n + 1 + (n < CORNERS ? 0 : e * (NODES - CORNERS)));
    say(&t, "\n");
  }
  say(&t, "$EndElements\n");
  check_refused(write_file("ring.msh", t.bytes, t.size),
                "elements 1 and 2 have the same corners, but other nodes between");
}

/* A unit cube with node 3 listed twice and node 8 missing, so the number of nodes is right. */
static void check_doubled(void) {
  static const char text[] =
      "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n"
      "$Entities\n0 0 1 1\n1 0 0 0 1 1 1 0 0\n1 0 0 0 1 1 1 0 1 1\n$EndEntities\n"
      "$Nodes\n2 9 1 9\n2 1 0 1\n3\n1 1 0\n3 1 0 8\n1\n2\n3\n4\n5\n6\n7\n9\n"
      "0 0 0\n1 0 0\n1 1 0\n0 1 0\n0 0 1\n1 0 1\n1 1 1\n0 1 1\n$EndNodes\n"
      "$Elements\n1 1 1 1\n3 1 5 1\n1 1 2 3 4 5 6 7 9\n$EndElements\n";
  if (world_size > 1) return; /* one element */
  AUTO(sp_mesh) mesh = read_mesh(write_text("doubled.msh", text));
  if (!mesh) return;
  CHECK_CLOSE(measure(mesh).volume, 1, TOLERANCE);
}

/* In format 4.1: two cubes with the same number, and a node with two positions. */
static void check_twins(void) {
  static const char format[] =
      "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n"
      "$Entities\n0 0 0 1\n1 0 0 0 2 1 1 1 1 0\n$EndEntities\n"
      "$Nodes\n1 13 1 12\n3 1 0 13\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n3\n"
      "0 0 0\n1 0 0\n1 1 0\n0 1 0\n0 0 1\n1 0 1\n1 1 1\n0 1 1\n2 0 0\n2 1 0\n2 0 1\n2 1 1\n"
      "1 1 %d\n$EndNodes\n"
      "$Elements\n1 2 1 8\n3 1 5 2\n7 1 2 3 4 5 6 7 8\n%d 2 9 10 3 6 11 12 7\n$EndElements\n";
  check_refused(write_text("twins.msh", test_text(format, 0, 7)),
                "two volume elements have the number 7: give every element a number of its own");
  check_refused(write_text("twins.msh", test_text(format, 3, 8)), "node 3 is both at");
}

/* A damaged count, here of the groups of a point: no memory is taken for it. */
static void check_damaged_count(void) {
  static const long long counts[4] = {1, 0, 0, 0};
  mesh_text t = {.encoding = BINARY};
  say(&t, "$MeshFormat\n4.1 1 8\n");
  put_integer(&t, 4, 1);
  say(&t, "\n$EndMeshFormat\n$Entities\n");
  for (int d = 0; d < 4; d++) put_integer(&t, 8, counts[d]);
  put_integer(&t, 4, 1); /* tag */
  for (int d = 0; d < 3; d++) put_real(&t, 0);
  put_integer(&t, 8, 2147483632);
  check_refused(write_file("count.msh", t.bytes, t.size), "cut short");
  CHECK(child_memory() < 2048, "%.0f MiB for a file of %zu bytes", child_memory(), t.size);
}

static void check_refusals(void) {
  static const struct {
    double version, part;
    const char *words;
  } cuts[] = {{2.2, 0.8, "of its 75 elements: it is cut short"},
              {2.2, 0.3, "of its 80 nodes: it is cut short"},
              {4.1, 0.8, "of the 36 of the block of line 265, but the file ends: it is cut short"},
              {4.1, 0.3, "expected node 2 of the 3 of the block of line 106, but the file ends"}};
  for (size_t c = 0; c < COUNT_OF(cuts); c++) {
    generate("cube.geo", cuts[c].version, 0, 1, "cube.msh");
    check_refused(cut("cube.msh", cuts[c].part), cuts[c].words);
  }
  check_refused("missing.msh", "No such file or directory");
  check_refused(write_text("empty.msh", ""), "the file is empty");
  check_refused(".", "is a directory");
  check_refused(generate("surface_only.geo", 2.2, 0, 1, "surface_only.msh"), "no Physical Volume");
  check_refused(generate("surface_only.geo", 4.1, 0, 1, "surface_only.msh"), "no Physical Volume");
  check_refused(fixture("surface_only.geo"), "no Physical Volume");
  check_refused(fixture("inverted.msh"), "element 103 has a Jacobian of");
  if (world_size > 1)
    check_refused(fixture("one_element.msh"), "ranks for a mesh of 1 element: use");
  check_refused(fixture("garbage.geo"), "gmsh could not read the file");
  check_refused(fixture("garbage.msh"), "garbage.msh:1: expected a gmsh mesh");
  /* A broken file has no effect on later ones: each is read by its own process. */
  check_two_blocks(fixture("two_blocks.geo"));
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  enter_folder();
  check_formats();
  check_save_all();
  check_same_corners();
  check_sparse();
  check_shared_faces();
  check_doubled();
  check_twins();
  check_damaged_count();
  check_refusals();
  CHECK(strchr(sp_gmsh_version(), '.'), "version '%s'", sp_gmsh_version());
  leave_folder(TEXTS("cube.msh", "empty.msh", "surface_only.msh", "count.msh", "twins.msh",
                     "named.msh", "ring.msh", "sparse.msh", "shared.msh", "doubled.msh"));
  return check_end();
}
