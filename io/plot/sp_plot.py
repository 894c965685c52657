#!/usr/bin/env python3
"""sp_plot: tables and figures from the HDF5 files that the programs write.

    sp_plot runs run.h5 [more.h5 ...] --csv runs.csv      a table of runs
    sp_plot scaling *.h5 -o scaling.png       strong or weak scaling, as a table and a figure
    sp_plot residual run.h5 [more.h5 ...] -o residual.png
    sp_plot study run.h5 -o study.pdf         the ending of the name decides the format
    sp_plot field run.hdf -o field.png        the solution: the surface of the mesh, or --slice x=0.5
    sp_plot groups groups.json -o groups.png  the groups of a mesh, from sp_solve CASE --groups --json groups.json
    sp_plot report run.h5 run.hdf -o run.html one file with tables, pictures and figures
    sp_plot bench bench.h5 -o bench.png       the rates of sp_bench over the order and the size
    sp_plot paper bench.h5 -o figures/        all figures of the paper, --format pdf|svg|png

The command line is in commands.py; a command is a function in the module of its file: run_table, scaling and
run_figures for run.h5, field_figures for run.hdf, group_figures for
groups.json, report for both, bench_figures and paper_figures for bench.h5 of sp_bench.
Errors are one line on stderr and exit code 1."""

import importlib
import os
import sys

import commands
from failure import Failure

TABLES = ("run_table", "scaling")  # modules whose tables do without matplotlib


def main():
    arguments = commands.parse()
    module, name = arguments.function.split(".")
    try:
        getattr(importlib.import_module(module), name)(arguments)
        sys.stdout.flush()
    except ImportError as error:
        packages = "python3-h5py" if module in TABLES and error.name == "h5py" else "python3-matplotlib python3-h5py"
        sys.exit(f"sp_plot: {error} for {sys.executable}; on Debian and Ubuntu: apt-get install {packages}, "
                 f"then /usr/bin/python3 {sys.argv[0]}")
    except Failure as failure:
        sys.exit(f"sp_plot: {failure}")
    except BrokenPipeError:  # of `| head`, for example
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
