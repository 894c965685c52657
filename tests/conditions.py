#!/usr/bin/env python3
"""Conditions inside the domain: exact values, the balance, and messages.

    conditions.py SP_SOLVE FIXTURES MPIEXEC...      MPIEXEC... ends with the flag for the number of ranks"""

import json
import math
import os
import sys

import driver
from driver import Run, check, write

FIXTURES = os.path.abspath(sys.argv[2])
INPUTS = os.path.join(FIXTURES, "..", "..", "inputs")
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


def iterations_of(ranks, arguments):
    """With the tolerance of the program."""
    Run(ranks, [*arguments, "output.log=", "output.field=", "--json", "run.json"]).expect(ranks, 0)
    with open("run.json", encoding="utf-8") as file:
        return json.load(file)["iterations"]


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
                                                            "dirichlet, source or contact there, found neumann"]),
                             (["boundary.near=robin 1, 2"], ["found robin"]),
                             (["boundary.near=periodic right"], ["found periodic"])):
        for ranks in (1, 2):
            Run(ranks, ["sandwich.ini", *arguments]).expect_error(ranks, 1, *words)


def sources():
    """Heat in watts through a surface of area 1: a slab, between elements of one, and on both kinds of faces in equal
    parts; then on deformed elements, where the total is exact, too."""
    write("heated.ini", f"""[constants]
Q = 3
[mesh]
file = {SANDWICH}
[problem]
forcing = 0
[boundary]
left = dirichlet 0
default = neumann 0
[result]
through = flux over far
at = average over near
""")
    outside = ["boundary.left=", "boundary.right=dirichlet 0"]
    for ranks in RANKS:
        for arguments, terms, results in (
                (["boundary.right=source 2*Q"], {"left": 6, "right": -6}, {"through": -6, "at": 6}),
                (["boundary.near=source Q", "result.film=flux over near"], {"left": 3, "near": -3},
                 {"through": 0, "at": 3, "film": -3}),
                (["boundary.near=source Q", "boundary.right=dirichlet 10"], {"left": 4.75, "near": -3, "right": -1.75},
                 {"through": -1.75, "at": 4.75}),
                (["boundary.mixed=source 4", *outside], {"mixed": -4, "right": 4}, {"through": 4, "at": 12})):
            for more in ["discretization.order=1"], ["discretization.operator=bp3.0", "discretization.order=3"]:
                record = record_of(ranks, ["heated.ini", *arguments, *more])
                text = f"{arguments + more} on {ranks} ranks"
                expect(record, "balance", terms, text)
                expect(record, "results", results, text)
                expect_closed(record, text)
        record = record_of(ranks, ["heated.ini", "boundary.half=source -Q", "boundary.right=robin 2, 1",
                                   "material.one.kappa=5", "discretization.order=3"])
        expect(record, "balance", {"half": 3}, f"a half on {ranks} ranks")
        far = values(record, "results")["through"]
        expect(record, "balance", {"right": far}, f"a half on {ranks} ranks")
        record = record_of(ranks, ["mesh.elements=3 2 2", "mesh.map=sine", "discretization.order=3", "problem.forcing=0",
                                   "boundary.xmin=source 2", "boundary.default=robin 1+x, 0"])
        expect(record, "balance", {"xmin": -2, "default": 2}, f"a deformed box on {ranks} ranks")
    for arguments, words in ((["boundary.near=source"], ["boundary.near=source", "expected source Q", "found nothing"]),
                             (["boundary.near=source x"], ["a finite number", "found 'x'", "neumann"]),
                             (["boundary.near=source 1/0"], ["boundary.near"]),
                             (["boundary.default=source 1"], ["expected dirichlet, neumann or robin"]),
                             (["boundary.two=source 1"], ["for a volume, dirichlet", "'two' and source"])):
        for ranks in (1, 2):
            Run(ranks, ["heated.ini", *arguments]).expect_error(ranks, 1, *words)


def heat():
    """Heat in and out of materials. A slab of resistances 1/5, 1 and 2 with 3 W in its middle and alpha = 2 at its end,
    where u is 1/2 outside: what flows to the left, q, makes u = q/5 at x = 1 and (3 - q) (2 + 1/2) + 1/2 at x = 2, which in
    the middle is q/5 + q - 3/2. Then regions that meet at edges, on deformed elements: each is balanced, all together
    as the domain is, on any number of ranks."""
    write("layers.ini", f"""[mesh]
file = {SANDWICH}
[problem]
forcing = 0
[boundary]
left = dirichlet 0
right = robin 2, 1
default = neumann 0
[material one]
kappa = 5
[material two]
source = 3
""")
    write("regions.ini", """[mesh]
elements = 4 4 4
map = sine
[discretization]
order = 3
[problem]
forcing = 0
[region low]
upper = 0.75 1 0.5
[region core]
lower = 0.25 0.25 0.5
upper = 0.75 0.75 0.75
[region fixed]
lower = 0.75 0.75 0
upper = 1 1 0.25
[material low]
kappa = 1 + x
[material core]
kappa = 30, 20, 10
forcing = 7
[boundary]
xmin = dirichlet y
zmax = robin 3, 1
ymax = neumann z - 0.3
xmax = source 2
default = neumann 0
""")
    q = 9.5 / 3.7  # 1.2 q - 1.5 = 8 - 2.5 q
    first = None

    def rows(record):
        return {row["name"]: [row[c] for c in ("source", "heat_in", "heat_out")] for row in record["materials"]}

    for ranks in RANKS:
        for order in 1, 3:
            record = record_of(ranks, ["layers.ini", f"discretization.order={order}", "discretization.operator=bp3.0"])
            found = rows(record)
            for name, exact in {"one": (0, q, q), "two": (3, 0, 3), "default": (0, 3 - q, 3 - q)}.items():
                check(max(abs(a - b) for a, b in zip(found[name], exact)) < CLOSE, f"{name} on {ranks}: {found[name]}, {q}")
        found = rows(record_of(ranks, ["regions.ini"]))
        first = first or found
        for name, (source, into, out) in found.items():
            check(abs(source + into - out) < CLOSE and min(into, out) > 0.01, f"{name} on {ranks} ranks: {found[name]}")
            check(max(abs(a - b) for a, b in zip(found[name], first[name])) < CLOSE, f"{name} on {ranks}: {found}, {first}")
        for name, (source, into, out) in rows(record_of(ranks, ["regions.ini", "boundary.fixed=dirichlet 2"])).items():
            check(abs(source + into - out) < CLOSE, f"{name} beside a fixed volume on {ranks} ranks")
        record = record_of(ranks, ["regions.ini", "problem.lambda=2+x", "material.low.lambda=0"])
        found = rows(record)
        kept = {name: source + into - out for name, (source, into, out) in found.items()}
        check(abs(kept["low"]) < CLOSE < kept["core"] and
              abs(sum(kept.values()) - values(record, "balance")["lambda u"]) < CLOSE, f"{kept} on {ranks} ranks")


def crossings():
    """Fluxes and averages over surfaces between elements. With kappa 1, 0.1 and 1, a bar of resistances 1, 10 and
    2 carries 10/13. Fluxes converge, also over half of a surface, whose rim is inside a surface. Each block is
    balanced: what flows out of one is what flows into the next."""
    case = f"""[mesh]
file = {SANDWICH}
[problem]
forcing = 0
[boundary]
left = dirichlet 0
right = dirichlet 10
default = neumann 0
[material two]
kappa = 0.1
[result]
left = flux over left
right = flux over right
near = flux over near
far = flux over far
half = flux over half
area = integral of 1 over mixed
mean = average over near
norm = norm of 2*u over half
most = maximum over far
"""
    write("bar.ini", case)
    write("blocks.ini", "[problem]\nforcing = 1\n[boundary]\ndefault = dirichlet 0\n")
    carried = 10 / 13
    for ranks in RANKS:
        for arguments in (["discretization.order=1"], ["discretization.order=4"], ["mesh.refine=1"],
                          ["discretization.operator=bp3.0"]):
            record = record_of(ranks, ["bar.ini", *arguments])
            expect(record, "results", {"left": carried, "near": -carried, "far": -carried, "right": -carried,
                                       "half": -carried / 2, "area": 2, "mean": carried,
                                       "norm": 2 * carried * 0.5**0.5, "most": 11 * carried},
                   f"{arguments} on {ranks} ranks")
        # One material: a source of 1 in blocks of 1, 1 and 2, whose heat leaves at the left.
        record = record_of(ranks, [f"mesh.file={SANDWICH}", "mesh.refine=1", "discretization.order=4", "problem.forcing=1",
                                   "boundary.left=dirichlet 0", "boundary.default=neumann 0", "result.near=flux over near",
                                   "result.far=flux over far"])
        expect(record, "results", {"near": -3, "far": -2}, f"one material on {ranks} ranks")
        # The flux into a block that a line fixes is that of its neighbour.
        record = record_of(ranks, ["bar.ini", "boundary.left=", "boundary.one=dirichlet 4", "material.two.kappa=1"])
        expect(record, "results", {"near": -2, "far": -2, "half": -1, "mean": 4}, f"a fixed block on {ranks} ranks")
        # A surface that a line names takes what flows there from both sides.
        record = record_of(ranks, ["bar.ini", "boundary.near=dirichlet 4", "material.two.kappa=1"])
        expect(record, "results", {"near": -2, "left": 4, "right": -2}, f"a fixed surface on {ranks} ranks")

        arguments = ["bar.ini", "problem.forcing=x*y^3", "problem.lambda=1+x", "discretization.order=3",
                     "boundary.left=dirichlet z"]
        sums = [f"result.f{b}=integral of x*y^3-(1+x)*u over {b}" for b in ("one", "two", "three")]
        for kind in "bp3.5", "bp3.0":
            record = record_of(ranks, [*arguments, *sums, "discretization.operator=" + kind])
            v = values(record, "results")
            # The integrals of [result] are exact, those of the operator at order 3 are for bp3.0 only.
            close = CLOSE if kind == "bp3.0" else 1e-2
            for block, out in (("one", v["left"] + v["near"]), ("two", v["far"] - v["near"]),
                               ("three", v["right"] - v["far"])):
                check(abs(v["f" + block] - out) < close, f"{kind}, block {block} on {ranks} ranks: {v}")

        # The derivative of e^x is off by at most e^4 (1/2)^6 / (2^5 6!) on elements of length 1 at order 6.
        for condition in "dirichlet", "neumann", "robin 1+y":
            record = record_of(ranks, ["bar.ini", "boundary.left=dirichlet", "boundary.right=dirichlet",
                                       "boundary.default=" + condition, "material.two.kappa=1",
                                       "discretization.order=6", "problem.forcing=", "problem.lambda=2",
                                       "problem.solution=exp(x)*cos(y)*(1+z^2)"])
            v = values(record, "results")
            for name, exact in (("near", math.e * math.sin(1) * 4 / 3), ("half", math.e * math.sin(0.5) * 4 / 3),
                                ("far", math.e**2 * math.sin(1) * 4 / 3)):
                check(abs(v[name] + exact) < 4e-5, f"{name}, {condition} on {ranks} ranks: {v[name]}, not {-exact}")
    for arguments, words in (
            (["result.near=flux over mixed"], ["result.near", "expected faces of the boundary or faces between "
                                               "elements, found 4 of the first and 4 of the second"]),
            (["mesh.file=" + os.path.join(FIXTURES, "two_blocks.geo"), "result.b=flux over between"], ["result.b", "goes from the Physical Volume of the lower number"])):
        for ranks in (1, 2):
            Run(ranks, ["bar.ini" if len(arguments) == 1 else "blocks.ini", *arguments]).expect_error(ranks, 1, *words)


def write_blocks(path, faces):
    """4 x 3 x 2 unit cubes, x from -2 to 2, and the surface "inside" of `faces` (x, y) in the plane between both
    layers; "below" and "above" are the bottom and the top."""
    nodes = [(i - 2, j, k) for k in range(3) for j in range(4) for i in range(5)]

    def node(i, j, k):
        return 20 * k + 5 * j + i + 1

    def ring(i, j, k):
        return [node(i, j, k), node(i + 1, j, k), node(i + 1, j + 1, k), node(i, j + 1, k)]

    cells = [(i, j) for j in range(3) for i in range(4)]
    lines = [[3, 2, 1, 1, *ring(*cell, 0)] for cell in cells] + [[3, 2, 2, 2, *ring(*cell, 2)] for cell in cells]
    lines += [[3, 2, 3, 3, *ring(*cell, 1)] for cell in faces]
    lines += [[5, 2, 4 + k, 4 + k, *ring(*cell, k), *ring(*cell, k + 1)] for k in range(2) for cell in cells]
    names = ['2 1 "below"', '2 2 "above"', '2 3 "inside"', '3 4 "lower"', '3 5 "upper"']
    write(path, "\n".join(
        ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$PhysicalNames", "5", *names, "$EndPhysicalNames", "$Nodes",
         str(len(nodes)), *(f"{n + 1} {x} {y} {z}" for n, (x, y, z) in enumerate(nodes)), "$EndNodes", "$Elements",
         str(len(lines)), *(" ".join(map(str, [n + 1, *line])) for n, line in enumerate(lines)), "$EndElements", ""]))


def ends():
    """A contact that ends inside a body: the same as one that goes on with almost no resistance. Then in a STEP part
    and in tetrahedra, where the pin is insulated so well that its heat passes the contact evenly."""
    write_blocks("ends.msh", [(i, j) for i in (0, 1) for j in range(3)])
    write("ends.ini", """[mesh]
file = ends.msh
[problem]
forcing = 1 + y
[boundary]
inside = contact 0.5
below = dirichlet 0
above = dirichlet 1
default = neumann 0
[discretization]
order = 4
[result]
q = flux over above
f = flux over inside
most = maximum
""")
    with open(os.path.join(FIXTURES, "sandwich.geo"), encoding="ascii") as file:
        write("sandwich.geo", file.read() + 'Physical Surface("rest", 17) = {near[1]};\n')
    bar = ["ends.ini", "mesh.file=sandwich.geo", "boundary.inside=", "boundary.below=", "boundary.above=",
           "boundary.half=contact 0.5", "boundary.left=dirichlet 0", "boundary.right=robin 2, 3", "result.f=flux over half",
           "result.q=flux over right", "problem.kappa=2, 1, 0.5, 0.1, 0, 0.2"]
    for refine in 0, 1:
        arguments = [*bar, f"mesh.refine={refine}"]
        joined = values(record_of(1, [*arguments, "boundary.rest=contact 1e-12"]), "results")
        for ranks in RANKS:
            record = record_of(ranks, arguments)
            expect_closed(record, f"{arguments} on {ranks} ranks")
            expect(record, "results", joined, f"a contact that ends, {refine} refinements, {ranks} ranks")
    for ranks in RANKS:
        record = record_of(ranks, ["ends.ini", "--accuracy"])
        if ranks == 1:
            alone = values(record, "results")
        expect(record, "results", alone, f"blocks on {ranks} ranks")
    Run(2, ["ends.ini", "output.log=study.h5", "output.field=", "--study", "order=1:3"]).expect(2, 0)
    for faces in [(1, 1)], [(i, j) for i in (0, 1) for j in (0, 1)] + [(i, j) for i in (2, 3) for j in (1, 2)]:
        write_blocks("narrow.msh", faces)
        for ranks in (1, 4):
            Run(ranks, ["ends.ini", "mesh.file=narrow.msh"]).expect_error(
                ranks, 1, "at least two elements wide if it ends inside a body", "near (")
    part = ["mesh.file=" + os.path.join(INPUTS, "part.step"), "mesh.size=10", "problem.forcing=0",
            "boundary.surface 2=neumann 1", "boundary.surface 8=dirichlet 0", "boundary.default=neumann 0",
            "boundary.surface 3=contact 1e5", "discretization.order=2", "result.q=flux over surface surface 3",
            "result.jump=average over volume pin", "result.area=integral of 1 over surface surface 3"]
    for ranks in RANKS:
        record = record_of(ranks, part)
        q = values(record, "results")
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
    write("ring.ini", """[mesh]
file = ring.geo
[problem]
solution = (sin(x - 1) + 0.4*cos(2*(x - 1)))*(2 + sin(2*pi*y)*cos(2*pi*z))
[material a]
solution = sin(x - 1)*(2 + sin(2*pi*y)*cos(2*pi*z))
[boundary]
between = contact 0.4
left = dirichlet
right = robin 1
side 2 = periodic side 4
side 3 = periodic side 5
[discretization]
order = 2
""")
    for ranks in RANKS:
        errors = [record_of(ranks, ["ring.ini", f"mesh.refine={refine}"])["errors"]["L2"] for refine in (1, 2)]
        check(2.8 < math.log2(errors[0] / errors[1]) < 3.2, f"a ring on {ranks} ranks: errors {errors}")


def contacts():
    """A contact adds its resistance to that of a bar, exactly, and multigrid does not notice it. Then a curved one
    between two quarters of a pipe wall, on elements of order 4."""
    case = f"""[mesh]
file = {SANDWICH}
[constants]
r = 1
[problem]
forcing = 0
[boundary]
near = contact r
left = dirichlet 0
right = dirichlet 10
default = neumann 0
[probe]
before = 0.5 0.5 0.5
after = 1.5 0.3 0.5
[result]
q = flux over near
mean = average over near
area = integral of 1 over near
volume = integral of 1
"""
    write("contact.ini", case)
    for ranks in RANKS:
        for r in 1e-12, 1, 1e12:
            record = record_of(ranks, ["contact.ini", "discretization.order=3", f"constants.r={r}"])
            q = 10 / (4 + r)
            text = f"resistance {r} on {ranks} ranks"
            expect(record, "results", {"q": -q, "mean": q + q * r / 2, "area": 1, "volume": 4}, text)
            expect(record, "balance", {"left": q, "right": -q}, text)
            points = {row["name"]: row["u"] for row in record["probes"]}
            check(abs(points["before"] - q / 2) < CLOSE and abs(points["after"] - 10 + 2.5 * q) < CLOSE,
                  f"{text}: {points}")
    for n, arguments in enumerate((["discretization.order=1"], ["mesh.refine=1"], ["mesh.scale=2"],
                                   ["solver.preconditioner=jacobi"], ["discretization.operator=bp3.0"],
                                   ["boundary.far=contact 2*r"], ["boundary.near=contact 1 + 0*x"])):
        ranks = RANKS[n % 3]
        record = record_of(ranks, ["contact.ini", *arguments])
        scale = 2 if "scale" in arguments[0] else 1
        q = 10 / (4 * scale + (3 if "far" in arguments[0] else 1))
        expect(record, "results", {"q": -q * scale**2, "area": scale**2, "volume": 4 * scale**3},
               f"{arguments} on {ranks} ranks")
        expect_closed(record, f"{arguments} on {ranks} ranks")
    for ranks in RANKS:
        with open(os.path.join(FIXTURES, "layers.geo"), encoding="ascii") as file:
            write("layers.geo", file.read() + 'Physical Surface("between") = {inner[3]};\n')
        record = record_of(ranks, ["mesh.file=layers.geo", "problem.forcing=0", "boundary.inside=dirichlet 1",
                                   "boundary.outside=dirichlet 0", "boundary.default=neumann 0",
                                   "boundary.between=contact 0.3", "discretization.order=6",
                                   "result.q=flux over between"])
        q = math.pi / 2 / (math.log(2) + 0.3 / 1.5)
        # The interface is close enough to the cylinder not to be seen above 1e-7 (layers.geo).
        check(abs(record["results"][0]["value"] - q) < 1e-6, f"a pipe on {ranks} ranks: {record['results']}, not {q}")
    # A field of a mesh with a contact is one to start from.
    Run(2, ["contact.ini", "output.log=", "output.field=run.hdf", "output.flux=yes"]).expect(2, 0)
    count = iterations_of(4, ["contact.ini", "problem.initial=run.hdf", "solver.tolerance=1e-6"])
    check(count <= 2, f"a start from a field: {count} iterations")
    Run(2, ["contact.ini", "--dry-run"]).expect(2, 0)
    for arguments, words in (
            (["boundary.near=contact"], ["expected contact R", "found nothing"]),
            (["boundary.near=contact 0"], ["boundary.near", "expected a finite number > 0, found '0'"]),
            (["boundary.near=contact 1e-13"], ["expected a resistance from 1e-12 to 1e+12, found 1e-13"]),
            (["boundary.near=contact 1e13"], ["expected a resistance from 1e-12 to 1e+12, found 1e+13"]),
            (["boundary.near=contact x-9"], ["boundary.near", "(x-9)"]),
            (["boundary.right=contact 1"], ["one is exterior near ("]),
            (["boundary.half=contact 1"], ["boundary.half", "surface in common with another contact"]),
            (["boundary.nowhere=contact 1"], ["no boundary group 'nowhere'"]),
            (["boundary.one=contact 1"], ["no boundary group 'one'"]),
            (["boundary.default=contact 1"], ["boundary.default", "expected dirichlet, neumann or robin"]),
            (["mesh.file=", "boundary.near=", "boundary.left=", "boundary.right=", "boundary.xmin=contact 1",
              "result.q=", "result.mean=", "result.area="], ["needs a Physical Surface of a mesh file"])):
        for ranks in (1, 2):
            Run(ranks, ["contact.ini", *arguments]).expect_error(ranks, 1, *words)


driver.side_by_side([(volumes,), (surfaces,), (sources,), (heat,), (crossings,), (contacts,), (ends,), (ring,)])
driver.finish()
