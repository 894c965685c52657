#!/usr/bin/env python3
"""sp_solve --groups: volumes, areas, centres and normals of the groups of a box and of a part from CAD, on several
numbers of ranks; sp_plot groups draws them; wrong use.

The picture needs matplotlib; without it exit code 77 (skipped)."""

import os
import sys

import driver
import optional
from driver import Run, check
from plotting import draw, plot, refuse

INPUTS = os.path.abspath(sys.argv[3])
optional.need("numpy", "matplotlib.image")
driver.start("group_table", sys.argv[2], sys.argv[4:])


def near(found, expected, label, relative=1e-12):
    size = max(abs(value) for value in expected)
    check(all(abs(a - b) <= relative * size for a, b in zip(found, expected)), f"{label}: {found}, not {expected}")


def document_of(ranks, *arguments):
    done = Run(ranks, [*arguments, "--groups", "--json", "groups.json"]).expect(ranks, 0)
    check(done.out.count("surface") >= 6 and "(0.000, 0.000, 0.000)" not in done.out, done.out)
    return driver.document("groups.json")


def box(ranks):
    document = document_of(ranks, "mesh.elements=4 2 3", "mesh.lower=1 0 -1", "mesh.upper=3 1 2")
    groups = {group["name"]: group for group in document["groups"]}
    for axis, (name, faces, area) in enumerate((("x", 6, 3), ("y", 12, 6), ("z", 8, 2))):
        for side, end in enumerate(("min", "max")):
            group = groups[name + end]
            centre, normal = [2, 0.5, 0.5], [0, 0, 0]
            centre[axis] = ((1, 0, -1), (3, 1, 2))[side][axis]
            normal[axis] = 2 * side - 1
            check(group["count"] == faces and group["kind"] == "surface", f"{group}")
            near([group["measure"]], [area], group["name"])
            near([group[key] for key in "xyz"], centre, group["name"])
            near([group[key] for key in ("nx", "ny", "nz")], normal, group["name"])
    check(len(document["faces"]) == 13 * 2 * (6 + 12 + 8), f"{len(document['faces'])} numbers of faces")
    if ranks == 1:
        draw([], [], "groups", "groups.json")


# A board with nine parts on it, which hide the sides where they touch it.
PARTS = [f"regions.part_{i}{j}={3 + 19 * i} {3 + 12 * j} 2, {17 + 19 * i} {12 + 12 * j} {6 + (i + 2 * j) % 3}"
         for i in range(3) for j in range(3)]


def names_do_not_overlap():
    """All of 66 groups are named once, outside of the pictures and apart from each other."""
    document = document_of(2, "mesh.size=8", "mesh.background=empty", "regions.board=0 0 0, 60 40 2", *PARTS,
                           "problem.forcing=1", "boundary.default=robin 1, 0")
    surfaces = [group["name"] for group in document["groups"] if group["kind"] == "surface"]
    boxes, names = [], []

    def look(figure, _):
        renderer = figure.canvas.get_renderer()
        for axes in figure.axes:
            for text in axes.texts:
                if not text.get_text():
                    continue  # an arrow
                extent = text.get_window_extent(renderer)
                boxes.append(extent)
                names.append(text.get_text())
                check(extent.width > 0 and extent.height > 6, f"{text.get_text()}: {extent}")

    import figures
    save, figures.save = figures.save, look
    plot("groups", "groups.json", "-o", "x.png")
    figures.save = save
    check(len(surfaces) == 66 and sorted(name for name in names if name in surfaces) == sorted(surfaces), f"{names}")
    overlaps = [(names[a], names[b]) for a in range(len(names)) for b in range(a) if boxes[a].overlaps(boxes[b])]
    check(not overlaps, f"names overlap: {overlaps}")


def part(ranks):
    document = document_of(ranks, os.path.join(INPUTS, "part.ini"), "mesh.size=8")
    groups = {group["name"]: group for group in document["groups"]}
    check(list(groups) == ["base", "pin", *(f"surface {n}" for n in range(1, 11))], f"{list(groups)}")
    # Planes are exact; the hole and the pin are curved elements of order 2.
    flat = sorted(group["measure"] for group in groups.values() if abs(abs(group["nx"]) + abs(group["ny"]) - 1) < 1e-9)
    near(flat, [1.8e-4, 1.8e-4, 2.4e-4, 2.4e-4], "sides")
    near([groups["pin"][key] for key in "xyz"], [0.012, 0.015, 0.011], "pin", 1e-3)
    between = [group for group in groups.values() if group["kind"] == "surface"
               and abs(group["z"] - 0.006) < 1e-9 and group["nz"] == 0]
    check(len(between) == 1, f"surfaces between the bodies: {between}")
    check(between[0]["bodies"] == "base, pin", f"{between}")
    check({group["bodies"] for group in document["groups"]} == {"", "base", "pin", "base, pin"}, "bodies")
    check(not os.path.exists("run.h5"), "a log of what was not run")


def notes():
    """On a mesh that does not fit, notes are the notes of a run. Their texts are in fit.py."""
    points, elements = [(9, 9, 9), (10, 9, 9), (10, 10, 9), (9, 10, 9)], [(3, 1, [1, 2, 3, 4])]  # a lost surface element
    halves = [((1, y, z), 0.5) for z in (0, 0.5) for y in (0, 0.5)]
    for (x, y, z), size in [((-1, 0, 0), 1), ((0, 0, 0), 1), *halves]:
        elements.append((5, 2, [len(points) + n for n in (1, 3, 4, 2, 5, 7, 8, 6)]))  # left-handed
        points += [(x + size * a, y + size * b, z + size * c) for c in (0, 1) for b in (0, 1) for a in (0, 1)]
    driver.write_msh("misfit.msh", points, elements)
    found = []
    for more in [], ["--groups"]:
        Run(2, ["mesh.file=misfit.msh", "problem.forcing=1", "boundary.default=dirichlet 0", "output.log=", "output.field=",
                "--json", "run.json", *more]).expect(2, 0)
        found.append({name: note["text"] for name, note in driver.notes().items()})
    for name in "lost", "misfits", "coincident", "turned":
        check(name in found[0] and found[0][name] == found[1].get(name), f"{name}: {found}")


def wrong_use():
    Run(1, ["mesh.elements=1 1 1", "--groups", "--dry-run"]).expect_error(1, 1, "--groups solves nothing")
    with open("text.json", "w", encoding="utf-8") as file:
        file.write("{}\n")
    refuse(["text.json", "--groups --json"], "groups", "text.json", "-o", "x.png")
    refuse(["absent.json", "No such file"], "groups", "absent.json", "-o", "x.png")


for number in 1, 2, 4:
    driver.in_folder(box, number)
driver.in_folder(part, 2)
driver.in_folder(names_do_not_overlap)
driver.in_folder(notes)
driver.in_folder(wrong_use)
driver.finish()
