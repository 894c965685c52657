#!/usr/bin/env python3
"""Wrong input of every kind ends soon, with one line that has the fault and its place, with exit code 1 on all
ranks, and leaves no files.

A program with sanitizers needs the whole address space, so tests that limit memory are left out. It is slow, so all
tests run on two ranks only. Wrong cases are in bad_cases.py, wrong values of every key in tests/config*.c."""

import concurrent.futures
import os
import sys
import tempfile

import driver
from driver import Run, check, write

SANITIZED = {"plain": False, "sanitized": True}[sys.argv[1]]
PROGRAM, INPUTS = (os.path.abspath(path) for path in sys.argv[2:4])
driver.start("bad_input", PROGRAM, sys.argv[4:])
SECONDS = 30  # all of these end at once
RANKS = (2,) if SANITIZED else (1, 4)

SMALL = ["mesh.elements=3 2 2", "discretization.order=2", "problem.solution=sin(3*x)+y*z",
         "output.log=", "output.field="]
jobs = []


def refuse(arguments, *words, ranks=RANKS, prefix=""):
    """A job for work(): the run must fail with exit code 1, and the message must contain each of
    `words`."""
    for count in ranks:
        jobs.append((count, arguments, words, prefix))


def work():
    def one(job):
        ranks, arguments, words, prefix = job
        Run(ranks, arguments, prefix, SECONDS).expect_error(ranks, 1, *words)
    with concurrent.futures.ThreadPoolExecutor(driver.workers(4)) as pool:
        for done in pool.map(one, jobs):
            del done
    jobs.clear()


def command_line():
    refuse([], "--help", ranks=(2,))
    refuse(["--wrong"], "'--wrong'", "--help", ranks=(2,))
    write("one.ini", "[problem]\nsolution = x\n")
    refuse(["./N=7/absent.ini"], "./N=7/absent.ini: cannot open", ranks=(1,))
    refuse(["one.ini", "two.ini"], "two case files", "one.ini", "two.ini", ranks=(2,))
    refuse(["one.ini"], "each of 4 processes", "OMPI_COMM_WORLD_SIZE", ranks=(1,), prefix="export OMPI_COMM_WORLD_SIZE=4; ")
    alone = "unset OMPI_COMM_WORLD_SIZE PMI_SIZE; "
    for variables in "SLURM_STEP_NUM_TASKS=4", "SLURM_STEP_ID=0 SLURM_NTASKS=4":
        refuse(["one.ini"], "each of 4 processes", "SLURM_", "srun with an --mpi", ranks=(1,), prefix=f"{alone}export {variables}; ")
    # Within a batch script SLURM_NTASKS belongs to the job; mpirun may use srun to start its own processes.
    for prefix in f"{alone}export SLURM_NTASKS=4; ", "export SLURM_STEP_NUM_TASKS=4; ":
        Run(1, [*SMALL, "-q"], prefix, SECONDS).expect(1, 0)
    for study in "order=3", "refine=2:1":
        refuse([*SMALL, "--study", study], f"--study {study}", "A < B", ranks=(1,))
    refuse([*SMALL, "--study"], "order=A:B", ranks=(1,))
    refuse([*SMALL, "--study", "step=0:2"], "--study step=0:2: expected", "time.end", "steady", ranks=(2,))
    refuse([*SMALL, "problem.solution=", "problem.forcing=1", "boundary.default=neumann 0",
            "--study", "order=1:2"], "problem.solution", "give order=1:3")
    refuse(["--accuracy"], "no case given", ranks=(1,))
    for option in ["--dry-run"], ["--study", "order=1:3"]:
        refuse([*SMALL, "--accuracy", *option], "--accuracy is for a run", ranks=(1,))
    refuse([*SMALL, "--dry-run", "--study", "order=1:2"], "--dry-run is for one", ranks=(1,))
    if "cuda" not in Run(1, ["--version"]).expect(1, 0).out.split("backends", 1)[-1]:
        refuse([*SMALL, "backend.device=cuda"], "cuda")


def case_files():
    for name, text, *words in (
            ("a.ini", b"[mesh]\nelements = 2 2 2\nelements = 3 3 3\n", "a.ini:3:", "line 2"),
            ("b.ini", b"# a comment\n[mesh]\n\nrefine = 1.5\n", "b.ini:4: mesh.refine", "an integer from 0 to 10"),
            ("c.ini", b"\x7fELF\x02\x01\x01\0\0", "c.ini:1:")):
        with open(name, "wb") as file:
            file.write(text)
        refuse([name], *words, ranks=(2,))
    refuse(["absent.ini"], "absent.ini", "No such file", ranks=(2,))
    write("meshless.ini", "[mesh]\nrefine = 1\nfile = absent.msh\n[problem]\nsolution = x\n")
    refuse(["meshless.ini"], "meshless.ini:3: mesh.file: absent.msh: No such file")
    os.mkfifo("pipe.ini")
    refuse(["pipe.ini"], "pipe.ini: is a named pipe", ranks=(2,))
    refuse(["."], "Is a directory", ranks=(2,))
    refuse([*SMALL, "elements=2"], "argument", ranks=(1,))


def cases():
    """One error in each stage of a run; bad_cases.py has the others."""
    refuse([*SMALL, "problem.lambda=1/(x-1)"], "problem.lambda", "at (")
    refuse([*SMALL[:-3], "problem.forcing=0", "boundary.default=dirichlet 1e308", *SMALL[-2:]], "right-hand side", "range")
    with open(os.path.join(INPUTS, "cube.msh"), "rb") as file, open("cut.msh", "wb") as cut:
        cut.write(file.read(10000))
    refuse(["mesh.file=cut.msh", *SMALL[1:]], "cut.msh")
    refuse(["mesh.elements=3 1 1", *SMALL[1:]], "elements", "ranks", ranks=(4,))
    driver.write_msh("five.msh", [(x, y, z) for x in range(6) for z in (0, 1) for y in (0, 1)],
                     [(5, 1, [4 * x + n for n in (1, 5, 6, 2, 3, 7, 8, 4)]) for x in range(5)])
    refuse(["mesh.file=five.msh", *SMALL[1:]], "five.msh", "use at most one rank per element", ranks=(6,))


def sizes():
    refuse([*SMALL, "--study", "refine=0:10"], "--study", "at most 2.147e+09 are possible")
    refuse([*SMALL, "solver.orders=2 1", "--study", "order=2:3"], "--study", "solver.orders is for one order", ranks=(1,))
    # 1200^3 elements of order 1 have DOFs in range for one rank, but their corners need memory.
    if not SANITIZED:
        refuse([*SMALL, "mesh.elements=1200 1200 1200", "discretization.order=1"], "memory",
               ranks=(1,), prefix="ulimit -v 20000000; ")


def outputs():
    """The first rank writes, all ranks compare paths. Files that were read are in outputs.py."""
    for key in "log", "field":
        refuse([*SMALL, f"output.{key}=absent/run.out"], f"cannot write {key} absent/run.out", "No such file")
        refuse([*SMALL, f"output.{key}=/proc/run.out"], "/proc/run.out", ranks=(2,))
        for path in ".", "/dev/null":
            refuse([*SMALL, f"output.{key}={path}"], f"output.{key}", "not a regular file", ranks=(1,))
    for name, key in (("log.kept", "log"), ("field.kept", "field"), ("wish.unconverged.kept", "field")):
        write(name, "")
        os.chmod(name, 0o444)
        refuse([*SMALL, f"output.{key}={name.replace('.unconverged', '')}"], "this file is read-only", name, ranks=(1,))


def full_disk():
    """A limit on the size of files."""
    big = [*SMALL, "mesh.elements=6 6 6", "discretization.order=7"]
    for ranks in RANKS[-1:]:
        for key in "log", "field", "json":
            arguments = [*big, "--json", "full_json"] if key == "json" else [*big, f"output.{key}=full_{key}"]
            # 2 KiB hold no log, 256 KiB no field of this size. The shell counts in 512 bytes.
            # Open MPI itself needs larger files unless it uses sockets.
            run = Run(ranks, arguments, "export OMPI_MCA_btl=self,tcp; "
                      f"ulimit -f {512 if key == 'field' else 4}; ", SECONDS)
            run.expect_error(ranks, 1, f"cannot write {key} full_{key}", "File too large")
            check("  FAILED with exit code 1:" in run.out.rstrip().split("\n")[-1], f"{run.name}: {run.out!r}")
            check(not os.path.exists(f"full_{key}.tmp"), f"{run.name}: a temporary file is left")
            check("full_field" not in run.out, f"{run.name}: lists a field that is not written: {run.out!r}")
    # Open MPI opens no file on rank 1; other MPIs do not know the variable.
    run = Run(2, [*big, "output.field=half"], '[ "$OMPI_COMM_WORLD_RANK" = 1 ] && export OMPI_MCA_io=none; ', SECONDS)
    run.expect(2, 1 if "sp_solve: cannot write field half: MPI cannot open it\n" in run.err else 0)


def main():
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        command_line()
        case_files()
        cases()
        sizes()
        outputs()
        count = len(jobs)
        work()
        print(f"bad_input: {count} wrong inputs")
        left = [name for name in os.listdir() if name.endswith((".h5", ".hdf", ".tmp"))]
        check(not left, f"left behind: {left}")
        full_disk()
        os.chdir("/")
    driver.finish()


main()
