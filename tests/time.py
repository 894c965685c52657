#!/usr/bin/env python3
"""Cases in time: rates of the schemes, heat balance of each step, limits, a stack against finite volumes, times of
output, series of fields. Restarts, also after a signal and on a full disk. Refusals."""

import json
import math
import os
import signal
import subprocess
import sys
from time import sleep

import driver
import optional
from driver import Run, check, settings

h5py, np = optional.need("h5py", "numpy")
PROGRAM = os.path.abspath(sys.argv[1])
driver.start("time", sys.argv[1], sys.argv[2:])
RANKS = (1, 2, 4)
# In the finite element space at each t, with all conditions in motion.
MOVING = settings("mesh.elements=2 2 2; discretization.order=3; problem.solution=(1+x+y*z)*cos(3*t)+x*x; "
                  "problem.kappa=1+x; problem.lambda=0.5; problem.capacity=2+y; boundary.default=dirichlet; "
                  "boundary.xmax=neumann; boundary.ymin=robin 3; solver.tolerance=1e-12; time.end=1; output.field=; "
                  "output.log=")


def solve(ranks, *arguments):
    return driver.record(ranks, *arguments, "output.log=")


def rows(document):
    return document["history"]


def check_balance(label, document):
    """Source - stored - absorbed - out = 0 at each row but the initial one, which has no du/dt."""
    for row in rows(document):
        if row["time"] == 0:
            check(row["heat.stored"] is None and row["heat.imbalance"] is None, f"{label}: initial row {row}")
            continue
        largest = max(abs(value) for name, value in row.items() if name.startswith(("balance.", "heat.")))
        check(abs(row["heat.imbalance"]) <= 1e-10 * largest + 1e-14,
              f"{label}: imbalance {row['heat.imbalance']:.1e} of {largest:.3g} at t = {row['time']}")


def rates(scheme, order):
    """The error at the end falls with the order of the scheme, for both operators. Runs of a study equal single
    runs."""
    for operator in "bp3.5", "bp3.0":
        case = [*MOVING, f"discretization.operator={operator}", f"time.scheme={scheme}", "solver.tolerance=1e-13"]
        study = solve(1, *case, "time.step=0.05", "--study", "step=0:2")["study"]
        check([(row["step"], row["L2_expected"], row["H1_expected"]) for row in study] == [(k, order, order) for k in range(3)]
              and np.allclose([row["dt"] for row in study], [0.05, 0.025, 0.0125]), f"{scheme}, {operator}: {study}")
        check(abs(study[2]["L2_rate"] - order) < 0.15, f"{scheme}, {operator}: rate {study[2]['L2_rate']}, not {order}")
        for steps, row in zip((20, 40, 80), study):
            document = solve(1, *case, f"time.steps={steps}")
            check(document["errors"]["L2"] == row["L2"], f"{scheme}, {operator}, {steps} steps: {document['errors']}, {row}")
            check_balance(f"{scheme}, {operator}, {steps} steps", document)


def study():
    """Along steps: the error in space is the floor, with refinements every pair is solved, answers without a solution
    have limits, and a scheme that does not reach its order is named."""
    smooth = settings("mesh.elements=2 2 2; discretization.order=2; problem.solution=sin(3*x+y)*cos(3*t); problem.capacity=2+y; "
                      "boundary.default=dirichlet; time.end=1; time.steps=10; output.field=; output.log=")
    rows_of = solve(2, *smooth, "--study", "step=0:2", "--study", "refine=0:1")["study"]
    check([(row["refine"], row["step"]) for row in rows_of] == [(r, k) for r in (0, 1) for k in range(3)], f"pairs: {rows_of}")
    check(all(row["H1"] < row["H1_floor"] < 20 * row["H1"] for row in rows_of), f"the error in space is the floor: {rows_of}")
    decay = settings("mesh.elements=4 1 1; discretization.order=4; problem.forcing=0; problem.capacity=1; problem.initial=sin(pi*x); "
                     "boundary.xmin=dirichlet 0; boundary.xmax=dirichlet 0; boundary.default=neumann 0; result.mean=average; "
                     "time.end=0.1; time.steps=40; output.field=")
    document = solve(1, *decay, "--study", "step=0:3")
    mean = document["limits"][0]
    check(mean["step"] == 3 and abs(mean["rate"] - 2) < 0.1 and
          abs(mean["limit"] - 2 / math.pi * math.exp(-math.pi**2 * 0.1)) < mean["gci"], f"limit of the mean: {mean}")
    # The forcing jumps within steps.
    jump = [word for word in decay if "forcing" not in word] + ["problem.forcing=t < 0.0437 ? 0 : 100", "time.scheme=bdf3"]
    Run(1, ["-q", *jump, "output.log=", "--study", "step=0:2"]).expect_error(1, 4, "step 2: ")
    Run(1, [*decay, "time.steps=0", "time.tolerance=1e-2", "time.scheme=sdirk2", "--study", "step=0:2"]).expect_error(
        1, 1, "--study step=0:2: expected", "automatic")


def sealed():
    """The mean stays without sources, for constant and other capacities."""
    for scheme in "bdf2", "bdf3", "sdirk2", "cn":
        document = solve(2, *settings("mesh.elements=3 2 2; discretization.order=4; problem.initial=cos(3*x)+y*z^2; "
                                      "problem.forcing=0; problem.capacity=1+x; boundary.default=neumann 0; "
                                      "time.end=0.5; time.steps=10; result.heat=integral of (1+x)*u; output.field="),
                         f"time.scheme={scheme}", "solver.tolerance=1e-13")
        heat = [row["results.heat"] for row in rows(document)]
        check(np.ptp(heat) <= 1e-10 * abs(heat[0]), f"sealed, {scheme}: heat from {min(heat)} to {max(heat)}")


STACK = settings("mesh.elements=4 2 2; discretization.order=4; region.left.upper=0.5 1 1; region.right.lower=0.5 0 0; "
                 "material.left.kappa=3, 1, 2, 0.5, 0, 0; material.right.kappa=0.2; material.left.capacity=2; "
                 "material.right.capacity=0.5; material.left.forcing=10*y; material.right.forcing=0; boundary.default=neumann 0; "
                 "boundary.xmin=dirichlet 1; boundary.xmax=robin 2, 0.5; problem.initial=0; solver.tolerance=1e-13; "
                 "result.mean=average; result.top=maximum; output.field=")


def steady_limit():
    """After many time constants the results equal the steady ones, on any number of ranks."""
    steady = driver.values(solve(1, *[word for word in STACK if "capacity" not in word]))
    found = {}
    for ranks in RANKS:
        document = solve(ranks, *STACK, "time.end=200", "time.steps=40")
        found[ranks] = rows(document)
        check_balance(f"stack, {ranks} ranks", document)
        for name, value in driver.values(document).items():
            check(abs(value / steady[name] - 1) <= 1e-8, f"steady {name}: {value}, not {steady[name]}")
    for ranks in RANKS:
        for here, first in zip(found[ranks], found[1]):
            known = [name for name in first if first[name] is not None and name not in ("iterations", "heat.imbalance")]
            check(here.keys() == first.keys() and all(abs(here[name] - first[name]) <= 1e-9 * (1 + abs(first[name]))
                                                      for name in known), f"{ranks} ranks: {here}, {first}")


def two_layers():
    """Zth(t) of a stack of two materials, heated at x = 0, over five decades, against finite volumes in 1D."""
    n, kappa, capacity = 400, (4.0, 0.5), (1.0, 3.0)
    width = 1 / n
    k, c = (np.where(np.arange(n) < n // 2, *pair) for pair in (kappa, capacity))
    inner = 1 / (0.5 * width / k[:-1] + 0.5 * width / k[1:])
    matrix = np.zeros((n, n))
    for i, g in enumerate(inner):
        matrix[i:i + 2, i:i + 2] += g * np.array([[1, -1], [-1, 1]])
    matrix[-1, -1] += 2 * k[-1] / width
    scale = 1 / np.sqrt(c * width)
    values, vectors = np.linalg.eigh(scale[:, None] * matrix * scale)
    heated = vectors[0] * scale[0]
    surface = width / (2 * kappa[0])  # from the first centre to x = 0

    def exact(t):
        return float(heated**2 @ ((1 - np.exp(-values * t)) / values)) + surface
    case = settings("mesh.elements=16 1 1; discretization.order=6; region.a.upper=0.5 1 1; region.b.lower=0.5 0 0; "
                    "material.a.kappa=4; material.b.kappa=0.5; material.a.capacity=1; material.b.capacity=3; "
                    "problem.forcing=0; problem.initial=0; boundary.default=neumann 0; boundary.xmin=neumann 1; "
                    "boundary.xmax=dirichlet 0; result.hot=average over xmin; output.field=")
    whole = exact(1e3)
    for end in 1e-3, 1e-2, 1e-1, 1, 10:
        row = rows(solve(1, *case, f"time.end={end}", "time.steps=400", "time.every=400"))[-1]
        off = abs(row["results.hot"] - exact(end)) / whole
        check(off < 1e-4, f"Zth({end}) = {row['results.hot']}, {exact(end)} by finite volumes, off by {off:.1e}")


HEATED = settings("mesh.elements=8 1 1; discretization.order=6; problem.forcing=0; problem.capacity=1; "
                  "problem.initial=0; boundary.default=neumann 0; boundary.xmin=dirichlet 0; boundary.xmax=neumann 1; "
                  "time.end=2; time.scheme=sdirk2; solver.tolerance=1e-11; result.end=average over xmax; output.field=")


def heated_end(t):
    """The mean of u over xmax."""
    odd = np.arange(1, 4000, 2) * math.pi / 2
    return 1 - float(np.sum(2 / odd**2 * np.exp(-odd**2 * t)))


def automatic():
    """Steps follow a jump at t = 0 over five decades: u at the heated end of a slab against the series. Steps are
    dyadic, the heat of each closes, and errors fall with the tolerance, on any number of ranks."""
    errors = []
    for tolerance, ranks in ("1e-3", 1), ("1e-2", 2), ("1e-2", 4):
        history = rows(solve(ranks, *HEATED, f"time.tolerance={tolerance}"))
        times = [row["time"] for row in history]
        steps = np.diff(times)
        check(times[-1] == 2 and steps[0] < 1e-4 and steps[-1] >= 2**-4, f"steps {steps[0]} to {steps[-1]} up to {times[-1]}")
        levels = np.log2(steps / 2)
        check(np.allclose(levels, levels.round(), atol=1e-6), f"steps {steps} are the end over powers of two")
        check_balance(f"automatic, {tolerance}", {"history": history})
        errors.append(max(abs(row["results.end"] / heated_end(row["time"]) - 1)
                          for row in history if row["time"] > 1e-3))
    check(errors[1] < 1e-2 and errors[0] < errors[1] / 4, f"errors {errors}")
    check(abs(errors[1] - errors[2]) < 1e-8, f"2 and 4 ranks: {errors}")
    # Nothing changes: steps become long.
    still = rows(solve(1, *settings("mesh.elements=2 2 2; problem.kappa=1+u; problem.forcing=0; problem.capacity=1; "
                                    "problem.initial=1; boundary.default=neumann 0; time.end=1; time.scheme=sdirk2; "
                                    "time.tolerance=1e-2; output.field="), "result.mean=average"))
    check(len(still) < 20 and abs(still[-1]["results.mean"] - 1) < 1e-7, f"{len(still)} steps without a change")
    # du/dt = 0 at first, and data in motion.
    error = solve(1, *MOVING, "time.scheme=sdirk2", "time.tolerance=1e-3")["errors"]["L2"]
    check(error < 1e-3, f"automatic steps with data in motion: {error}")


def output_times():
    """Rows at given times: equal steps end there, automatic ones exactly, with the same errors as elsewhere."""
    for ranks in 1, 2:
        for steps, errors in (["time.steps=40"], 1e-2), (["time.tolerance=1e-2"], 1e-3):
            document = driver.record(ranks, *HEATED, *steps, "time.at=0.25 1.1", "output.log=run.h5")
            with h5py.File("run.h5", "r") as file:
                driver.write("again.ini", file.attrs["case"])
            history = rows(document)
            times = [row["time"] for row in history]
            check(np.allclose(times, [0, 0.25, 1.1, 2], rtol=1e-15), f"{steps}: times {times}")
            check(all(abs(row["results.end"] / heated_end(row["time"]) - 1) < errors for row in history[1:]),
                  f"{steps}: {history}")
            again = rows(driver.record(ranks, "again.ini"))
            check([row["time"] for row in again] == times, f"{steps}: the resolved case has rows at {again}")
            times = [row["time"] for row in rows(solve(ranks, *HEATED, *steps, "time.interval=0.3"))]
            check(np.allclose(times, [0, 0.3, 0.6, 0.9, 1.2, 1.5, 1.8, 2], rtol=1e-15), f"{steps}: times {times}")


def contact():
    """A contact between a hot and a cold half: each keeps its mean if it blocks, else they meet."""
    points = [(i / 2, j, k) for k in (0, 1) for j in (0, 1) for i in (0, 1, 2)]
    hexes = [(5, 1 + i, [n + i for n in (1, 2, 5, 4, 7, 8, 11, 10)]) for i in (0, 1)]
    driver.write_msh("halves.msh", points, [*hexes, (3, 11, [2, 5, 11, 8])],
                     ['3 1 "a"', '3 2 "b"', '2 11 "mid"'])
    for resistance, left in ("1e9", 0.25), ("1e-3", 0.625):
        document = solve(2, *settings("mesh.file=halves.msh; discretization.order=3; "
                                      "problem.kappa=1; problem.forcing=0; material.a.capacity=1; material.b.capacity=3; "
                                      "problem.initial=x; boundary.default=neumann 0; result.left=average over a; "
                                      "time.end=40; time.steps=20; time.every=20; output.field="),
                         f"boundary.mid=contact {resistance}")
        value = driver.values(document)["left"]
        check(abs(value - left) < 1e-6, f"contact {resistance}: {value}, not {left}")


def read_series(path):
    """Times, and [states] of {place: u}."""
    with h5py.File(path, "r") as file:
        root = file["VTKHDF"]
        points, steps = root["Points"][:], root["Steps"]
        first = steps["PointDataOffsets/u"][:]
        check(len(first) == steps.attrs["NSteps"] == len(steps["Values"]), f"{path}: {len(first)} states")
        u, places = root["PointData/u"], list(map(tuple, points.round(7)))
        states = [dict(zip(places, u[begin:begin + len(places)])) for begin in first]
        return steps["Values"][:].tolist(), states


def series():
    """Each output step is a state, with the exact values to the error of the scheme."""
    for ranks in RANKS:
        Run(ranks, [*MOVING, "time.steps=40", "time.scheme=bdf3", "time.every=15",
                    "output.field=run.hdf"]).expect(ranks, 0)
        times, states = read_series("run.hdf")
        check(np.allclose(times, [0, 0.375, 0.75, 1], atol=1e-12), f"times {times}")
        for t, state in zip(times, states):
            off = max(abs(u - (1 + x + y * z) * math.cos(3 * t) - x * x) for (x, y, z), u in state.items())
            check(off < 1e-3, f"series, {ranks} ranks, t = {t}: off by {off:.1e}")


def restart(scheme):
    """A run that continues from a series, on other ranks, equals one that was not interrupted."""
    case = [*MOVING, "time.steps=20", f"time.scheme={scheme}", "time.every=7"]
    Run(1, [*case, "output.field=whole.hdf"]).expect(1, 0)
    _, whole = read_series("whole.hdf")
    Run(2, [*case, "time.end=0.5", "time.steps=10", "output.field=half.hdf"]).expect(2, 0)
    for ranks in RANKS:
        Run(ranks, [*case, "problem.initial=half.hdf", "output.field=rest.hdf"]).expect(ranks, 0)
        times, rest = read_series("rest.hdf")
        check(np.allclose(times, [0.7, 1]), f"restart at {times}")
        off = max(abs(rest[-1][place] - u) for place, u in whole[-1].items())
        check(off < 1e-10, f"restart, {scheme}, {ranks} ranks: off by {off:.1e}")
    # With another step, from its solution only.
    Run(1, [*case, "time.steps=40", "problem.initial=half.hdf", "output.field=fine.hdf"]).expect(1, 0)
    for arguments, words in ((["time.end=0.5", "time.steps=10"], ["at t = 0.5", "time.end > 0.5"]),
                             (["time.steps=3"], ["at t = 0.5", "no multiple of the step"])):
        Run(1, [*case, "problem.initial=half.hdf", *arguments]).expect_error(1, 1, "problem.initial", *words)


# As above with coefficients of u, for bdf without an error in time.
OF_U = settings("mesh.elements=2 2 2; discretization.order=3; problem.kappa=1+u; problem.capacity=2+u; "
                "problem.forcing=1+x+t; problem.solution=x+t; boundary.default=dirichlet; solver.tolerance=1e-12; "
                "time.end=1; output.field=; output.log=")


def start_run(ranks, *arguments):
    """Each rank writes its process number to a file's name."""
    script = 'echo >pid.$$; exec "$@"'
    return subprocess.Popen([*sys.argv[2:], str(ranks), "sh", "-c", script, "sh", PROGRAM, *arguments],
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def send_signal():
    os.kill(int([name for name in os.listdir() if name.startswith("pid.")][0][4:]), signal.SIGTERM)


def interrupted(name, steps):
    """SIGTERM writes the last complete step, whose balance closes, and exits with 5; a run from there has the result
    of one without a signal."""
    case = [*{"moving": MOVING, "of_u": OF_U}[name], f"time.steps={steps}", f"time.every={steps // 4}"]
    Run(1, [*case, "output.field=whole.hdf"]).expect(1, 0)
    with start_run(2, *case, "output.field=part.hdf", "--json", "part.json") as process:
        driver.wait_for("the first state", lambda: os.path.exists("part.hdf"))
        sleep(0.1)
        send_signal()
        _, text = process.communicate(timeout=driver.SECONDS)
    check(process.returncode == 5 and "interrupted" in text and "part.hdf" in text, f"{process.returncode}: {text}")
    document = driver.document("part.json")
    check_balance(f"interrupted, {name}", document)
    (times, _), (_, whole) = read_series("part.hdf"), read_series("whole.hdf")
    check(times[-1] == rows(document)[-1]["time"] < 1, f"interrupted at {times}, {rows(document)[-1]['time']}")
    Run(1, [*case, "problem.initial=part.hdf", "output.field=rest.hdf"]).expect(1, 0)
    then, rest = read_series("rest.hdf")
    check(then[-1] == 1 and times[-1] < then[0], f"states {times}, then {then}")
    off = max(abs(rest[-1][place] - u) for place, u in whole[-1].items())
    check(off < 1e-10, f"interrupted, {name}: off by {off:.1e}")


def interrupted_at_once():
    """A signal in the first step: the initial value is the series."""
    case = [word for word in driver.ENDLESS if "solution" not in word]
    case += settings("problem.forcing=sin(9*x); problem.initial=x*y; problem.capacity=1; boundary.default=dirichlet 0; "
                     "time.end=1; time.steps=2; result.heat=flux over xmin; output.log=; output.field=run.hdf")
    with start_run(1, *case) as process:
        driver.wait_for("the first state", lambda: os.path.exists("run.hdf"))
        sleep(0.5)
        send_signal()
        _, text = process.communicate(timeout=driver.SECONDS)
    check(process.returncode == 5 and "interrupted" in text, f"{process.returncode}: {text}")
    check(read_series("run.hdf")[0] == [0], f"{read_series('run.hdf')[0]}")


def full_disk():
    """The series keeps the states before, and a run continues from them."""
    case = [*MOVING, "mesh.elements=6 6 6", "discretization.order=4", "time.steps=16"]
    Run(2, [*case, "output.field=whole.hdf"]).expect(2, 0)
    times, whole = read_series("whole.hdf")
    blocks = os.path.getsize("whole.hdf") * 3 // 4 // 512
    run = Run(2, [*case, "output.field=part.hdf"], f"export OMPI_MCA_btl=self,tcp; ulimit -f {blocks}; ")
    run.expect_error(2, 1, "cannot write field part.hdf", "File too large")
    some, part = read_series("part.hdf")
    check(2 < len(some) < len(times) and some == times[:len(some)], f"states {some} of {times}")
    off = max(abs(state[place] - u) for state, all_of in zip(part, whole) for place, u in all_of.items())
    check(off < 1e-10, f"full disk: off by {off:.1e}")
    Run(1, [*case, "problem.initial=part.hdf", "output.field=rest.hdf"]).expect(1, 0)
    then, rest = read_series("rest.hdf")
    check(some + then == times, f"full disk: {some}, then {then}")
    off = max(abs(rest[-1][place] - u) for place, u in whole[-1].items())
    check(off < 1e-10, f"full disk: the rest is off by {off:.1e}")


def error_bars():
    """At a probe, where the steps make most of the error, the bar is the error to a factor of 1.5."""
    exact = (1 + 0.4 + 0.7 * 0.3) * math.cos(3) + 0.4 ** 2
    for steps in (["time.steps=20"], ["time.steps=20", "time.scheme=bdf1"], ["time.scheme=sdirk2", "time.tolerance=1e-2"]):
        case = [*MOVING, *steps, "probe.p=0.4 0.7 0.3", "result.twice=2*p", "output.accuracy=yes"]
        bars = {row["name"]: row for row in solve(1, *case)["accuracy"]}
        error, bar = abs(bars["p"]["value"] - exact), bars["p"]["error"]
        check(error / 1.5 < bar < 1.5 * error, f"{steps}: error {error:.2e}, bar {bar:.2e}")
        check(abs(bars["twice"]["error"] - 2 * bar) < 1e-6 * bar, f"{steps}: bar of twice {bars['twice']['error']:.2e}, {bar:.2e}")


def switches():
    """A source that switches where a step ends counts in all of its steps. After a jump at t = 0 the first flux has the
    sign of the exact one, -2 sum exp(-((k + 1/2) pi)^2 t). Automatic steps that find no solution become shorter: a body
    that gains P and radiates eps sigma A T^4."""
    box = settings("mesh.elements=2 1 1; problem.capacity=1; problem.initial=0; boundary.default=neumann 0; time.end=1; "
                   "result.mean=average; output.field=; output.log=")
    for scheme in "bdf1", "sdirk2":
        mean = rows(solve(1, *box, "problem.forcing=t <= 0.3 ? 10 : 0", "time.steps=10", f"time.scheme={scheme}"))[-1]["results.mean"]
        check(abs(mean - 3) < 1e-10, f"{scheme}: {mean} after 0.3 of the time")
        mean = rows(solve(1, *box, "problem.forcing=t <= 0.3 ? 10 : 0", "time.end=0.9", "time.steps=9", f"time.scheme={scheme}"))[-1]["results.mean"]
        check(abs(mean - 3) < 1e-10, f"{scheme}: {mean} after a third of the time")
    exact = -2 * sum(math.exp(-(k + 0.5)**2 * math.pi**2 * 0.05) for k in range(99))
    for scheme in "bdf1", "bdf2", "cn":
        q = rows(solve(1, *box, "discretization.order=6", "problem.forcing=0", "boundary.xmin=dirichlet 1", "time.steps=20",
                       f"time.scheme={scheme}", "result.q=flux over xmin"))[1]["results.q"]
        check(2 * exact < q < 0.5 * exact, f"{scheme}: {q} after a jump, exact {exact}")
    for words, said in (([], True), (["time.at=0.5 0.55"], False)):
        document = solve(1, *box, "problem.forcing=t > 0.5 && t < 0.55 ? 20 : 0", "time.tolerance=1e-2", "time.scheme=sdirk2", *words)
        check(any(note["name"] == "switches" for note in document["notes"]) == said, f"{words}: {document['notes']}")
    check(abs(rows(document)[-1]["results.mean"] - 1) < 2e-2, f"a pulse between times of output: {rows(document)[-1]}")
    hot = rows(solve(1, *box, "problem.kappa=1e3", "problem.capacity=1e3", "problem.initial=10", "boundary.xmin=radiation 1, 10",
                     "problem.forcing=t > 2e6 ? 1e7 : 0", "time.end=1e7", "time.tolerance=1e-2", "time.scheme=sdirk2",
                     "result.far=average over xmin"))[-1]["results.far"]
    check(abs(hot / (1e7 / 5.670374419e-8 + 1e4)**0.25 - 1) < 1e-6, f"{hot} K")


def not_finite():
    """A result that is not finite in one row fails the run, which writes all rows."""
    box = settings("mesh.elements=1 1 1; problem.forcing=0; problem.capacity=1; problem.initial=0; boundary.default=neumann 0; "
                   "time.end=1; time.steps=4; result.bad=1/(t-0.5); output.field=; output.log=")
    Run(1, [*box, "--json", "bad.json"]).expect_error(1, 1, "result.bad", "not finite", "t = 0.5")
    with open("bad.json", encoding="utf-8") as file:
        check([row["results.bad"] for row in rows(json.load(file))] == [-2, -4, None, 4, 2], "rows after one that is not finite")


def bad_input():
    """Data without a value at a later time. Other faults are in bad_cases.py."""
    case = settings("mesh.elements=2 1 1; problem.forcing=0; problem.initial=0; boundary.default=dirichlet 0; output.field=; "
                    "output.log=; time.end=1; time.steps=2; problem.capacity=1")
    Run(1, [*case, "problem.forcing=1/t"]).expect_error(1, 1, "problem.forcing", "not finite at", ", t = 0")


driver.side_by_side([*[(rates, *pair) for pair in (("bdf1", 1), ("bdf2", 2), ("bdf3", 3), ("sdirk2", 2), ("cn", 2))], (study,), (sealed,),
                     (steady_limit,), (two_layers,), (automatic,), (output_times,), (contact,), (series,), (interrupted, "moving", 2000), (interrupted, "of_u", 1000), (interrupted_at_once,),
                     (full_disk,),
                     (restart, "bdf3"),
                     (restart, "sdirk2"), (restart, "cn"), (error_bars,), (switches,), (not_finite,), (bad_input,)])
driver.finish()
