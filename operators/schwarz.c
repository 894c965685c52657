#include "operators/schwarz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/entity.h"
#include "mesh/reference.h"

struct sp_schwarz {
  const sp_space *space;
  sp_device_schwarz *on_device;
};

/* ---- Eigenvectors of a symmetric matrix ---- */

/* Jacobi's rotations: matrix[n][n] becomes diagonal, the columns of vectors[n][n] are the
 * eigenvectors. */
static void diagonalize(int n, double *matrix, double *vectors) {
  enum { SWEEPS = 30 }; /* quadratic convergence ends it after some six */
  for (int i = 0; i < n * n; i++) vectors[i] = i % (n + 1) == 0;
  for (int sweep = 0; sweep < SWEEPS; sweep++) {
    double off = 0, on = 0;
    for (int p = 0; p < n; p++) {
      on += matrix[p * n + p] * matrix[p * n + p];
      for (int q = p + 1; q < n; q++) off += matrix[p * n + q] * matrix[p * n + q];
    }
    if (off <= 1e-26 * on) return; /* eigenvalues to 1e-13, more than single precision needs */
    for (int p = 0; p < n; p++)
      for (int q = p + 1; q < n; q++) {
        const double entry = matrix[p * n + q];
        if (entry == 0) continue;
        const double theta = (matrix[q * n + q] - matrix[p * n + p]) / (2 * entry);
        const double t = copysign(1, theta) / (fabs(theta) + sqrt(theta * theta + 1));
        const double c = 1 / sqrt(t * t + 1), s = t * c;
        for (int k = 0; k < n; k++) {
          const double a = matrix[k * n + p], b = matrix[k * n + q];
          matrix[k * n + p] = c * a - s * b;
          matrix[k * n + q] = s * a + c * b;
        }
        for (int k = 0; k < n; k++) {
          const double a = matrix[p * n + k], b = matrix[q * n + k];
          matrix[p * n + k] = c * a - s * b;
          matrix[q * n + k] = s * a + c * b;
        }
        for (int k = 0; k < n; k++) {
          const double a = vectors[k * n + p], b = vectors[k * n + q];
          vectors[k * n + p] = c * a - s * b;
          vectors[k * n + q] = s * a + c * b;
        }
      }
  }
}

/* ---- The boxes and their ends ---- */

/* What one direction of an element's box is made from. */
typedef struct interval {
  double length;
  double stiffness[2], mass[2]; /* added at the two ends, by kappa of the element */
  int fixed[2];                 /* whether Dirichlet */
} interval;

/* The part of set-up that all elements share. */
typedef struct builder {
  const sp_operator_setup *setup;
  const sp_separable *boxes;
  int n, area, faces[SP_FACES][SP_MAX_NQ * SP_MAX_NQ];
  const sp_rule *gll;
  double stiffness[SP_MAX_NQ * SP_MAX_NQ]; /* D^T W D on [-1, 1] */
  /* L-vectors: at nodes inside faces, the sums over the two elements of kappa times the entries of
   * K and M at the end of the direction across; and the setup's diagonal. */
  double *end_stiffness, *end_mass, *diagonal;
} builder;

static bool is_inside_face(const builder *b, int node) {
  const int i = node % b->n, j = node / b->n;
  return i > 0 && i < b->n - 1 && j > 0 && j < b->n - 1;
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
      for (int i = 0; i < b->area; i++) {
        if (!is_inside_face(b, i)) continue;
        const sp_lid dof = nodes_of(b, e)[b->faces[f][i]];
        b->end_stiffness[dof] += own_stiffness(b, &b->boxes[e], f / 2);
        b->end_mass[dof] += own_mass(b, &b->boxes[e], f / 2);
      }
  sp_exchange_now(space->exchange, SP_SUM, b->end_stiffness);
  sp_exchange_now(space->exchange, SP_SUM, b->end_mass);
}

static void find_end(const builder *b, sp_lid e, int f, interval *out) {
  const sp_separable *box = &b->boxes[e];
  const bool *constrained = b->setup->constrained;
  const int d = f / 2, side = f % 2;
  double diagonal = 0, weights = 0;
  sp_lid dof = 0;
  for (int i = 0; i < b->area; i++) {
    if (!is_inside_face(b, i)) continue;
    dof = nodes_of(b, e)[b->faces[f][i]];
    diagonal += b->diagonal[dof];
    weights += b->gll->weights[i % b->n] * b->gll->weights[i / b->n];
  }
  /* Rounding may leave a little where there is no neighbour. */
  const double stiffness = b->end_stiffness[dof], mass = b->end_mass[dof];
  const double own = own_stiffness(b, box, d);
  const bool alone = stiffness - own <= 1e-14 * stiffness;
  const double area = weights * box->length[(d + 1) % 3] * box->length[(d + 2) % 3] / 4;
  out->stiffness[side] =
      ((alone ? 0 : stiffness - own) + (diagonal > 0 ? diagonal / area : 0)) / box->kappa;
  out->mass[side] = alone ? 0 : (mass - own_mass(b, box, d)) / box->kappa;
  out->fixed[side] = constrained && constrained[dof];
}

/* basis[n][n]: columns v with V^T M V = 1 and V^T K V = diag(values). Rows of nodes that are left
 * out are zero, and so are as many columns, with any positive values. */
static void solve_interval(const builder *b, const interval *line, double *basis, double *values) {
  const int n = b->n;
  double scale[SP_MAX_NQ], matrix[SP_MAX_NQ * SP_MAX_NQ], vectors[SP_MAX_NQ * SP_MAX_NQ];
  for (int i = 0; i < n; i++) {
    double mass = line->length / 2 * b->gll->weights[i];
    if (i == 0) mass += line->mass[0];
    if (i == n - 1) mass += line->mass[1];
    scale[i] = 1 / sqrt(mass);
    if ((i == 0 && line->fixed[0]) || (i == n - 1 && line->fixed[1])) scale[i] = 0;
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double entry = 2 / line->length * b->stiffness[i * n + j];
      if (i == j && i == 0) entry += line->stiffness[0];
      if (i == j && i == n - 1) entry += line->stiffness[1];
      matrix[i * n + j] = scale[i] * scale[j] * entry;
    }
  for (int i = 0; i < n; i++)
    if (scale[i] == 0) matrix[i * n + i] = b->stiffness[0] / line->length;
  diagonalize(n, matrix, vectors);
  for (int c = 0; c < n; c++) {
    values[c] = fmax(0, matrix[c * n + c]);
    for (int r = 0; r < n; r++) basis[r * n + c] = scale[r] * vectors[r * n + c];
  }
}

/* The eigenvalue of a box that stands alone, with natural ends all around and no mass term, may be
 * zero for constants: it becomes a thousandth of the next ones. */
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

/* basis[3][n][n] and values[3][n] of an element; the eigenvalue of (i, j, k) is the sum of three.
 */
static void solve_element(const builder *b, sp_lid e, interval lines[3], double *basis,
                          double *values) {
  const sp_separable *box = &b->boxes[e];
  const int n = b->n;
  for (int d = 0; d < 3; d++) {
    interval line = {.length = box->length[d]};
    find_end(b, e, 2 * d, &line);
    find_end(b, e, 2 * d + 1, &line);
    /* Elements in a row are often alike. */
    if (e == 0 || memcmp(&line, &lines[d], sizeof line) != 0) {
      solve_interval(b, &line, &basis[d * n * n], &values[d * n]);
    } else {
      memcpy(&basis[d * n * n], &basis[(d - 3) * n * n], (size_t)(n * n) * sizeof *basis);
      memcpy(&values[d * n], &values[(d - 3) * n], (size_t)n * sizeof *values);
    }
    lines[d] = line;
  }
}

/* ---- Weights ---- */

/* The diagonals of the boxes, with their natural ends, and the number of elements, by DOF. */
static void sum_boxes(const builder *b, double *diagonal, double *count) {
  const sp_space *space = b->setup->space;
  const int n = b->n;
  for (sp_lid e = 0; e < space->mesh->hexes->count; e++) {
    const sp_separable *box = &b->boxes[e];
    double k[3][SP_MAX_NQ], m[3][SP_MAX_NQ];
    for (int d = 0; d < 3; d++)
      for (int i = 0; i < n; i++) {
        k[d][i] = 2 / box->length[d] * b->stiffness[i * n + i];
        m[d][i] = box->length[d] / 2 * b->gll->weights[i];
      }
    for (int p = 0; p < n * n * n; p++) {
      const int i = p % n, j = p / n % n, l = p / (n * n);
      const double entry = box->kappa * (k[0][i] * m[1][j] * m[2][l] + m[0][i] * k[1][j] * m[2][l] +
                                         m[0][i] * m[1][j] * k[2][l]) +
                           box->lambda * m[0][i] * m[1][j] * m[2][l];
      diagonal[nodes_of(b, e)[p]] += entry;
      count[nodes_of(b, e)[p]] += 1;
    }
  }
  for (sp_lid i = 0; i < b->setup->diagonal_count; i++)
    diagonal[b->setup->diagonal_dofs[i]] += b->setup->diagonal_values[i];
  sp_exchange_now(space->exchange, SP_SUM, diagonal);
  sp_exchange_now(space->exchange, SP_SUM, count);
}

/* ---- Set-up ---- */

/* What the backend gets. */
typedef struct arrays {
  double *basis, *values, *weights, *count;
} arrays;

static sp_status allocate(builder *b, arrays *a) {
  const size_t dofs = sp_space_dofs(b->setup->space), n = (size_t)b->n;
  const size_t elements = (size_t)b->setup->space->mesh->hexes->count;
  SP_TRY(sp_allocate(dofs, sizeof(double), "Schwarz", &b->end_stiffness));
  SP_TRY(sp_allocate(dofs, sizeof(double), "Schwarz", &b->end_mass));
  SP_TRY(sp_allocate(dofs, sizeof(double), "Schwarz", &b->diagonal));
  SP_TRY(sp_allocate(dofs, sizeof(double), "Schwarz", &a->weights));
  SP_TRY(sp_allocate(dofs, sizeof(double), "Schwarz", &a->count));
  SP_TRY(sp_allocate(elements, 3 * n * n * sizeof(double), "Schwarz", &a->basis));
  return sp_allocate(elements, 3 * n * sizeof(double), "Schwarz", &a->values);
}

static void release(builder *b, arrays *a) {
  free(b->end_stiffness);
  free(b->end_mass);
  free(b->diagonal);
  free(a->weights);
  free(a->count);
  free(a->basis);
  free(a->values);
}

static void fill(builder *b, const double *inverse, arrays *a) {
  const sp_operator_setup *setup = b->setup;
  const size_t n = (size_t)b->n, dofs = sp_space_dofs(setup->space);
  interval lines[3];
  for (sp_lid i = 0; i < setup->diagonal_count; i++)
    b->diagonal[setup->diagonal_dofs[i]] = setup->diagonal_values[i];
  sum_ends(b);
  for (sp_lid e = 0; e < setup->space->mesh->hexes->count; e++) {
    double *values = &a->values[(size_t)e * 3 * n];
    solve_element(b, e, lines, &a->basis[(size_t)e * 3 * n * n], values);
  }
  /* In a loop of its own: solve_element copies from the element before, without kappa and lambda.
   */
  for (sp_lid e = 0; e < setup->space->mesh->hexes->count; e++) {
    double *values = &a->values[(size_t)e * 3 * n];
    for (size_t i = 0; i < 3 * n; i++) values[i] *= b->boxes[e].kappa;
    for (size_t i = 0; i < n; i++) values[i] += b->boxes[e].lambda;
    lift_constants(b->n, values);
  }
  sum_boxes(b, a->weights, a->count);
  for (size_t i = 0; i < dofs; i++)
    a->weights[i] = inverse[i] > 0 ? sqrt(a->weights[i] * inverse[i] / a->count[i]) : 0;
}

sp_status sp_schwarz_create(const sp_operator_setup *setup, const sp_separable *boxes,
                            const double *inverse, sp_precision precision, sp_schwarz **out) {
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
    b->area = n * n;
    b->gll = &reference->gll;
    for (int f = 0; f < SP_FACES; f++) sp_face_nodes(n - 1, f, b->faces[f]);
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
                                        .precision = precision,
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

/* Numbers per element: V and the eigenvalues. */
static double element_numbers(int order) {
  return 3 * (order + 1) * (order + 2);
}

sp_bytes sp_schwarz_predicted_bytes(const sp_backend *backend, sp_precision precision, int order,
                                    const sp_sizes *sizes) {
  sp_bytes bytes = backend->schwarz_predicted_bytes(precision, order, sizes);
  bytes.host += sizeof(sp_schwarz);
  return bytes;
}

double sp_schwarz_predicted_setup_bytes(int order, const sp_sizes *sizes) {
  return sizeof(builder) + sizeof(double) * 5 * sizes->dofs +
         sizes->elements * (sizeof(double) * element_numbers(order) + sizeof(sp_separable));
}

void sp_schwarz_destroy(sp_schwarz **schwarz) {
  if (!*schwarz) return;
  if ((*schwarz)->on_device)
    (*schwarz)->space->platform->backend->schwarz_destroy(&(*schwarz)->on_device);
  free(*schwarz);
  *schwarz = NULL;
}

sp_status sp_schwarz_apply(sp_schwarz *schwarz, const void *r, void *z) {
  return schwarz->space->platform->backend->schwarz_apply(schwarz->on_device, r, z);
}
