/* No element is lost: the counts of a file, its contents and the mesh agree, numbers above 32 bits
 * are kept, and two groups may have one name. */

#include "mesh/numbering.h"
#include "tests/mesh_files.h"

enum { TEXT_SIZE = 1 << 14 };

static void load(const char *name, char text[TEXT_SIZE]) {
  const char *path = fixture(name);
  FILE *file = fopen(path, "rb");
  if (!file) abort();
  text[fread(text, 1, TEXT_SIZE - 1, file)] = '\0';
  fclose(file);
}

/* Replace the last `old` in the text. */
static void edit(char text[TEXT_SIZE], const char *old, const char *new) {
  char *at = NULL;
  for (char *next = strstr(text, old); next; next = strstr(next + 1, old)) at = next;
  CHECK(at, "no '%s' to replace", old);
  if (!at) return;
  const char *rest = test_text("%s%s", new, at + strlen(old));
  snprintf(at, TEXT_SIZE - (size_t)(at - text), "%s", rest);
}

static const char *save(const char *text) {
  return write_text("edited.msh", text);
}

static void check_edited(const char *name, const char *old, const char *new, const char *phrase) {
  static char text[TEXT_SIZE];
  load(name, text);
  edit(text, old, new);
  check_refused(save(text), phrase);
}

static void check_counts(void) {
  check_refused(fixture("seven_of_eight.msh"),
                "seven_of_eight.msh:83: the file says 32 elements, but its blocks have 31");
  static const char name[] = "seven_of_eight.msh";
  check_edited(name, "7 32 1 32", "7 31 1 32",
               ":122: expected $EndElements after 7 blocks with 31 elements, found '32 14 15");
  check_edited(name, "3 1 5 7", "3 1 5 9",
               ":123: expected element 9 of the 9 of the block of line 114, found '$EndElements'");
  check_edited(name, "7 32 1 32", "8 31 1 32", "expected a block of elements");
  check_edited(name, "7 32 1 32", "7 31 1 30", ":121: element 31 is not in the range 1 to 30");
  check_edited(name, "3 1 5 7", "3 1 199 7", ":114: a block of elements has the type 199");
  check_edited(name, "1 27 1 27", "1 28 1 27",
               ":25: the file says 28 nodes, but its blocks have 27");
  check_edited(name, "1 27 1 27", "1 27 1 26", ":53: node 27 is not in the range 1 to 26");
  check_edited(name, "3 1 0 27", "3 1 0 26", "but its blocks have 26");
  check_edited("tags_2_32.msh", "$EndElements", "$EndElements\n$Elements\n0 0 0 0\n$EndElements",
               "a second section $Elements");
}

/* The SDK also refused these damages of other sections. */
static void check_sections(void) {
  static const char name[] = "tags_2_32.msh", last[] = "8 0\n$EndEntities";
  static const char entity[] = ":16: expected an entity: its tag, box, groups and boundary, found";
  static char text[TEXT_SIZE];
  check_edited(name, last, "x 0\n$EndEntities", entity);
  check_edited(name, last, "8 1 x\n$EndEntities", entity);
  check_edited(name, last, "8 1\n$EndEntities", ":17: expected an entity");
  check_edited(name, last, "8 0 1\n$EndEntities", ":16: expected $EndEntities, found '1'");
  check_edited(name, "\n3 2 5 8", "\n3 99 5 8", "found entity 99 of dimension 3");
  check_edited(name, "$MeshFormat", "$PhysicalNames\n0\n$EndPhysicalNames\n$MeshFormat",
               ":1: expected $MeshFormat before this section");
  check_edited("one_partition.msh", "$MeshFormat", "$Nodes\n0\n$EndNodes\n$MeshFormat",
               ":1: expected $MeshFormat before this section");
  check_edited(name, "$Entities\n", "", ":16: expected $Entities before $EndEntities, found none");
  check_edited("one_partition.msh", "$EndElements", "$EndElements\n$EndElements",
               "expected $Elements before $EndElements, found none");
  check_edited("one_partition.msh", "2.2 0 8", "2.x 0 8", ":2: expected the version");
  load("seven_of_eight.msh", text);
  edit(text, "\n0 0 6 1", "\n1 0 6 1\n1 0 0 0 0");
  edit(text, "7 32 1 32", "8 33 1 33");
  edit(text, "3 1 5 7", "0 1 15 1\n33 99\n3 1 5 8");
  check_refused(save(text), "element 33 refers to node 99, which does not exist");
}

static sp_gid largest(const sp_mesh *mesh, bool of_vertices) {
  const sp_hexes *hexes = mesh->hexes;
  sp_gid found = 0;
  for (sp_lid e = 0; e < hexes->count; e++) {
    if (!of_vertices && hexes->tags[e] > found) found = hexes->tags[e];
    for (int c = 0; c < SP_CORNERS && of_vertices; c++)
      if (hexes->vertices[e][c] > found) found = hexes->vertices[e][c];
  }
  MPI_Allreduce(MPI_IN_PLACE, &found, 1, SP_MPI_GID, MPI_MAX, MPI_COMM_WORLD);
  return found;
}

static void check_mesh(const char *path, sp_gid elements, double volume, sp_gid dofs, sp_gid vertex,
                       sp_gid tag) {
  AUTO(sp_mesh) mesh = read_mesh(path);
  AUTO(sp_numbering) numbering = NULL;
  if (!mesh) return;
  CHECK(mesh->global_elements == elements, "%s: %lld elements", path,
        (long long)mesh->global_elements);
  CHECK_CLOSE(measure(mesh).volume, volume, TOLERANCE);
  CHECK(largest(mesh, true) == vertex, "%s: vertex %lld", path, (long long)largest(mesh, true));
  CHECK(largest(mesh, false) == tag, "%s: element %lld", path, (long long)largest(mesh, false));
  CHECK_OK(sp_numbering_create(mesh, 1, &numbering));
  if (numbering) CHECK(numbering->global == dofs, "%lld DOFs", (long long)numbering->global);
}

static void check_orders(void) {
  static char text[TEXT_SIZE];
  const char *path = fixture("two_hexes_one_entity.msh");
  check_refused(path, "hexahedra of order 1 and 2");
  /* Only the corners of faces matter: two of these are linear, and one is of second order. */
  load("seven_of_eight.msh", text);
  edit(text, "7 32 1 32", "8 33 1 33");
  edit(text, "3 1 5 7", "2 1 10 1\n33 1 3 21 19 2 12 20 10 11\n3 1 5 8");
  check_mesh(save(text), 8, 1, 27, 26, 32);
}

/* Other programs may write $Entities, which has the groups, after the elements. */
static void check_order_of_sections(void) {
  static char text[TEXT_SIZE], entities[TEXT_SIZE];
  load("tags_2_32.msh", text);
  char *begin = strstr(text, "$Entities"), *end = strstr(text, "$Nodes");
  snprintf(entities, sizeof entities, "%.*s", (int)(end - begin), begin);
  memmove(begin, end, strlen(end) + 1);
  check_mesh(save(test_text("%s%s", text, entities)), 16, 2, 54, ((sp_gid)1 << 32) + 26, 64);
}

/* Two bodies of eight elements whose node numbers differ by 2^32. */
static void check_large_numbers(void) {
  static char text[TEXT_SIZE];
  const sp_gid far = (sp_gid)1 << 32;
  const char *path = fixture("tags_2_32.msh");
  check_mesh(path, 16, 2, 54, far + 27 - 1, 64);
  check_edited("tags_2_32.msh", "4294967323 ", "4294967423 ",
               "refers to node 4294967423, which does not exist");
  load("seven_of_eight.msh", text);
  edit(text, "7 32 1 32", "7 32 1 4294967328");
  edit(text, "3 1 5 7", "3 1 5 8");
  edit(text, "\n32 14", "\n4294967328 14");
  check_mesh(save(text), 8, 1, 27, 26, far + 32);
}

/* Two cubes in binary files of both byte orders. All numbers but the first of each kind are `far`
 * larger than 1, 2 ...; `missing`: number of elements that the file announces but does not have. */
static void check_binary(encoding_kind encoding, sp_gid far, int missing) {
  static const int corners[2][8] = {{0, 1, 4, 3, 6, 7, 10, 9}, {1, 2, 5, 4, 7, 8, 11, 10}};
  mesh_text t = {.encoding = encoding};
  if (world_size > 2) return; /* two elements */
#define INT(i) put_integer(&t, 4, i)
#define LONG(l) put_integer(&t, 8, l)
  say(&t, "$MeshFormat\n4.1 1 8\n");
  INT(1);
  say(&t, "\n$EndMeshFormat\n$Nodes\n");
  LONG(1), LONG(12), LONG(1), LONG(12 + far);
  INT(3), INT(1), INT(0), LONG(12);
  for (int n = 0; n < 12; n++) LONG(n + 1 + (n > 0 ? far : 0));
  for (int n = 0; n < 12; n++)
    for (int d = 0; d < 3; d++) put_real(&t, d == 0 ? n % 3 : d == 1 ? n / 3 % 2 : n / 6);
  say(&t, "\n$EndNodes\n$Elements\n");
  LONG(1), LONG(2 + missing), LONG(1), LONG(2 + far);
  INT(3), INT(1), INT(5), LONG(2 + missing);
  for (int e = 0; e < 2; e++) {
    LONG(e + 1 + (e > 0 ? far : 0));
    for (int c = 0; c < 8; c++) LONG(corners[e][c] + 1 + (corners[e][c] > 0 ? far : 0));
  }
  say(&t, "\n$EndElements\n");
  const char *path = write_file("edited.msh", t.bytes, t.size);
  if (missing)
    check_refused(path, "is not in the range 1 to 2");
  else
    check_mesh(path, 2, 2, 12, far + 11, far + 2);
}

static void check_names(const char *name, bool of_volumes) {
  const char *path = fixture(name);
  AUTO(sp_mesh) mesh = read_mesh(path);
  if (!mesh) return;
  const sp_hexes *hexes = mesh->hexes;
  const sp_group *groups = of_volumes ? hexes->volume.groups : hexes->surface.groups;
  const int count = of_volumes ? hexes->volume.group_count : hexes->surface.group_count;
  int found = 0;
  for (int g = 0; g < count; g++) found += strcmp(groups[g].name, of_volumes ? "m" : "wall") == 0;
  CHECK(found == 2, "%s: %d groups of one name", path, found);
}

static void check_format2(void) {
  const char *path = fixture("one_partition.msh");
  check_mesh(path, 8, 1, 27, 26, 32);
  check_edited("one_partition.msh", "32 5 4 7 1 1 1 ", "32 5 4 7 1 1 3 ",
               "part 2 of this mesh is not in it");
  check_edited("one_partition.msh", "\n32 5 ", "\n2147483648 5 ",
               "element number 2147483648 is above 2147483647, the largest of format 2");
  check_edited("one_partition.msh", "\n27 1 1 1", "\n2147483648 1 1 1",
               "node number 2147483648 is above 2147483647, the largest of format 2");
  check_refused(save("$NOD\n0\n$ENDNOD\n$ELM\n0\n$ENDELM\n"),
                "this is gmsh's format 1, which is not read: convert it");
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  enter_folder();
  check_counts();
  check_sections();
  check_orders();
  check_order_of_sections();
  check_large_numbers();
  for (int encoding = BINARY; encoding <= SWAPPED; encoding++) {
    check_binary((encoding_kind)encoding, 0, 0);
    check_binary((encoding_kind)encoding, (sp_gid)1 << 32, 0);
    check_binary((encoding_kind)encoding, (sp_gid)1 << 60, 0);
    check_binary((encoding_kind)encoding, 0, 1);
  }
  check_names("surfaces22.msh", false);
  check_names("volumes22.msh", true);
  check_format2();
  leave_folder(TEXTS("edited.msh"));
  return check_end();
}
