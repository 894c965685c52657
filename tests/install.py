#!/usr/bin/env python3
"""The files of cmake --install: every promised file, programs that run there without the build tree, manuals with
valid links, and a library that pkg-config and CMake find and that exports the functions of its header."""

import os
import re
import sys

import driver
from driver import Run, check

CMAKE, BUILD, SOURCE = sys.argv[1], *(os.path.abspath(path) for path in sys.argv[2:4])
MPICC, MPIEXEC = sys.argv[4], sys.argv[5:]
PROGRAMS = ("sp_solve", "sp_bench")
DOCUMENTS = "share/doc/sp_solve"


def files_of(folder, pattern):
    """Names relative to a folder; without build trees and files that git ignores."""
    names = []
    for path, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not re.match(r"build|carried|\.", name)]
        names += [os.path.relpath(os.path.join(path, name), folder) for name in files if re.search(pattern, name)]
    return sorted(names)


def promised_files(prefix):
    for name in ("bin/sp_plot", *(f"bin/{name}" for name in PROGRAMS), "libexec/sp_solve/sp_mesh_reader",
                 "share/sp_solve/plot/sp_plot.py"):
        check(os.access(os.path.join(prefix, name), os.X_OK), f"no program {name}")
    for name in "LICENSE", "CHANGELOG.md", "CITATION.cff":
        path = os.path.join(prefix, DOCUMENTS, name)
        check(os.path.isfile(path) and os.path.getsize(path) > 0, f"{name} is missing or empty")
    for source, installed, pattern in (("", DOCUMENTS, r"\.md$"), ("inputs", "share/sp_solve/inputs", r"\.(ini|geo|msh|step|sh|c|py)$"),
                                       ("io/plot", "share/sp_solve/plot", r"\.py$")):
        want = files_of(os.path.join(SOURCE, source), pattern)
        got = files_of(os.path.join(prefix, installed), pattern)
        check(want and got == want, f"{installed}: installed {got}, in the source {want}")


def links(prefix):
    """Manuals refer to each other and to pictures."""
    folder = os.path.join(prefix, DOCUMENTS)
    for name in files_of(folder, r"\.md$"):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", file.read()):
                path = os.path.join(folder, os.path.dirname(name), target)
                check(os.path.exists(path), f"{name} refers to {target}, which is not installed")


def run(prefix):
    """From another working directory, with the mesh beside the case."""
    driver.start("install", os.path.join(prefix, "bin/sp_solve"), MPIEXEC)
    Run(2, [os.path.join(prefix, "share/sp_solve/inputs/cube.ini"), "discretization.order=2"]).expect(2, 0)
    check("residual" in driver.good(sys.executable, os.path.join(prefix, "bin/sp_plot"), "--help"), "sp_plot --help")


READS_A_MESH = """#include <stdio.h>
#include <sp_solve.h>
int main(int argc, char **argv) {
  sp_case *c;
  double error;
  MPI_Init(&argc, &argv);
  int code = sp_case_open(MPI_COMM_WORLD, argv[1], 0, NULL, &c);
  if (!code) code = sp_case_solve(c, 0, NULL, NULL);
  if (!code) code = sp_case_value(c, "errors", NULL, "L2", &error);
  if (code)
    fprintf(stderr, "%s\\n", sp_case_message());
  else
    printf("error %.1e\\n", error);
  sp_case_close(&c);
  MPI_Finalize();
  return code;
}
"""
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(user C)
find_package(sp_solve REQUIRED)
add_executable(by_cmake user.c)
target_link_libraries(by_cmake PRIVATE sp_solve::sp_solve)
"""


def write(name, text):
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)


def libdir_of(prefix):
    return next(path for path, _, files in os.walk(prefix) if "libsp_solve.a" in files)


def exports(prefix):
    """The functions of the header, and nothing else."""
    with open(os.path.join(prefix, "include/sp_solve.h"), encoding="utf-8") as file:
        declared = sorted(re.findall(r"^SP_CASE_API [^(]*?(\w+)\(", file.read(), re.M))
    symbols = driver.good("nm", "-D", "--defined-only", os.path.join(libdir_of(prefix), "libsp_solve.so"))
    exported = sorted(line.split()[-1] for line in symbols.splitlines())
    check(declared and exported == declared, f"exported {exported}, declared {declared}")


def library(prefix):
    """Examples by pkg-config, shared and static; a user's program by CMake. They read a mesh of gmsh's."""
    libdir = libdir_of(prefix)
    inputs = os.path.join(prefix, "share/sp_solve/inputs")
    os.environ["PKG_CONFIG_PATH"] = os.path.join(libdir, "pkgconfig")
    flags = driver.good("pkg-config", "--cflags", "--libs", "sp_solve").split()
    driver.good(MPICC, os.path.join(inputs, "own_load.c"), *flags, "-lm", f"-Wl,-rpath,{libdir}", "-o", "own_load")
    check("0.995" in driver.good(*MPIEXEC, "2", "./own_load"), "own_load ends early")
    write("user.c", READS_A_MESH)
    driver.good(MPICC, "user.c", *flags, f"-Wl,-rpath,{libdir}", "-o", "by_pkg_config")
    write("CMakeLists.txt", PROJECT)
    driver.good(CMAKE, "-B", "user", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DMPI_C_COMPILER={MPICC}")
    driver.good(CMAKE, "--build", "user")
    for program in "./by_pkg_config", "user/by_cmake":
        check("error" in driver.good(*MPIEXEC, "1", program, os.path.join(inputs, "cube.ini")), program)
    private = driver.good("pkg-config", "--static", "--libs-only-l", "--libs-only-other", "sp_solve").split()
    own = [os.path.join(libdir, "libsp_solve.a")] + [flag for flag in private if flag != "-lsp_solve"]
    driver.good(MPICC, os.path.join(inputs, "own_load.c"), f"-I{prefix}/include", *own, "-o", "static_load")
    check("0.995" in driver.good(*MPIEXEC, "2", "./static_load"), "own_load, static, ends early")


def main():
    prefix = os.path.abspath("prefix")
    driver.good(CMAKE, "--install", BUILD, "--prefix", prefix)
    for test in promised_files, links, run, exports, library:
        test(prefix)


driver.in_folder(main)
driver.finish()
