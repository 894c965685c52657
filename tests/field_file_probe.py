#!/usr/bin/env python3
"""Open field files with VTK, as ParaView does, and compare every cell with the exact field.

    field_file_probe.py COMMAND...      COMMAND writes order_N.hdf into its working directory

Exit code 0: all agree, 1: a cell differs, 77: no VTK with vtkHDFReader."""

import math
import sys

import driver
import optional
from driver import check

vtk = optional.need_vtk()
np, support = optional.need("numpy", "vtk.util.numpy_support")

BOX = (2, 2, 3)
HIGHEST_ORDER = 15
TEXTS = ["first", "the second one", ""]
# Multiples of 1/32: their distances from the nodes in lattice units are exact. At most one coordinate is near
# the boundary, where interpolation in equispaced points amplifies rounding.
POINTS = ((0.5, 0.5, 0.5), (0.34375, 0.5625, 0.65625), (0.03125, 0.40625, 0.53125),
          (0.59375, 0.96875, 0.46875), (0.4375, 0.65625, 0.0625))

# The formulas of field_file.c.
def vertex(a, b, c):
    return np.array((a + 0.1 * math.sin(1 + a + 2 * b + 3 * c),
                     b + 0.1 * math.sin(2 + 3 * a + b + 2 * c),
                     c + 0.1 * math.sin(3 + 2 * a + 3 * b + c)))


def position(element, xi):
    """The point and the Jacobian matrix dx_row / dxi_column."""
    at = cell_of(element)
    x, jacobian = np.zeros(3), np.zeros((3, 3))
    for corner in range(8):
        bits = (corner & 1, corner >> 1 & 1, corner >> 2)
        v = vertex(*(at[d] + bits[d] for d in range(3)))
        w = [xi[d] if bits[d] else 1 - xi[d] for d in range(3)]
        x += w[0] * w[1] * w[2] * v
        for d in range(3):
            jacobian[:, d] += (1 if bits[d] else -1) * w[d - 1] * w[d - 2] * v
    return x, jacobian


def cell_of(element):
    return element % BOX[0], element // BOX[0] % BOX[1], element // BOX[0] // BOX[1]


def polynomial(order, element, xi):
    s = [(at + x) / length for at, x, length in zip(cell_of(element), xi, BOX)]
    return (1 + s[0]**order * (1 - 2 * s[1]) + s[1]**order * s[2] -
            (s[2] - 0.5)**order * (1 + s[0]**order))


def check_cell(order, element, cell, coordinates, values, places):
    n = order + 1
    grid = [length * order + 1 for length in BOX]
    first = [at * order for at in cell_of(element)]
    for k in range(n):
        for j in range(n):
            for i in range(n):
                p = cell.PointIndexFromIJK(i, j, k)
                place = first[0] + i + grid[0] * (first[1] + j + grid[1] * (first[2] + k))
                check(places[p] == place,
                      f"order {order}: VTK's point {p} is not lattice point {i} {j} {k}")
    for xi in POINTS:
        weights, derivatives = [0.0] * n**3, [0.0] * (3 * n**3)
        cell.InterpolateFunctions(xi, weights)
        cell.InterpolateDerivs(xi, derivatives)
        w, dw = np.array(weights), np.array(derivatives).reshape(n**3, 3).T
        # A weight is a product of 3 N quotients with a few roundings each; a value at a node has N roundings
        # from its power. The sums amplify this by sum |w| and sum |dw|.
        rounding = 8 * n * np.finfo(float).eps
        tolerance = rounding * abs(w).sum() * abs(values).max()
        check(tolerance < 1e-8, f"order {order}: the tolerance {tolerance:.1e} proves nothing")
        value, exact = w @ values, polynomial(order, element, xi)
        check(abs(value - exact) <= tolerance,
              f"order {order} element {element}: {value} at {xi}, not {exact} (+- {tolerance:.1e})")
        x, jacobian = position(element, xi)
        tolerance = rounding * abs(w).sum() * abs(coordinates).max()
        difference = abs(w @ coordinates - x).max()
        check(difference <= tolerance,
              f"order {order} element {element}: position off by {difference} > {tolerance:.1e}")
        tolerance = rounding * abs(dw).sum() * abs(coordinates).max()
        difference = abs((dw @ coordinates).T - jacobian).max()
        check(difference <= tolerance,
              f"order {order} element {element}: Jacobian off by {difference} > {tolerance:.1e}")
        check(np.linalg.det(dw @ coordinates) > 0, f"order {order} element {element}: inverted")


def one_grid(data):
    """Since VTK 9.5 the reader gives one piece per rank."""
    if not data.IsA("vtkPartitionedDataSet"):
        return data
    joined = vtk.vtkAppendDataSets()
    for piece in range(data.GetNumberOfPartitions()):
        joined.AddInputData(data.GetPartition(piece))
    joined.Update()
    return joined.GetOutput()


def check_texts(data, order):
    array = data.GetAbstractArray("texts")
    found = [array.GetValue(t) for t in range(array.GetNumberOfValues())] if array else None
    check(found == TEXTS, f"order {order}: texts {found}")


def check_file(path, order):
    reader = vtk.vtkHDFReader()
    check(reader.CanReadFile(path), f"VTK cannot read {path}")
    reader.SetFileName(path)
    reader.Update()
    grid = one_grid(reader.GetOutputDataObject(0))
    cells = BOX[0] * BOX[1] * BOX[2]
    check(grid.GetNumberOfCells() == cells, f"order {order}: {grid.GetNumberOfCells()} cells")
    if grid.GetNumberOfCells() != cells:
        return
    coordinates = support.vtk_to_numpy(grid.GetPoints().GetData())
    values = support.vtk_to_numpy(grid.GetPointData().GetArray("polynomial"))
    places = support.vtk_to_numpy(grid.GetPointData().GetArray("place"))
    numbers = support.vtk_to_numpy(grid.GetCellData().GetArray("number"))
    check((numbers == np.arange(cells)).all(), f"order {order}: cell data {numbers}")
    check_texts(reader.GetOutputDataObject(0).GetFieldData(), order)
    for element in range(cells):
        cell = grid.GetCell(element)
        check(cell.GetCellType() == 72 and cell.GetNumberOfPoints() == (order + 1)**3 and
              all(cell.GetOrder(d) == order for d in range(3)), f"order {order}: not that cell")
        ids = [cell.GetPointId(p) for p in range(cell.GetNumberOfPoints())]
        check_cell(order, element, cell, coordinates[ids], values[ids], places[ids])


def main():
    messages = vtk.vtkStringOutputWindow()
    vtk.vtkOutputWindow.SetInstance(messages)
    written = driver.command(*sys.argv[1:])
    if check(written.returncode == 0, f"the files were not written: {written}"):
        for order in range(1, HIGHEST_ORDER + 1):
            check_file(f"order_{order}.hdf", order)
    check(not messages.GetOutput(), f"VTK says: {messages.GetOutput()}")
    print(f"field_file_probe: VTK {vtk.vtkVersion.GetVTKVersion()}, orders 1 to {HIGHEST_ORDER}")


driver.start("field_file_probe", "", [])
driver.in_folder(main)
driver.finish()
