"""Tables of run logs (io/run_log.h). Needs h5py and numpy only."""

import configparser
import csv
import math
import os
import sys

import h5py

from failure import Failure
from files import label_all, open_log

# Of the CSV file; absent values are None.
COLUMNS = ("path", "mesh", "operator", "order", "elements", "dofs", "ranks", "ranks_with_elements", "device",
           "preconditioner", "iterations", "relative_residual", "L2", "H1", "max", "solve_seconds",
           "total_seconds", "matvec_gdofs_per_second", "cg_gdofs_per_second", "peak_memory", "status")


def read_case(text):
    """The resolved case, by section and key."""
    case = configparser.RawConfigParser(strict=False, delimiters=("=",))
    case.read_string(text)
    return case


def plain(value):
    """A number or text of Python's; None if it is not finite."""
    value = getattr(value, "item", lambda: value)()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def mesh_of(case):
    mesh = case["mesh"]
    if mesh.get("file"):
        return os.path.basename(mesh["file"])
    return " ".join(["box", *mesh["elements"].split()])


def matvec_rate(log, dofs):
    """GDOF/s of the mean application, on the slowest rank."""
    for row in log["phases"] if "phases" in log else ():
        if row["name"] == b"matvec" and row["calls"] > 0 and row["seconds_max"] > 0 and dofs:
            return 1e-9 * dofs * float(row["calls"]) / float(row["seconds_max"])
    return None


def read_common(path, log):
    """What a study and a single run have."""
    case = read_case(log.attrs["case"])
    run = dict.fromkeys(COLUMNS)
    run.update({name: plain(value) for name, value in log.attrs.items() if name in run})
    run.update(path=path, mesh=mesh_of(case), operator=case["discretization"]["operator"])
    return run


def read_single(path, log):
    run = read_common(path, log)
    residual = log["residual"]
    if run["iterations"] is None and len(residual) > 0:  # still running, or killed
        run["iterations"] = int(residual["iteration"][-1])
        run["relative_residual"] = float(residual["relative"][-1])
    if "errors" in log:
        run.update({name: plain(log["errors"][name][0]) for name in ("L2", "H1", "max")})
    run["matvec_gdofs_per_second"] = matvec_rate(log, run["dofs"])
    return run


def read_study(path, log):
    """One run per row. Times of the whole study are not those of a run."""
    common = read_common(path, log)
    common.update(total_seconds=None, peak_memory=None)
    runs = []
    for row in log["study"]:
        run = dict(common)
        run.update({name: plain(row[name]) for name in ("order", "elements", "dofs", "iterations", "L2", "H1")})
        run["solve_seconds"] = seconds = plain(row["seconds"])
        if seconds:
            rate = 1e-9 * run["dofs"] * run["iterations"] / seconds
            run["cg_gdofs_per_second"] = rate
            if row["matvec_share"] > 0:
                run["matvec_gdofs_per_second"] = rate / float(row["matvec_share"])
        runs.append(run)
    return runs


def read(path):
    """The runs of a log, as dictionaries with the keys COLUMNS."""
    with open_log(path) as log:
        return read_study(path, log) if "study" in log else [read_single(path, log)]


# ---- Output ----


def show(value, form):
    return "-" if value is None else format(value, form)


def print_table(headings, rows):
    """Columns as wide as they must be. Text is on the left, numbers (headings with a blank in front) on
    the right."""
    widths = [max(len(cell.strip()) for cell in column) for column in zip(headings, *rows)]
    for cells in (headings, *rows):
        line = [cell.strip().rjust(width) if heading.startswith(" ") else cell.strip().ljust(width)
                for heading, cell, width in zip(headings, cells, widths)]
        print("  ".join(line).rstrip())


HEADINGS = ("run", " N", " DOFs", " elements", " ranks", "device", "preconditioner", " iterations",
            " residual", " L2 error", " solve [s]", " total [s]", " matvec GDOF/s",
            " CG GDOF/s", "status")


def shorten(text, separator):
    """The part of a long text that tells runs apart."""
    return (text or "-").split(separator)[0]


def cells_of(run, label):
    return (label, show(run["order"], "d"), show(run["dofs"], "d"), show(run["elements"], "d"),
            show(run["ranks_with_elements"], "d"), shorten(run["device"], ","),
            run["preconditioner"] or "-", show(run["iterations"], "d"), show(run["relative_residual"], ".1e"),
            show(run["L2"], ".3e"), show(run["solve_seconds"], ".4g"), show(run["total_seconds"], ".4g"),
            show(run["matvec_gdofs_per_second"], ".4g"), show(run["cg_gdofs_per_second"], ".4g"),
            shorten(run["status"], ":"))


def write_csv(runs, stream):
    writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(runs)


def save_csv(runs, path):
    if os.path.exists(path) and h5py.is_hdf5(path):
        raise Failure(f"{path}: this HDF5 file would be lost; is the name after --csv missing?")
    try:
        with open(path, "w", encoding="utf-8", newline="") as stream:
            write_csv(runs, stream)
    except OSError as error:
        raise Failure(f"{path}: cannot write: {error.strerror}") from None


def runs(arguments):
    """One line per run; a study has several."""
    read_runs = [(label, run) for label, path in zip(label_all(arguments.files), arguments.files)
                 for run in read(path)]
    if arguments.csv == "-":
        write_csv([run for _, run in read_runs], sys.stdout)
        return
    if arguments.csv:
        save_csv([run for _, run in read_runs], arguments.csv)
    print_table(HEADINGS, [cells_of(run, label) for label, run in read_runs])
