#include "mesh/gmsh_format2.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Sections that begin with a count ---- */

typedef struct section {
  const char *what, *end; /* "elements", "$EndElements" */
  size_t line;            /* of the count */
  int count;
} section;

/* `least`: the smallest number of bytes of an item. */
static sp_status begin_section(sp_scan *s, const char *what, const char *end, size_t least,
                               section *out) {
  char expected[64], where[24];
  sp_span line;
  const bool any = sp_scan_line(s, &line);
  const sp_span whole = line;
  *out = (section){.what = what, .end = end, .line = s->line};
  snprintf(expected, sizeof expected, "the number of %s", what);
  if (!any) return sp_scan_unexpected(s, &s->rest, expected);
  if (!sp_span_int(&line, &out->count) || line.at < line.end || out->count < 0)
    return sp_scan_unexpected(s, &whole, expected);
  if ((size_t)out->count > (size_t)(s->rest.end - s->rest.at) / least)
    return sp_fail(SP_ERR_INPUT, "%s%s: %d %s are more than the rest of the file can hold", s->path,
                   sp_scan_where(s, s->line, where), out->count, what);
  return SP_OK;
}

static sp_status cut_short(const sp_scan *s, const section *sec, int index) {
  return sp_fail(SP_ERR_INPUT, "%s: the file ends within number %d of its %d %s: it is cut short",
                 s->path, index + 1, sec->count, sec->what);
}

/* `line`: found in place of item `there`. */
static sp_status too_few(const sp_scan *s, const section *sec, const sp_span *line, int there) {
  if (line->at == s->rest.end) return cut_short(s, sec, there);
  return sp_fail(SP_ERR_INPUT,
                 "%s:%zu: the file says %d %s, but only %d follow: correct the number or write the "
                 "file anew",
                 s->path, sec->line, sec->count, sec->what, there);
}

static sp_status end_section(sp_scan *s, const section *sec) {
  char text[SP_EXCERPT];
  sp_span line;
  if (s->binary && s->rest.at < s->rest.end && *s->rest.at == '\n') sp_scan_line(s, &line);
  const bool any = s->binary ? sp_scan_line(s, &line) : sp_scan_filled_line(s, &line);
  if (any && sp_span_begins(&line, sec->end)) return SP_OK;
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
                 sp_span_excerpt(&line, text));
}

/* ---- Numbers that are used once ---- */

static int compare_numbers(const void *left, const void *right) {
  const sp_gmsh_element *a = left, *b = right;
  return (a->number > b->number) - (a->number < b->number);
}

static int compare(const void *left, const void *right) {
  const sp_gmsh_element *a = left, *b = right;
  const int order = compare_numbers(left, right);
  return order ? order : (a->place > b->place) - (a->place < b->place);
}

/* Sort by number. */
static sp_status check_unique(const sp_scan *s, const char *what, size_t count,
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

/* Check that the number at the start of a line fits the 32 bits of format 2. */
static sp_status check_number(const sp_scan *s, const char *what, const sp_span *line) {
  sp_span rest = *line, digits;
  int number;
  if (sp_span_int(&rest, &number)) return SP_OK;
  rest = *line;
  if (!sp_span_word(&rest, &digits)) return SP_OK;
  for (const char *c = digits.at; c < digits.end; c++)
    if (*c < '0' || *c > '9') return SP_OK;
  const int length = (int)(digits.end - digits.at);
  return sp_fail(SP_ERR_INPUT,
                 "%s:%zu: %s number %.*s is above %d, the largest of format 2: write format 4.1, "
                 "or smaller numbers",
                 s->path, s->line, what, length < 40 ? length : 40, digits.at, INT_MAX);
}

/* ---- Nodes ---- */

/* Read a node: its number and coordinates; in $ParametricNodes also an entity and up to two
 * parameters. */
static sp_status text_node(sp_scan *s, const section *sec, bool parametric, int index,
                           int *number) {
  sp_span line;
  if (!sp_scan_filled_line(s, &line) || *line.at == '$') return too_few(s, sec, &line, index);
  const sp_span whole = line;
  int dimension = 0, entity;
  SP_TRY(check_number(s, "node", &whole));
  bool sound = sp_span_int(&line, number) && sp_span_words(&line, 3);
  if (parametric) {
    sound = sound && sp_span_int(&line, &dimension) && sp_span_int(&line, &entity);
    if (dimension == 1 || dimension == 2) sound = sound && sp_span_words(&line, dimension);
  }
  if (sound && line.at == line.end) return SP_OK;
  return sp_scan_unexpected(s, &whole,
                            parametric ? "a node: its number, x, y, z, entity and parameters"
                                       : "a node: its number, x, y and z");
}

static sp_status binary_node(sp_scan *s, const section *sec, bool parametric, int index,
                             int *number) {
  int dimension = 0, entity;
  bool sound = sp_scan_int(s, number) && sp_scan_bytes(s, 3 * sizeof(double));
  if (parametric) {
    sound = sound && sp_scan_int(s, &dimension) && sp_scan_int(s, &entity);
    if (dimension == 1 || dimension == 2)
      sound = sound && sp_scan_bytes(s, (size_t)dimension * sizeof(double));
  }
  return sound ? SP_OK : cut_short(s, sec, index);
}

/* Store numbers and places in `list` if it is not NULL. */
static sp_status scan_nodes(sp_scan *s, const section *sec, bool parametric, bool *ascending,
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

/* Most files number their nodes in ascending order; then no list is needed. */
static sp_status read_nodes(sp_scan *s, bool parametric) {
  section sec;
  bool ascending;
  SP_TRY(begin_section(s, "nodes", parametric ? "$EndParametricNodes" : "$EndNodes",
                       s->binary ? 4 + 3 * sizeof(double) : strlen("1 0 0 0\n"), &sec));
  sp_scan again = *s;
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

enum { TAGS = 4 }; /* used: group, entity, number of parts, own part; further tags are for ghosts */

/* An element of the file. */
typedef struct record {
  int number, type, tag_count, tags[TAGS];
  size_t place;
} record;

static sp_status keep_part(const section *sec, const record *r, sp_gmsh_format2 *out) {
  const int part = r->tag_count >= TAGS && r->tags[2] > 0 ? r->tags[3] : 0;
  if (part > out->part_count) out->part_count = part;
  if (part < 1 || part > sec->count) return SP_OK; /* more parts than elements: one is missing */
  if (part > out->part_room) {
    const int room = part < sec->count / 2 ? 2 * part : sec->count;
    bool *list = realloc(out->has_part, (size_t)room * sizeof *list);
    if (!list) return sp_fail(SP_ERR_SYSTEM, "out of memory: %d parts", room);
    memset(list + out->part_room, 0, (size_t)(room - out->part_room) * sizeof *list);
    out->has_part = list;
    out->part_room = room;
  }
  out->has_part[part - 1] = true;
  return SP_OK;
}

/* Check and store an element, of either encoding. */
static sp_status keep_element(const sp_scan *s, const section *sec, const record *r, size_t index,
                              sp_gmsh_format2 *out) {
  char where[32];
  snprintf(where, sizeof where, s->binary ? ": index %zu" : ":%zu", r->place);
  if (r->number < 1)
    return sp_fail(SP_ERR_INPUT, "%s%s: expected an element number of at least 1, found %d",
                   s->path, where, r->number);
  if (r->tags[1] < 0)
    return sp_fail(SP_ERR_INPUT,
                   "%s%s: element %d has the elementary tag %d, and gmsh leaves out what is below "
                   "0: give it a positive one",
                   s->path, where, r->number, r->tags[1]);
  if (r->tags[0] == INT_MIN) /* which has no absolute value */
    return sp_fail(SP_ERR_INPUT,
                   "%s%s: expected element %d to be in a group of at most %d, found %d", s->path,
                   where, r->number, INT_MAX, r->tags[0]);
  out->elements[index] =
      (sp_gmsh_element){.number = r->number, .physical = abs(r->tags[0]), .place = r->place};
  out->counts[r->type]++;
  return keep_part(sec, r, out);
}

static sp_status unknown_type(const sp_scan *s, int number, int type) {
  char where[24];
  return sp_fail(SP_ERR_INPUT,
                 "%s%s: element %d has the type %d, which is no point, line, surface or volume "
                 "element of gmsh (polyhedra, and prisms above order 2, are not read)",
                 s->path, sp_scan_where(s, s->line, where), number, type);
}

static sp_status text_element(sp_scan *s, const section *sec, sp_gmsh_node_counter nodes, int index,
                              sp_gmsh_format2 *out) {
  char expected[96] = "an element: its number, type, number of tags, tags and nodes";
  sp_span line;
  record r = {0};
  int skipped;
  if (!sp_scan_filled_line(s, &line) || *line.at == '$') return too_few(s, sec, &line, index);
  const sp_span whole = line;
  r.place = s->line;
  SP_TRY(check_number(s, "element", &whole));
  bool sound = sp_span_int(&line, &r.number) && sp_span_int(&line, &r.type) &&
               sp_span_int(&line, &r.tag_count);
  if (!sound && line.end == s->rest.end) return cut_short(s, sec, index);
  if (!sound || r.tag_count < 0) return sp_scan_unexpected(s, &whole, expected);
  const int n = nodes(r.type);
  if (n < 1) return unknown_type(s, r.number, r.type);
  for (int t = 0; t < r.tag_count && sound; t++)
    sound = sp_span_int(&line, t < TAGS ? &r.tags[t] : &skipped);
  for (int k = 0; k < n && sound; k++) sound = sp_span_int(&line, &skipped);
  if (!sound && line.end == s->rest.end) return cut_short(s, sec, index);
  if (!sound || line.at < line.end) {
    snprintf(expected, sizeof expected, "element %d to have %d tag%s and %d node%s in this line",
             r.number, r.tag_count, sp_plural(r.tag_count), n, sp_plural(n));
    return sp_scan_unexpected(s, &whole, expected);
  }
  return keep_element(s, sec, &r, (size_t)index, out);
}

/* Blocks of elements that have the type and the number of tags in common. */
static sp_status binary_elements(sp_scan *s, const section *sec, sp_gmsh_node_counter nodes,
                                 sp_gmsh_format2 *out) {
  for (int e = 0; e < sec->count;) {
    int type, size, tags, skipped;
    if (!sp_scan_int(s, &type) || !sp_scan_int(s, &size) || !sp_scan_int(s, &tags))
      return cut_short(s, sec, e);
    if (size < 1 || size > sec->count - e || tags < 0)
      return sp_fail(SP_ERR_INPUT,
                     "%s: at index %d of %d elements, expected a block of 1 to %d elements, found "
                     "one of %d with %d tags: the number of elements is wrong or the file is "
                     "damaged",
                     s->path, e + 1, sec->count, sec->count - e, size, tags);
    for (const int last = e + size; e < last; e++) {
      record r = {.type = type, .tag_count = tags, .place = (size_t)e + 1};
      if (!sp_scan_int(s, &r.number)) return cut_short(s, sec, e);
      const int n = nodes(type);
      if (n < 1) return unknown_type(s, r.number, type);
      for (int t = 0; t < tags; t++)
        if (!sp_scan_int(s, t < TAGS ? &r.tags[t] : &skipped)) return cut_short(s, sec, e);
      if (!sp_scan_bytes(s, (size_t)n * sizeof(int))) return cut_short(s, sec, e);
      SP_TRY(keep_element(s, sec, &r, (size_t)e, out));
    }
  }
  return SP_OK;
}

static sp_status read_elements(sp_scan *s, sp_gmsh_node_counter nodes, sp_gmsh_format2 *out) {
  section sec;
  SP_TRY(begin_section(s, "elements", "$EndElements",
                       s->binary ? 2 * sizeof(int) : strlen("1 15 0 1\n") - 1, &sec));
  SP_TRY(sp_allocate((size_t)sec.count, sizeof *out->elements, "elements", &out->elements));
  out->count = (size_t)sec.count;
  if (s->binary) SP_TRY(binary_elements(s, &sec, nodes, out));
  for (int e = 0; e < sec.count && !s->binary; e++) SP_TRY(text_element(s, &sec, nodes, e, out));
  SP_TRY(end_section(s, &sec));
  return check_unique(s, "element", out->count, out->elements);
}

/* ---- The file ---- */

/* The text between the quotes of a line. */
static sp_status keep_name(int dimension, int number, const sp_span *line, sp_gmsh_format2 *out) {
  const size_t length = (size_t)(line->end - line->at);
  const char *begin = memchr(line->at, '"', length), *end = line->end;
  while (begin && end > begin + 1 && end[-1] != '"') end--;
  const size_t size = begin && end > begin + 1 ? (size_t)(end - begin) - 2 : 0;
  sp_gmsh_name *name = &out->names[out->name_count];
  SP_TRY(sp_allocate(size + 1, 1, "group name", &name->name));
  out->name_count++;
  if (size > 0) memcpy(name->name, begin + 1, size);
  name->dimension = dimension;
  name->number = number;
  return SP_OK;
}

static sp_status read_names(sp_scan *s, sp_gmsh_format2 *out) {
  sp_scan lines = *s; /* names are text in binary files, too */
  lines.binary = false;
  section sec;
  SP_TRY(begin_section(&lines, "physical names", "$EndPhysicalNames", strlen("1 \"\"\n"), &sec));
  SP_TRY(sp_allocate((size_t)sec.count, sizeof *out->names, "group names", &out->names));
  for (int n = 0; n < sec.count; n++) {
    sp_span line;
    int dimension = -1, number;
    if (!sp_scan_filled_line(&lines, &line) || *line.at == '$') return too_few(s, &sec, &line, n);
    const sp_span whole = line;
    bool sound = lines.version <= 2 || sp_span_int(&line, &dimension);
    sound = sound && sp_span_int(&line, &number);
    if (!sound)
      return sp_scan_unexpected(&lines, &whole, "the dimension, number and name of a group");
    SP_TRY(keep_name(dimension, number, &line, out));
  }
  SP_TRY(end_section(&lines, &sec));
  lines.binary = s->binary;
  *s = lines;
  return SP_OK;
}

sp_status sp_gmsh_format2_parse(const char *path, const char *bytes, size_t size,
                                sp_gmsh_node_counter nodes, sp_gmsh_format2 *out) {
  sp_scan s = {.path = path, .rest = {bytes, bytes + size}};
  bool format = false, names = false, points = false, elements = false;
  sp_span line;
  *out = (sp_gmsh_format2){0};
  while (sp_scan_line(&s, &line)) {
    const bool parametric = sp_span_begins(&line, "$ParametricNodes");
    if (sp_span_begins(&line, "$MeshFormat")) {
      SP_TRY(sp_scan_once(&s, "$MeshFormat", &format));
      SP_TRY(sp_scan_format(&s));
      if (s.version >= 3) return sp_fail(SP_ERR_INPUT, "%s: expected format 2", path);
    } else if (sp_span_begins(&line, "$PhysicalNames")) {
      SP_TRY(sp_scan_once(&s, "$PhysicalNames", &names));
      SP_TRY(read_names(&s, out));
    } else if (sp_span_begins(&line, "$Nodes") || parametric) {
      SP_TRY(sp_scan_once(&s, "$Nodes", &points));
      SP_TRY(read_nodes(&s, parametric));
    } else if (sp_span_begins(&line, "$Elements")) {
      SP_TRY(sp_scan_once(&s, "$Elements", &elements));
      SP_TRY(read_elements(&s, nodes, out));
    } else if (sp_span_begins(&line, "$NodeData") || sp_span_begins(&line, "$Element")) {
      break; /* results of a solver: gmsh stops here, too */
    }
  }
  if (!format) return sp_fail(SP_ERR_INPUT, "%s: expected a line $MeshFormat, found none", path);
  return SP_OK;
}

bool sp_gmsh_format2_physical(const sp_gmsh_format2 *format2, size_t number, int *physical) {
  const size_t n = format2->count;
  if (n == 0 || number > INT_MAX) return false;
  const sp_gmsh_element *list = format2->elements, wanted = {.number = (int)number};
  const long long guess = (long long)number - list[0].number; /* numbers without gaps */
  const sp_gmsh_element *found = guess >= 0 && (size_t)guess < n ? &list[guess] : NULL;
  if (!found || found->number != wanted.number)
    found = bsearch(&wanted, list, n, sizeof wanted, compare_numbers);
  if (found) *physical = found->physical;
  return found;
}

const char *sp_gmsh_format2_name(const sp_gmsh_format2 *format2, int dimension, int number) {
  for (size_t n = 0; n < format2->name_count; n++) {
    const sp_gmsh_name *name = &format2->names[n];
    if (name->number == number && (name->dimension == dimension || name->dimension < 0))
      return name->name;
  }
  return "";
}

void sp_gmsh_format2_free(sp_gmsh_format2 *format2) {
  for (size_t n = 0; n < format2->name_count; n++) free(format2->names[n].name);
  SP_FREE(format2->names, format2->has_part, format2->elements);
  *format2 = (sp_gmsh_format2){0};
}
