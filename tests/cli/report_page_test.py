#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens what `zoetrope profile --html` writes in a headless browser, light and dark.

usage: report_page_test.py ZOETROPE

Without a browser the exit status is 77, which ctest shows as skipped, unless
ZOETROPE_TEST_BROWSER=required, as in CI.
"""
import html.parser
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
SKIPPED = 77
WIDTH, HEIGHT = 1100, 1600
VOID = {"meta", "br"}

program = ""
browser = ""


def find_browser():
    return next((path for path in map(shutil.which, BROWSERS) if path), "")


def browse(page, *arguments):
    """What the browser prints, and what the page made it complain about."""
    with tempfile.TemporaryDirectory() as profile:
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"]
        command += [f"--user-data-dir={profile}", f"--window-size={WIDTH},{HEIGHT}", *arguments]
        command.append(page.as_uri())
        done = subprocess.run(command, capture_output=True, timeout=300, check=True)
    said = done.stderr.decode(errors="replace").splitlines()
    return done.stdout.decode(), [line for line in said if "CONSOLE" in line]


def pixels(path):
    """Rows of a PNG of 8-bit RGB or RGBA, as lists of (r, g, b)."""
    data = path.read_bytes()
    width, height, _, kind = struct.unpack(">IIBB", data[16:26])
    packed, at = b"", 8
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        if data[at + 4 : at + 8] == b"IDAT":
            packed += data[at + 8 : at + 8 + size]
        at += size + 12
    raw, step = zlib.decompress(packed), 4 if kind == 6 else 3
    rows, above = [], bytearray(width * step)
    for y in range(height):
        start = y * (width * step + 1)
        bytes_of_row = bytearray(raw[start + 1 : start + 1 + width * step])
        row = unfiltered(raw[start], bytes_of_row, above, step)
        rows.append([tuple(row[x : x + 3]) for x in range(0, len(row), step)])
        above = row
    return rows


def unfiltered(kind, row, above, step):
    for i in range(len(row)):
        left = row[i - step] if i >= step else 0
        corner = above[i - step] if i >= step else 0
        row[i] = (row[i] + predicted(kind, left, above[i], corner)) & 255
    return row


def predicted(kind, left, up, corner):
    if kind == 3:
        return (left + up) // 2
    if kind == 4:
        guess = left + up - corner
        return min((left, up, corner), key=lambda value: abs(guess - value))
    return (0, left, up)[kind]


class Structure(html.parser.HTMLParser):
    """Collects headings and tables; every element must be closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.problems, self.headings, self.tables = [], [], [], []

    def handle_starttag(self, tag, attributes):
        if tag in VOID:
            return
        self.open.append(tag)
        if tag == "table":
            self.tables.append({"caption": 0, "th": 0, "unscoped": 0, "td": 0})
        elif tag in ("caption", "th", "td") and self.tables:
            self.tables[-1][tag] += 1
            self.tables[-1]["unscoped"] += tag == "th" and "scope" not in dict(attributes)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        if tag not in VOID and (not self.open or self.open.pop() != tag):
            self.problems.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data):
        if self.open and self.open[-1] in ("h1", "h2"):
            self.headings.append(data)


class ReportPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.folder.name)
        job = [program, "profile", "decode", "--weights", "random:8", "--frames", "5"]
        job += ["--size", "64x48", "--dtype", "float32", "--warmup", "0", "--quiet"]
        subprocess.run([*job, "--json", folder / "old.json"], check=True)
        cls.page = folder / "report.html"
        subprocess.run([*job, "--html", cls.page, "--baseline", folder / "old.json"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def screenshot(self, scheme):
        # 0 is dark and 1 light in Blink's settings.
        picture = self.page.with_name(f"{scheme}.png")
        setting = f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}"
        _, complaints = browse(self.page, setting, f"--screenshot={picture}")
        self.assertEqual(complaints, [])
        return pixels(picture)

    def test_every_element_is_closed_and_tables_have_heads(self):
        structure = Structure()
        structure.feed(self.page.read_text(encoding="utf-8"))
        self.assertEqual((structure.problems, structure.open), ([], []))
        self.assertEqual(len(structure.tables), 3)
        for table in structure.tables:
            self.assertEqual((table["caption"], table["unscoped"]), (1, 0))
            self.assertGreater(table["th"], 4)
            self.assertGreater(table["td"], 20)
        for heading in ("Slowest steps", "Roofline", "Time line of decode.next", "All steps"):
            self.assertIn(heading, structure.headings)

    def test_the_browser_sees_what_is_written(self):
        dom, complaints = browse(self.page, "--dump-dom")
        self.assertEqual(complaints, [])
        written = self.page.read_text(encoding="utf-8")
        for element in ("<circle", "<rect", "<svg", "<table"):
            self.assertEqual(dom.count(element), written.count(element), element)

    def test_is_readable_in_light_and_dark(self):
        for scheme, least, most in (("light", 200, 256), ("dark", 0, 60)):
            with self.subTest(scheme=scheme):
                rows = self.screenshot(scheme)
                self.assertEqual((len(rows), len(rows[0])), (HEIGHT, WIDTH))
                back = rows[5][5]
                self.assertTrue(least <= sum(back) / 3 < most, back)
                # The heading's text stands out from what is behind it.
                contrast = max(abs(sum(pixel) - sum(back)) for row in rows[20:70] for pixel in row)
                self.assertGreater(contrast / 3, 150)
                colors = {pixel for row in rows for pixel in row if max(pixel) - min(pixel) > 60}
                self.assertGreater(len(colors), 3, "pictures are drawn in colours")


def main():
    global program, browser
    program, browser = sys.argv.pop(1), find_browser()
    if not browser:
        print(f"no browser is installed: one of {', '.join(BROWSERS)} is needed", file=sys.stderr)
        sys.exit(1 if os.environ.get("ZOETROPE_TEST_BROWSER") == "required" else SKIPPED)
    unittest.main()


if __name__ == "__main__":
    main()
