/* sp_solve from C: -div(kappa grad u) + lambda u = f with elements of high order on hexahedra. Open
 * a case once, then solve it as often as you like, each time with other data, or step in time.
 *
 *     sp_case *c;
 *     sp_case_sizes n;
 *     sp_case_solution s;
 *     if (sp_case_open(MPI_COMM_WORLD, "cube.ini", 0, NULL, &c)) fail(sp_case_message());
 *     sp_case_get_sizes(c, &n);
 *     double *load = malloc(n.local * sizeof *load), *u = malloc(n.local * sizeof *u);
 *     for (int k = 0; k < 100; k++) {
 *       fill(load, k);
 *       sp_case_set(c, SP_CASE_LOAD, n.local, load);
 *       sp_case_solve(c, n.local, u, &s);
 *     }
 *     sp_case_close(&c);
 *
 * A case with time.end solves capacity du/dt - div(kappa grad u) + lambda u = f in steps:
 *
 *     sp_case_time t;
 *     do {
 *       sp_case_step(c, 0, n.local, u, NULL);
 *       sp_case_get_time(c, &t);
 *     } while (t.time < t.end - t.step / 2);
 *
 * Case files and keys are the program's (io/README.md). inputs/own_load.c is a complete
 * program; inputs/petsc.c calls the operator and the preconditioner from PETSc. Compile with `mpicc
 * own_load.c $(pkg-config --cflags --libs sp_solve) -lm`, or in CMake link the target
 * sp_solve::sp_solve of find_package(sp_solve).
 *
 * Vectors. An L-vector has one double per degree of freedom (DOF) of this rank: first the `owned`
 * DOFs, then copies of DOFs that other ranks own, `local` in all. DOF i is the value of u at the
 * node SP_CASE_POINTS[i]. The order of the DOFs changes only with discretization.order. Of an input
 * only the owned entries count; of an output all copies of a DOF have the same bits.
 *
 * Memory. Every array of doubles may be in host memory or, with the CUDA backend, in device memory
 * of the GPU that the case uses; the driver detects which. That GPU must be the current device of
 * the calling thread, as it is after sp_case_open. Device memory is read after the work that is in
 * the default stream, and the call returns when its own work is done. The caller owns the arrays,
 * and the case keeps none of them. Without the CUDA backend pass host memory: device memory is not
 * recognised.
 *
 * Errors. Functions return SP_CASE_OK or one of the codes below, the same on all ranks of the
 * communicator; they are the exit codes of the program. After a failure sp_case_message has one
 * line for the user. Nothing prints, exits or catches signals. After a failure the case can be used
 * and closed, and is as before the call, with exceptions named at the functions. A NULL case is an
 * error.
 *
 * MPI must be initialised before sp_case_open, and finalised after sp_case_close. A case uses
 * several threads only if MPI was initialised with MPI_THREAD_FUNNELED or more; the case that was
 * opened last sets their number for all. Functions that take a case are Collective over its
 * communicator if they are not marked Local. Several cases may be open side by side, on one or
 * several communicators. One thread of a process may call at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#define SP_CASE_API __attribute__((visibility("default")))
#else
#define SP_CASE_API
#endif

typedef struct sp_case sp_case;

enum {
  SP_CASE_OK = 0,
  SP_CASE_ERROR = 1,         /* a wrong case or call, memory, files: see the message */
  SP_CASE_NOT_CONVERGED = 2, /* solver.max_iterations came first; u is the last iterate, except
                                of a step */
  SP_CASE_BREAKDOWN = 3,     /* NaN, or an operator that is not positive definite; u is unchanged */
  SP_CASE_INTERRUPTED =
      5 /* the progress callback ended the call; u is the last iterate, except of a step */
};

/* ---- Opening ---- */

/* Read a case and its mesh, and set up the solver. `path` is a case file; NULL: defaults. `keys`
 * are the program's arguments "SECTION.KEY=VALUE", which override keys of the file; all ranks pass
 * the same. The files of [output] are written by sp_case_write only. output.accuracy counts for
 * solves without arrays of loads, Dirichlet values and coefficients, not for steps. `comm` must
 * outlive the case; MPI_COMM_SELF makes a case of one rank. Every rank must get elements: with more
 * ranks than GPUs set backend.share=yes. The caller closes *out; it is NULL after a failure. */
SP_CASE_API int sp_case_open(MPI_Comm comm, const char *path, int count, const char *const *keys,
                             sp_case **out);

/* The same from the text of a case file, which counts on rank 0. Messages call it "the case".
 * Relative paths are relative to the working directory. */
SP_CASE_API int sp_case_open_text(MPI_Comm comm, const char *text, int count,
                                  const char *const *keys, sp_case **out);

/* Override more keys, and set up the solver again; "SECTION.KEY=" gives a key its default. The mesh
 * stays: keys of [mesh], [region] and [backend], other periodic or contact conditions, and a change
 * between mass and another operator are errors. Arrays that were set stay. If the order changes,
 * all are unset; if the operator changes, the arrays of coefficients. Discards the last solution,
 * and the state in time. Until it returns, both set-ups take memory. */
SP_CASE_API int sp_case_change(sp_case *c, int count, const char *const *keys);

/* Free everything. NULL-safe; sets *c to NULL. */
SP_CASE_API void sp_case_close(sp_case **c);

/* The message of the last failure of this thread, "" if there was none. Valid until the next
 * failure. Local. */
SP_CASE_API const char *sp_case_message(void);

/* ---- Sizes and names ---- */

typedef struct sp_case_sizes {
  size_t local, owned;    /* DOFs of this rank: with copies, and owned ones */
  size_t elements, nodes; /* elements of this rank, and nodes of each, (order + 1)^3 */
  size_t points; /* quadrature points of each: its nodes for bp3.5, (order + 2)^3 for others */
  int64_t global_dofs, global_elements;
  int order;      /* N of the polynomials */
  bool on_device; /* the solver's vectors are in the memory of a GPU */
} sp_case_sizes;

/* Local. */
SP_CASE_API int sp_case_get_sizes(const sp_case *c, sp_case_sizes *sizes);

/* Group number i of the mesh, from 0 on: its name, "" if it has none; its dimension, 2 for surfaces
 * and 3 for volumes; and its number in the mesh file. *name belongs to the case. Returns
 * SP_CASE_ERROR past the last group. Local. */
SP_CASE_API int sp_case_group(const sp_case *c, int i, const char **name, int *dimension,
                              int *number);

/* numbers[local]: a global number for each DOF, from 0 to global_dofs - 1, the same on all ranks
 * that have the DOF. Owned DOFs have consecutive numbers, in their order and in the order of the
 * ranks, as the rows of a parallel vector of PETSc or hypre. `count` is local. In host memory. */
SP_CASE_API int sp_case_numbers(sp_case *c, size_t count, int64_t *numbers);

/* nodes[elements][N + 1][N + 1][N + 1]: the local DOF at each GLL node of each element, the map Z
 * from L-vectors to element vectors. `count` is the length, elements * nodes. In host memory.
 * Local. */
SP_CASE_API int sp_case_nodes(const sp_case *c, size_t count, int32_t *nodes);

/* ---- Arrays ---- */

typedef enum sp_case_array {
  /* Set: added to the load of the case, b_i = integral of f l_i + boundary terms. [local] */
  SP_CASE_LOAD,
  /* Set: f at the nodes, likewise: b gains M f, with the mass matrix of sp_case_apply. [local] */
  SP_CASE_SOURCE,
  /* Set: u at Dirichlet nodes, in place of the case's values; other entries are not read. Get: the
   * values that count, 0 at other nodes. [local] */
  SP_CASE_DIRICHLET,
  /* Set: where CG starts, in place of problem.initial; Dirichlet values replace its entries. In
   * time, the state that sp_case_restart and the first step begin with. [local] */
  SP_CASE_INITIAL,
  /* Get: x of all nodes, then y, then z, in the unit of the mesh. [3][local] */
  SP_CASE_POINTS,
  /* Get: b - A u_D for free DOFs and 0 at Dirichlet nodes, with u_D the Dirichlet values: the
   * right-hand side of CG, with the arrays that are set. Not of cases in time, or of problems
   * that depend on u. [local] */
  SP_CASE_RHS,
  /* Get: 1 at Dirichlet nodes, 0 at others. [local] */
  SP_CASE_FIXED,
  /* Set: kappa > 0, a scalar, lambda >= 0, and in time the capacity > 0, at the points of
   * SP_CASE_QUADRATURE, in place of the formulas and tensors of all materials. Entries of contacts
   * are not read; contacts keep their resistance. Errors: a case of mass, or with an exact
   * solution; the capacity of a steady case. [elements][points] */
  SP_CASE_KAPPA,
  SP_CASE_LAMBDA,
  SP_CASE_CAPACITY,
  /* Get: x of the operator's quadrature points in each element, i fastest, then y, then z, in the
   * unit of the mesh. [3][elements][points] */
  SP_CASE_QUADRATURE
} sp_case_array;

/* Set an array for all solves from now on; NULL: as if it had never been set. `count` is its
 * length. Results of the last solve stay. Errors: a wrong length; NaN, infinity, or numbers whose
 * squares overflow; an array that can only be read; Dirichlet values for a case without Dirichlet
 * nodes. If nothing fixes the mean of u (pure Neumann data), the load of the case must balance, and
 * so must its sum with the arrays; the next solve checks this.
 *
 * A coefficient discards the last solution. The next call that needs coefficients sets up again, as
 * sp_case_change does, but the state in time stays. If that fails, so does the call, and the next
 * one tries again. */
SP_CASE_API int sp_case_set(sp_case *c, sp_case_array which, size_t count, const double *values);

/* Fill values[count]; `count` is the length of the array. SP_CASE_RHS discards the results of the
 * last solve, because it prepares the next one. */
SP_CASE_API int sp_case_get(sp_case *c, sp_case_array which, size_t count, double *values);

/* ---- Solving ---- */

typedef struct sp_case_solution {
  int64_t iterations;
  double error;    /* estimated error, relative, in the energy norm; infinite if it is not known */
  double residual; /* ||b - A u|| / ||b|| over free DOFs */
  double seconds;  /* of CG on this rank */
} sp_case_solution;

/* Solve for u [local], with the Dirichlet values; `count` is local. u may be NULL on all ranks: the
 * solution is then kept for the results only. `solution` may be NULL. Without set arrays u has the
 * bits of the program. Another load costs CG and two copies, unless nothing fixes the mean of u or
 * Dirichlet values change. After SP_CASE_ERROR and SP_CASE_BREAKDOWN there are no results.
 *
 * If the problem depends on u (radiation; robin, kappa, lambda or capacity with u), this is a
 * sequence of linear solves, each with a set-up: `iterations` counts all of them, the other facts
 * of the last one. SP_CASE_INITIAL saves some of them. A case with time.end takes steps instead. */
SP_CASE_API int sp_case_solve(sp_case *c, size_t count, double *u, sp_case_solution *solution);

/* ---- Steps in time ---- */

/* In the unit of time of the case. */
typedef struct sp_case_time {
  double time; /* t of the state; before the first step 0, or t of the field in problem.initial */
  double step; /* length of the next step; an automatic one may become shorter */
  double end;  /* time.end; steps may go beyond */
} sp_case_time;

/* Errors: a steady case. Local. */
SP_CASE_API int sp_case_get_time(const sp_case *c, sp_case_time *time);

/* Take one step of length dt with time.scheme; 0: of the case's length, or automatic. With dt an
 * automatic step is at most that long, and later ones end at t + dt, or at an output before it.
 * Formulas take the new time. Set arrays count as in a solve, loads in all stages of the step. u
 * and `solution` are filled as by sp_case_solve, with the iterations of all stages. Without set
 * arrays u has the bits of the program's series. Another length causes a new set-up, and schemes
 * with a history begin anew, as at t = 0. After a failure the state is as before the call, and
 * there are no results. */
SP_CASE_API int sp_case_step(sp_case *c, double dt, size_t count, double *u,
                             sp_case_solution *solution);

/* Set the state at a time: u = SP_CASE_INITIAL if it is set, else problem.initial. The next step
 * continues from there; schemes with a history begin anew. Discards the last solution. Errors: a
 * steady case; a time that is not finite. */
SP_CASE_API int sp_case_restart(sp_case *c, double time);

/* ---- Operators ---- */

/* On L-vectors. In time and if the problem depends on u, A and B belong to the last linear solve: A
 * has the term (a / dt) capacity of a stage, with a from the scheme (solver/solve/time.h). */
typedef enum sp_case_operator {
  /* A, symmetric positive (semi)definite: rows and columns of Dirichlet nodes are zero. */
  SP_CASE_A,
  /* B, the preconditioner that CG uses, symmetric positive definite, with zero rows and columns
   * likewise; the identity on free DOFs for `none`. If A has a null space, on its complement. */
  SP_CASE_PRECONDITIONER,
  /* M, the mass matrix of all nodes, also Dirichlet nodes, without lambda, with the quadrature of
   * the operator: 1.M 1 is the volume of the mesh. For bp3.5 it is diagonal. */
  SP_CASE_MASS
} sp_case_operator;

/* y = A x, B x or M x; x and y are two arrays [local]. */
SP_CASE_API int sp_case_apply(sp_case *c, sp_case_operator which, size_t count, const double *x,
                              double *y);

/* Called on every rank before the first and after each iteration of CG, in each linear solve, with
 * the estimated error (as above); in batches where a GPU iterates without the host. A result other
 * than 0 on any rank ends the call on all of them. It must not call functions of this case. */
typedef int sp_case_progress(void *context, int64_t iteration, double error);

/* Set the callback; NULL: none. Local. */
SP_CASE_API int sp_case_watch(sp_case *c, sp_case_progress *progress, void *context);

/* ---- Results of the last solve ---- */

/* *value = a number of the last solution, by the names of the JSON document (io/README.md). It
 * is a member of a row of a table: the first row whose "name" is `row`, or "group", or "kind". With
 * `row` NULL, of an object, or of a table with one row; with `table` NULL, of the document itself.
 *
 *     sp_case_value(c, "results", "hottest", "value", &x);
 *     sp_case_value(c, "extrema", "maximum", "value", &x);
 *     sp_case_value(c, "balance", "lid", "value", &x);
 *     sp_case_value(c, "errors", NULL, "L2", &x);
 *     sp_case_value(c, NULL, NULL, "dofs", &x);
 *
 * The first call of this or the next two functions after a solve evaluates all results. All ranks
 * get the value. Errors: no solution; no such name; a member that is not a number. */
SP_CASE_API int sp_case_value(sp_case *c, const char *table, const char *row, const char *member,
                              double *value);

/* *text = the JSON document of the last solution, as --json writes it, on all ranks. Its phases and
 * memory are since the case was opened. It belongs to the case, until the next call with the
 * case. */
SP_CASE_API int sp_case_json(sp_case *c, const char **text);

/* Write the field and the run log that [output] names, for the last solution. In time the field
 * gets another state at each call, from which a run or a case can continue. Errors: SP_CASE_ERROR
 * if a file cannot be written or must not be replaced. */
SP_CASE_API int sp_case_write(sp_case *c);

#ifdef __cplusplus
}
#endif
