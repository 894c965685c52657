/* Files of format 2 as other programs write them, in three encodings. Groups that share elementary
 * tags are distinguished. A file of which gmsh would lose a part is refused with the line or the
 * index of the fault. */
#include <limits.h>

#include "tests/mesh_files.h"

enum { CUBES = 4, SIDES = 4 * CUBES, FACES = SIDES + 2, ELEMENTS = FACES + CUBES };
enum { NODES = 4 * (CUBES + 1), QUADRANGLE = 3, HEXAHEDRON = 5 };

static const char *const NAMES[] = {"ASCII", "binary", "binary of other machines"};

/* The file to write, and its faults; all zero: a correct file. */
typedef struct recipe {
  encoding_kind encoding;
  int tags, elementary;          /* 1 tag, the physical one, or 2 */
  int more_nodes, more_elements; /* more than there are, in the counts of the file */
  int first_node, first_element; /* numbers of all nodes or elements but the first begin here */
  int type, physical;            /* of the last element */
  int fewer_nodes;               /* of the last element */
  bool twice;                    /* the elements are in two sections */
  bool second_names_zero;        /* hexahedra of the second half are in no group */
} recipe;

static void put_int(mesh_text *t, int value) {
  put_integer(t, sizeof value, value);
}

/* Corner c of cube e; corners of a cube in gmsh's order. */
static int node_of(int e, int c) {
  static const int x[] = {0, 1, 1, 0, 0, 1, 1, 0}, yz[] = {0, 0, 1, 1, 2, 2, 3, 3};
  return 4 * (e + x[c]) + yz[c];
}

static void put_element(mesh_text *t, const recipe *r, int number, int type, int physical,
                        int count, const int *nodes) {
  if (t->encoding == ASCII) {
    put_int(t, number);
    put_int(t, type);
    put_int(t, r->tags);
  } else {
    put_int(t, type);
    put_int(t, 1); /* element in this block */
    put_int(t, r->tags);
    put_int(t, number);
  }
  put_int(t, physical);
  if (r->tags > 1) put_int(t, r->elementary);
  for (int n = 0; n < count; n++) put_int(t, nodes[n]);
  end_line(t);
}

static int node_number(const recipe *r, int index) {
  return index == 0 ? 1 : index + (r->first_node ? r->first_node : 1);
}

static void put_nodes(mesh_text *t, const recipe *r) {
  say(t, "$Nodes\n%d\n", NODES + r->more_nodes);
  for (int n = 0; n < NODES; n++) {
    put_int(t, node_number(r, n));
    put_real(t, (double)(n / 4) / CUBES);
    put_real(t, n % 2);
    put_real(t, n % 4 / 2);
    end_line(t);
  }
  end_lines(t);
  say(t, "$EndNodes\n");
}

/* Left and right are groups 1 and 2, the sides 3, the cubes 9. */
static void put_row(mesh_text *t, const recipe *r) {
  static const int corners[6][4] = {{0, 3, 7, 4}, {1, 2, 6, 5}, {0, 1, 5, 4},
                                    {3, 2, 6, 7}, {0, 1, 2, 3}, {4, 5, 6, 7}};
  for (int e = 0, number = 0; number < ELEMENTS; e++) {
    const int cube = e / 7, part = e % 7, nodes_there = part < 6 ? 4 : 8;
    int nodes[9] = {0}, physical = part < 2 ? part + 1 : 3, type = QUADRANGLE;
    if ((part == 0 && cube > 0) || (part == 1 && cube < CUBES - 1)) continue;
    if (part == 6) {
      type = HEXAHEDRON;
      physical = r->second_names_zero && cube >= CUBES / 2 ? 0 : 9;
    }
    for (int n = 0; n < nodes_there; n++)
      nodes[n] = node_number(r, node_of(cube, part < 6 ? corners[part][n] : n));
    const bool last = ++number == ELEMENTS;
    if (r->twice && last) {
      end_lines(t);
      say(t, "$EndElements\n$Elements\n1\n");
    }
    put_element(t, r, number == 1 || !r->first_element ? number : r->first_element + number - 2,
                last && r->type ? r->type : type, last && r->physical ? r->physical : physical,
                nodes_there - (last ? r->fewer_nodes : 0), nodes);
  }
}

static void make_text(const recipe *r, mesh_text *t) {
  *t = (mesh_text){.encoding = r->encoding};
  say(t, "$MeshFormat\n2.2 %d 8\n", r->encoding != ASCII);
  if (r->encoding != ASCII) {
    put_int(t, 1);
    end_lines(t);
  }
  say(t, "$EndMeshFormat\n$PhysicalNames\n3\n2 1 \"left\"\n2 2 \"right\"\n2 3 \"side\"\n"
         "$EndPhysicalNames\n");
  put_nodes(t, r);
  say(t, "$Elements\n%d\n", ELEMENTS + r->more_elements - r->twice);
  put_row(t, r);
  end_lines(t);
  say(t, "$EndElements\n");
}

/* Number of the last line that begins with `word`. */
static int line_of(const mesh_text *t, const char *word) {
  int line = 1, found = 0;
  for (size_t c = 0; c < t->size; c++) {
    if ((c == 0 || t->bytes[c - 1] == '\n') && strncmp(t->bytes + c, word, strlen(word)) == 0)
      found = line;
    line += t->bytes[c] == '\n';
  }
  return found;
}

static const char *write_row(const recipe *r, mesh_text *t) {
  make_text(r, t);
  return write_file("row.msh", t->bytes, t->size);
}

/* The groups have the right faces, although all are in one entity. */
static void check_groups(const recipe *r) {
  static mesh_text t;
  AUTO(sp_mesh) mesh = read_mesh(write_row(r, &t));
  if (!mesh) return;
  const sizes size = measure(mesh);
  const int left = find_group(mesh->hexes, "left", 1), right = find_group(mesh->hexes, "right", 2);
  const int side = find_group(mesh->hexes, "side", 3);
  CHECK(size.faces[left] == 1 && size.faces[right] == 1 && size.faces[side] == SIDES,
        "%s, %d tags: %lld, %lld and %lld faces", NAMES[r->encoding], r->tags,
        (long long)size.faces[left], (long long)size.faces[right], (long long)size.faces[side]);
  CHECK(mesh->unnamed_faces == 0, "%lld faces in no group", (long long)mesh->unnamed_faces);
  CHECK(mesh->global_elements == CUBES, "%lld elements", (long long)mesh->global_elements);
}

/* The elements of one volume may be in a group or not. */
static void check_half(encoding_kind encoding) {
  static mesh_text t;
  if (world_size > CUBES / 2) return;
  sp_mesh *mesh = read_mesh(
      write_row(&(recipe){.encoding = encoding, .tags = 2, .second_names_zero = true}, &t));
  if (!mesh) return;
  CHECK(mesh->global_elements == CUBES / 2 && mesh->hexes->file.left_out == CUBES / 2,
        "%s: %lld elements, %lld left out", NAMES[encoding], (long long)mesh->global_elements,
        (long long)mesh->hexes->file.left_out);
  CHECK_CLOSE(measure(mesh).volume, 0.5, 100 * DBL_EPSILON);
  sp_mesh_destroy(&mesh);
}

/* A fault and its message, which begins with the last line that begins with `word`, if not NULL. */
typedef struct fault {
  recipe of;
  const char *word, *message;
} fault;

static void check_faults(encoding_kind encoding, size_t count, const fault *faults) {
  static mesh_text t;
  for (size_t f = 0; f < count; f++) {
    recipe r = faults[f].of;
    r.tags = 2;
    r.encoding = encoding;
    const char *path = write_row(&r, &t), *word = faults[f].word;
    const char *line = word ? test_text(":%d", line_of(&t, word)) : "";
    check_refused(path, test_text("row.msh%s%s", line, faults[f].message));
  }
}

static void check_text_faults(void) {
  static const fault faults[] = {
      {{.more_elements = -1},
       "22 5 2",
       ": expected $EndElements after 21 elements, the number in line 34, found '22 5 2 9 0 13 17"},
      {{.more_elements = 1}, NULL, ":34: the file says 23 elements, but only 22 follow"},
      {{.more_elements = 1 << 30},
       NULL,
       ":34: 1073741846 elements are more than the rest of the file can hold"},
      {{.more_nodes = -1},
       "20 1 1",
       ": expected $EndNodes after 19 nodes, the number in line 11, found '20 1 1"},
      {{.more_nodes = 1}, NULL, ":11: the file says 21 nodes, but only 20 follow"},
      {{.first_element = 1},
       NULL,
       ":36: element 1 is in line 35 already: give every element a number of its own"},
      {{.first_node = -1}, NULL, ":14: node 1 is in line 12 already"},
      {{.elementary = -3}, NULL, ":35: element 1 has the elementary tag -3"},
      {{.physical = INT_MIN},
       "22 5",
       ": expected element 22 to have 2 tags and 8 nodes in this line"},
      {{.type = 34}, "22 34", ": element 22 has the type 34"},
      {{.type = 199}, "22 199", ": element 22 has the type 199"},
      {{.fewer_nodes = 1}, "22 5", ": expected element 22 to have 2 tags and 8 nodes in this line"},
      {{.fewer_nodes = -1},
       "22 5",
       ": expected element 22 to have 2 tags and 8 nodes in this line"},
      {{.twice = true}, "$Elements", ": a second section $Elements"},
  };
  check_faults(ASCII, COUNT_OF(faults), faults);
}

static void check_binary_faults(encoding_kind encoding) {
  static const fault faults[] = {
      {{.more_elements = -1}, NULL, ": $EndElements does not follow after 21 elements"},
      {{.more_elements = 1},
       NULL,
       ": at index 23 of 23 elements, expected a block of 1 to 1 elements"},
      {{.more_elements = 1 << 30},
       NULL,
       ": 1073741846 elements are more than the rest of the file can hold"},
      {{.more_nodes = -1}, NULL, ": $EndNodes does not follow after 19 nodes"},
      {{.more_nodes = 1}, NULL, ": $EndNodes does not follow after 21 nodes"},
      {{.first_element = 1},
       NULL,
       ": the elements with index 1 and 2 in the file both have the number 1"},
      {{.first_node = -1},
       NULL,
       ": the nodes with index 1 and 3 in the file both have the number 1"},
      {{.elementary = -3}, NULL, ": index 1: element 1 has the elementary tag -3"},
      {{.physical = INT_MIN},
       NULL,
       ": index 22: expected element 22 to be in a group of at most 2147483647, found -2147483648"},
      {{.type = 199}, NULL, ": element 22 has the type 199"},
      {{.twice = true}, NULL, ": a second section $Elements"},
  };
  check_faults(encoding, COUNT_OF(faults), faults);
}

int main(int argc, char **argv) {
  test_begin(&argc, &argv);
  enter_folder();
  for (int encoding = 0; encoding < ENCODINGS; encoding++) {
    check_groups(&(recipe){.encoding = encoding, .tags = 1});
    check_groups(&(recipe){.encoding = encoding, .tags = 2});
    check_groups(&(recipe){.encoding = encoding, .tags = 2, .elementary = 5, .first_node = 7});
  }
  for (int encoding = 0; encoding < ENCODINGS; encoding++) check_half((encoding_kind)encoding);
  check_text_faults();
  check_binary_faults(BINARY);
  check_binary_faults(SWAPPED);
  leave_folder(TEXTS("row.msh"));
  return check_end();
}
