#include "operators/geometry_choice.h"

#include "operators/space.h"

sp_geometry_facts sp_geometry_facts_of(const sp_operator_setup *setup) {
  return (sp_geometry_facts){.kind = setup->kind,
                             .order = setup->space->numbering->order,
                             .map_order = setup->space->mesh->hexes->map_order,
                             .affine = setup->space->mesh->shape.affine,
                             .coefficients = setup->kappa || setup->lambda_values,
                             .by_element = setup->by_element};
}

sp_status sp_geometry_choose(const sp_backend *backend, const sp_geometry_facts *facts,
                             sp_geometry_kind request, sp_geometry_kind *out, const char **reason) {
  const bool curved = facts->map_order > 1;
  const bool varying = facts->coefficients && !facts->by_element;
  if (request == SP_GEOMETRY_TRILINEAR && curved)
    return sp_fail(
        SP_ERR_INPUT,
        "discretization.geometry = trilinear is exact for eight-node elements only; this "
        "mesh has elements of order %d: use stored or auto",
        facts->map_order);
  if (request == SP_GEOMETRY_TRILINEAR && varying)
    return sp_fail(
        SP_ERR_INPUT,
        "discretization.geometry = trilinear needs kappa and lambda that are constant in "
        "each material; here one of them is an array or a formula of x, y or z, or there is a "
        "contact: use stored or auto");
  *out = request;
  *reason = "as the case asks";
  if (request != SP_GEOMETRY_AUTO) return SP_OK;
  *out = SP_GEOMETRY_STORED;
  if (varying) {
    *reason = "coefficients at the quadrature points";
  } else if (curved) {
    *reason = "curved elements";
  } else {
    *out = backend->faster_geometry(facts->kind, facts->order, facts->affine);
    *reason = *out == SP_GEOMETRY_STORED ? "the faster one on this device"
              : facts->affine ? "the faster one on this device, with one Jacobian per element"
              : facts->coefficients
                  ? "the faster one on this device, kappa and lambda constant per element"
                  : "the faster one on this device";
  }
  return SP_OK;
}
