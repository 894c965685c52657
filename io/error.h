/* Errors: functions return a status; the message is kept in one place until main prints it.
 *
 * A function that can fail returns an sp_status. The function that finds a failure returns
 * sp_fail(), which records one line and prints nothing. Callers pass the status on with SP_TRY. A
 * phase that may fail on only some ranks must end in sp_agree. All ranks then hold the same status
 * and message and leave together. Only main prints.
 *
 * The message is kept per thread; sp_loop_run (io/threads.h) hands it to the calling thread. */
#pragma once

#include <stddef.h>

#include <mpi.h>

typedef enum sp_status {
  SP_OK = 0,
  SP_ERR_INPUT,         /* the case, a mesh or a formula is wrong: the user can fix it */
  SP_ERR_SYSTEM,        /* memory, files, a library call */
  SP_ERR_NOT_CONVERGED, /* reached max_iterations first; results are still written */
  SP_ERR_BREAKDOWN,     /* NaN, or an operator that is not positive definite */
  SP_ERR_STUDY,         /* a study missed its expected convergence rate */
  SP_ERR_INTERRUPTED,   /* a signal ended the iteration; results are still written */
  SP_ERR_ELSEWHERE      /* caused by another rank, which reports the reason */
} sp_status;

/* Record a message and return `status` (which is not SP_OK), so that one line does both:
 *     return sp_fail(SP_ERR_INPUT, "%s:%d: expected a number, found '%s'", file, line, text);
 * The message is one line without a final newline; it replaces an earlier one. Control characters
 * of ASCII become question marks. Local. */
sp_status sp_fail(sp_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The message of the last failure, "" if there was none. Owned by the module. Local. */
const char *sp_error_message(void);

/* A failure with its message, kept while other calls may fail. */
enum { SP_MESSAGE_SIZE = 1024 };
typedef struct sp_kept_error {
  sp_status status;
  char message[SP_MESSAGE_SIZE];
} sp_kept_error;

/* Keep `status` and, if it is not SP_OK, the message of the last failure. Local. */
void sp_error_keep(sp_status status, sp_kept_error *kept);

/* Return the kept status, and make its message the last one again. Local. */
sp_status sp_error_restore(const sp_kept_error *kept);

/* `a` if it is a failure, otherwise b: keeps the first failure of work that must go on. */
static inline sp_status sp_first_failure(sp_status a, sp_status b) {
  return a ? a : b;
}

/* "s" unless n is 1: "%lld element%s". Local. */
static inline const char *sp_plural(long long n) {
  return n == 1 ? "" : "s";
}

/* The rank of this process in `comm`, and the number of ranks. Local. */
static inline int sp_comm_rank(MPI_Comm comm) {
  int rank;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

static inline int sp_comm_size(MPI_Comm comm) {
  int size;
  MPI_Comm_size(comm, &size);
  return size;
}

/* Give all ranks of `comm` the same status: SP_OK if every rank passed SP_OK, otherwise status and
 * message of the lowest rank that failed. Ranks with SP_ERR_ELSEWHERE count only if no rank has
 * another error. Collective over `comm`. */
sp_status sp_agree(MPI_Comm comm, sp_status status);

/* The exit code of the program: 0 success, 1 bad input, failed system call or rank, 2 not
 * converged, 3 broken down, 4 a study fell short of its rate, 5 interrupted. Local. */
int sp_exit_code(sp_status status);

/* Return the status of `call` from the calling function if it failed. Use it only if all that must
 * be released first is owned by variables (below). */
#define SP_TRY(call)                                                                               \
  do {                                                                                             \
    const sp_status sp_try_status = (call);                                                        \
    if (sp_try_status != SP_OK) return sp_try_status;                                              \
  } while (0)

/* calloc that reports through sp_fail. The threads of io/threads.h clear large arrays, so all their
 * pages are allocated at once. *out points to count * size zeroed bytes, which the caller frees,
 * also for a count of zero; it is NULL after a failure. `what` names the array in the message.
 * Local. Errors: SP_ERR_SYSTEM. */
sp_status sp_allocate(size_t count, size_t size, const char *what, void *out);

/* Allocate several arrays: SP_ALLOCATE("rows", SP_ARRAY(x->nodes, n), SP_ARRAY(x->values, 3 * n)).
 * After a failure the missing ones are NULL. Otherwise as sp_allocate. */
typedef struct sp_array {
  size_t count, size;
  void *out;
} sp_array;
#define SP_ARRAY(array, count) ((sp_array){(size_t)(count), sizeof *(array), &(array)})
#define SP_ALLOCATE(what, ...)                                                                     \
  sp_allocate_each(what, sizeof((sp_array[]){__VA_ARGS__}) / sizeof(sp_array),                     \
                   (sp_array[]){__VA_ARGS__})
sp_status sp_allocate_each(const char *what, size_t count, const sp_array *arrays);

/* Make room for `added` more entries in *array, which has `count` entries and was allocated by this
 * function. The capacity is a power of two. *array is unchanged after a failure. Local. Errors:
 * SP_ERR_SYSTEM. */
sp_status sp_reserve(size_t count, size_t added, size_t size, const char *what, void *array);

/* Free several arrays, which may be NULL: SP_FREE(x->nodes, x->values). Local. */
#define SP_FREE(...)                                                                               \
  sp_free_each(sizeof((void *[]){__VA_ARGS__}) / sizeof(void *), (void *[]){__VA_ARGS__})
void sp_free_each(size_t count, void *const *arrays);

/* Variables that own memory until the end of their scope, also if SP_TRY leaves it:
 *     SP_OWNED double *values = NULL;         freed
 *     SP_AUTO(sp_expression) formula = NULL;  sp_expression_destroy(&formula)
 *     SP_AUTO_VALUE(sp_vector) x = {0};       sp_vector_destroy(&x)
 * Variables of one scope are released in reverse order. */
#define SP_AUTO(type) __attribute__((cleanup(type##_destroy))) type *
#define SP_AUTO_VALUE(type) __attribute__((cleanup(type##_destroy))) type
#define SP_OWNED __attribute__((cleanup(sp_free_owned)))
void sp_free_owned(void *pointer);

/* Print into a new text, which the caller frees. Afterwards frees the old *out, which may be an
 * argument. Unchanged after a failure. Local. Errors: SP_ERR_SYSTEM. */
sp_status sp_format(char **out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Call once at the start of a program: the allocator keeps freed memory, because the system would
 * have to clear it again. Local. */
void sp_allocate_start(void);
