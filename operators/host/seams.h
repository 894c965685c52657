/* Sums into L-vectors by several threads, with the same bits as by one.
 *
 * Threads sweep over items (elements, or blocks of them), each over a contiguous share. A DOF to
 * which several threads add is on a seam. Each addition to it goes to a slot of its own. Afterwards
 * the slots are summed in the order of the items, as one thread would. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "io/error.h"
#include "io/team.h"
#include "mesh/types.h"
#include "operators/kinds.h"

/* Items are in parts; threads synchronise between parts. */
enum { SP_SEAM_PARTS = 2 };

typedef struct sp_host_seams {
  sp_lid count, width;         /* DOFs on seams; targets per item */
  sp_lid ready[SP_SEAM_PARTS]; /* the first ready[p] of them are complete after part p */
  sp_lid *dofs;                /* [count] */
  sp_lid *start;               /* [count + 1]: DOF s has slots start[s] to start[s + 1] - 1 */
  sp_lid *row;                 /* [items]: index in targets; -1: the item adds to no seam */
  sp_lid *targets;             /* [rows][width]: slot; -1: the DOF is on no seam */
  void *slots;                 /* real [start[count]], overwritten in every sweep */
} sp_host_seams;

/* The elements of one thread, [first, last), and its workspace, aligned to 64 bytes. */
typedef struct sp_host_elements {
  sp_lid first, last;
  void *work;
} sp_host_elements;

/* First item of a thread's share. Shares consist of whole groups of `group` items. Local. */
static inline sp_lid sp_host_share(sp_lid items, int group, int thread, int threads) {
  const int64_t first = group * sp_team_share((items + group - 1) / group, thread, threads);
  return first < items ? (sp_lid)first : items;
}

/* Items that add to DOFs. Part p has items [part_end[p - 1], part_end[p]), shared by threads in
 * groups (sp_host_share); part 0 starts at 0. Item i adds to the DOFs nodes[i][q], q < width, or
 * ~nodes[i][q] if that is negative. A node repeated in nodes[i] has several slots. */
typedef struct sp_host_seam_items {
  int threads, group;
  sp_lid part_end[SP_SEAM_PARTS], width;
  const sp_lid *nodes;
  sp_lid local; /* DOFs */
} sp_host_seam_items;

/* Fill *seams for several threads. The caller frees it with sp_host_seams_free, also after a
 * failure. Errors: SP_ERR_SYSTEM. Local. */
sp_status sp_host_seams_create(const sp_host_seam_items *items, sp_precision precision,
                               sp_host_seams *seams);

/* Arrays may be NULL: a struct of zeros has no seams. */
void sp_host_seams_free(sp_host_seams *seams);

/* For this thread's share of the seams that are complete after part p: y[dof] = the sum of its
 * slots or, if `last`, the last slot, for prolongation, in which items overwrite. Local. */
void sp_host_seams_finish(const sp_host_seams *seams, sp_precision precision, int part, bool last,
                          int thread, int threads, void *y);
