#!/usr/bin/env python3
"""pip installs the Python module in a fresh environment, which finds the library, and leaves no files in the source tree.
Skipped if pip cannot reach its packages."""

import os
import sys

import driver
import optional
from driver import check

optional.need("ensurepip", "venv")
LIBRARY, SOURCE = (os.path.abspath(path) for path in sys.argv[1:3])
MODULE = os.path.join(SOURCE, "solver", "python")
driver.start("python_install", LIBRARY, [])
driver.SECONDS = 240

SCRIPT = """import sp_solve
from sp_solve import _library
with sp_solve.Case(elements=(2, 2, 2), order=2, solution="x", log=None, field=None) as case:
    assert case.solve().json["errors"]["max"] < 1e-7
print(_library.library()._name)
"""


def files():
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(MODULE) for name in names
                  if not folder.endswith("__pycache__"))


def main():
    python = os.path.abspath("venv/bin/python")
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SP_SOLVE_LIBRARY")}
    driver.good(sys.executable, "-m", "venv", "venv", env=environment)
    pip = (python, "-m", "pip", "--quiet", "--disable-pip-version-check", "--retries", "1", "--timeout", "20")
    reached = driver.command(*pip, "download", "--no-deps", "--dest", "wheels", "setuptools", env=environment)
    if reached.returncode:
        optional.skip("pip has no network: " + reached.stderr.strip().splitlines()[-1])
    before = files()
    installed = driver.command(*pip, "install", MODULE, env=environment)
    check(installed.returncode == 0, f"pip install: {installed.stderr}")
    check(files() == before, f"files in the source tree: {set(files()) - set(before)}")
    folder = driver.good(python, "-c", "import sp_solve; print(sp_solve.__path__[0])", env=environment).strip()
    check(folder.startswith(os.path.realpath("venv")) or folder.startswith(os.path.abspath("venv")), folder)
    check(os.path.isfile(os.path.join(folder, "py.typed")), "no py.typed")

    def found(**variables):
        return driver.good(python, "-c", SCRIPT, env={**environment, **variables}).strip()

    check(found(SP_SOLVE_LIBRARY=LIBRARY) == LIBRARY, "not the library of the variable")
    built = os.path.join(SOURCE, "build", "libsp_solve.so")
    if os.path.exists(built) and os.path.samefile(built, LIBRARY):
        check(found(PKG_CONFIG_LIBDIR=os.getcwd()) == built, "not the library of the source tree")
    if driver.command("sh", "-c", "command -v pkg-config").returncode == 0:
        os.symlink(LIBRARY, "libsp_solve.so")
        driver.write("sp_solve.pc", f"libdir={os.getcwd()}\nName: sp_solve\nDescription: test\nVersion: 1\n")
        check(found(PKG_CONFIG_LIBDIR=os.getcwd()) == os.path.abspath("libsp_solve.so"), "not the library of pkg-config")
    absent = driver.command(python, "-c", SCRIPT, env={**environment, "SP_SOLVE_LIBRARY": "/absent.so"})
    check("set SP_SOLVE_LIBRARY" in absent.stderr and "/absent.so" in absent.stderr, absent.stderr)


driver.in_folder(main)
driver.finish()
