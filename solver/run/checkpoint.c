#include "solver/run/checkpoint.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/checkpoint_file.h"
#include "io/hash.h"
#include "io/rendezvous.h"
#include "mesh/reference.h"
#include "solver/run/checkpoint_case.h"

struct sp_checkpoint {
  MPI_Comm comm;
  int rank;
  const char *path, *restart; /* "" for none */
  double every, next;         /* seconds, MPI_Wtime; every = 0: never due */
  char *case_text;
  int64_t mesh;
  sp_gid global, first;
  sp_lid owned, local;
  int64_t (*names)[2];                   /* [local] */
  double *values[SP_CHECKPOINT_VECTORS]; /* [owned], if there is something to save to */
  sp_status last_save;
  char message[1024]; /* of its failure */
};

static_assert(sizeof(sp_row_name) == sizeof(int64_t[2]), "names are handed on as they lie");

/* ---- Names ---- */

/* For every DOF the least tag of the elements that it is in, on all ranks; with `places` the least
 * place, of its nodes in elements of that tag. */
static void find_least(const sp_space *space, bool places, int64_t (*names)[2], double *least) {
  const sp_mesh *mesh = space->mesh;
  const sp_numbering *numbering = space->numbering;
  const sp_hexes *hexes = mesh->hexes;
  const size_t nodes = sp_element_nodes(numbering->order);
  for (sp_lid i = 0; i < numbering->local; i++) least[i] = INFINITY;
  for (size_t e = 0; e < (size_t)hexes->count; e++)
    for (size_t n = 0; n < nodes; n++) {
      const sp_lid dof = numbering->nodes[e * nodes + n];
      if (places && names[dof][0] != hexes->tags[e]) continue;
      const double number =
          places ? (double)hexes->octants[e] * (double)nodes + (double)n : (double)hexes->tags[e];
      least[dof] = fmin(least[dof], number);
    }
  sp_exchange_now(space->exchange, SP_MIN, least);
  for (sp_lid i = 0; i < numbering->local; i++) names[i][places] = (int64_t)least[i];
}

static sp_status check_tags(const sp_hexes *hexes) {
  const sp_gid largest = (sp_gid)1 << 53; /* numbers travel as doubles */
  for (sp_lid e = 0; e < hexes->count; e++)
    if (hexes->tags[e] > largest || hexes->tags[e] < -largest)
      return sp_fail(SP_ERR_INPUT,
                     "element %lld: checkpoints need element numbers up to 2^53; renumber the mesh",
                     (long long)hexes->tags[e]);
  return SP_OK;
}

/* Tags first, then the place among the elements of this tag. */
static sp_status name_dofs(const sp_space *space, int64_t (*names)[2]) {
  const sp_mesh *mesh = space->mesh;
  const sp_numbering *numbering = space->numbering;
  double *least = NULL;
  sp_status status = check_tags(mesh->hexes);
  if (!status)
    status = sp_allocate((size_t)numbering->local, sizeof *least, "names of DOFs", &least);
  status = sp_agree(mesh->comm, status);
  for (int places = 0; places < 2 && !status; places++) find_least(space, places, names, least);
  free(least);
  return status;
}

/* ---- Fingerprints ---- */

static int64_t sum_over_ranks(MPI_Comm comm, uint64_t sum) {
  int64_t result;
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, comm);
  memcpy(&result, &sum, sizeof result);
  return result;
}

static uint64_t name_of(const sp_group *group) {
  return sp_hash_fold(sp_hash_fold_text(0, group->name), (uint64_t)group->number);
}

/* A sum, so that the order of elements does not matter. */
static int64_t mesh_fingerprint(const sp_mesh *mesh) {
  const sp_hexes *hexes = mesh->hexes;
  const size_t width = 3 * sp_hexes_lattice_size(hexes);
  uint64_t sum = 0;
  for (size_t e = 0; e < (size_t)hexes->count; e++) {
    uint64_t hash = sp_hash((uint64_t)hexes->tags[e]);
    hash = sp_hash_fold(hash, (uint64_t)hexes->octants[e]);
    for (size_t c = 0; c < width; c++)
      hash = sp_hash_fold_double(hash, hexes->lattice[e * width + c]);
    sum += hash;
    for (int g = 0; g < hexes->volume_group_count; g++)
      if (hexes->volume_groups[g].members[hexes->volumes[e]])
        sum += sp_hash_fold(hash, name_of(&hexes->volume_groups[g]));
    for (int f = 0; f < SP_FACES; f++) {
      const int surface = hexes->surfaces[e][f];
      if (surface < 0) continue;
      for (int g = 0; g < hexes->group_count; g++) {
        const sp_group *group = &hexes->groups[g];
        if (!group->members[surface]) continue;
        sum += sp_hash_fold(hash, sp_hash_fold(name_of(group), (uint64_t)f));
      }
    }
  }
  return sum_over_ranks(mesh->comm, sum);
}

static int64_t checksum(MPI_Comm comm, int rank, const sp_checkpoint_header *header,
                        const sp_checkpoint_rows *rows) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < rows->count; i++) {
    uint64_t hash = sp_hash((uint64_t)rows->names[i][0]);
    hash = sp_hash_fold(hash, (uint64_t)rows->names[i][1]);
    for (int v = 0; v < SP_CHECKPOINT_VECTORS; v++)
      hash = sp_hash_fold_double(hash, rows->values[v][i]);
    sum += hash;
  }
  if (rank == 0) {
    uint64_t hash = sp_hash((uint64_t)header->iteration);
    const double numbers[] = {header->norm_b, header->residual, header->rz, header->beta};
    for (int n = 0; n < 4; n++) hash = sp_hash_fold_double(hash, numbers[n]);
    sum += hash;
  }
  return sum_over_ranks(comm, sum);
}

/* ---- Making and saving ---- */

static sp_status check_restart(const sp_config *config) {
  sp_checkpoint_header header;
  char *own = NULL;
  SP_TRY(sp_checkpoint_file_header(config->output.restart, &header));
  sp_status status = sp_checkpoint_case_text(config, &own);
  if (!status) status = sp_checkpoint_case_compare(config->output.restart, header.case_text, own);
  free(own);
  free(header.case_text);
  return status;
}

sp_status sp_checkpoint_check(MPI_Comm comm, const sp_config *config) {
  int rank;
  MPI_Comm_rank(comm, &rank);
  if (!config->output.restart[0]) return SP_OK;
  return sp_agree(comm, rank == 0 ? check_restart(config) : SP_OK);
}

static sp_status allocate(const sp_config *config, sp_checkpoint *c) {
  SP_TRY(sp_checkpoint_case_text(config, &c->case_text));
  SP_TRY(sp_allocate((size_t)c->local, sizeof *c->names, "names of DOFs", &c->names));
  for (int v = 0; v < SP_CHECKPOINT_VECTORS && c->path[0]; v++)
    SP_TRY(sp_allocate((size_t)c->owned, sizeof(double), "checkpoint", &c->values[v]));
  return SP_OK;
}

sp_status sp_checkpoint_create(const sp_config *config, const sp_space *space,
                               sp_checkpoint **out) {
  const sp_mesh *mesh = space->mesh;
  const sp_numbering *numbering = space->numbering;
  *out = NULL;
  if (!config->output.checkpoint[0] && !config->output.restart[0]) return SP_OK;
  sp_checkpoint *c;
  sp_status status = sp_allocate(1, sizeof *c, "checkpoint", &c);
  if (!status) {
    *c = (sp_checkpoint){.comm = mesh->comm,
                         .path = config->output.checkpoint,
                         .restart = config->output.restart,
                         .every = config->output.every,
                         .next = MPI_Wtime() + config->output.every,
                         .global = numbering->global,
                         .first = numbering->first,
                         .owned = numbering->owned,
                         .local = numbering->local};
    MPI_Comm_rank(c->comm, &c->rank);
    status = allocate(config, c);
  }
  status = sp_agree(mesh->comm, status);
  if (!status) status = name_dofs(space, c->names);
  if (status) {
    sp_checkpoint_destroy(&c);
    return status;
  }
  c->mesh = mesh_fingerprint(mesh);
  *out = c;
  return SP_OK;
}

void sp_checkpoint_destroy(sp_checkpoint **checkpoint) {
  if (!*checkpoint) return;
  for (int v = 0; v < SP_CHECKPOINT_VECTORS; v++) free((*checkpoint)->values[v]);
  free((*checkpoint)->names);
  free((*checkpoint)->case_text);
  free(*checkpoint);
  *checkpoint = NULL;
}

bool sp_checkpoint_is_due(const sp_checkpoint *checkpoint) {
  return checkpoint && checkpoint->path[0] && checkpoint->rank == 0 && checkpoint->every > 0 &&
         MPI_Wtime() >= checkpoint->next;
}

static sp_status download(const sp_checkpoint *c, const sp_operator *op,
                          const sp_cg_vectors *vectors) {
  const double *const from[SP_CHECKPOINT_VECTORS] = {[SP_CHECKPOINT_X] = vectors->x,
                                                     [SP_CHECKPOINT_R] = vectors->r,
                                                     [SP_CHECKPOINT_P] = vectors->p};
  for (int v = 0; v < SP_CHECKPOINT_VECTORS; v++)
    SP_TRY(op->backend->download(op->device, SP_DOUBLE, (size_t)c->owned, from[v], c->values[v]));
  return SP_OK;
}

static sp_status save(sp_checkpoint *c, const sp_operator *op, const sp_cg_progress *progress,
                      const sp_cg_vectors *vectors) {
  SP_TRY(sp_agree(c->comm, download(c, op, vectors)));
  sp_checkpoint_rows rows = {.first = c->first, .count = c->owned, .names = c->names};
  memcpy(rows.values, c->values, sizeof rows.values);
  sp_checkpoint_header header = {.case_text = c->case_text,
                                 .mesh = c->mesh,
                                 .dofs = c->global,
                                 .iteration = progress->iteration,
                                 .norm_b = progress->norm_b,
                                 .residual = progress->residual,
                                 .rz = progress->rz,
                                 .beta = progress->beta};
  header.checksum = checksum(c->comm, c->rank, &header, &rows);
  return sp_checkpoint_file_write(c->comm, c->path, &header, &rows);
}

sp_status sp_checkpoint_save(sp_checkpoint *checkpoint, const sp_operator *op,
                             const sp_cg_progress *progress, const sp_cg_vectors *vectors) {
  sp_checkpoint *c = checkpoint;
  if (!c || !c->path[0]) return SP_OK;
  c->last_save = save(c, op, progress, vectors);
  if (c->last_save) snprintf(c->message, sizeof c->message, "%s", sp_error_message());
  c->next = MPI_Wtime() + c->every;
  return c->last_save;
}

sp_status sp_checkpoint_last_save(const sp_checkpoint *checkpoint) {
  if (!checkpoint || !checkpoint->last_save) return SP_OK;
  return sp_fail(checkpoint->last_save, "%s", checkpoint->message);
}

/* ---- Restart ---- */

bool sp_checkpoint_restarts(const sp_checkpoint *checkpoint) {
  return checkpoint && checkpoint->restart[0];
}

static sp_status check_mesh(const sp_checkpoint *c, const sp_checkpoint_header *header) {
  SP_TRY(sp_checkpoint_case_compare(c->restart, header->case_text, c->case_text));
  if (header->dofs != c->global)
    return sp_fail(SP_ERR_INPUT,
                   "checkpoint %s is of another mesh: %lld degrees of freedom there, %lld here",
                   c->restart, (long long)header->dofs, (long long)c->global);
  if (header->mesh != c->mesh)
    return sp_fail(SP_ERR_INPUT,
                   "checkpoint %s is of another mesh: the elements, their points or their boundary "
                   "groups differ",
                   c->restart);
  return SP_OK;
}

/* This rank's share of the file, as it comes. */
typedef struct share {
  sp_checkpoint_rows rows;
  sp_row *packed;
} share;

static void share_free(share *s) {
  free(s->rows.names);
  for (int v = 0; v < SP_CHECKPOINT_VECTORS; v++) free(s->rows.values[v]);
  free(s->packed);
}

static sp_status read_share(const sp_checkpoint *c, share *s) {
  int size;
  MPI_Comm_size(c->comm, &size);
  const int64_t each = c->global / size, rest = c->global % size;
  s->rows.first = each * c->rank + (c->rank < rest ? c->rank : rest);
  s->rows.count = each + (c->rank < rest);
  const size_t n = (size_t)s->rows.count;
  SP_TRY(sp_allocate(n, sizeof *s->rows.names, "checkpoint", &s->rows.names));
  for (int v = 0; v < SP_CHECKPOINT_VECTORS; v++)
    SP_TRY(sp_allocate(n, sizeof(double), "checkpoint", &s->rows.values[v]));
  SP_TRY(sp_allocate(n, sizeof *s->packed, "checkpoint", &s->packed));
  SP_TRY(sp_checkpoint_file_rows(c->restart, c->global, &s->rows));
  for (size_t i = 0; i < n; i++) {
    memcpy(s->packed[i].name.part, s->rows.names[i], sizeof s->packed[i].name.part);
    for (int v = 0; v < SP_CHECKPOINT_VECTORS; v++) s->packed[i].values[v] = s->rows.values[v][i];
  }
  return SP_OK;
}

/* Find every local DOF's row. Collective. */
static sp_status distribute(const sp_checkpoint *c, const share *s, double *const vectors[]) {
  double(*values)[SP_ROW_VALUES];
  sp_row_name *wanted = NULL;
  const size_t local = (size_t)c->local;
  sp_status status = sp_allocate(local, sizeof *values, "checkpoint", &values);
  if (!status) status = sp_allocate(local, sizeof *wanted, "checkpoint", &wanted);
  status = sp_agree(c->comm, status);
  if (!status) {
    memcpy(wanted, c->names, local * sizeof *wanted);
    status = sp_rendezvous(c->comm, s->rows.count, s->packed, c->local, wanted, values);
    if (status)
      status = sp_fail(status, "checkpoint %s does not fit the mesh: %s (element, place)",
                       c->restart, sp_error_message());
  }
  if (!status)
    for (size_t i = 0; i < local; i++)
      for (int v = 0; v < SP_CHECKPOINT_VECTORS; v++) vectors[v][i] = values[i][v];
  free(wanted);
  free(values);
  return status;
}

/* Collective. */
static sp_status load(const sp_checkpoint *c, const sp_checkpoint_header *header, share *s,
                      double *const vectors[]) {
  SP_TRY(sp_agree(c->comm, check_mesh(c, header)));
  SP_TRY(sp_agree(c->comm, read_share(c, s)));
  const bool damaged = checksum(c->comm, c->rank, header, &s->rows) != header->checksum;
  SP_TRY(sp_agree(c->comm, damaged ? sp_fail(SP_ERR_INPUT,
                                             "checkpoint %s is damaged: its checksum is not that "
                                             "of its contents",
                                             c->restart)
                                   : SP_OK));
  return distribute(c, s, vectors);
}

sp_status sp_checkpoint_load(const sp_checkpoint *checkpoint, sp_cg_progress *progress, double *x,
                             double *r, double *p) {
  double *const vectors[SP_CHECKPOINT_VECTORS] = {
      [SP_CHECKPOINT_X] = x, [SP_CHECKPOINT_R] = r, [SP_CHECKPOINT_P] = p};
  sp_checkpoint_header header;
  share s = {0};
  sp_status status = sp_checkpoint_file_header(checkpoint->restart, &header);
  status = sp_agree(checkpoint->comm, status);
  if (!status) status = load(checkpoint, &header, &s, vectors);
  if (!status)
    *progress = (sp_cg_progress){.iteration = header.iteration,
                                 .norm_b = header.norm_b,
                                 .residual = header.residual,
                                 .rz = header.rz,
                                 .beta = header.beta};
  share_free(&s);
  free(header.case_text);
  return status;
}
