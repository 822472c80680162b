#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a benchmark and appends its rows to a file of docs/performance/, a JSON line each, with the
command, the machine and the commit.

usage: bench/record.py FILE COMMAND...      COMMAND prints Google Benchmark's JSON

examples:
  bench/record.py docs/performance/kernels.jsonl \\
      build/release/bench/kernels/kernels_bench --benchmark_format=json --benchmark_filter=f32_avx3
  bench/record.py docs/performance/model.jsonl \\
      build/release/cli/zoetrope bench encode --weights random --json -
  bench/record.py docs/performance/sweep.jsonl \\
      build/release/cli/zoetrope bench decode --sweep --weights random --json -
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

import measurement

# Of a row: says how Google Benchmark counted, not what was measured.
LEFT_OUT = {
    *("family_index", "per_family_instance_index", "run_name", "run_type", "repetitions"),
    *("repetition_index", "threads", "iterations", "aggregate_unit"),
}
# Of a file: the machine as it was, what it was asked; `machine` and `command` say the rest.
CONTEXT = (
    *("threads", "device", "onednn", "load_avg"),
    *("device_allocated_bytes", "device_taken_bytes", "latents_per_step"),
)


def run(command: list[str]) -> dict[str, Any]:
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    except OSError as error:
        sys.exit(f"error: {command[0]}: {error.strerror}")
    if done.returncode != 0:
        sys.exit(f"error: {command[0]} failed; what it said is above")
    try:
        result = json.loads(done.stdout)
    except ValueError as error:
        sys.exit(f"error: {command[0]}: expected JSON on its standard output: {error}")
    if not isinstance(result, dict) or not {"context", "benchmarks"} <= result.keys():
        sys.exit(f"error: {command[0]}: expected Google Benchmark's JSON, with context, benchmarks")
    return result


def kept_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Medians and coefficients of variation where there are repetitions, else all."""
    for row in rows:
        if "error_message" in row:
            sys.exit(f"error: {row['name']}: {row['error_message']}")
    aggregates = [row for row in rows if row.get("aggregate_name") in ("median", "cv")]
    return aggregates or rows


def kind_of(context: dict[str, Any]) -> str:
    if context.get("executable") != "zoetrope":
        return "kernel"
    return "sweep" if context.get("sweep") else "model"


def main() -> None:
    if len(sys.argv) < 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    file, command = pathlib.Path(sys.argv[1]), sys.argv[2:]
    result = run(command)
    context = result["context"]
    heading = {
        "kind": kind_of(context),
        "command": measurement.command_line(command),
        "commit": measurement.commit(),
        "machine": measurement.machine(context.get("device", "cpu")),
        "context": {name: context[name] for name in CONTEXT if name in context},
    }
    for row in kept_rows(result["benchmarks"]):
        kept = {name: value for name, value in row.items() if name not in LEFT_OUT}
        kept["name"] = row["name"].partition("/iterations:")[0]
        measurement.append(file, {**heading, "row": kept})


if __name__ == "__main__":
    main()
