#include "mesh/gmsh_format2.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A part of the file: what is left of a line, or of the whole. */
typedef struct span {
  const char *at, *end;
} span;

typedef struct source {
  const char *path;
  span rest;
  size_t line; /* of the line that was read last */
  double version;
  bool binary, swapped;
} source;

/* ---- Lines and words ---- */

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

static bool next_line(source *s, span *line) {
  if (s->rest.at == s->rest.end) return false;
  const char *stop = memchr(s->rest.at, '\n', (size_t)(s->rest.end - s->rest.at));
  *line = (span){s->rest.at, stop ? stop : s->rest.end};
  s->rest.at = stop ? stop + 1 : s->rest.end;
  s->line++;
  while (line->at < line->end && is_blank(line->end[-1])) line->end--;
  return true;
}

static bool next_filled_line(source *s, span *line) {
  while (next_line(s, line)) {
    while (line->at < line->end && is_blank(*line->at)) line->at++;
    if (line->at < line->end) return true;
  }
  *line = (span){s->rest.end, s->rest.end};
  return false;
}

static bool begins_with(const span *line, const char *word) {
  const size_t length = strlen(word);
  return (size_t)(line->end - line->at) >= length && memcmp(line->at, word, length) == 0;
}

static bool take_word(span *line, span *word) {
  while (line->at < line->end && is_blank(*line->at)) line->at++;
  word->at = line->at;
  while (line->at < line->end && !is_blank(*line->at)) line->at++;
  word->end = line->at;
  return word->at < word->end;
}

static bool take_words(span *line, int count) {
  span word;
  for (int w = 0; w < count; w++)
    if (!take_word(line, &word)) return false;
  return true;
}

/* In [-INT_MAX, INT_MAX]. */
static bool take_int(span *line, int *value) {
  span word;
  if (!take_word(line, &word)) return false;
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

/* ---- Messages ---- */

enum { EXCERPT = 40 };

/* The start of a line, without what a terminal would not show as it is. */
static const char *excerpt(const span *line, char out[EXCERPT + 4]) {
  const size_t length = (size_t)(line->end - line->at), shown = length < EXCERPT ? length : EXCERPT;
  for (size_t c = 0; c < shown; c++) {
    const char letter = line->at[c];
    out[c] = letter;
    if (letter < ' ' || letter > '~') out[c] = letter == '\t' ? ' ' : '?';
  }
  snprintf(out + shown, 4, "%s", shown < length ? "..." : "");
  return out;
}

/* ":12", or nothing in a binary file, which has no lines. */
static const char *at_line(const source *s, size_t line, char out[24]) {
  out[0] = '\0';
  if (!s->binary) snprintf(out, 24, ":%zu", line);
  return out;
}

static sp_status unexpected(const source *s, const span *found, const char *expected) {
  char text[EXCERPT + 4], where[24];
  if (found->at == s->rest.end)
    return sp_fail(SP_ERR_INPUT, "%s: expected %s, but the file ends: it is cut short", s->path,
                   expected);
  return sp_fail(SP_ERR_INPUT, "%s%s: expected %s, found '%s'", s->path, at_line(s, s->line, where),
                 expected, excerpt(found, text));
}

/* ---- Sections that begin with a count ---- */

typedef struct section {
  const char *what, *end; /* "elements", "$EndElements" */
  size_t line;            /* of the count */
  int count;
} section;

/* `least`: the bytes that one item has at least. */
static sp_status begin_section(source *s, const char *what, const char *end, size_t least,
                               section *out) {
  char expected[64], where[24];
  span line;
  const bool any = next_line(s, &line);
  const span whole = line;
  *out = (section){.what = what, .end = end, .line = s->line};
  snprintf(expected, sizeof expected, "the number of %s", what);
  if (!any) return unexpected(s, &s->rest, expected);
  if (!take_int(&line, &out->count) || line.at < line.end || out->count < 0)
    return unexpected(s, &whole, expected);
  if ((size_t)out->count > (size_t)(s->rest.end - s->rest.at) / least)
    return sp_fail(SP_ERR_INPUT, "%s%s: %d %s are more than the rest of the file can hold", s->path,
                   at_line(s, s->line, where), out->count, what);
  return SP_OK;
}

static sp_status cut_short(const source *s, const section *sec, int index) {
  return sp_fail(SP_ERR_INPUT, "%s: the file ends within number %d of its %d %s: it is cut short",
                 s->path, index + 1, sec->count, sec->what);
}

/* `line` is what stands in the place of item `there`. */
static sp_status too_few(const source *s, const section *sec, const span *line, int there) {
  if (line->at == s->rest.end) return cut_short(s, sec, there);
  return sp_fail(SP_ERR_INPUT,
                 "%s:%zu: the file says %d %s, but only %d follow: correct the number or write the "
                 "file anew",
                 s->path, sec->line, sec->count, sec->what, there);
}

static sp_status end_section(source *s, const section *sec) {
  char text[EXCERPT + 4];
  span line;
  if (s->binary && s->rest.at < s->rest.end && *s->rest.at == '\n') next_line(s, &line);
  const bool any = s->binary ? next_line(s, &line) : next_filled_line(s, &line);
  if (any && begins_with(&line, sec->end)) return SP_OK;
  if (!any)
    return sp_fail(SP_ERR_INPUT, "%s: expected %s, but the file ends: it is cut short", s->path,
                   sec->end);
  if (s->binary)
    return sp_fail(SP_ERR_INPUT,
                   "%s: %s does not follow after %d %s, which is the number that the file says: "
                   "correct the number or write the file anew",
                   s->path, sec->end, sec->count, sec->what);
  return sp_fail(SP_ERR_INPUT,
                 "%s:%zu: expected %s after %d %s, the number in line %zu, found '%s': correct the "
                 "number or write the file anew",
                 s->path, s->line, sec->end, sec->count, sec->what, sec->line,
                 excerpt(&line, text));
}

/* ---- Binary numbers ---- */

static bool take_bytes(source *s, size_t size) {
  if ((size_t)(s->rest.end - s->rest.at) < size) return false;
  s->rest.at += size;
  return true;
}

static bool take_binary(source *s, int *value) {
  unsigned char bytes[4], reversed[4];
  if (!take_bytes(s, sizeof bytes)) return false;
  memcpy(bytes, s->rest.at - sizeof bytes, sizeof bytes);
  for (int b = 0; b < 4; b++) reversed[b] = bytes[3 - b];
  memcpy(value, s->swapped ? reversed : bytes, sizeof *value);
  return true;
}

/* ---- Numbers that are used once ---- */

static int compare(const void *left, const void *right) {
  const sp_gmsh_element *a = left, *b = right;
  if (a->number != b->number) return a->number < b->number ? -1 : 1;
  return (a->place > b->place) - (a->place < b->place);
}

/* Sort by number. */
static sp_status check_unique(const source *s, const char *what, size_t count,
                              sp_gmsh_element *list) {
  bool ascending = true;
  for (size_t i = 1; i < count && ascending; i++) ascending = list[i - 1].number < list[i].number;
  if (ascending) return SP_OK;
  qsort(list, count, sizeof *list, compare);
  for (size_t i = 1; i < count; i++) {
    const sp_gmsh_element *a = &list[i - 1], *b = &list[i];
    if (a->number != b->number) continue;
    if (s->binary)
      return sp_fail(SP_ERR_INPUT,
                     "%s: the %ss with index %zu and %zu in the file both have the number %d: give "
                     "every %s a number of its own",
                     s->path, what, a->place, b->place, b->number, what);
    return sp_fail(SP_ERR_INPUT,
                   "%s:%zu: %s %d is in line %zu already: give every %s a number of its own",
                   s->path, b->place, what, b->number, a->place, what);
  }
  return SP_OK;
}

/* ---- Nodes ---- */

/* With coordinates, and in $ParametricNodes with an entity and up to two parameters on it. */
static sp_status text_node(source *s, const section *sec, bool parametric, int index, int *number) {
  span line;
  if (!next_filled_line(s, &line) || *line.at == '$') return too_few(s, sec, &line, index);
  const span whole = line;
  int dimension = 0, entity;
  bool sound = take_int(&line, number) && take_words(&line, 3);
  if (parametric) {
    sound = sound && take_int(&line, &dimension) && take_int(&line, &entity);
    if (dimension == 1 || dimension == 2) sound = sound && take_words(&line, dimension);
  }
  if (sound && line.at == line.end) return SP_OK;
  return unexpected(s, &whole,
                    parametric ? "a node: its number, x, y, z, entity and parameters"
                               : "a node: its number, x, y and z");
}

static sp_status binary_node(source *s, const section *sec, bool parametric, int index,
                             int *number) {
  int dimension = 0, entity;
  bool sound = take_binary(s, number) && take_bytes(s, 3 * sizeof(double));
  if (parametric) {
    sound = sound && take_binary(s, &dimension) && take_binary(s, &entity);
    if (dimension == 1 || dimension == 2)
      sound = sound && take_bytes(s, (size_t)dimension * sizeof(double));
  }
  return sound ? SP_OK : cut_short(s, sec, index);
}

/* Numbers and places go to `list` unless it is NULL. */
static sp_status scan_nodes(source *s, const section *sec, bool parametric, bool *ascending,
                            sp_gmsh_element *list) {
  int last = INT_MIN, number;
  *ascending = true;
  for (int n = 0; n < sec->count; n++) {
    SP_TRY(s->binary ? binary_node(s, sec, parametric, n, &number)
                     : text_node(s, sec, parametric, n, &number));
    *ascending = *ascending && number > last;
    last = number;
    if (list)
      list[n] = (sp_gmsh_element){.number = number, .place = s->binary ? (size_t)n + 1 : s->line};
  }
  return SP_OK;
}

/* Most files number their nodes in order, and then there is no list to make. */
static sp_status read_nodes(source *s, bool parametric) {
  section sec;
  bool ascending;
  SP_TRY(begin_section(s, "nodes", parametric ? "$EndParametricNodes" : "$EndNodes",
                       s->binary ? 4 + 3 * sizeof(double) : strlen("1 0 0 0\n"), &sec));
  source again = *s;
  SP_TRY(scan_nodes(s, &sec, parametric, &ascending, NULL));
  SP_TRY(end_section(s, &sec));
  if (ascending) return SP_OK;
  sp_gmsh_element *list;
  SP_TRY(sp_allocate((size_t)sec.count, sizeof *list, "node numbers", &list));
  sp_status status = scan_nodes(&again, &sec, parametric, &ascending, list);
  if (!status) status = check_unique(s, "node", (size_t)sec.count, list);
  free(list);
  return status;
}

/* ---- Elements ---- */

/* What is the same in both encodings. */
static sp_status keep_element(const source *s, int number, int physical, int elementary,
                              size_t place, sp_gmsh_element *out) {
  char where[32];
  snprintf(where, sizeof where, s->binary ? ": index %zu" : ":%zu", place);
  if (number < 1)
    return sp_fail(SP_ERR_INPUT, "%s%s: expected an element number of at least 1, found %d",
                   s->path, where, number);
  if (elementary < 0)
    return sp_fail(SP_ERR_INPUT,
                   "%s%s: element %d has the elementary tag %d, and gmsh leaves out what is below "
                   "0: give it a positive one",
                   s->path, where, number, elementary);
  if (physical == INT_MIN) /* which has no absolute value */
    return sp_fail(SP_ERR_INPUT,
                   "%s%s: expected element %d to be in a group of at most %d, found %d", s->path,
                   where, number, INT_MAX, physical);
  *out = (sp_gmsh_element){.number = number, .physical = abs(physical), .place = place};
  return SP_OK;
}

static sp_status unknown_type(const source *s, int number, int type) {
  char where[24];
  return sp_fail(SP_ERR_INPUT,
                 "%s%s: element %d has the type %d, which is no point, line, surface or volume "
                 "element of gmsh (polygons and polyhedra are not read)",
                 s->path, at_line(s, s->line, where), number, type);
}

static sp_status text_element(source *s, const section *sec, sp_gmsh_node_counter nodes, int index,
                              sp_gmsh_element *out) {
  char expected[96] = "an element: its number, type, number of tags, tags and nodes";
  span line;
  int number, type, tags, skipped, first[2] = {0, 0};
  if (!next_filled_line(s, &line) || *line.at == '$') return too_few(s, sec, &line, index);
  const span whole = line;
  bool sound = take_int(&line, &number) && take_int(&line, &type) && take_int(&line, &tags);
  if (!sound && line.end == s->rest.end) return cut_short(s, sec, index);
  if (!sound || tags < 0) return unexpected(s, &whole, expected);
  const int n = nodes(type);
  if (n < 1) return unknown_type(s, number, type);
  for (int t = 0; t < tags && sound; t++) sound = take_int(&line, t < 2 ? &first[t] : &skipped);
  for (int k = 0; k < n && sound; k++) sound = take_int(&line, &skipped);
  if (!sound && line.end == s->rest.end) return cut_short(s, sec, index);
  if (!sound || line.at < line.end) {
    snprintf(expected, sizeof expected, "element %d to have %d tags and %d nodes in this line",
             number, tags, n);
    return unexpected(s, &whole, expected);
  }
  return keep_element(s, number, first[0], first[1], s->line, out);
}

/* Blocks of elements that have the type and the number of tags in common. */
static sp_status binary_elements(source *s, const section *sec, sp_gmsh_node_counter nodes,
                                 sp_gmsh_element *list) {
  for (int e = 0; e < sec->count;) {
    int type, size, tags, number, skipped;
    if (!take_binary(s, &type) || !take_binary(s, &size) || !take_binary(s, &tags))
      return cut_short(s, sec, e);
    if (size < 1 || size > sec->count - e || tags < 0)
      return sp_fail(SP_ERR_INPUT,
                     "%s: at index %d of %d elements, expected a block of 1 to %d elements, found "
                     "one of %d with %d tags: the number of elements is wrong or the file is "
                     "damaged",
                     s->path, e + 1, sec->count, sec->count - e, size, tags);
    for (const int last = e + size; e < last; e++) {
      int first[2] = {0, 0};
      if (!take_binary(s, &number)) return cut_short(s, sec, e);
      const int n = nodes(type);
      if (n < 1) return unknown_type(s, number, type);
      for (int t = 0; t < tags; t++)
        if (!take_binary(s, t < 2 ? &first[t] : &skipped)) return cut_short(s, sec, e);
      if (!take_bytes(s, (size_t)n * sizeof(int))) return cut_short(s, sec, e);
      SP_TRY(keep_element(s, number, first[0], first[1], (size_t)e + 1, &list[e]));
    }
  }
  return SP_OK;
}

static sp_status read_elements(source *s, sp_gmsh_node_counter nodes, sp_gmsh_format2 *out) {
  section sec;
  SP_TRY(begin_section(s, "elements", "$EndElements",
                       s->binary ? 2 * sizeof(int) : strlen("1 15 0 1\n") - 1, &sec));
  SP_TRY(sp_allocate((size_t)sec.count, sizeof *out->elements, "elements", &out->elements));
  out->count = (size_t)sec.count;
  if (s->binary) SP_TRY(binary_elements(s, &sec, nodes, out->elements));
  for (int e = 0; e < sec.count && !s->binary; e++)
    SP_TRY(text_element(s, &sec, nodes, e, &out->elements[e]));
  SP_TRY(end_section(s, &sec));
  return check_unique(s, "element", out->count, out->elements);
}

/* ---- The file ---- */

static sp_status read_format(source *s) {
  char number[32];
  span line, word;
  int binary, size, one = 1;
  if (!next_line(s, &line)) return unexpected(s, &s->rest, "a version");
  const span whole = line;
  bool sound = take_word(&line, &word) && take_int(&line, &binary) && take_int(&line, &size);
  if (sound) {
    snprintf(number, sizeof number, "%.*s", (int)(word.end - word.at), word.at);
    s->version = strtod(number, NULL);
  }
  if (!sound || s->version < 2 || s->version >= 3)
    return unexpected(s, &whole, "the version, 0 or 1 for binary, and 8");
  s->binary = binary != 0;
  if (s->binary && !take_binary(s, &one)) return unexpected(s, &s->rest, "a binary 1");
  s->swapped = one != 1;
  return SP_OK;
}

static sp_status read_names(source *s, sp_gmsh_format2 *out) {
  source lines = *s; /* names are text in binary files, too */
  lines.binary = false;
  section sec;
  SP_TRY(begin_section(&lines, "physical names", "$EndPhysicalNames", strlen("1 \"\"\n"), &sec));
  for (int n = 0; n < sec.count; n++) {
    span line;
    int dimension = 0, number;
    if (!next_filled_line(&lines, &line) || *line.at == '$') return too_few(s, &sec, &line, n);
    const span whole = line;
    bool sound = lines.version <= 2 || take_int(&line, &dimension);
    sound = sound && take_int(&line, &number);
    if (!sound) return unexpected(&lines, &whole, "the dimension, number and name of a group");
    out->names_volume = out->names_volume || dimension == 3;
  }
  SP_TRY(end_section(&lines, &sec));
  lines.binary = s->binary;
  *s = lines;
  return SP_OK;
}

/* gmsh keeps the last of several sections. */
static sp_status once(const source *s, const char *name, bool *before) {
  char where[24];
  if (*before)
    return sp_fail(SP_ERR_INPUT, "%s%s: a second section %s: put all into one", s->path,
                   at_line(s, s->line, where), name);
  *before = true;
  return SP_OK;
}

sp_status sp_gmsh_format2_parse(const char *path, const char *bytes, size_t size,
                                sp_gmsh_node_counter nodes, sp_gmsh_format2 *out) {
  source s = {.path = path, .rest = {bytes, bytes + size}};
  bool format = false, points = false, elements = false;
  span line;
  *out = (sp_gmsh_format2){0};
  while (next_line(&s, &line)) {
    const bool parametric = begins_with(&line, "$ParametricNodes");
    if (begins_with(&line, "$MeshFormat")) {
      SP_TRY(once(&s, "$MeshFormat", &format));
      SP_TRY(read_format(&s));
    } else if (begins_with(&line, "$PhysicalNames")) {
      SP_TRY(read_names(&s, out));
    } else if (begins_with(&line, "$Nodes") || parametric) {
      SP_TRY(once(&s, "$Nodes", &points));
      SP_TRY(read_nodes(&s, parametric));
    } else if (begins_with(&line, "$Elements")) {
      SP_TRY(once(&s, "$Elements", &elements));
      SP_TRY(read_elements(&s, nodes, out));
    } else if (begins_with(&line, "$NodeData") || begins_with(&line, "$Element")) {
      break; /* results of a solver: gmsh stops here, too */
    }
  }
  if (!format) return sp_fail(SP_ERR_INPUT, "%s: expected a line $MeshFormat, found none", path);
  return SP_OK;
}

sp_status sp_gmsh_format2_read(const char *path, sp_gmsh_node_counter nodes, sp_gmsh_format2 *out) {
  struct stat status_of;
  *out = (sp_gmsh_format2){0};
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return sp_fail(SP_ERR_INPUT, "%s: %s", path, strerror(errno));
  void *bytes = MAP_FAILED;
  const bool known = fstat(file, &status_of) == 0;
  const size_t size = known ? (size_t)status_of.st_size : 0;
  if (size > 0) bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
  const int reason = errno;
  close(file);
  if (bytes == MAP_FAILED)
    return sp_fail(SP_ERR_INPUT, "%s: cannot be read: %s", path,
                   size > 0 ? strerror(reason) : "it is empty or not a regular file");
  const sp_status status = sp_gmsh_format2_parse(path, bytes, size, nodes, out);
  munmap(bytes, size);
  return status;
}

bool sp_gmsh_format2_physical(const sp_gmsh_format2 *format2, size_t number, int *physical) {
  const size_t n = format2->count;
  if (n == 0 || number > INT_MAX) return false;
  const sp_gmsh_element *list = format2->elements, wanted = {.number = (int)number};
  size_t low = 0, high = n;
  const long long guess = (long long)number - list[0].number; /* numbers without gaps */
  if (guess >= 0 && (size_t)guess < n && list[guess].number == wanted.number) {
    *physical = list[guess].physical;
    return true;
  }
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (list[middle].number < wanted.number)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == n || list[low].number != wanted.number) return false;
  *physical = list[low].physical;
  return true;
}

void sp_gmsh_format2_free(sp_gmsh_format2 *format2) {
  free(format2->elements);
  *format2 = (sp_gmsh_format2){0};
}
