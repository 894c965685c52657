#!/usr/bin/env python3
"""Conditions inside the domain: exact values, the balance, and messages. Contacts are in contacts.py."""

import math
import os
import re
import shutil

import cases
from cases import CLOSE, FIXTURES, expect, record, refuse, solve
from driver import check, values, write, write_msh

SANDWICH = os.path.join(FIXTURES, "sandwich.geo")  # blocks one, two and three: x from 0 to 1, to 2 and to 4
VARIANTS = ("discretization.order=1", "discretization.order=4", "mesh.refine=1", "solver.preconditioner=jacobi",
            "discretization.operator=bp3.0")


def volumes():
    """A bar of length 3 whose middle third is at 5: u = 5x before it, and after it a bar of length 1 with
    alpha = 2 at its end, where 5 / (1 + 1/2) flows out. Then the total with sources, sinks and other conditions
    that meet the volume, on deformed elements."""
    bar = ("mesh.elements=6 2 2; mesh.upper=3 1 1; problem.forcing=0; boundary.mid=dirichlet 5; boundary.xmin=dirichlet 0; "
           "boundary.xmax=robin 2, 0; boundary.default=neumann 0; region.mid.lower=1 0 0; region.mid.upper=2 1 1; "
           "result.least=minimum over mid; result.most=maximum over mid; result.hottest=maximum")
    for variant in VARIANTS:
        solve(bar, variant, balance={"xmin": 5, "xmax": 10 / 3, "mid": -5 - 10 / 3},
              results={"least": 5, "most": 5, "hottest": 5})
    document = solve(bar, "mesh.map=sine; discretization.order=3; problem.lambda=3; problem.forcing=7*x; "
                     "boundary.mid=dirichlet 5+y; boundary.ymax=dirichlet z; boundary.default=neumann 1; material.mid.kappa=3")
    check(abs(values(document, "balance")["mid"]) > 1, f"a volume: {document['balance']}")
    refuse(bar,
           ("boundary.mid=neumann 1", "argument 'boundary.mid=neumann 1'", "expected a boundary group or",
            "found the volume 'mid' and neumann"),
           ("boundary.mid=robin 1, 1", "found the volume 'mid' and robin"),
           ("boundary.mid=periodic xmax", "found the volume 'mid' and periodic"),
           ("boundary.middle=dirichlet 1", "the mesh has no boundary group 'middle'"),
           ("boundary.mid=dirichlet", "needs a formula"))
    refuse(f"mesh.file={os.path.join(FIXTURES, 'slab.geo')}; problem.forcing=0; boundary.default=neumann 0",
           ("boundary.soft=dirichlet 1; boundary.9=dirichlet 1", "boundary.9",
            "group '9' has a volume in common with group 'soft'"))


def lower_groups():
    """Groups of points and curves, and of the other kind, in messages."""
    write("lower.geo", f'Include "{os.path.join(FIXTURES, "slab.geo")}";\n'
                       'Physical Point("pin") = {1}; Physical Curve("rim") = {line[1]};\n')
    case = "problem.forcing=0; boundary.default=dirichlet 0; mesh.file="
    refuse(case + "lower.geo",
           ("boundary.pin=neumann 1", "no boundary group 'pin', which is a Physical Point; it has: left, right"),
           ("result.a=flux over rim", "no group 'rim', which is a Physical Curve; surfaces: left"),
           ("material.left.kappa=2", "no Physical Volume 'left', which is a boundary group; it has"),
           ("boundary.pi=neumann 1", "no boundary group 'pi'; it has"))
    write_msh("lower.msh", [(x, y, z) for x in range(5) for z in (0, 1) for y in (0, 1)],
              [(15, 2, [1]), (1, 3, [1, 2]), *((5, 1, [4 * x + n for n in (1, 5, 6, 2, 3, 7, 8, 4)]) for x in range(4))],
              ['0 2 "pin"', '1 3 "rim"', '3 1 "body"'])
    for name, kind in ("pin", "Point"), ("rim", "Curve"):
        refuse(case + "lower.msh",
               (f"boundary.{name}=neumann 1", f"no boundary group '{name}', which is a Physical {kind}; it names none"))


def surfaces():
    """u is 0 at x = 0, 4 at x = 1 and 10 at x = 4: 4 and 2 flow to the left on the two sides."""
    case = (f"mesh.file={SANDWICH}; problem.forcing=0; boundary.left=dirichlet 0; boundary.near=dirichlet 4; "
            "boundary.right=dirichlet 10; boundary.default=neumann 0; probe.a=0.5 0.5 0.5; probe.b=2 0.3 0.5")
    for variant in VARIANTS:
        document = solve(case, variant, balance={"left": 4, "right": -2, "near": -2})
        a, b = (row["u"] for row in document["probes"])
        check(abs(a - 2) < CLOSE and abs(b - 6) < CLOSE, f"{variant}: {a}, {b}")
    solve(case, "problem.lambda=x; problem.forcing=y; material.two.kappa=9; boundary.two=dirichlet 3; "
          "boundary.far=dirichlet 7+z; discretization.order=3")
    refuse(case,
           ("boundary.near=neumann 1", "group 'near' has faces between elements; expected dirichlet, source or contact there, "
            "found neumann"),
           ("boundary.near=robin 1, 2", "found robin"), ("boundary.near=periodic right", "found periodic"))


def sources():
    """Heat in watts through a surface of area 1: a slab, between elements of one, and on both kinds of faces in
    equal parts; then on deformed elements, where the total is also exact. Then in each of many materials."""
    case = (f"constants.Q=3; mesh.file={SANDWICH}; problem.forcing=0; boundary.left=dirichlet 0; "
            "boundary.default=neumann 0; result.through=flux over far; result.at=average over near")
    for text, terms, results in (
            ("boundary.right=source 2*Q", {"left": 6, "right": -6}, {"through": -6, "at": 6}),
            ("boundary.near=source Q; result.film=flux over near", {"left": 3, "near": -3},
             {"through": 0, "at": 3, "film": -3}),
            ("boundary.near=source Q; boundary.right=dirichlet 10", {"left": 4.75, "near": -3, "right": -1.75},
             {"through": -1.75, "at": 4.75}),
            ("boundary.mixed=source 4; boundary.left=; boundary.right=dirichlet 0", {"mixed": -4, "right": 4},
             {"through": 4, "at": 12})):
        for more in "discretization.order=1", "discretization.operator=bp3.0; discretization.order=3":
            solve(case, text, more, balance=terms, results=results)
    document = solve(case, "boundary.half=source -Q; boundary.right=robin 2, 1; material.one.kappa=5; "
                     "discretization.order=3", balance={"half": 3})
    expect(document, "balance", {"right": values(document)["through"]}, "a half")
    solve("mesh.elements=3 2 2; mesh.map=sine; discretization.order=3; problem.forcing=0; boundary.xmin=source 2; "
          "boundary.default=robin 1+x, 0", balance={"xmin": -2, "default": 2})
    many = [f"region.r{i}.lower={i} 0 0; region.r{i}.upper={i + 1} 1 1; material.r{i}.source={i}" for i in range(20)]
    document = solve(*many, "mesh.elements=20 1 1; mesh.upper=20 1 1; problem.forcing=0; boundary.xmin=dirichlet 0; "
                     "boundary.default=neumann 0; discretization.order=2", balance={"f": 190, "xmin": 190})
    for row in document["materials"]:
        check(abs(row["source"] - int(row["name"][1:])) < CLOSE, f"{row}")
    refuse(case, ("boundary.near=source", "boundary.near=source", "expected source Q", "found no q"),
           ("boundary.near=source x", "a finite number", "found 'x'", "neumann"),
           ("boundary.near=source 1/0", "boundary.near"),
           ("boundary.default=source 1", "expected dirichlet, neumann, robin or radiation"),
           ("boundary.two=source 1", "for a volume, dirichlet", "'two' and source"))


def heat_rows(document):
    return {row["name"]: [row[c] for c in ("source", "heat_in", "heat_out")] for row in document["materials"]}


def heat_of_layers():
    """A slab of resistances 1/5, 1 and 2 with 3 W in its middle and alpha = 2 at its end, where u is 1/2 outside: what
    flows to the left, q, makes u = q/5 at x = 1 and (3 - q) (2 + 1/2) + 1/2 at x = 2, which in the middle is
    q/5 + q - 3/2. With the source at x = 1 the flux p to the left is p/5 = (3 - p) 3.5 + 1/2."""
    layers = (f"mesh.file={SANDWICH}; problem.forcing=0; boundary.left=dirichlet 0; boundary.right=robin 2, 1; "
              "boundary.default=neumann 0; material.one.kappa=5; material.two.source=0; discretization.operator=bp3.0")
    q, p = 9.5 / 3.7, 11 / 3.7  # 1.2 q - 1.5 = 8 - 2.5 q
    for source, exact in (
            ("material.two.source=3", {"one": (0, q, q), "two": (3, 0, 3), "default": (0, 3 - q, 3 - q)}),
            ("boundary.near=source 3", {"one": (0, p, p), "two": (0, 3 - p, 3 - p), "default": (0, 3 - p, 3 - p)})):
        for order in 1, 3:
            found = heat_rows(solve(layers, source, f"discretization.order={order}"))
            for name, row in exact.items():
                check(all(abs(a - b) < CLOSE for a, b in zip(found[name], row)), f"{name}, {source}: {found[name]}, {row}")


def heat_of_regions():
    """Regions that meet at edges, on deformed elements: each is balanced, all together as the domain is. results.c has
    the same on any number of ranks."""
    common = ("mesh.elements=4 4 4; mesh.map=sine; discretization.order=3; problem.forcing=0; boundary.xmin=dirichlet y; "
              "boundary.zmax=robin 3, 1; boundary.ymax=neumann z-0.3; boundary.xmax=source 2; boundary.default=neumann 0")
    regions = ("region.low.upper=0.75 1 0.5; region.core.lower=0.25 0.25 0.5; region.core.upper=0.75 0.75 0.75; "
               "region.fixed.lower=0.75 0.75 0; region.fixed.upper=1 1 0.25; material.low.kappa=1+x; "
               "material.core.kappa=30, 20, 10; material.core.forcing=7")
    cells = [(i, j, k) for k in range(4) for j in range(4) for i in range(4)]
    many = [f"region.c{n}.{key}={' '.join(str((c + shift) / 4) for c in cell)}"
            for n, cell in enumerate(cells) for shift, key in enumerate(("lower", "upper"))]
    many += [f"material.c{n}.kappa={1 + n % 7}" for n in range(len(cells))] + ["material.c21.source=1"]
    for settings, count, least in ([regions], 3, 0.01), ([regions, "boundary.fixed=dirichlet 2"], 3, None), (many, 64, 0):
        found = heat_rows(solve(common, *settings))
        check(len(found) == count, f"{found}")
        for name, (source, into, out) in found.items():
            check(abs(source + into - out) < CLOSE, f"{name} of {count}: {found[name]}")
            check(least is None or (out > 1e-6 if count == 64 else min(into, out) > least), f"{name} of {count}: {found[name]}")
    check(abs(found["c21"][2] - 1 - found["c21"][1]) < CLOSE, f"{found['c21']}")
    document = solve(common, regions, "problem.lambda=2+x; material.low.lambda=0")
    kept = {name: source + into - out for name, (source, into, out) in heat_rows(document).items()}
    check(abs(kept["low"]) < CLOSE < kept["core"] and
          abs(sum(kept.values()) - values(document, "balance")["lambda u"]) < CLOSE, f"{kept}")


def bounds():
    """A note if the tolerance allows visible errors of fluxes: out of a conductor, by the root of the jump of kappa."""
    case = ("mesh.elements=8 4 4; region.m.upper=0.5 1 1; material.m.kappa=1; problem.forcing=1; boundary.xmin=dirichlet 0; "
            "boundary.xmax=dirichlet 1; boundary.default=neumann 0")
    for kappa, tolerance, noted in ((1e-5, 1e-8, False), (1e-8, 1e-8, True), (1e-8, 1e-12, False)):
        document = record(case, f"material.default.kappa={kappa}; solver.tolerance={tolerance}")
        found = [note["numbers"]["error"] for note in document["notes"] if note["name"] == "fluxes"]
        check(len(found) == noted and all(1e-4 < error < 1e-3 for error in found), f"{kappa}, {tolerance}: {found}")


BAR = (f"mesh.file={SANDWICH}; problem.forcing=0; boundary.left=dirichlet 0; boundary.right=dirichlet 10; "
       "boundary.default=neumann 0; material.two.kappa=0.1; result.left=flux over left; result.right=flux over right; "
       "result.near=flux over near; result.far=flux over far; result.half=flux over half; "
       "result.area=integral of 1 over mixed; result.mean=average over near; result.norm=norm of 2*u over half; "
       "result.most=maximum over far")
ONE = BAR + "; material.two.kappa=1"


def crossings():
    """Fluxes and averages over surfaces between elements. With kappa 1, 0.1 and 1, a bar of resistances 1, 10 and 2
    carries 10/13, also over half of a surface, whose rim is inside a surface."""
    with open(SANDWICH, encoding="ascii") as file:
        text = re.sub(r'(Physical Volume."\w+", )', r"\g<1>2", file.read())
    write("groups.geo", text + 'Physical Volume("all", 1) = {one[], two[], three[]};\n'
                               'Physical Volume("left half", 2) = {one[], two[]};\n')
    carried = 10 / 13
    for variant in VARIANTS[0], VARIANTS[1], VARIANTS[2], VARIANTS[4]:
        solve(BAR, variant, results={
            "left": carried, "near": -carried, "far": -carried, "right": -carried, "half": -carried / 2, "area": 2,
            "mean": carried, "norm": 2 * carried * 0.5**0.5, "most": 11 * carried})
    # One material: a source of 1 in blocks of 1, 1 and 2, whose heat leaves at the left.
    solve(ONE, "mesh.refine=1; discretization.order=4; problem.forcing=1; boundary.right=", results={"near": -3, "far": -2})
    # Groups on both sides of a surface do not count, although their numbers are lower.
    solve(BAR, "mesh.file=groups.geo", results={"near": -carried, "far": -carried, "half": -carried / 2})
    # The flux into a fixed block is the flux of its neighbour; a fixed surface takes the flux of both sides.
    solve(ONE, "boundary.left=; boundary.one=dirichlet 4", results={"near": -2, "far": -2, "half": -1, "mean": 4})
    solve(ONE, "boundary.near=dirichlet 4", results={"near": -2, "left": 4, "right": -2})
    refuse(BAR, ("result.near=flux over mixed", "result.near", "expected faces of the boundary or faces between elements, "
                 "found 4 of the first and 4 of the second"))
    refuse(f"problem.forcing=1; boundary.default=dirichlet 0; mesh.file={os.path.join(FIXTURES, 'two_blocks.geo')}",
           ("result.b=flux over between", "result.b", "neither decides at 6 of 6 faces", "volumes: all"))


def balanced_blocks():
    """The flux out of one block is the flux into the next."""
    sums = [f"result.f{b}=integral of x*y^3-(1+x)*u over {b}" for b in ("one", "two", "three")]
    for kind in "bp3.5", "bp3.0":
        v = values(solve(BAR, *sums, "problem.forcing=x*y^3; problem.lambda=1+x; discretization.order=3; "
                         f"boundary.left=dirichlet z; discretization.operator={kind}"))
        # The integrals of [result] are exact; the integrals of the operator at order 3 are exact only for bp3.0.
        close = CLOSE if kind == "bp3.0" else 1e-2
        for block, out in (("one", v["left"] + v["near"]), ("two", v["far"] - v["near"]), ("three", v["right"] - v["far"])):
            check(abs(v["f" + block] - out) < close, f"{kind}, block {block}: {v}")


def smooth_crossings():
    """The derivative of e^x is off by at most e^4 (1/2)^6 / (2^5 6!) on elements of length 1 at order 6."""
    for condition in "dirichlet", "neumann", "robin 1+y":
        v = values(solve(ONE, f"boundary.left=dirichlet; boundary.right=dirichlet; boundary.default={condition}; "
                         "problem.forcing=; discretization.order=6; problem.lambda=2; problem.solution=exp(x)*cos(y)*(1+z^2)"))
        for name, exact in (("near", math.e * math.sin(1) * 4 / 3), ("half", math.e * math.sin(0.5) * 4 / 3),
                            ("far", math.e**2 * math.sin(1) * 4 / 3)):
            check(abs(v[name] + exact) < 4e-5, f"{name}, {condition}: {v[name]}, not {-exact}")


def closed_surfaces():
    """The skin of the middle block, with a source of 1 in it: 1 flows out of it for any number, also through a
    contact. Without a volume that has all faces, numbers decide; if one is lower and higher, both halves of the
    middle block are named, unless a group joins them."""
    with open(SANDWICH, encoding="ascii") as file:
        text = file.read() + 'Physical Surface("skin") = {near[], far[]};\n'
    for name, numbers in ("skin.geo", (1, 2, 3)), ("least.geo", (2, 1, 3)), ("most.geo", (1, 3, 2)):
        blocks = "".join(f'Physical Volume("{block}", {number}) = {block}[];\n'
                         for block, number in zip(("one", "two", "three"), numbers))
        write(name, re.sub(r"Physical Volume.*\n", "", text) + blocks)
    halves = text.replace('Physical Volume("two", 2) = two[]', 'Physical Volume("low", 2) = {two[0]};\n'
                          'Physical Volume("high", 4) = {two[1]}').replace('"three", 3', '"three", 5')
    write("halves.geo", halves)
    write("joined.geo", halves + 'Physical Volume("two", 9) = two[];\n')
    source = ONE + "; result.q=flux over skin; material.two.source=1; mesh.file="
    for name in "skin.geo", "least.geo", "most.geo", "joined.geo":
        solve(source + name, results={"q": 1})
    solve(source + "skin.geo", "boundary.near=contact 2", results={"q": 1})
    # A block that a line fixes takes the flux of its neighbours: 5 / 1 to the left, -5 / 2 to the right.
    solve(source + "skin.geo", "boundary.two=dirichlet 5", results={"q": 2.5})
    refuse(BAR.replace("; material.two.kappa=0.1", ""),
           ("mesh.file=halves.geo; result.q=flux over skin", "result.q", "neither decides at 4 of 8 faces",
            "volumes: one, low, high"))


def valleys():
    """The minimum of an element with two valleys is in the deeper one, where dense sampling also finds it."""
    for name in "extremum.ini", "extremum.msh", "extremum.csv":
        shutil.copy(os.path.join(FIXTURES, name), name)
    r3 = values(record("solver.tolerance=1e-13", path="extremum.ini"))["r3"]
    check(abs(r3 + 0.1717945) < 1e-7, f"a minimum of {r3}")


cases.run(valleys, volumes, lower_groups, surfaces, sources, heat_of_layers, heat_of_regions, bounds, crossings,
          balanced_blocks, smooth_crossings, closed_surfaces)
