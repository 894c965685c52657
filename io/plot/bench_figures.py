"""The rates of a file of sp_bench (solver/bench/bench.h): over the order, and over the size if the file has
several meshes for one order. Rates are DOFs per second; operators between E-vectors and copies count the
nodes of all elements. Rows of the paper's kernels are drawn by paper_figures."""

import numpy
from matplotlib.ticker import MaxNLocator

import figures
from failure import Failure
from figures import pyplot
from files import PROBLEMS, read_bench

KEY = ("what", "geometry", "precision")
COLUMNS = (*KEY, "problem", "kernel", "warm_cache", "order", "elements", "dofs", "gdofs_per_second")
MEASURES = {"copy": "roofline by copies", "unassembled": "E to E", "operator": "L to L", "cg": "CG"}
COLOURS = {"copy": "#000000", **dict(zip(("unassembled", "operator", "cg"), figures.COLOURS))}
PANEL = 3.4  # inches


def read(path):
    """The rows of the program's own measurements, and the device."""
    rows, attributes = read_bench(path, COLUMNS)
    rows = rows[(rows["kernel"] == 0) & numpy.isin(rows["what"], [what.encode() for what in MEASURES])]
    if not (rows["what"] != b"copy").any():
        raise Failure(f"{path}: no rates to draw; expected rows of sp_bench --measure unassembled, "
                      "operator or cg")
    if (rows["warm_cache"] == 0).any():  # a GPU's, also in a file with rows of --warm-cache; cg always has 1
        rows = rows[(rows["warm_cache"] == 0) | (rows["what"] == b"cg")]
    return rows, attributes.get("device", "unknown device").split("; GPUs by rank")[0]


def curves_of(rows):
    """{key: rows} of each curve, in the order of MEASURES."""
    order = [what.encode() for what in MEASURES]
    keys = {tuple(row) for row in rows[list(KEY)].tolist()}
    return {key: rows[[tuple(row) == key for row in rows[list(KEY)].tolist()]]
            for key in sorted(keys, key=lambda key: (order.index(key[0]), *key[1:]))}


def name_of(key, rows):
    """Label of a curve. A copy has no geometry."""
    what, geometry, precision = (value.decode() for value in key)
    words = [MEASURES[what], *([geometry] if what != "copy" else [])]
    return ", ".join([*words, precision] if len(set(rows["precision"])) > 1 else words)


def style_of(key):
    """Colour by measure, dashes by precision, marker by geometry."""
    what, geometry, precision = key
    return {"color": COLOURS[what.decode()], "linestyle": "--" if precision == b"single" else "-",
            "marker": "o" if geometry == b"stored" else "s"}


def largest_meshes(rows):
    """The row with the most elements of each order, by order."""
    return numpy.array([max(rows[rows["order"] == order], key=lambda row: row["elements"])
                        for order in numpy.unique(rows["order"])], rows.dtype)


def order_of_sizes(rows):
    """The order with the most meshes, the highest of several; None if each has one mesh."""
    meshes = {int(order): len(set(rows["elements"][rows["order"] == order])) for order in set(rows["order"])}
    most = max(meshes.values())
    return max(order for order, count in meshes.items() if count == most) if most > 1 else None


def draw_panel(axes, rows, everything, x):
    for key, part in curves_of(rows).items():
        part = largest_meshes(part) if x == "order" else numpy.sort(part, order="dofs")
        axes.plot(part[x], part["gdofs_per_second"], label=name_of(key, everything), **style_of(key))
    axes.set_yscale("log")


def over_orders(axes, rows, everything):
    draw_panel(axes, rows, everything, "order")
    axes.set_xlabel("polynomial degree N")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def over_sizes(axes, rows, everything):
    """Empty if each order has one mesh."""
    order = order_of_sizes(rows)
    if order is None:
        axes.set_visible(False)
        return
    draw_panel(axes, rows[rows["order"] == order], everything, "dofs")
    axes.set_xscale("log")
    axes.set_xlabel(f"degrees of freedom, or nodes, N = {order}")


def draw(rows, device):
    """A column of panels per problem: over the order, and below over the size."""
    problems = [problem for problem in PROBLEMS if problem.encode() in rows["problem"]]
    parts = [rows[rows["problem"] == problem.encode()] for problem in problems]
    sized = any(order_of_sizes(part) for part in parts)
    figure, grid = pyplot.subplots(1 + sized, len(problems), squeeze=False, constrained_layout=True,
                                   figsize=(PANEL * max(len(problems), 1.4), 0.85 * PANEL * (1 + sized)))
    figure.suptitle(device, fontsize=9)
    for n, (problem, part) in enumerate(zip(problems, parts)):
        grid[0][n].set_title(PROBLEMS[problem], fontsize=9)
        over_orders(grid[0][n], part, rows)
        if sized:
            over_sizes(grid[1][n], part, rows)
    for line in grid:
        line[0].set_ylabel("GDOF/s (E to E, copies: Gnode/s)")
    figures.add_legend_below(figure, figure.axes, ncol=3)
    return figure


def bench(arguments):
    figures.save(draw(*read(arguments.file)), arguments.output)
