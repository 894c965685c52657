#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/gmsh/model.h"

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

/* ---- Numbers that must be unique ---- */

typedef struct numbered {
  int number;
  size_t place; /* from 1: the line of an ASCII file, the index in a binary one */
} numbered;

static int compare_numbered(const void *left, const void *right) {
  const numbered *a = left, *b = right;
  if (a->number != b->number) return a->number < b->number ? -1 : 1;
  return (a->place > b->place) - (a->place < b->place);
}

/* Sorts the list. */
static sp_status check_unique(const sp_scan *s, const char *what, int count, numbered *list) {
  int ascending = 1;
  while (ascending < count && list[ascending - 1].number < list[ascending].number) ascending++;
  if (ascending >= count) return SP_OK;
  qsort(list, (size_t)count, sizeof *list, compare_numbered);
  for (int i = 1; i < count; i++) {
    const numbered *a = &list[i - 1], *b = &list[i];
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

/* Check that a number at the start of a line fits 32 bits. */
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

static bool take_int(sp_scan *s, sp_span *line, int *value) {
  return s->binary ? sp_scan_int(s, value) : sp_span_int(line, value);
}

static bool take_reals(sp_scan *s, sp_span *line, int count, double *values) {
  return s->binary ? sp_scan_reals(s, count, values) : sp_span_reals(line, count, values);
}

/* Read a node: its number and coordinates; in $ParametricNodes also an entity and up to two
 * parameters. */
static sp_status read_node(sp_scan *s, const section *sec, bool parametric, int index, int *number,
                           double xyz[3]) {
  sp_span line = {0};
  if (!s->binary && (!sp_scan_filled_line(s, &line) || *line.at == '$'))
    return too_few(s, sec, &line, index);
  const sp_span whole = line;
  double parameters[2];
  int dimension = 0, entity;
  if (!s->binary) SP_TRY(check_number(s, "node", &whole));
  bool sound = take_int(s, &line, number) && take_reals(s, &line, 3, xyz);
  if (parametric) {
    sound = sound && take_int(s, &line, &dimension) && take_int(s, &line, &entity);
    if (dimension == 1 || dimension == 2)
      sound = sound && take_reals(s, &line, dimension, parameters);
  }
  if (sound && line.at == line.end) return SP_OK;
  if (s->binary) return cut_short(s, sec, index);
  return sp_scan_unexpected(s, &whole,
                            parametric ? "a node: its number, x, y, z, entity and parameters"
                                       : "a node: its number, x, y and z");
}

sp_status sp_gmsh_format2_nodes(sp_scan *s, bool parametric, sp_gmsh_model *m) {
  section sec;
  SP_OWNED numbered *list = NULL;
  SP_TRY(begin_section(s, "nodes", parametric ? "$EndParametricNodes" : "$EndNodes",
                       s->binary ? 4 + 3 * sizeof(double) : strlen("1 0 0 0\n"), &sec));
  SP_TRY(sp_allocate((size_t)sec.count, sizeof *list, "node numbers", &list));
  for (int n = 0; n < sec.count; n++) {
    double xyz[3];
    SP_TRY(read_node(s, &sec, parametric, n, &list[n].number, xyz));
    list[n].place = s->binary ? (size_t)n + 1 : s->line;
    SP_TRY(sp_gmsh_add_point(m, (size_t)list[n].number, xyz));
  }
  SP_TRY(end_section(s, &sec));
  return check_unique(s, "node", sec.count, list);
}

/* ---- Elements ---- */

enum { TAGS = 4 }; /* used: group, entity, number of parts, own part; further tags are for ghosts */

/* An element of the file. */
typedef struct record {
  numbered *own;
  int type, tag_count, tags[TAGS];
} record;

/* Check and store an element, of either encoding; the caller fills its nodes. */
static sp_status keep_element(const sp_scan *s, const record *r, sp_gmsh_model *m, size_t **nodes) {
  const int number = r->own->number;
  char where[32];
  snprintf(where, sizeof where, s->binary ? ": index %zu" : ":%zu", r->own->place);
  if (number < 1)
    return sp_fail(SP_ERR_INPUT, "%s%s: expected an element number of at least 1, found %d",
                   s->path, where, number);
  if (r->tags[1] < 0)
    return sp_fail(SP_ERR_INPUT,
                   "%s%s: element %d has the elementary tag %d, and gmsh leaves out tags below 0: "
                   "give it a positive tag",
                   s->path, where, number, r->tags[1]);
  if (r->tags[0] == INT_MIN) /* has no absolute value */
    return sp_fail(SP_ERR_INPUT,
                   "%s%s: expected element %d to be in a group of at most %d, found %d", s->path,
                   where, number, INT_MAX, r->tags[0]);
  sp_gmsh_element element = {.tag = (size_t)number, .type = r->type, .place = r->tags[1]};
  const int group = abs(r->tags[0]);
  SP_TRY(sp_gmsh_find_entity(m, sp_gmsh_type_of(r->type)->dimension, group, &element.entity));
  sp_gmsh_entity *entity = &m->entities[element.entity];
  if (group > 0 && entity->group_count == 0) SP_TRY(sp_gmsh_add_group(entity, group));
  if (r->tag_count >= TAGS && r->tags[2] > 0) SP_TRY(sp_gmsh_add_part(m, r->tags[3], true));
  return sp_gmsh_add_element(m, &element, nodes);
}

static sp_status unknown_type(const sp_scan *s, int number, int type) {
  char where[24];
  return sp_fail(SP_ERR_INPUT,
                 "%s%s: element %d has the type %d, which is no point, line, surface or volume "
                 "element of gmsh (polyhedra, and prisms above order 2, are not read)",
                 s->path, sp_scan_where(s, s->line, where), number, type);
}

static sp_status text_element(sp_scan *s, const section *sec, int index, numbered *own,
                              sp_gmsh_model *m) {
  char expected[96] = "an element: its number, type, number of tags, tags and nodes";
  sp_span line;
  record r = {.own = own};
  int number = 0;
  if (!sp_scan_filled_line(s, &line) || *line.at == '$') return too_few(s, sec, &line, index);
  const sp_span whole = line;
  own->place = s->line;
  SP_TRY(check_number(s, "element", &whole));
  bool sound = sp_span_int(&line, &own->number) && sp_span_int(&line, &r.type) &&
               sp_span_int(&line, &r.tag_count);
  if (!sound && line.end == s->rest.end) return cut_short(s, sec, index);
  if (!sound || r.tag_count < 0) return sp_scan_unexpected(s, &whole, expected);
  const sp_gmsh_type *type = sp_gmsh_type_of(r.type);
  if (!type) return unknown_type(s, own->number, r.type);
  for (int t = 0; t < r.tag_count && sound; t++)
    sound = sp_span_int(&line, t < TAGS ? &r.tags[t] : &number);
  size_t *nodes = NULL;
  if (sound) SP_TRY(keep_element(s, &r, m, &nodes));
  for (int k = 0; k < type->nodes && sound; k++) {
    sound = sp_span_int(&line, &number);
    nodes[k] = (size_t)number;
  }
  if (!sound && line.end == s->rest.end) return cut_short(s, sec, index);
  if (sound && line.at == line.end) return SP_OK;
  snprintf(expected, sizeof expected, "element %d to have %d tag%s and %d node%s in this line",
           own->number, r.tag_count, sp_plural(r.tag_count), type->nodes, sp_plural(type->nodes));
  return sp_scan_unexpected(s, &whole, expected);
}

/* Blocks of elements that have the type and the number of tags in common. */
static sp_status binary_elements(sp_scan *s, const section *sec, numbered *list, sp_gmsh_model *m) {
  for (int e = 0; e < sec->count;) {
    int kind, size, tags, number;
    if (!sp_scan_int(s, &kind) || !sp_scan_int(s, &size) || !sp_scan_int(s, &tags))
      return cut_short(s, sec, e);
    if (size < 1 || size > sec->count - e || tags < 0)
      return sp_fail(SP_ERR_INPUT,
                     "%s: at index %d of %d elements, expected a block of 1 to %d elements, found "
                     "one of %d with %d tags: the number of elements is wrong or the file is "
                     "damaged",
                     s->path, e + 1, sec->count, sec->count - e, size, tags);
    for (const int last = e + size; e < last; e++) {
      record r = {.own = &list[e], .type = kind, .tag_count = tags};
      list[e].place = (size_t)e + 1;
      if (!sp_scan_int(s, &list[e].number)) return cut_short(s, sec, e);
      const sp_gmsh_type *type = sp_gmsh_type_of(kind);
      size_t *nodes;
      if (!type) return unknown_type(s, list[e].number, kind);
      for (int t = 0; t < tags; t++)
        if (!sp_scan_int(s, t < TAGS ? &r.tags[t] : &number)) return cut_short(s, sec, e);
      SP_TRY(keep_element(s, &r, m, &nodes));
      for (int k = 0; k < type->nodes; k++) {
        if (!sp_scan_int(s, &number)) return cut_short(s, sec, e);
        nodes[k] = (size_t)number;
      }
    }
  }
  return SP_OK;
}

sp_status sp_gmsh_format2_elements(sp_scan *s, sp_gmsh_model *m) {
  section sec;
  SP_OWNED numbered *list = NULL;
  SP_TRY(begin_section(s, "elements", "$EndElements",
                       s->binary ? 2 * sizeof(int) : strlen("1 15 0 1\n") - 1, &sec));
  SP_TRY(sp_allocate((size_t)sec.count, sizeof *list, "element numbers", &list));
  if (s->binary) SP_TRY(binary_elements(s, &sec, list, m));
  for (int e = 0; e < sec.count && !s->binary; e++) SP_TRY(text_element(s, &sec, e, &list[e], m));
  SP_TRY(end_section(s, &sec));
  return check_unique(s, "element", sec.count, list);
}

/* ---- Names ---- */

/* The text between the quotes of a line. */
static sp_status keep_name(int dimension, int number, const sp_span *line, sp_gmsh_model *m) {
  const size_t length = (size_t)(line->end - line->at);
  const char *begin = memchr(line->at, '"', length), *end = line->end;
  while (begin && end > begin + 1 && end[-1] != '"') end--;
  const size_t size = begin && end > begin + 1 ? (size_t)(end - begin) - 2 : 0;
  return sp_gmsh_add_name(m, dimension, number, size > 0 ? begin + 1 : "", size);
}

sp_status sp_gmsh_read_names(sp_scan *s, sp_gmsh_model *m) {
  const bool binary = s->binary;
  section sec;
  s->binary = false;
  SP_TRY(begin_section(s, "physical names", "$EndPhysicalNames", strlen("1 \"\"\n"), &sec));
  for (int n = 0; n < sec.count; n++) {
    sp_span line;
    int dimension = -1, number;
    if (!sp_scan_filled_line(s, &line) || *line.at == '$') return too_few(s, &sec, &line, n);
    const sp_span whole = line;
    const bool sound =
        (s->version <= 2 || sp_span_int(&line, &dimension)) && sp_span_int(&line, &number);
    if (!sound) return sp_scan_unexpected(s, &whole, "the dimension, number and name of a group");
    SP_TRY(keep_name(dimension, number, &line, m));
  }
  SP_TRY(end_section(s, &sec));
  s->binary = binary;
  return SP_OK;
}
