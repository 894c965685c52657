#!/usr/bin/env python3
"""Runs that are killed at random moments leave a log that can be read and a checkpoint that restarts to
the right solution, or none of either.

    kill.py SP_SOLVE KILLS MPIEXEC...      MPIEXEC... ends with the flag for the number of ranks

Every other kill hits all ranks at once (a machine that fails), the rest one rank alone, whose launcher
then ends the others. Prints the seed; SP_KILL_SEED=N repeats its moments."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time

import driver
from driver import Run, check

try:
    import h5py
except ImportError:
    print("kill: no h5py")
    sys.exit(77)

PROGRAM, KILLS, MPIEXEC = os.path.abspath(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
RANKS = 2
driver.start("kill", PROGRAM, MPIEXEC)
SEED = int(os.environ.get("SP_KILL_SEED", time.time_ns() % 1000000))
moments = random.Random(SEED)

# Some hundred iterations, with a checkpoint after nearly each of them, and a log and a field.
CASE = ["mesh.elements=5 4 4", "mesh.map=kershaw", "mesh.epsilon=0.3", "discretization.order=4",
        "problem.solution=sin(3*x)*exp(y)+z^3", "solver.tolerance=1e-9"]
SCRIPT = 'folder=$1; shift; echo $$ >"$folder/$$"; exec "$@"'


def outputs(name):
    return [f"output.log={name}.h5", f"output.field={name}.hdf", f"output.checkpoint={name}.chk",
            "output.every=1e-3"]


def read_log(name):
    """(residuals by iteration, L2 error or None) after looking at every table."""
    with h5py.File(name, "r") as log:
        for table in log:
            log[table][()]
        rows = log["residual"] if "residual" in log else {"iteration": [], "absolute": []}
        error = float(log["errors"]["L2"][0]) if "errors" in log else None
        return dict(zip(map(int, rows["iteration"]), map(float, rows["absolute"]))), error


def start(name):
    """A run and the process numbers of its ranks, once all of them are there."""
    folder = tempfile.mkdtemp(dir=".")
    process = subprocess.Popen([*MPIEXEC, str(RANKS), "sh", "-c", SCRIPT, "sh", folder, PROGRAM,
                                *CASE, *outputs(name)], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + driver.SECONDS
    while len(os.listdir(folder)) < RANKS and process.poll() is None and time.monotonic() < end:
        time.sleep(0.001)
    check(len(os.listdir(folder)) == RANKS, f"{name}: the ranks do not start")
    return process, [int(pid) for pid in os.listdir(folder)]


def kill(name, after, everyone):
    process, pids = start(name)
    time.sleep(after)
    for pid in pids if everyone else [moments.choice(pids)]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has ended
    try:
        process.wait(driver.SECONDS)
    except subprocess.TimeoutExpired:
        check(False, f"{name}: the launcher goes on after the kill")
        process.kill()
        process.wait()


def check_rests(name, whole, error):
    """What is left of a killed run; returns which of log, checkpoint and field are there."""
    log, checkpoint, field = (os.path.exists(f"{name}.{kind}") for kind in ("h5", "chk", "hdf"))
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
    if checkpoint:
        Run(RANKS, [*CASE, "output.log=again.h5", "output.field=",
                    f"output.restart={name}.chk"]).expect(RANKS, 0)
        got, again = read_log("again.h5")
        check(got == {n: whole[n] for n in got} and max(got) == max(whole) and again == error,
              f"{name}: restarts to an error of {again}, not {error}")
    return log, checkpoint, field


def main():
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        begin = time.monotonic()
        process, _ = start("whole")
        started = time.monotonic()
        check(process.wait(driver.SECONDS) == 0, "the run that is not killed")
        lasts = time.monotonic() - started
        whole, error = read_log("whole.h5")
        check(len(whole) > 100 and error < 1e-3, f"{len(whole)} residuals, error {error}")
        counts = [0, 0, 0]
        for number in range(KILLS):
            name = f"killed{number}"
            kill(name, moments.uniform(0, 1.05 * lasts), number % 2 == 0)
            rests = check_rests(name, whole, error)
            counts = [count + there for count, there in zip(counts, rests)]
            for left in os.listdir():
                if left.startswith(name):
                    os.remove(left)
        check(counts[1] > KILLS / 4, f"{counts[1]} of {KILLS} kills leave a checkpoint: try other moments")
        print(f"kill: seed {SEED}, {KILLS} kills within {lasts:.2f} s: {counts[0]} leave a log, "
              f"{counts[1]} a checkpoint, {counts[2]} a field ({time.monotonic() - begin:.0f} s)")
        os.chdir("/")
    driver.finish()


main()
