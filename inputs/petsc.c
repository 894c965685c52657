/* PETSc's conjugate gradients with the operator and the preconditioner of sp_solve, by MatShell and
 * PCShell. They take the iterations of sp_solve's own solver, or one more.
 *
 *     mpicc petsc.c $(pkg-config --cflags --libs sp_solve PETSc) -o petsc
 *     mpirun -n 2 ./petsc */
#include <stdlib.h>
#include <string.h>

#include <petscksp.h>
#include <sp_solve.h>

typedef struct shell {
  sp_case *c;
  sp_case_sizes n;
  double *x, *y; /* L-vectors: PETSc's vectors have the owned DOFs only */
} shell;

static PetscErrorCode check(int code) {
  if (code == SP_CASE_OK) return 0;
  SETERRQ(PETSC_COMM_WORLD, PETSC_ERR_LIB, "%s", sp_case_message());
}

static PetscErrorCode apply(shell *s, sp_case_operator which, Vec x, Vec y) {
  const PetscScalar *from;
  PetscScalar *to;
  PetscCall(VecGetArrayRead(x, &from));
  memcpy(s->x, from, s->n.owned * sizeof *from);
  PetscCall(VecRestoreArrayRead(x, &from));
  PetscCall(check(sp_case_apply(s->c, which, s->n.local, s->x, s->y)));
  PetscCall(VecGetArrayWrite(y, &to));
  memcpy(to, s->y, s->n.owned * sizeof *to);
  PetscCall(VecRestoreArrayWrite(y, &to));
  return 0;
}

static PetscErrorCode multiply(Mat A, Vec x, Vec y) {
  shell *s;
  PetscCall(MatShellGetContext(A, &s));
  return apply(s, SP_CASE_A, x, y);
}

static PetscErrorCode precondition(PC B, Vec x, Vec y) {
  shell *s;
  PetscCall(PCShellGetContext(B, &s));
  return apply(s, SP_CASE_PRECONDITIONER, x, y);
}

/* The right-hand side, and PETSc's solution of it from zero. */
static PetscErrorCode solve(shell *s, double tolerance, PetscInt *iterations) {
  Mat A;
  KSP ksp;
  PC B;
  Vec b, u;
  PetscScalar *to;
  const PetscInt owned = (PetscInt)s->n.owned, all = (PetscInt)s->n.global_dofs;
  PetscCall(MatCreateShell(PETSC_COMM_WORLD, owned, owned, all, all, s, &A));
  PetscCall(MatShellSetOperation(A, MATOP_MULT, (void (*)(void))multiply));
  PetscCall(MatCreateVecs(A, &u, &b));
  PetscCall(check(sp_case_get(s->c, SP_CASE_RHS, s->n.local, s->x)));
  PetscCall(VecGetArrayWrite(b, &to));
  memcpy(to, s->x, s->n.owned * sizeof *to);
  PetscCall(VecRestoreArrayWrite(b, &to));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, tolerance, PETSC_DEFAULT, PETSC_DEFAULT, 1000));
  PetscCall(KSPGetPC(ksp, &B));
  PetscCall(PCSetType(B, PCSHELL));
  PetscCall(PCShellSetContext(B, s));
  PetscCall(PCShellSetApply(B, precondition));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, u));
  PetscCall(KSPGetIterationNumber(ksp, iterations));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&b));
  return MatDestroy(&A);
}

int main(int argc, char **argv) {
  /* The residual is PETSc's criterion. */
  const char *const keys[] = {"mesh.elements=6 6 6",          "discretization.order=5",
                              "problem.kappa=1+x*x",          "problem.forcing=exp(y)",
                              "boundary.default=dirichlet x", "solver.criterion=residual",
                              "solver.tolerance=1e-10"};
  PetscInt iterations;
  shell s;
  sp_case_solution own;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(check(sp_case_open(PETSC_COMM_WORLD, NULL, sizeof keys / sizeof *keys, keys, &s.c)));
  PetscCall(check(sp_case_get_sizes(s.c, &s.n)));
  s.x = calloc(s.n.local, sizeof *s.x);
  s.y = calloc(s.n.local, sizeof *s.y);
  PetscCall(solve(&s, 1e-10, &iterations));
  PetscCall(check(sp_case_solve(s.c, s.n.local, s.x, &own)));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "PETSc %d iterations, sp_solve %d\n", (int)iterations,
                        (int)own.iterations));
  free(s.x);
  free(s.y);
  sp_case_close(&s.c);
  PetscCall(PetscFinalize());
  return labs((long)iterations - (long)own.iterations) > 1;
}
