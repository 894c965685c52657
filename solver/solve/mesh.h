/* The mesh that a case names. */
#pragma once

#include "io/profile.h"
#include "io/terminal.h"
#include "mesh/box.h"
#include "mesh/gmsh/gmsh.h"
#include "mesh/mesh.h"
#include "solver/problem/statement.h"
#include "solver/results/wanted.h"
#include "solver/solve/workers.h"

typedef enum sp_shape { SP_SHAPE_FILE, SP_SHAPE_BOX } sp_shape;

typedef struct sp_mesh_options {
  sp_shape shape;         /* box, unless a file is given */
  char *file;             /* NULL for a box; path as the program opens it */
  const char *file_where; /* "case.ini:12: mesh.file", prefix of messages; NULL for a box */
  char *where;            /* place of the key that gave its size: refine, file or elements */
  double scale;           /* > 0, factor on the coordinates of the file */
  sp_gmsh_sizes sizes;    /* of a geometry from CAD; largest and smallest also of a box */
  int grading;            /* of a box with sizes.largest > 0, see sp_box_sizes */
  sp_box box;             /* without regions; without elements and planes if it has a size */
  struct {
    sp_box_region *entries; /* in the order of the file; none without a box */
    int count;
  } regions;
  int refine; /* uniform refinements, 0..10 */
} sp_mesh_options;

/* Read or make the mesh that `options` name, with its refinements; add the time to `profile`. Check
 * that it has the groups of both inputs. The caller destroys *mesh. Errors: as the functions of the
 * mesh. Collective over workers->comm. */
sp_status sp_case_mesh(const sp_workers *workers, const sp_mesh_options *options,
                       const sp_statement *statement, const sp_wanted *wanted, sp_profile *profile,
                       sp_terminal *terminal, sp_mesh **mesh);
