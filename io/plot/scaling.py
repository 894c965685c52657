"""Strong and weak scaling of the solve, from run logs on several numbers of ranks. The table needs h5py
and numpy only; the figure is scaling_figures.py's."""

import importlib

from failure import Failure
from files import open_log
from run_table import print_table, read, read_case

SAME = ("discretization", "problem", "solver")  # sections of the case
MARGIN = 0.1  # DOFs per rank differ, because ranks share those between them


class Point:
    """Runs on as many ranks: the fastest counts. `speedup` and `efficiency` are against the point with the
    fewest ranks."""

    def __init__(self, runs):
        self.count = len(runs)
        self.run = min(runs, key=lambda run: run["solve_seconds"])
        self.ranks, self.dofs = self.run["ranks_with_elements"], self.run["dofs"]
        self.seconds, self.iterations = self.run["solve_seconds"], self.run["iterations"]

    def compare(self, first, strong):
        self.speedup = first.seconds / self.seconds
        self.efficiency = self.speedup * (first.ranks / self.ranks if strong else 1)


def read_solved(path):
    """The run of a log, if it has a time to compare."""
    runs = read(path)
    if len(runs) > 1:
        raise Failure(f"{path}: this is a study; expected runs of one case each")
    run = runs[0]
    if run["status"] != "converged" or not run["solve_seconds"]:
        raise Failure(f"{path}: its status is '{run['status']}'; expected converged runs")
    return run


def read_settings(path):
    """What has to be the same in all runs, by name."""
    with open_log(path) as log:
        case, device = read_case(log.attrs["case"]), log.attrs["device"]
    settings = {f"{section}.{key}": value for section in SAME for key, value in case[section].items()}
    # On several ranks the text of a GPU goes on with the number of each rank's GPU.
    return {**settings, "device": device.split("; GPUs by rank:")[0]}


def check_same(paths):
    first = read_settings(paths[0])
    for path in paths[1:]:
        other = read_settings(path)
        for name in sorted({*first, *other}):
            if first.get(name) != other.get(name):
                raise Failure(f"{paths[0]} and {path} differ in {name}: '{first.get(name, '')}' and "
                              f"'{other.get(name, '')}'; expected one case on several numbers of ranks")


def is_strong(points):
    """True for strong scaling, False for weak."""
    dofs, per_rank = [p.dofs for p in points], [p.dofs / p.ranks for p in points]
    if max(dofs) == min(dofs):
        return True
    if max(per_rank) <= (1 + MARGIN) * min(per_rank):
        return False
    listed = ", ".join(f"{p.dofs} on {p.ranks}" for p in points)
    raise Failure("expected as many DOFs in all runs (strong scaling), or as many per rank to within "
                  f"{100 * MARGIN:.0f} % (weak scaling); found DOFs on ranks: {listed}")


def collect(paths):
    """The points by number of ranks, and whether they are of strong scaling."""
    runs = [read_solved(path) for path in paths]
    check_same(paths)
    by_ranks = {}
    for run in runs:
        by_ranks.setdefault(run["ranks_with_elements"], []).append(run)
    if len(by_ranks) < 2:
        raise Failure(f"all runs are on the same number of ranks, {runs[0]['ranks_with_elements']}; expected "
                      "one case on several numbers of ranks")
    for same in by_ranks.values():
        for run in same:
            if run["dofs"] != same[0]["dofs"]:
                raise Failure(f"{same[0]['path']} and {run['path']} are on as many ranks, but have "
                              f"{same[0]['dofs']} and {run['dofs']} DOFs")
    points = [Point(by_ranks[ranks]) for ranks in sorted(by_ranks)]
    strong = is_strong(points)
    for point in points:
        point.compare(points[0], strong)
    return points, strong


def describe(points, strong):
    run = points[0].run
    return (f"{'strong' if strong else 'weak'} scaling of the solve: N = {run['order']}, {run['operator']}, "
            f"{run['preconditioner']}, {run['device']}")


def scaling(arguments):
    """A table, and a figure if there is an output."""
    points, strong = collect(arguments.files)
    if arguments.output:
        draw = importlib.import_module("scaling_figures").draw
        draw(points, strong, describe(points, strong), arguments.output)
    print(describe(points, strong), end="\n\n")
    headings = (" ranks", " runs", " DOFs", " DOFs per rank", " iterations", " solve [s]", " speedup", " efficiency")
    print_table(headings, [
        (str(p.ranks), str(p.count), str(p.dofs), f"{p.dofs / p.ranks:.0f}", str(p.iterations), f"{p.seconds:.4g}",
         f"{p.speedup:.2f}" if strong else "-", f"{100 * p.efficiency:.1f} %") for p in points])
