#!/usr/bin/env python3
"""The field is the restart: a run from the field of another run takes only the missing iterations, on any number of
ranks, and has the same solution. Fields of another mesh and damaged ones are refused. A signal ends a run with all
files written."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import driver
import optional
from driver import Run, check

h5py = optional.need("h5py")

PROGRAM, INPUTS = (os.path.abspath(path) for path in sys.argv[1:3])
MPIEXEC = sys.argv[3:]
SECONDS = driver.SECONDS
driver.start("restart", PROGRAM, MPIEXEC)

BOX = ["mesh.elements=3 2 2", "mesh.map=sine", "mesh.refine=1", "discretization.order=3",
       "problem.solution=sin(3*x)*exp(y)+z^3", "solver.tolerance=1e-10", "solver.preconditioner=none"]


def residuals(path):
    """{iteration: residual} of a log."""
    with h5py.File(path, "r") as log:
        rows = log["residual"]
        return dict(zip(rows["iteration"].tolist(), rows["absolute"].tolist()))


def outputs(name):
    return [f"output.log={name}.h5", f"output.field={name}.hdf"]


def solve(ranks, case, name, *more, code=0):
    return Run(ranks, [*case, *outputs(name), *more]).expect(ranks, code)


# Refined; with one element across a period; without Dirichlet values. Blocks in different orientations and curved
# elements are in initial.c.
PERIOD = ["mesh.elements=1 2 3", "mesh.refine=0", "boundary.xmin=periodic xmax",
          "boundary.ymin=periodic ymax", "boundary.zmin=periodic zmax", "discretization.order=6",
          "problem.solution=sin(2*pi*x)*cos(2*pi*y)+exp(sin(2*pi*z))", "mesh.map=none"]
MESHES = {"box": BOX, "period": [*BOX, *PERIOD], "multigrid": [*BOX, "solver.preconditioner=multigrid"],
          "neumann": [os.path.join(INPUTS, "neumann.ini"), "discretization.order=2", "mesh.refine=1",
                      "solver.tolerance=1e-10", "solver.preconditioner=jacobi"]}


def read(name):
    """(iterations, L2 error) of a log."""
    with h5py.File(f"{name}.h5", "r") as log:
        return int(log.attrs["iterations"]), float(log["errors"]["L2"][0])


def check_continued(name, whole, parts):
    """CG loses its directions, so the parts of a run together take more iterations than one run, but less than
    twice as many. From an almost converged field it takes few. Both solutions are within the tolerance, 1e-10 of
    the energy norm, of the discrete one; a hundredth of the discretization error is more than that."""
    count, error = read(whole)
    found = [read(part) for part in parts]
    check(sum(part[0] for part in found) < 2 * count, f"{name}: iterations {found}, {count} in one run")
    check(abs(found[-1][1] / error - 1) < 1e-2, f"{name}: errors {found[-1][1]} and {error}")


def other_ranks(mesh):
    """Stopped by max_iterations, continued on other numbers of ranks; then once more from the solution."""
    case = MESHES[mesh]
    solve(2, case, "whole")
    stop = read("whole")[0] // 2
    for before, after in ((1, 4), (4, 2)) if mesh == "box" else ((2, 4),):
        solve(before, case, "first", f"solver.max_iterations={stop}", code=2)
        run = solve(after, case, "second", "problem.initial=first.unconverged.hdf")
        check_continued(run.name, "whole", ["first", "second"])
        solve(before, case, "third", "problem.initial=second.hdf", "solver.tolerance=1e-9")
        check(read("third")[0] <= read("whole")[0] // 4, f"{run.name}: {read('third')} from the solution")


def refused():
    """Incomplete and damaged files. initial.c has missing files, fields of other meshes and infinite values."""
    def refuse(initial, *words, ranks=2):
        run = Run(ranks, [*BOX, f"problem.initial={initial}.hdf", "output.log=", "output.field=refused.hdf"])
        run.expect_error(ranks, 1, "problem.initial", f"{initial}.hdf", *words)
        check(not os.path.exists("refused.hdf"), f"{run.name}: writes a field")

    solve(2, BOX, "good")
    Run(1, [*BOX, "problem.initial=absent.hdf", "--dry-run"]).expect_error(1, 1, "absent.hdf", "No such file")
    Run(1, [*BOX, "problem.initial=run.h5"]).expect_error(1, 1, "problem.initial", "which ends in .hdf", "run.h5")
    with open("good.hdf", "rb") as file:
        whole = file.read()
    for name, content in (("empty", b""), ("text", b"no field\n" * 1000), ("cut", whole[:len(whole) // 2]),
                          ("cut1", whole[:-1])):
        with open(f"{name}.hdf", "wb") as file:
            file.write(content)
        refuse(name, "expected a whole field")
    os.mkfifo("pipe.hdf")
    refuse("pipe", "not a regular file")
    shutil.copy("good.h5", "log.hdf")
    refuse("log", "expected a whole field", ranks=1)
    whole_field, piece = "expected a whole field", "not in its piece"
    for name, value, words in (
            ("PointData/u", None, whole_field), ("CellData/tag", None, whole_field), ("CellData/octants", None, whole_field),
            ("Points", None, whole_field), ("Connectivity", None, whole_field), ("NumberOfCells", None, whole_field),
            ("Connectivity", 10 ** 9, piece), ("Connectivity", -1, piece),
            ("CellData/tag", 10 ** 6, "another mesh")):
        shutil.copy("good.hdf", "changed.hdf")
        with h5py.File("changed.hdf", "r+") as file:
            if value is None:
                del file["VTKHDF"][name]
            else:
                file["VTKHDF"][name][17] = value
        refuse("changed", words, ranks=4)


class Live:
    """A run that gets signals. Every rank writes its process number and its exit code to files."""

    SCRIPT = 'folder=$1; shift; "$@" & echo $! >"$folder/pid.$!"; wait $!; echo $? >"$folder/code.$!"'
    DIRECT = 'folder=$1; shift; echo $$ >"$folder/pid.$$"; exec "$@"'

    def __init__(self, ranks, arguments, script=SCRIPT, launcher=()):
        self.ranks = ranks
        self.folder = tempfile.mkdtemp(dir=".")
        self.process = subprocess.Popen(
            [MPIEXEC[0], *launcher, *MPIEXEC[1:], str(ranks), "sh", "-c", script, "sh", self.folder,
             PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)

    def read(self, kind):
        values = []
        for name in os.listdir(self.folder):
            if name.startswith(kind):
                with open(os.path.join(self.folder, name), encoding="ascii") as file:
                    text = file.read()
                if text.endswith("\n"):
                    values.append(int(text))
        return sorted(values)

    def wait_for_handlers(self):
        def iterates():
            self.pids = self.read("pid")
            return len(self.pids) == self.ranks and driver.iterate(self.pids)
        driver.wait_for("iteration", iterates)

    def end(self):
        self.out, self.err = self.process.communicate(timeout=SECONDS)
        return self.read("code")


def check_interrupted(name):
    """All files are written, for the same iteration."""
    with h5py.File(f"{name}.h5", "r") as log:
        status, last = log.attrs["status"], int(log["residual"]["iteration"][-1])
        check(status == "interrupted", f"{name}: status {status!r}")
        check(last == log.attrs["iterations"] and last > 0, f"{name}: {last} iterations logged")
        check("errors" in log and log["phases"].shape[0] > 0, f"{name}: the log has no results")
        residual = float(log["residual"]["absolute"][-1])
    solve(1, driver.ENDLESS, "again", f"problem.initial={name}.unconverged.hdf", "solver.max_iterations=1", code=2)
    again = residuals("again.h5")[0]
    # Interpolation to the equispaced points of the field and back rounds.
    check(abs(again / residual - 1) < 1e-2, f"{name}: residual {residual}, of the field {again}")
    check(not [left for left in os.listdir() if left.endswith(".tmp")], f"left: {os.listdir()}")
    return last


def signalled(number, who, ranks):
    name = f"{who}{ranks}"
    live = Live(ranks, [*driver.ENDLESS, *outputs(name)])
    live.wait_for_handlers()
    time.sleep(0.2)
    for pid in {"last": live.pids[-1:], "first": live.pids[:1], "all": live.pids}[who]:
        os.kill(pid, number)
    codes = live.end()
    check(codes == [5] * ranks, f"{name}: exit codes {codes}: {live.err}")
    last = check_interrupted(name)
    for word in (f"interrupted after {last} iteration", f"{name}.unconverged.hdf"):
        check(word in live.err, f"{name}: no '{word}' in {live.err!r}")
    outcome = f"  INTERRUPTED after {last} iteration{'' if last == 1 else 's'}"
    check(live.out.rstrip().endswith(outcome), f"{name}: no '{outcome}' in {live.out[-200:]!r}")


def launcher_signalled():
    """Launchers pass the signal on to the ranks and have their own exit codes. Open MPI's launcher waits that many
    seconds before it passes a signal on, and as many again before it kills."""
    version = subprocess.run([MPIEXEC[0], "--version"], capture_output=True, text=True, check=False)
    if "Open MPI" in version.stdout or "OpenRTE" in version.stdout:
        patient = ["--mca", "odls_base_sigkill_timeout", "4"]
    elif "HYDRA" in version.stdout:
        patient = []
    else:
        print("restart: what this launcher does with a signal is not known, so none is sent to it")
        return
    live = Live(2, [*driver.ENDLESS, *outputs("launcher")], Live.DIRECT, patient)
    live.wait_for_handlers()
    live.process.terminate()
    live.end()
    check_interrupted("launcher")


def signalled_twice():
    """One rank is stopped, so the other cannot end its iteration: a second signal ends it."""
    live = Live(2, [*driver.ENDLESS, *outputs("twice")])
    live.wait_for_handlers()
    still, other = live.pids
    os.kill(still, signal.SIGSTOP)
    try:
        os.kill(other, signal.SIGTERM)
        time.sleep(0.5)
        os.kill(other, 0)  # fails if the process is gone
        os.kill(other, signal.SIGTERM)
        driver.wait_for("the end of one rank", lambda: live.read("code"))
        check(live.read("code") == [128 + signal.SIGTERM], f"second signal: {live.read('code')}")
    finally:
        os.kill(still, signal.SIGKILL)
    live.end()


def study_signalled():
    live = Live(2, [*driver.ENDLESS, *outputs("study"), "--study", "refine=0:1"])
    live.wait_for_handlers()
    os.kill(live.pids[0], signal.SIGTERM)
    codes = live.end()
    check(codes == [5, 5] and "refine 0: interrupted" in live.err, f"study: {codes}, {live.err}")
    check(live.out.endswith("\n  INTERRUPTED\n"), f"study: {live.out}")


def main():
    # The jobs that wait longest start first.
    driver.side_by_side([
        (launcher_signalled,), (signalled, signal.SIGTERM, "last", 4), (signalled_twice,),
        (signalled, signal.SIGINT, "first", 2), (study_signalled,),
        (signalled, signal.SIGTERM, "all", 2), (signalled, signal.SIGUSR1, "last", 2),
        *[(other_ranks, mesh) for mesh in MESHES], (refused,)])
    driver.finish()


main()
