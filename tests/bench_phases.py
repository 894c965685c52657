#!/usr/bin/env python3
"""What each phase of a run costs: seconds, elements per second, and how many applications of the operator
take as long. It prints and does not judge.

    bench_phases.py SP_SOLVE [SCALE]       SCALE times as many elements along each edge; 1 by default, which
                                           has about a million degrees of freedom
    MPIEXEC="mpirun -n 4" bench_phases.py SP_SOLVE

Exit code 77 (skipped) without h5py."""

import os
import subprocess
import sys
import tempfile

import optional

h5py, numpy = optional.need("h5py", "numpy")

SOLVE, SCALE = os.path.abspath(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 1
SOLUTION = "problem.solution=sin(3*x)*exp(y)*cos(2*z)"
CASES = (("N = 1", 1, 96, ()),
         ("N = 3", 3, 32, ()),
         ("N = 7", 7, 14, ()),
         ("N = 7, kappa and lambda vary", 7, 14, ("problem.kappa=1+x*y", "problem.lambda=2+sin(z)")),
         ("N = 7, bp3.0", 7, 14, ("discretization.operator=bp3.0",)))
LEFT_OUT = ("total", "rest", "rest of solve", "start", "case")


def run(order, elements, settings):
    """The phases of a run and its seconds per application of the operator."""
    width = max(2, round(SCALE * elements))
    command = [*os.environ.get("MPIEXEC", "").split(), SOLVE, "-q", f"mesh.elements={width} {width} {width}",
               "mesh.map=sine", f"discretization.order={order}", SOLUTION, "output.log=run.h5", *settings]
    subprocess.run(command, check=True)
    with h5py.File("run.h5", "r") as log:
        seconds = float(numpy.median(log["matvec"]["seconds"]))
        return log["phases"][:], seconds, int(log.attrs["elements"]), int(log.attrs["dofs"])


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, order, elements, settings in CASES:
            rows, matvec, count, dofs = run(order, elements, settings)
            print(f"\n{name}: {count} elements, {dofs} degrees of freedom, {1e3 * matvec:.3g} ms per application")
            print(f"{'phase':<16} {'seconds':>9} {'elements/s':>12} {'applications':>13}")
            for row in rows:
                phase, seconds = row["name"].decode(), float(row["seconds_max"])
                if phase not in LEFT_OUT and row["part_of"].decode() == "total" and seconds > 0:
                    print(f"{phase:<16} {seconds:>9.3g} {count / seconds:>12.3g} {seconds / matvec:>13.3g}")
        os.chdir("/")


main()
