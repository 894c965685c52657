#!/usr/bin/env python3
"""Output on a terminal while the program runs; the table accounts for the wall clock.

Needs only Python."""

import os
import pty
import re
import subprocess
import sys
import time

import driver
from driver import Run, check

PROGRAM, INPUTS = (os.path.abspath(path) for path in sys.argv[1:3])
MPIEXEC = sys.argv[3:]
driver.start("terminal", PROGRAM, MPIEXEC)

# Every phase of the set-up, and the iteration, takes tenths of a second at least.
LONG = ["mesh.elements=16 16 16", "discretization.order=6", "solver.preconditioner=jacobi",
        "problem.solution=sin(3*x)*exp(y)*cos(z)+z^3", "output.log=", "output.field=run.hdf",
        "solver.tolerance=1e-3"]
SET_UP = ("mesh", "device", "numbering", "problem", "operator", "preconditioner")
TOP = ("start", "case", *SET_UP, "solve", "solution", "errors", "probes", "results", "field", "log", "rest")
OF_SOLVE = ("matvec", "vectors", "precondition", "residual", "reductions", "rest of solve")


class Watched:
    """A run on a pseudo-terminal: `lines` as they stand in the end, and `raw`."""

    def __init__(self, command):
        self.name = " ".join(command[1:])
        master, slave = pty.openpty()
        # The program checks the output of its parent: a shell on the terminal, as in real life.
        process = subprocess.Popen(["sh", "-c", '"$@"; exit $?', "sh", *command], stdout=slave,
                                   stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        os.close(slave)
        self.raw = b""
        try:
            while data := os.read(master, 65536):
                self.raw += data
        except OSError:  # Linux: the other end is closed
            pass
        os.close(master)
        self.err = process.stderr.read().decode()
        process.stderr.close()
        self.code = process.wait(driver.SECONDS)
        self.lines = driver.on_screen(self.raw).split("\n")


def table(name, lines):
    """The phase table: {phase: (indentation, [min, mean, max], share)}."""
    rows = {}
    for line in lines:
        found = re.match(r"^  ( *)(\S+(?: \S+)*?)  +(?:\d+ +)?(-?\d\S*) +(-?\d\S*) +(-?\d\S*) +"
                         r"(-?[\d.]+) %$", line)
        if found:
            seconds = [float(found.group(column)) for column in (3, 4, 5)]
            rows[found.group(2)] = (len(found.group(1)), seconds, float(found.group(6)))
    check("total" in rows and "solve" in rows, f"{name}: no phase table in {lines}")
    return rows


def watched(ranks):
    """The last line shows the current phase; long phases of the set-up leave a line."""
    command = [PROGRAM] if ranks == 1 else [*MPIEXEC, str(ranks), PROGRAM]
    run = Watched([*command, *LONG])
    check(run.code == 0, f"{run.name}: exit code {run.code}: {run.err}")
    table(run.name, run.lines)
    for phase in SET_UP:
        check(f"  set-up: {phase} ...".encode() in run.raw, f"{run.name}: no '{phase}' in {run.raw!r}")
    left = [line for line in run.lines if line.startswith("  set-up: ")]
    check(all(re.fullmatch(r"  set-up: \w+ \.\.\. \S+ s", line) for line in left), f"{left}")
    for name in "errors", "field":
        check(f"  {name} ...".encode() in run.raw, f"{run.name}: no '{name}' in {run.raw!r}")
    progress = re.findall(r"  iteration (\d+), (?:relative residual|error estimate) \S+e-\d\d, (\S+) it/s(.*?)\r",
                          run.raw.decode())
    estimates = [found[2] for found in progress if found[2]]
    check(len(progress) > 3 and len(estimates) > 1, f"{run.name}: progress {progress}")
    check(all(float(rate) > 0 for _, rate, _ in progress), f"{run.name}: rates {progress}")
    check(all(re.fullmatch(r", about \d+ s left", text) for text in estimates),
          f"{run.name}: estimates {estimates}")
    overwritten = re.findall(rb"([^\r\n]+)\r\033\[K", run.raw)
    check(overwritten and all(len(line) < 80 for line in overwritten),
          f"{run.name}: no progress line, or one that wraps: {overwritten}")


def sums(ranks):
    """Rows add up to the phase that they are parts of, to the printed digits, and the rest is small: no phase is
    missing."""
    begin = time.monotonic()
    run = Run(ranks, [os.path.join(INPUTS, "cube.ini"), "mesh.refine=1", "discretization.order=6",
                      "probe.middle=0.5 0.5 0.5"]).expect(ranks, 0)
    wall = time.monotonic() - begin
    rows = table(run.name, run.out.split("\n"))
    for whole, parts, indented in ("total", TOP, 0), ("solve", OF_SOLVE, 2):
        mean = [rows[part][1][1] for part in parts if part in rows]
        rounding = sum(0.005 * abs(seconds) for seconds in mean) + 0.005 * rows[whole][1][1]
        check(abs(sum(mean) - rows[whole][1][1]) <= rounding, f"{run.name}: {whole}: {rows}")
        shares = [rows[part][2] for part in parts if part in rows]
        check(abs(sum(shares) - 100) <= 0.05 * len(shares), f"{run.name}: shares {shares} of {whole}")
        check(all(rows[part][0] == indented for part in parts if part in rows), f"{run.name}: {rows}")
    check(("exchange wait" in rows) == ("reductions" in rows) == (ranks > 1), f"{run.name}: {rows}")
    total = rows["total"][1]
    check(0.2 <= total[0] and total[2] <= wall + 0.02, f"{run.name}: {total} s, of {wall} s outside")
    for rest, whole in ("rest", "total"), ("rest of solve", "solve"):
        least, mean, _ = rows[rest][1]
        check(least >= -1e-6, f"{run.name}: {rest} of {least} s")
        check(mean < 0.1 * rows[whole][1][1], f"{run.name}: {mean} s are in no row of {whole}")


def whole_process():
    """The wall clock counts from the start of the process, not from MPI_Init."""
    waits = 'sh -c \'sleep 1; exec "$@"\' sh'
    for ranks in 1, 2:
        run = Run(ranks, ["mesh.elements=2 2 2", "discretization.order=2", "problem.solution=x^2"], waits)
        run.expect(ranks, 0)
        rows = table(run.name, run.out.split("\n"))
        # 10 ms is the clock tick of /proc.
        check(rows["start"][1][0] >= 0.99 and rows["total"][1][0] >= rows["start"][1][0] * 0.995,
              f"{run.name}: {rows}")


def last_line(ranks):
    """Standard output ends with the outcome; the error stays on standard error."""
    case = ["mesh.elements=4 4 4", "discretization.order=4", "problem.solution=sin(3*x)*y", "output.log=",
            "output.field="]
    ends = (
        (0, [], r"CONVERGED in \d+ iterations"),
        (2, ["solver.preconditioner=jacobi", "solver.max_iterations=30", "solver.tolerance=1e-12"],
         "NOT CONVERGED in 30 iterations: try solver.preconditioner = multigrid, "
         r"or solver.max_iterations = [1-9]\d+"),
        (2, ["solver.preconditioner=none", "mesh.elements=6 2 2", "discretization.order=1", "solver.tolerance=1e-4",
             "region.a.upper=0.5 1 1", "material.a.kappa=1e15", "problem.solution=", "problem.forcing=sin(3*x)+y*z",
             "boundary.default=neumann 0", "boundary.xmin=dirichlet 0", "boundary.xmax=dirichlet 1"],
         r"NOT CONVERGED in \d+ iterations: try solver.preconditioner = multigrid"),
        (2, ["solver.max_iterations=5", "solver.tolerance=1e-13"],
         r"NOT CONVERGED in 5 iterations: try solver.max_iterations = [1-9]\d*"),
        (1, ["mesh.file=absent.msh", "mesh.elements="],
         "FAILED with exit code 1: the reason is on standard error"))
    for code, arguments, expected in ends:
        run = Run(ranks, [*case, *arguments]).expect(ranks, code)
        last = run.out.rstrip("\n").split("\n")[-1]
        check(re.fullmatch("  " + expected, last), f"{run.name}: the last line is {last!r}")
        check(run.out.upper().count("CONVERGED") == (code != 1), f"{run.name}: said twice: {run.out!r}")
        check(len(run.lines) == (code > 0), f"{run.name}: {run.err!r}")


def main():
    driver.side_by_side([(watched, 2), (watched, 1), (sums, 2), (sums, 1), (whole_process,), (last_line, 2)])
    driver.finish()


main()
