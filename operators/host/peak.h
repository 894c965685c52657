/* What a core can do at most, and what the kernels ask of it: for bounds of their rates. */
#ifndef SP_OPERATORS_HOST_PEAK_H
#define SP_OPERATORS_HOST_PEAK_H

#include "operators/backend.h"

/* Multiply-adds per second of one core in double precision, with the vectors of the device's
 * kernels and all operands in registers: the best of several tries. A device of sp_backend_host.
 * Local. */
double sp_host_multiply_add_rate(const sp_device *device);

/* Arithmetic that the kernels do for one element, in double precision, between L-vectors: each
 * addition, multiplication, multiply-add and division counts one, as each takes an instruction of
 * its own. Fewer than half of sp_operator_flops, because contractions work on even and odd parts;
 * with trilinear geometry, those that recompute it are added. Local. */
double sp_host_arithmetic(sp_operator_kind kind, sp_geometry_kind geometry, int order);

#endif
