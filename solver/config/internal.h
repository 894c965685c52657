/* Internal to solver/config/: the table of all keys of a case, its lists, and the conversion
 * between the text of a value and its member of sp_config. A new key needs a member in sp_config
 * and a row in the table. All functions are Local. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "io/ini.h"
#include "solver/config/config.h"

/* ---- Table (keys.c) ---- */

struct sp_key;
enum { SP_DESCRIPTION_SIZE = 128 };

/* A type of values: how the text of a key becomes its member, and back. One row per type. */
typedef struct sp_value_type {
  const char *expected; /* "a formula"; or NULL, and a function that writes "1, 2 or 3" */
  void (*describe)(const struct sp_key *, char text[SP_DESCRIPTION_SIZE]);

  const char *(*usage)(int row); /* of kinds with usages of their own, then NULL; or NULL */

  /* One of two. Store the value: of a type that owns nothing, returning false, with the field
   * unchanged, if the text does not fit; or as sp_key_set, whose text is empty only if optional. */
  bool (*read)(const struct sp_key *, const char *text, void *field);
  sp_status (*parse)(const struct sp_key *, const char *text, const char *where, void *field);

  /* Write the value as text that is read back to the same bits; NULL: written as a section. */
  void (*print)(const struct sp_key *, const void *field, FILE *stream);

  sp_record_kind kind; /* of the value, or of the numbers of a list, in a record */

  void (*clear)(void *field); /* free its memory; NULL: it has none */
} sp_value_type;

extern const sp_value_type sp_integer_value, /* int[count], or sp_list with is_list */
    sp_number_value,                         /* double[count], or sp_times */
    sp_choice_value,                         /* an enum: the index into choices */
    sp_text_value,                           /* char *, "" for none */
    sp_formula_value,                        /* sp_formula */
    sp_line_value,                           /* sp_line_entry: two points, number of samples */
    sp_region_value,                         /* sp_box_region: its corners, perhaps ", empty" */
    sp_condition_value,                      /* sp_boundary_entry: a condition and formulas */
    sp_result_value;                         /* sp_result_entry: a kind, or a formula */

/* A list of sp_config. Its entries are lines NAME = VALUE of a section, or sections [SECTION NAME]
 * with keys of their own. An entry begins with its name, a char *. */
typedef struct sp_key_list {
  size_t entries, count; /* offsets in sp_config: pointer to the entries, and their number */
  size_t size, where;    /* of an entry; offset of its member `where` */
  const char *what;      /* "materials" */
} sp_key_list;

extern const sp_key_list sp_key_lists[];
extern const int sp_key_list_count;

typedef struct sp_key {
  const char *section;
  const char *name; /* NULL: lines of `list`, with any name that no other row of the section has */
  const sp_value_type *type;
  const sp_key_list *list; /* the value is a member of each of its entries; NULL: of sp_config */
  size_t offset;           /* of the member */
  int count;               /* of the integers or numbers: 1 or 3; with is_list at most */
  bool is_list;
  double minimum, maximum;
  bool minimum_excluded, maximum_excluded;
  const char *const *choices; /* words of a choice; ends in NULL */
  bool optional;              /* the value may be empty, which means none */
  const char *fallback;       /* the default as text */
  const char *help;           /* one line */

  /* True if the key has a meaning in this case; NULL: always. A key without a meaning is an error,
   * with the text `misfit`, if it is given; sp_config_format writes it as a comment. */
  bool (*applies)(const sp_config *config);
  const char *misfit;
} sp_key;

extern const sp_key sp_keys[];
extern const int sp_key_count;

/* The place of the first line of [boundary], or of its default; NULL if there is none. */
const char *sp_config_boundary(const sp_config *config);

/* True for a key of sections [SECTION NAME]. */
static inline bool sp_key_is_titled(const sp_key *key) {
  return key->list && key->name;
}

/* The row of a key, or with `name` NULL the first row of the section; NULL if there is none. */
const sp_key *sp_key_find(const char *section, const char *name);

/* Report an unknown section, or an unknown key of a known section, and the nearest known name or,
 * if none is near, all known names. `location` begins the message. Returns SP_ERR_INPUT. */
sp_status sp_key_fail_unknown(const char *location, const char *section, const char *name);

/* ---- Values (values.c, entry_values.c) ---- */

/* Parse `text` and store the value in `field`, which holds a valid value or zeros. `where` begins
 * messages; formulas keep a copy of it. After an error `field` can only be cleared. Errors:
 * SP_ERR_INPUT, SP_ERR_SYSTEM. */
sp_status sp_key_set(const sp_key *key, const char *text, const char *where, void *field);

/* Describe the values of a key: "an integer from 1 to 15". */
void sp_key_describe(const sp_key *key, char text[SP_DESCRIPTION_SIZE]);

/* Report a text that is no value of the key. Returns SP_ERR_INPUT. */
sp_status sp_key_fail(const sp_key *key, const char *text, const char *where);

/* List words that end with NULL: "one, two or three". */
void sp_words_list(const char *const *words, char text[SP_DESCRIPTION_SIZE]);

/* Characters of decimal numbers: strtod would also take nan, inf and hexadecimal digits. */
#define SP_NUMBER_CHARACTERS "0123456789+-.eE" SP_INI_SPACE
void sp_numbers_print(int count, const double *values, FILE *stream);

/* Store the first `length` characters of a text, without white space at their end. */
sp_status sp_formula_copy(const char *text, size_t length, sp_formula *formula, const char *where);
void sp_formula_clear(void *formula);

/* The length of the first formula of a list: up to a comma outside of parentheses and quotes. */
size_t sp_formula_length(const char *text);

/* ---- Lists (read.c) ---- */

/* Number of values of `key`: of entries of its list, or 1. */
int sp_key_values(const sp_config *config, const sp_key *key);

/* The member of `key` in entry i of its list, or in `config` itself. */
void *sp_key_field(const sp_config *config, const sp_key *key, int i);

/* The name of entry i of a list. */
const char *sp_key_entry_name(const sp_config *config, const sp_key *key, int i);

/* ---- Formulas (formulas.c) ---- */

/* Parse all formulas of the case, and check all that needs no mesh. Errors: SP_ERR_INPUT for
 * formulas, constants that are out of range, lines without data, and keys that exclude each other;
 * SP_ERR_SYSTEM. */
sp_status sp_formulas_parse(sp_config *config);

/* ---- Rules that involve several keys (check.c) ---- */

/* Call this after all lines of the case file `path` (NULL: none) and all arguments. Fill the
 * members of `config` that follow from several keys, such as mesh.shape, the path of the mesh and
 * the corners of regions. Check keys against each other, and parse all formulas. Errors:
 * SP_ERR_INPUT for keys that contradict each other; as sp_formulas_parse. */
sp_status sp_config_check(const char *path, sp_config *config);
