"""Figures of fields: the surface of the mesh or a plane through it, coloured by one scalar. Needs neither VTK nor
a display."""

import math
import re

import matplotlib
import numpy
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import ListedColormap, NoNorm, Normalize
from matplotlib.patches import Patch

from mpl_toolkits.axes_grid1.axes_divider import AxesDivider
from mpl_toolkits.axes_grid1.axes_size import AxesY
from mpl_toolkits.axes_grid1.inset_locator import inset_axes

import field_data
import figures
from failure import Failure
from field_data import AXES
from files import open_file
from labels import in_brackets
from figures import pyplot

PIXELS = 800       # of the longer side of a picture of a surface
HIGHEST = 40       # inches of a slice
SUPERSAMPLING = 2  # its pixels are averages of this many in both directions


# ---- Colours ----


class Colours:
    """Colours of values: one for each "region" or "rank"; otherwise a scale, for errors around zero. The scale
    stays readable under shadows (Moreland, Diverging color maps for scientific visualization, 2009)."""

    def __init__(self, field, values):
        low, high = float(values.min()), float(values.max())
        if not math.isfinite(low + high):
            raise Failure(f"{field.name} has values that are not finite")
        self.names = None
        if field.per_element and field.name in ("region", "rank"):
            self.set_names(field, numpy.unique(numpy.rint(values)).astype(int))
            return
        if field.name == "error":
            low, high = -max(-low, high), max(-low, high)
        self.map, self.norm = matplotlib.colormaps["coolwarm"], Normalize(low, high)

    def set_names(self, field, numbers):
        self.numbers, self.names = numbers, [str(n) for n in numbers]
        if field.name == "region":
            self.names = [field.regions[n] if n >= 0 else "in none" for n in numbers]
        few = len(numbers) <= len(figures.COLOURS)
        self.map = ListedColormap(figures.COLOURS[:len(numbers)] if few else
                                  matplotlib.colormaps["turbo"](numpy.linspace(0, 1, len(numbers))))
        self.norm = NoNorm()

    def of(self, values):
        """[...][3]"""
        if self.names:
            values = numpy.searchsorted(self.numbers, numpy.rint(values))  # samples differ by rounding
        return self.map(self.norm(values))[..., :3]

    def add_key(self, axes, field, wide):
        """The scale or the list of names, below a wide picture, else on its right."""
        if self.names:
            handles = [Patch(color=self.of([n])[0], label=name) for n, name in zip(self.numbers, self.names)]
            axes.legend(handles=handles, title=field.name, borderaxespad=0, loc="center left",
                        bbox_to_anchor=(1.04, 0.5))
            return
        divider = AxesDivider(axes, yref=AxesY(axes, axes.get_aspect()))  # of --z-stretch
        axes.set_axes_locator(divider.new_locator(0, 0))
        place = divider.append_axes("bottom" if wide else "right", size=0.12, pad=0.45 if wide else 0.12)
        bar = axes.figure.colorbar(ScalarMappable(self.norm, self.map), cax=place,
                                   label=in_brackets(field.name, field.unit),
                                   orientation="horizontal" if wide else "vertical")
        bar.outline.set_visible(False)


# ---- Slices ----


def draw_slice(field, arguments):
    match = re.fullmatch(r"\s*([xyz])\s*=\s*([^\s].*?)\s*", arguments.slice)
    try:
        axis, position = AXES.index(match.group(1)), float(match.group(2))
    except (AttributeError, ValueError):
        raise Failure(f"--slice {arguments.slice}: expected x, y or z and a number, as in x=0.5") from None
    if arguments.view:
        raise Failure("--view is for the surface; leave it out with --slice")
    triangles, values, outlines = field_data.slice_field(field, axis, position)
    colours = Colours(field, values)
    extent = numpy.ptp(triangles, axis=(0, 1))
    stretch = arguments.z_stretch if axis < 2 else 1  # z is upwards then
    wide = extent[0] > 2 * extent[1]
    figure, axes = pyplot.subplots()
    frame = axes.get_position()  # the stretch makes the picture higher, not narrower
    height = figure.get_figwidth() * frame.width / frame.height * stretch * extent[1] / extent[0]
    figure.set_figheight(min(max(figure.get_figheight(), height + 1), HIGHEST))
    if field.per_element:
        painted = PolyCollection(triangles, facecolors=colours.of(values), edgecolors="face",
                                 linewidths=0.2)  # without edges there are seams between triangles
        axes.add_collection(painted)
        axes.autoscale_view()
    else:
        corners = triangles.reshape(-1, 2)
        painted = axes.tripcolor(*corners.T, values.reshape(-1), cmap=colours.map, norm=colours.norm,
                                 triangles=numpy.arange(len(corners)).reshape(-1, 3), shading="gouraud")
    painted.set_rasterized(True)  # a PDF of many triangles is slow
    if arguments.elements:
        axes.add_collection(LineCollection(outlines, colors="black", linewidths=0.3, alpha=0.6))
    axes.set_aspect(stretch)
    axes.grid(False)
    horizontal, vertical = (name for name in AXES if name != AXES[axis])
    axes.set_xlabel(in_brackets(horizontal, field.length_unit))
    axes.set_ylabel(in_brackets(vertical, field.length_unit))
    axes.set_title(f"{AXES[axis]} = {position:g} {field.length_unit}".rstrip(), fontsize=9)
    colours.add_key(axes, field, wide)
    figures.save(figure, arguments.output)


# ---- Surfaces ----


class Canvas:
    """A parallel projection and its pixels: depth, value and light of the nearest point at each. `toward`
    points to the viewer."""

    def __init__(self, points, azimuth, elevation):
        a, e = math.radians(azimuth), math.radians(elevation)
        self.toward = numpy.array([math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)])
        self.right = numpy.array([-math.sin(a), math.cos(a), 0])
        self.up = numpy.cross(self.toward, self.right)
        flat = points @ numpy.stack([self.right, self.up], axis=1)
        low, high = flat.min(axis=0), flat.max(axis=0)
        self.pixel = (high - low).max() / (PIXELS * SUPERSAMPLING - 8)
        self.low = low - 4 * self.pixel
        size = numpy.ceil((high - self.low) / self.pixel).astype(int) + 4
        self.width, self.height = (-(-size // SUPERSAMPLING) * SUPERSAMPLING).tolist()
        self.depth = numpy.full(self.width * self.height, numpy.inf)
        self.values = numpy.zeros(self.width * self.height)
        self.light = numpy.ones(self.width * self.height)
        lamp = self.toward + 0.5 * self.up - 0.5 * self.right
        self.lamp = lamp / numpy.linalg.norm(lamp)

    def place(self, points):
        """The index of the pixel and the depth of each point."""
        column = ((points @ self.right - self.low[0]) / self.pixel).astype(int)
        row = ((points @ self.up - self.low[1]) / self.pixel).astype(int)
        return row * self.width + column, -(points @ self.toward)

    def add(self, points, normals, values):
        """Points of a surface with their outward normals, of any length; points that face the viewer count."""
        seen = normals @ self.toward > 0
        points, normals, values = points[seen], normals[seen], values[seen]
        index, depth = self.place(points)
        best = numpy.full(len(self.depth), -1)
        nearer = numpy.flatnonzero(depth < self.depth[index])
        while len(nearer) > 0:  # of several points at a pixel the last one is kept; repeat for the earlier ones
            best[index[nearer]] = nearer
            changed = best[index[nearer]]
            self.depth[index[nearer]] = depth[changed]
            nearer = nearer[depth[nearer] < self.depth[index[nearer]]]
        at = numpy.flatnonzero(best >= 0)
        best = best[at]
        self.values[at] = values[best]
        cosine = normals[best] @ self.lamp / numpy.linalg.norm(normals[best], axis=1)
        self.light[at] = 0.7 + 0.3 * numpy.maximum(cosine, 0)

    def add_lines(self, points):
        """Darken the pixels of points that are not hidden."""
        index, depth = self.place(points)
        shown = depth < self.depth[index] + 4 * self.pixel
        index = numpy.unique(index[shown])
        index = index[numpy.isfinite(self.depth[index])]
        self.light[index] *= 0.45

    def image(self, colours):
        """[rows][columns][3], the lowest row first."""
        drawn = numpy.isfinite(self.depth)
        pixels = numpy.ones((len(drawn), 3))
        pixels[drawn] = colours.of(self.values[drawn]) * self.light[drawn, None]
        n = SUPERSAMPLING
        blocks = pixels.reshape(self.height // n, n, self.width // n, n, 3)
        return blocks.mean(axis=(1, 3))


def samples_along(canvas, slopes):
    """The number of samples that leave no gap between pixels: at most 0.7 pixels apart. `slopes` [curves][...][3]
    are derivatives along curves over [0, 1], at the points of the lattice: near their largest values."""
    flat = slopes @ numpy.stack([canvas.right, canvas.up], axis=1)
    wanted = 1.1 * numpy.linalg.norm(flat, axis=-1).reshape(len(flat), -1).max(axis=1) / canvas.pixel / 0.7
    return (8 * 1.25 ** numpy.ceil(numpy.log(numpy.maximum(wanted, 8) / 8) / math.log(1.25))).astype(int)


def paint(canvas, field, faces, elements, sides):
    """Sample the polynomials on the faces."""
    nodal, slope = field.points[faces], field_data.derivative(field.order)
    along = [numpy.einsum("ap,epqd->eaqd", slope, nodal), numpy.einsum("bq,epqd->epbd", slope, nodal)]
    normals = sides[:, None, None, None] * numpy.cross(*along)
    values = field.values[elements][:, None, None] if field.per_element else field.values[faces]
    values = numpy.broadcast_to(values, faces.shape)[..., None]
    data = numpy.concatenate([nodal, normals, values], axis=-1)
    counts = numpy.stack([samples_along(canvas, slopes) for slopes in along], axis=1)
    visible = (normals @ canvas.toward > 0).any(axis=(1, 2))
    for pair in numpy.unique(counts[visible], axis=0):
        group = numpy.flatnonzero(visible & (counts == pair).all(axis=1))
        p, q = (field_data.basis(field.order, (numpy.arange(n) + 0.5) / n) for n in pair)
        batch = max(1, 2000000 // (len(p) * len(q)))
        for first in range(0, len(group), batch):
            samples = numpy.einsum("ap,bq,epqd->eabd", p, q, data[group[first:first + batch]], optimize=True)
            samples = samples.reshape(-1, 7)
            canvas.add(samples[:, :3], samples[:, 3:6], samples[:, 6])


def paint_edges(canvas, field, faces):
    nodal = field.points[faces]
    edges = numpy.concatenate([nodal[:, 0], nodal[:, -1], nodal[:, :, 0], nodal[:, :, -1]])
    count = samples_along(canvas, field_data.derivative(field.order) @ edges)
    for n in numpy.unique(count):
        matrix = field_data.basis(field.order, numpy.linspace(0, 1, n))
        canvas.add_lines((matrix @ edges[count == n]).reshape(-1, 3))


def add_directions(axes, canvas, corner=(0, 0)):
    """Draw the directions of x, y and z, left of a place in the axes."""
    place = inset_axes(axes, 0.55, 0.55, loc="lower right", bbox_to_anchor=corner, borderpad=0,
                       bbox_transform=axes.transAxes)
    place.set_aspect("equal")
    place.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3))
    place.axis("off")
    for name, vector in zip(AXES, numpy.eye(3)):
        tip = numpy.array([vector @ canvas.right, vector @ canvas.up])
        if numpy.linalg.norm(tip) > 0.1:  # not along the line of sight
            place.annotate("", xy=tip, xytext=(0, 0), arrowprops={"arrowstyle": "->", "linewidth": 0.8,
                                                                  "shrinkA": 0, "shrinkB": 0})
            place.text(*(1.35 * tip), name, ha="center", va="center", fontsize=8)


def draw_surface(field, arguments):
    view = arguments.view or (-60, 25)
    faces, elements, sides = field_data.exterior_faces(field)
    canvas = Canvas(field.points[faces].reshape(-1, 3), *view)
    paint(canvas, field, faces, elements, sides)
    colours = Colours(field, canvas.values[numpy.isfinite(canvas.depth)])
    if arguments.elements:
        paint_edges(canvas, field, faces)
    wide = canvas.width > 2 * canvas.height
    figure, axes = pyplot.subplots(figsize=(6.4, 4.8))
    axes.imshow(canvas.image(colours), origin="lower", interpolation="antialiased")
    axes.axis("off")
    add_directions(axes, canvas)
    colours.add_key(axes, field, wide)
    figures.save(figure, arguments.output)


def middle_of(path):
    """A y on a slice through the middle."""
    points = field_data.read(path, "u").points
    return float((points[:, 1].min() + points[:, 1].max()) / 2)


def has(path, name):
    with open_file(path) as file:
        return any(name in file.get(f"VTKHDF/{group}", ()) for group in ("PointData", "CellData"))


def draw(arguments):
    field = field_data.read(arguments.file, arguments.scalar)
    if arguments.slice is None:
        field.points = field.points * [1, 1, arguments.z_stretch]
    (draw_slice if arguments.slice is not None else draw_surface)(field, arguments)
