/* A mesh, the space on it, and the problem of the last case, for tests of solver/problem. */
#pragma once

#include "solver/config/config.h"
#include "solver/problem/problem.h"
#include "tests/boxes.h"

static sp_platform platform; /* of main, stays open */

typedef struct stage {
  sp_mesh *mesh;
  sp_space *space;
  bool *constrained; /* [DOFs], for data */
  double *values;    /* [DOFs] */
  sp_config *config;
  sp_problem *problem;
} stage;

static inline void stage_create(sp_hexes *hexes, int order, stage *s) {
  *s = (stage){0};
  require(sp_mesh_create(MPI_COMM_WORLD, &hexes, &s->mesh));
  require(sp_space_create(&platform, s->mesh, order, &s->space));
  s->constrained = (bool *)test_array(sp_space_dofs(s->space), sizeof *s->constrained);
  s->values = (double *)test_array(sp_space_dofs(s->space), sizeof *s->values);
}

/* Replace the problem by the problem of a case, overrides with NULL at the end. */
static inline sp_status stage_try(stage *s, const char *const *overrides) {
  int count = 0;
  while (overrides[count]) count++;
  sp_problem_destroy(&s->problem);
  sp_config_destroy(&s->config);
  SP_TRY(sp_config_read(MPI_COMM_WORLD, NULL, count, overrides, &s->config));
  return sp_problem_create(&s->config->statement, s->mesh, &s->problem);
}

static inline const sp_problem *stage_problem(stage *s, const char *const *overrides) {
  require(stage_try(s, overrides));
  return s->problem;
}

static inline void stage_destroy(stage *s) {
  sp_problem_destroy(&s->problem);
  sp_config_destroy(&s->config);
  sp_space_destroy(&s->space);
  sp_mesh_destroy(&s->mesh);
}

static inline sp_hexes *make_box(int nx, int ny, int nz, sp_map map) {
  const sp_box box = {.elements = {nx, ny, nz}, .upper = {1, 1, 1}, .map = map};
  return box_hexes(MPI_COMM_WORLD, &box, 0);
}
