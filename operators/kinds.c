#include "operators/kinds.h"

#include "mesh/geometry.h"

const sp_operator_row sp_operator_rows[SP_OPERATORS] = {
    [SP_MASS] = {.factors = 1, .point_flops = 1, .boundary_layer = true},
    [SP_BP35] = {.collocated = true,
                 .has_stiffness = true,
                 .has_boundary = true,
                 .factors = SP_FACTORS,
                 .point_flops = 18},
    [SP_BP30] = {.has_stiffness = true,
                 .has_boundary = true,
                 .factors = SP_FACTORS,
                 .point_flops = 18},
};

const char *const sp_operator_names[] = {
    [SP_MASS] = "mass", [SP_BP35] = "bp3.5", [SP_BP30] = "bp3.0", [SP_OPERATORS] = NULL};

const char *const sp_geometry_names[] = {[SP_GEOMETRY_AUTO] = "auto",
                                         [SP_GEOMETRY_STORED] = "stored",
                                         [SP_GEOMETRY_TRILINEAR] = "trilinear",
                                         NULL};

const char *const sp_transport_names[] = {[SP_TRANSPORT_AUTO] = "auto",
                                          [SP_TRANSPORT_PEER] = "peer",
                                          [SP_TRANSPORT_CUDA_AWARE] = "cuda-aware",
                                          [SP_TRANSPORT_NCCL] = "nccl",
                                          [SP_TRANSPORT_STAGED] = "staged",
                                          NULL};
