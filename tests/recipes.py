#!/usr/bin/env python3
"""The recipes for Spack and Apptainer, as far as they can be checked without these programs: package.py is run with
stand-ins for Spack's modules, and what it passes to CMake exists there; the container copies what the build needs,
installs what quickstart installs, and its scripts pass shellcheck. And the help of quickstart.

    recipes.py SOURCE VERSION"""

import os
import re
import shutil
import sys
import types

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


class Spec:
    """A spec with all variants on or off."""

    def __init__(self, value):
        self.value, self.variants = value, {"cuda_arch": types.SimpleNamespace(value=("90",))}

    def __getitem__(self, name):
        return types.SimpleNamespace(mpicc=f"{name}/bin/mpicc", prefix=name)

    def satisfies(self, _):
        return self.value


def load():
    """The class SpSolve, and the directives that it gives, as (name, arguments, options)."""
    given = []

    def directive(name):
        return lambda *arguments, **options: given.append((name, arguments, options))

    base = type("CMakePackage", (), {
        "define": staticmethod(lambda name, value: (name, value)),
        "define_from_variant": lambda self, name, variant: (name, variant),
    })
    modules = {"spack.package": {name: directive(name) for name in
                                 ("license", "version", "variant", "depends_on", "conflicts")},
               "spack_repo.builtin.build_systems.cmake": {"CMakePackage": base, "generator": directive("generator")},
               "spack_repo.builtin.build_systems.cuda": {"CudaPackage": type("CudaPackage", (), {})}}
    for path, members in modules.items():
        parts = path.split(".")
        for count in range(1, len(parts) + 1):
            sys.modules.setdefault(".".join(parts[:count]), types.ModuleType(parts[count - 1]))
        vars(sys.modules[path]).update(members)
    scope = {}
    exec(compile(read(FOLDER, "package.py"), "package.py", "exec"), scope)  # pylint: disable=exec-used
    return scope["SpSolve"], given


def spack():
    package, given = load()
    check([arguments for name, arguments, _ in given if name == "version"] == [(VERSION,)], f"version: {given}")
    variants = {arguments[0] for name, arguments, _ in given if name == "variant"} | {"cuda"}
    known = cmake_names()
    for value in True, False:
        recipe = package()
        recipe.spec = Spec(value)
        passed = recipe.cmake_args()
        check(len(passed) > 4, f"cmake_args: {passed}")
        for name, setting in passed:
            check(name in known, f"package.py sets {name}, which CMake does not know")
            check(not name.startswith("SP_") or isinstance(setting, bool) or setting in variants, f"{name} = {setting}")
    for _, _, options in given:
        for variant in re.findall(r"[+~]([\w-]+)", options.get("when", "")):
            check(variant in variants, f"when = {options['when']}: no variant {variant}")
    needs = {re.match(r"[\w-]+", arguments[0]).group() for name, arguments, _ in given if name == "depends_on"}
    check({"c", "cmake", "mpi", "hdf5", "gmsh", "hypre"} <= needs, f"depends_on: {needs}")


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
