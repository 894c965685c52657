#!/usr/bin/env python3
"""Wrong formulas, meshes and sizes: one line with the fault and its place, on all ranks; notes on doubtful input.
The behaviour of the program is in bad_input.py, other faults in gmsh*.c, divide.c and problem.c."""

import os

import cases
from cases import FIXTURES, INPUTS, record, refuse, texts
from driver import check, write, write_msh

SMALL = "mesh.elements=3 2 2; discretization.order=2; problem.solution=sin(3*x)+y*z"
ON = "discretization.order=2; problem.solution=x; mesh.file="


def formulas():
    refuse(SMALL, ("problem.lambda=1/(x-1)", "problem.lambda", "at ("),
           ("boundary.xmin=periodic ymin", "boundary.xmin", "ymin"),
           ("line.cut=0 0 2, 1 1 2, 9", "line.cut", "the line is outside the mesh: (0, 0, 2) is 1 from", "(0, 0, 1) in element"),
           # Data that double precision cannot hold.
           ("problem.solution=1e-200*sin(x)", "right-hand side", "range"),
           ("problem.solution=1e200*sin(x)", "right-hand side", "range"),
           ("problem.solution=; problem.forcing=0; boundary.default=dirichlet 1e308", "right-hand side", "range"),
           ("problem.lambda=1e-30; boundary.default=neumann", "lambda", "too small"),
           ("mesh.upper=1e300 1 1", "Jacobian"), ("mesh.upper=1e-200 1e-200 1e-200", "Jacobian"))
    for value, said in ("1e-9", True), ("1", False):
        found = texts(record(SMALL, f"problem.lambda={value}; boundary.default=neumann"))
        check(any("only lambda and alpha determine the mean" in text for text in found.values()) == said,
              f"lambda = {value}: {found}")


CORNERS = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
POINTS = [(x, y, z) for x in range(7) for y in (0, 1) for z in (0, 1)]
CUBES = [[1 + POINTS.index((x + e, y, z)) for x, y, z in CORNERS] for e in range(6)]  # a row along x


def mesh(name, points, hexahedra, groups=(), outside=()):
    """Hexahedra, in no group if in `outside`, and faces in groups."""
    write_msh(name, points, [(3, *group) for group in groups] +
              [(5, 0 if n in outside else 99, nodes) for n, nodes in enumerate(hexahedra)])


def files():
    for name, text, *words in (
            ("text.msh", "hello\n"), ("version.msh", "$MeshFormat\n9.9 0 8\n$EndMeshFormat\n"),
            ("nothing.msh", "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n"),
            ("open.geo", "Point(1) = {0, 0, 0};\nLine(1) = {1, 7};\n", "gmsh"),
            ("exit.geo", "Exit;\n", "gmsh ended while it read this file: remove Exit"),
            ("prisms.geo", "SetFactory(\"OpenCASCADE\");\nRectangle(1) = {0, 0, 0, 1, 1};\n"
             "Extrude {0, 0, 1} { Surface{1}; Layers{1}; Recombine; }\nMesh.ElementOrder = 3;\n",
             "prisms above order 2 and polyhedra are not read")):
        write(name, text)
        refuse(ON + name, ("", name, *words))
    with open(os.path.join(INPUTS, "cube.msh"), "rb") as file:
        whole = file.read()
    for share in 1, 4, 8, 11:
        with open("cut.msh", "wb") as file:
            file.write(whole[:len(whole) * share // 12])
        refuse(ON + "cut.msh", ("", "cut.msh"))
    mesh("number.msh", [(float("nan"), 0, 0), *POINTS[1:]], CUBES)
    refuse(ON + "number.msh", ("", "number.msh", "element 1"))


def groups():
    """A group with a face between elements is no boundary, but harmless if no condition names it. Elements of no
    Physical Volume are left out if there is one."""
    mesh("buried.msh", POINTS, CUBES, groups=[(7, [CUBES[e][k] for k in (0, 3, 7, 4)]) for e in (0, 2)])
    refuse(ON + "buried.msh", ("boundary.7=neumann 0", "boundary.7", "'7'", "between elements"))
    record(ON + "buried.msh")
    mesh("half.msh", POINTS, CUBES, outside=(4, 5))
    found = texts(record(ON + "half.msh"))
    check(any("2 volume elements in no Physical Volume left out" in text for text in found.values()), f"{found}")


def group_named_default():
    """It is named by its number, because `default` means the faces that no line names."""
    case = (f"mesh.file={os.path.join(FIXTURES, 'group_default.msh')}; discretization.order=2; problem.forcing=0; "
            "problem.lambda=0; boundary.xmax=dirichlet 0; probe.middle=0.5 0.5 0.5")
    refuse(case, ("boundary.default=neumann -2", "boundary.default", "Physical Surface 'default'", "number, 1"))
    value = record(case, "boundary.default=neumann 0; boundary.1=neumann -2")["probes"][0]["u"]
    check(abs(value + 1) < 1e-6, f"in the middle {value}")


def curved():
    """A note on curved elements of high order."""
    for order in 4, 5:
        write("pipe.geo", f'Include "{FIXTURES}/pipe.geo";\nMesh.ElementOrder = {order};\n')
        found = texts(record(ON + "pipe.geo"))
        check(any("curved elements of order 5" in text for text in found.values()) == (order == 5), f"{order}: {found}")


def sizes():
    refuse(SMALL, ("mesh.elements=2000000000 2000000000 2000000000", "degrees of freedom"),
           ("mesh.elements=2000 2000 2000; discretization.order=15", "degrees of freedom", "at most"),
           ("mesh.refine=10; discretization.order=15", "mesh.refine=10'", "degrees of freedom"),
           ("mesh.elements=2000 2000 2000", "mesh.elements", "degrees of freedom per rank"),
           ("mesh.curvature=3", "mesh.curvature", "only if mesh.file is a geometry from CAD"))
    refuse(f"{ON}{INPUTS}/part.step", ("mesh.size=0.003", "mesh.size = 0.003", "tetrahedra", "mm would give about"),
           ("mesh.size=3; mesh.size_min=4", "mesh.size_min", "expected at most mesh.size, 3, found 4"))
    refuse(f"{ON}{INPUTS}/cube.msh", ("mesh.refine=9", "mesh.refine=9'", "elements on one rank"))


def in_time():
    case = "mesh.elements=4 1 1; problem.forcing=0; problem.initial=0; boundary.default=dirichlet 0"
    time = "time.end=1; time.steps=2; problem.capacity=1"
    refuse(case, ("time.end=1; problem.capacity=1", "time.step", "none"),
           ("time.end=1; problem.capacity=1; time.tolerance=0.1", "time.tolerance", "sdirk2", "bdf2"),
           ("time.end=1; problem.capacity=1; time.tolerance=1", "time.tolerance", "below 1"),
           ("time.at=1", "time.at", "valid only with time.end"),
           ("material.default.capacity=1", "material.default.capacity", "valid only with time.end"),
           ("time.end=1; time.steps=2", "capacity"), ("time.end=-1; time.steps=2; problem.capacity=1", "time.end"),
           ("time.end=1; time.steps=2; region.a.upper=0.5 1 1; region.b.lower=0.5 0 0; material.b.kappa=1; material.a.capacity=1",
            "capacity"))
    refuse(f"{case}; {time}", ("time.step=0.1", "time.step", "two of them"), ("time.tolerance=0.1", "time.tolerance", "two of them"),
           ("time.at=0.25 0.5", "time.at", "multiples of the step, 0.5", "0.25"),
           ("time.at=0.5 1.5", "time.at", "at most time.end", "1.5"),
           ("time.interval=0.7", "time.interval", "multiples of the step", "0.7"),
           ("time.interval=2", "time.interval", "at most time.end", "2"),
           ("time.interval=0.5; time.every=2", "time.interval", "one of time.every"),
           ("time.at=0.5; time.every=2", "time.at", "one of time.every"),
           ("problem.capacity=0", "capacity"), ("problem.capacity=x-2", "capacity"),
           ("problem.kappa=1+t", "problem.kappa", "depends on t"), ("problem.lambda=t", "problem.lambda", "depends on t"),
           ("problem.capacity=1+t", "problem.capacity", "depends on t"), ("boundary.xmin=robin 1+t, 0", "(alpha)", "depends on t"),
           ("boundary.xmin=contact 1+t", "boundary.xmin", "depends on t"), ("discretization.operator=mass", "mass", "no time"),
           ("problem.initial=", "problem.initial"))


def of_u():
    """Forcings that depend on u."""
    refuse("mesh.elements=4 2 2; discretization.order=4; boundary.default=dirichlet 0",
           ("problem.forcing=u+u0; problem.initial=x", "'u0'", "without u"),
           ("problem.source=u", "problem.source", "unknown name 'u'"),
           ("problem.forcing=log(u)", "problem.forcing", "not finite"),
           ("problem.forcing=-sqrt(u)", "problem.forcing", "derivative", "not finite"),
           ("boundary.default=; discretization.operator=mass; problem.forcing=u", "problem.forcing", "unknown name 'u'"))


cases.run(formulas, files, groups, group_named_default, curved, sizes, in_time, of_u)
