#!/usr/bin/env python3
"""sp_plot: figures from the HDF5 files that the programs write.

    sp_plot residual run.h5 [more.h5 ...] -o residual.png
    sp_plot study run.h5 -o study.pdf         the ending of the name decides the format
    sp_plot history run.h5 -o history.png     all results over time
    sp_plot field run.hdf -o field.png        the solution: the surface of the mesh, or --slice x=0.5
    sp_plot report run.h5 run.hdf -o run.html one file with tables, pictures and figures
    sp_plot bench bench.h5 -o bench.png       the rates of sp_bench over the order and the size
    sp_plot paper bench.h5 -o figures/        all figures of the paper, --format pdf|svg|png

A command is a function in the module of its file: run_figures for run.h5, field_figures for run.hdf, report for
both, bench_figures and paper_figures for bench.h5 of sp_bench. Modules are imported when they are needed, so
that --help does without matplotlib. Errors are one line on stderr and exit code 1."""

import argparse
import importlib
import sys

from failure import Failure


def positive(text):
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError
    return value


def option(*names, **settings):
    return names, settings


LOGS = option("files", nargs="+", metavar="RUN.H5")
BENCH = option("file", metavar="BENCH.H5")
IMAGE = option("-o", "--output", required=True, metavar="IMAGE", help="name.png, name.pdf or name.svg")
VIEW = option("--view", nargs=2, type=float, metavar=("AZIMUTH", "ELEVATION"),
              help="position of the viewer, in degrees; default: -60 25")
STRETCH = option("--z-stretch", type=positive, default=1.0, metavar="FACTOR",
                 help="draw z that many times as long, for thin boards; a number above 0")

# Name, function, description and arguments of each command.
COMMANDS = (
    ("residual", "run_figures.residual", "the residual over iterations or time", LOGS, IMAGE,
     option("--against", default="iterations", metavar="iterations|seconds", choices=("iterations", "seconds"),
            help="horizontal axis; default: iterations")),
    ("matvec", "run_figures.matvec", "the throughput of the operator over the iterations", LOGS, IMAGE),
    ("line", "run_figures.line", "the solution along the lines of [line]", LOGS, IMAGE),
    ("history", "run_figures.history", "the results of a run in time", LOGS, IMAGE),
    ("phases", "run_figures.phases", "where the time of a run goes", LOGS, IMAGE),
    ("study", "run_figures.study", "the convergence of a study, with reference slopes", LOGS, IMAGE),
    ("field", "field_figures.draw", "a picture of the solution: the surface of the mesh, or a slice",
     option("file", metavar="RUN.HDF"), IMAGE,
     option("--scalar", default="u", metavar="NAME",
            help="point or cell data: u (default), error, error_indicator, region, rank, tag"),
     option("--slice", metavar="x=0.5", help="the plane to draw; default: the surface"), VIEW,
     option("--elements", action="store_true", help="draw the edges of elements"), STRETCH),
    ("groups", "group_figures.draw", "the boundary groups of a mesh, from sp_solve CASE --groups --json FILE",
     option("file", metavar="GROUPS.JSON"), IMAGE, VIEW),
    ("report", "report.report", "one HTML file about a run: tables, pictures, figures",
     option("log", metavar="RUN.H5"),
     option("field", nargs="?", metavar="RUN.HDF", help="for pictures of the solution"),
     option("-o", "--output", required=True, metavar="RUN.HTML"), STRETCH),
    ("bench", "bench_figures.bench", "the rates of sp_bench over the order and the size", BENCH, IMAGE),
    ("paper", "paper_figures.paper", "the figures of the paper, from a file of sp_bench", BENCH,
     option("-o", "--output", required=True, metavar="DIRECTORY",
            help="folder of the figures; created if it does not exist"),
     option("--format", default="png", metavar="png|pdf|svg"),
     option("--elements", default="", metavar="LIST",
            help="draw these meshes of the file only, such as 512,4096")))


def parse(arguments=None):
    parser = argparse.ArgumentParser(prog="sp_plot", description="Figures from HDF5 files.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, function, text, *options in COMMANDS:
        command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        for names, settings in options:
            command.add_argument(*names, **settings)
        command.set_defaults(function=function)
    return parser.parse_args(arguments)


def main():
    arguments = parse()
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
