#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
import pathlib
import sys
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools"))
import performance_page

MACHINE = {"processor": "P", "cores": 2, "memory_gib": 8, "system": "S"}


def record(kind, **fields):
    heading = {"kind": kind, "command": f"run {kind}", "commit": "c0ffee", "machine": MACHINE}
    return {**heading, **fields}


def sweep(milliseconds, device="cpu-avx3"):
    """By (frames, side)."""
    return [
        record(
            "sweep",
            context={"device": device, "load_avg": [0.5]},
            row={
                "name": f"decode/{frames}x{side}x{side}/float32/base_dim:96/threads:2",
                "real_time": time,
                "peak_resident_bytes": 10 * 2**20,
                "library_bytes": 7 * 2**20,
            },
        )
        for (frames, side), time in milliseconds.items()
    ]


class PerformancePage(unittest.TestCase):
    def test_puts_the_variation_beside_the_median(self):
        rows = [("job_median", 2000, 0.91), ("job_cv", 0.015, 0.1)]
        text = performance_page.page(
            [
                record("model", row={"name": name, "real_time": time, "share_of_peak": share})
                for name, time, share in rows
            ]
        )
        self.assertIn("| job | 2.00 (1.5 %) | 91.0 % | c0ffee |", text)
        self.assertNotIn("cv", text)

    def test_leaves_out_columns_that_no_row_fills(self):
        text = performance_page.page([record("kernel", row={"name": "k", "GFLOP/s": 655.1})])
        self.assertIn("| kernel | GFLOP/s |\n", text)
        self.assertIn("| k | 655 |\n", text)

    def test_shows_command_and_machine_of_every_kind(self):
        job = {"coding": "encode", "frames": 5, "width": 64, "height": 32, "dtype": "float32"}
        job |= {"device": "cpu", "threads": 2, "whole": True, "channels_last": True}
        side = {"median_seconds": 3.0, "peak_memory_bytes": 2**20}
        comparison = {"job": {**job, "compile": False}, "torch": side, "zoetrope": side}
        comparison |= {"versions": {"torch": "2.0"}, "difference": {"rms": 1e-6}}
        text = performance_page.page([record("torch", **comparison, times_as_fast=1.0)])
        self.assertIn("### P, 2 cores, 8 GiB, S\n", text)
        self.assertIn("```\nrun torch\n```", text)
        self.assertIn("| 2.0, whole clip, channels last | 3.00 | 3.00 | 1.00 |", text)

    def test_puts_a_sweep_in_grids(self):
        records = sweep({(1, 64): 100, (5, 64): 500, (1, 128): 400})
        text = performance_page.page(records)
        self.assertIn("| frames | 64x64 | 128x128 |\n", text)
        self.assertIn("| 1 | 0.100 | 0.400 |\n| 5 | 0.500 | – |\n", text)
        self.assertIn("| 1 | 10.0 | 10.0 |\n", text)
        self.assertIn("](performance/sweep.svg)", text)

    def test_a_sweep_on_a_gpu_shows_what_was_taken_there(self):
        text = performance_page.page(sweep({(1, 64): 100}, device="cuda-sm90"))
        self.assertIn("| 1 | 7.00 |\n", text)

    def test_draws_a_sweep(self):
        records = sweep({(1, 64): 100, (5, 64): 500, (1, 128): 400, (5, 128): 2000})
        (page, text), (path, picture) = performance_page.files(records).items()
        self.assertEqual((page.name, path.name), ("performance.md", "sweep.svg"))
        root = xml.etree.ElementTree.fromstring(picture)
        lines = [element for element in root.iter() if element.get("class", "").startswith("line")]
        self.assertEqual(len(lines), 4, "two sizes in two charts")
        labels = [element.text for element in root.iter() if element.tag.endswith("}text")]
        for label in ("64x64", "128x128", "decode: seconds", "decode: memory, MiB"):
            self.assertIn(label, labels)
        self.assertIn("prefers-color-scheme: dark", picture)

    def test_a_later_line_takes_the_place_of_an_earlier_one(self):
        text = performance_page.page(sweep({(1, 64): 100}) + sweep({(1, 64): 300}))
        self.assertIn("| 1 | 0.300 |\n", text)
        self.assertNotIn("0.100", text)

    def test_refuses_lines_of_another_kind(self):
        with self.assertRaises(SystemExit):
            performance_page.page([record("other")])


if __name__ == "__main__":
    unittest.main()
