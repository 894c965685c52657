#!/usr/bin/env python3
"""Every figure of sp_plot from files of real runs, and its answers to wrong input.

    plot.py SP_PLOT SP_SOLVE        exit code 77 (skipped) without matplotlib or h5py"""

import argparse
import importlib
import os
import subprocess
import sys
import tempfile

import driver
import optional
from driver import check

PLOT, SOLVE = (os.path.abspath(path) for path in sys.argv[1:3])

h5py, numpy, image = optional.need("h5py", "numpy", "matplotlib.image")

BLUE, ORANGE, GREEN = (0x00, 0x72, 0xB2), (0xD5, 0x5E, 0x00), (0x00, 0x9E, 0x73)
YELLOW, INDIGO, BROWN = (0xF0, 0xE4, 0x42), (0x33, 0x22, 0x88), (0x8C, 0x56, 0x4B)
driver.start("plot", SOLVE, [])


def solve(*arguments):
    done = subprocess.run([SOLVE, "-q", *arguments], capture_output=True, text=True, timeout=100)
    check(done.returncode == 0, f"{arguments}: {done.returncode}, {done.stderr}")


def plot(*arguments):
    return subprocess.run([sys.executable, PLOT, *arguments], capture_output=True, text=True,
                          timeout=100)


def draw(name, files, colours, absent=(), prints=False):
    """The figure exists; it contains more than a trace of the colours in the first list, and none in the
    second. `prints`: there is a table, too."""
    done = plot(name, *files, "-o", "x.png")
    check(done.returncode == 0 and not done.stderr and bool(done.stdout) == prints,
          f"{name} {files}: {done.returncode} {done.stderr}")
    if not os.path.exists("x.png"):
        check(False, f"{name} {files}: no image")
        return
    pixels = numpy.round(image.imread("x.png")[:, :, :3] * 255)
    check(min(pixels.shape[:2]) >= 200, f"{name} {files}: {pixels.shape}")
    for colour in (*colours, *absent):
        count = (abs(pixels - colour).max(axis=2) <= 2).sum()
        check((count > 100) == (colour in colours), f"{name} {files}: {count} pixels of {colour}")
    os.remove("x.png")


def refuse(words, *arguments):
    done = plot(*arguments)
    lines = done.stderr.splitlines()
    check(done.returncode == 1 and len(lines) == 1 and lines[0].startswith("sp_plot: "),
          f"{arguments}: {done.returncode} {done.stderr!r}")
    for word in words:
        check(word in done.stderr, f"{arguments}: no '{word}' in {done.stderr!r}")
    check(not os.path.exists("x.png"), f"{arguments}: an image in spite of the error")


def over_time():
    """The residual over the seconds of the log, which one of an older program lacks."""
    sys.path.insert(0, os.path.dirname(PLOT))
    module = importlib.import_module("run_figures")
    drawn = []
    save, module.figures.save = module.figures.save, lambda figure, path: drawn.append(figure)
    for against in "seconds", "iterations":
        module.residual(argparse.Namespace(files=["a.h5", "b.h5"], output="x.png", against=against))
    module.figures.save = save
    for figure, column in zip(drawn, ("seconds", "iteration")):
        for path, line in zip(("a.h5", "b.h5"), figure.axes[0].get_lines()):
            with h5py.File(path) as log:
                rows = log["residual"][:]
            check((line.get_xdata() == rows[column]).all() and (line.get_ydata() == rows["relative"]).all(),
                  f"{path} over {column}: {line.get_xydata()}")
        module.pyplot.close(figure)
    draw("residual", ["a.h5", "--against", "seconds"], [BLUE], [ORANGE])
    with h5py.File("a.h5") as log, h5py.File("older.h5", "w") as older:
        older.attrs.update(log.attrs)
        older["residual"] = log["residual"][:][["iteration", "absolute", "relative"]]
    draw("residual", ["a.h5", "older.h5"], [BLUE, ORANGE])
    refuse(["older.h5", "no column seconds", "older program"], "residual", "a.h5", "older.h5", "--against",
           "seconds", "-o", "x.png")


def main():
    box = ["mesh.elements=3 3 3", "discretization.order=4", "output.field=",
           "problem.solution=sin(3*x)*exp(y)+z^3"]
    solve(*box, "output.log=a.h5")
    solve(*box, "output.log=b.h5", "solver.preconditioner=jacobi")
    solve(*box, "output.log=all.h5", "output.field=all.hdf")
    solve(*box, "output.log=orders.h5", "--study", "order=1:4")
    solve(*box, "output.log=refined.h5", "--study", "order=1:3", "--study", "refine=0:1")
    solve(*box, "output.log=exact.h5", "problem.solution=x", "--study", "order=1:2", "--study",
          "refine=0:1")

    draw("residual", ["a.h5"], [BLUE], [ORANGE])
    draw("residual", ["a.h5", "b.h5"], [BLUE, ORANGE])
    over_time()
    draw("matvec", ["a.h5"], [BLUE], [ORANGE])
    draw("matvec", ["a.h5", "b.h5"], [BLUE, ORANGE])
    draw("phases", ["a.h5"], [BLUE, GREEN])
    draw("phases", ["a.h5", "b.h5", "orders.h5"], [BLUE, GREEN])
    draw("phases", ["all.h5"], [BLUE, GREEN, YELLOW, INDIGO, BROWN])
    sys.path.insert(0, os.path.dirname(PLOT))
    module = importlib.import_module("run_figures")
    check(len(set(module.PHASE_COLOURS.values())) == len(module.PHASE_COLOURS), "equal colours")
    with h5py.File("all.h5") as log, h5py.File("old.h5", "w") as old:
        rows = log["phases"][:]
        old.attrs.update(log.attrs)
        old["phases"] = numpy.array([(row["name"], row["seconds_mean"]) for row in rows],
                                    [("name", "S16"), ("seconds_mean", float)])
    for whole in b"total", b"solve":  # both bars show all of it, in colours that exist
        parts = module.parts_of(rows, whole.decode())
        seconds = rows["seconds_mean"][list(rows["name"]).index(whole)]
        check(abs(sum(parts.values()) - seconds) < 1e-9 * seconds and
              set(parts) <= set(module.PHASE_COLOURS), f"parts of {whole}, {seconds} s: {parts}")
    refuse(["part_of", "older program"], "phases", "old.h5", "-o", "x.png")
    draw("study", ["orders.h5"], [BLUE], [ORANGE])
    draw("study", ["orders.h5", "orders.h5"], [ORANGE])
    draw("study", ["refined.h5"], [BLUE, ORANGE, GREEN])
    draw("study", ["exact.h5"], [BLUE, ORANGE], [GREEN])  # no slopes: all errors are at the floor
    check(plot("study", "refined.h5", "-o", "x.pdf").returncode == 0 and os.path.exists("x.pdf"),
          "a PDF")

    for ranks in 2, 4:
        with h5py.File("a.h5") as log, h5py.File(f"on{ranks}.h5", "w") as more:
            for name in log:
                log.copy(name, more)
            more.attrs.update(log.attrs)
            more.attrs.update({"ranks_with_elements": ranks, "solve_seconds": 0.8 / ranks})
    draw("scaling", ["a.h5", "on2.h5", "on4.h5"], [BLUE], [ORANGE], prints=True)
    refuse(["cannot write"], "scaling", "a.h5", "on2.h5", "-o", "absent/x.png")

    with open("text.h5", "w", encoding="ascii") as file:
        file.write("no HDF5\n")
    with h5py.File("other.h5", "w") as file:
        file["residual"] = numpy.zeros(3)
    to = ["-o", "x.png"]
    for name in "residual", "matvec", "phases", "study":
        refuse(["absent.h5", "no such file"], name, "absent.h5", *to)
        refuse(["text.h5", "not an HDF5 file"], name, "text.h5", *to)
        refuse(["cannot write"], name, "orders.h5" if name in ("phases", "study") else "a.h5",
               "-o", "absent/x.png")
    refuse(["other.h5", "not a run log"], "residual", "other.h5", *to)
    refuse(["a.h5", "no study", "--study"], "study", "a.h5", *to)
    refuse(["orders.h5", "no rows", "/study"], "residual", "orders.h5", *to)
    refuse(["refined.h5", "along refinements"], "study", "orders.h5", "refined.h5", *to)
    refuse(["x.foo", "foo"], "residual", "a.h5", "-o", "x.foo")
    check(plot().returncode == 2 and plot("nothing").returncode == 2, "usage")


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    main()
    os.chdir("/")
driver.finish()
