#!/usr/bin/env python3
"""sp_plot on logs of real runs: every figure by its colours, tables and CSV against what the runs say
themselves, wrong input, and what works without matplotlib and h5py."""

import csv
import importlib
import io
import json
import os
import shutil
import sys

import driver
import optional
from driver import check
from plotting import BLUE, BROWN, GREEN, INDIGO, ORANGE, YELLOW, draw, plot, refuse, refuse_unreadable, table

h5py, _ = optional.need("h5py", "matplotlib.image")
driver.start("plot", sys.argv[2], sys.argv[3:])


def make_runs():
    def solve(ranks, code, *arguments):
        driver.Run(ranks, ["-q", "output.field=", *arguments]).expect(ranks, code)

    box = ["mesh.elements=3 3 3", "discretization.order=4", "problem.solution=sin(3*x)*exp(y)+z^3"]
    solve(1, 0, *box, "output.log=a.h5", "--json", "a.json", "line.a=0 0 0, 1 1 1, 20", "line.b=0 1 0, 2 1 0, 5")
    solve(2, 2, *box, "output.log=b.h5", "--json", "b.json", "solver.preconditioner=jacobi", "solver.max_iterations=3",
          "output.field=b.hdf", "line.c=1 0 0, 1 0 1, 20")
    solve(1, 0, *box, "output.log=orders.h5", "--study", "order=1:4")
    solve(2, 0, *box, "output.log=study.h5", "--study", "order=1:2", "--study", "refine=0:1")
    solve(1, 0, *box, "output.log=exact.h5", "problem.solution=x", "--study", "order=1:2", "--study", "refine=0:1")
    solve(1, 0, "mesh.elements=2 1 1", "problem.forcing=exp(x)", "boundary.default=neumann 0",
          "boundary.xmin=dirichlet 0", "result.a=average", "output.log=answers.h5", "--study", "order=1:4")


def figures():
    for colours, absent, *arguments in (
            ([BLUE], [ORANGE], "residual", "a.h5"), ([BLUE, ORANGE], [], "residual", "a.h5", "b.h5"),
            ([BLUE], [ORANGE], "matvec", "a.h5"), ([BLUE, ORANGE], [GREEN], "line", "a.h5"),
            ([BLUE, ORANGE, GREEN], [], "line", "a.h5", "b.h5"),
            ([BLUE, GREEN, YELLOW, INDIGO, BROWN], [], "phases", "b.h5"), ([BLUE], [ORANGE], "study", "orders.h5"),
            ([BLUE, ORANGE], [], "study", "study.h5"),
            ([BLUE, ORANGE], [GREEN], "study", "exact.h5"),  # no slopes: all errors are at the floor
            ([BLUE, ORANGE], [YELLOW], "study", "answers.h5")):
        draw(colours, absent, *arguments)
    module = importlib.import_module("run_figures")
    with h5py.File("b.h5") as log:
        rows = log["phases"][:]
    for whole in b"total", b"solve":  # both bars show all of it, in colours that exist
        parts = module.parts_of(rows, whole.decode())
        seconds = rows["seconds_mean"][list(rows["name"]).index(whole)]
        check(abs(sum(parts.values()) - seconds) < 1e-9 * seconds and
              set(parts) <= set(module.PHASE_COLOURS), f"parts of {whole}, {seconds} s: {parts}")


# Column of the CSV file: where the JSON document of the run has it, if not under that name.
PATHS = {"L2": ("errors", "L2"), "H1": ("errors", "H1"), "max": ("errors", "max"),
         "operator": ("case", "discretization", "operator")}
SAME = ("order", "elements", "dofs", "ranks", "ranks_with_elements", "device", "preconditioner", "iterations",
        "relative_residual", "solve_seconds", "total_seconds", "cg_gdofs_per_second", "peak_memory", "status", *PATHS)


def tables():
    """Lines of the CSV against the JSON document of the run, against the log of a study, and of a run that was
    killed."""
    def read(*names):
        return list(csv.DictReader(io.StringIO(table("runs", *names, "--csv", "-"))))

    rows = read("a.h5", "b.h5", "study.h5")
    check(len(rows) == 6, f"{len(rows)} rows")
    for name, row in zip("ab", rows):
        with open(f"{name}.json", encoding="utf-8") as file:
            document = json.load(file)
        for column in SAME:
            value = document
            for key in PATHS.get(column, (column,)):
                value = value.get(key) if value else None
            text = row[column]
            mine = None if text == "" else text if isinstance(value, str) else type(value)(text)
            check(mine == value, f"{name}: {column} = {text}, not {value}")
        rate = float(row["matvec_gdofs_per_second"]) / document["matvec"]["gdofs_per_second"]
        check(abs(rate - 1) < 1e-12 and row["path"] == f"{name}.h5" and row["mesh"] == "box 3 3 3", f"{name}: {row}")
    with h5py.File("study.h5") as log:
        study = log["study"][:]
    for row, logged in zip(rows[2:], study):
        for column in "order", "dofs", "iterations", "L2", "H1", "solve_seconds":
            expected = logged[column.replace("solve_", "")]
            check(float(row[column]) == expected, f"{column} of {row}, not {expected}")
        seconds = 1e-9 * logged["dofs"] / float(row["matvec_gdofs_per_second"]) * logged["iterations"]
        check(abs(seconds / (logged["seconds"] * logged["matvec_share"]) - 1) < 1e-12, f"matvec of {row}")
    shutil.copy("a.h5", "killed.h5")
    with h5py.File("killed.h5", "r+") as log:
        last = log["residual"][-1]
        for name in ("iterations", "absolute_residual", "relative_residual", "solve_seconds", "total_seconds",
                     "cg_gdofs_per_second", "peak_memory"):
            del log.attrs[name]
        log.attrs["status"] = "running"
        phases = log["phases"][:0]
        del log["phases"], log["errors"]
        log["phases"] = phases
    killed, = read("killed.h5")
    check(killed["iterations"] == str(last["iteration"]) and killed["L2"] == killed["solve_seconds"] == "" and
          float(killed["relative_residual"]) == last["relative"] and killed["status"] == "running", f"{killed}")


def pretend(name, ranks, seconds, **attributes):
    """a.h5 as it would be from another run; `attributes` may be replacements in the case, as text."""
    old, new = attributes.pop("replace", ("", ""))
    shutil.copy("a.h5", name)
    with h5py.File(name, "r+") as log:
        attributes["case"] = log.attrs["case"].replace(old, new)
        log.attrs.update({"ranks_with_elements": ranks, "solve_seconds": seconds, **attributes})
    return name


def scaling():
    """Efficiency by hand: t_1 p_1 / (t p) for as much work in all, t_1 / t for as much per rank."""
    with h5py.File("a.h5") as log:
        dofs, iterations = log.attrs["dofs"], log.attrs["iterations"]
    twice, often = int(1.95 * dofs), int(7.4 * dofs)
    strong = [pretend("s4.h5", 4, 4.5), pretend("s8.h5", 8, 1.5), pretend("s4_again.h5", 4, 5.0), pretend("s2.h5", 2, 8.0)]
    weak = [pretend("w1.h5", 1, 2.0), pretend("w2.h5", 2, 2.5, dofs=twice, iterations=9),
            pretend("w8.h5", 8, 4.0, dofs=often, replace=("elements = 3 3 3", "elements = 6 6 6"))]
    for files, kind, rows in (
            (strong, "strong", [f"2 1 {dofs} {dofs / 2:.0f} {iterations} 8 1.00 100.0",
                                f"4 2 {dofs} {dofs / 4:.0f} {iterations} 4.5 1.78 88.9",
                                f"8 1 {dofs} {dofs / 8:.0f} {iterations} 1.5 5.33 133.3"]),
            (weak, "weak", [f"1 1 {dofs} {dofs} {iterations} 2 - 100.0", f"2 1 {twice} {twice / 2:.0f} 9 2.5 - 80.0",
                            f"8 1 {often} {often / 8:.0f} {iterations} 4 - 50.0"])):
        lines = table("scaling", *files).splitlines()
        found = [line.replace(" %", "").split() for line in lines[3:]]
        check(lines[0].startswith(f"{kind} scaling") and found == [row.split() for row in rows], f"{files}: {lines}")
    draw([BLUE], [ORANGE], "scaling", *strong, prints=True)
    for words, *files in (
            (["DOFs on ranks", f"{dofs} on 1, {4 * dofs} on 8"], "w1.h5", pretend("n8.h5", 8, 4.0, dofs=4 * int(dofs))),
            (["same number of ranks, 4"], "s4.h5", "s4_again.h5"),
            (["differ in problem.solution"], "s2.h5", pretend("x.h5", 4, 1.0, replace=("sin(3*x)", "sin(4*x)"))),
            (["differ in device: 'CPU", "'a GPU'"], "s2.h5", pretend("y.h5", 4, 1.0, device="a GPU")),
            (["b.h5: its status is 'not converged'"], "s2.h5", "b.h5"), (["study.h5: this is a study"], "s2.h5", "study.h5")):
        refuse(words, "scaling", *files)


def wrong_input():
    """And what works without modules: help needs none, a table h5py alone."""
    to = ["-o", "x.png"]
    refuse_unreadable("residual", "not a run log", "h5", *to)
    for words, *arguments in (
            (["cannot write"], "phases", "b.h5", "-o", "absent/x.png"), (["no study", "--study"], "study", "a.h5", *to),
            (["answers.h5", "figure of its own"], "study", "answers.h5", "orders.h5", *to),
            (["orders.h5", "no /lines"], "line", "orders.h5", *to),
            (["orders.h5", "no rows", "/study"], "residual", "orders.h5", *to),
            (["study.h5", "along refinements"], "study", "orders.h5", "study.h5", *to),
            (["x.foo", "foo"], "residual", "a.h5", "-o", "x.foo"),
            (["absent/x.csv", "cannot write", "No such file"], "runs", "a.h5", "--csv", "absent/x.csv"),
            (["a.h5", "would be lost"], "runs", "--csv", "a.h5", "b.h5")):
        refuse(words, *arguments)
    check(h5py.is_hdf5("a.h5") and plot("nothing").returncode == plot("runs").returncode == 2, "usage")
    check("runs" in table("--help", missing=("matplotlib", "h5py")), "sp_plot --help")
    check("a" in table("runs", "a.h5", missing=("matplotlib",)), "a table without matplotlib")
    refuse(["No module named 'h5py'", "install python3-h5py,"], "runs", "a.h5", missing=("h5py",))
    refuse(["No module named 'matplotlib'", "python3-matplotlib"], "residual", "a.h5", *to, missing=("matplotlib",))


def main():
    for part in make_runs, figures, tables, scaling, wrong_input:
        part()


driver.in_folder(main)
driver.finish()
