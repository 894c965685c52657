/* Smoothness of the maps of curved elements, which high order requires. If the nodes of a map of
 * degree g are scattered by a few percent of their distance, the shape of the element hardly
 * changes. But the solution, as a function on the reference cube, is then no smoother than the
 * scatter, and errors are many times those on a smooth map.
 *
 * Along every line of lattice points of an element, in each of the three directions, the map is
 * x(r) = sum_k c_k P_k(r), with Legendre polynomials P_k and vectors c_k. Let m_k be the largest
 * |c_k| of all lines. For analytic maps m_k falls like rho^-k, where rho is the sum of the half
 * axes of the largest ellipse around [-1, 1] in which x is analytic. For a sphere projected on the
 * six faces of a cube, rho = 2.4; it is above 4 once these faces are divided. For scattered nodes
 * m_k does not fall. An element is rough if
 *
 *     m_k > 3^-(k-2) K  for some k >= 5,       K = max_{k >= 2} m_k, the size of its curvature,
 *     max(m_g-1, m_g) > max(m_g-3, m_g-2) / 4: m_k falls by less than a factor of 2 per degree.
 *
 * The first condition means that the roughness matters. The second one excludes smooth maps on
 * elements that are too large. Below degree 5 there are too few coefficients to decide. */
#pragma once

#include "mesh/hexes.h"

/* max over k >= 5 of m_k 3^(k-2) / K, ignoring rounding, if the second condition holds, else 0. The
 * element is rough if this is above 1. Zero for maps of degree below 5. Local. */
double sp_roughness(const sp_hexes *hexes, sp_lid element);

/* Set `rough` and `roughest` for the hexahedra of all ranks. Collective over `comm`. */
void sp_roughness_count(MPI_Comm comm, sp_hexes *hexes);
