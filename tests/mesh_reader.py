#!/usr/bin/env python3
"""The program sp_mesh_reader, in which gmsh runs: it is found where cmake --install puts it (install.py) and
through a link, and its failure is an error like others."""

import os
import shutil
import signal
import subprocess
import sys

import driver
from driver import Run, check

SOLVE, READER, INPUTS = (os.path.abspath(path) for path in sys.argv[1:4])
MPIEXEC = sys.argv[4:]
GEOMETRY = os.path.join(INPUTS, "cube.geo")
CASE = ["discretization.order=1", "problem.solution=x+y", "output.log=", "output.field="]
SECONDS = driver.SECONDS


def use(program):
    driver.start("mesh_reader", program, MPIEXEC)


def solve():
    for ranks in 1, 2:
        run = Run(ranks, [f"mesh.file={GEOMETRY}", *CASE]).expect(ranks, 0)
        check("512 elements" in run.out, f"{run.name}: {run.out!r}")


def refuse(*words):
    for ranks in 1, 2:
        Run(ranks, [f"mesh.file={GEOMETRY}", *CASE]).expect_error(ranks, 1, *words)


def stand_in(reader, text, mode=0o755):
    """Put a script in place of the reader."""
    if os.path.exists(reader):
        os.unlink(reader)
    with open(reader, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(reader, mode)


def bad_readers(reader):
    os.unlink(reader)
    refuse("the program sp_mesh_reader, which reads mesh files, is missing",
           "libexec/sp_solve/sp_mesh_reader")
    version = Run(1, ["--version"]).expect(1, 0).out
    check("gmsh       unknown: the program sp_mesh_reader" in version, f"--version: {version!r}")
    stand_in(reader, "#!/bin/sh\nexit 0\n", mode=0o644)
    refuse("is missing")
    stand_in(reader, "no program\n")
    refuse("cannot be started: Exec format error")
    stand_in(reader, "#!/bin/sh\nexit 3\n")
    refuse("sp_mesh_reader does not work (exit code 3)", "ldd")
    stand_in(reader, "#!/bin/sh\nkill -SEGV $$\n")
    refuse("sp_mesh_reader does not work (Segmentation fault)")
    stand_in(reader, "#!/bin/sh\nprintf 'sp_mesh_reader\\0\\0\\377\\0\\0\\0\\377\\0\\0\\0' >&3\n")
    refuse("sp_mesh_reader does not work", "another version")


def status_of(process):
    """State and parent of a process, None if it is gone."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
        return fields[0], int(fields[1])
    except (FileNotFoundError, ProcessLookupError):
        return None


def reader_of(program):
    """The child of this process that is the mesh reader."""
    for name in os.listdir("/proc"):
        status = status_of(name) if name.isdigit() else None
        try:
            if status and status[1] == program and \
                    os.readlink(f"/proc/{name}/exe").endswith("/sp_mesh_reader"):
                return int(name)
        except OSError:
            pass
    return None


def try_to_write(path):
    """Open a pipe for writing; None if no process reads it."""
    try:
        return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return None


def begin_reading(program):
    """The program, its reader, and a pipe that the geometry includes, so that the reader waits for us."""
    run = subprocess.Popen([program, "mesh.file=slow.geo", *CASE], stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    reader = driver.wait_for("a reader", lambda: reader_of(run.pid))
    return run, reader, driver.wait_for("the geometry open", lambda: try_to_write("wait"))


def ends(program):
    """If the reader is killed, the run fails with an error; if the run is killed, its reader also ends."""
    os.mkfifo("wait")
    driver.write("slow.geo", 'Include "wait";\n')
    run, reader, pipe = begin_reading(program)
    os.kill(reader, signal.SIGKILL)
    _, error = run.communicate(timeout=SECONDS)
    check(run.returncode == 1 and "slow.geo: gmsh crashed while it read this file (Killed)" in error,
          f"{run.returncode}: {error!r}")
    os.close(pipe)
    run, reader, pipe = begin_reading(program)
    run.kill()
    run.communicate(timeout=SECONDS)
    driver.wait_for("the end of the reader", lambda: status_of(reader) is None)
    os.close(pipe)


def main():
    os.makedirs("bin")
    os.makedirs("libexec/sp_solve")
    program, reader = shutil.copy(SOLVE, os.path.abspath("bin")), shutil.copy(READER, os.path.abspath("libexec/sp_solve"))
    os.symlink(program, "link")
    use("link")
    solve()
    use(program)
    ends(program)
    bad_readers(reader)


driver.in_folder(main)
driver.finish()
