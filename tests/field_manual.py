#!/usr/bin/env python3
"""Run the Python code that io/README.md gives for the field file, on fields of one and of four ranks.

    field_manual.py SP_SOLVE SOURCE MPIEXEC...      MPIEXEC... ends with the flag for the number of ranks

The value that the code prints must agree with the exact solution of inputs/cube.ini at that point.
Exit code 0: it does, 1: it does not, 77: this Python has no VTK with vtkHDFReader."""

import math
import os
import re
import subprocess
import sys
import tempfile

import optional

vtk = optional.need_vtk()

PROGRAM, SOURCE = (os.path.abspath(path) for path in sys.argv[1:3])
MPIEXEC = sys.argv[3:]
SECONDS = 60
ELEMENTS = 512

failures = 0


def check(condition, text):
    global failures
    if not condition:
        failures += 1
        print("field_manual:", text)


def code_of_manual():
    with open(os.path.join(SOURCE, "io", "README.md"), encoding="utf-8") as file:
        blocks = re.findall(r"^```python\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)
    blocks = [block for block in blocks if "vtkHDFReader" in block]
    check(len(blocks) == 1, f"{len(blocks)} blocks of Python with vtkHDFReader in io/README.md")
    return blocks[0] if blocks else ""


def exact(x, y, z):
    return math.sin(math.pi * x) * math.sin(math.pi * y) * math.sin(math.pi * z) + x * y


def check_field(code, ranks):
    case = os.path.join(SOURCE, "inputs", "cube.ini")
    done = subprocess.run(MPIEXEC + [ranks, PROGRAM, case, "output.log="], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=SECONDS, check=False)
    largest = re.search(r"^ +errors +L2 .* max (\S+)", done.stdout, re.MULTILINE)
    check(done.returncode == 0 and largest,
          f"{ranks} ranks: exit code {done.returncode}: {done.stderr}{done.stdout}")
    point = re.search(r"InsertNextPoint\((.*), (.*), (.*)\)", code)
    check(point, "no point in the code")
    if failures:
        return
    done = subprocess.run([sys.executable, "-c", code], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=SECONDS, check=False)
    check(done.returncode == 0 and not done.stderr,
          f"{ranks} ranks: exit code {done.returncode}: {done.stderr}{done.stdout}")
    lines = done.stdout.splitlines()
    check(len(lines) == 2 and lines[0].startswith(f"{ELEMENTS} elements, u in"),
          f"{ranks} ranks: unexpected output: {done.stdout}")
    if failures:
        return
    # sp_solve's maximum is over its error quadrature, which is fine enough for a factor of two.
    tolerance = 2 * float(largest.group(1))
    check(tolerance < 1e-7, f"{ranks} ranks: the tolerance {tolerance:.1e} proves nothing")
    value, expected = float(lines[1]), exact(*(float(x) for x in point.groups()))
    check(abs(value - expected) <= tolerance,
          f"{ranks} ranks: u = {value}, exact {expected} +- {tolerance:.1e}")


def main():
    code = code_of_manual()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for ranks in "1", "4":
            check_field(code, ranks)
        os.chdir("/")
    print(f"field_manual: VTK {vtk.vtkVersion.GetVTKVersion()}, {failures} failures")
    return 1 if failures else 0


sys.exit(main())
