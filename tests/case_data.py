#!/usr/bin/env python3
"""Constants, scales, sources and tables of a case: a case equals the same case with numbers, bit by bit, and in
other units; totals are exact."""

import os

import cases
from cases import INPUTS, record, refuse, texts
from driver import check, values, write


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
    numbers, names = record(path="numbers.ini"), record("constants.h=20", path="names.ini")
    check(values(numbers) == values(names), f"constants: {values(numbers)} and {values(names)}")
    check(names["case"]["constants"]["h"] == "20", f"case: {names['case']['constants']}")
    check(texts(names)["constants"] == "no formula uses constants.spare, constants.lost", f"notes: {texts(names)}")


def scale():
    """-lap u = 1 with u = 0 on a body of size s: u is s^2 times u of s = 1, and integrals are s^3 times as large.
    With powers of two, coordinates and integrals of x are the same bits; u is within the tolerance of CG."""
    def sized(s):
        at = repr(s * 0.5)
        return record(f"mesh.file={INPUTS}/cube.msh; mesh.scale={s}; discretization.order=2; problem.forcing=1; "
                      f"boundary.default=dirichlet 0; probe.centre={at} {at} {at}; result.volume=integral of 1; "
                      "result.moment=integral of x*y; result.top=maximum")

    one = sized(1)
    for s, exact in (0.25, True), (1e-3, False):
        scaled = sized(s)
        check(scaled["case"]["mesh"]["scale"] == s, f"case: {scaled['case']['mesh']}")
        for name, power in ("volume", 3), ("moment", 5), ("top", 2):
            ratio = values(scaled)[name] / values(one)[name] / s**power
            check(ratio == 1 if exact and power > 2 else abs(ratio - 1) < 1e-9, f"{name}, scale {s}: ratio {ratio!r}")
        a, b = (document["probes"][0]["u"] for document in (one, scaled))
        check(abs(b / a / s**2 - 1) < 1e-9, f"probe, scale {s}: {a}, {b}")


def sources():
    """The total of a source is in the balance exactly, however curved or coarse its volume is; a problem's
    source is shared by the elements without one of their own."""
    case = ("constants.watts=2; mesh.map=sine; problem.source=watts+1; boundary.default=dirichlet 0; "
            "material.core.source=watts; material.cold.forcing=0; material.other.kappa=3; "
            "region.core.upper=0.5 0.5 0.5; region.cold.lower=0.5 0.5 0.5; region.other.upper=0.5 1 1; "
            "region.other.lower=0 0.5 0; result.top=maximum; mesh.elements=2 2 2; discretization.order=2")
    for mesh, order in ("2 2 2", 1), ("2 2 2", 3), ("4 2 6", 2):
        total = record(case, f"mesh.elements={mesh}; discretization.order={order}")["balance"][0]["value"]
        # Rounding of a sum over at most 48 elements of 64 points.
        check(abs(total - 5) < 48 * 64 * 2.3e-16 * 5, f"{mesh}, order {order}: total {total!r}")
    refuse(case, ("material.core.forcing=1", "material.core.source", "exclude each other"),
           ("problem.source=x", "problem.source=x", "expected a finite number"),
           ("material.core.source=foo", "unknown name 'foo'"),
           ("discretization.operator=mass", "problem.source", "has no source"),
           ("problem.forcing=1", "problem.source", "exclude each other"),
           ("material.default.source=1; material.other.source=1", "no elements are left for it"))


def tables():
    """A table whose points are on a line is that line, with its derivative: u = 2x is the solution with a
    constant kappa, as flux and as boundary value. One beside the case file is found from any folder."""
    os.makedirs("cases/tables")
    write("cases/case.ini", """[mesh]
elements = 3 2 2
[constants]
k = table("tables/k.csv", 350)
[problem]
kappa = k
solution = table("tables/u.csv", x)
[boundary]
xmin = dirichlet
xmax = robin 2
default = neumann
[result]
out = flux over xmax
""")
    write("cases/tables/u.csv", "# x u\n-1 -2\n0.3, 0.6\n2 4\n")
    write("cases/tables/k.csv", "300, 4\n400, 2\n")
    document = record("discretization.order=2", path="cases/case.ini")
    check(abs(values(document)["out"] + 6) < 1e-10 and document["errors"]["max"] < 1e-10, f"{document}")
    write("cases/tables/bad.csv", "300, 4\n300, 2\n")
    refuse("", ('problem.forcing=table("no.csv", x)', "argument ", "cannot open the table 'cases/no.csv': No such"),
           ('problem.forcing=table("tables/bad.csv", x)', "argument ",
            "cases/tables/bad.csv:2: expected x above 300, found 300"),
           ("output.log=cases/tables/k.csv", "output.log", "would overwrite a table"), path="cases/case.ini")


cases.run(constants, scale, sources, tables)
