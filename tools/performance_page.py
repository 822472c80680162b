#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/performance.md and its pictures from the JSON lines in docs/performance/.

usage: tools/performance_page.py [--check]      --check: write nothing, exit status 1 if it differs

bench/record.py, bench/compare_torch.py and bench/cuda/compare_cudnn.py write the lines. Rows of one
kind, machine and, for kernels, command stand in one table, in the order of the lines.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import performance_sweep

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/performance.md"
LINES = ROOT / "docs/performance"

Record = dict[str, Any]
Column = tuple[str, Callable[[Record], str]]  # heading, cell

INTRODUCTION = """\
# Performance

Written by `tools/performance_page.py` from the JSON lines in `docs/performance/`: change those.
Each figure was printed by the command beside it, on the machine and the commit named there.
`-dirty`: with changes that were not yet committed. "Load" is the load average before the run; on a
loaded machine only ratios mean something. Weights are made up (`random`).
"""

MODEL = """
## Encode and decode

`zoetrope bench`: medians, and in brackets the coefficient of variation. TFLOP/s count the published
model's arithmetic, so what is saved counts as done; the peak is a loop of the machine's best
instruction on registers, timed in the same run: a GPU's moves with its clock, so shares of it from
different rows do not compare. Peak memory is what is resident; on a GPU what the model allocated
there, and in brackets what the driver counts as taken, tensors and kernels included.
"""

TORCH = """
## Beside PyTorch

`bench/compare_torch.py`: the published model in PyTorch and Zoetrope in turn, on the same job, type
and threads; medians. Both results are compared first: "differ" is the root mean square of the
difference over that of the values.
"""

SWEEP = """
## How cost and memory grow

`zoetrope bench --sweep`: every frame count at every size, one run each. Time grows with frames
times pixels, memory with pixels alone. On a CPU it is the process's peak. On a GPU it is what a
Stream takes there, weights included: small videos have more latent frames a step.
"""

KERNELS = """
## Kernels

`kernels_bench`: results are checked against float64, then each kernel runs in turn with a
measurement of the peak, and the plain convs in turn with oneDNN's, in its own layouts, weights
already reordered; medians. "/norm_silu" and the like: with that in the epilogue, and how much
longer it takes than the plain conv.
"""

CUDA_KERNELS = """
## Kernels of Hopper

`bench/cuda/compare_cudnn.py`: each kernel in turn with PyTorch's, cuDNN for convs, at the clocks
that the board holds after a second of the same work; medians. TFLOP/s count the products and sums
of the conv or the attention alone. Ours also does what its name says: residual, norm and SiLU, both
results; the other does the plain conv. "Upsampled" and "interleaved" have no counterpart there.
"""


def read_records() -> list[Record]:
    records = []
    for path in sorted(LINES.glob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            try:
                records.append(json.loads(line))
            except ValueError as error:
                sys.exit(f"error: {path.relative_to(ROOT)}:{number}: {error}")
    return records


def grouped(records: list[Record], key: Callable[[Record], str]) -> dict[str, list[Record]]:
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return groups


def machine_of(record: Record) -> str:
    machine = record["machine"]
    place = f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']:g} GiB"
    device = f", {machine['device']}" if "device" in machine else ""
    return f"{place}, {machine['system']}{device}"


def table(records: list[Record], columns: list[Column]) -> str:
    """Without the columns that are empty in every row."""
    cells = [[cell(record) for _, cell in columns] for record in records]
    shown = [i for i in range(len(columns)) if any(row[i] for row in cells)]
    rows = [[columns[i][0] for i in shown], ["---" for _ in shown]]
    rows += [[row[i] or "–" for i in shown] for row in cells]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def commands(records: list[Record]) -> str:
    lines = dict.fromkeys(record["command"] for record in records)
    return "```\n" + "".join(f"{line}\n" for line in lines) + "```\n"


def number(value: float | None, scale: float = 1, digits: int = 3) -> str:
    """With about so many digits; empty for none."""
    if value is None:
        return ""
    scaled = value * scale
    whole = len(str(int(abs(scaled)))) if abs(scaled) >= 1 else 0
    return f"{scaled:.{max(0, digits - whole)}f}"


def percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}".replace("%", " %")


def row_value(name: str, scale: float = 1) -> Callable[[Record], str]:
    return lambda record: number(record["row"].get(name), scale)


def commit_of(record: Record) -> str:
    return record["commit"]


def load_of(record: Record) -> str:
    load = record.get("context", {}).get("load_avg")
    return f"{load[0]:.1f}" if load else ""


def job_of(record: Record) -> str:
    """Without the statistic."""
    return record["row"]["name"].removesuffix("_median").removesuffix("_cv")


def run_of(record: Record) -> str:
    return record["command"] + record["commit"]


def context_value(name: str) -> Callable[[Record], str]:
    return lambda record: str(record.get("context", {}).get(name, ""))


def peak_memory(record: Record) -> str:
    """On a GPU what the model allocated there, and in brackets what the driver counts in all."""
    allocated = record.get("context", {}).get("device_allocated_bytes")
    if allocated is None:
        return number(record["row"].get("peak_resident_bytes"), 2**-20)
    taken = record["context"]["device_taken_bytes"]
    return f"{number(allocated, 2**-20)} ({number(taken, 2**-20)})"


def model_columns(variations: dict[str, float]) -> list[Column]:
    def seconds(record: Record) -> str:
        variation = variations.get(run_of(record))
        text = number(record["row"]["real_time"], 1e-3)
        return text if variation is None else f"{text} ({percent(variation)})"

    return [
        ("job", job_of),
        ("kernels for", context_value("device")),
        ("latents a step", context_value("latents_per_step")),
        ("seconds", seconds),
        ("frames/s", row_value("frames_per_second")),
        ("first output, ms", row_value("first_output_ms")),
        ("peak memory, MiB", peak_memory),
        ("TFLOP/s", row_value("flops_per_second", 1e-12)),
        ("of peak", lambda record: percent(record["row"].get("share_of_peak"))),
        ("load", load_of),
        ("commit", commit_of),
    ]


def model_table(records: list[Record]) -> str:
    spreads = [record for record in records if record["row"]["name"].endswith("_cv")]
    variations = {run_of(record): record["row"]["real_time"] for record in spreads}
    rows = [record for record in records if record not in spreads]
    return table(rows, model_columns(variations))


def torch_job(record: Record) -> str:
    job = record["job"]
    size = f"{job['frames']}x{job['width']}x{job['height']}"
    return f"{job['coding']} {size}, {job['dtype']}, {job['device']}, {job['threads']} threads"


def torch_way(record: Record) -> str:
    job = record["job"]
    ways = ["whole clip" if job["whole"] else "chunks"]
    ways += ["channels last"] if job["channels_last"] else []
    ways += ["compiled"] if job["compile"] else []
    return f"{record['versions']['torch']}, {', '.join(ways)}"


def memory_pair(record: Record) -> str:
    sides = (record["torch"], record["zoetrope"])
    return " / ".join(number(side["peak_memory_bytes"], 2**-20) for side in sides)


TORCH_COLUMNS: list[Column] = [
    ("job", torch_job),
    ("PyTorch", torch_way),
    ("PyTorch, s", lambda record: number(record["torch"]["median_seconds"])),
    ("Zoetrope, s", lambda record: number(record["zoetrope"]["median_seconds"])),
    ("times as fast", lambda record: number(record["times_as_fast"])),
    ("peak memory, MiB", memory_pair),
    ("differ", lambda record: f"{record['difference']['rms']:.1e}"),
    ("load", load_of),
    ("commit", commit_of),
]

KERNEL_COLUMNS: list[Column] = [
    ("kernel", lambda record: record["row"]["name"]),
    ("ms", row_value("real_time")),
    ("GFLOP/s", row_value("GFLOP/s")),
    ("of peak", lambda record: percent(record["row"].get("share"))),
    ("oneDNN, GFLOP/s", row_value("onednn_GFLOP/s")),
    ("times as fast", row_value("speed_over_onednn")),
    ("time over plain", row_value("time_over_plain")),
]

CUDA_KERNEL_COLUMNS: list[Column] = [
    ("kernel", lambda record: record["row"]["name"]),
    ("operands", lambda record: record["row"]["type"]),
    ("tile", lambda record: record["row"].get("tile", "")),
    ("ms", row_value("ms")),
    ("TFLOP/s", row_value("TFLOP/s")),
    ("PyTorch, ms", row_value("other_ms")),
    ("PyTorch, TFLOP/s", row_value("other_TFLOP/s")),
    ("times as fast", row_value("times_as_fast")),
]


def cuda_kernel_run(records: list[Record]) -> str:
    first = records[0]
    versions = first["versions"]
    said = f"Commit {first['commit']}, PyTorch {versions['torch']}, cuDNN {versions['cudnn']}"
    return f"{said}:\n\n{commands(records)}\n{table(records, CUDA_KERNEL_COLUMNS)}"


@dataclasses.dataclass(frozen=True)
class SweepPoint:
    """From the name of a row: "decode/17x64x64/float32/base_dim:96/threads:2"."""

    coding: str
    frames: int
    width: int
    height: int
    kind: str
    memory_bytes: float
    row: Record

    @property
    def size(self) -> str:
        return f"{self.width}x{self.height}"


def sweep_point(record: Record) -> SweepPoint:
    coding, job, kind = job_of(record).split("/", 2)
    frames, width, height = (int(number) for number in job.split("x"))
    on_gpu = record["context"].get("device", "").startswith("cuda")
    memory = record["row"]["library_bytes" if on_gpu else "peak_resident_bytes"]
    return SweepPoint(coding, frames, width, height, kind, memory, record["row"])


def sweep_points(records: list[Record]) -> dict[str, list[SweepPoint]]:
    """By what runs; the latest of equal points, without spreads."""
    points: dict[tuple[str, int, int, int], SweepPoint] = {}
    for record in records:
        if not record["row"]["name"].endswith("_cv"):
            point = sweep_point(record)
            name = f"{point.coding}, {point.kind}"
            points[(name, point.frames, point.width, point.height)] = point
    groups: dict[str, list[SweepPoint]] = {}
    for (name, *_), point in points.items():
        groups.setdefault(name, []).append(point)
    return groups


def sweep_grid(points: list[SweepPoint], value: Callable[[SweepPoint], str]) -> str:
    """A row for each number of frames, a column for each size."""
    sizes = sorted({(point.width * point.height, point.size) for point in points})
    cells = {(point.frames, point.size): value(point) for point in points}
    lines = [["frames", *(size for _, size in sizes)], ["---"] * (len(sizes) + 1)]
    for frames in sorted({point.frames for point in points}):
        lines.append([str(frames), *(cells.get((frames, size), "–") for _, size in sizes)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def sweep_body(records: list[Record]) -> str:
    text = f"![{performance_sweep.ALT}](performance/{performance_sweep.FILE})\n\n"
    for name, points in sweep_points(records).items():
        text += f"{name}, seconds:\n\n"
        text += sweep_grid(points, lambda point: number(point.row["real_time"], 1e-3))
        text += f"\n{name}, memory, MiB:\n\n"
        text += sweep_grid(points, lambda point: number(point.memory_bytes, 2**-20))
        text += "\n"
    runs = [f"commit {commit_of(record)}, load {load_of(record)}" for record in records]
    return f"{text}{'; '.join(dict.fromkeys(runs)).capitalize()}:\n\n{commands(records)}"


def kernel_run(records: list[Record]) -> str:
    first = records[0]
    context = first.get("context", {})
    said = [f"Commit {first['commit']}, threads: {context.get('threads', '?')}"]
    if context.get("onednn", "absent") != "absent":
        said.append(f"oneDNN {context['onednn']}")
    if load_of(first):
        said.append(f"load {load_of(first)}")
    rows = table(records, KERNEL_COLUMNS)
    return f"{', '.join(said)}:\n\n{commands(records)}\n{rows}"


def section(heading: str, records: list[Record], body: Callable[[list[Record]], str]) -> str:
    if not records:
        return ""
    text = heading
    for machine, rows in grouped(records, machine_of).items():
        text += f"\n### {machine}\n\n{body(rows)}"
    return text


def model_body(records: list[Record]) -> str:
    return f"{model_table(records)}\n{commands(records)}"


def torch_body(records: list[Record]) -> str:
    return f"{table(records, TORCH_COLUMNS)}\n{commands(records)}"


def kernel_body(records: list[Record]) -> str:
    return "\n".join(kernel_run(rows) for rows in grouped(records, run_of).values())


def cuda_kernel_body(records: list[Record]) -> str:
    return "\n".join(cuda_kernel_run(rows) for rows in grouped(records, run_of).values())


def page(records: list[Record]) -> str:
    kinds = grouped(records, lambda record: record["kind"])
    unknown = kinds.keys() - {"model", "torch", "sweep", "kernel", "cuda_kernel"}
    if unknown:
        sys.exit(f"error: docs/performance/: unknown kind {', '.join(sorted(unknown))}")
    return (
        INTRODUCTION
        + section(MODEL, kinds.get("model", []), model_body)
        + section(TORCH, kinds.get("torch", []), torch_body)
        + section(SWEEP, kinds.get("sweep", []), sweep_body)
        + section(KERNELS, kinds.get("kernel", []), kernel_body)
        + section(CUDA_KERNELS, kinds.get("cuda_kernel", []), cuda_kernel_body)
    )


def files(records: list[Record]) -> dict[pathlib.Path, str]:
    """What is written, by path."""
    written = {PAGE: page(records)}
    sweeps = sweep_points([record for record in records if record["kind"] == "sweep"])
    if sweeps:
        written[LINES / performance_sweep.FILE] = performance_sweep.picture(sweeps)
    return written


def main() -> None:
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    for path, text in files(read_records()).items():
        if sys.argv[1:]:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                name = path.relative_to(ROOT)
                sys.exit(f"error: {name} is out of date: run tools/performance_page.py")
        else:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
