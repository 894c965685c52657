/* Mesh files that gmsh reads without an error, with unusual content: a sketch (sketch.h) is written
 * in format 4.1 and read as the program reads it, partition included.
 *
 * The program reads meshes in a process of their own (mesh/gmsh/reader.h), which libFuzzer does not
 * instrument, and which starts slowly. Here the function below replaces the library's and calls the
 * reader in this process: that is safe because the file format is correct, so the SDK does not
 * crash. For the process and damaged files see mesh_file.c. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mesh/gmsh/reader.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/sketch.h"

enum { GROUPS = 8, VOLUMES = 3, PATH_SIZE = 128 };

static char folder[] = "/tmp/sp_fuzz_mesh_XXXXXX", whole[PATH_SIZE], part[PATH_SIZE];

/* Leaks of the SDK are not reported. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
  return "leak:libgmsh\nleak:libstdc++\n";
}

sp_status sp_gmsh_in_child(const char *path, const sp_gmsh_sizes *sizes, int size,
                           sp_terminal *terminal, sp_hexes **hexes, int **parts) {
  (void)terminal;
  *hexes = NULL;
  const sp_status status = sp_gmsh_read(path, sizes, size, hexes, parts);
  if (status) sp_hexes_destroy(hexes);
  return status;
}

static void clean_up(void) {
  unlink(whole);
  unlink(part);
  rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  start_mpi();
  char version[SP_GMSH_VERSION_SIZE];
  require(sp_gmsh_sdk_start(version) == SP_OK, "no SDK");
  require(mkdtemp(folder) != NULL, "no folder for the mesh");
  snprintf(whole, sizeof whole, "%s/mesh.msh", folder);
  snprintf(part, sizeof part, "%s/mesh_1.msh", folder);
  atexit(clean_up);
  return 0;
}

/* Gmsh's types of elements: dimension and nodes. */
static const struct {
  int type, dimension, nodes;
} TYPES[] = {{15, 0, 1}, {1, 1, 2}, {2, 2, 3},   {3, 2, 4},   {4, 3, 4},  {5, 3, 8},
             {6, 3, 6},  {7, 3, 5}, {17, 3, 20}, {12, 3, 27}, {92, 3, 64}};

/* Lattice indices of gmsh's hexahedron of 27 nodes in the lattice of 3^3 (gmsh's manual, "Node
 * ordering"); its first 8 are the corners, here with indices 0 and 2. */
static const int PLACES[SKETCH_NODES] = {0,  2,  8,  6,  18, 20, 26, 24, 1,  3,  9,  5,  11, 7,
                                         17, 15, 19, 21, 23, 25, 4,  10, 12, 14, 16, 22, 13};

static int node_of(const sketch *s, const sketch_element *element, int n) {
  const int place = PLACES[n % SKETCH_NODES];
  if (s->order == 2) return element->nodes[place];
  return element->nodes[(place % 3 > 0) + 2 * (place / 3 % 3 > 0) + 4 * (place / 9 > 0)];
}

static void write_element(FILE *file, const sketch *s, const sketch_element *element) {
  const int type = element->type ? element->type : s->order == 2 ? 12 : 5;
  size_t t = 0;
  while (TYPES[t].type != type) t++;
  fprintf(file, "%d %d %d 1\n%llu", TYPES[t].dimension,
          TYPES[t].dimension == 3 ? element->volume : 1, type, (unsigned long long)element->tag);
  for (int n = 0; n < TYPES[t].nodes; n++)
    fprintf(file, " %llu", (unsigned long long)s->tags[node_of(s, element, n)]);
  fputc('\n', file);
}

static void write_entities(FILE *file, const sketch *s) {
  fprintf(file, "$Entities\n1 1 %d %d\n1 0 0 0 0\n1 0 0 0 1 1 1 0 0\n", SKETCH_SURFACES, VOLUMES);
  for (int surface = 0; surface < SKETCH_SURFACES; surface++) {
    int count = 0;
    for (int g = 0; g < GROUPS; g++) count += s->groups[surface] >> g & 1;
    fprintf(file, "%d 0 0 0 1 1 1 %d", surface + 1, count);
    for (int g = 0; g < GROUPS; g++)
      if (s->groups[surface] >> g & 1) fprintf(file, " %d", g + 1);
    fputs(" 0\n", file);
  }
  for (int v = 1; v <= VOLUMES; v++) fprintf(file, "%d 0 0 0 1 1 1 1 %d 0\n", v, 100 + v);
  fputs("$EndEntities\n", file);
}

static unsigned long long largest_tag(const sketch *s, bool of_points) {
  uint64_t largest = 1000 + SKETCH_FACES; /* faces have these */
  if (of_points) largest = 1;
  for (int p = 0; p < s->point_count && of_points; p++)
    if (s->tags[p] > largest) largest = s->tags[p];
  for (int e = 0; e < s->element_count && !of_points; e++)
    if (s->elements[e].tag > largest) largest = s->elements[e].tag;
  return largest;
}

static void write_mesh(FILE *file, const sketch *s) {
  fputs(
      "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$PhysicalNames\n2\n2 1 \"inlet\"\n2 3 \"a \\ wall\"\n"
      "$EndPhysicalNames\n",
      file);
  write_entities(file, s);
  fprintf(file, "$Nodes\n1 %d 1 %llu\n3 1 0 %d\n", s->point_count, largest_tag(s, true),
          s->point_count);
  for (int p = 0; p < s->point_count; p++) fprintf(file, "%llu\n", (unsigned long long)s->tags[p]);
  for (int p = 0; p < s->point_count; p++)
    fprintf(file, "%.17g %.17g %.17g\n", s->points[p][0], s->points[p][1], s->points[p][2]);
  const int blocks = s->element_count + s->face_count;
  fprintf(file, "$EndNodes\n$Elements\n%d %d 1 %llu\n", blocks, blocks, largest_tag(s, false));
  for (int e = 0; e < s->element_count; e++) write_element(file, s, &s->elements[e]);
  for (int f = 0; f < s->face_count; f++) {
    const int *n = s->faces[f].nodes; /* around the face, not in lattice order */
    fprintf(file, "2 %d 3 1\n%d %llu %llu %llu %llu\n", s->faces[f].surface + 1, 1000 + f,
            (unsigned long long)s->tags[n[0]], (unsigned long long)s->tags[n[1]],
            (unsigned long long)s->tags[n[3]], (unsigned long long)s->tags[n[2]]);
  }
  fputs("$EndElements\n", file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  sketch s;
  sketch_make(data, size, &s);
  unlink(s.split ? whole : part);
  FILE *file = fopen(s.split ? part : whole, "w");
  require(file != NULL, "the mesh cannot be written");
  write_mesh(file, &s);
  require(fclose(file) == 0, "the mesh cannot be written");
  sp_hexes *hexes = NULL;
  const sp_status status = sp_gmsh_hexes(MPI_COMM_SELF, whole, NULL, NULL, &hexes);
  if (status) {
    require_message(status);
    require(hexes == NULL, "elements after an error");
  } else {
    require(hexes->count > 0, "a mesh without elements");
    sketch_check(&s, &hexes);
  }
  return 0;
}
