/* Characters of UTF-8. Local. */
#pragma once

#include <stddef.h>
#include <string.h>

/* The bytes of the byte order mark at the start of `text`, 0 if there is none. */
static inline size_t sp_utf8_mark(const char *text) {
  static const char mark[] = "\xEF\xBB\xBF";
  return strncmp(text, mark, sizeof mark - 1) == 0 ? sizeof mark - 1 : 0;
}

/* The number of bytes of the character at `text`, 0 if there is none: neither overlong, nor a
 * surrogate, nor beyond U+10FFFF (RFC 3629). *code = its code point. */
static inline size_t sp_utf8(const char *text, unsigned *code) {
  static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
  const unsigned char lead = (unsigned char)*text;
  const size_t length = lead < 0x80                   ? 1
                        : lead >= 0xC0 && lead < 0xE0 ? 2
                        : lead >= 0xE0 && lead < 0xF0 ? 3
                        : lead >= 0xF0 && lead < 0xF8 ? 4
                                                      : 0;
  *code = length > 1 ? lead & (0x7Fu >> length) : lead;
  for (size_t k = 1; k < length; k++) {
    if (((unsigned char)text[k] & 0xC0) != 0x80) return 0; /* also at the terminating zero */
    *code = *code << 6 | ((unsigned char)text[k] & 0x3Fu);
  }
  return *code < least[length] || *code > 0x10FFFF || *code >> 11 == 0x1B ? 0 : length;
}
