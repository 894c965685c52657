/* Integers that count degrees of freedom, elements and vertices. */
#pragma once

#include <stdint.h>

/* Local. Sums are formed in 64 bits and checked before they become an sp_lid. */
typedef int32_t sp_lid;
#define SP_LID_MAX INT32_MAX

/* Global. */
typedef int64_t sp_gid;
#define SP_MPI_GID MPI_INT64_T

enum { SP_MAX_ORDER = 15 };
