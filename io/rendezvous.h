/* Values by name, from whichever rank has them: the ranks that have a named row and those that want
 * it meet at a rank that follows from the name. */
#ifndef SP_IO_RENDEZVOUS_H
#define SP_IO_RENDEZVOUS_H

#include <stdint.h>

#include "io/error.h"

enum { SP_ROW_VALUES = 3 };

/* The name of a row, which the whole of it identifies. */
typedef struct sp_row_name {
  int64_t part[2];
} sp_row_name;

typedef struct sp_row {
  sp_row_name name;
  double values[SP_ROW_VALUES];
} sp_row;

/* values[w] becomes those of the row `wanted[w]`, to the bit, on any rank; several ranks may want
 * the same. Errors: SP_ERR_INPUT if two rows have one name or a wanted one is missing. Collective
 * over `comm`; all ranks return the same status. */
sp_status sp_rendezvous(MPI_Comm comm, int64_t row_count, const sp_row *rows, int64_t wanted_count,
                        const sp_row_name *wanted, double (*values)[SP_ROW_VALUES]);

#endif
