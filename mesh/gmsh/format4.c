#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/gmsh/model.h"

enum { NODES, ELEMENTS, KINDS };

typedef struct reader {
  sp_scan s;
  sp_gmsh_model *m;
  bool before[KINDS], entities; /* sections that were read */
} reader;

/* Counts and range of numbers of a section. */
typedef struct section {
  int kind;
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
static bool take_number(reader *r, int width, long long *value) {
  sp_scan *s = &r->s;
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
static bool take_int(reader *r, int *value) {
  sp_span word;
  if (r->s.binary) return sp_scan_int(&r->s, value);
  if (!take_word(&r->s, &word)) return false;
  const char *start = word.at;
  const bool sound = sp_span_int(&word, value);
  if (!sound) r->s.rest.at = start;
  return sound;
}

static bool take_reals(reader *r, int count, double *values) {
  sp_span word;
  if (r->s.binary) return sp_scan_reals(&r->s, count, values);
  for (int n = 0; n < count; n++) {
    if (take_word(&r->s, &word) && sp_span_real(&word, &values[n])) continue;
    r->s.rest.at = word.at;
    return false;
  }
  return true;
}

static bool take_end(reader *r, const char *end) {
  sp_span line;
  skip_blanks(&r->s);
  return sp_span_begins(&r->s.rest, end) && sp_scan_line(&r->s, &line);
}

/* ---- Messages ---- */

/* ":12", the line of the next word. */
static const char *next_line(const reader *r, char out[24]) {
  return sp_scan_where(&r->s, r->s.line + 1, out);
}

/* Report that the next line is not `expected`. */
static sp_status fail_unexpected(const reader *r, const char *expected) {
  sp_scan here = r->s;
  const sp_span rest = here.rest;
  sp_span line = rest;
  here.line++;
  const char *stop = memchr(rest.at, '\n', (size_t)(rest.end - rest.at));
  if (stop) line.end = stop;
  if (r->s.binary && rest.at < rest.end)
    return sp_fail(SP_ERR_INPUT, "%s: expected %s: the file is damaged or cut short", r->s.path,
                   expected);
  return sp_scan_unexpected(&here, &line, expected);
}

static sp_status expect_item(const reader *r, const section *sec, long long index, long long count,
                             size_t line) {
  char expected[128], where[24] = "";
  if (!r->s.binary) snprintf(where, sizeof where, " of line %zu", line);
  snprintf(expected, sizeof expected, "%s %lld of the %lld of the block%s", sec->what, index + 1,
           count, where);
  return fail_unexpected(r, expected);
}

/* Check that a number is in the range of its section. */
static sp_status check_number(const reader *r, const section *sec, long long number) {
  char where[24];
  if (number >= sec->lowest && number <= sec->highest) return SP_OK;
  return sp_fail(SP_ERR_INPUT,
                 "%s%s: %s %lld is not in the range %lld to %lld, which the file gives at the "
                 "start of the section",
                 r->s.path, next_line(r, where), sec->what, number, sec->lowest, sec->highest);
}

/* ---- Sections ---- */

static sp_status begin_section(reader *r, int kind, section *sec) {
  static const char *const names[] = {"node", "element"}, *const ends[] = {"$EndNodes",
                                                                           "$EndElements"};
  const bool range = r->s.version > 4.05;
  char expected[96];
  *sec = (section){.kind = kind, .what = names[kind], .end = ends[kind]};
  snprintf(expected, sizeof expected, "the numbers of blocks and of %ss%s", sec->what,
           range ? ", the smallest number and the largest" : "");
  bool sound = take_number(r, 8, &sec->blocks);
  sec->line = r->s.line + 1;
  sound = sound && take_number(r, 8, &sec->total);
  sec->lowest = 1;
  sec->highest = INT_MAX;
  if (range && sound) sound = take_number(r, 8, &sec->lowest) && take_number(r, 8, &sec->highest);
  if (!sound) return fail_unexpected(r, expected);
  if (sec->lowest < 1) sec->lowest = 1;
  return SP_OK;
}

/* Read the head of a block. 4.0 and 4.1 have the first two numbers in different order. */
static sp_status begin_block(reader *r, const section *sec, long long *dimension, int *entity,
                             long long *third, long long *count, size_t *line) {
  const bool first = r->s.version > 4.05;
  bool sound = first ? take_number(r, 4, dimension) : take_int(r, entity);
  *line = r->s.line + 1;
  sound = sound && (first ? take_int(r, entity) : take_number(r, 4, dimension));
  sound = sound && take_number(r, 4, third) && take_number(r, 8, count) && *dimension <= 3;
  if (sound) return SP_OK;
  return fail_unexpected(r, sec->kind == NODES
                                ? "a block of nodes: its entity, 0 or 1 for parametric, and count"
                                : "a block of elements: its entity, type and count");
}

static sp_status read_nodes(reader *r, section *sec) {
  const bool apart = r->s.version > 4.05; /* all numbers precede all coordinates */
  const size_t first = r->m->point_count;
  long long dimension = 0, parametric = 0, count = 0, number = 0;
  double values[6] = {0};
  int entity, index;
  size_t line;
  SP_TRY(begin_block(r, sec, &dimension, &entity, &parametric, &count, &line));
  SP_TRY(sp_gmsh_find_entity(r->m, (int)dimension, entity, &index));
  const int reals = 3 + (parametric ? (int)dimension : 0);
  for (long long n = 0; n < count; n++) {
    if (!take_number(r, apart ? 8 : 4, &number)) return expect_item(r, sec, n, count, line);
    SP_TRY(check_number(r, sec, number));
    if (!apart && !take_reals(r, reals, values)) return expect_item(r, sec, n, count, line);
    SP_TRY(sp_gmsh_add_point(r->m, (size_t)number, values));
  }
  for (long long n = 0; n < count && apart; n++) {
    if (!take_reals(r, reals, values)) return expect_item(r, sec, n, count, line);
    memcpy(r->m->points[first + (size_t)n].xyz, values, 3 * sizeof *values);
  }
  sec->listed += count;
  return SP_OK;
}

static sp_status read_elements(reader *r, section *sec) {
  const int width = r->s.version > 4.05 ? 8 : 4;
  long long dimension = 0, type = 0, count = 0, number = 0;
  size_t line, *nodes;
  char where[24];
  sp_gmsh_element element = {0};
  SP_TRY(begin_block(r, sec, &dimension, &element.place, &type, &count, &line));
  element.type = type < INT_MAX ? (int)type : 0;
  const sp_gmsh_type *known = sp_gmsh_type_of(element.type);
  if (!known || known->dimension != dimension)
    return sp_fail(SP_ERR_INPUT,
                   "%s%s: a block of elements has the type %lld, which is no point, line, surface "
                   "or volume element of gmsh (polyhedra, and prisms above order 2, are not read)",
                   r->s.path, sp_scan_where(&r->s, line, where), type);
  const size_t entities = r->m->entity_count;
  SP_TRY(sp_gmsh_find_entity(r->m, (int)dimension, element.place, &element.entity));
  if (r->entities && r->m->entity_count > entities) /* an unlisted entity: its groups are unknown */
    return sp_fail(
        SP_ERR_INPUT,
        "%s%s: expected a block of elements of an entity that $Entities or $Nodes names, "
        "found entity %d of dimension %lld",
        r->s.path, sp_scan_where(&r->s, line, where), element.place, dimension);
  for (long long e = 0; e < count; e++) {
    if (!take_number(r, width, &number)) return expect_item(r, sec, e, count, line);
    SP_TRY(check_number(r, sec, number));
    element.tag = (size_t)number;
    SP_TRY(sp_gmsh_add_element(r->m, &element, &nodes));
    for (int n = 0; n < known->nodes; n++) {
      if (!take_number(r, width, &number)) return expect_item(r, sec, e, count, line);
      nodes[n] = (size_t)number;
    }
  }
  sec->listed += count;
  return SP_OK;
}

static sp_status end_section(reader *r, const section *sec) {
  char expected[96], where[24];
  if (sec->listed != sec->total)
    return sp_fail(
        SP_ERR_INPUT,
        "%s%s: the file says %lld %s%s, but its blocks have %lld: correct the numbers or "
        "write the file anew",
        r->s.path, sp_scan_where(&r->s, sec->line, where), sec->total, sec->what,
        sp_plural(sec->total), sec->listed);
  if (take_end(r, sec->end)) return SP_OK;
  snprintf(expected, sizeof expected, "%s after %lld block%s with %lld %s%s", sec->end, sec->blocks,
           sp_plural(sec->blocks), sec->total, sec->what, sp_plural(sec->total));
  return fail_unexpected(r, expected);
}

static sp_status read_section(reader *r, int kind) {
  section sec;
  SP_TRY(begin_section(r, kind, &sec));
  for (long long b = 0; b < sec.blocks; b++)
    SP_TRY(kind == NODES ? read_nodes(r, &sec) : read_elements(r, &sec));
  return end_section(r, &sec);
}

/* ---- Entities ---- */

/* Add an entity; NULL if memory is short. It may exist already if sections are in unusual order. */
static sp_gmsh_entity *add_entity(reader *r, int dimension, int tag) {
  int index = (int)r->m->entity_count;
  const bool find = r->before[NODES] || r->before[ELEMENTS];
  const sp_status status = find ? sp_gmsh_find_entity(r->m, dimension, tag, &index)
                                : sp_gmsh_add_entity(r->m, dimension, tag);
  return status ? NULL : &r->m->entities[index];
}

/* Read the tag of an entity and, of a partitioned mesh, its parent and its parts. */
static bool take_tag(reader *r, bool partitioned, int dimension, int *tag, bool *artificial) {
  const int width = r->s.version > 4.05 ? 8 : 4;
  long long parent = 0, parts = 0, part;
  int parent_tag;
  bool sound = take_int(r, tag);
  if (partitioned)
    sound = sound && take_number(r, 4, &parent) && take_int(r, &parent_tag) &&
            take_number(r, width, &parts);
  for (long long p = 0; p < parts && sound; p++)
    sound = take_number(r, 4, &part) && part <= INT_MAX &&
            !sp_gmsh_add_part(r->m, (int)part, dimension == 3);
  *artificial = dimension == 2 && parent == 3;
  return sound;
}

/* Read an entity: tag, point or box, groups, and the entities around it. */
static bool take_entity(reader *r, bool partitioned, int dimension) {
  double box[6];
  long long count = 0;
  int tag = 0, number;
  bool artificial, sound = take_tag(r, partitioned, dimension, &tag, &artificial);
  sound = sound && take_reals(r, dimension == 0 && r->s.version > 4.05 ? 3 : 6, box) &&
          take_number(r, 8, &count);
  sp_gmsh_entity *entity = sound ? add_entity(r, dimension, tag) : NULL;
  if (!entity) return false;
  entity->is_artificial = artificial;
  for (long long g = 0; g < count && sound; g++)
    sound = take_int(r, &number) && number > INT_MIN && !sp_gmsh_add_group(entity, abs(number));
  if (dimension > 0) sound = sound && take_number(r, 8, &count);
  for (long long b = 0; b < count && sound && dimension > 0; b++) sound = take_int(r, &number);
  return sound;
}

/* Read the number of parts, and the entities of ghosts. */
static bool take_ghosts(reader *r) {
  const int width = r->s.version > 4.05 ? 8 : 4;
  long long parts, ghosts, part;
  int tag;
  bool sound = take_number(r, width, &parts) && take_number(r, width, &ghosts);
  for (long long g = 0; sound && g < ghosts; g++) {
    sound = take_int(r, &tag) && take_number(r, 4, &part) && part <= INT_MAX &&
            !sp_gmsh_add_part(r->m, (int)part, false);
    sp_gmsh_entity *entity = sound ? add_entity(r, 3, tag) : NULL;
    sound = entity;
    if (sound) entity->is_artificial = true;
  }
  return sound;
}

static sp_status read_entities(reader *r, bool partitioned) {
  long long counts[4] = {0};
  bool sound = !partitioned || take_ghosts(r);
  for (int d = 0; d < 4 && sound; d++) sound = take_number(r, 8, &counts[d]);
  for (int d = 0; d < 4; d++)
    for (long long n = 0; n < counts[d] && sound; n++) sound = take_entity(r, partitioned, d);
  if (!sound) return fail_unexpected(r, "an entity: its tag, box, groups and boundary");
  const char *end = partitioned ? "$EndPartitionedEntities" : "$EndEntities";
  r->entities = true;
  return take_end(r, end) ? SP_OK : fail_unexpected(r, end);
}

/* ---- The file ---- */

sp_status sp_gmsh_format4_read(sp_scan *s, sp_gmsh_model *m) {
  reader r = {.s = *s, .m = m};
  bool format = false, names = false;
  sp_span line;
  while (sp_scan_line(&r.s, &line)) {
    const int kind = sp_span_begins(&line, "$Nodes")      ? NODES
                     : sp_span_begins(&line, "$Elements") ? ELEMENTS
                                                          : KINDS;
    const bool entities =
        sp_span_begins(&line, "$Entities") || sp_span_begins(&line, "$PartitionedEntities");
    const bool lists_names = sp_span_begins(&line, "$PhysicalNames");
    if (kind < KINDS || entities || lists_names) SP_TRY(sp_scan_after_format(&r.s, format));
    if (sp_span_begins(&line, "$MeshFormat")) {
      SP_TRY(sp_scan_once(&r.s, "$MeshFormat", &format));
      SP_TRY(sp_scan_format(&r.s));
      if (r.s.version < 4) return sp_fail(SP_ERR_INPUT, "%s: expected format 4", r.s.path);
    } else if (kind < KINDS) {
      SP_TRY(sp_scan_once(&r.s, kind == NODES ? "$Nodes" : "$Elements", &r.before[kind]));
      SP_TRY(read_section(&r, kind));
    } else if (lists_names) {
      SP_TRY(sp_scan_once(&r.s, "$PhysicalNames", &names));
      SP_TRY(sp_gmsh_read_names(&r.s, m));
    } else if (entities) {
      SP_TRY(read_entities(&r, line.at[1] == 'P'));
    } else {
      SP_TRY(sp_scan_no_end(&r.s, &line));
    }
  }
  return SP_OK;
}
