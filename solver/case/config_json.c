#define _POSIX_C_SOURCE 200809L /* locale_t */
#include "solver/case/config_json.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/ini.h"
#include "solver/case/config_keys.h"
#include "solver/case/config_locale.h"

/* The words of [material NAME], `named`, or of another section. */
typedef struct section {
  char word[32];
  const char *name; /* NULL unless named */
} section;

/* Sections of the case are known, so their words are short. */
static section split(const char *title) {
  section s = {.name = NULL};
  const char *blank = strchr(title, ' ');
  const size_t length = blank ? (size_t)(blank - title) : strlen(title);
  snprintf(s.word, sizeof s.word, "%.*s", (int)length, title);
  if (blank) s.name = blank + 1;
  return s;
}

/* Integers or reals with blanks between them. */
static void write_numbers(sp_json *json, const sp_key *key, const char *name, const char *text) {
  const bool is_array = key->type == SP_KEY_LIST || key->count > 1;
  if (is_array) sp_json_open_array(json, name);
  for (char *end; *text; text = end + strspn(end, SP_INI_SPACE)) {
    if (key->type == SP_KEY_NUMBER)
      sp_json_real(json, name, strtod(text, &end));
    else
      sp_json_integer(json, name, strtoll(text, &end, 10));
    assert(end > text);
  }
  if (is_array) sp_json_close(json);
}

static void write_value(sp_json *json, const char *word, const sp_ini_entry *entry) {
  const sp_key *key = sp_key_find(word, entry->key);
  const bool is_number =
      key->type == SP_KEY_INTEGER || key->type == SP_KEY_LIST || key->type == SP_KEY_NUMBER;
  if (is_number)
    write_numbers(json, key, entry->key, entry->value);
  else
    sp_json_text(json, entry->key, entry->value);
}

static void write_entries(const sp_ini *ini, sp_json *json) {
  int open = 0; /* objects of the current section */
  section current = {.name = NULL};
  for (int e = 0; e < ini->count; e++) {
    const sp_ini_entry *entry = &ini->entries[e];
    if (entry->key) {
      write_value(json, current.word, entry);
      continue;
    }
    for (; open > 0; open--) sp_json_close(json);
    current = split(entry->section);
    sp_json_open_object(json, current.word);
    if (current.name) sp_json_open_object(json, current.name);
    open = current.name ? 2 : 1;
  }
  for (; open > 0; open--) sp_json_close(json);
}

/* Keys that the text of the case has as comments only because they are not given: their defaults
 * hold. */
static void write_defaults(const sp_config *config, sp_json *json) {
  for (const sp_key *key = sp_keys; key < sp_keys + sp_key_count; key++) {
    if (!key->name || !key->applies || key->misfit || key->applies(config)) continue;
    sp_json_open_object(json, key->section);
    sp_json_text(json, key->name, key->fallback);
    sp_json_close(json);
  }
}

sp_status sp_config_write_json(const sp_config *config, sp_json *json) {
  char *text;
  sp_ini *ini;
  locale_t own = (locale_t)0, previous = (locale_t)0;
  SP_TRY(sp_config_format(config, &text));
  sp_status status = sp_ini_parse("case", text, strlen(text), &ini);
  free(text);
  if (!status) {
    status = sp_locale_use_c(&own, &previous);
    if (!status) {
      sp_json_open_object(json, "case");
      write_entries(ini, json);
      write_defaults(config, json);
      sp_json_close(json);
      sp_locale_restore(own, previous);
    }
    sp_ini_destroy(&ini);
  }
  return status;
}
