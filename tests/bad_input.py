#!/usr/bin/env python3
"""Wrong input of every kind ends soon, with one line that says what is wrong and where, with exit code 1
on all ranks, and without files left behind.

    bad_input.py plain|sanitized SP_SOLVE INPUTS FIXTURES MPIEXEC...   ... ends with the flag for the number of ranks

A program with sanitizers needs the whole address space, so tests that limit memory are left out; it is
slow, so errors in meshes are tested on two ranks only. tests/config*.c have wrong values of every key."""

import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

import driver
from driver import Run, check, write

SANITIZED = {"plain": False, "sanitized": True}[sys.argv[1]]
PROGRAM, INPUTS, FIXTURES = (os.path.abspath(path) for path in sys.argv[2:5])
driver.start("bad_input", PROGRAM, sys.argv[5:])
SECONDS = 30  # all of these end at once
RANKS = (2,) if SANITIZED else (1, 4)

SMALL = ["mesh.elements=3 2 2", "discretization.order=2", "problem.solution=sin(3*x)+y*z",
         "output.log=", "output.field="]
jobs = []


def refuse(arguments, *words, ranks=RANKS, prefix=""):
    """A job for work(): the run must fail with exit code 1, and the message must contain each of
    `words`."""
    for count in ranks:
        jobs.append((count, arguments, words, prefix))


def work():
    def one(job):
        ranks, arguments, words, prefix = job
        Run(ranks, arguments, prefix, SECONDS).expect_error(ranks, 1, *words)
    with concurrent.futures.ThreadPoolExecutor(driver.workers(4)) as pool:
        for done in pool.map(one, jobs):
            del done
    jobs.clear()


def command_line():
    refuse([], "--help", ranks=(2,))
    refuse(["--wrong"], "'--wrong'", "--help", ranks=(2,))
    write("one.ini", "[problem]\nsolution = x\n")
    refuse(["one.ini", "two.ini"], "two case files", "one.ini", "two.ini", ranks=(2,))
    for study in "order=3", "refine=2:1":
        refuse([*SMALL, "--study", study], f"--study {study}", "A < B", ranks=(1,))
    refuse([*SMALL, "--study"], "order=A:B", ranks=(1,))
    refuse([*SMALL, "problem.solution=", "problem.forcing=1", "boundary.default=neumann 0",
            "--study", "order=1:2"], "problem.solution", "give order=1:3")
    refuse(["--accuracy"], "no case given", ranks=(1,))
    for option in ["--dry-run"], ["--study", "order=1:3"]:
        refuse([*SMALL, "--accuracy", *option], "--accuracy is for a run", ranks=(1,))
    refuse([*SMALL, "--dry-run", "--study", "order=1:2"], "--dry-run is for one", ranks=(1,))
    if "cuda" not in Run(1, ["--version"]).expect(1, 0).out.split("backends", 1)[-1]:
        refuse([*SMALL, "backend.device=cuda"], "cuda")


def case_files():
    table = [
        (b"[mesh\nelements = 2 2 2\n", ":1:"),
        (b"[mash]\n", ":1:", "[mash]", "[mesh]"),
        (b"[mesh]\nelemnts = 2 2 2\n", ":2:", "elements"),
        (b"[mesh]\nelements = 2 2 2\nelements = 3 3 3\n", ":3:", "line 2"),
        (b"# a comment\n[mesh]\n\nrefine = 1.5\n", ":4: mesh.refine", "an integer from 0 to 10"),
        (b"\x7fELF\x02\x01\x01\0\0", ":1:"),
    ]
    for index, (text, *words) in enumerate(table):
        name = f"case{index}.ini"
        with open(name, "wb") as file:
            file.write(text)
        refuse([name], name + words[0], *words[1:], ranks=(2,) if index < 3 else (1,))
    refuse(["absent.ini"], "absent.ini", "No such file", ranks=(2,))
    refuse(["."], "Is a directory", ranks=(2,))
    refuse([*SMALL, "[mesh].elements=2"], "argument", ranks=(1,))
    refuse([*SMALL, "elements=2"], "argument", ranks=(1,))
    refuse([*SMALL, "discretization.order=16"], "discretization.order", "from 1 to 15", ranks=(1,))


def formulas():
    """If a formula is NaN, the message names the point."""
    for name in "problem.solution", "problem.lambda", "problem.kappa":
        refuse([*SMALL, f"{name}=1/(x-1)"], name, "at (")
    given = [*SMALL, "problem.solution="]
    refuse([*given, "problem.forcing=log(x-0.5)", "boundary.default=dirichlet 0"],
           "problem.forcing", "at (")
    for condition in "dirichlet 0/x", "neumann log(x)", "robin 1, 1/x", "robin 1/x, 1":
        refuse([*given, "problem.forcing=1", "boundary.default=dirichlet 0",
                f"boundary.xmin={condition}"], "boundary.xmin", "at (0,")
    refuse([*SMALL, "boundary.xmin=periodic ymin"], "boundary.xmin", "ymin")
    refuse([*SMALL, "problem.lambda=0", "problem.forcing=1", "boundary.default=neumann 0"],
           "not compatible")
    refuse([*SMALL, "probe.tip=0.5 0.5 3"], "probe.tip", "(0.5, 0.5, 3)", "outside the mesh")
    refuse([*SMALL, "line.cut=0 0 2, 1 1 2, 9"], "line.cut", "the line is outside the mesh", "(1, 1, 1)")
    refuse([*SMALL, "line.cut=0 0 0, 1 1 1"], "line.cut", "x y z, x y z, n", "'0 0 0, 1 1 1'")
    # Data that double precision cannot hold.
    refuse([*SMALL, "problem.solution=1e-200*sin(x)"], "right-hand side", "range")
    refuse([*SMALL, "problem.solution=1e200*sin(x)"], "right-hand side", "range")
    refuse([*SMALL, "problem.lambda=1e-30", "boundary.default=neumann"], "lambda", "too small")
    small = Run(2, [*SMALL, "problem.lambda=1e-9", "boundary.default=neumann"]).expect(2, 0)
    check("lambda and alpha alone determine the mean" in small.out, f"no note in {small.out!r}")
    given = [*SMALL, "problem.lambda=1", "boundary.default=neumann"]
    check("alone determine" not in Run(2, given).expect(2, 0).out, "a note about a lambda of 1")
    refuse([*SMALL, "mesh.upper=1 0 1"], "mesh.upper", "above mesh.lower", ranks=(2,))
    refuse([*SMALL, "mesh.upper=1e300 1 1"], "Jacobian")
    refuse([*SMALL, "mesh.upper=1e-200 1e-200 1e-200"], "Jacobian")


CORNERS = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]


def mesh(name, points, hexahedra, groups=(), kind=5):
    """Format 2.2: points from 1 on, elements as lists of them."""
    lines = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$Nodes", str(len(points))]
    lines += [f"{n} {x} {y} {z}" for n, (x, y, z) in enumerate(points, 1)]
    lines += ["$EndNodes", "$Elements", str(len(hexahedra) + len(groups))]
    lines += [f"{e} 3 2 {group} {group} {' '.join(map(str, nodes))}"
              for e, (group, nodes) in enumerate(groups, 1)]
    lines += [f"{e} {kind} 2 99 1 {' '.join(map(str, nodes))}"
              for e, nodes in enumerate(hexahedra, len(groups) + 1)]
    write(name, "\n".join(lines + ["$EndElements", ""]))


def row_of_cubes(count):
    """Points and hexahedra of a row along x."""
    points = [(x, y, z) for x in range(count + 1) for y in (0, 1) for z in (0, 1)]
    place = {point: n for n, point in enumerate(points, 1)}
    return points, [[place[(x + e, y, z)] for x, y, z in CORNERS] for e in range(count)]


def meshes():
    on = [*SMALL[1:], "problem.solution=x"]

    def bad(name, *words, ranks=RANKS):
        refuse([f"mesh.file={name}", *on], os.path.basename(name), *words, ranks=ranks)

    for name, text in (("empty.msh", ""), ("text.msh", "hello\n"), ("cut.msh", "$MeshFo"),
                       ("version.msh", "$MeshFormat\n9.9 0 8\n$EndMeshFormat\n"),
                       ("nothing.msh", "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n")):
        write(name, text)
        bad(name)
    bad("absent.msh", "No such file")
    os.mkdir("folder.msh")
    bad("folder.msh", "directory")
    bad(os.path.join(FIXTURES, "garbage.msh"))
    bad(os.path.join(FIXTURES, "garbage.geo"))
    bad(os.path.join(FIXTURES, "surface_only.geo"), "Physical Volume")
    bad(os.path.join(FIXTURES, "inverted.msh"), "element", "inverted")
    write("open.geo", "Point(1) = {0, 0, 0};\nLine(1) = {1, 7};\n")
    bad("open.geo", "gmsh")
    with open(os.path.join(INPUTS, "cube.msh"), "rb") as file:
        whole = file.read()
    for share in range(1, 12):
        name = f"cut{share}.msh"
        with open(name, "wb") as file:
            file.write(whole[:len(whole) * share // 12])
        bad(name, ranks=RANKS if share in (3, 9) else (1,))

    points, cubes = row_of_cubes(6)
    mesh("good.msh", points, cubes)
    Run(4, ["mesh.file=good.msh", *on]).expect(4, 0)
    mesh("nodes.msh", points[:-1], cubes)
    bad("nodes.msh")
    mesh("number.msh", [(float("nan"), 0, 0), *points[1:]], cubes)
    bad("number.msh", "element 1")
    mesh("pyramid.msh", points, [nodes[:5] for nodes in cubes], kind=7)
    bad("pyramid.msh", "Pyramid", "take Recombine and Transfinite off")
    mesh("serendipity.msh", [(x, y, z) for x in range(5) for y in range(2) for z in range(2)],
         [list(range(1, 21))], kind=17)
    bad("serendipity.msh", "20", "SecondOrderIncomplete", ranks=(1,))
    mesh("flat.msh", points, [[cubes[0][0]] * 2 + cubes[0][2:], *cubes[1:]])
    bad("flat.msh", "element 1")
    mesh("inside_out.msh", points, [cubes[0][4:] + cubes[0][:4], *cubes[1:]])
    bad("inside_out.msh", "element 1", "inverted", "(")
    # A third element on the face between two, on one side of it and then on the other rank.
    extra = points + [(x, y, z) for x, y, z in [(3.5, 2, 0), (3.5, 2, 1), (3.5, 3, 0), (3.5, 3, 1)]]
    n = len(points)
    face = [cubes[3][0], cubes[3][3], cubes[3][7], cubes[3][4]]  # x = 3
    third = [face[0], n + 1, n + 3, face[1], face[3], n + 2, n + 4, face[2]]
    mesh("third.msh", extra, [*cubes, third])
    bad("third.msh", "hexahedra")
    bad("good.msh", "use at most one rank per element", ranks=(7,))
    refuse(["mesh.elements=3 1 1", *SMALL[1:]], "elements", "ranks", ranks=(4,))

    # A group with a face between elements is no boundary, but harmless where no condition names it.
    mesh("buried.msh", points, cubes, groups=[(7, [cubes[e][k] for k in (0, 3, 7, 4)]) for e in (0, 2)])
    refuse(["mesh.file=buried.msh", *on, "boundary.7=neumann 0"], "boundary.7", "'7'", "between elements")
    Run(2, ["mesh.file=buried.msh", *on]).expect(2, 0)

    # Elements of no Physical Volume are left out where there is one; a note says so. All groups of this file
    # share the elementary tag 1, and each face has the condition of its own group.
    mesh("half.msh", points, cubes, groups=[(7, [cubes[0][k] for k in (0, 3, 7, 4)]),
                                            (8, [cubes[3][k] for k in (1, 2, 6, 5)])])
    with open("half.msh") as file:
        text = re.sub(r"(?m)^([78]) 5 2 99 1 ", r"\1 5 2 0 1 ", file.read())
    write("half.msh", re.sub(r"(?m)^([12]) 3 2 (\d) \d ", r"\1 3 2 \2 1 ", text))
    for ranks in RANKS:
        run = Run(ranks, ["mesh.file=half.msh", *SMALL[1:], "problem.solution=", "problem.forcing=0",
                          "problem.lambda=0", "boundary.7=dirichlet 0", "boundary.8=dirichlet 4",
                          "boundary.default=neumann 0", "probe.middle=1 0.5 0.5"]).expect(ranks, 0)
        check("2 volume elements in no Physical Volume left out" in run.out,
              f"{run.name}: nothing about what is left out in {run.out!r}")
        value = re.search(r"middle .* (\S+)\n", run.out)
        check(value and abs(float(value.group(1)) - 1) < 1e-6, f"{run.name}: {run.out!r}")

    # Curved elements of bad quality are no error either.
    rough = [f"mesh.file={os.path.join(FIXTURES, 'rough.msh')}", *on]
    for ranks in RANKS:
        for arguments in rough, [*rough, "mesh.refine=1"]:
            run = Run(ranks, arguments).expect(ranks, 0)
            check("4 rough curved elements, most of all element" in run.out, f"{run.name}: {run.out!r}")

    # A group called `default` is named by its number, because `default` means what no line names.
    named = [f"mesh.file={os.path.join(FIXTURES, 'group_default.msh')}", *SMALL[1:], "problem.solution=",
             "problem.forcing=0", "problem.lambda=0", "boundary.xmax=dirichlet 0"]
    refuse([*named, "boundary.default=neumann -2"], "boundary.default", "Physical Surface 'default'",
           "number, 1")
    for ranks in RANKS:
        run = Run(ranks, [*named, "boundary.default=neumann 0", "boundary.1=neumann -2",
                          "probe.middle=0.5 0.5 0.5"]).expect(ranks, 0)
        value = re.search(r"middle .* (\S+)\n", run.out)
        check(value and abs(float(value.group(1)) + 1) < 1e-6, f"{run.name}: {run.out!r}")

    # A crack is no error, but a note reports it.
    mesh("crack.msh", points + points[12:16], cubes[:3] +
         [[n + 1 + points[12:16].index(points[p - 1]) if points[p - 1][0] == 3 else p
           for p in cubes[3]], *cubes[4:]], groups=[(7, [cubes[0][k] for k in (0, 3, 7, 4)])])
    for ranks in RANKS:
        run = Run(ranks, ["mesh.file=crack.msh", *on]).expect(ranks, 0)
        check("a crack?" in run.out, f"{run.name}: nothing about a crack in {run.out!r}")
        # Dirichlet data on one side of the crack leave the mean of the other side open.
        open_mean = ["mesh.file=crack.msh", *on, "problem.lambda=0", "boundary.7=dirichlet",
                     "boundary.default=neumann", "problem.solution=x+5"]
        run = Run(ranks, open_mean).expect(ranks, 0)
        # The same nearly holds for a lambda whose part in the right-hand side is below the tolerance.
        small = Run(ranks, [*open_mean, "problem.lambda=1e-7", "solver.tolerance=1e-6"])
        small.expect(ranks, 0)
        for run in run, small:
            error = re.search(r"errors +L2 (\S+)", run.out)
            check(error and float(error.group(1)) < 1e-6, f"{run.name}: {run.out!r}")
    refuse([*open_mean, "problem.forcing=1"], "not compatible", "connected part of 3 elements")
    refuse([*open_mean, "problem.lambda=1e-30*x"], "lambda", "connected part of 3 elements")
    # Each part has a null space of its own: lambda > 0 on the side with Dirichlet data alone changes nothing.
    Run(RANKS[-1], [*open_mean, "problem.lambda=x < 3 ? 1 : 0"]).expect(RANKS[-1], 0)


def sizes():
    refuse([*SMALL, "mesh.elements=2000000000 2000000000 2000000000"], "degrees of freedom")
    refuse([*SMALL, "mesh.elements=2000 2000 2000", "discretization.order=15"],
           "degrees of freedom", "at most")
    refuse([*SMALL, "mesh.refine=10", "discretization.order=15"], "degrees of freedom", "refinement")
    refuse([*SMALL, "mesh.size=3"], "mesh.size", "only if mesh.file is a geometry from CAD")
    refuse(["mesh.file=a.step", "mesh.size_min=-3"], "mesh.size_min", "at least 0")
    refuse(["mesh.file=a.step", "mesh.curvature=x"], "mesh.curvature", "number")
    refuse([f"mesh.file={os.path.join(INPUTS, 'cube.msh')}", *SMALL[1:], "mesh.refine=9"],
           "elements on one rank", "refinement")
    # 1200^3 elements of order 1 have DOFs in range for one rank, but their corners need memory.
    if not SANITIZED:
        refuse([*SMALL, "mesh.elements=1200 1200 1200", "discretization.order=1"], "memory",
               ranks=(1,), prefix="ulimit -v 20000000; ")


def outputs():
    """The first rank writes, all ranks compare paths."""
    write("case.ini", "[problem]\nsolution = x\n")
    for key in "log", "field":
        refuse([*SMALL, f"output.{key}=absent/run.out"], f"cannot write {key} absent/run.out",
               "No such file")
        for path in "/proc/run.out", "case.ini/run.out":
            refuse([*SMALL, f"output.{key}={path}"], path, ranks=(2,))
        for path in ".", "/dev/null":
            refuse([*SMALL, f"output.{key}={path}"], f"output.{key}", "not a regular file", ranks=(1,))
        refuse(["case.ini", *SMALL, f"output.{key}=./case.ini"], f"output.{key}", "case file",
               ranks=(2,))
        refuse([*SMALL[1:], "problem.solution=x", "mesh.file=good.msh", f"output.{key}=./good.msh"],
               f"output.{key}", "the mesh", ranks=(1,))
        if key != "log":
            refuse([*SMALL, "output.log=same.out", f"output.{key}=./same.out"], "same file",
                   ranks=(1,))


def full_disk():
    """A limit on the size of files, and a disk that is too small if name spaces are permitted."""
    big = [*SMALL, "mesh.elements=6 6 6", "discretization.order=7"]
    for ranks in RANKS:
        for key in "log", "field":
            arguments = [*big, f"output.{key}=full_{key}"]
            # 2 KiB hold no log, 256 KiB no field of this size. The shell counts in 512 bytes.
            # Open MPI itself needs larger files unless it uses sockets.
            run = Run(ranks, arguments, "export OMPI_MCA_btl=self,tcp; "
                      f"ulimit -f {4 if key == 'log' else 512}; ", SECONDS)
            run.expect_error(ranks, 1, f"cannot write {key} full_{key}", "File too large")
            check(not os.path.exists(f"full_{key}.tmp"), f"{run.name}: a temporary file is left")
            check("full_field" not in run.out, f"{run.name}: lists a field that is not written: {run.out!r}")
    script = ("mkdir -p small && mount -t tmpfs -o size=64k none small && "
              "head -c 60000 /dev/zero >small/filler && exec \"$@\"")
    inside = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]
    try:
        probe = subprocess.run([*inside, "true"], capture_output=True, check=False, timeout=SECONDS)
        possible = probe.returncode == 0
    except (FileNotFoundError, subprocess.TimeoutExpired):
        possible = False
    if not possible:
        print("bad_input: no name spaces here, the small disk is left out")
        return
    for key in "log", "field":
        done = subprocess.run([*inside, PROGRAM, *big, f"output.{key}=small/run.out"],
                              capture_output=True, text=True, check=False,
                              timeout=SECONDS)
        check(done.returncode == 1 and f"cannot write {key}" in done.stderr and
              "No space left" in done.stderr and len(done.stderr.splitlines()) == 1,
              f"{key} on a full disk: {done.returncode}, {done.stderr!r}")


def main():
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        command_line()
        case_files()
        formulas()
        meshes()
        sizes()
        outputs()
        count = len(jobs)
        work()
        print(f"bad_input: {count} wrong inputs")
        left = [name for name in os.listdir() if name.endswith((".h5", ".hdf", ".tmp"))]
        check(not left, f"left behind: {left}")
        full_disk()
        os.chdir("/")
    driver.finish()


main()
