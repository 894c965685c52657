#include "solver/run/checkpoint_case.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sections of which all keys count, but for what agrees to rounding, and single keys. */
static bool counts(const char *section, size_t section_length, const char *line) {
  static const char *const whole[] = {"discretization", "problem", "boundary"};
  for (size_t w = 0; w < sizeof whole / sizeof *whole; w++)
    if (strlen(whole[w]) == section_length && strncmp(whole[w], section, section_length) == 0)
      return strncmp(line, "geometry = ", 11) != 0;
  static const char *const named[] = {"material ", "region "};
  for (size_t n = 0; n < sizeof named / sizeof *named; n++)
    if (strncmp(named[n], section, strlen(named[n])) == 0) return true;
  return section_length == 6 && strncmp(section, "solver", 6) == 0 &&
         strncmp(line, "tolerance = ", 12) != 0 && strncmp(line, "max_iterations = ", 17) != 0;
}

/* The lines of `written` (sp_config_format) that count, behind the names of their sections. A key
 * that is written behind a # has its default and counts like others. */
static void filter(const char *written, FILE *stream) {
  const char *section = "";
  size_t section_length = 0;
  for (const char *line = written; *line;) {
    const size_t length = strcspn(line, "\n");
    if (*line == '[') {
      section = line + 1;
      section_length = strcspn(section, "]\n");
    } else if (length > 0) {
      const size_t skip = strncmp(line, "# ", 2) == 0 ? 2 : 0;
      if (counts(section, section_length, line + skip))
        fprintf(stream, "%.*s.%.*s\n", (int)section_length, section, (int)(length - skip),
                line + skip);
    }
    line += length + (line[length] == '\n');
  }
}

sp_status sp_checkpoint_case_text(const sp_config *config, char **text) {
  char *written = NULL;
  size_t size;
  *text = NULL;
  SP_TRY(sp_config_format(config, &written));
  FILE *stream = open_memstream(text, &size);
  bool failed = !stream;
  if (stream) {
    filter(written, stream);
    failed = ferror(stream);
    failed = fclose(stream) != 0 || failed;
  }
  free(written);
  if (!failed) return SP_OK;
  free(*text);
  *text = NULL;
  return sp_fail(SP_ERR_SYSTEM, "out of memory: the case for a checkpoint");
}

sp_status sp_checkpoint_case_compare(const char *path, const char *saved, const char *own) {
  while (*saved || *own) {
    const size_t there = strcspn(saved, "\n"), here = strcspn(own, "\n");
    if (there != here || strncmp(saved, own, there) != 0)
      return sp_fail(SP_ERR_INPUT,
                     "checkpoint %s is of another case: there '%.*s', here '%.*s'; give the same "
                     "case, or leave output.restart out",
                     path, (int)there, saved, (int)here, own);
    saved += there + (saved[there] == '\n');
    own += here + (own[here] == '\n');
  }
  return SP_OK;
}
