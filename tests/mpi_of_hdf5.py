#!/usr/bin/env python3
"""CMake refuses an HDF5 built with another MPI; the message names both and the cure. Also where programs
cannot be run. A missing MPI is named with its packages.

    mpi_of_hdf5.py SOURCE CMAKE GENERATOR      SOURCE is the project's folder

Needs Debian's Open MPI, MPICH, and the HDF5 of each; exit code 77 (skipped) without them."""

import os
import subprocess
import sys
import tempfile

import driver
import optional
from driver import check

SOURCE, CMAKE, GENERATOR = os.path.abspath(sys.argv[1]), *sys.argv[2:4]
LIBRARY = {"openmpi": "libmpi.so", "mpich": "libmpich.so"}
FOLDERS = {}
for base in os.listdir("/usr/lib"):
    for name in LIBRARY:
        if os.path.exists(f"/usr/lib/{base}/hdf5/{name}/libhdf5.so"):
            FOLDERS[name] = f"/usr/lib/{base}/hdf5/{name}"
for name in LIBRARY:
    if name not in FOLDERS or not os.path.exists(f"/usr/bin/mpicc.{name}"):
        optional.skip(f"Debian's {name} or its HDF5 is missing")

PROJECT = f"""cmake_minimum_required(VERSION 3.25)
project(mpi_of_hdf5 C)
include({SOURCE}/io/mpi_hdf5.cmake)
message(STATUS "took ${{HDF5_C_LIBRARIES}} and ${{MPIEXEC_EXECUTABLE}}")
"""


def configure(mpi, *options, folder="/usr/bin"):
    """Exit code and output of CMake, with its line breaks removed."""
    with tempfile.TemporaryDirectory() as build:
        done = subprocess.run([CMAKE, "-G", GENERATOR, "-S", ".", "-B", build,
                               f"-DMPI_C_COMPILER={folder}/mpicc.{mpi}", *options], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode, " ".join(done.stdout.split())


def main():
    with open("CMakeLists.txt", "w", encoding="utf-8") as file:
        file.write(PROJECT)
    # Programs that cannot be run: built for another machine, or not permitted to run here.
    ways = {"run": [], "other machine": ["-DCMAKE_SYSTEM_NAME=Linux"],
            "not allowed": ["-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_CROSSCOMPILING_EMULATOR=/bin/false"]}
    seen = {"run": "a program opens a file with both", "other machine": "cannot be run",
            "not allowed": "ends with 1"}
    for mpi, other in ("openmpi", "mpich"), ("mpich", "openmpi"):
        for way, options in ways.items():
            code, said = configure(mpi, *options)
            check(code == 0 and seen[way] in said, f"{mpi}, {way}: {said}")
            for word in f"took {FOLDERS[mpi]}/", f"and /usr/bin/mpiexec.{mpi}":
                check(word in said, f"{mpi}, {way}: no '{word}' in {said}")
            code, said = configure(mpi, *options, f"-DHDF5_ROOT={FOLDERS[other]}")
            check(code != 0, f"{mpi} with {other}'s HDF5, {way}: {said}")
            for word in ("HDF5 was built with another MPI", f"/usr/bin/mpicc.{mpi}", LIBRARY[mpi],
                         FOLDERS[other], LIBRARY[other], "-DHDF5_ROOT=", f"libhdf5-{mpi}-dev"):
                check(word in said, f"{mpi} with {other}'s HDF5, {way}: no '{word}' in {said}")
        code, said = configure(mpi, folder="/absent")
        check(code != 0 and f"/absent/mpicc.{mpi} was not found: install" in said and f"libhdf5-{mpi}-dev" in said,
              f"no {mpi}: {said}")


driver.start("mpi_of_hdf5", "", [])
with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    main()
    os.chdir("/")
driver.finish()
