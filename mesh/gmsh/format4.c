#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/gmsh/model.h"

/* Counts and range of numbers of a section. */
typedef struct section {
  const char *what, *end; /* "node", "$EndNodes" */
  size_t line;
  long long blocks, total, lowest, highest; /* 4.0 gives no range */
  long long listed;
} section;

/* ---- Numbers ---- */

static void skip_blanks(sp_scan *s) {
  while (s->rest.at < s->rest.end && strchr(" \t\r\n", *s->rest.at) && *s->rest.at)
    s->line += *s->rest.at++ == '\n';
}

static bool take_word(sp_scan *s, sp_span *word) {
  skip_blanks(s);
  word->at = s->rest.at;
  while (s->rest.at < s->rest.end && (!strchr(" \t\r\n", *s->rest.at) || !*s->rest.at))
    s->rest.at++;
  word->end = s->rest.at;
  return word->at < word->end;
}

/* Take a number of at least 0, with up to 18 digits or 63 bits; `width`: its bytes in a binary
 * file. */
static bool take_number(sp_scan *s, int width, long long *value) {
  if (s->binary) {
    int small = 0;
    const bool read = width == (int)sizeof small ? sp_scan_int(s, &small) : sp_scan_long(s, value);
    if (width == (int)sizeof small) *value = small;
    return read && *value >= 0;
  }
  sp_span word;
  if (!take_word(s, &word)) return false;
  *value = 0;
  bool sound = word.end - word.at <= 18;
  for (const char *c = word.at; c < word.end && sound; c++) {
    sound = *c >= '0' && *c <= '9';
    *value = 10 * *value + (*c - '0');
  }
  if (!sound) s->rest.at = word.at;
  return sound;
}

/* Take a signed number, such as the tag of an entity. */
static bool take_int(sp_scan *s, int *value) {
  sp_span word;
  if (s->binary) return sp_scan_int(s, value);
  if (!take_word(s, &word)) return false;
  const char *start = word.at;
  const bool sound = sp_span_int(&word, value);
  if (!sound) s->rest.at = start;
  return sound;
}

static bool take_reals(sp_scan *s, int count, double *values) {
  sp_span word;
  if (s->binary) return sp_scan_reals(s, count, values);
  for (int n = 0; n < count; n++) {
    if (take_word(s, &word) && sp_span_real(&word, &values[n])) continue;
    s->rest.at = word.at;
    return false;
  }
  return true;
}

static bool take_end(sp_scan *s, const char *end) {
  sp_span line;
  skip_blanks(s);
  return sp_span_begins(&s->rest, end) && sp_scan_line(s, &line);
}

/* ---- Messages ---- */

/* ":12", the line of the next word. */
static const char *next_line(const sp_scan *s, char out[24]) {
  return sp_scan_where(s, s->line + 1, out);
}

/* Report that the next line is not `expected`. */
static sp_status fail_unexpected(const sp_scan *s, const char *expected) {
  sp_scan here = *s;
  const sp_span rest = here.rest;
  sp_span line = rest;
  here.line++;
  const char *stop = memchr(rest.at, '\n', (size_t)(rest.end - rest.at));
  if (stop) line.end = stop;
  if (s->binary && rest.at < rest.end)
    return sp_fail(SP_ERR_INPUT, "%s: expected %s: the file is damaged or cut short", s->path,
                   expected);
  return sp_scan_unexpected(&here, &line, expected);
}

static sp_status expect_item(const sp_scan *s, const section *sec, long long index, long long count,
                             size_t line) {
  char expected[128], where[24] = "";
  if (!s->binary) snprintf(where, sizeof where, " of line %zu", line);
  snprintf(expected, sizeof expected, "%s %lld of the %lld of the block%s", sec->what, index + 1,
           count, where);
  return fail_unexpected(s, expected);
}

/* Check that a number is in the range of its section. */
static sp_status check_number(const sp_scan *s, const section *sec, long long number) {
  char where[24];
  if (number >= sec->lowest && number <= sec->highest) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "%s%s: %s %lld is not in the range %lld to %lld, which the file gives at the "
                 "start of the section",
                 s->path, next_line(s, where), sec->what, number, sec->lowest, sec->highest);
}

/* ---- Sections ---- */

static sp_status begin_section(sp_scan *s, section *sec) {
  const bool range = s->version > 4.05;
  char expected[96];
  snprintf(expected, sizeof expected, "the numbers of blocks and of %ss%s", sec->what,
           range ? ", the smallest number and the largest" : "");
  bool sound = take_number(s, 8, &sec->blocks);
  sec->line = s->line + 1;
  sound = sound && take_number(s, 8, &sec->total);
  sec->lowest = 1;
  sec->highest = INT_MAX;
  if (range && sound) sound = take_number(s, 8, &sec->lowest) && take_number(s, 8, &sec->highest);
  if (!sound) return fail_unexpected(s, expected);
  if (sec->lowest < 1) sec->lowest = 1;
  return SP_OK;
}

/* Read the head of a block. 4.0 and 4.1 have the first two numbers in different order. */
static sp_status begin_block(sp_scan *s, const char *expected, long long *dimension, int *entity,
                             long long *third, long long *count, size_t *line) {
  const bool first = s->version > 4.05;
  bool sound = first ? take_number(s, 4, dimension) : take_int(s, entity);
  *line = s->line + 1;
  sound = sound && (first ? take_int(s, entity) : take_number(s, 4, dimension));
  sound = sound && take_number(s, 4, third) && take_number(s, 8, count) && *dimension <= 3;
  return sound ? SP_OK : fail_unexpected(s, expected);
}

static sp_status read_nodes(sp_scan *s, section *sec, sp_gmsh_model *m) {
  const bool apart = s->version > 4.05; /* all numbers precede all coordinates */
  const size_t first = m->point_count;
  long long dimension = 0, parametric = 0, count = 0, number = 0;
  double values[6] = {0};
  int entity, index;
  size_t line;
  SP_TRY(begin_block(s, "a block of nodes: its entity, 0 or 1 for parametric, and count",
                     &dimension, &entity, &parametric, &count, &line));
  SP_TRY(sp_gmsh_find_entity(m, (int)dimension, entity, &index));
  const int reals = 3 + (parametric ? (int)dimension : 0);
  for (long long n = 0; n < count; n++) {
    if (!take_number(s, apart ? 8 : 4, &number)) return expect_item(s, sec, n, count, line);
    SP_TRY(check_number(s, sec, number));
    if (!apart && !take_reals(s, reals, values)) return expect_item(s, sec, n, count, line);
    SP_TRY(sp_gmsh_add_point(m, (size_t)number, values));
  }
  for (long long n = 0; n < count && apart; n++) {
    if (!take_reals(s, reals, values)) return expect_item(s, sec, n, count, line);
    memcpy(m->points[first + (size_t)n].xyz, values, 3 * sizeof *values);
  }
  sec->listed += count;
  return SP_OK;
}

static sp_status read_elements(sp_scan *s, section *sec, sp_gmsh_model *m) {
  const int width = s->version > 4.05 ? 8 : 4;
  long long dimension = 0, type = 0, count = 0, number = 0;
  size_t line, *nodes;
  char where[24];
  sp_gmsh_element element = {0};
  SP_TRY(begin_block(s, "a block of elements: its entity, type and count", &dimension,
                     &element.place, &type, &count, &line));
  element.type = type < INT_MAX ? (int)type : 0;
  const sp_gmsh_type *known = sp_gmsh_type_of(element.type);
  if (!known || known->dimension != dimension)
    return sp_fail(SP_ERR_INPUT,
                   "%s%s: a block of elements has the type %lld, which is no point, line, surface "
                   "or volume element of gmsh (polyhedra, and prisms above order 2, are not read)",
                   s->path, sp_scan_where(s, line, where), type);
  const size_t entities = m->entity_count;
  SP_TRY(sp_gmsh_find_entity(m, (int)dimension, element.place, &element.entity));
  if (m->lists_entities &&
      m->entity_count > entities) /* an unlisted entity: its groups are unknown */
    return sp_fail(
        SP_ERR_INPUT,
        "%s%s: expected a block of elements of an entity that $Entities or $Nodes names, "
        "found entity %d of dimension %lld",
        s->path, sp_scan_where(s, line, where), element.place, dimension);
  for (long long e = 0; e < count; e++) {
    if (!take_number(s, width, &number)) return expect_item(s, sec, e, count, line);
    SP_TRY(check_number(s, sec, number));
    element.tag = (size_t)number;
    SP_TRY(sp_gmsh_add_element(m, &element, &nodes));
    for (int n = 0; n < known->nodes; n++) {
      if (!take_number(s, width, &number)) return expect_item(s, sec, e, count, line);
      nodes[n] = (size_t)number;
    }
  }
  sec->listed += count;
  return SP_OK;
}

static sp_status end_section(sp_scan *s, const section *sec) {
  char expected[96], where[24];
  if (sec->listed != sec->total)
    return sp_fail(
        SP_ERR_INPUT,
        "%s%s: the file says %lld %s%s, but its blocks have %lld: correct the numbers or "
        "write the file anew",
        s->path, sp_scan_where(s, sec->line, where), sec->total, sec->what, sp_plural(sec->total),
        sec->listed);
  if (take_end(s, sec->end)) return SP_OK;
  snprintf(expected, sizeof expected, "%s after %lld block%s with %lld %s%s", sec->end, sec->blocks,
           sp_plural(sec->blocks), sec->total, sec->what, sp_plural(sec->total));
  return fail_unexpected(s, expected);
}

static sp_status read_section(sp_scan *s, section sec, sp_gmsh_model *m,
                              sp_status (*read_block)(sp_scan *, section *, sp_gmsh_model *)) {
  SP_TRY(begin_section(s, &sec));
  for (long long b = 0; b < sec.blocks; b++) SP_TRY(read_block(s, &sec, m));
  m->has_blocks = true;
  return end_section(s, &sec);
}

sp_status sp_gmsh_format4_nodes(sp_scan *s, sp_gmsh_model *m) {
  return read_section(s, (section){.what = "node", .end = "$EndNodes"}, m, read_nodes);
}

sp_status sp_gmsh_format4_elements(sp_scan *s, sp_gmsh_model *m) {
  return read_section(s, (section){.what = "element", .end = "$EndElements"}, m, read_elements);
}

/* ---- Entities ---- */

/* Add an entity; NULL if memory is short. It may exist already if sections are in unusual order. */
static sp_gmsh_entity *add_entity(sp_gmsh_model *m, int dimension, int tag) {
  int index = (int)m->entity_count;
  const sp_status status = m->has_blocks ? sp_gmsh_find_entity(m, dimension, tag, &index)
                                         : sp_gmsh_add_entity(m, dimension, tag);
  return status ? NULL : &m->entities[index];
}

/* Read the tag of an entity and, of a partitioned mesh, its parent and its parts. */
static bool take_tag(sp_scan *s, sp_gmsh_model *m, bool partitioned, int dimension, int *tag,
                     bool *artificial) {
  const int width = s->version > 4.05 ? 8 : 4;
  long long parent = 0, parts = 0, part;
  int parent_tag;
  bool sound = take_int(s, tag);
  if (partitioned)
    sound = sound && take_number(s, 4, &parent) && take_int(s, &parent_tag) &&
            take_number(s, width, &parts);
  for (long long p = 0; p < parts && sound; p++)
    sound = take_number(s, 4, &part) && part <= INT_MAX &&
            !sp_gmsh_add_part(m, (int)part, dimension == 3);
  *artificial = dimension == 2 && parent == 3;
  return sound;
}

/* Read an entity: tag, point or box, groups, and the entities around it. */
static bool take_entity(sp_scan *s, sp_gmsh_model *m, bool partitioned, int dimension) {
  double box[6];
  long long count = 0;
  int tag = 0, number;
  bool artificial, sound = take_tag(s, m, partitioned, dimension, &tag, &artificial);
  sound = sound && take_reals(s, dimension == 0 && s->version > 4.05 ? 3 : 6, box) &&
          take_number(s, 8, &count);
  sp_gmsh_entity *entity = sound ? add_entity(m, dimension, tag) : NULL;
  if (!entity) return false;
  entity->is_artificial = artificial;
  for (long long g = 0; g < count && sound; g++)
    sound = take_int(s, &number) && number > INT_MIN && !sp_gmsh_add_group(entity, abs(number));
  if (dimension > 0) sound = sound && take_number(s, 8, &count);
  for (long long b = 0; b < count && sound && dimension > 0; b++) sound = take_int(s, &number);
  return sound;
}

/* Read the number of parts, and the entities of ghosts. */
static bool take_ghosts(sp_scan *s, sp_gmsh_model *m) {
  const int width = s->version > 4.05 ? 8 : 4;
  long long parts, ghosts, part;
  int tag;
  bool sound = take_number(s, width, &parts) && take_number(s, width, &ghosts);
  for (long long g = 0; sound && g < ghosts; g++) {
    sound = take_int(s, &tag) && take_number(s, 4, &part) && part <= INT_MAX &&
            !sp_gmsh_add_part(m, (int)part, false);
    sp_gmsh_entity *entity = sound ? add_entity(m, 3, tag) : NULL;
    sound = entity;
    if (sound) entity->is_artificial = true;
  }
  return sound;
}

sp_status sp_gmsh_format4_entities(sp_scan *s, bool partitioned, sp_gmsh_model *m) {
  long long counts[4] = {0};
  bool sound = !partitioned || take_ghosts(s, m);
  for (int d = 0; d < 4 && sound; d++) sound = take_number(s, 8, &counts[d]);
  for (int d = 0; d < 4; d++)
    for (long long n = 0; n < counts[d] && sound; n++) sound = take_entity(s, m, partitioned, d);
  if (!sound) return fail_unexpected(s, "an entity: its tag, box, groups and boundary");
  const char *end = partitioned ? "$EndPartitionedEntities" : "$EndEntities";
  m->lists_entities = true;
  return take_end(s, end) ? SP_OK : fail_unexpected(s, end);
}
