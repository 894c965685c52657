/* Labels of units, and the units of results that follow from them. Nothing is converted. */
#pragma once

/* Labels that a case gives; NULL or "": none. Power is the unit of sources and fluxes. */
typedef struct sp_units {
  char *temperature, *length, *power;
} sp_units;

/* The unit of a number as powers of these, temperature being the unit of u. All are zero for a pure
 * number, and where the unit is not known. */
typedef struct sp_dimension {
  double temperature, length, power;
} sp_dimension;

#define SP_TEMPERATURE                                                                             \
  { 1, 0, 0 }
#define SP_POWER                                                                                   \
  { 0, 0, 1 }
#define SP_OF_TEMPERATURE ((sp_dimension)SP_TEMPERATURE)
#define SP_OF_LENGTH ((sp_dimension){0, 1, 0})
#define SP_OF_POWER ((sp_dimension)SP_POWER)

/* A label, in bytes, and a unit with its terminating zero. */
enum { SP_UNIT_LABEL = 15, SP_UNIT_SIZE = 64 };

/* Return the fault of a `label` that cannot be a part of "K mm^2/W", else NULL. Local. */
const char *sp_unit_misfit(const char *label);

/* Write a unit, as "K mm^2" or "K/W", to `text`, which is returned: "" for a pure number, and if a
 * label that it needs is not given; `units` may be NULL: no labels. Local. */
const char *sp_unit_text(const sp_units *units, sp_dimension of, char text[SP_UNIT_SIZE]);
