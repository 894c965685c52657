#!/usr/bin/env python3
"""sp_solve --json: the document agrees with the run log, for any outcome of the run; files that it must not replace
stay."""

import json
import math
import os
import signal
import subprocess
import sys

import driver
import optional
from driver import Run, check, write

h5py = optional.need("h5py")
PROGRAM, INPUTS = (os.path.abspath(path) for path in sys.argv[1:3])
driver.start("json_output", PROGRAM, sys.argv[3:])

# A pure word, a formula with quotes in its name, names beyond ASCII, several numbers, regions, materials.
CASE = """[mesh]
elements = 4 2 2
[discretization]
order = 3
[problem]
lambda = 1
solution = sin(3*x) + y*z
[boundary]
xmin = neumann
default = dirichlet
[material core]
kappa = 1
[region core]
lower = 0 0 0
upper = 0.5 1 1
[probe]
K\u00e4se "1" = 0.25 0.5 0.5
[result]
hottest = maximum
x moment = integral of u*x over core
loss = flux over xmin
[output]
field = run.hdf
"""

# Attributes of the log that the document has in another form, or not.
OTHERWISE = {"case", "hosts", "status"}


def parse(text, name):
    """The document; {} if it is none. Python's module takes NaN and Infinity, which are no JSON."""
    def reject(constant):
        raise ValueError(f"{constant} is no JSON")
    try:
        return json.loads(text, parse_constant=reject)
    except ValueError as error:
        check(False, f"{name}: {error}: {text!r}")
        return {}


def load(path="run.json"):
    if not check(os.path.exists(path), f"{path} is not there"):
        return {}
    with open(path, encoding="utf-8") as file:
        return parse(file.read(), path)


def same(mine, logged):
    """A JSON value and one of HDF5, to the last bit."""
    if isinstance(logged, bytes):
        logged = logged.decode()
    if isinstance(mine, dict):  # numbers of a note
        return ", ".join(f"{name} = {number:.12g}" for name, number in mine.items()) == logged
    if isinstance(logged, str):
        return mine == logged
    if mine is None:
        return not math.isfinite(logged)
    return mine == logged.item()


def check_log(document, path="run.h5"):
    """Every attribute, and every table except tables with a row per iteration."""
    with h5py.File(path, "r") as log:
        for name, value in log.attrs.items():
            if name not in OTHERWISE and not name.endswith("_unit"):
                check(name in document and same(document[name], value),
                      f"{name}: {document.get(name)!r} instead of {value!r}")
        check(",".join(document["hosts"]) == log.attrs["hosts"], f"hosts {document['hosts']}")
        check(log.attrs["status"].startswith(document["status"]), f"status {document['status']}")
        for name in sorted(set(log) - {"matvec", "matvec_seconds_by_rank", "residual", "errors"}):
            rows, mine = log[name][:], document.get(name)
            if not check(mine is not None and len(mine) == len(rows), f"{name}: {mine}"):
                continue
            for row, logged in zip(mine, rows):
                check(set(row) == set(rows.dtype.names), f"{name}: {list(row)}")
                for column, value in row.items():
                    check(same(value, logged[column]), f"{name}.{column}: {value} / {logged[column]}")
        if "errors" in log:
            check(list(document["errors"].values()) == list(log["errors"][0]),
                  f"errors {document['errors']}")
        if len(log["residual"]) > 0:
            # The rows have the residual of the recursion, the document the norm of b - A x.
            drift = document["relative_residual"] - log["residual"]["relative"][-1]
            check(document["iterations"] == log["residual"]["iteration"][-1] and abs(drift) < 1e-10,
                  f"residuals differ by {drift}")


def keys():
    """The resolved case, by section, with numbers as numbers."""
    case = load()["case"]
    expected = {("mesh", "elements"): [4, 2, 2], ("mesh", "map"): "none", ("mesh", "refine"): 0,
                ("problem", "lambda"): "1", ("boundary", "xmin"): "neumann", ("boundary", "default"): "dirichlet",
                ("solver", "orders"): [], ("solver", "tolerance"): 1e-9,
                ("probe", "K\u00e4se \"1\""): [0.25, 0.5, 0.5], ("result", "x moment"): "integral of u*x over core",
                ("problem", "initial"): "", ("region", "core"): {"lower": [0, 0, 0], "upper": [0.5, 1, 1], "empty": "no"}}
    for (section, key), value in expected.items():
        found = case.get(section, {}).get(key)
        check(found == value and type(found) is type(value), f"case.{section}.{key} = {found!r}")
    check(case["material"]["core"]["kappa"] == "1", f"materials {case['material']}")
    # The log has the same case as text.
    with h5py.File("run.h5", "r") as log:
        lines = log.attrs["case"].splitlines()
    given = {line.split(" = ")[0].removesuffix(" =") for line in lines if " =" in line and not line.startswith("#")}
    mine = {key for section in case.values() for key, value in section.items() if not isinstance(value, dict)}
    mine |= {key for name in ("material", "region") for entry in case[name].values() for key in entry}
    check(mine == given, f"keys {mine ^ given}")


def good_run(ranks):
    write("case.ini", CASE)
    write("run.json", "{}\n")  # an older one
    run = Run(ranks, ["case.ini", "solver.tolerance=1e-9", "--json", "run.json"]).expect(ranks, 0)
    check(run.err == "", f"{run.name}: {run.err!r}")
    document = load()
    check(list(document)[:7] == ["program", "version", "git_revision", "start_time", "status",
                                 "exit_code", "message"], f"begins with {list(document)[:7]}")
    check((document["program"], document["status"], document["exit_code"], document["message"]) ==
          ("sp_solve", "converged", 0, None), f"{run.name}: {document}")
    check((document["ranks"], document["ranks_with_elements"]) == (ranks, ranks), "ranks")
    check_log(document)
    keys()
    moment = [result for result in document["results"] if result["name"] == "x moment"][0]
    check(moment["x"] is None and moment["group"] == "core", f"no place: {moment}")
    check(document["field"] == "run.hdf", "the field")
    check(sorted(os.listdir()) == ["case.ini", "run.h5", "run.hdf", "run.json"],
          f"left over: {os.listdir()}")


def study(ranks):
    run = Run(ranks, ["mesh.elements=2 2 2", "problem.solution=sin(3*x)+y*z", "--json", "run.json",
                      "--study", "order=1:2", "--study", "refine=0:2"]).expect(ranks, 0)
    check("as expected in all 4 judged steps" in run.out, f"{run.name}: {run.out}")
    document = load()
    check_log(document)
    rows = document["study"]
    check(document["case"]["boundary"]["default"] == "dirichlet", "a default that is not given")
    check([(row["order"], row["refine"]) for row in rows] ==
          [(order, refine) for order in (1, 2) for refine in (0, 1, 2)], f"{run.name}: {rows}")
    for row in rows:
        check((row["L2_rate"] is None) == (row["refine"] == 0), f"rate {row}")
        check(row["L2_expected"] == row["order"] + 1, f"expected {row}")
        if row["refine"] > 0:
            coarse = rows[rows.index(row) - 1]
            check(abs(row["L2_rate"] - math.log2(coarse["L2"] / row["L2"])) < 1e-12, f"rate {row}")
    check(document["status"] == "converged" and document["exit_code"] == 0, f"{document['status']}")
    Run(ranks, ["mesh.elements=3 2 2", "problem.solution=abs(x-0.45)", "output.log=", "--json", "run.json",
                "--study", "refine=0:2", "discretization.order=3"]).expect_error(ranks, 4, "rate")
    document = load()
    check((document["status"], document["exit_code"], len(document["study"])) == ("fell short of its rate", 4, 3),
          f"{document}")
    Run(ranks, ["mesh.elements=3 2 2", "problem.solution=sin(3*x)+y*z", "solver.max_iterations=3", "solver.preconditioner=none",
                "output.log=", "--study", "order=1:2", "--study", "refine=0:1"]).expect_error(
        ranks, 2, "order 1, refine 1: not converged")
    check(sorted(os.listdir()) == ["run.h5", "run.json"], f"left over: {os.listdir()}")


def failures(ranks):
    """The status, and the line of standard error."""
    good = ["mesh.elements=3 2 2", "discretization.order=2", "problem.solution=sin(3*x)+y*z",
            "output.log=", "output.field="]
    for arguments, code, status in (
            (["absent.ini"], 1, "failed"), ([*good, "discretization.order=99"], 1, "failed"),
            ([*good, "boundary.lid=neumann"], 1, "failed"), ([*good, "output.log=absent/run.h5"], 1, "failed"),
            ([*good, "result.bad=integral of log(u-1e9)"], 1, "failed"),
            ([*good, "solver.max_iterations=2"], 2, "not converged")):
        run = Run(ranks, [*arguments, "--json", "run.json"])
        run.expect_error(ranks, code)
        document = load()
        check((document["status"], document["exit_code"]) == (status, code), f"{run.name}: {document}")
        check(f"sp_solve: {document['message']}" == run.lines[0],
              f"{run.name}: {document['message']} / {run.err}")
        os.remove("run.json")
    # The document of a run that did not converge, and of a result that is not finite.
    Run(ranks, [*good, "solver.max_iterations=2", "output.log=run.h5", "output.field=run.hdf",
                "--json", "run.json"]).expect(ranks, 2)
    document = load()
    check_log(document)
    check(document["iterations"] == 2 and document["field"] == "run.unconverged.hdf", f"{document}")
    Run(ranks, [*good, "result.bad=integral of log(u-1e9)", "--json", "run.json"]).expect(ranks, 1)
    check(load()["results"][0]["value"] is None, f"a result that is not finite: {load()['results']}")


def standard_output():
    """Only the document on standard output, tables on standard error or, with -q, nowhere."""
    write("case.ini", CASE)
    run = Run(2, ["case.ini", "--json", "-"]).expect(2, 0)
    check_log(parse(run.out, run.name))
    run = Run(2, ["case.ini", "-q", "--json", "-"]).expect(2, 0)
    check(parse(run.out, run.name)["status"] == "converged" and run.err == "", f"{run.err!r}")
    # A mesh is read by another program, which must not print here either.
    run = Run(1, [os.path.join(INPUTS, "cube.ini"), "discretization.order=2", "--json", "-"])
    check(parse(run.expect(1, 0).out, run.name)["elements"] == 512, f"{run.name}: {run.out!r}")
    run = Run(2, ["absent.ini", "--json", "-"]).expect_error(2, 1, "absent.ini")
    check(parse(run.out, run.name)["message"] in run.err, f"{run.name}: {run.out!r}")
def bad_use():
    """One line, and nothing is written."""
    case = ["mesh.elements=3 2 2", "problem.solution=x*y", "output.field="]
    os.mkdir("folder")
    write("case.ini", "[problem]\nsolution = x*y\n[output]\nfield =\n")
    write("wrong.ini", "[problem]\nsolutions = x*y\n[mesh]\nfile = cube.msh\n")
    write("cube.msh", "$MeshFormat\n")
    write("other.hdf", "{ a field, as far as its name goes }\n")
    before = {name: os.lstat(name).st_mtime_ns for name in os.listdir()}
    for arguments, words in (
            ([*case, "--json"], ("--json: expected a file name",)),
            ([*case, "--json", "a.json", "--json", "b.json"], ("--json is given twice",)),
            ([*case, "--json", "a.json", "--dry-run"], ("--json", "--dry-run")),
            ([*case, "--json", "folder"], ("--json", "not a regular file", "folder")),
            ([*case, "--json", "absent/a.json"], ("cannot write json absent/a.json", "No such file")),
            ([*case, "--json", "run.h5"], ("--json", "log and --json are the same file")),
            ([*case, "output.field=a.hdf", "--json", "a.unconverged.hdf"],
             ("would overwrite --json with an unconverged solution",)),
            (["case.ini", "--json", "case.ini"], ("--json", "the case file")),
            (["wrong.ini", "--json", "cube.msh"], ("cannot write json cube.msh", "another format")),
            ([*case, "problem.initial=other.hdf", "--json", "other.hdf"], ("--json", "the initial field"))):
        Run(2, arguments).expect_error(2, 1, *words)
        now = {name: os.lstat(name).st_mtime_ns for name in os.listdir()}
        check(now == before, f"{arguments}: {sorted(now)}")


def while_it_runs():
    """A signal."""
    process = subprocess.Popen([PROGRAM, *driver.ENDLESS, "output.field=", "--json", "run.json"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    driver.wait_for("the log", lambda: os.path.exists("run.h5"))
    check(not os.path.exists("run.json"), "a document before the end")
    process.send_signal(signal.SIGTERM)
    error = process.communicate(timeout=driver.SECONDS)[1]
    check(process.returncode == 5 and len(error.splitlines()) == 1, f"{process.returncode}: {error!r}")
    document = load()
    check((document["status"], document["exit_code"]) == ("interrupted", 5), f"{document}")
    check(f"sp_solve: {document['message']}\n" == error, f"{document['message']} / {error}")
    check_log(document)


def main():
    driver.side_by_side([(good_run, 2), (good_run, 1), (study, 2), (failures, 2), (standard_output,), (bad_use,), (while_it_runs,)])
    driver.finish()


main()
