"""The figure of scaling.py."""

from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter, NullLocator, PercentFormatter

import figures
from figures import pyplot


def draw(points, strong, title, path):
    """Seconds over ranks with the ideal, and the efficiency."""
    ranks = [p.ranks for p in points]
    ideal = [points[0].seconds * (ranks[0] / r if strong else 1) for r in ranks]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(7.2, 3.4), constrained_layout=True)
    left.loglog(ranks, [p.seconds for p in points], label="solve", **figures.style(0))
    left.loglog(ranks, ideal, color="0.5", linestyle="--", linewidth=0.9, label="ideal")
    left.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    left.yaxis.set_major_formatter(FormatStrFormatter("%g"))
    left.yaxis.set_minor_formatter(NullFormatter())
    left.set_ylabel("seconds")
    left.legend()
    right.semilogx(ranks, [p.efficiency for p in points], **figures.style(0))
    right.axhline(1, color="0.5", linestyle="--", linewidth=0.9)
    right.set_ylim(0, 1.1 * max(1, *(p.efficiency for p in points)))
    right.yaxis.set_major_formatter(PercentFormatter(1))
    right.set_ylabel("efficiency")
    for axes in left, right:
        axes.set_xlabel("ranks with elements")
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xticks(ranks, [str(r) for r in ranks])
    figure.suptitle(title, fontsize=9)
    figures.save(figure, path)
