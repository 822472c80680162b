#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools"))
import performance_page

MACHINE = {"processor": "P", "cores": 2, "memory_gib": 8, "system": "S"}


def record(kind, **fields):
    heading = {"kind": kind, "command": f"run {kind}", "commit": "c0ffee", "machine": MACHINE}
    return {**heading, **fields}


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

    def test_refuses_lines_of_another_kind(self):
        with self.assertRaises(SystemExit):
            performance_page.page([record("other")])


if __name__ == "__main__":
    unittest.main()
