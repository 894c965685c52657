#include "operators/schwarz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/clones.h"
#include "mesh/entity.h"
#include "mesh/reference.h"

struct sp_schwarz {
  const sp_space *space;
  sp_device_schwarz *on_device;
};

/* ---- Eigenvectors of symmetric matrices ---- */

/* Matrices that are diagonalized together, for vector instructions: entry [i][lane]. */
enum { LANES = 8 };
typedef double lanes[LANES];

/* c and s of the rotation that makes the entry (p, q) of a symmetric matrix zero, and t = s / c. */
SP_INLINE void choose_rotation(const lanes pp, const lanes qq, const lanes pq, lanes c, lanes s,
                               lanes t) {
  for (int l = 0; l < LANES; l++) {
    const double theta = (qq[l] - pp[l]) / (2 * pq[l]);
    const double tangent = copysign(1, theta) / (fabs(theta) + sqrt(theta * theta + 1));
    t[l] = pq[l] == 0 ? 0 : tangent;
    c[l] = 1 / sqrt(t[l] * t[l] + 1);
    s[l] = t[l] * c[l];
  }
}

SP_INLINE void rotate(const lanes c, const lanes s, lanes a, lanes b) {
  for (int l = 0; l < LANES; l++) {
    const double old = a[l];
    a[l] = c[l] * old - s[l] * b[l];
    b[l] = s[l] * old + c[l] * b[l];
  }
}

/* True if all matrices are diagonal to 1e-13, more than single precision needs. */
SP_INLINE bool are_diagonal(int n, lanes *matrix) {
  lanes off = {0}, on = {0};
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++)
      for (int l = 0; l < LANES; l++) {
        const double entry = matrix[i * n + j][l];
        (i == j ? on : off)[l] += entry * entry;
      }
  bool all = true;
  for (int l = 0; l < LANES; l++) all = all && off[l] <= 1e-26 * on[l];
  return all;
}

/* Jacobi's rotations: matrix[n][n], of which the lower triangle is used, becomes diagonal; the rows
 * of vectors[n][n] are the eigenvectors. */
SP_CLONES static void diagonalize(int n, lanes *matrix, lanes *vectors) {
  enum { SWEEPS = 30 }; /* quadratic convergence ends it after some six */
  for (int i = 0; i < n * n; i++)
    for (int l = 0; l < LANES; l++) vectors[i][l] = i % (n + 1) == 0;
  for (int sweep = 0; sweep < SWEEPS && !are_diagonal(n, matrix); sweep++)
    for (int q = 1; q < n; q++)
      for (int p = 0; p < q; p++) {
        lanes c, s, t;
        double *pp = matrix[p * n + p], *qq = matrix[q * n + q], *pq = matrix[q * n + p];
        choose_rotation(pp, qq, pq, c, s, t);
        for (int l = 0; l < LANES; l++) {
          pp[l] -= t[l] * pq[l];
          qq[l] += t[l] * pq[l];
          pq[l] = 0;
        }
        for (int k = 0; k < p; k++) rotate(c, s, matrix[p * n + k], matrix[q * n + k]);
        for (int k = p + 1; k < q; k++) rotate(c, s, matrix[k * n + p], matrix[q * n + k]);
        for (int k = q + 1; k < n; k++) rotate(c, s, matrix[k * n + p], matrix[k * n + q]);
        for (int k = 0; k < n; k++) rotate(c, s, vectors[p * n + k], vectors[q * n + k]);
      }
}

/* ---- The boxes and their ends ---- */

/* Data of one direction of an element's box. */
typedef struct interval {
  double length;
  double stiffness[2], mass[2]; /* added at the two ends, by kappa of the element */
  int fixed[2];                 /* 1 if Dirichlet */
} interval;

/* Intervals whose eigenvectors are computed together, and where these go. */
typedef struct batch {
  int count;
  interval lines[LANES];
  double *basis[LANES], *values[LANES];
} batch;

/* The part of set-up that all elements share. */
typedef struct builder {
  const sp_operator_setup *setup;
  const sp_separable *boxes;
  int n;
  const sp_rule *gll;
  double stiffness[SP_MAX_NQ * SP_MAX_NQ]; /* D^T W D on [-1, 1] */
  /* A face's nodes inside it, (n-2)^2, first those nearest to its corners: elements that share the
   * face see the same ones there, whatever the orientation. */
  int inside, nearest, nodes[SP_FACES][SP_MAX_NQ * SP_MAX_NQ];
  double face_weight; /* of the nodes inside a face of [-1, 1]^2 */
  /* L-vectors: at the nodes near corners of faces, the sums over the two elements of kappa times
   * the entries of K and M at the end of the direction across; and the setup's diagonal, over all
   * ranks. */
  double *end_stiffness, *end_mass, *diagonal;
  batch batch;
  lanes matrix[SP_MAX_NQ * SP_MAX_NQ], vectors[SP_MAX_NQ * SP_MAX_NQ], scale[SP_MAX_NQ];
} builder;

static void choose_nodes(builder *b) {
  const int n = b->n, corner[2] = {1, n - 2};
  int order[SP_MAX_NQ * SP_MAX_NQ], face[SP_MAX_NQ * SP_MAX_NQ];
  b->inside = 0;
  for (int near = 1; near >= 0; near--) {
    for (int j = 1; j < n - 1; j++)
      for (int i = 1; i < n - 1; i++) {
        const bool is_near =
            (i == corner[0] || i == corner[1]) && (j == corner[0] || j == corner[1]);
        if (is_near == near) order[b->inside++] = j * n + i;
      }
    if (near) b->nearest = b->inside;
  }
  for (int f = 0; f < SP_FACES; f++) {
    sp_face_nodes(n - 1, f, face);
    for (int i = 0; i < b->inside; i++) b->nodes[f][i] = face[order[i]];
  }
  double sum = 0;
  for (int i = 1; i < n - 1; i++) sum += b->gll->weights[i];
  b->face_weight = sum * sum;
}

static const sp_lid *nodes_of(const builder *b, sp_lid e) {
  return &b->setup->space->numbering->nodes[(size_t)e * sp_grid_points(b->n)];
}

/* kappa times the entry of K or M at an end of an interval. */
static double own_stiffness(const builder *b, const sp_separable *box, int d) {
  return box->kappa * 2 / box->length[d] * b->stiffness[0];
}

static double own_mass(const builder *b, const sp_separable *box, int d) {
  return box->kappa * box->length[d] / 2 * b->gll->weights[0];
}

static void sum_ends(builder *b) {
  const sp_space *space = b->setup->space;
  for (sp_lid e = 0; e < space->mesh->hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++)
      for (int i = 0; i < b->nearest; i++) {
        const sp_lid dof = nodes_of(b, e)[b->nodes[f][i]];
        b->end_stiffness[dof] += own_stiffness(b, &b->boxes[e], f / 2);
        b->end_mass[dof] += own_mass(b, &b->boxes[e], f / 2);
      }
  sp_exchange_now(space->exchange, SP_SUM, b->end_stiffness);
  sp_exchange_now(space->exchange, SP_SUM, b->end_mass);
}

/* ---- Weights ---- */

/* The diagonal of a box with its natural ends, at its nodes. */
static void box_diagonal(const builder *b, const sp_separable *box, double *out) {
  const int n = b->n;
  double k[3][SP_MAX_NQ], m[3][SP_MAX_NQ];
  for (int d = 0; d < 3; d++)
    for (int i = 0; i < n; i++) {
      k[d][i] = 2 / box->length[d] * b->stiffness[i * n + i];
      m[d][i] = box->length[d] / 2 * b->gll->weights[i];
    }
  for (int l = 0; l < n; l++)
    for (int j = 0; j < n; j++) {
      const double first = box->kappa * m[1][j] * m[2][l];
      const double others =
          box->kappa * (k[1][j] * m[2][l] + m[1][j] * k[2][l]) + box->lambda * m[1][j] * m[2][l];
      for (int i = 0; i < n; i++) out[(l * n + j) * n + i] = first * k[0][i] + others * m[0][i];
    }
}

/* diagonal, an L-vector = the sum over elements; `element` is scratch, [n^3]. */
static void sum_boxes(const builder *b, double *element, double *diagonal) {
  const sp_space *space = b->setup->space;
  const size_t nodes = sp_grid_points(b->n);
  for (sp_lid e = 0; e < space->mesh->hexes->count; e++) {
    box_diagonal(b, &b->boxes[e], element);
    for (size_t i = 0; i < nodes; i++) diagonal[nodes_of(b, e)[i]] += element[i];
  }
  sp_exchange_now(space->exchange, SP_SUM, diagonal);
}

/* weights[elements][n^3]: P_e W at the nodes of an element. Robin's part of the diagonal is divided
 * like the boxes'. */
static void fill_weights(const builder *b, const double *inverse, const double *diagonal,
                         double *weights) {
  const size_t nodes = sp_grid_points(b->n);
  for (sp_lid e = 0; e < b->setup->space->mesh->hexes->count; e++, weights += nodes) {
    box_diagonal(b, &b->boxes[e], weights);
    for (size_t i = 0; i < nodes; i++) {
      const sp_lid dof = nodes_of(b, e)[i];
      const double own = weights[i] * (1 + b->diagonal[dof] / diagonal[dof]);
      weights[i] = sqrt(own * inverse[dof]);
    }
  }
}

static void find_end(const builder *b, sp_lid e, int f, interval *out) {
  const sp_separable *box = &b->boxes[e];
  const bool *constrained = b->setup->constrained;
  const int d = f / 2, side = f % 2;
  const sp_lid *nodes = nodes_of(b, e), dof = nodes[b->nodes[f][0]];
  double diagonal = 0;
  for (int i = 0; i < b->inside && b->setup->diagonal_count > 0; i++)
    diagonal += b->diagonal[nodes[b->nodes[f][i]]];
  /* Without a neighbour rounding may leave a small value. */
  const double stiffness = b->end_stiffness[dof], mass = b->end_mass[dof];
  const double own = own_stiffness(b, box, d);
  const bool alone = stiffness - own <= 1e-14 * stiffness;
  const double area = b->face_weight * box->length[(d + 1) % 3] * box->length[(d + 2) % 3] / 4;
  out->stiffness[side] =
      ((alone ? 0 : stiffness - own) + (diagonal > 0 ? diagonal / area : 0)) / box->kappa;
  out->mass[side] = alone ? 0 : (mass - own_mass(b, box, d)) / box->kappa;
  out->fixed[side] = constrained && constrained[dof];
}

/* The matrix M^(-1/2) K M^(-1/2) of an interval, into one lane, with M^(-1/2) in `scale`. The ends
 * that are left out have 0 there, and any positive number on K's diagonal. */
static void fill_lane(builder *b, const interval *line, int lane) {
  const int n = b->n, ends[2] = {0, n - 1};
  for (int i = 0; i < n; i++) {
    double mass = line->length / 2 * b->gll->weights[i];
    for (int side = 0; side < 2; side++)
      if (i == ends[side]) mass += line->mass[side];
    b->scale[i][lane] = 1 / sqrt(mass);
  }
  for (int side = 0; side < 2; side++)
    if (line->fixed[side]) b->scale[ends[side]][lane] = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++)
      b->matrix[i * n + j][lane] =
          b->scale[i][lane] * b->scale[j][lane] * 2 / line->length * b->stiffness[i * n + j];
  for (int side = 0; side < 2; side++) {
    const int i = ends[side];
    double *entry = &b->matrix[i * n + i][lane];
    *entry += b->scale[i][lane] * b->scale[i][lane] * line->stiffness[side];
    if (line->fixed[side]) *entry = b->stiffness[0] / line->length;
  }
}

/* Solve what has gathered. basis[n][n]: columns v with V^T M V = 1 and V^T K V = diag(values). Rows
 * of nodes that are left out are zero, and so are as many columns, with any positive values. */
static void solve_batch(builder *b) {
  const int n = b->n, count = b->batch.count;
  for (int l = 0; l < LANES && count > 0; l++) fill_lane(b, &b->batch.lines[l < count ? l : 0], l);
  if (count > 0) diagonalize(n, b->matrix, b->vectors);
  for (int l = 0; l < count; l++)
    for (int c = 0; c < n; c++) {
      b->batch.values[l][c] = fmax(0, b->matrix[c * n + c][l]);
      for (int r = 0; r < n; r++)
        b->batch.basis[l][r * n + c] = b->scale[r][l] * b->vectors[c * n + r][l];
    }
  b->batch.count = 0;
}

static void add_to_batch(builder *b, const interval *line, double *basis, double *values) {
  batch *open = &b->batch;
  open->lines[open->count] = *line;
  open->basis[open->count] = basis;
  open->values[open->count] = values;
  if (++open->count == LANES) solve_batch(b);
}

/* Replace zero eigenvalues. A box without neighbours, Dirichlet ends and mass term has one for
 * constants; it becomes a thousandth of the next ones. */
static void lift_constants(int n, double *values) {
  double least = 0, next = 0;
  for (int d = 0; d < 3; d++) {
    double first = INFINITY, second = INFINITY;
    for (int i = 0; i < n; i++) {
      const double v = values[d * n + i];
      second = fmin(second, fmax(first, v));
      first = fmin(first, v);
    }
    least += first;
    next += second;
  }
  if (least > 1e-6 * next) return;
  for (int i = 0; i < n; i++) values[i] += 1e-3 * next;
}

/* basis[elements][3][n][n] and values[elements][3][n]; the eigenvalue of (i, j, k) is kappa times
 * the sum of three, plus lambda. Elements in a row are often alike: alike[e] has bit d set if
 * interval d is that of the element before. */
static void solve_elements(builder *b, unsigned char *alike, double *basis, double *values) {
  const int n = b->n;
  const sp_lid count = b->setup->space->mesh->hexes->count;
  interval last[3];
  for (sp_lid e = 0; e < count; e++)
    for (int d = 0; d < 3; d++) {
      const size_t index = 3 * (size_t)e + (size_t)d;
      interval line = {.length = b->boxes[e].length[d]};
      find_end(b, e, 2 * d, &line);
      find_end(b, e, 2 * d + 1, &line);
      if (e > 0 && memcmp(&line, &last[d], sizeof line) == 0)
        alike[e] |= (unsigned char)(1 << d);
      else
        add_to_batch(b, &line, &basis[index * (size_t)(n * n)], &values[index * (size_t)n]);
      last[d] = line;
    }
  solve_batch(b);
  for (sp_lid e = 0; e < count; e++)
    for (int d = 0; d < 3; d++) {
      double *own_basis = &basis[(3 * (size_t)e + (size_t)d) * (size_t)(n * n)];
      double *own_values = &values[(3 * (size_t)e + (size_t)d) * (size_t)n];
      if (!(alike[e] & 1 << d)) continue;
      memcpy(own_basis, own_basis - 3 * n * n, (size_t)(n * n) * sizeof *basis);
      memcpy(own_values, own_values - 3 * n, (size_t)n * sizeof *values);
    }
  /* In a loop of its own: those above copy, without kappa and lambda. */
  for (sp_lid e = 0; e < count; e++) {
    double *own = &values[3 * (size_t)e * (size_t)n];
    for (int i = 0; i < 3 * n; i++) own[i] *= b->boxes[e].kappa;
    for (int i = 0; i < n; i++) own[i] += b->boxes[e].lambda;
    lift_constants(n, own);
  }
}

/* ---- Set-up ---- */

/* Arrays for the backend. */
typedef struct arrays {
  double *basis, *values, *weights, *sums;
  unsigned char *alike;
} arrays;

static sp_status allocate(builder *b, arrays *a) {
  const size_t dofs = sp_space_dofs(b->setup->space), n = (size_t)b->n;
  const size_t elements = (size_t)b->setup->space->mesh->hexes->count;
  SP_TRY(sp_allocate(dofs, sizeof(double), "Schwarz", &b->end_stiffness));
  SP_TRY(sp_allocate(dofs, sizeof(double), "Schwarz", &b->end_mass));
  SP_TRY(sp_allocate(dofs, sizeof(double), "Schwarz", &b->diagonal));
  SP_TRY(sp_allocate(dofs, sizeof(double), "Schwarz", &a->sums));
  SP_TRY(sp_allocate(elements, n * n * n * sizeof(double), "Schwarz", &a->weights));
  SP_TRY(sp_allocate(elements, sizeof *a->alike, "Schwarz", &a->alike));
  SP_TRY(sp_allocate(elements, 3 * n * n * sizeof(double), "Schwarz", &a->basis));
  return sp_allocate(elements, 3 * n * sizeof(double), "Schwarz", &a->values);
}

static void release(builder *b, arrays *a) {
  free(b->end_stiffness);
  free(b->end_mass);
  free(b->diagonal);
  free(a->weights);
  free(a->sums);
  free(a->alike);
  free(a->basis);
  free(a->values);
}

static void fill(builder *b, const double *inverse, arrays *a) {
  const sp_operator_setup *setup = b->setup;
  for (sp_lid i = 0; i < setup->diagonal_count; i++)
    b->diagonal[setup->diagonal_dofs[i]] = setup->diagonal_values[i];
  sp_exchange_now(setup->space->exchange, SP_SUM, b->diagonal);
  sum_ends(b);
  sum_boxes(b, a->weights, a->sums);
  fill_weights(b, inverse, a->sums, a->weights);
  solve_elements(b, a->alike, a->basis, a->values);
}

sp_status sp_schwarz_create(const sp_operator *op, const sp_operator_setup *setup,
                            const sp_separable *boxes, const double *inverse, sp_schwarz **out) {
  const sp_space *space = setup->space;
  const sp_platform *platform = space->platform;
  const int n = space->numbering->order + 1;
  const sp_reference *reference = sp_reference_get(n - 1);
  arrays a = {0};
  builder *b = NULL;
  sp_schwarz *schwarz = NULL;
  *out = NULL;
  sp_status status = sp_allocate(1, sizeof *schwarz, "Schwarz", &schwarz);
  if (!status) status = sp_allocate(1, sizeof *b, "Schwarz", &b);
  if (!status) {
    b->setup = setup;
    b->boxes = boxes;
    b->n = n;
    b->gll = &reference->gll;
    choose_nodes(b);
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        for (int q = 0; q < n; q++)
          b->stiffness[i * n + j] += b->gll->weights[q] * reference->differentiation[q * n + i] *
                                     reference->differentiation[q * n + j];
    status = allocate(b, &a);
  }
  status = sp_agree(platform->comm, status);
  if (!status) {
    fill(b, inverse, &a);
    schwarz->space = space;
    const sp_schwarz_setup on_device = {.space = space,
                                        .local = op->local,
                                        .precision = op->precision,
                                        .basis = a.basis,
                                        .values = a.values,
                                        .weights = a.weights};
    status = platform->backend->schwarz_create(platform->device, &on_device, &schwarz->on_device);
    status = sp_agree(platform->comm, status);
  }
  if (b) release(b, &a);
  free(b);
  if (status)
    sp_schwarz_destroy(&schwarz);
  else
    *out = schwarz;
  return status;
}

void sp_schwarz_destroy(sp_schwarz **schwarz) {
  if (!*schwarz) return;
  if ((*schwarz)->on_device)
    (*schwarz)->space->platform->backend->schwarz_destroy(&(*schwarz)->on_device);
  free(*schwarz);
  *schwarz = NULL;
}

sp_status sp_schwarz_apply(sp_schwarz *schwarz, const sp_vector *r, sp_vector *z) {
  return schwarz->space->platform->backend->schwarz_apply(schwarz->on_device, r->data, z->data);
}

sp_status sp_schwarz_step(sp_schwarz *schwarz, const sp_vector *r, sp_vector *z,
                          const sp_smoothing *step) {
  const sp_backend *backend = schwarz->space->platform->backend;
  if (backend->schwarz_step) {
    const sp_correction correction = sp_smoothing_correction(step);
    return backend->schwarz_step(schwarz->on_device, r->data, z->data, &correction);
  }
  const sp_status status = sp_schwarz_apply(schwarz, r, z);
  return sp_first_failure(status, sp_vector_correct(step));
}
