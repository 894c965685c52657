/* Elements as a mesh file might give them (sketch.h), without the file: the topology, the
 * numbering, periodic groups and refinement, thousands of times a second. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/sketch.h"

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  start_mpi();
  return 0;
}

static int surface_of(const sketch *s, int e, int f) {
  int corners[4];
  sp_slot_corners(SP_FACE_SLOT + f, corners);
  for (int k = 0; k < s->face_count; k++) {
    int same = 0;
    for (int a = 0; a < 4; a++)
      for (int b = 0; b < 4; b++) same += s->faces[k].nodes[a] == sketch_corner(s, e, corners[b]);
    if (same == 4) return s->faces[k].surface;
  }
  return SP_SURFACE_INTERIOR;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  enum { GROUPS = 8 };
  sketch s;
  sp_hexes *hexes = NULL;
  sketch_make(data, size, &s);
  require(sp_hexes_create(s.element_count, s.order, SKETCH_SURFACES, GROUPS, &hexes) == SP_OK,
          "out of memory");
  const int lattice = (int)sp_hexes_lattice_size(hexes);
  for (int e = 0; e < s.element_count; e++) {
    hexes->tags[e] = (sp_gid)s.elements[e].tag;
    for (int p = 0; p < lattice; p++)
      for (int d = 0; d < 3; d++)
        hexes->lattice[3 * (e * lattice + p) + d] = s.points[s.elements[e].nodes[p]][d];
    for (int c = 0; c < SP_CORNERS; c++) hexes->vertices[e][c] = sketch_corner(&s, e, c);
    for (int f = 0; f < SP_FACES; f++) hexes->surfaces[e][f] = surface_of(&s, e, f);
  }
  for (int g = 0; g < GROUPS; g++) {
    require(sp_hexes_set_group(hexes, g, g % 2 ? "wall" : "", g + 1) == SP_OK, "out of memory");
    for (int surface = 0; surface < SKETCH_SURFACES; surface++)
      hexes->groups[g].members[surface] = s.groups[surface] >> g & 1;
  }
  sketch_check(&s, &hexes);
  return 0;
}
