#!/usr/bin/env python3
"""The inputs that users copy: each runs on one rank and on four, with an error below a limit, and with the
right results. Where materials matter, results change if one of them is left out. Where temperatures are
counted from does not matter.

    inputs.py SP_SOLVE INPUTS MPIEXEC...      MPIEXEC... ends with the flag for the number of ranks

The test fails for an input without a limit in the table, so that a new one gets its line."""

import json
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
    "chip.ini": None,  # without an exact solution
    "coefficients.ini": 1.6e-8,
    "cube.ini": 3.1e-10,
    "deformed.ini": 3.6e-9,
    "heat_sink.ini": None,
    "kershaw.ini": 7.5e-5,
    "kershaw_bps5.ini": None,
    "mass.ini": 7.1e-8,
    "neumann.ini": 2.6e-10,
    "periodic.ini": 2.8e-6,
    "robin.ini": 1e-9,
    "shell.ini": 8.3e-6,
    "slab_jump.ini": 2.3e-13,  # rounding times the ratio of kappa
}

# What makes a large case small.
SMALLER = {"kershaw_bps5.ini": ["mesh.elements=6 4 4"]}

# Results and their tolerances. Fluxes that the source determines, averages over plates that carry a known
# flux, and all results of the slab are exact up to the solver's tolerance. The others are those of order 6
# after a refinement, with twice their difference to those of the input.
RESULTS = {
    "chip.ini": {"hottest": (109.032661, 0.061), "core": (94.345110, 7.1e-4),
                 "rest of the die": (50.029732, 3.7e-4), "glue": (47.804090, 4e-4),
                 "plate": (40 + 30 / (0.4 * 16 * 16), 1e-8), "heat": (30, 1e-9)},
    "heat_sink.ini": {"hottest": (108.502487, 0.019), "heater": (106.856752, 0.020),
                      "sink": (100.121455, 1.5e-3), "through fins": (16.1076845, 2.3e-4),
                      "through base": (3.8923155, 2.3e-4)},
    "robin.ini": {"loss": (1.6, 1e-9), "wall": (1.8, 1e-9)},
    "slab_jump.ini": {"heat": (2000 / 1001, 1e-11), "insulator": (1 - 500 / 1001, 1e-12),
                      "metal": (0.5 / 1001, 1e-14)},  # 12 digits are printed
}

# All heat that the source makes leaves through these groups.
SOURCES = {"chip.ini": (30, ["heat"]), "heat_sink.ini": (20, ["through fins", "through base"])}

# Keys whose absence must change a result: without it a material conducts 1, or makes no heat.
MATERIALS = {
    "chip.ini": ["core.kappa", "core.forcing", "die.kappa", "glue.kappa", "plate.kappa"],
    "heat_sink.ini": ["sink.kappa", "plate.kappa", "heater.kappa", "heater.forcing"],
}

# Conditions with all temperatures counted from SHIFT degrees lower.
SHIFT = 1e4
SHIFTED = {
    "chip.ini": ["boundary.bottom=dirichlet 40+1e4"],
    "heat_sink.ini": ["boundary.fins=robin 5e-5, 5e-5*(25+1e4)", "boundary.base=robin 5e-5, 5e-5*(25+1e4)"],
    "robin.ini": ["problem.solution=1e4+5-3.2*z", "boundary.zmin=dirichlet 1e4+5", "boundary.zmax=robin 2, 2*(1e4+1)"],
}

failures = 0


def fail(text):
    global failures
    failures += 1
    print("inputs:", text)


def run(name, ranks, *arguments):
    command = MPIEXEC + [ranks, PROGRAM, os.path.join(INPUTS, name), *SMALLER.get(name, []), *arguments]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=SECONDS, check=False)


def results_of(output):
    """The values of the table of results by name."""
    table = output.partition("\n  result  ")[2]
    lines = re.findall(r"^  (\S.*?) +(?:integral|average|norm|minimum|maximum|flux) .*? (\S+)  "
                       r"(?:area|volume|at) ", table, re.MULTILINE)
    return {name: float(value) for name, value in lines}


def wrong_results(name, output):
    """One text for each result that is missing or outside its tolerance."""
    found, wrong = results_of(output), []
    for result, (expected, tolerance) in RESULTS.get(name, {}).items():
        if result not in found:
            wrong.append(f"no result '{result}'")
        elif not abs(found[result] - expected) <= tolerance:
            wrong.append(f"{result} {found[result]}, not {expected} +- {tolerance}")
    if set(found) != set(RESULTS.get(name, {})):
        wrong.append(f"results {sorted(found)}")
    return wrong


def check_balance(name, ranks, output):
    """The imbalance of fluxes, and that the source leaves: relative to the source, to rounding."""
    label = f"{name}, {ranks} ranks"
    imbalance = re.search(r"^  imbalance .*, (\S+) of the largest$", output, re.MULTILINE)
    if not imbalance or not float(imbalance.group(1)) <= 1e-10:
        fail(f"{label}: imbalance {imbalance and imbalance.group(1)}")
    if name in SOURCES:
        source, groups = SOURCES[name]
        found = results_of(output)
        left = sum(found.get(group, 0) for group in groups)
        if not abs(left - source) <= 1e-10 * source:
            fail(f"{label}: {left} leaves of {source}")


def check_materials(name):
    """At a low order, which is enough to see a change."""
    arguments = ["discretization.order=2", "output.field="]
    with_all = results_of(run(name, "2", *arguments).stdout)
    for key in MATERIALS[name]:
        done = run(name, "2", f"material.{key}=", *arguments)
        without = results_of(done.stdout)
        same = [result for result, value in with_all.items() if abs(without.get(result, value) / value - 1) < 1e-3]
        if done.returncode != 0 or not with_all or len(same) == len(with_all):
            fail(f"{name} without {key}: exit code {done.returncode}, results as with it: {done.stdout}{done.stderr}")


def check_shift(name):
    """As many iterations, and shifted back the same fluxes and extreme temperatures to 1e-12 of the shift;
    averages are sums over many points, with their own rounding."""
    both = []
    for conditions in [], SHIFTED[name]:
        done = run(name, "2", "-q", "--json", "-", "output.log=", "output.field=", "solver.tolerance=1e-8",
                   "result.low=minimum", "result.high=maximum", *conditions)
        both.append(json.loads(done.stdout))
    if both[0]["iterations"] != both[1]["iterations"]:
        fail(f"{name}: {both[0]['iterations']} iterations, shifted {both[1]['iterations']}")
    for plain, shifted in zip(both[0]["results"], both[1]["results"]):
        shift = 0 if plain["kind"] == "flux" else SHIFT
        same = abs(shifted["value"] - shift - plain["value"]) <= 1e-12 * SHIFT
        if both[1]["exit_code"] or plain["kind"] != "average" and not same:
            fail(f"{name}: {plain['name']} {plain['value']}, shifted {shifted['value']}")


def main():
    names = sorted(name for name in os.listdir(INPUTS) if name.endswith(".ini"))
    if names != sorted(LIMITS):
        fail(f"{sorted(set(names) ^ set(LIMITS))} are in inputs/ or in the table, not in both")
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        for name in names:
            for ranks in "1", "4":
                done = run(name, ranks)
                found = re.search(r"^ +errors +L2 (\S+) ", done.stdout, re.MULTILINE)
                limit = LIMITS.get(name, 0)
                if done.returncode != 0 or done.stderr or bool(found) != (limit is not None):
                    fail(f"{name}, {ranks} ranks: exit code {done.returncode}: {done.stderr}{done.stdout}")
                elif found and not float(found.group(1)) <= limit:
                    fail(f"{name}, {ranks} ranks: L2 error {found.group(1)}")
                for text in wrong_results(name, done.stdout):
                    fail(f"{name}, {ranks} ranks: {text}")
                if name in ("chip.ini", "heat_sink.ini", "slab_jump.ini"):
                    check_balance(name, ranks, done.stdout)
                for output in "run.h5", "run.hdf":
                    if not os.path.exists(output):
                        fail(f"{name}, {ranks} ranks: no {output}")
                    else:
                        os.remove(output)
        for name in MATERIALS:
            check_materials(name)
        for name in SHIFTED:
            check_shift(name)
        os.chdir("/")
    print(f"inputs: {len(names)} inputs, {failures} failures")
    return 1 if failures or not names else 0


sys.exit(main())
