"""Pictures of the boundary groups of a mesh from two opposite sides, from the JSON document of sp_solve CASE
--groups --json FILE. Each face has the colour of its group; names are beside the pictures. Groups that others
hide, for example between bodies, are below."""

import json
from types import SimpleNamespace

import numpy

import figures
from failure import Failure
from field_figures import SUPERSAMPLING, Canvas, Colours, add_directions, paint
from figures import pyplot

LEAST = 12                          # pixels of the image of a group that is named in it
PICTURE, GAP, LETTER = 3.4, 0.15, 0.06  # inches: longer side of a picture; between names; of a letter
DIRECTIONS = 0.6                    # and of the arrows below


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


def seen(canvas, groups):
    """{group: [pixels][2]} of the groups that a canvas shows, by columns and rows of its image."""
    pixels = numpy.flatnonzero(numpy.isfinite(canvas.depth))
    owner = canvas.values[pixels]
    places = numpy.stack([pixels % canvas.width, pixels // canvas.width], axis=1) / SUPERSAMPLING
    found = {group: places[owner == group] for group in groups}
    return {group: place for group, place in found.items() if len(place) >= LEAST * SUPERSAMPLING ** 2}


def layers(field, faces, views):
    """[(canvases, [{group: pixels}])], one per view: all surfaces, then the hidden ones, and so on. Each
    group is in one layer, in the view that shows more of it."""
    left, out = numpy.unique(faces[:, 0]).astype(int), []
    corners = numpy.arange(4 * len(faces)).reshape(-1, 2, 2)
    while len(left) > 0:
        rows = numpy.flatnonzero(numpy.isin(faces[:, 0], left))
        canvases = [Canvas(field.points, *view) for view in views]
        for canvas in canvases:
            for side in (1, -1) if out else (1,):  # opened groups are also seen from inside
                paint(canvas, field, corners[rows], rows, numpy.full(len(rows), side))
        shown = [seen(canvas, left) for canvas in canvases]
        for group in set(shown[0]) & set(shown[1]):
            less = min(reversed(shown), key=lambda places: len(places[group]))
            del less[group]
        named = [group for places in shown for group in places]
        if not named:
            break
        out.append((canvases, shown))
        left = numpy.setdiff1d(left, named)
    return out


def spread(wanted, gap, low, high):
    """Ascending places near `wanted`, which ascend, at least `gap` apart and from `low` to `high` if there is
    room."""
    places = []
    for n, place in enumerate(wanted):
        place = min(max(place, low + n * gap), high - (len(wanted) - 1 - n) * gap)
        places.append(max(place, places[-1] + gap) if places else place)
    return places


def columns_of(places, width):
    """The groups left and right of the middle, in two lists of about the same length, upwards."""
    middle = {group: pixels[numpy.abs(pixels - pixels.mean(axis=0)).sum(axis=1).argmin()]
              for group, pixels in places.items()}
    across = sorted(middle, key=lambda group: middle[group][0])
    count = sum(middle[group][0] < width / 2 for group in across)
    count = min(max(count, len(across) // 3), -(-2 * len(across) // 3))
    return [[(group, middle[group]) for group in sorted(part, key=lambda group: middle[group][1])]
            for part in (across[:count], across[count:])]


def draw_view(axes, canvas, columns, names, colours, size):
    """The picture in the middle, names beside it, and lines from these to the groups. `size` in pixels."""
    width, height = canvas.width / SUPERSAMPLING, canvas.height / SUPERSAMPLING
    low, high = (height - size[1]) / 2, (height + size[1]) / 2
    inch = max(width, height) / PICTURE
    axes.imshow(canvas.image(colours), origin="lower", interpolation="antialiased", extent=(0, width, 0, height))
    axes.set(xlim=((width - size[0]) / 2, (width + size[0]) / 2), ylim=(low, high))
    axes.axis("off")
    for column, side in zip(columns, (-1, 1)):
        x = width / 2 + side * (width / 2 + 0.25 * inch)
        rows = spread([place[1] for _, place in column], GAP * inch, low + (DIRECTIONS + GAP) * inch,
                      high - 2 * GAP * inch)
        for (group, place), y in zip(column, rows):
            axes.plot([place[0], x], [place[1], y], color="black", linewidth=0.4, alpha=0.6)
            axes.plot(*place, ".", color="black", markersize=2.5)
            axes.text(x, y, names[group], ha="left" if side > 0 else "right", va="center", fontsize=6.5,
                      bbox={"boxstyle": "square,pad=0.12", "facecolor": "white", "edgecolor": colours.of([group])[0],
                            "linewidth": 1.2})
    add_directions(axes, canvas, ((DIRECTIONS + GAP) * inch / size[0], 0))


def draw(arguments):
    names, faces = read(arguments.file)
    names = [name.removeprefix("surface ") for name in names]
    field = SimpleNamespace(order=1, points=faces[:, 1:].reshape(-1, 3), name="region", values=faces[:, 0],
                            per_element=True, regions=names, unit="")
    colours = Colours(field, faces[:, 0])
    azimuth, elevation = arguments.view or (-60, 25)
    rows = layers(field, faces, ((azimuth, elevation), (azimuth + 180, -elevation)))
    canvas = rows[0][0][0]
    width, height = canvas.width / SUPERSAMPLING, canvas.height / SUPERSAMPLING
    inch = max(width, height) / PICTURE
    columns = [[columns_of(places, width) for places in shown] for _, shown in rows]
    most = max(len(column) for row in columns for view in row for column in view)
    longest = max(len(names[group]) for row in columns for view in row for column in view for group, _ in column)
    size = (width + 2 * (0.5 + LETTER * longest) * inch,
            (max(height / inch, (most + 3) * GAP) + DIRECTIONS) * inch)
    figure, all_axes = pyplot.subplots(len(rows), 2, squeeze=False,
                                       figsize=(2 * size[0] / inch, len(rows) * size[1] / inch))
    figure.subplots_adjust(0, 0, 1, 1, 0, 0)
    for row, ((canvases, shown), sides, both) in enumerate(zip(rows, columns, all_axes)):
        for axes, canvas, side in zip(both, canvases, sides):
            draw_view(axes, canvas, side, names, colours, size)
        count = sum(map(len, shown))
        both[0].text(0.01, 0.99, f"{count} group{'s' if count > 1 else ''}" +
                     (" hidden by the groups above" if row else ", from two sides"),
                     transform=both[0].transAxes, va="top", fontsize=8)
    figures.save(figure, arguments.output)
