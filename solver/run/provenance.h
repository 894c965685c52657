/* When and where a run takes place, for the files it writes. */
#ifndef SP_SOLVER_RUN_PROVENANCE_H
#define SP_SOLVER_RUN_PROVENANCE_H

#include "io/error.h"

enum { SP_TIME_SIZE = sizeof "2000-01-01T00:00:00Z" };

/* The time now, ISO 8601, UTC; "" if the system has none. Local. */
void sp_time_now(char text[SP_TIME_SIZE]);

/* Names of the hosts in the order of ranks, each once, with commas between them. Rank 0 gets them
 * and frees them, the others get a string of no meaning to free. Collective. */
sp_status sp_list_hosts(MPI_Comm comm, char **hosts);

#endif
