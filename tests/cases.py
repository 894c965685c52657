"""Cases in one process, by the Python module (solver/python): no run of the program. A launcher starts the test on some
ranks, which make the same calls; each has a folder of its own, and files of rank 0 are read. A test ends with run()."""

import os
import sys

import driver
import optional
from driver import check, in_folder, settings, values

optional.need("numpy")
import sp_solve  # noqa: E402

FIXTURES, INPUTS = (os.path.abspath(path) for path in sys.argv[1:3])

# The tolerance is 1e-12 of the energy; values in these tests are of size 10 and fluxes are not far from them.
CLOSE = 1e-9


_case, _keys, _fixed = None, {}, None  # the last case of a mesh file


def _fixed_of(keys):
    """Settings that an open case cannot change, and the mesh file: reading it takes ten times as long as a solve."""
    name = keys.get("mesh.file")
    return name and os.path.exists(name) and (os.stat(name).st_mtime_ns, {
        key: value for key, value in keys.items()
        if key.startswith(("mesh.", "region", "constants.")) or value.startswith(("contact", "periodic", "mass"))})


def record(*arguments, path=None):
    """The JSON document of a case, which is solved; a text has one setting or several, "mesh.refine=1; problem.lambda=1"."""
    global _case, _keys, _fixed
    keys = {"backend.share": "yes", "solver.tolerance": "1e-12"}
    keys |= (word.split("=", 1) for text in arguments if text for word in settings(text))
    fixed = _fixed_of(keys)
    if _case and fixed and fixed == _fixed:
        _case.change({key: keys.get(key) for key in {**_keys, **keys} if keys.get(key) != _keys.get(key)})
    else:
        if _case:
            _case.close()
        _case = None
        _case = sp_solve.Case(path, keys=keys)
    _keys, _fixed = keys, fixed
    return _case.solve().json


def expect(document, table, expected, text):
    found = values(document, table)
    for name, value in expected.items():
        check(name in found and abs(found[name] - value) < CLOSE, f"{text}: {name} {found.get(name)}, not {value}")


def solve(*arguments, **tables):
    """The document, whose balance is closed and whose tables have these values."""
    document = record(*arguments)
    terms = values(document, "balance")
    check(abs(terms["imbalance"]) < CLOSE * max(0.1, *map(abs, terms.values())), f"{arguments}: {terms}")
    for table, expected in tables.items():
        expect(document, table, expected, arguments)
    return document


def texts(document):
    """The notes by name."""
    return {note["name"]: note["text"] for note in document["notes"]}


def refuse(case, *table, path=None):
    """Each (settings, words...) of the table, added to the case, fails with one line that has the words."""
    for arguments, *words in table:
        try:
            record(case, arguments, path=path)
        except sp_solve.Error as error:
            check(error.code == 1 and "\n" not in str(error), f"{arguments}: {error.code}, {error}")
            for word in words:
                check(word in str(error), f"{arguments}: no '{word}' in '{error}'")
        else:
            check(False, f"{arguments}: not refused")


def run(*tests):
    driver.start(os.path.basename(sys.argv[0]).removesuffix(".py"), "", [])
    for test in tests:
        in_folder(test)
    driver.finish()
