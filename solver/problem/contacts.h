/* Faces of the boundary that lie on each other: parts of a mesh that touch there but share no nodes
 * are not connected, and nothing flows between them. */
#pragma once

#include "operators/space.h"
#include "solver/problem/problem.h"

/* *edges = the number of edges with four exterior faces or more that are neither Dirichlet nor
 * periodic, over all ranks; 0 at order 1. Parts of the mesh touch there that share its DOFs. The
 * flow through an edge falls only with the logarithm of the element size. scratch[local DOFs].
 * Collective. */
void sp_problem_count_pinched(const sp_problem *problem, const sp_space *space, double *scratch,
                              sp_gid *edges);
