#include "mesh/gmsh_format4.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES, ELEMENTS, KINDS };

/* Read the file once to check it. If numbers are large, read it again to list them, and a third
 * time to replace them in the copy. */
typedef enum purpose { CHECK, LIST, REPLACE } purpose;

typedef struct reader {
  sp_scan s;
  const char *bytes;
  sp_gmsh_node_counter nodes;
  purpose pass;
  sp_gmsh_format4 *out;
  const char *number; /* start of the number that was read last ... */
  int length;         /* ... and its bytes */
  long long totals[KINDS], largest[KINDS];
} reader;

/* Counts and numbers that a section gives. */
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
  r->number = s->rest.at;
  r->length = width;
  if (s->binary) {
    int small = 0;
    const bool read = width == (int)sizeof small ? sp_scan_int(s, &small) : sp_scan_long(s, value);
    if (width == (int)sizeof small) *value = small;
    return read && *value >= 0;
  }
  sp_span word;
  if (!take_word(s, &word)) return false;
  r->number = word.at;
  r->length = (int)(word.end - word.at);
  *value = 0;
  bool sound = word.end - word.at <= 18;
  for (const char *c = word.at; c < word.end && sound; c++) {
    sound = *c >= '0' && *c <= '9';
    *value = 10 * *value + (*c - '0');
  }
  if (!sound) s->rest.at = word.at;
  return sound;
}

/* A signed number, such as the tag of an entity. */
static bool skip_int(reader *r) {
  int value;
  sp_span word;
  return r->s.binary ? sp_scan_int(&r->s, &value) : take_word(&r->s, &word);
}

static bool skip_reals(reader *r, long long count) {
  sp_span word;
  const long long room = r->s.rest.end - r->s.rest.at;
  if (r->s.binary) return count <= room / 8 && sp_scan_bytes(&r->s, 8 * (size_t)count);
  for (long long n = 0; n < count; n++) {
    if (take_word(&r->s, &word) && *word.at != '$') continue;
    r->s.rest.at = word.at;
    return false;
  }
  return true;
}

/* ---- Messages ---- */

/* ":12", the line of the next word. */
static const char *next_line(const reader *r, char out[24]) {
  return sp_scan_where(&r->s, r->s.line + 1, out);
}

/* Report that the next line is not `expected`. */
static sp_status unexpected(const reader *r, const char *expected) {
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
  return unexpected(r, expected);
}

/* ---- Numbers of nodes and elements ---- */

static int compare(const void *left, const void *right) {
  const size_t a = *(const size_t *)left, b = *(const size_t *)right;
  return (a > b) - (a < b);
}

/* Overwrite the number in the copy by its place among all numbers, which never has more digits. */
static sp_status replace(const reader *r, int kind, long long number) {
  const sp_gmsh_numbers *all = kind == NODES ? &r->out->nodes : &r->out->elements;
  const size_t wanted = (size_t)number;
  const size_t *found = bsearch(&wanted, all->list, all->count, sizeof wanted, compare);
  char text[24], where[24];
  if (!found)
    return sp_fail(SP_ERR_INPUT, "%s%s: an element refers to node %lld, which does not exist",
                   r->s.path, next_line(r, where), number);
  char *to = r->out->copy + (r->number - r->bytes);
  const size_t place = (size_t)(found - all->list) + 1;
  if (!r->s.binary) {
    snprintf(text, sizeof text, "%*zu", r->length, place);
    memcpy(to, text, (size_t)r->length);
    return SP_OK;
  }
  for (int b = 0; b < r->length; b++) /* from the lowest byte */
    to[r->s.swapped ? r->length - 1 - b : b] = (char)(place >> 8 * b & 255);
  return SP_OK;
}

static sp_status note_number(reader *r, const section *sec, long long number) {
  char where[24];
  sp_gmsh_numbers *all = sec->kind == NODES ? &r->out->nodes : &r->out->elements;
  if (r->pass == REPLACE) return replace(r, sec->kind, number);
  if (r->pass == LIST) {
    all->list[all->count++] = (size_t)number;
    return SP_OK;
  }
  if (number < sec->lowest || number > sec->highest)
    return sp_fail(SP_ERR_INPUT,
                   "%s%s: %s %lld is not in the range %lld to %lld, which the file gives at the "
                   "start of the section",
                   r->s.path, next_line(r, where), sec->what, number, sec->lowest, sec->highest);
  if (number > r->largest[sec->kind]) r->largest[sec->kind] = number;
  return SP_OK;
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
  if (!sound) return unexpected(r, expected);
  if (sec->lowest < 1) sec->lowest = 1;
  return SP_OK;
}

/* Read the head of a block. 4.0 and 4.1 have the first two numbers in different order. */
static sp_status begin_block(reader *r, const section *sec, long long *dimension, long long *third,
                             long long *count, size_t *line) {
  const bool first = r->s.version > 4.05;
  bool sound = first ? take_number(r, 4, dimension) : skip_int(r);
  *line = r->s.line + 1;
  sound = sound && (first ? skip_int(r) : take_number(r, 4, dimension));
  sound = sound && take_number(r, 4, third) && take_number(r, 8, count) && *dimension <= 3;
  if (sound) return SP_OK;
  return unexpected(r, sec->kind == NODES
                           ? "a block of nodes: its entity, 0 or 1 for parametric, and count"
                           : "a block of elements: its entity, type and count");
}

static sp_status read_nodes(reader *r, section *sec) {
  const bool apart = r->s.version > 4.05; /* numbers come before coordinates */
  long long dimension = 0, parametric = 0, count = 0, number = 0;
  size_t line;
  SP_TRY(begin_block(r, sec, &dimension, &parametric, &count, &line));
  const long long reals = 3 + (parametric ? dimension : 0);
  for (long long n = 0; n < count; n++) {
    if (!take_number(r, apart ? 8 : 4, &number)) return expect_item(r, sec, n, count, line);
    SP_TRY(note_number(r, sec, number));
    if (!apart && !skip_reals(r, reals)) return expect_item(r, sec, n, count, line);
  }
  for (long long n = 0; n < count && apart; n++)
    if (!skip_reals(r, reals)) return expect_item(r, sec, n, count, line);
  sec->listed += count;
  return SP_OK;
}

static sp_status read_elements(reader *r, section *sec) {
  const int width = r->s.version > 4.05 ? 8 : 4;
  long long dimension = 0, type = 0, count = 0, number = 0;
  size_t line;
  char where[24];
  SP_TRY(begin_block(r, sec, &dimension, &type, &count, &line));
  const int nodes = type < SP_GMSH_TYPES ? r->nodes((int)type) : 0;
  if (nodes < 1)
    return sp_fail(SP_ERR_INPUT,
                   "%s%s: a block of elements has the type %lld, which is no point, line, surface "
                   "or volume element of gmsh (polyhedra, and prisms above order 2, are not read)",
                   r->s.path, sp_scan_where(&r->s, line, where), type);
  for (long long e = 0; e < count; e++) {
    if (!take_number(r, width, &number)) return expect_item(r, sec, e, count, line);
    SP_TRY(note_number(r, sec, number));
    for (int n = 0; n < nodes; n++) {
      if (!take_number(r, width, &number)) return expect_item(r, sec, e, count, line);
      if (r->pass == REPLACE) SP_TRY(replace(r, NODES, number));
    }
  }
  sec->listed += count;
  if (r->pass == CHECK) r->out->counts[type] += (size_t)count;
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
  skip_blanks(&r->s);
  if (sp_span_begins(&r->s.rest, sec->end)) return SP_OK;
  snprintf(expected, sizeof expected, "%s after %lld block%s with %lld %s%s", sec->end, sec->blocks,
           sp_plural(sec->blocks), sec->total, sec->what, sp_plural(sec->total));
  return unexpected(r, expected);
}

static sp_status read_section(reader *r, int kind) {
  section sec;
  SP_TRY(begin_section(r, kind, &sec));
  for (long long b = 0; b < sec.blocks; b++)
    SP_TRY(kind == NODES ? read_nodes(r, &sec) : read_elements(r, &sec));
  r->totals[kind] = sec.total;
  return end_section(r, &sec);
}

/* ---- The file ---- */

/* Other sections refer to nodes and elements by their numbers in the file: give each a name that
 * the SDK does not know. */
static void hide_section(const reader *r, const sp_span *line) {
  static const char *const kept[] = {"$End", "$MeshFormat", "$PhysicalNames", "$Entities",
                                     "$PartitionedEntities"};
  if (r->pass != REPLACE || !sp_span_begins(line, "$")) return;
  for (size_t k = 0; k < sizeof kept / sizeof *kept; k++)
    if (sp_span_begins(line, kept[k])) return;
  if (line->end - line->at > 1) r->out->copy[line->at + 1 - r->bytes] = '_';
}

static sp_status read_sections(reader *r) {
  bool format = false, before[KINDS] = {false, false};
  sp_span line;
  while (sp_scan_line(&r->s, &line)) {
    const int kind = sp_span_begins(&line, "$Nodes")      ? NODES
                     : sp_span_begins(&line, "$Elements") ? ELEMENTS
                                                          : KINDS;
    if (!format && kind < KINDS)
      return sp_fail(SP_ERR_INPUT, "%s:%zu: expected $MeshFormat before this section", r->s.path,
                     r->s.line);
    if (sp_span_begins(&line, "$MeshFormat")) {
      SP_TRY(sp_scan_once(&r->s, "$MeshFormat", &format));
      SP_TRY(sp_scan_format(&r->s));
      if (r->s.version < 4) return sp_fail(SP_ERR_INPUT, "%s: expected format 4", r->s.path);
    } else if (kind < KINDS) {
      SP_TRY(sp_scan_once(&r->s, kind == NODES ? "$Nodes" : "$Elements", &before[kind]));
      SP_TRY(read_section(r, kind));
    } else {
      hide_section(r, &line);
    }
  }
  return SP_OK;
}

static sp_status read_again(reader *r, purpose pass, size_t size) {
  r->s = (sp_scan){.path = r->s.path, .rest = {r->bytes, r->bytes + size}};
  r->pass = pass;
  return read_sections(r);
}

static void sort(sp_gmsh_numbers *all) {
  size_t kept = 0;
  if (all->count > 0) qsort(all->list, all->count, sizeof *all->list, compare);
  for (size_t n = 0; n < all->count; n++)
    if (kept == 0 || all->list[n] != all->list[kept - 1]) all->list[kept++] = all->list[n];
  all->count = kept;
}

sp_status sp_gmsh_format4_parse(const char *path, const char *bytes, size_t size,
                                sp_gmsh_node_counter nodes, sp_gmsh_format4 *out) {
  reader r = {.s = {.path = path}, .bytes = bytes, .nodes = nodes, .out = out};
  *out = (sp_gmsh_format4){0};
  SP_TRY(read_again(&r, CHECK, size));
  if (r.largest[NODES] <= INT_MAX && r.largest[ELEMENTS] <= INT_MAX) return SP_OK;
  SP_TRY(sp_allocate((size_t)r.totals[NODES], sizeof(size_t), "node numbers", &out->nodes.list));
  SP_TRY(sp_allocate((size_t)r.totals[ELEMENTS], sizeof(size_t), "element numbers",
                     &out->elements.list));
  SP_TRY(sp_allocate(size, 1, "a copy of the mesh", &out->copy));
  memcpy(out->copy, bytes, size);
  out->copy_size = size;
  SP_TRY(read_again(&r, LIST, size));
  sort(&out->nodes);
  sort(&out->elements);
  return read_again(&r, REPLACE, size);
}

size_t sp_gmsh_number_in_file(const sp_gmsh_numbers *numbers, size_t number) {
  return number >= 1 && number <= numbers->count ? numbers->list[number - 1] : number;
}

void sp_gmsh_format4_free(sp_gmsh_format4 *format4) {
  SP_FREE(format4->nodes.list, format4->elements.list, format4->copy);
  *format4 = (sp_gmsh_format4){0};
}
