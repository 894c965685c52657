#!/usr/bin/env python3
"""Conditions inside the domain: exact values, the balance, and messages.

    conditions.py SP_SOLVE FIXTURES MPIEXEC...      MPIEXEC... ends with the flag for the number of ranks"""

import json
import os
import sys

import driver
from driver import Run, check, write

FIXTURES = os.path.abspath(sys.argv[2])
SANDWICH = os.path.join(FIXTURES, "sandwich.geo")
driver.start("conditions", sys.argv[1], sys.argv[3:])
RANKS = (1, 2, 4)
QUIET = ["output.log=", "output.field=", "solver.tolerance=1e-12"]
# The tolerance is 1e-12 of the energy; the values below are of size 10 and fluxes are not far from them.
CLOSE = 1e-9


def record_of(ranks, arguments):
    Run(ranks, [*arguments, *QUIET, "--json", "run.json"]).expect(ranks, 0)
    with open("run.json", encoding="utf-8") as file:
        return json.load(file)


def values(record, table):
    return {row["name"]: row["value"] for row in record[table]}


def expect(record, table, expected, text):
    found = values(record, table)
    for name, value in expected.items():
        check(name in found and abs(found[name] - value) < CLOSE, f"{text}: {name} {found.get(name)}, not {value}")


def expect_closed(record, text):
    terms = values(record, "balance")
    largest = max(map(abs, terms.values()))
    check(abs(terms["imbalance"]) < CLOSE * largest, f"{text}: {terms}")


def volumes():
    """A bar of length 3 whose middle third is at 5: u = 5x before it, and after it a bar of length 1 with
    alpha = 2 at its end, where 5 / (1 + 1/2) flows out. Then the total with sources, sinks and other conditions
    that meet the volume, on deformed elements."""
    bar = """[mesh]
elements = 6 2 2
upper = 3 1 1
[problem]
forcing = 0
[boundary]
mid = dirichlet 5
xmin = dirichlet 0
xmax = robin 2, 0
default = neumann 0
[region mid]
lower = 1 0 0
upper = 2 1 1
[result]
least = minimum over mid
most = maximum over mid
hottest = maximum
"""
    write("bar.ini", bar)
    for ranks in RANKS:
        for arguments in (["discretization.order=1"], ["discretization.order=3"], ["mesh.refine=1"],
                          ["solver.preconditioner=jacobi"], ["discretization.operator=bp3.0"]):
            record = record_of(ranks, ["bar.ini", *arguments])
            text = f"{arguments} on {ranks} ranks"
            expect(record, "balance", {"xmin": 5, "xmax": 10 / 3, "mid": -5 - 10 / 3}, text)
            expect(record, "results", {"least": 5, "most": 5, "hottest": 5}, text)
            expect_closed(record, text)
        record = record_of(ranks, ["bar.ini", "mesh.map=sine", "discretization.order=3", "problem.lambda=3",
                                   "problem.forcing=7*x", "boundary.mid=dirichlet 5+y", "boundary.ymax=dirichlet z",
                                   "boundary.default=neumann 1", "material.mid.kappa=3"])
        expect_closed(record, f"meeting conditions on {ranks} ranks")
        check(abs(values(record, "balance")["mid"]) > 1, f"a volume: {record['balance']}")
    write("slab.ini", "[problem]\nforcing = 0\n[boundary]\ndefault = neumann 0\n")
    for arguments, words in (
            (["boundary.mid=neumann 1"], ["argument 'boundary.mid=neumann 1'", "expected a boundary group or",
                                          "found the volume 'mid' and neumann"]),
            (["boundary.mid=robin 1, 1"], ["found the volume 'mid' and robin"]),
            (["boundary.mid=periodic xmax"], ["found the volume 'mid' and periodic"]),
            (["boundary.middle=dirichlet 1"], ["the mesh has no boundary group 'middle'"]),
            (["mesh.file=" + os.path.join(FIXTURES, "slab.geo"), "boundary.soft=dirichlet 1", "boundary.9=dirichlet 1"],
             ["boundary.9", "group '9' has a volume in common with group 'soft'"]),
            (["boundary.mid=dirichlet"], ["needs a formula"])):
        for ranks in (1, 2):
            Run(ranks, ["bar.ini" if "mesh" not in arguments[0] else "slab.ini", *arguments]).expect_error(ranks, 1, *words)


def surfaces():
    """u is 0 at x = 0, 4 at x = 1 and 10 at x = 4: 4 and 2 flow to the left on the two sides."""
    case = f"""[mesh]
file = {SANDWICH}
[problem]
forcing = 0
[boundary]
left = dirichlet 0
near = dirichlet 4
right = dirichlet 10
default = neumann 0
[probe]
a = 0.5 0.5 0.5
b = 2 0.3 0.5
"""
    write("sandwich.ini", case)
    for ranks in RANKS:
        for arguments in (["discretization.order=1"], ["discretization.order=4"], ["mesh.refine=1"],
                          ["solver.preconditioner=jacobi"], ["discretization.operator=bp3.0"]):
            record = record_of(ranks, ["sandwich.ini", *arguments])
            text = f"{arguments} on {ranks} ranks"
            expect(record, "balance", {"left": 4, "right": -2, "near": -2}, text)
            expect_closed(record, text)
            points = {row["name"]: row["u"] for row in record["probes"]}
            check(abs(points["a"] - 2) < CLOSE and abs(points["b"] - 6) < CLOSE, f"{text}: {points}")
        record = record_of(ranks, ["sandwich.ini", "problem.lambda=x", "problem.forcing=y", "material.two.kappa=9",
                                   "boundary.two=dirichlet 3", "boundary.far=dirichlet 7+z", "discretization.order=3"])
        expect_closed(record, f"a volume and its surfaces on {ranks} ranks")
    for arguments, words in ((["boundary.near=neumann 1"], ["group 'near' has faces between elements; expected "
                                                            "dirichlet there, found neumann"]),
                             (["boundary.near=robin 1, 2"], ["found robin"]),
                             (["boundary.near=periodic right"], ["found periodic"])):
        for ranks in (1, 2):
            Run(ranks, ["sandwich.ini", *arguments]).expect_error(ranks, 1, *words)


driver.side_by_side([(volumes,), (surfaces,)])
driver.finish()
