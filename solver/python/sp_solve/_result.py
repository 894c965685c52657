"""Results of a solve."""

from __future__ import annotations

import ctypes
import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._library import NOT_CONVERGED, ROOT, Error, SolutionStruct, check, library

if TYPE_CHECKING:
    from ._case import Case

_TABLES = ("results", "extrema", "probes", "balance")


class Picture(str):
    """The path of a picture. Jupyter shows the picture."""

    def _repr_png_(self) -> bytes | None:
        return Path(self).read_bytes() if self.endswith(".png") else None


class Result:
    """The solution of a case, and its results. These are computed when they are first read, which must be before the case
    is solved or changed again, or closed.

    u:           the solution at case.points, (n,), in the array given as `out` or in a new one
    iterations:  of conjugate gradients
    error:       estimated error of u, relative, in the energy norm; infinite if it is not known
    residual:    ||b - A u|| / ||b|| over DOFs that are not Dirichlet nodes
    seconds:     that the iteration took
    time:        of u, in the unit of the case; None if the case is steady
    converged:   False if a progress callback ended the solve, or in NotConverged.result"""

    def __init__(self, case: Case, u: Any, solution: SolutionStruct, code: int, time: float | None = None):
        self._case, self._number = case, case._solves
        self.u, self.time = u, time
        self.iterations: int = solution.iterations
        self.error: float = solution.error
        self.residual: float = solution.residual
        self.seconds: float = solution.seconds
        self.converged: bool = code == 0

    def __repr__(self) -> str:
        state = "converged" if self.converged else "not converged"
        place = "" if self.time is None else f"t = {self.time:.6g}, "
        return f"<sp_solve.Result: {place}{state} in {self.iterations} iterations, estimated error {self.error:.1e}>"

    def _handle(self) -> Any:
        handle = self._case._handle
        if self._number != self._case._solves:
            raise Error("the case has been solved or changed since: read results before the next call")
        return handle

    @functools.cached_property
    def json(self) -> dict[str, Any]:
        """The document that the program writes with --json; all tables and facts of the solve."""
        text = ctypes.c_char_p()
        check(library().sp_case_json(self._handle(), ctypes.byref(text)))
        return dict(json.loads(text.value or b"{}"))

    @property
    def results(self) -> dict[str, float]:
        """The numbers of [result] by name; json["results"] has their places and kinds."""
        return {row["name"]: row["value"] for row in self.json.get("results", [])}

    @property
    def probes(self) -> dict[str, float]:
        """u at the points of [probe], by name."""
        return {row["name"]: row["u"] for row in self.json.get("probes", [])}

    @property
    def balance(self) -> dict[str, float]:
        """Sources and fluxes by name (f, groups, imbalance): integrals, in watts if u is a temperature and f is in
        W/m^3."""
        return {row["name"]: row["value"] for row in self.json.get("balance", [])}

    @property
    def extrema(self) -> dict[str, dict[str, Any]]:
        """"minimum" and "maximum" of u over the mesh: "value", "x", "y", "z" and "material"."""
        return {row["kind"]: row for row in self.json.get("extrema", [])}

    def table(self) -> str:
        """The tables of results, extrema, probes and the balance as text, to be printed."""
        lines = [self.json["message"] or f"CONVERGED in {self.iterations} iterations"]
        for name in _TABLES:
            rows = self.json.get(name, [])
            columns = list(dict.fromkeys(column for row in rows for column in row))
            cells = [[name, *columns[1:]]] + [[_text(row.get(column)) for column in columns] for row in rows]
            widths = [max(map(len, column)) for column in zip(*cells)]
            lines += [""] * bool(rows) + ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells if rows]
        return "\n".join(lines + [f"\nnote: {note['text']}" for note in self.json.get("notes", [])])

    def write(self) -> None:
        """Write the run log and the field that [output] names, as the program does."""
        check(library().sp_case_write(self._handle()))

    def plot(self, image: str | os.PathLike[str] | None = None, **options: Any) -> Picture:
        """Write the outputs, and draw the field with sp_plot.

        image:    name.png, name.pdf or name.svg; None: the name of the field with .png
        options:  of `sp_plot field`: slice="x=0.5", scalar="rank", view=(30, 20) in degrees, elements=True for the
                  edges of elements, z_stretch=2"""
        field = self.json["case"]["output"]["field"]
        if not field:
            raise Error("plot() draws the field: give output.field a name")
        self.write()
        path = Path(field) if self.converged else Path(field).with_suffix(".unconverged" + Path(field).suffix)
        picture = Picture(os.fspath(image or path.with_suffix(".png")))
        words = [sys.executable, _find_plot(), "field", str(path), "-o", picture]
        for name, value in options.items():
            words.append("--" + name.replace("_", "-"))
            words += [] if value is True else map(str, value if isinstance(value, (tuple, list)) else [value])
        if self._case.rank == 0:
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            if done.returncode:
                raise Error(done.stderr.strip())
        return picture


class NotConverged(Error):
    """solver.max_iterations came before the tolerance. result: the Result of the last iterate."""

    def __init__(self, message: str, result: Result):
        super().__init__(message, NOT_CONVERGED)
        self.result = result


def _text(value: Any) -> str:
    return "" if value is None else f"{value:.9g}" if isinstance(value, float) else str(value)


def _find_plot() -> str:
    """sp_plot.py beside the library where it is installed, else in the source tree."""
    places = [prefix / "share/sp_solve/plot/sp_plot.py" for prefix in Path(library()._name).resolve().parents]
    return next((str(path) for path in places if path.is_file()), os.path.join(ROOT, "io", "plot", "sp_plot.py"))
