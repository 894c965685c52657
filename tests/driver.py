"""Run programs from a test, on several ranks with the exit code of every rank, and count checks. A test
calls start() with its command line, then Run, or side_by_side() or in_folder() with functions that do, and
ends with finish().

The arguments of a test are programs and folders, then the launcher, which ends with the flag for the number of
ranks. Exit code 77: skipped, because this machine lacks a package or device that the test needs (optional.py)."""

import concurrent.futures
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

SECONDS = 60  # for one run; all of them take a few seconds on an idle machine

checks = failures = 0
_name = "test"
_program = ""
_mpiexec = []
_lock = threading.Lock()


def start(name, program, mpiexec):
    """`mpiexec` ends with the flag for the number of ranks."""
    global _name, _program, _mpiexec
    _name, _program, _mpiexec = name, os.path.abspath(program), mpiexec
    # Waiting ranks of Open MPI poll unless it counts more ranks than cores; it does not count other runs.
    os.environ["OMPI_MCA_mpi_yield_when_idle"] = "1"


def check(condition, text):
    global checks, failures
    with _lock:
        checks += 1
        if not condition:
            failures += 1
            print(f"{_name}: {text}", flush=True)
    return bool(condition)


def in_folder(function, *arguments):
    """Call a function in an empty working directory."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        function(*arguments)
        os.chdir("/")


def _in_own_folder(function, arguments):
    global checks, failures
    checks = failures = 0
    begin = time.monotonic()
    in_folder(function, *arguments)
    text = " ".join([function.__name__, *map(str, arguments)])
    print(f"{_name}: {text} in {time.monotonic() - begin:.0f} s", flush=True)
    return checks, failures


def workers(least=2):
    """The number of runs of up to four ranks that run at a time. CTest sets SP_TEST_PROCESSORS to the number of
    processors reserved for the test. Runs that end at once mostly wait for their launcher: more of them can run at
    a time."""
    processors = int(os.environ.get("SP_TEST_PROCESSORS", os.cpu_count() or 4))
    return max(least, processors // 4)


def side_by_side(jobs):
    """Call each (function, arguments...) in its own process and empty working directory; only the
    functions named in SP_TEST_JOBS, if that is set."""
    global checks, failures
    names = os.environ.get("SP_TEST_JOBS", "").split()
    if names:
        jobs = [job for job in jobs if job[0].__name__ in names]
    with concurrent.futures.ProcessPoolExecutor(workers()) as pool:
        for done in [pool.submit(_in_own_folder, job[0], job[1:]) for job in jobs]:
            counts = done.result()
            checks += counts[0]
            failures += counts[1]


def finish():
    print(f"{_name}: {checks} checks, {failures} failed")
    sys.exit(1 if failures or not checks else 0)


def command(*words, **options):
    """A finished command without standard input, with its output as text."""
    return subprocess.run(words, **{"stdin": subprocess.DEVNULL, "capture_output": True, "text": True,
                                    "timeout": SECONDS, "check": False, **options})


def good(*words, **options):
    """The output of a command, which must succeed and print nothing on stderr."""
    done = command(*words, **options)
    check(done.returncode == 0 and not done.stderr, f"{words}: {done.returncode}, {done.stderr!r}")
    return done.stdout


def check_line(done, program, *words):
    """A command of `program` must have failed with one line on stderr, in which each of `words` occurs."""
    lines = done.stderr.splitlines()
    check(done.returncode == 1 and len(lines) == 1 and lines[0].startswith(f"{program}: "),
          f"{done.args}: {done.returncode} {done.stderr!r}")
    for word in words:
        check(word in done.stderr, f"{done.args}: no '{word}' in {done.stderr!r}")


def wait_for(what, condition, pause=0.01):
    """Wait until the condition has a value that is true, and return it."""
    end = time.monotonic() + SECONDS
    value = condition()
    while not value and time.monotonic() < end:
        time.sleep(pause)
        value = condition()
    check(value, f"{what}: not within {SECONDS} s")
    return value


def iterate(pids):
    """Check that processes iterate: they then catch SIGTERM."""
    masks = []
    for pid in pids:
        try:
            with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
                masks += re.findall(r"SigCgt:\s*(\w+)", file.read())
        except OSError:
            return False
    return all(int(mask, 16) >> (signal.SIGTERM - 1) & 1 for mask in masks)


# Iterates until it is ended, after a short set-up.
ENDLESS = ["mesh.elements=6 6 6", "mesh.map=kershaw", "mesh.epsilon=0.001", "discretization.order=7",
           "problem.solution=sin(3*x)*exp(y)+z^3", "solver.tolerance=1e-15", "solver.preconditioner=none",
           "solver.max_iterations=2000000000"]


def on_screen(output):
    """The final text on a terminal: launchers give ranks a pseudo-terminal, where a progress line is
    overwritten."""
    text = output.decode("utf-8", errors="replace").replace("\r\n", "\n")
    return re.sub(r"[^\n]*\r\033\[K", "", text)


class Run:
    """The program on some ranks in the working directory. Every rank's exit code is caught before the launcher: it
    would end the other ranks and report only one code. `prefix` is shell code that runs before the program, on each
    rank ("ulimit -f 1; ")."""

    SCRIPT = 'program=$1; codes=$2; shift 2; %s "$program" "$@"; echo $? >"$codes"/$$'

    def __init__(self, ranks, arguments, prefix="", seconds=SECONDS):
        self.name = f"{prefix}{ranks} ranks, {' '.join(arguments)}"
        with tempfile.TemporaryDirectory() as codes:
            command = _mpiexec + [str(ranks), "sh", "-c", self.SCRIPT % prefix, "sh", _program,
                                  codes] + arguments
            try:
                done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                                      timeout=seconds, check=False)
                self.out, self.err = on_screen(done.stdout), on_screen(done.stderr)
                check(done.returncode == 0, f"{self.name}: the launcher failed: {self.err}")
            except subprocess.TimeoutExpired:
                self.out, self.err = "", ""
                check(False, f"{self.name}: no end after {seconds} s")
            self.codes = []
            for name in os.listdir(codes):
                with open(os.path.join(codes, name), encoding="ascii") as file:
                    self.codes.append(int(file.read()))
        self.lines = self.err.splitlines()

    def expect(self, ranks, code):
        check(self.codes == [code] * ranks, f"{self.name}: exit codes {self.codes}: {self.err}")
        return self

    def expect_error(self, ranks, code, *words):
        """One line on stderr, in which each of `words` occurs."""
        self.expect(ranks, code)
        check(len(self.lines) == 1 and self.lines[0].startswith("sp_solve: "),
              f"{self.name}: not one line: {self.err!r}")
        for word in words:
            check(word in self.err, f"{self.name}: '{word}' is not in {self.err!r}")
        return self


def write(name, text):
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)


def settings(text):
    """A list of overrides from a text, "mesh.elements=2 2 2; problem.lambda=1"."""
    return text.replace("\n", " ").split("; ")


def document(path="run.json"):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def record(ranks, *arguments):
    """The JSON document of a run that must end well."""
    Run(ranks, [*arguments, "--json", "run.json"]).expect(ranks, 0)
    return document()


def notes(path="run.json"):
    """The notes of a run by name."""
    return {note["name"]: note for note in document(path)["notes"]}


def values(document, table="results"):
    return {row["name"]: row["value"] for row in document[table]}


def refuse(case, *table, ranks=(1, 2)):
    """Each (overrides, words) of the table ends with one line that has the words, on each number of `ranks`."""
    for arguments, words in table:
        for count in ranks:
            Run(count, [*case, *arguments]).expect_error(count, 1, *words)


def write_msh(path, points, elements, names=()):
    """Format 2.2: points, numbered from 1, elements (type, group, numbers of points), and names of groups."""
    sections = {"MeshFormat": ["2.2 0 8"], "PhysicalNames": [len(names), *names],
                "Nodes": [len(points), *(f"{n} {' '.join(map(repr, point))}" for n, point in enumerate(points, 1))],
                "Elements": [len(elements), *(f"{n} {kind} 2 {group} {group or 1} {' '.join(map(str, nodes))}"
                                              for n, (kind, group, nodes) in enumerate(elements, 1))]}
    write(path, "".join(f"${name}\n" + "\n".join(map(str, lines)) + f"\n$End{name}\n"
                        for name, lines in sections.items() if lines != [0]))
