"""One HTML file about a run: tables of its log, pictures of its field, figures. Images are inside the file."""

import base64
import html
import os
import struct
import tempfile
from types import SimpleNamespace

import numpy

import field_figures
import run_figures
from failure import Failure
from files import open_log
from labels import in_brackets, number, pretty, printed, units_of

# On paper tables break between rows and repeat their heads. Long words break anywhere, so that tables fit the width.
STYLE = """@page { size: A4; margin: 18mm 15mm }
body { font: 15px sans-serif; max-width: 60em; margin: 2em auto; color: #222 }
table { border-collapse: collapse; margin: 0.5em 0; max-width: 100% }
th, td { padding: 0.2em 0.8em; text-align: left; vertical-align: top }
thead th { border-bottom: 1px solid #999 } td.n { text-align: right; font-variant-numeric: tabular-nums }
td.long, li { overflow-wrap: anywhere }
img { max-width: 100%; display: block; margin: 1em 0 }
pre { background: #f4f4f4; padding: 1em; white-space: pre-wrap; overflow-wrap: anywhere }
@media print {
  body { font-size: 9pt; margin: 0; max-width: none } th, td { padding: 0.15em 0.5em }
  thead { display: table-header-group } tr, figure { break-inside: avoid } h2 { break-after: avoid }
  img { max-height: 110mm; margin: 0 auto } img.tall { max-height: 235mm } figure { margin: 0 }
  pre { columns: 2; font-size: 8pt }
}"""

# Attribute of the log and its title.
SUMMARY = (("status", "outcome"), ("start_time", "start"), ("program", "program"), ("version", "version"),
           ("git_revision", "revision"), ("hosts", "hosts"), ("ranks", "ranks"), ("device", "device"),
           ("elements", "elements"), ("order", "order N"), ("dofs", "degrees of freedom"),
           ("iterations", "iterations"), ("error_estimate", "error of the solver, estimated"),
           ("total_seconds", "seconds"), ("accuracy_method", "error bars"))

# Table of the log, its title and columns. Columns of numbers are aligned to the right.
TABLES = (("results", "Results", ("name", "kind", "formula", "group", "value", "unit", "place", "heat")),
          ("extrema", "Extrema", ("name", "kind", "material", "value", "place")),
          ("materials", "Materials", None), ("probes", "Probes", ("name", "place", "u")),
          ("balance", "Balance", ("name", "kind", "value")),
          ("errors", "True errors, against the exact solution", None),
          ("limits", "Limits of the study", ("kind", "name", "order", "rate", "limit", "unit", "verdict")))
LONG = 16  # characters of a word that stays whole
TITLES = {"group": "over", "place": "x, y, z", "heat_in": "heat in", "heat_out": "heat out"}


def text_of(row, column):
    """A cell; NaN stands for no value. Answers have their error bars."""
    value = row[column]
    if isinstance(value, bytes):
        text = pretty(value.decode()) if column == "unit" else value.decode()
        is_long = max(map(len, text.split()), default=0) > LONG
        return html.escape(text), ' class="long"' if is_long else ""
    if column == "place":
        rounding = 1e-12 * max(map(abs, value))
        return ", ".join(printed(f"{x if abs(x) > rounding else 0:.5g}") for x in value if x == x), ' class="n"'
    bar = row["error"] if column in ("value", "u", "limit") else float("nan")
    return number(value, bar), ' class="n"'


def table(title, columns, rows, units):
    head = "".join(f"<th>{html.escape(in_brackets(TITLES.get(c, c), units.get(c)))}</th>" for c in columns)
    body = ""
    for row in rows:
        cells = [text_of(row, c) for c in columns]
        body += "<tr>" + "".join(f"<td{kind}>{text}</td>" for text, kind in cells) + "</tr>\n"
    return f"<h2>{html.escape(title)}</h2>\n<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>\n"


def notes(log):
    """All notes of the run."""
    rows = log["notes"][:] if "notes" in log else []
    items = "".join(f"<li><b>{html.escape(row['name'].decode())}</b>: {html.escape(row['text'].decode())}</li>\n"
                    for row in rows)
    return f"<h2>Notes</h2>\n<ul>{items}</ul>\n" if items else "<h2>Notes</h2>\n<p>none</p>\n"


def bars_of(log):
    """(table, name, kind): the estimated error of an answer."""
    rows = log["accuracy"][:] if "accuracy" in log else []
    return {(row["table"].decode(), row["name"], row["kind"]): float(row["error"]) for row in rows}


def tables(log):
    bars, out = bars_of(log), ""
    for name, title, columns in TABLES:
        if name not in log or len(log[name]) == 0:
            continue
        rows = [dict(zip(log[name].dtype.names, row)) for row in log[name][:]]
        units = units_of(log[name])
        for row in rows:  # the error of a probe in the log is the true one
            row["error"] = row["gci"] if "gci" in row else bars.get(
                (name, row.get("name"), b"probe" if name == "probes" else row.get("kind")), float("nan"))
            if "x" in row:
                row["place"] = [row[c] for c in "xyz"]
        units["place"] = units.get("x")
        known = [c for c in (columns or log[name].dtype.names) if c in rows[0]]
        shown = [c for c in known if any(text_of(row, c)[0] for row in rows)]
        out += table(title, shown, rows, units)
    return out


def summary(attributes):
    rows = ""
    for name, title in SUMMARY:
        if name in attributes:
            value = attributes[name]
            text = value.decode() if isinstance(value, bytes) else value
            if not isinstance(text, str):
                text = f"{value:,}" if isinstance(value, numpy.integer) else printed(f"{value:.3g}")
            rows += f"<tr><th>{title}</th><td>{html.escape(text)}</td></tr>\n"
    return f"<table>{rows}</table>\n"


def picture(title, function, **arguments):
    """A figure of another command as an image in the text."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "image.png")
        function(SimpleNamespace(output=path, **arguments))
        with open(path, "rb") as file:
            data = file.read()
    width, height = struct.unpack(">II", data[16:24])  # of a PNG
    data = base64.b64encode(data).decode("ascii")
    tall = ' class="tall"' if height > width else ""
    return (f'<figure><h2>{html.escape(title)}</h2>\n<img alt="{html.escape(title)}"{tall} '
            f'src="data:image/png;base64,{data}"></figure>\n')


def pictures(path, stretch):
    common = {"file": path, "elements": True, "view": None, "z_stretch": stretch}
    middle = field_figures.middle_of(path)
    out = picture("Solution", field_figures.draw, scalar="u", slice=None, **common)
    out += picture("Solution, cut in the middle", field_figures.draw, scalar="u", slice=f"y={middle!r}", **common)
    if field_figures.has(path, "error_indicator"):
        out += picture("Error indicator", field_figures.draw, scalar="error_indicator", slice=None, **common)
    return out


def report(arguments):
    if not arguments.output.endswith((".html", ".htm")):
        raise Failure(f"{arguments.output}: expected a name that ends in .html")
    with open_log(arguments.log) as log:
        attributes, names = dict(log.attrs), set(log)
        body = summary(attributes) + notes(log) + tables(log)
    case = attributes["case"].decode() if isinstance(attributes["case"], bytes) else attributes["case"]
    if arguments.field:
        body += pictures(arguments.field, arguments.z_stretch)
    logs = {"files": [arguments.log]}
    if "history" in names:
        body += picture("History", run_figures.history, **logs)
    if "lines" in names:
        body += picture("Lines", run_figures.line, **logs)
    if "study_rate" in attributes:
        body += picture("Convergence", run_figures.study, **logs)
    elif "residual" in names and "history" not in names:
        body += picture("Convergence of the solver", run_figures.residual, against="iterations", **logs)
    body += picture("Where the time goes", run_figures.phases, **logs)
    title = f"sp_solve: {os.path.basename(arguments.log)}"
    page = (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>\n'
            f"<style>{STYLE}</style></head><body>\n<h1>{html.escape(title)}</h1>\n{body}"
            f"<h2>Case</h2>\n<pre>{html.escape(case)}</pre>\n</body></html>\n")
    try:
        with open(arguments.output, "w", encoding="utf-8") as file:
            file.write(page)
    except OSError as error:
        raise Failure(f"{arguments.output}: cannot write: {error.strerror}") from None
