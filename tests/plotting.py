"""sp_plot from a test: pictures by their colours, and errors of one line."""

import contextlib
import io
import os
import subprocess
import sys

import driver
from driver import check

BLUE, ORANGE, GREEN = (0x00, 0x72, 0xB2), (0xD5, 0x5E, 0x00), (0x00, 0x9E, 0x73)
YELLOW, INDIGO, BROWN = (0xF0, 0xE4, 0x42), (0x33, 0x22, 0x88), (0x8C, 0x56, 0x4B)
PLOT = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.dirname(PLOT))


def plot(*arguments, missing=()):
    """sp_plot, in this process, which has imported matplotlib already; in one of its own if modules cannot be
    imported."""
    if missing:
        for name in missing:
            driver.write(f"{name}.py", f"raise ModuleNotFoundError(\"No module named '{name}'\", name='{name}')\n")
        done = driver.command(sys.executable, PLOT, *arguments, env={**os.environ, "PYTHONPATH": os.getcwd()})
        for name in missing:
            os.remove(f"{name}.py")
        return done
    import sp_plot
    from matplotlib import pyplot
    out, err, given, code = io.StringIO(), io.StringIO(), sys.argv, 0
    sys.argv = [PLOT, *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            sp_plot.main()
    except SystemExit as end:  # with a message or a code
        code = 1 if isinstance(end.code, str) else end.code or 0
        err.write(f"{end.code}\n" if isinstance(end.code, str) else "")
    finally:
        sys.argv = given
        pyplot.close("all")
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def refuse(words, *arguments, **options):
    driver.check_line(plot(*arguments, **options), "sp_plot", *words)
    check(not os.path.exists("x.png"), f"{arguments}: an image in spite of the error")


def refuse_unreadable(name, kind, suffix, *arguments):
    """Files that are absent, no HDF5, or something else."""
    import h5py
    driver.write(f"text.{suffix}", "no HDF5\n")
    with h5py.File(f"other.{suffix}", "w") as file:
        file["residual"] = [0.0, 0.0, 0.0]
    for file, words in (("absent", "no such file"), ("text", "not an HDF5 file"), ("other", kind)):
        refuse([f"{file}.{suffix}", words], name, f"{file}.{suffix}", *arguments)


def draw(colours, absent, *arguments):
    """The picture has more than a trace of the colours in the first list, and none of the second."""
    from matplotlib import image
    done = plot(*arguments, "-o", "x.png")
    check(done.returncode == 0 and not done.stderr and not done.stdout, f"{arguments}: {done.returncode} {done.stderr}")
    if not check(os.path.exists("x.png"), f"{arguments}: no picture"):
        return None
    pixels = (image.imread("x.png")[:, :, :3] * 255).round()
    check(min(pixels.shape[:2]) >= 200, f"{arguments}: {pixels.shape}")
    for colour in (*colours, *absent):
        count = (abs(pixels - colour).max(axis=2) <= 2).sum()
        check((count > 100) == (colour in colours), f"{arguments}: {count} pixels of {colour}")
    os.remove("x.png")
    return pixels
