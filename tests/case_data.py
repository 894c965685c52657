#!/usr/bin/env python3
"""Constants of a case: a run equals the run with numbers, bit by bit.

    case_data.py SP_SOLVE MPIEXEC...      MPIEXEC... ends with the flag for the number of ranks"""

import json
import sys

import driver
from driver import Run, check, write

driver.start("case_data", sys.argv[1], sys.argv[2:])
RANKS = (1, 2, 4)
QUIET = ["output.log=", "output.field=", "solver.tolerance=1e-12"]


def results(ranks, arguments):
    """The record of a run and what it printed."""
    run = Run(ranks, [*arguments, *QUIET, "--json", "run.json"]).expect(ranks, 0)
    with open("run.json", encoding="utf-8") as file:
        return json.load(file), run.out


def same_results(a, b, text):
    values = [[(row["name"], row["value"]) for row in record["results"]] for record in (a, b)]
    check(values[0] and values[0] == values[1], f"{text}: {values[0]} and {values[1]}")


def constants():
    """One of each kind of formula."""
    case = """[mesh]
elements = 3 2 2
[discretization]
order = 3
[problem]
kappa = {k}*(1 + x)
lambda = {lam}
forcing = {f}*y
initial = {t}
[boundary]
xmin = dirichlet {t} + y
xmax = robin {h}, {h}*{t}
default = neumann -{h}
[material core]
kappa = {k}
[region core]
lower = 0.33333333333333333 0 0
[result]
rise = average of u - {t}
"""
    write("numbers.ini", case.format(k=2, lam=0.5, f=3, t=25, h=20))
    write("names.ini", "[constants]\nh = 10\nk=2\nlam = k/4\nf = k + 1\nt = 25\nspare = t\nlost = 1\n"
          + case.format(k="k", lam="lam", f="f", t="t", h="h"))
    for ranks in RANKS:
        numbers, _ = results(ranks, ["numbers.ini"])
        names, out = results(ranks, ["names.ini", "constants.h=20"])
        same_results(numbers, names, f"constants on {ranks} ranks")
        check(names["case"]["constants"]["h"] == "20", f"case: {names['case']['constants']}")
        check([name in out for name in ("uses constants.spare", "uses constants.lost", "uses constants.t\n")]
              == [True, True, False], f"notes on constants: {out}")


driver.side_by_side([(constants,)])
driver.finish()
