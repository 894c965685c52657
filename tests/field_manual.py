#!/usr/bin/env python3
"""Run the Python code that io/README.md gives for the field file, on fields of one and of four ranks.

The value that the code prints must agree with the exact solution of inputs/cube.ini at that point."""

import math
import os
import re
import sys

import driver
import optional
from driver import check

vtk = optional.need_vtk()

PROGRAM, SOURCE = (os.path.abspath(path) for path in sys.argv[1:3])
ELEMENTS = 512
driver.start("field_manual", PROGRAM, sys.argv[3:])


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
    run = driver.Run(ranks, [case, "output.log="]).expect(ranks, 0)
    largest = re.search(r"^ +errors +L2 .* max (\S+)", run.out, re.MULTILINE)
    point = re.search(r"InsertNextPoint\((.*), (.*), (.*)\)", code)
    if not check(largest and point, f"no errors, or no point in the code: {run.out}"):
        return
    lines = driver.good(sys.executable, "-c", code).splitlines()
    if not check(len(lines) == 2 and lines[0].startswith(f"{ELEMENTS} elements, u in"), f"{ranks} ranks: {lines}"):
        return
    # sp_solve's maximum is over its error quadrature, which is fine enough for a factor of two.
    tolerance = 2 * float(largest.group(1))
    check(tolerance < 1e-7, f"{ranks} ranks: the tolerance {tolerance:.1e} proves nothing")
    value, expected = float(lines[1]), exact(*(float(x) for x in point.groups()))
    check(abs(value - expected) <= tolerance, f"{ranks} ranks: u = {value}, exact {expected} +- {tolerance:.1e}")


def main():
    for ranks in 1, 4:
        check_field(code_of_manual(), ranks)
    print(f"field_manual: VTK {vtk.vtkVersion.GetVTKVersion()}")


driver.in_folder(main)
driver.finish()
