/* Peak rate of a core, and arithmetic of the kernels: for bounds of their rates. */
#pragma once

#include "operators/backend.h"

/* Multiply-adds per second of one core in double precision, with the vectors of the device's
 * kernels and all operands in registers; the best of several tries. `device` belongs to
 * sp_backend_host. Local. */
double sp_host_multiply_add_rate(const sp_device *device);

/* Arithmetic of the kernels per element between L-vectors, in double precision. Each addition,
 * multiplication, multiply-add and division counts as one, because each takes one instruction. It
 * is less than half of sp_operator_flops, because contractions work on even and odd parts.
 * Trilinear geometry adds its recomputation. Local. */
double sp_host_arithmetic(sp_operator_kind kind, sp_geometry_kind geometry, int order);
