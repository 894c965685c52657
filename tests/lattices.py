#!/usr/bin/env python3
"""Iterations on random lattices: two to four thin layers, 1e-3 to 1e-1 of the box, that cross, end inside it, have
contacts, and are held at some of their ends. COUNT lattices, 30 if not given: lattices.py FIXTURES INPUTS [COUNT]."""

import random
import sys

import cases
from cases import record
from driver import check

COUNT = int(sys.argv[3]) if len(sys.argv) > 3 else 30
LAYERS, AXES = "stuv", "xyz"


def cut(at, size, axis, thickness):
    """The corners of a layer across `axis`; it may end inside the box in the other directions."""
    low, high = [0] * 3, list(size)
    low[axis] = round(at.uniform(0.15, 0.8) * size[axis], 3)
    high[axis] = round(low[axis] + thickness, 4)
    for d in range(3):
        if d != axis and at.random() < 0.4:
            at.choice((low, high))[d] = round(at.uniform(0.2, 0.7) * size[d], 3)
    return low, high


def lattice(seed):
    """The settings of a lattice; every second one has contacts."""
    at = random.Random(seed)
    size = [at.choice((1, 1, 1.5, 2)) for _ in range(3)]
    keys = {"mesh.upper": "{} {} {}".format(*size), "mesh.size": at.choice((0.4, 0.5, 0.7, 1)), "mesh.grading": "no",
            "discretization.order": at.choice((2, 3, 4)), "boundary.default": "neumann 0", "problem.forcing": 1}
    held = False
    for name in LAYERS[:at.randint(2, 4)]:
        axis = at.randrange(3)
        low, high = cut(at, size, axis, 10 ** at.uniform(-3, -1))
        for corner, point in ("lower", low), ("upper", high):
            keys[f"region.{name}.{corner}"] = "{} {} {}".format(*point)
        keys[f"material.{name}.kappa"] = 10 ** at.uniform(-3, 3)
        if seed % 2 and at.random() < 0.7:
            keys[f"boundary.{name}.{AXES[axis]}{at.choice(('min', 'max'))}"] = f"contact {10 ** at.uniform(-9, 0)}"
        ends = [AXES[d] + side for d in range(3) if d != axis for side, outside in
                (("min", low[d] == 0), ("max", high[d] == size[d])) if outside]
        if ends and at.random() < 0.4:
            keys[f"boundary.{name}.{at.choice(ends)}"] = "dirichlet 0"
            held = True
    if not held:
        for face in at.sample([axis + side for axis in AXES for side in ("min", "max")], at.randint(1, 3)):
            keys[f"boundary.{face}"] = at.choice(("dirichlet 0", "robin 1, 0", "robin 100, 0"))
    return keys


def iterate(seed):
    """The iterations, or None for a lattice that no mesh fits."""
    keys = lattice(seed)
    try:
        document = record(*(f"{key}={value}" for key, value in keys.items()), "solver.tolerance=1e-8",
                          "solver.smoother=schwarz", "solver.max_iterations=500")
    except cases.sp_solve.Error as error:
        misfits = "a contact must be at least two elements wide", "can have only one condition", "regions after it cover it"
        check(any(words in str(error) for words in misfits), f"seed {seed}, {keys}: {error}")
        return None
    return document["iterations"]


def count():
    counts = sorted((n, seed) for seed in range(COUNT) if (n := iterate(seed)) is not None)
    numbers = [n for n, _ in counts]
    mean, twentieth = sum(numbers) / len(numbers), numbers[-1 - len(numbers) // 20]
    print(f"{len(counts)} lattices: {mean:.1f} iterations on average, the slowest twentieth from {twentieth}, at most "
          "{} (seed {})".format(*counts[-1]), flush=True)
    check(mean <= 10 and twentieth <= 25 and numbers[-1] <= 60, f"more than 10, 25 and 60: {counts}")


cases.run(count)
