#!/usr/bin/env python3
"""The inputs that users copy: each runs on one rank and on four, with an error below a limit.

    inputs.py SP_SOLVE INPUTS MPIEXEC...      MPIEXEC... ends with the flag for the number of ranks

The test fails for an input without a limit in the table, so that a new one gets its line."""

import os
import re
import subprocess
import sys
import tempfile

PROGRAM, INPUTS = (os.path.abspath(path) for path in sys.argv[1:3])
MPIEXEC = sys.argv[3:]
SECONDS = 60

# The largest L2 error: twice the measured discretization error (which does not depend on the number of
# ranks); for solutions in the finite element space, the error that a relative residual of 1e-10 leaves.
LIMITS = {
    "blocks.ini": 1.1e-7,
    "coefficients.ini": 1.6e-8,
    "cube.ini": 3.1e-10,
    "deformed.ini": 3.6e-9,
    "kershaw.ini": 7.5e-5,
    "kershaw_bps5.ini": None,  # without an exact solution
    "mass.ini": 7.1e-8,
    "neumann.ini": 2.6e-10,
    "periodic.ini": 2.8e-6,
    "robin.ini": 1e-9,
    "shell.ini": 8.3e-6,
}

# What makes a large case small.
SMALLER = {"kershaw_bps5.ini": ["mesh.elements=6 4 4"]}

failures = 0


def fail(text):
    global failures
    failures += 1
    print("inputs:", text)


def main():
    names = sorted(name for name in os.listdir(INPUTS) if name.endswith(".ini"))
    if names != sorted(LIMITS):
        fail(f"{sorted(set(names) ^ set(LIMITS))} are in inputs/ or in the table, not in both")
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        for name in names:
            for ranks in "1", "4":
                command = MPIEXEC + [ranks, PROGRAM, os.path.join(INPUTS, name), *SMALLER.get(name, [])]
                done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                      timeout=SECONDS, check=False)
                found = re.search(r"^ +errors +L2 (\S+) ", done.stdout, re.MULTILINE)
                limit = LIMITS.get(name, 0)
                if done.returncode != 0 or done.stderr or bool(found) != (limit is not None):
                    fail(f"{name}, {ranks} ranks: exit code {done.returncode}: {done.stderr}{done.stdout}")
                elif found and not float(found.group(1)) <= limit:
                    fail(f"{name}, {ranks} ranks: L2 error {found.group(1)}")
                for output in "run.h5", "run.hdf":
                    if not os.path.exists(output):
                        fail(f"{name}, {ranks} ranks: no {output}")
                    else:
                        os.remove(output)
        os.chdir("/")
    print(f"inputs: {len(names)} inputs, {failures} failures")
    return 1 if failures or not names else 0


sys.exit(main())
