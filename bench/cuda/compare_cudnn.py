#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times Hopper's convs and attention, after each the same in PyTorch: cuDNN's conv, or attention as
PyTorch does it by itself. Prints a JSON line each, for docs/performance/cuda_kernels.jsonl.

usage: bench/cuda/compare_cudnn.py CONV3D_BENCH ATTENTION_BENCH

Each side works for a second before its clock starts, so both run at the clocks that the board holds
under load. cuDNN gets the plain conv, channels last, with the history in the same tensor, and
chooses its kernel by trying (torch.backends.cudnn.benchmark); ours also does what the name says:
residual, norm, SiLU. Attention is torch.nn.functional.scaled_dot_product_attention over one head,
whichever kernel it picks.
"""

from __future__ import annotations

import json
import pathlib
import statistics
import subprocess
import sys
from collections.abc import Callable
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import measurement  # noqa: E402
import torch  # noqa: E402

CASES = [
    *("96 512x512 raw", "96 512x512 bfloat16 raw", "96 512x512 residual,raw,norm"),
    *("192 256x256 raw", "192 256x256 bfloat16 raw", "192 256x256 residual,raw,norm"),
    *("384 128x128 raw", "384 128x128 bfloat16 raw", "384 128x128 residual,raw,norm"),
    *("384 64x64 residual,raw,norm", "96 480x832 residual,raw,norm"),
    *("96 to 192 256x256 norm", "192 to 384 128x128 norm", "3 to 96 512x512 raw,norm"),
    *("96 to 3 512x512 raw", "192 to 96 upsampled to 512x512"),
    *("384 to 192 upsampled to 256x256", "96 512x512 down", "192 256x256 down"),
    *("384 128x128 time, interleaved", "192 128x128 time down"),
]


def milliseconds(work: Callable[[], Any], launches: int) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(launches):
        work()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / launches


def median_milliseconds(work: Callable[[], Any]) -> float:
    milliseconds(work, 3)
    once = milliseconds(work, 3)
    milliseconds(work, int(1000 / once) + 1)
    return statistics.median(milliseconds(work, int(15 / once) + 1) for _ in range(11))


def cudnn_conv(row: dict[str, Any]) -> float:
    frames, height, width, c_in = row["input"]
    c_out, *kernel = row["weight"]
    stride_time, stride = row["stride"]
    last = torch.channels_last_3d
    kind = {"dtype": getattr(torch, row["type"]), "device": "cuda"}
    past = kernel[0] - stride_time
    x = torch.randn(1, c_in, frames + past, height, width, **kind).to(memory_format=last)
    weight = torch.randn(c_out, c_in, *kernel, **kind).to(memory_format=last)
    bias = torch.randn(c_out, **kind)
    padding = (0, kernel[1] // 2, kernel[2] // 2)
    strides = (stride_time, stride, stride)
    work = lambda: torch.nn.functional.conv3d(x, weight, bias, strides, padding)  # noqa: E731
    return median_milliseconds(work)


def torch_attention(row: dict[str, Any]) -> float:
    kind = {"dtype": getattr(torch, row["type"]), "device": "cuda"}
    shape = (row["frames"], 1, row["positions"], row["channels"])
    q, k, v = (torch.randn(shape, **kind) for _ in range(3))
    attention = torch.nn.functional.scaled_dot_product_attention
    return median_milliseconds(lambda: attention(q, k, v))


def lines_of(command: list[str]) -> list[dict[str, Any]]:
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def emit(row: dict[str, Any], heading: dict[str, Any], other: float | None) -> None:
    kept = {name: row[name] for name in ("name", "ms", "TFLOP/s", "type", "tile") if name in row}
    if other is not None:
        kept["other_ms"] = round(other, 4)
        kept["other_TFLOP/s"] = round(row["TFLOP/s"] * row["ms"] / other, 1)
        kept["times_as_fast"] = round(other / row["ms"], 3)
    print(json.dumps({**heading, "row": kept}), flush=True)


def heading_of(command: list[str]) -> dict[str, Any]:
    cudnn = torch.backends.cudnn.version()
    return {
        "kind": "cuda_kernel",
        "command": measurement.command_line(command),
        "commit": measurement.commit(),
        "machine": measurement.machine("cuda"),
        "versions": {
            "torch": torch.__version__,
            "cudnn": f"{cudnn // 10000}.{cudnn // 100 % 100}.{cudnn % 100}",
        },
    }


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    conv_bench, attention_bench = sys.argv[1:]
    torch.backends.cudnn.benchmark = True
    heading = heading_of(sys.argv)
    for name in CASES:
        for row in lines_of([conv_bench, f"case={name}", "json", "time"]):
            emit(row, heading, cudnn_conv(row) if row["plain"] else None)
    for row in lines_of([attention_bench, "json"]):
        emit(row, heading, torch_attention(row))


if __name__ == "__main__":
    main()
