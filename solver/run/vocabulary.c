#include "solver/run/vocabulary.h"

#include "mesh/box.h"
#include "operators/kinds.h"
#include "operators/platform.h"
#include "operators/transport.h"
#include "solver/linear/coarse.h"
#include "solver/linear/multigrid.h"
#include "solver/linear/preconditioner.h"

const sp_vocabulary *sp_case_vocabulary(void) {
  static const char *operators[SP_OPERATORS + 1];
  static const sp_vocabulary vocabulary = {.maps = sp_map_names,
                                           .steps = sp_step_names,
                                           .operators = operators,
                                           .geometries = sp_geometry_names,
                                           .preconditioners = sp_preconditioner_names,
                                           .smoothers = sp_smoother_names,
                                           .coarse_solvers = sp_coarse_names,
                                           .precisions = sp_cycle_precision_names,
                                           .devices = sp_device_names,
                                           .transports = sp_transport_names,
                                           .shares = sp_share_names};
  for (int k = 0; k < SP_OPERATORS; k++) operators[k] = sp_operator_rows[k].name;
  return &vocabulary;
}
