/* sp_solve --groups: the groups of a mesh, so that a case can name them. */
#pragma once

#include "io/terminal.h"
#include "solver/config/config.h"
#include "solver/solve/workers.h"

/* Read the mesh of the case, and print for each group of volumes and of surfaces the number of
 * elements or faces, volume or area, and centre. Surfaces also have a mean outward normal (of
 * length 1 if the faces are parallel; none between elements), and the bodies beside them, by
 * Physical Volumes. If the terminal has a record (--json), it gets the same as table "groups".
 * "faces" are 13 numbers per face in a group, from each side that has an element: the row of its
 * group and the four corners, (a, b) to (a + 1, b + 1) with b fastest. The cross product of the
 * directions of a and b points out of the element. Collective over workers->all. */
sp_status sp_group_table_run(const sp_workers *workers, const sp_config *config,
                             sp_terminal *terminal);
