"""The shared library: its path, its functions, and the MPI that it is linked to."""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import subprocess
from ctypes import c_bool, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path
from typing import Any, Iterator

try:
    from ._source import ROOT
except ImportError:  # not installed: this is the source tree
    ROOT = str(Path(__file__).resolve().parents[3])

# sp_case_array
LOAD, SOURCE, DIRICHLET, INITIAL, POINTS, RHS, FIXED, KAPPA, LAMBDA, CAPACITY, QUADRATURE = range(11)
NOT_CONVERGED, INTERRUPTED = 2, 5

PROGRESS = ctypes.CFUNCTYPE(c_int, c_void_p, c_int64, c_double)

open_cases: dict[Any, Any] = {}  # handles in the order of opening, closed at exit


class Error(RuntimeError):
    """A call that failed, with the message of the program.

    code: its exit code, 1 for wrong input, memory or files, 2 not converged, 3 broken down."""

    def __init__(self, message: str, code: int = 1):
        super().__init__(message)
        self.code = code


class SizesStruct(ctypes.Structure):
    _fields_ = [("local", c_size_t), ("owned", c_size_t), ("elements", c_size_t), ("nodes", c_size_t),
                ("points", c_size_t), ("global_dofs", c_int64), ("global_elements", c_int64), ("order", c_int),
                ("on_device", c_bool)]


class SolutionStruct(ctypes.Structure):
    _fields_ = [("iterations", c_int64), ("error", c_double), ("residual", c_double), ("seconds", c_double)]


class TimeStruct(ctypes.Structure):
    _fields_ = [("time", c_double), ("step", c_double), ("end", c_double)]


# Functions that get lengths and addresses as numbers.
ARGUMENTS = {
    "sp_case_numbers": (c_void_p, c_size_t, c_void_p),
    "sp_case_set": (c_void_p, c_int, c_size_t, c_void_p),
    "sp_case_get": (c_void_p, c_int, c_size_t, c_void_p),
    "sp_case_solve": (c_void_p, c_size_t, c_void_p, c_void_p),
    "sp_case_step": (c_void_p, c_double, c_size_t, c_void_p, c_void_p),
    "sp_case_restart": (c_void_p, c_double),
    "sp_case_apply": (c_void_p, c_int, c_size_t, c_void_p, c_void_p)}


def places() -> Iterator[str]:
    """Possible paths of the library."""
    if os.environ.get("SP_SOLVE_LIBRARY"):
        yield os.environ["SP_SOLVE_LIBRARY"]
        return
    installed = subprocess.getoutput("pkg-config --variable=libdir sp_solve 2>/dev/null")
    if installed:
        yield os.path.join(installed, "libsp_solve.so")
    yield os.path.join(ROOT, "build", "libsp_solve.so")
    yield "libsp_solve.so"


@functools.lru_cache(maxsize=None)
def library() -> Any:
    """The library, loaded by the first call."""
    failures = []
    for path in places():
        try:
            lib: Any = ctypes.CDLL(path)
            break
        except OSError as error:
            failures.append(str(error))
    else:
        raise Error("the library of sp_solve is not found; build it (./quickstart), or set SP_SOLVE_LIBRARY to the path of "
                    "libsp_solve.so: " + "; ".join(failures))
    lib.handle_type = c_void_p if hasattr(lib, "ompi_mpi_comm_world") else c_int
    for name, types in ARGUMENTS.items():
        getattr(lib, name).argtypes = types
    lib.sp_case_message.restype = c_char_p
    return lib


def check(code: int) -> None:
    if code:
        raise Error(library().sp_case_message().decode(errors="replace"), code)


# ---- MPI ----


def _close_all() -> None:
    lib = library()
    for handle in list(open_cases.values()):
        lib.sp_case_close(ctypes.byref(handle))
    open_cases.clear()


def _is_true(question: str) -> bool:
    answer = c_int()
    getattr(library(), question)(ctypes.byref(answer))
    return bool(answer.value)


def _finalize() -> None:
    if not _is_true("MPI_Finalized"):
        library().MPI_Finalize()


@functools.lru_cache(maxsize=None)
def _initialize() -> None:
    """Initialize MPI if it is not. It is then finalized at exit, after the cases have been closed."""
    serialized = 2  # MPI_THREAD_SERIALIZED
    if not _is_true("MPI_Initialized"):
        library().MPI_Init_thread(None, None, serialized, ctypes.byref(c_int()))
        atexit.register(_finalize)
    atexit.register(_close_all)


def communicator(comm: Any) -> Any:
    """The handle of a communicator of mpi4py; None: MPI_COMM_WORLD."""
    lib = library()
    if comm is not None:
        from mpi4py import MPI
        if not _is_true("MPI_Initialized"):
            raise Error("mpi4py uses another MPI than sp_solve")
    _initialize()
    if comm is not None:
        return lib.handle_type.from_address(MPI._addressof(comm))
    if lib.handle_type is c_void_p:  # Open MPI
        return c_void_p(ctypes.addressof(ctypes.c_char.in_dll(lib, "ompi_mpi_comm_world")))
    return c_int(0x44000000)  # MPICH and its relatives


def ranks_of(handle: Any) -> tuple[int, int]:
    """This rank, and the number of ranks."""
    rank, count = c_int(), c_int()
    library().MPI_Comm_rank(handle, ctypes.byref(rank))
    library().MPI_Comm_size(handle, ctypes.byref(count))
    return rank.value, count.value
