"""Numbers and units as text, for reports and the axes of figures."""

import math
import re

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def printed(text):
    """-1.5e-06 as −1.5 × 10⁻⁶, with a minus sign, at which no line breaks."""
    power = re.search(r"e([-+]?\d+)$", text)
    if power:
        text = f"{text[:power.start()]}\u00a0×\u00a010{str(int(power.group(1))).translate(RAISED)}"
    return text.replace("-", "−")


def number(value, error=math.nan):
    """A value with the digits that its error bar supports, and the bar with one digit, two if it begins with 1:
    72.3102 and 0.004 are "72.310 ± 0.004". Without a bar (NaN or infinite) a value has 6 digits. With a bar of
    zero, or below 1e-12 of it, it has 12 digits and no bar. NaN is no text."""
    if value != value:
        return ""
    if not math.isfinite(value) or not math.isfinite(error):
        return printed(f"{value:.6g}")
    if error <= 1e-12 * abs(value):
        return printed(f"{value:.12g}")
    mantissa, power = f"{error:.1e}".split("e")
    last = int(power) - (mantissa[0] == "1")  # the power of ten of the last digit
    first = math.floor(math.log10(max(abs(value), error)))
    if -5 < first < 7 and last <= 0:
        return printed(f"{value:.{-last}f} ± {error:.{-last}f}")
    digits = first - last
    return printed(f"({value / 10.0 ** first:.{digits}f} ± {error / 10.0 ** first:.{digits}f})e{first}")


def pretty(unit):
    """mm^2 with a raised number."""
    return unit.replace("^2", "²").replace("^3", "³")


def in_brackets(name, unit):
    """The heading of a column or the label of an axis: "maximum [K]"; without a unit the name."""
    return f"{name} [{pretty(unit)}]" if unit else name


def units_of(table):
    """{column: unit} of a table of a run log, without pure numbers."""
    texts = table.attrs["units"]
    texts = (texts.decode() if isinstance(texts, bytes) else texts).split(", ")
    return {name: unit for name, unit in zip(table.dtype.names, texts) if unit != "1"}


def unit_of(dataset):
    """The unit of a dataset of a field; "" for none."""
    text = dataset.attrs.get("units", "")
    return text.decode() if isinstance(text, bytes) else text
