#include "operators/kinds.h"

#include "mesh/geometry.h"

const sp_operator_row sp_operator_rows[SP_OPERATORS] = {
    [SP_MASS] = {.collocated = false,
                 .has_stiffness = false,
                 .has_boundary = false,
                 .factors = 1,
                 .point_flops = 1,
                 .rate_l2 = 1,
                 .rate_h1 = 0,
                 .boundary_layer = true},
    [SP_BP35] = {.collocated = true,
                 .has_stiffness = true,
                 .has_boundary = true,
                 .factors = SP_FACTORS,
                 .point_flops = 18,
                 .rate_l2 = 1,
                 .rate_h1 = 0,
                 .boundary_layer = false},
    [SP_BP30] = {.collocated = false,
                 .has_stiffness = true,
                 .has_boundary = true,
                 .factors = SP_FACTORS,
                 .point_flops = 18,
                 .rate_l2 = 1,
                 .rate_h1 = 0,
                 .boundary_layer = false},
};

const char *const sp_operator_names[] = {
    [SP_MASS] = "mass", [SP_BP35] = "bp3.5", [SP_BP30] = "bp3.0", [SP_OPERATORS] = NULL};

const char *const sp_geometry_names[] = {[SP_GEOMETRY_AUTO] = "auto",
                                         [SP_GEOMETRY_STORED] = "stored",
                                         [SP_GEOMETRY_TRILINEAR] = "trilinear",
                                         NULL};
