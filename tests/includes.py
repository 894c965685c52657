#!/usr/bin/env python3
"""Check which files include and call which: only along the arrows between rooms and sub-rooms, without
cycles.

    includes.py SOURCE      check SOURCE/{io,mesh,operators,solver,tests}, after a test of itself

- A room includes only itself and rooms to its left: io, mesh, operators, solver. tests/ includes
  all; nothing outside includes tests/.
- solver: problem/ and run/ read the typed case, case/config.h; linear/ includes none of the others;
  run/ includes problem/ and linear/; case/ includes those three; bench/ includes linear/, and of run/ the
  headers about the program itself. What runs whole cases, a study or a dry run, includes the rest of
  case/. The programs include all.
- operators/host and operators/cuda are private: others reach them through operators/backend.h.
  operators/paper is for solver/bench. Tests may look inside.
- Headers do not include each other in a cycle.
- Modules of a room do not call each other in a cycle: a module is X.c (or .cu), with X.h if it has
  one; it calls another if it names a function or a table that the other one defines, wherever that
  is declared.
"""
import os
import re
import sys

ROOMS = ["io", "mesh", "operators", "solver"]
TESTS = "tests"
HEADERS = (".h", ".cuh")
CODE = (".c", ".cu")
GENERATED = {"sp_revision.h"}  # by CMake, for solver/run/provenance.c

# Of the sub-rooms of solver: what they include besides themselves, folders or single headers.
SOLVER = {
    "solver/problem": ["solver/case/config.h"],
    "solver/linear": [],
    "solver/run": ["solver/problem", "solver/linear", "solver/case/config.h"],
    "solver/case": ["solver/problem", "solver/linear", "solver/run"],
    "solver/bench": ["solver/linear"],
}

# What runs whole cases.
RUNS_CASES = {"solver/run/study.c": "solver/case/case.h", "solver/run/dry_run.c": "solver/case/mesh.h",
              "solver/run/group_table.c": "solver/case/mesh.h"}

# Of the sub-rooms of operators: who includes what of them, besides themselves and tests/.
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
    for folder, allowed in SOLVER.items():
        if RUNS_CASES.get(source) == target:
            break
        if within(source, folder) and within(target, "solver") and not within(target, folder):
            if not any(within(target, a) for a in allowed):
                return f"{folder}/ includes of solver/ only itself" + "".join(f", {a}" for a in allowed)
    for folder, allowed in PRIVATE.items():
        if within(target, folder) and not within(source, folder):
            if not any(within(source, s) and within(target, t) for s, t in allowed):
                return f"{folder}/ is private" + "".join(f"; {s}/ may include {t}" for s, t in allowed)
    return None


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


def check(texts, known):
    """All complaints about a tree, {path: text}."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group())
    files = {path: COMMENT.sub(blank, text) for path, text in texts.items()}
    return check_includes(files) + check_calls(files, known)


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
    """One error of each kind in a small tree gets its complaint, in this order."""
    call = "sp_status %s(int a) {\n  %s(a);\n}\n"
    tree = {"io/a.c": '/* #include "tests/t.h" */\n#include "mesh/m.h"\n' + call % ("sp_a", "sp_b"),
            "io/b.c": call % ("sp_b", "sp_a"), "mesh/m.h": '#include "mesh/n.h"\n', "mesh/n.h": '#include "mesh/m.h"\n',
            "operators/host/h.h": "", "solver/problem/p.c": '#include "solver/run/r.h"\n#include "operators/host/h.h"\n',
            "solver/run/r.h": '#include "io/none.h"\n', "tests/t.h": '#include "operators/host/h.h"\n'}
    complaints = check(tree, [{"io/c", "io/d"}])
    words = ("io/ includes only itself", "solver/problem/ includes of solver/ only", "operators/host/ is private",
             "there is no io/none.h", "in a cycle: mesh/m.h, mesh/n.h", "io/a calls io/b; io/b calls io/a", "a cycle that is gone")
    right = len(complaints) == len(words) and all(map(str.__contains__, complaints, words))
    return [] if right and not check({"io/a.c": call % ("sp_a", "sp_c")}, []) else [complaints]


def main():
    failures = test_itself()
    for failure in failures:
        print(f"includes.py itself is wrong: {failure}")
    texts = read_tree(sys.argv[1])
    complaints = check(texts, KNOWN)
    for complaint in complaints:
        print(complaint)
    count = sum(len(INCLUDE.findall(text)) for text in texts.values())
    print(f"{count} includes in {len(texts)} files")
    return 1 if failures or complaints or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
