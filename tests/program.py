#!/usr/bin/env python3
"""The program as a user runs it: exit codes, printed tables, files, estimates of memory. Wrong input is in
bad_input.py."""

import os
import re
import subprocess
import sys

import driver
import optional
from driver import Run, check, write

h5py = optional.need("h5py")
PROGRAM, INPUTS = (os.path.abspath(path) for path in sys.argv[1:3])
MPIEXEC = sys.argv[3:]
driver.start("program", PROGRAM, MPIEXEC)

CASE = """[mesh]
elements = 3 2 2
map = sine
[discretization]
order = 3
[problem]
solution = sin(3*x) + y*z
[output]
log =
field =
"""


def launcher():
    """Without a script in between: the shell gets the program's own exit code, and a pipe gets plain text."""
    write("good.ini", CASE)
    for arguments, code in ((["absent.ini"], 1), (["good.ini", "solver.max_iterations=2"], 2),
                            (["good.ini"], 0)):
        done = driver.command(*MPIEXEC, "4", PROGRAM, *arguments)
        check(done.returncode == code, f"{arguments}: the launcher returns {done.returncode}")
        ours = [line for line in done.stderr.splitlines() if line.startswith("sp_solve: ")]
        check(len(ours) == (code > 0), f"{arguments}: {done.stderr!r}")
        check("iterations" in done.stdout or code == 1, f"{arguments}: {done.stdout!r}")
        check("\033" not in done.stdout and "\r" not in done.stdout.replace("\r\n", "\n"),
              f"{arguments}: escape sequences in a pipe: {done.stdout!r}")


TABLES = ("matvec", "matvec_seconds_by_rank", "residual", "phases", "errors")
ATTRIBUTES = ("program", "version", "git_revision", "start_time", "hosts", "ranks", "device",
              "case", "status", "elements", "order", "dofs", "mpi", "environment")


def check_log(path, ranks, iterations, status):
    with h5py.File(path, "r") as log:
        for name in TABLES:
            check(name in log, f"{path} has no /{name}")
        for name in ATTRIBUTES:
            check(name in log.attrs, f"{path} has no attribute {name}")
        check(log.attrs["ranks"] == ranks, f"ranks {log.attrs['ranks']}")
        check(log.attrs["status"] == status, f"status {log.attrs['status']!r}")
        matvec, residual = log["matvec"], log["residual"]
        check(matvec.shape == (iterations,), f"{matvec.shape} rows of matvec")
        check(list(matvec["iteration"]) == list(range(1, iterations + 1)), "matvec iterations")
        check((matvec["seconds"] > 0).all() and (matvec["gflops"] > 0).all(), "matvec rates")
        check(log["matvec_seconds_by_rank"].shape == (iterations, ranks), "seconds by rank")
        check((log["matvec_seconds_by_rank"][:].max(axis=1) == matvec["seconds"]).all(),
              "a matvec takes as long as its slowest rank")
        check(list(residual["iteration"]) == list(range(iterations + 1)), "residual iterations")
        check(0 < residual["relative"][0] <= 1, "from the best constant, the residual is at most that of zero")
        seconds = residual["seconds"]
        check(0 < seconds[0] and (seconds[1:] > seconds[:-1]).all() and
              seconds[-1] <= log.attrs["solve_seconds"], f"seconds {seconds} of {log.attrs['solve_seconds']}")
        phases = {row["name"].decode(): row for row in log["phases"]}
        check(0 < phases["matvec"]["share"] <= 1, "the share of the matvec")
        check(phases["matvec"]["calls"] == iterations, "calls of the matvec")
        levels = log["levels"][:]
        check(levels["order"][0] == log.attrs["order"] and levels["order"][-1] == 1 and
              levels["dofs"][0] == log.attrs["dofs"], f"levels {levels}")
        check(all(levels["applications"] == iterations) and all(levels["seconds"] > 0) and
              abs(sum(levels["share"]) - 1) < 1e-9, f"levels {levels}")
        check(log.attrs["total_seconds"] == phases["total"]["seconds_max"] and
              log.attrs["total_from"] == "start of the process", f"total: {dict(log.attrs)}")
        for name in "L2", "H1", "max":
            check(log["errors"][name][0] > 0, f"error {name}")


def iterations_of(run):
    found = re.search(r"^ *iterations +(\d+)$", run.out, re.MULTILINE)
    check(found, f"{run.name}: no iterations in {run.out!r}")
    return int(found.group(1)) if found else -1


def good_runs(ranks):
    """Everything is printed and written, converged or not."""
    case = os.path.join(INPUTS, "cube.ini")
    run = Run(ranks, [case, "discretization.order=4"]).expect(ranks, 0)
    check(run.err == "", f"{run.name}: {run.err!r}")
    for word in "L2 ", "H1 ", "max ", "matvec", "GFLOP/s", "GB/s", "GDOF/s", "run.h5", "run.hdf":
        check(word in run.out, f"{run.name}: no '{word}' in {run.out!r}")
    check_log("run.h5", ranks, iterations_of(run), "converged")
    os.remove("run.h5")
    os.remove("run.hdf")
    run = Run(ranks, [case, "solver.max_iterations=5"])
    run.expect_error(ranks, 2, "not converged", "after 5 iterations")
    check(iterations_of(run) == 5, f"{run.name}: {run.out!r}")
    check_log("run.h5", ranks, 5, "not converged")
    check(os.path.getsize("run.unconverged.hdf") > 0, "the field of an unconverged run")
    check(sorted(os.listdir()) == ["run.h5", "run.unconverged.hdf"], f"left over: {os.listdir()}")

def as_many_ranks_as_elements():
    """The partitioner (gmsh 4.8) then leaves some ranks without elements."""
    write("slab.geo", "Point(1) = {0, 0, 0};\nExtrude {1, 0, 0} { Point{1}; Layers{3}; Recombine; }\n"
          "Extrude {0, 1, 0} { Line{1}; Layers{3}; Recombine; }\nExtrude {0, 0, 1} { Surface{5}; Layers{1}; Recombine; }\n")
    found = []
    for ranks in 1, 9:
        run = Run(ranks, ["mesh.file=slab.geo", "discretization.order=3", "solver.tolerance=1e-11", "output.field=run.hdf",
                          "problem.solution=sin(x)*y"]).expect(ranks, 0)
        found.append((iterations_of(run), re.search(r"L2 (\S{8})", run.out).group(1)))
    check(found[0] == found[1], f"iterations and error on 1 and 9 ranks: {found}")


def threads():
    """Threads per rank, by the case or by the environment, are also the threads of the kernels: printed, logged,
    and with the result of one thread."""
    write("good.ini", CASE)
    found = {}
    for name, own, variable in (("one", [], ""), ("case", ["backend.threads=3"], ""),
                                ("environment", [], "export OMP_NUM_THREADS=3; ")):
        run = Run(2, ["good.ini", "backend.device=host", "output.log=run.h5", *own], variable).expect(2, 0)
        device, printed = (re.search(rf"^ *{word} +(.*)$", run.out, re.MULTILINE).group(1)
                           for word in ("device", "threads"))
        with h5py.File("run.h5") as log:
            logged = int(log.attrs["threads"]), int(log.attrs["kernel_threads"])
        if name == "one":
            check(device.endswith("kernels") and logged[1] == 1, f"{run.name}: {device}, {logged}")
        else:
            check(device.endswith(", 3 threads") and printed.startswith("3 per rank") and logged == (3, 3),
                  f"{run.name}: {device}, {printed}, {logged}")
        found[name] = iterations_of(run), re.search(r"L2 (\S{8})", run.out).group(1)
    check(len(set(found.values())) == 1, f"iterations and errors: {found}")


def materials():
    """A line for each material, and notes on elements without one and on jumps of the exact solution. Other notes are in
    answers.py."""
    slab = ["mesh.elements=4 2 2", "discretization.order=2", "problem.lambda=0", "problem.solution=y",
            "region.left.upper=0.5 1 1", "output.log=", "output.field="]
    both = ["material.left.kappa=3", "material.default.lambda=x"]
    run = Run(4, [*slab, *both]).expect(4, 0)
    for line in ("material         left, 8 elements, lambda = 0, kappa = 3\n",
                 "material         default, 8 elements, lambda = x, kappa = 1\n"):
        check(line in run.out and "may jump" not in run.out and "between materials" not in run.out, run.out)
    run = Run(4, [*slab, both[0], "problem.solution=x"]).expect(4, 0)
    for words in ("between materials the exact solution jumps by up to 0.0e+00, its kappa du/dn by up to 2.0e+00",
                  "material         [problem], 8 elements, lambda = 0, kappa = 1\n",
                  "note             8 elements in no [material]: as in [problem]\n"):
        check(words in run.out, f"{run.name}: no '{words}' in {run.out!r}")


def contact():
    """One that ends inside a body, in a study; in a dry run; in a field to start from, also on a finer mesh."""
    case = [f"mesh.file={os.path.join(os.path.dirname(os.path.abspath(__file__)), 'fixtures', 'sandwich.geo')}",
            *driver.settings("problem.forcing=0; boundary.near=contact 1; boundary.left=dirichlet 0; boundary.right=dirichlet 10; "
                             "boundary.default=neumann 0; discretization.order=2; output.flux=yes")]
    Run(2, [*case, "problem.forcing=1+y", "boundary.near=", "boundary.half=contact 0.5", "--study", "order=1:3"]).expect(2, 0)
    Run(2, [*case, "--dry-run"]).expect(2, 0)
    Run(2, [*case, "solver.tolerance=1e-12", "output.field=run.hdf"]).expect(2, 0)
    for refine in 0, 1:
        run = Run(4, [*case, "problem.initial=run.hdf", "output.field=", "solver.tolerance=1e-6", f"mesh.refine={refine}"])
        count = iterations_of(run.expect(4, 0))
        check(count <= 2, f"a start from a field, {refine} refinements: {count} iterations")


DRY_RUNS = (
    ("mesh.elements=17 17 17", "mesh.refine=1", "discretization.order=3", "output.field=run.hdf", "solver.preconditioner=jacobi"),
    ("mesh.elements=15 15 15", "discretization.order=7", "backend.threads=3"),
    ("mesh.elements=25 25 25", "discretization.order=4", "discretization.geometry=stored", "solver.preconditioner=multigrid"),
    ("mesh.elements=20 20 20", "discretization.order=5", "problem.kappa=1+x", "problem.lambda=y",
     "discretization.operator=bp3.0"),
    ("mesh.elements=15 15 15", "mesh.upper=1 0.01 0.01", "discretization.order=7", "boundary.default=neumann",
     "boundary.xmin=dirichlet", "solver.preconditioner=multigrid"),
)


def dry_run_of_too_much(ranks):
    """A hundred million elements: most machines are too small, and the exit code says so. The mesh has 0.5 kB per
    element (mesh/README.md)."""
    dry = Run(ranks, ["mesh.refine=6", "discretization.order=2", "problem.solution=x", "--dry-run"])
    room = re.search(r"^ *host +the run takes (\S+) MB more .* (\S+) MB available(: too little)?$", dry.out, re.MULTILINE)
    if check(room, f"{dry.name}: {dry.out!r}"):
        more, available, total = float(room[1]), float(room[2]), os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")
        check(more >= 5e4 and 0 < available <= 1e-6 * total and bool(room[3]) == (more > available), room.group())
        if room[3]:
            dry.expect_error(ranks, 1, "MB available", "more machines")
        else:
            dry.expect(ranks, 0)


def dry_run(ranks, number):
    """Compare the estimate with the run's peak resident memory, per rank and in total, to 25 %, with a million degrees
    of freedom. Not under sanitizers, which need memory of their own."""
    arguments = ["problem.solution=sin(3*x)", "output.log=", "output.field=",
                 "solver.max_iterations=3", "solver.preconditioner=none", *DRY_RUNS[number]]
    dry = Run(ranks, [*arguments, "--dry-run"]).expect(ranks, 0)
    check(not os.listdir(), f"a dry run writes: {os.listdir()}")
    found = re.search(r"^ *memory +about (\d+) MB, (\d+) MB on the largest rank$", dry.out, re.MULTILINE)
    if not check(found, f"{dry.name}: {dry.out!r}") or "ASAN_OPTIONS" in os.environ:
        return
    run = Run(ranks, arguments).expect(ranks, 2)
    taken = re.search(r"memory +(\S+) MB at the peak, (\S+) MB on the largest", run.out)
    for group in 1, 2:
        ratio = float(found[group]) / float(taken[group])
        check(0.75 < ratio < 1.25, f"{run.name}: estimated {found[group]} MB, took {taken[group]} MB")
    sizes = re.search(r"^ *discretization +(\d+) degrees of freedom$", dry.out, re.MULTILINE)
    check(sizes and f"{sizes[1]} degrees of freedom" in run.out, f"{dry.name}: {dry.out!r}")


def dry_run_refusals(ranks):
    write("good.ini", CASE)
    good = ["good.ini", "--dry-run"]
    # Refused before anything of that size exists: 2.3e9 elements a rank on four ranks.
    Run(ranks, [*good, "mesh.elements=8 8 8", "mesh.refine=8"]).expect_error(
        ranks, 1, "elements on one rank", "more ranks")
    Run(ranks, ["good.ini", "mesh.elements=8 8 8", "mesh.refine=8"]).expect_error(
        ranks, 1, "at most", "more ranks")
    Run(ranks, [*good, "boundary.wall=neumann"]).expect_error(ranks, 1, "boundary group 'wall'")
    Run(ranks, [*good, "probe.tip=9 9 9"]).expect_error(ranks, 1, "outside the mesh")


def small_stack(number):
    """All features at the highest order work with 1 MiB of stack. Sanitizers need more."""
    if "ASAN_OPTIONS" in os.environ:
        return
    mesh = os.path.join(INPUTS, "shell.geo")
    box = ["mesh.elements=2 2 1", "discretization.order=15", "solver.max_iterations=2"]
    smooth = "problem.solution=sin(3*x)*exp(y)+z^3"
    cases = (
        [*box, "mesh.map=sine", smooth, "problem.kappa=1+x^2", "problem.lambda=1+y",
         "discretization.operator=bp3.0", "boundary.xmin=neumann", "boundary.ymin=robin 1+z",
         "solver.preconditioner=jacobi", "probe.middle=0.5 0.5 0.5"],
        [*box, smooth, "discretization.operator=mass", "mesh.refine=1",
         "solver.preconditioner=none"],
        [f"mesh.file={mesh}", smooth, "discretization.order=3", "solver.max_iterations=3"],
        [*box, smooth, "problem.lambda=0", "boundary.default=neumann", "--study", "order=14:15"])
    run = Run(2, cases[number], "ulimit -s 1024; ").expect_error(2, 2, "not converged")
    check("--study" in cases[number] or os.path.getsize("run.unconverged.hdf") > 0, run.name)


def environment(ranks):
    """The log has the machine and the relevant environment variables, no others and nothing confidential."""
    shown = {"OMP_NOTE": "cores", "OMPI_MCA_btl_note": "a=b", "MPICH_NOTE": "", "UCX_NOTE": "two\tlines\n",
             "CUDA_NOTE": "x" * 1001, "HYPRE_NOTE": 600 * "\u00fc", "SLURM_JOB_ID": "17", "LOADEDMODULES": "gcc/12:hdf5"}
    hidden = ("UCX_API_KEY", "NCCL_my_token", "SLURM_JOB_Password", "HYPRE_SECRET_", "CUDA_CREDENTIALS", "MY_OMP_NOTE",
              "SLURM_CLUSTER", "PASSWORD", "OMPI_MCA_orte_note", "OMPI_MCA_initial_wdir_note")
    prefix = "".join(f"export {name}='{value}'; " for name, value in (shown | dict.fromkeys(hidden, "hidden")).items())
    Run(ranks, ["mesh.elements=3 2 2", "problem.solution=x*y", "discretization.order=2", "output.field="],
        prefix).expect(ranks, 0)
    with h5py.File("run.h5", "r") as log:
        text, mpi = log.attrs["environment"], log.attrs["mpi"]
    lines = text.split("\n")[:-1]
    for name, value in (shown | {"UCX_NOTE": "two lines "}).items():
        check(f"{name}={value}" in lines, f"no {name}={value} in {text!r}")
    check("hidden" not in text and "orte_" not in text and lines == sorted(lines), f"confidential: {text!r}")
    check("\n" not in mpi and f"MPI        {mpi.split(',')[0]}\n" in Run(1, ["--version"]).out, f"{mpi!r}")
def information():
    printed = {}
    for option, words in (("--help", ["usage: ", "exit codes"]), ("--defaults", ["[mesh]"]),
                          ("--version", ["sp_solve", "MPI", "HDF5", "gmsh", "host"])):
        run = Run(2, [option]).expect(2, 0)
        check(all(word in run.out for word in words) and run.out.count(words[0]) == 1 and not run.err, run.out)
        printed[option] = run.out
    for arguments in ["--defaults"], ["mesh.elements=2 2 2", "problem.solution=x", "output.log=", "output.field="]:
        with open("/dev/full", "w", encoding="ascii") as full:
            done = driver.command(PROGRAM, *arguments, capture_output=False, stdout=full, stderr=subprocess.PIPE)
        check(done.returncode == 1 and "standard output: No space left" in done.stderr,
              f"{arguments} >/dev/full: {done.returncode} {done.stderr!r}")
    write("defaults.ini", printed["--defaults"])
    quiet = ["discretization.order=2", "output.log=", "output.field="]
    Run(2, ["defaults.ini", "problem.solution=x", *quiet]).expect(2, 0)
    # Unchanged, the case is refused with the missing keys.
    Run(2, ["defaults.ini", *quiet]).expect_error(2, 1, "problem.solution", "problem.forcing")


def main():
    driver.side_by_side([
        *[(dry_run, ranks, number) for ranks in (4, 1) for number in range(len(DRY_RUNS))],
        (good_runs, 4), (good_runs, 1), (contact,), (launcher,), (materials,), (threads,), (as_many_ranks_as_elements,),
        *[(small_stack, number) for number in range(4)],
        (dry_run_refusals, 4), (dry_run_of_too_much, 4), (information,), (environment, 2)])
    driver.finish()


main()
