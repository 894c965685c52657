#!/usr/bin/env python3
"""The recipes for Spack and Apptainer, as far as they can be checked without these programs: what they pass to CMake
exists there; the container copies what the build needs, installs what quickstart installs, and its scripts pass
shellcheck. And the help of quickstart."""

import glob
import os
import re
import shutil
import sys

import driver
from driver import check

SOURCE, VERSION = os.path.abspath(sys.argv[1]), sys.argv[2]
FOLDER = "solver/packaging"


def read(name):
    with open(os.path.join(SOURCE, name), encoding="utf-8") as file:
        return file.read()


def check_variables(recipe, names):
    """CMake or the project knows the variables."""
    known = {"CMAKE_CUDA_ARCHITECTURES", "CMAKE_BUILD_TYPE", "BUILD_TESTING", "MPI_C_COMPILER", "HDF5_ROOT"}
    for path in glob.glob(f"{SOURCE}/**/CMakeLists.txt", recursive=True):
        known |= set(re.findall(r"(?:option\(|set\()(\w+)[^\n]*(?:ON|OFF|CACHE)", read(path)))
    check(names and set(names) <= known, f"{recipe}: CMake does not know {set(names) - known}")


def spack():
    text = read(f"{FOLDER}/package.py")
    check(re.findall(r'version\("([^"]+)"\)', text) == [VERSION], "version")
    check_variables("Spack", re.findall(r'define(?:_from_variant)?\("(\w+)"', text))
    variants = {"cuda", *re.findall(r'variant\("(\w+)"', text)}
    used = {*re.findall(r'define_from_variant\("\w+", "(\w+)"\)', text), *re.findall(r'(?:when=|satisfies\()"\+(\w+)"', text)}
    check(used <= variants, f"no variant {used - variants}")


def apptainer():
    text = read(f"{FOLDER}/sp_solve.def")
    parts = re.findall(r"(?ms)^(%\w+)[^\n]*\n(.*?)(?=^%|^Bootstrap:|\Z)", text)
    build = dict(reversed(parts))  # the first stage
    copied = [line.split() for line in build["%files"].splitlines() if line]
    check(all(os.path.exists(f"{SOURCE}/{source}") and target == f"/src/{source}" for source, target in copied), f"{copied}")
    manuals = re.search(r"set\(sp_documents (.*?)\)", read(f"{FOLDER}/CMakeLists.txt"), re.DOTALL).group(1).split()
    for name in ["CMakeLists.txt", *manuals]:
        check(any(f"{name}/".startswith(f"{source}/") for source, _ in copied), f"%files lacks {name}")
    listed = re.search(r"packages=\((.*?)\)", read("quickstart"), re.DOTALL).group(1).split()
    installed = re.search(r"--no-install-recommends ([^\n]*\\\n[^\n]*)", build["%post"]).group(1)
    check(installed.replace("\\", "").split() == [*listed, "file"], f"%post installs {installed}, quickstart {listed}")
    check_variables("Apptainer", re.findall(r"-D(\w+)=", build["%post"]))
    for head, script in parts:
        if head in ("%post", "%runscript", "%test", "%environment") and shutil.which("shellcheck"):
            driver.write("part", "set -e\n" * (head == "%post") + re.sub(r"\{\{ \w+ \}\}", "OFF", script))
            driver.good("shellcheck", "-s", "sh", "part")
    for name in re.findall(r"\{\{ (\w+) \}\}", text):
        check(re.search(rf"(?m)^    {name}=", text), f"no default of {name} in %arguments")


def quickstart():
    """Its help, and what it does not know."""
    for argument, code, words in ("--help", 0, "--cuda"), ("-h", 0, "usage:"), ("tests", 1, "unknown argument 'tests'"):
        done = driver.command("bash", os.path.join(SOURCE, "quickstart"), argument)
        check(done.returncode == code and words in done.stdout + done.stderr, f"quickstart {argument}: {done}")


driver.start("packaging", "", [])
for part in spack, apptainer, quickstart:
    driver.in_folder(part)
driver.finish()
