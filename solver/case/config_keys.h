/* Internal to solver/case/config: the table of all keys of a case, and the conversion between a
 * value's text and its field in sp_config. A new key needs a field in sp_config and a row in this
 * table. */
#ifndef SP_SOLVER_CASE_CONFIG_KEYS_H
#define SP_SOLVER_CASE_CONFIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "solver/case/config.h"

typedef enum sp_key_type {
  SP_KEY_INTEGER,   /* int[count] */
  SP_KEY_LIST,      /* sp_list, of at most `count` integers */
  SP_KEY_NUMBER,    /* double[count] */
  SP_KEY_CHOICE,    /* an enum: the index into choices */
  SP_KEY_TEXT,      /* char *, "" for none */
  SP_KEY_FORMULA,   /* sp_formula */
  SP_KEY_CONDITION, /* sp_boundary_entry: a condition, then its formulas or nothing */
  SP_KEY_RESULT     /* sp_result_entry: a kind, perhaps of and a formula, over and a group */
} sp_key_type;

typedef struct sp_key {
  const char *section;
  const char
      *name; /* NULL: any name that no other row of the section has (a group, a probe, a result) */
  sp_key_type type;
  size_t offset; /* of the field in sp_config, with `named` in the entry */
  bool named;    /* the section is [SECTION NAME] (solver/case/config_sections.h) */
  int count;     /* of the integers or numbers: 1 or 3; of a list: its greatest length */
  double minimum, maximum;
  bool minimum_excluded, maximum_excluded;
  const char *const *choices; /* of a choice, condition or result; ends in NULL */
  bool optional;              /* the value may be empty, which means none */
  const char *fallback;       /* the default as text */
  const char *help;           /* one line */

  /* Whether the key has a meaning in this case; NULL: always. It is an error, with the text
   * `misfit`, to give a key that has none; sp_config_format writes such a key as a comment. */
  bool (*applies)(const sp_config *config);
  const char *misfit;
} sp_key;

extern const sp_key sp_keys[];
extern const int sp_key_count;

/* The row of a key, or with `name` NULL the first row of the section; NULL if there is none.
 * Local. */
const sp_key *sp_key_find(const char *section, const char *name);

/* Report an unknown section, or an unknown key of a known section, and the nearest known name or,
 * if none is near, all known names. `location` begins the message. Returns SP_ERR_INPUT. Local. */
sp_status sp_key_fail_unknown(const char *location, const char *section, const char *name);

/* What a value must be: "an integer from 1 to 15", "auto, host or cuda". Local. */
enum { SP_DESCRIPTION_SIZE = 128 };
void sp_key_describe(const sp_key *key, char text[SP_DESCRIPTION_SIZE]);

/* Parse `text` and store the value in `field`, which holds a valid value or zeros. `where` begins
 * the message; formulas keep a copy of it. Expects LC_NUMERIC to be "C". Local. Errors:
 * SP_ERR_INPUT, after which `field` is unchanged; SP_ERR_SYSTEM. */
sp_status sp_key_set(const sp_key *key, const char *text, const char *where, void *field);

/* Write the value as text that sp_key_set reads back to the same bits. Expects LC_NUMERIC to be
 * "C". Local. */
void sp_key_print(const sp_key *key, const void *field, FILE *stream);

/* Free what a field owns. Local. */
void sp_key_clear(const sp_key *key, void *field);

/* strdup that reports through sp_fail; frees *out first. Local. */
sp_status sp_copy_text(const char *text, char **out);

#endif
