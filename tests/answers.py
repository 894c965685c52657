#!/usr/bin/env python3
"""Results as formulas of other results, in tables, error bars, studies and histories; the heat that resistances divide by;
notes where a script reads."""

import json
import sys

import driver
from driver import Run, check, record, refuse, settings, values, write

driver.start("answers", sys.argv[1], sys.argv[2:])
CLOSE = 1e-9

# Two slabs between 10 and 0 with 3 W in the first: u is 8.3 between them, and 8.3 W leave through xmax.
SLABS = """[mesh]
elements = 4 2 2
[region low]
upper = 0.5 1 1
[region high]
lower = 0.5 0 0
[material low]
kappa = 2
source = 3
[material high]
kappa = 0.5
[problem]
forcing = 0
[solver]
tolerance = 1e-13
[output]
log =
field =
[boundary]
default = neumann 0
xmin = dirichlet 10
xmax = dirichlet 0
[constants]
area = 2
[probe]
mid = 0.5 0.5 0.5
[result]
max = maximum
mean = average over low
q = flux over xmax
drop = max - mid
R = drop/q*area + min(mid, 0)
slabs = resistance over low, high
sink = resistance over high, low
walls = resistance over xmin, xmax
given = resistance over xmin, xmax by low
ratio = resistance over xmin, xmax by drop
"""


def close(found, expected, label):
    check(abs(found - expected) <= CLOSE * abs(expected), f"{label}: {found}, not {expected}")


def formulas(ranks):
    write("slabs.ini", SLABS)
    document = record(ranks, "slabs.ini")
    found = values(document)
    slabs = (9.2125 - 4.15) / 3
    for name, expected in {"q": 8.3, "mean": 9.2125, "drop": 1.7, "R": 3.4 / 8.3, "slabs": slabs, "sink": slabs,
                           "walls": 10 / 8.3, "given": 10 / 3, "ratio": 10 / 1.7}.items():
        close(found[name], expected, name)
    rows = {row["name"]: row for row in document["results"]}
    check([rows[name]["heat"] for name in ("slabs", "sink", "walls", "given", "ratio", "R")]
          == ["of low", "of low", "out of xmax", "of low", "of drop", ""], f"{rows}")
    check(rows["R"]["kind"] == "formula" and rows["R"]["formula"] == "drop/q*area + min(mid, 0)", f"{rows['R']}")
    out = Run(ranks, ["slabs.ini"]).expect(ranks, 0).out
    check("heat 3 of low" in out and "heat 8.3 out of xmax" in out and "= max - mid" in out, out)
    # Heat that a source in the second group takes out counts as positive.
    document = record(ranks, "slabs.ini", "material.low.source=", "material.high.source=-2", "result.given=",
                      "result.last=average over high")
    found = values(document)
    close(found["slabs"], (found["mean"] - found["last"]) / 2, "source of the second group")


def bars(ranks):
    """First order: of a difference the sum of the bars, of a quotient that of the relative ones."""
    rough = settings("problem.forcing=exp(3*x)*y; boundary.default=dirichlet 1; discretization.order=2; "
                     "mesh.elements=2 2 2; output.log=; output.field=; probe.p=0.4 0.3 0.6; result.m=average; "
                     "result.i=integral over xmax; result.d=3*(p - m) + i; result.s=m/i; result.dd=d - 3*p")
    document = record(ranks, *rough, "--accuracy")
    rows = {row["name"]: row for row in document["accuracy"]}
    error = {name: row["error"] for name, row in rows.items()}
    relative = error["m"] / rows["m"]["value"] + error["i"] / rows["i"]["value"]
    close(error["d"], 3 * (error["p"] + error["m"]) + error["i"], "bar of a difference")
    close(error["dd"], error["d"] + 3 * error["p"], "bar of a formula of a formula")
    check(1 <= error["s"] / rows["s"]["value"] / relative <= 1.1, f"{error['s']}, {relative}")
    check(error["p"] > 1e-5, f"a small bar, {error['p']}")
    study = ["--study", "refine=0:2", *rough]
    document = record(ranks, *study)
    limit = {row["name"]: row for row in document["limits"]}
    check(limit["d"]["verdict"] == "by its terms", f"{limit['d']}")
    close(limit["d"]["limit"], 3 * (limit["p"]["limit"] - limit["m"]["limit"]) + limit["i"]["limit"], "limit")
    close(limit["d"]["gci"], 3 * (limit["p"]["gci"] + limit["m"]["gci"]) + limit["i"]["gci"], "gci")
    check(sum(row["name"] == "d" for row in document["answers"]) == 3, "rows of a formula in a study")


def history(ranks):
    document = record(ranks, *settings(
        "problem.forcing=x*exp(-t); boundary.default=dirichlet 0; mesh.elements=2 1 1; problem.capacity=1; problem.initial=0; time.end=0.3; time.steps=3; "
        "probe.p=0.4 0.3 0.6; result.m=maximum; result.d=m - p + 2*t; output.log=; output.field="))
    for row in document["history"]:
        close(row["results.d"], row["results.m"] - row["probes.p"] + 2 * row["time"], f"{row}")
    check(len(document["history"]) >= 3, f"{document['history']}")


def words(ranks):
    """A resistance without a value says why: no heat, or heat and no difference."""
    case = settings("mesh.elements=4 2 2; problem.forcing=0; boundary.default=neumann 0; boundary.xmin=dirichlet 20; "
                    "boundary.ymin=dirichlet 0; result.R=resistance over xmin, xmax; output.log=; output.field=")
    for condition, expected in (("neumann 0", ": no heat flows"), ("dirichlet 20", ": both averages are equal")):
        run = Run(ranks, [f"boundary.xmax={condition}", *case]).expect(ranks, 0)
        check(expected in run.out, f"{condition}: no '{expected}' in {run.out}")


def names(ranks):
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
    document = record(ranks, *settings(
        "mesh.file=stack.geo; problem.forcing=0; boundary.default=neumann 0; boundary.surface 1=dirichlet 0; "
        "boundary.bottom=source 6; output.log=; output.field=; solver.tolerance=1e-12; "
        "result.inner=resistance over volume 9, surface 7; result.back=resistance over surface 7, volume 9; "
        "result.out=resistance over volume 2, surface 1; result.pair=resistance over volume 9, volume 2 by bottom; "
        "result.into=resistance over bottom, volume 2"))
    for name, expected in {"inner": 0.5, "back": 0.5, "out": 0.5, "pair": 1, "into": 1.5}.items():
        close(values(document)[name], expected, name)
    check([row["heat"] for row in document["results"]] == ["through surface 7", "through surface 7", "out of surface 1",
                                                           "of bottom", "into bottom"], f"{document['results']}")


def notes(ranks):
    """All notes in JSON and log, also with -q, and in a study."""
    write("slabs.ini", SLABS)
    for arguments in ([], ["--study", "refine=0:2"]):
        done = Run(ranks, ["-q", "slabs.ini", "constants.unused=1", "output.log=run.h5", "--json", "run.json", *arguments])
        done.expect(ranks, 0)
        check(not done.err and not done.out, f"{done.err!r}, {done.out!r}")
        with open("run.json", encoding="utf-8") as file:
            found = {note["name"]: note for note in json.load(file)["notes"]}
        check(found["constants"]["text"] == "no formula uses constants.unused", f"{found}")
        check(set(found) == {"constants", "default"} and found["default"]["numbers"] == {}, f"{found}")
        with open("run.h5", "rb") as file:
            check(b"no formula uses constants.unused" in file.read(), "no note in the log")


def early(ranks):
    """Notes on the mesh of a case that fails before it iterates, and of --groups."""
    write("apart.geo", """SetFactory("OpenCASCADE");
Box(1) = {0, 0, 0, 1, 1, 1}; Box(2) = {0, 0, 1, 1, 1, 1};
Physical Volume("low", 1) = {1}; Physical Volume("high", 2) = {2};
Transfinite Curve{:} = 3; Transfinite Surface{:}; Recombine Surface{:}; Transfinite Volume{:};
""")
    base = settings("mesh.file=apart.geo; problem.forcing=0; boundary.default=robin 1e-200; output.log=; output.field=")
    for arguments, code in (([], 1), (["--groups"], 0)):
        done = Run(ranks, ["-q", *base, *arguments, "--json", "run.json"]).expect(ranks, code)
        check(not done.out and len(done.lines) == code, f"{done.out!r}, {done.err!r}")
        with open("run.json", encoding="utf-8") as file:
            found = {note["name"]: note["numbers"] for note in json.load(file)["notes"]}
        check(found == {"coincident": {"pairs": 4}}, f"{found}")


def data(ranks):
    """Boundary data that faces miss, and Dirichlet formulas that may jump."""
    base = settings("mesh.elements=4 4 4; discretization.order=2; problem.forcing=0; boundary.default=neumann 0; "
                    "boundary.zmin=dirichlet 0; output.log=; output.field=")
    spot = "exp(-((x-.37)^2+(y-.41)^2)*5000)"
    for line, name, words in ((f"neumann 1e4*{spot}", "flux", "is 0.5362 by the operator's quadrature, 6.4"),
                              (f"robin 1e4*{spot}, 1", "alpha", "the integral of alpha"),
                              ("dirichlet x<0.5 ? 0 : 1", "dirichlet", "boundary.zmax=dirichlet x<0.5 ? 0 : 1' may jump"),
                              ("neumann 1+x^2", None, ""), ("dirichlet x", None, "")):
        for study in ([], ["--study", "refine=0:2", "discretization.order=1"]):
            Run(ranks, ["-q", *base, f"boundary.zmax={line}", *study, "--json", "run.json"])
            with open("run.json", encoding="utf-8") as file:
                found = {note["name"]: note["text"] for note in json.load(file)["notes"]}
            check(set(found) - {"default"} == ({name} if name else set()), f"{line}, {study}: {found}")
            check(study or words in found.get(name, ""), f"{line}: {found}")


def refused(ranks):
    write("slabs.ini", SLABS)
    refuse(["slabs.ini"],
           (["result.bad=averag + 1"], ["column 1: unknown name 'averag'; known names are mid, max, mean, q, drop", "area"]),
           (["result.bad=max - x"], ["unknown name 'x'"]),
           (["result.bad=later", "result.later=average"], ["unknown name 'later'"]),
           (["probe.e=0 0 0", "result.bad=e+1"], ["'e' is a probe or result and a constant: rename one"]),
           (["result.bad=1/(q-q)"], ["'1/(q-q)' is not finite"]),
           (["result.bad=resistance over low, high by mid"], ["one source of heat or result above, found 'mid'", "drop"]),
           (["material.low.source=", "result.given="],
            ["'low' and 'high' are volumes without a source of heat: write 'by SOURCE'"]), ranks=(ranks,))


driver.side_by_side([(test, ranks) for test in (formulas, bars, history, words, names, notes, early, data, refused) for ranks in (1, 2)])
driver.finish()
