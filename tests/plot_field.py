#!/usr/bin/env python3
"""sp_plot field and report: data from fields of real runs, on one rank and on several, pictures, and errors for
wrong input."""

import base64
import html
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
import labels

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
    """Painted pixels: a convex body without gaps, of the right size, with the value of the nearest point."""
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
    """The slices of a box are four times as high if z is upwards, and as wide; wrong factors."""
    sizes, save = [], figures.save

    def look(figure, _):
        figure.draw_without_rendering()
        extent = figure.axes[0].get_window_extent()
        sizes.append((extent.width, extent.height))

    figures.save = look
    for place, stretch in ("y=0.5", "1"), ("y=0.5", "4"), ("z=0.5", "4"):
        plot("field", "box.hdf", "--z-stretch", stretch, "--slice", place, "-o", "y.png")
    figures.save = save
    (width, height), stretched, lying = sizes
    check(abs(stretched[0] / width - 1) < 0.05, f"widths of slices with and without stretch: {sizes}")
    check(abs(stretched[1] / stretched[0] / (4 * height / width) - 1) < 0.01, f"the stretch is not 4: {sizes}")
    check(abs(lying[1] / lying[0] - 2) < 0.1, f"a slice z = 0.5 is stretched: {sizes}")
    for wrong in "0", "nan", "x":
        check(plot("field", "box.hdf", "-o", "y.png", "--z-stretch", wrong).returncode == 2, f"--z-stretch {wrong}")


def check_numbers():
    """A value has the digits of its error bar."""
    nan, inf = math.nan, math.inf
    for value, bar, text in (
            (72.3102, 0.004, "72.310 ± 0.004"), (72.3102, 0.0014, "72.3102 ± 0.0014"), (72.3102, 0.0096, "72.310 ± 0.010"),
            (-72.3102, 0.4, "−72.3 ± 0.4"), (0, 1.1e-6, "(0.0 ± 1.1) × 10⁻⁶"), (2, 30, "(0 ± 3) × 10¹"),
            (12345.6, 30, "(1.235 ± 0.003) × 10⁴"), (9.02114e-6, 1.6e-10, "(9.02114 ± 0.00016) × 10⁻⁶"),
            (72.31019687, nan, "72.3102"), (72.31019687, inf, "72.3102"), (72.31019687, 0, "72.31019687"),
            (1 / 3, 1e-20, "0.333333333333"), (0, 0, "0"), (1.5e-13, nan, "1.5 × 10⁻¹³"), (nan, 1, ""), (inf, 1, "inf")):
        found = labels.number(value, bar).replace("\u00a0", " ")
        check(found == text, f"{value} with the bar {bar}: '{found}', not '{text}'")


def check_units():
    """Labels of [units] come to logs, fields, tables and axes, and none without them."""
    case = ["-q", "mesh.elements=2 2 2", "discretization.order=2", "problem.forcing=1", "boundary.default=dirichlet 0",
            "result.hot=maximum", "result.all=integral", "result.side=integral over xmin", "result.size=norm",
            "result.through=flux over xmin", "result.R=resistance over xmax, xmin by through", "result.own=integral of u^2",
            "line.a=0 0 0, 1 1 1, 5", "probe.p=0.5 0.5 0.5", "output.flux=yes", "output.log=u.h5", "output.field=u.hdf"]
    units = ["units.temperature=K", "units.length=mm", "units.power=W"]
    expected = {"hot": "K", "all": "K mm^3", "side": "K mm^2", "size": "K mm^1.5", "through": "W", "R": "K/W", "own": ""}
    none = dict.fromkeys(expected, "")
    for given, names in (units, expected), (units[:1], {**none, "hot": "K"}), ([], none):
        driver.Run(2, [*case, *given]).expect(2, 0)
        length = "mm" if len(given) == 3 else ""
        with h5py.File("u.h5") as log:
            found = {row["name"].decode(): row["unit"].decode() for row in log["results"][:]}
            check(found == names, f"{given}: {found}")
            found = labels.units_of(log["lines"])
            check(found.get("x", "") == length and found.get("u", "") == names["hot"] and
                  found.get("flux_x", "") == ("W/mm^2" if length else ""), f"{given}: {found}")
        field = field_data.read("u.hdf", "u")
        check((field.unit, field.length_unit) == (names["hot"], length), f"{given}: {field.unit}, {field.length_unit}")
        check(plot("report", "u.h5", "u.hdf", "-o", "u.html").returncode == 0, f"{given}: a report")
        with open("u.html", encoding="utf-8") as file:
            page = file.read()
        for text, known in ("u [K]", given), ("x, y, z [mm]", length), ("value [W]", length), ("<td>K mm²</td>", length):
            check((text in page) == bool(known), f"{given}: '{text}' in the report")
        axes, save = [], figures.save
        figures.save = lambda figure, path: axes.extend(figure.axes)
        plot("line", "u.h5", "-o", "y.png")
        plot("field", "u.hdf", "--slice", "x=0.5", "-o", "y.png")
        figures.save = save
        found = [axes[0].get_xlabel(), axes[1].get_xlabel(), axes[1].get_ylabel()]
        u = axes[0].get_ylabel()
        check([text.endswith(" [mm]") for text in found] == 3 * [length != ""] and u == ("u [K]" if given else "u"),
              f"{given}: axes {found}, {u}")
    for wrong, words in (("power=k W", ["units.power", "such as mm", "'k W'", "white space"]),
                         ("length=m/s", ["units.length", "'m/s'", "one of /"]),
                         ("temperature=" + 16 * "K", ["units.temperature", "more than 15 bytes"]),
                         ("heat=W", ["unknown key 'heat' in [units]", "temperature, length, power"])):
        driver.Run(2, [*case, f"units.{wrong}"]).expect_error(2, 1, *words)


def check_names():
    """Groups that a case names by numbers have their names in tables."""
    driver.Run(2, ["-q", "mesh.size=0.5", "regions.left=0 0 0, 0.5 1 1", "regions.right=0.5 0 0, 1 1 1",
                   "discretization.order=2", "problem.forcing=1", "boundary.8=dirichlet 0", "boundary.default=neumann 0",
                   "material.1.kappa=2", "result.a=flux over surface 8", "result.b=average over volume 2",
                   "output.log=n.h5", "output.field="]).expect(2, 0)
    with h5py.File("n.h5") as log:
        names = [row["group"].decode() for row in log["results"][:]]
        parts = [row["name"].decode() for row in log["balance"][:] if row["kind"] == b"flux"]
        bodies = [row["name"].decode() for row in log["materials"][:]]
    check(names == ["left.xmax", "right"], f"groups of results: {names}")
    check(parts == ["left.xmax", "default"] and bodies == ["left", "default"], f"lines {parts}, materials {bodies}")


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
        value, middle = log["results"]["value"][0], log["probes"]["u"][0]
        notes = [row["text"].decode() for row in log["notes"][:]] if "notes" in log else []
    hot = f"<td>&lt;hot&gt;</td><td>maximum</td><td>u</td><td class=\"n\">" \
          f"{labels.number(value, bars[(b'results', b'<hot>', b'maximum')])}</td>"
    probe = labels.number(middle, bars[(b"probes", b"a & b", b"probe")])
    for words in hot, "a &amp; b", probe, *map(html.escape, notes), "<h2>Balance</h2>", "Error indicator", "map = none":
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
    for part in (check_shell, check_pictures, check_stretch, check_numbers, check_units, check_names, check_report,
                 check_refused):
        part()


driver.in_folder(main)
driver.finish()
