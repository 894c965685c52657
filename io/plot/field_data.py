"""Fields of sp_solve (VTKHDF, io/field_file.h): reading, exterior faces, cuts by a plane. Elements are
Lagrange hexahedra of order N. Figures show their polynomials, not N^3 trilinear parts."""

import math
from types import SimpleNamespace

import numpy

from failure import Failure
from files import open_file
from labels import unit_of

LAGRANGE_HEXAHEDRON = 72
AXES = "xyz"

# The triangulation of a cube with corners i + 2 j + 4 k into six tetrahedra around the diagonal 0-7. Cubes
# that share a face divide it in the same way.
TETRAHEDRA = numpy.array([(0, a, a + b, 7) for a in (1, 2, 4) for b in (1, 2, 4) if a != b])
# The triangulation of a square with corners i + 2 j, likewise.
TRIANGLES = numpy.array([(0, 1, 3), (0, 2, 3)])


def lattice_order(order):
    """VTK's order of the points of an element, as indices i + (N+1) (j + (N+1) k): sp_vtk_hexahedron_order."""
    parts = ("000 N00 NN0 0N0 00N N0N NNN 0NN .00 N.0 .N0 0.0 .0N N.N .NN 0.N 00. N0. NN. 0N. "
             "0.. N.. .0. .N. ..0 ..N ...").split()
    planes = {"0": [0], "N": [order], ".": range(1, order)}
    n = order + 1
    return numpy.array([i + n * (j + n * k) for part in parts for k in planes[part[2]]
                        for j in planes[part[1]] for i in planes[part[0]]])


def basis(order, places):
    """[places][N+1]: the Lagrange polynomials of the equispaced lattice on [0, 1], in barycentric form."""
    lattice = numpy.arange(order + 1) / order
    weights = numpy.array([(-1.0) ** i * math.comb(order, i) for i in range(order + 1)])
    distance = numpy.asarray(places)[:, None] - lattice
    hits = distance == 0
    terms = weights / numpy.where(hits, 1, distance)
    terms[hits.any(axis=1)] = 0
    terms[hits] = 1
    return terms / terms.sum(axis=1, keepdims=True)


def derivative(order):
    """[N+1][N+1]: the derivatives of these polynomials at the points of the lattice."""
    lattice = numpy.arange(order + 1) / order
    weights = numpy.array([(-1.0) ** i * math.comb(order, i) for i in range(order + 1)])
    distance = lattice[:, None] - lattice + numpy.eye(order + 1)
    matrix = weights / weights[:, None] / distance
    numpy.fill_diagonal(matrix, 0)
    numpy.fill_diagonal(matrix, -matrix.sum(axis=1))
    return matrix


# ---- Reading ----


def values_of(root, group, name):
    """All values of a field; in a series, of the last state."""
    values = root[group][name]
    if "Steps" not in root or group == "CellData":
        return values[:]
    first = root[f"Steps/PointDataOffsets/{name}"][root["Steps"].attrs["NSteps"] - 1]
    return values[first:first + len(root["Points"])]


def scalar_of(root, path, name):
    """Values of a scalar, or lengths of a vector; True if there is one per element; its name and unit."""
    for group, per_element in ("PointData", False), ("CellData", True):
        if group in root and name in root[group]:
            values, unit = values_of(root, group, name), unit_of(root[group][name])
            if values.ndim == 2:
                return numpy.linalg.norm(values, axis=1), per_element, f"|{name}|", unit
            return values, per_element, name, unit
    known = [key for group in ("PointData", "CellData") if group in root for key in root[group]]
    raise Failure(f"{path}: no '{name}' in this field; it has {', '.join(known)}")


def read(path, name):
    """A field: `name`, its `values` [points], or [elements] if `per_element`; `points`; `nodes` [elements][i][j][k],
    indices of points on the equispaced lattice of an element, of `order`; `regions`, the names that values of
    "region" count; `unit` and `length_unit`, "" for none."""
    with open_file(path) as file:
        if "VTKHDF" not in file or file["VTKHDF"].attrs.get("Type") != b"UnstructuredGrid":
            raise Failure(f"{path}: not a field of sp_solve (no VTKHDF grid)")
        root = file["VTKHDF"]
        values, per_element, name, unit = scalar_of(root, path, name)
        length_unit = unit_of(root["Points"])
        points, nodes = root["Points"][:], root["Connectivity"][:]
        cells, point_counts = root["NumberOfCells"][:], root["NumberOfPoints"][:]
        types = root["Types"][:]
        texts = root["FieldData/regions"].asstr()[:] if "FieldData/regions" in root else []
    elements = len(types)
    per = len(nodes) // max(elements, 1)
    order = round(per ** (1 / 3)) - 1
    if (types != LAGRANGE_HEXAHEDRON).any() or elements == 0 or elements * (order + 1) ** 3 != len(nodes):
        raise Failure(f"{path}: expected Lagrange hexahedra of one order")
    # Each piece counts its points from 0.
    first = numpy.repeat(numpy.cumsum(point_counts) - point_counts, cells)
    ours = numpy.empty((elements, per), nodes.dtype)
    ours[:, lattice_order(order)] = nodes.reshape(elements, per) + first[:, None]
    shape = (elements, order + 1, order + 1, order + 1)
    return SimpleNamespace(order=order, points=points, nodes=ours.reshape(shape).transpose(0, 3, 2, 1), name=name,
                           values=values, per_element=per_element, regions=list(texts), unit=unit,
                           length_unit=length_unit)


# ---- Faces ----


def faces_of(nodes, axis, side):
    """[elements][p][q]: the nodes on one face of each element. The vectors along p and q and along `axis` are
    right-handed."""
    face = nodes.take(-side, axis=1 + axis)
    return face.swapaxes(1, 2) if axis == 1 else face


def same_places(points):
    """A number per point that is the same for points at the same place: ranks have points of their own. Places
    are the same if they differ by rounding; the width and offset of the bins are no round numbers, so that
    no bin ends at coordinates that people choose."""
    width = 0.7390851e-7 * numpy.ptp(points, axis=0).max()
    bins = numpy.floor(points / width + 0.3183098).astype(numpy.int64)
    return numpy.unique(bins, axis=0, return_inverse=True)[1].reshape(-1)


def exterior_faces(field):
    """The faces that only one element has: nodes [faces][p][q], the elements, and the sides, 1 or -1: the sign
    of (d/dp x d/dq) along the outward normal."""
    nodes = field.nodes
    ends = nodes[:, ::field.order, ::field.order, ::field.order]
    used, place = numpy.unique(ends, return_inverse=True)
    ends = same_places(field.points[used])[place].reshape(ends.shape)
    sides = [(axis, side) for axis in range(3) for side in (0, 1)]
    corners = numpy.concatenate([faces_of(ends, axis, side).reshape(-1, 4) for axis, side in sides])
    _, which, counts = numpy.unique(numpy.sort(corners, axis=1), axis=0, return_inverse=True, return_counts=True)
    alone = (counts[which.reshape(-1)] == 1).reshape(6, -1)
    found = [faces_of(nodes[alone[n]], axis, side) for n, (axis, side) in enumerate(sides)]
    elements = [numpy.flatnonzero(row) for row in alone]
    signs = [numpy.full(len(e), 2 * side - 1) for e, (_, side) in zip(elements, sides)]
    return numpy.concatenate(found), numpy.concatenate(elements), numpy.concatenate(signs)


# ---- Cuts by a plane ----


def refine(matrix, values):
    """Values on a finer lattice: `matrix` along axes 1, 2 (and 3 in elements) of [...][n][n]([n])([3])."""
    for axis in (1, 2, 3)[:values.ndim - 1]:
        values = numpy.moveaxis(numpy.tensordot(matrix, values, (1, axis)), 0, axis)
    return values


def simplices(height, shape, corners):
    """Divide the cells in which `height` changes its sign into simplices: [simplices][corners], indices in an
    array of `shape`. Cells lie between neighbours along all axes except the first."""
    index = numpy.arange(math.prod(shape)).reshape(shape)
    halves = (slice(0, -1), slice(1, None))
    cells = [index[(slice(None), *(halves[c >> d & 1] for d in range(len(shape) - 1)))].reshape(-1)
             for c in range(2 ** (len(shape) - 1))]
    below = sum((height[cell] < 0).astype(numpy.int8) for cell in cells)
    chosen = (below > 0) & (below < len(cells))
    return numpy.stack([cell[chosen] for cell in cells], axis=1)[:, corners].reshape(-1, corners.shape[1])


# The edges of a simplex, vertices sorted by height, that a plane cuts if 1, 2, 3 vertices are below it.
CUTS = {
    3: {1: [[(0, 1), (0, 2)]], 2: [[(0, 2), (1, 2)]]},
    4: {1: [[(0, 1), (0, 2), (0, 3)]], 3: [[(0, 3), (1, 3), (2, 3)]],
        2: [[(0, 2), (0, 3), (1, 3)], [(0, 2), (1, 3), (1, 2)]]},
}


def cut(data, corners):
    """Cut simplices where the height changes its sign from below 0 to 0 or more. The height is the last
    column of `data`, [points][columns]. Returns the other columns at the ends of the cuts: [pieces][2 or
    3][columns - 1]."""
    height = data[:, -1]
    below = (height[corners] < 0).sum(axis=1)
    pieces = []
    for count, parts in CUTS[corners.shape[1]].items():
        rows = corners[below == count]
        rows = numpy.take_along_axis(rows, numpy.argsort(height[rows], axis=1), axis=1)
        for part in parts:
            a, b = (rows[:, [edge[end] for edge in part]] for end in (0, 1))
            t = (height[a] / (height[a] - height[b]))[..., None]
            pieces.append((1 - t) * data[a, :-1] + t * data[b, :-1])
    return numpy.concatenate(pieces)


def cut_cells(data, corners):
    """The cuts of the cells of a lattice, data [elements][lattice ...][columns], divided into simplices."""
    flat = data.reshape(-1, data.shape[-1])
    return cut(flat, simplices(flat[:, -1], data.shape[:-1], corners))


def slice_field(field, axis, position, resolution=200):
    """The cut by the plane where coordinate `axis` is `position`: corners [triangles][3][2] in the plane;
    values [triangles][3], or [triangles] for a field per element; and [segments][2][2], cuts of the faces of
    elements. Elements are divided so finely that about `resolution` pieces lie along the picture. A plane
    between elements shows the elements below."""
    low, high = field.points[:, axis].min(), field.points[:, axis].max()
    rounding = 1e-10 * numpy.ptp(field.points, axis=0).max()
    if not low - rounding <= position <= high + rounding:
        raise Failure(f"the plane {AXES[axis]} = {position:g} misses the mesh, whose {AXES[axis]} is from {low:g} "
                      f"to {high:g}")
    sign = -1 if position <= low + rounding else 1  # at the lower end there is nothing below

    def heights_of(coordinates):
        return numpy.where(abs(coordinates - position) < rounding, 0, sign * (coordinates - position))

    heights = heights_of(field.points[:, axis])
    of_elements = heights[field.nodes.reshape(len(field.nodes), -1)]
    hit = numpy.flatnonzero((of_elements.min(axis=1) < 0) & (of_elements.max(axis=1) >= 0))
    if len(hit) == 0:
        raise Failure(f"the plane {AXES[axis]} = {position:g} cuts no element")
    n = field.order * max(1, min(4, math.ceil(resolution / math.sqrt(len(hit)) / field.order)))
    matrix = basis(field.order, numpy.arange(n + 1) / n)
    inside = [d for d in range(3) if d != axis]
    triangles, outlines = [], []
    batch = max(1, 1000000 // (n + 1) ** 3)  # points at a time
    for first in range(0, len(hit), batch):
        elements = hit[first:first + batch]
        nodes = field.nodes[elements]
        places = refine(matrix, field.points[nodes])
        if field.per_element:
            scalar = numpy.broadcast_to(field.values[elements, None, None, None, None], places[..., :1].shape)
        else:
            scalar = refine(matrix, field.values[nodes])[..., None]
        data = numpy.concatenate([places[..., inside], scalar, heights_of(places[..., axis:axis + 1])], axis=-1)
        triangles.append(cut_cells(data, TETRAHEDRA))
        for face in (data.take(-side, axis=1 + d) for d in range(3) for side in (0, 1)):
            outlines.append(cut_cells(face, TRIANGLES)[..., :2])
    triangles, outlines = numpy.concatenate(triangles), numpy.concatenate(outlines)
    return triangles[..., :2], triangles[:, 0, 2] if field.per_element else triangles[..., 2], outlines
