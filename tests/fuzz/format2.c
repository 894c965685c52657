/* Mesh files of format 2: our own reader of elements (mesh/gmsh_format2.h) accepts any bytes
 * without crashing, and its results are consistent. */
#include "mesh/gmsh_format2.h"

#include "tests/fuzz/fuzz.h"

static int nodes_of(int type) {
  static const int nodes[] = {0, 2, 3, 4, 4, 8, 6, 5, 3, 6, 9, 10, 27, 18, 14, 1};
  return type > 0 && (size_t)type < sizeof nodes / sizeof *nodes ? nodes[type] : 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  sp_gmsh_format2 format2;
  const sp_status status =
      sp_gmsh_format2_parse("mesh.msh", (const char *)data, size, nodes_of, &format2);
  if (status) require_message(status);
  for (size_t e = 0; e < format2.count && !status; e++) {
    const sp_gmsh_element *element = &format2.elements[e];
    int physical = -1;
    require(element->number > 0 && element->physical >= 0, "an element out of range");
    require(e == 0 || element[-1].number < element->number, "elements out of order");
    require(sp_gmsh_format2_physical(&format2, (size_t)element->number, &physical) &&
                physical == element->physical,
            "an element that is not found");
  }
  sp_gmsh_format2_free(&format2);
  return 0;
}
