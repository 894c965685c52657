#!/usr/bin/env python3
"""A case on paper: what a dry run says of the levels of multigrid is what a run counts, on the ranks that
there are and planned for as many; and plans for more."""

import os
import re
import sys

import driver
import optional
from driver import Run, check

h5py = optional.need("h5py")
PROGRAM, INPUTS = (os.path.abspath(path) for path in sys.argv[1:3])
driver.start("plan", PROGRAM, sys.argv[3:])

PLANS = (
    ("mesh.elements=12 9 10", "discretization.order=3"),
    ("mesh.elements=12 12 6", "mesh.upper=1 1 0.1", "mesh.refine=1", "discretization.order=2",
     "solver.smoother=schwarz"),
    ("mesh.elements=16 17 12", "discretization.order=1", "solver.preconditioner=multigrid",
     "boundary.xmin=periodic xmax", "solver.precision=double"),
    ("mesh.elements=1 16 16", "mesh.upper=0.1 1 1", "discretization.order=2", "boundary.zmin=periodic zmax",
     "boundary.ymin=periodic ymax"),
    ("mesh.elements=12 12 12", "mesh.map=sine", "discretization.order=2"),
    ("mesh.elements=24 12 8", "mesh.map=kershaw", "mesh.epsilon=0.5", "discretization.order=1"),
    ("mesh.elements=5 5 5", "mesh.upper=1 0.05 0.05", "mesh.refine=1", "discretization.order=4"),
    (f"mesh.file={INPUTS}/cube.msh", "mesh.refine=1", "discretization.order=2"),
)


def plan(ranks, number):
    """Degrees of freedom, messages and bytes per level as a run counts them, by a plan of one rank and, for some
    cases, by a dry run of as many ranks. A plan divides a file otherwise."""
    # Without Dirichlet all DOFs are rows, on whose number it depends who solves the last level.
    case = ["problem.forcing=exp(x+y)", "boundary.default=neumann 0", "problem.lambda=1", "output.field=",
            *PLANS[number]]
    Run(ranks, [*case, "output.log=run.h5"]).expect(ranks, 0)
    with h5py.File("run.h5", "r") as log:
        counted = [(row["order"], row["dofs"], row["messages"], f"{1e-3 * row['bytes']:.1f}")
                   for row in log["levels"][:]]
    ways = [(ranks, [])] * (number in (0, 3, 7)) + [(1, ["--ranks", str(ranks)])]
    for count, more in ways:
        dry = Run(count, [*case, "output.log=", "--dry-run", *more]).expect(count, 0)
        rows = re.findall(r"^  order (\d+) +\d+ +(\d+) +\d+ +\d+ +(\d+) +(\S+)$", dry.out, re.MULTILINE)
        found = [(int(order), int(dofs), int(messages), sent) for order, dofs, messages, sent in rows]
        if more and ranks > 1 and "file" in PLANS[number][0]:
            found, counted = [row[:2] for row in found], [row[:2] for row in counted]
        check(found == counted, f"{dry.name}: {found}, not {counted}")


def plan_for_many():
    """A plan for ranks and a box that no machine here could hold."""
    box = ["mesh.elements=320 320 320", "discretization.order=4", "problem.solution=x", "output.log=", "output.field="]
    dry = Run(1, [*box, "--dry-run", "--ranks", "4096"]).expect(1, 0)
    check(re.search(r"^  sum +32768000 ", dry.out, re.MULTILINE), f"{dry.name}: {dry.out!r}")
    # 20^3 elements per rank: two coarser meshes, then cuts between children.
    check(re.findall(r"^  order (\d) +(\d+) ", dry.out, re.MULTILINE) ==
          [("4", "32768000"), ("2", "32768000"), ("1", "32768000"), ("1", "4096000"), ("1", "512000")],
          f"{dry.name}: {dry.out!r}")
    for wrong in "0", "many", "4 ranks", "1e9":
        Run(1, [*box, "--dry-run", "--ranks", wrong]).expect_error(1, 1, "--ranks", f"'{wrong}'")
    Run(1, [*box, "--ranks", "4"]).expect_error(1, 1, "--ranks is for --dry-run")
    Run(2, [*box, "--dry-run", "--ranks", "4"]).expect_error(2, 1, "start one process")
    Run(1, ["mesh.elements=2 2 1", "problem.solution=x", "--dry-run", "--ranks", "5"]).expect_error(
        1, 1, "5 ranks for a mesh of 4 elements")
    Run(1, [*box, "region.a.lower=0 0 0", "region.a.upper=0.5 1 1", "--dry-run", "--ranks", "4"]).expect_error(
        1, 1, "regions", "mesh.refine")


# Fewer ranks show no cut that four do not: some cases of each kind.
driver.side_by_side([*[(plan, 4, number) for number in range(len(PLANS))], *[(plan, 2, number) for number in (1, 3)],
                     (plan, 1, 0), (plan_for_many,)])
driver.finish()
