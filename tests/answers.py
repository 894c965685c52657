#!/usr/bin/env python3
"""Results as formulas of other results, with error bars; the heat that resistances divide by; notes on boundary data.
Their output is checked by answers_shown.py."""

import os

import cases
from cases import CLOSE, FIXTURES, record, refuse, texts
from driver import check, values, write

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


def data():
    """Boundary data that faces miss, and Dirichlet formulas that may jump."""
    spot = "exp(-((x-.37)^2+(y-.41)^2)*5000)"
    for line, name, words in ((f"neumann 1e4*{spot}", "flux", "is 0.5362 by the operator's quadrature, 6.4"),
                              (f"robin 1e4*{spot}, 1", "alpha", "the integral of alpha"),
                              ("dirichlet x<0.5 ? 0 : 1", "dirichlet", "boundary.zmax=dirichlet x<0.5 ? 0 : 1' may jump"),
                              ("neumann 1+x^2", None, ""), ("dirichlet x", None, "")):
        found = texts(record("mesh.elements=4 4 4; problem.forcing=0; boundary.default=neumann 0; boundary.zmin=dirichlet 0; "
                             f"discretization.order=2; boundary.zmax={line}"))
        check(set(found) - {"default"} == ({name} if name else set()) and words in found.get(name, ""), f"{line}: {found}")


def refused():
    refuse("",
           ("result.bad=averag + 1", "column 1: unknown name 'averag'; known names are mid, max, mean, q, drop", "area"),
           ("result.bad=max - x", "unknown name 'x'"),
           ("result.bad=later; result.later=average", "unknown name 'later'"),
           ("probe.e=0 0 0; result.bad=e+1", "'e' is a probe or result and a constant: rename one"),
           ("result.bad=resistance over low, high by mid", "one source of heat or result above, found 'mid'", "drop"),
           ("material.low.source=; result.given=",
            "'low' and 'high' are volumes without a source of heat: write 'by SOURCE'"), path=SLABS)


cases.run(formulas, bars, names, data, refused)
