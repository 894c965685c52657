/* What the output says about kappa, lambda and the materials. */
#ifndef SP_SOLVER_RUN_REPORT_MATERIALS_H
#define SP_SOLVER_RUN_REPORT_MATERIALS_H

#include "io/terminal.h"
#include "operators/kinds.h"
#include "solver/problem/materials.h"

/* End the line `operator` with the coefficients of a case without [material] sections, or print a
 * line for each material, and notes: on elements that no section names, and for an operator with
 * collocated quadrature on formulas that may jump. Local. */
void sp_report_materials(sp_terminal *terminal, const sp_config *config, const sp_operator_row *row,
                         const sp_materials *materials);

#endif
