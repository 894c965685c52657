"""Opening files."""

import os

import h5py

from failure import Failure

PROBLEMS = {"mass": "BP1.0", "bp3.5": "BP3.5", "bp3.0": "BP3.0"}  # of a file of sp_bench: paper's


def open_file(path):
    """An open HDF5 file; close it, or use it in a with statement."""
    try:
        return h5py.File(path, "r")
    except FileNotFoundError:
        raise Failure(f"{path}: no such file") from None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "not an HDF5 file, or a damaged one"
        raise Failure(f"{path}: cannot read: {reason}") from None


def open_log(path):
    """An open run log of sp_solve; it may still be growing."""
    log = open_file(path)
    if log.attrs.get("program") != "sp_solve" or "case" not in log.attrs:
        log.close()
        raise Failure(f"{path}: not a run log of sp_solve")
    return log


def read_bench(path, columns):
    """The rows and the attributes of a file of sp_bench, whose rows must have these columns."""
    with open_file(path) as file:
        if file.attrs.get("program") != "sp_bench":
            raise Failure(f"{path}: not a file of sp_bench")
        table = file.get("bench")
        if not isinstance(table, h5py.Dataset):
            raise Failure(f"{path}: no measurements in it")
        absent = [name for name in columns if name not in (table.dtype.names or ())]
        if absent:
            raise Failure(f"{path}: /bench has no column '{absent[0]}', it is from another version "
                          "of sp_bench")
        return table[:], dict(file.attrs)


def label_all(paths):
    """A short name per file: its name without the ending, or the paths where names are not unique."""
    labels = [os.path.splitext(os.path.basename(path))[0] for path in paths]
    return labels if len(set(labels)) == len(labels) else list(paths)
