#!/usr/bin/env python3
"""Forcings that depend on u: Newton's method is quadratic, rates, balances, materials, steps in time, domains of formulas,
refusals."""

import os
import sys

import driver
from driver import Run, check, settings, values

driver.start("reaction", os.path.abspath(sys.argv[1]), sys.argv[2:])
BOX = settings("mesh.elements=4 2 2; discretization.order=4; boundary.default=dirichlet; output.log=; output.field=")
EXACT = settings("problem.solution=x*y+z; solver.tolerance=1e-12; solver.criterion=residual")
# df/du is negative; positive, but below lambda; positive, for Picard's method.
FORCINGS = {"sink": settings("problem.forcing=10*(x*y+z)^3-10*u^3"),
            "below lambda": settings("problem.lambda=5; problem.forcing=5*(x*y+z)+u^2-(x*y+z)^2"),
            "source": settings("problem.forcing=u^2-(x*y+z)^2")}


def quadratic(name, operator):
    """From a distance of 1e-4 changes are about 1e-4, 1e-8 and 1e-16, and the last one is below the tolerance, 1e-12:
    three solves; from 1e-7 two. Picard's method takes more. The solution is in the space, and all integrals are exact."""
    for distance, solves in ("1e-4", 3), ("1e-7", 2):
        document = driver.record(1, *BOX, *EXACT, *FORCINGS[name], f"discretization.operator={operator}",
                                 f"problem.initial=x*y+z+{distance}*sin(pi*x)*sin(pi*y)*sin(pi*z)")
        found = document["solves"]
        check(found > solves if name == "source" else found == solves, f"{name}, {operator}, {distance}: {found} solves")
        check(document["errors"]["max"] < 1e-10, f"{name}, {operator}: {document['errors']}")


def far():
    """From u = 0, also where the method changes from element to element, on any number of ranks."""
    for forcing in (*FORCINGS.values(), settings("problem.forcing=6*sin(u)-6*sin(x*y+z)")):
        found = []
        for ranks in 1, 2, 4:
            document = driver.record(ranks, *BOX, *EXACT, *forcing)
            check(document["errors"]["max"] < 1e-10, f"{forcing}, {ranks} ranks: {document['errors']}")
            found.append(document["solves"])
        check(len(set(found)) == 1 and found[0] <= 14, f"{forcing}: solves {found}")


def rates(operator):
    """The rates of linear problems, also if one of several materials reacts."""
    case = [*BOX, f"discretization.operator={operator}", "discretization.order=3", "mesh.elements=2 2 2", "solver.tolerance=1e-11",
            *settings("problem.solution=sin(2*x)*exp(y)+z*z; region.a.upper=0.5 1 1; region.b.lower=0.5 0 0; "
                      "problem.forcing=3*sin(2*x)*exp(y)-2; material.a.forcing=3*sin(2*x)*exp(y)-2+exp(-u)"
                      "-exp(-(sin(2*x)*exp(y)+z*z)); material.b.lambda=0")]
    run = Run(2, [*case, "--study", "refine=0:2"]).expect(2, 0)
    check("as expected" in run.out, run.out)


def balances():
    """f of the balance is the integral of f(u); the heat balance of each material also closes."""
    f = "problem.forcing=20*exp(-u)"
    for operator in "bp3.5", "bp3.0":
        document = driver.record(2, *BOX[:2], *BOX[3:], *settings("boundary.default=neumann 0; boundary.xmin=dirichlet 0; "
                                 "boundary.xmax=robin 2, 1; region.a.upper=0.5 1 1; material.a.kappa=3; solver.tolerance=1e-12; "
                                 "result.q=integral of 20*exp(-u)"), f, f"discretization.operator={operator}")
        terms, q = values(document, "balance"), values(document)["q"]
        check(abs(terms["f"] / q - 1) < 1e-6, f"f of the balance {terms['f']}, of the solution {q}")
        check(abs(terms["imbalance"]) < 1e-9 * q, f"balance {terms}")


def in_time():
    """Exact for bdf: linear in t. The heat of each step closes. Without conditions that fix u."""
    for case in ("problem.capacity=1; problem.forcing=1-10*u^3+10*(x+t)^3", "problem.capacity=2+u; problem.forcing=2+x+t+u^2-(x+t)^2",
                 "problem.capacity=3; problem.forcing=3+2*exp(u)-2*exp(x+t)"):
        document = driver.record(2, *BOX, *settings(f"problem.solution=x+t; time.end=1; time.steps=5; solver.tolerance=1e-12; {case}"))
        check(document["errors"]["max"] < 1e-10, f"{case}: {document['errors']}")
        check(all(abs(row["heat.imbalance"]) < 1e-10 for row in document["history"][1:]), f"{document['history']}")
    document = driver.record(1, *BOX, *settings("problem.solution=2; problem.forcing=2-u; boundary.default=neumann"))
    check(document["errors"]["max"] < 1e-8, f"sealed: {document['errors']}")


def domains():
    """In a long step the linearized radiation overshoots to 7000 degrees, where kappa is negative; a kappa with another
    sequence, whose limit at 1590 degrees the solution does not reach, gives the same. A field of kappa = u is where that begins."""
    found = []
    for kappa in "54-0.0333*u", "max(54-0.0333*u, 1)":
        document = driver.record(2, *BOX[:2], *BOX[3:], *settings(
            f"problem.kappa={kappa}; problem.capacity=5.1e6; problem.forcing=0; problem.initial=20; mesh.upper=.4 .2 .2; "
            "boundary.default=radiation 0.7, 1100, 273.15; time.end=20000; time.steps=1; solver.tolerance=1e-10"))
        found.append(values(document, "extrema"))
    check(all(abs(found[0][name] - found[1][name]) < 1e-6 for name in found[0]), f"{found}")
    case = [*BOX[:2], *settings("problem.kappa=u; problem.forcing=0; boundary.xmin=dirichlet 1; boundary.xmax=dirichlet 2; "
                                "boundary.default=neumann 0; output.log=; result.heat=flux over xmax")]
    first = driver.record(1, *case, "problem.initial=1+x", "output.field=of_u.hdf")
    second = driver.record(2, *case, "problem.initial=of_u.hdf", "output.field=")
    for document in first, second:  # u^2 is linear; the flux of order 4 is accurate to about 1e-6
        check(abs(values(document)["heat"] + 1.5) < 1e-5, f"{document['solves']} solves: {values(document)}")
    check(second["solves"] <= 2, f"{second['solves']} solves from the solution")
    Run(1, [*case, "output.field="]).expect_error(1, 1, "expected a value > 0")


def unsteady():
    """A forcing that jumps in u has no solution. Refused formulas are in bad_cases.py."""
    Run(1, [*BOX, "boundary.default=dirichlet 0", "problem.forcing=u > 0.3 ? 0 : 40"]).expect_error(1, 2, "the solution still changes")


driver.side_by_side([*[(quadratic, name, operator) for name in FORCINGS for operator in ("bp3.5", "bp3.0")], (far,), (rates, "bp3.5"),
                     (rates, "bp3.0"), (balances,), (in_time,), (domains,), (unsteady,)])
driver.finish()
