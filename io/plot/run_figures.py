"""Figures of run logs (io/run_log.h, solver/run/study.h)."""

import configparser

import numpy
from matplotlib.ticker import MaxNLocator, PercentFormatter

import figures
from failure import Failure
from figures import pyplot
from files import label_all, open_log
from labels import in_brackets, units_of


def read(path, table):
    """The rows of a table, the attributes of a run log and, as "units", the units of the columns; the file may
    still be growing."""
    with open_log(path) as log:
        if table not in log:
            what = {"study": "no study; run sp_solve with --study",
                    "history": "no history; run sp_solve with time.end"}.get(table, f"no /{table}")
            raise Failure(f"{path}: {what}")
        rows, attributes = log[table][:], {**log.attrs, "units": units_of(log[table])}
    if len(rows) == 0:
        studied = " (a study logs its runs in /study only)" if "study_rate" in attributes else ""
        raise Failure(f"{path}: /{table} has no rows{studied}")
    return rows, attributes


def read_all(arguments, table):
    """(label, rows, attributes) of every file; the label is the name of the file."""
    return [(label, *read(path, table))
            for label, path in zip(label_all(arguments.files), arguments.files)]


def describe(attributes):
    """One line about the run; a study has no single order."""
    case = configparser.RawConfigParser(strict=False, delimiters=("=",))
    case.read_string(attributes["case"])
    operator = case["discretization"]["operator"]
    if "study_rate" in attributes:
        return f"{operator}, all runs of a study"
    return f"{operator}, N = {attributes['order']}, {attributes['dofs']:,} degrees of freedom"


def legend(axes, runs):
    """A title for one run, a legend for several."""
    if len(runs) > 1:
        axes.legend()
    else:
        axes.set_title(describe(runs[0][2]), fontsize=9)


def every(count):
    """Spacing of the markers, so that curves with many points stay readable."""
    return max(1, count // 12)


def residual(arguments):
    """Relative residuals, logarithmic, over iterations or time."""
    runs = read_all(arguments, "residual")
    timed = arguments.against == "seconds"
    figure, axes = pyplot.subplots()
    for n, (label, rows, _) in enumerate(runs):
        axes.semilogy(rows["seconds" if timed else "iteration"], rows["relative"], label=label,
                      markevery=every(len(rows)), **figures.style(n))
    axes.set_ylabel("relative residual  ||r|| / ||b||")
    if timed:
        axes.set_xlabel("seconds since the start of the iteration")
    else:
        axes.set_xlabel("iteration")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    legend(axes, runs)
    figures.save(figure, arguments.output)


def line(arguments):
    """u along the lines of [line], over the distance from their first ends."""
    runs = read_all(arguments, "lines")
    figure, axes = pyplot.subplots()
    curves = [(label, name, rows[rows["name"] == name]) for label, rows, _ in runs
              for name in dict.fromkeys(rows["name"])]
    for n, (label, name, rows) in enumerate(curves):
        prefix = f"{label}, " if len(runs) > 1 else ""
        axes.plot(rows["distance"], rows["u"], label=prefix + name.decode(), markevery=every(len(rows)),
                  **figures.style(n))
    units = runs[0][2]["units"]
    axes.set_xlabel(in_brackets("distance from the first end of the line", units.get("distance")))
    axes.set_ylabel(in_brackets("u", units.get("u")))
    axes.set_title(describe(runs[0][2]), fontsize=9)
    axes.legend()
    figures.save(figure, arguments.output)


# Titles of the panels of a history, by table of their columns.
PANELS = {"results": "results", "probes": "u at probes", "extrema": "extrema of u", "balance": "heat out", "heat": "heat"}


def history(arguments):
    """The columns of the history over time: a panel for the results, the probes, the extrema and the balance."""
    runs = read_all(arguments, "history")
    names = [name for name in runs[0][1].dtype.names if "." in name]
    panels = list(dict.fromkeys(name.split(".")[0] for name in names))
    figure, all_axes = pyplot.subplots(len(panels), 1, figsize=(6.4, 2.2 * len(panels)), sharex=True, squeeze=False,
                                       constrained_layout=True)
    for panel, axes in zip(panels, all_axes[:, 0]):
        columns = [name for name in names if name.split(".")[0] == panel]
        curves = [(label, name, rows) for label, rows, _ in runs for name in columns if name in rows.dtype.names]
        units = {runs[0][2]["units"].get(name) for name in columns}
        for n, (label, name, rows) in enumerate(curves):
            prefix = f"{label}, " if len(runs) > 1 else ""
            text = name.split(".", 1)[1]
            if len(units) > 1:
                text = in_brackets(text, runs[0][2]["units"].get(name))
            axes.plot(rows["time"], rows[name], label=prefix + text, markevery=every(len(rows)), **figures.style(n))
        axes.set_ylabel(in_brackets(PANELS.get(panel, panel), units.pop() if len(units) == 1 else None))
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    all_axes[-1, 0].set_xlabel("time t")
    all_axes[0, 0].set_title(describe(runs[0][2]), fontsize=9)
    figures.save(figure, arguments.output)


# Every phase has its colour, the same in all figures (io/profile.h).
PHASE_COLOURS = {
    "start": "#E69F00", "case": "#DDCC77", "device": "#882255", "mesh": "#56B4E9",
    "numbering": "#CC79A7", "problem": "#117733", "operator": "#D55E00",
    "preconditioner": "#8C564B", "solve": "#009E73", "residual": "#BCBD22",
    "solution": "#AA4499", "errors": "#332288", "probes": "#44AA99", "field": "#6699CC",
    "results": "#AAAA00", "error bars": "#88CCEE", "log": "#661100", "rest": "#BBBBBB",
    "matvec": "#0072B2", "vectors": "#F0E442", "precondition": "#999933", "reductions": "#000000",
    "rest of solve": "#777777"}


def matvec(arguments):
    """GDOF/s of every application, with its median."""
    runs = read_all(arguments, "matvec")
    figure, axes = pyplot.subplots()
    for n, (label, rows, _) in enumerate(runs):
        rate, colour = rows["gdofs_per_second"], figures.style(n)["color"]
        median = float(numpy.median(rate))
        axes.plot(rows["iteration"], rate, ".", markersize=3, color=colour, alpha=0.6)
        axes.axhline(median, color=colour, linestyle=figures.style(n)["linestyle"],
                     label=f"{label + ', ' if len(runs) > 1 else ''}median {median:.4g} GDOF/s")
    axes.set_xlabel("iteration")
    axes.set_ylabel("throughput of the matvec [GDOF/s]")
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if len(runs) == 1:
        legend(axes, runs)
    axes.legend(loc="lower right", frameon=True, framealpha=0.9, edgecolor="none")
    figures.save(figure, arguments.output)


def parts_of(rows, whole):
    """Seconds of the rows that are parts of `whole`, by name: means over ranks, which add up to it."""
    return {row["name"].decode(): float(row["seconds_mean"]) for row in rows
            if row["part_of"].decode() == whole}


# Levels of multigrid from the finest on; later ones have the last colour.
LEVEL_COLOURS = ("#54278F", "#756BB1", "#9E9AC8", "#BCBDDC", "#DADAEB")


def levels_of(path):
    """Seconds of the levels of multigrid, by name; none where the log has no levels."""
    with open_log(path) as log:
        rows = log["levels"][:] if "levels" in log else []
    names = [f"level of order {row['order']}" for row in rows[:-1]] + ["coarsest level"]
    return {name: float(row["seconds"]) for name, row in zip(names, rows)}


def stack(axes, place, parts, legend_has):
    """One bar of the shares of `parts` in their sum; returns the sum."""
    whole, left = sum(parts.values()), 0
    for n, (name, seconds) in enumerate(parts.items()):
        share = max(seconds, 0) / whole if whole > 0 else 0
        if share == 0:
            continue
        colour = PHASE_COLOURS.get(name, LEVEL_COLOURS[min(n, len(LEVEL_COLOURS) - 1)])
        axes.barh(place, share, left=left, height=0.7, color=colour, edgecolor="white",
                  linewidth=0.4, label=None if name in legend_has else name)
        legend_has.add(name)
        if share > 0.06:
            axes.text(left + share / 2, place, f"{100 * share:.0f} %", ha="center", va="center",
                      color=figures.ink(colour), fontsize=8)
        left += share
    return whole


def phases(arguments):
    """Bars of each run: the whole wall clock by phase, the solve by its parts, and the cycle of
    multigrid by its levels."""
    runs = read_all(arguments, "phases")
    bars = []  # label and parts of each, None between runs
    for path, (label, rows, _) in zip(arguments.files, runs):
        prefix = f"{label}, " if len(runs) > 1 else ""
        bars += [(prefix + whole, parts_of(rows, whole)) for whole in ("total", "solve")]
        levels = levels_of(path)
        bars += [(prefix + "multigrid", levels)] if levels else []
        bars.append(None)
    figure, axes = pyplot.subplots(figsize=(6.4, 1.0 + 0.35 * len(bars)))
    legend_has, places, labels, place = set(), [], [], 0
    for bar in bars:
        if bar is not None:
            seconds = stack(axes, place, bar[1], legend_has)
            places.append(place)
            labels.append(f"{bar[0]}: {seconds:.3g} s")
        place += 0.4 if bar is None else 1
    axes.set_yticks(places, labels)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(PercentFormatter(1))
    axes.set_xlabel("share (means over ranks)")
    axes.grid(axis="y", visible=False)
    if len(runs) == 1:
        axes.set_title(describe(runs[0][2]), fontsize=9)
    axes.legend(ncol=2 if len(runs) == 1 else 1, loc="center left", bbox_to_anchor=(1.04, 0.5))
    figures.save(figure, arguments.output)


def slope(axes, x, y, rate):
    """A short line with the slope `rate` under the finest points, with its number."""
    ends = numpy.array([x[-2], x[-1]])
    line = 0.6 * y[-1] * (ends / ends[-1]) ** rate
    axes.loglog(ends, line, color="0.4", linewidth=0.9)
    axes.annotate(f"{rate}", (numpy.sqrt(ends.prod()), numpy.sqrt(line.prod())), fontsize=7,
                  color="0.3", textcoords="offset points", xytext=(2, -8))


def direction(attributes):
    """The parameter that changes from run to run: "orders", "refinements" or "steps"."""
    return attributes["study_rate"].split(":")[0].split()[-1]


def along_halvings(axes, rows, norm, steps):
    """Errors over the element width or the step, relative to the largest: one curve per order, along steps and mesh."""
    largest = rows["dt"].max() if steps else rows["elements"].min()

    def size(part):
        return part["dt"] / largest if steps else (largest / part["elements"]) ** (1 / 3)
    series = numpy.unique(rows[["order", "refine"] if steps else ["order"]])
    for n, run in enumerate(series):
        part = rows[(rows["order"] == run["order"]) & (not steps or rows["refine"] == run["refine"])]
        meshes = steps and len(numpy.unique(rows["refine"])) > 1
        label = f"N = {run['order']}" + (f", refine {run['refine']}" if meshes else "")
        axes.loglog(size(part), part[norm], label=label, **figures.style(n))
        clear = part[norm] > part[norm + "_floor"]
        if clear.sum() > 1:
            slope(axes, size(part)[clear], part[norm][clear], int(part[norm + "_expected"][0]))
    ticks = numpy.unique(size(rows))
    axes.set_xticks(ticks, [f"1/{round(1 / tick)}" if tick < 1 else "1" for tick in ticks])
    axes.minorticks_off()
    axes.invert_xaxis()
    axes.set_xlabel("step / longest" if steps else "element width / coarsest")


def along_orders(axes, rows, norm, label, n):
    """Errors over the order, and the floor under them."""
    axes.semilogy(rows["order"], rows[norm], label=label, **figures.style(n))
    axes.semilogy(rows["order"], rows[norm + "_floor"], color="0.5", linewidth=0.9, linestyle=":",
                  label="estimate of the floor" if n == 0 else None)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("order N")


def answers(path, along):
    """Differences of each answer from run to run, where there is no solution to compare with."""
    rows, attributes = read(path, "answers")
    rows = rows[rows["difference"] != 0]  # also the first runs: not a number
    rows = rows[numpy.isfinite(rows["difference"])]
    if len(rows) == 0:
        raise Failure(f"{path}: the answers of all runs are equal")
    figure, axes = pyplot.subplots()
    column, title, others = {"orders": ("order", "order N", ()), "refinements": ("refine", "refinement", ("order",)),
                             "steps": ("step", "halvings of the step", ("order", "refine"))}[along]
    for n, series in enumerate(numpy.unique(rows[["kind", "name", *others]])):
        part = rows[rows[list(series.dtype.names)] == series]
        runs = [f"{other} {series[other]}".replace("order", "N =") for other in others]
        axes.semilogy(part[column], abs(part["difference"]), **figures.style(n),
                      label=", ".join([f"{series['kind'].decode()} {series['name'].decode()}", *runs]))
    axes.set_xlabel(title)
    axes.set_ylabel("difference from the run before")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title(describe(attributes), fontsize=9)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def study(arguments):
    """Both norms side by side. Several studies over orders may be overlaid, but only one over refinements or steps."""
    runs = read_all(arguments, "study")
    lacks = [path for path, (_, rows, _) in zip(arguments.files, runs) if "L2" not in rows.dtype.names]
    if lacks and len(runs) > 1:
        raise Failure(f"{lacks[0]}: a study without a solution has a figure of its own")
    if lacks:
        figures.save(answers(lacks[0], direction(runs[0][2])), arguments.output)
        return
    along = [direction(attributes) for _, _, attributes in runs]
    others = [f"{path} is along {way}" for path, way in zip(arguments.files, along) if way != "orders"]
    if others and len(runs) > 1:
        raise Failure(f"several studies in one figure must all be along orders; {others[0]}")
    figure, both = pyplot.subplots(1, 2, figsize=(7.2, 3.4), constrained_layout=True)
    for axes, norm, title in zip(both, ("L2", "H1"), ("L2 norm", "H1 seminorm")):
        for n, (label, rows, _) in enumerate(runs):
            if others:
                along_halvings(axes, rows, norm, along[0] == "steps")
            else:
                along_orders(axes, rows, norm, label if len(runs) > 1 else "error", n)
        axes.set_ylabel(f"error, {title}")
    if others:
        both[1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    else:
        both[0].legend(loc="upper right")
    figures.save(figure, arguments.output)
