#!/usr/bin/env python3
"""The inputs that users copy: each runs on one rank and on four, with an error below a limit, and with the
right results. The zero of temperatures does not matter (tests/stiff.c).

The test fails for an input without a limit in the table, so that a new one gets its line."""

import os
import re
import sys

import driver
from driver import Run, check

PROGRAM, INPUTS = (os.path.abspath(path) for path in sys.argv[1:3])

# The largest L2 error: twice the measured discretization error (which does not depend on the number of
# ranks); for solutions in the finite element space, the error that a relative residual of 1e-10 leaves.
LIMITS = {
    "blocks.ini": 1.1e-7,
    "board.ini": None,  # without an exact solution
    "chip.ini": None,
    "coefficients.ini": 1.6e-8,
    "cube.ini": 3.1e-10,
    "deformed.ini": 3.6e-9,
    "furnace.ini": None,
    "heat_sink.ini": None,
    "heat_up.ini": None,
    "kershaw.ini": 7.5e-5,
    "kershaw_bps5.ini": None,
    "mass.ini": 7.1e-8,
    "module.ini": None,
    "neumann.ini": 2.6e-10,
    "part.ini": None,
    "periodic.ini": 2.8e-6,
    "robin.ini": 1e-9,
    "shell.ini": 8.3e-6,
    "slab_jump.ini": 2.3e-13,  # rounding times the ratio of kappa
}

# Overrides that make large cases small.
SMALLER = {"kershaw_bps5.ini": ["mesh.elements=6 4 4"], "heat_up.ini": ["time.steps=40", "time.every=40"],
           "furnace.ini": ["time.steps=12", "time.every=12"]}

# Results and their tolerances. Fluxes that the source determines, averages over plates that carry a known
# flux, and all results of the slab are exact up to the solver's tolerance. The others are results of order 6 after
# a refinement, with twice the difference from the results of the input.
RESULTS = {
    "board.ini": {"hottest": (84.832400, 0.0032), "chip": (84.351127, 0.0033), "board": (75.350130, 7.5e-4),
                  "into the board": (1.8826252, 7e-6), "to its surface": (4.5751617, 0.0017), "out": (2, 1e-9)},
    "chip.ini": {"hottest": (109.032661, 0.061), "core": (94.345110, 7.1e-4),
                 "rest of the die": (50.029732, 3.7e-4), "glue": (47.804090, 4e-4),
                 "plate": (40 + 30 / (0.4 * 16 * 16), 1e-8), "heat": (30, 1e-9)},
    "heat_sink.ini": {"hottest": (108.502487, 0.019), "heater": (106.856752, 0.020),
                      "sink": (100.121455, 1.5e-3), "through fins": (16.1076845, 2.3e-4),
                      "through base": (3.8923155, 2.3e-4)},
    # Within 0.01 of CalculiX (72.309) and of hexahedra of order 8 (72.318)
    "module.ini": {"Tj": (72.3135, 0.0055)},
    "furnace.ini": {"core": (1036.038200, 1.1e-4), "surface": (1070.961072, 3.7e-5), "billet": (1055.875831, 5.5e-5)},
    "heat_up.ini": {"junction": (44.754372, 0.016), "plate": (36.3240655, 1e-5)},
    # Of half the size and order 4; the area of the pin's top is known
    "part.ini": {"hottest": (90.54404, 0.062), "pin": (87.998247, 0.061), "out": (30.787608, 9.6e-3)},
    "robin.ini": {"loss": (1.6, 1e-9), "wall": (1.8, 1e-9)},
    "slab_jump.ini": {"heat": (2000 / 1001, 1e-11), "insulator": (1 - 500 / 1001, 1e-12),
                      "metal": (0.5 / 1001, 1e-14)},  # 12 digits are printed
}

# All heat that the source makes leaves through these groups.
SOURCES = {"board.ini": (2, ["out"]), "chip.ini": (30, ["heat"]), "heat_sink.ini": (20, ["through fins", "through base"])}

driver.start("inputs", PROGRAM, sys.argv[3:])


def run(name, ranks, *arguments):
    return Run(ranks, [os.path.join(INPUTS, name), *SMALLER.get(name, []), *arguments]).expect(ranks, 0)


def results_of(output):
    """The values of the table of results by name."""
    table = output.partition("\n  result  ")[2]
    lines = re.findall(r"^  (\S.*?) +(?:integral|average|norm|minimum|maximum|flux|resistance) .*? (\S+)(?: \S+)?  "
                       r"(?:area|volume|at|heat) ", table, re.MULTILINE)
    return {name: float(value) for name, value in lines}


def check_results(name, label, output):
    found, expected = results_of(output), RESULTS.get(name, {})
    check(set(found) == set(expected), f"{label}: results {sorted(found)}")
    for result in set(found) & set(expected):
        value, tolerance = expected[result]
        check(abs(found[result] - value) <= tolerance, f"{label}: {result} {found[result]}, not {value} +- {tolerance}")


def check_balance(name, label, output):
    """The fluxes balance, and the heat of the source leaves: relative to the source, to rounding."""
    imbalance = re.search(r"^  imbalance .*, (\S+) of the largest$", output, re.MULTILINE)
    check(imbalance and float(imbalance.group(1)) <= 1e-10, f"{label}: imbalance {imbalance and imbalance.group(1)}")
    if name in SOURCES:
        source, groups = SOURCES[name]
        found = results_of(output)
        left = sum(found.get(group, 0) for group in groups)
        check(abs(left - source) <= 1e-10 * source, f"{label}: {left} leaves of {source}")


def check_input(name):
    for ranks in 1, 4:
        done = run(name, ranks)
        label = f"{name}, {ranks} ranks"
        found = re.search(r"^ +errors +L2 (\S+) ", done.out, re.MULTILINE)
        limit = LIMITS.get(name, 0)
        check(not done.err and bool(found) == (limit is not None), f"{label}: {done.err}{done.out}")
        check(not found or float(found.group(1)) <= limit, f"{label}: L2 error {found and found.group(1)}")
        check_results(name, label, done.out)
        if name in ("board.ini", "chip.ini", "heat_sink.ini", "slab_jump.ini"):
            check_balance(name, label, done.out)
        check(sorted(os.listdir()) == ["run.h5", "run.hdf"], f"{label}: files {os.listdir()}")


def main():
    names = sorted(name for name in os.listdir(INPUTS) if name.endswith(".ini"))
    check(names == sorted(LIMITS), f"{sorted(set(names) ^ set(LIMITS))}: in inputs/ or in the table, not in both")
    driver.side_by_side([(check_input, name) for name in names])
    driver.finish()


main()
