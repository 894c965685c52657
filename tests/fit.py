#!/usr/bin/env python3
"""Meshes whose parts do not fit together: notes with counts, refusals, and values where the mesh can be mended."""

import itertools
import math

import cases
from cases import CLOSE, record, refuse
from driver import check, values
from mesh_file import Mesh

OTHERS = {"default", "parts", "unnamed_faces", "constants", "no_material", "rounding"}  # notes that do not count here
CASE = "problem.forcing=0; boundary.default=neumann 0; boundary.cold=dirichlet 0; result.mean=average of u"
HOT = CASE + "; boundary.hot=dirichlet 100"  # heat has a way out
HEATED = CASE + "; boundary.hot=neumann 1"   # it has none if the parts are not joined
NAMES = ['3 1 "left"', '3 2 "right"', '2 11 "hot"', '2 12 "cold"', '2 13 "chip"']


def two_blocks(counts, key=lambda place: 1, lower=(1, 0, 0), tetrahedra=False):
    """The left one is hot at x = 0, the right one cold at x = 2."""
    mesh = Mesh()
    mesh.block((0, 0, 0), (1, 1, 1), (2, 2, 2), 1)
    mesh.block(lower, (2, lower[1] + 1, lower[2] + 1), counts, 2, key, tetrahedra)
    mesh.faces(0, 0, 11)
    mesh.faces(0, 2, 12, key)
    return mesh


def expect(*arguments, **expected):
    """Exactly these notes on the mesh, each with its words; returns the results."""
    document = record(*arguments)
    found = {name: text for name, text in cases.texts(document).items() if name not in OTHERS}
    check(found.keys() == expected.keys(), f"{arguments}: {found}")
    for name, words in expected.items():
        check(words in found.get(name, ""), f"{arguments}: no '{words}' in {found}")
    return values(document)


def lost():
    """Four of eight surface elements have nodes that no element has."""
    mesh = Mesh()
    mesh.block((0, 0, 0), (1, 1, 1), (4, 4, 4), 1)
    mesh.faces(2, 0, 12)
    mesh.faces(2, 1, 13, within=lambda p: p[0] < 0.25)
    mesh.faces(2, 1, 13, key=lambda place: 1, within=lambda p: 0.25 < p[0] < 0.5)
    expect(CASE, mesh.write(NAMES, "lost.msh"), "boundary.chip=neumann 100", lost="4 of 8 of 'chip'")


def hanging():
    """A face whose centre is a corner of others lies on them: both sides count. Nothing flows through them,
    so the sides have their own temperatures, unless common nodes tie them."""
    for ratio in 2, 3:
        misfits = f"{4 + 4 * ratio**2} exterior faces lie on others"
        expect(HOT, two_blocks((2, 2 * ratio, 2 * ratio)).write(NAMES, "apart.msh"), misfits=misfits)
        mesh = two_blocks((2, 2 * ratio, 2 * ratio), key=lambda place: 0).write(NAMES, "tied.msh")
        for order in 1, 3:
            order_of = f"discretization.order={order}"
            expect(HOT, mesh, order_of, misfits=misfits, pinched="at 9 nodes only" if order == 1 else "")
            refuse(HEATED, (f"{mesh}; {order_of}", "no way out but nodes or edges", misfits, "8 elements 'left'"))
    # The same corners to 1e-8, shifted faces, and a gap.
    for shift, expected in (1e-9, {"coincident": "4 pairs"}), (0.25, {"misfits": "8 exterior faces lie"}):
        expect(HOT, two_blocks((2, 2, 2), lower=(1, shift, 0)).write(NAMES, "shifted.msh"), **expected)
    expect(HOT, two_blocks((2, 2, 2), lower=(1.0001, 0, 0)).write(NAMES, "gap.msh"))


def half_shared():
    """Nodes are shared for y < 1/2 only: two of four pairs of faces are a crack. It is intended if groups name it."""
    mesh = two_blocks((2, 2, 2), key=lambda place: place[1] > 0.5)
    expect(HOT, mesh.write(NAMES, "half.msh"), coincident="2 pairs")
    for side in 0, 1:
        mesh.faces(0, 1, 13, key=lambda place: side * (place[1] > 0.5), within=lambda place: place[1] > 0.5)
    expect(HOT, mesh.write(NAMES, "crack.msh"))


def tetrahedra():
    """Hexahedra on tetrahedra: 4 quadrilaterals of 4 faces each, 8 triangles of 3."""
    mesh = two_blocks((2, 2, 2), key=lambda place: 0, tetrahedra=True).write(NAMES, "mixed.msh") + "; discretization.order=1"
    refuse(HEATED, (mesh, "no way out but", "40 exterior faces"))
    expect(HOT, mesh, misfits="40 exterior faces lie on others", divided="", pinched="at 21 nodes only")


def ties():
    """Blocks that share an edge or a corner only: refused, unless u is fixed on both, or lambda or another condition fixes
    it, or no heat flows. No note if u is fixed where they touch, or if a third block joins them."""
    for name, lower in ("edge", (1, 1, 0)), ("corner", (1, 1, 1)):
        mesh = two_blocks((2, 2, 2), key=lambda place: 0, lower=lower).write(NAMES, name + ".msh")
        for order in 1, 2, 5:
            case = f"{mesh}; discretization.order={order}"
            refuse(HEATED, (case, "no way out but nodes or edges", "8 elements 'left'", "between (0, 0, 0) and (1, 1, 1)"))
            text = "at 1 node only" if name == "corner" else "at 3 nodes only" if order == 1 else "along 2 edges only"
            for more in "", "boundary.hot=neumann 1; problem.lambda=1", "boundary.hot=robin 1, 1", "boundary.hot=neumann 0":
                expect(HOT, case, more, pinched=text)
            expect(CASE, case, "boundary.default=dirichlet 0; problem.forcing=1")
    mesh = two_blocks((2, 2, 2), key=lambda place: 0, lower=(1, 1, 0))
    mesh.block((1, 0, 0), (2, 1, 1), (2, 2, 2), 1)
    expect(HOT, mesh.write(NAMES, "joined.msh"))


def ring(mirror, wrong=0, mesh=None, group=1, first=1, count=3, key=lambda place: 0):
    """A quarter of a ring of elements of order 2, first < r < first + 1; `wrong` elements are mirrored."""
    mesh = mesh or Mesh()
    corner = [(0, 0, 0), (2, 0, 0), (2, 2, 0), (0, 2, 0), (0, 0, 2), (2, 0, 2), (2, 2, 2), (0, 2, 2)]
    edges = [(0, 1), (0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (2, 6), (3, 7), (4, 5), (4, 7), (5, 6), (6, 7)]
    sides = [(0, 1, 2, 3), (0, 1, 5, 4), (0, 3, 7, 4), (1, 2, 6, 5), (2, 3, 7, 6), (4, 5, 6, 7)]
    nodes = corner + [tuple(sum(corner[c][d] for c in set_) // len(set_) for d in range(3))
                      for set_ in (*edges, *sides, range(8))]

    def place(i, j, k):
        r, angle = first + i / 4, math.pi / 2 * j / 2 / count
        return round((-1 if mirror else 1) * r * math.cos(angle), 15), round(r * math.sin(angle), 15), k / 4
    for n, (i, j, k) in enumerate(itertools.product(range(2), range(count), range(2))):
        swapped = [(b, a, c) if n < wrong else (a, b, c) for a, b, c in nodes]
        mesh.add(12, group, [place(2 * i + a, 2 * j + b, 2 * k + c) for a, b, c in swapped], key)
    return mesh


def mirrored():
    """A mirrored ring has the volume and the solution of the ring; with 5 elements inverted it is refused."""
    case = CASE + ("; boundary.cold=; discretization.order=4; boundary.default=dirichlet y^2+z; problem.forcing=-2; "
                   "result.volume=integral of 1; result.moment=integral of u*x^2; mesh.file=ring.msh")
    ring(False).write(NAMES, "ring.msh")
    results = expect(case)
    ring(True).write(NAMES, "ring.msh")
    for name, value in expect(case, turned="all 12 elements").items():
        check(abs(results[name] - value) < CLOSE, f"{name} {value}, not {results[name]}")
    ring(False, wrong=5).write(NAMES, "ring.msh")
    refuse(case, ("", "5 of 12 elements are left-handed"))


def curved():
    """Quarters of rings of order 2 that touch at r = 2 with 3 and 5 elements along the arc: parabolas through points
    of an arc of angle 2a differ from it by a^2 / 16 of their height, less than a twentieth. All 6 + 10 faces."""
    mesh = Mesh()
    for group, first, count in (1, 1, 3), (2, 2, 5):
        ring(False, mesh=mesh, group=group, first=first, count=count, key=lambda place, own=group: own)
    expect(CASE, mesh.write(NAMES, "rings.msh"), "boundary.cold=; boundary.default=dirichlet x", misfits="16 exterior faces lie")


if __name__ == "__main__":
    cases.run(lost, hanging, half_shared, tetrahedra, ties, mirrored, curved)
