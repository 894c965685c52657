/* The shape of the elements. */
#pragma once

#include "mesh/hexes.h"

#define SP_STRETCHED 2.0     /* least ratio of two lengths of a stretched element */
#define SP_FLAT 0.01         /* scaled Jacobian of a flat element */
#define SP_CONTACT_THIN 1e-8 /* thickness of a contact, relative to its other lengths */

/* Extremes over the elements of all ranks. Lengths are measured in the box with the element's mean
 * map (sp_hexes_mean_map). */
typedef struct sp_mesh_shape {
  bool affine; /* true if all elements are parallelepipeds */
  /* The smallest scaled Jacobian: |J| at a corner, divided by the lengths of the columns of J. It
   * is 1 for boxes and near 0 at flat corners. */
  double quality;
  double flat, flattest[3]; /* share of the elements that are flat; centre of the worst element */
  double shortest, longest; /* lengths of an element */
  double stretch;           /* the largest ratio of two lengths of an element; 1e8 for contacts */
  double aspect;            /* the same without contacts */
  double stretched;         /* share of the elements that are stretched */
  /* The smallest values of sp_columns_couple: a_d / max a, and its result. */
  double strength[3], upright;
} sp_mesh_shape;

/* strong[d] = true if direction d is strong in all elements; all false if an element is skew.
 * Local. */
void sp_mesh_strong_directions(const sp_mesh_shape *shape, bool strong[3]);

/* Find the box close to an element (operators/schwarz/separable.h) from the sums over the element,
 * divided by 8, of the factors G_dd and of wJ: fill the lengths and return kappa. Local. */
double sp_mesh_fit_box(const double g[3], double wj, double length[3]);

/* Check the elements, and find their shape. Errors: SP_ERR_INPUT, with the element's number, its
 * location and a cure, for two equal corners, and for a Jacobian that is not positive at a corner,
 * an edge mid-point, a face centre or the centre. Collective. */
sp_status sp_mesh_shape_find(MPI_Comm comm, const sp_hexes *hexes, sp_mesh_shape *shape);
