#include "io/formula/token.h"

#include <stdio.h>
#include <string.h>

#include "io/utf8.h"

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

/* Length of the number at s: digits [. digits] [e [+-] digits], with a digit before or after the
 * point; 0 if there is none. */
static size_t number_length(const char *s) {
  const char *p = s + strspn(s, DIGITS);
  size_t digits = (size_t)(p - s);
  if (*p == '.') {
    const size_t fraction = strspn(++p, DIGITS);
    p += fraction;
    digits += fraction;
  }
  if (digits == 0) return 0;
  if (*p == 'e' || *p == 'E') {
    const char *exponent = p + 1 + (p[1] == '+' || p[1] == '-');
    const size_t length = strspn(exponent, DIGITS);
    if (length > 0) p = exponent + length;
  }
  return (size_t)(p - s);
}

static size_t symbol_length(const char *s) {
  static const char *const pairs[] = {"||", "&&", "==", "!=", "<=", ">=", "**"};
  for (size_t k = 0; k < sizeof pairs / sizeof pairs[0]; k++)
    if (strncmp(s, pairs[k], 2) == 0) return 2;
  return strchr("+-*/^<>!?:(),", *s) ? 1 : 0;
}

sp_token sp_token_after(sp_token last) {
  const char *s = last.start + last.length;
  s += strspn(s, " \t\r\n");
  unsigned code;
  size_t length = 0;
  sp_token_kind kind = TOKEN_END;
  if (strspn(s, LETTERS) > 0) {
    kind = TOKEN_NAME;
    length = strspn(s, LETTERS DIGITS);
  } else if ((length = number_length(s)) > 0)
    kind = TOKEN_NUMBER;
  else if (*s == '"' && strchr(s + 1, '"')) {
    kind = TOKEN_TEXT;
    length = (size_t)(strchr(s + 1, '"') - s) + 1;
  } else if (*s != '\0' && (length = symbol_length(s)) > 0)
    kind = TOKEN_SYMBOL;
  else if (*s != '\0') {
    kind = TOKEN_STRAY;
    length = sp_utf8(s, &code);
    if (length == 0) length = 1;
  }
  return (sp_token){kind, s, length};
}

bool sp_token_is(const sp_token *t, const char *text) {
  return t->length == strlen(text) && strncmp(t->start, text, t->length) == 0;
}

bool sp_token_is_name(const char *text) {
  return strspn(text, LETTERS) > 0 && text[strspn(text, LETTERS DIGITS)] == '\0';
}

void sp_token_describe(const sp_token *t, char text[SP_TOKEN_SIZE]) {
  const int longest = 40;
  const unsigned char first = (unsigned char)*t->start;
  unsigned code;
  if (t->kind == TOKEN_END)
    snprintf(text, SP_TOKEN_SIZE, "end of formula");
  else if (t->kind == TOKEN_TEXT) /* may contain any bytes */
    snprintf(text, SP_TOKEN_SIZE, "text in quotes");
  else if (first >= 0x80 && t->length > 1 && sp_utf8(t->start, &code) && code >= 0xA0)
    snprintf(text, SP_TOKEN_SIZE, "'%.*s' (U+%04X, not ASCII)", (int)t->length, t->start, code);
  else if (first < 0x20 || first >= 0x7F)
    snprintf(text, SP_TOKEN_SIZE, "byte 0x%02X", first);
  else if (t->length > (size_t)longest)
    snprintf(text, SP_TOKEN_SIZE, "'%.*s...'", longest, t->start);
  else
    snprintf(text, SP_TOKEN_SIZE, "'%.*s'%s", (int)t->length, t->start,
             sp_token_is(t, "=")   ? " (to compare, write '==')"
             : sp_token_is(t, "&") ? " (for 'and', write '&&')"
             : sp_token_is(t, "|") ? " (for 'or', write '||')"
                                   : "");
}
