"""The numbers behind the figures of the paper, read from sp_bench's file (solver/bench/bench.h).

A curve is TFLOP/s at N = 1 .. 15, NaN where the file has no such row."""

import numpy

from files import read_bench

ORDERS = numpy.arange(1, 16)
PROBLEMS = {"mass": "BP1.0", "bp3.5": "BP3.5", "bp3.0": "BP3.0"}  # file's name: paper's
COLUMNS = ("what", "problem", "geometry", "threads", "kernel", "order", "elements", "warm_cache",
           "flops", "bytes", "tflops", "registers", "shared_traffic")


class Missing(Exception):
    """The file lacks rows or rates of a figure; the text says which."""


class Study:
    """The rows of a file (`rows`, by column), and attributes of the measurement (`attributes`)."""

    def __init__(self, path):
        rows, self.attributes = read_bench(path, COLUMNS)
        if "precision" in rows.dtype.names:  # the paper uses double
            rows = rows[rows["precision"] == b"double"]
        self.path = path
        self.rows = {name: rows[name].astype(str) if rows[name].dtype.kind == "S" else rows[name]
                     for name in COLUMNS}

    def where(self, **values):
        """Indices of the rows that have these values in these columns."""
        match = numpy.ones(len(self.rows["what"]), dtype=bool)
        for name, value in values.items():
            match &= self.rows[name] == value
        return numpy.flatnonzero(match)

    def curve(self, column="tflops", **values):
        """The column by order; `values` must select at most one row per order."""
        result = numpy.full(len(ORDERS), numpy.nan)
        for row in self.where(**values):
            result[self.rows["order"][row] - 1] = self.rows[column][row]
        return result

    def device(self):
        """The GPU's name, without its number, which follows a comma."""
        return self.attributes.get("device", "unknown device").split(", GPU ")[0]

    def rate(self, name):
        """A rate of the GPU, measured or from its specification; None if unknown."""
        return self.attributes.get(name)


def has(curve):
    return bool(numpy.isfinite(curve).any())


def copies(study, problem, elements, warm):
    """The paper's roofline by copies, B_gl F / (d_r + d_w): sp_bench computed it."""
    return study.curve(what="copy", problem=problem, elements=elements, warm_cache=warm)


def kernel(study, problem, threads, number, elements, warm, column="tflops"):
    return study.curve(column, what="unassembled", problem=problem, threads=threads, kernel=number,
                       elements=elements, warm_cache=warm)


def production(study, problem, elements, warm):
    """The program's own kernels with stored factors: they move the bytes that the roofline counts."""
    return study.curve(what="unassembled", problem=problem, geometry="stored", threads=0, kernel=0,
                       elements=elements, warm_cache=warm)


def numbers(study, problem, threads, warm):
    """Numbers of the measured kernels of a ladder, ascending."""
    rows = study.where(what="unassembled", problem=problem, threads=threads, warm_cache=warm)
    return sorted(set(study.rows["kernel"][rows].tolist()))


def ladder_orders(study, problem, threads, warm):
    """True for each of ORDERS for which the ladder has a kernel: the 3D ladders end at lower orders."""
    rows = study.where(what="unassembled", problem=problem, threads=threads, warm_cache=warm)
    return numpy.isin(ORDERS, study.rows["order"][rows])


def meshes(study, wanted, **values):
    """Numbers of elements of these rows, ascending; if `wanted` is given, only numbers in it."""
    found = sorted(set(study.rows["elements"][study.where(**values)].tolist()))
    return [elements for elements in found if not wanted or elements in wanted]


def ladder_meshes(study, wanted, problem, threads, warm):
    return meshes(study, wanted, what="unassembled", problem=problem, threads=threads,
                  warm_cache=warm)


def theoretical_roofline(study, problem, elements):
    """B F / (d_r + d_w) with B from the memory's clock and bus width; None if B is unknown.
    The row of a copy has the problem's F and d_r + d_w."""
    bandwidth = study.rate("memory_bandwidth_theoretical")
    if bandwidth is None:
        return None
    key = {"what": "copy", "problem": problem, "elements": elements, "warm_cache": 0}
    return bandwidth * study.curve("flops", **key) / study.curve("bytes", **key) * 1e-12


def shared_roofline(study, problem, number, elements, bandwidth):
    """B_sh F / (s_r + s_w) of a 2D kernel; F and s_r + s_w per element."""
    flops = kernel(study, problem, 2, number, elements, 0, "flops") / elements
    traffic = kernel(study, problem, 2, number, elements, 0, "shared_traffic")
    traffic[traffic == 0] = numpy.nan
    return bandwidth * flops / traffic * 1e-12
