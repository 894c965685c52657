#include "solver/results/crossing.h"

#include <math.h>
#include <stdlib.h>

#include "solver/problem/groups.h"

/* ---- The side that a flux leaves ---- */

/* Volume groups: a face goes from it; a face is not of its skin; a face beside it is undecided. */
enum { FROM, MISSES, BESIDE, MARKS };

/* The faces of a flux between elements. */
typedef struct faces {
  int (*across)[SP_FACES]; /* [elements]: the volume on the other side of a face, or -1 */
  /* [elements]: of a contact, 1 beside a face of the flux; of a body, CONTACT beside a contact.
   * NULL if contacts do not give the flux. */
  int (*beside)[SP_FACES];
  bool *marks, *leaves; /* [MARKS][groups]; [volume.count]: the side that the flux leaves */
  sp_gid exterior, inner, fixed, undecided; /* faces; fixed: a line of [boundary] names them */
} faces;

static void free_faces(faces *all) {
  SP_FREE(all->across, all->beside, all->marks, all->leaves);
}

static bool is_member(const sp_hexes *hexes, const bool *members, sp_lid e, int f) {
  const int surface = sp_surface_of(hexes->surfaces[e][f]);
  return !sp_surface_is_exterior(hexes->surfaces[e][f]) && surface >= 0 && members[surface];
}

/* Find the volumes across faces, and across the contacts there. */
static sp_status find_across(const sp_mesh *mesh, int (*across)[SP_FACES]) {
  const sp_hexes *hexes = mesh->hexes;
  for (int pass = 0; pass <= (hexes->file.contacts > 0); pass++) {
    for (sp_lid e = 0; e < hexes->count; e++) {
      const bool is_contact = sp_hexes_is_contact(hexes, e);
      const int low = across[e][4], high = across[e][5]; /* of a contact, after the first pass */
      for (int f = 0; f < SP_FACES; f++) across[e][f] = is_contact ? -1 : hexes->volumes[e];
      if (!is_contact || pass == 0) continue;
      across[e][4] = high;
      across[e][5] = low;
    }
    SP_TRY(sp_surfaces_across(mesh->comm, mesh->topology, mesh->halo_elements, across));
  }
  return SP_OK;
}

/* The group of the lowest number that has volume a and not b, or with b < 0 that misses no face;
 * group_count for none. */
static int lowest_group(const sp_family *volume, const bool *misses, int a, int b) {
  int least = volume->group_count;
  for (int g = 0; g < volume->group_count; g++) {
    const sp_group *group = &volume->groups[g];
    const bool suits = b < 0 ? !misses[g] : sp_group_has(group, a) && !sp_group_has(group, b);
    if (suits && (least == volume->group_count || group->number < volume->groups[least].number))
      least = g;
  }
  return least;
}

/* Mark the groups beside a face between volumes a and b. */
static void mark_groups(const sp_family *volume, int a, int b, bool *marks) {
  const int count = volume->group_count, own = lowest_group(volume, NULL, a, b),
            other = lowest_group(volume, NULL, b, a);
  if (own < count && (other == count || volume->groups[own].number < volume->groups[other].number))
    marks[FROM * count + own] = true;
  for (int g = 0; g < count; g++)
    if (sp_group_has(&volume->groups[g], a) == sp_group_has(&volume->groups[g], b))
      marks[MISSES * count + g] = true;
}

/* Look at all faces from both sides: mark groups or, with `again`, find undecided faces. */
static void visit_faces(const sp_problem *problem, const sp_mesh *mesh, const bool *members,
                        bool again, faces *all) {
  const sp_hexes *hexes = mesh->hexes;
  const sp_family *volume = &hexes->volume;
  sp_gid counts[4] = {0};
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++) {
      const int exterior = hexes->surfaces[e][f], v = hexes->volumes[e], w = all->across[e][f];
      counts[0] += exterior >= 0 && members[exterior];
      if (!is_member(hexes, members, e, f)) continue;
      const int part = sp_problem_face_part(problem, hexes, e, f);
      counts[1]++;
      counts[2] += part >= 0 && !problem->parts[part].type->inserts;
      counts[3] += all->leaves[v] == all->leaves[w];
      if (!again) mark_groups(volume, v, w, all->marks);
      for (int g = 0; g < volume->group_count && again && all->leaves[v] == all->leaves[w]; g++)
        if (sp_group_has(&volume->groups[g], v))
          all->marks[BESIDE * volume->group_count + g] = true;
    }
  MPI_Allreduce(MPI_IN_PLACE, counts, 4, SP_MPI_GID, MPI_SUM, mesh->comm);
  MPI_Allreduce(MPI_IN_PLACE, all->marks, MARKS * volume->group_count, MPI_C_BOOL, MPI_LOR,
                mesh->comm);
  all->exterior = counts[0];
  all->inner = counts[1] / 2; /* seen from both sides */
  all->fixed = counts[2];
  all->undecided = counts[3] / 2;
}

/* End with free_faces, also after a failure. */
static sp_status find_faces(const sp_problem *problem, const sp_mesh *mesh, const bool *members,
                            faces *all) {
  const sp_family *volume = &mesh->hexes->volume;
  const int groups = volume->group_count;
  SP_TRY(sp_agree(mesh->comm, SP_ALLOCATE("fluxes", SP_ARRAY(all->across, mesh->hexes->count),
                                          SP_ARRAY(all->marks, MARKS * groups),
                                          SP_ARRAY(all->leaves, volume->count))));
  SP_TRY(find_across(mesh, all->across));
  visit_faces(problem, mesh, members, false, all);
  const int skin = lowest_group(volume, &all->marks[MISSES * groups], 0, -1);
  for (int g = 0; g < groups; g++)
    for (int v = 0;
         v < volume->count && (skin < groups ? g == skin : all->marks[FROM * groups + g]); v++)
      all->leaves[v] = all->leaves[v] || sp_group_has(&volume->groups[g], v);
  visit_faces(problem, mesh, members, true, all);
  return SP_OK;
}

sp_status sp_crossing_check(const char *where, const sp_problem *problem, const sp_mesh *mesh,
                            const bool *members, bool *crosses) {
  const sp_family *volume = &mesh->hexes->volume;
  char names[256];
  faces all = {0};
  sp_status status = find_faces(problem, mesh, members, &all);
  *crosses = all.inner > 0 && all.fixed == 0;
  if (!status && *crosses && all.exterior > 0)
    status =
        sp_fail(SP_ERR_INPUT,
                "%s: expected faces of the boundary or faces between elements, found %lld of the "
                "first and %lld of the second",
                where, (long long)all.exterior, (long long)all.inner);
  else if (!status && *crosses && all.undecided > 0)
    status = sp_fail(
        SP_ERR_INPUT,
        "%s: a flux between elements goes out of the Physical Volume that has all its "
        "faces on its skin, or from the lower number to the higher; neither decides "
        "at %lld of %lld faces, in or beside these volumes: %s",
        where, (long long)all.undecided, (long long)all.inner,
        sp_groups_list(volume, &all.marks[BESIDE * volume->group_count], sizeof names, names));
  free_faces(&all);
  return status;
}

/* ---- The flux ---- */

/* Keys of volumes: the flux leaves it, a line of [boundary] fixes u in it. */
enum { LEAVES = 1, FIXED = 2, SIDES = 4 };
enum { CONTACT = 2 };

/* The sum of fluxes of this rank. */
typedef struct crossing {
  const sp_fluxes *fluxes;
  const bool *members;
  const faces *all;
  int key; /* of the side in question */
  double flux;
} crossing;

/* Add a face, on the side that the flux leaves, or on the other one if a line fixes u in the first
 * one only. */
static void add_crossing_flux(void *crossing_, sp_lid e, int f, double flux) {
  crossing *c = crossing_;
  if (!is_member(c->fluxes->space->mesh->hexes, c->members, e, f)) return;
  if (c->all->beside && c->all->beside[e][f] == CONTACT) return;
  const int there = c->fluxes->keys[c->all->across[e][f]], key = c->key;
  const int from = key & LEAVES ? key : there, into = key & LEAVES ? there : key;
  const bool takes_other = (from & FIXED) && !(into & FIXED);
  if (takes_other != (bool)(key & LEAVES)) c->flux += key & LEAVES ? flux : -flux;
}

/* Fill all->beside. */
static sp_status find_beside(const sp_mesh *mesh, const bool *members, faces *all) {
  const sp_hexes *hexes = mesh->hexes;
  SP_TRY(sp_agree(mesh->comm,
                  sp_allocate((size_t)hexes->count, sizeof *all->beside, "fluxes", &all->beside)));
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++)
      all->beside[e][f] = sp_hexes_is_contact(hexes, e) ? CONTACT : is_member(hexes, members, e, f);
  return sp_surfaces_across(mesh->comm, mesh->topology, mesh->halo_elements, all->beside);
}

/* True for a contact at a face of the flux; a surface may be known on one side only. */
static bool is_crossed(const sp_hexes *hexes, const faces *all, sp_lid e) {
  return sp_hexes_is_contact(hexes, e) &&
         (all->beside[e][SP_FLUXES_LOW] == 1 || all->beside[e][SP_FLUXES_LOW + 1] == 1);
}

/* Add a face of a contact. */
static void add_contact_flux(void *crossing_, sp_lid e, int f, double flux) {
  crossing *c = crossing_;
  if (c->all->leaves[c->all->across[e][f]]) c->flux -= flux;
}

/* The stiffness of the elements on both sides of contacts, a mean. */
static sp_status find_stiffness(const sp_fluxes *s, const bool *members, const faces *all,
                                double *sum) {
  const sp_hexes *hexes = s->space->mesh->hexes;
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int f = 0; f < SP_FACES; f++) {
      double stiffness = 0;
      if (!is_member(hexes, members, e, f) || all->beside[e][f] != CONTACT) continue;
      SP_TRY(sp_fluxes_stiffness(s, e, f, &stiffness));
      *sum += stiffness / 2;
    }
  return SP_OK;
}

/* *flux += the flux through contacts by their own equations, unless they are stiffer than the
 * bodies beside them; then the equations of these give it better. */
static sp_status sum_contacts(sp_fluxes *s, const bool *members, faces *all, double *flux) {
  const sp_hexes *hexes = s->space->mesh->hexes;
  const int volumes = hexes->volume.count, bodies = volumes - hexes->file.contacts;
  sp_fluxes contacts = *s;
  crossing c = {.fluxes = s, .members = members, .all = all};
  double stiffness = 0;
  if (bodies == volumes) return SP_OK;
  SP_TRY(find_beside(s->space->mesh, members, all));
  for (int v = 0; v < volumes; v++) s->volumes[v] = false;
  for (sp_lid e = 0; e < hexes->count; e++) {
    const bool crossed = is_crossed(hexes, all, e);
    if (crossed) s->volumes[hexes->volumes[e]] = true;
    for (int f = 0; f < SP_FACES && sp_hexes_is_contact(hexes, e); f++)
      s->marked[e][f] = crossed && f >= SP_FLUXES_LOW;
  }
  MPI_Allreduce(MPI_IN_PLACE, s->volumes, volumes, MPI_C_BOOL, MPI_LOR, s->space->mesh->comm);
  bool some = false;
  for (int v = bodies; v < volumes; v++) some = some || s->volumes[v];
  if (!some) return SP_OK;
  contacts.contacts = true;
  contacts.noise = contacts.stiffness = 0;
  SP_TRY(sp_fluxes_compute(&contacts, add_contact_flux, &c));
  SP_TRY(sp_reduction_sum(s->space->platform->reduction, 1, &stiffness,
                          find_stiffness(s, members, all, &stiffness)));
  if (contacts.stiffness / 2 > stiffness) {
    free(all->beside);
    all->beside = NULL;
    return SP_OK;
  }
  s->noise += contacts.noise;
  s->stiffness = fmax(s->stiffness, contacts.stiffness);
  *flux += c.flux;
  return SP_OK;
}

/* *flux += the flux of this rank that bodies give. */
static sp_status sum_sides(sp_fluxes *s, const bool *members, const faces *all, double *flux) {
  const sp_hexes *hexes = s->space->mesh->hexes;
  const int volumes = hexes->volume.count, bodies = volumes - hexes->file.contacts;
  crossing c = {.fluxes = s, .members = members, .all = all};
  for (c.key = 0; c.key < SIDES; c.key++) {
    bool some = c.key == LEAVES;
    for (int v = 0; v < volumes; v++) {
      s->volumes[v] = s->keys[v] == c.key && v < bodies;
      some = some || (s->keys[v] == (LEAVES | FIXED) && c.key != FIXED);
    }
    if (some) SP_TRY(sp_fluxes_compute(s, add_crossing_flux, &c));
  }
  *flux += c.flux;
  return SP_OK;
}

sp_status sp_crossing_flux(sp_fluxes *whole, const bool *members, double *flux) {
  const sp_space *space = whole->space;
  const int *part_of_volume = whole->problem->part_of_volume;
  sp_fluxes fluxes = sp_fluxes_of_parts(whole);
  faces all = {0};
  sp_status status = find_faces(whole->problem, space->mesh, members, &all);
  if (!status) status = sp_agree(space->mesh->comm, sp_fluxes_open(&fluxes));
  for (int v = 0; v < space->mesh->hexes->volume.count && !status; v++)
    fluxes.keys[v] = all.leaves[v] * LEAVES + (part_of_volume[v] >= 0) * FIXED;
  if (!status) status = sp_fluxes_mark(&fluxes);
  *flux = 0;
  if (!status) status = sum_contacts(&fluxes, members, &all, flux);
  if (!status) status = sum_sides(&fluxes, members, &all, flux);
  whole->noise += fluxes.noise;
  whole->stiffness = fmax(whole->stiffness, fluxes.stiffness);
  sp_fluxes_close(&fluxes);
  free_faces(&all);
  SP_TRY(status);
  return sp_reduction_sum(space->platform->reduction, 1, flux, SP_OK);
}
