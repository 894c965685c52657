#include "solver/run/memory.h"

#include <math.h>

#include "operators/counts.h"

/* Symbols: E elements, D local DOFs, S shared DOFs (once per other rank that has them), N the
 * order, n = N + 1, r bytes of a number of the level; doubles and 64-bit integers have 8 bytes,
 * indices 4. A comment names the struct and its arrays; a number after an array is its bytes per
 * item. */

static sp_memory sum(sp_memory a, sp_memory b) {
  return (sp_memory){a.host + b.host, a.device + b.device};
}

static sp_memory larger(sp_memory a, sp_memory b) {
  return (sp_memory){fmax(a.host, b.host), fmax(a.device, b.device)};
}

static bool has_device(const sp_memory_case *c) {
  return c->backend != &sp_backend_host;
}

/* Size of `count` arrays of `bytes` bytes in the backend's memory. On the host, arrays of at least
 * a huge page take whole huge pages and begin up to 66 kB later (operators/host/memory.c). */
static sp_memory arrays(const sp_memory_case *c, int count, double bytes) {
  const double page = 2 << 20;
  if (has_device(c)) return (sp_memory){0, count * bytes};
  return (sp_memory){count * (bytes < page ? bytes : page * ceil((bytes + 66e3) / page)), 0};
}

/* sp_hexes and sp_topology. Per element: the lattice; vertices 64, surfaces 24, tag 8, octants 4,
 * volume 4, and 26 entities 104. Per entity: first, touching and start, 4 each. */
double sp_memory_of_mesh(const sp_sizes *s, int map_order) {
  return s->elements * (24 * pow(map_order + 1, 3) + 208) + 12 * s->entities + 4 * s->sharers;
}

/* Shared DOFs. sp_exchange: indices 20, sent and received 16. A device has the same, and 32 for
 * values received from peers; its host has pinned buffers for sent and received, 16. */
static sp_memory exchange_bytes(const sp_memory_case *c, double shared) {
  return (sp_memory){(36 + 16 * has_device(c)) * shared, 68 * has_device(c) * shared};
}

/* sp_numbering: nodes 4 n^3 and touched 16 per element, copies and shared 12 per shared DOF. */
static sp_memory space_bytes(const sp_memory_case *c, const sp_memory_level *l) {
  const sp_sizes *s = &l->sizes;
  const sp_memory numbering = {s->elements * (4 * pow(l->order + 1, 3) + 16) + 12 * s->shared, 0};
  return sum(numbering, exchange_bytes(c, s->shared));
}

/* sp_host_seams, with several threads T. Every element on the surface of a thread's share, taken as
 * a cube, has a target 4 for each of `width` nodes. Every third such node has a slot r, and half of
 * the slots an index and a start 8. Elements are packed in groups. */
static double seam_bytes(const sp_memory_case *c, double elements, int group, double width,
                         double r) {
  const double T = c->threads, surface = group * 6 * T * pow(elements / T, 2.0 / 3);
  if (has_device(c) || c->threads == 1) return 0;
  return fmin(elements, surface) * width * (4 + (r + 4) / 3);
}

/* Bytes of the geometry per element: the map, that of parallelepipeds 8 numbers, or factors at
 * M^3 points; `rounded`: of 2 bytes each, as on a device's levels. */
static double factor_bytes(const sp_memory_level *l, double r, bool rounded) {
  const sp_operator_row *row = &sp_operator_rows[l->kind];
  const double points = pow(sp_operator_rule(l->kind, l->order)->n, 3);
  if (l->geometry == SP_GEOMETRY_TRILINEAR) return (l->affine && l->kind == SP_BP35 ? 8 : 24) * r;
  return row->factors * points * (rounded && row->has_stiffness ? 2 : r);
}

/* sp_host_layout: factors; 6 N^2 + 2 surface nodes 4; with threads and for one sweep, runs 8 per
 * entity; the workspace of each thread. */
static sp_memory host_operator(const sp_memory_case *c, const sp_memory_level *l, double r,
                               bool one_sweep) {
  const sp_sizes *s = &l->sizes;
  const double surface = 6 * l->order * l->order + 2, workspace = 1.6e6 * c->threads;
  sp_memory m = arrays(c, 1, s->elements * factor_bytes(l, r, false));
  m.host += s->elements * 4 * surface + 8 * s->entities * (one_sweep + (c->threads > 1)) +
            seam_bytes(c, s->elements, 8, surface, r) + workspace;
  return m;
}

/* sp_local_operator on a device: factors; a sum r for each of 12 N - 4 nodes on edges; lists of
 * edge nodes 4, surface nodes 4, shared DOFs 4. In double at orders 1 and 2 patches of elements
 * (operators/cuda/patches.h) take 96 and 450 bytes per element instead. */
static sp_memory device_operator(const sp_memory_level *l, double r, bool for_level, bool lists) {
  const sp_sizes *s = &l->sizes;
  const double edges = 12 * l->order - 4, surface = 6 * l->order * l->order + 2;
  if (l->kind == SP_BP35 && l->geometry == SP_GEOMETRY_TRILINEAR && !for_level && l->order <= 2 &&
      !(l->is_tensor && l->order == 1))
    return (sp_memory){0, s->elements * (l->order == 1 ? 96 : 450)};
  const double element = factor_bytes(l, r, for_level && r < 8) + edges * r;
  return (sp_memory){0, s->elements * (element + lists * 4 * (edges + surface)) +
                            lists * 4 * s->shared};
}

/* Bytes of the operator of CG. */
static sp_memory operator_bytes(const sp_memory_case *c) {
  const bool for_level = c->preconditioner == SP_PRECONDITIONER_MULTIGRID;
  return has_device(c) ? device_operator(&c->levels[0], 8, for_level, true)
                       : host_operator(c, &c->levels[0], 8, c->one_sweep);
}

sp_coarse_place sp_memory_place(const sp_memory_case *c) {
  return c->bars > 0 ? SP_COARSE_EVERYWHERE
                     : sp_coarse_choose(c->backend, c->multigrid.coarse, c->ranks, c->rows);
}

/* Entries of the interpolation from bars: per direction across them N nodes have 2 N - 1. */
static double bars_entries(const sp_memory_level *l) {
  return l->sizes.dofs * pow(2 - 1.0 / l->order, 2);
}

/* sp_coarse; creation->host becomes what else its creation needs until multigrid is complete. hypre
 * takes about 570 bytes per row (measured with boxes of 32^3 and 60^3 elements on four ranks), and
 * b, x 16. Otherwise a rank, or only rank 0, has all rows: a factor or an inverse, or for each row
 * 27 entries, along bars 9 (N + 2), and a third of that again for further levels, six of transfers,
 * six vectors; an entry has 12 bytes during creation, then r + 4. A device has an inverse of 1000
 * rows. Bars have an interpolation and its transpose, which have 12 bytes per entry at first, too.
 */
static sp_memory coarse_bytes(const sp_memory_case *c, const sp_memory_level *l, double r,
                              sp_memory *creation) {
  const double rows = c->rows, dofs = l->sizes.dofs;
  const double width = c->bars > 0 ? 9 * (l->order + 2) : 27, entries = rows * (1.35 * width + 6);
  const double transfers = c->bars > 0 ? 2 * bars_entries(l) + 2 * dofs : dofs;
  const sp_coarse_place place = sp_memory_place(c);
  *creation = (sp_memory){0};
  if (place == SP_COARSE_HYPRE) return (sp_memory){586 * dofs, 0};
  if (place == SP_COARSE_ONE_RANK && !c->is_first) return (sp_memory){28 * dofs, 0};
  const bool direct =
      c->multigrid.coarse != SP_COARSE_AMG && rows <= sp_coarse_direct_most(c->backend);
  creation->host = 12 * entries;
  const double matrix = direct ? rows * rows * (has_device(c) ? r : 8)
                               : entries * (r + 4) + 6 * rows * r + has_device(c) * 1e6 * r;
  const sp_memory gathered = exchange_bytes(c, c->ranks > 1 ? rows : 0);
  sp_memory m = arrays(c, 1, transfers * (r + 4) + matrix);
  m.host += 4 * dofs;
  return sum(gathered, m);
}

static double precision_bytes(const sp_memory_case *c) {
  return c->multigrid.precision == SP_CYCLE_SINGLE ? 4 : 8;
}

static bool has_schwarz(const sp_memory_case *c, const sp_memory_level *l) {
  return c->multigrid.smoother == SP_SMOOTHER_SCHWARZ && l->order > 1;
}

/* A level that is smoothed: operator, sp_chebyshev with D^-1, r, d, product; sp_schwarz with 3 n
 * (n + 1) numbers and n^3 weights per element; of columns, which all elements may be in, n^3
 * coefficients, 4 n^2 numbers and on the host n^3 nodes 4. Level 0 shares the operator's lists. */
static sp_memory smoothed_bytes(const sp_memory_case *c, int index) {
  const sp_memory_level *l = &c->levels[index];
  const sp_sizes *s = &l->sizes;
  const double r = precision_bytes(c), n = l->order + 1;
  sp_memory m =
      has_device(c) ? device_operator(l, r, true, index > 0) : host_operator(c, l, r, false);
  m = sum(m, arrays(c, 4, r * s->dofs));
  if (!has_schwarz(c, l)) return m;
  m.host += seam_bytes(c, s->elements, 1, n * n * n, r);
  if (!has_device(c)) m.host += 4 * n * n * n * s->elements;
  return sum(m, arrays(c, 1, r * (3 * n * (n + 1) + 4 * n * n + 2 * n * n * n) * s->elements));
}

/* While a level is created: the diagonal and a start vector in double, two vectors of Lanczos'
 * method; for Schwarz four more in double, and per element bases, weights and sp_separable in
 * double. */
static sp_memory creation_bytes(const sp_memory_case *c, const sp_memory_level *l) {
  const sp_sizes *s = &l->sizes;
  const double n = l->order + 1;
  sp_memory m = arrays(c, 2, precision_bytes(c) * s->dofs);
  m.host += 16 * s->dofs;
  if (has_schwarz(c, l))
    m.host += 32 * s->dofs + s->elements * (24 * n * (n + 1) + 16 * n * n + 8 * n * n * n + 150);
  return m;
}

/* sp_transfer, on the host: weights and correction. On a device: correction; at each coarse node a
 * sum r and lists 8, and 4 per coarse DOF. Between meshes 27 nodes 4 per coarse element. */
static sp_memory transfer_bytes(const sp_memory_case *c, const sp_memory_level *fine,
                                const sp_memory_level *coarse) {
  const double r = precision_bytes(c), dofs = fine->sizes.dofs, elements = coarse->sizes.elements;
  const double nodes = pow(coarse->order + 1, 3), list = coarse->coarser ? 4 * 27 * elements : 0;
  const double fine_nodes = coarse->coarser ? 27 : pow(fine->order + 1, 3);
  if (has_device(c))
    return (sp_memory){0, r * dofs + elements * nodes * (r + 8) + 4 * coarse->sizes.dofs + list};
  sp_memory m = arrays(c, 2, r * dofs);
  m.host += list + seam_bytes(c, elements, 1, fine_nodes, r) + seam_bytes(c, elements, 1, nodes, r);
  return m;
}

/* Multigrid; *peak is its peak during creation: the last level first, then from the finest on. All
 * levels have b and x; those below the finest have a space. */
static sp_memory multigrid_bytes(const sp_memory_case *c, sp_memory *peak) {
  const int last = c->multigrid.levels - 1;
  const bool solved = c->multigrid.coarse != SP_COARSE_CHEBYSHEV;
  sp_memory held = {0}, creation = {0};
  *peak = held;
  for (int k = 0; k <= last; k++) {
    const int i = k == 0 ? last : k - 1;
    const sp_memory_level *l = &c->levels[i];
    held = sum(held, arrays(c, 2, precision_bytes(c) * l->sizes.dofs));
    if (i > 0 && c->bars == 0) held = sum(held, space_bytes(c, l));
    if (l->coarser)
      held.host += sp_memory_of_mesh(&l->sizes, c->map_order) + 32 * l->sizes.elements;
    if (i == last && solved) {
      held = sum(held, coarse_bytes(c, l, precision_bytes(c), &creation));
      if (c->bars > 0) *peak = sum(held, (sp_memory){creation.host + 24 * bars_entries(l), 0});
    } else {
      held = sum(held, smoothed_bytes(c, i));
      *peak = larger(*peak, sum(held, creation_bytes(c, l)));
    }
    if (k > 0 && c->bars == 0) held = sum(held, transfer_bytes(c, l, l + 1));
  }
  *peak = larger(*peak, sum(held, creation));
  return held;
}

/* The preconditioner; *peak is its peak during creation. Jacobi and none: D^-1, and the diagonal on
 * the host. */
static sp_memory preconditioner_bytes(const sp_memory_case *c, sp_memory *peak) {
  const double dofs = c->levels[0].sizes.dofs;
  *peak = (sp_memory){0};
  if (c->preconditioner == SP_PRECONDITIONER_MULTIGRID) return multigrid_bytes(c, peak);
  const sp_memory held = arrays(c, 1, 8 * dofs);
  *peak = sum(held, (sp_memory){8 * dofs, 0});
  return held;
}

/* The field file: columns; rank, tag and region of cells; up to 8 MB of connectivity. With a flux,
 * its sums and weights at the nodes. */
static double field_bytes(const sp_memory_case *c) {
  const sp_sizes *s = &c->levels[0].sizes;
  if (c->field_columns == 0) return 0;
  const double nodes = s->elements * pow(c->levels[0].order + 1, 3);
  return 8 * s->dofs * (c->field_columns + 4 * c->flux) + 24 * s->elements +
         fmin(8 * nodes, 8 << 20);
}

sp_memory sp_memory_predict(const sp_memory_case *c) {
  const sp_sizes *s = &c->levels[0].sizes;
  sp_memory creation;
  const sp_memory mesh = {c->at_start + sp_memory_of_mesh(s, c->map_order), 0};
  const double reordering = s->elements * (24 * pow(c->map_order + 1, 3) + 4); /* the lattice */
  /* Dirichlet mask 1, values, load, work and initial iterate 8; components of elements and DOFs 4;
   * x, b, r. */
  sp_memory held = sum(sum(mesh, space_bytes(c, &c->levels[0])), operator_bytes(c));
  held = sum(held, arrays(c, 3, 8 * s->dofs));
  held.host += (25 + 8 * c->has_initial) * s->dofs + c->null_space * 4 * (s->elements + s->dofs);
  const sp_memory preconditioner = preconditioner_bytes(c, &creation);
  const double coefficients = 8 * c->coefficients * s->elements;
  creation.host += coefficients;
  /* The initial iterate: scratch and a diagonal, parts 4 per DOF. */
  sp_memory start = arrays(c, 2, 8 * s->dofs);
  start.host += coefficients + 4 * s->dofs;
  /* CG: p, Ap; two to measure the solution, which takes three if Dirichlet values are lifted, and
   * none without films if all are zero; another p if neighbours read the old direction; with
   * multigrid z. */
  const int vectors =
      4 + c->backend->two_directions + (c->preconditioner == SP_PRECONDITIONER_MULTIGRID);
  const sp_memory solver = arrays(c, vectors, 8 * s->dofs);
  const sp_memory ready = sum(held, preconditioner);
  sp_memory peak = sum(mesh, (sp_memory){reordering, 0});
  peak = larger(peak, sum(held, creation));
  peak = larger(peak, sum(ready, start));
  peak = larger(peak, sum(ready, solver));
  /* Afterwards the solution and its file. */
  return larger(peak, sum(ready, (sp_memory){8 * s->dofs + field_bytes(c), 0}));
}
