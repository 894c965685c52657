#!/usr/bin/env python3
"""sp_plot on logs of real runs: every figure by its colours, tables and CSV against what the runs say
themselves, wrong input, and what works without matplotlib and h5py.

    plot.py SP_PLOT SP_SOLVE MPIEXEC...        exit code 77 (skipped) without matplotlib or h5py"""

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

SOLVE, MPIEXEC = os.path.abspath(sys.argv[2]), sys.argv[3:]
h5py, numpy, _ = optional.need("h5py", "numpy", "matplotlib.image")
driver.start("plot", SOLVE, MPIEXEC)


def solve(ranks, code, *arguments):
    done = driver.command(*MPIEXEC, str(ranks), SOLVE, "-q", *arguments)
    check(done.returncode == code, f"{arguments}: {done.returncode}, {done.stderr}")


def read_csv(text):
    return list(csv.DictReader(io.StringIO(text)))


def make_runs():
    box = ["mesh.elements=3 3 3", "discretization.order=4", "problem.solution=sin(3*x)*exp(y)+z^3",
           "output.field="]
    solve(1, 0, *box, "output.log=a.h5", "--json", "a.json")
    solve(2, 0, *box, "output.log=b.h5", "--json", "b.json", "solver.preconditioner=jacobi")
    solve(1, 2, "mesh.elements=2 2 2", "problem.forcing=x", "boundary.default=dirichlet 0", "output.field=",
          "solver.max_iterations=3", "output.log=c.h5", "--json", "c.json")
    solve(1, 0, *box, "output.log=all.h5", "output.field=all.hdf", "line.a=0 0 0, 1 1 1, 20", "line.b=0 1 0, 2 1 0, 5")
    solve(2, 0, *box, "output.log=lines.h5", "line.c=1 0 0, 1 0 1, 20")
    solve(1, 0, *box, "output.log=orders.h5", "--study", "order=1:4")
    solve(2, 0, *box, "output.log=study.h5", "--study", "order=1:2", "--study", "refine=0:1")
    solve(1, 0, *box, "output.log=exact.h5", "problem.solution=x", "--study", "order=1:2", "--study", "refine=0:1")
    solve(1, 0, "mesh.elements=2 1 1", "problem.forcing=exp(x)", "boundary.default=neumann 0",
          "boundary.xmin=dirichlet 0", "result.a=average", "output.log=answers.h5", "--study", "order=1:4")


def figures():
    draw([BLUE], [ORANGE], "residual", "a.h5")
    draw([BLUE, ORANGE], [], "residual", "a.h5", "b.h5")
    draw([BLUE], [ORANGE], "matvec", "a.h5")
    draw([BLUE, ORANGE], [GREEN], "line", "all.h5")
    draw([BLUE, ORANGE, GREEN], [], "line", "all.h5", "lines.h5")
    draw([BLUE, GREEN], [], "phases", "a.h5", "b.h5", "orders.h5")
    draw([BLUE, GREEN, YELLOW, INDIGO, BROWN], [], "phases", "all.h5")
    draw([BLUE], [ORANGE], "study", "orders.h5")
    draw([ORANGE], [], "study", "orders.h5", "orders.h5")
    draw([BLUE, ORANGE], [], "study", "study.h5")
    draw([BLUE, ORANGE], [GREEN], "study", "exact.h5")  # no slopes: all errors are at the floor
    draw([BLUE, ORANGE], [YELLOW], "study", "answers.h5")
    driver.check_line(plot("study", "answers.h5", "orders.h5", "-o", "x.png"), "sp_plot", "answers.h5", "figure of its own")
    module = importlib.import_module("run_figures")
    check(len(set(module.PHASE_COLOURS.values())) == len(module.PHASE_COLOURS), "equal colours")
    with h5py.File("all.h5") as log:
        rows = log["phases"][:]
    for whole in b"total", b"solve":  # both bars show all of it, in colours that exist
        parts = module.parts_of(rows, whole.decode())
        seconds = rows["seconds_mean"][list(rows["name"]).index(whole)]
        check(abs(sum(parts.values()) - seconds) < 1e-9 * seconds and
              set(parts) <= set(module.PHASE_COLOURS), f"parts of {whole}, {seconds} s: {parts}")


# Column of the CSV file: where the JSON document of the run has it.
SAME = {"order": ("order",), "elements": ("elements",), "dofs": ("dofs",), "ranks": ("ranks",),
        "ranks_with_elements": ("ranks_with_elements",), "device": ("device",),
        "preconditioner": ("preconditioner",), "iterations": ("iterations",),
        "relative_residual": ("relative_residual",), "L2": ("errors", "L2"), "H1": ("errors", "H1"),
        "max": ("errors", "max"), "solve_seconds": ("solve_seconds",), "total_seconds": ("total_seconds",),
        "cg_gdofs_per_second": ("cg_gdofs_per_second",), "peak_memory": ("peak_memory",),
        "status": ("status",), "operator": ("case", "discretization", "operator")}


def check_single(name, row, mesh):
    """A line of the CSV against the JSON document of the run."""
    with open(f"{name}.json", encoding="utf-8") as file:
        document = json.load(file)
    for column, path in SAME.items():
        value = document
        for key in path:
            value = value.get(key) if value else None
        text = row[column]
        mine = None if text == "" else text if isinstance(value, str) else type(value)(text)
        check(mine == value, f"{name}: {column} = {text}, not {value}")
    check(abs(float(row["matvec_gdofs_per_second"]) / document["matvec"]["gdofs_per_second"] - 1) < 1e-12,
          f"{name}: matvec {row['matvec_gdofs_per_second']}, not {document['matvec']}")
    check(row["path"] == f"{name}.h5" and row["mesh"] == mesh, f"{name}: {row}")


def check_study(rows):
    with h5py.File("study.h5") as log:
        study = log["study"][:]
    check(len(rows) == len(study) == 4, f"{len(rows)} rows")
    for row, logged in zip(rows, study):
        for column, name in (("order", "order"), ("dofs", "dofs"), ("iterations", "iterations"), ("L2", "L2"),
                             ("H1", "H1"), ("solve_seconds", "seconds")):
            check(float(row[column]) == logged[name], f"{column} of {row}, not {logged}")
        seconds = 1e-9 * logged["dofs"] / float(row["matvec_gdofs_per_second"]) * logged["iterations"]
        check(abs(seconds / (logged["seconds"] * logged["matvec_share"]) - 1) < 1e-12, f"matvec of {row}")


def unfinished():
    """A log as a run leaves it that was killed."""
    shutil.copy("a.h5", "killed.h5")
    with h5py.File("killed.h5", "r+") as log:
        last = log["residual"][-1]
        for name in ("iterations", "absolute_residual", "relative_residual", "solve_seconds",
                     "total_seconds", "cg_gdofs_per_second", "peak_memory"):
            del log.attrs[name]
        log.attrs["status"] = "running"
        rows = log["phases"][:0]
        del log["phases"], log["errors"]
        log["phases"] = rows
    killed, = read_csv(table("runs", "killed.h5", "--csv", "-"))
    check(killed["iterations"] == str(last["iteration"]) and killed["L2"] == killed["solve_seconds"] == "" and
          float(killed["relative_residual"]) == last["relative"] and killed["status"] == "running", f"{killed}")


def tables():
    files = ["a.h5", "b.h5", "c.h5", "study.h5"]
    lines = table("runs", *files, "--csv", "runs.csv").splitlines()
    with open("runs.csv", encoding="utf-8", newline="") as file:
        text = file.read()
    check(table("runs", *files, "--csv", "-") == text, "CSV on standard output differs")
    rows = read_csv(text)
    check(len(rows) == 7 and len(lines) == 8, f"{len(rows)} rows, {len(lines)} lines")
    for name, row, mesh in zip("abc", rows, ("box 3 3 3", "box 3 3 3", "box 2 2 2")):
        check_single(name, row, mesh)
    check_study(rows[3:])
    # Names that are not unique are shown as paths.
    os.mkdir("more")
    shutil.copy("a.h5", "more/a.h5")
    labels = [line.split()[0] for line in table("runs", "a.h5", "more/a.h5").splitlines()[1:]]
    check(labels == ["a.h5", "more/a.h5"], f"labels {labels}")
    unfinished()


def pretend(name, ranks, seconds, **attributes):
    """a.h5 as it would be from another run; `attributes` may be replacements in the case, as text."""
    old, new = attributes.pop("replace", ("", ""))
    shutil.copy("a.h5", name)
    with h5py.File(name, "r+") as log:
        attributes["case"] = log.attrs["case"].replace(old, new)
        check(not old or attributes["case"] != log.attrs["case"], f"'{old}' is not in the case")
        log.attrs.update({"ranks_with_elements": ranks, "solve_seconds": seconds, **attributes})
    return name


def check_scaling(files, kind, rows):
    lines = table("scaling", *files).splitlines()
    check(lines[0].startswith(f"{kind} scaling of the solve: N = 4, bp3.5, multigrid, CPU"), f"{lines[0]}")
    found = [line.replace(" %", "").split() for line in lines[3:]]
    check(found == [row.split() for row in rows], f"{files}: {found}")


def scaling():
    """Efficiency by hand: t_1 p_1 / (t p) for as much work in all, t_1 / t for as much per rank."""
    with h5py.File("a.h5") as log:
        dofs, iterations = log.attrs["dofs"], log.attrs["iterations"]
    strong = [pretend("s2.h5", 2, 8.0), pretend("s4.h5", 4, 5.0), pretend("s4_again.h5", 4, 4.5),
              pretend("s8.h5", 8, 1.5)]
    check_scaling([strong[2], strong[3], strong[1], strong[0]], "strong", [
        f"2 1 {dofs} {dofs / 2:.0f} {iterations} 8 1.00 100.0",
        f"4 2 {dofs} {dofs / 4:.0f} {iterations} 4.5 1.78 88.9",
        f"8 1 {dofs} {dofs / 8:.0f} {iterations} 1.5 5.33 133.3"])
    weak = [pretend("w1.h5", 1, 2.0), pretend("w2.h5", 2, 2.5, dofs=int(1.95 * dofs), iterations=9),
            pretend("w8.h5", 8, 4.0, dofs=int(7.4 * dofs), replace=("elements = 3 3 3", "elements = 6 6 6"))]
    check_scaling(weak, "weak", [
        f"1 1 {dofs} {dofs} {iterations} 2 - 100.0",
        f"2 1 {int(1.95 * dofs)} {int(1.95 * dofs) / 2:.0f} 9 2.5 - 80.0",
        f"8 1 {int(7.4 * dofs)} {int(7.4 * dofs) / 8:.0f} {iterations} 4 - 50.0"])
    draw([BLUE], [ORANGE], "scaling", *strong, prints=True)
    neither = pretend("n8.h5", 8, 4.0, dofs=4 * int(dofs))
    refuse(["DOFs on ranks", f"{dofs} on 1, {4 * dofs} on 8"], "scaling", "w1.h5", neither)
    refuse(["same number of ranks, 4"], "scaling", "s4.h5", "s4_again.h5")
    refuse(["s2.h5 and x.h5 differ in problem.solution"], "scaling", "s2.h5",
           pretend("x.h5", 4, 1.0, replace=("sin(3*x)", "sin(4*x)")))
    refuse(["differ in device: 'CPU", "'a GPU'"], "scaling", "s2.h5", pretend("x.h5", 4, 1.0, device="a GPU"))
    refuse(["x.h5: its status is 'not converged'"], "scaling", "s2.h5",
           pretend("x.h5", 4, 1.0, status="not converged"))
    refuse(["study.h5: this is a study"], "scaling", "s2.h5", "study.h5")


def wrong_input():
    to = ["-o", "x.png"]
    refuse_unreadable("residual", "not a run log", "h5", *to)
    refuse_unreadable("runs", "not a run log", "h5")
    for name in "residual", "phases", "study":
        refuse(["cannot write"], name, "a.h5" if name == "residual" else "orders.h5", "-o", "absent/x.png")
    refuse(["a.h5", "no study", "--study"], "study", "a.h5", *to)
    refuse(["a.h5", "no /lines"], "line", "a.h5", *to)
    refuse(["orders.h5", "no rows", "/study"], "residual", "orders.h5", *to)
    refuse(["study.h5", "along refinements"], "study", "orders.h5", "study.h5", *to)
    refuse(["x.foo", "foo"], "residual", "a.h5", "-o", "x.foo")
    refuse(["absent/x.csv", "cannot write", "No such file"], "runs", "a.h5", "--csv", "absent/x.csv")
    size = os.path.getsize("a.h5")
    refuse(["a.h5", "would be lost"], "runs", "--csv", "a.h5", "b.h5")
    check(os.path.getsize("a.h5") == size, "a run log is overwritten")
    check(plot().returncode == plot("nothing").returncode == plot("runs").returncode == 2, "usage")


def missing_modules():
    """Help needs no module, a table needs h5py alone."""
    check("runs" in table("--help", missing=("matplotlib", "h5py")), "sp_plot --help")
    check("a" in table("runs", "a.h5", missing=("matplotlib",)), "a table without matplotlib")
    refuse(["No module named 'h5py'", "install python3-h5py,"], "runs", "a.h5", missing=("h5py",))
    refuse(["No module named 'matplotlib'", "python3-matplotlib"], "residual", "a.h5", "-o", "x.png",
           missing=("matplotlib",))


def main():
    for part in make_runs, figures, tables, scaling, wrong_input, missing_modules:
        part()


driver.in_folder(main)
driver.finish()
