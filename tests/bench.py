#!/usr/bin/env python3
"""sp_bench as a user runs it: its file, killing, messages."""

import json
import os
import signal
import stat
import subprocess
import sys

import driver
import optional
from driver import Run, check

BENCH, MPIEXEC = os.path.abspath(sys.argv[1]), sys.argv[2:]

h5py, numpy = optional.need("h5py", "numpy")

driver.start("bench", BENCH, MPIEXEC)


def run(*arguments, ranks=0):
    launcher = [*MPIEXEC, str(ranks)] if ranks else []
    return driver.command(*launcher, BENCH, *arguments, timeout=250)


def read(path):
    with h5py.File(path) as file:
        table = file.get("bench")  # absent before the first row
        return (table[:], dict(file.attrs), table.attrs["units"]) if table else ([], dict(file.attrs), "")


def refuse(words, *arguments):
    driver.check_line(run(*arguments), "sp_bench", words)


def ended_early(number, code, status):
    """Send a signal during a run: its measurements are kept. Returns its output."""
    path = f"signal{number}.h5"
    long = ["--order", "1:6", "--elements", "64", "--device", "host", "--repeats", "100", "-o", path]
    with subprocess.Popen([BENCH, *long], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        driver.wait_for("rows", lambda: process.poll() is not None or os.path.exists(path) and len(read(path)[0]) > 0, 0.05)
        process.send_signal(number)
        printed = process.communicate(timeout=100)
    rows, attributes, _ = read(path)
    check(process.returncode == code, f"signal {number}: exit code {process.returncode}")
    check(0 < len(rows) < 42 and attributes["status"].startswith(status),
          f"{len(rows)} {attributes}")
    return printed


def check_rows(rows, ranks):
    what = rows["what"].astype(str)
    # One copy per problem, and three measurements for each of two geometries.
    check(len(rows) == 2 * 3 * (1 + 2 * 3), f"{len(rows)} rows")
    check(sum(what == "copy") == 6 and sum(what == "cg") == 12, what)
    for name in "seconds", "seconds_min", "seconds_max", "gdofs_per_second":
        check((rows[name] > 0).all(), f"{name}: {rows[name]}")
    check((rows["seconds_min"] <= rows["seconds"]).all()
          and (rows["seconds"] <= rows["seconds_max"]).all(), "median between min and max")
    check((rows["error"][what == "operator"] < 1e-13).all(), f"errors {rows['error']}")
    rated = what != "cg"
    check(numpy.allclose(rows["tflops"][rated] * rows["seconds"][rated] * 1e12,
                         rows["flops"][rated], rtol=1e-14), "rates")
    nq = rows["order"] + 1
    collocated = (rows["problem"].astype(str) == "bp3.5") & (what == "unassembled")
    check(numpy.array_equal(rows["flops"][collocated],
                            (27 * (12 * nq**4 + 18 * nq**3))[collocated]), "flops of BP3.5")
    check(set(rows["dofs"][what == "operator"]) == {4**3, 7**3}, "degrees of freedom")
    check((rows["warm_cache"] == 1).all(), "the host does not change inputs")
    check(sum(rows["kernel"]) == sum(rows["threads"]) == 0, f"kernels on {ranks} ranks")


def check_document(rows, attributes):
    """JSON has the contents of the file; the figure of merit is the best iteration of CG."""
    with open("bench.json", encoding="utf-8") as file:
        document = json.load(file)
    check(document["status"] == "complete" and len(document["bench"]) == len(rows), document.keys())
    check([row["seconds"] for row in document["bench"]] == list(rows["seconds"]), "seconds in JSON")
    best = max(rows[rows["what"].astype(str) == "cg"], key=lambda row: row["gdofs_per_second"])
    check(document["figure_of_merit"] == best["gdofs_per_second"] == attributes["figure_of_merit"], best)
    check("cg" in document["figure_of_merit_of"] and f"N = {best['order']}," in document["figure_of_merit_of"], document)


def main():
    small = ["--problem", "all", "--elements", "27", "--device", "host", "--repeats", "3"]
    for ranks in 0, 2:
        path = f"{ranks}.h5"
        done = run(*small, "--order", "1,2", "-o", path, "--json", "bench.json", ranks=ranks)
        check(done.returncode == 0 and "trilinear cg" in done.stdout and path in done.stdout,
              f"{done.returncode} {done.stdout} {done.stderr}")
        rows, attributes, units = read(path)
        check(len(units.split(", ")) == len(rows.dtype.names), units)
        check(attributes["program"] == "sp_bench" and attributes["status"] == "complete"
              and attributes["ranks"] == max(ranks, 1) and attributes["device"]
              and "--elements 27" in attributes["options"], attributes)
        check_rows(rows, ranks)
        check_document(rows, attributes)

    ended_early(signal.SIGKILL, -signal.SIGKILL, "running")
    output, errors = ended_early(signal.SIGTERM, 5, "interrupted by a signal")
    check("stored    copy" in output, f"no table in {output!r}")
    check("interrupted by a signal" in errors and len(errors.splitlines()) == 1, errors)

    refuse("cannot write log absent/x.h5", *small, "-o", "absent/x.h5")
    refuse("cannot write json absent/x.json", *small, "--json", "absent/x.json")
    with open("cube.msh", "w", encoding="utf-8") as file:
        file.write("$MeshFormat")
    refuse("cannot write json cube.msh", *small, "--json", "cube.msh")
    with open("cube.msh", encoding="utf-8") as file:
        check(file.read() == "$MeshFormat", "a mesh is replaced")
    refuse("are one file", *small, "-o", "x", "--json", "x")
    os.mkfifo("pipe")
    refuse("pipe is not a regular file", *small, "-o", "pipe")
    check(stat.S_ISFIFO(os.stat("pipe").st_mode), "a pipe is replaced")
    # As in bad_input.py.
    full = Run(1, [*small, "-o", "full.h5"], "export OMPI_MCA_btl=self,tcp; ulimit -f 4; ")
    full.expect(1, 1)
    check("cannot write log full.h5: File too large" in full.err, full.err)
    check(not os.path.exists("full.h5.tmp"), "a temporary file is left")
    for words, *arguments in (
            ("expected one of mass", "--problem", "bp4"), ("from 1 to 15", "--order", "3,16"), ("from 1 to 15", "--order", "5:3"),
            ("expected one of production, paper, all, found '-3'", "--kernel", "-3"), ("found '0'", "--elements", "0"), ("found ''", "--elements", ","),
            ("whole numbers from 1 to 1000", "--repeats", "2.5"), ("--elements and --dofs both give the size", "--elements", "8", "--dofs", "100"),
            ("--exchange: expected one of auto, peer, cuda-aware, nccl, staged, found 'mpi'", "--exchange", "mpi"),
            ("nothing to measure", "--measure", "cg", "--precision", "single"), ("unknown option", "--orders", "3"),
            ("unexpected argument 'case.ini'", "case.ini"), ("--kernel", "--kernel", "all", "--device", "host")):
        refuse(words, *arguments)


driver.in_folder(main)
driver.finish()
