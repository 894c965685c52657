#include "solver/linear/coarse.h"

#include <stdio.h>
#include <string.h>

#include "operators/row_gather.h"
#include "operators/schwarz/bars.h"
#include "solver/linear/amg.h"
#include "solver/linear/coarse_boomer.h"
#include "solver/linear/coarse_rows.h"

/* Largest problem solved directly, in rows. On the host a factor of 1000 rows takes 8 MB, and a
 * solution 1 ms on every rank. */
enum { DIRECT_ON_DEVICE = SP_AMG_INVERSE_MOST, DIRECT_ON_HOST = 1000 };

/* Largest problem, in rows, that `amg` solves exactly: it is then the last level of algebraic
 * multigrid. */
enum { LAST_LEVEL_ON_DEVICE = 1000, LAST_LEVEL_ON_HOST = 200 };

/* Most ranks that all have the whole problem. Each then sends 63 messages per cycle, from a GPU
 * without the host. */
enum { EVERYWHERE_MOST = 64 };

struct sp_coarse {
  const sp_space *space;
  sp_coarse_kind kind;
  sp_coarse_place place;
  sp_precision precision;
  size_t dofs;
  sp_gid total;      /* rows on all ranks */
  sp_free_rows rows; /* without hypre; its matrix is freed in sp_coarse_complete */
  /* Through the host: with hypre and on one rank. */
  double *b, *x; /* [local DOFs] */
  sp_boomer *boomer;
  /* On ranks that have all rows. */
  sp_amg *amg;
  double *host_rows;             /* [rows], on rank 0 if only it solves */
  sp_device_matrix *restriction; /* [DOFs][DOFs], own parts of P^T of bars; NULL at order 1 */
  sp_vector restricted;          /* [DOFs], P^T b */
  sp_row_gather *gather;         /* b at the free rows of all ranks */
  sp_device_matrix *scatter;     /* [DOFs][rows], x from all rows: P of bars, or a selection */
  sp_device_matrix *mean;        /* [components][rows], NULL without a null space */
  sp_device_matrix *spread;      /* [rows][components], means to rows */
  sp_vector all_b, all_x;        /* [rows] */
  sp_vector means;               /* [components] */
  char description[96];
};

int sp_coarse_direct_most(const sp_backend *backend) {
  return backend->on_host ? DIRECT_ON_HOST : DIRECT_ON_DEVICE;
}

/* Rows of the largest last level. */
static int last_level(const sp_coarse *c) {
  if (c->space->platform->backend->on_host)
    return c->kind == SP_COARSE_DIRECT ? DIRECT_ON_HOST : LAST_LEVEL_ON_HOST;
  return c->kind == SP_COARSE_AMG || c->total > DIRECT_ON_DEVICE ? LAST_LEVEL_ON_DEVICE
                                                                 : DIRECT_ON_DEVICE;
}

/* Return where the problem is solved. */
static sp_coarse_place choose_place(const sp_coarse *c) {
  const sp_platform *p = c->space->platform;
  const int ranks = sp_comm_size(p->comm);
  if (ranks > 1 && p->backend->on_host && c->total > last_level(c) && sp_boomer_hypre())
    return SP_COARSE_HYPRE;
  return ranks > EVERYWHERE_MOST ? SP_COARSE_ONE_RANK : SP_COARSE_EVERYWHERE;
}

sp_traffic sp_coarse_traffic(const sp_coarse *c, double neighbours, double shared) {
  const double ranks = sp_comm_size(c->space->platform->comm), rows = (double)c->total;
  const double others = ranks - 1, own = c->place == SP_COARSE_ONE_RANK ? rows / ranks : 0;
  if (c->place == SP_COARSE_EVERYWHERE)
    return (sp_traffic){others, others * rows / ranks * (double)sp_precision_bytes(c->precision)};
  return (sp_traffic){neighbours + (own > 0), (shared + own) * sizeof(double)};
}

/* ---- Through the host ---- */

static sp_status allocate_on_host(sp_coarse *c) {
  return SP_ALLOCATE("coarse level", SP_ARRAY(c->b, c->dofs), SP_ARRAY(c->x, c->dofs));
}

/* Copies get their owners' values: the exchange sums these values and zeros. */
static sp_status write_x(sp_coarse *c, sp_status status, sp_vector *x) {
  for (size_t i = (size_t)c->space->numbering->owned; i < c->dofs; i++) c->x[i] = 0;
  sp_exchange_now(c->space->exchange, SP_SUM, c->x);
  return sp_first_failure(status, sp_vector_write(c->x, x));
}

/* ---- hypre ---- */

static sp_status create_hypre(sp_coarse *c, const sp_operator_setup *setup,
                              const sp_constants *constants) {
  SP_TRY(sp_agree(c->space->platform->comm, allocate_on_host(c)));
  return sp_boomer_create(setup, constants, &c->boomer);
}

/* Apply B. All ranks take part, so they agree on failures first. */
static sp_status apply_hypre(sp_coarse *c, sp_status status, const sp_vector *b, sp_vector *x) {
  status = sp_first_failure(status, sp_vector_read(b, c->b));
  SP_TRY(sp_reduction_sum(c->space->platform->reduction, 0, NULL, status));
  SP_TRY(sp_boomer_solve(c->boomer, c->b, c->x));
  return write_x(c, SP_OK, x);
}

/* ---- All rows on every rank, or on one ---- */

static sp_status create_coarse_matrix(const sp_coarse *c, const sp_csr *matrix,
                                      sp_device_matrix **out) {
  const sp_platform *p = c->space->platform;
  return p->backend->matrix_create(p->device, c->precision, matrix, out);
}

/* y = M x. */
static sp_status multiply_matrix(sp_device_matrix *matrix, const sp_vector *x, sp_vector *y) {
  return y->platform->backend->matrix_apply(matrix, 1, x->data, 0, NULL, y->data);
}

/* mean[k][rows of component k] = 1 / their number. */
static sp_status make_projection(sp_coarse *c, int components, int rows, const int *component) {
  SP_AUTO_VALUE(sp_csr) spread = {0}, mean = {0};
  SP_TRY(sp_csr_select(rows, components, component, &spread));
  SP_TRY(sp_csr_transpose(&spread, &mean));
  for (int k = 0; k < components; k++)
    for (int e = mean.start[k]; e < mean.start[k + 1]; e++)
      mean.values[e] = 1.0 / (mean.start[k + 1] - mean.start[k]);
  SP_TRY(create_coarse_matrix(c, &spread, &c->spread));
  SP_TRY(create_coarse_matrix(c, &mean, &c->mean));
  return sp_vector_create(c->space->platform, c->precision, (size_t)components, &c->means);
}

/* `rows`: all rows, or 0 on a rank without the matrix. Collective. */
static sp_status create_projection(sp_coarse *c, const sp_constants *constants, int rows) {
  const MPI_Comm comm = c->space->platform->comm;
  SP_OWNED int *own = NULL, *component = NULL;
  if (constants->components == 0) return SP_OK;
  SP_TRY(sp_agree(
      comm, SP_ALLOCATE("components", SP_ARRAY(own, c->rows.count), SP_ARRAY(component, rows))));
  for (int r = 0; r < c->rows.count; r++) own[r] = constants->of_dof[c->rows.dofs[r]];
  sp_free_rows_gather(comm, &c->rows, MPI_INT, own, component);
  if (rows == 0) return sp_agree(comm, SP_OK);
  return sp_agree(comm, make_projection(c, constants->components, rows, component));
}

/* For bars, create restriction and interpolation for the DOFs that the rank owns. */
static sp_status create_interpolation(sp_coarse *c, const sp_operator_setup *setup) {
  SP_AUTO_VALUE(sp_csr) p = {0}, transpose = {0};
  const sp_lid owned = c->space->numbering->owned;
  SP_TRY(sp_bars_interpolation(setup, &p));
  for (int i = owned; i < p.rows; i++) p.start[i + 1] = p.start[owned];
  sp_csr own = p;
  own.rows = owned;
  SP_TRY(sp_csr_transpose(&own, &transpose));
  SP_TRY(create_coarse_matrix(c, &transpose, &c->restriction));
  sp_csr_destroy(&transpose);
  SP_TRY(sp_space_vector(c->space, c->precision, &c->restricted));
  p.columns = c->rows.total;
  for (int i = 0; i < p.start[p.rows]; i++) p.column[i] = c->rows.of_dof[p.column[i]];
  return create_coarse_matrix(c, &p, &c->scatter);
}

static sp_status create_scatter(sp_coarse *c, const sp_operator_setup *setup, int rows) {
  SP_AUTO_VALUE(sp_csr) selection = {0};
  if (c->space->numbering->order > 1) return create_interpolation(c, setup);
  SP_TRY(sp_csr_select((int)c->dofs, rows, c->rows.of_dof, &selection));
  return create_coarse_matrix(c, &selection, &c->scatter);
}

/* Create the solver of all rows on this rank. */
static sp_status create_amg(sp_coarse *c, int rows) {
  const sp_platform *platform = c->space->platform;
  SP_TRY(sp_amg_create(platform, c->precision, &c->rows.matrix, last_level(c), &c->amg));
  SP_TRY(sp_vector_create(platform, c->precision, (size_t)rows, &c->all_b));
  return sp_vector_create(platform, c->precision, (size_t)rows, &c->all_x);
}

static sp_status create_on_one_rank(sp_coarse *c, const sp_operator_setup *setup,
                                    const sp_constants *constants) {
  const int rank = sp_comm_rank(c->space->platform->comm);
  SP_TRY(sp_free_rows_create(setup, constants, false, &c->rows));
  const int rows = rank == 0 ? c->rows.total : 0;
  sp_status status = allocate_on_host(c);
  if (!status)
    status = sp_allocate((size_t)rows, sizeof *c->host_rows, "coarse rows", &c->host_rows);
  if (!status && rank == 0) status = create_amg(c, rows);
  SP_TRY(sp_agree(c->space->platform->comm, status));
  return create_projection(c, constants, rows);
}

static sp_status create_with_all_rows(sp_coarse *c, const sp_operator_setup *setup,
                                      const sp_constants *constants) {
  SP_TRY(sp_free_rows_create(setup, constants, true, &c->rows));
  const int rows = c->rows.total;
  sp_status status = create_amg(c, rows);
  if (!status) status = create_scatter(c, setup, rows);
  SP_TRY(sp_agree(c->space->platform->comm, status));
  SP_TRY(sp_row_gather_create(c->space, c->precision, c->rows.count, c->rows.dofs, &c->gather));
  return create_projection(c, constants, rows);
}

/* Remove from v its mean over each component. */
static sp_status remove_means(sp_coarse *c, sp_vector *v) {
  if (!c->mean) return SP_OK;
  SP_TRY(multiply_matrix(c->mean, v, &c->means));
  return v->platform->backend->matrix_apply(c->spread, -1, c->means.data, 1, v->data, v->data);
}

/* y = M x, summed over ranks. */
static sp_status multiply_and_sum(sp_coarse *c, sp_device_matrix *matrix, const sp_vector *x,
                                  sp_vector *y) {
  const sp_status status = multiply_matrix(matrix, x, y);
  return sp_first_failure(
      status, y->platform->backend->assemble(c->space->on_device, c->precision, y->data));
}

/* restricted = P^T b; ranks add up the parts of the DOFs that they own. */
static sp_status restrict_b(sp_coarse *c, const sp_vector *b) {
  sp_vector own = *b;
  own.count = (size_t)c->space->numbering->owned;
  return multiply_and_sum(c, c->restriction, &own, &c->restricted);
}

/* all_x = B all_b. */
static sp_status solve_rows(sp_coarse *c, sp_status status) {
  status = sp_first_failure(status, remove_means(c, &c->all_b));
  status = sp_first_failure(status, sp_amg_apply(c->amg, &c->all_b, &c->all_x));
  return sp_first_failure(status, remove_means(c, &c->all_x));
}

/* host_rows = B host_rows, on the one rank that solves. */
static sp_status solve_host_rows(sp_coarse *c, sp_status status) {
  status = sp_first_failure(status, sp_vector_write(c->host_rows, &c->all_b));
  status = solve_rows(c, status);
  return sp_first_failure(status, sp_vector_read(&c->all_x, c->host_rows));
}

/* The free rows among the owned DOFs come first in b and x while they travel. */
static sp_status apply_on_one_rank(sp_coarse *c, sp_status status, const sp_vector *b,
                                   sp_vector *x) {
  const MPI_Comm comm = c->space->platform->comm;
  const sp_free_rows *rows = &c->rows;
  status = sp_first_failure(status, sp_vector_read(b, c->b));
  for (int r = 0; r < rows->count; r++) c->b[r] = c->b[rows->dofs[r]];
  sp_free_rows_gather(comm, rows, MPI_DOUBLE, c->b, c->host_rows);
  if (c->amg) status = solve_host_rows(c, status);
  MPI_Scatterv(c->host_rows, rows->counts, rows->starts, MPI_DOUBLE, c->b, rows->count, MPI_DOUBLE,
               0, comm);
  memset(c->x, 0, c->dofs * sizeof *c->x);
  for (int r = 0; r < rows->count; r++) c->x[rows->dofs[r]] = c->b[r];
  return write_x(c, status, x);
}

static sp_status apply_with_all_rows(sp_coarse *c, sp_status status, const sp_vector *b,
                                     sp_vector *x) {
  if (!c->restriction) {
    status = solve_rows(c, sp_row_gather_apply(c->gather, status, b, &c->all_b));
    return sp_first_failure(status, multiply_matrix(c->scatter, &c->all_x, x));
  }
  status = sp_first_failure(status, restrict_b(c, b));
  status = solve_rows(c, sp_row_gather_apply(c->gather, status, &c->restricted, &c->all_b));
  /* Sums of copies would differ by rounding, so the owner's value counts on all ranks. */
  return sp_first_failure(status, multiply_and_sum(c, c->scatter, &c->all_x, x));
}

/* ---- Create, apply, destroy ---- */

static sp_gid count_rows(const sp_operator_setup *setup) {
  sp_gid rows = 0;
  for (sp_lid i = 0; i < setup->space->numbering->owned; i++)
    rows += !(setup->constrained && setup->constrained[i]);
  MPI_Allreduce(MPI_IN_PLACE, &rows, 1, SP_MPI_GID, MPI_SUM, setup->space->platform->comm);
  return rows;
}

static sp_status create_coarse(sp_coarse *c, const sp_operator_setup *setup,
                               const sp_constants *constants) {
  const sp_gid rows = c->total = count_rows(setup);
  const sp_backend *backend = c->space->platform->backend;
  const int most = sp_coarse_direct_most(backend);
  if (c->kind == SP_COARSE_DIRECT && rows > most)
    return sp_fail(SP_ERR_INPUT,
                   "solver.coarse = direct: the coarsest problem has %lld rows, but this device "
                   "allows at most %d; use amg",
                   (long long)rows, most);
  if (c->space->numbering->order > 1) /* of bars; hypre would have all DOFs as rows */
    c->place = SP_COARSE_EVERYWHERE;
  else if (c->place == SP_COARSE_CHOOSE)
    c->place = choose_place(c);
  return c->place == SP_COARSE_HYPRE      ? create_hypre(c, setup, constants)
         : c->place == SP_COARSE_ONE_RANK ? create_on_one_rank(c, setup, constants)
                                          : create_with_all_rows(c, setup, constants);
}

sp_gid sp_coarse_size(const sp_coarse *coarse) {
  const sp_numbering *numbering = coarse->space->numbering;
  return numbering->order > 1 ? coarse->total : numbering->global;
}

/* Only rank 0's description counts. */
static void describe_coarse(sp_coarse *c) {
  const long long rows = (long long)sp_coarse_size(c);
  const char *where = c->place == SP_COARSE_ONE_RANK ? " on one rank" : "";
  if (c->boomer)
    snprintf(c->description, sizeof c->description, "BoomerAMG (hypre %s), %lld rows",
             sp_boomer_hypre(), rows);
  else if (c->amg && sp_amg_levels(c->amg) > 1)
    snprintf(c->description, sizeof c->description, "algebraic multigrid%s (%d levels), %lld rows",
             where, sp_amg_levels(c->amg), rows);
  else
    snprintf(c->description, sizeof c->description, "direct%s, %lld rows", where, rows);
}

sp_status sp_coarse_create(const sp_system *system, sp_coarse_kind kind, sp_coarse_place place,
                           sp_precision precision, sp_coarse **out) {
  const sp_space *space = system->space;
  const sp_platform *platform = space->platform;
  SP_AUTO(sp_coarse) c = NULL;
  *out = NULL;
  SP_TRY(sp_agree(platform->comm, sp_allocate(1, sizeof *c, "coarse solver", &c)));
  *c = (sp_coarse){.space = space,
                   .kind = kind,
                   .place = place,
                   .precision = precision,
                   .dofs = sp_space_dofs(space)};
  SP_TRY(create_coarse(c, &system->setup, &system->constants));
  *out = c;
  c = NULL;
  return SP_OK;
}

sp_status sp_coarse_complete(sp_coarse *c) {
  const sp_status status = c->amg ? sp_amg_complete(c->amg) : SP_OK;
  sp_csr_destroy(&c->rows.matrix);
  SP_TRY(sp_agree(c->space->platform->comm, status));
  describe_coarse(c);
  return SP_OK;
}

void sp_coarse_destroy(sp_coarse **coarse) {
  sp_coarse *c = *coarse;
  if (!c) return;
  const sp_backend *backend = c->space->platform->backend;
  sp_device_matrix **const matrices[] = {&c->scatter, &c->restriction, &c->mean, &c->spread};
  sp_vector *const vectors[] = {&c->restricted, &c->all_b, &c->all_x, &c->means};
  for (size_t m = 0; m < sizeof matrices / sizeof *matrices; m++)
    backend->matrix_destroy(matrices[m]);
  for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++) sp_vector_destroy(vectors[v]);
  sp_row_gather_destroy(&c->gather);
  sp_amg_destroy(&c->amg);
  sp_boomer_destroy(&c->boomer);
  sp_free_rows_destroy(&c->rows);
  SP_FREE(c->host_rows, c->b, c->x, c);
  *coarse = NULL;
}

sp_status sp_coarse_apply(sp_coarse *c, sp_status status, const sp_vector *b, sp_vector *x) {
  return c->place == SP_COARSE_HYPRE      ? apply_hypre(c, status, b, x)
         : c->place == SP_COARSE_ONE_RANK ? apply_on_one_rank(c, status, b, x)
                                          : apply_with_all_rows(c, status, b, x);
}

bool sp_coarse_only_queues(const sp_coarse *coarse) {
  return coarse->place == SP_COARSE_EVERYWHERE && sp_row_gather_is_resident(coarse->gather);
}

const char *sp_coarse_describe(const sp_coarse *coarse) {
  return coarse->description;
}
