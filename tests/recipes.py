#!/usr/bin/env python3
"""The recipes for Spack and Apptainer, as far as they can be checked without these programs: what they pass to CMake
exists there; the container copies what the build needs, installs what quickstart installs, and its scripts pass
shellcheck. And the help of quickstart."""

import os
import re
import shutil
import sys

import driver
from driver import check

SOURCE, VERSION = os.path.abspath(sys.argv[1]), sys.argv[2]
FOLDER = os.path.join(SOURCE, "solver/packaging")


def read(*path):
    with open(os.path.join(SOURCE, *path), encoding="utf-8") as file:
        return file.read()


def cmake_names():
    """Variables that the project, or CMake itself, knows."""
    names = {"CMAKE_CUDA_ARCHITECTURES", "CMAKE_BUILD_TYPE", "BUILD_TESTING", "MPI_C_COMPILER", "HDF5_ROOT"}
    for folder, folders, files in os.walk(SOURCE):
        folders[:] = [name for name in folders if not re.match(r"build|carried|\.", name)]
        for name in files:
            if name == "CMakeLists.txt" or name.endswith(".cmake"):
                names |= set(re.findall(r"(?:option\(|set\()(\w+)[^\n]*(?:ON|OFF|CACHE)", read(folder, name)))
    return names


def spack():
    """What package.py passes to CMake exists there; its variants are defined; its version is that of the program."""
    text = read(FOLDER, "package.py")
    check(re.findall(r'version\("([^"]+)"\)', text) == [VERSION], "version")
    variants = {"cuda", *re.findall(r'variant\("(\w+)"', text)}
    passed = re.findall(r'define(?:_from_variant)?\("(\w+)"', text)
    check(len(passed) > 6 and set(passed) <= cmake_names(), f"CMake does not know {set(passed) - cmake_names()}")
    used = {*re.findall(r'define_from_variant\("\w+", "(\w+)"\)', text), *re.findall(r'(?:when=|satisfies\()"\+(\w+)"', text)}
    check(used <= variants, f"no variant {used - variants}")


def sections():
    """(stage, section, text) of the definition."""
    stage = None
    for part in re.split(r"(?m)^(?=%|Bootstrap:)", read(FOLDER, "sp_solve.def")):
        if part.startswith("Bootstrap:"):
            stage = re.search(r"(?m)^Stage: (\w+)$", part).group(1)
        elif part.startswith("%"):
            head, _, text = part.partition("\n")
            yield stage, head, text


def apptainer():
    found = {(stage, head): text for stage, head, text in sections()}
    check(len(found) == 10, f"sections: {list(found)}")
    for line in found[("build", "%files")].split("\n"):
        if line:
            source, target = line.split()
            check(os.path.exists(os.path.join(SOURCE, source)) and target == f"/src/{source}", f"%files: {line}")
    manuals = re.search(r"set\(sp_documents (.*?)\)", read(FOLDER, "CMakeLists.txt"), re.DOTALL).group(1).split()
    copied = [line.split()[0] for line in found[("build", "%files")].split("\n") if line]
    for name in ["CMakeLists.txt", *manuals]:
        check(any(name == source or name.startswith(f"{source}/") for source in copied), f"%files lacks {name}")
    listed = re.search(r"packages=\((.*?)\)", read("quickstart"), re.DOTALL).group(1).split()
    installed = re.search(r"--no-install-recommends ([^\n]*\\\n[^\n]*)", found[("build", "%post")]).group(1)
    check(installed.replace("\\", "").split() == [*listed, "file"], f"%post installs {installed}, quickstart {listed}")
    known = cmake_names()
    for name in re.findall(r"-D(\w+)=", found[("build", "%post")]):
        check(name in known, f"%post sets {name}, which CMake does not know")
    for (stage, head), text in found.items():
        if head in ("%post", "%runscript", "%test", "%environment") and shutil.which("shellcheck"):
            driver.write("part", "set -e\n" * (head == "%post") + re.sub(r"\{\{ \w+ \}\}", "OFF", text))
            done = driver.command("shellcheck", "-s", "sh", "part")
            check(done.returncode == 0, f"{stage} {head}: {done.stdout}")
    whole = read(FOLDER, "sp_solve.def")
    for name in re.findall(r"\{\{ (\w+) \}\}", whole):
        check(re.search(rf"(?m)^    {name}=", whole), f"no default of {name} in %arguments")


def quickstart():
    """Its help, and what it does not know."""
    script = os.path.join(SOURCE, "quickstart")
    for arguments, code, words in ((["--help"], 0, ("./quickstart test", "--cuda")), (["-h"], 0, ("usage:",)),
                                   (["tests"], 1, ("unknown argument 'tests'", "usage: ./quickstart [test] [--cuda]"))):
        done = driver.command("bash", script, *arguments)
        said = done.stderr if code else done.stdout
        check(done.returncode == code and all(word in said for word in words), f"quickstart {arguments}: {done}")


def main():
    spack()
    apptainer()
    quickstart()


driver.start("packaging", "", [])
driver.in_folder(main)
driver.finish()
