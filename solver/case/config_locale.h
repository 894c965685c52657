/* Internal to solver/case/config: numbers are read and written with a point, whatever the user's
 * locale is. Include this after defining _POSIX_C_SOURCE as 200809L. */
#pragma once

#include <errno.h>
#include <locale.h>
#include <string.h>

#include "io/error.h"

/* Switch this thread to the C locale. sp_locale_restore switches back. Errors: SP_ERR_SYSTEM.
 * Local. */
static inline sp_status sp_locale_use_c(locale_t *own, locale_t *previous) {
  *own = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (*own == (locale_t)0)
    return sp_fail(SP_ERR_SYSTEM, "cannot make the C locale: %s", strerror(errno));
  *previous = uselocale(*own);
  return SP_OK;
}

static inline void sp_locale_restore(locale_t own, locale_t previous) {
  uselocale(previous);
  freelocale(own);
}
