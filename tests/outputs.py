#!/usr/bin/env python3
"""What a run may do to existing files: inputs are never changed, runs that write the same file keep out
of each other's way, and what is good is not replaced by what is not.

    outputs.py SP_SOLVE SP_BENCH MPIEXEC...      MPIEXEC... ends with the flag for the number of ranks
    exit code 77 (skipped) without h5py"""

import os
import signal
import subprocess
import sys
import time

import driver
import optional
from driver import Run, check, write

h5py = optional.need("h5py")
PROGRAM, BENCH = (os.path.abspath(path) for path in sys.argv[1:3])
MPIEXEC = sys.argv[3:]
driver.start("outputs", PROGRAM, MPIEXEC)

QUICK = ["mesh.elements=3 2 2", "discretization.order=2", "problem.solution=sin(3*x)+y*z"]
# Iterates until it is ended.
LONG = ["mesh.elements=6 6 6", "mesh.map=kershaw", "mesh.epsilon=0.05", "discretization.order=7",
        "problem.solution=sin(3*x)+y*z", "solver.tolerance=1e-15", "solver.max_iterations=2000000000",
        "solver.preconditioner=none"]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def state(*paths):
    """The state of a file: changes if the file is touched."""
    return [(path, read(path), os.stat(path).st_mtime_ns, os.stat(path).st_ino) for path in paths]


def files():
    return sorted(os.listdir())


def wait_for(condition, what):
    end = time.monotonic() + driver.SECONDS
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return check(condition(), f"{what}: not within {driver.SECONDS} s")


def start(arguments, program=PROGRAM):
    """One process without a launcher, so that it can be killed by its process number."""
    return subprocess.Popen([program, *arguments], stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def end(process, number=signal.SIGKILL):
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
                            ("checkpoint", "cube_2.msh", 2), ("log", "symbolic", 3),
                            ("field", "hard", 4)):
        Run(ranks, [*on, f"output.{key}={name}"]).expect_error(
            ranks, 1, f"output.{key}={name}", f"part {part} of the mesh")
    write("case.ini", "[mesh]\nfile = cube.msh\n[problem]\nsolution = x\n[output]\nlog = cube_2.msh\n")
    Run(ranks, ["case.ini"]).expect_error(ranks, 1, "case.ini:6: output.log", "part 2 of the mesh")
    Run(ranks, ["case.ini", "--dry-run"]).expect_error(ranks, 1, "case.ini:6", "part 2 of the mesh")
    os.remove("case.ini")
    check(state(*files()) == before, f"inputs are changed: {files()}")


def two_runs(ranks):
    """A second run on the same file is refused; readers, dry runs and runs on other files are not."""
    outputs = ["output.log=a.h5", "output.field=a.hdf", "output.checkpoint=a.chk", "output.every=1e-9"]
    process = start([*LONG, *outputs])
    wait_for(lambda: os.path.exists("a.chk") and os.path.exists("a.h5"), "the first run")
    for name in outputs[:3]:
        run = Run(ranks, [*QUICK, "output.log=", "output.field=", name])
        run.expect_error(ranks, 1, name, "another run is writing this file", f"process {process.pid}")
    os.symlink("a.h5", "link.h5")
    Run(ranks, [*QUICK, "output.log=link.h5", "output.field="]).expect_error(
        ranks, 1, "another run is writing this file")
    Run(ranks, [*QUICK, "output.log=link.h5", "--study", "order=1:2"]).expect_error(
        ranks, 1, "another run is writing this file")
    Run(ranks, [*QUICK, *outputs, "--dry-run"]).expect(ranks, 0)
    Run(ranks, [*QUICK, "output.log=b.h5", "output.field="]).expect(ranks, 0)
    for _ in range(3):
        with h5py.File("a.h5", "r") as log:
            check(log.attrs["status"] == "running", f"status {log.attrs['status']}")
        time.sleep(0.5)
    check(process.poll() is None, "the first run has ended")
    end(process)
    # What a run that is killed while it writes leaves behind.
    tag = read(".a.h5.lock").split()[-1].decode()
    for name in ("a.h5", "a.hdf", "a.chk"):
        write(f"{name}.{tag}.tmp", "half\n")
    Run(ranks, [*QUICK, *outputs]).expect(ranks, 0)
    check(files() == ["a.chk", "a.h5", "a.hdf", "b.h5", "link.h5"], f"left over: {files()}")


def runs_at_once():
    """Of runs that start together at most one writes, and its files are complete."""
    case = [*QUICK, "mesh.elements=8 8 8", "discretization.order=4"]
    crowd = [subprocess.Popen([PROGRAM, "-q", *case], stdin=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) for _ in range(6)]
    ended = [(process.communicate(timeout=driver.SECONDS)[1], process.returncode)
             for process in crowd]
    check(any(code == 0 for _, code in ended), f"none has ended well: {ended}")
    for error, code in ended:
        check(code == 0 and not error or code == 1 and "another run is writing" in error,
              f"exit code {code}: {error!r}")
    check(files() == ["run.h5", "run.hdf"], f"left over: {files()}")


def good_stays(ranks):
    """Set-ups that fail, and solutions that do not converge, beside a good log and field."""
    good = [*QUICK, "output.checkpoint=run.chk"]
    Run(ranks, good).expect(ranks, 0)
    before = state("run.h5", "run.hdf", "run.chk")
    for wrong, word in (("boundary.lid=neumann", "boundary group 'lid'"),
                        ("problem.lambda=1/(x-1)", "problem.lambda"),
                        ("boundary.xmin=dirichlet 1/x", "boundary.xmin"),
                        ("probe.tip=2 2 2", "outside the mesh"),
                        ("problem.solution=1e-200*x", "right-hand side")):
        Run(ranks, [*good, wrong]).expect_error(ranks, 1, word)
        check(state("run.h5", "run.hdf", "run.chk") == before, f"{wrong}: something good is replaced")
    # Refused later still: the checkpoint is of another mesh.
    Run(ranks, [*QUICK, "mesh.elements=4 2 2", "output.restart=run.chk"]).expect_error(
        ranks, 1, "another mesh")
    Run(ranks, [*QUICK, "boundary.lid=neumann", "--study", "order=1:2"]).expect_error(
        ranks, 1, "boundary group 'lid'")
    Run(ranks, [*QUICK, "boundary.xmin=dirichlet 1/x", "--study", "order=1:2"]).expect_error(
        ranks, 1, "boundary.xmin")
    check(state("run.h5", "run.hdf", "run.chk") == before, "something good is replaced")
    check(files() == ["run.chk", "run.h5", "run.hdf"], f"left over: {files()}")

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
    check(files() == ["run.chk", "run.h5", "run.hdf", "run.unconverged.hdf"], f"left over: {files()}")


def interrupted():
    write("run.hdf", "good\n")
    write("run.h5", "good\n")
    process = start([*LONG, "output.every=1e-9", "output.checkpoint=run.chk"])
    wait_for(lambda: os.path.exists("run.chk"), "the iteration")
    check(end(process, signal.SIGTERM) == 5, f"exit code {process.returncode}")
    check(read("run.hdf") == b"good\n" and os.path.getsize("run.unconverged.hdf") > 1000,
          "the field of an interrupted run")
    check(files() == ["run.chk", "run.h5", "run.hdf", "run.unconverged.hdf"], f"left over: {files()}")


def links(ranks):
    """Outputs that are links to files on another disk, so to speak."""
    os.mkdir("disk")
    names = {"log": "run.h5", "field": "run.hdf", "checkpoint": "run.chk"}
    for name in names.values():
        os.symlink(f"disk/{name}", name)
    os.symlink("disk/run.hdf", "disk/unused")
    for _ in range(2):
        Run(ranks, [*QUICK, *(f"output.{key}={name}" for key, name in names.items())]).expect(ranks, 0)
        for name in names.values():
            check(os.path.islink(name) and os.readlink(name) == f"disk/{name}", f"{name} is no link")
            check(os.path.getsize(f"disk/{name}") > 1000, f"disk/{name}")
    check(sorted(os.listdir("disk")) == ["run.chk", "run.h5", "run.hdf", "unused"],
          f"left over: {os.listdir('disk')}")
    check(files() == ["disk", "run.chk", "run.h5", "run.hdf"], f"left over: {files()}")
    Run(ranks, [*QUICK, "output.log=run.h5", "output.field=disk/run.h5"]).expect_error(
        ranks, 1, "same file")
    os.symlink("loop", "loop")
    Run(ranks, [*QUICK, "output.log=loop"]).expect_error(ranks, 1, "output.log", "symbolic links")


def bench():
    """sp_bench keeps out of its own way, too."""
    quick = ["--order", "1", "--elements", "8", "--device", "host", "--repeats", "1"]
    process = start(["--order", "1:15", "--elements", "4096", "--device", "host", "--repeats", "1000"],
                    BENCH)
    wait_for(lambda: os.path.exists("bench.h5"), "sp_bench")
    done = subprocess.run([BENCH, *quick], capture_output=True, text=True, check=False)
    check(done.returncode == 1 and "another run is writing this file" in done.stderr and
          f"process {process.pid}" in done.stderr, f"{done.returncode}: {done.stderr!r}")
    end(process)
    done = subprocess.run([BENCH, *quick], capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"{done.returncode}: {done.stderr!r}")
    check(files() == ["bench.h5"], f"left over: {files()}")


def main():
    driver.side_by_side([
        (inputs_stay, 4), (inputs_stay, 1), (two_runs, 4), (two_runs, 1), (runs_at_once,),
        (good_stays, 4), (good_stays, 1), (interrupted,), (links, 4), (links, 1), (bench,)])
    driver.finish()


main()
