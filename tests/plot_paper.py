#!/usr/bin/env python3
"""sp_plot bench on files of sp_bench; sp_plot paper: every figure from a file of sp_bench to which rows
like a GPU's were added. What is plotted against the rows, and answers to wrong input.

    plot_paper.py SP_PLOT SP_BENCH [FOLDER]    exit code 77 (skipped) without matplotlib or h5py
                                               FOLDER: keep the figures there, to look at"""

import os
import sys

import driver
import optional
from driver import check
from plotting import plot, refuse, refuse_unreadable

BENCH = os.path.abspath(sys.argv[2])
KEEP = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else None
h5py, numpy = optional.need("h5py", "numpy")
paper_figures, bench_figures = optional.need("paper_figures", "bench_figures")
Study = optional.need("paper_data").Study

LADDERS = {("mass", 2): (8, 15), ("bp3.5", 2): (10, 15), ("bp3.5", 3): (6, 9),
           ("bp3.0", 2): (9, 15), ("bp3.0", 3): (9, 8)}  # kernels, highest order
NAMES = dict(zip(LADDERS, ("bp10_2d", "bp35_2d", "bp35_3d", "bp30_2d", "bp30_3d")))
OTHERS = ["rooflines", "bp10_shared", "bp35_unrolling", "bp30_shared"]
RATES = {"memory_bandwidth_theoretical": 4.9e12, "shared_bandwidth_formula": 33e12,
         "shared_bandwidth_measured": 31e12, "fp64_measured": 33.5e12}
MESHES = 512, 4096
driver.start("plot_paper", BENCH, [])


def work(problem, order):
    """Flops and bytes per element (operators/counts.h; the paper's Table 2)."""
    n, m = order + 1, order + 2
    interpolation = 4 * (n**3 * m + n**2 * m**2 + n * m**3)
    return {"mass": (interpolation + m**3, 8 * (2 * n**3 + m**3)), "bp3.5": (12 * n**4 + 18 * n**3, 8 * 9 * n**3),
            "bp3.0": (interpolation + 12 * m**4 + 18 * m**3, 8 * (2 * n**3 + 7 * m**3))}[problem]


def new_row(dtype, problem, order, elements, warm, share, **others):
    """A row whose rate is a fraction of the roofline of a copy at 4 TB/s, or 8 TB/s from cache."""
    row = numpy.zeros(1, dtype)
    flops, size = work(problem, order)
    bandwidth = (8e12 if warm else 4e12) / (1 + 4e6 / (elements * size))
    values = {"what": "unassembled", "problem": problem, "geometry": "stored", "precision": "double",
              "order": order, "elements": elements, "warm_cache": warm, "flops": elements * flops,
              "bytes": elements * size, "tflops": share * bandwidth * flops / size * 1e-12, **others}
    for name, value in values.items():
        row[name] = value
    return row


def gpu_rows(dtype, warm):
    """The rows of a whole study. Made-up numbers of the magnitude of a GPU's, all different."""
    rows = []
    for elements in MESHES:
        for problem in "mass", "bp3.5", "bp3.0":
            for order in range(1, 16):
                key = dtype, problem, order, elements, warm
                rows.append(new_row(*key, 1, what="copy"))
                rows.append(new_row(*key, 0.9 + 0.005 * order))
                rows.append(new_row(*key, 1.7, geometry="trilinear"))
                rows.append(new_row(*key, 0.7, what="operator"))
        for (problem, threads), (kernels, highest) in LADDERS.items():
            for number in range(1, kernels + 1):
                for order in range(1, highest + 1):
                    share = 0.05 + 0.8 * (number / kernels)**2 * (1 - 0.02 * order) + 1e-3 * threads
                    rows.append(new_row(
                        dtype, problem, order, elements, warm, share, threads=threads,
                        kernel=number, registers=24 + 8 * order // (1 + (number == 2)),
                        shared_traffic=6 * number * (order + 2)**4
                        if threads == 2 and problem != "bp3.5" else 0))
    return numpy.concatenate(rows)


def write(path, rows, attributes, rates):
    with h5py.File(path, "w") as file:
        file.create_dataset("bench", data=rows)
        file.attrs.update({**attributes, **rates, "device": "NVIDIA Synthetic, GPU 0 (sm_90)"})


def table_of(rows):
    """{(what, problem, geometry, threads, kernel, elements, warm): {order: row}}"""
    result = {}
    for row in rows:
        key = (*(row[name].decode() for name in ("what", "problem", "geometry")),
               *(int(row[name]) for name in ("threads", "kernel", "elements", "warm_cache")))
        result.setdefault(key, {})[int(row["order"])] = row
    return result


def drawn_lines(axes):
    """{label: {order: y}}, without gaps."""
    return {line.get_label(): {int(x): y for x, y in zip(*line.get_data()) if numpy.isfinite(y)}
            for line in axes.get_lines()}


def expected(rows, *key, highest=15):
    return {order: row["tflops"] for order, row in rows[key].items() if order <= highest}


def same(text, drawn, wanted):
    """The same lines, to a few roundings."""
    check(set(drawn) == set(wanted), f"{text}: lines {sorted(drawn)}, expected {sorted(wanted)}")
    for name in set(drawn) & set(wanted):
        a, b = drawn[name], wanted[name]
        check(set(a) == set(b) and all(abs(a[order] / b[order] - 1) < 1e-14 for order in a),
              f"{text}, {name}: {a}, expected {b}")


def check_ladders(study, rows, draw):
    for (problem, threads), (kernels, highest) in LADDERS.items():
        for warm in 0, 1:
            name = NAMES[problem, threads] + ("_warm" if warm else "")
            figure = draw[name](study, [])
            for axes, elements in zip(figure.axes, MESHES):
                wanted = {f"kernel {k}": expected(rows, "unassembled", problem, "stored", threads,
                                                  k, elements, warm)
                          for k in range(1, kernels + 1)}
                wanted["roofline by copies"] = expected(rows, "copy", problem, "stored", 0, 0,
                                                        elements, warm, highest=highest)
                wanted["production, stored factors"] = expected(
                    rows, "unassembled", problem, "stored", 0, 0, elements, warm, highest=highest)
                same(f"{name}, {elements}", drawn_lines(axes), wanted)


def check_shared(study, rows, draw, name, problem, kernels):
    figure = draw[name](study, [])
    check(len(figure.axes) == len(kernels), f"{name}: {len(figure.axes)} panels")
    for axes, kernel in zip(figure.axes, kernels):
        own = rows["unassembled", problem, "stored", 2, kernel, 4096, 0]
        copies = expected(rows, "copy", problem, "stored", 0, 0, 4096, 0)
        bounds = {rate: {order: min(copies[order], rate * work(problem, order)[0]
                                    / row["shared_traffic"] * 1e-12)
                         for order, row in own.items()} for rate in (33e12, 31e12)}
        check(any(bounds[31e12][order] < copies[order] for order in copies)
              and any(bounds[31e12][order] == copies[order] for order in copies),
              f"{name}, kernel {kernel}: both rooflines should bound in this test")
        same(f"{name}, kernel {kernel}", drawn_lines(axes), {
            "roofline by copies": copies, "kernel": {o: row["tflops"] for o, row in own.items()},
            "with shared memory, 33.0 TB/s by the paper's formula": bounds[33e12],
            "with shared memory, 31.0 TB/s measured": bounds[31e12]})


def draw_all(path, folder, names, left_out, *form):
    """All figures of a file that has data for these and not for those."""
    done = plot("paper", path, "-o", folder, *form)
    files = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    check(done.returncode == 0 and not done.stdout, f"{path}: {done.returncode} {done.stderr}")
    check(files == sorted(f"{name}.{form[-1] if form else 'png'}" for name in names), f"{path}: {files}")
    check(all(os.path.getsize(os.path.join(folder, name)) > 5000 for name in files), "empty files")
    lines = done.stderr.splitlines()
    check([line.split()[:4] for line in lines] == [["sp_plot:", name, "left", "out:"]
                                                   for name in left_out], f"{path}: {lines}")


MEASURES = {"E to E": "unassembled", "L to L": "operator", "CG": "cg", "roofline by copies": "copy"}


def expected_rates(rows, problem, x, **chosen):
    """{(measure, geometry, precision): {x: GDOF/s}}; a copy has no geometry."""
    curves = {}
    for row in rows:
        if row["problem"] != problem.encode() or any(row[name] != value for name, value in chosen.items()):
            continue
        what = row["what"].decode()
        key = what, "" if what == "copy" else row["geometry"].decode(), row["precision"].decode()
        curves.setdefault(key, {})[int(row[x])] = float(row["gdofs_per_second"])
    return curves


def drawn_rates(axes):
    curves = {}
    for line in axes.get_lines():
        name, *more = line.get_label().split(", ")
        geometry = more.pop(0) if name != "roofline by copies" else ""
        points = zip(line.get_xdata().tolist(), line.get_ydata().tolist())
        curves[MEASURES[name], geometry, *(more or ["double"])] = dict(points)
    return curves


def run_bench(path, *arguments):
    driver.good(BENCH, "-q", "--device", "host", "--order", "1,2", "--repeats", "3", "-o", path, *arguments)
    with h5py.File(path) as file:
        return file["bench"][:], dict(file.attrs)


def rates():
    """Every measurement is drawn where it belongs: over the order those on the largest mesh, over the size
    those of the highest order."""
    rows = run_bench("rates.h5", "--problem", "mass,bp3.5", "--elements", "8,27", "--precision",
                     "double,single")[0]
    figure = bench_figures.draw(*bench_figures.read("rates.h5"))
    for n, problem in enumerate(("mass", "bp3.5")):
        above, below = figure.axes[n], figure.axes[2 + n]
        expected = expected_rates(rows, problem, "order", elements=27)
        check(len(expected) == 12 and drawn_rates(above) == expected, f"{problem}: {drawn_rates(above)}")
        expected = expected_rates(rows, problem, "dofs", order=2)
        check(drawn_rates(below) == expected, f"{problem} by size: {drawn_rates(below)}")
        check("N = 2" in below.get_xlabel(), below.get_xlabel())
    check(plot("bench", "rates.h5", "-o", "rates.png").returncode == 0 and os.path.getsize("rates.png") > 5000,
          "a picture of rates")


def refused(cold, attributes):
    write("empty.h5", cold[:0], attributes, RATES)
    for name, to in ("paper", ("-o", "refused")), ("bench", ("-o", "x.png")):
        refuse_unreadable(name, "not a file of sp_bench", "h5", *to)
    refuse(["empty.h5", "no rates to draw"], "bench", "empty.h5", *to)
    to = ["-o", "refused"]
    refuse(["empty.h5", "nothing to draw", "--kernel all"], "paper", "empty.h5", *to)
    refuse(["nothing to draw"], "paper", "bench.h5", *to, "--elements", "9")
    refuse(["--format", "found 'bmp'"], "paper", "bench.h5", *to, "--format", "bmp")
    refuse(["--elements", "found '512,x'"], "paper", "bench.h5", *to, "--elements", "512,x")
    refuse(["text.h5", "cannot make"], "paper", "bench.h5", "-o", "text.h5")
    check(not os.path.exists("refused"), "a folder in spite of errors")


def main():
    host, attributes = run_bench("host.h5", "--problem", "all", "--elements", "27")
    cold, warm = gpu_rows(host.dtype, 0), gpu_rows(host.dtype, 1)
    single = cold.copy()  # is not plotted
    single["precision"] = "single"
    single["tflops"] *= 1.7
    everything = numpy.concatenate([host, cold, warm, single])
    numpy.random.default_rng(1).shuffle(everything)  # their order means nothing
    write("bench.h5", everything, attributes, RATES)

    study, rows = Study("bench.h5"), table_of(everything[everything["precision"] == b"double"])
    draw = dict(sum(paper_figures.table(), []))
    check_ladders(study, rows, draw)
    check_shared(study, rows, draw, "bp10_shared", "mass", (6, 7, 8))
    check_shared(study, rows, draw, "bp30_shared", "bp3.0", (8, 9))

    ladders = list(NAMES.values())
    draw_all("bench.h5", KEEP or "all/figures", ladders + OTHERS + [f"{n}_warm" for n in ladders], [])
    only = cold[(cold["elements"] == 512) & (cold["problem"] == b"mass")
                & numpy.isin(cold["order"], (1, 3))]
    write("mass.h5", only, attributes, {})
    draw_all("mass.h5", "mass", ["rooflines", "bp10_2d"],
             [*OTHERS[1:], *ladders[1:]], "--format", "svg")
    lines = drawn_lines(draw["bp10_2d"](Study("mass.h5"), []).axes[0])
    check(len(lines) == 10 and all(set(line) == {1, 3} for line in lines.values()),
          f"what is missing is not drawn: {lines}")
    rates()
    refused(cold, attributes)


driver.in_folder(main)
driver.finish()
