/* Mesh files of formats 2 and 4: our own readers (mesh/gmsh/model.h) accept any bytes without
 * crashing, and their results are consistent. */
#include "mesh/gmsh/model.h"

#include "tests/fuzz/fuzz.h"

/* Leaks of the SDK are not reported. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
  return "leak:libgmsh\nleak:libstdc++\n";
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  char version[SP_GMSH_VERSION_SIZE];
  return sp_gmsh_sdk_start(version) != SP_OK;
}

static void check(sp_gmsh_model *m, sp_status status) {
  if (!status) status = sp_gmsh_model_complete(m);
  if (status) require_message(status);
  for (size_t e = 0; e < m->element_count && !status; e++) {
    const sp_gmsh_element *element = &m->elements[e];
    require(element->tag > 0 && (size_t)element->entity < m->entity_count, "an element's numbers");
    require(e == 0 || element[-1].place <= element->place, "elements out of order");
    for (int n = 0; n < sp_gmsh_type_of(element->type)->nodes; n++)
      require(m->nodes[element->first + (size_t)n] < m->point_count, "a node that does not exist");
  }
  sp_gmsh_model_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *bytes = (const char *)data;
  for (int format = 2; format <= 4; format += 2) {
    sp_scan s = {.path = "mesh.msh", .rest = {bytes, bytes + size}, .version = format};
    sp_gmsh_model m = {.path = s.path, .version = format};
    check(&m, sp_gmsh_read_sections(&s, &m));
  }
  return 0;
}
