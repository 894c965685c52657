#!/usr/bin/env python3
"""Results as formulas of other results, with error bars; the heat that resistances divide by; notes on a case.
Their output is checked by answers_shown.py."""

import os

import cases
from cases import CLOSE, FIXTURES, record, refuse
from driver import check, values, write, write_msh

SLABS = os.path.join(FIXTURES, "slabs.ini")


def close(found, expected, label):
    check(abs(found - expected) <= CLOSE * abs(expected), f"{label}: {found}, not {expected}")


def formulas():
    document = record(path=SLABS)
    slabs = (9.2125 - 4.15) / 3
    for name, expected in {"q": 8.3, "mean": 9.2125, "drop": 1.7, "R": 3.4 / 8.3, "slabs": slabs, "sink": slabs,
                           "walls": 10 / 8.3, "given": 10 / 3, "ratio": 10 / 1.7}.items():
        close(values(document)[name], expected, name)
    rows = {row["name"]: row for row in document["results"]}
    for name, heat in {"slabs": "of low", "sink": "of low", "walls": "out of xmax", "given": "of low", "ratio": "of drop",
                       "R": ""}.items():
        check(rows[name]["heat"] == heat, f"{rows[name]}")
    check(rows["R"]["kind"] == "formula" and rows["R"]["formula"] == "drop/q*area + min(mid, 0)", f"{rows['R']}")
    # Heat that a source in the second group takes out counts as positive.
    found = values(record("material.low.source=; material.high.source=-2; result.given=; result.last=average over high",
                          path=SLABS))
    close(found["slabs"], (found["mean"] - found["last"]) / 2, "source of the second group")


def bars():
    """First order: bars of a difference add up; relative bars of a quotient add up."""
    document = record("problem.forcing=exp(3*x)*y; boundary.default=dirichlet 1; discretization.order=2; "
                      "mesh.elements=2 2 2; probe.p=0.4 0.3 0.6; result.m=average; result.i=integral over xmax; "
                      "result.d=3*(p - m) + i; result.s=m/i; result.dd=d - 3*p; output.accuracy=yes; solver.tolerance=")
    rows = {row["name"]: row for row in document["accuracy"]}
    error = {name: row["error"] for name, row in rows.items()}
    relative = error["m"] / rows["m"]["value"] + error["i"] / rows["i"]["value"]
    close(error["d"], 3 * (error["p"] + error["m"]) + error["i"], "bar of a difference")
    close(error["dd"], error["d"] + 3 * error["p"], "bar of a formula of a formula")
    check(1 <= error["s"] / rows["s"]["value"] / relative <= 1.1, f"{error['s']}, {relative}")
    check(error["p"] > 1e-5, f"a small bar, {error['p']}")


def names():
    """Groups called `surface N` and `volume N` whose numbers are others; the surface between two volumes."""
    write("stack.geo", """SetFactory("OpenCASCADE");
Box(1) = {0, 0, 0, 1, 1, 1}; Box(2) = {0, 0, 1, 1, 1, 1}; Coherence;
middle() = Surface In BoundingBox{-1, -1, 0.9, 2, 2, 1.1}; top() = Surface In BoundingBox{-1, -1, 1.9, 2, 2, 2.1};
bottom() = Surface In BoundingBox{-1, -1, -0.1, 2, 2, 0.1};
Physical Surface("surface 7", 1) = middle(); Physical Surface("surface 1", 7) = top();
Physical Surface("bottom", 3) = bottom();
Physical Volume("volume 9", 2) = {1}; Physical Volume("volume 2", 9) = {2};
Transfinite Curve{:} = 3; Transfinite Surface{:}; Recombine Surface{:}; Transfinite Volume{:};
""")
    document = record("mesh.file=stack.geo; problem.forcing=0; boundary.default=neumann 0; boundary.surface 1=dirichlet 0; "
                      "boundary.bottom=source 6; result.inner=resistance over volume 9, surface 7; "
                      "result.back=resistance over surface 7, volume 9; result.out=resistance over volume 2, surface 1; "
                      "result.pair=resistance over volume 9, volume 2 by bottom; result.into=resistance over bottom, volume 2")
    rows = {row["name"]: row for row in document["results"]}
    for name, value, heat in (("inner", 0.5, "through surface 7"), ("back", 0.5, "through surface 7"),
                              ("out", 0.5, "out of surface 1"), ("pair", 1, "of bottom"), ("into", 1.5, "into bottom")):
        close(rows[name]["value"], value, name)
        check(rows[name]["heat"] == heat, f"{rows[name]}")


SPOT = "exp(-((x-.37)^2+(y-.41)^2)*5000)"
HOT = "problem.forcing=0; boundary.default=neumann 0; boundary.zmin=dirichlet 0; discretization.order=2; boundary.zmax="
LEFT = "discretization.order=2; mesh.elements=4 2 2; region.left.upper=0.5 1 1; problem.solution=y"
PERIOD = "mesh.elements=4 2 2; mesh.upper=2 1 1; discretization.order=3; boundary.xmin=periodic xmax; problem.solution="
FACES = "between materials or periodic faces the exact solution jumps by up to "
NOTES = (  # what a case adds, and the notes that it has: name, words of the text, and numbers
    ("problem.forcing=(x-0.125)^2+(y-0.125)^2+(z-0.125)^2<1e-3; boundary.default=dirichlet 0",
     {"jumps": ("problem.forcing=", {}),
      "source": ("the integral of f is 0 by the operator's quadrature, 0.0003596 with 5 points", {"points": 5})}),
    ("problem.solution=abs(x-0.3)", {"kink": ("or its derivative may jump", {})}),
    ("problem.forcing=0; boundary.xmin=dirichlet 1; boundary.ymin=dirichlet 3-x; boundary.default=neumann 0",
     {"boundary": ("differ by up to 2 where 'xmin' and 'ymin' meet", {"difference": 2}),
      "default": ("they take default = neumann: xmax, ymax, zmin, zmax", {})}),
    ("problem.kappa=x < 0.5 ? 1 : 100; problem.solution=y; constants.a=1; constants.b=2",
     {"jumps": ("kappa=x < 0.5 ? 1 : 100' may jump", {}), "constants": ("no formula uses constants.a, constants.b", {})}),
    ("mesh.elements=; mesh.file=crack.msh; problem.forcing=0; boundary.hot=dirichlet 1; boundary.cold=dirichlet 0; "
     "boundary.default=neumann 0",
     {"parts": ("2 parts that share no nodes", {"parts": 2}), "coincident": ("1 pair of exterior faces", {"pairs": 1}),
      "default": ("they take default = neumann: gap", {})}),
    ("mesh.elements=; mesh.file=pinched.msh; problem.forcing=1; boundary.default=robin 1, 0; discretization.order=2",
     {"pinched": ("touch along 1 edge only", {"edges": 1})}),
    ("problem.kappa=10; problem.forcing=0; boundary.xmin=dirichlet 500; boundary.xmax=radiation 0.8, 25; "
     "boundary.default=neumann 0",
     {"kelvin": ("without an offset u and 25 are in kelvin", {"temperature": 25}),
      "default": ("they take default = neumann: ymin, ymax, zmin, zmax", {})}),
    ("problem.solution=x*y+3*z; boundary.xmin=dirichlet y-y+3*z; boundary.default=dirichlet",
     {"default": ("they take default = dirichlet", {})}),
    ("problem.solution=x*y+3*z; discretization.operator=mass", {}),
    # Boundary data that faces miss, and Dirichlet formulas that may jump.
    (f"{HOT}neumann 1e4*{SPOT}", {"flux": ("is 0.5362 by the operator's quadrature, 6.4", {}), "default": ("", {})}),
    (f"{HOT}robin 1e4*{SPOT}, 1", {"alpha": ("the integral of alpha", {}), "default": ("", {})}),
    (f"{HOT}dirichlet x<0.5 ? 0 : 1", {"dirichlet": ("zmax=dirichlet x<0.5 ? 0 : 1' may jump", {}), "default": ("", {})}),
    (f"{HOT}neumann 1+x^2", {"default": ("", {})}), (f"{HOT}dirichlet x", {"default": ("", {})}),
    # Formulas that may jump where the points of the quadrature are on faces; bp3.0 has them inside elements.
    (f"{LEFT}; problem.kappa=x < 0.5 ? 1 : 100; discretization.operator=bp3.0", {}),
    (f"{LEFT}; problem.kappa=1 + abs(x-0.5)", {"jumps": ("problem.kappa=1 + abs(x-0.5)' may jump", {})}),
    (f"{LEFT}; problem.solution=; problem.kappa=1 + abs(x-0.5); problem.forcing=abs(x); boundary.default=dirichlet 0", {}),
    # The first two jump by rounding on periodic faces.
    (PERIOD + "sin(pi*x)*y", {"default": ("", {})}), (PERIOD + "cos(pi*x)", {"default": ("", {})}),
    (PERIOD + "x*y", {"interfaces": (FACES + "2.0e+00, its kappa du/dn by up to 0.0e+00", {}), "default": ("", {})}),
    (PERIOD + "x*(2-x)*y", {"interfaces": (FACES + "0.0e+00, its kappa du/dn by up to 4.0e+00", {}), "default": ("", {})}))


def write_meshes():
    """Two cubes on each other without common nodes, between `hot` and `cold`; two that share an edge."""
    def points(x, y, z):
        return [(float(x + i), float(y + j), float(z + k)) for k in (0, 1) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))]
    names = ('2 1 "hot"', '2 2 "cold"', '2 3 "gap"')
    faces = [[1, 2, 3, 4], [5, 6, 7, 8], [1, 2, 6, 5], [2, 3, 7, 6], [3, 4, 8, 7], [4, 1, 5, 8]]
    quads = [(3, group, [8 * body + p for p in face]) for body in (0, 1) for face, group in
             zip(faces, ((1, 3), (3, 2))[body] + (3,) * 4)]
    cubes = [(5, 4, list(range(8 * body + 1, 8 * body + 9))) for body in (0, 1)]
    write_msh("crack.msh", points(0, 0, 0) + points(0, 0, 1), quads + cubes, names)
    nodes = [3, 9, 10, 11, 7, 12, 13, 14]
    write_msh("pinched.msh", points(0, 0, 0) + [p for n, p in zip(nodes, points(1, 1, 0)) if n > 8],
              [(5, 0, list(range(1, 9))), (5, 0, nodes)])


def notes():
    """Each case has the notes that apply, and no others."""
    write_meshes()
    for own, expected in NOTES:
        if "mesh.file" in own and int(os.environ["SP_TEST_RANKS"]) > 2:
            continue  # two elements
        found = {note["name"]: note for note in record("mesh.elements=4 4 4; discretization.order=1; solver.tolerance=",
                                                       own)["notes"]}
        found.pop("rounding", None)  # the last bits of a mesh decide if CG meets it
        found.pop("no_material", None)
        check(set(found) == set(expected), f"{own}: {found}")
        for name, (text, numbers) in expected.items():
            note = found.get(name, {"text": "", "numbers": {}})
            check(text in note["text"] and numbers.items() <= note["numbers"].items(), f"{own}: {note}")


def refused():
    refuse("",
           ("result.bad=averag + 1", "column 1: unknown name 'averag'; known names are mid, max, mean, q, drop", "area"),
           ("result.bad=max - x", "unknown name 'x'"),
           ("result.bad=later; result.later=average", "unknown name 'later'"),
           ("probe.e=0 0 0; result.bad=e+1", "'e' is a probe or result and a constant: rename one"),
           ("result.bad=resistance over low, high by mid", "one source of heat or result above, found 'mid'", "drop"),
           ("material.low.source=; result.given=",
            "'low' and 'high' are volumes without a source of heat: write 'by SOURCE'"), path=SLABS)


cases.run(formulas, bars, names, notes, refused)
