#!/usr/bin/env python3
"""inputs/slurm.sh with stand-ins for srun and scontrol: an interrupted run continues from its field; a crashed run
starts again."""

import os
import shlex
import signal
import subprocess
import sys
import time

import h5py

import driver
from driver import check

PROGRAM, SCRIPT = (os.path.abspath(path) for path in sys.argv[1:3])
MPIEXEC = sys.argv[3:]
RANKS = 2
SECONDS = 120

# A short set-up, then a few thousand iterations.
CASE = "[mesh]\nelements = 6 6 6\nmap = kershaw\nepsilon = 0.03\n[discretization]\norder = 5\n[problem]\n" \
       "solution = sin(3*x)*exp(y)+z^3\n[solver]\ntolerance = 1e-9\npreconditioner = none\nmax_iterations = 100000\n"

# Starts the ranks, notes their numbers, and has the exit code that srun has: the largest of all ranks.
SRUN = """#!/bin/sh
echo srun >>calls
while case $1 in --*) true ;; *) false ;; esac; do shift; done
rm -rf pids codes && mkdir pids codes
%s sh -c '"$@" & echo $! >"pids/$!"; wait $!; echo $? >"codes/$$"' sh "$@"
exit "$(cat codes/* | sort -n | tail -n 1)"
"""
SCONTROL = """#!/bin/sh
echo "scontrol $*" >>calls
exit 0
"""


def executable(name, text):
    driver.write(name, text)
    os.chmod(name, 0o755)


# Some 1000 steps.
IN_TIME = "[mesh]\nelements = 3 3 3\n[discretization]\norder = 4\n[problem]\nsolution = cos(3*t)*(1+x*y)+z\n" \
          "kappa = 1+x\ncapacity = 2\n[time]\nend = 1\nsteps = 1000\nevery = 50\n[solver]\ntolerance = 1e-12\n"


class Job:
    """The script as Slurm starts it."""

    def __init__(self, number, *arguments, case=CASE):
        os.makedirs("bin", exist_ok=True)
        executable("bin/srun", SRUN % shlex.join([*MPIEXEC, str(RANKS)]))
        executable("bin/scontrol", SCONTROL)
        driver.write("calls", "")
        driver.write("case.ini", case)
        variables = {**os.environ, "PATH": f"{os.getcwd()}/bin:{os.environ['PATH']}", "SLURM_JOB_ID": str(number),
                     "SLURM_CPUS_PER_TASK": "1", "SP_SOLVE": PROGRAM}
        self.process = subprocess.Popen(["bash", SCRIPT, "case.ini", *arguments], env=variables, text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def ranks(self):
        names = os.listdir("pids") if os.path.isdir("pids") else []
        return [int(name) for name in names]

    def wait_for_iteration(self):
        driver.wait_for("iteration", lambda: len(self.ranks()) == RANKS and driver.iterate(self.ranks()))

    def signal(self, number):
        for rank in self.ranks():
            os.kill(rank, number)

    def end(self, code):
        self.out, _ = self.process.communicate(timeout=SECONDS)
        check(self.process.returncode == code, f"exit code {self.process.returncode}, not {code}: {self.out}")
        with open("calls", encoding="ascii") as file:
            return file.read().splitlines()


def iterations(name):
    with h5py.File(name, "r") as log:
        return int(log["residual"]["iteration"][-1]), log.attrs["status"]


def whole():
    calls = Job(1).end(0)
    check(calls == ["srun"] and not os.path.exists("case.initial.hdf"), f"whole: {calls}, {os.listdir()}")
    count, status = iterations("case.1.0.h5")
    check(status == "converged" and count > 1000, f"whole: {status}, {count} iterations")
    return count


def interrupted():
    """At the time limit; then Slurm, or the user, starts the script again."""
    count = whole()
    job = Job(2)
    job.wait_for_iteration()
    job.signal(signal.SIGTERM)
    calls = job.end(5)
    check(calls == ["srun", "scontrol requeue 2"] and os.path.exists("case.unconverged.hdf"),
          f"interrupted: {calls}, {job.out}, {os.listdir()}")
    first, status = iterations("case.2.0.h5")
    check(status == "interrupted" and 0 < first < count, f"interrupted: {status} after {first}")
    check(Job(2).end(0) == ["srun"], f"continued: {os.listdir()}")
    check(not os.path.exists("case.unconverged.hdf") and not os.path.exists("case.initial.hdf"), f"{os.listdir()}")
    check(iterations("case.2.1.h5")[1] == "converged" and os.path.getsize("case.hdf") > 0, "continued")


def crashed():
    """All ranks are killed: the script starts them again in the same job."""
    job = Job(2)
    job.wait_for_iteration()
    job.signal(signal.SIGKILL)
    calls = job.end(0)
    check(calls == ["srun", "srun"] and "exit code 137" in job.out, f"crashed: {calls}, {job.out}")
    check(iterations("case.2.1.h5")[1] == "converged", "crashed: not converged")


def read_steps(name):
    """Times, to rounding, and the values of the last state."""
    with h5py.File(name, "r") as file:
        root = file["VTKHDF"]
        return [round(t, 9) for t in root["Steps/Values"][:]], root["PointData/u"][root["Steps/PointDataOffsets/u"][-1]:]


def in_time():
    """At the time limit, then by a crash: each part continues after the last step of the one before."""
    check(Job(1, case=IN_TIME).end(0) == ["srun"], "in time")
    times, whole = read_steps("case.hdf")
    for part, (number, code) in enumerate(((signal.SIGTERM, 5), (signal.SIGKILL, 0))):
        if part == 0:
            os.remove("case.hdf")
        job = Job(3, case=IN_TIME)
        job.wait_for_iteration()
        driver.wait_for("the first state", lambda: os.path.exists("case.hdf"))
        time.sleep(0.2)
        job.signal(number)
        job.end(code)
    parts = [read_steps(name) for name in ("case.3.1.hdf", "case.3.2.hdf", "case.hdf")]
    found = [t for part in parts for t in part[0]]
    check(found == sorted(set(found)) and set(times) <= set(found), f"in time: {[part[0] for part in parts]}, not {times}")
    off = abs(parts[-1][1][:len(whole)] - whole).max()
    check(off < 1e-10, f"in time: off by {off:.1e}")
    check(not os.path.lexists("case.initial.hdf") and not os.path.exists("case.running"), f"{os.listdir()}")


def main():
    driver.side_by_side([(interrupted,), (crashed,), (in_time,)])
    driver.finish()


driver.start("slurm", PROGRAM, MPIEXEC)
main()
