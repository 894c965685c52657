#!/usr/bin/env python3
"""kappa as a tensor through the whole program: exact fluxes, and a board of orthotropic layers against its exact
solution. Rates, and tensors along other axes, are in tests/convergence.c."""

import math

import cases
from cases import record
from driver import check, values
from mesh_file import Mesh

FACES = "xmin", "xmax", "ymin", "ymax", "zmin", "zmax", "middle"


def solve(*arguments):
    return record(*arguments, "solver.tolerance=1e-14")


def close(label, value, exact, allowed):
    check(abs(value - exact) <= allowed, f"{label}: {value!r} instead of {exact!r}, {abs(value - exact):.1e} off")


def fluxes():
    """u = x y + 2 y z + x^2 lies in the space, and grad u = (y + 2 x, x + 2 z, 2 y) is linear: its mean over a face of
    the unit cube, or over the plane x = 1/2, is its value at the centre. Faces with Dirichlet values share edges. Rounding: sums of some hundred
    terms of size one, and the solver's 1e-14 times a condition number below 1e4."""
    kappa = {"xx": 2, "yy": 3, "zz": 1, "xy": 0.5, "xz": -0.3, "yz": 0.7}
    expected = {}
    for face, name in enumerate(FACES):
        d, at = face // 2 % 3, [0.5, 0.5, 0.5]
        if name != "middle":
            at[d] = face % 2
        x, y, z = at
        slope = y + 2 * x, x + 2 * z, 2 * y
        row = [kappa["".join(sorted("xyz"[d] + "xyz"[e]))] for e in range(3)]
        expected[name] = (-1 if face % 2 or name == "middle" else 1) * sum(k * s for k, s in zip(row, slope))
    mesh = Mesh()
    for half in 0, 1:  # the plane x = 1/2 is between two volumes
        mesh.block((half / 2, 0, 0), (half / 2 + 0.5, 1, 1), (1, 2, 2), 8 + half)
    for face in range(7):
        mesh.faces(face // 2 % 3, 0.5 if face == 6 else face % 2, face + 1)
    mesh.write([f'2 {face} "{name}"' for face, name in enumerate(FACES, 1)], "cube.msh")
    for operator in "bp3.5", "bp3.0":
        found = solve(f"problem.kappa={', '.join(map(str, kappa.values()))}; mesh.file=cube.msh; "
                      f"problem.solution=x*y+2*y*z+x^2; discretization.operator={operator}; discretization.order=4; "
                      "boundary.xmin=robin 2+y; boundary.zmax=neumann; boundary.ymin=neumann",
                      *(f"result.{name}=flux over {name}" for name in FACES))
        for name, flux in values(found).items():
            close(f"{operator}, flux over {name}", flux, expected[name], 1e-9)
        close(f"{operator}, imbalance", found["balance"][-1]["value"], 0, 1e-9)
        close(f"{operator}, error", found["errors"]["max"], 0, 1e-10)


# From below: thickness [mm], kappa_x, kappa_y, kappa_z [W/(mm K)].
LAYERS = (0.6, 0.020, 0.020, 0.00035), (0.4, 0.0008, 0.0008, 0.0003), (0.6, 0.060, 0.035, 0.0004)
SIDES, FILM, HEAT, AIR = (60, 40), 2e-4, 2, 25  # mm, W/(mm^2 K), W, degrees


def film():
    """A stiff film on skew elements: multigrid's start needs the diagonal with the tensor."""
    found = solve("mesh.map=sine; mesh.elements=3 3 3; discretization.order=3; problem.kappa=2, 3, 1; "
                  "problem.solution=300+x; boundary.xmin=robin 1e8; boundary.default=neumann")
    close("film, error", found["errors"]["max"], 0, 1e-10)


def conductor():
    """A film heats a block whose u varies by less than its rounding; without heat there is nothing to balance."""
    for kappa in 1e12, 1e14, 1e16:
        for face, heat in ("dirichlet 300", 100), ("dirichlet 310", 0):
            found = solve(f"mesh.elements=4 4 4; discretization.order=3; problem.kappa={kappa!r}; problem.forcing=0; "
                          f"boundary.xmin={face}; boundary.xmax=robin 10, 3100; boundary.default=neumann 0; "
                          "result.through=flux over xmin")
            close(f"conductor of {kappa}, flux", values(found)["through"], heat, 1e-5 * max(heat, 1))


def board_peak(layers):
    """The temperature at the corner above the chip of a board with insulated sides, a film below, and the heat
    q = HEAT / (a b) (1 + cos(pi x / a)) (1 + cos(pi y / b)) from above. For each of the four cosine modes, u in a
    layer solves kappa_z u'' = s u with s = kappa_x (pi / a)^2 + kappa_y (pi / b)^2, or with one of the two terms or
    none. So (u, kappa_z u') at the top of a layer are a linear function of their values at its bottom. At the
    lowest bottom they are (1, FILM) times a number that follows from kappa_z u' = q at the top."""
    peak = AIR
    for i in 0, 1:
        for j in 0, 1:
            u, flux = 1.0, FILM
            for thickness, kx, ky, kz in layers:
                s = kx * (i * math.pi / SIDES[0])**2 + ky * (j * math.pi / SIDES[1])**2
                if s == 0:
                    u, flux = u + flux * thickness / kz, flux
                    continue
                root = math.sqrt(s / kz)
                c, h = math.cosh(root * thickness), math.sinh(root * thickness)
                u, flux = u * c + flux * h / (kz * root), u * kz * root * h + flux * c
            peak += HEAT / (SIDES[0] * SIDES[1]) * u / flux
    return peak


def board():
    """At N = 6 the half waves and exponentials of this board are exact to 1e-8; the mean of the three conductivities in
    place of the tensor is far off. The upper layer is given along axes that are turned by 90 degrees."""
    ends = [0, *(sum(layer[0] for layer in LAYERS[:i + 1]) for i in range(3))]
    common = [f"mesh.elements=3 3 8; discretization.order=6; mesh.upper={SIDES[0]} {SIDES[1]} 1.6; problem.forcing=0; "
              f"boundary.default=neumann 0; boundary.zmin=robin {FILM}, {FILM * AIR}; "
              f"boundary.zmax=neumann {HEAT / (SIDES[0] * SIDES[1])!r}*(1+cos(pi*x/{SIDES[0]}))*(1+cos(pi*y/{SIDES[1]})); "
              "result.peak=maximum; result.loss=flux over zmin",
              *(f"region.layer{i}.lower=0 0 {ends[i]!r}; region.layer{i}.upper={SIDES[0]} {SIDES[1]} {ends[i + 1]!r}"
                for i in range(3))]
    mean = [(t, *[(kx + ky + kz) / 3] * 3) for t, kx, ky, kz in LAYERS]
    tensors = [f"material.layer{i}.kappa={kx}, {ky}, {kz}" for i, (_, kx, ky, kz) in enumerate(LAYERS[:2])]
    _, kx, ky, kz = LAYERS[2]
    tensors.append(f"material.layer2.kappa={ky}, {kx}, {kz}; material.layer2.axes=0,1,0, -1,0,0")
    for label, layers, materials in (
            ("orthotropic", LAYERS, tensors),
            ("isotropic", mean, [f"material.layer{i}.kappa={layer[1]!r}" for i, layer in enumerate(mean)])):
        found = values(solve(*common, *materials))
        close(f"{label} board", found["peak"], board_peak(layers), 1e-5)
        close(f"{label} board, loss", found["loss"], HEAT, 1e-9)


cases.run(fluxes, film, conductor, board)
