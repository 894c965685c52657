/* Whether the maps of curved elements are smooth. High order needs that: a map of degree g whose
 * nodes are scattered by a few percent of their distance describes nearly the same shape, but the
 * solution, as a function on the reference cube, is then no smoother than the scatter, and errors
 * are many times those on a smooth map.
 *
 * Along every line of lattice points of an element, in each of the three directions, the map is
 * x(r) = sum_k c_k P_k(r), with Legendre polynomials P_k and vectors c_k. Let m_k be the largest
 * |c_k| of all lines. For smooth maps m_k falls like rho^-k (analytic ones: rho is the sum of the
 * half axes of the largest ellipse around [-1, 1] in which x is analytic): rho = 2.4 if a sphere is
 * projected on the six faces of one cube, above 4 as soon as these faces are divided. Nodes that
 * are scattered give m_k that do not fall. An element is rough if
 *
 *     m_k > 3^-(k-2) K  for some k >= 5,       K = max_{k >= 2} m_k, the size of its curvature,
 *     max(m_g-1, m_g) > max(m_g-3, m_g-2) / 4, so that m_k falls by less than half a degree.
 *
 * The first condition says that it matters, the second one that it is no smooth map on elements
 * that are too large. Below degree 5 too few coefficients are left to tell. */
#ifndef SP_MESH_ROUGHNESS_H
#define SP_MESH_ROUGHNESS_H

#include "mesh/hexes.h"

/* max over k >= 5 of m_k 3^(k-2) / K, rounding left out, if the second condition holds, else 0: the
 * element is rough above 1. Zero for maps of degree below 5. Local. */
double sp_roughness(const sp_hexes *hexes, sp_lid element);

/* Set `rough` and `roughest` of the hexahedra of all ranks. Collective over `comm`. */
void sp_roughness_count(MPI_Comm comm, sp_hexes *hexes);

#endif
