"""Cases, opened once and solved again and again."""

from __future__ import annotations

import functools
import os
import signal
import threading
from ctypes import byref, c_char_p, c_int, c_void_p
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, NamedTuple

import numpy as np

from . import _arrays
from ._library import (CAPACITY, DIRICHLET, FIXED, INITIAL, INTERRUPTED, KAPPA, LAMBDA, LOAD, NOT_CONVERGED, POINTS,
                       PROGRESS, QUADRATURE, RHS, SOURCE, Error, SizesStruct, SolutionStruct, TimeStruct, check,
                       communicator, library, open_cases, ranks_of)
from ._result import NotConverged, Result

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse.linalg import LinearOperator

Progress = Callable[[int, float], Any]

_SECTIONS = {
    "mesh": "file size size_min grading curvature scale shape elements background lower upper map epsilon step "
            "refine",
    "discretization": "order operator geometry",
    "problem": "lambda kappa capacity axes solution forcing source initial",
    "time": "end step steps tolerance scheme every interval at",
    "boundary": "default",
    "solver": "tolerance criterion max_iterations preconditioner smoother smoother_degree orders coarse precision",
    "backend": "device exchange share threads",
    "units": "temperature length power",
    "output": "log field flux accuracy"}
_MEANT = {"tolerance": "solver"}  # sections whose keys other sections also have
_OPERATORS = {"operator": 0, "preconditioner": 1, "mass": 2}
_INTERRUPTIBLE = 20000  # DOFs from which on a solve without progress can be ended by Ctrl-C


class Sizes(NamedTuple):
    """Numbers of DOFs and elements.

    local:            DOFs of this rank, with copies that other ranks own
    owned:            DOFs that this rank owns
    elements, nodes:  elements of this rank, and nodes of each, (order + 1)^3
    points:           quadrature points of each element
    global_dofs, global_elements: of all ranks
    on_device:        the solver's vectors are on a GPU"""
    local: int
    owned: int
    elements: int
    nodes: int
    points: int
    global_dofs: int
    global_elements: int
    order: int
    on_device: bool


class Group(NamedTuple):
    """A group of the mesh: its name, "" if it has none; dimension, 2 for surfaces and 3 for volumes; number."""
    name: str
    dimension: int
    number: int


class Clock(NamedTuple):
    """Times of a case, in its unit.

    time:  of the state
    step:  length of the next step
    end:   time.end"""
    time: float
    step: float
    end: float


def _full_name(name: str) -> str:
    """section.key of a keyword argument."""
    key = name.rstrip("_")
    found = [section for section, keys in _SECTIONS.items() if key in keys.split() and _MEANT.get(key, section) == section]
    if len(found) != 1:
        reason = "is a key of " + " and ".join(found) if found else "is no key that can be an argument"
        raise TypeError(f"'{name}' {reason}: use keys={{'SECTION.{key}': ...}}")
    return f"{found[0]}.{key}"


def _format(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple, np.ndarray)):
        return " ".join(map(_format, value))
    return repr(float(value)) if isinstance(value, (float, np.floating)) else str(value)


def _overrides(keys: Mapping[str, Any] | None, settings: Mapping[str, Any]) -> tuple[int, Any]:
    """Their number, and an array of "SECTION.KEY=VALUE"."""
    pairs = {_full_name(name): value for name, value in settings.items()}
    pairs.update(keys or {})
    texts = [f"{name}={_format(value)}".encode() for name, value in pairs.items()]
    return len(texts), (c_char_p * len(texts))(*texts)


class Case:
    """A case that is set up. Use it in a with statement, or close it.

    path:      a case file; None: `text`, or defaults
    text:      the text of a case file instead
    comm:      a communicator of mpi4py; None: MPI_COMM_WORLD, one process without mpirun
    keys:      values by "section.key", as {"boundary.lid": "dirichlet 0"}; they override the file
    settings:  values by key, if only one section has it: order=5 is discretization.order, lambda_=2 is
               problem.lambda; tolerance is solver.tolerance. Numbers, texts, lists, True and False; None is the default.

    A case with time.end is solved by step() or steps(), others by solve(). Files named in [output] are written by
    Result.write and Result.plot only."""

    rank = 0
    _ranks = 1
    _solves = 0
    _open: Any = None

    def __init__(self, path: str | os.PathLike[str] | None = None, *, text: str | None = None, comm: Any = None,
                 keys: Mapping[str, Any] | None = None, **settings: Any):
        self._is_set: set[int] = set()
        if path is not None and text is not None:
            raise TypeError("a case has a path or a text, not both")
        count, values = _overrides(keys, settings)
        lib, handle, self._comm = library(), c_void_p(), comm
        mpi = communicator(comm)
        self.rank, self._ranks = ranks_of(mpi)
        if text is None:
            check(lib.sp_case_open(mpi, None if path is None else os.fsencode(path), count, values, byref(handle)))
        else:
            check(lib.sp_case_open_text(mpi, text.encode(), count, values, byref(handle)))
        self._open = open_cases[handle.value] = handle
        self._measure()

    def _measure(self) -> None:
        sizes = SizesStruct()
        check(library().sp_case_get_sizes(self._handle, byref(sizes)))
        self.sizes = Sizes(*(getattr(sizes, name) for name in Sizes._fields))
        for name in "points", "free", "numbers", "quadrature":
            self.__dict__.pop(name, None)

    @property
    def _handle(self) -> Any:
        if not self._open:
            raise Error("the case is closed")
        return self._open

    def close(self) -> None:
        """Free everything. A closed case can only be closed again."""
        if self._open and open_cases.pop(self._open.value, None):
            library().sp_case_close(byref(self._open))

    def __enter__(self) -> Case:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if self._ranks == 1:  # several ranks close together, at exit if not before
            self.close()

    def change(self, keys: Mapping[str, Any] | None = None, **settings: Any) -> None:
        """Override more keys, as Case() does, and set up again on the same mesh. Keys of mesh, region and backend, and
        periodic and contact conditions stay. After an error the case is as before."""
        check(library().sp_case_change(self._handle, *_overrides(keys, settings)))
        self._solves += 1
        self._measure()

    # ---- What the case has ----

    def _fill(self, function: str, count: int, dtype: Any, *which: int) -> NDArray[Any]:
        values = np.empty(count, dtype)
        check(getattr(library(), function)(self._handle, *which, count, values.ctypes.data))
        return values

    def _get(self, which: int) -> NDArray[np.float64]:
        return self._fill("sp_case_get", self.sizes.local, np.float64, which)

    @functools.cached_property
    def points(self) -> NDArray[np.float64]:
        """Coordinates of the nodes, (n, 3), in the unit of the mesh."""
        return self._fill("sp_case_get", 3 * self.sizes.local, np.float64, POINTS).reshape(3, -1).T

    @functools.cached_property
    def quadrature(self) -> NDArray[np.float64]:
        """Coordinates x, y, z of the operator's quadrature points in each element, (3, elements, points)."""
        shape = (3, self.sizes.elements, self.sizes.points)
        return self._fill("sp_case_get", int(np.prod(shape)), np.float64, QUADRATURE).reshape(shape)

    @functools.cached_property
    def free(self) -> NDArray[np.bool_]:
        """False at Dirichlet nodes, True at others, (n,)."""
        return self._get(FIXED) == 0

    @functools.cached_property
    def numbers(self) -> NDArray[np.int64]:
        """A global number for each DOF, the same on all ranks that have it, (n,)."""
        return self._fill("sp_case_numbers", self.sizes.local, np.int64)

    @property
    def groups(self) -> list[Group]:
        """The groups of the mesh, surfaces first."""
        groups: list[Group] = []
        name, dimension, number = c_char_p(), c_int(), c_int()
        while library().sp_case_group(self._handle, len(groups), byref(name), byref(dimension), byref(number)) == 0:
            groups.append(Group((name.value or b"").decode(errors="replace"), dimension.value, number.value))
        return groups

    # ---- Coefficients ----

    def _set_coefficient(self, which: int, values: Any) -> None:
        if values is not None and not _arrays.on_device(values):
            values = np.broadcast_to(values, (self.sizes.elements, self.sizes.points))
        address, count, _keep = (None, 0, None) if values is None else _arrays.address(values)
        check(library().sp_case_set(self._handle, which, count, address))
        self._solves += 1

    def set_kappa(self, values: Any) -> None:
        """Set kappa > 0 at `quadrature`, (elements, points) or broadcast to it: (elements, 1) is a number per element.
        It replaces all formulas and tensors, except resistances of contacts, until it is set to None. The case must not
        have an exact solution. The next solve sets up again; the last result can no longer be evaluated."""
        self._set_coefficient(KAPPA, values)

    def set_lambda(self, values: Any) -> None:
        """Set lambda >= 0 likewise."""
        self._set_coefficient(LAMBDA, values)

    def set_capacity(self, values: Any) -> None:
        """Set the capacity > 0 likewise, of a case in time; the state stays."""
        self._set_coefficient(CAPACITY, values)

    # ---- Solving ----

    def _set(self, *arrays: Any) -> None:
        for which, array in zip((LOAD, SOURCE, DIRICHLET, INITIAL), arrays):
            if array is not None:
                address, count, _keep = _arrays.address(array)
                check(library().sp_case_set(self._handle, which, count, address))
                self._is_set.add(which)
            elif which in self._is_set:
                check(library().sp_case_set(self._handle, which, 0, None))
                self._is_set.remove(which)

    def solve(self, load: Any = None, source: Any = None, dirichlet: Any = None, initial: Any = None,
              progress: Progress | None = None, *, out: Any = None) -> Result:
        """Solve for u, with arrays (n,) for this call only:

        load:       l_i, added to the load of the case, b_i = integral of f times basis function i + boundary terms
        source:     f at the nodes, added likewise: b gains M f
        dirichlet:  u at Dirichlet nodes, in place of the case's; other entries are not read
        initial:    where the iteration starts
        progress:   progress(iteration, error) is called after each iteration, from 0 on, with the estimated error (in
                    batches on a GPU); a true value ends the solve soon after. It must not call this case.
        out:        the array for u. Without it u is a new numpy array, or one on the GPU if an input is there.

        Problems that depend on u need several solves with a set-up each, fewer if `initial` is near the solution.

        Raises NotConverged, which has the result, and Error."""
        out, solution, code = self._run("sp_case_solve", (), (load, source, dirichlet, initial), progress, out)
        if code not in (0, NOT_CONVERGED, INTERRUPTED):
            check(code)
        result = Result(self, out, solution, code)
        if code == NOT_CONVERGED:
            raise NotConverged(library().sp_case_message().decode(errors="replace"), result)
        return result

    def _run(self, function: str, first: tuple[float, ...], inputs: tuple[Any, ...], progress: Progress | None,
             out: Any) -> tuple[Any, SolutionStruct, int]:
        handle = self._handle
        self._set(*inputs)
        if out is None:
            like = next((array for array in inputs if array is not None and _arrays.on_device(array)), None)
            out = np.empty(self.sizes.local) if like is None else _arrays.empty_like(like)
        address, count, _keep = _arrays.address(out, writes=True)
        solution = SolutionStruct()
        self._solves += 1
        return out, solution, self._iterate(progress, getattr(library(), function), handle, *first, count, address,
                                            byref(solution))

    def _iterate(self, progress: Progress | None, function: Any, handle: Any, *arguments: Any) -> int:
        lib = library()
        raised: list[BaseException] = []
        if progress is None and self.sizes.local < _INTERRUPTIBLE:
            return int(function(handle, *arguments))

        def call(_: Any, iteration: int, error: float) -> int:
            try:
                return bool(raised or (progress and progress(iteration, error)))
            except BaseException as exception:
                raised.append(exception)
                return 1

        callback, normal = PROGRESS(call), signal.default_int_handler
        takes_signals = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is normal
        if takes_signals:  # Ctrl-C: an exception at the start of a callback of C would be lost
            signal.signal(signal.SIGINT, lambda *_: raised.append(KeyboardInterrupt()))
        lib.sp_case_watch(handle, callback, None)
        code = int(function(handle, *arguments))
        lib.sp_case_watch(handle, PROGRESS(), None)
        if takes_signals:
            signal.signal(signal.SIGINT, normal)
        if raised:
            raise raised[0]
        return code

    def rhs(self, load: Any = None, source: Any = None, dirichlet: Any = None) -> NDArray[np.float64]:
        """b - A u_D, (n,), 0 at Dirichlet nodes: the right-hand side for `operator`, with the arrays of solve(). u is its
        solution plus dirichlet_values(). Not of a case in time, or of a problem that depends on u. The result of an
        earlier solve can no longer be evaluated."""
        self._set(load, source, dirichlet, None)
        self._solves += 1
        return self._get(RHS)

    def dirichlet_values(self) -> NDArray[np.float64]:
        """u_D, (n,): u at Dirichlet nodes, 0 at others, with the array of the last solve() or rhs()."""
        return self._get(DIRICHLET)

    # ---- Time ----

    @property
    def clock(self) -> Clock:
        """Time of the state, length of the next step, and end."""
        clock = TimeStruct()
        check(library().sp_case_get_time(self._handle, byref(clock)))
        return Clock(clock.time, clock.step, clock.end)

    def step(self, dt: float | None = None, load: Any = None, source: Any = None, dirichlet: Any = None,
             progress: Progress | None = None, *, out: Any = None) -> Result:
        """Take one step in time, of length dt, in the unit of the case; None: the case's. An automatic step is at most dt
        long. Another length sets up again. Arrays, (n,), are as in solve(), for this step only. Dirichlet values hold in all
        stages, so sdirk2 needs short steps or a formula. The result has the new time.

        Raises Error if it fails or a progress callback ends it; the state is then as before."""
        inputs = (load, source, dirichlet, None)
        out, solution, code = self._run("sp_case_step", (0.0 if dt is None else dt,), inputs, progress, out)
        check(code)
        return Result(self, out, solution, code, self.clock.time)

    def steps(self, dt: float | None = None, end: float | None = None, **arrays: Any) -> Iterator[Result]:
        """The results of steps from the present time to `end`, None: time.end. The last step is shorter if it would pass
        the end. `arrays` are arguments of step(), the same in all steps.

            for r in case.steps():
                print(r.time, r.results["hottest"])"""
        while True:
            clock = self.clock
            length, left = dt or clock.step, (clock.end if end is None else end) - clock.time
            if left <= 1e-9 * length:  # rounding
                return
            yield self.step(left if left < (1 - 1e-9) * length else dt, **arrays)

    def restart(self, time: float = 0.0, initial: Any = None) -> None:
        """Set the state: u = initial, (n,), or None: problem.initial, at a time, from which steps go on."""
        self._set(None, None, None, initial)
        self._solves += 1
        check(library().sp_case_restart(self._handle, time))

    # ---- Operators ----

    def apply(self, name: str, x: Any, out: Any = None) -> Any:
        """The product of "operator", "preconditioner" or "mass" with x, (n,), in `out`, or in a new array like x."""
        address, count, _keep = _arrays.address(x)
        if out is None:
            out = _arrays.empty_like(x) if _arrays.on_device(x) else np.empty(count)
        target, room, _kept = _arrays.address(out, writes=True)
        if room != count:
            raise ValueError(f"x has {count} entries, out has {room}")
        if name not in _OPERATORS:
            raise ValueError(f"expected one of {', '.join(_OPERATORS)}, found {name}")
        check(library().sp_case_apply(self._handle, _OPERATORS[name], count, address, target))
        return out

    def _linear(self, name: str) -> LinearOperator:
        from scipy.sparse.linalg import LinearOperator
        product = functools.partial(self.apply, name)
        return LinearOperator((self.sizes.local,) * 2, matvec=product, rmatvec=product, dtype=np.float64)

    @property
    def operator(self) -> LinearOperator:
        """A, symmetric, n x n; rows and columns of Dirichlet nodes are zero."""
        return self._linear("operator")

    @property
    def preconditioner(self) -> LinearOperator:
        """B, which conjugate gradients use, symmetric, n x n, with zero rows and columns likewise."""
        return self._linear("preconditioner")

    @property
    def mass(self) -> LinearOperator:
        """M, n x n, of all nodes, also Dirichlet nodes, without lambda or capacity: 1.M 1 is the volume of the
        mesh."""
        return self._linear("mass")
