"""Shared by all figures: styles, saving. Sizes suit a column of a printed page."""

import matplotlib

matplotlib.use("Agg")  # no display needed

from matplotlib import pyplot  # noqa: E402

from failure import Failure  # noqa: E402

# Okabe and Ito's colours, which colour-blind readers can distinguish (Wong, Nature Methods 8, 2011), ordered
# so that neighbours also differ in brightness; markers and dashes also differ.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X"]
DASHES = ["-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)), (0, (7, 3)), (0, (3, 1))]

pyplot.rcParams.update({
    "figure.figsize": (4.8, 3.4), "figure.dpi": 100, "savefig.dpi": 200, "font.size": 9,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.3,
    "grid.linewidth": 0.5, "lines.linewidth": 1.4, "lines.markersize": 4, "legend.frameon": False,
    "legend.fontsize": 8, "legend.handlelength": 3, "pdf.fonttype": 42,
})


def style(n):
    """Line style of curve n: after seven curves colours have other markers and dashes."""
    other = (n + n // len(COLOURS)) % len(MARKERS)
    return {"color": COLOURS[n % len(COLOURS)], "marker": MARKERS[other], "linestyle": DASHES[other]}


def ink(colour):
    """Black or white, whichever is readable on `colour`: by its luminance (ITU-R BT.709)."""
    red, green, blue = matplotlib.colors.to_rgb(colour)
    return "black" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5 else "white"


def add_legend_below(figure, all_axes, **settings):
    """One legend of all axes, each name once."""
    entries = {}
    for axes in all_axes:
        for handle, name in zip(*axes.get_legend_handles_labels()):
            entries.setdefault(name, handle)
    figure.legend(entries.values(), entries.keys(), loc="upper center", bbox_to_anchor=(0.5, 0.0), **settings)


def save(figure, path):
    """Write and close the figure; an unknown file name ending is an error of the user."""
    try:
        figure.savefig(path, bbox_inches="tight", pad_inches=0.05)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise Failure(f"{path}: cannot write: {reason}") from None
    finally:
        pyplot.close(figure)
