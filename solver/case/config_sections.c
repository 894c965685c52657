#include "solver/case/config_sections.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver/case/config_keys.h"

/* The words that begin such a section. */
static const char MATERIAL[] = "material", REGION[] = "region";

/* ---- Names ---- */

/* The parts of "material steel" + "kappa", or of "material" + "steel.kappa" in an argument. */
typedef struct address {
  const char *section; /* MATERIAL, REGION, or NULL: no such section */
  const char *name, *key;
  size_t name_length; /* 0: none */
} address;

static const char *find_section(const char *text) {
  const size_t length = strcspn(text, SP_INI_SPACE);
  static const char *const known[] = {MATERIAL, REGION};
  for (size_t k = 0; k < sizeof known / sizeof *known; k++)
    if (strlen(known[k]) == length && strncmp(known[k], text, length) == 0) return known[k];
  return NULL;
}

/* The end of a text without white space there; both ends of it are trimmed already but one. */
static size_t trimmed_length(const char *text, size_t length) {
  while (length > 0 && strchr(SP_INI_SPACE, text[length - 1])) length--;
  return length;
}

static address find_address(const sp_ini_entry *entry) {
  address a = {.section = find_section(entry->section), .key = entry->key};
  if (!a.section) return a;
  a.name = entry->section + strlen(a.section);
  a.name += strspn(a.name, SP_INI_SPACE);
  a.name_length = strlen(a.name);
  if (entry->line > 0) return a;
  /* The section of an argument ends at its first dot, and the key follows the last one. */
  const char *dot = strrchr(entry->key, '.');
  if (a.name_length > 0 || !dot) {
    a.name_length = 0;
    return a;
  }
  a.name = entry->key;
  a.name_length = trimmed_length(a.name, (size_t)(dot - entry->key));
  a.key = dot + 1 + strspn(dot + 1, SP_INI_SPACE);
  return a;
}

bool sp_section_is_named(const sp_ini_entry *entry) {
  return find_section(entry->section);
}

bool sp_section_is_same(const char *a, const char *b) {
  const char *section = find_section(a);
  if (!section || section != find_section(b)) return strcmp(a, b) == 0;
  a += strlen(section);
  b += strlen(section);
  return strcmp(a + strspn(a, SP_INI_SPACE), b + strspn(b, SP_INI_SPACE)) == 0;
}

static sp_status check_name(const char *location, const address *a) {
  const bool of_material = a->section == MATERIAL;
  if (a->name_length == 0)
    return sp_fail(SP_ERR_INPUT,
                   "%s: expected the name of %s: [%s NAME] in a file, %s.NAME.KEY=VALUE as an "
                   "argument",
                   location, of_material ? "a Physical Volume" : "the region", a->section,
                   a->section);
  if (memchr(a->name, ']', a->name_length))
    return sp_fail(SP_ERR_INPUT, "%s: a case cannot hold a [%s] whose name contains ']'", location,
                   a->section);
  for (size_t i = 0; i < a->name_length; i++)
    if ((unsigned char)a->name[i] < ' ' || a->name[i] == 0x7F)
      return sp_fail(SP_ERR_INPUT, "%s: the name of a [%s] contains a control character", location,
                     a->section);
  return SP_OK;
}

/* ---- Entries ---- */

static bool has_name(const char *name, const address *a) {
  return strlen(name) == a->name_length && strncmp(name, a->name, a->name_length) == 0;
}

static sp_status copy_name(const char *location, const address *a, char **name, char **where) {
  const size_t size = strlen(location) + strlen(a->section) + a->name_length + 8;
  SP_TRY(sp_allocate(a->name_length + 1, 1, "a name of the case", name));
  memcpy(*name, a->name, a->name_length);
  SP_TRY(sp_allocate(size, 1, "a location in the case", where));
  snprintf(*where, size, "%s: [%s %s]", location, a->section, *name);
  return SP_OK;
}

static sp_status find_material(sp_config *config, const char *location, const address *a,
                               void **out) {
  sp_material_entry *entries = config->materials.entries;
  const int count = config->materials.count;
  for (int i = 0; i < count; i++)
    if (has_name(entries[i].name, a)) {
      *out = &entries[i];
      return SP_OK;
    }
  entries = realloc(entries, ((size_t)count + 1) * sizeof *entries);
  if (!entries) return sp_fail(SP_ERR_SYSTEM, "out of memory: %d materials", count + 1);
  entries[count] = (sp_material_entry){.name = NULL};
  config->materials.entries = entries;
  config->materials.count = count + 1;
  *out = &entries[count];
  return copy_name(location, a, &entries[count].name, &entries[count].where);
}

static sp_status find_region(sp_config *config, const char *location, const address *a,
                             void **out) {
  sp_region_entry *entries = config->regions.entries;
  const int count = config->regions.count;
  for (int i = 0; i < count; i++)
    if (has_name(entries[i].name, a)) {
      *out = &entries[i];
      return SP_OK;
    }
  entries = realloc(entries, ((size_t)count + 1) * sizeof *entries);
  if (!entries) return sp_fail(SP_ERR_SYSTEM, "out of memory: %d regions", count + 1);
  entries[count] = (sp_region_entry){.lower = {NAN}, .upper = {NAN}}; /* not given */
  config->regions.entries = entries;
  config->regions.count = count + 1;
  *out = &entries[count];
  return copy_name(location, a, &entries[count].name, &entries[count].where);
}

static void *field_of(void *entry, const sp_key *key) {
  return (char *)entry + key->offset;
}

/* "case.ini:12: material.steel.kappa"; an argument says it already. */
static sp_status set_value(const char *location, const address *a, int line, const char *value,
                           const sp_key *key, void *entry) {
  char *where = NULL;
  const size_t size = strlen(location) + strlen(a->section) + a->name_length + SP_SHOWN_SIZE;
  SP_TRY(sp_allocate(size, 1, "a location in the case", &where));
  if (line > 0)
    snprintf(where, size, "%s: %s.%.*s.%s", location, a->section, (int)a->name_length, a->name,
             key->name);
  else
    snprintf(where, size, "%s", location);
  sp_status status = SP_OK;
  if (line > 0 && *value == '\0' && key->optional)
    status = sp_fail(SP_ERR_INPUT,
                     "%s: expected a formula, found nothing; remove the line to take problem.%s",
                     where, key->name);
  else if (line == 0 && *value == '\0' && !key->optional)
    *(double *)field_of(entry, key) = NAN; /* not given */
  else
    status = sp_key_set(key, value, where, field_of(entry, key));
  free(where);
  return status;
}

sp_status sp_section_assign(sp_config *config, const char *location, const sp_ini_entry *entry) {
  const address a = find_address(entry);
  void *named = NULL;
  SP_TRY(check_name(location, &a));
  const sp_key *key = a.key ? sp_key_find(a.section, a.key) : NULL;
  if (a.key && !key) return sp_key_fail_unknown(location, a.section, a.key);
  SP_TRY(a.section == MATERIAL ? find_material(config, location, &a, &named)
                               : find_region(config, location, &a, &named));
  if (!key) return SP_OK; /* the line of the section itself */
  return set_value(location, &a, entry->line, entry->value, key, named);
}

/* Every region has a number besides its name, and `default` means something else. */
static sp_status check_region_name(const sp_region_entry *region) {
  const bool number = strspn(region->name, "0123456789") == strlen(region->name);
  if (!number && strcmp(region->name, "default") != 0) return SP_OK;
  return sp_fail(SP_ERR_INPUT, "%s: expected another name: %s", region->where,
                 number ? "numbers are those of the regions in the order of the case"
                        : "[material default] is for elements that no other section names");
}

sp_status sp_sections_resolve(sp_config *config) {
  for (int r = 0; r < config->regions.count; r++) {
    sp_region_entry *region = &config->regions.entries[r];
    SP_TRY(check_region_name(region));
    if (config->mesh.shape != SP_SHAPE_BOX)
      return sp_fail(SP_ERR_INPUT,
                     "%s: only a box has regions, but mesh.file is given: use the Physical Volumes "
                     "of the mesh",
                     region->where);
    if (isnan(region->lower[0])) memcpy(region->lower, config->mesh.lower, sizeof region->lower);
    if (isnan(region->upper[0])) memcpy(region->upper, config->mesh.upper, sizeof region->upper);
    for (int d = 0; d < 3; d++)
      if (!(region->upper[d] > region->lower[d]))
        return sp_fail(SP_ERR_INPUT, "%s: expected upper above lower, found %g to %g in %c",
                       region->where, region->lower[d], region->upper[d], "xyz"[d]);
  }
  return SP_OK;
}

/* ---- Text ---- */

/* Formulas that are not given have no line: [problem] has them. */
static void print_entry(const char *section, const char *name, const void *entry, FILE *stream) {
  fprintf(stream, "\n[%s %s]\n", section, name);
  for (const sp_key *key = sp_keys; key < sp_keys + sp_key_count; key++) {
    const void *field = (const char *)entry + key->offset;
    if (strcmp(key->section, section) != 0) continue;
    if (key->type == SP_KEY_FORMULA && !((const sp_formula *)field)->text) continue;
    fprintf(stream, "%s = ", key->name);
    sp_key_print(key, field, stream);
    fputc('\n', stream);
  }
}

void sp_sections_print(const sp_config *config, FILE *stream) {
  for (int m = 0; m < config->materials.count; m++) {
    const sp_material_entry *material = &config->materials.entries[m];
    print_entry(MATERIAL, material->name, material, stream);
  }
  for (int r = 0; r < config->regions.count; r++) {
    const sp_region_entry *region = &config->regions.entries[r];
    print_entry(REGION, region->name, region, stream);
  }
}

void sp_sections_print_keys(FILE *stream) {
  for (const sp_key *key = sp_keys; key < sp_keys + sp_key_count; key++) {
    char expected[SP_DESCRIPTION_SIZE];
    if (!key->named) continue;
    if (strcmp(key->section, key[-1].section) != 0)
      fprintf(stream, "\n# [%s NAME]\n", key->section);
    sp_key_describe(key, expected);
    fprintf(stream, "# %s (%s)\n# %s =\n", key->help, expected, key->name);
  }
}

void sp_sections_clear(sp_config *config) {
  for (const sp_key *key = sp_keys; key < sp_keys + sp_key_count; key++)
    for (int m = 0; m < config->materials.count && strcmp(key->section, MATERIAL) == 0; m++)
      sp_key_clear(key, field_of(&config->materials.entries[m], key));
  for (int m = 0; m < config->materials.count; m++) {
    free(config->materials.entries[m].name);
    free(config->materials.entries[m].where);
  }
  for (int r = 0; r < config->regions.count; r++) {
    free(config->regions.entries[r].name);
    free(config->regions.entries[r].where);
  }
  free(config->materials.entries);
  free(config->regions.entries);
}
