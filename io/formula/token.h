/* The tokens of a formula: numbers, names, symbols and texts in quotes. All functions are Local. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef enum sp_token_kind {
  TOKEN_END,
  TOKEN_NUMBER,
  TOKEN_NAME,
  TOKEN_TEXT, /* with its quotes */
  TOKEN_SYMBOL,
  TOKEN_STRAY
} sp_token_kind;

typedef struct sp_token {
  sp_token_kind kind;
  const char *start;
  size_t length;
} sp_token;

/* Return the token behind `last`; {.start = text} is before the first one. */
sp_token sp_token_after(sp_token last);

bool sp_token_is(const sp_token *t, const char *text);

/* True if the whole text can be a name. */
bool sp_token_is_name(const char *text);

/* Write "end of formula", "'sim'" or the like for a message: printable for any bytes. */
enum { SP_TOKEN_SIZE = 96 };
void sp_token_describe(const sp_token *t, char text[SP_TOKEN_SIZE]);
