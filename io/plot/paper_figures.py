"""The result figures of the paper (Sections "Empirical performance model" and "Optimizing Benchmark
Problem ..."), redrawn from a file of sp_bench (solver/bench/bench.h).

    rooflines      its rooflines of the three problems        bp30_2d       BP3.0, 2D ladder
    bp10_2d        BP1.0, the ladder                          bp30_shared   BP3.0, kernels 8, 9
    bp10_shared    BP1.0, kernels 6, 7, 8, shared memory      bp30_3d       BP3.0, 3D ladder
    bp35_2d        BP3.5, 2D ladder
    bp35_unrolling BP3.5, kernels 2 and 3 (the figure calls them 1 and 2; its text, 2 and 3)
    bp35_3d        BP3.5, 3D ladder

and the ladders once more, NAME_warm, if the file has rows measured with --warm-cache."""

import os
import sys

import numpy

import figures
from failure import Failure
from figures import pyplot
from files import PROBLEMS, read_bench

ORDERS = numpy.arange(1, 16)
COLUMNS = ("what", "problem", "geometry", "threads", "kernel", "order", "elements", "warm_cache",
           "flops", "bytes", "tflops", "registers", "shared_traffic")
FORMATS = ("png", "pdf", "svg")
MOST_PANELS = 3  # side by side, readable in print
WIDTH, HEIGHT = 7.2, 3.3  # inches: the width of a page

# Ten kernels: six colours, then four of them again with other, open markers and dashed lines.
KERNEL_MARKERS = ["o", "s", "^", "D", "v", "P", "<", ">", "h", "p"]
ROOFLINE = {"color": "#000000", "marker": "x", "linestyle": "--", "markersize": 5}
PRODUCTION = {"color": "#000000", "marker": "*", "linestyle": "-", "markersize": 6, "linewidth": 1.6}


# ---- Numbers ------------------------------------------------------------------------------------


class Missing(Exception):
    """The file lacks rows or rates of a figure; the text says which."""


class Study:
    """The rows of a file (`rows`, by column), and attributes of the measurement (`attributes`)."""

    def __init__(self, path):
        rows, self.attributes = read_bench(path, COLUMNS)
        if "precision" in rows.dtype.names:  # the paper uses double
            rows = rows[rows["precision"] == b"double"]
        self.rows = {name: rows[name].astype(str) if rows[name].dtype.kind == "S" else rows[name]
                     for name in COLUMNS}

    def where(self, **key):
        """Indices of the rows that have these values in these columns."""
        match = numpy.ones(len(self.rows["what"]), dtype=bool)
        for name, value in key.items():
            match &= self.rows[name] == value
        return numpy.flatnonzero(match)

    def values(self, column, **key):
        """The values in a column of these rows, ascending."""
        return sorted(set(self.rows[column][self.where(**key)].tolist()))

    def curve(self, column="tflops", **key):
        """The column at ORDERS, NaN where the file has no such row; `key` selects at most one row per order."""
        result = numpy.full(len(ORDERS), numpy.nan)
        for row in self.where(**key):
            result[self.rows["order"][row] - 1] = self.rows[column][row]
        return result

    def meshes(self, wanted, **key):
        """Numbers of elements of these rows, ascending, and of `wanted` unless that is empty."""
        return [elements for elements in self.values("elements", **key) if not wanted or elements in wanted]

    def copies(self, problem, elements, warm=0, column="tflops"):
        """The paper's roofline by copies, B_gl F / (d_r + d_w): sp_bench computed it."""
        return self.curve(column, what="copy", problem=problem, elements=elements, warm_cache=warm)

    def device(self):
        """The GPU's name, without its number, which follows a comma."""
        return self.attributes.get("device", "unknown device").split(", GPU ")[0]


def ladder_key(problem, threads, warm=0):
    """The rows of the kernels of a ladder; number 0 of 0 threads is the program's own."""
    return {"what": "unassembled", "problem": problem, "threads": threads, "warm_cache": warm}


# ---- Parts of figures ---------------------------------------------------------------------------


def kernel_style(number):
    n = number - 1
    colour = figures.COLOURS[n % 6]
    again = n % 10 >= 6
    style = {"color": colour, "marker": KERNEL_MARKERS[n % 10], "linestyle": "--" if again else "-",
             "markerfacecolor": "white" if again else colour}
    if number == 1:
        style["markersize"] = 6.5  # larger, because kernel 2 is often as fast and drawn over it
    return style


def curve(axes, values, name, style):
    """A curve over the order, with a gap where an order is missing."""
    if numpy.isfinite(values).any():
        axes.plot(ORDERS, values, label=name, **style)


def panels(names, title):
    """Axes side by side, with titles and labels."""
    figure, (grid,) = pyplot.subplots(1, len(names), figsize=(WIDTH, HEIGHT), sharey=True,
                                      squeeze=False, constrained_layout=True)
    figure.suptitle(title, fontsize=10)
    for axes, name in zip(grid, names):
        axes.set_title(name, fontsize=9)
        axes.set_xlabel("polynomial degree N")
    grid[0].set_ylabel("TFLOP/s")
    return figure, grid


def finish(figure, grid, behind=(), columns=4):
    """Limits, ticks, and one legend below for all panels."""
    for axes in (*grid, *behind):
        axes.set_ylim(bottom=0)
    curves = [line for axes in grid for line in axes.get_lines() if len(line.get_xdata()) > 2]
    drawn = numpy.isfinite([line.get_ydata() for line in curves]).any(axis=0)
    last = max(int(ORDERS[drawn].max()), 2)
    for axes in grid:
        axes.set_xlim(0.5, last + 0.5)
        axes.set_xticks(range(1, last + 1, 2 if last > 9 else 1))
    figures.add_legend_below(figure, (*grid, *behind), ncol=columns, columnspacing=1.5)
    return figure


def check_panels(found, what):
    """Check that there is at least one mesh, and no more than fit side by side."""
    if not found:
        raise Missing(f"no rows of {what}")
    if len(found) > MOST_PANELS:
        raise Failure(f"{what}: rows of {len(found)} meshes, at most {MOST_PANELS} can be drawn; "
                      f"choose, as in --elements {','.join(map(str, found[-2:]))}")
    return found


def cache(warm):
    return "inputs left in cache" if warm else "inputs not in cache"


# ---- Figures of a study, on the meshes `wanted` -------------------------------------------------


def rooflines(study, wanted):
    """Rooflines by copies on every mesh, and by the bandwidth from the memory's clock and bus width."""
    found = check_panels(study.meshes(wanted, what="copy", warm_cache=0), "copies, inputs not in cache")
    problems = [problem for problem in PROBLEMS
                if any(numpy.isfinite(study.copies(problem, e)).any() for e in found)]
    figure, grid = panels([PROBLEMS[p] for p in problems],
                          f"Rooflines by bandwidth: {study.device()}")
    bandwidth = study.attributes.get("memory_bandwidth_theoretical")
    rate = study.attributes.get("fp64_measured")
    for axes, problem in zip(grid, problems):
        if bandwidth is not None:  # B F / (d_r + d_w), which a copy's row has; of an element the same on every mesh
            bounds = [study.copies(problem, e, column="flops") / study.copies(problem, e, column="bytes")
                      for e in found]
            curve(axes, bandwidth * numpy.fmax.reduce(bounds) * 1e-12,
                  f"theoretical bandwidth, {bandwidth * 1e-9:.0f} GB/s", {**ROOFLINE, "marker": "d", "linestyle": "-"})
        for n, elements in enumerate(reversed(found)):
            curve(axes, study.copies(problem, elements), f"copies, {elements} elements", figures.style(n))
        if rate is not None:  # the limit at any bandwidth
            axes.axhline(rate * 1e-12, color="0.5", linestyle=":",
                         label=f"FP64 measured, {rate * 1e-12:.1f} TFLOP/s")
    return finish(figure, grid, columns=2)


def ladder(problem, threads, warm):
    """The figure of a ladder: its kernels, the roofline by copies, the program's own kernels."""

    def draw(study, wanted):
        what = f"{PROBLEMS[problem]}, {threads}D thread blocks, {cache(warm)}"
        key, own = ladder_key(problem, threads, warm), ladder_key(problem, 0, warm)
        found = check_panels(study.meshes(wanted, **key), what)
        figure, grid = panels([f"{e} elements" for e in found], f"{what}: {study.device()}")
        measured = numpy.isin(ORDERS, study.values("order", **key))  # the 3D ladders end at lower orders
        for axes, elements in zip(grid, found):
            copies = study.copies(problem, elements, warm)
            curve(axes, numpy.where(measured, copies, numpy.nan), "roofline by copies", ROOFLINE)
            for number in study.values("kernel", **key):
                curve(axes, study.curve(kernel=number, elements=elements, **key), f"kernel {number}",
                      kernel_style(number))
            # With stored factors they move the bytes that the roofline counts.
            production = study.curve(kernel=0, geometry="stored", elements=elements, **own)
            curve(axes, numpy.where(measured, production, numpy.nan), "production, stored factors", PRODUCTION)
        return finish(figure, grid)

    return draw


def shared(problem, chosen):
    """Kernels and the lower of both rooflines, on the largest mesh, where copies are fastest."""

    def draw(study, wanted):
        what = f"{PROBLEMS[problem]}, 2D thread blocks, {cache(False)}"
        key = ladder_key(problem, 2)
        present = [n for n in study.values("kernel", **key) if n in chosen]
        if not present:
            raise Missing(f"no rows of {what}, kernels {', '.join(map(str, chosen))}")
        rates = [(study.attributes.get(f"shared_bandwidth_{name}"), text, style) for name, text, style in
                 (("formula", "by the paper's formula", figures.style(1)),
                  ("measured", "measured", figures.style(2)))]
        if rates[0][0] is None:
            raise Missing("the shared memory's bandwidth is not in the file")
        found = study.meshes(wanted, **key)
        if not found:
            raise Missing(f"no rows of {what}")
        elements = found[-1]
        figure, grid = panels([f"kernel {n}" for n in present],
                              f"{what}, {elements} elements: {study.device()}")
        for axes, number in zip(grid, present):
            row = {"kernel": number, "elements": elements, **key}
            copies, traffic = study.copies(problem, elements), study.curve("shared_traffic", **row)
            traffic[traffic == 0] = numpy.nan
            curve(axes, copies, "roofline by copies", ROOFLINE)
            for rate, text, style in rates:  # B_sh F / (s_r + s_w), F and s_r + s_w per element
                bound = rate * (study.curve("flops", **row) / elements) / traffic * 1e-12
                curve(axes, numpy.fmin(copies, bound),
                      f"with shared memory, {rate * 1e-12:.1f} TB/s {text}", style)
            curve(axes, study.curve(**row), "kernel", figures.style(0))
        return finish(figure, grid, columns=2)

    return draw


def unrolling(study, wanted):
    """Kernels 2 and 3, with registers per thread as bars in the background."""
    what = f"BP3.5, 2D thread blocks, {cache(False)}"
    pair = ((2, "kernel 2, loops not unrolled"), (3, "kernel 3, unrolled"))
    key = ladder_key("bp3.5", 2)
    if not {2, 3} <= set(study.values("kernel", **key)):
        raise Missing(f"no rows of {what}, kernels 2, 3")
    found = check_panels(study.meshes(wanted, **key), what)
    figure, grid = panels([f"{e} elements" for e in found], f"{what}: {study.device()}")
    bars = [axes.twinx() for axes in grid]
    for axes, behind, elements in zip(grid, bars, found):
        for n, (number, name) in enumerate(pair):
            row = {"kernel": number, "elements": elements, **key}
            registers = numpy.nan_to_num(study.curve("registers", **row))
            behind.bar(ORDERS + 0.4 * n - 0.2, registers, 0.36, color=figures.COLOURS[n], alpha=0.3,
                       hatch="////" if n == 0 else None, edgecolor="white", linewidth=0,
                       label=f"registers of kernel {number}")
            curve(axes, study.curve(**row), name, figures.style(n))
        behind.grid(visible=False)
        axes.set_zorder(behind.get_zorder() + 1)
        axes.patch.set_visible(False)
    top = max(behind.get_ylim()[1] for behind in bars)
    for behind in bars:
        behind.set_ylim(0, 1.6 * top)  # lower than the lines
    for behind in bars[:-1]:
        behind.set_yticks([])
    bars[-1].spines["right"].set_visible(True)
    bars[-1].set_ylabel("registers per thread (bars)")
    return finish(figure, grid, bars)


def table():
    """(name of the file, figure), for cold and warm ladders: most files have no warm ones."""
    ladders = (("bp10_2d", "mass", 2), ("bp35_2d", "bp3.5", 2), ("bp35_3d", "bp3.5", 3),
               ("bp30_2d", "bp3.0", 2), ("bp30_3d", "bp3.0", 3))
    cold = [("rooflines", rooflines), ("bp10_shared", shared("mass", (6, 7, 8))),
            ("bp35_unrolling", unrolling), ("bp30_shared", shared("bp3.0", (8, 9)))]
    cold += [(name, ladder(problem, threads, 0)) for name, problem, threads in ladders]
    warm = [(f"{name}_warm", ladder(problem, threads, 1)) for name, problem, threads in ladders]
    return cold, warm


def parse_elements(text):
    try:
        return [int(word) for word in text.split(",")] if text else []
    except ValueError:
        raise Failure(f"--elements: expected numbers as in 512,4096, found '{text}'") from None


def make_folder(path):
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise Failure(f"{path}: cannot make this folder: {error.strerror}") from None


def paper(arguments):
    """Draw all figures that the file has rows for; print one line for each other figure."""
    if arguments.format not in FORMATS:
        raise Failure(f"--format: expected one of {', '.join(FORMATS)}, found '{arguments.format}'")
    wanted = parse_elements(arguments.elements)
    study = Study(arguments.file)
    cold, warm = table()
    if not any(len(study.where(**ladder_key(problem, threads, 1))) for problem in PROBLEMS for threads in (2, 3)):
        warm = []
    left_out, drawn = [], 0
    for name, draw in cold + warm:
        try:
            figure = draw(study, wanted)
        except Missing as reason:
            left_out.append(f"{name} left out: {reason}")
            continue
        if drawn == 0:
            make_folder(arguments.output)
        drawn += 1
        figures.save(figure, os.path.join(arguments.output, f"{name}.{arguments.format}"))
    if drawn == 0:
        raise Failure(f"{arguments.file}: nothing to draw: the study of the paper is sp_bench "
                      "--problem all --kernel all --order 1:15 --elements 512,4096 --device cuda")
    for line in left_out:
        print(f"sp_plot: {line}", file=sys.stderr)
