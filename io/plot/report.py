"""One HTML file about a run: tables of its log, pictures of its field, figures. Images are inside the file."""

import base64
import html
import os
import tempfile
from types import SimpleNamespace

import field_figures
import run_figures
from failure import Failure
from files import open_log

STYLE = """body { font: 15px sans-serif; max-width: 60em; margin: 2em auto; color: #222 }
table { border-collapse: collapse; margin: 0.5em 0 } th, td { padding: 0.2em 0.8em; text-align: left }
th { border-bottom: 1px solid #999 } td.n { text-align: right; font-variant-numeric: tabular-nums }
img { max-width: 100%; display: block; margin: 1em 0 } pre { background: #f4f4f4; padding: 1em }"""

# Attribute of the log: what it is called.
SUMMARY = (("status", "outcome"), ("start_time", "start"), ("program", "program"), ("version", "version"),
           ("git_revision", "revision"), ("hosts", "hosts"), ("ranks", "ranks"), ("device", "device"),
           ("elements", "elements"), ("order", "order N"), ("dofs", "degrees of freedom"),
           ("iterations", "iterations"), ("error_estimate", "error of the solver, estimated"),
           ("total_seconds", "seconds"), ("accuracy_method", "error bars"), ("note_coarse", "note"),
           ("note_source", "note"), ("note_kink", "note"), ("note_boundary", "note"),
           ("note_defect", "note"))

# Table of the log: its title and columns. Those of integers and reals are at the right.
TABLES = (("results", "Results", ("name", "kind", "formula", "group", "value", "error", "x", "y", "z")),
          ("extrema", "Extrema", ("name", "kind", "material", "value", "error", "x", "y", "z")),
          ("materials", "Materials", None), ("probes", "Probes", ("name", "x", "y", "z", "u", "error")),
          ("balance", "Balance", ("name", "kind", "value", "error")),
          ("errors", "True errors, against the exact solution", None),
          ("limits", "Limits of the study", ("kind", "name", "order", "rate", "limit", "gci", "verdict")))


def text_of(value, column):
    """A cell. NaN stands for no value."""
    if isinstance(value, bytes):
        return html.escape(value.decode()), ""
    if column in ("error", "gci"):
        return "" if value != value else f"± {value:.1e}", ' class="n"'
    return "" if value != value else f"{value:.9g}", ' class="n"'


def table(title, columns, rows):
    head = "".join(f"<th>{html.escape(c)}</th>" for c in columns)
    body = ""
    for row in rows:
        cells = [text_of(row[c], c) for c in columns]
        body += "<tr>" + "".join(f"<td{kind}>{text}</td>" for text, kind in cells) + "</tr>\n"
    return f"<h2>{html.escape(title)}</h2>\n<table><tr>{head}</tr>\n{body}</table>\n"


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
        for row in rows:  # the error of a probe in the log is the true one
            row["error"] = bars.get((name, row.get("name"), b"probe" if name == "probes" else row.get("kind")),
                                    float("nan"))
        known = [c for c in (columns or log[name].dtype.names) if c in rows[0]]
        shown = [c for c in known if any(text_of(row[c], c)[0] for row in rows)]
        out += table(title, shown, rows)
    return out


def summary(attributes):
    rows = ""
    for name, title in SUMMARY:
        if name in attributes:
            value = attributes[name]
            text = value.decode() if isinstance(value, bytes) else str(value)
            rows += f"<tr><th>{title}</th><td>{html.escape(text)}</td></tr>\n"
    return f"<table>{rows}</table>\n"


def picture(title, function, **arguments):
    """A figure of another command as an image in the text."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "image.png")
        function(SimpleNamespace(output=path, **arguments))
        with open(path, "rb") as file:
            data = base64.b64encode(file.read()).decode("ascii")
    return f'<h2>{html.escape(title)}</h2>\n<img alt="{html.escape(title)}" src="data:image/png;base64,{data}">\n'


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
        body = summary(attributes) + tables(log)
    case = attributes["case"].decode() if isinstance(attributes["case"], bytes) else attributes["case"]
    if arguments.field:
        body += pictures(arguments.field, arguments.z_stretch)
    logs = {"files": [arguments.log]}
    if "lines" in names:
        body += picture("Lines", run_figures.line, **logs)
    if "study_rate" in attributes:
        body += picture("Convergence", run_figures.study, **logs)
    elif "residual" in names:
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
