"""A picture of the boundary groups of a mesh, from the JSON document of sp_solve CASE --groups --json FILE: seen
from two opposite sides, each face in the colour of its group."""

import json
from types import SimpleNamespace

import numpy

import figures
from failure import Failure
from field_figures import Canvas, Colours, add_directions, paint
from figures import pyplot


def read(path):
    """Names of groups, and the faces: rows of the index of a group and the corners."""
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        faces = numpy.array(document["faces"], dtype=float).reshape(-1, 13)
        names = [group["name"] for group in document["groups"]]
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise Failure(f"{path}: expected the file of sp_solve CASE --groups --json {path}") from None
    if len(faces) == 0:
        raise Failure(f"{path}: no group has exterior faces")
    return names, faces


def label(axes, canvas, names, groups):
    """Write the name of each group that is seen at the pixel of it that is nearest to the middle of these pixels."""
    seen = numpy.isfinite(canvas.depth)
    for group in groups:
        pixels = numpy.flatnonzero(seen & (canvas.values == group))
        if len(pixels) == 0:
            continue
        places = numpy.stack([pixels % canvas.width, pixels // canvas.width], axis=1)
        place = places[numpy.abs(places - places.mean(axis=0)).sum(axis=1).argmin()] / 2  # supersampling
        axes.text(*place, names[group].removeprefix("surface "), ha="center", va="center", fontsize=7,
                  bbox={"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "none", "alpha": 0.8})


def draw(arguments):
    names, faces = read(arguments.file)
    corners = numpy.arange(4 * len(faces)).reshape(-1, 2, 2)
    values = faces[:, 0]
    field = SimpleNamespace(order=1, points=faces[:, 1:].reshape(-1, 3), name="region", values=values,
                            per_element=True, regions=names)
    groups = numpy.unique(values).astype(int)
    colours = Colours(field, values)
    figure, both = pyplot.subplots(1, 2, figsize=(10, 4.8))
    azimuth, elevation = arguments.view or (-60, 25)
    for axes, view in zip(both, ((azimuth, elevation), (azimuth + 180, -elevation))):
        canvas = Canvas(field.points, *view)
        paint(canvas, field, corners, numpy.arange(len(faces)), numpy.ones(len(faces)))
        axes.imshow(canvas.image(colours), origin="lower", interpolation="antialiased")
        axes.axis("off")
        label(axes, canvas, names, groups)
        add_directions(axes, canvas)
    field.name = "group"
    colours.add_key(both[1], field, False)
    figures.save(figure, arguments.output)
