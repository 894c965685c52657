/* Faces of the boundary that lie on each other: parts of a mesh that touch there but share no nodes
 * are not connected, and nothing flows between them. */
#ifndef SP_SOLVER_PROBLEM_CONTACTS_H
#define SP_SOLVER_PROBLEM_CONTACTS_H

#include "solver/problem/problem.h"

/* *pairs = the number of pairs of exterior faces with the same four corners, to 1e-8 of the size of
 * the mesh, over all ranks. Errors: SP_ERR_SYSTEM. Collective. */
sp_status sp_problem_count_contacts(const sp_problem *problem, const sp_mesh *mesh, sp_gid *pairs);

#endif
