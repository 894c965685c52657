#!/usr/bin/env python3
"""Contacts between bodies: exact values, ends, meeting surfaces, and messages."""

import math
import os

import cases
from cases import CLOSE, FIXTURES, INPUTS, record, refuse, solve
from driver import check, values, write, write_msh

SANDWICH = os.path.join(FIXTURES, "sandwich.geo")


def fixture(name, more):
    """A fixture with one more line."""
    with open(os.path.join(FIXTURES, name), encoding="ascii") as file:
        write(name, file.read() + more)


def write_blocks(path, faces, order=0):
    """4 x 3 x 2 unit cubes, x from -2 to 2, and the surface "inside" of `faces` (x, y) in the plane between both
    layers; "below" and "above" are the bottom and the top, "left" and "right" the ends in x. With `order` 1 every
    other column is listed from its top, and points are numbered backwards."""
    def ring(i, j, k):
        numbers = [20 * k + 5 * b + a for a, b in ((i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1))]
        return [60 - n if order else 1 + n for n in numbers]

    def end(i, j, k):
        lower, upper = (ring(i - i // 4, j, layer) for layer in (k, k + 1))
        return [lower[i // 4], lower[3 - i // 4], upper[3 - i // 4], upper[i // 4]]

    cells = [(i, j) for j in range(3) for i in range(4)]
    blocks = sorted(((i, j, k) for k in range(2) for i, j in cells), key=lambda b: (b[2] + (b[0] + b[1]) * order) % 2)
    write_msh(path, [(i - 2, j, k) for k in range(3) for j in range(4) for i in range(5)][::-1 if order else 1],
              [(3, group, ring(*cell, k)) for group, k in ((1, 0), (2, 2)) for cell in cells] +
              [(3, 3, ring(*cell, 1)) for cell in faces] +
              [(3, group, end(i, j, k)) for group, i in ((6, 0), (7, 4)) for j in range(3) for k in range(2)] +
              [(5, 4 + k, ring(i, j, k) + ring(i, j, k + 1)) for i, j, k in blocks],
              ['2 1 "below"', '2 2 "above"', '2 3 "inside"', '2 6 "left"', '2 7 "right"', '3 4 "lower"', '3 5 "upper"'])


HALF = [(i, j) for i in (0, 1) for j in range(3)]
BLOCKS = ("mesh.file=ends.msh; problem.forcing=1+y; boundary.inside=contact 0.5; boundary.below=dirichlet 0; "
          "boundary.above=dirichlet 1; boundary.default=neumann 0; discretization.order=4; result.q=flux over above; "
          "result.f=flux over inside; result.most=maximum")


def ends():
    """A contact that ends inside a body has the values of one that continues with almost no resistance, for any
    order of the elements in the file. The test results.c has the same on any number of ranks."""
    write_blocks("ends.msh", HALF)
    write_blocks("mixed.msh", HALF, 1)
    alone = values(solve(BLOCKS, "output.accuracy=yes"))
    solve(BLOCKS, "mesh.file=mixed.msh", results=alone)
    fixture("sandwich.geo", 'Physical Surface("rest", 17) = {near[1]};\n')
    bar = ("mesh.file=sandwich.geo; problem.forcing=1+y; boundary.half=contact 0.5; boundary.left=dirichlet 0; "
           "boundary.right=robin 2, 3; boundary.default=neumann 0; problem.kappa=2, 1, 0.5, 0.1, 0, 0.2; "
           "discretization.order=4; result.f=flux over half; result.q=flux over right; result.most=maximum")
    for refine in 0, 1:
        joined = values(solve(bar, f"boundary.rest=contact 1e-12; mesh.refine={refine}"))
        solve(bar, f"mesh.refine={refine}", results=joined)
    for faces in [(1, 1)], [(i, j) for i in (0, 1) for j in (0, 1)] + [(i, j) for i in (2, 3) for j in (1, 2)]:
        write_blocks("narrow.msh", faces)
        refuse(BLOCKS, ("mesh.file=narrow.msh", "at least two elements wide if it ends inside a body", "near ("))


def fixed_bodies():
    """Halves of a cube with R = 0.5 between them, one or both at a fixed value: the end of the other adds 0.5."""
    halves = ("mesh.elements=4 2 2; region.a.upper=0.5 1 1; region.b.lower=0.5 0 0; problem.forcing=0; "
              "boundary.default=neumann 0; boundary.a.xmax=contact 0.5; result.q=flux over a.xmax")
    solve(halves, "boundary.a=dirichlet 3; boundary.xmax=dirichlet 1", results={"q": 2})
    solve(halves, "boundary.b=dirichlet 1; boundary.xmin=dirichlet 3", results={"q": 2})
    solve(halves, "boundary.a=dirichlet 3; boundary.b=dirichlet 1", results={"q": 4})


def rims():
    """Where contacts meet at edges, and where they end at fixed surfaces, the flux through each is that of the
    difference of u: the sides of an insulated cube give equal shares, and a body gives what it gets."""
    third = 1 / 3
    cube = (f"mesh.elements=6 6 6; discretization.order=3; region.out.upper=1 1 1; region.die.lower={third} {third} {third}; "
            f"region.die.upper={2 * third} {2 * third} {2 * third}; material.die.kappa=7; material.out.kappa=5; material.die.forcing=81; "
            "material.out.forcing=0; boundary.zmin=dirichlet 0; boundary.default=neumann 0")
    sides = [axis + end for axis in "xyz" for end in ("min", "max")]
    q = values(solve(cube, *(f"boundary.die.{side}=contact 1e4; result.{side}=flux over die.{side}" for side in sides)))
    check(all(abs(abs(q[side]) - 0.5) < 1e-4 for side in sides), f"insulated cube: {q}")
    halves = values(solve("mesh.elements=4 4 4; discretization.order=4; region.a.upper=0.5 1 1; region.b.lower=0.5 0 0; "
                          "problem.forcing=0; boundary.default=neumann 0; boundary.a.xmax=contact 0.5; boundary.a.ymin=dirichlet 0; "
                          "boundary.xmin=dirichlet 0; boundary.b.ymin=dirichlet 1; boundary.xmax=dirichlet 1; "
                          "result.q=flux over a.xmax; result.y=flux over a.ymin; result.x=flux over xmin"))
    check(abs(halves["q"] + halves["x"] + halves["y"]) < CLOSE, f"halves: {halves}")


def insulated_pin():
    """In a STEP part and in tetrahedra: the pin is insulated so well that its heat passes the contact evenly."""
    q = values(solve(f"mesh.file={INPUTS}/part.step; mesh.size=10; problem.forcing=0; boundary.surface 2=neumann 1; "
                     "boundary.surface 8=dirichlet 0; boundary.default=neumann 0; boundary.surface 3=contact 1e5; "
                     "discretization.order=2; result.q=flux over surface surface 3; result.jump=average over volume pin; "
                     "result.area=integral of 1 over surface surface 3"))
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
    case = (f"mesh.file=ring.geo; problem.solution=(sin(x - 1) + 0.4*cos(2*(x - 1)))*{both}; "
            f"material.a.solution=sin(x - 1)*{both}; boundary.between=contact 0.4; boundary.left=dirichlet; "
            "boundary.right=robin 1; boundary.side 2=periodic side 4; boundary.side 3=periodic side 5; discretization.order=2")
    errors = [solve(case, f"mesh.refine={refine}")["errors"]["L2"] for refine in (1, 2)]
    check(2.8 < math.log2(errors[0] / errors[1]) < 3.2, f"a ring: errors {errors}")


def strip():
    """Entities across a contact are also identified, at its end and if the sides are swapped; else there would be
    30 to 200 iterations."""
    case = ("mesh.file=strip.msh; problem.forcing=1+y; boundary.left=periodic right; boundary.below=dirichlet x; "
            "boundary.inside=contact 1e-6; boundary.default=neumann 0")
    for order in 0, 1:
        write_blocks("strip.msh", [(i, j) for i in range(4) for j in (0, 1)], order)
        for n in 2, 3:
            iterations = solve(case, f"discretization.order={n}")["iterations"]
            check(iterations <= 12, f"a strip of a contact: {iterations} iterations")


CASE = (f"constants.r=1; mesh.file={SANDWICH}; problem.forcing=0; boundary.near=contact r; "
        "boundary.left=dirichlet 0; boundary.right=dirichlet 10; boundary.default=neumann 0; "
        "probe.before=0.5 0.5 0.5; probe.after=1.5 0.3 0.5; probe.on=1 0.5 0.5; result.q=flux over near; "
        "result.mean=average over near; result.area=integral of 1 over near; result.volume=integral of 1")


def bars():
    """A contact adds its resistance to the bar's, exactly, and does not slow down multigrid."""
    for r in 1e-12, 1, 1e12:
        q = 10 / (4 + r)
        document = solve(CASE, f"discretization.order=3; constants.r={r}",
                         results={"q": -q, "mean": q + q * r / 2, "area": 1, "volume": 4}, balance={"left": q, "right": -q})
        before, after, on = (row["u"] for row in document["probes"])
        check(abs(before - q / 2) < CLOSE and abs(after - 10 + 2.5 * q) < CLOSE, f"{r}: {before}, {after}")
        check(abs(on - q) < CLOSE, f"{r}: {on}, not {q}, the side of the lower number")
    for change in ("discretization.order=1", "mesh.refine=1", "mesh.scale=2", "solver.preconditioner=jacobi",
                   "discretization.operator=bp3.0", "boundary.far=contact 2*r", "boundary.near=contact 1 + 0*x"):
        scale = 2 if "scale" in change else 1
        q = 10 / (4 * scale + (3 if "far" in change else 1))
        solve(CASE, change, results={"q": -q * scale**2, "area": scale**2, "volume": 4 * scale**3})
    # One watt leaves the best conductors only through the poorest contact.
    for r in 1e6, 1e10:
        document = record(CASE, "boundary.right=; material.two.kappa=1e6; material.three.kappa=1e6; material.three.source=1; "
                          f"result.mean=; constants.r={r}; result.end=average over right; discretization.order=3; "
                          "solver.tolerance=")
        end, count = values(document)["end"], document["iterations"]
        check(count < 10 and abs(end / (r + 1) - 1) < 1e-8, f"a watt through {r}: {end} after {count} iterations")


def pipe():
    """A curved contact between two quarters of a pipe wall, on elements of order 4."""
    fixture("layers.geo", 'Physical Surface("between") = {inner[3]};\n')
    found = values(solve(
        "mesh.file=layers.geo; problem.forcing=0; boundary.inside=dirichlet 1; boundary.outside=dirichlet 0; "
        "boundary.default=neumann 0; boundary.between=contact 0.3; discretization.order=6; result.q=flux over between"))
    q = math.pi / 2 / (math.log(2) + 0.3 / 1.5)
    # The interface is close enough to the cylinder not to be seen above 1e-7 (layers.geo).
    check(abs(found["q"] - q) < 1e-6, f"a pipe: {found}, not {q}")


def formula():
    """A formula of a resistance is evaluated on the face, where 1 + x is 1.5: the balance closes with both
    operators, also beside a Dirichlet face."""
    for kind in "bp3.0", "bp3.5":
        case = (f"mesh.elements=4 2 2; region.a.upper=0.5 1 1; discretization.operator={kind}; discretization.order=3; "
                "problem.forcing=1; boundary.xmin=dirichlet 0; boundary.ymax=dirichlet x; boundary.default=neumann 0; "
                "result.q=flux over xmin; result.top=flux over ymax; result.mean=average over a")
        constant = values(solve(case, "boundary.a.xmax=contact 1.5"))
        solve(case, "boundary.a.xmax=contact 1+x", results=constant)


def refused():
    refuse(CASE,
           ("boundary.near=contact", "expected contact R", "found no r"),
           *((f"boundary.near=contact {r}", "boundary.near", f"expected a resistance from 1e-12 to 1e+12, found '{r}'")
             for r in ("0", "1-1", "1/0", "1e-13", "1e13")),
           ("boundary.near=contact x-9", "boundary.near", "'x-9' is -8 at (1, 0, ", "expected a value > 0"),
           ("boundary.right=contact 1", "one is exterior near ("),
           ("boundary.half=contact 1", "boundary.half", "surface in common with another contact"),
           ("boundary.nowhere=contact 1", "no boundary group 'nowhere'"),
           ("boundary.one=contact 1", "no boundary group 'one'"),
           ("boundary.default=contact 1", "boundary.default", "expected dirichlet, neumann, robin or radiation"),
           ("mesh.file=; boundary.near=; boundary.left=; boundary.right=; boundary.xmin=contact 1; result.q=; result.mean=; "
            "result.area=", "faces between elements only"))


cases.run(bars, pipe, ends, fixed_bodies, rims, insulated_pin, ring, strip, formula, refused)
