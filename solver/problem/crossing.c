#include "solver/problem/crossing.h"

#include <limits.h>
#include <stdlib.h>

/* ---- The two sides of a surface ---- */

/* Physical Volumes on the sides of a surface between elements; numbers are those of volumes. */
typedef struct sides {
  int low, high;
} sides;

/* Return the member that a face between elements is on, or -1. */
static int member_of(const sp_hexes *hexes, const bool *members, sp_lid e, int f) {
  const int surface = sp_surface_of(hexes->surfaces[e][f]);
  const bool inner = !sp_surface_is_exterior(hexes->surfaces[e][f]);
  return inner && surface >= 0 && members[surface] ? surface : -1;
}

/* numbers[volume.count]: the lowest of the groups that a volume is in, but for groups on both sides
 * of all faces. A volume in no other follows all groups, and a contact follows all volumes. */
static sp_status find_numbers(const sp_mesh *mesh, const bool *members, int **numbers) {
  const sp_hexes *hexes = mesh->hexes;
  const int count = hexes->volume.count;
  SP_OWNED bool *has_face = NULL; /* by volume */
  SP_TRY(sp_agree(mesh->comm,
                  SP_ALLOCATE("volumes", SP_ARRAY(*numbers, count), SP_ARRAY(has_face, count))));
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++)
      if (member_of(hexes, members, e, f) >= 0) has_face[hexes->volumes[e]] = true;
  MPI_Allreduce(MPI_IN_PLACE, has_face, count, MPI_C_BOOL, MPI_LOR, mesh->comm);
  for (int v = 0; v < count; v++) (*numbers)[v] = INT_MAX - (v < count - hexes->file.contacts);
  for (int g = 0; g < hexes->volume.group_count; g++) {
    const sp_group *group = &hexes->volume.groups[g];
    bool separates = false;
    for (int v = 0; v < count; v++) separates = separates || (has_face[v] && !group->members[v]);
    for (int v = 0; v < count && separates; v++)
      if (group->members[v] && group->number < (*numbers)[v]) (*numbers)[v] = group->number;
  }
  return SP_OK;
}

/* both[surface.count]: low <= high; INT_MAX and -INT_MAX for surfaces that are no members or
 * exterior. */
static sp_status find_sides(const sp_mesh *mesh, const bool *members, int **numbers, sides **both) {
  const sp_hexes *hexes = mesh->hexes;
  const int count = hexes->surface.count;
  SP_TRY(find_numbers(mesh, members, numbers));
  SP_TRY(sp_agree(mesh->comm, sp_allocate((size_t)count, sizeof **both, "surfaces", both)));
  for (int s = 0; s < count; s++) (*both)[s] = (sides){INT_MAX, INT_MAX}; /* high: its negative */
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++) {
      const int s = member_of(hexes, members, e, f);
      if (s < 0) continue;
      const int number = (*numbers)[hexes->volumes[e]];
      if (number < (*both)[s].low) (*both)[s].low = number;
      if (-number < (*both)[s].high) (*both)[s].high = -number;
    }
  MPI_Allreduce(MPI_IN_PLACE, *both, 2 * count, MPI_INT, MPI_MIN, mesh->comm);
  for (int s = 0; s < count; s++) (*both)[s].high = -(*both)[s].high;
  return SP_OK;
}

/* Faces of a group, seen from each of their elements. */
enum { EXTERIOR, LOW, HIGH, OTHER, KINDS };

static void count_kinds(const sp_hexes *hexes, const bool *members, const int *numbers,
                        const sides *both, sp_gid counts[KINDS]) {
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++) {
      const int s = member_of(hexes, members, e, f), exterior = hexes->surfaces[e][f];
      counts[EXTERIOR] += exterior >= 0 && members[exterior];
      if (s < 0) continue;
      const int number = numbers[hexes->volumes[e]];
      counts[both[s].low == both[s].high ? OTHER
             : number == both[s].low     ? LOW
             : number == both[s].high    ? HIGH
                                         : OTHER]++;
    }
}

sp_status sp_crossing_check(const char *where, const sp_problem *problem, const sp_mesh *mesh,
                            const bool *members, bool *crosses) {
  sp_gid counts[KINDS] = {0};
  sides *both = NULL;
  SP_OWNED int *numbers = NULL;
  int fixed = 0, twice = 0; /* the low number of a surface and the high one of another */
  *crosses = false;
  sp_status status = find_sides(mesh, members, &numbers, &both);
  if (!status) {
    count_kinds(mesh->hexes, members, numbers, both, counts);
    MPI_Allreduce(MPI_IN_PLACE, counts, KINDS, SP_MPI_GID, MPI_SUM, mesh->comm);
    const int count = mesh->hexes->surface.count;
    for (int s = 0; s < count; s++)
      for (int t = 0; t < count && both[s].low < INT_MAX; t++)
        if (both[s].high == both[t].low) twice = both[t].low;
    for (int s = 0; s < count; s++)
      fixed += both[s].low < INT_MAX &&
               problem->parts[problem->part_of_surface[s]].condition != SP_CONTACT &&
               problem->part_of_surface[s] < problem->part_count - 1;
  }
  free(both);
  SP_TRY(status);
  *crosses = counts[LOW] + counts[OTHER] > 0 && !fixed;
  if (!*crosses) return SP_OK;
  if (counts[EXTERIOR] > 0)
    return sp_fail(
        SP_ERR_INPUT,
        "%s: expected faces of the boundary or faces between elements, found %lld of the "
        "first and %lld of the second",
        where, (long long)counts[EXTERIOR], (long long)(counts[LOW] + counts[OTHER]));
  if (counts[OTHER] > 0 || counts[LOW] != counts[HIGH])
    return sp_fail(
        SP_ERR_INPUT,
        "%s: a flux between elements goes from the Physical Volume of the lower number to "
        "that of the higher; expected two on the sides of each surface, found one or "
        "others at %lld faces",
        where, (long long)(counts[OTHER] + llabs(counts[LOW] - counts[HIGH])));
  if (twice > 0)
    return sp_fail(SP_ERR_INPUT,
                   "%s: a flux between elements goes from the Physical Volume of the lower number "
                   "to that of the higher, but number %d is the lower at some faces and the higher "
                   "at others; expected a flux for each surface",
                   where, twice);
  return SP_OK;
}

/* ---- All sides ---- */

/* True if a line of [boundary] fixes u in the volumes of this number. */
static bool is_fixed(const sp_fluxes *s, const int *numbers, int number) {
  bool fixed = false;
  for (int v = 0; v < s->space->mesh->hexes->volume.count; v++)
    fixed = fixed || (numbers[v] == number && s->problem->part_of_volume[v] >= 0);
  return fixed;
}

/* The side of a surface whose flux is computed. */
typedef struct taken {
  int number; /* INT_MAX for no such surface */
  bool high;
} taken;

/* The next number after `last` among own[surface.count]; INT_MAX after the largest. */
static int next_number(int count, const taken *own, int last) {
  int next = INT_MAX;
  for (int s = 0; s < count; s++)
    if (own[s].number > last && own[s].number < next) next = own[s].number;
  return next;
}

/* The sum of fluxes from the low sides to the high ones. */
typedef struct crossing {
  const sp_fluxes *fluxes;
  const taken *own;
  int number; /* of the side in question */
  double flux;
} crossing;

static void add_flux(void *crossing_, sp_lid e, int f, double flux) {
  crossing *c = crossing_;
  const int place = c->fluxes->space->mesh->hexes->surfaces[e][f], surface = sp_surface_of(place);
  if (sp_surface_is_exterior(place) || surface < 0 || c->own[surface].number != c->number) return;
  c->flux += c->own[surface].high ? -flux : flux;
}

/* *flux = that of this rank. */
static sp_status sum_sides(sp_fluxes *s, const taken *own, double *flux) {
  const sp_hexes *hexes = s->space->mesh->hexes;
  const int count = hexes->surface.count;
  crossing c = {.fluxes = s, .own = own};
  s->on_face = add_flux;
  s->context = &c;
  for (int number = next_number(count, own, -1); number < INT_MAX;
       number = next_number(count, own, number)) {
    for (int v = 0; v < hexes->volume.count; v++) s->volumes[v] = s->keys[v] == number;
    c.number = number;
    SP_TRY(sp_fluxes_compute(s, NULL));
  }
  *flux = c.flux;
  return SP_OK;
}

/* The low side of a surface is taken, or the high one if a line fixes u in the low one. */
static sp_status prepare(sp_fluxes *s, const int *numbers, const sides *both, taken **own) {
  const sp_hexes *hexes = s->space->mesh->hexes;
  SP_TRY(sp_allocate((size_t)hexes->surface.count, sizeof **own, "surfaces", own));
  SP_TRY(sp_fluxes_open(s));
  for (int v = 0; v < hexes->volume.count; v++) s->keys[v] = numbers[v];
  for (int i = 0; i < hexes->surface.count; i++) {
    const bool high = both[i].low < INT_MAX && is_fixed(s, numbers, both[i].low);
    (*own)[i] = (taken){high ? both[i].high : both[i].low, high};
  }
  return SP_OK;
}

sp_status sp_crossing_flux(sp_fluxes *whole, const bool *members, double *flux) {
  const sp_space *space = whole->space;
  sp_fluxes fluxes = sp_fluxes_of_parts(whole);
  int *numbers = NULL;
  sides *both = NULL;
  taken *own = NULL;
  sp_status status = find_sides(space->mesh, members, &numbers, &both);
  if (!status) status = sp_agree(space->mesh->comm, prepare(&fluxes, numbers, both, &own));
  if (!status) status = sp_fluxes_mark(&fluxes);
  if (!status) status = sum_sides(&fluxes, own, flux);
  whole->noise += fluxes.noise;
  sp_fluxes_close(&fluxes);
  SP_FREE(numbers, both, own);
  SP_TRY(status);
  return sp_reduction_sum(space->platform->reduction, 1, flux, SP_OK);
}
