#include "solver/run/report_levels.h"

void sp_report_levels(sp_report *report, sp_terminal *terminal, int64_t applications, int count,
                      const sp_level_time *times) {
  static const sp_log_column columns[] = {{"order", "1", SP_LOG_INTEGER},
                                          {"dofs", "1", SP_LOG_INTEGER},
                                          {"applications", "1", SP_LOG_INTEGER},
                                          {"seconds", "s", SP_LOG_REAL},
                                          {"share", "1", SP_LOG_REAL}};
  enum { COLUMNS = sizeof columns / sizeof *columns };
  sp_log_cell cells[SP_LEVELS_MOST][COLUMNS];
  double all = 0;
  if (count == 0) return;
  for (int i = 0; i < count; i++) all += times[i].seconds;
  sp_terminal_print(terminal, "\n  %-16s %14s %14s %14s\n", "multigrid level", "DOFs",
                    "ms per cycle", "of the cycle");
  for (int i = 0; i < count; i++) {
    const double share = all > 0 ? times[i].seconds / all : 0;
    char name[32];
    snprintf(name, sizeof name, "order %d", times[i].order);
    sp_terminal_print(terminal, "  %-16s %14lld %14.3g %12.1f %%\n", name, (long long)times[i].dofs,
                      1e3 * times[i].seconds, 100 * share);
    cells[i][0].integer = times[i].order;
    cells[i][1].integer = times[i].dofs;
    cells[i][2].integer = applications;
    cells[i][3].real = (double)applications * times[i].seconds;
    cells[i][4].real = share;
  }
  sp_report_table(report, "levels", COLUMNS, columns, count, cells[0]);
}
