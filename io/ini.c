#include "io/ini.h"

#include <stdlib.h>
#include <string.h>

#include "io/utf8.h"

static bool is_space(char c) {
  return c != '\0' && strchr(SP_INI_SPACE, c);
}

static bool is_comment_sign(char c) {
  return c == '#' || c == ';';
}

/* Cut white space off both ends, in place. */
static char *trim(char *text) {
  text += strspn(text, SP_INI_SPACE);
  size_t length = strlen(text);
  while (length > 0 && is_space(text[length - 1])) length--;
  text[length] = '\0';
  return text;
}

/* The first comment sign that begins a comment, or NULL. */
static const char *find_comment(const char *text) {
  for (const char *c = text, *end; *c; c++)
    if (*c == '"' && (end = strchr(c + 1, '"')))
      c = end;
    else if (is_comment_sign(*c) && (c == text || is_space(c[-1])))
      return c;
  return NULL;
}

/* True for quotes around all of a value. */
static bool is_quoted(const char *value) {
  const char *end = *value == '"' ? strchr(value + 1, '"') : NULL;
  return end && end[1] == '\0';
}

/* True if a value is read back unchanged without quotes. */
static bool is_plain(const char *value) {
  const size_t length = strlen(value);
  if (length == 0) return true;
  return !is_space(value[0]) && !is_space(value[length - 1]) && !strchr(value, '\n') &&
         !find_comment(value) && !is_quoted(value);
}

bool sp_ini_holds(const char *value) {
  return is_plain(value) || !strpbrk(value, "\"\n");
}

void sp_ini_write(const char *value, FILE *stream) {
  const char *quote = is_plain(value) ? "" : "\"";
  fprintf(stream, "%s%s%s", quote, value, quote);
}

/* Remove quotes around all of a value, in place. */
static char *unquote(char *value) {
  if (!is_quoted(value)) return value;
  value[strlen(value) - 1] = '\0';
  return value + 1;
}

const char *sp_ini_show(const char *text, char shown[SP_SHOWN_SIZE]) {
  static const char ellipsis[] = "...";
  size_t length = strlen(text);
  const bool cut = length >= SP_SHOWN_SIZE;
  if (cut) {
    length = SP_SHOWN_SIZE - sizeof ellipsis;
    /* Do not cut a UTF-8 character, whose later bytes are 10xxxxxx. */
    while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80) length--;
  }
  for (size_t i = 0; i < length; i++) {
    const unsigned char c = (unsigned char)text[i];
    shown[i] = c < ' ' || c == 0x7F ? '?' : text[i];
  }
  strcpy(shown + length, cut ? ellipsis : "");
  return shown;
}

static sp_status append_entry(sp_ini *ini, sp_ini_entry entry) {
  SP_TRY(sp_reserve((size_t)ini->count, 1, sizeof entry, "lines of a case", &ini->entries));
  ini->entries[ini->count++] = entry;
  return SP_OK;
}

/* "[section]", already trimmed, becomes "section" in place. */
static sp_status parse_section(const char *name, int line, char *text, const char **section) {
  char shown[SP_SHOWN_SIZE];
  char *end = strchr(text, ']');
  if (!end)
    return sp_fail(SP_ERR_INPUT, "%s:%d: expected ']' after '%s'", name, line,
                   sp_ini_show(text, shown));
  if (end[1] != '\0')
    return sp_fail(SP_ERR_INPUT, "%s:%d: unexpected text after ']': '%s'", name, line,
                   sp_ini_show(end + 1 + strspn(end + 1, SP_INI_SPACE), shown));
  *end = '\0';
  *section = trim(text + 1);
  if (**section == '\0') return sp_fail(SP_ERR_INPUT, "%s:%d: no name in '[]'", name, line);
  return SP_OK;
}

/* "key = value", already trimmed, is split in place. */
static sp_status parse_key(const char *name, int line, char *text, sp_ini_entry *entry) {
  char shown[SP_SHOWN_SIZE];
  char *equals = strchr(text, '=');
  if (!equals)
    return sp_fail(SP_ERR_INPUT, "%s:%d: expected 'key = value' or '[section]', found '%s'", name,
                   line, sp_ini_show(text, shown));
  *equals = '\0';
  entry->key = trim(text);
  char *value = trim(equals + 1);
  if (is_comment_sign(*value)) *value = '\0';
  entry->value = unquote(value);
  if (*entry->key == '\0') return sp_fail(SP_ERR_INPUT, "%s:%d: no key before '='", name, line);
  if (!entry->section)
    return sp_fail(SP_ERR_INPUT, "%s:%d: key '%s' comes before any [section]", name, line,
                   sp_ini_show(entry->key, shown));
  return SP_OK;
}

static sp_status parse_lines(const char *name, char *text, size_t length, sp_ini *ini) {
  const char *section = NULL;
  int line = 0;
  for (char *begin = text, *end = text + length; begin < end;) {
    char *newline = memchr(begin, '\n', (size_t)(end - begin));
    char *next = newline ? newline + 1 : end;
    if (newline) *newline = '\0';
    line++;
    /* A NUL before the end of the line is in the user's file. */
    if (begin + strlen(begin) != (newline ? newline : end))
      return sp_fail(SP_ERR_INPUT, "%s:%d: NUL byte; expected UTF-8 text", name, line);
    char *comment = (char *)find_comment(begin);
    if (comment) *comment = '\0';
    begin = trim(begin);
    if (*begin != '\0') {
      sp_ini_entry entry = {.line = line};
      if (*begin == '[') {
        SP_TRY(parse_section(name, line, begin, &section));
        entry.section = section;
      } else {
        entry.section = section;
        SP_TRY(parse_key(name, line, begin, &entry));
      }
      SP_TRY(append_entry(ini, entry));
    }
    begin = next;
  }
  return SP_OK;
}

/* An empty list with a copy of the text. */
static sp_status create_list(const char *text, size_t length, sp_ini **out) {
  SP_TRY(sp_allocate(1, sizeof **out, "the text of a case", out));
  SP_TRY(sp_allocate(length + 1, 1, "the text of a case", &(*out)->text));
  if (length > 0) memcpy((*out)->text, text, length);
  return SP_OK;
}

sp_status sp_ini_parse(const char *name, const char *text, size_t length, sp_ini **out) {
  SP_AUTO(sp_ini) ini = NULL;
  *out = NULL;
  SP_TRY(create_list(text, length, &ini));
  const size_t skip = sp_utf8_mark(ini->text);
  SP_TRY(parse_lines(name, ini->text + skip, length - skip, ini));
  *out = ini;
  ini = NULL;
  return SP_OK;
}

static sp_status split_argument(const char *argument, char *text, sp_ini_entry *entry) {
  char shown[SP_SHOWN_SIZE];
  char *equals = strchr(text, '=');
  if (equals) *equals = '\0';
  char *dot = strchr(text, '.');
  if (!equals || !dot)
    return sp_fail(SP_ERR_INPUT, "argument '%s': expected section.key=value",
                   sp_ini_show(argument, shown));
  *dot = '\0';
  *entry = (sp_ini_entry){
      .section = trim(text), .key = trim(dot + 1), .value = unquote(trim(equals + 1))};
  if (*entry->section == '\0' || *entry->key == '\0')
    return sp_fail(SP_ERR_INPUT, "argument '%s': expected section.key=value",
                   sp_ini_show(argument, shown));
  if (!is_plain(entry->key) || *entry->key == '[' || !sp_ini_holds(entry->value))
    return sp_fail(
        SP_ERR_INPUT,
        "argument '%s': a case cannot hold a key that begins with '[' or has a # or ; at "
        "the start or after white space, a line break, nor a value with both such a # or "
        "; and quotes",
        sp_ini_show(argument, shown));
  return SP_OK;
}

sp_status sp_ini_parse_argument(const char *argument, sp_ini **out) {
  SP_AUTO(sp_ini) ini = NULL;
  sp_ini_entry entry;
  *out = NULL;
  SP_TRY(create_list(argument, strlen(argument), &ini));
  SP_TRY(split_argument(argument, ini->text, &entry));
  SP_TRY(append_entry(ini, entry));
  *out = ini;
  ini = NULL;
  return SP_OK;
}

void sp_ini_destroy(sp_ini **ini) {
  if (!*ini) return;
  SP_FREE((*ini)->entries, (*ini)->text, *ini);
  *ini = NULL;
}
