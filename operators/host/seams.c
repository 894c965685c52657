#include "operators/host/seams.h"

#include "operators/host/memory.h"

enum { NOBODY = -1, ON_SEAM = -2 };

/* Workspace while seams are found. */
typedef struct search {
  const sp_host_seam_items *of;
  sp_lid *seam; /* [local]: NOBODY or ON_SEAM, later the index of the seam */
  sp_lid *last; /* [local]: the last item that adds to it */
} search;

static sp_lid plain(sp_lid dof) {
  return dof < 0 ? ~dof : dof;
}

static const sp_lid *nodes_of(const search *s, sp_lid item) {
  return &s->of->nodes[(size_t)item * (size_t)s->of->width];
}

/* Find the last item of each DOF, and mark the DOFs to which another thread adds in the same part.
 */
static void mark_seams(search *s) {
  for (sp_lid d = 0; d < s->of->local; d++) s->seam[d] = s->last[d] = NOBODY;
  for (int part = 0, first = 0; part < SP_SEAM_PARTS; first = s->of->part_end[part++]) {
    const sp_lid items = s->of->part_end[part] - first;
    for (int thread = 0; thread < s->of->threads; thread++) {
      const sp_lid begin = first + sp_host_share(items, s->of->group, thread, s->of->threads);
      const sp_lid end = first + sp_host_share(items, s->of->group, thread + 1, s->of->threads);
      for (sp_lid i = begin; i < end; i++)
        for (sp_lid q = 0; q < s->of->width; q++) {
          const sp_lid d = plain(nodes_of(s, i)[q]);
          if (s->last[d] >= first && s->last[d] < begin) s->seam[d] = ON_SEAM;
          s->last[d] = i;
        }
    }
  }
}

/* Number the seams by the part after which they are complete. */
static sp_status number_seams(search *s, sp_host_seams *seams) {
  for (sp_lid d = 0; d < s->of->local; d++) seams->count += s->seam[d] == ON_SEAM;
  SP_TRY(sp_allocate((size_t)seams->count, sizeof *seams->dofs, "seams", &seams->dofs));
  sp_lid n = 0;
  for (int part = 0, first = 0; part < SP_SEAM_PARTS; first = s->of->part_end[part++]) {
    for (sp_lid d = 0; d < s->of->local; d++)
      if (s->seam[d] == ON_SEAM && s->last[d] >= first && s->last[d] < s->of->part_end[part]) {
        seams->dofs[n] = d;
        s->seam[d] = n++;
      }
    seams->ready[part] = n;
  }
  return SP_OK;
}

static bool adds_to_seam(const search *s, sp_lid item) {
  for (sp_lid q = 0; q < s->of->width; q++)
    if (s->seam[plain(nodes_of(s, item)[q])] != NOBODY) return true;
  return false;
}

static sp_status assign_slots(const search *s, sp_precision precision, sp_host_seams *seams) {
  const sp_lid items = s->of->part_end[SP_SEAM_PARTS - 1], width = s->of->width;
  size_t rows = 0;
  seams->width = width;
  SP_TRY(sp_allocate((size_t)items, sizeof *seams->row, "seams", &seams->row));
  SP_TRY(sp_allocate((size_t)seams->count + 2, sizeof *seams->start, "seams", &seams->start));
  sp_lid *next = seams->start + 1; /* first counts, then each seam's next free slot */
  for (sp_lid i = 0; i < items; i++) {
    seams->row[i] = adds_to_seam(s, i) ? (sp_lid)rows++ : -1;
    for (sp_lid q = 0; q < width && seams->row[i] >= 0; q++) {
      const sp_lid seam = s->seam[plain(nodes_of(s, i)[q])];
      if (seam != NOBODY) next[seam + 1]++;
    }
  }
  for (sp_lid n = 0; n < seams->count; n++) next[n + 1] += next[n];
  SP_TRY(sp_allocate(rows * (size_t)width, sizeof *seams->targets, "seams", &seams->targets));
  for (sp_lid i = 0; i < items; i++)
    for (sp_lid q = 0; q < width && seams->row[i] >= 0; q++) {
      const sp_lid seam = s->seam[plain(nodes_of(s, i)[q])];
      seams->targets[(size_t)seams->row[i] * (size_t)width + (size_t)q] =
          seam == NOBODY ? -1 : next[seam]++;
    }
  return sp_host_allocate((size_t)seams->start[seams->count], sp_precision_bytes(precision),
                          "seams", &seams->slots);
}

sp_status sp_host_seams_create(const sp_host_seam_items *of, sp_precision precision,
                               sp_host_seams *seams) {
  SP_OWNED sp_lid *seam = NULL, *last = NULL;
  *seams = (sp_host_seams){0};
  SP_TRY(SP_ALLOCATE("seams", SP_ARRAY(seam, of->local), SP_ARRAY(last, of->local)));
  search s = {of, seam, last};
  mark_seams(&s);
  SP_TRY(number_seams(&s, seams));
  return assign_slots(&s, precision, seams);
}

void sp_host_seams_free(sp_host_seams *seams) {
  SP_FREE(seams->dofs, seams->start, seams->row, seams->targets);
  sp_host_free(seams->slots);
  *seams = (sp_host_seams){0};
}

#define DEFINE_FINISH(real)                                                                        \
  static void finish_##real(const sp_host_seams *seams, bool last, sp_lid begin, sp_lid end,       \
                            real *y) {                                                             \
    const real *slots = seams->slots;                                                              \
    for (sp_lid s = begin; s < end; s++) {                                                         \
      real sum = 0;                                                                                \
      for (sp_lid i = seams->start[s]; i < seams->start[s + 1]; i++) sum += slots[i];              \
      y[seams->dofs[s]] = last ? slots[seams->start[s + 1] - 1] : sum;                             \
    }                                                                                              \
  }

DEFINE_FINISH(double)
DEFINE_FINISH(float)

void sp_host_seams_finish(const sp_host_seams *seams, sp_precision precision, int part, bool last,
                          int thread, int threads, void *y) {
  const sp_lid first = part > 0 ? seams->ready[part - 1] : 0, count = seams->ready[part] - first;
  const sp_lid begin = first + sp_host_share(count, 1, thread, threads);
  const sp_lid end = first + sp_host_share(count, 1, thread + 1, threads);
  if (precision == SP_SINGLE)
    finish_float(seams, last, begin, end, y);
  else
    finish_double(seams, last, begin, end, y);
}
