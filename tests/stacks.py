#!/usr/bin/env python3
"""Boxes whose grid follows their regions: exact temperatures, volumes and areas, empty regions, sides of regions in
conditions and results, iterations, and messages. The grid itself is in tests/box.c."""

import os

import cases
from cases import INPUTS, record, refuse, solve
from driver import check

MOST = 12  # iterations, to a tolerance of 1e-8

# Thicknesses and conductivities from below; heat 2 per area from the top to the bottom, which is at 5.
LAYERS = {"base": (1, 4), "glue": (0.001, 0.05), "chip": (0.2, 100), "foil": (0.003, 1), "lid": (0.5, 0.7)}


def stack(size, resistance):
    """The case of the layers, with results over their upper sides, and the results' values. A contact above the chip."""
    z, u, lines, expected = 0, 5, [], {}
    for name, (thickness, kappa) in LAYERS.items():
        lines += [f"regions.{name}=0 0 {z!r}, 2 1 {z + thickness!r}", f"material.{name}.kappa={kappa}",
                  f"result.{name}=average over {name}.zmax", f"result.volume of {name}=integral of 1 over volume {name}"]
        z += thickness
        u += 2 * thickness / kappa
        expected |= {name: u + resistance if name == "chip" else u, f"volume of {name}": 2 * thickness}
        if name == "chip" and resistance:
            lines.append(f"boundary.chip.zmax=contact {resistance}")
            u += 2 * resistance
    return (f"mesh.size={size}; mesh.background=empty; problem.forcing=0; boundary.default=neumann 0; "
            "boundary.base.zmin=dirichlet 5; boundary.zmax=neumann 2; result.down=flux over base.zmin; "
            "result.inner=integral of 1 over foil.zmin; discretization.order=3; " + "; ".join(lines),
            {**expected, "down": 4, "inner": 2})


def layers():
    """u is linear in each layer: exact at any order, with grading, refinement and contacts."""
    for more in "", "mesh.grading=yes", "mesh.refine=1; discretization.order=1":
        for resistance in 0, 0.3:
            case, expected = stack(0.4, resistance)
            document = solve(case, more, results=expected)
            check(document["iterations"] <= 2 * MOST, f"{more}: {document['iterations']} iterations")


# An L, a hole in its long arm, and a block on it that reaches beyond the arm and replaces a part of it.
SHAPE = ("mesh.size=0.3; mesh.background=empty; discretization.order=2; "
         "regions.arm=0 0 0, 3 1 1; regions.leg=0 0 1, 1 1 2; regions.hole=1.5 0.2 0.25, 2 0.7 0.75, empty; "
         "regions.top=2.5 0 0.5, 3 1 1.5")
SHAPE_RESULTS = {
    "volume arm": 3 - 0.5 * 0.5 * 0.5 - 0.5 * 0.5, "volume leg": 1, "volume top": 0.5,
    "zmin": 3, "zmax": 1, "xmax": 1 + 0.5, "arm.xmax": 0.5, "top.xmin": 1, "top.zmin": 0.5, "arm.zmax": 2.5,
    "leg.zmin": 1, "leg.zmax": 1, "leg.xmax": 1, "hole.zmin": 0.25, "hole.xmax": 0.25, "arm.zmin": 3}


def shapes():
    """Volumes, areas, exact u in all elements, and conditions on the part of a side that is exterior."""
    results = [f"result.{name}=integral of 1 over {name}" for name in SHAPE_RESULTS]
    for more in "", "mesh.grading=yes; mesh.size=0.7", "mesh.refine=1":
        errors = solve(SHAPE, *results, more, "problem.solution=x-2*y+3*z; boundary.default=dirichlet",
                       results=SHAPE_RESULTS)["errors"]
        check(errors["max"] < 1e-9, f"{more}: {errors}")
    # 2.5 of the arm's upper side, 1 of it below the leg; the top's lower side is inside.
    flow = SHAPE + ("; problem.forcing=0; boundary.zmin=dirichlet 0; boundary.arm.zmax=neumann 2; "
                    "boundary.hole.xmax=source 3; boundary.top.zmin=source 5; boundary.default=neumann 0; "
                    "result.down=flux over arm.zmin; result.legs=flux over leg.zmin")
    solve(flow, results={"down": 3 + 3 + 5, "legs": 0})
    refuse(flow, ("boundary.leg.zmin=robin 1, 1", "boundary.leg.zmin=robin",
                  "group 'leg.zmin' has faces between elements", "found robin"),
           ("boundary.hole.xmax=contact 1", "contact must have faces between elements only"))


def overlaps():
    """Nested boxes, the later one inside: with both orders of two equal boxes the later one has the elements."""
    case = ("mesh.size=0.5; problem.forcing=0; boundary.xmin=dirichlet 0; boundary.xmax=neumann 1; "
            "boundary.default=neumann 0; discretization.order=1; result.end=average over xmax; "
            "material.a.kappa=2; material.b.kappa=4")
    for first, second in ("a", "b"), ("b", "a"):
        width = {first: 0.25, second: 0.75}
        solve(case, f"regions.{first}=0 0 0, 1 1 1; regions.{second}=0.25 -1 0, 2 2 1",
              results={"end": width["a"] / 2 + width["b"] / 4})


def iterations():
    """Few iterations with coarser meshes along grid lines, without holes, and without coarser meshes."""
    whole = ("mesh.size=0.06; mesh.grading=yes; regions.film=0 0 0.4, 1 1 0.41; regions.wire=0.3 0 0, 0.32 1 1; "
             "material.film.kappa=100; material.wire.kappa=1e-3; problem.forcing=1; boundary.default=dirichlet 0; "
             "discretization.order=2; solver.tolerance=")
    plain = ("mesh.size=0.07; regions.a=0 0 0, 0.4 0.5 0.45; problem.forcing=1; boundary.default=dirichlet 0; "
             "discretization.order=2; solver.tolerance=")
    for case in whole, f"{plain}; material.a.kappa=10", f"{plain}; region.a.empty=yes", \
            f"{plain}; region.a.empty=yes; mesh.refine=1":
        count = record(case)["iterations"]
        check(count <= MOST, f"{case}: {count} iterations")
    count = record("solver.tolerance=", path=os.path.join(INPUTS, "module.ini"))["iterations"]
    check(count <= MOST, f"module.ini: {count} iterations")


def messages():
    case = "mesh.size=0.5; problem.forcing=0; boundary.default=dirichlet 0; regions.a=0 0 0, 0.5 1 1"
    refuse(case,
           ("regions.b=0 0 0, 1 1 1", "regions.a", "it has no elements: regions after it cover it"),
           ("regions.b=2 0 0, 3 1 1", "regions.b", "no element of the box is between x = 2 and 3"),
           ("mesh.size=1e-9", "mesh.size=1e-9", "expected at least 1e-07, found 1e-09"),
           ("mesh.size=1e-6", "mesh.size=1e-6", "degrees of freedom per rank"),
           ("boundary.a.xmid=dirichlet 0", "no boundary group 'a.xmid'", "a.xmin, a.xmax"),
           ("region.a.empty=yes; material.a.kappa=2", "the mesh has no region 'a'"),
           ("boundary.a.xmin=contact 1", "contact must have faces between elements only"),
           ("boundary.xmin=neumann 1; boundary.a.xmin=neumann 2", "group 'a.xmin' has a surface in common with group 'xmin'"),
           ("mesh.elements=2 2 2", "mesh.elements=2 2 2", "valid only for a box without mesh.size"),
           ("region.a.empty=yes; mesh.background=empty; mesh.lower=0 0 0; mesh.upper=1 1 1", "the mesh has no elements"))


cases.run(layers, shapes, overlaps, iterations, messages)
