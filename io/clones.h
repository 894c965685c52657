/* SP_CLONES before a function compiles it a second time, for x86-64 with AVX and FMA, and the
 * loader picks that version if the processor can run it. Use it for loops of set-up and
 * diagnostics; the inner loops of the solver and of formulas have kernels for each instruction set
 * (kernel_sets.cmake). Needs the GNU C library's loader. Its callees gain only if they are inlined
 * (SP_INLINE). */
#pragma once

#include <stddef.h>
#include <stdlib.h> /* defines __GLIBC__ */

/* Clang 14 gives clones names that other files do not find. */
#if defined __x86_64__ && defined __GLIBC__ && !defined __clang__ && !defined __FMA__
#define SP_CLONES __attribute__((target_clones("default", "fma")))
#else
#define SP_CLONES
#endif

#define SP_INLINE static inline __attribute__((always_inline))
