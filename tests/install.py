#!/usr/bin/env python3
"""What cmake --install brings: every promised file, programs that run from there without the build tree, manuals
whose links lead somewhere, manual pages and completion that agree with the programs."""

import os
import re
import shutil
import sys

import driver
import optional
from driver import Run, check

CMAKE, BUILD, SOURCE = sys.argv[1], *(os.path.abspath(path) for path in sys.argv[2:4])
MPIEXEC = sys.argv[4:]
PROGRAMS = ("sp_solve", "sp_bench")
COMPLETIONS = "share/bash-completion/completions"
DOCUMENTS = "share/doc/sp-solve"


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
    for name in (*(f"share/man/man1/{name}.1" for name in PROGRAMS), *(f"{COMPLETIONS}/{name}" for name in PROGRAMS),
                 *(f"{DOCUMENTS}/{name}" for name in ("LICENSE", "CHANGELOG.md", "CITATION.cff"))):
        path = os.path.join(prefix, name)
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


def library_paths(prefix):
    for name in (*(f"bin/{name}" for name in PROGRAMS), "libexec/sp_solve/sp_mesh_reader"):
        for kind, path in re.findall(r"\((R(?:UN)?PATH)\).*\[(.*)\]", driver.good("readelf", "-dW", os.path.join(prefix, name))):
            for folder in filter(None, path.split(":")):
                check(os.path.isabs(folder) and not folder.startswith((BUILD, SOURCE)), f"{name}: {kind} {path}")


def run(prefix):
    """From another working directory, with the mesh beside the case."""
    driver.start("install", os.path.join(prefix, "bin/sp_solve"), MPIEXEC)
    Run(2, [os.path.join(prefix, "share/sp_solve/inputs/cube.ini"), "discretization.order=2"]).expect(2, 0)
    table = driver.good(sys.executable, os.path.join(prefix, "bin/sp_plot"), "runs", "run.h5")
    check("4913" in table and "converged" in table, f"sp_plot runs: {table!r}")


def words_of(prefix, program):
    """Options of --help and keys of --defaults, as section.key."""
    path = os.path.join(prefix, "bin", program)
    options = set(re.findall(r"(?m)^  (?:-\w, )?(--[a-z-]+)", driver.good(path, "--help")))
    keys, section = set(), None
    for line in driver.good(path, "--defaults").splitlines() if program == "sp_solve" else ():
        section = re.sub(r"^(# )?\[|\]$", "", line) if re.match(r"(# )?\[.*\]$", line) else section
        found = re.match(r"(?:# )?([a-z_]+) =", line)
        if found:
            keys.add((section, found.group(1)))
    return options, keys


def manual_pages(prefix):
    for program in PROGRAMS:
        page = os.path.join(prefix, f"share/man/man1/{program}.1")
        text = re.sub(".\b", "", driver.good("man", "--warnings", "-l", page, env={**os.environ, "MANWIDTH": "200",
                                                                             "MAN_KEEP_FORMATTING": "", "LC_ALL": "C.UTF-8"}))
        options, keys = words_of(prefix, program)
        check(len(options) > 4 and (program == "sp_bench" or len(keys) > 30), f"{program}: {options}, {keys}")
        for option in options:
            check(re.search(rf"(?m)^       (-\w, )?{option}\b", text), f"{program}.1 has no {option}")
        sections = dict(re.findall(r"(?ms)^   \[(.*?)\]\n(.*?)(?=^   \[|^\w)", text))
        for section, key in keys:
            check(re.search(rf"(?m)^ *(# )?{key} =", sections.get(section, "")), f"{program}.1: no {key} in {section}")


def complete(prefix, *words, program="sp_solve"):
    """What bash offers for the last word, after splitting at = as it does."""
    script = os.path.join(prefix, COMPLETIONS, program)
    code = ('source "$0" && shift 0 && COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) && '
            f'{{ _{program}; printf "%s\\n" "${{COMPREPLY[@]}}"; }}')
    return set(driver.good("bash", "--norc", "-c", code, script, program, *words).split())


def completion(prefix):
    for name in "one.ini", "two.msh":
        driver.write(name, "")
    os.mkdir("cases")
    for program in PROGRAMS:
        options, keys = words_of(prefix, program)
        check(options <= complete(prefix, "--", program=program), f"{program}: options")
        for section, key in keys:
            if " " not in section:
                got = complete(prefix, f"{section}.{key}"[:-1])
                check(f"{section}.{key}=" in got, f"{section}.{key}: {got}")
    for words, want in ((["mesh.map", "="], {"none", "sine", "kershaw"}), (["mesh.map=s"], {"mesh.map=sine"}),
                        (["--qu"], {"--quiet"}), (["--study", ""], set()), (["mesh.file", "=", "tw"], {"two.msh"}),
                        (["--json", "tw"], {"two.msh"}), (["-q", "on"], {"one.ini"}), (["tw"], set()), (["cas"], {"cases"})):
        got = complete(prefix, *words)
        check(got == want, f"completion of {words}: {got}, not {want}")
    got = complete(prefix, "--device", "", program="sp_bench")
    check(got == {"auto", "host", "cuda"}, f"sp_bench --device: {got}")


def failing_program():
    """A build where the program does not run fails and says what to do."""
    done = driver.command(CMAKE, "-DPROGRAM=false", "-DARGUMENT=--help", "-DOUTPUT=help",
                          "-P", os.path.join(SOURCE, "solver/packaging/ask.cmake"))
    check(done.returncode != 0 and "SP_MANUAL_PAGES=OFF" in done.stderr and not os.path.exists("help"),
          f"a program that fails: {done.returncode}, {done.stderr!r}")


def main():
    if not shutil.which("man"):
        optional.skip("no man")
    prefix = os.path.abspath("prefix")
    driver.good(CMAKE, "--install", BUILD, "--prefix", prefix)
    for test in promised_files, links, library_paths, run, manual_pages, completion:
        test(prefix)
    failing_program()


driver.in_folder(main)
driver.finish()
