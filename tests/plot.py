#!/usr/bin/env python3
"""sp_plot on logs of real runs: every figure by its colours, wrong input, and missing modules."""

import importlib
import sys

import driver
import optional
from driver import check
from plotting import BLUE, BROWN, GREEN, INDIGO, ORANGE, YELLOW, draw, plot, refuse, refuse_unreadable

h5py, _ = optional.need("h5py", "matplotlib.image")
driver.start("plot", sys.argv[2], sys.argv[3:])


def make_runs():
    def solve(ranks, code, *arguments):
        driver.Run(ranks, ["-q", "output.field=", *arguments]).expect(ranks, code)

    box = ["mesh.elements=3 3 3", "discretization.order=4", "problem.solution=sin(3*x)*exp(y)+z^3"]
    solve(1, 0, *box, "output.log=a.h5", "line.a=0 0 0, 1 1 1, 20", "line.b=0 1 0, 2 1 0, 5")
    solve(2, 2, *box, "output.log=b.h5", "solver.preconditioner=jacobi", "solver.max_iterations=3",
          "output.field=b.hdf", "line.c=1 0 0, 1 0 1, 20")
    solve(1, 0, *box, "output.log=orders.h5", "--study", "order=1:4")
    solve(2, 0, *box, "output.log=study.h5", "--study", "order=1:2", "--study", "refine=0:1")
    solve(1, 0, *box, "output.log=exact.h5", "problem.solution=x", "--study", "order=1:2", "--study", "refine=0:1")
    solve(1, 0, "mesh.elements=2 1 1", "problem.forcing=exp(x)", "boundary.default=neumann 0",
          "boundary.xmin=dirichlet 0", "result.a=average", "output.log=answers.h5", "--study", "order=1:4")
    steps = ["problem.capacity=1", "time.end=1", "time.steps=5"]
    solve(1, 0, "mesh.elements=1 1 1", "discretization.order=2", "problem.solution=cos(3*t)*x", *steps, "output.log=steps.h5",
          "--study", "step=0:2", "--study", "refine=0:1")
    solve(1, 0, "mesh.elements=2 1 1", "problem.forcing=1", "problem.initial=0", "boundary.default=neumann 0", *steps,
          "boundary.xmin=dirichlet 0", "result.a=average", "output.log=step_answers.h5", "--study", "step=0:2")
    solve(1, 0, "mesh.elements=2 1 1", "problem.forcing=1", "problem.initial=0", "problem.capacity=1", "time.end=1",
          "time.steps=100", "boundary.default=neumann 0", "boundary.xmin=dirichlet 0", "result.a=average",
          "result.b=maximum", "probe.p=1 0 0", "output.log=time.h5", "output.field=time.hdf")


def figures():
    for colours, absent, *arguments in (
            ([BLUE], [ORANGE], "residual", "a.h5"), ([BLUE, ORANGE], [], "residual", "a.h5", "b.h5"),
            ([BLUE], [ORANGE], "matvec", "a.h5"), ([BLUE, ORANGE], [GREEN], "line", "a.h5"),
            ([BLUE, ORANGE, GREEN], [], "line", "a.h5", "b.h5"),
            ([BLUE, GREEN, YELLOW, INDIGO, BROWN], [], "phases", "b.h5"), ([BLUE], [ORANGE], "study", "orders.h5"),
            ([BLUE, ORANGE], [], "study", "study.h5"),
            ([BLUE, ORANGE], [GREEN], "study", "exact.h5"),  # no slopes: all errors are at the floor
            ([BLUE, ORANGE], [YELLOW], "study", "answers.h5"), ([BLUE, ORANGE], [], "study", "steps.h5"),
            ([BLUE, ORANGE], [], "study", "step_answers.h5"), ([BLUE, ORANGE, GREEN], [YELLOW], "history", "time.h5")):
        draw(colours, absent, *arguments)
    module = importlib.import_module("run_figures")
    with h5py.File("b.h5") as log:
        rows = log["phases"][:]
    for whole in b"total", b"solve":  # both bars show all of it, in colours that exist
        parts = module.parts_of(rows, whole.decode())
        seconds = rows["seconds_mean"][list(rows["name"]).index(whole)]
        check(abs(sum(parts.values()) - seconds) < 1e-9 * seconds and
              set(parts) <= set(module.PHASE_COLOURS), f"parts of {whole}, {seconds} s: {parts}")


def wrong_input():
    to = ["-o", "x.png"]
    refuse_unreadable("residual", "not a run log", "h5", *to)
    for words, *arguments in (
            (["cannot write"], "phases", "b.h5", "-o", "absent/x.png"), (["no study", "--study"], "study", "a.h5", *to),
            (["answers.h5", "figure of its own"], "study", "answers.h5", "orders.h5", *to),
            (["orders.h5", "no /lines"], "line", "orders.h5", *to),
            (["a.h5", "no history", "time.end"], "history", "a.h5", *to),
            (["orders.h5", "no rows", "/study"], "residual", "orders.h5", *to),
            (["study.h5", "along refinements"], "study", "orders.h5", "study.h5", *to),
            (["steps.h5", "along steps"], "study", "orders.h5", "steps.h5", *to),
            (["x.foo", "foo"], "residual", "a.h5", "-o", "x.foo")):
        refuse(words, *arguments)
    check(plot("nothing").returncode == plot("residual").returncode == 2, "usage")
    check(plot("--help", missing=("matplotlib", "h5py")).returncode == 0, "sp_plot --help")
    refuse(["No module named 'matplotlib'", "python3-matplotlib"], "residual", "a.h5", *to, missing=("matplotlib",))


def main():
    for part in make_runs, figures, wrong_input:
        part()


driver.in_folder(main)
driver.finish()
