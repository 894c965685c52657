#include "solver/run/accuracy.h"

#include <math.h>
#include <stdlib.h>

sp_status sp_accuracy_compare(double tolerance, const sp_answers *others, sp_accuracy *accuracy) {
  const sp_answers *answers = &accuracy->answers;
  double **e = &accuracy->errors;
  if (!*e) SP_TRY(sp_allocate((size_t)answers->count, sizeof **e, "error bars", e));
  for (int i = 0; i < answers->count; i++) {
    const double difference = fabs(others->list[i].value - answers->list[i].value);
    const double least = fmax((*e)[i], tolerance * answers->list[i].scale);
    (*e)[i] = difference <= least ? least : difference; /* NaN if an answer is */
  }
  return SP_OK;
}

void sp_accuracy_free(sp_accuracy *accuracy) {
  sp_answers_free(&accuracy->answers);
  free(accuracy->errors);
  *accuracy = (sp_accuracy){0};
}

void sp_accuracy_report(const sp_accuracy *accuracy, sp_report *report) {
  const sp_resolution *resolution = &accuracy->resolution;
  sp_record *record = report->record;
  char text[256];
  snprintf(text, sizeof text,
           "differences from orders up to %d%s, started at this solution, %lld iteration%s",
           accuracy->order,
           accuracy->order < report->config->discretization.order ? ", too large for order 15" : "",
           (long long)accuracy->iterations, sp_plural(accuracy->iterations));
  sp_record_text(record, "accuracy_method", text);
  sp_record_open(record, SP_RECORD_TABLE, "accuracy");
  for (int i = 0; i < accuracy->answers.count; i++) {
    const sp_answer *a = &accuracy->answers.list[i];
    sp_record_row(record, "name %s, kind %s, table %s, value %g, error %g", a->name, a->kind,
                  a->table, a->value, accuracy->errors[i]);
  }
  sp_record_close(record);
  sp_terminal_print(report->terminal, "\n  %-16s %-10s %20s %13s\n", "answer", "", "value",
                    "error about");
  sp_record_print_rows(record, report->terminal, "accuracy",
                       "  {name:-16s} {kind:-10s} {value:20.12g} {error:13.1e}\n");
  sp_record_print(record, report->terminal, "  error bars       {accuracy_method:s}\n");
  if (resolution->coarse == 0) return;
  sp_report_note(
      report, "note_coarse",
      "the mesh is too coarse in %lld element%s: error_indicator is up to %.2g %% of the range of "
      "u%s%s",
      (long long)resolution->coarse, sp_plural(resolution->coarse),
      100 * resolution->largest / accuracy->range, resolution->group ? ", in " : "",
      resolution->group ? resolution->group : "");
}
