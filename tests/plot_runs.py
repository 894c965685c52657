#!/usr/bin/env python3
"""sp_plot runs and sp_plot scaling: tables and CSV against what the runs say themselves, wrong input, and
what works without matplotlib and h5py.

    plot_runs.py SP_PLOT SP_SOLVE MPIEXEC...      exit code 77 (skipped) without h5py"""

import csv
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile

import driver
import optional
from driver import check

PLOT, SOLVE = (os.path.abspath(path) for path in sys.argv[1:3])
MPIEXEC = sys.argv[3:]
h5py, numpy = optional.need("h5py", "numpy")
driver.start("plot_runs", SOLVE, MPIEXEC)


def solve(ranks, code, *arguments):
    done = subprocess.run([*MPIEXEC, str(ranks), SOLVE, "-q", *arguments], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=driver.SECONDS, check=False)
    check(done.returncode == code, f"{arguments}: {done.returncode}, {done.stderr}")


def plot(*arguments, missing=()):
    """sp_plot, where the modules `missing` cannot be imported."""
    with tempfile.TemporaryDirectory() as folder:
        for name in missing:
            with open(os.path.join(folder, f"{name}.py"), "w", encoding="ascii") as file:
                file.write(f"raise ModuleNotFoundError(\"No module named '{name}'\", name='{name}')\n")
        return subprocess.run([sys.executable, PLOT, *arguments], capture_output=True, text=True,
                              timeout=driver.SECONDS, check=False,
                              env={**os.environ, "PYTHONPATH": folder})


def good(*arguments, **options):
    done = plot(*arguments, **options)
    check(done.returncode == 0 and not done.stderr, f"{arguments}: {done.returncode} {done.stderr}")
    return done.stdout


def refuse(words, *arguments, **options):
    done = plot(*arguments, **options)
    lines = done.stderr.splitlines()
    check(done.returncode == 1 and len(lines) == 1 and lines[0].startswith("sp_plot: "),
          f"{arguments}: {done.returncode} {done.stderr!r}")
    for word in words:
        check(word in done.stderr, f"{arguments}: no '{word}' in {done.stderr!r}")


def read_csv(text):
    return list(csv.DictReader(io.StringIO(text)))


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


def check_line(heading, line, row, label):
    """A line of the table against that of the CSV. Columns end where those of numbers end."""
    words = line.split()
    numbers = {"N": "order", "DOFs": "dofs", "elements": "elements", "ranks": "ranks_with_elements",
               "iterations": "iterations"}
    check(words[0] == label and words[-len(row["status"].split()):] == row["status"].split(),
          f"{label}: {line}")
    for name, column in numbers.items():
        end = heading.index(name) + len(name)
        check(line[:end].split()[-1] == row[column], f"{name} of {line}, not {row[column]}")
    for column, form in (("relative_residual", ".1e"), ("L2", ".3e"), ("solve_seconds", ".4g"),
                         ("total_seconds", ".4g"), ("matvec_gdofs_per_second", ".4g"),
                         ("cg_gdofs_per_second", ".4g")):
        shown = format(float(row[column]), form) if row[column] else "-"
        check(shown in words, f"{column} = {shown} is not in {line}")


def check_study(rows):
    with h5py.File("study.h5") as log:
        study = log["study"][:]
    check(len(rows) == len(study) == 4, f"{len(rows)} rows")
    for row, logged in zip(rows, study):
        for column in ("order", "elements", "dofs", "iterations"):
            check(int(row[column]) == logged[column], f"{column} of {row}, not {logged}")
        for column in ("L2", "H1"):
            check(float(row[column]) == logged[column], f"{column} of {row}, not {logged}")
        check(float(row["solve_seconds"]) == logged["seconds"], f"seconds of {row}, not {logged}")
        check(row["total_seconds"] == row["peak_memory"] == "" and row["status"] == "converged", f"{row}")
        seconds = 1e-9 * logged["dofs"] / float(row["matvec_gdofs_per_second"]) * logged["iterations"]
        check(abs(seconds / (logged["seconds"] * logged["matvec_share"]) - 1) < 1e-12, f"matvec of {row}")


def unfinished():
    """Logs as a run leaves them that was killed, or that failed early."""
    with h5py.File("a.h5") as log:
        shutil.copy("a.h5", "killed.h5")
        last = log["residual"][-1]
    with h5py.File("killed.h5", "r+") as log:
        for name in ("iterations", "absolute_residual", "relative_residual", "solve_seconds",
                     "total_seconds", "cg_gdofs_per_second", "peak_memory"):
            del log.attrs[name]
        log.attrs["status"] = "running"
        rows = log["phases"][:0]
        del log["phases"], log["errors"]
        log["phases"] = rows
    with h5py.File("failed.h5", "w") as log:
        log.attrs.update({"program": "sp_solve", "status": "failed: no memory: none", "ranks": 3,
                          "case": "[mesh]\nfile = /there/cube.msh\n[discretization]\noperator = mass\n"})
        log["residual"] = numpy.zeros(0, [("iteration", int), ("relative", float)])
        log["phases"] = rows
    killed, failed = read_csv(good("runs", "killed.h5", "failed.h5", "--csv", "-"))
    check(killed["iterations"] == str(last["iteration"]) and killed["L2"] == killed["solve_seconds"] == "" and
          float(killed["relative_residual"]) == last["relative"] and killed["status"] == "running", f"{killed}")
    check((failed["mesh"], failed["ranks_with_elements"], failed["status"], failed["dofs"]) ==
          ("cube.msh", "3", "failed: no memory: none", ""), f"{failed}")
    table = good("runs", "killed.h5", "failed.h5").splitlines()
    check(table[1].split()[-1] == "running" and table[2].split()[-1] == "failed", f"{table}")


def wrong_input():
    with open("text.h5", "w", encoding="ascii") as file:
        file.write("no HDF5\n")
    with h5py.File("other.h5", "w") as file:
        file["x"] = numpy.zeros(3)
    refuse(["absent.h5", "no such file"], "runs", "a.h5", "absent.h5")
    refuse(["text.h5", "not an HDF5 file"], "runs", "text.h5")
    refuse(["other.h5", "not a run log"], "runs", "other.h5")
    refuse(["absent/x.csv", "cannot write", "No such file"], "runs", "a.h5", "--csv", "absent/x.csv")
    size = os.path.getsize("a.h5")
    refuse(["a.h5", "would be lost"], "runs", "--csv", "a.h5", "b.h5")
    check(os.path.getsize("a.h5") == size, "a run log is overwritten")
    check(plot("runs").returncode == 2, "usage")
    # A reader that ends early is no error.
    done = subprocess.run(["sh", "-c", '"$@" | head -n 1', "sh", sys.executable, PLOT, "runs", *["a.h5"] * 3],
                          capture_output=True, text=True, timeout=driver.SECONDS, check=False)
    check(not done.stderr and len(done.stdout.splitlines()) == 1, f"head: {done.stderr!r}")


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
    lines = good("scaling", *files).splitlines()
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
    check(good("scaling", *strong, missing=("matplotlib",)) == good("scaling", *strong), "without matplotlib")
    neither = pretend("n8.h5", 8, 4.0, dofs=4 * int(dofs))
    refuse(["DOFs on ranks", f"{dofs} on 1, {4 * dofs} on 8"], "scaling", "w1.h5", neither)
    refuse(["same number of ranks, 4"], "scaling", "s4.h5", "s4_again.h5")
    refuse(["s2.h5 and x.h5 are on as many ranks", f"{dofs} and 7 DOFs"], "scaling", "s2.h5", "s4.h5",
           pretend("x.h5", 2, 1.0, dofs=7))
    for what, old, new in (("solver.tolerance", "tolerance = 1e-08", "tolerance = 1e-05"),
                           ("discretization.order", "order = 4", "order = 5"),
                           ("problem.solution", "sin(3*x)", "sin(4*x)")):
        refuse(["s2.h5 and x.h5 differ in " + what], "scaling", "s2.h5",
               pretend("x.h5", 4, 1.0, replace=(old, new)))
    refuse(["differ in device: 'CPU", "'a GPU'"], "scaling", "s2.h5", pretend("x.h5", 4, 1.0, device="a GPU"))
    refuse(["x.h5: its status is 'not converged'"], "scaling", "s2.h5",
           pretend("x.h5", 4, 1.0, status="not converged"))
    refuse(["study.h5: this is a study"], "scaling", "s2.h5", "study.h5")
    refuse(["absent.h5", "no such file"], "scaling", "s2.h5", "absent.h5")


FIGURES = ("residual", "matvec", "phases", "study", "field", "bench", "paper")


def missing_modules():
    """Help needs no module, a table needs h5py alone."""
    both = ("matplotlib", "h5py")
    tables = ("runs", "scaling")
    check(all(name in good("--help", missing=both) for name in (*FIGURES, *tables)), "sp_plot --help")
    for name in (*FIGURES, *tables):
        check(f"sp_plot {name}" in good(name, "--help", missing=both), f"sp_plot {name} --help")
    check("a.h5" not in good("runs", "a.h5", missing=("matplotlib",)), "a table without matplotlib")
    refuse(["No module named 'h5py'", "install python3-h5py,"], "runs", "a.h5", missing=("h5py",))
    refuse(["No module named 'h5py'", "install python3-h5py,"], "scaling", "s2.h5", "s4.h5", missing=("h5py",))
    refuse(["No module named 'matplotlib'", "python3-matplotlib"], "scaling", "s2.h5", "s4.h5", "-o", "x.png",
           missing=("matplotlib",))
    for name in FIGURES:
        refuse(["No module named 'matplotlib'", "python3-matplotlib"], name, "a.h5", "-o", "x.png",
               missing=("matplotlib",))


def main():
    box = ["mesh.elements=3 3 3", "discretization.order=4", "problem.solution=sin(3*x)*exp(y)+z^3",
           "output.field="]
    solve(1, 0, *box, "output.log=a.h5", "--json", "a.json")
    solve(2, 0, *box, "output.log=b.h5", "--json", "b.json", "solver.preconditioner=jacobi")
    solve(1, 2, "mesh.elements=2 2 2", "problem.forcing=x", "boundary.default=dirichlet 0", "output.field=",
          "solver.max_iterations=3", "output.log=c.h5", "--json", "c.json")
    solve(2, 0, *box, "output.log=study.h5", "--study", "order=1:2", "--study", "refine=0:1")

    files = ["a.h5", "b.h5", "c.h5", "study.h5"]
    table = good("runs", *files, "--csv", "runs.csv").splitlines()
    with open("runs.csv", encoding="utf-8", newline="") as file:
        text = file.read()
    check(good("runs", *files, "--csv", "-") == text, "CSV on standard output differs")
    rows = read_csv(text)
    check(len(rows) == 7 and len(table) == 8, f"{len(rows)} rows, {len(table)} lines")
    for name, row, mesh in zip("abc", rows, ("box 3 3 3", "box 3 3 3", "box 2 2 2")):
        check_single(name, row, mesh)
    check_study(rows[3:])
    for line, row, label in zip(table[1:], rows, ("a", "b", "c", *["study"] * 4)):
        check_line(table[0], line, row, label)
    # Names that are not unique are shown as paths.
    os.mkdir("more")
    shutil.copy("a.h5", "more/a.h5")
    check([line.split()[0] for line in good("runs", "a.h5", "more/a.h5").splitlines()[1:]] ==
          ["a.h5", "more/a.h5"], "labels")
    unfinished()
    wrong_input()
    scaling()
    missing_modules()


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    main()
    os.chdir("/")
driver.finish()
