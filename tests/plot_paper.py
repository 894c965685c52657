#!/usr/bin/env python3
"""sp_plot bench on files of sp_bench; sp_plot paper: every figure from a file of sp_bench with added rows like a
GPU's. Plotted data are compared with the rows; errors for wrong input."""

import os
import sys

import driver
import optional
from driver import check
from plotting import plot, refuse, refuse_unreadable

BENCH = os.path.abspath(sys.argv[2])
h5py, numpy = optional.need("h5py", "numpy")
paper_figures, bench_figures = optional.need("paper_figures", "bench_figures")

LADDERS = {("mass", 2): (8, 15), ("bp3.5", 2): (10, 15), ("bp3.5", 3): (6, 9),
           ("bp3.0", 2): (9, 15), ("bp3.0", 3): (9, 8)}  # kernels, highest order
NAMES = dict(zip(LADDERS, ("bp10_2d", "bp35_2d", "bp35_3d", "bp30_2d", "bp30_3d")))
OTHERS = ["rooflines", "bp10_shared", "bp35_unrolling", "bp30_shared"]
RATES = {"memory_bandwidth_theoretical": 4.9e12, "shared_bandwidth_formula": 33e12,
         "shared_bandwidth_measured": 31e12, "fp64_measured": 33.5e12}
MESHES = 512, 4096
driver.start("plot_paper", BENCH, [])


def gpu_rows(dtype, warm):
    """The rows of a whole study with rates that are all different. Copies reach 4 to 6 TFLOP/s, so that either
    roofline bounds the kernels that use shared memory."""
    random, rows = numpy.random.default_rng(warm), []

    def add(problem, order, elements, **others):
        row = numpy.zeros(1, dtype)
        values = {"what": "unassembled", "problem": problem, "geometry": "stored", "precision": "double", "order": order,
                  "elements": elements, "warm_cache": warm, "flops": 1e4 * order * elements, "bytes": 1e3 * elements,
                  "tflops": random.uniform(4, 6), "registers": random.integers(24, 99), **others}
        for name, value in values.items():
            row[name] = value
        rows.append(row)

    for elements in MESHES:
        for problem in "mass", "bp3.5", "bp3.0":
            for order in range(1, 16):
                add(problem, order, elements, what="copy")
                add(problem, order, elements)
                add(problem, order, elements, geometry="trilinear")
                add(problem, order, elements, what="operator")
        for (problem, threads), (kernels, highest) in LADDERS.items():
            for number in range(1, kernels + 1):
                for order in range(1, highest + 1):
                    add(problem, order, elements, threads=threads, kernel=number,
                        shared_traffic=1e4 * order**2 if threads == 2 and problem != "bp3.5" else 0)
    return numpy.concatenate(rows)


def drawn_lines(axes):
    """{label: {order: y}}, without gaps."""
    return {line.get_label(): {int(x): y for x, y in zip(*line.get_data()) if numpy.isfinite(y)}
            for line in axes.get_lines()}


def same(text, drawn, wanted):
    """The same lines, to a few roundings."""
    check(set(drawn) == set(wanted), f"{text}: lines {sorted(drawn)}, expected {sorted(wanted)}")
    for name in set(drawn) & set(wanted):
        a, b = drawn[name], wanted[name]
        check(set(a) == set(b) and all(abs(a[order] / b[order] - 1) < 1e-14 for order in a),
              f"{text}, {name}: {a}, expected {b}")


def check_figures(everything, draw):
    """The ladders, cold and warm, and the rooflines of shared memory."""
    study, rows = paper_figures.Study("bench.h5"), {}
    for row in everything[everything["precision"] == b"double"]:
        key = (*(row[name].decode() for name in ("what", "problem", "geometry")),
               *(int(row[name]) for name in ("threads", "kernel", "elements", "warm_cache")))
        rows.setdefault(key, {})[int(row["order"])] = row

    def expected(*key, highest=15):
        return {order: row["tflops"] for order, row in rows[key].items() if order <= highest}

    for (problem, threads), (kernels, highest) in LADDERS.items():
        for warm in 0, 1:
            name = NAMES[problem, threads] + ("_warm" if warm else "")
            for axes, elements in zip(draw[name](study, []).axes, MESHES):
                wanted = {f"kernel {k}": expected("unassembled", problem, "stored", threads, k, elements, warm)
                          for k in range(1, kernels + 1)}
                for label, what in ("roofline by copies", "copy"), ("production, stored factors", "unassembled"):
                    wanted[label] = expected(what, problem, "stored", 0, 0, elements, warm, highest=highest)
                same(f"{name}, {elements}", drawn_lines(axes), wanted)
    for name, problem, kernels in ("bp10_shared", "mass", (6, 7, 8)), ("bp30_shared", "bp3.0", (8, 9)):
        for axes, kernel in zip(draw[name](study, []).axes, kernels, strict=True):
            own = rows["unassembled", problem, "stored", 2, kernel, 4096, 0]
            copies = expected("copy", problem, "stored", 0, 0, 4096, 0)
            bounds = {rate: {order: min(copies[order], rate * row["flops"] / 4096 / row["shared_traffic"] * 1e-12)
                             for order, row in own.items()} for rate in (33e12, 31e12)}
            check(len({bounds[31e12][order] < copies[order] for order in copies}) == 2,
                  f"{name}, kernel {kernel}: both rooflines should bound in this test")
            same(f"{name}, kernel {kernel}", drawn_lines(axes), {
                "roofline by copies": copies, "kernel": {o: row["tflops"] for o, row in own.items()},
                "with shared memory, 33.0 TB/s by the paper's formula": bounds[33e12],
                "with shared memory, 31.0 TB/s measured": bounds[31e12]})


def draw_all(path, folder, names, left_out, *form):
    """The figures of a file that has data only for some."""
    done = plot("paper", path, "-o", folder, *form)
    files = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    check(done.returncode == 0 and files == sorted(f"{name}.{form[-1] if form else 'png'}" for name in names) and
          all(os.path.getsize(os.path.join(folder, name)) > 5000 for name in files), f"{path}: {files}, {done.stderr}")
    check([line.split()[:4] for line in done.stderr.splitlines()] ==
          [["sp_plot:", name, "left", "out:"] for name in left_out], f"{path}: {done.stderr}")


def run_bench(path, *arguments):
    driver.good(BENCH, "-q", "--device", "host", "--order", "1,2", "--repeats", "3", "-o", path, *arguments)
    with h5py.File(path) as file:
        return file["bench"][:], dict(file.attrs)


def rates():
    """A curve for every measurement: the roofline by copies has no geometry."""
    rows = run_bench("rates.h5", "--problem", "mass,bp3.5", "--elements", "8,27", "--precision", "double,single")[0]
    figure = bench_figures.draw(*bench_figures.read("rates.h5"))
    for n, problem in enumerate(("mass", "bp3.5")):
        copies = [float(row["gdofs_per_second"]) for row in rows if (row["what"], row["problem"], row["precision"],
                  row["elements"]) == (b"copy", problem.encode(), b"double", 27)]
        drawn = {line.get_label(): line.get_ydata().tolist() for line in figure.axes[n].get_lines()}
        check(len(drawn) == 12 and drawn["roofline by copies, double"] == copies, f"{problem}: {drawn}, not {copies}")
    check(plot("bench", "rates.h5", "-o", "rates.png").returncode == 0 and os.path.getsize("rates.png") > 5000,
          "a picture of rates")


def main():
    host, attributes = run_bench("host.h5", "--problem", "all", "--elements", "27")
    cold, warm = gpu_rows(host.dtype, 0), gpu_rows(host.dtype, 1)
    single = cold.copy()  # is not plotted
    single["precision"] = "single"
    single["tflops"] *= 1.7
    everything = numpy.concatenate([host, cold, warm, single])
    numpy.random.default_rng(1).shuffle(everything)  # their order means nothing
    only = cold[(cold["elements"] == 512) & (cold["problem"] == b"mass") & numpy.isin(cold["order"], (1, 3))]
    for path, rows, rates_of in ("bench.h5", everything, RATES), ("mass.h5", only, {}), ("empty.h5", cold[:0], RATES):
        with h5py.File(path, "w") as file:
            file.create_dataset("bench", data=rows)
            file.attrs.update({**attributes, **rates_of, "device": "NVIDIA Synthetic, GPU 0 (sm_90)"})
    draw = dict(sum(paper_figures.table(), []))
    check_figures(everything, draw)
    ladders = list(NAMES.values())
    draw_all("bench.h5", "all/figures", ladders + OTHERS + [f"{n}_warm" for n in ladders], [])
    draw_all("mass.h5", "mass", ["rooflines", "bp10_2d"], [*OTHERS[1:], *ladders[1:]], "--format", "svg")
    lines = drawn_lines(draw["bp10_2d"](paper_figures.Study("mass.h5"), []).axes[0])
    check(len(lines) == 10 and all(set(line) == {1, 3} for line in lines.values()), f"what is missing is drawn: {lines}")
    rates()
    refuse_unreadable("paper", "not a file of sp_bench", "h5", "-o", "refused")
    for words, name, *arguments in (
            (["empty.h5", "no rates to draw"], "bench", "empty.h5", "-o", "x.png"),
            (["empty.h5", "nothing to draw", "--kernel all"], "paper", "empty.h5"),
            (["nothing to draw"], "paper", "bench.h5", "--elements", "9"),
            (["--format", "found 'bmp'"], "paper", "bench.h5", "--format", "bmp"),
            (["--elements", "found '512,x'"], "paper", "bench.h5", "--elements", "512,x"),
            (["text.h5", "cannot make"], "paper", "bench.h5", "-o", "text.h5")):
        refuse(words, name, *arguments, *([] if "-o" in arguments else ["-o", "refused"]))
    check(not os.path.exists("refused"), "a folder in spite of errors")


driver.in_folder(main)
driver.finish()
