#include "mesh/gmsh/model.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The file ---- */

sp_status sp_scan_open(const char *path, sp_scan *s) {
  struct stat status_of;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return sp_fail(SP_ERR_INPUT, "%s: %s", path, strerror(errno));
  char *map = MAP_FAILED;
  const bool known = fstat(file, &status_of) == 0;
  const size_t size = known ? (size_t)status_of.st_size : 0;
  if (size > 0) map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
  const int reason = errno;
  close(file);
  if (map == MAP_FAILED)
    return sp_fail(SP_ERR_INPUT, "%s: cannot be read: %s", path,
                   size > 0 ? strerror(reason) : "it is empty or not a regular file");
  *s = (sp_scan){.path = path, .file = {map, map + size}, .rest = {map, map + size}};
  return SP_OK;
}

void sp_scan_close(sp_scan *s) {
  munmap((char *)s->file.at, (size_t)(s->file.end - s->file.at));
}

/* ---- Lines and words ---- */

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

bool sp_scan_line(sp_scan *s, sp_span *line) {
  if (s->rest.at == s->rest.end) return false;
  const char *stop = memchr(s->rest.at, '\n', (size_t)(s->rest.end - s->rest.at));
  *line = (sp_span){s->rest.at, stop ? stop : s->rest.end};
  s->rest.at = stop ? stop + 1 : s->rest.end;
  s->line++;
  while (line->at < line->end && is_blank(line->end[-1])) line->end--;
  return true;
}

bool sp_scan_filled_line(sp_scan *s, sp_span *line) {
  while (sp_scan_line(s, line)) {
    while (line->at < line->end && is_blank(*line->at)) line->at++;
    if (line->at < line->end) return true;
  }
  *line = (sp_span){s->rest.end, s->rest.end};
  return false;
}

bool sp_span_begins(const sp_span *line, const char *word) {
  const size_t length = strlen(word);
  return (size_t)(line->end - line->at) >= length && memcmp(line->at, word, length) == 0;
}

bool sp_span_word(sp_span *line, sp_span *word) {
  while (line->at < line->end && is_blank(*line->at)) line->at++;
  word->at = line->at;
  while (line->at < line->end && !is_blank(*line->at)) line->at++;
  word->end = line->at;
  return word->at < word->end;
}

bool sp_span_int(sp_span *line, int *value) {
  sp_span word;
  if (!sp_span_word(line, &word)) return false;
  const bool negative = *word.at == '-';
  if (negative || *word.at == '+') word.at++;
  long long sum = 0;
  if (word.at == word.end) return false;
  for (; word.at < word.end; word.at++) {
    if (*word.at < '0' || *word.at > '9') return false;
    sum = 10 * sum + (*word.at - '0');
    if (sum > INT_MAX) return false;
  }
  *value = (int)(negative ? -sum : sum);
  return true;
}

bool sp_span_real(const sp_span *word, double *value) {
  char text[128], *end;
  const size_t length = (size_t)(word->end - word->at);
  if (length == 0 || length >= sizeof text) return false;
  memcpy(text, word->at, length);
  text[length] = '\0';
  *value = strtod(text, &end);
  return end == text + length;
}

bool sp_span_reals(sp_span *line, int count, double *values) {
  sp_span word;
  for (int v = 0; v < count; v++)
    if (!sp_span_word(line, &word) || !sp_span_real(&word, &values[v])) return false;
  return true;
}

/* ---- Messages ---- */

const char *sp_span_excerpt(const sp_span *line, char out[SP_EXCERPT]) {
  const size_t length = (size_t)(line->end - line->at);
  const size_t shown = length < SP_EXCERPT - 4 ? length : SP_EXCERPT - 4;
  for (size_t c = 0; c < shown; c++) {
    const char letter = line->at[c];
    out[c] = letter;
    if (letter < ' ' || letter > '~') out[c] = letter == '\t' ? ' ' : '?';
  }
  snprintf(out + shown, 4, "%s", shown < length ? "..." : "");
  return out;
}

const char *sp_scan_where(const sp_scan *s, size_t line, char out[24]) {
  out[0] = '\0';
  if (!s->binary) snprintf(out, 24, ":%zu", line);
  return out;
}

sp_status sp_scan_unexpected(const sp_scan *s, const sp_span *found, const char *expected) {
  char text[SP_EXCERPT], where[24];
  if (found->at == s->rest.end)
    return sp_fail(SP_ERR_INPUT, "%s: expected %s, but the file ends: it is cut short", s->path,
                   expected);
  return sp_fail(SP_ERR_INPUT, "%s%s: expected %s, found '%s'", s->path,
                 sp_scan_where(s, s->line, where), expected, sp_span_excerpt(found, text));
}

/* ---- Binary numbers ---- */

/* A number of `size` bytes, at most 8. */
static bool take_number(sp_scan *s, size_t size, void *value) {
  unsigned char bytes[8], reversed[8];
  if ((size_t)(s->rest.end - s->rest.at) < size) return false;
  memcpy(bytes, s->rest.at, size);
  s->rest.at += size;
  for (size_t b = 0; b < size; b++) reversed[b] = bytes[size - 1 - b];
  memcpy(value, s->swapped ? reversed : bytes, size);
  return true;
}

bool sp_scan_int(sp_scan *s, int *value) {
  return take_number(s, sizeof *value, value);
}

bool sp_scan_long(sp_scan *s, long long *value) {
  return take_number(s, sizeof *value, value);
}

bool sp_scan_reals(sp_scan *s, int count, double *values) {
  for (int v = 0; v < count; v++)
    if (!take_number(s, sizeof *values, &values[v])) return false;
  return true;
}

sp_status sp_scan_format(sp_scan *s) {
  sp_span line, word;
  int binary, size, one = 1;
  if (!sp_scan_line(s, &line)) return sp_scan_unexpected(s, &s->rest, "a version");
  const sp_span whole = line;
  bool sound =
      sp_span_word(&line, &word) && sp_span_int(&line, &binary) && sp_span_int(&line, &size);
  sound = sound && sp_span_real(&word, &s->version);
  const bool old = s->version >= 2 && s->version < 3, new = s->version >= 4 && s->version < 5;
  if (!sound || !(old || new) || (new &&binary &&size != 8))
    return sp_scan_unexpected(s, &whole, "the version, 0 or 1 for binary, and 8");
  s->binary = binary != 0;
  if (s->binary && !sp_scan_int(s, &one)) return sp_scan_unexpected(s, &s->rest, "a binary 1");
  s->swapped = one != 1;
  return SP_OK;
}
