#!/usr/bin/env python3
"""The Python module (solver/python): values of the program, operators, arrays, errors, ranks, pictures, cost."""

import ctypes
import json
import os
import re
import signal
import sys
import threading
import time

import driver
import optional
from driver import check, settings

np, scipy_linalg = optional.need("numpy", "scipy.sparse.linalg")
PROGRAM, LIBRARY, SOURCE = (os.path.abspath(path) for path in sys.argv[1:4])
MPIEXEC = sys.argv[4:]
driver.start("python_module", PROGRAM, MPIEXEC)
os.environ["SP_SOLVE_LIBRARY"] = LIBRARY
os.environ["PYTHONPATH"] = os.path.join(SOURCE, "solver", "python")
sys.path.insert(0, os.environ["PYTHONPATH"])
import sp_solve  # noqa: E402
from sp_solve import _case, _library  # noqa: E402

CUBE = os.path.join(SOURCE, "inputs", "cube.ini")
MORE = {"result.hottest": "maximum", "result.heat": "flux over lid", "probe.middle": "0.4 0.5 0.6"}
BOX = {"elements": (3, 2, 2), "order": 3, "log": None, "field": None}
COLD = {"boundary.default": "dirichlet 0"}
TINY = {"elements": (2, 2, 2), "order": 1, "forcing": 1, "log": None, "field": None, "keys": COLD}


def refuse(kind, words, function, *arguments, **named):
    """The call raises an exception of this kind, whose message has the words; it is returned."""
    try:
        function(*arguments, **named)
    except kind as error:
        check(words in str(error), f"no '{words}' in '{error}'")
        return error
    return check(False, f"no {kind.__name__} with '{words}'")


def python(*arguments, launcher=(), **options):
    """Output of a Python process, which must succeed and print nothing on stderr."""
    return driver.good(*launcher, sys.executable, *arguments, **options)


def values_of_program(document):
    """The results of a case are the bits of the program."""
    with sp_solve.Case(CUBE, order=4, keys=MORE, log=None, field=None) as case:
        r = case.solve()
        for table in "results", "probes", "balance", "extrema", "errors", "iterations", "error_estimate":
            check(r.json[table] == document[table], f"{table}: {r.json[table]}, not {document[table]}")
        check(r.results == driver.values(document), f"{r.results}")
        check(r.balance == driver.values(document, "balance"), f"{r.balance}")
        check(r.probes == {row["name"]: row["u"] for row in document["probes"]}, f"{r.probes}")
        check(r.extrema["maximum"]["value"] == r.results["hottest"], f"{r.extrema}")
        check((r.iterations, r.error, r.converged) == (document["iterations"], document["error_estimate"], True), f"{r}")
        with open(os.path.join(SOURCE, "solver", "python", "pyproject.toml"), encoding="utf-8") as file:
            check(f'version = "{document["version"]}"' in file.read(), "another version than the program")
        table = r.table()
        check("hottest" in table and "middle" in table and "CONVERGED" in table, table)
        check(case.sizes.global_dofs == document["dofs"] == case.sizes.local, f"{case.sizes}")
        check({(g.name, g.dimension) for g in case.groups} == {("wall", 2), ("lid", 2), ("cube", 3)}, f"{case.groups}")
        exact = np.prod(np.sin(np.pi * case.points), axis=1) + case.points[:, 0] * case.points[:, 1]
        check(case.points.shape == (case.sizes.local, 3) and abs(r.u - exact).max() < 1e-5, "not the solution at the nodes")
        check(sorted(case.numbers) == list(range(case.sizes.local)), "numbers")


def operators():
    """scipy's CG takes our iterations; the mass matrix has the volume; wrong shapes are refused."""
    with sp_solve.Case(**BOX, forcing="exp(y)", kappa="1+x*x", criterion="residual", tolerance=1e-10,
                       keys={"boundary.default": "dirichlet x"}) as case:
        r, steps = case.solve(), []
        b = case.rhs()
        tolerance = "rtol" if scipy_at_least(1, 12) else "tol"
        x, _ = scipy_linalg.cg(case.operator, b, M=case.preconditioner, callback=steps.append, **{tolerance: 1e-10})
        check(abs(len(steps) - r.iterations) <= 1, f"scipy takes {len(steps)} iterations, not {r.iterations}")
        check(abs(x + case.dirichlet_values() - r.u).max() < 1e-8, "scipy's solution")
        check(not b[~case.free].any() and 0 < case.free.sum() < case.sizes.local, "Dirichlet nodes")
        one = np.ones(case.sizes.local)
        check(abs(one @ (case.mass @ one) - 1) < 1e-12, "volume")
        out = np.empty_like(one)
        check(case.apply("mass", one, out) is out and np.array_equal(out, case.mass @ one), "output of apply")
        refuse(ValueError, "out has", case.apply, "mass", one, out[1:])
        refuse(sp_solve.Error, "expected an array", case.apply, "mass", one[1:])


def scipy_at_least(*version):
    import scipy
    return tuple(map(int, scipy.__version__.split(".")[:2])) >= version


class Device:
    """An array on the host that claims, by one protocol, to be on a GPU. It is read as an array of the host."""

    def __init__(self, array, protocol):
        self.array = array
        if protocol == "dlpack":
            self.__dlpack_device__ = lambda: (2, 0)
            self.__dlpack__ = lambda stream: self.array.__dlpack__() if stream == 1 else None
        else:
            self.__cuda_array_interface__ = array.__array_interface__


def empty_like(array):
    return Device(np.empty_like(array.array), "dlpack")


def arrays():
    """Loads, sources, Dirichlet and initial values, in arrays of several kinds, for one solve only."""
    with sp_solve.Case(**BOX, forcing=0, tolerance=1e-12, keys=COLD) as case:
        f = np.sin(3 * case.points[:, 0]) + 1
        u = case.solve(source=f).u
        check(np.allclose(case.solve(load=case.mass @ f).u, u, rtol=1e-10, atol=1e-14), "load and source")
        check(not case.solve().u.any(), "a source stays")
        check(np.array_equal(case.solve(source=np.repeat(f, 2)[::2]).u, u), "an array with a stride")
        check(np.array_equal(case.solve(source=list(f)).u, u), "a list")
        check(np.allclose(case.solve(source=f.astype(np.float32)).u, u, rtol=1e-5), "an array of float")
        for protocol in "dlpack", "interface":
            out = Device(np.empty_like(u), protocol)
            check(case.solve(source=Device(f, protocol), out=out).u is out, "out")
            check(np.array_equal(out.array, u), f"{protocol}: the solution")
            strided = Device(np.repeat(f, 2)[::2], protocol)
            refuse(ValueError, "one after the other", case.solve, source=strided)
            refuse(ValueError, "of doubles", case.solve, source=Device(f.astype(np.float32), protocol))
        given = case.solve(source=Device(f, "dlpack")).u
        check(isinstance(given, Device) and np.array_equal(given.array, u), "output beside the input")
        near = case.solve(source=f, initial=u)
        check(near.iterations <= 2, f"{near.iterations} iterations from the solution")
        linear = case.points @ [1, 2, 3]
        check(abs(case.solve(dirichlet=np.where(case.free, np.nan, linear)).u - linear).max() < 1e-10, "Dirichlet values")
        fixed = u.copy()
        fixed.flags.writeable = False
        for wrong in fixed, u.astype(np.float32), np.repeat(u, 2)[::2], list(u):
            refuse(ValueError, "output", case.solve, out=wrong)


def gpu():
    """Arrays of torch on a GPU, if the case runs on one."""
    try:
        import torch
    except ImportError:
        return
    with sp_solve.Case(**BOX, forcing=0, keys=COLD) as case:
        if case.sizes.on_device:
            f = torch.linspace(1, 2, case.sizes.local, dtype=torch.float64, device="cuda")
            u, expected = case.solve(source=f).u, case.solve(source=f.cpu().numpy()).u
            check(u.is_cuda and np.array_equal(u.cpu().numpy(), expected), "the solution on the GPU")
            product = case.apply("mass", f)
            check(product.is_cuda and np.array_equal(product.cpu().numpy(), case.mass @ f.cpu().numpy()), "a product there")


def errors():
    """Messages of the program as exceptions; a case works after a failed call."""
    refuse(sp_solve.Error, "absent.ini", sp_solve.Case, "absent.ini")
    refuse(sp_solve.Error, "order", sp_solve.Case, order=99)
    refuse(sp_solve.Error, "nonsense", sp_solve.Case, keys={"nonsense.key": 1})
    refuse(TypeError, "'oder' is no key that", sp_solve.Case, oder=1)
    refuse(TypeError, "mesh and time", sp_solve.Case, step=1)
    refuse(TypeError, "not both", sp_solve.Case, CUBE, text="")
    case = sp_solve.Case(text="[mesh]\nelements = 2 2 2\n[boundary]\ndefault = dirichlet 0\n", order=2, lambda_=1.5, forcing=1,
                         threads=np.int64(1), share=False, tolerance=np.float64(1e-9), field=None, log=None)
    n = case.sizes.local
    old = case.solve()
    check(old.json["case"]["problem"]["lambda"] == "1.5" and old.json["case"]["solver"]["tolerance"] == 1e-9, "keys")
    refuse(sp_solve.Error, "expected an array of 125 entries, count is 7", case.solve, load=np.zeros(7))
    refuse(sp_solve.Error, "expected an array of 125 entries, count is 7", case.solve, out=np.zeros(7))
    refuse(sp_solve.Error, "NaN", case.solve, source=np.full(n, np.nan))
    refuse(TypeError, "real numbers", case.solve, load=np.zeros(n, complex))
    refuse(sp_solve.Error, "mesh", case.change, elements="3 3 3")
    refuse(sp_solve.Error, "output.field", old.plot)
    r = case.solve()
    check(np.array_equal(r.u, old.u), "not the same solution after errors")
    refuse(sp_solve.Error, "solved or changed since", lambda: sp_solve.Result.json.func(old))
    case.change(order=3, max_iterations=1, tolerance=1e-12)
    check(case.sizes.local == len(case.points) == 343, f"{case.sizes}")
    error = refuse(sp_solve.NotConverged, "1 iteration", case.solve)
    check(error.code == 2 and error.result.u.any() and not error.result.converged, "the last iterate")
    check(error.result.json["status"] == "not converged", error.result.json["status"])
    case.close()
    case.close()
    refuse(sp_solve.Error, "closed", case.solve)
    refuse(sp_solve.Error, "closed", case.change, order=2)
    refuse(sp_solve.Error, "closed", lambda: case.operator @ np.zeros(343))
    refuse(sp_solve.Error, "closed", lambda: error.result.__class__.write(error.result))


def coefficients():
    """kappa and lambda as arrays: values of formulas, a number per element, the formulas again; wrong arrays."""
    box = {"elements": (2, 3, 2), "order": 3, "forcing": 1, "tolerance": 1e-12, "log": None, "field": None,
           "keys": {"boundary.default": "dirichlet 0"}}
    with sp_solve.Case(**box, kappa="1+x*y", lambda_="2+z") as formula, sp_solve.Case(**box) as case:
        x, y, z = case.quadrature
        check(x.shape == (case.sizes.elements, case.sizes.points) == (12, 64), f"{x.shape}")
        old = case.solve()
        case.set_kappa(1 + x * y)
        case.set_lambda(2 + z)
        refuse(sp_solve.Error, "solved or changed since", lambda: old.balance)
        r, expected = case.solve(), formula.solve()
        check(abs(r.u - expected.u).max() < 1e-13, "not the solution of the formulas")
        check(abs(r.balance["lambda u"] - expected.balance["lambda u"]) < 1e-12, f"{r.balance}")
        case.set_lambda(None)
        case.set_kappa(np.full((12, 1), 2.0))
        check(abs(2 * case.solve().u - old.u).max() < 1e-10, "kappa = 2 does not halve u")
        refuse(sp_solve.Error, "kappa must be finite and positive", case.set_kappa, 0)
        refuse(ValueError, "broadcast", case.set_kappa, np.ones(7))
        case.set_kappa(None)
        check(np.array_equal(case.solve().u, old.u), "another solution after the arrays")


IN_TIME = {**BOX, "forcing": "1+t", "capacity": 2, "initial": "x*y", "tolerance": 1e-12, "end": 1,
           "keys": {"boundary.default": "dirichlet 0", "result.mean": "average", "result.top": "maximum", "time.steps": 8}}


def document_of(case):
    """The program's, of a case of keyword arguments."""
    keys = {_case._full_name(name): value for name, value in case.items() if name != "keys"}
    return driver.record(1, *(f"{name}={_case._format(value)}" for name, value in {**keys, **case["keys"]}.items()))


def steps(document):
    """Steps in time and their results are the program's; any number of steps, of other lengths."""
    with sp_solve.Case(**IN_TIME) as case:
        check(case.clock == (0, 0.125, 1), f"{case.clock}")
        for row, r in zip(document["history"][1:], case.steps()):
            check((r.time, r.results["mean"], r.results["top"]) == (row["time"], row["results.mean"], row["results.top"]),
                  f"{r}: {r.results}, not {row}")
            check(abs(r.balance["imbalance"]) < 1e-10, f"{r.balance}")
        check(r.time == 1 and "t = 1, converged" in repr(r) and not list(case.steps()), f"{r}")
        refuse(sp_solve.Error, "sp_case_step", case.solve)
        refuse(sp_solve.Error, "dt is -1", case.step, -1)
        case.restart()
        times = [round(r.time, 12) for r in case.steps(dt=0.3, end=1.1)]
        check(times == [0.3, 0.6, 0.9, 1.1], f"times {times}")
        case.restart()
        times = [r.time for until in (0.3, 1) for r in case.steps(end=until)]  # a short step is the last of its series only
        check(np.allclose(times, [0.125, 0.25, 0.3, 0.425, 0.55, 0.675, 0.8, 0.925, 1], rtol=0, atol=1e-12), f"times {times}")
    automatic = {"time.steps": "", "time.tolerance": 1e-3, "time.scheme": "sdirk2", "problem.capacity": 20}
    with sp_solve.Case(**{**IN_TIME, "capacity": None, "keys": {**IN_TIME["keys"], **automatic}}) as case:
        series = list(case.steps(end=0.3))
        lengths = np.diff([0, *(r.time for r in series)])
        check(series[-1].time == 0.3 and min(lengths) > 1e-4, f"steps {lengths}")
        check(abs(series[-1].balance["imbalance"]) < 1e-8, f"{series[-1].balance}")
    with sp_solve.Case(**BOX, forcing=1, keys=COLD) as case:
        refuse(sp_solve.Error, "steady", case.step)
        refuse(sp_solve.Error, "steady", next, case.steps())
        refuse(sp_solve.Error, "in time", case.set_capacity, 1)


def states():
    """A large capacity keeps the state that is given, and a source over it is the rate."""
    with sp_solve.Case(**IN_TIME) as case:
        u = case.step().u
        case.restart(0.5, initial=u)
        case.set_capacity(1e9)
        r = case.step(0.25, source=np.full(case.sizes.local, 4e9))
        check(r.time == 0.75 and abs(r.u - u - 1)[case.free].max() < 1e-7, f"{r}: {abs(r.u - u - 1)[case.free].max()}")


def keys_of_sections():
    """The module's list of keys is the program's."""
    sections, found = {}, None
    for line in driver.good(PROGRAM, "--defaults").splitlines():
        title, key = re.match(r"\[(\w+)\]$", line), re.match(r"(?:# )?(\w+) =", line)
        if title:
            found = sections.setdefault(title[1], [])
        elif line.startswith("# ["):
            break
        elif key and key[1].islower():
            found.append(key[1])
    listed = {name: keys.split() for name, keys in _case._SECTIONS.items()}
    check({name: keys for name, keys in sections.items() if keys} == listed, f"{sections}, not {listed}")


def progress():
    """A callback is called for each iteration and can end the solve; its exceptions come through."""
    with sp_solve.Case(**BOX, forcing="exp(x)", preconditioner="none", keys=COLD) as case:
        seen = []
        r = case.solve(progress=lambda i, error: seen.append((i, error)))
        check([i for i, _ in seen] == list(range(r.iterations + 1)) and seen[-1][1] == r.error, f"{seen[-1]}, {r}")
        r = case.solve(progress=lambda i, error: i == 3)
        check(3 <= r.iterations <= 4 and not r.converged, f"{r}")
        refuse(ZeroDivisionError, "division", case.solve, progress=lambda i, error: 1 / 0)
        check(case.solve().converged, "after an exception")
    with sp_solve.Case(elements=(8, 8, 8), order=5, map="kershaw", epsilon=0.05, forcing="exp(x)", preconditioner="none",
                       max_iterations=10**6, tolerance=1e-15, criterion="residual", keys=COLD) as case:
        begin = time.monotonic()
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        refuse(KeyboardInterrupt, "", case.solve)
        check(signal.getsignal(signal.SIGINT) is signal.default_int_handler, "the handler of signals")
        check(time.monotonic() - begin < 5, "Ctrl-C is late")


def silence():
    """Nothing is printed, and MPI is finalized, with a case that is still open, and from a text with a note."""
    script = """import sp_solve
case = sp_solve.Case(elements=(2, 2, 2), solution="x", log="run.h5", field="run.hdf", keys={"constants.lost": 1})
r = case.solve()
r.write()
assert "no formula uses" in r.table()
again = sp_solve.Case(elements=(1, 1, 1), solution="x")
del again
"""
    check(python("-c", script) == "", "output on the terminal")
    check(os.path.isfile("run.h5") and os.path.isfile("run.hdf"), "no files")


def pictures():
    """sp_plot draws the field."""
    try:
        optional.need("h5py", "matplotlib")
    except SystemExit:
        return
    with sp_solve.Case(**{**BOX, "field": "box.hdf"}, forcing=1, keys=COLD) as case:
        picture = case.solve().plot(view=(30, 20), elements=True)
        check(case.solve().plot("slice.pdf", slice="x=0.5") == "slice.pdf" and os.path.isfile("slice.pdf"), "no slice")
        check(picture == "box.png" and picture._repr_png_().startswith(b"\x89PNG"), f"{picture}")
        refuse(sp_solve.Error, "sp_plot: ", case.solve().plot, scalar="nonsense")


RANKS = """import json, sys, numpy as np, sp_solve
comm = None
if len(sys.argv) > 3:
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    with sp_solve.Case(comm=MPI.COMM_SELF, elements=(1, 1, 1), order=2, solution="x") as own:
        assert own.sizes.local == own.sizes.global_dofs == 27 and own.rank == 0
with sp_solve.Case(sys.argv[1], comm=comm, order=4, log=None, field=None, keys=json.loads(sys.argv[2])) as case:
    r = case.solve()
    assert case.sizes.owned < case.sizes.global_dofs == 35937 and len(r.u) == case.sizes.local
    results = r.results
    r = case.solve(load=case.mass @ np.zeros(case.sizes.local))
    assert r.results == results
    if case.rank == 1:
        print(json.dumps(results))
left_open = sp_solve.Case(comm=comm, elements=(2, 2, 2), order=2, solution="x")
"""


def ranks(document):
    """On two ranks without and with mpi4py: all have the results."""
    driver.write("ranks.py", RANKS)
    modes = [[]]
    try:
        import mpi4py  # noqa: F401
        modes.append(["mpi4py"])
    except ImportError:
        pass
    for mode in modes:
        done = driver.command(*MPIEXEC, "2", sys.executable, "ranks.py", CUBE, json.dumps(MORE), *mode)
        if check(done.returncode == 0, f"{mode}: {done.stderr}"):
            for name, value in json.loads(done.stdout).items():
                check(abs(value - driver.values(document)[name]) < 1e-9, f"{name}: {value}")


def tour():
    """The notebook in inputs/."""
    check("kappa = 5.00000" in python(os.path.join(SOURCE, "inputs", "python_tour.py")), "the tour")


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def cost():
    """2000 solves leak nothing; a call takes at most 50 us more than its C functions."""
    with sp_solve.Case(**TINY) as case:
        load, u, solution = np.ones(27), np.empty(27), _library.SolutionStruct()
        lib, handle, a, b, s = _library.library(), case._handle, load.ctypes.data, u.ctypes.data, ctypes.byref(solution)

        def call():
            lib.sp_case_set(handle, 0, 27, a)
            lib.sp_case_solve(handle, 27, b, s)

        def seconds(function):
            begin = time.perf_counter()
            for _ in range(50):
                function()
            return (time.perf_counter() - begin) / 50

        pairs = [(seconds(call), seconds(lambda: case.solve(load=load))) for _ in range(20)]
        own, ours = (min(column) for column in zip(*pairs))
        print(f"python_module: {own * 1e6:.1f} us in C, {ours * 1e6:.1f} us from Python")
        check(ours - own < 50e-6, f"a call takes {ours * 1e6:.0f} us, {own * 1e6:.0f} us in C")
        before = resident()
        for _ in range(2000):
            case.solve(load=load)
        check(resident() - before < 2**20, f"2000 solves take {resident() - before} bytes")
    before = resident()
    for _ in range(40):
        sp_solve.Case(**TINY).solve()
    check(resident() - before < 2**22, f"40 cases take {resident() - before} bytes")


def main():
    document = driver.record(1, CUBE, *settings("discretization.order=4; output.log=; output.field="),
                             *(f"{key}={value}" for key, value in MORE.items()))
    series = document_of(IN_TIME)
    keys_of_sections()
    ranks(document)
    silence()
    tour()
    for test in operators, arrays, coefficients, states, gpu, errors, progress, pictures, cost:
        test()
    values_of_program(document)
    steps(series)


driver.in_folder(main)
driver.finish()
