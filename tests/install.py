#!/usr/bin/env python3
"""What cmake --install brings: every promised file, programs that run from there without the build tree, manuals
whose links lead somewhere."""

import os
import re
import sys

import driver
from driver import Run, check

CMAKE, BUILD, SOURCE = sys.argv[1], *(os.path.abspath(path) for path in sys.argv[2:4])
MPIEXEC = sys.argv[4:]
PROGRAMS = ("sp_solve", "sp_bench")
DOCUMENTS = "share/doc/sp_solve"


def files_of(folder, pattern):
    """Names relative to a folder; without build trees and what git ignores in the source."""
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
    for source, installed, pattern in (("", DOCUMENTS, r"\.md$"), ("inputs", "share/sp_solve/inputs", r"\.(ini|geo|msh|step|sh)$"),
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


def main():
    prefix = os.path.abspath("prefix")
    driver.good(CMAKE, "--install", BUILD, "--prefix", prefix)
    for test in promised_files, links, run:
        test(prefix)


driver.in_folder(main)
driver.finish()
