/* Shared by the fuzzing harnesses. libFuzzer calls LLVMFuzzerTestOneInput with one input after the
 * other; a property that does not hold ends the process, and libFuzzer keeps the input. */
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <sanitizer/lsan_interface.h>

#include "io/error.h"

/* Check a property; `otherwise` is the message of a failure. */
static inline void require(bool holds, const char *otherwise) {
  if (holds) return;
  fprintf(stderr, "property violated: %s\n", otherwise);
  abort();
}

/* The message of a failure is one printable line for any input. */
static inline void require_message(sp_status status) {
  require(status == SP_ERR_INPUT || status == SP_ERR_SYSTEM, "an error of another kind");
  const char *text = sp_error_message();
  require(text[0] != '\0', "an error without a message");
  for (; *text; text++)
    require((unsigned char)*text >= 0x20 && *text != 0x7f, "a control character in a message");
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Do not report leaks of Open MPI, and leave signals to libFuzzer, which keeps the input. */
static inline void start_mpi(void) {
  setenv("OMPI_MCA_opal_signal", "", 1);
  __lsan_disable();
  MPI_Init(NULL, NULL);
  __lsan_enable();
}
