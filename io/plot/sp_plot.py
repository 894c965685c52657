#!/usr/bin/env python3
"""sp_plot: the figures, from the HDF5 files that the programs write.

    sp_plot residual run.h5 [more.h5 ...] -o residual.png
    sp_plot study run.h5 -o study.pdf         the ending of the name decides the format
    sp_plot field run.hdf -o field.png        the solution: the surface of the mesh, or --slice x=0.5
    sp_plot paper bench.h5 -o figures/        all figures of the paper, --format pdf|svg|png

A figure is a function in the module of its file: run_figures for run.h5, field_figures for run.hdf,
paper_figures for bench.h5 of sp_bench. Errors are one line on stderr and exit code 1."""

import argparse
import sys


def main():
    try:
        import field_figures
        import figures
        import paper_figures
        import run_figures
    except ImportError as error:
        sys.exit(f"sp_plot: {error} for {sys.executable}; on Debian and Ubuntu: apt-get install "
                 f"python3-matplotlib python3-h5py, then /usr/bin/python3 {sys.argv[0]}")
    parser = argparse.ArgumentParser(prog="sp_plot", description="Figures from HDF5 files.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="FIGURE")
    for module in (run_figures, field_figures, paper_figures):
        module.add_commands(commands)
    arguments = parser.parse_args()
    try:
        arguments.draw(arguments)
    except figures.Failure as failure:
        sys.exit(f"sp_plot: {failure}")


if __name__ == "__main__":
    main()
