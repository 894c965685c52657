#!/usr/bin/env python3
"""The package for Debian: its fields, its files, and a run of what it contains."""

import os
import re
import shutil
import sys

import driver
import optional
from driver import Run, check

CMAKE, CPACK, BUILD, VERSION, MPIEXEC = *sys.argv[1:5], sys.argv[5:]


def make():
    done = driver.command(CPACK, "-G", "DEB", "--config", os.path.join(BUILD, "CPackConfig.cmake"), "-B", "made",
                          timeout=200)
    if "no dependency information found" in done.stdout + done.stderr:
        optional.skip("a library of this build comes from no package of Debian")
    check(done.returncode == 0, f"cpack: {done.stdout}{done.stderr}")
    architecture = driver.good("dpkg", "--print-architecture").strip()
    package = f"made/sp-solve_{VERSION}_{architecture}.deb"
    check(os.path.exists(package), f"no {package} but {os.listdir('made')}")
    return package, architecture


def fields(package, architecture):
    text = driver.good("dpkg-deb", "-I", package)
    for line in f" Version: {VERSION}", f" Architecture: {architecture}":
        check(f"\n{line}\n" in text, f"no '{line}' in {text}")
    check(re.search(r"\n Maintainer: .+ <.+@.+>\n", text) and re.search(r"\n Description: [^\n]{20,79}\n  \w", text), text)
    needs = re.search(r"\n Depends: (.*)\n", text).group(1)
    launcher = r"\b(openmpi-bin|mpich), "
    for name in launcher, r"\blibc6 \(>= ", r"\blibgmsh", r"\blibhdf5-\w+-\d", r"\blib(openmpi|mpich)":
        check(re.search(name, needs), f"no {name} in Depends: {needs}")


def files(package):
    """Those of cmake --install, below /usr, which belong to root and which only root may change."""
    driver.good(CMAKE, "--install", BUILD, "--prefix", "installed")
    want = {os.path.normpath(os.path.join("./usr", os.path.relpath(folder, "installed"), name))
            for folder, _, names in os.walk("installed") for name in names}
    got = set()
    for line in driver.good("dpkg-deb", "-c", package).splitlines():
        mode, owner, _, _, _, name = line.split(" -> ")[0].split(maxsplit=5)
        check(owner == "root/root" and (mode[0] == "l" or mode[5] + mode[8] == "--"), line)
        if mode[0] != "d":
            got.add(os.path.normpath(name))
    check(got == want, f"only in the package: {got - want}; only installed: {want - got}")


def extracted(package):
    driver.good("dpkg", "-x", package, "root")
    root = os.path.abspath("root/usr")
    with open(f"{root}/share/doc/sp-solve/copyright", encoding="utf-8") as file:
        text = file.read()
    check(text.startswith("Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n") and
          "Redistributions in binary form" in text and "\n\n\n" not in text, f"copyright: {text}")
    driver.start("deb", os.path.join(root, "bin/sp_solve"), MPIEXEC)
    for ranks in 1, 2:
        Run(ranks, [f"{root}/share/sp_solve/inputs/cube.ini", "discretization.order=2",
                    "solver.tolerance=1e-6"]).expect(ranks, 0)


def main():
    for tool in "dpkg-deb", "dpkg-shlibdeps", "file":
        if not shutil.which(tool):
            optional.skip(f"no {tool}")
    package, architecture = make()
    fields(package, architecture)
    files(package)
    extracted(package)


driver.in_folder(main)
driver.finish()
