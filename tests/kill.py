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
    """(residuals by iteration, L2 error or None) after looking at every table."""
    with h5py.File(name, "r") as log:
        for table in log:
            log[table][()]
        rows = log["residual"] if "residual" in log else {"iteration": [], "absolute": []}
        error = float(log["errors"]["L2"][0]) if "errors" in log else None
        return dict(zip(map(int, rows["iteration"]), map(float, rows["absolute"]))), error


def start(name):
    """A run and the process numbers of its ranks, as soon as all have started."""
    folder = tempfile.mkdtemp(dir=".")
    process = subprocess.Popen([*MPIEXEC, str(RANKS), "sh", "-c", SCRIPT, "sh", folder, PROGRAM,
                                *CASE, *outputs(name)], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + driver.SECONDS
    while len(os.listdir(folder)) < RANKS and process.poll() is None and time.monotonic() < end:
        time.sleep(0.001)
    check(len(os.listdir(folder)) == RANKS, f"{name}: the ranks do not start")
    return process, [int(pid) for pid in os.listdir(folder)]


def alive(pid):
    """Whether a process runs: neither gone nor a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition, process):
    """Poll without a pause: the awaited file may exist for a millisecond only."""
    end = time.monotonic() + driver.SECONDS
    while not condition() and process.poll() is None and time.monotonic() < end:
        pass


def await_moment(name, kind, process):
    """Wait until the event happens or the run ends."""
    if kind == "set-up":
        time.sleep(moments.uniform(0, 0.3))
    elif kind == "iteration":  # the log appears when the iteration begins
        wait_until(lambda: os.path.exists(f"{name}.h5"), process)
        time.sleep(moments.uniform(0, 0.3))
    else:
        files = f"{name}.h5.*.tmp" if kind == "log" else f"{name}.hdf.*.tmp"
        wait_until(lambda: glob.glob(files), process)


def kill(name, kind, everyone):
    """Whether the run was killed: it may have ended before."""
    process, pids = start(name)
    await_moment(name, kind, process)
    for pid in pids if everyone else [moments.choice(pids)]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has ended
    end = time.monotonic() + driver.SECONDS
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.01)
    check(not any(map(alive, pids)), f"{name}: a rank goes on after the kill of another")
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
    if log:
        try:
            got, _ = read_log(f"{name}.h5")
            check(all(whole.get(n) == value for n, value in got.items()),
                  f"{name}: residuals of the killed run differ")
        except OSError as failure:
            check(False, f"{name}: the log cannot be read: {failure}")
    if field:
        try:
            with h5py.File(f"{name}.hdf", "r") as file:
                check(file["VTKHDF/PointData/u"][()].size > 0, f"{name}: an empty field")
        except (OSError, KeyError) as failure:
            check(False, f"{name}: the field cannot be read: {failure}")
    return log, field


def check_next(name):
    """A new run with the same files is not blocked by the dead one, which leaves temporary files at most."""
    Run(RANKS, [*SMALL, *outputs(name)]).expect(RANKS, 0)
    left = [file for file in os.listdir() if file.startswith((name, f".{name}")) and not file.endswith(".tmp")]
    check(sorted(left) == [f"{name}.h5", f"{name}.hdf"], f"{name}: left over: {left}")


def main():
    kinds = ["set-up", "iteration", "iteration", "log", "field"]
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        begin = time.monotonic()
        process, _ = start("whole")
        check(process.wait(driver.SECONDS) == 0, "the run that is not killed")
        whole, error = read_log("whole.h5")
        check(len(whole) > 100 and error < 1e-3, f"{len(whole)} residuals, error {error}")
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
            for left in os.listdir():
                if left.startswith((name, f".{name}")):
                    os.remove(left)
        print(f"kill: seed {SEED}, {kills} runs killed ({missed} more ended before): {counts[0]} leave a "
              f"log, {counts[1]} a field ({time.monotonic() - begin:.0f} s)")
        check(kills == KILLS, f"{kills} kills, not {KILLS}")
        check(counts[0] >= KILLS / 2, f"{counts[0]} logs tell little")
        os.chdir("/")
    driver.finish()


main()
