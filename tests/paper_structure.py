"""Check in the machine code of each of the paper's kernels that it has the optimizations of its rung.

    paper_structure.py CUOBJDUMP LADDER:ORDER:OBJECT-FILE ...

Barriers, loads of inputs, of shared memory and of geometric factors are counted as a thread executes
them: an instruction inside a loop that was not unrolled counts once per turn. n = Nq, M = N + 2.
"""
import re
import subprocess
import sys

import optional

failures = 0


def check(condition, what):
    global failures
    if not condition:
        failures += 1
        print("FAILED:", what)


class Code:
    """Instructions of one kernel as (address, opcode, operands)."""

    def __init__(self, name):
        self.name = name
        self.instructions = []

    def loops(self):
        """(first, last) address of each loop, from its backward branch; not the idle branch at the end of
        every kernel, which jumps to itself."""
        found = []
        for address, opcode, operands in self.instructions:
            target = re.search(r"0x([0-9a-f]+)\s*$", operands)
            if opcode.startswith("BRA") and target and int(target.group(1), 16) < address:
                found.append((int(target.group(1), 16), address))
        return found

    def count(self, pattern):
        return sum(bool(re.match(pattern, opcode)) for _, opcode, _ in self.instructions)

    def barriers(self, turns):
        """Executed barriers, where each loop around one has this many turns."""
        total, loops = 0, self.loops()
        for address, opcode, _ in self.instructions:
            if opcode.startswith("BAR.SYNC"):
                inside = any(first <= address <= last for first, last in loops)
                total += turns if inside else 1
        return total

    def shared_doubles(self):
        """Doubles that a thread loads from shared memory (no loops)."""
        return self.count(r"LDS\.64") + 2 * self.count(r"LDS\.128")


def disassemble(cuobjdump, path):
    """{(architecture, kernel): Code}"""
    text = subprocess.run([cuobjdump, "-sass", path], check=True, capture_output=True,
                          text=True).stdout
    kernels, architecture, code = {}, None, None
    for line in text.splitlines():
        if match := re.search(r"\barch = (\S+)", line):
            architecture = match.group(1)
        elif match := re.search(r"Function : _Z\d+([a-z0-9_]+)ILi\d+E", line):
            code = Code(match.group(1))
            kernels[architecture, match.group(1)] = code
        elif match := re.match(r"\s*/\*([0-9a-f]{4,})\*/\s+(?:@!?\w+ )?\s*([A-Z][A-Z0-9_.]*)\s*([^;]*);",
                               line):
            code.instructions.append((int(match.group(1), 16), match.group(2), match.group(3)))
    return kernels


def shared_bytes(cuobjdump, path):
    """{(architecture, kernel): static shared memory}, as ptxas counts it: from sm_90 on cuobjdump adds 1
    KB that the system reserves."""
    text = subprocess.run([cuobjdump, "-res-usage", path], check=True, capture_output=True,
                          text=True).stdout
    sizes, architecture, name = {}, None, None
    for line in text.splitlines():
        if match := re.search(r"\barch = sm_(\d+)", line):
            architecture = int(match.group(1))
        elif match := re.search(r"Function _Z\d+([a-z0-9_]+)ILi\d+E", line):
            name = match.group(1)
        elif match := re.search(r"SHARED:(\d+)", line):
            sizes[architecture, name] = int(match.group(1)) - (1024 if architecture >= 90 else 0)
    return sizes


# Barriers by ladder and rung. The paper gives the barriers of BP1.0 (5 M + 1 to kernel 6, then 5) and of BP3.5 (3D)
# kernel 6; the others follow from the rungs' descriptions.
BARRIERS = {
    "bp10_2d": lambda n, M: {**dict.fromkeys(range(1, 7), 5 * M + 1), 7: 5, 8: 5},
    "bp35_2d": lambda n, M: {1: 2, 2: 2, 3: 2, 4: n + 1, **dict.fromkeys(range(5, 9), 2 * n + 1),
                             9: 4 * n, 10: 2 * n},
    "bp35_3d": lambda n, M: {1: 7, 2: 7, 3: 7, 4: 6, 5: 7, 6: 2},
    "bp30_2d": lambda n, M: {**dict.fromkeys(range(1, 5), 10 * M + 1), 5: 2 * M + 6, 6: 4 * M + 5,
                             **dict.fromkeys(range(7, 10), 6 * M + 5)},
    "bp30_3d": lambda n, M: {**dict.fromkeys(range(2, 7), 12), 7: 15, 8: 18, 9: 8},
}
# The first rungs with const inputs and without loops, sums included.
FIRST_CONST = {"bp10_2d": 4, "bp35_2d": 2, "bp35_3d": 2, "bp30_2d": 2, "bp30_3d": 100}
UNROLLED = {"bp10_2d": 6, "bp35_2d": 3, "bp35_3d": 2, "bp30_2d": 3, "bp30_3d": 3}


def check_every_rung(ladder, n, M, number, code, where):
    turns = n if ladder.startswith("bp35") else M
    expected = BARRIERS[ladder](n, M).get(number)
    if expected is not None:
        check(code.barriers(turns) == expected,
              f"{where}: {code.barriers(turns)} barriers, {expected} expected")
    const = code.count(r"LDG\S*\.CONSTANT")
    check((const > 0) == (number >= FIRST_CONST[ladder]), f"{where}: {const} loads of const data")
    check(bool(code.loops()) == (number < UNROLLED[ladder]), f"{where}: {len(code.loops())} loops")


def check_shared_loads(ladder, n, M, rung, where):
    """Shared memory as the rooflines count it (operators/paper/shared_bytes.c), for a thread that
    takes part in every step. Kernel 8 of BP1.0 and kernel 9 of BP3.0 read half as much of I."""
    lines, matrix, stiffness = 3 * n + 2 * M, 6 * n * M, 10 * M * M
    expected = {
        "bp10_2d": {6: M * (6 * n + 4 * M), 7: lines + matrix, 8: lines + matrix // 2},
        "bp30_2d": {8: lines + matrix + stiffness, 9: lines + matrix // 2 + stiffness},
    }.get(ladder, {})
    for number, doubles in expected.items():
        found = rung[number].shared_doubles()
        check(found == doubles,
              f"{where} kernel {number}: {found} doubles from shared memory, {doubles} expected")


def check_factor_loads(ladder, n, rung, where):
    """Ten loads (nine of G, one of wJ) if factors are loaded where they are used, else seven. A BP3.5
    thread also loads an entry of D and its q, and in three sums n values of q (one in a loop), before
    kernel 4 q's partial sums and the result."""
    if ladder == "bp35_3d":
        first = rung[1].count("LDG") - (1 + 1 + 3 + 3 + 3)
        check(first == 10, f"{where} kernel 1: {first} loads of factors")
        for number, expected in ((2, 10), (3, 7), (4, 7)):
            loads = rung[number].count(r"LDG\S*\.CONSTANT") - (1 + 1 + 3 * n)
            check(loads == expected, f"{where} kernel {number}: {loads} loads of factors")
    if ladder == "bp30_3d":
        fewer = rung[3].count("LDG") - rung[4].count("LDG")
        check(fewer == 3, f"{where} kernel 4: {fewer} loads fewer than kernel 3")


def check_object(cuobjdump, ladder, order, path):
    n, M = order + 1, order + 2
    kernels, sizes = disassemble(cuobjdump, path), shared_bytes(cuobjdump, path)
    check(len(sizes) == len(kernels), f"{ladder} N = {order}: shared memory of {len(sizes)} kernels")
    for (architecture, name), size in sizes.items():
        check(0 < size <= 48 * 1024,
              f"{name} N = {order} sm_{architecture}: {size} bytes of shared memory")
    for architecture in sorted({a for a, _ in kernels}):
        where = f"{ladder} N = {order} {architecture}"
        rung = {int(name[len(ladder) + 1:]): code for (a, name), code in kernels.items()
                if a == architecture and name[len(ladder) + 1:].isdigit()}
        missing = set(BARRIERS[ladder](n, M)) - set(rung)
        check(not missing, f"{where}: no machine code of kernels {missing}")
        if missing:
            continue
        for number, code in sorted(rung.items()):
            check_every_rung(ladder, n, M, number, code, f"{where} kernel {number}")
        check_shared_loads(ladder, n, M, rung, where)
        check_factor_loads(ladder, n, rung, where)
    check(kernels, f"{ladder} N = {order}: no kernel found in {path}")


def main():
    cuobjdump, *objects = sys.argv[1:]
    if cuobjdump.endswith("NOTFOUND"):
        optional.skip("no cuobjdump on this machine")
    for entry in objects:
        ladder, order, path = entry.split(":", 2)
        check_object(cuobjdump, ladder, int(order), path)
    print(f"{len(objects)} files, {failures} failures")
    return 1 if failures or not objects else 0


sys.exit(main())
