"""The command line of sp_plot. A command names the function that runs it as MODULE.FUNCTION: modules are
imported when they are needed, so that --help and the tables do without matplotlib."""

import argparse


def add_logs(commands, name, function, text):
    """A command on run logs."""
    command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    command.add_argument("files", nargs="+", metavar="RUN.H5")
    command.set_defaults(function=function)
    return command


def add_image(command, required=True):
    command.add_argument("-o", "--output", required=required, metavar="IMAGE",
                         help="name.png, name.pdf or name.svg")


def positive(text):
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError
    return value


def add_stretch(command):
    command.add_argument("--z-stretch", type=positive, default=1.0, metavar="FACTOR",
                         help="draw z that many times as long, for thin boards; a number above 0")


def add_report(commands):
    text = "one HTML file about a run: tables, pictures, figures"
    command = commands.add_parser("report", help=text, description=text.capitalize() + ".")
    command.add_argument("log", metavar="RUN.H5")
    command.add_argument("field", nargs="?", metavar="RUN.HDF", help="for pictures of the solution")
    command.add_argument("-o", "--output", required=True, metavar="RUN.HTML")
    add_stretch(command)
    command.set_defaults(function="report.report")


def add_field(commands):
    text = "a picture of the solution: the surface of the mesh, or a slice"
    command = commands.add_parser("field", help=text, description=text.capitalize() + ".")
    command.add_argument("file", metavar="RUN.HDF")
    add_image(command)
    command.add_argument("--scalar", default="u", metavar="NAME",
                         help="point or cell data: u (default), error, error_indicator, region, rank, tag")
    command.add_argument("--slice", metavar="x=0.5", help="the plane to draw; default: the surface")
    command.add_argument("--view", nargs=2, type=float, metavar=("AZIMUTH", "ELEVATION"),
                         help="from where the surface is seen, in degrees; default: -60 25")
    command.add_argument("--elements", action="store_true", help="draw the edges of elements")
    add_stretch(command)
    command.set_defaults(function="field_figures.draw")


def add_groups(commands):
    text = "the boundary groups of a mesh, from sp_solve CASE --groups --json FILE"
    command = commands.add_parser("groups", help=text, description=text.capitalize() + ".")
    command.add_argument("file", metavar="GROUPS.JSON")
    add_image(command)
    command.add_argument("--view", nargs=2, type=float, metavar=("AZIMUTH", "ELEVATION"),
                         help="from where it is seen, in degrees; default: -60 25, and from the other side")
    command.set_defaults(function="group_figures.draw")


def add_paper(commands):
    text = "the figures of the paper, from a file of sp_bench"
    command = commands.add_parser("paper", help=text, description=text.capitalize() + ".")
    command.add_argument("file", metavar="BENCH.H5")
    command.add_argument("-o", "--output", required=True, metavar="DIRECTORY",
                         help="folder of the figures; created if it does not exist")
    command.add_argument("--format", default="png", metavar="png|pdf|svg")
    command.add_argument("--elements", default="", metavar="LIST",
                         help="draw these meshes of the file only, such as 512,4096")
    command.set_defaults(function="paper_figures.paper")


def add_bench(commands):
    text = "the rates of sp_bench over the order and the size"
    command = commands.add_parser("bench", help=text, description=text.capitalize() + ".")
    command.add_argument("file", metavar="BENCH.H5")
    add_image(command)
    command.set_defaults(function="bench_figures.bench")


def parse(arguments=None):
    parser = argparse.ArgumentParser(prog="sp_plot", description="Tables and figures from HDF5 files.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    command = add_logs(commands, "runs", "run_table.runs", "a table of runs, one line each")
    command.add_argument("--csv", metavar="FILE", help="also write it as CSV, with more columns and all "
                         "digits; - writes CSV to standard output, and no table")
    command = add_logs(commands, "scaling", "scaling.scaling", "strong or weak scaling of the solve: the "
                       "efficiency over ranks, from runs of one case on several numbers of ranks")
    add_image(command, required=False)
    command = add_logs(commands, "residual", "run_figures.residual", "the residual over iterations or time")
    add_image(command)
    command.add_argument("--against", default="iterations", metavar="iterations|seconds",
                         choices=("iterations", "seconds"),
                         help="what the residual is drawn over; default: iterations")
    for name, text in (("matvec", "the throughput of the operator over the iterations"),
                       ("line", "the solution along the lines of [line]"),
                       ("phases", "where the time of a run goes"),
                       ("study", "the convergence of a study, with reference slopes")):
        add_image(add_logs(commands, name, f"run_figures.{name}", text))
    add_field(commands)
    add_groups(commands)
    add_report(commands)
    add_bench(commands)
    add_paper(commands)
    return parser.parse_args(arguments)
