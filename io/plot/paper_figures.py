"""The result figures of the paper (Sections "Empirical performance model" and "Optimizing Benchmark
Problem ..."), redrawn from a file of sp_bench; paper_data has their numbers.

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
import paper_data
from failure import Failure
from figures import pyplot
from paper_data import Missing, ORDERS, PROBLEMS, Study

FORMATS = ("png", "pdf", "svg")
MOST_PANELS = 3  # side by side, readable in print
WIDTH, HEIGHT = 7.2, 3.3  # inches: the width of a page

# Ten kernels: six colours, then four of them again with other, open markers and dashed lines.
KERNEL_MARKERS = ["o", "s", "^", "D", "v", "P", "<", ">", "h", "p"]
ROOFLINE = {"color": "#000000", "marker": "x", "linestyle": "--", "markersize": 5}
PRODUCTION = {"color": "#000000", "marker": "*", "linestyle": "-", "markersize": 6, "linewidth": 1.6}


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
    if paper_data.has(values):
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
    entries = {}
    for axes in (*grid, *behind):
        axes.set_ylim(bottom=0)
        for handle, name in zip(*axes.get_legend_handles_labels()):
            entries.setdefault(name, handle)
    curves = [line for axes in grid for line in axes.get_lines() if len(line.get_xdata()) > 2]
    drawn = numpy.isfinite([line.get_ydata() for line in curves]).any(axis=0)
    last = max(int(ORDERS[drawn].max()), 2)
    for axes in grid:
        axes.set_xlim(0.5, last + 0.5)
        axes.set_xticks(range(1, last + 1, 2 if last > 9 else 1))
    figure.legend(entries.values(), entries.keys(), loc="upper center", ncol=columns,
                  bbox_to_anchor=(0.5, 0.0), columnspacing=1.5)
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
    found = check_panels(paper_data.meshes(study, wanted, what="copy", warm_cache=0),
                         "copies, inputs not in cache")
    problems = [problem for problem in PROBLEMS
                if any(paper_data.has(paper_data.copies(study, problem, e, 0)) for e in found)]
    figure, grid = panels([PROBLEMS[p] for p in problems],
                          f"Rooflines by bandwidth: {study.device()}")
    for axes, problem in zip(grid, problems):
        bounds = [paper_data.theoretical_roofline(study, problem, e) for e in found]
        if bounds[0] is not None:  # an element's flops and bytes are the same on every mesh
            curve(axes, numpy.fmax.reduce(bounds), "theoretical bandwidth, "
                  f"{study.rate('memory_bandwidth_theoretical') * 1e-9:.0f} GB/s",
                  {**ROOFLINE, "marker": "d", "linestyle": "-"})
        for n, elements in enumerate(reversed(found)):
            curve(axes, paper_data.copies(study, problem, elements, 0),
                  f"copies, {elements} elements", figures.style(n))
        rate = study.rate("fp64_measured")
        if rate is not None:  # the limit at any bandwidth
            axes.axhline(rate * 1e-12, color="0.5", linestyle=":",
                         label=f"FP64 measured, {rate * 1e-12:.1f} TFLOP/s")
    return finish(figure, grid, columns=2)


def ladder(problem, threads, warm):
    """The figure of a ladder: its kernels, the roofline by copies, the program's own kernels."""

    def draw(study, wanted):
        what = f"{PROBLEMS[problem]}, {threads}D thread blocks, {cache(warm)}"
        found = check_panels(paper_data.ladder_meshes(study, wanted, problem, threads, warm), what)
        figure, grid = panels([f"{e} elements" for e in found], f"{what}: {study.device()}")
        orders = paper_data.ladder_orders(study, problem, threads, warm)
        for axes, elements in zip(grid, found):
            copies = paper_data.copies(study, problem, elements, warm)
            curve(axes, numpy.where(orders, copies, numpy.nan), "roofline by copies", ROOFLINE)
            for number in paper_data.numbers(study, problem, threads, warm):
                curve(axes, paper_data.kernel(study, problem, threads, number, elements, warm),
                      f"kernel {number}", kernel_style(number))
            production = paper_data.production(study, problem, elements, warm)
            curve(axes, numpy.where(orders, production, numpy.nan), "production, stored factors",
                  PRODUCTION)
        return finish(figure, grid)

    return draw


def shared(problem, chosen):
    """Kernels and the lower of both rooflines, on the largest mesh, where copies are fastest."""

    def draw(study, wanted):
        what = f"{PROBLEMS[problem]}, 2D thread blocks, {cache(False)}"
        present = [n for n in paper_data.numbers(study, problem, 2, 0) if n in chosen]
        if not present:
            raise Missing(f"no rows of {what}, kernels {', '.join(map(str, chosen))}")
        rates = [(study.rate(f"shared_bandwidth_{name}"), text, style) for name, text, style in
                 (("formula", "by the paper's formula", figures.style(1)),
                  ("measured", "measured", figures.style(2)))]
        if rates[0][0] is None:
            raise Missing("the shared memory's bandwidth is not in the file")
        elements = paper_data.ladder_meshes(study, wanted, problem, 2, 0)[-1:]
        if not elements:
            raise Missing(f"no rows of {what}")
        figure, grid = panels([f"kernel {n}" for n in present],
                              f"{what}, {elements[0]} elements: {study.device()}")
        for axes, number in zip(grid, present):
            copies = paper_data.copies(study, problem, elements[0], 0)
            curve(axes, copies, "roofline by copies", ROOFLINE)
            for rate, text, style in rates:
                bound = paper_data.shared_roofline(study, problem, number, elements[0], rate)
                curve(axes, numpy.fmin(copies, bound),
                      f"with shared memory, {rate * 1e-12:.1f} TB/s {text}", style)
            curve(axes, paper_data.kernel(study, problem, 2, number, elements[0], 0), "kernel",
                  figures.style(0))
        return finish(figure, grid, columns=2)

    return draw


def unrolling(study, wanted):
    """Kernels 2 and 3, with registers per thread as bars in the background."""
    what = f"BP3.5, 2D thread blocks, {cache(False)}"
    pair = ((2, "kernel 2, loops not unrolled"), (3, "kernel 3, unrolled"))
    if not {2, 3} <= set(paper_data.numbers(study, "bp3.5", 2, 0)):
        raise Missing(f"no rows of {what}, kernels 2, 3")
    found = check_panels(paper_data.ladder_meshes(study, wanted, "bp3.5", 2, 0), what)
    figure, grid = panels([f"{e} elements" for e in found], f"{what}: {study.device()}")
    bars = [axes.twinx() for axes in grid]
    for axes, behind, elements in zip(grid, bars, found):
        for n, (number, name) in enumerate(pair):
            key = (study, "bp3.5", 2, number, elements, 0)
            registers = numpy.nan_to_num(paper_data.kernel(*key, "registers"))
            behind.bar(ORDERS + 0.4 * n - 0.2, registers, 0.36, color=figures.COLOURS[n], alpha=0.3,
                       hatch="////" if n == 0 else None, edgecolor="white", linewidth=0,
                       label=f"registers of kernel {number}")
            curve(axes, paper_data.kernel(*key), name, figures.style(n))
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
    if not any(paper_data.numbers(study, problem, threads, 1)
               for problem in PROBLEMS for threads in (2, 3)):
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
