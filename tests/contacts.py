#!/usr/bin/env python3
"""Contacts between bodies: exact values, where they end, what they meet, and messages."""

import math
import os
import sys

import driver
from driver import Run, check, refuse, settings, values, write

FIXTURES = os.path.abspath(sys.argv[2])
INPUTS = os.path.join(FIXTURES, "..", "..", "inputs")
SANDWICH = os.path.join(FIXTURES, "sandwich.geo")
driver.start("contacts", sys.argv[1], sys.argv[3:])
RANKS = (1, 2, 4)
CLOSE = 1e-9  # as in conditions.py


def solve(ranks, arguments, **tables):
    """The record of a run, whose balance is closed and whose tables have these values."""
    document = driver.record(ranks, "output.log=", "output.field=", "solver.tolerance=1e-12", *arguments)
    terms = values(document, "balance")
    check(abs(terms["imbalance"]) < CLOSE * max(0.1, *map(abs, terms.values())), f"{arguments} on {ranks} ranks: {terms}")
    for table, expected in tables.items():
        found = values(document, table)
        for name, value in expected.items():
            check(abs(found[name] - value) < CLOSE, f"{arguments} on {ranks} ranks: {name} {found[name]}, not {value}")
    return document


def fixture(name, more):
    """A fixture with a line more."""
    with open(os.path.join(FIXTURES, name), encoding="ascii") as file:
        write(name, file.read() + more)


def write_blocks(path, faces, order=0):
    """4 x 3 x 2 unit cubes, x from -2 to 2, and the surface "inside" of `faces` (x, y) in the plane between both
    layers; "below" and "above" are the bottom and the top, "left" and "right" the ends in x. With `order` 1 every other column is listed from its top,
    and points are numbered backwards."""
    def ring(i, j, k):
        numbers = [20 * k + 5 * b + a for a, b in ((i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1))]
        return [60 - n if order else 1 + n for n in numbers]

    def end(i, j, k):
        lower, upper = (ring(i - i // 4, j, layer) for layer in (k, k + 1))
        return [lower[i // 4], lower[3 - i // 4], upper[3 - i // 4], upper[i // 4]]

    cells = [(i, j) for j in range(3) for i in range(4)]
    blocks = sorted(((i, j, k) for k in range(2) for i, j in cells), key=lambda b: (b[2] + (b[0] + b[1]) * order) % 2)
    driver.write_msh(path, [(i - 2, j, k) for k in range(3) for j in range(4) for i in range(5)][::-1 if order else 1],
                     [(3, group, ring(*cell, k)) for group, k in ((1, 0), (2, 2)) for cell in cells] +
                     [(3, 3, ring(*cell, 1)) for cell in faces] +
                     [(3, group, end(i, j, k)) for group, i in ((6, 0), (7, 4)) for j in range(3) for k in range(2)] +
                     [(5, 4 + k, ring(i, j, k) + ring(i, j, k + 1)) for i, j, k in blocks],
                     ['2 1 "below"', '2 2 "above"', '2 3 "inside"', '2 6 "left"', '2 7 "right"', '3 4 "lower"', '3 5 "upper"'])


def ends():
    """A contact that ends inside a body: the same as one that goes on with almost no resistance. Then in a STEP part
    and in tetrahedra, where the pin is insulated so well that its heat passes the contact evenly."""
    write_blocks("ends.msh", [(i, j) for i in (0, 1) for j in range(3)])
    case = settings("mesh.file=ends.msh; problem.forcing=1+y; boundary.inside=contact 0.5; boundary.below=dirichlet 0; "
                    "boundary.above=dirichlet 1; boundary.default=neumann 0; discretization.order=4; "
                    "result.q=flux over above; result.f=flux over inside; result.most=maximum")
    fixture("sandwich.geo", 'Physical Surface("rest", 17) = {near[1]};\n')
    bar = [*case, *settings("mesh.file=sandwich.geo; boundary.inside=; boundary.below=; boundary.above=; "
                            "boundary.half=contact 0.5; boundary.left=dirichlet 0; boundary.right=robin 2, 3; "
                            "result.f=flux over half; result.q=flux over right; problem.kappa=2, 1, 0.5, 0.1, 0, 0.2")]
    for refine in 0, 1:
        arguments = [*bar, f"mesh.refine={refine}"]
        joined = values(solve(1, [*arguments, "boundary.rest=contact 1e-12"]))
        for ranks in RANKS:
            solve(ranks, arguments, results=joined)
    alone = values(solve(1, [*case, "--accuracy"]))
    for ranks in 2, 4:
        solve(ranks, [*case, "--accuracy"], results=alone)
    # The sides of a contact do not depend on the order of elements.
    write_blocks("mixed.msh", [(i, j) for i in (0, 1) for j in range(3)], 1)
    for ranks in RANKS:
        solve(ranks, [*case, "mesh.file=mixed.msh"], results=alone)
    Run(2, [*case, "output.log=study.h5", "output.field=", "--study", "order=1:3"]).expect(2, 0)
    for faces in [(1, 1)], [(i, j) for i in (0, 1) for j in (0, 1)] + [(i, j) for i in (2, 3) for j in (1, 2)]:
        write_blocks("narrow.msh", faces)
        refuse(case, (["mesh.file=narrow.msh"], ["at least two elements wide if it ends inside a body", "near ("]),
               ranks=(1, 4))
    part = settings(f"mesh.file={INPUTS}/part.step; mesh.size=10; problem.forcing=0; boundary.surface 2=neumann 1; "
                    "boundary.surface 8=dirichlet 0; boundary.default=neumann 0; boundary.surface 3=contact 1e5; "
                    "discretization.order=2; result.q=flux over surface surface 3; result.jump=average over volume pin; "
                    "result.area=integral of 1 over surface surface 3")
    for ranks in RANKS:
        q = values(solve(ranks, part))
        check(abs(q["jump"] / 1e5 - 1) < 1e-2 and abs(abs(q["q"]) / q["area"] - 1) < 1e-2, f"the part: {q}")


def ring():
    """A contact that goes around a box that is periodic in two directions: the error of a solution that has both
    periods falls by 2^3 from one refinement to the next, on any number of ranks."""
    write("ring.geo", """Point(1) = {0, 0, 0};
l[] = Extrude {0, 1, 0} { Point{1}; Layers{3}; Recombine; };
s[] = Extrude {0, 0, 1} { Line{l[1]}; Layers{2}; Recombine; };
a[] = Extrude {1, 0, 0} { Surface{s[1]}; Layers{2}; Recombine; };
b[] = Extrude {1, 0, 0} { Surface{a[0]}; Layers{2}; Recombine; };
Physical Volume("a") = {a[1]};
Physical Volume("b") = {b[1]};
Physical Surface("left") = {s[1]};
Physical Surface("right") = {b[0]};
Physical Surface("between") = {a[0]};
For side In {2:5}
  Physical Surface(Sprintf("side %g", side)) = {a[side], b[side]};
EndFor
""")
    both = "(2 + sin(2*pi*y)*cos(2*pi*z))"
    case = settings(f"mesh.file=ring.geo; problem.solution=(sin(x - 1) + 0.4*cos(2*(x - 1)))*{both}; "
                    f"material.a.solution=sin(x - 1)*{both}; boundary.between=contact 0.4; boundary.left=dirichlet; "
                    "boundary.right=robin 1; boundary.side 2=periodic side 4; boundary.side 3=periodic side 5; "
                    "discretization.order=2")
    for ranks in RANKS:
        errors = [solve(ranks, [*case, f"mesh.refine={refine}"])["errors"]["L2"] for refine in (1, 2)]
        check(2.8 < math.log2(errors[0] / errors[1]) < 3.2, f"a ring on {ranks} ranks: errors {errors}")
    # What runs across a contact is identified, too, at its end and if the sides are swapped: else it takes 30 to 200.
    strip = settings("mesh.file=strip.msh; problem.forcing=1+y; boundary.left=periodic right; boundary.below=dirichlet x; "
                     "boundary.inside=contact 1e-6; boundary.default=neumann 0")
    for order in 0, 1:
        write_blocks("strip.msh", [(i, j) for i in range(4) for j in (0, 1)], order)
        for ranks, n in (1, 3), (4, 2):
            iterations = solve(ranks, [*strip, f"discretization.order={n}"])["iterations"]
            check(iterations <= 12, f"a strip of a contact on {ranks} ranks: {iterations} iterations")


def contacts():
    """A contact adds its resistance to that of a bar, exactly, and multigrid does not notice it. Then a curved one
    between two quarters of a pipe wall, on elements of order 4."""
    case = settings(f"constants.r=1; mesh.file={SANDWICH}; problem.forcing=0; boundary.near=contact r; "
                    "boundary.left=dirichlet 0; boundary.right=dirichlet 10; boundary.default=neumann 0; "
                    "probe.before=0.5 0.5 0.5; probe.after=1.5 0.3 0.5; probe.on=1 0.5 0.5; result.q=flux over near; "
                    "result.mean=average over near; result.area=integral of 1 over near; result.volume=integral of 1")
    for ranks in RANKS:
        for r in 1e-12, 1, 1e12:
            q = 10 / (4 + r)
            document = solve(ranks, [*case, "discretization.order=3", f"constants.r={r}"],
                             results={"q": -q, "mean": q + q * r / 2, "area": 1, "volume": 4}, balance={"left": q, "right": -q})
            before, after, on = (row["u"] for row in document["probes"])
            check(abs(before - q / 2) < CLOSE and abs(after - 10 + 2.5 * q) < CLOSE, f"{r}, {ranks} ranks: {before}, {after}")
            check(abs(on - q) < CLOSE, f"{r}, {ranks} ranks: {on}, not {q}, the side of the lower number")
    for n, change in enumerate(("discretization.order=1", "mesh.refine=1", "mesh.scale=2", "solver.preconditioner=jacobi",
                                "discretization.operator=bp3.0", "boundary.far=contact 2*r", "boundary.near=contact 1 + 0*x")):
        scale = 2 if "scale" in change else 1
        q = 10 / (4 * scale + (3 if "far" in change else 1))
        solve(RANKS[n % 3], [*case, change], results={"q": -q * scale**2, "area": scale**2, "volume": 4 * scale**3})
    # One watt leaves the best conductors through the poorest contact alone.
    for r in 1e6, 1e10:
        document = driver.record(1, *case, *settings(
            "boundary.right=; material.two.kappa=1e6; material.three.kappa=1e6; material.three.source=1; result.mean=; "
            f"constants.r={r}; result.end=average over right; discretization.order=3; output.log=; output.field="))
        end, count = values(document)["end"], document["iterations"]
        check(count < 10 and abs(end / (r + 1) - 1) < 1e-8, f"a watt through {r}: {end} after {count} iterations")
    fixture("layers.geo", 'Physical Surface("between") = {inner[3]};\n')
    for ranks in RANKS:
        document = solve(ranks, settings(
            "mesh.file=layers.geo; problem.forcing=0; boundary.inside=dirichlet 1; boundary.outside=dirichlet 0; "
            "boundary.default=neumann 0; boundary.between=contact 0.3; discretization.order=6; result.q=flux over between"))
        q = math.pi / 2 / (math.log(2) + 0.3 / 1.5)
        # The interface is close enough to the cylinder not to be seen above 1e-7 (layers.geo).
        check(abs(values(document)["q"] - q) < 1e-6, f"a pipe on {ranks} ranks: {document['results']}, not {q}")
    # A field of a mesh with a contact is one to start from.
    solve(2, [*case, "output.field=run.hdf", "output.flux=yes"])
    for refine in 0, 1:
        count = solve(4, [*case, "problem.initial=run.hdf", "solver.tolerance=1e-6", f"mesh.refine={refine}"])["iterations"]
        check(count <= 2, f"a start from a field, {refine} refinements: {count} iterations")
    Run(2, [*case, "--dry-run"]).expect(2, 0)
    box = settings("mesh.file=; boundary.near=; boundary.left=; boundary.right=; boundary.xmin=contact 1; result.q=; "
                   "result.mean=; result.area=")
    refuse(case,
           (["boundary.near=contact"], ["expected contact R", "found no r"]),
           (["boundary.near=contact 0"], ["boundary.near", "expected a resistance from 1e-12 to 1e+12, found '0'"]),
           (["boundary.near=contact 1-1"], ["expected a resistance from 1e-12 to 1e+12, found '1-1'"]),
           (["boundary.near=contact 1/0"], ["expected a resistance from 1e-12 to 1e+12, found '1/0'"]),
           (["boundary.near=contact 1e-13"], ["expected a resistance from 1e-12 to 1e+12, found '1e-13'"]),
           (["boundary.near=contact 1e13"], ["expected a resistance from 1e-12 to 1e+12, found '1e13'"]),
           (["boundary.near=contact x-9"], ["boundary.near", "'x-9' is -8 at (1, 0, 0), expected a value > 0"]),
           (["boundary.right=contact 1"], ["one is exterior near ("]),
           (["boundary.half=contact 1"], ["boundary.half", "surface in common with another contact"]),
           (["boundary.nowhere=contact 1"], ["no boundary group 'nowhere'"]),
           (["boundary.one=contact 1"], ["no boundary group 'one'"]),
           (["boundary.default=contact 1"], ["boundary.default", "expected dirichlet, neumann, robin or radiation"]),
           (box, ["faces between elements only"]))


driver.side_by_side([(contacts,), (ends,), (ring,)])
driver.finish()
