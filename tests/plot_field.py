#!/usr/bin/env python3
"""sp_plot field and report: what they take from fields of real runs, on one rank and on several, the pictures, and
the answers to wrong input."""

import base64
import html.parser
import math
import os
import re
import sys

import driver
import optional
from driver import check
from plotting import BLUE, GREEN, ORANGE, PLOT, draw, plot, refuse_unreadable, refuse

INPUTS = os.path.join(os.path.dirname(PLOT), "..", "..", "inputs")
h5py, numpy, _ = optional.need("h5py", "numpy", "matplotlib.image")
import field_data
import field_figures
import figures

BOX = ["mesh.elements=3 4 2", "mesh.upper=1 2 1", "discretization.order=3", "problem.solution=x+2*y-3*z",
       "solver.tolerance=1e-13"]
driver.start("plot_field", sys.argv[2], sys.argv[3:])


def solve(ranks, *arguments):
    driver.Run(ranks, ["-q", "output.log=", *arguments]).expect(ranks, 0)


def area(triangles):
    one, two = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    return abs(one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0]).sum() / 2


def linear(x, y, z):
    return x + 2 * y - 3 * z


def check_basis():
    """Polynomials of the lattice: exact for monomials, at the points of the lattice and elsewhere."""
    places = numpy.append(numpy.linspace(0, 1, 7), [0.5, 0.123, 1 / 3])
    for order in range(1, 16):
        lattice = numpy.arange(order + 1) / order
        for power in range(order + 1):
            off = abs(field_data.basis(order, places) @ lattice ** power - places ** power).max()
            slope = field_data.derivative(order) @ lattice ** power - power * lattice ** max(power - 1, 0)
            check(off < 1e-11 and abs(slope).max() < 1e-8,
                  f"order {order}: x^{power} is off by {off:.1e}, its derivative by {abs(slope).max():.1e}")


def check_box(path, ranks):
    field = field_data.read(path, "u")
    faces, elements, sides = field_data.exterior_faces(field)
    corners = field.points[faces][:, ::3, ::3]
    normals = sides[:, None] * numpy.cross(corners[:, 1, 0] - corners[:, 0, 0], corners[:, 0, 1] - corners[:, 0, 0])
    outwards = corners.mean(axis=(1, 2)) - [0.5, 1, 0.5]
    check(len(faces) == 52 and set(elements) == set(range(24)) and ((normals * outwards).sum(axis=1) > 0).all(),
          f"{ranks} ranks: {len(faces)} faces of elements {elements}, or normals point inwards")
    # Inside elements, between them, and at the ends: area and lines. Each element draws its outline.
    for axis, position, expected, lines in (
            (0, 0.5, 2, 16), (0, 0.4, 2, 16), (1, 0.5, 1, 10), (2, 0.25, 2, 20), (0, 0, 2, 16),
            (0, 1, 2, 16), (1, 2, 1, 10), (2, 0, 2, 20), (2, 0.5, 2, 20)):
        cut, values, outlines = field_data.slice_field(field, axis, position)
        length = numpy.linalg.norm(outlines[:, 1] - outlines[:, 0], axis=1).sum()
        exact = linear(*numpy.insert(cut, axis, position, axis=2).transpose(2, 0, 1))
        check(abs(area(cut) - expected) < 1e-12 and abs(length - lines) < 1e-10 and
              abs(values - exact).max() < 1e-10, f"{ranks} ranks, {'xyz'[axis]} = {position}: area "
              f"{area(cut)}, lines {length}, off by {abs(values - exact).max():.1e}")
    _, seen, _ = field_data.slice_field(field_data.read(path, "rank"), 2, 0.3)
    check(set(seen) == set(range(ranks)), f"{ranks} ranks: {set(seen)} in a slice")


def check_canvas(path):
    """What is painted: a convex body without gaps, of the right size, with the value of the nearest point."""
    field = field_data.read(path, "u")
    pixels, field_figures.PIXELS = field_figures.PIXELS, 300
    for view in (-60, 25), (200, -50), (0, 90):
        canvas = field_figures.Canvas(field.points, *view)
        field_figures.paint(canvas, field, *field_data.exterior_faces(field))
        drawn = numpy.isfinite(canvas.depth)
        expected = abs(canvas.toward) @ [2, 1, 2] / canvas.pixel ** 2
        rows = drawn.reshape(canvas.height, canvas.width)
        holes = ~rows[1:-1, 1:-1] & rows[:-2, 1:-1] & rows[2:, 1:-1] & rows[1:-1, :-2] & rows[1:-1, 2:]
        at = numpy.flatnonzero(drawn)
        flat = numpy.stack([at % canvas.width, at // canvas.width], axis=1) * canvas.pixel + canvas.low
        points = flat @ [canvas.right, canvas.up] - canvas.depth[at, None] * canvas.toward
        off = abs(canvas.values[at] - linear(*points.T)).max() / canvas.pixel
        check(abs(drawn.sum() / expected - 1) < 0.01 and not holes.any() and off < 6, f"view {view}: {drawn.sum()} "
              f"pixels, not {expected:.0f}, {holes.sum()} holes, values are off by {off:.1f} pixels")
    field_figures.PIXELS = pixels


def check_shell():
    solve(3, os.path.join(INPUTS, "shell.ini"), "output.field=shell.hdf", "discretization.order=4")
    field = field_data.read("shell.hdf", "u")
    cut, values, _ = field_data.slice_field(field, 2, 0.5)
    off = abs(values - 1 / numpy.sqrt((cut ** 2).sum(axis=2) + 0.25)).max()
    check(len(field_data.exterior_faces(field)[0]) == 48 and off < 5e-3 and
          abs(area(cut) / (3 * math.pi) - 1) < 2e-3, f"a ring of area {area(cut)}, 1/r off by {off:.1e}")


def redness(pixels):
    """How much red exceeds blue, by column, without white and the scale on the right."""
    part = pixels[:, :int(0.7 * pixels.shape[1])]
    coloured = part.max(axis=2) - part.min(axis=2) > 60
    columns = numpy.flatnonzero(coloured.sum(axis=0) > 100)
    return [(part[:, c, 0] - part[:, c, 2])[coloured[:, c]].mean() for c in (columns[5], columns[-5])]


def check_pictures():
    solve(2, "mesh.elements=4 2 2", "discretization.order=2", "problem.solution=x", "output.flux=yes",
          "region.left.upper=0.5 1 1", "region.right part.lower=0.5 0 0", "output.field=two.hdf")
    draw([BLUE, ORANGE], [GREEN], "field", "two.hdf", "--scalar", "region", "--slice", "z=0.25")
    draw([BLUE], [ORANGE, GREEN], "field", "two.hdf", "--scalar", "region", "--slice", "x=0.25")
    draw([BLUE, ORANGE], [GREEN], "field", "two.hdf", "--scalar", "rank")
    draw([], [GREEN], "field", "two.hdf", "--scalar", "error", "--elements", "--view", "30", "-20")
    length = field_data.read("two.hdf", "kappa_grad_u")
    check(length.name == "|kappa_grad_u|" and abs(length.values - 1).max() < 1e-6, f"the length of {length.name}")
    for arguments in ["--slice", " z = 0.25"], ["--view", "-90", "89"]:  # u = x, from blue to red
        left, right = redness(draw([], [GREEN], "field", "two.hdf", *arguments))
        check(left < -60 and right > 60, f"{arguments}: redness {left} on the left, {right} on the right")


def check_stretch():
    """The slices of a box are four times as high if z is upwards; wrong factors."""
    aspects, save = [], figures.save
    figures.save = lambda figure, path: aspects.append(figure.axes[0].get_aspect())
    for place in "y=0.5", "z=0.5":
        plot("field", "box.hdf", "--z-stretch", "4", "--slice", place, "-o", "y.png")
    figures.save = save
    check(aspects == [4, 1], f"aspects {aspects}")
    for wrong in "0", "nan", "x":
        check(plot("field", "box.hdf", "-o", "y.png", "--z-stretch", wrong).returncode == 2, f"--z-stretch {wrong}")


def check_report():
    """All numbers of a run and its pictures in one file, which needs no other."""
    driver.Run(2, ["-q", *BOX, "problem.solution=exp(x)*y+z", "output.log=r.h5", "output.field=r.hdf", "--accuracy",
                   "result.<hot>=maximum", "probe.a & b=0.5 0.5 0.5", "line.a<b=0 0 0, 2 2 2, 5"]).expect(2, 0)
    done = plot("report", "r.h5", "r.hdf", "-o", "r.html")
    check(done.returncode == 0 and not done.stderr, f"report: {done.stderr}")
    with open("r.html", encoding="utf-8") as file:
        page = file.read()
    html.parser.HTMLParser().feed(page)
    images = re.findall(r'src="data:image/png;base64,([^"]*)"', page)
    check(len(images) == 6 and all(base64.b64decode(i)[:4] == b"\x89PNG" for i in images), f"{len(images)} images")
    check(not re.search(r"https?://|<script|<link|src=\"(?!data:)", page), "the report needs other files")
    with h5py.File("r.h5") as log:
        bars = {(r["table"], r["name"], r["kind"]): r["error"] for r in log["accuracy"][:]}
        value = log["results"]["value"][0]
    hot = f"<td>&lt;hot&gt;</td><td>maximum</td><td>u</td><td class=\"n\">{value:.9g}</td>" \
          f"<td class=\"n\">± {bars[(b'results', b'<hot>', b'maximum')]:.1e}</td>"
    probe = f"± {bars[(b'probes', b'a & b', b'probe')]:.1e}"
    for words in hot, "a &amp; b", probe, "<h2>Balance</h2>", "Error indicator", "map = none":
        check(words in page, f"no {words} in the report")
    check(plot("report", "r.h5", "-o", "r.html").returncode == 0, "a report without a field")


def check_refused():
    def changed(path, name, value):
        with h5py.File("two.hdf") as old, h5py.File(path, "w") as new:
            old.copy("VTKHDF", new)
            new["VTKHDF"][name][:] = value

    changed("nan.hdf", "PointData/u", math.nan)
    changed("tets.hdf", "Types", 71)
    refuse_unreadable("field", "not a field", "hdf", "-o", "x.png")
    for words, *arguments in (
            (["tets.hdf", "Lagrange hexahedra"], "tets.hdf"), (["u has values that are not finite"], "nan.hdf"),
            (["two.hdf", "no 'v'", "error, kappa_grad_u, u, octants, rank, region, tag"], "two.hdf", "--scalar", "v"),
            (["--slice", "as in x=0.5"], "two.hdf", "--slice", "w=1"),
            (["--slice", "as in x=0.5"], "two.hdf", "--slice", "x=a"),
            (["x = 2 misses the mesh", "from 0 to 1"], "two.hdf", "--slice", "x=2"),
            (["x = nan misses"], "two.hdf", "--slice", "x=nan"),
            (["--view", "--slice"], "two.hdf", "--slice", "x=0.5", "--view", "0", "0")):
        refuse(words, "field", *arguments, "-o", "x.png")
    for words, *arguments in ((["x.txt", ".html"], "report", "r.h5", "-o", "x.txt"),
                              (["absent/x.html", "cannot write"], "report", "r.h5", "-o", "absent/x.html"),
                              (["cannot write"], "field", "two.hdf", "-o", "absent/x.png")):
        refuse(words, *arguments)


def main():
    check_basis()
    for count in 1, 3:
        solve(count, *BOX, "output.field=box.hdf")
        check_box("box.hdf", count)
    check_canvas("box.hdf")
    for part in check_shell, check_pictures, check_stretch, check_report, check_refused:
        part()


driver.in_folder(main)
driver.finish()
