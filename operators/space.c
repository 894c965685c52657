#include "operators/space.h"

#include <stdlib.h>

static sp_status build_space(int order, sp_space *space) {
  const sp_platform *p = space->platform;
  SP_TRY(sp_numbering_create(space->mesh, order, &space->numbering));
  SP_TRY(sp_exchange_create(p->comm, space->numbering, &space->exchange));
  return p->backend->space_create(p->device, p->comm, space->exchange, p->transport,
                                  &space->on_device, &space->transport, &space->resident);
}

sp_status sp_space_create(const sp_platform *platform, const sp_mesh *mesh, int order,
                          sp_space **out) {
  *out = NULL;
  SP_AUTO(sp_space) space = NULL;
  SP_TRY(sp_agree(platform->comm, sp_allocate(1, sizeof *space, "space", &space)));
  space->platform = platform;
  space->mesh = mesh;
  SP_TRY(build_space(order, space));
  *out = space;
  space = NULL;
  return SP_OK;
}

void sp_space_destroy(sp_space **space) {
  if (!*space) return;
  (*space)->platform->backend->space_destroy(&(*space)->on_device);
  sp_exchange_destroy(&(*space)->exchange);
  sp_numbering_destroy(&(*space)->numbering);
  free(*space);
  *space = NULL;
}
