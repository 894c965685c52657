#!/usr/bin/env python3
"""Existing files: inputs are never changed; if several runs write one file, the last one wins; a failed run
replaces no good file."""

import os
import signal
import subprocess
import sys
import time

import driver
import optional
from driver import Run, check, write

h5py = optional.need("h5py")
PROGRAM, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2:]
driver.start("outputs", PROGRAM, MPIEXEC)

QUICK = ["mesh.elements=3 2 2", "discretization.order=2", "problem.solution=sin(3*x)+y*z"]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def state(*paths):
    """The state of a file: changes if the file is touched."""
    return [(path, read(path), os.stat(path).st_mtime_ns, os.stat(path).st_ino) for path in paths]


def files():
    return sorted(os.listdir())


def start(arguments):
    """One process without a launcher, so that it can be killed by its process number."""
    return subprocess.Popen([PROGRAM, *arguments], stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def end(process, number):
    process.send_signal(number)
    return process.wait(driver.SECONDS)


def inputs_stay(ranks):
    """Parts of a split mesh, under any name."""
    for part in range(1, 5):
        write(f"cube_{part}.msh", f"part {part}\n")
    write("cube_6.msh", "no part: the fifth is missing\n")
    os.symlink("cube_3.msh", "symbolic")
    os.link("cube_4.msh", "hard")
    before = state(*files())
    on = ["mesh.file=cube.msh", *QUICK[1:]]
    for key, name, part in (("log", "cube_1.msh", 1), ("field", "./cube_4.msh", 4),
                            ("log", "symbolic", 3), ("field", "hard", 4)):
        Run(ranks, [*on, f"output.{key}={name}"]).expect_error(
            ranks, 1, f"output.{key}={name}", f"part {part} of the mesh")
    for key in "log", "field":
        Run(ranks, [*QUICK, f"output.{key}=cube_6.msh"]).expect_error(
            ranks, 1, f"cannot write {key} cube_6.msh", "another format")
    write("case.ini", "[mesh]\nfile = cube.msh\n[problem]\nsolution = x\n[output]\nlog = cube_2.msh\n")
    Run(ranks, ["case.ini"]).expect_error(ranks, 1, "case.ini:6: output.log", "part 2 of the mesh")
    Run(ranks, ["case.ini", "--dry-run"]).expect_error(ranks, 1, "case.ini:6", "part 2 of the mesh")
    os.remove("case.ini")
    check(state(*files()) == before, f"inputs are changed: {files()}")


def initial_stays(ranks):
    """The initial field, under any name, also where the solution does not converge."""
    field = ["output.log=", "output.field=a.hdf"]
    Run(ranks, [*QUICK, *field]).expect(ranks, 0)
    os.rename("a.hdf", "b.unconverged.hdf")
    os.link("b.unconverged.hdf", "hard.hdf")
    on = [*QUICK, "output.log=", "problem.initial=b.unconverged.hdf"]
    before = state(*files())
    for name, words in (("b.unconverged.hdf", "the initial field,"), ("./hard.hdf", "the initial field,"),
                        ("b.hdf", "the initial field with an unconverged solution")):
        Run(ranks, [*on, f"output.field={name}"]).expect_error(ranks, 1, f"output.field={name}", words)
    Run(ranks, [*on, "output.field=", "--json", "b.unconverged.hdf"]).expect_error(ranks, 1, "another format")
    check(state(*files()) == before, f"inputs are changed: {files()}")


def two_runs(ranks):
    """A second run on the same files is not refused, and its files are whole; nor are readers."""
    outputs = ["output.log=a.h5", "output.field=a.hdf"]
    process = start([*driver.ENDLESS, *outputs])
    driver.wait_for("the first run", lambda: os.path.exists("a.h5"))
    Run(ranks, [*QUICK, *outputs]).expect(ranks, 0)
    with h5py.File("a.hdf", "r") as field:
        check(field["VTKHDF/NumberOfCells"][:].sum() == 12, "the field of the second run")
    for _ in range(3):
        with h5py.File("a.h5", "r") as log:
            check(log.attrs["status"] in ("running", "converged"), f"status {log.attrs['status']}")
        time.sleep(0.5)
    check(process.poll() is None, "the first run has ended")
    check(end(process, signal.SIGTERM) == 5, f"exit code {process.returncode}")
    with h5py.File("a.h5", "r") as log:
        check(log.attrs["status"] == "interrupted", "the first run ended last")
    check(files() == ["a.h5", "a.hdf", "a.unconverged.hdf"], f"left over: {files()}")


def good_stays(ranks):
    """Set-ups that fail, and solutions that do not converge, beside a good log and field."""
    Run(ranks, QUICK).expect(ranks, 0)
    before = state("run.h5", "run.hdf")
    for wrong, word in (("boundary.lid=neumann", "boundary group 'lid'"),
                        ("problem.lambda=1/(x-1)", "problem.lambda"),
                        ("problem.solution=1e-200*x", "right-hand side")):
        Run(ranks, [*QUICK, wrong]).expect_error(ranks, 1, word)
        check(state("run.h5", "run.hdf") == before, f"{wrong}: something good is replaced")
    # Refused later still: the initial field is of another mesh.
    os.link("run.hdf", "start.hdf")
    Run(ranks, [*QUICK, "mesh.elements=4 2 2", "problem.initial=start.hdf", "output.field=other.hdf"]).expect_error(
        ranks, 1, "another mesh")
    os.remove("start.hdf")
    Run(ranks, [*QUICK, "boundary.lid=neumann", "--study", "order=1:2"]).expect_error(
        ranks, 1, "boundary group 'lid'")
    check(state("run.h5", "run.hdf") == before, "something good is replaced")
    check(files() == ["run.h5", "run.hdf"], f"left over: {files()}")

    before = state("run.hdf")
    run = Run(ranks, [*QUICK, "solver.max_iterations=2"])
    run.expect_error(ranks, 2, "not converged", "its field is run.unconverged.hdf")
    check("run.unconverged.hdf" in run.out, f"{run.name}: {run.out!r}")
    check(state("run.hdf") == before, "the field of an unconverged run replaces a good one")
    check(os.path.getsize("run.unconverged.hdf") > 0 and read("run.unconverged.hdf") != read("run.hdf"),
          "the field of an unconverged run")
    run = Run(ranks, [*QUICK, "solver.max_iterations=2", "output.field="])
    run.expect_error(ranks, 2, "not converged")
    check("its field" not in run.err, f"{run.name}: {run.err!r}")
    check(files() == ["run.h5", "run.hdf", "run.unconverged.hdf"], f"left over: {files()}")


def main():
    driver.side_by_side([(inputs_stay, 4), (initial_stays, 2), (two_runs, 4), (good_stays, 4)])
    driver.finish()


main()
