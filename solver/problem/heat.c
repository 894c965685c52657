#include "solver/problem/heat.h"

#include <math.h>
#include <stdlib.h>

#include "solver/problem/balance.h"
#include "solver/problem/robin.h"
#include "solver/problem/side.h"

static void add(double flux, sp_heat *heat) {
  heat->out += fmax(flux, 0);
  heat->in += fmax(-flux, 0);
}

/* The heat of the side on this rank, but for given[surfaces], which become fluxes by surface. */
static sp_status add_faces(const sp_side *s, int surfaces, double *given, sp_heat *heat) {
  const sp_hexes *hexes = s->space->mesh->hexes;
  for (int i = 0; i < surfaces; i++) given[i] = -given[i];
  for (sp_lid e = 0; e < hexes->count; e++)
    for (int f = 0; f < SP_FACES && s->volumes[hexes->volumes[e]]; f++) {
      const int part = sp_problem_face_part(s->problem, hexes, e, f);
      const int surface = sp_surface_of(hexes->surfaces[e][f]);
      if (s->marked[e][f]) {
        add(s->flux[e][f], heat);
      } else if (part >= 0 && s->problem->parts[part].condition == SP_ROBIN) {
        SP_TRY(sp_robin_flux(&s->problem->parts[part], s->space, e, f, s->x,
                             &given[surface >= 0 ? surface : surfaces - 1]));
      }
    }
  return SP_OK;
}

static sp_status add_material(sp_side *s, int material, sp_load_sums *sums, sp_heat *heat) {
  const sp_hexes *hexes = s->space->mesh->hexes;
  const int surfaces = hexes->surface.count + 1;
  sums->source = 0;
  for (int i = 0; i < surfaces; i++) sums->given[i] = 0;
  for (int v = 0; v < hexes->volume.count; v++)
    s->volumes[v] =
        s->problem->materials.of_volume[v] == material && s->problem->part_of_volume[v] < 0;
  SP_TRY(sp_side_compute(s, sums));
  sp_heat mine = {0};
  SP_TRY(sp_agree(s->space->mesh->comm, add_faces(s, surfaces, sums->given, &mine)));
  SP_TRY(sp_reduction_sum(s->space->platform->reduction, surfaces, sums->given, SP_OK));
  double all[3] = {sums->source, mine.in, mine.out};
  SP_TRY(sp_reduction_sum(s->space->platform->reduction, 3, all, SP_OK));
  *heat = (sp_heat){all[0], all[1], all[2]};
  for (int i = 0; i < surfaces; i++) add(sums->given[i], heat);
  return SP_OK;
}

sp_status sp_heat_compute(const sp_problem *problem, const sp_space *space, const double *x,
                          double *const scratch[2], sp_heat *heat) {
  const sp_mesh *mesh = space->mesh;
  const size_t surfaces = (size_t)mesh->hexes->surface.count + 1;
  sp_side side = {
      .problem = problem, .space = space, .x = x, .weights = scratch[0], .left = scratch[1]};
  sp_load_sums sums = {0};
  sp_status status = sp_side_open(&side);
  if (!status) status = sp_allocate(surfaces, sizeof(double), "fluxes", &sums.given);
  status = sp_agree(mesh->comm, status);
  for (int v = 0; v < mesh->hexes->volume.count && !status; v++)
    side.keys[v] = problem->part_of_volume[v] >= 0 ? problem->materials.count
                                                   : problem->materials.of_volume[v];
  if (!status) status = sp_side_mark(&side);
  for (int m = 0; m < problem->materials.count && !status; m++)
    if (problem->materials.list[m].elements > 0) status = add_material(&side, m, &sums, heat++);
  sp_side_close(&side);
  free(sums.given);
  return status;
}
