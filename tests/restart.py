#!/usr/bin/env python3
"""Checkpoints: a restarted run gives the same bits on as many ranks and agrees on others; a checkpoint of
another case is refused; a signal ends a run with all files written.

    restart.py SP_SOLVE INPUTS MPIEXEC...      MPIEXEC... ends with the flag for the number of ranks"""

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

h5py, numpy = optional.need("h5py", "numpy")

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


def field(path):
    with h5py.File(path, "r") as file:
        return file["VTKHDF/PointData/u"][:].tobytes()


def outputs(name):
    return [f"output.log={name}.h5", f"output.field={name}.hdf"]


def solve(ranks, case, name, *more, code=0):
    return Run(ranks, [*case, *outputs(name), *more]).expect(ranks, code)


def same_bits(ranks, preconditioner):
    """Stop a run by max_iterations twice and restart it each time until it converges; then restart the
    converged run with a smaller tolerance, that of the uninterrupted run."""
    case = [*BOX, f"solver.preconditioner={preconditioner}"]
    stop, again = 11, 24
    if preconditioner == "multigrid":
        case.append("solver.smoother_degree=1")  # for more iterations
        stop, again = 3, 6
    solve(ranks, case, "whole", "solver.tolerance=1e-11")
    whole = residuals("whole.h5")
    last = min(n for n in whole if whole[n] <= 1e-10 * whole[0])
    check(again + 2 < last < max(whole), f"{last} of {max(whole)} iterations are too few, or all")
    solve(ranks, case, "one", "output.checkpoint=one.chk", f"solver.max_iterations={stop}", code=2)
    solve(ranks, case, "two", "output.checkpoint=one.chk", "output.restart=one.chk",
          f"solver.max_iterations={again}", code=2)
    run = solve(ranks, case, "three", "output.checkpoint=end.chk", "output.restart=one.chk")
    solve(ranks, case, "four", "output.restart=end.chk", "solver.tolerance=1e-11")
    for name, first, end in (("one", 0, stop), ("two", stop, again), ("three", again, last),
                             ("four", last, max(whole))):
        want = {n: whole[n] for n in range(first, end + 1)}
        check(residuals(f"{name}.h5") == want, f"{run.name}: residuals {first} to {end}")
        with h5py.File(f"{name}.h5", "r") as log:
            seconds, whole_time = log["residual"]["seconds"], log.attrs["solve_seconds"]
        check((first == 0 or seconds[0] == 0) and (seconds[1:] > seconds[:-1]).all() and
              seconds[-1] <= whole_time, f"{run.name}: seconds {seconds} of {whole_time}")
    check(field("four.hdf") == field("whole.hdf"), f"{run.name}: the fields differ")
    with h5py.File("three.h5", "r") as log:
        check(log.attrs["restart"] == "one.chk" and log.attrs["restart_iteration"] == again and
              log.attrs["iterations"] == last and log["matvec"].shape == (last - again,) and
              log.attrs["status"] == "converged", f"{run.name}: the log")


# Refined; with one element across a period; of blocks in different orientations; curved; without
# Dirichlet values.
PERIOD = ["mesh.elements=1 2 3", "mesh.refine=0", "boundary.xmin=periodic xmax",
          "boundary.ymin=periodic ymax", "boundary.zmin=periodic zmax", "discretization.order=6",
          "problem.solution=sin(2*pi*x)*cos(2*pi*y)+exp(sin(2*pi*z))", "mesh.map=none"]
MESHES = {"box": BOX, "period": [*BOX, *PERIOD]}
MESHES.update({name: [os.path.join(INPUTS, f"{name}.ini"), "discretization.order=2", "mesh.refine=1",
                      "solver.tolerance=1e-10", "solver.preconditioner=jacobi"] for name in ("blocks", "shell", "neumann")})


def other_ranks(mesh):
    """The first ten residuals after the restart agree to 1e-10, as for all runs on other numbers of
    ranks; the final errors agree within the tolerance of CG."""
    case, start = MESHES[mesh], 7
    for before, after in ((1, 4), (4, 2)) if mesh in ("box", "blocks") else ((2, 4),):
        solve(before, case, "whole")
        whole = residuals("whole.h5")
        solve(before, case, "first", "output.checkpoint=other.chk",
              f"solver.max_iterations={start}", code=2)
        run = solve(after, case, "second", "output.restart=other.chk")
        got = residuals("second.h5")
        check(min(got) == start, f"{run.name}: begins with iteration {min(got)}")
        for n in range(start, start + 11):
            check(abs(got[n] / whole[n] - 1) <= 1e-10,
                  f"{run.name}: residual {n} is {got[n]}, not {whole[n]}")
        with h5py.File("second.h5", "r") as log, h5py.File("whole.h5", "r") as other:
            # Both are within 1e-10 of the discrete solution relative to b; a hundredth of the
            # discretization error is more than that.
            left, right = log["errors"]["L2"][0], other["errors"]["L2"][0]
            check(abs(left / right - 1) < 1e-2, f"{run.name}: errors {left} and {right}")


def refuse(arguments, *words, ranks=2):
    run = Run(ranks, [*arguments, "output.log=", "output.field="]).expect_error(ranks, 1, *words)
    check(not os.path.exists("refused.chk"), f"{run.name}: writes a checkpoint")


def save_good():
    """A checkpoint after nine iterations; and the name of one that must not be written."""
    solve(2, BOX, "good", "output.checkpoint=good.chk", "solver.max_iterations=9", code=2)
    return [*BOX, "output.restart=good.chk", "output.checkpoint=refused.chk"]


def check_good():
    check(h5py.File("good.chk", "r").attrs["iteration"] == 9, "a refused run changes the checkpoint")


def other_cases():
    """Changes of the system are refused: those in the case by rank 0, those of the mesh after all ranks
    have numbered it."""
    case = save_good()
    for change, *words in (
            ("problem.lambda=2", "problem.lambda = 2"),
            ("problem.kappa=1+x", "problem.kappa = 1+x", "problem.kappa = 1'"),
            ("problem.solution=x*y*z+z^4", "problem.solution"),
            ("problem.forcing=1", "problem.forcing = 1"),
            ("discretization.order=4", "discretization.order = 4", "discretization.order = 3"),
            ("discretization.operator=bp3.0", "bp3.0", "bp3.5"),
            ("solver.preconditioner=jacobi", "solver.preconditioner"),
            ("boundary.xmin=neumann", "boundary.")):
        refuse([*case, change], "good.chk", *words, ranks=1)
    for change, *words in (
            ("mesh.refine=0", "another mesh", "degrees of freedom"),
            ("mesh.elements=2 3 2", "another mesh"),
            ("mesh.upper=1 1 1.0000000000000002", "another mesh"),
            ("mesh.map=none", "another mesh", "points")):
        refuse([*case, change], "good.chk", *words)
    refuse([*BOX, "output.restart=absent.chk"], "absent.chk", "No such file")
    refuse([*BOX, "output.restart=."], "checkpoint .", ranks=1)
    refuse([*BOX, "output.restart=good.chk", "--study", "order=1:2"], "output.restart", ranks=1)
    refuse([*BOX, "output.every=1"], "output.every", "output.checkpoint", ranks=1)
    Run(1, [*BOX, "output.restart=good.chk", "output.field=", "output.log=./good.chk"]).expect_error(
        1, 1, "output.log", "overwrite the checkpoint")
    check_good()
    # Everything else may change; the geometry changes results by rounding.
    Run(2, [*BOX, "output.restart=good.chk", "discretization.geometry=stored", "output.log=",
            "output.field=", "boundary.default=dirichlet"]).expect(2, 0)


def other_groups():
    """The same points with other boundary groups: a gmsh file has its own names, a box those of its
    sides."""
    with open(os.path.join(INPUTS, "cube.msh"), "rb") as file:
        text = file.read()
    gmsh = ["mesh.file=named.msh", "problem.solution=x+sin(y)", "discretization.order=2"]
    shutil.copy(os.path.join(INPUTS, "cube.msh"), "named.msh")
    solve(2, gmsh, "named", "output.checkpoint=named.chk", "solver.max_iterations=3", code=2)
    Run(1, [*gmsh, "output.restart=named.chk", "output.log=", "output.field="]).expect(1, 0)
    with open("named.msh", "wb") as file:
        file.write(text.replace(b'"lid"', b'"top"'))
    refuse([*gmsh, "output.restart=named.chk"], "named.chk", "another mesh", ranks=1)


def cut_files():
    """Incomplete checkpoints: rank 0 refuses them first."""
    save_good()
    with open("good.chk", "rb") as file:
        whole = file.read()
    contents = [("empty.chk", b"", "output.checkpoint"),
                ("text.chk", b"no checkpoint\n" * 1000, "output.checkpoint")]
    contents += [(f"cut{part}.chk", whole[:part], "expected a whole file")
                 for part in (100, len(whole) // 3, len(whole) // 2, len(whole) - 1)]
    for name, content, word in contents:
        with open(name, "wb") as file:
            file.write(content)
        refuse([*BOX, f"output.restart={name}"], name, word)
    shutil.copy("good.h5", "log.chk")
    refuse([*BOX, "output.restart=log.chk"], "log.chk", "output.checkpoint", ranks=1)
    check_good()


def flipped_bits():
    """A value with one flipped bit, or a missing vector: detected by the rank that reads it, and by the
    checksum."""
    save_good()

    def refuse_flipped(*words, ranks):
        refuse([*BOX, "output.restart=flip.chk"], "flip.chk", *words, ranks=ranks)

    for name in "x", "r", "p", "dof":
        shutil.copy("good.chk", "flip.chk")
        with h5py.File("flip.chk", "r+") as file:
            values = file[name][:]
            values.flat[17] = numpy.nextafter(values.flat[17], 9) if name != "dof" else 5
            file[name][:] = values
        refuse_flipped("damaged", ranks=4)
        with h5py.File("flip.chk", "r+") as file:
            del file[name]
        refuse_flipped("output.checkpoint", ranks=2)
    for name in "iteration", "beta", "norm_b":
        shutil.copy("good.chk", "flip.chk")
        with h5py.File("flip.chk", "r+") as file:
            file.attrs.modify(name, file.attrs[name] + 1)
        refuse_flipped("damaged", ranks=1)
    check_good()


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

    def wait_for(self, condition, what):
        end = time.monotonic() + SECONDS
        while not condition():
            if not check(time.monotonic() < end and self.process.poll() is None, f"no {what}"):
                return
            time.sleep(0.01)

    def wait_for_handlers(self):
        """Wait until all ranks iterate: they then catch SIGTERM (bit 14, counted from 0)."""
        def caught():
            self.pids = self.read("pid")
            if len(self.pids) != self.ranks:
                return False
            masks = []
            for pid in self.pids:
                with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
                    masks += [line.split()[1] for line in file if line.startswith("SigCgt:")]
            return all(int(mask, 16) >> (signal.SIGTERM - 1) & 1 for mask in masks)
        self.wait_for(caught, "iteration")

    def end(self):
        try:
            self.out, self.err = self.process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            check(False, "no end after a signal")
            self.process.kill()
            self.out, self.err = self.process.communicate()
        return self.read("code")


# A short set-up, then more than ten thousand iterations: several times what a test waits for on a fast machine.
LONG = ["mesh.elements=6 6 6", "mesh.map=kershaw", "mesh.epsilon=0.001", "discretization.order=7",
        "problem.solution=sin(3*x)*exp(y)+z^3", "solver.tolerance=1e-15", "solver.preconditioner=none",
        "solver.max_iterations=1000000"]


def check_interrupted(ranks, name):
    """All files are written for the same iteration, and the restarted run gives the same bits."""
    with h5py.File(f"{name}.h5", "r") as log, h5py.File(f"{name}.chk", "r") as saved:
        status, last = log.attrs["status"], int(log["residual"]["iteration"][-1])
        check(status == "interrupted", f"{name}: status {status!r}")
        check(last == saved.attrs["iteration"] == log.attrs["iterations"] and last > 0,
              f"{name}: {last} iterations logged, {saved.attrs['iteration']} saved")
        check("errors" in log and log["phases"].shape[0] > 0, f"{name}: the log has no results")
    check(os.path.getsize(f"{name}.unconverged.hdf") > 0, f"{name}: no field")
    limit = f"solver.max_iterations={last + 12}"
    solve(ranks, LONG, "whole", limit, code=2)
    solve(ranks, LONG, "again", limit, f"output.restart={name}.chk", code=2)
    whole = residuals("whole.h5")
    check(residuals("again.h5") == {n: whole[n] for n in range(last, last + 13)},
          f"{name}: the restarted run differs")
    check(not [left for left in os.listdir() if left.endswith(".tmp")], f"left: {os.listdir()}")
    return last


def signalled(number, who, ranks):
    name = f"{who}{ranks}"
    live = Live(ranks, [*LONG, *outputs(name), f"output.checkpoint={name}.chk"])
    live.wait_for_handlers()
    time.sleep(0.2)
    check(not os.path.exists(f"{name}.chk"), f"{name}: saved although every = 0")
    for pid in {"last": live.pids[-1:], "first": live.pids[:1], "all": live.pids}[who]:
        os.kill(pid, number)
    codes = live.end()
    check(codes == [5] * ranks, f"{name}: exit codes {codes}: {live.err}")
    last = check_interrupted(ranks, name)
    for word in (f"interrupted after {last} iterations", f"output.restart={name}.chk"):
        check(word in live.err, f"{name}: no '{word}' in {live.err!r}")
    outcome = f"  INTERRUPTED after {last} iteration{'' if last == 1 else 's'}"
    check(live.out.rstrip().endswith(outcome), f"{name}: no '{outcome}' in {live.out[-200:]!r}")


def launcher_signalled():
    """Launchers pass the signal on to the ranks and have their own exit codes. Open MPI's launcher waits
    that many seconds before it does, and as long again before it kills."""
    version = subprocess.run([MPIEXEC[0], "--version"], capture_output=True, text=True, check=False)
    if "Open MPI" in version.stdout or "OpenRTE" in version.stdout:
        patient = ["--mca", "odls_base_sigkill_timeout", "4"]
    elif "HYDRA" in version.stdout:
        patient = []
    else:
        print("restart: what this launcher does with a signal is not known, so none is sent to it")
        return
    live = Live(2, [*LONG, *outputs("launcher"), "output.checkpoint=launcher.chk",
                    "output.every=0.05"], Live.DIRECT, patient)
    live.wait_for(lambda: os.path.exists("launcher.chk"), "checkpoint")
    live.process.terminate()
    live.end()
    check_interrupted(2, "launcher")


def signalled_twice():
    """One rank is stopped, so the other cannot end its iteration: a second signal ends it."""
    live = Live(2, [*LONG, *outputs("twice")])
    live.wait_for_handlers()
    still, other = live.pids
    os.kill(still, signal.SIGSTOP)
    try:
        os.kill(other, signal.SIGTERM)
        time.sleep(0.5)
        os.kill(other, 0)  # fails if the process is gone
        os.kill(other, signal.SIGTERM)
        end = time.monotonic() + SECONDS
        while not live.read("code") and time.monotonic() < end:
            time.sleep(0.01)
        check(live.read("code") == [128 + signal.SIGTERM], f"second signal: {live.read('code')}")
    finally:
        os.kill(still, signal.SIGKILL)
    live.end()


def study_signalled():
    live = Live(2, [*LONG, *outputs("study"), "--study", "refine=0:1"])
    live.wait_for_handlers()
    os.kill(live.pids[0], signal.SIGTERM)
    codes = live.end()
    check(codes == [5, 5] and "refine 0: interrupted" in live.err, f"study: {codes}, {live.err}")


def main():
    # The jobs that wait longest start first.
    driver.side_by_side([
        (launcher_signalled,), (signalled, signal.SIGTERM, "last", 4), (signalled_twice,),
        (signalled, signal.SIGINT, "first", 2), (study_signalled,),
        (signalled, signal.SIGTERM, "all", 2),
        (same_bits, 1, "jacobi"), (same_bits, 2, "none"), (same_bits, 4, "jacobi"), (same_bits, 2, "multigrid"),
        *[(other_ranks, mesh) for mesh in MESHES],
        (other_cases,), (other_groups,), (cut_files,), (flipped_bits,)])
    driver.finish()


main()
