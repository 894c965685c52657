/* The SDK's own reason for a failure. */
#include <gmshc.h>

#include "mesh/gmsh_model.h"

sp_status sp_gmsh_failed(const char *path, const char *what) {
  char *reason = NULL;
  int error;
  gmshLoggerGetLastError(&reason, &error);
  const bool known = !error && reason && reason[0];
  const sp_status status = sp_fail(SP_ERR_INPUT, "%s: gmsh could not %s%s%s", path, what,
                                   known ? ": " : "", known ? reason : "");
  if (reason) gmshFree(reason);
  return status;
}
