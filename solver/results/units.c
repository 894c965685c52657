#include "solver/results/units.h"

#include <stdio.h>
#include <string.h>

const char *sp_unit_misfit(const char *label) {
  if (strlen(label) > SP_UNIT_LABEL) return "it has more than 15 bytes";
  if (strpbrk(label, "/*^()[]{}\"',;")) return "it has one of / * ^ ( ) [ ] { } \" ' , ;";
  for (const char *c = label; *c; c++)
    if ((unsigned char)*c <= ' ' || *c == 0x7F) return "it has white space or a control character";
  return NULL;
}

const char *sp_unit_text(const sp_units *units, sp_dimension of, char text[SP_UNIT_SIZE]) {
  const sp_units none = {0}, *u = units ? units : &none;
  const char *const labels[] = {u->temperature, u->length, u->power};
  const double powers[] = {of.temperature, of.length, of.power};
  size_t used = 0;
  text[0] = '\0';
  for (int sign = 1; sign >= -1; sign -= 2)
    for (int i = 0; i < 3; i++) {
      const double power = sign * powers[i];
      if (power <= 0) continue;
      if (!labels[i] || !labels[i][0]) {
        text[0] = '\0';
        return text;
      }
      const char *before = sign < 0 ? (used > 0 ? "/" : "1/") : used > 0 ? " " : "";
      used += (size_t)snprintf(text + used, SP_UNIT_SIZE - used, power == 1 ? "%s%s" : "%s%s^%g",
                               before, labels[i], power);
    }
  return text;
}
