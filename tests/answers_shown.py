#!/usr/bin/env python3
"""Results and notes in all outputs of the program: on the terminal, in studies and histories, in JSON and log.
Their values are in answers.py."""

import os
import sys

import driver
from driver import Run, check, record, refuse, settings, write

driver.start("answers_shown", sys.argv[1], sys.argv[2:])
CLOSE = 1e-9
SLABS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures", "slabs.ini")


def close(found, expected, label):
    check(abs(found - expected) <= CLOSE * abs(expected), f"{label}: {found}, not {expected}")


def words(ranks):
    """The heat of a resistance, or the reason without a value: no heat, or heat and no difference."""
    case = settings("mesh.elements=4 2 2; problem.forcing=0; boundary.default=neumann 0; boundary.xmin=dirichlet 20; "
                    "boundary.ymin=dirichlet 0; result.R=resistance over xmin, xmax; output.log=; output.field=")
    out = Run(ranks, [SLABS]).expect(ranks, 0).out
    check("heat 3 of low" in out and "heat 8.3 out of xmax" in out and "= max - mid" in out, out)
    for condition, expected in (("neumann 0", ": no heat flows"), ("dirichlet 20", ": both averages are equal")):
        run = Run(ranks, [f"boundary.xmax={condition}", *case]).expect(ranks, 0)
        check(expected in run.out, f"{condition}: no '{expected}' in {run.out}")
    refuse([SLABS], (["result.bad=1/(q-q)"], ["'1/(q-q)' is not finite"]), ranks=(ranks,))


def study(ranks):
    """Limits and bars of a formula by its terms."""
    document = record(ranks, *settings("problem.forcing=exp(3*x)*y; boundary.default=dirichlet 1; discretization.order=2; "
                                       "mesh.elements=2 2 2; output.log=; output.field=; probe.p=0.4 0.3 0.6; "
                                       "result.m=average; result.i=integral over xmax; result.d=3*(p - m) + i"),
                      "--study", "refine=0:2")
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


def notes(ranks):
    """All notes on the terminal, in JSON and log, also in a study; -q prints none."""
    for arguments in ([], ["-q"], ["-q", "--study", "refine=0:2"]):
        done = Run(ranks, [SLABS, "constants.unused=1", "output.log=run.h5", "--json", "run.json", *arguments])
        done.expect(ranks, 0)
        found = driver.notes()
        printed = [line[19:] for line in done.out.split("\n") if line.startswith("  note  ")]
        check(not done.err and (not done.out if arguments else printed == [note["text"] for note in found.values()]),
              f"{done.err!r}, {done.out!r}")
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
        found = driver.notes()
        check(set(found) == {"coincident"} and found["coincident"]["numbers"] == {"pairs": 4}, f"{found}")


def data(ranks):
    """Notes of a study on sources, formulas and boundary data. Their texts are in answers.py."""
    base = settings("mesh.elements=4 4 4; boundary.default=neumann 0; boundary.zmin=dirichlet 0; "
                    "output.log=; output.field=; discretization.order=1")
    spot = "exp(-((x-.37)^2+(y-.41)^2)*5000)"
    for line, expected in ((f"neumann 1e4*{spot}", {"flux"}), (f"robin 1e4*{spot}, 1", {"alpha"}),
                           ("dirichlet x<0.5 ? 0 : 1", {"dirichlet"}), ("dirichlet x", set())):
        Run(ranks, ["-q", *base, "problem.forcing=0", f"boundary.zmax={line}", "--study", "refine=0:2", "--json", "run.json"])
        found = set(driver.notes())
        check(found - {"default"} == expected, f"{line}: {found}")
    Run(ranks, ["-q", *base, "problem.forcing=(x-0.125)^2+(y-0.125)^2+(z-0.125)^2<1e-3", "--study", "order=2:4",
                "--json", "run.json"])
    check("jumps" in driver.notes(), f"{driver.notes()}")


driver.side_by_side([(test, ranks) for test in (words, study, history, notes, early, data) for ranks in (1, 2)])
driver.finish()
