#!/usr/bin/env python3
"""Runs that are killed at random moments leave a log and a field that can be read, or none of either.

    kill.py SP_SOLVE KILLS MPIEXEC...      MPIEXEC... ends with the flag for the number of ranks

Kills do not happen at random times, because speed depends on the disk, but at random events: in the
set-up, in the iteration, while the log is replaced, and while the field is written; the last two would
seldom be hit by chance. Half of the kills hit all ranks at once (as if a machine failed), the others one
rank, after which the launcher ends the rest. Prints the seed; SP_KILL_SEED=N repeats its choices."""

import glob
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

import driver
import optional
from driver import Run, check

h5py = optional.need("h5py")

PROGRAM, KILLS, MPIEXEC = os.path.abspath(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
RANKS = 2
# After all ranks have ended, Open MPI 4.1's mpiexec sometimes deadlocks in PMIx_server_finalize(). That is
# not tested here.
LAUNCHER_SECONDS = 10
driver.start("kill", PROGRAM, MPIEXEC)
SEED = int(os.environ.get("SP_KILL_SEED", time.time_ns() % 1000000))
moments = random.Random(SEED)

# Takes several hundred iterations.
CASE = ["mesh.elements=5 4 4", "mesh.map=kershaw", "mesh.epsilon=0.3", "discretization.order=4",
        "problem.solution=sin(3*x)*exp(y)+z^3", "solver.tolerance=1e-9", "solver.preconditioner=none"]
SMALL = ["mesh.elements=2 1 1", "problem.solution=x^2", "discretization.order=1"]
SCRIPT = 'folder=$1; shift; echo $$ >"$folder/$$"; exec "$@"'


def outputs(name):
    return [f"output.log={name}.h5", f"output.field={name}.hdf"]


def read_log(name):
    """Residuals by iteration, after looking at every table."""
    with h5py.File(name, "r") as log:
        for table in log:
            log[table][()]
        return dict(zip(map(int, log["residual"]["iteration"]), map(float, log["residual"]["absolute"])))


def start(name):
    """A run and the process numbers of its ranks, as soon as all have started."""
    folder = tempfile.mkdtemp(dir=".")
    process = subprocess.Popen([*MPIEXEC, str(RANKS), "sh", "-c", SCRIPT, "sh", folder, PROGRAM,
                                *CASE, *outputs(name)], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    driver.wait_for(f"{name}: ranks", lambda: len(os.listdir(folder)) == RANKS or process.poll() is not None, 0.001)
    return process, [int(pid) for pid in os.listdir(folder)]


def alive(pid):
    """True if a process is neither gone nor a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def await_moment(name, kind, process):
    """Wait until the event happens or the run ends; without a pause, because a temporary file may exist for a
    millisecond only. The log appears when the iteration begins; temporary files before that test if a file can
    be written."""
    log, temporary = f"{name}.h5", {"log": f"{name}.h5.*.tmp", "field": f"{name}.hdf.*.tmp"}.get(kind)
    if kind != "set-up":
        driver.wait_for(kind, lambda: os.path.exists(log) and (not temporary or glob.glob(temporary)) or
                        process.poll() is not None, 0)
    if kind in ("set-up", "iteration"):
        time.sleep(moments.uniform(0, 0.3))


def kill(name, kind, everyone):
    """True if the run was killed: it may have ended before."""
    process, pids = start(name)
    await_moment(name, kind, process)
    for pid in pids if everyone else [moments.choice(pids)]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has ended
    driver.wait_for(f"{name}: the end of all ranks", lambda: not any(map(alive, pids)))
    try:
        return process.wait(LAUNCHER_SECONDS) != 0
    except subprocess.TimeoutExpired:
        print(f"kill: {name}: all ranks have ended, but their launcher has not")
        process.kill()
        process.wait()
        return True


def check_rests(name, whole):
    """Check what a killed run left; returns which of log and field exist."""
    log, field = (os.path.exists(f"{name}.{kind}") for kind in ("h5", "hdf"))
    try:
        if log:
            check(all(whole.get(n) == value for n, value in read_log(f"{name}.h5").items()),
                  f"{name}: residuals of the killed run differ")
        if field:
            with h5py.File(f"{name}.hdf", "r") as file:
                check(file["VTKHDF/PointData/u"][()].size > 0, f"{name}: an empty field")
    except (OSError, KeyError) as failure:
        check(False, f"{name}: a file cannot be read: {failure}")
    return log, field


def check_next(name):
    """A new run with the same files is not blocked by the dead one, which leaves temporary files at most."""
    Run(RANKS, [*SMALL, *outputs(name)]).expect(RANKS, 0)
    left = [file for file in os.listdir() if file.startswith((name, f".{name}")) and not file.endswith(".tmp")]
    check(sorted(left) == [f"{name}.h5", f"{name}.hdf"], f"{name}: left over: {left}")


def main():
    kinds = ["set-up", "iteration", "iteration", "log", "field"]
    process, _ = start("whole")
    check(process.wait(driver.SECONDS) == 0, "the run that is not killed")
    whole = read_log("whole.h5")
    check(len(whole) > 100, f"{len(whole)} residuals")
    counts, kills, missed = [0, 0], 0, 0
    while kills < KILLS and missed < KILLS + 10:
        name, kind = f"killed{kills}", kinds[kills % len(kinds)]
        if kill(name, kind, moments.random() < 0.5):
            kills += 1
            rests = check_rests(name, whole)
            counts = [count + there for count, there in zip(counts, rests)]
        else:
            missed += 1
        check_next(name)
        for left in glob.glob(f"{name}*") + glob.glob(f".{name}*"):
            os.remove(left)
    print(f"kill: seed {SEED}, {kills} runs killed ({missed} more ended before): {counts[0]} leave a log, "
          f"{counts[1]} a field")
    check(kills == KILLS, f"{kills} kills, not {KILLS}")
    check(counts[0] >= KILLS / 2, f"{counts[0]} logs tell little")


driver.in_folder(main)
driver.finish()
