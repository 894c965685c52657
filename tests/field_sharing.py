#!/usr/bin/env python3
"""The fields of whole runs, opened with VTK: shared points, values at random points, and cell data. And the Python
code in io/README.md."""

import collections
import math
import os
import re
import sys

import driver
import optional
from driver import check

vtk = optional.need_vtk()
np, support = optional.need("numpy", "vtk.util.numpy_support")

PROGRAM, SOURCE = (os.path.abspath(path) for path in sys.argv[1:3])
MPIEXEC = sys.argv[3:]
driver.start("field_sharing", PROGRAM, MPIEXEC)

# This many digits distinguish points at least 0.01 apart, with rounding below 1e-12.
DIGITS = 7

class Case:
    """A run: its arguments, the exact solution, and facts of its mesh."""

    def __init__(self, name, arguments, solution, elements, regions=(), curved=False):
        self.name, self.arguments, self.solution = name, arguments, solution
        self.elements, self.regions = elements, list(regions)
        self.curved = curved  # VTK's probe divides such elements into trilinear ones: it is inexact

    def exact(self, x, y, z):
        names = {"x": x, "y": y, "z": z, "pi": math.pi, "sin": math.sin, "cos": math.cos}
        return eval(self.solution.replace("^", "**"), names)


def cases():
    slab = os.path.join(SOURCE, "tests", "fixtures", "slab.geo")
    shell = os.path.join(SOURCE, "inputs", "shell.ini")
    return (
        # In the finite element space.
        Case("box", ["mesh.elements=3 4 2", "discretization.order=4"], "x^4*y - y^3*z^4 + x*y*z", 24),
        Case("deformed box", ["mesh.elements=3 3 3", "mesh.map=sine", "discretization.order=5"],
             "x + 2*y - 3*z", 27),
        Case("curved shell", [shell, "problem.forcing="], "x + 2*y - 3*z", None, ["shell"], curved=True),
        # A DOF on an edge of the box is at two places in it, on one of its vertical edges at four.
        Case("periodic box", ["mesh.elements=1 2 3", "discretization.order=15", "boundary.xmin=periodic xmax",
                              "boundary.ymin=periodic ymax"], "sin(2*pi*x)*cos(2*pi*y)*z", 6),
        Case("order 1", ["mesh.elements=4 3 5", "discretization.order=1"], "x + 2*y - 3*z", 60),
        Case("volume groups", [f"mesh.file={slab}", "discretization.order=3"], "x^3 + y*z", None,
             ["soft", "hard", "all", "30"]),
    )


def read(path):
    """The grid and its field data. Since VTK 9.5 the reader gives one piece per rank."""
    reader = vtk.vtkHDFReader()
    reader.SetFileName(path)
    reader.Update()
    data = reader.GetOutputDataObject(0)
    grid = data
    if data.IsA("vtkPartitionedDataSet"):
        joined = vtk.vtkAppendDataSets()
        for piece in range(data.GetNumberOfPartitions()):
            joined.AddInputData(data.GetPartition(piece))
        joined.Update()
        grid = joined.GetOutput()
    return grid, data.GetFieldData()


def cell_data(grid, name):
    array = grid.GetCellData().GetArray(name)
    return support.vtk_to_numpy(array) if array else None


def key(point):
    return tuple(np.round(point, DIGITS) + 0.0)


def check_points(label, cells, ranks, points):
    """In each piece a place has one point, and each point is in an element."""
    for rank in sorted(set(ranks)):
        ids = set().union(*(cell for cell, its_rank in zip(cells, ranks) if its_rank == rank))
        places = {key(points[i]) for i in ids}
        check(len(places) == len(ids), f"{label}: rank {rank} has {len(ids)} points at {len(places)} places")
    used = set().union(*cells)
    check(len(used) == len(points), f"{label}: {len(points)} points, of which elements have {len(used)}")


def check_values(label, case, grid, cells, points, largest):
    """At random points: interpolated in the element, and found by vtkProbeFilter."""
    tolerance = 2 * largest + 1e-10  # sp_solve's maximum is over its error quadrature
    check(tolerance < 1e-5, f"{label}: the tolerance {tolerance:.1e} proves nothing")
    u = support.vtk_to_numpy(grid.GetPointData().GetArray("u"))
    error = support.vtk_to_numpy(grid.GetPointData().GetArray("error"))
    exact = np.array([case.exact(*point) for point in points])
    check(abs(u - error - exact).max() < 1e-12 * (1 + abs(exact).max()), f"{label}: error is not u_h - u")
    random = np.random.default_rng(1)
    places, expected = [], []
    for index, ids in enumerate(cells):
        weights = [0.0] * len(ids)
        grid.GetCell(index).InterpolateFunctions(random.uniform(0.05, 0.95, 3), weights)
        places.append(weights @ points[ids])
        expected.append(case.exact(*places[-1]))
        off = abs(weights @ u[ids] - expected[-1])
        check(off <= tolerance, f"{label}: element {index}: off by {off:.1e} > {tolerance:.1e} at {places[-1]}")
    if case.curved:
        return
    asked = vtk.vtkPoints()
    asked.SetData(support.numpy_to_vtk(np.array(places), deep=True))
    where = vtk.vtkPolyData()
    where.SetPoints(asked)
    probe = vtk.vtkProbeFilter()
    probe.SetInputData(where)
    probe.SetSourceData(grid)
    probe.Update()
    found = probe.GetOutput().GetPointData()
    check(support.vtk_to_numpy(found.GetArray("vtkValidPointMask")).all(), f"{label}: the probe misses points")
    off = abs(support.vtk_to_numpy(found.GetArray("u")) - expected).max()
    check(off <= tolerance, f"{label}: probe off by {off:.1e} > {tolerance:.1e}")


def check_cells(label, case, count, grid, texts, cells, ranks, points):
    check(set(ranks) == set(range(count)), f"{label}: ranks {sorted(set(ranks))}")
    tags = sorted(cell_data(grid, "tag"))
    check(len(set(tags)) == len(cells), f"{label}: {len(set(tags))} tags of {len(cells)} elements")
    if case.elements:
        check(tags == list(range(1, case.elements + 1)), f"{label}: tags {tags}")
    names = texts.GetAbstractArray("regions")
    found = [names.GetValue(n) for n in range(names.GetNumberOfValues())] if names else []
    check(found == case.regions, f"{label}: regions {found}, not {case.regions}")
    regions = cell_data(grid, "region")
    if not case.regions:
        check(regions is None, f"{label}: a region in each cell, but none in the mesh")
    elif case.name == "volume groups":  # see slab.geo
        expected = ["soft" if points[ids][:, 0].mean() < 0.5 else "hard" for ids in cells]
        check([found[region] for region in regions] == expected, f"{label}: region {regions}")
    else:
        check((regions == 0).all(), f"{label}: region {regions}")


def check_case(case, count):
    label = f"{case.name}, {count} ranks"
    done = driver.Run(count, [*case.arguments, f"problem.solution={case.solution}", "output.log=",
                              "output.field=run.hdf", "solver.tolerance=1e-12"]).expect(count, 0)
    largest = re.search(r"^ +errors +L2 .* max (\S+)", done.out, re.MULTILINE)
    if not check(largest, f"{label}: {done.err}{done.out}"):
        return
    grid, texts = read("run.hdf")
    cells = []
    for index in range(grid.GetNumberOfCells()):
        cell = grid.GetCell(index)
        cells.append([cell.GetPointId(p) for p in range(cell.GetNumberOfPoints())])
    check(cells and (not case.elements or len(cells) == case.elements), f"{label}: {len(cells)} cells")
    points = support.vtk_to_numpy(grid.GetPoints().GetData())
    ranks = cell_data(grid, "rank")
    check(ranks is not None, f"{label}: no ranks of cells")
    if ranks is None:
        ranks = np.zeros(len(cells), int)
    else:
        check_cells(label, case, count, grid, texts, cells, ranks, points)
    check_points(label, cells, ranks, points)
    check_values(label, case, grid, cells, points, float(largest.group(1)))


# Two materials that meet at x = 1/2, on elements of 1/4 x 1/2 x 1/2. kappa du/dx is y on both sides, kappa du/dy
# jumps from 2 to 50.
LAYERS = ["mesh.elements=4 2 2", "region.soft.upper=0.5 1 1", "region.hard.lower=0.5 0 0", "material.soft.kappa=2",
          "material.hard.kappa=50", "problem.lambda=0", "output.flux=yes"]


def run_flux(label, count, arguments):
    """The points, flux and u of each element, and its region."""
    driver.Run(count, [*LAYERS, *arguments, "output.log=", "output.field=run.hdf",
                       "solver.tolerance=1e-13"]).expect(count, 0)
    grid, _ = read("run.hdf")
    array = grid.GetPointData().GetArray("kappa_grad_u")
    check(array and array.GetNumberOfComponents() == 3, f"{label}: no vector kappa_grad_u")
    cells = [[grid.GetCell(c).GetPointId(p) for p in range(grid.GetCell(c).GetNumberOfPoints())]
             for c in range(grid.GetNumberOfCells())]
    points = support.vtk_to_numpy(grid.GetPoints().GetData())
    regions, ranks = cell_data(grid, "region"), cell_data(grid, "rank")
    shared = collections.defaultdict(set)
    for ids, region, rank in zip(cells, regions, ranks):
        for i in ids:
            shared[rank, region, key(points[i])].add(i)
    check(all(len(ids) == 1 for ids in shared.values()) and sum(map(len, shared.values())) == len(points),
          f"{label}: {len(points)} points, {len(shared)} places of ranks and materials")
    u = support.vtk_to_numpy(grid.GetPointData().GetArray("u"))
    return cells, points, support.vtk_to_numpy(array), u, regions


def check_exact_flux(count, kappa, yy, yz):
    """kappa of the hard material, with kappa_xx = 50, kappa_yy and kappa_yz."""
    label = f"exact flux, {kappa}, {count} ranks"
    data = ["material.soft.solution=y*(x-0.5)/2+y", "material.hard.solution=y*(x-0.5)/50+y",
            f"material.hard.kappa={kappa}"]
    cells, points, flux, _, regions = run_flux(label, count, ["discretization.order=4", *data])
    for ids, region in zip(cells, regions):
        x, y = points[ids, 0], points[ids, 1]
        slope = 1 + (x - 0.5) / (2 if region == 0 else 50)
        exact = np.stack([y, slope * (2 if region == 0 else yy), slope * (0 if region == 0 else yz)], axis=1)
        off = abs(flux[ids] - exact).max()
        check(off < 1e-9, f"{label}: off by {off:.1e}")


def check_averages(count):
    """At order 2, whose nodes are equispaced, from u itself: the average over the elements of a material."""
    label = f"averages of flux, {count} ranks"
    data = ["problem.forcing=exp(3*x)*y+z", "boundary.default=dirichlet sin(5*y)*z", "discretization.order=2"]
    cells, points, flux, u, regions = run_flux(label, count, data)
    slopes, sizes = np.array([[-3, 4, -1], [-1, 0, 1], [1, -4, 3]]), np.array([0.25, 0.5, 0.5])
    own = collections.defaultdict(list)
    for ids, region in zip(cells, regions):
        low = points[ids].min(axis=0)
        index = np.rint(2 * (points[ids] - low) / sizes).astype(int)
        nodal = np.empty((3, 3, 3))
        nodal[tuple(index.T)] = u[ids]
        gradient = np.stack([np.moveaxis(np.tensordot(slopes, nodal, (1, d)), 0, d) / sizes[d] for d in range(3)],
                            axis=-1)
        for i, place in zip(ids, index):
            own[region, key(points[i])].append((2 if region == 0 else 50) * gradient[tuple(place)])
    jumps = max(np.ptp(np.array(values), axis=0).max() for values in own.values())
    check(jumps > 1, f"{label}: elements differ by {jumps:.1e} only")
    for ids, region in zip(cells, regions):
        for i in ids:
            off = abs(flux[i] - np.mean(own[region, key(points[i])], axis=0)).max()
            check(off < 1e-9, f"{label}: off by {off:.1e} at {points[i]}")


def check_jump(count):
    """A formula of kappa that jumps at x = 1/2, with bp3.0: the flux, 198 everywhere, also at the jump."""
    driver.Run(count, ["mesh.elements=4 2 2", "discretization.order=3", "discretization.operator=bp3.0",
                       "problem.kappa=x < 0.5 ? 1 : 99", "problem.forcing=0", "boundary.default=neumann 0",
                       "boundary.xmin=dirichlet 0", "boundary.xmax=dirichlet 100", "line.l=0 0.4 0.5, 1 0.4 0.5, 5",
                       "output.log=", "output.field=run.hdf", "output.flux=yes", "--json", "run.json"]).expect(count, 0)
    grid, _ = read("run.hdf")
    flux = support.vtk_to_numpy(grid.GetPointData().GetArray("kappa_grad_u"))[:, 0]
    check(abs(flux - 198).max() < 1e-3, f"jump, {count} ranks: kappa du/dx from {flux.min()} to {flux.max()}")
    samples = [sample["flux_x"] for sample in driver.document()["lines"]]
    check(len(samples) == 5 and max(abs(f + 198) for f in samples) < 1e-3, f"jump, {count} ranks: {samples}")


def check_series(count):
    """Two materials in time: the times, and u, a polynomial, at the points of each state."""
    if (vtk.VTK_MAJOR_VERSION, vtk.VTK_MINOR_VERSION) < (9, 3):
        return
    slab = os.path.join(SOURCE, "tests", "fixtures", "slab.geo")
    driver.Run(count, [f"mesh.file={slab}", "discretization.order=3", "problem.solution=x*y*t^2+z", "problem.capacity=2",
                       "time.end=2", "time.steps=8", "time.every=3", "output.log=", "output.field=run.hdf",
                       "output.flux=yes"]).expect(count, 0)
    reader = vtk.vtkHDFReader()
    reader.SetFileName("run.hdf")
    reader.UpdateInformation()
    times = reader.GetOutputInformation(0).Get(vtk.vtkStreamingDemandDrivenPipeline.TIME_STEPS())
    check(len(times) == 4 and np.allclose(times, [0, 0.75, 1.5, 2]), f"series, {count} ranks: times {times}")
    for step, t in enumerate(times):
        reader.SetStep(step)
        reader.Update()
        data = reader.GetOutputDataObject(0)
        pieces = [data.GetPartition(n) for n in range(data.GetNumberOfPartitions())] \
            if data.IsA("vtkPartitionedDataSet") else [data]
        names = data.GetFieldData().GetAbstractArray("regions")
        found = [names.GetValue(n) for n in range(names.GetNumberOfValues())]
        check(found == ["soft", "hard", "all", "30"], f"series: regions {found}")
        for grid in pieces:
            places = support.vtk_to_numpy(grid.GetPoints().GetData())
            u, error = (support.vtk_to_numpy(grid.GetPointData().GetArray(name)) for name in ("u", "error"))
            off = abs(u - error - places[:, 0] * places[:, 1] * t**2 - places[:, 2]).max()
            check(off < 1e-12 and abs(error).max() < 1e-3, f"series, {count} ranks, t = {t}: {off:.1e}, {abs(error).max():.1e}")
            flux = grid.GetPointData().GetArray("kappa_grad_u")
            check(flux and flux.GetNumberOfTuples() == len(places), f"series, t = {t}: no flux")


def check_manual(count):
    """The value that the code of the manual prints, against the solution of inputs/cube.ini at that point."""
    with open(os.path.join(SOURCE, "io", "README.md"), encoding="utf-8") as file:
        blocks = re.findall(r"^```python\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)
    code, = (block for block in blocks if "vtkHDFReader" in block)
    run = driver.Run(count, [os.path.join(SOURCE, "inputs", "cube.ini"), "output.log="]).expect(count, 0)
    largest = float(re.search(r"^ +errors +L2 .* max (\S+)", run.out, re.MULTILINE).group(1))
    x, y, z = map(float, re.search(r"InsertNextPoint\((.*), (.*), (.*)\)", code).groups())
    exact = math.sin(math.pi * x) * math.sin(math.pi * y) * math.sin(math.pi * z) + x * y
    head, value = driver.good(sys.executable, "-c", code).splitlines()
    check(head.startswith("512 elements, u in") and largest < 5e-8 and abs(float(value) - exact) <= 2 * largest,
          f"manual, {count} ranks: {head}, u = {value}, exact {exact}")


def main():
    messages = vtk.vtkStringOutputWindow()
    vtk.vtkOutputWindow.SetInstance(messages)
    for count in 1, 3:
        for case in cases():
            check_case(case, count)
        check_exact_flux(count, "50", 50, 0)
        check_exact_flux(count, "50, 30, 20, 0, 0, 7", 30, 7)
        check_averages(count)
        check_jump(count)
        check_manual(count)
        check_series(count)
    check(not messages.GetOutput(), f"VTK says: {messages.GetOutput()}")
    print(f"field_sharing: VTK {vtk.vtkVersion.GetVTKVersion()}")


driver.in_folder(main)
driver.finish()
