#include "io/json.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

enum { DEPTH = 8 };

struct sp_json {
  json_t *open[DEPTH]; /* the document and, within each other, what is open; borrowed but for [0] */
  int depth;           /* of open[]; at least 1 */
  bool failed;         /* memory was lacking */
};

sp_status sp_json_create(sp_json **out) {
  sp_json *json;
  *out = NULL;
  SP_TRY(sp_allocate(1, sizeof *json, "JSON document", &json));
  json->open[0] = json_object();
  json->depth = 1;
  if (!json->open[0]) {
    free(json);
    return sp_fail(SP_ERR_SYSTEM, "out of memory: JSON document");
  }
  *out = json;
  return SP_OK;
}

void sp_json_destroy(sp_json **json) {
  if (!*json) return;
  json_decref((*json)->open[0]);
  free(*json);
  *json = NULL;
}

/* Length of the UTF-8 sequence at `text`, 0 if there is none: neither overlong, nor a surrogate,
 * nor beyond U+10FFFF (RFC 3629). */
static size_t sequence_length(const unsigned char *text) {
  static const struct {
    unsigned char first, last, low, high; /* of the first byte, of the second one */
    size_t length;
  } kinds[] = {{0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
               {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3},
               {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
               {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4}};
  if (text[0] < 0x80) return 1;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    if (text[0] < kinds[k].first || text[0] > kinds[k].last) continue;
    if (text[1] < kinds[k].low || text[1] > kinds[k].high) return 0;
    for (size_t b = 2; b < kinds[k].length; b++)
      if (text[b] < 0x80 || text[b] > 0xBF) return 0; /* also at the terminating zero */
    return kinds[k].length;
  }
  return 0;
}

/* A copy that is UTF-8; NULL without memory. The caller frees it. */
static char *copy_as_utf8(const char *text) {
  static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */
  const size_t most = sizeof replacement - 1;
  char *copy, *end;
  if (sp_allocate(strlen(text) + 1, most, "text", &copy)) return NULL;
  end = copy;
  while (*text) {
    const size_t length = sequence_length((const unsigned char *)text);
    memcpy(end, length ? text : replacement, length ? length : most);
    end += length ? length : most;
    text += length ? length : 1;
  }
  *end = '\0';
  return copy;
}

/* Add `value`, which may be NULL for a lack of memory, to what is open; takes ownership. */
static void add(sp_json *json, const char *name, json_t *value) {
  json_t *parent = json->open[json->depth - 1];
  if (json_is_array(parent)) {
    if (json_array_append_new(parent, value)) json->failed = true;
    return;
  }
  char *key = copy_as_utf8(name);
  if (key) {
    if (json_object_set_new_nocheck(parent, key, value)) json->failed = true;
  } else {
    json_decref(value);
    json->failed = true;
  }
  free(key);
}

void sp_json_text(sp_json *json, const char *name, const char *value) {
  if (!json) return;
  if (!value) {
    add(json, name, json_null());
    return;
  }
  char *text = copy_as_utf8(value);
  add(json, name, text ? json_string_nocheck(text) : NULL);
  free(text);
}

void sp_json_integer(sp_json *json, const char *name, int64_t value) {
  if (json) add(json, name, json_integer(value));
}

void sp_json_real(sp_json *json, const char *name, double value) {
  if (json) add(json, name, isfinite(value) ? json_real(value) : json_null());
}

/* Without memory what is added goes to the parent: nobody will see it, because of `failed`. */
static void open_member(sp_json *json, json_t *member) {
  assert(json->depth < DEPTH);
  json->open[json->depth] = member ? member : json->open[json->depth - 1];
  json->depth++;
}

/* The last member of an array, or the one of that name; NULL without memory. */
static json_t *find(const sp_json *json, const char *name) {
  json_t *parent = json->open[json->depth - 1];
  if (json_is_array(parent))
    return json->failed ? NULL : json_array_get(parent, json_array_size(parent) - 1);
  char *key = copy_as_utf8(name);
  json_t *member = key ? json_object_get(parent, key) : NULL;
  free(key);
  return member;
}

void sp_json_open_object(sp_json *json, const char *name) {
  if (!json) return;
  json_t *parent = json->open[json->depth - 1];
  if (json_is_array(parent) || !json_is_object(find(json, name))) add(json, name, json_object());
  open_member(json, find(json, name));
}

void sp_json_open_array(sp_json *json, const char *name) {
  if (!json) return;
  add(json, name, json_array());
  open_member(json, find(json, name));
}

void sp_json_close(sp_json *json) {
  if (!json) return;
  assert(json->depth > 1);
  json->depth--;
}

sp_status sp_json_format(const sp_json *json, char **text) {
  assert(json->depth == 1);
  *text = NULL;
  char *dump = json->failed ? NULL : json_dumps(json->open[0], JSON_INDENT(2));
  if (!dump) return sp_fail(SP_ERR_SYSTEM, "out of memory: JSON document");
  const size_t size = strlen(dump) + sizeof "\n";
  const sp_status status = sp_allocate(size, 1, "JSON document", text);
  if (!status) snprintf(*text, size, "%s\n", dump);
  free(dump);
  return status;
}

sp_status sp_json_check_target(const char *path) {
  FILE *stream = fopen(path, "rb");
  if (!stream && errno == ENOENT) return SP_OK;
  if (!stream) return sp_fail(SP_ERR_SYSTEM, "%s", strerror(errno));
  errno = 0;
  const int first = getc(stream);
  const int error = ferror(stream) ? errno : 0;
  fclose(stream);
  if (error) return sp_fail(SP_ERR_SYSTEM, "%s", strerror(error));
  if (first == EOF || first == '{') return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "this file is no JSON document and would be lost; give another name");
}
