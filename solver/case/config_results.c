#include "solver/case/config_results.h"

#include <stdlib.h>
#include <string.h>

sp_status sp_result_assign(sp_config *config, const sp_key *key, const char *name,
                           const char *value, const char *where) {
  sp_result_entry *entries = config->results.entries;
  int i = 0;
  while (i < config->results.count && strcmp(entries[i].name, name) != 0) i++;
  if (i == config->results.count) {
    entries = realloc(entries, ((size_t)i + 1) * sizeof *entries);
    if (!entries) return sp_fail(SP_ERR_SYSTEM, "out of memory: %d results", i + 1);
    entries[i] = (sp_result_entry){.name = NULL};
    config->results.entries = entries;
    config->results.count = i + 1;
  }
  SP_TRY(sp_copy_text(name, &entries[i].name));
  SP_TRY(sp_copy_text(where, &entries[i].where));
  return sp_key_set(key, value, where, &entries[i]);
}

void sp_result_drop(sp_config *config, const sp_key *key, const char *name) {
  sp_result_entry *entries = config->results.entries;
  for (int i = 0; i < config->results.count; i++) {
    if (strcmp(entries[i].name, name) != 0) continue;
    sp_key_clear(key, &entries[i]);
    config->results.count--;
    memmove(&entries[i], &entries[i + 1], (size_t)(config->results.count - i) * sizeof *entries);
    return;
  }
}

void sp_results_print(const sp_config *config, const sp_key *key, FILE *stream) {
  for (int i = 0; i < config->results.count; i++) {
    fprintf(stream, "%s = ", config->results.entries[i].name);
    sp_key_print(key, &config->results.entries[i], stream);
    fputc('\n', stream);
  }
}

void sp_results_clear(sp_config *config, const sp_key *key) {
  for (int i = 0; i < config->results.count; i++) sp_key_clear(key, &config->results.entries[i]);
  free(config->results.entries);
}
