#!/usr/bin/env python3
"""Check which files include and call which: only along the arrows between rooms and sub-rooms, without
cycles.

    includes.py SOURCE      check SOURCE/{io,mesh,operators,solver,tests}, after a test of itself

- A room includes only itself and rooms to its left: io, mesh, operators, solver. tests/ includes
  all; nothing outside includes tests/.
- solver: folders include and call only folders to their left, linear, problem, results, solve,
  config, report, run. Of linear/, config/ includes only options.h; bench/ includes only linear/.
  The programs include all. EXCEPTIONS are left to be removed.
- operators/host and operators/cuda are private: others reach them through operators/backend.h.
  operators/paper is for solver/bench. Tests may look inside.
- Headers do not include each other in a cycle.
- Modules of a room do not call each other in a cycle. A module is X.c (or .cu), with X.h if it has one. It calls
  another module if it names a function or a table of that module, declared anywhere.
"""
import os
import re
import sys

ROOMS = ["io", "mesh", "operators", "solver"]
TESTS = "tests"
HEADERS = (".h", ".cuh")
CODE = (".c", ".cu")
GENERATED = {"sp_revision.h"}  # by CMake, for solver/report/provenance.c

# Folders of solver: the folders that they include and call, besides themselves.
SOLVER = {
    "linear": [],
    "bench": ["linear"],
    "problem": ["linear"],
    "results": ["linear", "problem"],
    "solve": ["linear", "problem", "results"],
    "config": ["linear/options", "linear/smoother", "problem", "results", "solve"],
    "report": ["linear", "problem", "results", "solve", "config"],
    "run": ["linear", "problem", "results", "solve", "config", "report", "sp_solve"],  # the public header
}

# Arrows against this order that still exist: a module and a folder. Remove a row when the arrow is gone.
EXCEPTIONS = [
]

# The sub-rooms of operators, and the files that include them, besides themselves and tests/.
PRIVATE = {
    "operators/host": [],
    # The paper's kernels run in the queue of the device that the backend opened.
    "operators/cuda": [("operators/paper", "operators/cuda/device.h")],
    "operators/paper": [("solver/bench", "operators/paper")],
}

# Cycles of modules that still exist. They may shrink but not grow; remove a cycle from this list when it is
# gone.
KNOWN = []

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
NAME = re.compile(r"\bsp_\w+")
# A function definition or a table; clang-format puts them at the start of a line.
FUNCTION = re.compile(r"^(?!static\b|typedef\b)[A-Za-z_][\w \t*]*?\b(sp_\w+)\([^;{}]*\)\s*\{", re.M)
TABLE = re.compile(r"^const [\w \t*]*?\b(sp_\w+)(?:\[\w*\])* =", re.M)


def within(path, folder):
    return path == folder or path.startswith(folder + "/")


def room(path):
    return path.split("/")[0]


def module(path):
    return os.path.splitext(path)[0]


def check_arrow(source, target):
    """The error if source must not include target, or None."""
    if room(source) == TESTS:
        return None
    if room(target) == TESTS:
        return "only tests/ includes tests/"
    left = ROOMS[:ROOMS.index(room(source))]
    if room(target) not in left and room(target) != room(source):
        return f"{room(source)}/ includes only itself" + "".join(f", {r}/" for r in left)
    for folder, allowed in PRIVATE.items():
        if within(target, folder) and not within(source, folder):
            if not any(within(source, s) and within(target, t) for s, t in allowed):
                return f"{folder}/ is private" + "".join(f"; {s}/ may include {t}" for s, t in allowed)
    return None


def check_solver(source, target):
    """The error if source, a file or module of solver/, must not use target, or None."""
    parts, others = source.split("/"), target.split("/")
    if parts[0] != "solver" or others[0] != "solver" or len(parts) == 2 or parts[1] == others[1]:
        return None
    if parts[1] not in SOLVER:
        return f"solver/{parts[1]}/ is not in the order of folders"
    allowed = SOLVER[parts[1]]
    if any(within(module(target), f"solver/{a}") for a in allowed):
        return None
    return f"solver/{parts[1]}/ uses of solver/ only itself" + "".join(f", {a}" for a in allowed)


def check_folders(files, exceptions):
    """Complaints about includes and calls between the folders of solver/."""
    complaints, used = [], set()
    arrows = [(source, target, "includes") for source, text in sorted(files.items())
              for target in INCLUDE.findall(text)]
    arrows += [(source, target, "calls") for source, targets in sorted(calls(files).items())
               for target in sorted(targets)]
    for source, target, verb in arrows:
        wrong = check_solver(source, target)
        arrow = (module(source), os.path.dirname(target))
        used.add(arrow)
        if wrong and arrow not in exceptions:
            complaints.append(f"{source} {verb} {target}, but {wrong}")
    for arrow in exceptions:
        if arrow not in used:
            complaints.append("EXCEPTIONS names an arrow that is gone: %s to %s/" % arrow)
    return complaints


def cycles(graph):
    """The strongly connected sets of more than one node (Tarjan), each sorted."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for after in sorted(graph[node]):
            if after not in index:
                visit(after)
            if after in stack:
                low[node] = min(low[node], low[after])
        if low[node] == index[node]:
            members = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(members) > 1:
                found.append(sorted(members))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(found)


def check_includes(files):
    complaints = []
    headers = {path: set() for path in files if path.endswith(HEADERS)}
    for source, text in sorted(files.items()):
        for match in INCLUDE.finditer(text):
            target, line = match.group(1), text.count("\n", 0, match.start(1)) + 1
            if target in GENERATED:
                continue
            if target not in files:
                complaints.append(f"{source}:{line}: there is no {target}; write paths from the top")
                continue
            wrong = check_arrow(source, target)
            if wrong:
                complaints.append(f"{source}:{line}: includes {target}, but {wrong}")
            if source in headers and target in headers:
                headers[source].add(target)
    for members in cycles(headers):
        complaints.append("headers include each other in a cycle: " + ", ".join(members))
    return complaints


def calls(files):
    """{module: modules of the same room that it calls}."""
    code = {path: text for path, text in files.items() if path.endswith(CODE) and room(path) != TESTS}
    defined = {}  # several modules if there is a stub
    for path, text in code.items():
        for pattern in (FUNCTION, TABLE):
            for name in pattern.findall(text):
                defined.setdefault(name, set()).add(module(path))
    graph = {module(path): set() for path in code}
    for path, text in code.items():
        for name in set(NAME.findall(text)):
            others = defined.get(name, set())
            if module(path) not in others:
                graph[module(path)] |= {other for other in others if room(other) == room(path)}
    return graph


def check_calls(files, known):
    graph = calls(files)
    present = cycles(graph)
    complaints = []
    for members in present:
        if not any(known_one.issuperset(members) for known_one in known):
            arrows = [f"{m} calls {', '.join(sorted(graph[m] & set(members)))}" for m in members]
            complaints.append("modules call each other in a cycle: " + "; ".join(arrows))
    for known_one in known:
        if not any(known_one.issuperset(members) for members in present):
            complaints.append("KNOWN names a cycle that is gone: " + ", ".join(sorted(known_one)))
    return complaints


def check(texts, known, exceptions=()):
    """All complaints about a tree, {path: text}."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group())
    files = {path: COMMENT.sub(blank, text) for path, text in texts.items()}
    return check_includes(files) + check_calls(files, known) + check_folders(files, exceptions)


def read_tree(top):
    texts = {}
    for start in ROOMS + [TESTS]:
        for folder, _, names in os.walk(os.path.join(top, start)):
            for name in names:
                if name.endswith(HEADERS + CODE):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as stream:
                        texts[os.path.relpath(path, top)] = stream.read()
    return texts


def test_itself():
    """One error of each kind in a small tree gets its complaint."""
    call = "sp_status %s(int a) {\n  %s(a);\n}\n"
    tree = {"io/a.c": '/* #include "tests/t.h" */\n#include "mesh/m.h"\n' + call % ("sp_a", "sp_b"),
            "io/b.c": call % ("sp_b", "sp_a"), "mesh/m.h": '#include "mesh/n.h"\n', "mesh/n.h": '#include "mesh/m.h"\n',
            "operators/host/h.h": "", "solver/problem/p.c": '#include "solver/run/r.h"\n#include "operators/host/h.h"\n',
            "solver/config/c.c": '#include "solver/run/r.h"\n' + call % ("sp_c", "sp_r"), "solver/run/r.c": call % ("sp_r", "sp_c"),
            "solver/run/r.h": '#include "io/none.h"\n', "tests/t.h": '#include "operators/host/h.h"\n'}
    complaints = check(tree, [{"io/c", "io/d"}, {"solver/config/c", "solver/run/r"}],
                       [("solver/problem/p", "solver/run"), ("solver/linear/l", "solver/run")])
    words = ("operators/host/ is private", "io/ includes only itself", "there is no io/none.h",
             "in a cycle: mesh/m.h, mesh/n.h", "io/a calls io/b; io/b calls io/a", "a cycle that is gone",
             "solver/config/c.c includes solver/run/r.h, but", "solver/config/c calls solver/run/r, but",
             "an arrow that is gone: solver/linear/l to solver/run/")
    right = len(complaints) == len(words) and all(any(w in c for c in complaints) for w in words)
    return [] if right and not check({"io/a.c": call % ("sp_a", "sp_c")}, []) else [complaints]


def main():
    failures = test_itself()
    for failure in failures:
        print(f"includes.py itself is wrong: {failure}")
    texts = read_tree(sys.argv[1])
    complaints = check(texts, KNOWN, EXCEPTIONS)
    for complaint in complaints:
        print(complaint)
    count = sum(len(INCLUDE.findall(text)) for text in texts.values())
    print(f"{count} includes in {len(texts)} files, {len(EXCEPTIONS)} exceptions:")
    for arrow in EXCEPTIONS:
        print("    %s to %s/" % arrow)
    return 1 if failures or complaints or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
