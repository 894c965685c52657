#include "solver/run/record.h"

#include <stdio.h>
#include <string.h>

void sp_record_keep(sp_record *record, sp_status status) {
  if (status && !record->failure[0])
    snprintf(record->failure, sizeof record->failure, "%s", sp_error_message());
}

bool sp_record_logs(const sp_record *record) {
  return record->log && !record->failure[0];
}

void sp_record_text(sp_record *record, const char *name, const char *value) {
  if (sp_record_logs(record))
    sp_record_keep(record, sp_run_log_attribute_string(record->log, name, value));
  sp_json_text(record->json, name, value);
}

void sp_record_integer(sp_record *record, const char *name, int64_t value) {
  if (sp_record_logs(record))
    sp_record_keep(record, sp_run_log_attribute_integer(record->log, name, value));
  sp_json_integer(record->json, name, value);
}

void sp_record_real(sp_record *record, const char *name, double value, const char *unit) {
  if (sp_record_logs(record))
    sp_record_keep(record, sp_run_log_attribute_double(record->log, name, value, unit));
  sp_json_real(record->json, name, value);
}

void sp_record_words(sp_record *record, const char *name, const char *words) {
  char word[512];
  if (sp_record_logs(record))
    sp_record_keep(record, sp_run_log_attribute_string(record->log, name, words));
  sp_json_open_array(record->json, name);
  while (*words) {
    const size_t length = strcspn(words, ",");
    snprintf(word, sizeof word, "%.*s", (int)length, words);
    sp_json_text(record->json, NULL, word);
    words += length + (words[length] == ',');
  }
  sp_json_close(record->json);
}

static void write_cell(sp_json *json, const sp_log_column *column, const sp_log_cell *cell) {
  switch (column->kind) {
  case SP_LOG_INTEGER:
    sp_json_integer(json, column->name, cell->integer);
    break;
  case SP_LOG_REAL:
    sp_json_real(json, column->name, cell->real);
    break;
  case SP_LOG_TEXT:
    sp_json_text(json, column->name, cell->text);
    break;
  }
}

void sp_record_table(sp_record *record, const char *name, int column_count,
                     const sp_log_column *columns, int row_count, const sp_log_cell *cells) {
  if (sp_record_logs(record))
    sp_record_keep(record,
                   sp_run_log_table(record->log, name, column_count, columns, row_count, cells));
  sp_json_open_array(record->json, name);
  for (int r = 0; r < row_count; r++) {
    sp_json_open_object(record->json, NULL);
    for (int c = 0; c < column_count; c++)
      write_cell(record->json, &columns[c], &cells[r * column_count + c]);
    sp_json_close(record->json);
  }
  sp_json_close(record->json);
}

void sp_record_phases(sp_record *record, int count, const sp_phase_row *rows) {
  sp_json *json = record->json;
  if (sp_record_logs(record)) sp_record_keep(record, sp_run_log_phases(record->log, count, rows));
  sp_json_open_array(json, "phases");
  for (int p = 0; p < count; p++) {
    sp_json_open_object(json, NULL);
    sp_json_text(json, "name", rows[p].name);
    sp_json_text(json, "part_of", rows[p].part_of);
    sp_json_integer(json, "calls", rows[p].calls);
    sp_json_real(json, "seconds_min", rows[p].seconds_min);
    sp_json_real(json, "seconds_mean", rows[p].seconds_mean);
    sp_json_real(json, "seconds_max", rows[p].seconds_max);
    sp_json_real(json, "share", rows[p].share);
    sp_json_real(json, "share_of_total", rows[p].share_of_total);
    sp_json_close(json);
  }
  sp_json_close(json);
}

void sp_record_errors(sp_record *record, const sp_error_norms *norms) {
  if (sp_record_logs(record))
    sp_record_keep(record, sp_run_log_errors(record->log, norms->l2, norms->h1, norms->max));
  sp_json_open_object(record->json, "errors");
  sp_json_real(record->json, "L2", norms->l2);
  sp_json_real(record->json, "H1", norms->h1);
  sp_json_real(record->json, "max", norms->max);
  sp_json_close(record->json);
}
