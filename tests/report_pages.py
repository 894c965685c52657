#!/usr/bin/env python3
"""sp_plot report in a browser and on paper: a page that is drawn, without errors of the console and without requests
to a network; an A4 document in which no table is cut. Needs Chromium and pdftotext (Debian: chromium,
poppler-utils); without them exit code 77 (skipped)."""

import html
import json
import os
import re
import shutil
import sys

import driver
import optional
from driver import check, write
from plotting import plot

BROWSER, PDFTOTEXT = shutil.which("chromium"), shutil.which("pdftotext")
if not BROWSER or not PDFTOTEXT:
    optional.skip(f"no {'pdftotext' if BROWSER else 'chromium'} on this machine")
h5py, numpy, image = optional.need("h5py", "numpy", "matplotlib.image")
driver.start("report_pages", sys.argv[2], sys.argv[3:])

A4 = 595.3, 841.9  # points
MARGIN = 15 / 25.4 * 72
PARTS = 80


def solve():
    """A run with many materials, long names and long formulas, on a row of boxes."""
    arguments = [f"mesh.elements={PARTS} 1 1", f"mesh.upper={PARTS} 1 1", "discretization.order=2", "problem.forcing=1",
                 "boundary.default=robin 1, 0", "units.temperature=°C", "units.length=mm", "units.power=W", "--accuracy",
                 "output.log=r.h5", "output.field=r.hdf", "line.along=0 0.5 0.5, 80 0.5 0.5, 30"]
    for n in range(PARTS):
        arguments += [f"region.part_{n}.lower={n} 0 0", f"region.part_{n}.upper={n + 1} 1 1",
                      f"material.part_{n}.kappa={1 + n / 7}"]
    for n in range(0, PARTS, 4):
        arguments += [f"result.a_very_long_name_of_the_result_number_{n}=average over part_{n}",
                      f"result.of_{n}=integral of {'+'.join(f'{k}*x*u' for k in range(1, 20))} over part_{n}"]
    driver.Run(2, ["-q", *arguments]).expect(2, 0)
    done = plot("report", "r.h5", "r.hdf", "-o", "r.html")
    check(done.returncode == 0, f"report: {done.stderr}")


def browse(page, *arguments):
    """Open a page in Chromium. Returns its console messages and the requests to other hosts."""
    done = driver.command(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--enable-logging=stderr",
                          "--disable-background-networking", "--disable-component-update", "--disable-sync",
                          f"--user-data-dir={os.getcwd()}/profile", f"--log-net-log={os.getcwd()}/net.json", *arguments,
                          f"file://{os.getcwd()}/{page}")
    check(done.returncode == 0, f"{page}: {done.returncode} {done.stderr}")
    with open("net.json", encoding="utf-8") as file:
        urls = {event.get("params", {}).get("url", "") for event in json.load(file)["events"]}
    own = re.compile(r"https?://[^/]*\.(google|googleapis|gvt1|gstatic)\.com/")  # the browser's
    return (re.findall(r"CONSOLE.*", done.stderr),
            sorted(url for url in urls if re.match("(https?|wss?|ftp):", url) and not own.match(url)))


def on_screen():
    """The picture has ink everywhere. Pages with a known fault show that these checks find it."""
    console, urls = browse("r.html", "--screenshot=r.png", "--window-size=1200,1600")
    check(not console and not urls, f"console {console}, requests {urls}")
    pixels = image.imread("r.png")[:, :, :3]
    ink = (pixels.min(axis=2) < 0.6).mean()
    check(pixels.shape[:2] == (1600, 1200) and 0.01 < ink < 0.5, f"a picture of {pixels.shape}, {ink:.3f} of it dark")
    write("bad.html", '<!DOCTYPE html><img src="http://sp-solve.invalid/a.png"><script>console.error("word")</script>')
    console, urls = browse("bad.html", "--screenshot=b.png")
    check(any("word" in text for text in console) and urls == ["http://sp-solve.invalid/a.png"], f"{console}, {urls}")


def words_of(path):
    """(page, x0, y0, x1, y1, word) of a PDF; checks the sizes of pages."""
    text = driver.good(PDFTOTEXT, "-bbox", path, "-")
    words, page = [], 0
    for line in text.splitlines():
        if "<page" in line:
            page += 1
            size = [float(x) for x in re.findall(r'"([\d.]+)"', line)]
            check(all(abs(a - b) < 1 for a, b in zip(size, A4)), f"page {page} is {size}")
        found = re.match(r'\s*<word xMin="([\d.-]+)" yMin="([\d.-]+)" xMax="([\d.-]+)" yMax="([\d.-]+)">(.*)</word>', line)
        if found:
            words.append((page, *map(float, found.groups()[:4]), html.unescape(found.group(5))))
    return words


def on_paper():
    """All words lie between the margins in a size that can be read, rows of tables are whole, and pages that continue
    a table repeat its head."""
    browse("r.html", "--no-pdf-header-footer", "--print-to-pdf=r.pdf")
    words = words_of("r.pdf")
    outside = [word for word in words if word[1] < MARGIN - 1 or word[3] > A4[0] - MARGIN + 1]
    check(not outside, f"words outside of the margins: {outside[:5]}")
    small = [word for word in words if word[4] - word[2] < 8]
    check(not small, f"words too small to read: {small[:5]}")
    with h5py.File("r.h5") as log:
        rows = log["materials"][:]
    start = next(n for n, word in enumerate(words) if word[5] == "Materials")
    pages = set()
    for row in rows:
        name = row["name"].decode()
        place = next((word for word in words[start:] if word[5] == name), None)
        if not check(place, f"{name} is not in the table of materials"):
            continue
        line = {word[5] for word in words if word[0] == place[0] and abs(word[2] - place[2]) < 3}
        wanted = {f"{row[column]:.6g}" for column in ("minimum", "average", "maximum")}
        check(wanted <= line, f"row {name}: {wanted - line} is not in the line {line}")
        pages.add(place[0])
    check(len(rows) == PARTS and len(pages) > 1, f"{len(rows)} materials on pages {pages}")
    for page in pages:
        check(any(word[0] == page and word[5] == "minimum" for word in words), f"no head of the table on page {page}")
    text = "".join(word[5] for word in words)  # long names are on several lines
    for n in range(0, PARTS, 4):
        check(f"a_very_long_name_of_the_result_number_{n}" in text, f"the name of result {n} is cut")


def main():
    for part in solve, on_screen, on_paper:
        part()


driver.in_folder(main)
driver.finish()
