#!/usr/bin/env python3
"""sp_plot: figures from the HDF5 files that the programs write.

    sp_plot residual run.h5 [more.h5 ...] -o residual.png
    sp_plot study run.h5 -o study.pdf         the ending of the name decides the format
    sp_plot field run.hdf -o field.png        the solution: the surface of the mesh, or --slice x=0.5
    sp_plot report run.h5 run.hdf -o run.html one file with tables, pictures and figures
    sp_plot bench bench.h5 -o bench.png       the rates of sp_bench over the order and the size
    sp_plot paper bench.h5 -o figures/        all figures of the paper, --format pdf|svg|png

The command line is in commands.py; a command is a function in the module of its file: run_figures for run.h5,
field_figures for run.hdf, report for both, bench_figures and paper_figures for bench.h5 of sp_bench. Errors are one line on stderr
and exit code 1."""

import importlib
import sys

import commands
from failure import Failure


def main():
    arguments = commands.parse()
    module, name = arguments.function.split(".")
    try:
        getattr(importlib.import_module(module), name)(arguments)
    except ImportError as error:
        sys.exit(f"sp_plot: {error} for {sys.executable}; on Debian and Ubuntu: apt-get install "
                 f"python3-matplotlib python3-h5py, then /usr/bin/python3 {sys.argv[0]}")
    except Failure as failure:
        sys.exit(f"sp_plot: {failure}")


if __name__ == "__main__":
    main()
